//! The figure that compares trainings: an evaluated metric of each over steps or time.

use valleyscope_experiments::view::range::{Ceiling, CurvePlaces, Extent, across, suited, union};
use valleyscope_experiments::view::{AxisScale, Pen};
use valleyscope_runs::{Better, MetricCurve, MetricId, MetricInfo, MetricScale, RunHistory};

use super::map::Swatch;
use super::{CurveAxis, CurveLines, CurvePlot, Curves, Figure, metric_scale};

/// A run that is drawn.
#[derive(Clone, Debug)]
pub struct TrainedRun {
    pub label: String,
    pub pen: Pen,
    /// The text of its config.
    pub config: String,
    pub history: RunHistory,
}

/// The quantity of the horizontal axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeAxis {
    Steps,
    /// The time of training.
    Time,
}

impl Figure {
    /// Returns the metric that a training is judged by: the first of its evaluations of which a lower value is better.
    pub fn judged_by(history: &RunHistory) -> Option<MetricInfo> {
        history.evaluated().into_iter().find(|info| info.better == Better::Lower)
    }

    /// Returns a figure of a metric of several runs, a curve for each.
    pub fn trainings(title: &str, over: TimeAxis, metric: &MetricInfo, runs: &[TrainedRun]) -> Figure {
        let curve = |run: &'_ TrainedRun| metric.metric().map(|metric| over.points(&run.history.curve(metric)));
        let points: Vec<Vec<[f64; 2]>> = runs.iter().map(|run| curve(run).unwrap_or_default()).collect();
        let last = points.iter().flatten().map(|[x, _]| *x).fold(0.0, f64::max);
        let (label, unit) = over.axis(last);
        let scale = metric_scale(metric, metric.scale == MetricScale::Log);
        let lines = points.iter().map(|points| pieces(points, unit, scale)).enumerate();
        let lines: Vec<(usize, Vec<Vec<[f64; 2]>>)> = lines.filter(|(_, line)| !line.is_empty()).collect();
        let times = lines.iter().flat_map(|(_, line)| line.iter().flatten()).map(|[x, _]| [*x; 2]);
        let horizontal = across(times.reduce(union));
        let places: Vec<CurvePlaces> = lines.iter().map(|(_, line)| CurvePlaces::of_line(line)).collect();
        let range = vertical_range(places, ceiling(metric, runs, scale), scale);
        let vertical = CurveAxis::vertical(metric, scale, range);
        let drawn = |(index, line)| CurveLines { index, raw: Vec::new(), line, band: Vec::new() };
        let mut figure = Figure::curves(Curves {
            title: title.to_owned(),
            specs: runs.iter().map(|run| run.config.clone()).collect(),
            names: runs.iter().map(|run| (run.label.clone(), run.pen)).collect(),
            horizontal: CurveAxis { label: label.to_owned(), scale: AxisScale::Linear, range: horizontal },
            plots: vec![CurvePlot { vertical, curves: lines.into_iter().map(drawn).collect() }],
            marks: Vec::new(),
        });
        figure.legend.extend(notes(runs));
        figure
    }
}

impl TimeAxis {
    /// Returns the points of a curve; those without a place on the axis are left out.
    fn points(self, curve: &MetricCurve<'_>) -> Vec<[f64; 2]> {
        let x = |index: usize| match self {
            TimeAxis::Steps => curve.step[index] as f64,
            TimeAxis::Time => curve.wall_s[index],
        };
        (0..curve.len()).map(|index| [x(index), curve.value[index]]).filter(|[x, _]| x.is_finite()).collect()
    }

    /// Returns the axis' label, and the unit that its numbers count, for values up to `last`.
    fn axis(self, last: f64) -> (&'static str, f64) {
        const MINUTE: f64 = 60.0;
        const HOUR: f64 = 3600.0;
        match self {
            TimeAxis::Steps => ("steps", 1.0),
            TimeAxis::Time if last < 5.0 * MINUTE => ("training time (s)", 1.0),
            TimeAxis::Time if last < 5.0 * HOUR => ("training time (min)", MINUTE),
            TimeAxis::Time => ("training time (h)", HOUR),
        }
    }
}

/// Returns the places above which a loss is that of a diverged training, where a run is known from its beginning.
fn ceiling(metric: &MetricInfo, runs: &[TrainedRun], scale: AxisScale) -> Option<Ceiling> {
    let whole = || runs.iter().filter(|run| run.history.forked().is_none());
    let initial = |metric| whole().filter_map(move |run| run.history.curve(metric).value.first().copied());
    // The first training loss precedes the first evaluation, and usually a divergence.
    let of_training = Ceiling::of_losses(initial(MetricId::LOSS), scale);
    of_training.or_else(|| Ceiling::of_losses(initial(metric.metric()?), scale))
}

/// Returns the range of the curves with these places, in which those that have diverged do not flatten the others.
fn vertical_range(curves: Vec<CurvePlaces>, ceiling: Option<Ceiling>, scale: AxisScale) -> Extent {
    let below = |curve: &CurvePlaces| {
        let heights = curve.line.iter().map(|[_, high]| *high);
        let top = ceiling.map_or(f64::INFINITY, |ceiling| ceiling.of_curve(heights));
        CurvePlaces { line: curve.line.iter().filter(|[_, high]| *high <= top).copied().collect(), ..curve.clone() }
    };
    let below: Vec<CurvePlaces> = curves.iter().map(below).collect();
    suited(if below.iter().all(|curve| curve.line.is_empty()) { &curves } else { &below }, scale)
}

/// Returns the points in places, split at values without a place. Where a curve ends with such a value, its last piece
/// is empty; without any place there is no piece.
fn pieces(points: &[[f64; 2]], unit: f64, scale: AxisScale) -> Vec<Vec<[f64; 2]>> {
    let mut pieces: Vec<Vec<[f64; 2]>> = Vec::new();
    let mut is_open = false;
    for [x, value] in points {
        let y = scale.place(*value);
        if !y.is_finite() {
            is_open = false;
            continue;
        }
        if !is_open {
            pieces.push(Vec::new());
            is_open = true;
        }
        if let Some(piece) = pieces.last_mut() {
            piece.push([x / unit, y]);
        }
    }
    if !is_open && !pieces.is_empty() {
        pieces.push(Vec::new());
    }
    pieces
}

/// Returns notes on the training data of the runs, where these are synthetic.
fn notes(runs: &[TrainedRun]) -> Vec<Swatch> {
    let started = runs.iter().filter_map(|run| run.history.started());
    let mut notes: Vec<Swatch> = Vec::new();
    for started in started.filter(|started| started.synthetic) {
        let note = Swatch { color: None, text: started.data.clone() };
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}
