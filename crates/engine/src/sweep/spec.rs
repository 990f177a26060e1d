//! The specification of a sweep.

use serde::{Deserialize, Serialize};

use super::axis::{Axis, Quantity};
use super::metric::{Average, Metric};
use super::point::{Point, PointOptimizer, Variant};
use super::sampling::{Adaptive, Sampling};
use super::tuned::{Tuned, TunedSetting, variant_count, variants};
use super::value_range::spread;
use crate::landscape::{LandscapeSpec, StartPlace};
use crate::noise::NoiseSpec;
use crate::optimizer::{RuleSpec, Schedule};
use crate::quantity::{Dimension, LearningRate, OutOfRange, PointCount, Replicates, StartSpread, StepCount};
use crate::spacing::Spacing;
use crate::spec_error::SpecError;

/// A whole sweep: everything needed to repeat it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepSpec {
    #[serde(default)]
    pub landscape: LandscapeSpec,
    /// The dimension d. In two dimensions the valley is turned by φ; in more, it has a random direction, one for the
    /// sweep.
    #[serde(default = "Dimension::of::<2>")]
    pub dimension: Dimension,
    /// The noise of gradients.
    pub noise: NoiseSpec,
    #[serde(default)]
    pub seed: u64,
    #[serde(default = "StepCount::of::<1000>")]
    pub steps: StepCount,
    #[serde(default = "Replicates::of::<50>")]
    pub replicates: Replicates,
    /// The place at which runs start on the plane; without it, the landscape's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<StartPlace>,
    /// The standard deviation of the start: a draw from Normal(0, spread) is added to each coordinate.
    #[serde(default = "start_spread")]
    pub start_spread: StartSpread,
    /// Whether all candidates of all optimizers share the noise of a pixel and replicate.
    #[serde(default)]
    pub common_random_numbers: bool,
    /// The metric by which optimizers are compared.
    #[serde(default)]
    pub metric: Metric,
    /// The kind of average of the metric over replicates.
    #[serde(default)]
    pub average: Average,
    /// How many replicates the runs of a pixel have.
    #[serde(default, skip_serializing_if = "Sampling::is_uniform")]
    pub sampling: Sampling,
    pub rows: Axis,
    pub columns: Axis,
    /// The optimizers, 2 to [`SweepSpec::MAX_OPTIMIZERS`], each with an id of its own.
    pub optimizers: Vec<SweepOptimizer>,
}

fn start_spread() -> StartSpread {
    StartSpread::clamped(1e-4)
}

/// Returns a function that makes the fault of the value at a path.
pub(super) fn out_of_range(path: String) -> impl FnOnce(OutOfRange) -> SpecError {
    move |OutOfRange { name, expected, found, .. }| SpecError {
        path,
        complaint: format!("goes beyond the range of {name}: expected {expected}, found {found}"),
    }
}

/// An optimizer and its candidates: its learning rates, each with every combination of the values of tuned settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepOptimizer {
    /// The id, part of the key of the optimizer's random streams; unique within a sweep.
    pub id: u32,
    /// The name in legends; without it, the rule's name.
    #[serde(default)]
    pub name: Option<String>,
    /// The colour as red, green, blue; without it, the rule's colour, or another if that is too much like those of other
    /// optimizers.
    #[serde(default)]
    pub color: Option<[u8; 3]>,
    #[serde(deserialize_with = "RuleSpec::deserialize_on_plane")]
    pub rule: RuleSpec,
    #[serde(default)]
    pub learning_rates: LearningRates,
    /// The settings that are tuned beside the learning rate, instead of those of the rule and the schedule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tune: Vec<Tuned>,
    /// The schedule of each learning rate over a run.
    #[serde(default)]
    pub schedule: Schedule,
}

impl SweepOptimizer {
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or_else(|| self.schedule.named(self.rule.name()))
    }

    /// Returns the place of a tuned setting among those of the optimizer.
    pub fn tuned(&self, of: TunedSetting) -> Option<usize> {
        self.tune.iter().position(|tuned| tuned.of == of)
    }
}

/// Learning rates with equal quotients.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearningRates {
    pub from: LearningRate,
    pub to: LearningRate,
    pub count: PointCount,
}

impl Default for LearningRates {
    /// Returns the paper's learning rates: 20 from 0.001 to 1.
    fn default() -> Self {
        LearningRates {
            from: LearningRate::clamped(1e-3),
            to: LearningRate::clamped(1.0),
            count: PointCount::clamped(20),
        }
    }
}

impl LearningRates {
    pub fn values(&self) -> Vec<f64> {
        spread(self.from.get(), self.to.get(), self.count.get(), Spacing::Log)
    }
}

impl SweepSpec {
    pub const MAX_OPTIMIZERS: usize = 16;
    /// The largest number of pixels of a diagram.
    pub(crate) const MAX_PIXELS: usize = 1_000_000;
    /// The largest number of averages of a diagram: one for each pixel, optimizer and candidate, with the largest number of
    /// candidates counted for every optimizer.
    pub(crate) const MAX_AVERAGES: usize = 20_000_000;

    /// The largest number of runs of a pixel, all of which are held in memory at once.
    pub(crate) const MAX_RUNS: usize = 5_000_000;

    /// The largest number of optimizer steps: some years of computation.
    pub(crate) const MAX_STEPS: f64 = 1e18;

    /// Returns the numbers of rows and columns.
    pub fn shape(&self) -> [usize; 2] {
        [self.rows.count.get(), self.columns.count.get()]
    }

    /// Lists row and column of every pixel, row by row.
    pub fn pixels(&self) -> impl Iterator<Item = [usize; 2]> + use<> {
        let [rows, columns] = self.shape();
        (0..rows).flat_map(move |row| (0..columns).map(move |column| [row, column]))
    }

    /// Returns a quick version of the sweep: at most 24 × 25 pixels and 10 replicates.
    pub fn quick(&self) -> SweepSpec {
        let mut quick = self.clone();
        quick.rows.count = quick.rows.count.min(PointCount::clamped(24));
        quick.columns.count = quick.columns.count.min(PointCount::clamped(25));
        quick.replicates = quick.replicates.min(Replicates::clamped(10));
        quick
    }

    /// Returns whether both have the same results: they differ in the colours of the optimizers only.
    pub fn is_alike_but_for_colors(&self, other: &SweepSpec) -> bool {
        let mut recolored = other.clone();
        for (optimizer, own) in recolored.optimizers.iter_mut().zip(&self.optimizers) {
            optimizer.color = own.color;
        }
        *self == recolored
    }

    /// Returns the place at which runs start on the plane.
    pub fn start(&self) -> StartPlace {
        self.start.unwrap_or(self.landscape.start())
    }

    /// Returns the learning rates of each optimizer; none if the learning rate is an axis.
    pub fn learning_rates(&self) -> Vec<Vec<f64>> {
        self.optimizers
            .iter()
            .map(
                |optimizer| {
                    if self.is_rate_axis(optimizer.id) { Vec::new() } else { optimizer.learning_rates.values() }
                },
            )
            .collect()
    }

    /// Returns the number of candidates at each pixel, for each optimizer.
    pub fn candidate_counts(&self) -> Vec<usize> {
        let rates = self.learning_rates();
        let each = self.optimizers.iter().zip(&rates);
        each.map(|(optimizer, rates)| rates.len().max(1).saturating_mul(variant_count(&optimizer.tune))).collect()
    }

    /// Lists the settings that some optimizer tunes, in the order of the optimizers.
    pub fn tuned_settings(&self) -> Vec<TunedSetting> {
        let mut settings = Vec::new();
        for tuned in self.optimizers.iter().flat_map(|optimizer| &optimizer.tune) {
            if !settings.contains(&tuned.of) {
                settings.push(tuned.of);
            }
        }
        settings
    }

    fn is_rate_axis(&self, optimizer: u32) -> bool {
        self.rows.varies_rate_of(optimizer) || self.columns.varies_rate_of(optimizer)
    }

    /// Returns the settings of the runs at a pixel. The spec must be free of faults.
    pub fn point(&self, row: usize, column: usize) -> Point {
        let (rows, columns) = (self.rows.values(), self.columns.values());
        self.point_at(rows[row], columns[column]).expect("values between the ends of a checked axis are in range")
    }

    pub(super) fn point_at(&self, row: f64, column: f64) -> Result<Point, SpecError> {
        let optimizers = self.optimizers.iter().map(|optimizer| {
            let settings = Variant { rule: optimizer.rule, schedule: optimizer.schedule };
            let variants = variants(&optimizer.tune, settings);
            PointOptimizer { id: optimizer.id, variants, learning_rates: optimizer.learning_rates.values() }
        });
        let mut point = Point {
            landscape: self.landscape,
            dimension: self.dimension,
            noise: self.noise,
            steps: self.steps,
            optimizers: optimizers.collect(),
        };
        self.rows.of.put(&mut point, row).map_err(out_of_range("rows".to_owned()))?;
        self.columns.of.put(&mut point, column).map_err(out_of_range("columns".to_owned()))?;
        for variant in point.optimizers.iter_mut().flat_map(|optimizer| &mut optimizer.variants) {
            variant.schedule = variant.schedule.over(Some(point.steps.get() as u64));
        }
        Ok(point)
    }

    /// Returns the number of steps of each run at a pixel.
    pub(super) fn steps_of_runs(&self) -> impl Fn([usize; 2]) -> u64 + use<> {
        let along = |axis: &Axis| (axis.of == Quantity::Steps).then(|| axis.values());
        let (rows, columns, steps) = (along(&self.rows), along(&self.columns), self.steps.get() as u64);
        move |[row, column]| match (&rows, &columns) {
            (Some(rows), _) => rows[row] as u64,
            (None, Some(columns)) => columns[column] as u64,
            (None, None) => steps,
        }
    }

    /// Returns the cost of each run at a pixel: its steps times its dimensions. All pixels have equally many runs.
    pub(super) fn costs(&self) -> impl Fn([usize; 2]) -> u64 + use<> {
        let along = |axis: &Axis| (axis.of == Quantity::Dimension).then(|| axis.values());
        let (rows, columns, dimension) = (along(&self.rows), along(&self.columns), self.dimension.get() as u64);
        let steps = self.steps_of_runs();
        move |pixel @ [row, column]| {
            let dimensions = match (&rows, &columns) {
                (Some(rows), _) => rows[row] as u64,
                (None, Some(columns)) => columns[column] as u64,
                (None, None) => dimension,
            };
            steps(pixel) * dimensions
        }
    }

    /// Returns the optimizer steps of the whole sweep, each of which is a step of one run; with adaptive sampling, the most
    /// that it may take.
    pub fn total_steps(&self) -> f64 {
        let [rows, columns] = self.shape().map(|count| count as f64);
        let along = |axis: &Axis| axis.values().iter().sum::<f64>();
        let of_pixels = match (&self.rows.of, &self.columns.of) {
            (Quantity::Steps, _) => along(&self.rows) * columns,
            (_, Quantity::Steps) => along(&self.columns) * rows,
            _ => rows * columns * self.steps.get() as f64,
        };
        of_pixels * self.most_runs_of_pixel() as f64
    }

    /// Returns the largest number of runs at each pixel.
    pub(super) fn most_runs_of_pixel(&self) -> usize {
        let runs = self.runs_of_pixel();
        match self.sampling {
            Sampling::Uniform => runs,
            Sampling::Adaptive(adaptive) => {
                let fewest = Adaptive::FIRST_REPLICATES.saturating_mul(self.candidates_of_pixel());
                ((adaptive.budget.get() * runs as f64) as usize).max(fewest)
            }
        }
    }

    /// Returns the number of candidates of all optimizers at each pixel, at most [`usize::MAX`].
    fn candidates_of_pixel(&self) -> usize {
        self.candidate_counts().into_iter().fold(0, usize::saturating_add)
    }

    /// Returns the number of runs at each pixel with uniform sampling.
    pub fn runs_of_pixel(&self) -> usize {
        self.candidates_of_pixel().saturating_mul(self.replicates.get())
    }
}
