//! Element-wise operations and reductions as tensor operations: for GPUs.

use tch::{Kind, Tensor};

use super::{EPSILON, Layer, MOMENTUM, Passed};
use crate::train::TrainError;

pub(super) struct Operations;

impl super::Operations for Operations {
    fn normalize(inputs: Tensor, layer: &Layer, running: &mut [Tensor; 2]) -> Result<Passed, TrainError> {
        let batch = inputs.size()[1] as f64;
        let (variance, mean) = inputs.f_var_mean_correction(&[1][..], 0, true)?;
        let [running_mean, running_variance] = running;
        let _ = running_mean.f_lerp_(&mean.f_squeeze_dim(1)?, MOMENTUM)?;
        let unbiased = variance.f_squeeze_dim(1)?.f_mul_scalar(batch / (batch - 1.0))?;
        let _ = running_variance.f_lerp_(&unbiased, MOMENTUM)?;
        let inverse_deviation = variance.f_add_scalar(EPSILON)?.f_rsqrt()?;
        let normalized = inputs
            .f_sub(&mean)?
            .f_mul_(&inverse_deviation.f_mul(&layer.scale.f_unsqueeze(1)?)?)?
            .f_add_(&layer.shift.f_unsqueeze(1)?)?;
        Ok(Passed { inputs, normalized, mean, inverse_deviation })
    }

    fn bias_and_relu(mut outputs: Tensor, bias: &Tensor) -> Result<Tensor, TrainError> {
        Ok(outputs.f_add_(&bias.f_unsqueeze(1)?)?.f_relu_()?)
    }

    fn cross_entropy(mut outputs: Tensor, bias: &Tensor, labels: &Tensor) -> Result<(Tensor, Tensor), TrainError> {
        let logs = outputs.f_add_(&bias.f_unsqueeze(1)?)?.f_log_softmax(-1, None)?;
        let labels = labels.f_unsqueeze(-1)?;
        let losses = logs.f_gather(-1, &labels, false)?.f_squeeze_dim(-1)?.f_mean_dim(&[1][..], false, None::<Kind>)?;
        let batch = labels.size()[1] as f64;
        let mut gradient = logs.f_exp()?;
        let ones = Tensor::f_full_like(&labels.f_to_kind(gradient.kind())?, -1.0)?;
        let _ = gradient.f_scatter_add_(-1, &labels, &ones)?.f_div_scalar_(batch)?;
        Ok((losses.f_neg()?, gradient))
    }

    fn bias_gradient(by_outputs: &Tensor, gradient: &mut Tensor) -> Result<(), TrainError> {
        gradient.f_copy_(&by_outputs.f_sum_dim_intlist(&[1][..], false, None::<Kind>)?)?;
        Ok(())
    }

    fn normalize_backward(
        by_normalized: Tensor,
        passed: &Passed,
        layer: &Layer,
        gradient: &mut Layer,
        first: bool,
    ) -> Result<Tensor, TrainError> {
        let batch = by_normalized.size()[1] as f64;
        let standard = passed.inputs.f_sub(&passed.mean)?.f_mul_(&passed.inverse_deviation)?;
        let by_shift = by_normalized.f_sum_dim_intlist(&[1][..], true, None::<Kind>)?;
        let by_scale = by_normalized.f_mul(&standard)?.f_sum_dim_intlist(&[1][..], true, None::<Kind>)?;
        gradient.shift.f_copy_(&by_shift.f_squeeze_dim(1)?)?;
        gradient.scale.f_copy_(&by_scale.f_squeeze_dim(1)?)?;
        if first {
            return Ok(by_normalized);
        }
        let mut by_inputs = by_normalized;
        let _ = by_inputs
            .f_sub_(&standard.f_mul(&by_scale)?.f_add_(&by_shift)?.f_div_scalar_(batch)?)?
            .f_mul_(&passed.inverse_deviation.f_mul(&layer.scale.f_unsqueeze(1)?)?)?
            .f_masked_fill_(&passed.inputs.f_le(0.0)?, 0.0)?;
        Ok(by_inputs)
    }
}
