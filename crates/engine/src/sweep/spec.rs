//! The specification of a sweep.

use serde::{Deserialize, Serialize};

use super::adaptive::{Adaptive, Sampling};
use super::axis::{Axis, Point, PointOptimizer, Quantity, Tuned, Variant, can_tune, spread, variant_count, variants};
use super::runs::{Average, Metric, PixelKey};
use crate::landscape::{LandscapeInfo, LandscapeSpec, StartPosition};
use crate::noise::{NoiseInfo, NoiseSpec};
use crate::optimizer::{
    External, Need, RuleKind, RuleSpec, Schedule, ShownSetting, differing, differing_by_key, with_settings,
};
use crate::quantity::{
    Dimension, LearningRate, Number as _, OutOfRange, PointCount, Replicates, StartSpread, StepCount, number_text,
};
use crate::setting::{
    BUDGET, CERTAINTY, DIMENSION, Key, LEARNING_RATE, MOST_REPLICATES, NOISE, REPLICATES, SCHEDULE_END, START_SPREAD,
    START_X, START_Y, STEPS, SettingValue, Spacing, unknown,
};
use crate::simulation::is_given;
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
    /// The point at which runs start on the plane; without it, the landscape's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<StartPosition>,
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
    /// The number of replicates of the candidates of a pixel.
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
fn out_of_range(path: String) -> impl FnOnce(OutOfRange) -> SpecError {
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
    /// The colour as red, green, blue; without it, the rule's colour, or another if that is too much like those of
    /// other optimizers.
    #[serde(default)]
    pub color: Option<[u8; 3]>,
    #[serde(deserialize_with = "RuleSpec::deserialize_on_plane")]
    pub rule: RuleSpec,
    #[serde(default)]
    pub learning_rates: LearningRates,
    /// The tuned settings besides the learning rate, instead of those of the rule and the schedule.
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

    /// Returns the index of a tuned setting among those of the optimizer.
    pub fn tuned(&self, key: &str) -> Option<usize> {
        self.tune.iter().position(|tuned| tuned.of == key)
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

/// Returns the spacing of the values in all grids of a tuned setting; linear where they differ.
pub fn tuned_spacing<'s>(key: &str, specs: impl IntoIterator<Item = &'s SweepSpec>) -> Spacing {
    let optimizers = specs.into_iter().flat_map(|spec| &spec.optimizers);
    let mut all = optimizers.flat_map(|it| &it.tune).filter(|it| it.of == key).map(|it| it.spacing);
    let first = all.next().unwrap_or(Spacing::Linear);
    if all.all(|spacing| spacing == first) { first } else { Spacing::Linear }
}

impl SweepSpec {
    pub const MAX_OPTIMIZERS: usize = 32;
    /// The largest number of pixels of a diagram.
    const MAX_PIXELS: usize = 1_000_000;
    /// The largest number of averages of a diagram: one for each pixel, optimizer and candidate, with the largest
    /// number of candidates counted for every optimizer.
    const MAX_AVERAGES: usize = 20_000_000;

    /// The largest number of runs of a pixel, all of which are held in memory at once.
    const MAX_RUNS: usize = 5_000_000;

    /// The largest number of optimizer steps: some years of computation.
    const MAX_STEPS: f64 = 1e18;

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

    /// Returns the point at which runs start on the plane.
    pub fn start(&self) -> StartPosition {
        self.start.unwrap_or(self.landscape.start())
    }

    /// Returns the index of the first Adam, whose gradients are [measured](super::adam_shares).
    pub fn adam(&self) -> Option<usize> {
        self.optimizers.iter().position(|optimizer| optimizer.rule.kind() == RuleKind::Adam)
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

    /// Lists the keys of the settings that some optimizer tunes, in the order of the optimizers.
    pub fn tuned_settings(&self) -> Vec<Key> {
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

    fn point_at(&self, row: f64, column: f64) -> Result<Point, SpecError> {
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

    /// The key of the runs of a pixel.
    pub fn pixel_key(&self, row: usize, column: usize) -> PixelKey {
        PixelKey::new(self.seed, self.common_random_numbers, [row, column])
    }

    pub(super) fn steps_of_runs(&self) -> impl Fn([usize; 2]) -> u64 + use<> {
        self.of_pixels(Quantity::Steps, self.steps.get() as u64)
    }

    /// Returns the cost of each run at a pixel: its steps times its dimensions. All pixels have equally many runs.
    pub(super) fn costs(&self) -> impl Fn([usize; 2]) -> u64 + use<> {
        let dimensions = self.of_pixels(Quantity::Dimension, self.dimension.get() as u64);
        let steps = self.steps_of_runs();
        move |pixel| steps(pixel) * dimensions(pixel)
    }

    /// Returns a whole quantity at each pixel, which is `fixed` unless an axis has it.
    fn of_pixels(&self, quantity: Quantity, fixed: u64) -> impl Fn([usize; 2]) -> u64 + use<> {
        let along = |axis: &Axis| (axis.of == quantity).then(|| axis.values());
        let (rows, columns) = (along(&self.rows), along(&self.columns));
        move |[row, column]| match (&rows, &columns) {
            (Some(rows), _) => rows[row] as u64,
            (None, Some(columns)) => columns[column] as u64,
            (None, None) => fixed,
        }
    }

    /// Returns the optimizer steps of the whole sweep, each of which is a step of one run; with adaptive sampling, the
    /// most that it may take.
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

impl SweepSpec {
    /// Lists the settings that are numbers with their values, besides those of the optimizers and the axes.
    pub fn settings(&self) -> Vec<SettingValue> {
        let mut settings: Vec<SettingValue> = self.landscape.settings().chain(self.noise.settings()).collect();
        if self.landscape.valley().is_some() {
            settings.push(SettingValue::new(DIMENSION.key, &DIMENSION, self.dimension.value()));
        }
        if self.dimension.get() == 2 {
            let (start, usual) = (self.start(), self.landscape.start());
            settings
                .push(SettingValue { default: usual.x.get(), ..SettingValue::new("start.x", &START_X, start.x.get()) });
            settings
                .push(SettingValue { default: usual.y.get(), ..SettingValue::new("start.y", &START_Y, start.y.get()) });
        }
        settings.extend([
            SettingValue::new("start_spread", &START_SPREAD, self.start_spread.get()),
            SettingValue::new(STEPS.key, &STEPS, self.steps.value()),
            SettingValue::new(REPLICATES.key, &REPLICATES, self.replicates.value()),
        ]);
        if let Sampling::Adaptive(Adaptive { certainty, budget, most_replicates }) = self.sampling {
            settings.extend([
                SettingValue::new("sampling.certainty", &CERTAINTY, certainty.get()),
                SettingValue::new("sampling.budget", &BUDGET, budget.get()),
                SettingValue::new("sampling.most_replicates", &MOST_REPLICATES, most_replicates.value()),
            ]);
        }
        settings
    }

    /// Sets one of [`SweepSpec::settings`].
    ///
    /// # Errors
    ///
    /// Fails for a value out of range, and for a setting that the sweep lacks.
    pub fn set(&mut self, path: &str, value: f64) -> Result<(), OutOfRange> {
        match (path, path.split_once('.'), &mut self.sampling) {
            (_, Some(("landscape", key)), _) => self.landscape.set(key, value),
            (_, Some(("noise", key)), _) => self.noise.set(key, value),
            (_, Some(("start", key)), _) => {
                let mut start = self.start();
                if key == START_X.key {
                    start.x.enter(value)?
                } else {
                    start.y.enter(value)?
                }
                self.start = Some(start).filter(|start| *start != self.landscape.start());
                Ok(())
            }
            ("noise", ..) => self.noise.set(NOISE.key, value),
            ("dimension", ..) => self.dimension.enter(value),
            ("start_spread", ..) => self.start_spread.enter(value),
            ("steps", ..) => self.steps.enter(value),
            ("replicates", ..) => self.replicates.enter(value),
            ("sampling.certainty", _, Sampling::Adaptive(adaptive)) => adaptive.certainty.enter(value),
            ("sampling.budget", _, Sampling::Adaptive(adaptive)) => adaptive.budget.enter(value),
            ("sampling.most_replicates", _, Sampling::Adaptive(adaptive)) => adaptive.most_replicates.enter(value),
            _ => Err(unknown(path)),
        }
    }

    /// Returns the first fault of the spec, or the first optimizer whose steps only the caller can take.
    pub fn check_computable(&self) -> Result<(), SpecError> {
        self.check()?;
        match self.optimizers.iter().position(|optimizer| optimizer.rule.kind() == RuleKind::External) {
            Some(index) => {
                broken(format!("optimizers[{index}].rule"), External::refusal(self.optimizers[index].label()))
            }
            None => Ok(()),
        }
    }

    /// Returns the first fault of the spec that its types do not exclude.
    pub fn check(&self) -> Result<(), SpecError> {
        self.check_optimizers()?;
        self.check_landscape()?;
        self.check_metric()?;
        self.check_sampling()?;
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

    /// Checks that the landscape and the noise have the parameters, and the landscape the dimension, that the sweep
    /// gives them.
    fn check_landscape(&self) -> Result<(), SpecError> {
        let LandscapeInfo { name, parameters, .. } = self.landscape.info();
        let is_valley = self.landscape.valley().is_some();
        if !is_valley && self.dimension.get() > 2 {
            return broken("dimension", format!("is {}, and {name} has 2 dimensions", self.dimension.get()));
        }
        for (path, axis) in [("rows.of", &self.rows), ("columns.of", &self.columns)] {
            match axis.of {
                Quantity::Landscape(of) if self.landscape.get(of).is_none() => {
                    let keys: Vec<&str> = parameters.iter().map(|of| of.key).collect();
                    let known = keys.join(", ");
                    return broken(path, format!("varies {of}, which {name} lacks; it has {known}"));
                }
                Quantity::NoiseParameter(of) if self.noise.get(of).is_none() => {
                    let NoiseInfo { name, .. } = self.noise.info();
                    let noise = name.to_lowercase();
                    return broken(
                        path,
                        format!("varies {of}, which {noise} noise lacks; set `noise` to one that has it"),
                    );
                }
                Quantity::Dimension if !is_valley => {
                    return broken(path, format!("varies the dimension, and {name} has 2 dimensions"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks that adaptive sampling has what it compares: means.
    fn check_sampling(&self) -> Result<(), SpecError> {
        if self.sampling.is_uniform() || self.average == Average::Mean {
            return Ok(());
        }
        broken(
            "sampling",
            "is Adaptive, which compares means, and `average` is Median; choose `average: Mean` or Uniform",
        )
    }

    /// Checks that the landscape has the metric by which the sweep compares.
    fn check_metric(&self) -> Result<(), SpecError> {
        if self.metric.is_of(&self.landscape) {
            return Ok(());
        }
        let known: Vec<String> = Metric::of(&self.landscape).map(|metric| format!("`{metric:?}`")).collect();
        let LandscapeInfo { name, .. } = self.landscape.info();
        broken("metric", format!("is `{:?}`, which {name} lacks; it has {}", self.metric, known.join(" and ")))
    }

    /// Checks that the start and the step of each optimizer exist in the number of dimensions at a point.
    fn check_dimension(&self, point: &Point) -> Result<(), SpecError> {
        let dimension = point.dimension.get();
        if self.start.is_some() && dimension > 2 {
            return broken("start", format!("is a point on the plane, and the sweep has {dimension} dimensions"));
        }
        let is_of_plane = |optimizer: &SweepOptimizer| {
            optimizer.rule.info().needs(Need::Axes) || optimizer.rule.kind() == RuleKind::External
        };
        match (dimension, self.optimizers.iter().position(is_of_plane)) {
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
            self.check_tuned(index)?;
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

    /// Checks the tuned settings of an optimizer.
    fn check_tuned(&self, index: usize) -> Result<(), SpecError> {
        let SweepOptimizer { id, rule, schedule, tune, .. } = &self.optimizers[index];
        for (number, tuned) in tune.iter().enumerate() {
            let path = format!("optimizers[{index}].tune[{number}]");
            let key = tuned.of;
            if !can_tune(key, rule, schedule) {
                let complaint = match key == SCHEDULE_END.key {
                    true => "is the end of a cosine schedule, and the optimizer has none; set its `schedule` to \
                             `(decay: Cosine())`"
                        .to_owned(),
                    false => format!("is {key}, which {} lacks", rule.name()),
                };
                return broken(format!("{path}.of"), complaint);
            }
            if tune[..number].iter().any(|other| other.of == key) {
                return broken(format!("{path}.of"), format!("is {key}, which is tuned already; give it once"));
            }
            if let Some((axis, _)) =
                [("rows", &self.rows), ("columns", &self.columns)].iter().find(|(_, axis)| axis.varies(key, *id))
            {
                return broken(
                    format!("{path}.of"),
                    format!("is {key}, which `{axis}` varies for this optimizer; a setting is an axis or tuned"),
                );
            }
            tuned.range().check(&path, "grid of tuned values")?;
            for (end, value) in [("from", tuned.from), ("to", tuned.to)] {
                let mut variant = Variant { rule: *rule, schedule: *schedule };
                variant.set(key, value).map_err(out_of_range(format!("{path}.{end}")))?;
            }
        }
        Ok(())
    }

    fn check_axis(&self, path: &str, axis: &Axis) -> Result<(), SpecError> {
        axis.range().check(path, "axis")?;
        if let Quantity::Of(name, ids) = &axis.of {
            if ids.is_empty() {
                return broken(format!("{path}.of"), format!("varies {name} of no optimizer; name the ids of some"));
            }
            for id in ids {
                match self.optimizers.iter().find(|optimizer| optimizer.id == *id) {
                    None => return broken(format!("{path}.of"), format!("names the id {id}, which no optimizer has")),
                    Some(optimizer) if !optimizer.rule.has_axis(name) => {
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
        let most_candidates = self.candidate_counts().into_iter().max().unwrap_or(0);
        let averages = (pixels * self.optimizers.len()).saturating_mul(most_candidates);
        if averages > Self::MAX_AVERAGES {
            return broken(
                "optimizers",
                format!(
                    "times learning rates, tuned values and pixels is {averages} averages, more than {}; choose a smaller \
                     grid or fewer of them",
                    Self::MAX_AVERAGES
                ),
            );
        }
        let runs = self.runs_of_pixel();
        if runs > Self::MAX_RUNS {
            return broken(
                "replicates",
                format!(
                    "times all learning rates and tuned values is {runs} runs at each pixel, more than {}; choose fewer \
                     of them",
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

impl SweepSpec {
    /// Returns the names of the optimizers for showing them together, in their order: their labels, each with the
    /// settings that differ among optimizers of this label, and with those that differ from other labels' and are not
    /// the rule's defaults. A setting that an axis varies has no value to show; a name given by the user stays
    /// unchanged.
    pub fn shown_names(&self) -> Vec<String> {
        SweepSpec::names_together(&[self]).pop().unwrap_or_default()
    }

    /// Returns the names of the optimizers of several sweeps that are shown together, each sweep's in its order. They
    /// include the settings that differ among the optimizers of all these sweeps.
    pub fn names_together(specs: &[&SweepSpec]) -> Vec<Vec<String>> {
        let all = || specs.iter().flat_map(|spec| spec.optimizers.iter().map(|optimizer| (*spec, optimizer)));
        let labels: Vec<&str> = all().map(|(_, optimizer)| optimizer.label()).collect();
        let settings: Vec<_> = all().map(|(spec, optimizer)| spec.shown_settings(optimizer)).collect();
        let (alike, any) = (differing_by_key(&labels, &settings), differing(&settings));
        let name = |(index, (_, optimizer)): (usize, (&SweepSpec, &SweepOptimizer))| {
            let own = optimizer.schedule.named(optimizer.rule.name());
            let is_named = is_given(optimizer.name.as_deref(), own);
            let is_shown = |setting: &&ShownSetting| {
                let ShownSetting { text, is_usual, .. } = setting;
                !is_named && (alike[index].contains(text) || (!is_usual && any[index].contains(text)))
            };
            let shown = settings[index].iter().filter(is_shown).map(|setting| setting.text.clone());
            with_settings(optimizer.label(), &shown.collect::<Vec<_>>())
        };
        let mut names = all().enumerate().map(name);
        specs.iter().map(|spec| names.by_ref().take(spec.optimizers.len()).collect()).collect()
    }

    fn shown_settings(&self, optimizer: &SweepOptimizer) -> Vec<ShownSetting> {
        let is_axis = |key: &str| self.rows.varies(key, optimizer.id) || self.columns.varies(key, optimizer.id);
        let is_tuned = |key: &str| optimizer.tune.iter().any(|tuned| tuned.of == key);
        let LearningRates { from, to, count } = optimizer.learning_rates;
        let [from, to] = [from, to].map(|rate| number_text(rate.get()));
        let rates = ShownSetting::new(ShownSetting::LEARNING_RATE, format!("{} η from {from} to {to}", count.get()));
        let rates = Some(rates).filter(|_| !is_axis(LEARNING_RATE.key));
        let usual = RuleSpec::on_plane(optimizer.rule.kind());
        let of_rule =
            optimizer.rule.shown_settings(&usual, |of| !of.is_for_vectors && !is_axis(of.key) && !is_tuned(of.key));
        let of_schedule = optimizer.schedule.shown_settings().into_iter();
        let of_schedule =
            of_schedule.filter(|it| it.meaning != ShownSetting::SCHEDULE_END || !is_tuned(SCHEDULE_END.key));
        let tuned = optimizer.tune.iter().map(|tuned| tuned.shown(&optimizer.rule));
        rates.into_iter().chain(of_schedule).chain(of_rule).chain(tuned).collect()
    }
}
