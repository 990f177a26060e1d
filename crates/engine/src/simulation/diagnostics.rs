//! The diagnostics of an ensemble at each step.

use std::f64::consts::{E, TAU};

use crate::landscape::Uv;
use crate::lanes::{Lanes, Real, Vector, each};

/// The distribution of a quantity over the particles of an ensemble.
///
/// Mean and deviation are over all particles, so that a diverged particle makes them NaN or infinite. Smallest and
/// largest are over the particles whose quantity is not NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub mean: f64,
    /// Population standard deviation, divided by n.
    pub std: f64,
    pub min: f64,
    pub max: f64,
}

impl Spread {
    /// The spread of a quantity without values.
    pub const UNDEFINED: Spread = Spread { mean: f64::NAN, std: f64::NAN, min: f64::NAN, max: f64::NAN };
}

/// The diagnostics of one ensemble after one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The exact loss L.
    pub loss: Spread,
    /// Depth along the valley, u.
    pub u: Spread,
    /// Distance from the valley's floor, |v|.
    pub abs_v: Spread,
    /// Mean over the two coordinates of |Δθ without weight decay| / η; NaN at the start.
    pub effective_step: Spread,
    /// The entropy S = ½ ln det(2πe Σ) with Σ the sample covariance of (x, y), divided by n − 1. NaN for fewer than 3
    /// particles, and if Σ is singular or not finite.
    pub entropy: f64,
    /// The number of particles that have diverged: whose position or loss is not finite.
    pub diverged: u32,
}

impl Sample {
    /// The sample before any measurement.
    pub(super) const UNDEFINED: Sample = Sample {
        loss: Spread::UNDEFINED,
        u: Spread::UNDEFINED,
        abs_v: Spread::UNDEFINED,
        effective_step: Spread::UNDEFINED,
        entropy: f64::NAN,
        diverged: 0,
    };

    /// Returns the free energy F = E − ΘS with E the mean loss (the paper's discussion).
    pub fn free_energy(&self, temperature: f64) -> f64 {
        self.loss.mean - temperature * self.entropy
    }
}

/// The observed quantities of a block of particles after a step.
#[derive(Clone, Copy)]
pub(super) struct Observed<R> {
    pub position: [R; 2],
    pub uv: Uv<R>,
    pub loss: R,
    pub effective_step: R,
}

impl<R: Copy> Observed<R> {
    /// Converts the quantities to another vector.
    #[inline(always)]
    pub(super) fn map<T: Copy>(self, convert: impl Fn(R) -> T) -> Observed<T> {
        let [x, y] = self.position;
        Observed {
            position: [convert(x), convert(y)],
            uv: Uv { u: convert(self.uv.u), v: convert(self.uv.v) },
            loss: convert(self.loss),
            effective_step: convert(self.effective_step),
        }
    }
}

/// Sums from which a [`Sample`] is made, lane by lane.
///
/// Values are summed as their distance from a nearby pivot, the mean of the step before: a small spread about a large
/// mean would otherwise be lost in rounding.
#[derive(Clone, Copy)]
pub(super) struct Sums<R> {
    /// The sums of the loss, u, |v| and the effective step.
    quantities: [QuantitySums<R>; 4],
    position_pivot: [f64; 2],
    position: [R; 2],
    /// The sums of x², y² and xy.
    products: [R; 3],
}

#[derive(Clone, Copy)]
struct QuantitySums<R> {
    pivot: f64,
    sum: R,
    squares: R,
    min: R,
    max: R,
}

impl<R: Real> QuantitySums<R> {
    #[inline(always)]
    fn about(pivot: f64) -> Self {
        QuantitySums {
            pivot: finite_or_zero(pivot),
            sum: R::splat(0.0),
            squares: R::splat(0.0),
            min: R::splat(f64::INFINITY),
            max: R::splat(f64::NEG_INFINITY),
        }
    }

    #[inline(always)]
    fn add<const N: usize>(&mut self, values: R)
    where
        R: Vector<N>,
    {
        let distance = values - R::splat(self.pivot);
        self.sum = self.sum + distance;
        self.squares = self.squares + distance * distance;
        self.min = values.smaller(self.min);
        self.max = values.larger(self.max);
    }

    #[inline(always)]
    fn map<T: Copy>(&self, f: impl Fn(R) -> T) -> QuantitySums<T> {
        QuantitySums {
            pivot: self.pivot,
            sum: f(self.sum),
            squares: f(self.squares),
            min: f(self.min),
            max: f(self.max),
        }
    }
}

fn finite_or_zero(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

impl<R: Real> Sums<R> {
    /// Creates empty sums about the means of the previous step.
    #[inline(always)]
    pub(super) fn about(previous: &Sample, mean_position: [f64; 2]) -> Self {
        let pivots = [previous.loss, previous.u, previous.abs_v, previous.effective_step];
        Sums {
            quantities: each(pivots, |spread| QuantitySums::about(spread.mean)),
            position_pivot: each(mean_position, finite_or_zero),
            position: [R::splat(0.0); 2],
            products: [R::splat(0.0); 3],
        }
    }

    /// Adds a block of particles.
    #[inline(always)]
    pub(super) fn add<const N: usize>(&mut self, block: &Observed<R>)
    where
        R: Vector<N>,
    {
        let [loss, u, abs_v, effective_step] = &mut self.quantities;
        loss.add(block.loss);
        u.add(block.uv.u);
        abs_v.add(block.uv.v.abs());
        effective_step.add(block.effective_step);
        let dx = block.position[0] - R::splat(self.position_pivot[0]);
        let dy = block.position[1] - R::splat(self.position_pivot[1]);
        self.position = [self.position[0] + dx, self.position[1] + dy];
        let [xx, yy, xy] = self.products;
        self.products = [xx + dx * dx, yy + dy * dy, xy + dx * dy];
    }

    /// Applies `f` to each sum.
    #[inline(always)]
    pub(super) fn map<T: Copy>(&self, f: impl Fn(R) -> T) -> Sums<T> {
        let ([x, y], [xx, yy, xy]) = (self.position, self.products);
        Sums {
            quantities: each(self.quantities, |sums| sums.map(&f)),
            position_pivot: self.position_pivot,
            position: [f(x), f(y)],
            products: [f(xx), f(yy), f(xy)],
        }
    }
}

impl<const N: usize> Sums<Lanes<f64, N>> {
    /// Adds the first `count` particles of a block.
    pub(super) fn add_some(&mut self, block: &Observed<Lanes<f64, N>>, count: usize) {
        let before = *self;
        self.add(block);
        let keep = |after: &mut Lanes<f64, N>, before: &Lanes<f64, N>| {
            after.0[count..].copy_from_slice(&before.0[count..]);
        };
        for (after, before) in self.quantities.iter_mut().zip(&before.quantities) {
            keep(&mut after.sum, &before.sum);
            keep(&mut after.squares, &before.squares);
            keep(&mut after.min, &before.min);
            keep(&mut after.max, &before.max);
        }
        for (after, before) in self.position.iter_mut().zip(&before.position) {
            keep(after, before);
        }
        for (after, before) in self.products.iter_mut().zip(&before.products) {
            keep(after, before);
        }
    }

    /// Returns the diagnostics of `particles` particles and their mean position. `diverged` counts those whose position
    /// or loss is not finite; it is called only if there may be any.
    pub(super) fn finish(&self, particles: usize, diverged: impl FnOnce() -> u32) -> (Sample, [f64; 2]) {
        let n = particles as f64;
        let [loss, u, abs_v, effective_step] = self.quantities.each_ref().map(|sums| sums.spread(n));
        let shift = self.position.each_ref().map(|sum| total(sum) / n);
        let mean_position = [self.position_pivot[0] + shift[0], self.position_pivot[1] + shift[1]];
        let all_finite = loss.mean.is_finite() && mean_position.iter().all(|mean| mean.is_finite());
        let sample = Sample {
            loss,
            u,
            abs_v,
            effective_step,
            entropy: self.entropy(n, shift),
            diverged: if all_finite { 0 } else { diverged() },
        };
        (sample, mean_position)
    }

    fn entropy(&self, n: f64, [mean_x, mean_y]: [f64; 2]) -> f64 {
        if n < 3.0 {
            return f64::NAN;
        }
        let [xx, yy, xy] = self.products.each_ref().map(total);
        let cov_xx = (xx - n * mean_x * mean_x) / (n - 1.0);
        let cov_yy = (yy - n * mean_y * mean_y) / (n - 1.0);
        let cov_xy = (xy - n * mean_x * mean_y) / (n - 1.0);
        let determinant = cov_xx * cov_yy - cov_xy * cov_xy;
        // The rounding error of the sums of so many terms, and of the determinant computed from them: a determinant up
        // to this size is meaningless.
        let rounding = f64::EPSILON * (8.0 + 0.25 * n) / (n - 1.0);
        let (lost_xx, lost_yy) = (rounding * xx, rounding * yy);
        let lost = 2.0 * (lost_xx * cov_yy.abs() + lost_yy * cov_xx.abs() + lost_xx * lost_yy);
        // Not `determinant <= lost`, which is also false for NaN.
        let regular = determinant > lost && determinant.is_finite();
        if !regular {
            return f64::NAN;
        }
        let two_pi_e = TAU * E;
        0.5 * (two_pi_e * two_pi_e * determinant).ln()
    }
}

impl<const N: usize> QuantitySums<Lanes<f64, N>> {
    fn spread(&self, particles: f64) -> Spread {
        let shift = total(&self.sum) / particles;
        let variance = total(&self.squares) / particles - shift * shift;
        let min = self.min.0.into_iter().fold(f64::INFINITY, f64::min);
        let max = self.max.0.into_iter().fold(f64::NEG_INFINITY, f64::max);
        Spread {
            mean: self.pivot + shift,
            // Rounding may leave a zero variance slightly below 0; NaN stays NaN.
            std: if variance < 0.0 { 0.0 } else { variance.sqrt() },
            min: if min > max { f64::NAN } else { min },
            max: if min > max { f64::NAN } else { max },
        }
    }
}

/// Returns the sum over lanes, always in the same order.
fn total<const N: usize>(lanes: &Lanes<f64, N>) -> f64 {
    lanes.0.iter().sum()
}
