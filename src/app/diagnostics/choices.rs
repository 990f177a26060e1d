//! Which plots are shown, and how; kept with the session.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::metric::{Band, Metric};

/// The switches of the plots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlotChoices {
    pub shown: BTreeSet<Metric>,
    /// Metrics on a logarithmic axis.
    pub log: BTreeSet<Metric>,
    pub log_steps: bool,
    pub band: Band,
}

impl Default for PlotChoices {
    fn default() -> Self {
        PlotChoices {
            shown: [Metric::Loss, Metric::Depth, Metric::AbsV, Metric::EffectiveStep].into(),
            log: [Metric::AbsV].into(),
            log_steps: false,
            band: Band::default(),
        }
    }
}
