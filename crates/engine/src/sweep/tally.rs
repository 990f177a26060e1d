//! Running averages of the metrics of a candidate's runs.

use serde::{Deserialize, Serialize};

use super::kernel::Metrics;
use super::metric::Metric;

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
