//! The metrics by which runs are compared, and their averages over replicates.

use serde::{Deserialize, Serialize};

use super::kernel::Metrics;
use super::runs::Runs;
use super::statistics::{Estimate, mean_or, median};
use crate::landscape::{Coordinate, LandscapeSpec};

/// The metric by which runs are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Metric {
    /// The loss after the last step; the smaller, the better.
    #[default]
    FinalLoss,
    /// The smallest loss after any step; the smaller, the better.
    SmallestLoss,
    /// The largest u after any step, on a landscape of which u is a [metric](crate::landscape::LandscapeMetric); the
    /// larger, the better.
    Depth,
}

impl Metric {
    pub const ALL: [Metric; 3] = [Metric::FinalLoss, Metric::SmallestLoss, Metric::Depth];

    /// Returns the name in file formats.
    pub fn name(self) -> &'static str {
        match self {
            Metric::FinalLoss => "final_loss",
            Metric::SmallestLoss => "smallest_loss",
            Metric::Depth => "depth",
        }
    }

    /// Lists the metrics by which runs on a landscape are compared.
    pub fn of(landscape: &LandscapeSpec) -> impl Iterator<Item = Metric> + use<> {
        let landscape = *landscape;
        Metric::ALL.into_iter().filter(move |metric| metric.is_of(&landscape))
    }

    /// Returns whether runs on this landscape are compared by the metric.
    pub fn is_of(self, landscape: &LandscapeSpec) -> bool {
        match self {
            Metric::FinalLoss | Metric::SmallestLoss => true,
            Metric::Depth => landscape.metric(Coordinate::U).is_some(),
        }
    }

    /// Returns the name that is shown for runs on this landscape.
    pub fn label(self, landscape: &LandscapeSpec) -> &'static str {
        match self {
            Metric::FinalLoss => "final loss",
            Metric::SmallestLoss => "smallest loss",
            Metric::Depth => landscape.metric(Coordinate::U).map_or("largest u", |metric| metric.name),
        }
    }

    /// Returns the value that replaces one that is not finite.
    pub(super) fn worst(self) -> f64 {
        match self {
            Metric::FinalLoss | Metric::SmallestLoss => f64::INFINITY,
            Metric::Depth => f64::NEG_INFINITY,
        }
    }

    /// Returns the metric's value of a run; not finite if the final loss is not, as such a run has lost, whatever its
    /// earlier losses.
    pub(super) fn of_run(self, run: &Metrics<f64>) -> f64 {
        match self {
            Metric::FinalLoss => run.final_loss,
            _ if !run.final_loss.is_finite() => f64::NAN,
            Metric::SmallestLoss => run.smallest_loss,
            Metric::Depth => run.depth,
        }
    }

    /// Returns the advantage of `this` over `that`, positive if it is better.
    pub fn advantage(self, this: f64, that: f64) -> f64 {
        match self {
            Metric::FinalLoss | Metric::SmallestLoss => that - this,
            Metric::Depth => this - that,
        }
    }

    pub(crate) fn is_better(self, this: f64, that: f64) -> bool {
        match self {
            Metric::FinalLoss | Metric::SmallestLoss => this < that,
            Metric::Depth => this > that,
        }
    }
}

/// The kind of average of a metric over replicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Average {
    /// The mean, as in the paper; one run that is not finite spoils it.
    #[default]
    Mean,
    Median,
}

impl Average {
    /// Returns the average of a metric's values.
    pub fn of(self, values: &[f64], metric: Metric) -> f64 {
        let worst = metric.worst();
        match self {
            Average::Mean => mean_or(values, worst),
            Average::Median => median(values, worst),
        }
    }

    pub(super) fn estimate(self, values: &[f64], worst: f64) -> Option<Estimate> {
        match self {
            Average::Mean => Estimate::of_mean(values, worst),
            Average::Median => Estimate::of_median(values, worst),
        }
    }
}

/// The values of one metric of an optimizer's runs.
pub(super) struct Table {
    pub metric: Metric,
    pub replicates: usize,
    /// The values, candidates before replicates.
    values: Vec<f64>,
}

impl Table {
    pub(super) fn new(runs: &Runs, metric: Metric) -> Table {
        let values = runs.metrics.iter().map(|run| metric.of_run(run)).collect();
        Table { metric, replicates: runs.replicates, values }
    }

    pub(super) fn candidates(&self) -> usize {
        self.values.len() / self.replicates
    }

    pub(super) fn values(&self, candidate: usize) -> &[f64] {
        &self.values[candidate * self.replicates..][..self.replicates]
    }
}
