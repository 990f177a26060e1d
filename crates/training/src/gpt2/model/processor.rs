//! Element-wise operations and reductions as loops over slices, for the processor in single and double precision.

use std::marker::PhantomData;

use tch::{Kind, TchError, Tensor};

use super::loops::{activate, add_rows, cross_entropy, multiply, normalize, normalize_backward};
use super::operations::Heads;
use super::views::{Norm, Views};
use super::{attention, attention::Attended};
use crate::loops::{Number, numbers, numbers_mut};
use crate::openmp::{rows_of_a_part, share};

pub(super) struct Operations<T>(PhantomData<T>);

/// The tensors that the backward pass of a normalisation needs.
pub(super) struct Normalized {
    x: Tensor,
    /// The mean of each row and 1 / √(its variance + ε), one after the other.
    moments: Tensor,
}

/// Returns for a tensor `[rows, width]` the number of rows of a part of the work, the width, and the elements of such a
/// part.
fn parts(tensor: &Tensor) -> (usize, usize, usize) {
    let size = tensor.size();
    let (count, width) = (size[0] as usize, size[1] as usize);
    let rows = rows_of_a_part(count, width);
    (rows, width, rows * width)
}

/// Allocates a buffer in which each part adds up `width` numbers of its own.
fn sums<T: Number>(tensor: &Tensor, width: usize) -> Vec<T> {
    let (rows, ..) = parts(tensor);
    vec![T::ZERO; (tensor.size()[0] as usize).div_ceil(rows) * width]
}

impl<T: Number> super::operations::Operations for Operations<T> {
    type Normalized = Normalized;
    type Attended = Attended;

    fn embed(tokens: &Tensor, parameters: &Views) -> Result<Tensor, TchError> {
        let (chosen, width) = (Vec::<i64>::try_from(tokens.f_view(-1)?)?, parameters.tokens.size()[1] as usize);
        let mut rows = Tensor::f_empty([chosen.len() as i64, width as i64], (T::KIND, tokens.device()))?;
        let (of_tokens, of_positions) = (numbers::<T>(&parameters.tokens), numbers::<T>(&parameters.positions));
        let positions = of_positions.chunks_exact(width).take(tokens.size()[1] as usize).cycle();
        for ((row, &token), position) in numbers_mut::<T>(&mut rows).chunks_exact_mut(width).zip(&chosen).zip(positions)
        {
            let token = &of_tokens[token as usize * width..][..width];
            for ((row, &token), &position) in row.iter_mut().zip(token).zip(position) {
                *row = token + position;
            }
        }
        Ok(rows)
    }

    fn embed_backward(by_rows: &Tensor, tokens: &Tensor, gradients: &mut Views) -> Result<(), TchError> {
        let (chosen, width) = (Vec::<i64>::try_from(tokens.f_view(-1)?)?, by_rows.size()[1] as usize);
        let length = tokens.size()[1] as usize;
        let (by_tokens, by_positions) =
            (numbers_mut::<T>(&mut gradients.tokens), numbers_mut::<T>(&mut gradients.positions));
        for (row, (by_row, &token)) in numbers::<T>(by_rows).chunks_exact(width).zip(&chosen).enumerate() {
            let by_token = &mut by_tokens[token as usize * width..][..width];
            let by_position = &mut by_positions[row % length * width..][..width];
            for ((by_token, by_position), &by_row) in by_token.iter_mut().zip(by_position).zip(by_row) {
                *by_token = *by_token + by_row;
                *by_position = *by_position + by_row;
            }
        }
        Ok(())
    }

    fn normalize(x: &Tensor, norm: &Norm, _: Kind) -> Result<(Tensor, Normalized), TchError> {
        let (rows, width, part) = parts(x);
        let mut y = x.f_empty_like()?;
        let mut moments = Tensor::f_empty([x.size()[0], 2], (x.kind(), x.device()))?;
        let (weight, bias) = (numbers::<T>(&norm.weight), norm.bias.as_ref().map(numbers::<T>).unwrap_or_default());
        let items = (numbers::<T>(x).chunks(part))
            .zip(numbers_mut::<T>(&mut y).chunks_mut(part))
            .zip(numbers_mut::<T>(&mut moments).chunks_mut(2 * rows));
        share(items, |((x, y), moments)| normalize(x, y, moments, weight, bias));
        debug_assert_eq!(width, weight.len());
        Ok((y, Normalized { x: x.shallow_clone(), moments }))
    }

    fn normalize_backward(
        by_normalized: &Tensor,
        Normalized { x, moments }: Normalized,
        norm: &Norm,
        gradient: &mut Norm,
        by_x: &mut Tensor,
    ) -> Result<(), TchError> {
        let (rows, width, part) = parts(&x);
        let (mut by_weight, mut by_bias) = (sums::<T>(&x, width), sums::<T>(&x, width));
        let weight = numbers::<T>(&norm.weight);
        let items = (numbers::<T>(by_normalized).chunks(part))
            .zip(numbers::<T>(&x).chunks(part))
            .zip(numbers::<T>(&moments).chunks(2 * rows))
            .zip(numbers_mut::<T>(by_x).chunks_mut(part))
            .zip(by_weight.chunks_exact_mut(width).zip(by_bias.chunks_exact_mut(width)));
        share(items, |((((by_y, x), moments), by_x), (by_weight, by_bias))| {
            normalize_backward(by_y, x, moments, weight, by_x, by_weight, by_bias);
        });
        add_rows(&by_weight, numbers_mut(&mut gradient.weight));
        if let Some(bias) = &mut gradient.bias {
            add_rows(&by_bias, numbers_mut(bias));
        }
        Ok(())
    }

    fn attend(rows: Tensor, heads: Heads, _: &Tensor) -> Result<(Tensor, Attended), TchError> {
        attention::attend::<T>(rows, heads)
    }

    fn attend_backward(by_out: Tensor, attended: Attended, heads: Heads) -> Result<Tensor, TchError> {
        attention::attend_backward::<T>(&by_out, attended, heads)
    }

    fn activate(mut x: Tensor) -> Result<(Tensor, Tensor), TchError> {
        let (.., part) = parts(&x);
        let mut active = x.f_empty_like()?;
        let items = numbers_mut::<T>(&mut x).chunks_mut(part).zip(numbers_mut::<T>(&mut active).chunks_mut(part));
        share(items, |(x, active)| activate(x, active));
        Ok((active, x))
    }

    fn activate_backward(mut by_active: Tensor, slope: &Tensor) -> Result<Tensor, TchError> {
        let (.., part) = parts(slope);
        let items = numbers_mut::<T>(&mut by_active).chunks_mut(part).zip(numbers::<T>(slope).chunks(part));
        share(items, |(by_active, slope)| multiply(by_active, slope));
        Ok(by_active)
    }

    fn cross_entropy(mut logits: Tensor, targets: &Tensor, factor: f64) -> Result<(Tensor, Tensor), TchError> {
        let (rows, width, part) = parts(&logits);
        let targets = Vec::<i64>::try_from(targets)?;
        let mut losses = sums::<T>(&logits, 1);
        let items = (numbers_mut::<T>(&mut logits).chunks_mut(part)).zip(targets.chunks(rows)).zip(&mut losses);
        share(items, |((logits, targets), loss)| {
            *loss = cross_entropy(logits, targets, width, T::splat(factor));
        });
        let loss = losses.into_iter().fold(T::ZERO, |sum, loss| sum + loss);
        Ok((Tensor::f_from_slice(&[loss])?.f_squeeze()?, logits))
    }

    fn add_rows(by_rows: &Tensor, gradient: &mut Tensor) -> Result<(), TchError> {
        let (_, width, part) = parts(by_rows);
        let mut of_parts = sums::<T>(by_rows, width);
        let items = numbers::<T>(by_rows).chunks(part).zip(of_parts.chunks_exact_mut(width));
        share(items, |(rows, sum)| add_rows(rows, sum));
        add_rows(&of_parts, numbers_mut(gradient));
        Ok(())
    }
}
