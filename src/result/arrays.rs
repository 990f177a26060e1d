//! Writing a diagram to `phase.npz`.

use std::io::{self, Seek, Write};

use valleyscope_engine::sweep::{Cell, Diagram, Metric};

use super::SweepResult;
use crate::export::NpzWriter;

/// Arrays of averages and deviations over replicates for each learning rate, by the order of [`Metric::ALL`].
pub(super) const MEANS: [&str; 3] = ["mean", "min_loss_mean", "depth_mean"];
pub(super) const DEVIATIONS: [&str; 3] = ["std", "min_loss_std", "depth_std"];
/// The winner's gap, its standard error and degrees of freedom.
pub(super) const GAPS: [&str; 3] = ["gap", "gap_se", "gap_freedom"];
/// The arrays of adaptive sampling.
const CERTAINTY: &str = "certainty";
pub(super) const SPENT: &str = "spent";
pub(super) const DOUBT: &str = "doubt";
pub(super) const APART: &str = "apart";
pub(super) const OVER: &str = "over";

impl SweepResult {
    /// Writes the whole diagram as an NPZ archive, float64 unless noted otherwise. With O optimizers in the spec's
    /// order, R rows, C columns and at most L learning rates:
    ///
    /// | array | shape |
    /// | --- | --- |
    /// | `optimizers`, `metrics`: names, text | (O), (3) |
    /// | `rows`, `cols`: values of the axes | (R), (C) |
    /// | `lrs`: learning rates; NaN where they are an axis | (L), or (O, L) padded with NaN where they differ |
    /// | `row_name`, `col_name`, `metric`, `spec` (RON), `program`: text | () |
    /// | `score` by the spec's metric, its `score_std` over replicates | (O, R, C) |
    /// | `best_lr`: index of the score's learning rate, −1 where unknown, int32 | (O, R, C) |
    /// | `min_loss`, `depth`: best over learning rates | (O, R, C) |
    /// | `winner`: index by the spec's metric; −1 where there is none, int32 | (R, C) |
    /// | `diverged`: runs that are not finite, int32 | (O, R, C) |
    /// | `replicates` of a pixel, 0 where nothing is known, int32 | (R, C) |
    /// | `mean`, `min_loss_mean`, `depth_mean`: the metrics, averaged over replicates as the spec says | (O, R, C, L) |
    /// | `std`, `min_loss_std`, `depth_std`: the metrics' deviations over replicates | (O, R, C, L) |
    /// | `gap` between the winner by each of the metrics and each optimizer | (3, O, R, C) |
    /// | `gap_se`, `gap_freedom`: the gap's standard error and degrees of freedom | (3, O, R, C) |
    ///
    /// Adaptive sampling adds these arrays:
    ///
    /// | array | shape |
    /// | --- | --- |
    /// | `certainty` of the winner | (R, C) |
    /// | `spent`: replicates of each learning rate, −1 beyond an optimizer's last, int32 | (O, R, C, L) |
    /// | `doubt`: bound of the probability of so much evidence against an optimizer if it were the best | (O, R, C) |
    /// | `apart`: bound of the distance between its score and the winner's | (O, R, C) |
    /// | `over`: 1 where the pixel is decided or its budget used up, int32 | (R, C) |
    ///
    /// Unknown values are NaN. Deviations are population standard deviations.
    pub fn write_arrays(&self, mut writer: impl Write + Seek) -> io::Result<()> {
        let (diagram, spec) = (&self.diagram, self.diagram.spec());
        let shape = Shape::of(diagram);
        let mut npz = NpzWriter::new(&mut writer);
        let labels: Vec<&str> = spec.optimizers.iter().map(|optimizer| optimizer.label()).collect();
        npz.texts("optimizers", &labels)?;
        npz.texts("metrics", &Metric::ALL.map(Metric::name))?;
        npz.array("rows", &[shape.rows], diagram.rows().iter().copied())?;
        npz.array("cols", &[shape.columns], diagram.columns().iter().copied())?;
        write_learning_rates(&mut npz, diagram, shape)?;
        npz.text("row_name", spec.rows.of.name())?;
        npz.text("col_name", spec.columns.of.name())?;
        npz.text("metric", spec.metric.name())?;
        npz.text("spec", &self.preset().to_ron())?;
        npz.text("program", &self.program())?;
        write_scores(&mut npz, diagram, shape)?;
        for metric in Metric::ALL {
            let of = |of: fn(&Cell) -> &Vec<Vec<[f64; 3]>>| {
                let at = move |optimizer: usize, cell: &Cell, rate: usize| {
                    of(cell)[optimizer].get(rate).map_or(f64::NAN, |values| values[metric as usize])
                };
                shape.optimizers_and_pixels().flat_map(move |(optimizer, pixel)| {
                    let cell = diagram.cell(pixel);
                    (0..shape.rates).map(move |rate| cell.map_or(f64::NAN, |cell| at(optimizer, cell, rate)))
                })
            };
            npz.array(MEANS[metric as usize], &shape.by_rate(), of(|cell| &cell.averages))?;
            npz.array(DEVIATIONS[metric as usize], &shape.by_rate(), of(|cell| &cell.deviations))?;
        }
        for (part, name) in GAPS.into_iter().enumerate() {
            let gaps = Metric::ALL.into_iter().flat_map(|metric| {
                shape.optimizers_and_pixels().map(move |(optimizer, pixel)| {
                    let gap = diagram.cell(pixel).map(|cell| cell.comparison(metric).gaps[optimizer]);
                    gap.map_or(f64::NAN, |gap| [gap.value, gap.error, gap.freedom][part])
                })
            });
            npz.array(name, &shape.by_metric(), gaps)?;
        }
        if !spec.sampling.is_uniform() {
            write_sampled(&mut npz, diagram, shape)?;
        }
        npz.finish()
    }
}

/// The lengths of the arrays' sides.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub optimizers: usize,
    pub rows: usize,
    pub columns: usize,
    /// The largest number of learning rates of an optimizer.
    pub rates: usize,
}

impl Shape {
    pub(super) fn of(diagram: &Diagram) -> Shape {
        let spec = diagram.spec();
        let [rows, columns] = spec.shape();
        let rates = spec.rate_counts().into_iter().max().unwrap_or(1);
        Shape { optimizers: spec.optimizers.len(), rows, columns, rates }
    }

    pub(super) fn by_pixel(self) -> [usize; 2] {
        [self.rows, self.columns]
    }

    pub(super) fn by_optimizer(self) -> [usize; 3] {
        [self.optimizers, self.rows, self.columns]
    }

    pub(super) fn by_rate(self) -> [usize; 4] {
        [self.optimizers, self.rows, self.columns, self.rates]
    }

    pub(super) fn by_metric(self) -> [usize; 4] {
        [Metric::ALL.len(), self.optimizers, self.rows, self.columns]
    }

    pub(super) fn pixels(self) -> impl Iterator<Item = [usize; 2]> {
        (0..self.rows).flat_map(move |row| (0..self.columns).map(move |column| [row, column]))
    }

    fn optimizers_and_pixels(self) -> impl Iterator<Item = (usize, [usize; 2])> {
        (0..self.optimizers).flat_map(move |optimizer| self.pixels().map(move |pixel| (optimizer, pixel)))
    }
}

fn write_learning_rates<W: Write + Seek>(
    npz: &mut NpzWriter<'_, W>,
    diagram: &Diagram,
    shape: Shape,
) -> io::Result<()> {
    let all = diagram.learning_rates();
    let padded = |rates: &[f64]| (0..shape.rates).map(|index| rates.get(index).copied().unwrap_or(f64::NAN)).collect();
    if all.iter().all(|rates| rates == &all[0]) {
        let rates: Vec<f64> = padded(&all[0]);
        return npz.array("lrs", &[shape.rates], rates);
    }
    let rates: Vec<Vec<f64>> = all.iter().map(|rates| padded(rates)).collect();
    npz.array("lrs", &[shape.optimizers, shape.rates], rates.into_iter().flatten())
}

fn write_scores<W: Write + Seek>(npz: &mut NpzWriter<'_, W>, diagram: &Diagram, shape: Shape) -> io::Result<()> {
    let metric = diagram.spec().metric;
    let number = |of: &dyn Fn(&Cell, usize) -> f64| -> Vec<f64> {
        let each = shape.optimizers_and_pixels();
        each.map(|(optimizer, pixel)| diagram.cell(pixel).map_or(f64::NAN, |cell| of(cell, optimizer))).collect()
    };
    let whole = |unknown: i32, of: &dyn Fn(&Cell, usize) -> usize| -> Vec<i32> {
        let each = shape.optimizers_and_pixels();
        each.map(|(optimizer, pixel)| diagram.cell(pixel).map_or(unknown, |cell| as_i32(of(cell, optimizer)))).collect()
    };
    let by_optimizer = &shape.by_optimizer();
    npz.array("score", by_optimizer, number(&|cell, optimizer| cell.score(optimizer, metric).value))?;
    npz.array("best_lr", by_optimizer, whole(-1, &|cell, optimizer| cell.score(optimizer, metric).best_rate))?;
    npz.array("score_std", by_optimizer, number(&|cell, optimizer| cell.score_deviation(optimizer, metric)))?;
    npz.array("min_loss", by_optimizer, number(&|cell, index| cell.score(index, Metric::SmallestLoss).value))?;
    npz.array("depth", by_optimizer, number(&|cell, index| cell.score(index, Metric::Depth).value))?;
    let winners = shape.pixels().map(|pixel| {
        let winner = diagram.cell(pixel).and_then(|cell| cell.comparison(metric).winner);
        winner.map_or(-1, as_i32)
    });
    npz.array("winner", &shape.by_pixel(), winners)?;
    npz.array("diverged", by_optimizer, whole(0, &|cell, optimizer| cell.diverged[optimizer] as usize))?;
    let replicates = shape.pixels().map(|pixel| diagram.cell(pixel).map_or(0, |cell| as_i32(cell.replicates)));
    npz.array("replicates", &shape.by_pixel(), replicates)
}

/// Writes the arrays that only adaptive sampling has.
fn write_sampled<W: Write + Seek>(npz: &mut NpzWriter<'_, W>, diagram: &Diagram, shape: Shape) -> io::Result<()> {
    let metric = diagram.spec().metric;
    let cells = || shape.pixels().map(|pixel| diagram.cell(pixel));
    let sampled = |pixel: [usize; 2]| diagram.cell(pixel).and_then(|cell| cell.sampled.as_ref());
    let certainties = cells().map(|cell| cell.and_then(|cell| cell.comparison(metric).certainty()).unwrap_or(f64::NAN));
    npz.array(CERTAINTY, &shape.by_pixel(), certainties)?;
    let spent = shape.optimizers_and_pixels().flat_map(|(optimizer, pixel)| {
        let replicates = sampled(pixel).map(|sampled| &sampled.replicates[optimizer]);
        let of_rate = move |rate| replicates.and_then(|own| own.get(rate)).map_or(-1, |count| as_i32(*count as usize));
        (0..shape.rates).map(of_rate)
    });
    npz.array(SPENT, &shape.by_rate(), spent)?;
    let doubts = shape.optimizers_and_pixels().map(|(optimizer, pixel)| {
        diagram.cell(pixel).and_then(|cell| cell.comparison(metric).doubts.get(optimizer)).copied().unwrap_or(f64::NAN)
    });
    npz.array(DOUBT, &shape.by_optimizer(), doubts)?;
    let apart = shape.optimizers_and_pixels().map(|(optimizer, pixel)| {
        sampled(pixel).and_then(|sampled| sampled.apart.get(optimizer)).copied().unwrap_or(f64::NAN)
    });
    npz.array(APART, &shape.by_optimizer(), apart)?;
    let over = shape.pixels().map(|pixel| i32::from(sampled(pixel).is_some_and(|sampled| sampled.is_over)));
    npz.array(OVER, &shape.by_pixel(), over)
}

/// Converts a number of runs. An optimizer has at most 10⁴ learning rates × 10⁵ replicates at a pixel, which fits.
fn as_i32(number: usize) -> i32 {
    i32::try_from(number).expect("numbers of a checked spec fit")
}
