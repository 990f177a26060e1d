//! The choice of plots and their options; kept with the session.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use valleyscope_experiments::view::{Band, DiagnosticMetric};

/// The shown plots and their options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlotChoices {
    pub shown: BTreeSet<DiagnosticMetric>,
    /// The metrics on a logarithmic axis.
    pub log: BTreeSet<DiagnosticMetric>,
    pub log_steps: bool,
    pub band: Band,
    /// Whether the vertical axes hold all values, those of diverged optimizers too.
    #[serde(default)]
    pub whole_range: bool,
}

impl Default for PlotChoices {
    fn default() -> Self {
        PlotChoices {
            shown: [
                DiagnosticMetric::Loss,
                DiagnosticMetric::Depth,
                DiagnosticMetric::AbsV,
                DiagnosticMetric::EffectiveStep,
            ]
            .into(),
            log: [DiagnosticMetric::AbsV].into(),
            log_steps: false,
            band: Band::default(),
            whole_range: false,
        }
    }
}
