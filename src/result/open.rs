//! Reading a diagram from `phase.npz`.

use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use valleyscope_engine::sweep::{Cell, Comparison, Diagram, Gap, Metric, Precision, Sampled};
use valleyscope_experiments::preset::{Preset, PresetError};
use valleyscope_runs::plain_file::{self, Links};

use super::SweepResult;
use super::arrays::{APART, DEVIATIONS, DOUBT, GAPS, MEANS, OVER, SPENT, Shape};
use crate::export::{ArchiveError, NpzReader};

/// The reason why results cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum ResultError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error(
        "{} is no folder of a sweep's results: it has no {}",
        path.display(), SweepResult::ARRAYS
    )]
    Folder { path: PathBuf },
    #[error(
        "cannot open {origin} as the results of a sweep (`{}`): {source}; repeat the sweep, or take another copy",
        SweepResult::ARRAYS
    )]
    Archive { origin: String, source: ArchiveError },
    #[error("the spec in {origin} is invalid: {source}")]
    Spec { origin: String, source: Box<PresetError> },
    #[error("{origin} contradicts itself: expected {expected}, found {found}")]
    Contradiction { origin: String, expected: String, found: String },
}

impl SweepResult {
    /// Returns whether a path looks like a result rather than a preset: a folder, or a file that ends in `.npz`.
    pub fn is_at(path: &Path) -> bool {
        path.is_dir() || path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npz"))
    }

    /// Opens `phase.npz`, or the folder that holds it.
    pub fn open(path: &Path) -> Result<SweepResult, ResultError> {
        let mut file = path.to_owned();
        if path.is_dir() {
            file.push(Self::ARRAYS);
            if !file.exists() {
                return Err(ResultError::Folder { path: path.to_owned() });
            }
        }
        let reader = plain_file::open(&file, Links::Followed)
            .map_err(|source| ResultError::Read { path: file.clone(), source })?;
        Self::read_arrays(BufReader::new(reader), &file.display().to_string())
    }

    /// Reads an archive that [`SweepResult::write_arrays`] has written; written again, it has the same bytes. Errors
    /// name `origin`, usually a file, as the place.
    pub fn read_arrays(reader: impl Read + Seek, origin: &str) -> Result<SweepResult, ResultError> {
        let in_archive = |source| ResultError::Archive { origin: origin.to_owned(), source };
        let contradiction = |expected: &str, found: String| ResultError::Contradiction {
            origin: origin.to_owned(),
            expected: expected.to_owned(),
            found,
        };
        let mut npz = NpzReader::new(reader).map_err(in_archive)?;
        let spec = npz.text("spec").map_err(in_archive)?;
        let preset = Preset::parse(&spec, &format!("spec of {origin}"))
            .map_err(|source| ResultError::Spec { origin: origin.to_owned(), source: Box::new(source) })?;
        let Preset::Sweep(preset) = preset else {
            return Err(contradiction("the spec of a sweep", format!("a {} preset", preset.kind())));
        };
        let program = npz.text("program").map_err(in_archive)?;
        let precision = [Precision::Single, Precision::Double]
            .into_iter()
            .find(|precision| program.split(", ").any(|word| word == precision.name()))
            .ok_or_else(|| contradiction("`program` with the precision f32 or f64", format!("\"{program}\"")))?;
        let mut diagram = Diagram::new(Arc::new(preset.sweep));
        let is_uniform = diagram.spec().sampling.is_uniform();
        let most = if is_uniform { diagram.spec().replicates.get() } else { i32::MAX as usize };
        let arrays = Arrays::read(&mut npz, &diagram).map_err(in_archive)?;
        for (index, pixel) in arrays.shape.pixels().enumerate() {
            match usize::try_from(arrays.replicates[index]) {
                Ok(0) => {}
                Ok(replicates) if replicates <= most => {
                    let cell = arrays.cell(index, replicates, &diagram);
                    diagram.insert(pixel, cell);
                }
                _ => {
                    let found = arrays.replicates[index].to_string();
                    return Err(contradiction(&format!("`replicates` from 0 to {most}, as in the spec"), found));
                }
            }
        }
        Ok(SweepResult { title: preset.title, description: preset.description, diagram, precision })
    }
}

/// The arrays from which a diagram is made; the others follow from them.
struct Arrays {
    shape: Shape,
    replicates: Vec<i32>,
    diverged: Vec<i32>,
    averages: [Vec<f64>; 3],
    deviations: [Vec<f64>; 3],
    gaps: [Vec<f64>; 3],
    sampled: Option<SampledArrays>,
}

/// The arrays of adaptive sampling.
struct SampledArrays {
    winner: Vec<i32>,
    spent: Vec<i32>,
    doubt: Vec<f64>,
    apart: Vec<f64>,
    over: Vec<i32>,
}

impl Arrays {
    fn read<R: Read + Seek>(npz: &mut NpzReader<R>, diagram: &Diagram) -> Result<Arrays, ArchiveError> {
        let shape = Shape::of(diagram);
        let mut three = |names: [&str; 3], shape: &[usize]| -> Result<[Vec<f64>; 3], ArchiveError> {
            let [first, second, third] = names.map(|name| npz.array(name, shape));
            Ok([first?, second?, third?])
        };
        let averages = three(MEANS, &shape.by_candidate())?;
        let deviations = three(DEVIATIONS, &shape.by_candidate())?;
        let gaps = three(GAPS, &shape.by_metric())?;
        let replicates = npz.array("replicates", &shape.by_pixel())?;
        let diverged = npz.array("diverged", &shape.by_optimizer())?;
        let sampled = match diagram.spec().sampling.is_uniform() {
            true => None,
            false => Some(SampledArrays {
                winner: npz.array("winner", &shape.by_pixel())?,
                spent: npz.array(SPENT, &shape.by_candidate())?,
                doubt: npz.array(DOUBT, &shape.by_optimizer())?,
                apart: npz.array(APART, &shape.by_optimizer())?,
                over: npz.array(OVER, &shape.by_pixel())?,
            }),
        };
        Ok(Arrays { shape, replicates, diverged, averages, deviations, gaps, sampled })
    }

    /// Returns the cell of a pixel by its index among all.
    fn cell(&self, pixel: usize, replicates: usize, diagram: &Diagram) -> Cell {
        let Shape { optimizers, rows, columns, candidates, .. } = self.shape;
        let pixels = rows * columns;
        let at = |optimizer: usize| optimizer * pixels + pixel;
        let counts = diagram.spec().candidate_counts();
        let per_candidate = |values: &[Vec<f64>; 3]| -> Vec<Vec<[f64; 3]>> {
            let of = |optimizer: usize| {
                (0..counts[optimizer])
                    .map(|candidate| [0, 1, 2].map(|metric| values[metric][at(optimizer) * candidates + candidate]))
                    .collect()
            };
            (0..optimizers).map(of).collect()
        };
        let mut cell = Cell {
            replicates,
            averages: per_candidate(&self.averages),
            deviations: per_candidate(&self.deviations),
            diverged: (0..optimizers).map(|optimizer| self.diverged[at(optimizer)].max(0) as u32).collect(),
            comparisons: [0; 3].map(|_| Comparison { winner: None, gaps: Vec::new(), doubts: Vec::new() }),
            sampled: None,
        };
        cell.comparisons = Metric::ALL.map(|metric| {
            let gap = |optimizer: usize| {
                let at = metric as usize * optimizers * pixels + at(optimizer);
                Gap { value: self.gaps[0][at], error: self.gaps[1][at], freedom: self.gaps[2][at] }
            };
            Comparison { winner: cell.winner(metric), gaps: (0..optimizers).map(gap).collect(), doubts: Vec::new() }
        });
        if let Some(arrays) = &self.sampled {
            let known = |values: &[f64]| -> Vec<f64> {
                let own: Vec<f64> = (0..optimizers).map(|optimizer| values[at(optimizer)]).collect();
                if own.iter().all(|value| value.is_nan()) { Vec::new() } else { own }
            };
            let replicates = (0..optimizers).map(|optimizer| {
                let spent = &arrays.spent[at(optimizer) * candidates..][..counts[optimizer]];
                spent.iter().map(|count| (*count).max(0) as u32).collect()
            });
            let own = &mut cell.comparisons[diagram.spec().metric as usize];
            own.doubts = known(&arrays.doubt);
            own.winner = usize::try_from(arrays.winner[pixel]).ok().filter(|winner| *winner < optimizers);
            let sampled = Sampled {
                replicates: replicates.collect(),
                apart: known(&arrays.apart),
                is_over: arrays.over[pixel] == 1,
                race: None,
            };
            cell.sampled = Some(sampled);
        }
        cell
    }
}
