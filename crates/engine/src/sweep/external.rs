//! Runs of external optimizers, such as Python objects: the caller takes their steps.
//!
//! A sweep looks the runs up among the known ones ([`ExternalRuns`]) and notes those that it misses. The caller computes
//! these ([`external_metrics`]) and begins the sweep again where it stopped, until none is missing. So replicates,
//! certainty and adaptive sampling are those of all optimizers. An external optimizer takes one step of many runs at a
//! time, of any pixels, as long as they share its learning rate.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, RwLock};

use super::runs::{Metrics, Run};

/// A run of an external optimizer of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExternalRun {
    /// The index of the optimizer in the spec.
    pub optimizer: usize,
    pub candidate: usize,
    /// Row and column.
    pub pixel: [usize; 2],
    pub replicate: usize,
}

/// The known runs of external optimizers, and those that a sweep misses.
#[derive(Debug, Default)]
pub struct ExternalRuns {
    known: RwLock<HashMap<ExternalRun, Metrics<f64>>>,
    missing: Mutex<BTreeSet<ExternalRun>>,
}

impl ExternalRuns {
    pub fn extend(&self, runs: impl IntoIterator<Item = (ExternalRun, Metrics<f64>)>) {
        self.known.write().expect(NO_PANIC).extend(runs);
    }

    /// The runs that were asked for and are not known, in order; from then on none is missing.
    pub fn take_missing(&self) -> Vec<ExternalRun> {
        std::mem::take(&mut *self.missing.lock().expect(NO_PANIC)).into_iter().collect()
    }

    pub(super) fn at(&self, pixel: [usize; 2]) -> ExternalRunsAt<'_> {
        ExternalRunsAt { all: self, pixel }
    }
}

const NO_PANIC: &str = "no thread panics while it holds the lock";

/// The runs of external optimizers at a pixel.
#[derive(Clone, Copy)]
pub(super) struct ExternalRunsAt<'a> {
    all: &'a ExternalRuns,
    pixel: [usize; 2],
}

impl ExternalRunsAt<'_> {
    /// The metrics of the runs of an optimizer; `None` if one is not known, and those are missing from then on.
    pub(super) fn metrics(&self, optimizer: usize, runs: &[Run]) -> Option<Vec<Metrics<f64>>> {
        let pixel = self.pixel;
        let run = |run: &Run| ExternalRun { optimizer, candidate: run.candidate, pixel, replicate: run.replicate };
        let known = self.all.known.read().expect(NO_PANIC);
        let metrics: Option<Vec<_>> = runs.iter().map(|of| known.get(&run(of)).copied()).collect();
        if metrics.is_none() {
            let unknown = runs.iter().map(run).filter(|run| !known.contains_key(run));
            self.all.missing.lock().expect(NO_PANIC).extend(unknown);
        }
        metrics
    }
}
