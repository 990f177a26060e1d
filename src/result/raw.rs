//! The final metrics of all runs, as the paper's authors keep them.

use std::io;
use std::path::{Path, PathBuf};

use crate::export::{Aside, Overwrite, write_npy};
use crate::sweep::{Hyperparameter, Quantity, Runs, SweepRule, SweepSpec};

/// The arrays that the authors' own analysis reads, one file a row of the diagram, float64. The optimizers
/// are Adam, FOCUS and Signum in this order, whatever theirs is in the spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawFormat {
    /// Fig. 2a, rows of sharpness: `syn-exp-7-{row}.npy`, (3, columns, learning rates, replicates), the final loss.
    Sharpness,
    /// Fig. 2b, rows of weight decay: `syn-exp-6-{row}.npy`, (3, columns, learning rates, replicates, 3), the
    /// final loss, the smallest loss and the depth.
    WeightDecay,
}

/// Why a sweep has no raw arrays.
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
    /// The format of a sweep's raw arrays.
    pub fn of(spec: &SweepSpec) -> Result<RawFormat, RawRefused> {
        places(spec)?;
        let rates = spec.learning_rates();
        if rates.iter().any(|of_one| of_one != &rates[0]) {
            return refused("the same learning rates for all optimizers", "different ones");
        }
        if spec.columns.of != Quantity::Noise {
            return refused("`columns` of noise", spec.columns.of.name());
        }
        match &spec.rows.of {
            Quantity::Sharpness => Ok(RawFormat::Sharpness),
            Quantity::Of(Hyperparameter::WeightDecay, ids)
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
        let places = places(spec).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let [columns, rates, replicates] = [pixels.len(), spec.rate_counts()[0], spec.replicates.get()];
        let mut shape = vec![places.len(), columns, rates, replicates];
        let each = if self == RawFormat::WeightDecay { 3 } else { 1 };
        if each > 1 {
            shape.push(each);
        }
        let runs = places.iter().flat_map(|&place| pixels.iter().flat_map(move |pixel| &pixel[place].metrics));
        let values = runs.flat_map(|run| [run.final_loss, run.smallest_loss, run.depth].into_iter().take(each));
        let path = folder.join(self.file_name(row));
        let mut file = Aside::for_target(&path)?;
        write_npy(&mut file, &shape, values)?;
        file.commit(overwrite)?;
        Ok(path)
    }
}

/// Where Adam, FOCUS and Signum are among the optimizers, which must be just these.
fn places(spec: &SweepSpec) -> Result<[usize; 3], RawRefused> {
    const EXPECTED: &str = "exactly Adam, FOCUS and Signum";
    let place = |is: fn(&SweepRule) -> bool| spec.optimizers.iter().position(|optimizer| is(&optimizer.rule));
    let places = [
        place(|rule| matches!(rule, SweepRule::Adam { .. })),
        place(|rule| matches!(rule, SweepRule::Focus { .. })),
        place(|rule| matches!(rule, SweepRule::Signum { .. })),
    ];
    match (places, spec.optimizers.len()) {
        ([Some(adam), Some(focus), Some(signum)], 3) => Ok([adam, focus, signum]),
        _ => {
            let rules: Vec<&str> = spec.optimizers.iter().map(|optimizer| optimizer.rule.name()).collect();
            refused(EXPECTED, rules.join(", "))
        }
    }
}
