//! Element-wise operations and reductions as tensor operations, for GPUs.

use std::sync::Arc;

use tch::{Kind, Tensor};

use super::{EPSILON, Layer, MOMENTUM, Passed};
use crate::TrainError;
use crate::group::Group;

pub(super) struct Operations {
    /// The processes that share a batch.
    pub group: Arc<Group>,
    /// Images of the whole batch.
    pub images: f64,
}

impl Operations {
    /// Computes variance and mean of each unit over the whole batch, `[models, 1, units]`.
    fn moments(&self, inputs: &Tensor) -> Result<(Tensor, Tensor), TrainError> {
        if self.group.is_alone() {
            return Ok(inputs.f_var_mean_correction(&[1][..], 0, true)?);
        }
        let mut mean = inputs.f_sum_dim_intlist(&[1][..], true, None::<Kind>)?;
        self.group.sum(&mut mean)?;
        let _ = mean.f_div_scalar_(self.images)?;
        let mut variance = inputs.f_sub(&mean)?.f_square()?.f_sum_dim_intlist(&[1][..], true, None::<Kind>)?;
        self.group.sum(&mut variance)?;
        let _ = variance.f_div_scalar_(self.images)?;
        Ok((variance, mean))
    }
}

impl super::Operations for Operations {
    fn normalize(&self, inputs: Tensor, layer: &Layer, running: &mut [Tensor; 2]) -> Result<Passed, TrainError> {
        let (variance, mean) = self.moments(&inputs)?;
        let [running_mean, running_variance] = running;
        let _ = running_mean.f_lerp_(&mean.f_squeeze_dim(1)?, MOMENTUM)?;
        let unbiased = variance.f_squeeze_dim(1)?.f_mul_scalar(self.images / (self.images - 1.0))?;
        let _ = running_variance.f_lerp_(&unbiased, MOMENTUM)?;
        let inverse_deviation = variance.f_add_scalar(EPSILON)?.f_rsqrt()?;
        let normalized = inputs
            .f_sub(&mean)?
            .f_mul_(&inverse_deviation.f_mul(&layer.scale.f_unsqueeze(1)?)?)?
            .f_add_(&layer.shift.f_unsqueeze(1)?)?;
        Ok(Passed { inputs, normalized, mean, inverse_deviation })
    }

    fn bias_and_relu(&self, mut outputs: Tensor, bias: &Tensor) -> Result<Tensor, TrainError> {
        Ok(outputs.f_add_(&bias.f_unsqueeze(1)?)?.f_relu_()?)
    }

    /// Returns, in a group, this process's parts of the losses.
    fn cross_entropy(
        &self,
        mut outputs: Tensor,
        bias: &Tensor,
        labels: &Tensor,
    ) -> Result<(Tensor, Tensor), TrainError> {
        let logs = outputs.f_add_(&bias.f_unsqueeze(1)?)?.f_log_softmax(-1, None)?;
        let labels = labels.f_unsqueeze(-1)?;
        let losses = logs.f_gather(-1, &labels, false)?.f_squeeze_dim(-1)?;
        let losses = losses.f_sum_dim_intlist(&[1][..], false, None::<Kind>)?.f_div_scalar(self.images)?;
        let mut gradient = logs.f_exp()?;
        let ones = Tensor::f_full_like(&labels.f_to_kind(gradient.kind())?, -1.0)?;
        let _ = gradient.f_scatter_add_(-1, &labels, &ones)?.f_div_scalar_(self.images)?;
        Ok((losses.f_neg()?, gradient))
    }

    fn bias_gradient(&self, by_outputs: &Tensor, gradient: &mut Tensor) -> Result<(), TrainError> {
        gradient.f_copy_(&by_outputs.f_sum_dim_intlist(&[1][..], false, None::<Kind>)?)?;
        Ok(())
    }

    fn normalize_backward(
        &self,
        by_normalized: Tensor,
        passed: &Passed,
        layer: &Layer,
        gradient: &mut Layer,
        first: bool,
    ) -> Result<Tensor, TrainError> {
        let standard = passed.inputs.f_sub(&passed.mean)?.f_mul_(&passed.inverse_deviation)?;
        let mut by_shift = by_normalized.f_sum_dim_intlist(&[1][..], true, None::<Kind>)?;
        let mut by_scale = by_normalized.f_mul(&standard)?.f_sum_dim_intlist(&[1][..], true, None::<Kind>)?;
        gradient.shift.f_copy_(&by_shift.f_squeeze_dim(1)?)?;
        gradient.scale.f_copy_(&by_scale.f_squeeze_dim(1)?)?;
        if first {
            return Ok(by_normalized);
        }
        // The gradients of γ and β stay those of this process's images, as all gradients are added up later.
        if !self.group.is_alone() {
            let mut sums = Tensor::f_cat(&[&by_shift, &by_scale], 1)?;
            self.group.sum(&mut sums)?;
            (by_shift, by_scale) = (sums.f_narrow(1, 0, 1)?, sums.f_narrow(1, 1, 1)?);
        }
        let mut by_inputs = by_normalized;
        let _ = by_inputs
            .f_sub_(&standard.f_mul(&by_scale)?.f_add_(&by_shift)?.f_div_scalar_(self.images)?)?
            .f_mul_(&passed.inverse_deviation.f_mul(&layer.scale.f_unsqueeze(1)?)?)?
            .f_masked_fill_(&passed.inputs.f_le(0.0)?, 0.0)?;
        Ok(by_inputs)
    }
}
