//! Keys of the random streams of runs.

use super::spec::SweepSpec;
use crate::random::Key;

/// The keys of a pixel's runs; runs with the same key share their noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PixelKey {
    key: Key,
    /// Whether a run's key omits optimizer and candidate.
    pub(super) common: bool,
}

impl PixelKey {
    pub fn new(spec: &SweepSpec, row: usize, column: usize) -> Self {
        let key = Key::new(spec.seed).at(row as u64).at(column as u64);
        PixelKey { key, common: spec.common_random_numbers }
    }

    /// Returns the key of a run's stream, which has its start, then a pair for the noise of the gradient in each step.
    pub fn of_run(&self, optimizer: u32, candidate: usize, replicate: usize) -> Key {
        let key = self.key.at(replicate as u64);
        if self.common { key } else { key.at(u64::from(optimizer)).at(candidate as u64) }
    }

    /// Returns the key of a run's stream for the noise of the curvature, which has a pair for each step.
    pub(super) fn of_curvature(&self, optimizer: u32, candidate: usize, replicate: usize) -> Key {
        self.of_run(optimizer, candidate, replicate).at(u64::MAX)
    }
}
