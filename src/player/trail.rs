//! Recent positions for drawing, in single precision and bounded memory.

use valleyscope_engine::simulation::Ensemble;

/// The number of positions kept for trails, of all ensembles together (64 MiB).
const TRAIL_POSITIONS: usize = 8 << 20;

/// Returns the number of columns to keep for trails of `trail_steps` steps of all `particles` particles of all
/// ensembles: one more than the steps, and no more than fit in memory.
pub fn trail_columns(trail_steps: usize, particles: usize) -> usize {
    (trail_steps + 1).min(TRAIL_POSITIONS / particles.max(1))
}

/// The newest positions of an ensemble that were not sent yet.
#[derive(Clone, Debug)]
pub(super) struct Trail {
    particles: usize,
    /// The largest number of columns kept; a column holds one position per particle.
    capacity: usize,
    /// A ring of `capacity` columns.
    columns: Vec<[f32; 2]>,
    /// The index of the next column.
    next: usize,
    /// The number of columns that were not sent yet.
    fresh: usize,
}

impl Trail {
    /// Creates a trail that holds the present positions.
    pub(super) fn new(ensemble: &Ensemble, capacity: usize) -> Self {
        let mut trail = Trail {
            particles: ensemble.particles(),
            capacity: capacity.max(1),
            columns: Vec::new(),
            next: 0,
            fresh: 0,
        };
        trail.push(ensemble);
        trail
    }

    /// Adds the present positions as the newest column.
    pub(super) fn push(&mut self, ensemble: &Ensemble) {
        let start = self.next * self.particles;
        let end = start + self.particles;
        if end > self.columns.len() {
            self.columns.resize(end, [0.0; 2]);
        }
        ensemble.write_positions(&mut self.columns[start..end]);
        self.next = (self.next + 1) % self.capacity;
        self.fresh = (self.fresh + 1).min(self.capacity);
    }

    /// Returns the columns since the last call, the oldest first; if there are none, the newest once more.
    pub(super) fn take(&mut self) -> Vec<[f32; 2]> {
        let count = self.fresh.max(1);
        let taken = if self.next >= count {
            self.range(self.next - count, self.next).to_vec()
        } else {
            let wrapped = count - self.next;
            let older = self.range(self.capacity - wrapped, self.capacity);
            [older, self.range(0, self.next)].concat()
        };
        self.fresh = 0;
        taken
    }

    /// Sets the largest number of columns kept; of the unsent ones the newest stay.
    pub(super) fn set_capacity(&mut self, capacity: usize) {
        let fresh = self.fresh;
        let mut columns = self.take();
        let count = (columns.len() / self.particles).min(capacity.max(1));
        columns.drain(..columns.len() - count * self.particles);
        self.capacity = capacity.max(1);
        self.columns = columns;
        self.next = count % self.capacity;
        self.fresh = fresh.min(count);
    }

    fn range(&self, first: usize, end: usize) -> &[[f32; 2]] {
        &self.columns[first * self.particles..end * self.particles]
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

    /// Returns the thinned path up to a step, which ends at the mean position of that step.
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
