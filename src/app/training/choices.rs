//! What is plotted of the selected runs, and how.

use serde::{Deserialize, Serialize};

use super::track::Horizontal;
use crate::app::diagnostics::AxisScale;
use crate::run::Metric;

/// What is plotted, and how; kept with the session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Choices {
    /// Metrics by their names in the events.
    pub shown: Vec<String>,
    /// Those on a logarithmic axis.
    pub log: Vec<String>,
    pub horizontal: Horizontal,
    pub log_x: bool,
    pub smoothing: f64,
    /// Replicates are shown as mean and band.
    pub grouped: bool,
}

impl Default for Choices {
    fn default() -> Self {
        let names = |metrics: &[Metric]| metrics.iter().map(|metric| metric.name().to_owned()).collect();
        Choices {
            shown: names(&[Metric::Loss, Metric::TestLoss, Metric::TestAccuracy, Metric::GradNorm]),
            log: names(&[Metric::Loss, Metric::TestLoss]),
            horizontal: Horizontal::Step,
            log_x: false,
            smoothing: 0.0,
            grouped: false,
        }
    }
}

impl Choices {
    pub const MOST_SMOOTHING: f64 = 0.999;

    pub fn has(list: &[String], metric: Metric) -> bool {
        list.iter().any(|name| name == metric.name())
    }

    pub fn toggle(list: &mut Vec<String>, metric: Metric) {
        match list.iter().position(|name| name == metric.name()) {
            Some(index) => drop(list.remove(index)),
            None => list.push(metric.name().to_owned()),
        }
    }

    pub fn scale(&self, metric: Metric) -> AxisScale {
        if Choices::has(&self.log, metric) { AxisScale::Log } else { AxisScale::Linear }
    }

    pub fn x_scale(&self) -> AxisScale {
        if self.log_x && self.horizontal != Horizontal::Clock { AxisScale::Log } else { AxisScale::Linear }
    }
}

/// What a metric is called.
pub fn title(metric: Metric) -> &'static str {
    match metric {
        Metric::Loss => "Train loss",
        Metric::LearningRate => "Learning rate",
        Metric::GradNorm => "Gradient norm",
        Metric::SamplesPerS => "Samples a second",
        Metric::TokensPerS => "Tokens a second",
        Metric::TrainLoss => "Train loss, evaluated",
        Metric::ValLoss => "Validation loss",
        Metric::TestLoss => "Test loss",
        Metric::TestAccuracy => "Test accuracy",
    }
}

/// Those that every training has; the others are offered where a run has them.
pub const USUAL: [Metric; 6] =
    [Metric::Loss, Metric::TestLoss, Metric::TestAccuracy, Metric::LearningRate, Metric::GradNorm, Metric::SamplesPerS];
