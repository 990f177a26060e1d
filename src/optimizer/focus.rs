use serde::{Deserialize, Serialize};

use super::{Clock, Move, Optimizer};
use crate::lanes::Real;

/// FOCUS: Signum with an attraction to the averaged parameters (the paper's Algorithm 1).
///
/// ```text
/// m ← β₁ m + (1 − β₁) g
/// θ̂ ← θ̂ + w (θ − θ̂),  w = (1 − β₂) / (1 − β₂ᵗ)      with θ before the step
/// d = sign(m) + γ sign(θ − θ̂)
/// θ ← θ − η (d + ω θ)          decay of the parameters (the paper's toy figures)
/// θ ← θ − η d − η ω θ̂          decay of the average    (the paper's training code)
/// ```
///
/// The recursion for θ̂ is the paper's bias-corrected average in a form that is exact: at t = 1, and
/// for a parameter that has not moved, the pull is exactly 0. γ may be negative, a repulsion.
///
/// The paper's toy model uses β₁ = β₂ = 0.9, γ = 0.2 and ω = 0.1; its training runs use β₂ = 0.99.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Focus {
    pub learning_rate: f64,
    pub beta1: f64,
    pub beta2: f64,
    /// Strength γ of the attraction.
    pub gamma: f64,
    pub weight_decay: f64,
    pub decay: DecayTarget,
}

/// What weight decay shrinks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DecayTarget {
    /// The parameters θ, as in the paper's toy figures.
    #[default]
    Parameters,
    /// The averaged parameters θ̂, as in the paper's training code.
    Average,
}

/// The running averages of the gradient and of the parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FocusMemory<R> {
    pub m: R,
    /// θ̂, already bias-corrected.
    pub average: R,
}

#[derive(Clone, Copy, Debug)]
pub struct FocusFactors<R> {
    /// −η
    minus_learning_rate: R,
    beta1: R,
    one_minus_beta1: R,
    /// w − 1 with `w = (1 − β₂) / (1 − β₂ᵗ)`, the weight of θ in the new average
    minus_kept: R,
    gamma: R,
    /// ω where the parameters are decayed, else 0.
    decay_theta: R,
    /// ω where the average is decayed, else 0.
    decay_average: R,
}

impl Optimizer for Focus {
    type Memory<R: Real> = FocusMemory<R>;
    type Factors<R: Real> = FocusFactors<R>;

    fn fresh<R: Real>(&self) -> FocusMemory<R> {
        FocusMemory { m: R::splat(0.0), average: R::splat(0.0) }
    }

    #[inline(always)]
    fn map_memory<A: Real, B: Real>(memory: FocusMemory<A>, f: impl Fn(A) -> B) -> FocusMemory<B> {
        FocusMemory { m: f(memory.m), average: f(memory.average) }
    }

    fn tick(&self, clock: Clock) -> Clock {
        clock.after(self.beta1, self.beta2)
    }

    #[inline(always)]
    fn factors<R: Real>(&self, clock: &Clock) -> FocusFactors<R> {
        let (decay_theta, decay_average) = match self.decay {
            DecayTarget::Parameters => (self.weight_decay, 0.0),
            DecayTarget::Average => (0.0, self.weight_decay),
        };
        FocusFactors {
            minus_learning_rate: R::splat(-self.learning_rate),
            beta1: R::splat(self.beta1),
            one_minus_beta1: R::splat(1.0 - self.beta1),
            minus_kept: R::splat((1.0 - self.beta2) / (1.0 - clock.beta2_power) - 1.0),
            gamma: R::splat(self.gamma),
            decay_theta: R::splat(decay_theta),
            decay_average: R::splat(decay_average),
        }
    }

    #[inline(always)]
    fn with_learning_rate<R: Real>(factors: FocusFactors<R>, learning_rate: R) -> FocusFactors<R> {
        FocusFactors { minus_learning_rate: -learning_rate, ..factors }
    }

    #[inline(always)]
    fn step<R: Real>(f: &FocusFactors<R>, theta: R, gradient: R, memory: FocusMemory<R>) -> (FocusMemory<R>, Move<R>) {
        let m = f.beta1.mul_add(memory.m, f.one_minus_beta1 * gradient);
        // θ − (1 − w)(θ − θ̂): without rounding θ itself where w is 1 or θ̂ is θ.
        let average = f.minus_kept.mul_add(theta - memory.average, theta);
        let direction = f.gamma.mul_add((theta - average).sign(), m.sign());
        let decayed = f.decay_theta.mul_add(theta, f.decay_average.mul_add(average, direction));
        let theta = f.minus_learning_rate.mul_add(decayed, theta);
        (FocusMemory { m, average }, Move { theta, direction })
    }
}
