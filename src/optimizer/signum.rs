use super::{Clock, Move, Optimizer};
use crate::lanes::Real;

/// Signum: the sign of the momentum (Bernstein et al. 2018), with decoupled weight decay.
///
/// ```text
/// m ← β₁ m + (1 − β₁) g
/// θ ← θ − η ( sign(m) + ω θ )
/// ```
///
/// It is FOCUS with γ = 0 and β₂ = 0. The paper's toy model uses β₁ = 0.9 and ω = 0.1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signum {
    pub learning_rate: f64,
    pub beta1: f64,
    pub weight_decay: f64,
}

#[derive(Clone, Copy, Debug)]
pub struct SignumFactors<R> {
    /// −η
    minus_learning_rate: R,
    weight_decay: R,
    beta1: R,
    one_minus_beta1: R,
}

impl Optimizer for Signum {
    /// The momentum `m`.
    type Memory<R: Real> = R;
    type Factors<R: Real> = SignumFactors<R>;

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
    fn factors<R: Real>(&self, _clock: &Clock) -> SignumFactors<R> {
        SignumFactors {
            minus_learning_rate: R::splat(-self.learning_rate),
            weight_decay: R::splat(self.weight_decay),
            beta1: R::splat(self.beta1),
            one_minus_beta1: R::splat(1.0 - self.beta1),
        }
    }

    #[inline(always)]
    fn with_learning_rate<R: Real>(factors: SignumFactors<R>, learning_rate: R) -> SignumFactors<R> {
        SignumFactors { minus_learning_rate: -learning_rate, ..factors }
    }

    #[inline(always)]
    fn step<R: Real>(f: &SignumFactors<R>, theta: R, gradient: R, m: R) -> (R, Move<R>) {
        let m = f.beta1.mul_add(m, f.one_minus_beta1 * gradient);
        let direction = m.sign();
        let theta = f.minus_learning_rate.mul_add(f.weight_decay.mul_add(theta, direction), theta);
        (m, Move { theta, direction })
    }
}
