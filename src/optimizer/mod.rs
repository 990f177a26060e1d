//! The update rules, one file each.
//!
//! A rule works on one coordinate of the parameters and is written over [`Real`], so that the same
//! lines serve one particle, many side by side, and a checking engine in another precision. In the
//! formulas `t` counts from 1, `g` is the gradient as the optimizer sees it (noisy), `η` the
//! learning rate and `ω` the weight decay.
//!
//! A step has three parts. [`Optimizer::tick`] advances what all coordinates share: the weight that
//! each running average has gathered so far. [`Optimizer::factors`] turns hyperparameters and clock
//! into the numbers that the step needs. [`Optimizer::step`] is the rule itself, a pure function.

mod adam;
mod focus;
mod sgd;
mod signum;

pub use adam::{Adam, AdamFactors, AdamMemory};
pub use focus::{DecayTarget, Focus, FocusFactors, FocusMemory};
pub use sgd::{Sgd, SgdFactors};
pub use signum::{Signum, SignumFactors};

use crate::lanes::Real;

/// An update rule together with its hyperparameters.
pub trait Optimizer {
    /// What is remembered for each coordinate.
    type Memory<R: Real>: Copy;

    /// The numbers a step needs, the same for every coordinate.
    type Factors<R: Real>: Copy;

    /// The memory before the first step.
    fn fresh<R: Real>(&self) -> Self::Memory<R>;

    /// The memory with `f` applied to each number in it.
    fn map_memory<A: Real, B: Real>(memory: Self::Memory<A>, f: impl Fn(A) -> B) -> Self::Memory<B>;

    /// The clock of the step that follows the one `clock` belongs to.
    fn tick(&self, clock: Clock) -> Clock;

    /// The factors of the step that `clock` belongs to.
    fn factors<R: Real>(&self, clock: &Clock) -> Self::Factors<R>;

    /// The same factors with another learning rate, which may differ from lane to lane.
    fn with_learning_rate<R: Real>(factors: Self::Factors<R>, learning_rate: R) -> Self::Factors<R>;

    /// One step of one coordinate: from `theta`, the gradient seen there and the memory, to the new
    /// memory and the move.
    fn step<R: Real>(
        factors: &Self::Factors<R>,
        theta: R,
        gradient: R,
        memory: Self::Memory<R>,
    ) -> (Self::Memory<R>, Move<R>);
}

/// What the running averages of an optimizer have in common over all coordinates.
///
/// An average that starts at 0 and is pulled by `1 − β` towards its input has gathered the weight
/// `1 − Πβ` after some steps; dividing by it removes the bias. With a constant β the product is βᵗ.
/// Kept as a product it stays right when β is changed on the way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// Steps taken, `t`.
    pub steps: u64,
    /// Product of β₁ over the steps taken, β₁ᵗ.
    pub beta1_power: f64,
    /// Product of β₂ over the steps taken, β₂ᵗ.
    pub beta2_power: f64,
}

impl Clock {
    /// Before the first step.
    pub const START: Clock = Clock { steps: 0, beta1_power: 1.0, beta2_power: 1.0 };

    /// The clock one step later, for averages with the decay rates `beta1` and `beta2`.
    fn after(self, beta1: f64, beta2: f64) -> Clock {
        Clock { steps: self.steps + 1, beta1_power: self.beta1_power * beta1, beta2_power: self.beta2_power * beta2 }
    }
}

/// Where one step takes one coordinate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Move<R> {
    /// The parameter after the step.
    pub theta: R,
    /// The step without weight decay, in units of −η. Its size is the effective step size.
    pub direction: R,
}
