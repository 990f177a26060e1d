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

/// The newest positions of an ensemble.
#[derive(Clone, Debug)]
pub(super) struct Trail {
    particles: usize,
    /// The largest number of stored columns; a column has one position per particle.
    capacity: usize,
    /// The columns, the oldest first.
    positions: VecDeque<[f32; 2]>,
    /// The number of columns that have not been sent.
    fresh: usize,
    /// Room for the next column.
    column: Vec<[f32; 2]>,
}

impl Trail {
    /// Creates a trail of the current positions.
    pub(super) fn new(ensemble: &Ensemble, capacity: usize) -> Self {
        let particles = ensemble.particles();
        let column = vec![[0.0; 2]; particles];
        let mut trail = Trail { particles, capacity: capacity.max(1), positions: VecDeque::new(), fresh: 0, column };
        trail.push(ensemble);
        trail
    }

    /// Adds the current positions as the newest column.
    pub(super) fn push(&mut self, ensemble: &Ensemble) {
        ensemble.write_positions(&mut self.column);
        self.positions.extend(&self.column);
        self.fresh += 1;
        self.trim();
    }

    /// Takes the columns since the last call, the oldest first; if there are none, the newest once more.
    pub(super) fn take(&mut self) -> Vec<[f32; 2]> {
        let count = std::mem::take(&mut self.fresh).max(1) * self.particles;
        self.positions.range(self.positions.len() - count..).copied().collect()
    }

    /// Sets the largest number of stored columns; the newest stay.
    pub(super) fn set_capacity(&mut self, capacity: usize) {
        self.capacity = capacity.max(1);
        self.trim();
    }

    fn trim(&mut self) {
        self.fresh = self.fresh.min(self.capacity);
        let surplus = self.positions.len().saturating_sub(self.capacity * self.particles);
        self.positions.drain(..surplus);
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
                let mut index = 0;
                self.points.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
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
