//! The noise of a step.

use std::ops::{Add, Mul};

use super::NoiseKind;
use crate::instructions::OfSet;
use crate::lanes::Real;

/// How noise acts on a gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Each coordinate is multiplied by a factor, whose mean is 1.
    Multiplies,
    /// A term whose mean is 0 is added to each coordinate.
    Adds,
}

impl Action {
    /// Returns the mean of the factors or terms.
    pub fn mean(self) -> f64 {
        match self {
            Action::Multiplies => 1.0,
            Action::Adds => 0.0,
        }
    }

    /// Returns the exact values with the noise of these factors or terms.
    #[inline(always)]
    pub fn apply<R: Real>(self, exact: [R; 2], noise: [R; 2]) -> [R; 2] {
        [self.apply_to(exact[0], noise[0]), self.apply_to(exact[1], noise[1])]
    }

    /// Returns the exact value with the noise of this factor or term.
    #[inline(always)]
    pub fn apply_to<N: Add<Output = N> + Mul<Output = N>>(self, exact: N, noise: N) -> N {
        match self {
            Action::Multiplies => exact * noise,
            Action::Adds => sum(exact, noise),
        }
    }
}

/// Adds, away from the steps with factors.
#[cold]
#[inline(always)]
fn sum<N: Add<Output = N>>(exact: N, noise: N) -> N {
    exact + noise
}

/// A noise with the values of its parameters, as kernels use it. Its factors or terms are `mean + σξ`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradientNoise {
    pub kind: NoiseKind,
    pub action: Action,
    /// The mean of the factors or terms, that of the action.
    pub mean: f64,
    /// The standard deviation σ.
    pub sigma: f64,
    /// The value of the parameter after σ; 0 without one.
    shape: f64,
    is_normal: bool,
}

impl GradientNoise {
    pub(super) fn new(kind: NoiseKind, sigma: f64, shape: f64) -> GradientNoise {
        let action = kind.info().action;
        GradientNoise { kind, action, mean: action.mean(), sigma, shape, is_normal: kind.is_normal() }
    }

    /// Converts pairs of draws from Normal(0, 1) into draws of the noise.
    #[inline(always)]
    pub fn shape<R: Real + OfSet>(&self, pairs: &mut [[R; 2]]) {
        if !self.is_normal {
            self.kind.shape(pairs, self.shape);
        }
    }
}
