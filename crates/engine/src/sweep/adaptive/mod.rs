//! Adaptive sampling: replicates go where the winner of a pixel is open.
//!
//! [`allocation`] runs the race of a pixel's candidates and decides which of them have more replicates;
//! [`sequential_test`] decides when a candidate is beaten.

pub(super) mod allocation;
pub(super) mod sequential_test;

use serde::{Deserialize, Serialize};

use super::runs::{Metric, Metrics};
use crate::quantity::{Budget, Certainty, Replicates};

/// The number of replicates of the candidates of a pixel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Sampling {
    /// Each candidate of each optimizer has the sweep's replicates.
    #[default]
    Uniform,
    /// Replicates go where the winner is open.
    Adaptive(Adaptive),
}

impl Sampling {
    pub fn is_uniform(&self) -> bool {
        *self == Sampling::Uniform
    }
}

/// The settings of adaptive sampling.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adaptive {
    /// The certainty of a winner at which its pixel is decided.
    #[serde(default = "certainty")]
    pub certainty: Certainty,
    /// The most steps of a pixel, as a multiple of those with uniform sampling.
    #[serde(default = "budget")]
    pub budget: Budget,
    /// The most replicates by which a candidate is compared with the leader, which has up to three times as many.
    #[serde(default = "most_replicates")]
    pub most_replicates: Replicates,
}

fn certainty() -> Certainty {
    Certainty::clamped(0.95)
}

fn budget() -> Budget {
    Budget::clamped(5.0)
}

fn most_replicates() -> Replicates {
    Replicates::of::<5000>()
}

impl Adaptive {
    /// The replicates of every candidate before the first comparison, whatever the budget.
    pub(super) const FIRST_REPLICATES: usize = 2;
}

impl Default for Adaptive {
    fn default() -> Self {
        Adaptive { certainty: certainty(), budget: budget(), most_replicates: most_replicates() }
    }
}

/// The metrics of the runs of a candidate so far, by Welford's recurrence in the order of replicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Tally {
    pub count: usize,
    pub diverged: u32,
    means: [f64; 3],
    squares: [f64; 3],
}

impl Tally {
    pub(super) fn add(&mut self, run: &Metrics<f64>) {
        self.count += 1;
        self.diverged += u32::from(!run.final_loss.is_finite());
        for metric in Metric::ALL {
            let (mean, squares) = (&mut self.means[metric as usize], &mut self.squares[metric as usize]);
            let value = metric.of_run(run);
            let before = value - *mean;
            *mean += before / self.count as f64;
            *squares += before * (value - *mean);
        }
    }

    /// Returns the mean of a metric; its worst value if a run was not finite.
    pub(super) fn mean(&self, metric: Metric) -> f64 {
        let mean = self.means[metric as usize];
        if mean.is_finite() { mean } else { metric.worst() }
    }

    /// Returns the population standard deviation of a metric; NaN if a run was not finite.
    pub(super) fn deviation(&self, metric: Metric) -> f64 {
        if !self.means[metric as usize].is_finite() {
            return f64::NAN;
        }
        (self.squares[metric as usize] / self.count as f64).sqrt()
    }

    /// Returns the square of the standard error of a metric's mean.
    pub(super) fn variance_of_mean(&self, metric: Metric) -> f64 {
        let count = self.count as f64;
        self.squares[metric as usize] / (count - 1.0) / count
    }
}
