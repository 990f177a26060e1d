//! The settings of a pixel.

use crate::landscape::LandscapeSpec;
use crate::noise::NoiseSpec;
use crate::optimizer::{RuleSpec, Schedule};
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

/// An optimizer at one pixel.
#[derive(Clone, Debug, PartialEq)]
pub struct PointOptimizer {
    pub id: u32,
    pub rule: RuleSpec,
    pub learning_rates: Vec<f64>,
    /// The schedule over the steps of the point.
    pub schedule: Schedule,
}
