//! The result of a scan over batch sizes and learning rates (the paper's Fig. 2c and d).
//!
//! The score of an optimizer with a batch size is the smallest over learning rates of the mean over replicates of
//! the last test loss L, where a loss that is not finite counts as [`NOT_FINITE`] before averaging. Signum is compared
//! with Adam by I = (L_Adam − L_Signum)/L_Adam.
//!
//! A [`ScanResult`] is read from the folder of a run, whether the run continues or has ended, and written as a table of
//! scores or as an archive of all numbers. Nothing in these files depends on the time or the machine.

use std::collections::BTreeMap;
use std::io;
use std::io::{Seek, Write};
use std::path::PathBuf;

use valleyscope_engine::optimizer::{Marker, MarkerShape, RuleKind, markers};
use valleyscope_engine::quantity::LearningRate;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::view::ticks::RangeEdge;
use valleyscope_experiments::view::{OwnColors, assigned_colors};
use valleyscope_experiments::workload::{LARGEST_STACK, MOST_SCANNED, Workload, without_folder};
use valleyscope_runs::{GridPoint, RunFolder, RunHistory, RunReader, ScanAxes, Started};

use crate::export::{CsvCell, CsvWriter, NpzWriter};

/// The result of a scan so far.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanResult {
    pub title: String,
    pub axes: ScanAxes,
    /// Red, green and blue of each optimizer.
    pub colors: Vec<[u8; 3]>,
    /// The mark of each optimizer.
    pub markers: Vec<Marker>,
    optimizers: Vec<Scanned>,
    pub scores: ScanScores,
    /// The preset that repeats the scan; empty if it cannot be read.
    pub spec: String,
    /// A description of the training data.
    pub data: String,
    /// Whether the data are synthetic instead of real ones.
    pub is_synthetic: bool,
    seed: Option<u64>,
    precision: String,
    version: String,
    /// The grid points by optimizer (outer) and batch size, with no more values than the axes allow.
    points: Vec<Option<GridPoint>>,
}

/// The reason why a run has no result of a scan.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("the run has not begun yet")]
    NotBegun,
    #[error("expected a scan over batch sizes, found a run of the kind `{found}`")]
    Other { found: String },
    #[error("the axes of the scan cannot be used: {0}")]
    Axes(String),
    #[error("no grid point of the scan is complete yet; the first is complete when an optimizer finishes a batch size")]
    Empty,
}

impl ScanResult {
    pub const ARRAYS: &'static str = "scan.npz";
    pub const TABLE: &'static str = "scan.csv";

    /// Reads the result of the scan in a folder, of which at least one grid point is complete.
    pub fn open(run: &RunFolder) -> Result<ScanResult, ScanError> {
        let mut reader = RunReader::new(run.clone());
        reader.poll().map_err(|source| ScanError::Read { path: run.events(), source })?;
        ScanResult::of(reader.history(), &config(run))?.complete_in_part()
    }

    /// Accepts the result if at least one grid point is complete.
    pub fn complete_in_part(self) -> Result<ScanResult, ScanError> {
        if self.known() == 0 { Err(ScanError::Empty) } else { Ok(self) }
    }

    /// Reads the result in the events of a run, even before the first grid point is complete. `config` is the text of
    /// the run's `config.ron`, as far as it can be read.
    pub fn of(history: &RunHistory, config: &str) -> Result<ScanResult, ScanError> {
        let started = history.started().ok_or(ScanError::NotBegun)?;
        let Some(axes) = started.scan.clone() else {
            return Err(ScanError::Other { found: started.kind.clone() });
        };
        check(&axes)?;
        let mut points = vec![None; axes.optimizers.len() * axes.batch_sizes.len()];
        for point in history.grid_points() {
            if let Some(index) = index(&axes, point.index) {
                points[index] = Some(fitted(&axes, point));
            }
        }
        let Started { title, seed, precision, version, .. } = started.clone();
        let optimizers = scanned(&axes, config);
        Ok(ScanResult {
            title,
            colors: assigned_colors(optimizers.iter().map(|optimizer| optimizer.own_colors)),
            markers: markers(optimizers.iter().map(|optimizer| optimizer.marker)),
            optimizers,
            scores: ScanScores::of(&axes, points.iter().flatten()),
            spec: config.to_owned(),
            data: without_folder(&started.data).to_owned(),
            is_synthetic: started.synthetic,
            seed,
            precision,
            version,
            points,
            axes,
        })
    }

    /// Replaces the preset's colours by those that were chosen for optimizers, by their names.
    pub fn recolored(&self, chosen: &BTreeMap<String, [u8; 3]>) -> ScanResult {
        let own = self.axes.optimizers.iter().zip(&self.optimizers).map(|(name, optimizer)| {
            let (color, of_rule) = optimizer.own_colors;
            (chosen.get(name).copied().or(color), of_rule)
        });
        ScanResult { colors: assigned_colors(own), ..self.clone() }
    }

    /// Finds an optimizer with a rule: the one of the rule's name, or else the first.
    pub fn index_of(&self, rule: RuleKind) -> Option<usize> {
        let of_rule = || (0..self.optimizers.len()).filter(|&index| self.optimizers[index].rule == Some(rule));
        of_rule().find(|&index| self.axes.optimizers[index] == rule.info().name).or_else(|| of_rule().next())
    }

    /// Finds the two optimizers that the paper compares.
    pub fn adam_and_signum(&self) -> Option<[usize; 2]> {
        Some([self.index_of(RuleKind::Adam)?, self.index_of(RuleKind::Signum)?])
    }

    /// Finds the end of the learning rates at which an optimizer's best one with a batch size lies; `None` if it lies
    /// between others, and if all trainings diverged.
    pub fn edge(&self, optimizer: usize, batch_size: usize) -> Option<RangeEdge> {
        let score = self.scores.get(optimizer, batch_size).filter(|score| score.mean < NOT_FINITE)?;
        let rates = &self.axes.learning_rates;
        let edge = RangeEdge::of(*rates.get(score.learning_rate)?, rates.iter().copied())?;
        edge.unless_limit([LearningRate::RANGE.min, LearningRate::RANGE.max])
    }

    /// Lists the ends at which best learning rates lie, each with its optimizers and batch sizes.
    pub fn edges(&self) -> Vec<(RangeEdge, String)> {
        let mut edges: Vec<(RangeEdge, Vec<String>)> = Vec::new();
        for (optimizer, name) in self.axes.optimizers.iter().enumerate() {
            let sizes = self.axes.batch_sizes.iter().enumerate();
            let at = sizes.filter_map(|(index, size)| Some((self.edge(optimizer, index)?, *size)));
            let mut at: Vec<(RangeEdge, u64)> = at.collect();
            at.sort_by_key(|(edge, size)| (edge.is_low(), *size));
            for own in at.chunk_by(|a, b| a.0 == b.0) {
                let sizes = own.iter().map(|(_, size)| size.to_string()).collect::<Vec<_>>().join(", ");
                let of = format!("{name} with batches of {sizes}");
                match edges.iter_mut().find(|(edge, _)| *edge == own[0].0) {
                    Some((_, all)) => all.push(of),
                    None => edges.push((own[0].0, vec![of])),
                }
            }
        }
        edges.into_iter().map(|(edge, of)| (edge, of.join("; "))).collect()
    }

    /// Advises for each end at which best learning rates lie how a repeated scan widens them.
    pub fn edge_notes(&self) -> Vec<String> {
        let note = |(edge, of): (RangeEdge, String)| {
            let (sentence, field) = (edge.sentence("the learning rates"), if edge.is_low() { "from" } else { "to" });
            format!("best learning rate {sentence} by `--set learning_rates.{field}=VALUE` ({of})")
        };
        self.edges().into_iter().map(note).collect()
    }

    pub fn known(&self) -> usize {
        self.points.iter().flatten().count()
    }

    /// Formats program version, precision and seed, as in `scan.npz`.
    pub fn program(&self) -> String {
        let version = format!("valleyscope {}", self.version);
        let seed = self.seed.map_or_else(String::new, |seed| format!("seed {seed}"));
        let parts = [version.trim_end(), &self.precision, &seed];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }

    fn point(&self, optimizer: usize, batch_size: usize) -> Option<&GridPoint> {
        self.points[index(&self.axes, [optimizer, batch_size])?].as_ref()
    }
}

/// Reads the text of a run's `config.ron`; empty if it cannot be read.
pub fn config(run: &RunFolder) -> String {
    run.config_text().unwrap_or_default()
}

fn index(axes: &ScanAxes, [optimizer, batch_size]: [usize; 2]) -> Option<usize> {
    let inside = optimizer < axes.optimizers.len() && batch_size < axes.batch_sizes.len();
    inside.then(|| optimizer * axes.batch_sizes.len() + batch_size)
}

/// Checks the axes, as the file of events is untrusted.
fn check(axes: &ScanAxes) -> Result<(), ScanError> {
    const LARGEST_BATCH: u64 = 1 << 40;
    if let Some(size) = axes.batch_sizes.iter().find(|size| !(1..=LARGEST_BATCH).contains(*size)) {
        return Err(ScanError::Axes(format!("expected batch sizes from 1 to {LARGEST_BATCH}, found {size}")));
    }
    for (found, of) in [(axes.optimizers.len(), "optimizers"), (axes.batch_sizes.len(), "batch sizes")] {
        if found > MOST_SCANNED {
            return Err(ScanError::Axes(format!("expected at most {MOST_SCANNED} {of}, found {found}")));
        }
    }
    let most = LARGEST_STACK as u64;
    let (rates, replicates) = (axes.learning_rates.len() as u64, axes.replicates);
    if rates.saturating_mul(replicates) > most {
        return Err(ScanError::Axes(format!(
            "expected at most {most} trainings of a grid point, found {rates} learning rates with {replicates} replicates"
        )));
    }
    Ok(())
}

fn fitted(axes: &ScanAxes, point: &GridPoint) -> GridPoint {
    let mut point = point.clone();
    for grid in [&mut point.train_loss, &mut point.test_loss, &mut point.test_accuracy] {
        grid.truncate(axes.learning_rates.len());
        for replicates in grid {
            replicates.truncate(axes.replicates as usize);
        }
    }
    point
}

#[derive(Clone, Debug, PartialEq)]
struct Scanned {
    /// The rule, if it is known.
    rule: Option<RuleKind>,
    /// The colours before the optimizers are shown together: that in the preset, and that of the rule.
    own_colors: OwnColors,
    marker: Marker,
}

/// Lists the optimizers of a scan from its config. If that cannot be read, or has other names, an optimizer named like
/// a rule has that rule.
fn scanned(axes: &ScanAxes, config: &str) -> Vec<Scanned> {
    let preset = Preset::parse(config, RunFolder::CONFIG).ok();
    let given = preset.as_ref().and_then(Preset::workload).map_or(&[][..], Workload::scanned);
    let known = |(index, name): (usize, &String)| {
        let given = given.get(index).filter(|optimizer| optimizer.label() == name);
        let rule = given.map(|optimizer| optimizer.rule.kind()).or_else(|| RuleKind::shown_as(name));
        Scanned {
            rule,
            own_colors: (given.and_then(|optimizer| optimizer.color), rule.map_or([150; 3], |rule| rule.info().color)),
            marker: rule.map_or(Marker::filled(MarkerShape::Star), |rule| rule.info().marker),
        }
    };
    axes.optimizers.iter().enumerate().map(known).collect()
}

/// The loss that NaN and infinite losses count as.
pub const NOT_FINITE: f64 = 100.0;
/// An improvement closer to 0 than this counts as none, as a fraction.
pub const NEGLIGIBLE: f64 = 0.05;

/// The score of an optimizer with one batch size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScanScore {
    /// The mean over replicates of the last test loss.
    pub mean: f64,
    /// The sample standard deviation over replicates (n − 1); NaN where there is only one.
    pub deviation: f64,
    /// The index of the best learning rate.
    pub learning_rate: usize,
    pub replicates: usize,
}

impl ScanScore {
    /// Computes the score from the test losses for each learning rate (outer) and replicate (inner); `None` without
    /// losses.
    pub fn of(test_loss: &[Vec<f64>]) -> Option<ScanScore> {
        let scores = test_loss.iter().enumerate().filter(|(_, losses)| !losses.is_empty());
        let scores = scores.map(|(learning_rate, losses)| {
            let losses: Vec<f64> = losses.iter().map(|&loss| counted(loss)).collect();
            let (mean, deviation) = mean_and_deviation(&losses);
            ScanScore { mean, deviation, learning_rate, replicates: losses.len() }
        });
        // The first of equal scores has the smallest learning rate.
        scores.min_by(|a, b| a.mean.total_cmp(&b.mean))
    }
}

/// The value of a loss in an average.
pub fn counted(loss: f64) -> f64 {
    if loss.is_finite() { loss } else { NOT_FINITE }
}

/// Computes the mean, and the sample deviation with n − 1, which is NaN for a single value.
fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = if values.len() < 2 { f64::NAN } else { (squares / (count - 1.0)).sqrt() };
    (mean, deviation)
}

/// The improvement of another optimizer's loss on Adam's, as a fraction of Adam's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Improvement {
    /// The improvement (A − B)/A, as a fraction.
    pub value: f64,
    /// The error √[ (B²/A⁴) σ_A² + (1/A²) σ_B² ].
    pub error: f64,
}

impl Improvement {
    /// Computes the improvement of an optimizer with the loss B on Adam with the loss A.
    pub fn of(adam: ScanScore, other: ScanScore) -> Improvement {
        let (a, b) = (adam.mean, other.mean);
        let by_adam = b / (a * a) * adam.deviation;
        let by_other = other.deviation / a;
        Improvement { value: (a - b) / a, error: by_adam.hypot(by_other) }
    }
}

/// The known scores of a scan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScanScores {
    /// The scores by optimizer (outer) and batch size (inner).
    scores: Vec<Vec<Option<ScanScore>>>,
}

impl ScanScores {
    pub fn of<'p>(axes: &ScanAxes, points: impl IntoIterator<Item = &'p GridPoint>) -> ScanScores {
        let mut scores = vec![vec![None; axes.batch_sizes.len()]; axes.optimizers.len()];
        for point in points {
            let [optimizer, batch_size] = point.index;
            if let Some(score) = scores.get_mut(optimizer).and_then(|row| row.get_mut(batch_size)) {
                *score = ScanScore::of(&point.test_loss);
            }
        }
        ScanScores { scores }
    }

    /// The score of an optimizer with a batch size, by their indices in the axes.
    pub fn get(&self, optimizer: usize, batch_size: usize) -> Option<ScanScore> {
        *self.scores.get(optimizer)?.get(batch_size)?
    }

    /// The known scores of an optimizer, one for each batch size.
    pub fn optimizer(&self, optimizer: usize) -> &[Option<ScanScore>] {
        self.scores.get(optimizer).map_or(&[], Vec::as_slice)
    }

    /// The improvement of an optimizer on Adam, for each batch size where both are known.
    pub fn improvements(&self, adam: usize, other: usize) -> Vec<Option<Improvement>> {
        let pairs = self.optimizer(adam).iter().zip(self.optimizer(other));
        pairs.map(|(adam, other)| Some(Improvement::of((*adam)?, (*other)?))).collect()
    }
}

impl ScanResult {
    /// Writes the whole scan as an NPZ archive, float64 unless noted otherwise. With O optimizers in the spec's order,
    /// B batch sizes, L learning rates and R replicates:
    ///
    /// | array | shape |
    /// | --- | --- |
    /// | `optimizers`: names, text | (O) |
    /// | `batch_sizes`, int64; `learning_rates` | (B), (L) |
    /// | `replicates`, `steps` of each training, int64; `seed`, uint64, where it is known | () |
    /// | `spec` (RON), `program`, `data`: text | () |
    /// | `train_loss` of the last batch | (O, B, L, R) |
    /// | `test_loss` and `test_accuracy`, a fraction, after the last step | (O, B, L, R) |
    /// | `score`: smallest over learning rates of the mean over replicates of `test_loss` | (O, B) |
    /// | `score_std`: the score's deviation over replicates | (O, B) |
    /// | `best_lr`: index of the score's learning rate, −1 where unknown, int32 | (O, B) |
    /// | `improvement` on Adam, as a fraction of Adam's score, and `improvement_error` | (O, B) |
    ///
    /// Unknown values are NaN. Deviations are sample standard deviations, with n − 1. In scores, a loss that is not
    /// finite counts as [`NOT_FINITE`].
    pub fn write_arrays(&self, mut writer: impl Write + Seek) -> io::Result<()> {
        let axes = &self.axes;
        let mut npz = NpzWriter::new(&mut writer);
        npz.texts("optimizers", &axes.optimizers)?;
        npz.array("batch_sizes", &[axes.batch_sizes.len()], axes.batch_sizes.iter().map(|&size| as_i64(size)))?;
        npz.array("learning_rates", &[axes.learning_rates.len()], axes.learning_rates.iter().copied())?;
        npz.array("replicates", &[], [as_i64(axes.replicates)])?;
        npz.array("steps", &[], [as_i64(axes.steps)])?;
        if let Some(seed) = self.seed {
            npz.array("seed", &[], [seed])?;
        }
        npz.text("spec", &self.spec)?;
        npz.text("program", &self.program())?;
        npz.text("data", &self.data)?;
        self.write_trainings(&mut npz, "train_loss", |point| &point.train_loss)?;
        self.write_trainings(&mut npz, "test_loss", |point| &point.test_loss)?;
        self.write_trainings(&mut npz, "test_accuracy", |point| &point.test_accuracy)?;
        self.write_scores(&mut npz)?;
        npz.finish()
    }

    fn write_trainings<W: Write + Seek>(
        &self,
        npz: &mut NpzWriter<'_, W>,
        name: &str,
        grid: fn(&GridPoint) -> &Vec<Vec<f64>>,
    ) -> io::Result<()> {
        let (rates, replicates) = (self.axes.learning_rates.len(), self.axes.replicates as usize);
        let shape = [self.axes.optimizers.len(), self.axes.batch_sizes.len(), rates, replicates];
        let values = self.cells().flat_map(|[optimizer, size]| {
            let grid = self.point(optimizer, size).map(grid);
            let value = move |rate: usize, replicate: usize| grid?.get(rate)?.get(replicate).copied();
            let trainings = (0..rates).flat_map(move |rate| (0..replicates).map(move |replicate| (rate, replicate)));
            trainings.map(move |(rate, replicate)| value(rate, replicate).unwrap_or(f64::NAN))
        });
        npz.array(name, &shape, values)
    }

    fn write_scores<W: Write + Seek>(&self, npz: &mut NpzWriter<'_, W>) -> io::Result<()> {
        let shape = [self.axes.optimizers.len(), self.axes.batch_sizes.len()];
        let of_score = |of: fn(ScanScore) -> f64| {
            self.cells().map(move |[optimizer, size]| self.scores.get(optimizer, size).map_or(f64::NAN, of))
        };
        npz.array("score", &shape, of_score(|score| score.mean))?;
        npz.array("score_std", &shape, of_score(|score| score.deviation))?;
        let best = self.cells().map(|[optimizer, size]| {
            let score = self.scores.get(optimizer, size);
            score.map_or(-1, |score| i32::try_from(score.learning_rate).expect("axes are checked"))
        });
        npz.array("best_lr", &shape, best)?;
        let improvements = self.improvements();
        let of = |of: fn(&Improvement) -> f64| improvements.iter().map(move |it| it.as_ref().map_or(f64::NAN, of));
        npz.array("improvement", &shape, of(|it| it.value))?;
        npz.array("improvement_error", &shape, of(|it| it.error))
    }

    /// Writes the scores as CSV, a row for each optimizer and batch size; returns the number of rows.
    ///
    /// Columns are `optimizer`; `batch_size`; `score`, the smallest over learning rates of the mean over replicates of
    /// the test loss after the last step; `std`, its sample standard deviation over replicates; `best_lr`, the learning
    /// rate itself; `replicates`; `improvement` on Adam, as a fraction of Adam's score, and `improvement_error`;
    /// `best_lr_edge`, `lowest` or `highest` where the best learning rate is at an end of those tried. Unknown values
    /// are NaN, or empty for a count. Adam itself has no improvement.
    pub fn write_table(&self, writer: impl Write) -> io::Result<u64> {
        let known = ["optimizer", "batch_size", "score", "std", "best_lr", "replicates"];
        let header = [&known[..], &["improvement", "improvement_error", "best_lr_edge"]].concat();
        let mut table = CsvWriter::new(writer, &header)?;
        let mut rows = 0;
        for ([optimizer, size], improvement) in self.cells().zip(self.improvements()) {
            let score = self.scores.get(optimizer, size);
            let number = |of: Option<f64>| CsvCell::Number(of.unwrap_or(f64::NAN));
            table.row(&[
                CsvCell::Text(&self.axes.optimizers[optimizer]),
                CsvCell::Whole(self.axes.batch_sizes[size]),
                number(score.map(|score| score.mean)),
                number(score.map(|score| score.deviation)),
                number(score.map(|score| self.axes.learning_rates[score.learning_rate])),
                score.map_or(CsvCell::Text(""), |score| CsvCell::Whole(score.replicates as u64)),
                number(improvement.map(|it| it.value)),
                number(improvement.map(|it| it.error)),
                CsvCell::Text(match self.edge(optimizer, size) {
                    Some(edge) if edge.is_low() => "lowest",
                    Some(_) => "highest",
                    None => "",
                }),
            ])?;
            rows += 1;
        }
        table.into_inner().flush()?;
        Ok(rows)
    }

    /// Lists the pairs of an optimizer and a batch size, in the order of the arrays.
    fn cells(&self) -> impl Iterator<Item = [usize; 2]> {
        let sizes = self.axes.batch_sizes.len();
        (0..self.axes.optimizers.len()).flat_map(move |optimizer| (0..sizes).map(move |size| [optimizer, size]))
    }

    /// Lists the improvements of each other optimizer on Adam, with each batch size.
    fn improvements(&self) -> Vec<Option<Improvement>> {
        let adam = self.index_of(RuleKind::Adam);
        let of = |optimizer| match adam.filter(|adam| *adam != optimizer) {
            Some(adam) => self.scores.improvements(adam, optimizer),
            None => vec![None; self.axes.batch_sizes.len()],
        };
        (0..self.axes.optimizers.len()).flat_map(of).collect()
    }
}

/// Converts a count. Batch sizes and replicates of checked axes fit, as do possible numbers of steps.
fn as_i64(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
