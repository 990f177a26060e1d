//! The faults of a sweep's spec.

use super::axis::{Axis, Quantity};
use super::metric::{Average, Metric};
use super::point::Point;
use super::spec::{SweepOptimizer, SweepSpec};
use crate::landscape::LandscapeInfo;
use crate::noise::NoiseInfo;
use crate::optimizer::Need;
use crate::spacing::Spacing;
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
        if !(axis.to - axis.from).is_finite() {
            let hint = "further apart than the largest number; choose ends that are nearer to each other";
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
