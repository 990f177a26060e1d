use super::{Clock, Move, Optimizer};
use crate::lanes::Real;

/// Adam with decoupled weight decay, AdamW (Kingma and Ba 2015; Loshchilov and Hutter 2019).
///
/// ```text
/// m ← β₁ m + (1 − β₁) g          m̂ = m / (1 − β₁ᵗ)
/// s ← β₂ s + (1 − β₂) g²         ŝ = s / (1 − β₂ᵗ)
/// θ ← θ − η ( m̂ / (√ŝ + ε) + ω θ )
/// ```
///
/// The paper's toy model uses β₁ = 0.9, β₂ = 0.999, ε = 1e-8 and ω = 0.1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adam {
    pub learning_rate: f64,
    pub beta1: f64,
    pub beta2: f64,
    pub weight_decay: f64,
}

impl Adam {
    /// Keeps the step finite where no gradient was ever seen.
    pub const EPSILON: f64 = 1e-8;
}

/// The running averages of the gradient and of its square.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamMemory<R> {
    pub m: R,
    pub s: R,
}

#[derive(Clone, Copy, Debug)]
pub struct AdamFactors<R> {
    /// −η
    minus_learning_rate: R,
    weight_decay: R,
    beta1: R,
    one_minus_beta1: R,
    beta2: R,
    one_minus_beta2: R,
    /// `(1 − β₁ᵗ) / √(1 − β₂ᵗ)`
    unbias: R,
    /// `(1 − β₁ᵗ) ε`
    epsilon: R,
}

impl Optimizer for Adam {
    type Memory<R: Real> = AdamMemory<R>;
    type Factors<R: Real> = AdamFactors<R>;

    fn fresh<R: Real>(&self) -> AdamMemory<R> {
        AdamMemory { m: R::splat(0.0), s: R::splat(0.0) }
    }

    #[inline(always)]
    fn map_memory<A: Real, B: Real>(memory: AdamMemory<A>, f: impl Fn(A) -> B) -> AdamMemory<B> {
        AdamMemory { m: f(memory.m), s: f(memory.s) }
    }

    fn tick(&self, clock: Clock) -> Clock {
        clock.after(self.beta1, self.beta2)
    }

    #[inline(always)]
    fn factors<R: Real>(&self, clock: &Clock) -> AdamFactors<R> {
        AdamFactors {
            minus_learning_rate: R::splat(-self.learning_rate),
            weight_decay: R::splat(self.weight_decay),
            beta1: R::splat(self.beta1),
            one_minus_beta1: R::splat(1.0 - self.beta1),
            beta2: R::splat(self.beta2),
            one_minus_beta2: R::splat(1.0 - self.beta2),
            unbias: R::splat((1.0 - clock.beta1_power) / (1.0 - clock.beta2_power).sqrt()),
            epsilon: R::splat((1.0 - clock.beta1_power) * Self::EPSILON),
        }
    }

    #[inline(always)]
    fn with_learning_rate<R: Real>(factors: AdamFactors<R>, learning_rate: R) -> AdamFactors<R> {
        AdamFactors { minus_learning_rate: -learning_rate, ..factors }
    }

    #[inline(always)]
    fn step<R: Real>(f: &AdamFactors<R>, theta: R, gradient: R, memory: AdamMemory<R>) -> (AdamMemory<R>, Move<R>) {
        let m = f.beta1.mul_add(memory.m, f.one_minus_beta1 * gradient);
        let s = f.beta2.mul_add(memory.s, f.one_minus_beta2 * gradient * gradient);
        let direction = m.over_root(s, f.unbias, f.epsilon);
        let theta = f.minus_learning_rate.mul_add(f.weight_decay.mul_add(theta, direction), theta);
        (AdamMemory { m, s }, Move { theta, direction })
    }
}
