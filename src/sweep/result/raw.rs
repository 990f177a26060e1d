//! The final metrics of all runs, as the paper's authors store them.

use std::io;
use std::path::{Path, PathBuf};

use valleyscope_engine::noise::NoiseKind;
use valleyscope_engine::optimizer::{MASK, RuleKind, WEIGHT_DECAY};
use valleyscope_engine::sweep::{Quantity, Runs, SweepSpec};
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite};

use crate::export::write_npy;

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
    /// Determines the format of a sweep's raw arrays.
    pub fn of(spec: &SweepSpec) -> Result<RawFormat, RawRefused> {
        indices(spec)?;
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
            return refused("`columns` of noise", spec.columns.of.key());
        }
        if spec.landscape.valley().is_none() {
            return refused("the paper's valley", spec.landscape.info().name);
        }
        if spec.noise.kind() != NoiseKind::Multiplicative {
            return refused("multiplicative noise", format!("{} noise", spec.noise.info().name.to_lowercase()));
        }
        match &spec.rows.of {
            Quantity::Landscape("sharpness") => Ok(RawFormat::Sharpness),
            Quantity::Of(WEIGHT_DECAY, ids) if spec.optimizers.iter().all(|optimizer| ids.contains(&optimizer.id)) => {
                Ok(RawFormat::WeightDecay)
            }
            other => refused("`rows` of sharpness, or of the weight decay of all optimizers", other.key()),
        }
    }

    pub fn file_name(self, row: usize) -> String {
        match self {
            RawFormat::Sharpness => format!("syn-exp-7-{row}.npy"),
            RawFormat::WeightDecay => format!("syn-exp-6-{row}.npy"),
        }
    }

    /// The names of all rows' files.
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
        let indices = indices(spec).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let each = if self == RawFormat::WeightDecay { 3 } else { 1 };
        let mut shape = vec![3, pixels.len(), spec.candidate_counts()[0], spec.replicates.get()];
        shape.extend((each > 1).then_some(each));
        let runs = indices.iter().flat_map(|&index| pixels.iter().flat_map(move |pixel| &pixel[index].metrics));
        let values = runs.flat_map(|run| [run.final_loss, run.smallest_loss, run.depth].into_iter().take(each));
        let path = folder.join(self.file_name(row));
        let mut file = AtomicFile::for_target(&path)?;
        write_npy(&mut file, &shape, values)?;
        file.commit(overwrite)?;
        Ok(path)
    }
}

/// Finds the indices of Adam, FOCUS and Signum among the optimizers, which must be exactly these, with steps that are
/// neither scheduled nor masked.
fn indices(spec: &SweepSpec) -> Result<[usize; 3], RawRefused> {
    const EXPECTED: &str = "exactly Adam, FOCUS and Signum";
    let scheduled = spec.optimizers.iter().find(|optimizer| !optimizer.schedule.is_constant());
    if let Some(scheduled) = scheduled {
        return refused("constant learning rates", format!("a schedule of {}", scheduled.rule.name()));
    }
    let masked = spec.optimizers.iter().find(|optimizer| optimizer.rule.get(MASK).is_some_and(|mask| mask != 0.0));
    if let Some(masked) = masked {
        return refused("steps without a mask", format!("cautious steps of {}", masked.rule.name()));
    }
    let index = |kind| spec.optimizers.iter().position(|optimizer| optimizer.rule.kind() == kind);
    let indices = [RuleKind::Adam, RuleKind::Focus, RuleKind::Signum].map(index);
    match (indices, spec.optimizers.len()) {
        ([Some(adam), Some(focus), Some(signum)], 3) => Ok([adam, focus, signum]),
        _ => {
            let rules: Vec<&str> = spec.optimizers.iter().map(|optimizer| optimizer.rule.name()).collect();
            refused(EXPECTED, rules.join(", "))
        }
    }
}
