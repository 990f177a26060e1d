//! Measures of the gradients of a training: noise, signal and oscillation, at every `measure_every`-th step.
//!
//! At a measured step the batch of B samples has parts k = 1 … K with mean gradients gₖ and the fractions wₖ of its
//! samples, ḡ = Σ wₖ gₖ. For each parameter tensor
//!
//! ```text
//! S = (Σ wₖ|gₖ|² − |ḡ|²) / (K − 1)    the variance of ḡ; for equal parts Σ|gₖ − ḡ|² / (K(K − 1))
//! G² = |ḡ|² − S                       the squared mean gradient
//! ```
//!
//! S and G² are multiplied by |g|²/|ḡ|², as the step's gradient g is another than ḡ where it is clipped, and where
//! halves of a batch are normalised by their own moments. Over n steps up to the measured one, [`WINDOW`] if they are
//! measured less often, m and v are the averages of the step's gradient g and of |g|² with β₁ = 0.9 and β₂ = 0.99, with
//! bias correction, and κ = (1 − β₁)/(1 + β₁) · (1 + β₁ⁿ)/(1 − β₁ⁿ). With averages A over measurements
//!
//! ```text
//! noise = √(A(S)/A(G²)),  noise_scale = B A(S)/A(G²)
//! noise_share = A(S)/A(|ḡ|²),  signal = A(|m|²)/A(v) − κ noise_share,  oscillation = 1 − signal − noise_share
//! ```
//!
//! S and |ḡ|² are of the same steps, so that rare large gradients count in both. All averages begin anew when a training
//! is resumed.

use std::mem::take;
use std::ops::Range;
use std::{array, iter};

use tch::{Device, Kind, Tensor};
use valleyscope_engine::optimizer::Rates;
use valleyscope_engine::vectorized;
use valleyscope_runs::{Measure, MetricId, MetricValues};

use super::error::TrainError;
use super::group::Group;
use super::layout::ParameterLayout;
use super::loops::{Number, numbers, numbers_mut, share, with_number};

/// The largest number of steps in the running averages.
const WINDOW: u64 = 32;
const BETA1: f64 = 0.9;
const BETA2: f64 = 0.99;
/// The weight of the past in averages over measurements.
const PAST: f64 = 0.9;
/// The largest number of parameters in the sample for exponent and effective step.
const SAMPLED: usize = 16_384;
const BINS: usize = 16;

/// The running averages of a training's gradients, and the averages over its measurements.
#[derive(Debug)]
pub(crate) struct Measures {
    /// The interval of measurements in steps; 0 for none.
    every: u64,
    names: Vec<String>,
    /// The lengths of the tensors in the flat one, each with the gap behind it.
    lengths: Vec<i64>,
    /// Parts of the tensors for threads, each with the index of its tensor.
    pieces: Vec<(usize, Range<usize>)>,
    /// The elements of the sampled parameters, and whether weight decay applies to each.
    sampled: Tensor,
    decays: Vec<bool>,
    /// m
    momentum: Tensor,
    /// v of each tensor, and |g|² of the last step, on the device.
    squares: Tensor,
    newest: Tensor,
    /// The number of steps in m and v, and the index of their window.
    steps: u64,
    window: u64,
    /// A(S), A(G²), A(|m|²) and A(v) of each tensor.
    averages: Vec<[f64; 4]>,
    /// A(S) and A(G²) of the sampled parameters in a bin.
    bins: [[f64; 2]; BINS],
    /// The newest measurement, until it is taken.
    pub(crate) measured: Option<Measure>,
}

/// The number of parts of a batch, and Σ wₖ|gₖ|² of each tensor and each sampled parameter.
#[derive(Debug)]
pub(crate) struct Parts(Vec<f64>);

/// S and |ḡ|² of each tensor and each sampled parameter.
#[derive(Debug)]
pub(crate) struct Spread(Vec<[f64; 2]>);

/// The sampled parameters before a step, and their m; empty before the first gradient.
pub(crate) struct Before {
    parameters: Vec<f64>,
    momentum: Vec<f64>,
}

fn doubles(tensor: &Tensor) -> Result<Vec<f64>, TrainError> {
    Ok(Vec::try_from(tensor.f_to_kind(Kind::Double)?)?)
}

fn average(average: &mut [f64], now: &[f64]) {
    average.iter_mut().zip(now).for_each(|(average, now)| *average = PAST * *average + (1.0 - PAST) * now);
}

impl Measures {
    /// The number of elements of a piece, the work of a thread at a time.
    const PIECE: usize = 1 << 15;

    /// Creates the measures of the only model of a layout, with flat tensors like `like`.
    pub(crate) fn new(every: usize, layout: &ParameterLayout, like: &Tensor) -> Result<Measures, TrainError> {
        let segments = if every > 0 { layout.segments() } else { &[] };
        let start = |index| if index < segments.len() { layout.range(index, 0).start } else { layout.length() };
        let ranges: Vec<Range<usize>> = (0..segments.len()).map(|index| start(index)..start(index + 1)).collect();
        let pieces = ranges.iter().enumerate().flat_map(|(index, range)| {
            let starts = range.clone().step_by(Self::PIECE);
            starts.map(move |at| (index, at..range.end.min(at + Self::PIECE)))
        });
        let elements = segments.iter().enumerate();
        let elements = elements.flat_map(|(index, of)| layout.range(index, 0).map(move |at| (at as i64, of.decays)));
        let (sampled, decays): (Vec<i64>, _) = elements.step_by(layout.model_size().div_ceil(SAMPLED)).unzip();
        let length = ranges.last().map_or(0, |last| last.end as i64);
        Ok(Measures {
            every: every as u64,
            names: segments.iter().map(|segment| segment.name.clone()).collect(),
            lengths: ranges.iter().map(|range| range.len() as i64).collect(),
            pieces: pieces.collect(),
            sampled: Tensor::f_from_slice(&sampled)?.f_to_device(like.device())?,
            decays,
            momentum: Tensor::f_zeros([length], (like.kind(), like.device()))?,
            squares: Tensor::f_zeros([segments.len() as i64], (Kind::Double, like.device()))?,
            newest: Tensor::f_zeros([segments.len() as i64], (Kind::Double, like.device()))?,
            steps: 0,
            window: 0,
            averages: vec![[0.0; 4]; segments.len()],
            bins: [[0.0; 2]; BINS],
            measured: None,
        })
    }

    /// Begins all averages anew.
    pub(crate) fn restart(&mut self) -> Result<(), TrainError> {
        self.averages.fill([0.0; 4]);
        (self.bins, self.measured) = ([[0.0; 2]; BINS], None);
        self.begin_window()
    }

    fn begin_window(&mut self) -> Result<(), TrainError> {
        let _ = (self.momentum.f_zero_()?, self.squares.f_zero_()?);
        self.steps = 0;
        Ok(())
    }

    /// Whether a step, counted from 1, with a batch of so many samples is measured.
    pub(crate) fn is_due(&self, step: u64, samples: usize) -> bool {
        self.every > 0 && step.is_multiple_of(self.every) && samples > 1
    }

    /// Adds the gradients that the optimizer receives in a step, counted from 1, to m and v. Does nothing in steps
    /// outside of the window.
    pub(crate) fn add(&mut self, step: u64, gradients: &Tensor) -> Result<(), TrainError> {
        let first = self.every.saturating_sub(WINDOW);
        if (step - 1).checked_rem(self.every).is_none_or(|at| at < first) {
            return Ok(());
        }
        // Its first step may have been left out.
        let window = (step - 1) / self.every;
        if first > 0 && self.window != window {
            self.begin_window()?;
            self.window = window;
        }
        let squares = if gradients.device() == Device::Cpu {
            let mut momentum = self.momentum.shallow_clone();
            with_number!(gradients.kind(), T => {
                let (mut momentum, gradients) = (numbers_mut::<T>(&mut momentum), numbers::<T>(gradients));
                let pieces = self.pieces.iter().map(|(_, range)| {
                    let (piece, rest) = take(&mut momentum).split_at_mut(range.len());
                    momentum = rest;
                    (piece, &gradients[range.clone()])
                });
                self.sums(pieces, |(momentum, gradients)| average_gradients(momentum, gradients))?
            })
        } else {
            let _ = self.momentum.f_lerp_(gradients, 1.0 - BETA1)?;
            self.squares(gradients)?
        };
        let _ = self.squares.f_mul_scalar_(BETA2)?.f_add_(&squares.f_mul_scalar(1.0 - BETA2)?)?;
        self.newest = squares;
        self.steps += 1;
        Ok(())
    }

    /// Computes a sum over each tensor on the processor, given the data of its pieces.
    fn sums<P: Send>(
        &self,
        pieces: impl Iterator<Item = P> + Send,
        sum: impl Fn(P) -> f64 + Sync,
    ) -> Result<Tensor, TrainError> {
        let mut sums = vec![0.0; self.pieces.len()];
        share(pieces.zip(&mut sums), |(piece, out)| *out = sum(piece));
        let mut tensors = vec![0.0; self.names.len()];
        self.pieces.iter().zip(sums).for_each(|((index, _), sum)| tensors[*index] += sum);
        Ok(Tensor::f_from_slice(&tensors)?)
    }

    /// Computes the sum of squares of each tensor, on the device.
    fn squares(&self, flat: &Tensor) -> Result<Tensor, TrainError> {
        if flat.device() == Device::Cpu {
            return with_number!(flat.kind(), T => {
                let flat = numbers::<T>(flat);
                self.sums(self.pieces.iter().map(|(_, range)| &flat[range.clone()]), sum_of_squares)
            });
        }
        let norms = flat
            .f_split_with_sizes(&self.lengths[..], 0)?
            .iter()
            .map(|tensor| tensor.f_norm_scalaropt_dtype(2.0, Kind::Double))
            .collect::<Result<Vec<_>, _>>();
        Ok(Tensor::f_stack(&norms?, 0)?.f_square()?)
    }

    fn sample(&self, flat: &Tensor) -> Result<Vec<f64>, TrainError> {
        doubles(&flat.f_index_select(0, &self.sampled)?)
    }

    /// Computes the square of each tensor and then that of each sampled parameter.
    fn all_squares(&self, flat: &Tensor) -> Result<impl Iterator<Item = f64> + use<>, TrainError> {
        let sampled = self.sample(flat)?.into_iter().map(|element| element * element);
        Ok(doubles(&self.squares(flat)?)?.into_iter().chain(sampled))
    }

    pub(crate) fn parts(&self) -> Parts {
        Parts(vec![0.0; 1 + self.names.len() + self.decays.len()])
    }

    /// Adds a part of a batch by its contribution wₖ gₖ to the batch's gradient, where wₖ is its share of the samples.
    pub(crate) fn add_part(&self, parts: &mut Parts, contribution: &Tensor, share: f64) -> Result<(), TrainError> {
        let squares = self.all_squares(contribution)?.map(|square| square / share);
        parts.0.iter_mut().zip(iter::once(1.0).chain(squares)).for_each(|(sum, part)| *sum += part);
        Ok(())
    }

    /// Computes the spread of the parts of all processes around the gradients of the whole batch, which are `factor`
    /// times the sum of the contributions.
    pub(crate) fn spread(
        &self,
        Parts(parts): &Parts,
        group: &Group,
        gradients: &Tensor,
        factor: f64,
    ) -> Result<Spread, TrainError> {
        let mut all = Tensor::f_from_slice(parts)?;
        group.sum(&mut all)?;
        let all = doubles(&all)?;
        let pairs = all[1..].iter().zip(self.all_squares(gradients)?);
        // Rounding makes a variance of 0 slightly negative; NaN stays NaN.
        let variance = |square: f64, mean: f64| (factor * factor * square - mean) / (all[0] - 1.0);
        let at_least_0 = |number: f64| if number < 0.0 { 0.0 } else { number };
        let spread = pairs.map(|(square, mean)| [at_least_0(variance(*square, mean)), mean]);
        Ok(Spread(spread.collect()))
    }

    /// Computes the spread of the mean gradients of two halves of a batch. Overwrites the first.
    pub(crate) fn halves(&self, mut first: Tensor, second: &Tensor) -> Result<Spread, TrainError> {
        let _ = first.f_sub_(second)?;
        let variances = self.all_squares(&first)?;
        let _ = first.f_mul_scalar_(0.5)?.f_add_(second)?;
        let pairs = variances.zip(self.all_squares(&first)?);
        Ok(Spread(pairs.map(|(square, mean)| [0.25 * square, mean]).collect()))
    }

    pub(crate) fn before(&self, parameters: &Tensor) -> Result<Before, TrainError> {
        let momentum = if self.steps > 0 { self.sample(&self.momentum)? } else { Vec::new() };
        Ok(Before { parameters: self.sample(parameters)?, momentum })
    }

    /// Measures a step of `samples` samples after [`Measures::add`], with the parameters after it. Begins the
    /// averages of gradients anew instead if a sum over a tensor is not finite.
    pub(crate) fn measure(
        &mut self,
        Spread(spread): &Spread,
        before: &Before,
        parameters: &Tensor,
        samples: usize,
        rates: Rates<f64>,
    ) -> Result<(), TrainError> {
        let (tensors, sampled) = spread.split_at(self.names.len());
        let [power1, power2] = [BETA1, BETA2].map(|beta| beta.powi(self.steps as i32));
        let kappa = (1.0 - BETA1) / (1.0 + BETA1) * (1.0 + power1) / (1.0 - power1);
        let momentum = doubles(&self.squares(&self.momentum)?)?.into_iter().map(|m| m / (1.0 - power1).powi(2));
        let squares = doubles(&self.squares)?.into_iter().map(|v| v / (1.0 - power2));
        // The mean gradient of halves is not the step's where a batch is normalised by its own moments, or clipped.
        let own = doubles(&self.newest)?;
        let factor = |own: f64, mean: f64| if mean > 0.0 { own / mean } else { 1.0 };
        let of_all = factor(own.iter().sum(), tensors.iter().map(|[_, mean]| mean).sum());
        let scaled = tensors.iter().zip(own).map(|(&[variance, mean], own)| {
            let factor = factor(own, mean);
            [factor * variance, factor * mean]
        });
        let now = scaled.zip(momentum).zip(squares);
        let now = now.map(|(([variance, mean], m), v)| [variance, mean - variance, m, v]);
        let now: Vec<[f64; 4]> = now.collect();
        if !now.iter().flatten().all(|number| number.is_finite()) {
            // An infinite gradient would stay in m and v.
            return self.begin_window();
        }
        self.averages.iter_mut().zip(&now).for_each(|(averages, now)| average(averages, now));
        if !before.momentum.is_empty() {
            let scaled: Vec<[f64; 2]> = sampled.iter().map(|pair| pair.map(|square| of_all * square)).collect();
            self.add_to_bins(&before.momentum, &scaled);
        }
        let total: [f64; 4] = array::from_fn(|of| self.averages.iter().map(|averages| averages[of]).sum());
        let mut metrics = shares(&total, kappa);
        let scale = metrics.get(Measure::NOISE).map(|noise| samples as f64 * noise * noise);
        let after = self.sample(parameters)?;
        let steps = before.parameters.iter().zip(after).zip(&self.decays).map(|((before, after), &decays)| {
            let decay = if decays { rates.learning_rate * rates.weight_decay * before } else { 0.0 };
            (after - before + decay).abs()
        });
        let step = steps.sum::<f64>() / (rates.learning_rate * self.decays.len() as f64);
        let others = [(Measure::NOISE_SCALE, scale), (Measure::EXPONENT, self.exponent())];
        set_finite(&mut metrics, others.into_iter().chain([(Measure::EFFECTIVE_STEP, Some(step))]));
        let tensors = self
            .names
            .iter()
            .cloned()
            .zip(self.averages.iter().map(|averages| shares(averages, kappa)))
            .take(Measure::MOST_TENSORS);
        self.measured = Some(Measure { metrics, tensors: tensors.collect() });
        Ok(())
    }

    /// Adds S and G² of the sampled parameters to the averages of bins of equal count, in the order of |m|.
    fn add_to_bins(&mut self, momentum: &[f64], sampled: &[[f64; 2]]) {
        // Numbers that are not negative are in the order of their bits.
        let keys = momentum.iter().enumerate().map(|(index, m)| (m.abs().to_bits(), index));
        let mut keys: Vec<(u64, usize)> = keys.collect();
        let ends: [usize; BINS] = array::from_fn(|bin| (bin + 1) * momentum.len() / BINS);
        part_at(&mut keys, 0, &ends[..BINS - 1]);
        let mut start = 0;
        for (bin, end) in self.bins.iter_mut().zip(ends) {
            let of_bin = || keys[start..end].iter().map(|(_, index)| sampled[*index]);
            let variance: f64 = of_bin().map(|[variance, _]| variance).sum();
            average(bin, &[variance, of_bin().map(|[_, mean]| mean).sum::<f64>() - variance]);
            start = end;
        }
    }

    /// Computes the slope of ln A(S) over ln A(G²) of the bins by least squares.
    fn exponent(&self) -> Option<f64> {
        let positive = self.bins.iter().filter(|bin| bin.iter().all(|sum| *sum > 0.0));
        let points: Vec<[f64; 2]> = positive.map(|[variance, mean]| [mean.ln(), variance.ln()]).collect();
        let [x, y] = [0, 1].map(|of| points.iter().map(|point| point[of]).sum::<f64>() / points.len() as f64);
        let product = |of: usize, center: f64| points.iter().map(|it| (it[0] - x) * (it[of] - center)).sum::<f64>();
        (points.len() >= 3).then(|| product(1, y) / product(0, x))
    }
}

/// Computes noise and shares from the averages of a tensor, or from their sums over tensors.
fn shares(&[variance, mean, m, v]: &[f64; 4], kappa: f64) -> MetricValues {
    let mut metrics = MetricValues::default();
    let noise = (variance + mean > 0.0).then(|| variance / (variance + mean));
    let signal = noise.filter(|_| v > 0.0).map(|noise| m / v - kappa * noise);
    let values = [
        (Measure::NOISE, (mean > 0.0).then(|| (variance / mean).sqrt())),
        (Measure::SIGNAL, signal),
        (Measure::NOISE_SHARE, noise),
        (Measure::OSCILLATION, signal.zip(noise).map(|(signal, noise)| 1.0 - signal - noise)),
    ];
    set_finite(&mut metrics, values);
    metrics
}

fn set_finite(metrics: &mut MetricValues, values: impl IntoIterator<Item = (MetricId, Option<f64>)>) {
    let known = values.into_iter().filter_map(|(metric, value)| Some((metric, value.filter(|it| it.is_finite())?)));
    known.for_each(|(metric, value)| metrics.set(metric, value));
}

/// Partitions keys at the given positions: all keys before a position are smaller than those from it on. The first key
/// is at the position `start`.
fn part_at(keys: &mut [(u64, usize)], start: usize, positions: &[usize]) {
    let middle = positions.len() / 2;
    let Some(&position) = positions.get(middle) else { return };
    if position - start < keys.len() {
        keys.select_nth_unstable(position - start);
    }
    let (before, after) = keys.split_at_mut(position - start);
    part_at(before, start, &positions[..middle]);
    part_at(after, position, &positions[middle + 1..]);
}

// Sums of squares are added up in single precision over blocks only. Tensors begin at multiples of 64 elements, so no
// piece has a remainder.

/// The elements of a block, and of the accumulators in it.
const BLOCK: usize = 1024;
const LANES: usize = 32;

vectorized! {
    /// Adds gradients to their average; returns the sum of their squares.
    fn average_gradients<T: Number>(momentum: &mut [T], gradients: &[T]) -> f64 {
        let (past, new) = (T::splat(BETA1), T::splat(1.0 - BETA1));
        let mut sum = 0.0;
        for (momentum, gradients) in momentum.chunks_mut(BLOCK).zip(gradients.chunks(BLOCK)) {
            let mut lanes = [T::ZERO; LANES];
            for (momentum, gradients) in momentum.chunks_exact_mut(LANES).zip(gradients.chunks_exact(LANES)) {
                for ((momentum, &gradient), lane) in momentum.iter_mut().zip(gradients).zip(&mut lanes) {
                    *momentum = past.mul_add(*momentum, new * gradient);
                    *lane = gradient.mul_add(gradient, *lane);
                }
            }
            sum += lanes.into_iter().map(Into::<f64>::into).sum::<f64>();
        }
        sum
    }
}

vectorized! {
    fn sum_of_squares<T: Number>(values: &[T]) -> f64 {
        let mut sum = 0.0;
        for values in values.chunks(BLOCK) {
            let mut lanes = [T::ZERO; LANES];
            for values in values.chunks_exact(LANES) {
                for (&value, lane) in values.iter().zip(&mut lanes) {
                    *lane = value.mul_add(value, *lane);
                }
            }
            sum += lanes.into_iter().map(Into::<f64>::into).sum::<f64>();
        }
        sum
    }
}
