//! The coefficients of running averages.

use super::{Algebra, Scalar};

/// The decay rate β of a running average, with 1 − β.
#[derive(Clone, Copy, Debug)]
pub struct DecayRate<A> {
    beta: A,
    one_minus_beta: A,
}

impl<A: Algebra> DecayRate<A> {
    /// Creates the coefficients of an average with the decay rate β.
    #[inline(always)]
    pub(crate) fn new<S: Scalar>(beta: S, of: &impl Fn(S) -> A) -> DecayRate<A> {
        // The function itself is called: a call through the reference would not be inlined, and so not be compiled for
        // the vector instructions of the step.
        DecayRate { beta: (*of)(beta), one_minus_beta: (*of)(S::splat(1.0) - beta) }
    }

    /// `β m + (1 − β) x`: the average after its next value x.
    #[inline(always)]
    pub(crate) fn average(self, m: A, x: A) -> A {
        self.beta.mul_add(m, self.one_minus_beta * x)
    }

    /// `β s + (1 − β) x²`, where x² is `((1 − β) x) x`.
    #[inline(always)]
    pub(crate) fn average_of_squares(self, s: A, x: A) -> A {
        self.beta.mul_add(s, self.one_minus_beta * x * x)
    }
}

/// Adam's averages of the gradient and of its square: their decay rates, and the bias of their ratio.
#[derive(Clone, Copy, Debug)]
pub struct AdamAverages<A> {
    pub beta1: DecayRate<A>,
    pub beta2: DecayRate<A>,
    pub ratio: RatioCorrection<A>,
}

impl<A: Algebra> AdamAverages<A> {
    /// Creates the coefficients from β₁ and β₂, their powers β₁ᵗ and β₂ᵗ, and ε.
    #[inline(always)]
    pub(crate) fn new<S: Scalar>([beta1, beta2]: [S; 2], powers: [S; 2], epsilon: S, of: &impl Fn(S) -> A) -> Self {
        AdamAverages {
            beta1: DecayRate::new(beta1, of),
            beta2: DecayRate::new(beta2, of),
            ratio: RatioCorrection::new(powers, epsilon, of),
        }
    }
}

/// The weight of the next value in a running average, as two coefficients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AverageWeight<A> {
    /// w
    pub weight: A,
    /// w − 1
    pub minus_kept: A,
}

impl<A> AverageWeight<A> {
    /// Creates the coefficients of the weight w.
    #[inline(always)]
    pub(crate) fn new<S: Scalar>(weight: S, of: &impl Fn(S) -> A) -> AverageWeight<A> {
        // As in `DecayRate::new`.
        AverageWeight { weight: (*of)(weight), minus_kept: (*of)(weight - S::splat(1.0)) }
    }
}

/// The coefficients that correct the bias in the ratio of two running averages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioCorrection<A> {
    /// `(1 − β₁ᵗ) / √(1 − β₂ᵗ)`
    pub factor: A,
    /// `(1 − β₁ᵗ) ε`
    pub term: A,
    /// `1 − β₁ᵗ`, the weight that m has gathered.
    pub m_weight: A,
    /// `1 − β₂ᵗ`
    pub s_weight: A,
    pub epsilon: A,
}

impl<A> RatioCorrection<A> {
    /// Creates the coefficients from the powers β₁ᵗ and β₂ᵗ, and ε.
    #[inline(always)]
    pub(crate) fn new<S: Scalar>([beta1, beta2]: [S; 2], epsilon: S, of: &impl Fn(S) -> A) -> RatioCorrection<A> {
        let (m_weight, s_weight) = (S::splat(1.0) - beta1, S::splat(1.0) - beta2);
        // As in `DecayRate::new`.
        RatioCorrection {
            factor: (*of)(m_weight / s_weight.sqrt()),
            term: (*of)(m_weight * epsilon),
            m_weight: (*of)(m_weight),
            s_weight: (*of)(s_weight),
            epsilon: (*of)(epsilon),
        }
    }
}
