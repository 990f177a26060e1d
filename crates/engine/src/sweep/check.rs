//! The faults of a sweep's spec.

use super::axis::{Axis, Quantity};
use super::metric::{Average, Metric};
use super::point::{Point, Variant};
use super::spec::{SweepOptimizer, SweepSpec, out_of_range};
use super::tuned::TunedSetting;
use crate::landscape::LandscapeInfo;
use crate::noise::NoiseInfo;
use crate::optimizer::Need;
use crate::spec_error::{SpecError, broken};

impl SweepSpec {
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

    /// Checks that the landscape and the noise have the parameters, and the landscape the dimension, that the sweep gives
    /// them.
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
                Quantity::NoiseParameter(of) if self.noise.get(of.key()).is_none() => {
                    let NoiseInfo { name, .. } = self.noise.info();
                    let noise = name.to_lowercase();
                    return broken(
                        path,
                        format!("varies {}, which {noise} noise lacks; set `noise` to one that has it", of.key()),
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
            return broken("start", format!("is a place on the plane, and the sweep has {dimension} dimensions"));
        }
        let is_of_plane = |optimizer: &SweepOptimizer| optimizer.rule.info().needs(Need::Axes);
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
        for (place, tuned) in tune.iter().enumerate() {
            let path = format!("optimizers[{index}].tune[{place}]");
            let (of, key) = (tuned.of, tuned.of.key());
            if !of.is_of(rule, schedule) {
                let complaint = match of == TunedSetting::SCHEDULE_END {
                    true => "is the end of a cosine schedule, and the optimizer has none; set its `schedule` to \
                             `(decay: Cosine())`"
                        .to_owned(),
                    false => format!("is {key}, which {} lacks", rule.name()),
                };
                return broken(format!("{path}.of"), complaint);
            }
            if tune[..place].iter().any(|other| other.of == of) {
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
                of.put(&mut variant, value).map_err(out_of_range(format!("{path}.{end}")))?;
            }
        }
        Ok(())
    }

    fn check_axis(&self, path: &str, axis: &Axis) -> Result<(), SpecError> {
        axis.range().check(path, "axis")?;
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
