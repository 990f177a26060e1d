//! How many replicates the runs of a pixel have.

use serde::{Deserialize, Serialize};

use crate::quantity::{Budget, Certainty, Replicates};

/// How many replicates the runs of a pixel have.
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

/// When a pixel has enough replicates.
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
