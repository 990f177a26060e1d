//! Axes of a diagram.

use serde::{Deserialize, Serialize};

use super::point::{Point, Variant};
use super::value_range::ValueRange;
use crate::landscape::{LandscapeParameterName, LandscapeSpec};
use crate::noise::NoiseParameterName;
use crate::optimizer::{Hyperparameter, HyperparameterName};
use crate::parameter::{DIMENSION, Extent, LEARNING_RATE, NOISE, Parameter, STEPS};
use crate::quantity::{Dimension, LearningRate, Noise, OutOfRange, PointCount, StepCount};
use crate::spacing::Spacing;

/// An axis of a diagram: the quantity that varies along it, and its range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    pub of: Quantity,
    /// The value of the first row or column.
    pub from: f64,
    /// The value of the last row or column.
    pub to: f64,
    pub count: PointCount,
    pub spacing: Spacing,
}

/// A quantity that varies along an axis: a parameter of the landscape or of the noise, a field of the runs, or a
/// hyperparameter of some optimizers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Quantity {
    /// A parameter of the landscape.
    Landscape(LandscapeParameterName),
    /// The noise σ, of whatever kind.
    Noise,
    /// Another parameter of the noise.
    NoiseParameter(NoiseParameterName),
    Steps,
    /// The dimension d.
    Dimension,
    /// A hyperparameter, and the ids of the optimizers for which it is varied.
    Of(HyperparameterName, Vec<u32>),
}

impl Quantity {
    /// Returns the parameter that varies on this landscape; for a hyperparameter, the [`Hyperparameter`] of the first
    /// rule that has it. A parameter that the landscape lacks is described by its key.
    pub fn parameter(&self, landscape: &LandscapeSpec) -> Parameter {
        match self {
            Quantity::Landscape(name) => match landscape.parameter(name.key()) {
                Some(of) => of.parameter,
                None => Parameter::new(name.key(), name.key(), Extent::linear(0.0, 1.0)),
            },
            Quantity::Noise => NOISE,
            Quantity::NoiseParameter(name) => name.parameter(),
            Quantity::Steps => STEPS,
            Quantity::Dimension => DIMENSION,
            Quantity::Of(name, _) => name.hyperparameter().map_or(LEARNING_RATE, Hyperparameter::parameter),
        }
    }

    /// Returns the name in file formats, without the optimizers of a hyperparameter.
    pub fn name(&self) -> &'static str {
        match self {
            Quantity::Landscape(parameter) => parameter.key(),
            Quantity::Of(hyperparameter, _) => hyperparameter.key(),
            Quantity::Noise => NOISE.key,
            Quantity::NoiseParameter(parameter) => parameter.key(),
            Quantity::Steps => STEPS.key,
            Quantity::Dimension => DIMENSION.key,
        }
    }

    /// Returns whether all values are whole numbers.
    pub fn is_whole(&self) -> bool {
        match self {
            Quantity::Landscape(_) | Quantity::Noise | Quantity::NoiseParameter(_) => false,
            Quantity::Steps | Quantity::Dimension => true,
            Quantity::Of(name, _) => name.hyperparameter().is_some_and(|of| of.parameter().is_whole),
        }
    }

    /// Returns whether both vary the same property of some optimizer or of the landscape.
    pub fn overlaps(&self, other: &Quantity) -> bool {
        match (self, other) {
            (Quantity::Of(this, these), Quantity::Of(that, those)) => {
                this == that && these.iter().any(|id| those.contains(id))
            }
            _ => self == other,
        }
    }

    /// Sets the quantity to `value` at a point. Optimizers without the hyperparameter stay unchanged.
    pub(super) fn put(&self, point: &mut Point, value: f64) -> Result<(), OutOfRange> {
        match self {
            Quantity::Landscape(parameter) => point.landscape.set(parameter.key(), value)?,
            Quantity::Noise => point.noise = point.noise.with_sigma(Noise::new(value)?),
            Quantity::NoiseParameter(parameter) => {
                let index = point.noise.index(parameter.key()).expect("the noise was checked to have it");
                point.noise.set(index, value)?;
            }
            Quantity::Steps => point.steps = StepCount::new(value as u64)?,
            Quantity::Dimension => point.dimension = Dimension::new(value as u64)?,
            Quantity::Of(hyperparameter, ids) => {
                for optimizer in point.optimizers.iter_mut().filter(|optimizer| ids.contains(&optimizer.id)) {
                    if *hyperparameter == HyperparameterName::LEARNING_RATE {
                        optimizer.learning_rates = vec![LearningRate::new(value)?.get()];
                        continue;
                    }
                    for Variant { rule, .. } in &mut optimizer.variants {
                        if hyperparameter.is_of(rule) {
                            rule.set(hyperparameter.key(), value)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

impl Axis {
    /// Returns whether it varies a hyperparameter of an optimizer.
    pub fn varies(&self, key: &str, optimizer: u32) -> bool {
        matches!(&self.of, Quantity::Of(hyperparameter, ids) if hyperparameter.key() == key && ids.contains(&optimizer))
    }

    /// Returns whether it varies the learning rate of an optimizer.
    pub(super) fn varies_rate_of(&self, optimizer: u32) -> bool {
        self.varies(HyperparameterName::LEARNING_RATE.key(), optimizer)
    }

    /// Returns the values of all rows or columns, in their order.
    pub fn values(&self) -> Vec<f64> {
        self.range().values()
    }

    pub(super) fn range(&self) -> ValueRange {
        let Axis { from, to, count, spacing, .. } = *self;
        ValueRange { from, to, count, spacing, is_whole: self.of.is_whole() }
    }
}
