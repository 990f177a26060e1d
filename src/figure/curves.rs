//! Curves in plots over one horizontal axis: of trainings, and of the metrics of a landscape's run.

use std::collections::BTreeSet;
use std::sync::Arc;

use valleyscope_engine::simulation::Bucket;
use valleyscope_experiments::view::range::{Ceiling, CurvePositions, Extent, across, suited, union, whole};
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_experiments::view::{AxisScale, Background, Band, Dash, DiagnosticInfo, DiagnosticMetric, Pen};
use valleyscope_runs::{Better, MetricCurve, MetricId, MetricInfo, MetricScale, RunHistory, Unit};

use super::canvas::{
    Area, Axis, CURVE_WIDTH, Canvas, GAP, LABEL_GAP, LEAST_HEIGHT, LINE, MARGIN, NARROWEST_PANEL, Parts, Side, Stroke,
    TICK, WIDE,
};
use super::files::CREATOR;
use super::trajectories::{RunCurve, Trajectories};
use super::{Content, Figure, FigureMetadata, Swatch, map};
use crate::player::marks::{SettingMarks, text};

/// Height over width of the area of a plot.
const ASPECT: f64 = 0.62;
/// Opacity of the raw curves behind smoothed ones, and of bands.
const FAINT: f64 = 0.3;
const BAND: f64 = 0.2;
/// The colour of marks.
const MARK: [u8; 3] = [150, 90, 0];
/// The part of a plot's height by which a curve may leave it without a mark.
const BEYOND: f64 = 0.25;

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

/// An axis from one position on its scale to another.
#[derive(Clone, Debug)]
pub struct CurveAxis {
    pub label: String,
    pub scale: AxisScale,
    pub range: [f64; 2],
}

#[derive(Clone, Debug)]
pub struct CurvePlot {
    pub vertical: CurveAxis,
    pub curves: Vec<CurveLines>,
}

/// A curve as positions on the axes, split into pieces at missing positions.
#[derive(Clone, Debug)]
pub struct CurveLines {
    /// The index of its name.
    pub index: usize,
    /// The curve before smoothing; empty where it is not smoothed.
    pub raw: Vec<Vec<[f64; 2]>>,
    pub line: Vec<Vec<[f64; 2]>>,
    /// The band: position, lower end and upper end.
    pub band: Vec<[f64; 3]>,
}

impl Figure {
    /// Returns a figure of curves of trainings, each plot with its own vertical axis.
    pub fn curves(curves: Curves) -> Figure {
        let swatch = |(text, pen): &(String, Pen)| Swatch { color: Some(line(*pen)), text: text.clone() };
        let legend = curves.names.iter().map(swatch);
        let about = FigureMetadata {
            title: curves.title.clone(),
            programs: vec![CREATOR.to_owned()],
            specs: curves.specs.clone(),
        };
        Figure { about, legend: legend.collect(), content: Content::Curves(curves) }
    }
}

/// Draws the key of a curve in a legend.
pub(super) fn draw_key(canvas: &mut Canvas, [x, y]: [f64; 2], width: f64, pen: Pen) {
    canvas.path(&[vec![[x, y], [x + width, y]]], Stroke { width: 1.4 * CURVE_WIDTH, ..stroke(pen) });
}

fn line(pen: Pen) -> [u8; 3] {
    pen.color_on(Background::Light)
}

fn stroke(pen: Pen) -> Stroke {
    Stroke { color: line(pen), width: CURVE_WIDTH, dash: pen.dash, opacity: 1.0 }
}

/// Returns the scale of a metric's values.
pub fn metric_scale(metric: &MetricInfo, is_log: bool) -> AxisScale {
    match metric.unit {
        _ if is_log => AxisScale::Log,
        Unit::Fraction => AxisScale::Percent,
        _ => AxisScale::Linear,
    }
}

impl CurveAxis {
    /// Returns the vertical axis of a metric's values.
    pub fn vertical(metric: &MetricInfo, scale: AxisScale, range: [f64; 2]) -> CurveAxis {
        let unit = if scale == AxisScale::Percent { " (%)" } else { "" };
        CurveAxis { label: format!("{}{unit}", metric.title.to_lowercase()), scale, range }
    }

    /// Returns the axis, as it is drawn at a side of a panel of this width or height.
    pub(super) fn at(&self, side: Side, length: f64, em: f64) -> Axis {
        let most = Axis::room(side, length, em);
        let range = self.range.map(|position| self.scale.value(position));
        Axis::new(&self.label, self.scale, range, most, |value| self.part(self.scale.position(value)))
    }

    /// Returns the width from the left end of a vertical axis' label to the frame.
    pub(super) fn gutter(&self, height: f64, em: f64) -> f64 {
        self.at(Side::Left, height, em).label_width(em) + (TICK + 2.0 * LABEL_GAP + LINE) * em
    }

    /// Returns the part of the axis before a position, from 0 to 1.
    pub(super) fn part(&self, position: f64) -> f64 {
        let [low, high] = self.range;
        (position - low) / (high - low)
    }
}

impl Curves {
    /// Draws the plots from `y` downwards. Returns their lower end, or `None` where there is no room for them.
    pub(super) fn draw(&self, canvas: &mut Canvas, mut y: f64, inner: f64, em: f64) -> Option<f64> {
        let columns = if inner >= WIDE * em { self.plots.len().clamp(1, 2) } else { 1 };
        let share = (inner - (columns - 1) as f64 * GAP * em) / columns as f64;
        let left = self.plots.iter().map(|plot| plot.vertical.gutter(height(share, em), em)).fold(0.0, f64::max);
        // The last label extends beyond its plot.
        let right = (self.horizontal.at(Side::Bottom, share - left, em).label_width(em) / 2.0).max(0.3 * em);
        let width = share - left - right;
        if width < NARROWEST_PANEL * em {
            return None;
        }
        for plots in self.plots.chunks(columns) {
            let area = |column: usize| Area {
                x: MARGIN * em + column as f64 * (share + GAP * em) + left,
                y: y + if self.marks.is_empty() { 0.4 * em } else { LINE * em },
                width,
                height: height(share, em),
            };
            for (column, plot) in plots.iter().enumerate() {
                plot.draw(canvas, &self.horizontal, &self.names, area(column), left, em);
                self.draw_marks(canvas, area(column), em);
            }
            y = area(0).bottom() + (TICK + LABEL_GAP + 0.5) * em + 1.8 * LINE * em;
        }
        Some(y)
    }

    fn draw_marks(&self, canvas: &mut Canvas, area: Area, em: f64) {
        for CurveMark { position, label } in &self.marks {
            let x = area.x + self.horizontal.part(*position) * area.width;
            let line = vec![[x, area.y], [x, area.bottom()]];
            canvas.path(&[line], Stroke { color: MARK, width: 0.7, dash: Dash::Dashed, opacity: 1.0 });
            canvas.text_in(MARK, [x, area.y - 0.5 * LINE * em], label);
        }
    }
}

impl CurvePlot {
    /// Draws the plot into a frame, with its axes and their labels; that of the vertical axis begins `left` of the
    /// frame.
    pub(super) fn draw(
        &self,
        canvas: &mut Canvas,
        horizontal: &CurveAxis,
        names: &[(String, Pen)],
        area: Area,
        left: f64,
        em: f64,
    ) {
        let at = |[x, y]: [f64; 2]| {
            // Far outside, the exact position does not matter.
            let part = self.vertical.part(y).clamp(-10.0, 11.0);
            [area.x + horizontal.part(x) * area.width, area.bottom() - part * area.height]
        };
        canvas.clipped(area, |canvas| {
            for curve in &self.curves {
                curve.draw(canvas, names[curve.index].1, at, em);
            }
            for curve in &self.curves {
                let within = |[x, _]: &&[f64; 2]| (0.0..=1.0).contains(&horizontal.part(*x));
                let first = |is_beyond: &dyn Fn(f64) -> bool| {
                    let within = curve.line.iter().flatten().filter(within);
                    within.map(|[x, y]| (x, self.vertical.part(*y))).find(|(_, part)| is_beyond(*part))
                };
                let ends = [
                    (first(&|part| part > 1.0 + BEYOND), area.y, 1.0),
                    (first(&|part| part < -BEYOND), area.bottom(), -1.0),
                ];
                for (beyond, tip, inwards) in ends {
                    let Some((x, _)) = beyond else { continue };
                    let [x, arm] = [area.x + horizontal.part(*x) * area.width, 0.35 * em];
                    let end = tip + inwards * 1.6 * arm;
                    canvas.filled(&[[x, tip], [x + arm, end], [x - arm, end]], line(names[curve.index].1), 1.0);
                }
            }
        });
        canvas.frame(area);
        let below = horizontal.at(Side::Bottom, area.width, em);
        below.draw_marks(canvas, area, Side::Bottom, Parts::Both, em);
        below.draw_label_below(canvas, area, em);
        below.draw_minor_ticks(canvas, area, Side::Bottom, em);
        let beside = self.vertical.at(Side::Left, area.height, em);
        beside.draw_marks(canvas, area, Side::Left, Parts::Both, em);
        beside.draw_minor_ticks(canvas, area, Side::Left, em);
        beside.draw_label_upright(canvas, area, area.x - left + 0.5 * LINE * em);
    }
}

fn height(share: f64, em: f64) -> f64 {
    (ASPECT * share).max(LEAST_HEIGHT * em)
}

impl CurveLines {
    /// Returns the positions by which the range of the vertical axis is chosen.
    pub(crate) fn positions(&self) -> CurvePositions {
        let around = self.band.iter().map(|[_, low, high]| [*low, *high]).collect();
        CurvePositions { around, ..CurvePositions::of_line(&self.line) }
    }

    fn draw(&self, canvas: &mut Canvas, pen: Pen, at: impl Fn([f64; 2]) -> [f64; 2], em: f64) {
        let above = self.band.iter().map(|[x, _, high]| at([*x, *high]));
        let below = self.band.iter().rev().map(|[x, low, _]| at([*x, *low]));
        let around: Vec<[f64; 2]> = above.chain(below).collect();
        if !around.is_empty() {
            canvas.filled(&around, line(pen), BAND);
        }
        let pieces = |pieces: &[Vec<[f64; 2]>]| -> Vec<Vec<[f64; 2]>> {
            pieces.iter().map(|piece| piece.iter().map(|position| at(*position)).collect()).collect()
        };
        if !self.raw.is_empty() {
            canvas.path(
                &pieces(&self.raw),
                Stroke { opacity: FAINT, width: 0.7 * CURVE_WIDTH, dash: Dash::Solid, ..stroke(pen) },
            );
        }
        let drawn = pieces(&self.line);
        canvas.path(&drawn, stroke(pen));
        for piece in &drawn {
            // A single point is drawn as a dot.
            if let [only] = piece[..] {
                canvas.dot(only, 0.16 * em, line(pen));
            }
        }
        // A cross marks the position from which on values are not finite.
        for ends in drawn.windows(2) {
            if let Some([x, y]) = ends[0].last() {
                let arm = 0.3 * em;
                let cross = [[[x - arm, y - arm], [x + arm, y + arm]], [[x - arm, y + arm], [x + arm, y - arm]]];
                canvas.path(&cross.map(|arm| arm.to_vec()), Stroke { dash: Dash::Solid, ..stroke(pen) });
            }
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
        let scale = super::metric_scale(metric, metric.scale == MetricScale::Log);
        let lines = points.iter().map(|points| pieces(points, unit, scale)).enumerate();
        let lines: Vec<(usize, Vec<Vec<[f64; 2]>>)> = lines.filter(|(_, line)| !line.is_empty()).collect();
        let times = lines.iter().flat_map(|(_, line)| line.iter().flatten()).map(|[x, _]| [*x; 2]);
        let horizontal = across(times.reduce(union));
        let positions: Vec<CurvePositions> = lines.iter().map(|(_, line)| CurvePositions::of_line(line)).collect();
        let range = vertical_range(positions, ceiling(metric, runs, scale), scale);
        let vertical = super::CurveAxis::vertical(metric, scale, range);
        let drawn = |(index, line)| super::CurveLines { index, raw: Vec::new(), line, band: Vec::new() };
        let mut figure = Figure::curves(super::Curves {
            title: title.to_owned(),
            specs: runs.iter().map(|run| run.config.clone()).collect(),
            names: runs.iter().map(|run| (run.label.clone(), run.pen)).collect(),
            horizontal: super::CurveAxis { label: label.to_owned(), scale: AxisScale::Linear, range: horizontal },
            plots: vec![super::CurvePlot { vertical, curves: lines.into_iter().map(drawn).collect() }],
            marks: Vec::new(),
        });
        figure.legend.extend(notes(runs));
        figure
    }
}

impl TimeAxis {
    /// Returns the points of a curve; those without a position on the axis are left out.
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

/// Returns the positions above which a loss is that of a diverged training, where a run is known from its beginning.
fn ceiling(metric: &MetricInfo, runs: &[TrainedRun], scale: AxisScale) -> Option<Ceiling> {
    let whole = || runs.iter().filter(|run| run.history.forked().is_none());
    let initial = |metric| whole().filter_map(move |run| run.history.curve(metric).value.first().copied());
    // The first training loss precedes the first evaluation, and usually a divergence.
    let of_training = Ceiling::of_losses(initial(MetricId::LOSS), scale);
    of_training.or_else(|| Ceiling::of_losses(initial(metric.metric()?), scale))
}

/// Returns the range of the curves with these positions, in which those that have diverged do not flatten the others.
fn vertical_range(curves: Vec<CurvePositions>, ceiling: Option<Ceiling>, scale: AxisScale) -> Extent {
    let below = |curve: &CurvePositions| {
        let heights = curve.line.iter().map(|[_, high]| *high);
        let top = ceiling.map_or(f64::INFINITY, |ceiling| ceiling.of_curve(heights));
        CurvePositions { line: curve.line.iter().filter(|[_, high]| *high <= top).copied().collect(), ..curve.clone() }
    };
    let below: Vec<CurvePositions> = curves.iter().map(below).collect();
    suited(if below.iter().all(|curve| curve.line.is_empty()) { &curves } else { &below }, scale)
}

/// Returns the points as positions on the axes, split at values without a position. Where a curve ends with such a value, its last piece
/// is empty; without any position there is no piece.
fn pieces(points: &[[f64; 2]], unit: f64, scale: AxisScale) -> Vec<Vec<[f64; 2]>> {
    let mut pieces: Vec<Vec<[f64; 2]>> = Vec::new();
    let mut is_open = false;
    for [x, value] in points {
        let y = scale.position(*value);
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
fn notes(runs: &[TrainedRun]) -> Vec<map::Swatch> {
    let started = runs.iter().filter_map(|run| run.history.started());
    let mut notes: Vec<map::Swatch> = Vec::new();
    for started in started.filter(|started| started.synthetic) {
        let note = map::Swatch { color: None, text: started.data.clone() };
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// The part of the axis of steps within which changed settings share a mark.
const NEAR: f64 = 0.02;

/// The plots of a run and their options.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPlots {
    /// The plots, in their order.
    pub metrics: Vec<DiagnosticMetric>,
    /// The metrics on a logarithmic axis.
    pub log: BTreeSet<DiagnosticMetric>,
    pub log_steps: bool,
    pub band: Band,
    /// Whether the vertical axes hold all values, those of diverged optimizers too.
    pub whole_range: bool,
}

impl RunPlots {
    fn horizontal(&self) -> AxisScale {
        if self.log_steps { AxisScale::Log } else { AxisScale::Linear }
    }
}

impl Figure {
    /// Returns a figure of the plots of a run, as far as it has been run. Marks show where a setting was changed, with
    /// the changes below. A metric that the landscape of the preset's own run lacks has no plot.
    pub fn run_plots(trajectories: &Trajectories, plots: &RunPlots) -> Figure {
        let runs = trajectories.curves(plots.log_steps);
        let scale = plots.horizontal();
        let last = trajectories.step().max(1) as f64;
        let range = if plots.log_steps { [0.0, last.max(10.0).log10()] } else { [0.0, last] };
        let names = runs.iter().enumerate().map(|(index, run)| {
            let is_alike = |other: &&RunCurve| (other.run, other.color) == (run.run, run.color);
            let pen = Pen::new(run.color, runs[..index].iter().filter(is_alike).count());
            (run.name.clone(), if run.run == 0 { pen } else { pen.dashed(Dash::SIDE_BY_SIDE[run.run]) })
        });
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
            title: trajectories.title().to_owned(),
            specs: vec![trajectories.text()],
            names: names.collect(),
            horizontal: CurveAxis { label: "steps".to_owned(), scale, range },
            plots: infos.map(|(metric, info)| plot(&runs, metric, info, plots)).collect(),
            marks: marks.iter().enumerate().map(mark).collect(),
        });
        figure.about.programs = vec![format!("{CREATOR}, seed {}", trajectories.spec().seed)];
        figure.legend.extend(note_of_band(trajectories, plots.band).map(|text| map::Swatch { color: None, text }));
        figure.legend.extend(notes.into_iter().map(|text| map::Swatch { color: None, text }));
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

/// Returns the positions of changed settings on the axis of steps, with their steps and changes.
fn marks(trajectories: &Trajectories, scale: AxisScale, [from, to]: [f64; 2]) -> Vec<(f64, String)> {
    let mut marks = SettingMarks::default();
    marks.update(&Arc::new(trajectories.record()));
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

fn plot(runs: &[RunCurve], metric: DiagnosticMetric, info: DiagnosticInfo, plots: &RunPlots) -> CurvePlot {
    let stays = |run: &&RunCurve| run.history.last().is_none_or(|bucket| bucket.diverged == 0);
    let any_stays = runs.iter().any(|run| stays(&run));
    let counts = |run: &&RunCurve| !any_stays || stays(run);
    let scale = match (plots.log.contains(&metric), metric.is_positive()) {
        (false, _) => AxisScale::Linear,
        (true, true) => AxisScale::Log,
        (true, false) => {
            let means = runs.iter().filter(counts).flat_map(|run| &run.history).map(|bucket| metric.value(bucket).mean);
            AxisScale::symlog_for(means)
        }
    };
    let curves: Vec<CurveLines> = runs
        .iter()
        .enumerate()
        .map(|(index, run)| lines(index, &run.history, metric, plots.band, [plots.horizontal(), scale]))
        .collect();
    // A curve that runs away while others do not would flatten them.
    let counting = curves.iter().filter(|curve| plots.whole_range || counts(&&runs[curve.index]));
    let positions: Vec<CurvePositions> = counting.map(CurveLines::positions).collect();
    let range = if plots.whole_range { whole(&positions) } else { suited(&positions, scale) };
    let range = if scale == AxisScale::Linear { metric.range(range) } else { range };
    let vertical = CurveAxis { label: info.title.into_owned(), scale, range };
    CurvePlot { vertical, curves }
}

/// Returns the curve of a metric as positions on the axes, split where it has none.
fn lines(
    index: usize,
    history: &[Bucket],
    metric: DiagnosticMetric,
    band: Band,
    [horizontal, vertical]: [AxisScale; 2],
) -> CurveLines {
    let means = history.iter().map(|bucket| metric.value(bucket).mean_low).filter(|mean| *mean > 0.0);
    let floor = vertical.position(means.fold(f64::INFINITY, f64::min));
    let (mut line, mut ends, mut is_open) = (Vec::<Vec<[f64; 2]>>::new(), Vec::new(), false);
    for bucket in history {
        let value = metric.value(bucket);
        let middle = bucket.first_step as f64 + 0.5 * bucket.steps.saturating_sub(1) as f64;
        let [x, y] = [horizontal.position(middle), vertical.position(value.mean)];
        if !(x.is_finite() && y.is_finite()) {
            is_open &= !x.is_finite();
            continue;
        }
        if !is_open {
            line.push(Vec::new());
            is_open = true;
        }
        if let Some(piece) = line.last_mut() {
            piece.push([x, y]);
        }
        // An end of the band without a position on a logarithmic axis goes to the lowest mean.
        let position = |end: f64| Some(vertical.position(end)).filter(|position| position.is_finite()).unwrap_or(floor);
        ends.extend(band.of(&value).map(|[low, high]| [x, position(low), position(high)]));
    }
    if !is_open && !line.is_empty() {
        // An empty last piece marks where the curve ends early.
        line.push(Vec::new());
    }
    CurveLines { index, raw: Vec::new(), line, band: ends }
}
