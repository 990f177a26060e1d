//! Loops over rows of numbers, compiled for the widest vectors.
//!
//! Sums along a row are made in [`LANES`] independent parts: in a single sum each addition would wait for the one
//! before.

use std::f64::consts::{FRAC_2_SQRT_PI, SQRT_2};

use valleyscope_engine::vectorized;

use super::operations::EPSILON;
use crate::loops::Number;

/// The number of partial sums of a row.
const LANES: usize = 32;

#[inline(always)]
fn sum_of<T: Number>(lanes: [T; LANES]) -> T {
    let mut lanes = lanes;
    let mut count = LANES / 2;
    while count > 0 {
        for lane in 0..count {
            lanes[lane] = lanes[lane] + lanes[lane + count];
        }
        count /= 2;
    }
    lanes[0]
}

#[inline(always)]
fn mean<T: Number>(x: &[T]) -> T {
    let mut sums = [T::ZERO; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for (sum, &x) in sums.iter_mut().zip(chunk) {
            *sum = *sum + x;
        }
    }
    for (sum, &x) in sums.iter_mut().zip(rest) {
        *sum = *sum + x;
    }
    sum_of(sums) / T::splat(x.len() as f64)
}

#[inline(always)]
fn variance<T: Number>(x: &[T], mean: T) -> T {
    let mut sums = [T::ZERO; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for (sum, &x) in sums.iter_mut().zip(chunk) {
            *sum = (x - mean).mul_add(x - mean, *sum);
        }
    }
    for (sum, &x) in sums.iter_mut().zip(rest) {
        *sum = (x - mean).mul_add(x - mean, *sum);
    }
    sum_of(sums) / T::splat(x.len() as f64)
}

/// Computes `Σ a b`.
#[inline(always)]
pub(super) fn dot<T: Number>(a: &[T], b: &[T]) -> T {
    let mut sums = [T::ZERO; LANES];
    let ((chunks, rest), (others, other_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (chunk, other) in chunks.iter().zip(others) {
        for ((sum, &a), &b) in sums.iter_mut().zip(chunk).zip(other) {
            *sum = a.mul_add(b, *sum);
        }
    }
    for ((sum, &a), &b) in sums.iter_mut().zip(rest).zip(other_rest) {
        *sum = a.mul_add(b, *sum);
    }
    sum_of(sums)
}

/// Returns the largest number, ignoring NaN.
#[inline(always)]
fn largest<T: Number>(x: &[T]) -> T {
    let mut lanes = [T::splat(f64::NEG_INFINITY); LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = if x > *lane { x } else { *lane };
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(rest) {
        *lane = if x > *lane { x } else { *lane };
    }
    let mut largest = lanes[0];
    for lane in lanes {
        largest = if lane > largest { lane } else { largest };
    }
    largest
}

/// Replaces each number by `exp(factor x − most)`; returns their sum.
#[inline(always)]
fn exponentials<T: Number>(x: &mut [T], factor: T, most: T) -> T {
    let mut sums = [T::ZERO; LANES];
    let (chunks, rest) = x.as_chunks_mut::<LANES>();
    for chunk in chunks {
        for (sum, x) in sums.iter_mut().zip(chunk) {
            *x = factor.mul_add(*x, -most).quick_exp();
            *sum = *sum + *x;
        }
    }
    for (sum, x) in sums.iter_mut().zip(rest) {
        *x = factor.mul_add(*x, -most).quick_exp();
        *sum = *sum + *x;
    }
    sum_of(sums)
}

vectorized! {
    /// Normalises each row; `bias` may be empty. `moments` receives the mean of each row and 1 / √(its variance + ε).
    pub(super) fn normalize<T: Number>(x: &[T], y: &mut [T], moments: &mut [T], weight: &[T], bias: &[T]) {
        let width = weight.len();
        for ((x, y), moments) in x.chunks_exact(width).zip(y.chunks_exact_mut(width)).zip(moments.chunks_exact_mut(2)) {
            let mean = mean(x);
            let inverse = T::splat(1.0) / (variance(x, mean) + T::splat(EPSILON)).sqrt();
            moments.copy_from_slice(&[mean, inverse]);
            for ((y, &x), &weight) in y.iter_mut().zip(x).zip(weight) {
                *y = (x - mean) * inverse * weight;
            }
            for (y, &bias) in y.iter_mut().zip(bias) {
                *y = *y + bias;
            }
        }
    }
}

vectorized! {
    /// Computes the backward pass of [`normalize`](Self::normalize): with x̂ = (x − mean) r and g = γ ∂L/∂y, adds `r (g
    /// − mean g − x̂ mean(g x̂))` to ∂L/∂x, and sums of `x̂ ∂L/∂y` and `∂L/∂y` to the gradients of γ and β.
    pub(super) fn normalize_backward<T: Number>(
        by_y: &[T], x: &[T], moments: &[T], weight: &[T], by_x: &mut [T], by_weight: &mut [T], by_bias: &mut [T],
    ) {
        let width = weight.len();
        let share = T::splat(1.0 / width as f64);
        let rows = by_y.chunks_exact(width).zip(x.chunks_exact(width)).zip(by_x.chunks_exact_mut(width));
        for (((by_y, x), by_x), moments) in rows.zip(moments.chunks_exact(2)) {
            let (mean, inverse) = (moments[0], moments[1]);
            for ((((by_weight, by_bias), &by_y), &x), _) in
                by_weight.iter_mut().zip(by_bias.iter_mut()).zip(by_y).zip(x).zip(weight)
            {
                *by_weight = ((x - mean) * inverse).mul_add(by_y, *by_weight);
                *by_bias = *by_bias + by_y;
            }
            let [sum, product] = sums_for_backward(by_y, x, weight, mean);
            let (sum, product) = (sum * share, product * share * inverse * inverse);
            for (((by_x, &by_y), &x), &weight) in by_x.iter_mut().zip(by_y).zip(x).zip(weight) {
                *by_x = inverse.mul_add((x - mean).mul_add(-product, by_y.mul_add(weight, -sum)), *by_x);
            }
        }
    }
}

/// Computes `Σ g` and `Σ g (x − mean)` with `g = γ ∂L/∂y`.
#[inline(always)]
fn sums_for_backward<T: Number>(by_y: &[T], x: &[T], weight: &[T], mean: T) -> [T; 2] {
    let (mut sums, mut products) = ([T::ZERO; LANES], [T::ZERO; LANES]);
    let rows = by_y.chunks(LANES).zip(x.chunks(LANES)).zip(weight.chunks(LANES));
    for ((by_y, x), weight) in rows {
        let lanes = sums.iter_mut().zip(&mut products);
        for ((((sum, product), &by_y), &x), &weight) in lanes.zip(by_y).zip(x).zip(weight) {
            let by_standard = by_y * weight;
            *sum = *sum + by_standard;
            *product = by_standard.mul_add(x - mean, *product);
        }
    }
    [sum_of(sums), sum_of(products)]
}

vectorized! {
    /// Applies GELU: `½ x (1 + tanh u)` with `u = √(2/π) (x + 0.044715 x³)`, which is `x / (1 + exp(−2u))`. `x` becomes
    /// the derivative.
    pub(super) fn activate<T: Number>(x: &mut [T], active: &mut [T]) {
        // 2 √(2/π)
        let twice = T::splat(FRAC_2_SQRT_PI * SQRT_2);
        let (cubic, one) = (T::splat(0.044715), T::splat(1.0));
        for (x, active) in x.iter_mut().zip(active) {
            let square = cubic * *x * *x;
            let share = one / (one + (-(twice * *x * (one + square))).quick_exp());
            let of_x = *x * share;
            *active = of_x;
            let slope = twice * square.mul_add(T::splat(3.0), one);
            *x = (of_x * (one - share)).mul_add(slope, share);
        }
    }
}

vectorized! {
    pub(super) fn multiply<T: Number>(x: &mut [T], factors: &[T]) {
        for (x, &factor) in x.iter_mut().zip(factors) {
            *x = *x * factor;
        }
    }
}

vectorized! {
    /// Adds all rows to the sum.
    pub(super) fn add_rows<T: Number>(rows: &[T], sum: &mut [T]) {
        for row in rows.chunks_exact(sum.len()) {
            for (sum, &value) in sum.iter_mut().zip(row) {
                *sum = *sum + value;
            }
        }
    }
}

vectorized! {
    /// Returns the sum of the rows' losses; the logits become its gradient times `factor`.
    pub(super) fn cross_entropy<T: Number>(logits: &mut [T], targets: &[i64], width: usize, factor: T) -> T {
        let mut loss = T::ZERO;
        for (row, &target) in logits.chunks_exact_mut(width).zip(targets) {
            let most = largest(row);
            let of_target = row[target as usize] - most;
            let sum = exponentials(row, T::splat(1.0), most);
            loss = loss + (sum.ln() - of_target);
            let share = factor / sum;
            for x in &mut *row {
                *x = *x * share;
            }
            row[target as usize] = row[target as usize] - factor;
        }
        loss
    }
}

vectorized! {
    /// Computes the softmax of `scale` times the scores of one head. A token attends to those up to itself; the other
    /// probabilities are zero.
    pub(super) fn causal_softmax<T: Number>(scores: &mut [T], length: usize, scale: T) {
        for (token, row) in scores.chunks_exact_mut(length).enumerate() {
            let (seen, ahead) = row.split_at_mut(token + 1);
            let most = largest(seen) * scale;
            let share = T::splat(1.0) / exponentials(seen, scale, most);
            for x in seen {
                *x = *x * share;
            }
            ahead.fill(T::ZERO);
        }
    }
}

vectorized! {
    /// Turns gradients with respect to the probabilities of one head into those of its scores, in place.
    pub(super) fn causal_softmax_backward<T: Number>(by: &mut [T], probabilities: &[T], length: usize, scale: T) {
        for (token, (by, p)) in by.chunks_exact_mut(length).zip(probabilities.chunks_exact(length)).enumerate() {
            let (seen, ahead) = by.split_at_mut(token + 1);
            let p = &p[..=token];
            let mean = dot(seen, p);
            for (by, &p) in seen.iter_mut().zip(p) {
                *by = (*by - mean) * p * scale;
            }
            ahead.fill(T::ZERO);
        }
    }
}
