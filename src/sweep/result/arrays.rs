//! The result of a sweep, and its diagram as the archive `phase.npz`.

use std::io;
use std::io::{BufReader, Read, Seek, Write};
use std::path::Path;
use std::sync::Arc;

use valleyscope_engine::setting::Key;
use valleyscope_engine::shares::Shares;
use valleyscope_engine::sweep::{Cell, Comparison, Diagram, Gap, Metric, Precision, Sampled, SweepSpec};
use valleyscope_experiments::preset::{FormatVersion, Preset, SweepPreset};
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite, write_file};
use valleyscope_runs::plain_file;
use valleyscope_runs::plain_file::Links;

use super::table::write_table;
use crate::export::{ArchiveError, Element, NpzReader, NpzWriter};

/// Arrays of averages and deviations over replicates for each candidate, by the order of [`Metric::ALL`].
const MEANS: [&str; 3] = ["mean", "min_loss_mean", "depth_mean"];
const DEVIATIONS: [&str; 3] = ["std", "min_loss_std", "depth_std"];
/// The winner's gap, its standard error and degrees of freedom.
const GAPS: [&str; 3] = ["gap", "gap_se", "gap_freedom"];
/// The arrays of adaptive sampling.
const CERTAINTY: &str = "certainty";
const SPENT: &str = "spent";
const ERROR_PROBABILITY: &str = "doubt";
const APART: &str = "apart";
const OVER: &str = "over";
const SHARES: &str = "shares";

#[derive(Clone, Debug)]
pub struct SweepResult {
    /// The text in the preset.
    pub title: String,
    /// The text in the preset.
    pub description: String,
    pub diagram: Diagram,
    pub precision: Precision,
}

impl SweepResult {
    pub const SPEC: &'static str = "spec.ron";
    pub const ARRAYS: &'static str = "phase.npz";
    pub const TABLE: &'static str = "phase.csv";

    pub fn of(preset: &SweepPreset, diagram: Diagram, precision: Precision) -> SweepResult {
        SweepResult { title: preset.title.clone(), description: preset.description.clone(), diagram, precision }
    }

    pub fn preset(&self) -> Preset {
        Preset::Sweep(self.sweep_preset())
    }

    /// Makes the preset that repeats the sweep.
    pub fn sweep_preset(&self) -> SweepPreset {
        SweepPreset {
            version: FormatVersion,
            title: self.title.clone(),
            description: self.description.clone(),
            sweep: (**self.diagram.spec()).clone(),
        }
    }

    /// Formats program version, precision and seed, as in `phase.npz`.
    pub fn program(&self) -> String {
        let (version, precision) = (env!("CARGO_PKG_VERSION"), self.precision.name());
        format!("valleyscope {version}, {precision}, seed {}", self.diagram.spec().seed)
    }

    /// Writes `spec.ron`, `phase.csv` and `phase.npz` into a folder that exists, each as a whole or not at all.
    pub fn write(&self, folder: &Path, overwrite: Overwrite) -> io::Result<()> {
        write_file(&folder.join(Self::SPEC), overwrite, self.preset().to_ron().as_bytes())?;
        let mut table = AtomicFile::for_target(&folder.join(Self::TABLE))?;
        write_table(&mut table, &[(None, &self.diagram)])?;
        table.commit(overwrite)?;
        let mut arrays = AtomicFile::for_target(&folder.join(Self::ARRAYS))?;
        self.write_arrays(&mut arrays)?;
        arrays.flush()?;
        arrays.commit(overwrite)
    }

    /// Writes the whole diagram as an NPZ archive, float64 unless noted otherwise. With O optimizers in the spec's
    /// order, R rows, C columns, at most L learning rates, and at most K candidates (learning rates times combinations
    /// of tuned values):
    ///
    /// | array | shape |
    /// | --- | --- |
    /// | `optimizers`, `metrics`: names, text | (O), (3) |
    /// | `rows`, `cols`: values of the axes | (R), (C) |
    /// | `lrs`: learning rates; NaN where they are an axis | (L), or (O, L) padded with NaN where they differ |
    /// | `row_name`, `col_name`, `metric`, `spec` (RON), `program`: text | () |
    /// | `score` by the spec's metric, its `score_std` over replicates | (O, R, C) |
    /// | `best_lr`: index of the score's learning rate, −1 where unknown, int32 | (O, R, C) |
    /// | `min_loss`, `depth`: best over candidates | (O, R, C) |
    /// | `winner`: index by the spec's metric; −1 where there is none, int32 | (R, C) |
    /// | `diverged`: runs that are not finite, int32 | (O, R, C) |
    /// | `replicates` of a pixel, 0 where nothing is known, int32 | (R, C) |
    /// | `mean`, `min_loss_mean`, `depth_mean`: the metrics, averaged over replicates as the spec says | (O, R, C, K) |
    /// | `std`, `min_loss_std`, `depth_std`: the metrics' deviations over replicates | (O, R, C, K) |
    /// | `gap` between the winner by each of the metrics and each optimizer | (3, O, R, C) |
    /// | `gap_se`, `gap_freedom`: the gap's standard error and degrees of freedom | (3, O, R, C) |
    ///
    /// Tuned settings, P in all, add these arrays. Candidate k of an optimizer has the learning rate with the index k
    /// modulo their number; settings that an optimizer does not tune are NaN:
    ///
    /// | array | shape |
    /// | --- | --- |
    /// | `tuned`: names of the settings, text | (P) |
    /// | `candidates`: values of the settings | (O, K, P) |
    /// | `best`: values of the score's candidate | (O, R, C, P) |
    ///
    /// Adaptive sampling adds these arrays:
    ///
    /// | array | shape |
    /// | --- | --- |
    /// | `certainty` of the winner | (R, C) |
    /// | `spent`: replicates of each candidate, −1 beyond an optimizer's last, int32 | (O, R, C, K) |
    /// | `error_probability`: bound of the probability of so much evidence against an optimizer if it were the best | (O, R, C) |
    /// | `apart`: bound of the distance between its score and the winner's | (O, R, C) |
    /// | `over`: 1 where the pixel is decided or its budget used up, int32 | (R, C) |
    ///
    /// A measured sweep adds `shares`: signal, noise and oscillation of Adam's gradients, (R, C, 3).
    ///
    /// Unknown values are NaN. Deviations are population standard deviations.
    pub fn write_arrays(&self, mut writer: impl Write + Seek) -> io::Result<()> {
        let (diagram, spec) = (&self.diagram, self.diagram.spec());
        let mut arrays = ArrayWriter { npz: NpzWriter::new(&mut writer), diagram, shape: Shape::of(diagram) };
        let labels: Vec<&str> = spec.optimizers.iter().map(|optimizer| optimizer.label()).collect();
        arrays.npz.texts("optimizers", &labels)?;
        arrays.npz.texts("metrics", &Metric::ALL.map(Metric::name))?;
        arrays.npz.array("rows", &arrays.shape.by_pixel[..1], diagram.rows().iter().copied())?;
        arrays.npz.array("cols", &arrays.shape.by_pixel[1..], diagram.columns().iter().copied())?;
        arrays.learning_rates()?;
        arrays.npz.text("row_name", spec.rows.of.key())?;
        arrays.npz.text("col_name", spec.columns.of.key())?;
        arrays.npz.text("metric", spec.metric.name())?;
        arrays.npz.text("spec", &self.preset().to_ron())?;
        arrays.npz.text("program", &self.program())?;
        arrays.scores()?;
        if !spec.tuned_settings().is_empty() {
            arrays.tuned()?;
        }
        if !spec.sampling.is_uniform() {
            arrays.sampled()?;
        }
        if diagram.has_shares() {
            let shares = spec.pixels().flat_map(|pixel| diagram.shares(pixel).unwrap_or(Shares::UNKNOWN).to_array());
            arrays.npz.array(SHARES, &arrays.shape.by_share, shares)?;
        }
        arrays.npz.finish()
    }
}

/// The shapes of the arrays.
#[derive(Clone, Copy)]
struct Shape {
    by_pixel: [usize; 2],
    by_optimizer: [usize; 3],
    by_candidate: [usize; 4],
    by_metric: [usize; 4],
    by_share: [usize; 3],
    /// The largest number of candidates of an optimizer.
    candidates: usize,
    /// The largest number of learning rates of an optimizer.
    rates: usize,
}

impl Shape {
    fn of(diagram: &Diagram) -> Shape {
        let (spec, [rows, columns]) = (diagram.spec(), diagram.spec().shape());
        let optimizers = spec.optimizers.len();
        let candidates = spec.candidate_counts().into_iter().max().unwrap_or(1);
        Shape {
            by_pixel: [rows, columns],
            by_optimizer: [optimizers, rows, columns],
            by_candidate: [optimizers, rows, columns, candidates],
            by_metric: [Metric::ALL.len(), optimizers, rows, columns],
            by_share: [rows, columns, 3],
            candidates,
            rates: diagram.learning_rates().iter().map(Vec::len).max().unwrap_or(0).max(1),
        }
    }
}

fn optimizers_and_pixels(spec: &SweepSpec) -> impl Iterator<Item = (usize, [usize; 2])> {
    (0..spec.optimizers.len()).flat_map(|optimizer| spec.pixels().map(move |pixel| (optimizer, pixel)))
}

/// A writer of a diagram's arrays.
struct ArrayWriter<'a, W: Write + Seek> {
    npz: NpzWriter<'a, W>,
    diagram: &'a Diagram,
    shape: Shape,
}

impl<W: Write + Seek> ArrayWriter<'_, W> {
    /// Writes a value of each pixel, which is `unknown` where there is none.
    fn by_pixel<E: Element>(&mut self, name: &str, unknown: E, of: impl Fn(&Cell) -> Option<E>) -> io::Result<()> {
        let cells = self.diagram.spec().pixels().map(|pixel| self.diagram.cell(pixel));
        let values = cells.map(|cell| cell.and_then(|cell| of(cell)).unwrap_or(unknown));
        self.npz.array(name, &self.shape.by_pixel, values)
    }

    /// Writes a value of each optimizer at each pixel; with a `depth`, so many, such as one of each candidate.
    fn by_optimizer<E: Element>(
        &mut self,
        (name, depth): (&str, &[usize]),
        unknown: E,
        of: impl Fn(&Cell, usize, usize) -> Option<E>,
    ) -> io::Result<()> {
        let (of, count) = (&of, depth.iter().product::<usize>());
        let values = optimizers_and_pixels(self.diagram.spec()).flat_map(|(optimizer, pixel)| {
            let cell = self.diagram.cell(pixel);
            (0..count).map(move |index| cell.and_then(|cell| of(cell, optimizer, index)).unwrap_or(unknown))
        });
        self.npz.array(name, &[&self.shape.by_optimizer[..], depth].concat(), values)
    }

    fn learning_rates(&mut self) -> io::Result<()> {
        let (all, count) = (self.diagram.learning_rates(), self.shape.rates);
        let padded = |rates: &Vec<f64>| -> Vec<f64> {
            (0..count).map(|index| rates.get(index).copied().unwrap_or(f64::NAN)).collect()
        };
        match all.iter().all(|rates| rates == &all[0]) {
            true => self.npz.array("lrs", &[count], padded(&all[0])),
            false => self.npz.array("lrs", &[all.len(), count], all.iter().flat_map(padded)),
        }
    }

    fn scores(&mut self) -> io::Result<()> {
        let (diagram, own) = (self.diagram, self.diagram.spec().metric);
        let best = |cell: &Cell, optimizer| diagram.rate_of(optimizer, cell.score(optimizer, own).best);
        let score = |metric| move |cell: &Cell, optimizer, _| Some(cell.score(optimizer, metric).value);
        self.by_optimizer(("score", &[]), f64::NAN, score(own))?;
        self.by_optimizer(("best_lr", &[]), -1, |cell, optimizer, _| Some(as_i32(best(cell, optimizer))))?;
        self.by_optimizer(("score_std", &[]), f64::NAN, |cell, index, _| Some(cell.score_deviation(index, own)))?;
        self.by_optimizer(("min_loss", &[]), f64::NAN, score(Metric::SmallestLoss))?;
        self.by_optimizer(("depth", &[]), f64::NAN, score(Metric::Depth))?;
        self.by_pixel("winner", -1, |cell| cell.comparison(own).winner.map(as_i32))?;
        self.by_optimizer(("diverged", &[]), 0, |cell, optimizer, _| Some(as_i32(cell.diverged[optimizer] as usize)))?;
        self.by_pixel("replicates", 0, |cell| Some(as_i32(cell.replicates)))?;
        let candidates = [self.shape.candidates];
        for at in Metric::ALL.map(|metric| metric as usize) {
            let of = |of: fn(&Cell) -> &Vec<Vec<[f64; 3]>>| {
                move |cell: &Cell, optimizer: usize, candidate: usize| Some(of(cell)[optimizer].get(candidate)?[at])
            };
            self.by_optimizer((MEANS[at], &candidates), f64::NAN, of(|cell| &cell.averages))?;
            self.by_optimizer((DEVIATIONS[at], &candidates), f64::NAN, of(|cell| &cell.deviations))?;
        }
        for (part, name) in GAPS.into_iter().enumerate() {
            let gaps = Metric::ALL.into_iter().flat_map(|metric| {
                optimizers_and_pixels(diagram.spec()).map(move |(optimizer, pixel)| {
                    let gap = diagram.cell(pixel).map(|cell| cell.comparison(metric).gaps[optimizer]);
                    gap.map_or(f64::NAN, |gap| [gap.value, gap.error, gap.freedom][part])
                })
            });
            self.npz.array(name, &self.shape.by_metric, gaps)?;
        }
        Ok(())
    }

    fn tuned(&mut self) -> io::Result<()> {
        let (diagram, spec, settings) = (self.diagram, self.diagram.spec(), self.diagram.spec().tuned_settings());
        self.npz.texts("tuned", &settings)?;
        let counts = spec.candidate_counts();
        let value = |optimizer: usize, candidate: usize, setting: Key| {
            let tuned = spec.optimizers[optimizer].tuned(setting).filter(|_| candidate < counts[optimizer]);
            tuned.map_or(f64::NAN, |tuned| diagram.tuned_value(optimizer, tuned, candidate))
        };
        let mut of_candidates = Vec::new();
        for optimizer in 0..counts.len() {
            for candidate in 0..self.shape.candidates {
                of_candidates.extend(settings.iter().map(|setting| value(optimizer, candidate, setting)));
            }
        }
        self.npz.array("candidates", &[counts.len(), self.shape.candidates, settings.len()], of_candidates)?;
        self.by_optimizer(("best", &[settings.len()]), f64::NAN, |cell, optimizer, setting| {
            let score = cell.score(optimizer, spec.metric);
            score.value.is_finite().then(|| value(optimizer, score.best, settings[setting]))
        })
    }

    fn sampled(&mut self) -> io::Result<()> {
        let metric = self.diagram.spec().metric;
        self.by_pixel(CERTAINTY, f64::NAN, |cell| cell.comparison(metric).certainty())?;
        self.by_optimizer((SPENT, &[self.shape.candidates]), -1, |cell, optimizer, candidate| {
            cell.sampled.as_ref()?.replicates[optimizer].get(candidate).map(|count| as_i32(*count as usize))
        })?;
        let probability = |cell: &Cell, index| cell.comparison(metric).error_probabilities.get(index).copied();
        self.by_optimizer((ERROR_PROBABILITY, &[]), f64::NAN, |cell, index, _| probability(cell, index))?;
        self.by_optimizer((APART, &[]), f64::NAN, |cell, index, _| cell.sampled.as_ref()?.apart.get(index).copied())?;
        self.by_pixel(OVER, 0, |cell| Some(i32::from(cell.sampled.as_ref()?.is_over)))
    }
}

/// Converts a number of runs or replicates, which fits for a checked spec.
fn as_i32(number: usize) -> i32 {
    i32::try_from(number).expect("numbers of a checked spec fit")
}

/// The reason why results cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ResultError(String);

impl SweepResult {
    /// Whether a path has the form of a result rather than a preset: a folder, or a file that ends in `.npz`.
    pub fn is_at(path: &Path) -> bool {
        path.is_dir() || path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npz"))
    }

    /// Opens `phase.npz`, or the folder that holds it.
    pub fn open(path: &Path) -> Result<SweepResult, ResultError> {
        let mut file = path.to_owned();
        if path.is_dir() {
            file.push(Self::ARRAYS);
            if !file.exists() {
                let folder = path.display();
                let reason = format!("{folder} is no folder of a sweep's results: it has no {}", Self::ARRAYS);
                return Err(ResultError(reason));
            }
        }
        let reader = plain_file::open(&file, Links::Followed)
            .map_err(|source| ResultError(format!("cannot read {}: {source}", file.display())))?;
        Self::read_arrays(BufReader::new(reader), &file.display().to_string())
    }

    /// Reads an archive that [`SweepResult::write_arrays`] has written; written again, it has the same bytes. Errors
    /// name `origin`, usually a file, as their source.
    pub fn read_arrays(reader: impl Read + Seek, origin: &str) -> Result<SweepResult, ResultError> {
        let in_archive = |source: ArchiveError| {
            ResultError(format!(
                "cannot open {origin} as the results of a sweep (`{}`): {source}; repeat the sweep, or take another copy",
                Self::ARRAYS
            ))
        };
        let contradiction = |expected: &str, found: String| {
            ResultError(format!("{origin} contradicts itself: expected {expected}, found {found}"))
        };
        let mut npz = NpzReader::new(reader).map_err(in_archive)?;
        let spec = npz.text("spec").map_err(in_archive)?;
        let preset = Preset::parse(&spec, &format!("spec of {origin}"))
            .map_err(|source| ResultError(format!("the spec in {origin} is invalid: {source}")))?;
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
        for (index, pixel) in diagram.spec().pixels().enumerate() {
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
        if npz.names().any(|name| name == SHARES) {
            let shares: Vec<f64> = npz.array(SHARES, &arrays.shape.by_share).map_err(in_archive)?;
            diagram.set_shares(shares.as_chunks().0.iter().copied().map(Shares::from_array).collect());
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

struct SampledArrays {
    winner: Vec<i32>,
    spent: Vec<i32>,
    error_probability: Vec<f64>,
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
        let averages = three(MEANS, &shape.by_candidate)?;
        let deviations = three(DEVIATIONS, &shape.by_candidate)?;
        let gaps = three(GAPS, &shape.by_metric)?;
        let replicates = npz.array("replicates", &shape.by_pixel)?;
        let diverged = npz.array("diverged", &shape.by_optimizer)?;
        let sampled = match diagram.spec().sampling.is_uniform() {
            true => None,
            false => Some(SampledArrays {
                winner: npz.array("winner", &shape.by_pixel)?,
                spent: npz.array(SPENT, &shape.by_candidate)?,
                error_probability: npz.array(ERROR_PROBABILITY, &shape.by_optimizer)?,
                apart: npz.array(APART, &shape.by_optimizer)?,
                over: npz.array(OVER, &shape.by_pixel)?,
            }),
        };
        Ok(Arrays { shape, replicates, diverged, averages, deviations, gaps, sampled })
    }

    fn cell(&self, pixel: usize, replicates: usize, diagram: &Diagram) -> Cell {
        let Shape { by_optimizer: [optimizers, rows, columns], candidates, .. } = self.shape;
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
            comparisons: [0; 3].map(|_| Comparison { winner: None, gaps: Vec::new(), error_probabilities: Vec::new() }),
            sampled: None,
        };
        cell.comparisons = Metric::ALL.map(|metric| {
            let gap = |optimizer: usize| {
                let at = metric as usize * optimizers * pixels + at(optimizer);
                Gap { value: self.gaps[0][at], error: self.gaps[1][at], freedom: self.gaps[2][at] }
            };
            Comparison {
                winner: cell.winner(metric),
                gaps: (0..optimizers).map(gap).collect(),
                error_probabilities: Vec::new(),
            }
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
            own.error_probabilities = known(&arrays.error_probability);
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
