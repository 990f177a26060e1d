//! Curves of the regret as a table and as a figure.

use std::io;
use std::io::Write;

use valleyscope_engine::regret::{Record, RegretCurve};
use valleyscope_experiments::view::range::across;
use valleyscope_experiments::view::{AxisScale, Pen};

use crate::draw::{CurveAxis, CurveLines, CurvePlot, Curves, Figure, Fit, y_in_view};
use crate::export::{CsvCell, CsvWriter};

/// Writes a row for each record: the losses, the theorem's `dimension`, `learning_rate`, `beta1`, `lambda_beta`,
/// `gamma` and `lambda_gamma`, then `steps`, `regret`, `gap`, `largest_gradient`, `bound`, and regret and bound over
/// √steps.
pub fn write_table(regrets: &[RegretCurve], writer: impl Write) -> io::Result<()> {
    let header = "losses dimension learning_rate beta1 lambda_beta gamma lambda_gamma steps regret gap largest_gradient \
                  bound regret_over_root bound_over_root";
    let mut csv = CsvWriter::new(writer, &header.split(' ').collect::<Vec<_>>())?;
    for regret_curve in regrets {
        let theorem = regret_curve.theorem;
        for record in &regret_curve.records {
            let root = (record.steps as f64).sqrt();
            let before = [CsvCell::Text(regret_curve.losses.name()), CsvCell::Whole(theorem.dimension as u64)];
            let settings =
                [theorem.learning_rate, theorem.beta1[0], theorem.beta1[1], theorem.gamma[0], theorem.gamma[1]];
            let after =
                [record.regret, record.gap, record.largest, record.bound, record.regret / root, record.bound / root];
            let mut cells = before.to_vec();
            cells.extend(settings.map(CsvCell::Number));
            cells.push(CsvCell::Whole(record.steps));
            cells.extend(after.map(CsvCell::Number));
            csv.row(&cells)?;
        }
    }
    csv.into_inner().flush()
}

/// The range that holds all positions.
const ALL: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

/// The figure of `R(T) / (G √T)` against T, a plot for each dimension, with the bound, which is then the same for all
/// losses. Curves of negative γ are dashed. Values that are not positive are left out.
pub fn figure(regrets: &[RegretCurve]) -> Figure {
    let mut dimensions: Vec<usize> = regrets.iter().map(|regret_curve| regret_curve.theorem.dimension).collect();
    dimensions.dedup();
    let mut names: Vec<(String, Pen)> = Vec::new();
    let mut index_of = |name: String, pen: Pen| {
        names.iter().position(|(other, _)| *other == name).unwrap_or_else(|| {
            names.push((name, pen));
            names.len() - 1
        })
    };
    let mut plots = Vec::new();
    let mut last = 1.0_f64;
    for dimension in dimensions {
        let mut curves = Vec::new();
        let of_dimension = || regrets.iter().filter(|regret_curve| regret_curve.theorem.dimension == dimension);
        for regret_curve in of_dimension() {
            let is_dashed = regret_curve.theorem.gamma[0] < 0.0;
            let pen = Pen::new(COLORS[regret_curve.losses as usize], if is_dashed { DASHED } else { 0 });
            let name = format!("{}, γ = {}", regret_curve.losses.name(), regret_curve.theorem.shown_gamma());
            curves.push(curve(index_of(name, pen), regret_curve, |record| record.regret));
            last = last.max(regret_curve.records.last().map_or(1.0, |record| record.steps as f64));
        }
        if let Some(regret_curve) = of_dimension().next() {
            curves.push(curve(index_of("bound".to_owned(), Pen::new(BLACK, 0)), regret_curve, |record| record.bound));
        }
        let range = y_in_view(ALL, curves.iter(), Fit::Sensible(None, AxisScale::Log));
        let label = format!("R(T) / (G √T), d = {dimension}");
        plots.push(CurvePlot {
            vertical: CurveAxis { label, scale: AxisScale::Log, range },
            curves,
            dashes_ties: false,
        });
    }
    Figure::curves(Curves {
        title: "The regret of FOCUS and the bound of the theorem".to_owned(),
        specs: Vec::new(),
        names,
        horizontal: CurveAxis {
            label: "T".to_owned(),
            scale: AxisScale::Log,
            range: across(Some([0.0, last.log10()])),
        },
        plots,
        marks: Vec::new(),
    })
}

const COLORS: [[u8; 3]; 4] = [[0, 114, 178], [0, 158, 115], [230, 159, 0], [213, 94, 0]];
const BLACK: [u8; 3] = [0, 0, 0];
/// The number of the first pen that is dashed.
const DASHED: usize = 3;

/// Computes the curve of a quantity over G √T, as positions on logarithmic axes, cut where it is not positive.
fn curve(index: usize, regret_curve: &RegretCurve, quantity: impl Fn(&Record) -> f64) -> CurveLines {
    let point = |record: &Record| {
        let steps = record.steps as f64;
        [steps.log10(), (quantity(record) / (record.largest * steps.sqrt())).log10()]
    };
    let points: Vec<[f64; 2]> = regret_curve.records.iter().map(point).collect();
    let line = points.split(|[_, y]| !y.is_finite()).filter(|piece| !piece.is_empty()).map(<[_]>::to_vec).collect();
    CurveLines::new(index, line)
}
