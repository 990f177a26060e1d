//! Figures of curves in plots over one horizontal axis: of trainings, and of the metrics of a landscape's run.

use std::collections::BTreeSet;
use std::sync::Arc;

use egui::{Color32, Pos2, Rect, Stroke, pos2};
use serde::{Deserialize, Serialize};
use valleyscope_experiments::preset::LETTERS;
use valleyscope_experiments::view::range::{Ceiling, Extent, across, union};
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_experiments::view::{AxisScale, Background, Band, Dash, DiagnosticInfo, DiagnosticMetric, Pen};
use valleyscope_runs::{Better, MetricCurve, MetricId, MetricInfo, MetricScale, RunHistory};

use super::page::{COLUMN_MM, Content, Figure, GAP, KEY, LEAST_HEIGHT, MARGIN, NARROWEST_PANEL, PAGE_MM, WIDE};
use super::trajectories::{Ensemble, Trajectories, pens};
use crate::draw::axis::{LABEL_GAP, TICK};
use crate::draw::canvas::{Canvas, LINE, area, rgb};
use crate::draw::curves::{CurveAxis, CurveLines, CurvePlot, Fit, draw_key, metric_scale, names_at_ends, y_in_view};
use crate::draw::diagnostics::{DiagnosticCurve, diagnostic_scale, range_in_view};
use crate::draw::map::Swatch;
use crate::draw::svg::{CREATOR, FigureMetadata};
use crate::player::marks::{SettingMarks, text};

/// Height over width of the area of a plot.
const ASPECT: f32 = 0.62;
/// The colour of marks.
const MARK: [u8; 3] = [150, 90, 0];

/// Curves in plots over one horizontal axis.
#[derive(Clone, Debug)]
pub struct Curves {
    pub title: String,
    /// The presets that repeat the runs.
    pub specs: Vec<String>,
    /// The names of the curves, with their pens.
    pub names: Vec<(String, Pen)>,
    pub horizontal: CurveAxis,
    pub plots: Vec<CurvePlot>,
    pub marks: Vec<CurveMark>,
}

/// A mark on the horizontal axis: a line through all plots, with a short label above them.
#[derive(Clone, Debug)]
pub struct CurveMark {
    pub position: f64,
    pub label: String,
}

impl Figure {
    /// A figure of curves of trainings, each plot with its own vertical axis.
    pub fn curves(curves: Curves) -> Figure {
        let color = |pen: &Pen| Some(pen.color_on(Background::Light));
        let legend = curves.names.iter().map(|(text, pen)| Swatch { color: color(pen), text: text.clone() });
        let about = FigureMetadata {
            title: curves.title.clone(),
            programs: vec![CREATOR.to_owned()],
            specs: curves.specs.clone(),
        };
        Figure { about, legend: legend.collect(), content: Arc::new(curves) }
    }
}

impl Content for Curves {
    fn draw(&self, canvas: &Canvas, mut y: f32, inner: f32) -> Option<f32> {
        let em = canvas.style.em;
        let (columns, [share, height]) = self.cells(canvas, inner);
        let names = self.names_width(canvas, inner);
        let left = self.plots.iter().map(|plot| plot.vertical.gutter(canvas, height)).fold(0.0, f32::max);
        let width = share - left - self.horizontal.overhang(canvas, share - left).max(names.unwrap_or_default());
        if width < NARROWEST_PANEL * em {
            return None;
        }
        for plots in self.plots.chunks(columns) {
            let top = y + if self.marks.is_empty() { 0.4 * em } else { LINE * em };
            for (column, plot) in plots.iter().enumerate() {
                let panel = area(MARGIN * em + column as f32 * (share + GAP * em) + left, top, width, height);
                plot.draw(canvas, &self.horizontal, &self.names, panel, left);
                if names.is_some() {
                    plot.draw_names(canvas, &self.horizontal, &self.names, panel);
                }
                self.draw_marks(canvas, panel);
            }
            y = top + height + (TICK + LABEL_GAP + 0.5) * em + 1.8 * LINE * em;
        }
        Some(y)
    }

    fn usual_width_mm(&self) -> f64 {
        if self.plots.len() > 1 { PAGE_MM } else { COLUMN_MM }
    }

    fn key(&self) -> f32 {
        KEY
    }

    fn draw_key(&self, canvas: &Canvas, from: Pos2, index: usize, _color: Color32) {
        draw_key(canvas, from, KEY * canvas.style.em, self.names[index].1);
    }

    fn is_named(&self, canvas: &Canvas, inner: f32, index: usize) -> bool {
        let mut curves = self.plots.iter().flat_map(|plot| &plot.curves);
        let is_whole = || names_at_ends(&self.names)[index] == self.names[index].0;
        curves.any(|curve| curve.index == index) && is_whole() && self.names_width(canvas, inner).is_some()
    }
}

impl Curves {
    /// The number of plots side by side, and the size of each with the labels beside it.
    fn cells(&self, canvas: &Canvas, inner: f32) -> (usize, [f32; 2]) {
        let em = canvas.style.em;
        let columns = if inner >= WIDE * em { self.plots.len().clamp(1, 2) } else { 1 };
        let share = (inner - (columns - 1) as f32 * GAP * em) / columns as f32;
        (columns, [share, (ASPECT * share).max(LEAST_HEIGHT * em)])
    }

    /// The width of names beside each plot; `None` where some curve would have none.
    fn names_width(&self, canvas: &Canvas, inner: f32) -> Option<f32> {
        let (_, size) = self.cells(canvas, inner);
        let mut widths = self.plots.iter().map(|plot| plot.names_width(canvas, &self.horizontal, &self.names, size));
        widths.try_fold(0.0, |widest, width| Some(f32::max(widest, width?)))
    }

    fn draw_marks(&self, canvas: &Canvas, panel: Rect) {
        for CurveMark { position, label } in &self.marks {
            let x = panel.left() + self.horizontal.part(*position) as f32 * panel.width();
            let line = vec![pos2(x, panel.top()), pos2(x, panel.bottom())];
            canvas.lines(&[line], Stroke::new(0.7, rgb(MARK)), Dash::Dashed);
            let above = pos2(x, panel.top() - 0.5 * LINE * canvas.style.em);
            canvas.text_in(rgb(MARK), canvas.style.em, above, label);
        }
    }
}

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
    /// The metric that a training is judged by: the first of its evaluations of which a lower value is better.
    pub fn judged_by(history: &RunHistory) -> Option<MetricInfo> {
        history.evaluated().into_iter().find(|info| info.better == Better::Lower)
    }

    /// A figure of a metric of several runs, a curve for each.
    pub fn trainings(title: &str, over: TimeAxis, metric: &MetricInfo, runs: &[TrainedRun]) -> Figure {
        let curve = |run: &'_ TrainedRun| metric.metric().map(|metric| over.points(&run.history.curve(metric)));
        let points: Vec<Vec<[f64; 2]>> = runs.iter().map(|run| curve(run).unwrap_or_default()).collect();
        let last = points.iter().flatten().map(|[x, _]| *x).fold(0.0, f64::max);
        let (label, unit) = over.axis(last);
        let scale = metric_scale(metric, metric.scale == MetricScale::Log);
        let lines = points.iter().map(|points| pieces(points, unit, scale)).enumerate();
        let lines = lines.filter(|(_, line)| !line.is_empty());
        let curves: Vec<CurveLines> = lines.map(|(index, line)| CurveLines::new(index, line)).collect();
        let times = curves.iter().flat_map(|curve| curve.line.iter().flatten()).map(|[x, _]| [*x; 2]);
        let horizontal = across(times.reduce(union));
        let range = y_in_view(horizontal, curves.iter(), Fit::Sensible(ceiling(metric, runs, scale), scale));
        let vertical = CurveAxis::vertical(metric, scale, range);
        let mut figure = Figure::curves(Curves {
            title: title.to_owned(),
            specs: runs.iter().map(|run| run.config.clone()).collect(),
            names: runs.iter().map(|run| (run.label.clone(), run.pen)).collect(),
            horizontal: CurveAxis::linear(label, horizontal),
            plots: vec![CurvePlot { vertical, curves, dashes_ties: false }],
            marks: Vec::new(),
        });
        figure.legend.extend(notes(runs));
        figure
    }
}

impl TimeAxis {
    /// The points of a curve; those without a position on the axis are left out.
    fn points(self, curve: &MetricCurve<'_>) -> Vec<[f64; 2]> {
        let x = |index: usize| match self {
            TimeAxis::Steps => curve.step[index] as f64,
            TimeAxis::Time => curve.wall_s[index],
        };
        (0..curve.len()).map(|index| [x(index), curve.value[index]]).filter(|[x, _]| x.is_finite()).collect()
    }

    /// The axis' label, and the unit that its numbers count, for values up to `last`.
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

/// The positions above which a loss is that of a diverged training, where a run is known from its beginning.
fn ceiling(metric: &MetricInfo, runs: &[TrainedRun], scale: AxisScale) -> Option<Ceiling> {
    let whole = || runs.iter().filter(|run| run.history.forked().is_none());
    let initial = |metric| whole().filter_map(move |run| run.history.curve(metric).value.first().copied());
    // The first training loss precedes the first evaluation, and usually a divergence.
    let of_training = Ceiling::of_losses(initial(MetricId::LOSS), scale);
    of_training.or_else(|| Ceiling::of_losses(initial(metric.metric()?), scale))
}

/// The points as positions on the axes, split at values without a position. Where a curve ends with such a value, its
/// last piece is empty; without any position there is no piece.
fn pieces(points: &[[f64; 2]], unit: f64, scale: AxisScale) -> Vec<Vec<[f64; 2]>> {
    let placed: Vec<[f64; 2]> = points.iter().map(|[x, value]| [x / unit, scale.position(*value)]).collect();
    let pieces = placed.split(|[_, y]| !y.is_finite()).filter(|piece| !piece.is_empty());
    let mut pieces: Vec<Vec<[f64; 2]>> = pieces.map(<[_]>::to_vec).collect();
    let ends_early = placed.last().is_some_and(|[_, y]| !y.is_finite()) && !pieces.is_empty();
    pieces.extend(ends_early.then(Vec::new));
    pieces
}

/// Notes on the training data of the runs, where these are synthetic.
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

/// The part of the axis of steps within which changed settings share a mark.
const NEAR: f64 = 0.02;

/// The plots of a run and their options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPlots {
    /// The plots, in their order.
    #[serde(rename = "shown")]
    pub metrics: Vec<DiagnosticMetric>,
    /// The metrics on a logarithmic axis.
    pub log: BTreeSet<DiagnosticMetric>,
    pub log_steps: bool,
    pub band: Band,
    /// Whether the vertical axes hold all values, those of diverged optimizers too.
    #[serde(default)]
    pub whole_range: bool,
}

impl Default for RunPlots {
    fn default() -> Self {
        use DiagnosticMetric::{AbsV, Depth, EffectiveStep, Loss};
        RunPlots {
            metrics: vec![Loss, Depth, AbsV, EffectiveStep],
            log: [AbsV].into(),
            log_steps: false,
            band: Band::default(),
            whole_range: false,
        }
    }
}

impl RunPlots {
    fn horizontal(&self) -> AxisScale {
        if self.log_steps { AxisScale::Log } else { AxisScale::Linear }
    }
}

impl Figure {
    /// A figure of the plots of a run, as far as it has been run. Marks show where a setting was changed, with the
    /// changes below. A metric that the landscape of the preset's own run lacks has no plot.
    pub fn run_plots(trajectories: &Trajectories, plots: &RunPlots) -> Figure {
        let ensembles = trajectories.ensembles(plots.log_steps);
        let scale = plots.horizontal();
        let last = trajectories.step().max(1) as f64;
        let range = if plots.log_steps { [0.0, last.max(10.0).log10()] } else { [0.0, last] };
        let is_side_by_side = trajectories.runs.len() > 1;
        let name = |Ensemble { run, name, .. }: &Ensemble| match is_side_by_side {
            true => format!("{name} ({})", LETTERS[*run]),
            false => name.clone(),
        };
        let names = ensembles.iter().map(name).zip(pens(&ensembles));
        let marks = marks(trajectories, scale, range);
        let lines = |(index, (_, text)): (usize, &(f64, String))| format!("{}: {text}", index + 1);
        let notes: Vec<String> = marks.iter().enumerate().map(lines).collect();
        let mark = |(index, (position, _)): (usize, &(f64, String))| CurveMark {
            position: *position,
            label: (index + 1).to_string(),
        };
        let landscape = &trajectories.spec().landscape;
        let infos = plots.metrics.iter().filter_map(|metric| Some((*metric, metric.info(landscape)?)));
        let mut figure = Figure::curves(Curves {
            title: trajectories.preset.title.clone(),
            specs: vec![trajectories.text()],
            names: names.collect(),
            horizontal: CurveAxis { label: "steps".to_owned(), scale, range },
            plots: infos.map(|(metric, info)| plot(&ensembles, metric, info, plots, range)).collect(),
            marks: marks.iter().enumerate().map(mark).collect(),
        });
        figure.about.programs = vec![format!("{CREATOR}, seed {}", trajectories.spec().seed)];
        let titles =
            trajectories.runs.iter().zip(["solid", "dashed", "dotted", "dash-dotted"]).filter(|_| is_side_by_side);
        let titles = titles.map(|(run, line)| format!("{} ({line})", run.title));
        let notes = note_of_band(trajectories, plots.band).into_iter().chain(titles).chain(notes);
        figure.legend.extend(notes.map(|text| Swatch { color: None, text }));
        figure
    }
}

fn note_of_band(trajectories: &Trajectories, band: Band) -> Option<String> {
    let particles = trajectories.spec().particles.get();
    let spread = match band {
        Band::Deviation => ", ± 1 standard deviation",
        Band::Extremes => ", from the smallest to the largest",
        Band::Hidden => "",
    };
    (particles > 1).then(|| format!("means of {particles} particles{spread}"))
}

/// The positions of changed settings on the axis of steps, with their steps and changes.
fn marks(trajectories: &Trajectories, scale: AxisScale, [from, to]: [f64; 2]) -> Vec<(f64, String)> {
    let mut marks = SettingMarks::default();
    marks.update(&Arc::new(trajectories.simulation().record().clone()));
    // The position of step 0 on a logarithmic axis is infinitely far away.
    let position = |step: u64| scale.position(step as f64).max(from - 1.0);
    let groups = marks.groups(position, NEAR * (to - from));
    let shown = groups.filter_map(|group| {
        let [first, last] = [group.first()?.step, group.last()?.step];
        let steps = match first == last {
            true => format!("step {}", grouped(first)),
            false => format!("steps {} to {}", grouped(first), grouped(last)),
        };
        let changes = text(group, |id| trajectories.spec().name_of(id)).replace('\n', ", ");
        Some((position(first), format!("{steps}, {changes}")))
    });
    shown.filter(|(position, _)| (from..=to).contains(position)).collect()
}

fn plot(runs: &[Ensemble], metric: DiagnosticMetric, info: DiagnosticInfo, plots: &RunPlots, x: Extent) -> CurvePlot {
    let scale = diagnostic_scale(metric, plots.log.contains(&metric), runs.iter().map(|run| &run.history));
    let scales = [plots.horizontal(), scale];
    let curves: Vec<DiagnosticCurve> =
        runs.iter().map(|run| DiagnosticCurve::new(&run.history, metric, plots.band, scales)).collect();
    let range = range_in_view(curves.iter(), metric, scale, x, plots.whole_range);
    let vertical = CurveAxis { label: info.title.into_owned(), scale, range };
    let curves = curves.iter().enumerate().map(|(index, curve)| curve.lines(index)).collect();
    CurvePlot { vertical, curves, dashes_ties: true }
}
