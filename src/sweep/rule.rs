//! Update rules whose learning rate is still open.

use serde::{Deserialize, Serialize};

use crate::optimizer::DecayTarget;
use crate::quantity::{Beta, Gamma, LearningRate, WeightDecay};
use crate::simulation::{Configured, Rule};

/// An update rule and its hyperparameters apart from the learning rate, which a sweep tunes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum SweepRule {
    Adam {
        #[serde(default = "beta_0_9")]
        beta1: Beta,
        #[serde(default = "beta_0_999")]
        beta2: Beta,
        #[serde(default = "weight_decay_0_1")]
        weight_decay: WeightDecay,
    },
    Signum {
        #[serde(default = "beta_0_9")]
        beta1: Beta,
        #[serde(default = "weight_decay_0_1")]
        weight_decay: WeightDecay,
    },
    /// Also by the name that people know.
    #[serde(alias = "FOCUS")]
    Focus {
        #[serde(default = "beta_0_9")]
        beta1: Beta,
        #[serde(default = "beta_0_9")]
        beta2: Beta,
        #[serde(default = "gamma_0_2")]
        gamma: Gamma,
        #[serde(default = "weight_decay_0_1")]
        weight_decay: WeightDecay,
        #[serde(default)]
        decay: DecayTarget,
    },
    /// Also by the name that people know.
    #[serde(alias = "SGD")]
    Sgd {
        #[serde(default = "beta_0_9")]
        beta1: Beta,
        #[serde(default = "weight_decay_0_1")]
        weight_decay: WeightDecay,
    },
}

fn beta_0_9() -> Beta {
    Beta::clamped(0.9)
}

fn beta_0_999() -> Beta {
    Beta::clamped(0.999)
}

fn gamma_0_2() -> Gamma {
    Gamma::clamped(0.2)
}

fn weight_decay_0_1() -> WeightDecay {
    WeightDecay::clamped(0.1)
}

impl SweepRule {
    /// The rule with a learning rate, as the landscape view runs it.
    pub fn with_learning_rate(self, learning_rate: LearningRate) -> Rule {
        match self {
            SweepRule::Adam { beta1, beta2, weight_decay } => Rule::Adam { learning_rate, beta1, beta2, weight_decay },
            SweepRule::Signum { beta1, weight_decay } => Rule::Signum { learning_rate, beta1, weight_decay },
            SweepRule::Focus { beta1, beta2, gamma, weight_decay, decay } => {
                Rule::Focus { learning_rate, beta1, beta2, gamma, weight_decay, decay }
            }
            SweepRule::Sgd { beta1, weight_decay } => Rule::Sgd { learning_rate, beta1, weight_decay },
        }
    }

    pub fn name(self) -> &'static str {
        self.at_any_rate().name()
    }

    /// The rule's colour in the paper.
    pub fn rgb(self) -> [u8; 3] {
        self.at_any_rate().rgb()
    }

    /// In the form that the engine works with; each run brings its own learning rate.
    pub(super) fn configured(self) -> Configured {
        self.at_any_rate().configured()
    }

    fn at_any_rate(self) -> Rule {
        self.with_learning_rate(LearningRate::clamped(1.0))
    }

    pub(super) fn beta1_mut(&mut self) -> &mut Beta {
        match self {
            SweepRule::Adam { beta1, .. }
            | SweepRule::Signum { beta1, .. }
            | SweepRule::Focus { beta1, .. }
            | SweepRule::Sgd { beta1, .. } => beta1,
        }
    }

    pub(super) fn beta2_mut(&mut self) -> Option<&mut Beta> {
        match self {
            SweepRule::Adam { beta2, .. } | SweepRule::Focus { beta2, .. } => Some(beta2),
            SweepRule::Signum { .. } | SweepRule::Sgd { .. } => None,
        }
    }

    pub(super) fn gamma_mut(&mut self) -> Option<&mut Gamma> {
        match self {
            SweepRule::Focus { gamma, .. } => Some(gamma),
            SweepRule::Adam { .. } | SweepRule::Signum { .. } | SweepRule::Sgd { .. } => None,
        }
    }

    pub(super) fn weight_decay_mut(&mut self) -> &mut WeightDecay {
        match self {
            SweepRule::Adam { weight_decay, .. }
            | SweepRule::Signum { weight_decay, .. }
            | SweepRule::Focus { weight_decay, .. }
            | SweepRule::Sgd { weight_decay, .. } => weight_decay,
        }
    }
}
