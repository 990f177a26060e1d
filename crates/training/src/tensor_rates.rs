//! The rates of a step that differ between parameters, for tensor operations.

use tch::{Device, Kind, TchError, Tensor};
use valleyscope_engine::optimizer::RuleSpec;

use super::error::TrainError;
use super::layout::ParameterLayout;
use super::tensor_value::TensorValue;

/// The rates that differ between parameters, as tensors.
#[derive(Debug)]
pub(super) struct TensorRates {
    pub learning_rate: TensorLearningRates,
    /// The weight decay ω; 0 without decay.
    pub decay: Tensor,
}

/// The learning rate η.
#[derive(Debug)]
pub(super) enum TensorLearningRates {
    /// The rate of a single model.
    One(f64),
    /// The rates of each parameter of a stack.
    Each(Tensor),
}

impl TensorLearningRates {
    pub(super) fn value(&self) -> TensorValue {
        match self {
            TensorLearningRates::One(rate) => TensorValue::Number(*rate),
            TensorLearningRates::Each(rates) => TensorValue::lent(rates),
        }
    }

    /// Returns η times a flat tensor.
    pub(super) fn times(&self, tensor: &Tensor) -> Result<Tensor, TchError> {
        match self {
            TensorLearningRates::One(rate) => tensor.f_mul_scalar(*rate),
            TensorLearningRates::Each(rates) => tensor.f_mul(rates),
        }
    }
}

impl TensorRates {
    pub(super) fn new(
        rule: &RuleSpec,
        learning_rates: &[f64],
        layout: &ParameterLayout,
        kind: Kind,
        device: Device,
    ) -> Result<TensorRates, TrainError> {
        let zeros = || Tensor::f_zeros([layout.length() as i64], (kind, device));
        let decay = zeros()?;
        for (index, _) in layout.segments().iter().enumerate().filter(|(_, segment)| segment.decays) {
            let _ = layout.view(&decay, index).f_fill_(rule.weight_decay())?;
        }
        if let [rate] = learning_rates {
            return Ok(TensorRates { learning_rate: TensorLearningRates::One(*rate), decay });
        }
        let learning_rate = zeros()?;
        let rates = Tensor::f_from_slice(learning_rates)?.f_to_kind(kind)?.f_to_device(device)?;
        for (index, segment) in layout.segments().iter().enumerate() {
            let rates = rates.f_view(&[&[-1][..], &vec![1; segment.shape.len()]].concat()[..])?;
            layout.view(&learning_rate, index).f_copy_(&rates)?;
        }
        Ok(TensorRates { learning_rate: TensorLearningRates::Each(learning_rate), decay })
    }
}
