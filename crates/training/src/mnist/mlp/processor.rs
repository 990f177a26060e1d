//! Element-wise operations and reductions of a single model as loops over slices, for the processor.

use std::marker::PhantomData;

use tch::Tensor;
use valleyscope_engine::vectorized;

use super::{EPSILON, Layer, MOMENTUM, Passed};
use crate::TrainError;
use crate::loops::{Number, numbers, numbers_mut};

pub(super) struct Operations<T>(pub(super) PhantomData<T>);

/// Allocates an uninitialised tensor `[1, units]`.
fn empty_per_unit(like: &Tensor) -> Result<Tensor, TrainError> {
    Ok(Tensor::f_empty([1, like.size()[2]], (like.kind(), like.device()))?)
}

impl<T: Number> super::Operations for Operations<T> {
    fn normalize(&self, inputs: Tensor, layer: &Layer, running: &mut [Tensor; 2]) -> Result<Passed, TrainError> {
        let mut normalized = inputs.f_empty_like()?;
        let (mut mean, mut inverse_deviation) = (empty_per_unit(&inputs)?, empty_per_unit(&inputs)?);
        let [running_mean, running_variance] = running;
        let (x, mean_of, inverse) =
            (numbers::<T>(&inputs), numbers_mut::<T>(&mut mean), numbers_mut::<T>(&mut inverse_deviation));
        moments(x, mean_of, inverse);
        let batch = x.len() / mean_of.len();
        update_running(mean_of, inverse, numbers_mut(running_mean), numbers_mut(running_variance), batch);
        normalize(x, numbers_mut(&mut normalized), mean_of, inverse, numbers(&layer.scale), numbers(&layer.shift));
        Ok(Passed { inputs, normalized, mean, inverse_deviation })
    }

    fn bias_and_relu(&self, mut outputs: Tensor, bias: &Tensor) -> Result<Tensor, TrainError> {
        bias_and_relu(numbers_mut::<T>(&mut outputs), numbers(bias));
        Ok(outputs)
    }

    fn cross_entropy(
        &self,
        mut outputs: Tensor,
        bias: &Tensor,
        labels: &Tensor,
    ) -> Result<(Tensor, Tensor), TrainError> {
        let labels = Vec::<i64>::try_from(labels.f_flatten(0, -1)?)?;
        let mut losses = Tensor::f_empty([1], (outputs.kind(), outputs.device()))?;
        numbers_mut::<T>(&mut losses)[0] = cross_entropy(numbers_mut(&mut outputs), numbers(bias), &labels);
        Ok((losses, outputs))
    }

    fn bias_gradient(&self, by_outputs: &Tensor, gradient: &mut Tensor) -> Result<(), TrainError> {
        sum_rows(numbers::<T>(by_outputs), numbers_mut(gradient));
        Ok(())
    }

    fn normalize_backward(
        &self,
        mut by_normalized: Tensor,
        passed: &Passed,
        layer: &Layer,
        gradient: &mut Layer,
        first: bool,
    ) -> Result<Tensor, TrainError> {
        let (dy, x) = (numbers_mut::<T>(&mut by_normalized), numbers(&passed.inputs));
        let (mean, inverse) = (numbers(&passed.mean), numbers(&passed.inverse_deviation));
        let (by_scale, by_shift) = (numbers_mut(&mut gradient.scale), numbers_mut(&mut gradient.shift));
        parameter_gradients(dy, x, mean, inverse, by_scale, by_shift);
        if !first {
            input_gradients(dy, x, mean, inverse, numbers(&layer.scale), by_scale, by_shift);
        }
        Ok(by_normalized)
    }
}

vectorized! {
    /// Computes mean and variance of each unit over the batch.
    fn moments<T: Number>(x: &[T], mean: &mut [T], variance: &mut [T]) {
        let units = mean.len();
        let share = T::splat(1.0 / (x.len() / units) as f64);
        mean.fill(T::ZERO);
        for row in x.chunks_exact(units) {
            for (mean, &x) in mean.iter_mut().zip(row) {
                *mean = *mean + x;
            }
        }
        for mean in &mut *mean {
            *mean = *mean * share;
        }
        variance.fill(T::ZERO);
        for row in x.chunks_exact(units) {
            for ((variance, &mean), &x) in variance.iter_mut().zip(&*mean).zip(row) {
                let off = x - mean;
                *variance = off.mul_add(off, *variance);
            }
        }
        for variance in variance {
            *variance = *variance * share;
        }
    }
}

vectorized! {
    /// Updates the running averages, and turns variances into 1 / √(variance + ε).
    fn update_running<T: Number>(
        mean: &[T], variance: &mut [T], running_mean: &mut [T], running_variance: &mut [T], batch: usize,
    ) {
        let momentum = T::splat(MOMENTUM);
        let unbiased = T::splat(batch as f64 / (batch as f64 - 1.0));
        for (((&mean, variance), running_mean), running_variance) in
            mean.iter().zip(variance).zip(running_mean).zip(running_variance)
        {
            *running_mean = momentum.mul_add(mean - *running_mean, *running_mean);
            *running_variance = momentum.mul_add(unbiased * *variance - *running_variance, *running_variance);
            *variance = T::splat(1.0) / (*variance + T::splat(EPSILON)).sqrt();
        }
    }
}

vectorized! {
    fn normalize<T: Number>(x: &[T], y: &mut [T], mean: &[T], inverse: &[T], scale: &[T], shift: &[T]) {
        let units = mean.len();
        for (x, y) in x.chunks_exact(units).zip(y.chunks_exact_mut(units)) {
            for (((((y, &x), &mean), &inverse), &scale), &shift) in
                y.iter_mut().zip(x).zip(mean).zip(inverse).zip(scale).zip(shift)
            {
                *y = (x - mean).mul_add(inverse * scale, shift);
            }
        }
    }
}

vectorized! {
    fn bias_and_relu<T: Number>(z: &mut [T], bias: &[T]) {
        for row in z.chunks_exact_mut(bias.len()) {
            for (z, &bias) in row.iter_mut().zip(bias) {
                let sum = *z + bias;
                // NaN stays NaN.
                *z = if sum < T::ZERO { T::ZERO } else { sum };
            }
        }
    }
}

/// Computes the mean loss; `z` becomes its gradient.
fn cross_entropy<T: Number>(z: &mut [T], bias: &[T], labels: &[i64]) -> T {
    let share = T::splat(1.0 / labels.len() as f64);
    let mut loss = T::ZERO;
    for (row, &label) in z.chunks_exact_mut(bias.len()).zip(labels) {
        let mut largest = row[0] + bias[0];
        for (z, &bias) in row.iter_mut().zip(bias) {
            *z = *z + bias;
            if *z > largest {
                largest = *z;
            }
        }
        let of_label = row[label as usize] - largest;
        let mut sum = T::ZERO;
        for z in &mut *row {
            *z = (*z - largest).exp();
            sum = sum + *z;
        }
        loss = loss + (sum.ln() - of_label);
        let factor = share / sum;
        for z in &mut *row {
            *z = *z * factor;
        }
        row[label as usize] = row[label as usize] - share;
    }
    loss * share
}

vectorized! {
    fn sum_rows<T: Number>(rows: &[T], sum: &mut [T]) {
        sum.fill(T::ZERO);
        for row in rows.chunks_exact(sum.len()) {
            for (sum, &value) in sum.iter_mut().zip(row) {
                *sum = *sum + value;
            }
        }
    }
}

vectorized! {
    /// Computes sums over the batch of `∂L/∂y · x̂` and `∂L/∂y`.
    fn parameter_gradients<T: Number>(
        dy: &[T], x: &[T], mean: &[T], inverse: &[T], by_scale: &mut [T], by_shift: &mut [T],
    ) {
        let units = mean.len();
        by_scale.fill(T::ZERO);
        by_shift.fill(T::ZERO);
        for (dy, x) in dy.chunks_exact(units).zip(x.chunks_exact(units)) {
            for ((((by_scale, by_shift), &dy), &x), &mean) in
                by_scale.iter_mut().zip(by_shift.iter_mut()).zip(dy).zip(x).zip(mean)
            {
                *by_shift = *by_shift + dy;
                *by_scale = dy.mul_add(x - mean, *by_scale);
            }
        }
        for (by_scale, &inverse) in by_scale.iter_mut().zip(inverse) {
            *by_scale = *by_scale * inverse;
        }
    }
}

vectorized! {
    /// Computes `∂L/∂x = γ r (∂L/∂y − (∂L/∂β + x̂ ∂L/∂γ) / B)`, and 0 where ReLU gave x = 0.
    fn input_gradients<T: Number>(
        dy: &mut [T], x: &[T], mean: &[T], inverse: &[T], scale: &[T], by_scale: &[T], by_shift: &[T],
    ) {
        let units = mean.len();
        let share = T::splat(1.0 / (x.len() / units) as f64);
        for (dy, x) in dy.chunks_exact_mut(units).zip(x.chunks_exact(units)) {
            for ((((((dy, &x), &mean), &inverse), &scale), &by_scale), &by_shift) in
                dy.iter_mut().zip(x).zip(mean).zip(inverse).zip(scale).zip(by_scale).zip(by_shift)
            {
                let standard = (x - mean) * inverse;
                let by_input = (*dy - share * standard.mul_add(by_scale, by_shift)) * (inverse * scale);
                *dy = if x <= T::ZERO { T::ZERO } else { by_input };
            }
        }
    }
}
