//! The runs of a pixel: their random streams, their metrics, and averages of these.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::axis::{PointOptimizer, Variant};
use crate::landscape::{Coordinate, LandscapeSpec};
use crate::lanes::{Arithmetic, Lanes, Real, Vector};
use crate::random::{Key, Normals};

/// A run of an optimizer.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub candidate: usize,
    pub replicate: usize,
}

/// Lists some replicates of all candidates, candidates before replicates.
pub(super) fn of_all_candidates(optimizer: &PointOptimizer, replicates: Range<usize>) -> Vec<Run> {
    let of_candidate = |candidate| replicates.clone().map(move |replicate| Run { candidate, replicate });
    (0..optimizer.candidates()).flat_map(of_candidate).collect()
}

/// Splits runs into slices of at most `most` whose candidates have the same variant, which the lanes of a vector share.
pub(super) fn of_equal_variant<'r>(
    optimizer: &PointOptimizer,
    runs: &'r [Run],
    most: usize,
) -> impl Iterator<Item = &'r [Run]> {
    let variant = |run: &Run| optimizer.variant_of(run.candidate);
    runs.chunk_by(move |one, next| variant(one) == variant(next)).flat_map(move |equal| equal.chunks(most))
}

/// The keys of a pixel's runs; runs with the same key share their noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PixelKey {
    key: Key,
    /// Whether a run's key omits optimizer and candidate.
    pub(super) common: bool,
}

impl PixelKey {
    pub(super) fn new(seed: u64, common: bool, [row, column]: [usize; 2]) -> PixelKey {
        PixelKey { key: Key::new(seed).at(row as u64).at(column as u64), common }
    }

    /// Returns the key of a run's stream, which has its start, then a pair for the noise of the gradient in each step.
    pub fn of_run(&self, optimizer: u32, candidate: usize, replicate: usize) -> Key {
        let key = self.key.at(replicate as u64);
        if self.common { key } else { key.at(u64::from(optimizer)).at(candidate as u64) }
    }
}

/// Runs side by side, one in each lane of a vector; lanes beyond the last run repeat it.
#[derive(Clone, Copy)]
pub(super) struct RunLanes<'a> {
    pub optimizer: &'a PointOptimizer,
    pub key: PixelKey,
    pub runs: &'a [Run],
}

impl<'a> RunLanes<'a> {
    /// The first run's variant, which all share.
    pub(super) fn variant(&self) -> &'a Variant {
        self.optimizer.variant(self.runs[0].candidate)
    }

    fn run(&self, lane: usize) -> Run {
        self.runs[lane.min(self.runs.len() - 1)]
    }

    fn key(&self, lane: usize) -> Key {
        let Run { candidate, replicate } = self.run(lane);
        self.key.of_run(self.optimizer.id, candidate, replicate)
    }

    /// The streams of the starts and of the gradients' noise.
    #[inline(always)]
    pub(super) fn generator<const N: usize, V: Normals<N>>(&self) -> V::Generator {
        V::generator(&std::array::from_fn(|lane| self.key(lane)))
    }

    /// The streams of the curvatures' noise, with a pair for each step.
    #[inline(always)]
    pub(super) fn curvature_generator<const N: usize, V: Normals<N>>(&self) -> V::Generator {
        V::generator(&std::array::from_fn(|lane| self.key(lane).at(u64::MAX)))
    }

    #[inline(always)]
    pub(super) fn learning_rates<const N: usize, V: Vector<N, Number: Real>>(&self) -> V {
        let rate = |lane| V::Number::splat(self.optimizer.learning_rate(self.run(lane).candidate));
        V::from_lanes(Lanes::from_fn(rate))
    }
}

/// The metrics of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metrics<R> {
    /// The loss after the last step.
    pub final_loss: R,
    /// The smallest loss after any step.
    pub smallest_loss: R,
    /// The largest `u` after any step, at least 0.
    pub depth: R,
}

impl<R> Metrics<R> {
    #[inline(always)]
    pub(crate) fn map<T>(self, f: impl Fn(R) -> T) -> Metrics<T> {
        Metrics { final_loss: f(self.final_loss), smallest_loss: f(self.smallest_loss), depth: f(self.depth) }
    }
}

/// The metric by which runs are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Metric {
    /// The loss after the last step; the smaller, the better.
    #[default]
    FinalLoss,
    /// The smallest loss after any step; the smaller, the better.
    SmallestLoss,
    /// The largest u after any step, on a landscape of which u is a [metric](crate::landscape::LandscapeMetric); the
    /// larger, the better.
    Depth,
}

impl Metric {
    pub const ALL: [Metric; 3] = [Metric::FinalLoss, Metric::SmallestLoss, Metric::Depth];

    /// Returns the name in file formats.
    pub fn name(self) -> &'static str {
        match self {
            Metric::FinalLoss => "final_loss",
            Metric::SmallestLoss => "smallest_loss",
            Metric::Depth => "depth",
        }
    }

    /// Lists the metrics by which runs on a landscape are compared.
    pub fn of(landscape: &LandscapeSpec) -> impl Iterator<Item = Metric> + use<> {
        let landscape = *landscape;
        Metric::ALL.into_iter().filter(move |metric| metric.is_of(&landscape))
    }

    /// Returns whether runs on this landscape are compared by the metric.
    pub fn is_of(self, landscape: &LandscapeSpec) -> bool {
        match self {
            Metric::FinalLoss | Metric::SmallestLoss => true,
            Metric::Depth => landscape.metric(Coordinate::U).is_some(),
        }
    }

    /// Returns the name that is shown for runs on this landscape.
    pub fn label(self, landscape: &LandscapeSpec) -> &'static str {
        match self {
            Metric::FinalLoss => "final loss",
            Metric::SmallestLoss => "smallest loss",
            Metric::Depth => landscape.metric(Coordinate::U).map_or("largest u", |metric| metric.name),
        }
    }

    /// Returns the value that replaces one that is not finite.
    pub(super) fn worst(self) -> f64 {
        match self {
            Metric::FinalLoss | Metric::SmallestLoss => f64::INFINITY,
            Metric::Depth => f64::NEG_INFINITY,
        }
    }

    /// Returns the metric's value of a run; not finite if the final loss is not, as such a run has lost, whatever its
    /// earlier losses.
    pub(super) fn of_run(self, run: &Metrics<f64>) -> f64 {
        match self {
            Metric::FinalLoss => run.final_loss,
            _ if !run.final_loss.is_finite() => f64::NAN,
            Metric::SmallestLoss => run.smallest_loss,
            Metric::Depth => run.depth,
        }
    }

    /// Returns the advantage of `this` over `that`, positive if it is better.
    pub fn advantage(self, this: f64, that: f64) -> f64 {
        match self {
            Metric::FinalLoss | Metric::SmallestLoss => that - this,
            Metric::Depth => this - that,
        }
    }

    pub(crate) fn is_better(self, this: f64, that: f64) -> bool {
        match self {
            Metric::FinalLoss | Metric::SmallestLoss => this < that,
            Metric::Depth => this > that,
        }
    }
}

/// The kind of average of a metric over replicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Average {
    /// The mean, as in the paper; one run that is not finite spoils it.
    #[default]
    Mean,
    Median,
}

impl Average {
    pub fn of(self, values: &[f64], metric: Metric) -> f64 {
        let worst = metric.worst();
        match self {
            Average::Mean => mean_or(values, worst),
            Average::Median => median(values, worst),
        }
    }
}

/// The values of one metric of an optimizer's runs.
pub(super) struct Table {
    pub metric: Metric,
    pub replicates: usize,
    /// The values, candidates before replicates.
    values: Vec<f64>,
}

impl Table {
    pub(super) fn new(runs: &Runs, metric: Metric) -> Table {
        let values = runs.metrics.iter().map(|run| metric.of_run(run)).collect();
        Table { metric, replicates: runs.replicates, values }
    }

    pub(super) fn candidates(&self) -> usize {
        self.values.len() / self.replicates
    }

    pub(super) fn values(&self, candidate: usize) -> &[f64] {
        &self.values[candidate * self.replicates..][..self.replicates]
    }
}

/// The results of the runs of one optimizer at one pixel: candidates before replicates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Runs {
    /// The number of replicates of each candidate.
    pub replicates: usize,
    /// The metrics, at the index `candidate × replicates + replicate`.
    pub metrics: Vec<Metrics<f64>>,
}

impl Runs {
    /// Appends the replicates of `later` to those of these runs.
    pub(super) fn followed_by(&self, later: &Runs) -> Runs {
        let candidates = self.metrics.chunks(self.replicates).zip(later.metrics.chunks(later.replicates));
        let metrics = candidates.flat_map(|(these, those)| these.iter().chain(those)).copied().collect();
        Runs { replicates: self.replicates + later.replicates, metrics }
    }
}

/// Appends the metrics of at most `most` lanes.
#[inline(always)]
pub(super) fn append<const N: usize, V>(all: &mut Vec<Metrics<f64>>, metrics: Metrics<V>, most: usize)
where
    V: Normals<N, Number: Into<f64>>,
{
    let lanes = metrics.map(V::to_lanes);
    for lane in 0..N.min(most) {
        all.push(Metrics {
            final_loss: with_one_nan(lanes.final_loss.0[lane].into()),
            smallest_loss: with_one_nan(lanes.smallest_loss.0[lane].into()),
            depth: with_one_nan(lanes.depth.0[lane].into()),
        });
    }
}

/// Returns the number, or a NaN with the same bits everywhere: the bits of NaNs differ between processors.
pub(super) fn with_one_nan(number: f64) -> f64 {
    if number.is_nan() { f64::NAN } else { number }
}

/// Returns the mean, summed up in the values' order. A value that is not finite makes it `worst`.
pub(super) fn mean_or(values: &[f64], worst: f64) -> f64 {
    if values.iter().all(|value| value.is_finite()) { mean(values) } else { worst }
}

/// Returns mean and population standard deviation, summed up in the values' order. A value that is not finite makes the
/// mean `worst` and the deviation NaN.
pub(super) fn mean_and_deviation(values: &[f64], worst: f64) -> [f64; 2] {
    if values.iter().any(|value| !value.is_finite()) {
        return [worst, f64::NAN];
    }
    let mean = mean(values);
    [mean, (sum_of_squares(values, mean) / values.len() as f64).sqrt()]
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub(super) fn sum_of_squares(values: &[f64], mean: f64) -> f64 {
    values.iter().map(|value| (value - mean) * (value - mean)).sum()
}

/// Returns the middle value, or the mean of the two middle values. Values that are not finite count as worst.
pub(super) fn median(values: &[f64], worst: f64) -> f64 {
    let sorted = sorted(values, worst);
    let half = sorted.len() / 2;
    // Two infinite values have no mean.
    if sorted.len() % 2 == 1 || sorted[half - 1] == sorted[half] {
        sorted[half]
    } else {
        0.5 * (sorted[half - 1] + sorted[half])
    }
}

pub(super) fn sorted(values: &[f64], worst: f64) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.iter().map(|&value| if value.is_finite() { value } else { worst }).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}
