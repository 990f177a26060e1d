//! The results of runs.

use serde::{Deserialize, Serialize};

use super::kernel::Metrics;
use super::statistics::with_one_nan;
use crate::random::Normals;

/// The results of the runs of one optimizer at one pixel: candidates before replicates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Runs {
    /// The number of replicates of each candidate.
    pub replicates: usize,
    /// The metrics, at the index `candidate × replicates + replicate`.
    pub metrics: Vec<Metrics<f64>>,
}

impl Runs {
    /// Appends the replicates of `later` to those of these runs.
    pub(super) fn followed_by(&self, later: &Runs) -> Runs {
        let candidates = self.metrics.chunks(self.replicates).zip(later.metrics.chunks(later.replicates));
        let metrics = candidates.flat_map(|(these, those)| these.iter().chain(those)).copied().collect();
        Runs { replicates: self.replicates + later.replicates, metrics }
    }
}

/// Appends the metrics of at most `most` lanes.
#[inline(always)]
pub(super) fn append<const N: usize, V>(all: &mut Vec<Metrics<f64>>, metrics: Metrics<V>, most: usize)
where
    V: Normals<N, Number: Into<f64>>,
{
    let lanes = metrics.map(V::to_lanes);
    for lane in 0..N.min(most) {
        all.push(Metrics {
            final_loss: with_one_nan(lanes.final_loss.0[lane].into()),
            smallest_loss: with_one_nan(lanes.smallest_loss.0[lane].into()),
            depth: with_one_nan(lanes.depth.0[lane].into()),
        });
    }
}
