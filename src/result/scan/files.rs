//! Writing a scan to `scan.npz` and `scan.csv`.

use std::io::{self, Seek, Write};

use valleyscope_engine::optimizer::RuleKind;
use valleyscope_runs::GridPoint;

use super::{Improvement, ScanResult, ScanScore};
use crate::export::{CsvCell, CsvWriter, NpzWriter};

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
    /// finite counts as [`super::NOT_FINITE`].
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
        let values = self.places().flat_map(|[optimizer, size]| {
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
            self.places().map(move |[optimizer, size]| self.scores.get(optimizer, size).map_or(f64::NAN, of))
        };
        npz.array("score", &shape, of_score(|score| score.mean))?;
        npz.array("score_std", &shape, of_score(|score| score.deviation))?;
        let best = self.places().map(|[optimizer, size]| {
            let score = self.scores.get(optimizer, size);
            score.map_or(-1, |score| i32::try_from(score.learning_rate).expect("axes are checked"))
        });
        npz.array("best_lr", &shape, best)?;
        let improvements: Vec<Option<Improvement>> = self.improvements().collect();
        let of = |of: fn(&Improvement) -> f64| improvements.iter().map(move |it| it.as_ref().map_or(f64::NAN, of));
        npz.array("improvement", &shape, of(|it| it.value))?;
        npz.array("improvement_error", &shape, of(|it| it.error))
    }

    /// Writes the scores as CSV, a row for each optimizer and batch size, and returns the number of rows.
    ///
    /// Columns are `optimizer`; `batch_size`; `score`, the smallest over learning rates of the mean over replicates of
    /// the test loss after the last step; `std`, its sample standard deviation over replicates; `best_lr`, the learning
    /// rate itself; `replicates`; `improvement` on Adam, as a fraction of Adam's score, and `improvement_error`;
    /// `best_lr_edge`, `lowest` or `highest` where the best learning rate is at an end of those tried. Unknown values are
    /// NaN, or empty for a count. Adam itself has no improvement.
    pub fn write_table(&self, writer: impl Write) -> io::Result<u64> {
        let known = ["optimizer", "batch_size", "score", "std", "best_lr", "replicates"];
        let header = [&known[..], &["improvement", "improvement_error", "best_lr_edge"]].concat();
        let mut table = CsvWriter::new(writer, &header)?;
        let mut rows = 0;
        for ([optimizer, size], improvement) in self.places().zip(self.improvements()) {
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

    /// Returns the pairs of an optimizer and a batch size, in the order of the arrays.
    fn places(&self) -> impl Iterator<Item = [usize; 2]> {
        let sizes = self.axes.batch_sizes.len();
        (0..self.axes.optimizers.len()).flat_map(move |optimizer| (0..sizes).map(move |size| [optimizer, size]))
    }

    /// Returns the improvement of each optimizer on Adam, with each batch size.
    fn improvements(&self) -> impl Iterator<Item = Option<Improvement>> {
        let adam = self.index_of(RuleKind::Adam);
        self.places().map(move |[optimizer, size]| {
            let adam = adam.filter(|adam| *adam != optimizer)?;
            Some(Improvement::of(self.scores.get(adam, size)?, self.scores.get(optimizer, size)?))
        })
    }
}

/// Returns a count as a signed integer. Batch sizes and replicates of checked axes fit, and so do possible numbers of
/// steps.
fn as_i64(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
