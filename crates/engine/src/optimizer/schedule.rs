//! Learning rates that change over a run.
//!
//! A schedule is a factor for each step, computed once a step outside of the vector loops: the learning rate may
//! differ between the lanes of a sweep, the factor does not. In sweeps on the plane a constant learning rate skips
//! it.

use std::f64::consts::FRAC_PI_2;

use serde::{Deserialize, Serialize};

use super::lasting;
use crate::elementary::{cos, sin};
use crate::quantity::{DecaySteps, FinalShare, WarmupSteps};

/// How the learning rate of an optimizer on the plane or in a sweep changes over its steps: first a linear warm-up,
/// then a decay. In step t = 1, 2, … the learning rate is η times
///
/// ```text
/// t / W                                              for t ≤ W
/// 1                                                  for t > W, Constant
/// e + ½ (1 − e) (1 + cos π (t − 1 − W) / (N − W))    for W < t ≤ N, Cosine
/// e                                                  for t > W and t > N, Cosine
/// √(max(W, 1) / t)                                   for t > W, InverseRoot
/// ```
///
/// so that neither the first step nor the last one is lost. The warm-up of a GPT-2 training begins at 0 instead.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Schedule {
    /// W
    pub warmup: WarmupSteps,
    pub decay: Decay,
}

/// The decay of the learning rate after the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Decay {
    #[default]
    Constant,
    /// Half a cosine (Loshchilov and Hutter, [arXiv:1608.03983](https://arxiv.org/abs/1608.03983)).
    Cosine {
        /// e, the share of η that is left at its end.
        #[serde(default = "Decay::nothing")]
        to: FinalShare,
        /// N; without it, that of the run. Where that has no end, the learning rate stays.
        #[serde(default)]
        steps: Option<DecaySteps>,
    },
    /// η √(max(W, 1)/t); without a warm-up η/√t, as in the paper's bound on the regret.
    InverseRoot,
}

impl Decay {
    /// The share of a learning rate that decays to 0.
    pub fn nothing() -> FinalShare {
        FinalShare::clamped(0.0)
    }

    /// The name for users.
    pub fn name(&self) -> &'static str {
        match self {
            Decay::Constant => "constant",
            Decay::Cosine { .. } => "cosine",
            Decay::InverseRoot => "1/√t",
        }
    }
}

impl Default for Schedule {
    /// η in all steps.
    fn default() -> Self {
        Schedule { warmup: WarmupSteps::clamped(0), decay: Decay::Constant }
    }
}

impl Schedule {
    /// Whether the learning rate is η in all steps.
    pub fn is_constant(&self) -> bool {
        *self == Schedule::default()
    }

    /// The schedule in a run of so many steps, which is the length of its decay where that has none of its own.
    pub fn over(mut self, run: Option<u64>) -> Schedule {
        if let Decay::Cosine { steps: steps @ None, .. } = &mut self.decay {
            *steps = run.map(DecaySteps::clamped);
        }
        self
    }

    /// Returns the factor of η in step t = 1, 2, …
    pub fn factor(&self, t: u64) -> f64 {
        let (step, warmup) = (t as f64, self.warmup.get() as f64);
        if step <= warmup {
            return step / warmup;
        }
        match self.decay {
            Decay::Constant | Decay::Cosine { steps: None, .. } => 1.0,
            Decay::Cosine { to, steps: Some(steps) } if t > steps.get() as u64 => to.get(),
            Decay::Cosine { to, steps: Some(steps) } => {
                let part = (step - 1.0 - warmup) / (steps.get() as f64 - warmup);
                // ½ (1 + cos x) = cos² ½x, from the cosine or the sine of at most a quarter of π.
                let root = if part <= 0.5 { cos(FRAC_PI_2 * part) } else { sin(FRAC_PI_2 * (1.0 - part)) };
                to.get() + (1.0 - to.get()) * root * root
            }
            Decay::InverseRoot => (warmup.max(1.0) / step).sqrt(),
        }
    }

    /// The name of an optimizer with this schedule, which has no name of its own: that of its rule, and of the schedule
    /// where the learning rate changes, as in "Adam (cosine)".
    pub(crate) fn named(&self, rule: &'static str) -> &'static str {
        let schedule = match self.decay {
            _ if self.is_constant() => return rule,
            Decay::Constant => "warm-up",
            decay => decay.name(),
        };
        lasting(vec![format!("{rule} ({schedule})")])[0]
    }
}
