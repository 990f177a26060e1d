use super::{Clock, Move, Optimizer};
use crate::lanes::Real;

/// Stochastic gradient descent with (heavy-ball) momentum and decoupled weight decay.
///
/// ```text
/// m ← β₁ m + g
/// θ ← θ − η ( m + ω θ )
/// ```
///
/// The momentum is not an average: with β₁ = 0.9 a steady gradient moves ten times as far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sgd {
    pub learning_rate: f64,
    pub beta1: f64,
    pub weight_decay: f64,
}

#[derive(Clone, Copy, Debug)]
pub struct SgdFactors<R> {
    /// −η
    minus_learning_rate: R,
    weight_decay: R,
    beta1: R,
}

impl Optimizer for Sgd {
    /// The momentum `m`.
    type Memory<R: Real> = R;
    type Factors<R: Real> = SgdFactors<R>;

    fn fresh<R: Real>(&self) -> R {
        R::splat(0.0)
    }

    #[inline(always)]
    fn map_memory<A: Real, B: Real>(m: A, f: impl Fn(A) -> B) -> B {
        f(m)
    }

    fn tick(&self, clock: Clock) -> Clock {
        clock.after(self.beta1, 0.0)
    }

    #[inline(always)]
    fn factors<R: Real>(&self, _clock: &Clock) -> SgdFactors<R> {
        SgdFactors {
            minus_learning_rate: R::splat(-self.learning_rate),
            weight_decay: R::splat(self.weight_decay),
            beta1: R::splat(self.beta1),
        }
    }

    #[inline(always)]
    fn with_learning_rate<R: Real>(factors: SgdFactors<R>, learning_rate: R) -> SgdFactors<R> {
        SgdFactors { minus_learning_rate: -learning_rate, ..factors }
    }

    #[inline(always)]
    fn step<R: Real>(f: &SgdFactors<R>, theta: R, gradient: R, m: R) -> (R, Move<R>) {
        let m = f.beta1.mul_add(m, gradient);
        let theta = f.minus_learning_rate.mul_add(f.weight_decay.mul_add(theta, m), theta);
        (m, Move { theta, direction: m })
    }
}
