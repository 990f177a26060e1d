//! Formats of results: CSV tables and NPY and NPZ arrays, and the tables and arrays of runs and simulations.
//!
//! Nothing that is written depends on the time or on the machine: equal results are equal bytes.

#[cfg(feature = "app")]
pub mod animation;
pub mod lesson_page;
mod npz;

use std::borrow::Cow;
use std::io;
use std::io::{Seek, Write};

use jiff::Timestamp;
use valleyscope_engine::simulation::{Sample, Simulation, SimulationSpec, Spread};
use valleyscope_engine::sweep::Precision;
use valleyscope_experiments::preset::{LandscapePreset, Preset};
use valleyscope_experiments::view::DiagnosticMetric;
use valleyscope_runs::{MetricCurve, MetricId, MetricInfo, RunHistory};

pub use npz::{ArchiveError, Element, NpzReader, NpzWriter, write_npy};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CsvCell<'t> {
    Text(&'t str),
    Whole(u64),
    /// A number, written with the fewest digits that are read as the same bits; `NaN`, `inf` and `-inf` if it is not
    /// finite.
    Number(f64),
}

/// Writes a table row by row.
pub struct CsvWriter<W: Write> {
    writer: W,
    columns: usize,
}

impl<W: Write> CsvWriter<W> {
    /// Creates a table with these column names, which are written at once.
    pub fn new(mut writer: W, header: &[&str]) -> io::Result<Self> {
        write_row(&mut writer, header.iter().map(|name| CsvCell::Text(name)))?;
        Ok(CsvWriter { writer, columns: header.len() })
    }

    pub fn row(&mut self, cells: &[CsvCell<'_>]) -> io::Result<()> {
        assert_eq!(cells.len(), self.columns, "a row has as many cells as the header has names");
        write_row(&mut self.writer, cells.iter().copied())
    }

    /// Takes the underlying writer, to which all rows have been written.
    pub fn into_inner(self) -> W {
        self.writer
    }
}

fn write_row<'t>(writer: &mut impl Write, cells: impl Iterator<Item = CsvCell<'t>>) -> io::Result<()> {
    for (column, cell) in cells.enumerate() {
        if column > 0 {
            writer.write_all(b",")?;
        }
        match cell {
            CsvCell::Text(text) => write_text(writer, text)?,
            CsvCell::Whole(number) => write!(writer, "{number}")?,
            CsvCell::Number(number) => write_number(writer, number)?,
        }
    }
    writer.write_all(b"\n")
}

fn write_text(writer: &mut impl Write, text: &str) -> io::Result<()> {
    let needs_apostrophe = may_be_formula(text) && text.parse::<f64>().is_err();
    let text = if needs_apostrophe { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) };
    if text.contains(['"', ',', '\n', '\r']) {
        write!(writer, "\"{}\"", text.replace('"', "\"\""))
    } else {
        writer.write_all(text.as_bytes())
    }
}

/// Whether a spreadsheet interprets a text, without the apostrophes before it, as a formula. With one more apostrophe
/// it does not, and [`without_apostrophe`] restores the text.
fn may_be_formula(text: &str) -> bool {
    text.trim_start_matches('\'').starts_with(['=', '+', '-', '@', '\t', '\r'])
}

/// Removes from a cell the apostrophe that [`CsvWriter`] wrote before it.
pub fn without_apostrophe(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|text| may_be_formula(text)).unwrap_or(cell)
}

fn write_number(writer: &mut impl Write, number: f64) -> io::Result<()> {
    // Both forms have the same digits; an exponent shortens very large and very small numbers.
    if number == 0.0 || !number.is_finite() || (1e-5..1e16).contains(&number.abs()) {
        write!(writer, "{number}")
    } else {
        write!(writer, "{number:e}")
    }
}

/// Writes the points of a run as CSV; returns the number of rows.
///
/// There is a row for each point of training and each evaluation, in the order of the steps: `step`, `time`
/// (RFC 3339), `wall_s` (seconds of training) and the metrics that were measured, by their names in the events. A
/// metric that does not belong to the row is left empty.
pub fn write_csv(history: &RunHistory, writer: impl Write) -> io::Result<u64> {
    let metrics = history.metrics();
    let metrics = metrics.iter().filter_map(MetricInfo::metric).filter(|metric| !history.curve(*metric).is_empty());
    let metrics: Vec<MetricId> = metrics.collect();
    let header: Vec<&str> =
        ["step", "time", "wall_s"].into_iter().chain(metrics.iter().map(|metric| metric.name())).collect();
    let mut table = CsvWriter::new(writer, &header)?;
    let mut points = Vec::new();
    for (column, metric) in metrics.iter().enumerate() {
        let MetricCurve { step, time_s, wall_s, value } = history.curve(*metric);
        points.extend((0..step.len()).map(|index| (step[index], time_s[index], column, wall_s[index], value[index])));
    }
    points.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
    let mut rows = 0;
    // Points of the same step and time are of the same event.
    for event in points.chunk_by(|a, b| a.0 == b.0 && a.1.total_cmp(&b.1).is_eq() && a.2 < b.2) {
        let (step, time_s, _, wall_s, _) = event[0];
        let time = rfc_3339(time_s);
        let mut row = vec![CsvCell::Text(""); header.len()];
        row[..3].copy_from_slice(&[CsvCell::Whole(step), CsvCell::Text(&time), CsvCell::Number(wall_s)]);
        event.iter().for_each(|(_, _, column, _, value)| row[3 + column] = CsvCell::Number(*value));
        table.row(&row)?;
        rows += 1;
    }
    table.into_inner().flush()?;
    Ok(rows)
}

fn rfc_3339(time_s: f64) -> String {
    let time = Timestamp::from_microsecond((time_s * 1e6).round() as i64);
    time.map_or_else(|_| String::new(), |time| time.to_string())
}

// The trajectory of a simulation, as a table or as arrays.
//
// Both hold the same rows, one for each recorded step. The table is written while the simulation runs; the arrays are
// collected and written at the end.

type Quantity = fn(&Sample) -> &Spread;
type Statistic = fn(&Spread) -> f64;

/// The recorded quantities of a sample, with their names.
const QUANTITIES: [(&str, Quantity); 4] = [
    ("loss", |sample| &sample.loss),
    ("u", |sample| &sample.u),
    ("abs_v", |sample| &sample.abs_v),
    ("effective_step", |sample| &sample.effective_step),
];
const STATISTICS: [(&str, Statistic); 4] = [
    ("mean", |spread| spread.mean),
    ("std", |spread| spread.std),
    ("min", |spread| spread.min),
    ("max", |spread| spread.max),
];
/// The number of curves of a sample.
const CURVES: usize = QUANTITIES.len() * STATISTICS.len() + DiagnosticMetric::OF_SHARES.len() + 1;

type Curve = Box<dyn Fn(&Sample) -> f64>;

/// Lists the curves with their names, such as `loss_mean`.
fn curves() -> Vec<(String, Curve)> {
    let mut curves: Vec<(String, Curve)> = Vec::with_capacity(CURVES);
    for (quantity, spread) in QUANTITIES {
        for (statistic, value) in STATISTICS {
            curves.push((format!("{quantity}_{statistic}"), Box::new(move |sample| value(spread(sample)))));
        }
    }
    for metric in DiagnosticMetric::OF_SHARES {
        curves.push((metric.key().to_owned(), Box::new(move |sample| metric.of_shares(&sample.shares))));
    }
    curves.push(("entropy".to_owned(), Box::new(|sample| sample.entropy)));
    curves
}

/// Lists the labels of the enabled optimizers, made unique by their ids if some are equal.
fn optimizer_names(spec: &SimulationSpec) -> Vec<String> {
    let enabled = || spec.optimizers.iter().filter(|optimizer| optimizer.enabled);
    enabled()
        .map(|optimizer| {
            let label = optimizer.label();
            match enabled().filter(|other| other.label() == label).count() {
                1 => label.to_owned(),
                _ => format!("{label} #{}", optimizer.id),
            }
        })
        .collect()
}

/// Writes a row for each step and optimizer: `step`, `optimizer`, the 16 columns from `loss_mean` to
/// `effective_step_max`, the measures of gradients `noise`, `signal`, `noise_share` and `oscillation`, `entropy` and
/// `diverged`.
pub struct TrajectoryTable<W: Write> {
    csv: CsvWriter<W>,
    curves: Vec<(String, Curve)>,
    optimizers: Vec<String>,
}

impl<W: Write> TrajectoryTable<W> {
    pub fn new(writer: W, spec: &SimulationSpec) -> io::Result<Self> {
        let curves = curves();
        let mut header = vec!["step", "optimizer"];
        header.extend(curves.iter().map(|(name, _)| name.as_str()));
        header.push("diverged");
        Ok(TrajectoryTable { csv: CsvWriter::new(writer, &header)?, curves, optimizers: optimizer_names(spec) })
    }

    pub fn record(&mut self, simulation: &Simulation) -> io::Result<()> {
        let mut cells = Vec::with_capacity(CURVES + 3);
        for (ensemble, name) in simulation.ensembles().iter().zip(&self.optimizers) {
            let sample = ensemble.sample();
            cells.clear();
            cells.extend([CsvCell::Whole(simulation.step()), CsvCell::Text(name)]);
            cells.extend(self.curves.iter().map(|(_, curve)| CsvCell::Number(curve(sample))));
            cells.push(CsvCell::Whole(u64::from(sample.diverged)));
            self.csv.row(&cells)?;
        }
        Ok(())
    }

    /// Takes the underlying writer, to which all rows have been written.
    pub fn into_inner(self) -> W {
        self.csv.into_inner()
    }
}

/// The largest number of particles of an optimizer whose positions are recorded.
const POSITIONS: usize = 100;

/// Collects arrays for an NPZ archive. With O optimizers and T recorded steps:
///
/// | array | type | shape |
/// | --- | --- | --- |
/// | `optimizers` | text | (O) |
/// | `step` | int64 | (T) |
/// | `{loss,u,abs_v,effective_step}_{mean,std,min,max}` | float64 | (O, T) |
/// | `noise`, `signal`, `noise_share`, `oscillation` of the gradients | float64 | (O, T) |
/// | `entropy` | float64 | (O, T) |
/// | `diverged`, particles that are not finite | int32 | (O, T) |
/// | `positions` of the first particles, at most 100 | float64 | (O, T, particles, 2) |
/// | `spec`, the preset that repeats it (RON), and `program`: version, precision, seed | text | () |
pub struct TrajectoryArrays {
    preset: LandscapePreset,
    optimizers: Vec<String>,
    particles: usize,
    steps: Vec<i64>,
    /// The samples and the positions of each optimizer.
    columns: Vec<(Vec<Sample>, Vec<f64>)>,
}

impl TrajectoryArrays {
    /// Allocates arrays for exactly this many recorded steps.
    pub fn new(preset: LandscapePreset, steps: usize) -> Self {
        let spec = preset.spec();
        let optimizers = optimizer_names(spec);
        let particles = spec.particles.get().min(POSITIONS);
        let columns = || (Vec::with_capacity(steps), Vec::with_capacity(2 * particles * steps));
        TrajectoryArrays {
            columns: optimizers.iter().map(|_| columns()).collect(),
            optimizers,
            particles,
            steps: Vec::with_capacity(steps),
            preset,
        }
    }

    /// The most bytes of the arrays of a simulation.
    pub const MOST_BYTES: u64 = 2 << 30;

    /// The number of recorded steps: the start, every `every`-th and the last.
    pub fn recorded(steps: u64, every: u64) -> u64 {
        steps.div_ceil(every).saturating_add(1)
    }

    /// The memory of one recorded step of this simulation, in bytes.
    pub fn bytes_a_step(spec: &SimulationSpec) -> u64 {
        let optimizers = spec.optimizers.iter().filter(|optimizer| optimizer.enabled).count();
        let floats = CURVES + 2 * spec.particles.get().min(POSITIONS);
        (size_of::<i64>() + optimizers * (floats * size_of::<f64>() + size_of::<i32>())) as u64
    }

    pub fn record(&mut self, simulation: &Simulation) {
        self.steps.push(i64::try_from(simulation.step()).expect("no simulation gets that far"));
        for ((samples, positions), ensemble) in self.columns.iter_mut().zip(simulation.ensembles()) {
            samples.push(*ensemble.sample());
            positions.extend(ensemble.positions().take(self.particles).flatten());
        }
    }

    pub fn write(&self, mut writer: impl Write + Seek) -> io::Result<()> {
        let mut npz = NpzWriter::new(&mut writer);
        let shape = [self.optimizers.len(), self.steps.len()];
        let samples = || self.columns.iter().flat_map(|(samples, _)| samples);
        npz.texts("optimizers", &self.optimizers)?;
        npz.array("step", &[self.steps.len()], self.steps.iter().copied())?;
        for (name, curve) in curves() {
            npz.array(&name, &shape, samples().map(curve))?;
        }
        npz.array("diverged", &shape, samples().map(|sample| sample.diverged as i32))?;
        let shape = [shape[0], shape[1], self.particles, 2];
        npz.array("positions", &shape, self.columns.iter().flat_map(|(_, positions)| positions.iter().copied()))?;
        let (version, seed) = (env!("CARGO_PKG_VERSION"), self.preset.spec().seed);
        npz.text("spec", &Preset::Landscape(self.preset.clone()).to_ron())?;
        npz.text("program", &format!("valleyscope {version}, {}, seed {seed}", Precision::Double.name()))?;
        npz.finish()
    }
}
