//! The specification of a sweep.

use serde::{Deserialize, Serialize};

use super::axis::{Axis, Quantity, spread};
use super::metric::{Average, Metric};
use super::point::{Point, PointOptimizer};
use crate::landscape::{LandscapeInfo, LandscapeSpec};
use crate::noise::NoiseSpec;
use crate::optimizer::{Need, RuleSpec, Schedule};
use crate::quantity::{Dimension, LearningRate, OutOfRange, PointCount, Replicates, StartSpread, StepCount};
use crate::spacing::Spacing;
use crate::spec_error::{SpecError, broken};

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
    /// The standard deviation of the start: each coordinate is a draw from Normal(0, spread).
    #[serde(default = "start_spread")]
    pub start_spread: StartSpread,
    /// Whether all optimizers and learning rates of a pixel and replicate share their noise.
    #[serde(default)]
    pub common_random_numbers: bool,
    /// The metric by which optimizers are compared.
    #[serde(default)]
    pub metric: Metric,
    /// The kind of average of the metric over replicates.
    #[serde(default)]
    pub average: Average,
    pub rows: Axis,
    pub columns: Axis,
    /// The optimizers, 2 to [`SweepSpec::MAX_OPTIMIZERS`], each with an id of its own.
    pub optimizers: Vec<SweepOptimizer>,
}

fn start_spread() -> StartSpread {
    StartSpread::clamped(1e-4)
}

/// An optimizer and its learning rates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepOptimizer {
    /// The id, part of the key of the optimizer's random streams; unique within a sweep.
    pub id: u32,
    /// The name in legends; without it, the rule's name.
    #[serde(default)]
    pub name: Option<String>,
    /// The colour as red, green, blue; without it, the rule's colour in the paper, or a shade of it if an earlier
    /// optimizer has that.
    #[serde(default)]
    pub color: Option<[u8; 3]>,
    #[serde(deserialize_with = "RuleSpec::deserialize_on_plane")]
    pub rule: RuleSpec,
    #[serde(default)]
    pub learning_rates: LearningRates,
    /// The schedule of each learning rate over a run.
    #[serde(default)]
    pub schedule: Schedule,
}

impl SweepOptimizer {
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or_else(|| self.schedule.named(self.rule.name()))
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
    /// The largest number of averages of a diagram: one for each pixel, optimizer and learning rate, with the largest
    /// number of learning rates counted for every optimizer.
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

    /// Returns the number of learning rates at each pixel, for each optimizer.
    pub fn rate_counts(&self) -> Vec<usize> {
        self.learning_rates().iter().map(|rates| rates.len().max(1)).collect()
    }

    fn is_rate_axis(&self, optimizer: u32) -> bool {
        self.rows.varies_rate_of(optimizer) || self.columns.varies_rate_of(optimizer)
    }

    /// Returns the settings of the runs at a pixel. The spec must be free of faults.
    pub fn point(&self, row: usize, column: usize) -> Point {
        let (rows, columns) = (self.rows.values(), self.columns.values());
        self.point_at(rows[row], columns[column]).expect("values between the ends of a checked axis are in range")
    }

    fn point_at(&self, row: f64, column: f64) -> Result<Point, SpecError> {
        let optimizers = self.optimizers.iter().map(|optimizer| PointOptimizer {
            id: optimizer.id,
            rule: optimizer.rule,
            learning_rates: optimizer.learning_rates.values(),
            schedule: optimizer.schedule,
        });
        let mut point = Point {
            landscape: self.landscape,
            dimension: self.dimension,
            noise: self.noise,
            steps: self.steps,
            optimizers: optimizers.collect(),
        };
        let fault = |path: &str| {
            let path = path.to_owned();
            move |error: OutOfRange| SpecError {
                path,
                complaint: format!(
                    "goes beyond the range of {}: expected {}, found {}",
                    error.name, error.expected, error.found
                ),
            }
        };
        self.rows.of.put(&mut point, row).map_err(fault("rows"))?;
        self.columns.of.put(&mut point, column).map_err(fault("columns"))?;
        for optimizer in &mut point.optimizers {
            optimizer.schedule = optimizer.schedule.over(Some(point.steps.get() as u64));
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

    /// Returns the optimizer steps of the whole sweep, each of which is a step of one run.
    pub fn total_steps(&self) -> f64 {
        let [rows, columns] = self.shape().map(|count| count as f64);
        let along = |axis: &Axis| axis.values().iter().sum::<f64>();
        let of_pixels = match (&self.rows.of, &self.columns.of) {
            (Quantity::Steps, _) => along(&self.rows) * columns,
            (_, Quantity::Steps) => along(&self.columns) * rows,
            _ => rows * columns * self.steps.get() as f64,
        };
        of_pixels * self.runs_of_pixel() as f64
    }

    /// Returns the number of runs at each pixel.
    fn runs_of_pixel(&self) -> usize {
        self.rate_counts().iter().sum::<usize>() * self.replicates.get()
    }

    /// Returns the first fault of the spec that its types do not exclude.
    pub fn check(&self) -> Result<(), SpecError> {
        self.check_optimizers()?;
        self.check_landscape()?;
        self.check_axis("rows", &self.rows)?;
        self.check_axis("columns", &self.columns)?;
        if self.rows.of.overlaps(&self.columns.of) {
            return broken("columns.of", "is the same as `rows.of`; the two axes must vary different things");
        }
        self.check_size()?;
        for row in [self.rows.from, self.rows.to] {
            for column in [self.columns.from, self.columns.to] {
                self.check_dimension(&self.point_at(row, column)?)?;
            }
        }
        Ok(())
    }

    /// Checks that the landscape has the parameters and the dimension that the sweep gives it.
    fn check_landscape(&self) -> Result<(), SpecError> {
        let LandscapeInfo { name, parameters, .. } = self.landscape.info();
        let is_valley = self.landscape.valley().is_some();
        if !is_valley && self.dimension.get() > 2 {
            return broken("dimension", format!("is {}, and {name} has 2 dimensions", self.dimension.get()));
        }
        for (path, axis) in [("rows.of", &self.rows), ("columns.of", &self.columns)] {
            match axis.of {
                Quantity::Landscape(of) if self.landscape.get(of.key()).is_none() => {
                    let keys: Vec<&str> = parameters.iter().map(|of| of.key()).collect();
                    let known = keys.join(", ");
                    return broken(path, format!("varies {}, which {name} lacks; it has {known}", of.key()));
                }
                Quantity::Dimension if !is_valley => {
                    return broken(path, format!("varies the dimension, and {name} has 2 dimensions"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks that each optimizer has a step in the number of dimensions at a point.
    fn check_dimension(&self, point: &Point) -> Result<(), SpecError> {
        let is_of_plane = |optimizer: &SweepOptimizer| optimizer.rule.info().needs(Need::Axes);
        match (point.dimension.get(), self.optimizers.iter().position(is_of_plane)) {
            (dimension @ 3.., Some(index)) => {
                let name = self.optimizers[index].rule.name();
                let complaint = format!("is {name}, which is for 2 dimensions; the sweep has {dimension}");
                broken(format!("optimizers[{index}].rule"), complaint)
            }
            _ => Ok(()),
        }
    }

    fn check_optimizers(&self) -> Result<(), SpecError> {
        const MOST: usize = SweepSpec::MAX_OPTIMIZERS;
        let count = self.optimizers.len();
        if !(2..=MOST).contains(&count) {
            return broken("optimizers", format!("must hold 2 to {MOST} optimizers to compare, found {count}"));
        }
        for (index, optimizer) in self.optimizers.iter().enumerate() {
            if let Some(first) = self.optimizers[..index].iter().position(|other| other.id == optimizer.id) {
                return broken(
                    format!("optimizers[{index}].id"),
                    format!("is {}, the same as `optimizers[{first}].id`; each needs an id of its own", optimizer.id),
                );
            }
            let rates = &optimizer.learning_rates;
            if rates.from > rates.to {
                return broken(
                    format!("optimizers[{index}].learning_rates.to"),
                    format!("is {}, less than `from`, which is {}", rates.to.get(), rates.from.get()),
                );
            }
        }
        Ok(())
    }

    fn check_axis(&self, path: &str, axis: &Axis) -> Result<(), SpecError> {
        for (end, value) in [("from", axis.from), ("to", axis.to)] {
            if !value.is_finite() {
                return broken(format!("{path}.{end}"), format!("must be a finite number, found {value}"));
            }
            if axis.of.is_whole() && (value.fract() != 0.0 || value < 0.0) {
                return broken(format!("{path}.{end}"), format!("must be a whole number, found {value}"));
            }
            if !axis.spacing.allows(value) {
                let has = if axis.spacing == Spacing::Log { "positive values" } else { "values below 1" };
                let hint = format!("a logarithmic axis has only {has}; choose `spacing: Linear` or another range");
                return broken(format!("{path}.{end}"), format!("is {value}, and {hint}"));
            }
        }
        const WIDEST: f64 = 1e300;
        let quotient = axis.spacing.quotient([axis.from, axis.to]);
        if quotient.is_some_and(|quotient| !(1.0 / WIDEST..=WIDEST).contains(&quotient)) {
            let hint = "further apart than a logarithmic axis can span; choose ends that are nearer to each other";
            return broken(format!("{path}.to"), format!("is {}, and `{path}.from` is {}, {hint}", axis.to, axis.from));
        }
        if axis.count.get() > 1 && axis.from == axis.to {
            let complaint =
                format!("is {}, the same as `{path}.from`; the range of an axis must not be empty", axis.to);
            return broken(format!("{path}.to"), complaint);
        }
        if axis.of.is_whole() && axis.values().windows(2).any(|pair| pair[0] == pair[1]) {
            let count = axis.count.get();
            let hint = "the same whole number would come twice; choose a smaller count or a wider range";
            return broken(
                format!("{path}.count"),
                format!("asks for {count} values from {} to {}, and {hint}", axis.from, axis.to),
            );
        }
        if let Quantity::Of(hyperparameter, ids) = &axis.of {
            let name = hyperparameter.key();
            if ids.is_empty() {
                return broken(format!("{path}.of"), format!("varies {name} of no optimizer; name the ids of some"));
            }
            for id in ids {
                match self.optimizers.iter().find(|optimizer| optimizer.id == *id) {
                    None => return broken(format!("{path}.of"), format!("names the id {id}, which no optimizer has")),
                    Some(optimizer) if !hyperparameter.is_of(&optimizer.rule) => {
                        let label = optimizer.label();
                        return broken(format!("{path}.of"), format!("varies {name} of {label}, which has none"));
                    }
                    Some(_) => {}
                }
            }
        }
        Ok(())
    }

    fn check_size(&self) -> Result<(), SpecError> {
        let [rows, columns] = self.shape();
        let pixels = rows * columns;
        if pixels > Self::MAX_PIXELS {
            return broken(
                "rows.count",
                format!(
                    "times `columns.count` is {pixels} pixels, more than {}; choose a smaller grid",
                    Self::MAX_PIXELS
                ),
            );
        }
        let most_rates = self.rate_counts().into_iter().max().unwrap_or(0);
        let averages = pixels * self.optimizers.len() * most_rates;
        if averages > Self::MAX_AVERAGES {
            return broken(
                "optimizers",
                format!(
                    "times learning rates times pixels is {averages} averages, more than {}; choose a smaller grid or \
                     fewer learning rates",
                    Self::MAX_AVERAGES
                ),
            );
        }
        let runs = self.runs_of_pixel();
        if runs > Self::MAX_RUNS {
            return broken(
                "replicates",
                format!(
                    "times all learning rates is {runs} runs at each pixel, more than {}; choose fewer replicates or \
                     fewer learning rates",
                    Self::MAX_RUNS
                ),
            );
        }
        if self.total_steps() > Self::MAX_STEPS {
            return broken(
                "steps",
                format!("times runs is {:e} optimizer steps, more than {:e}", self.total_steps(), Self::MAX_STEPS),
            );
        }
        Ok(())
    }
}
