//! The final metrics of all runs, as the paper's authors keep them.

use std::io;
use std::path::{Path, PathBuf};

use valleyscope_engine::landscape::LandscapeParameterName;
use valleyscope_engine::noise::NoiseKind;
use valleyscope_engine::optimizer::{Hyperparameter, HyperparameterName, RuleKind};
use valleyscope_engine::sweep::{Average, Diagram, Metric, Quantity, Runs, SweepSpec};
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite};

use crate::export::{read_npy, write_npy};

/// The arrays that the authors' own analysis reads, one file per row of the diagram, float64. The optimizers are Adam,
/// FOCUS and Signum in this order, whatever their order in the spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawFormat {
    /// Fig. 2a, rows of sharpness: `syn-exp-7-{row}.npy`, (3, columns, learning rates, replicates), the final loss.
    Sharpness,
    /// Fig. 2b, rows of weight decay: `syn-exp-6-{row}.npy`, (3, columns, learning rates, replicates, 3), the
    /// final loss, the smallest loss and the depth.
    WeightDecay,
}

/// The reason why a sweep has no raw arrays.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "raw arrays are those of the paper: {expected} was expected, found {found}; leave out the raw arrays, or take the \
     preset fig2a or fig2b"
)]
pub struct RawRefused {
    pub expected: &'static str,
    pub found: String,
}

fn refused<T>(expected: &'static str, found: impl Into<String>) -> Result<T, RawRefused> {
    Err(RawRefused { expected, found: found.into() })
}

impl RawFormat {
    /// Returns the format of a sweep's raw arrays.
    pub fn of(spec: &SweepSpec) -> Result<RawFormat, RawRefused> {
        places(spec)?;
        if !spec.sampling.is_uniform() {
            return refused("`sampling: Uniform`", "Adaptive");
        }
        if let Some(tuned) = spec.optimizers.iter().find(|optimizer| !optimizer.tune.is_empty()) {
            return refused("no tuned settings", format!("some of {}", tuned.label()));
        }
        let rates = spec.learning_rates();
        if rates.iter().any(|of_one| of_one != &rates[0]) {
            return refused("the same learning rates for all optimizers", "different ones");
        }
        if spec.columns.of != Quantity::Noise {
            return refused("`columns` of noise", spec.columns.of.name());
        }
        if spec.landscape.valley().is_none() {
            return refused("the paper's valley", spec.landscape.info().name);
        }
        if spec.noise.kind() != NoiseKind::Multiplicative {
            return refused("multiplicative noise", format!("{} noise", spec.noise.info().name.to_lowercase()));
        }
        match &spec.rows.of {
            Quantity::Landscape(LandscapeParameterName::SHARPNESS) => Ok(RawFormat::Sharpness),
            Quantity::Of(HyperparameterName::WEIGHT_DECAY, ids)
                if spec.optimizers.iter().all(|optimizer| ids.contains(&optimizer.id)) =>
            {
                Ok(RawFormat::WeightDecay)
            }
            other => refused("`rows` of sharpness, or of the weight decay of all optimizers", other.name()),
        }
    }

    pub fn file_name(self, row: usize) -> String {
        match self {
            RawFormat::Sharpness => format!("syn-exp-7-{row}.npy"),
            RawFormat::WeightDecay => format!("syn-exp-6-{row}.npy"),
        }
    }

    /// Returns the names of all rows' files.
    pub fn file_names(self, spec: &SweepSpec) -> impl Iterator<Item = String> + use<> {
        (0..spec.shape()[0]).map(move |row| self.file_name(row))
    }

    /// Writes the file of a row into a folder from the runs of its pixels, column by column. The spec must be
    /// one of this format, with all replicates run.
    pub fn write_row(
        self,
        folder: &Path,
        overwrite: Overwrite,
        spec: &SweepSpec,
        row: usize,
        pixels: &[Vec<Runs>],
    ) -> io::Result<PathBuf> {
        let places = places(spec).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let each = self.metrics();
        let shape = self.shape(spec, pixels.len());
        let runs = places.iter().flat_map(|&place| pixels.iter().flat_map(move |pixel| &pixel[place].metrics));
        let values = runs.flat_map(|run| [run.final_loss, run.smallest_loss, run.depth].into_iter().take(each));
        let path = folder.join(self.file_name(row));
        let mut file = AtomicFile::for_target(&path)?;
        write_npy(&mut file, &shape, values)?;
        file.commit(overwrite)?;
        Ok(path)
    }

    /// Returns the number of metrics of a run.
    fn metrics(self) -> usize {
        if self == RawFormat::WeightDecay { 3 } else { 1 }
    }

    fn shape(self, spec: &SweepSpec, columns: usize) -> Vec<usize> {
        let mut shape = vec![3, columns, spec.candidate_counts()[0], spec.replicates.get()];
        shape.extend((self.metrics() > 1).then_some(self.metrics()));
        shape
    }

    /// Checks that the file of a row has the expected type, shape and length, and the means, or medians, of a diagram.
    ///
    /// # Errors
    ///
    /// Returns a description of the fault.
    pub fn check_row(self, path: &Path, diagram: &Diagram, row: usize) -> Result<(), String> {
        let spec = diagram.spec();
        let places = places(spec).map_err(|error| error.to_string())?;
        let (shape, each) = (self.shape(spec, spec.shape()[1]), self.metrics());
        let values = read_npy(path, &shape).map_err(|error| error.to_string())?;
        let replicates = spec.replicates.get();
        let mut runs = values.chunks_exact(replicates * each);
        for place in places {
            for column in 0..shape[1] {
                let cell = diagram.cell([row, column]).filter(|cell| cell.replicates == replicates);
                for (rate, runs) in runs.by_ref().take(shape[2]).enumerate() {
                    let Some(cell) = cell else { continue };
                    let wrong = self.difference(runs, spec.average, cell.averages[place][rate]);
                    if let Some(wrong) = wrong {
                        let (optimizer, rate, column) = (spec.optimizers[place].rule.name(), rate + 1, column + 1);
                        let place = format!("{optimizer}, learning rate {rate} in column {column}");
                        return Err(format!("{place}: {wrong}; bytes have changed, or it is of another sweep"));
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the first average of some runs that differs from the expected one, in words.
    fn difference(self, runs: &[f64], average: Average, expected: [f64; 3]) -> Option<String> {
        let each = self.metrics();
        Metric::ALL.into_iter().zip(expected).take(each).find_map(|(metric, expected)| {
            let values: Vec<f64> = runs.iter().skip(metric as usize).step_by(each).copied().collect();
            let found = average.of(&values, metric);
            let name = metric.name();
            (!is_near(found, expected)).then(|| format!("expected an average {name} of {expected}, found {found}"))
        })
    }
}

/// Returns whether two averages are equal except for rounding: sums may differ in their last digits.
fn is_near(one: f64, other: f64) -> bool {
    one == other || (one - other).abs() <= 1e-9 * other.abs() || one.is_nan() && other.is_nan()
}

/// Returns the indices of Adam, FOCUS and Signum among the optimizers, which must be exactly these, with steps that are
/// neither scheduled nor masked.
fn places(spec: &SweepSpec) -> Result<[usize; 3], RawRefused> {
    const EXPECTED: &str = "exactly Adam, FOCUS and Signum";
    let scheduled = spec.optimizers.iter().find(|optimizer| !optimizer.schedule.is_constant());
    if let Some(scheduled) = scheduled {
        return refused("constant learning rates", format!("a schedule of {}", scheduled.rule.name()));
    }
    let masked = spec
        .optimizers
        .iter()
        .find(|optimizer| optimizer.rule.get(Hyperparameter::MASK).is_some_and(|mask| mask != 0.0));
    if let Some(masked) = masked {
        return refused("steps without a mask", format!("cautious steps of {}", masked.rule.name()));
    }
    let place = |kind| spec.optimizers.iter().position(|optimizer| optimizer.rule.kind() == kind);
    let places = [RuleKind::Adam, RuleKind::Focus, RuleKind::Signum].map(place);
    match (places, spec.optimizers.len()) {
        ([Some(adam), Some(focus), Some(signum)], 3) => Ok([adam, focus, signum]),
        _ => {
            let rules: Vec<&str> = spec.optimizers.iter().map(|optimizer| optimizer.rule.name()).collect();
            refused(EXPECTED, rules.join(", "))
        }
    }
}
