use serde::{Deserialize, Serialize};

use crate::optimizer::{Adam, DecayTarget, Focus, Sgd, Signum};
use crate::quantity::{Beta, Gamma, LearningRate, WeightDecay};
use crate::simulation::{Configured, Marker};

/// An update rule for training, without its learning rate. Defaults are those of the paper's training runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum TrainingRule {
    /// With decoupled weight decay, so AdamW.
    Adam {
        #[serde(default = "beta1")]
        beta1: Beta,
        #[serde(default = "adam_beta2")]
        beta2: Beta,
        #[serde(default = "weight_decay")]
        weight_decay: WeightDecay,
    },
    Signum {
        #[serde(default = "beta1")]
        beta1: Beta,
        #[serde(default = "weight_decay")]
        weight_decay: WeightDecay,
    },
    /// Also by the name that people know.
    #[serde(alias = "FOCUS")]
    Focus {
        #[serde(default = "beta1")]
        beta1: Beta,
        #[serde(default = "focus_beta2")]
        beta2: Beta,
        #[serde(default = "gamma")]
        gamma: Gamma,
        #[serde(default = "weight_decay")]
        weight_decay: WeightDecay,
        #[serde(default = "decay")]
        decay: DecayTarget,
    },
    /// With momentum; also by the name that people know.
    #[serde(alias = "SGD")]
    Sgd {
        #[serde(default = "beta1")]
        beta1: Beta,
        #[serde(default = "weight_decay")]
        weight_decay: WeightDecay,
    },
}

fn beta1() -> Beta {
    Beta::clamped(0.9)
}

fn adam_beta2() -> Beta {
    Beta::clamped(0.999)
}

fn focus_beta2() -> Beta {
    Beta::clamped(0.99)
}

fn gamma() -> Gamma {
    Gamma::clamped(0.2)
}

fn weight_decay() -> WeightDecay {
    WeightDecay::clamped(0.01)
}

fn decay() -> DecayTarget {
    DecayTarget::Average
}

impl TrainingRule {
    /// All rules with their defaults.
    pub fn all() -> [TrainingRule; 4] {
        let (beta1, weight_decay) = (beta1(), weight_decay());
        [
            TrainingRule::Adam { beta1, beta2: adam_beta2(), weight_decay },
            TrainingRule::Signum { beta1, weight_decay },
            TrainingRule::Focus { beta1, beta2: focus_beta2(), gamma: gamma(), weight_decay, decay: decay() },
            TrainingRule::Sgd { beta1, weight_decay },
        ]
    }

    pub fn name(&self) -> &'static str {
        self.configured(LearningRate::clamped(0.0)).name()
    }

    /// The rule whose name a label begins with, with its defaults.
    pub fn named(label: &str) -> Option<TrainingRule> {
        TrainingRule::all().into_iter().find(|rule| label.starts_with(rule.name()))
    }

    /// The rule's colour, the same wherever it is shown.
    pub fn rgb(&self) -> [u8; 3] {
        self.configured(LearningRate::clamped(0.0)).rgb()
    }

    /// The rule's mark, the same wherever it is shown.
    pub fn marker(&self) -> Marker {
        self.configured(LearningRate::clamped(0.0)).marker()
    }

    /// The rule with a learning rate, in the form that is computed with.
    pub fn configured(&self, learning_rate: LearningRate) -> Configured {
        let learning_rate = learning_rate.get();
        match *self {
            TrainingRule::Adam { beta1, beta2, weight_decay } => Configured::Adam(Adam {
                learning_rate,
                beta1: beta1.get(),
                beta2: beta2.get(),
                weight_decay: weight_decay.get(),
            }),
            TrainingRule::Signum { beta1, weight_decay } => {
                Configured::Signum(Signum { learning_rate, beta1: beta1.get(), weight_decay: weight_decay.get() })
            }
            TrainingRule::Focus { beta1, beta2, gamma, weight_decay, decay } => Configured::Focus(Focus {
                learning_rate,
                beta1: beta1.get(),
                beta2: beta2.get(),
                gamma: gamma.get(),
                weight_decay: weight_decay.get(),
                decay,
            }),
            TrainingRule::Sgd { beta1, weight_decay } => {
                Configured::Sgd(Sgd { learning_rate, beta1: beta1.get(), weight_decay: weight_decay.get() })
            }
        }
    }
}
