//! The newest positions of an ensemble, and its mean path: data that are stored only for drawing.

use std::collections::VecDeque;

use valleyscope_engine::simulation::Ensemble;

/// The data of an ensemble that are stored only for drawing.
#[derive(Clone)]
pub(super) struct Drawing {
    pub(super) trail: Trail,
    pub(super) mean_path: MeanPath,
}

/// The number of positions stored for trails, of all ensembles together (64 MiB).
const TRAIL_POSITIONS: usize = 8 << 20;

/// Computes the number of columns to store for trails of `trail_steps` steps of all `particles` particles of all
/// ensembles: one more than the steps, and no more than fit in memory.
pub fn trail_columns(trail_steps: usize, particles: usize) -> usize {
    (trail_steps + 1).min(TRAIL_POSITIONS / particles.max(1))
}

/// The newest positions of an ensemble, and the earlier ones that have not been sent.
#[derive(Clone, Debug)]
pub(super) struct Trail {
    /// The largest number of columns to send; a column has one position per particle.
    capacity: usize,
    newest: Vec<[f32; 2]>,
    /// The columns that have not been sent, the oldest first.
    fresh: VecDeque<[f32; 2]>,
}

impl Trail {
    /// Creates a trail of the current positions.
    pub(super) fn new(ensemble: &Ensemble, capacity: usize) -> Self {
        let newest = vec![[0.0; 2]; ensemble.particles()];
        let mut trail = Trail { capacity: capacity.max(1), newest, fresh: VecDeque::new() };
        trail.push(ensemble);
        trail
    }

    /// Adds the current positions as the newest column.
    pub(super) fn push(&mut self, ensemble: &Ensemble) {
        ensemble.write_positions(&mut self.newest);
        self.fresh.extend(&self.newest);
        self.set_capacity(self.capacity);
    }

    /// Takes the columns since the last call, the oldest first; if there are none, the newest once more.
    pub(super) fn take(&mut self) -> Vec<[f32; 2]> {
        if self.fresh.is_empty() { self.newest.clone() } else { std::mem::take(&mut self.fresh).into() }
    }

    /// Sets the largest number of columns to send; the newest stay.
    pub(super) fn set_capacity(&mut self, capacity: usize) {
        self.capacity = capacity.max(1);
        let surplus = self.fresh.len().saturating_sub(self.capacity * self.newest.len());
        self.fresh.drain(..surplus);
    }
}

/// The mean positions of an ensemble from its start to the last step of the run, thinned to a bounded number of points.
#[derive(Clone, Debug)]
pub(super) struct MeanPath {
    points: Vec<[f32; 2]>,
    /// The number of steps from one point to the next.
    stride: u64,
    /// The number of steps so far, the start included.
    steps: u64,
}

impl MeanPath {
    const MAX_POINTS: usize = 4096;

    pub(super) fn new() -> Self {
        MeanPath { points: Vec::new(), stride: 1, steps: 0 }
    }

    /// Adds the mean position of a step, unless it was added before. Steps must be added in order.
    pub(super) fn extend_to(&mut self, step: u64, [x, y]: [f64; 2]) {
        if step < self.steps {
            return;
        }
        if step.is_multiple_of(self.stride) {
            if self.points.len() == Self::MAX_POINTS {
                self.points = self.points.iter().copied().step_by(2).collect();
                self.stride *= 2;
            }
            self.points.push([x as f32, y as f32]);
        }
        self.steps = step + 1;
    }

    /// Removes the steps after `last`.
    pub(super) fn cut_after(&mut self, last: u64) {
        self.points.truncate(self.points_to(last));
        self.steps = self.steps.min(last + 1);
    }

    /// Makes the thinned path up to a step, which ends at the mean position of that step.
    pub(super) fn path_to(&self, step: u64, [x, y]: [f64; 2]) -> Vec<[f32; 2]> {
        let points = self.points_to(step).min(self.points.len());
        let mut path = self.points[..points].to_vec();
        path.push([x as f32, y as f32]);
        path
    }

    fn points_to(&self, step: u64) -> usize {
        usize::try_from(step / self.stride).unwrap_or(usize::MAX).saturating_add(1)
    }
}
