//! The choice of plots of the selected runs.

use serde::{Deserialize, Serialize};
use valleyscope_experiments::view::AxisScale;
use valleyscope_runs::{Better, MetricId, MetricInfo, MetricScale, Unit};

use super::track::Horizontal;
use crate::figure::metric_scale;

/// The choice of plots; kept with the session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choices {
    /// The metrics whose visibility differs from the default, by their names in the events.
    pub toggled: Vec<String>,
    /// The metrics whose axis is not the default of linear or logarithmic.
    pub rescaled: Vec<String>,
    pub horizontal: Horizontal,
    pub log_x: bool,
    pub smoothing: f64,
    /// Shows replicates as mean and band if true.
    pub grouped: bool,
    /// Extends the vertical axes to diverged runs if true.
    pub whole_range: bool,
    /// Whether the plots leave out runs that the list's search does not find.
    #[serde(default)]
    pub only_found: bool,
}

impl Default for Choices {
    fn default() -> Self {
        Choices {
            toggled: Vec::new(),
            rescaled: Vec::new(),
            horizontal: Horizontal::Step,
            log_x: false,
            smoothing: 0.0,
            grouped: false,
            whole_range: false,
            only_found: false,
        }
    }
}

impl Choices {
    pub const MOST_SMOOTHING: f64 = 0.999;

    pub fn toggle(list: &mut Vec<String>, info: &MetricInfo) {
        match list.iter().position(|name| *name == info.name) {
            Some(index) => drop(list.remove(index)),
            None => list.push(info.name.clone()),
        }
    }

    /// Returns whether a metric is shown. By default results are shown, and the gradient's norm, which indicates
    /// problems.
    pub fn shows(&self, info: &MetricInfo) -> bool {
        let is_result = info.better != Better::Neither && info.unit != Unit::Rate;
        (is_result || info.metric() == Some(MetricId::GRAD_NORM)) != self.toggled.contains(&info.name)
    }

    pub fn scale(&self, info: &MetricInfo) -> AxisScale {
        let is_log = (info.scale == MetricScale::Log) != self.rescaled.contains(&info.name);
        metric_scale(info, is_log)
    }

    pub fn x_scale(&self) -> AxisScale {
        match self.horizontal {
            Horizontal::Clock => AxisScale::Clock,
            _ if self.log_x => AxisScale::Log,
            _ => AxisScale::Linear,
        }
    }
}

/// The metrics that are offered before any run is shown.
pub(super) const USUAL: [MetricId; 3] = [MetricId::LOSS, MetricId::LEARNING_RATE, MetricId::GRAD_NORM];
