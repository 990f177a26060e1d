//! The settings of a pixel.

use crate::landscape::LandscapeSpec;
use crate::noise::NoiseSpec;
use crate::optimizer::{RuleKind, RuleSpec, Schedule};
use crate::quantity::{Dimension, StepCount};

/// The settings of the runs at one pixel.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub landscape: LandscapeSpec,
    pub dimension: Dimension,
    pub noise: NoiseSpec,
    pub steps: StepCount,
    pub optimizers: Vec<PointOptimizer>,
}

/// An optimizer at one pixel. Each of its variants with each learning rate is a candidate; the candidates are numbered
/// variant by variant.
#[derive(Clone, Debug, PartialEq)]
pub struct PointOptimizer {
    pub id: u32,
    /// The settings, one for each combination of the [tuned](super::Tuned) ones; all are of one kind of rule.
    pub variants: Vec<Variant>,
    pub learning_rates: Vec<f64>,
}

/// The settings of an optimizer without its learning rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variant {
    pub rule: RuleSpec,
    /// The schedule over the steps of the point.
    pub schedule: Schedule,
}

impl PointOptimizer {
    /// Returns the number of candidates.
    pub(super) fn candidates(&self) -> usize {
        self.variants.len() * self.learning_rates.len()
    }

    /// Returns the index of a candidate's variant.
    pub(super) fn variant_of(&self, candidate: usize) -> usize {
        candidate / self.learning_rates.len()
    }

    /// Returns the settings of a candidate.
    pub fn variant(&self, candidate: usize) -> &Variant {
        &self.variants[self.variant_of(candidate)]
    }

    /// Returns the learning rate of a candidate.
    pub fn learning_rate(&self, candidate: usize) -> f64 {
        self.learning_rates[candidate % self.learning_rates.len()]
    }

    /// Returns the kind of rule of all variants.
    pub(super) fn kind(&self) -> RuleKind {
        self.variants[0].rule.kind()
    }
}
