//! Courses of the regret as a table and as a figure.

use std::io::{self, Write};

use valleyscope_engine::regret::{Record, RegretCurve};
use valleyscope_experiments::view::range::{across, suited};
use valleyscope_experiments::view::{AxisScale, Pen};

use crate::export::{CsvCell, CsvWriter};
use crate::figure::{CurveAxis, CurveLines, CurvePlot, Curves, Figure};

/// Writes a row for each record: the losses, the theorem's `dimension`, `learning_rate`, `beta1`, `lambda_beta`,
/// `gamma` and `lambda_gamma`, then `steps`, `regret`, `gap`, `largest_gradient`, `bound`, and regret and bound over
/// √steps.
pub fn write_table(courses: &[RegretCurve], writer: impl Write) -> io::Result<()> {
    let header = [
        "losses",
        "dimension",
        "learning_rate",
        "beta1",
        "lambda_beta",
        "gamma",
        "lambda_gamma",
        "steps",
        "regret",
        "gap",
        "largest_gradient",
        "bound",
        "regret_over_root",
        "bound_over_root",
    ];
    let mut csv = CsvWriter::new(writer, &header)?;
    for course in courses {
        let theorem = course.theorem;
        for record in &course.records {
            let root = (record.steps as f64).sqrt();
            let before = [CsvCell::Text(course.losses.name()), CsvCell::Whole(theorem.dimension as u64)];
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

/// Returns the figure of `R(T) / (G √T)` against T, a plot for each dimension, with the bound, which is then the same
/// for all losses. Curves of negative γ are dashed. Values that are not positive are left out.
pub fn figure(courses: &[RegretCurve]) -> Figure {
    let mut dimensions: Vec<usize> = courses.iter().map(|course| course.theorem.dimension).collect();
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
        let of_dimension = || courses.iter().filter(|course| course.theorem.dimension == dimension);
        for course in of_dimension() {
            let is_dashed = course.theorem.gamma[0] < 0.0;
            let pen = Pen::new(COLORS[course.losses as usize], if is_dashed { DASHED } else { 0 });
            let name = format!("{}, γ = {}", course.losses.name(), course.theorem.shown_gamma());
            curves.push(curve(index_of(name, pen), course, |record| record.regret));
            last = last.max(course.records.last().map_or(1.0, |record| record.steps as f64));
        }
        if let Some(course) = of_dimension().next() {
            curves.push(curve(index_of("bound".to_owned(), Pen::new(BLACK, 0)), course, |record| record.bound));
        }
        let places: Vec<_> = curves.iter().map(CurveLines::places).collect();
        let range = suited(&places, AxisScale::Log);
        let label = format!("R(T) / (G √T), d = {dimension}");
        plots.push(CurvePlot { vertical: CurveAxis { label, scale: AxisScale::Log, range }, curves });
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

/// The colours of the losses in their order.
const COLORS: [[u8; 3]; 4] = [[0, 114, 178], [0, 158, 115], [230, 159, 0], [213, 94, 0]];
const BLACK: [u8; 3] = [0, 0, 0];
/// The number of the first pen that is dashed.
const DASHED: usize = 3;

/// Returns the curve of a quantity over G √T, in places on logarithmic axes, cut where it is not positive.
fn curve(index: usize, course: &RegretCurve, quantity: impl Fn(&Record) -> f64) -> CurveLines {
    let place = |record: &Record| {
        let steps = record.steps as f64;
        [steps.log10(), (quantity(record) / (record.largest * steps.sqrt())).log10()]
    };
    let places: Vec<[f64; 2]> = course.records.iter().map(place).collect();
    let line = places.split(|[_, y]| !y.is_finite()).filter(|piece| !piece.is_empty()).map(<[_]>::to_vec).collect();
    CurveLines { index, raw: Vec::new(), line, band: Vec::new() }
}
