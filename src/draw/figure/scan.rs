//! The figure of a scan: plots of measured values with their errors over the same positions.

use std::sync::Arc;

use egui::{Align, Color32, Pos2, Rect, Stroke, pos2, vec2};
use valleyscope_engine::optimizer::Marker;
use valleyscope_experiments::view::ticks::{Tick, Ticks};
use valleyscope_experiments::view::{AxisScale, Dash, contrasting};

use super::page::{COLUMN_MM, Content, Figure, GAP, LEAST_HEIGHT, MARGIN, NARROWEST_PANEL, WIDE};
use crate::draw::axis::{Axis, LABEL_GAP, Parts, Side, TICK, have_room, minor_values};
use crate::draw::canvas::{Canvas, LINE, area, rgb};
use crate::draw::curves::CURVE_WIDTH;
use crate::draw::map::Swatch;
use crate::draw::scale::{Mark, Scale};
use crate::draw::svg::FigureMetadata;
use crate::sweep::result::scan::{NEGLIGIBLE, ScanResult};

// Lengths in font sizes.
const RADIUS: f32 = 0.26;
const CAP: f32 = 0.28;
const RING: f32 = 0.5;

/// Height over width of the first of several plots below each other, of the others, and of plots side by side.
const ASPECTS: [f32; 3] = [0.66, 0.42, 0.72];
const FEWEST_LABELS: usize = 3;
const BAR_WIDTH: f32 = 0.7;
/// The fraction of a vertical axis that is left free beyond the values at each end.
const FREE: f64 = 0.07;
/// The lowest point of an error bar that extends a logarithmic axis, as a fraction of the value.
const LOWEST_PART: f64 = 0.2;
/// The colour of lines at values that are always in view.
const GUIDE: [u8; 3] = [120; 3];

/// The plots of a scan over one horizontal axis.
#[derive(Clone, Debug)]
pub(crate) struct ScanPlots {
    label: String,
    /// Positions on the horizontal axis, from left to right, with their labels.
    ticks: Vec<(f64, String)>,
    pub plots: Vec<ScanPlot>,
}

#[derive(Clone, Debug)]
pub(crate) struct ScanPlot {
    pub title: Option<String>,
    /// The label of the vertical axis.
    label: String,
    vertical: Vertical,
    series: Vec<Series>,
}

#[derive(Clone, Debug)]
enum Vertical {
    /// A logarithmic axis; a value that is not positive is drawn on the lower edge.
    Log,
    /// A linear axis, with lines, dashed or not, at values that are always in view.
    Linear { guides: Vec<(f64, Dash)> },
}

/// Values of one kind.
#[derive(Clone, Debug)]
struct Series {
    color: [u8; 3],
    marker: Marker,
    /// The measured value at each tick, if known.
    points: Vec<Option<Measured>>,
}

#[derive(Clone, Copy, Debug)]
struct Measured {
    value: f64,
    /// The error to both sides; NaN where it is not known.
    error: f64,
    /// Whether a ring marks the point.
    is_ringed: bool,
}

/// The arrangement of the plots.
struct Arrangement {
    columns: usize,
    /// The width from the left end of a plot's share to its frame.
    left: f32,
    /// The distance between the left ends of neighbouring plots' shares.
    stride: f32,
    width: f32,
}

impl Content for ScanPlots {
    fn draw(&self, canvas: &Canvas, mut y: f32, inner: f32) -> Option<f32> {
        let em = canvas.style.em;
        let Arrangement { columns, left, stride, width } = self.arrange(canvas, inner)?;
        let mut end = y;
        for index in 0..self.plots.len() {
            let (below, column) = (index / columns, index % columns);
            if column == 0 && below > 0 {
                y = end;
            }
            let top = y + if self.is_titled(below, columns) { 1.2 * LINE * em } else { 0.4 * em };
            let x = MARGIN * em + column as f32 * stride + left;
            let panel = area(x, top, width, self.height(index, columns, width, em));
            let is_lowest = index + columns >= self.plots.len();
            end = self.draw_plot(canvas, index, panel, left, is_lowest);
        }
        Some(end)
    }

    fn usual_width_mm(&self) -> f64 {
        COLUMN_MM
    }

    fn draw_key(&self, canvas: &Canvas, from: Pos2, index: usize, color: Color32) {
        let Series { color: own, marker, .. } = self.plots[0].series[index];
        let line = line(canvas, own);
        let end = from + vec2(self.key() * canvas.style.em, 0.0);
        canvas.painter.line_segment([from, end], Stroke::new(CURVE_WIDTH, line));
        canvas.marker(marker, from.lerp(end, 0.5), RADIUS * canvas.style.em, color, line);
    }
}

/// Returns the colour of a series' lines.
fn line(canvas: &Canvas, color: [u8; 3]) -> Color32 {
    rgb(contrasting(color, canvas.style.background))
}

impl ScanPlots {
    fn height(&self, index: usize, columns: usize, width: f32, em: f32) -> f32 {
        let aspect = if columns > 1 { ASPECTS[2] } else { ASPECTS[index.min(1)] };
        (aspect * width).max(LEAST_HEIGHT * em)
    }

    fn is_titled(&self, row: usize, columns: usize) -> bool {
        self.plots.iter().skip(row * columns).take(columns).any(|plot| plot.title.is_some())
    }

    fn arrange(&self, canvas: &Canvas, inner: f32) -> Option<Arrangement> {
        let em = canvas.style.em;
        let columns = if inner >= WIDE * em { self.plots.len().max(1) } else { 1 };
        let gap = GAP * em;
        let share = (inner - (columns - 1) as f32 * gap) / columns as f32;
        let right = 0.3 * em + self.overhang(canvas, share);
        let mut width = 0.8 * share;
        let mut left = 0.0;
        // Labels depend on the size, and the size on the labels.
        for _ in 0..2 {
            let plots = self.plots.iter().enumerate();
            let gutters = plots.map(|(index, plot)| plot.gutter(canvas, self.height(index, columns, width, em)));
            left = gutters.fold(0.0, f32::max);
            width = share - left - right;
        }
        (width >= NARROWEST_PANEL * em).then_some(Arrangement { columns, left, stride: share + gap, width })
    }

    /// Returns the length by which the last tick's label extends beyond a frame that is somewhat narrower than this.
    fn overhang(&self, canvas: &Canvas, width: f32) -> f32 {
        let Some((_, label)) = self.ticks.last() else { return 0.0 };
        let inside = (1.0 - self.position(self.ticks.len() - 1)) as f32 * 0.7 * width;
        (canvas.width(label) / 2.0 - inside).max(0.0)
    }

    /// Returns the position of a tick along the axis, from 0 to 1; half a unit is left free at the ends.
    fn position(&self, index: usize) -> f64 {
        let tick = |index: usize| self.ticks[index].0;
        let (first, last) = (tick(0), tick(self.ticks.len() - 1));
        (tick(index) - first + 0.5) / (last - first + 1.0)
    }

    /// Returns the index of the tick nearest to a position along the axis.
    #[cfg(feature = "app")]
    pub(crate) fn nearest(&self, position: f64) -> Option<usize> {
        let away = |index: &usize| (self.position(*index) - position).abs();
        (0..self.ticks.len()).min_by(|one, other| away(one).total_cmp(&away(other)))
    }

    fn axis(&self, ticks: impl IntoIterator<Item = usize>) -> Axis {
        let mark = |index: usize| Mark { position: self.position(index), label: self.ticks[index].1.clone() };
        Axis { label: self.label.clone(), marks: ticks.into_iter().map(mark).collect(), minor: Vec::new() }
    }

    /// Returns the ticks whose labels have room side by side: each second, third and so on where all are equally far apart,
    /// else all, of which the axis labels as many as there is room for.
    fn labelled(&self, canvas: &Canvas, width: f32) -> Vec<usize> {
        let extent = |index: usize| [self.position(index) as f32 * width, canvas.width(&self.ticks[index].1) / 2.0];
        let count = self.ticks.len();
        let gaps: Vec<f64> = self.ticks.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        if gaps.windows(2).any(|pair| (pair[1] - pair[0]).abs() >= 1e-9) {
            return (0..count).collect();
        }
        let each = |stride: usize| (0..count).step_by(stride).collect::<Vec<_>>();
        let fits = |pair: &[usize]| have_room(extent(pair[0]), extent(pair[1]), canvas.style.em);
        let stride = (1..count).find(|stride| each(*stride).windows(2).all(fits));
        each(stride.unwrap_or(count.max(1)))
    }

    /// Draws a plot into a frame; the label of its vertical axis begins `left` of it. The lowest plots have labels below.
    /// Returns the lower end.
    pub(crate) fn draw_plot(&self, canvas: &Canvas, index: usize, panel: Rect, left: f32, is_lowest: bool) -> f32 {
        let (plot, em) = (&self.plots[index], canvas.style.em);
        if let Some(title) = &plot.title {
            let middle = pos2(panel.center().x, panel.top() - 0.6 * LINE * em);
            canvas.text_within(middle, Align::Center, panel.width(), title);
        }
        self.axis(0..self.ticks.len()).draw(canvas, panel, Side::Bottom, Parts::Ticks);
        plot.draw(canvas, panel, |index| panel.left() + self.position(index) as f32 * panel.width());
        let beside = plot.axis(panel.height(), em);
        beside.draw_label_upright(canvas, panel, panel.left() - left + 0.5 * LINE * em);
        if !is_lowest {
            return panel.bottom() + TICK * em;
        }
        let below = self.axis(self.labelled(canvas, panel.width()));
        below.draw(canvas, panel, Side::Bottom, Parts::Labels);
        below.draw_label_below(canvas, panel);
        panel.bottom() + (TICK + LABEL_GAP + 0.5) * em + 1.6 * LINE * em
    }
}

impl ScanPlot {
    /// Returns the width from the left end of the vertical axis' label to a frame of this height.
    pub(crate) fn gutter(&self, canvas: &Canvas, height: f32) -> f32 {
        let em = canvas.style.em;
        self.axis(height, em).label_width(canvas) + (TICK + 2.0 * LABEL_GAP + LINE) * em
    }

    fn scale(&self) -> Scale {
        let known = || self.series.iter().flat_map(|series| series.points.iter().flatten());
        let error = |point: &Measured| if point.error.is_finite() { point.error } else { 0.0 };
        match &self.vertical {
            Vertical::Log => {
                let ends = known().filter(|point| point.value > 0.0).flat_map(|point| {
                    [(point.value - error(point)).max(LOWEST_PART * point.value), point.value + error(point)]
                });
                let [low, high] = ends.fold([f64::INFINITY, 0.0], |[low, high], end| [low.min(end), high.max(end)]);
                if high == 0.0 {
                    return Scale::log(Vec::new());
                }
                // Marks need a range.
                let free = (FREE * (high / low).ln()).exp().max(1.25);
                Scale::log(vec![low / free, high * free])
            }
            Vertical::Linear { guides } => {
                let ends = known().flat_map(|point| [point.value - error(point), point.value + error(point)]);
                let ends = ends.chain(guides.iter().map(|(value, _)| *value));
                let [low, high] = ends
                    .filter(|end| end.is_finite())
                    .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], end| [low.min(end), high.max(end)]);
                let free = FREE * (high - low);
                if low <= high { Scale::linear(vec![low - free, high + free]) } else { Scale::linear(Vec::new()) }
            }
        }
    }

    fn axis(&self, height: f32, em: f32) -> Axis {
        let scale = self.scale();
        let [low, high] = scale.ends();
        let most = Axis::room(Side::Left, height, em);
        let kind = match self.vertical {
            Vertical::Log => AxisScale::Log,
            Vertical::Linear { .. } => AxisScale::Linear,
        };
        let (mut marks, mut note) = scale.marks(most);
        if kind == AxisScale::Log && marks.len() < FEWEST_LABELS {
            // Less than a decade may hold few of 1, 2 and 5 times the powers of ten.
            let Ticks { ticks, note: left_out } = Ticks::linear(low, high, most.min(5));
            let mark = |tick: Tick| Mark { position: scale.position(tick.value), label: tick.label };
            (marks, note) = (ticks.into_iter().map(mark).collect(), left_out);
        }
        let minor = minor_values(kind, [low, high]).map(|value| scale.position(value)).collect();
        Axis { label: self.label.clone(), marks, minor }.with_note(note)
    }

    /// Draws the values into a frame, each at the horizontal position of its tick, and the vertical axis.
    fn draw(&self, canvas: &Canvas, panel: Rect, x: impl Fn(usize) -> f32) {
        let (scale, em) = (self.scale(), canvas.style.em);
        let height_of = |value: f64| panel.bottom() - part_of(&scale, value) as f32 * panel.height();
        let at = |index: usize, value: f64| pos2(x(index), height_of(value));
        self.axis(panel.height(), em).draw(canvas, panel, Side::Left, Parts::Both);
        if let Vertical::Linear { guides } = &self.vertical {
            for &(value, dash) in guides {
                let ends = [panel.left(), panel.right()].map(|x| pos2(x, height_of(value)));
                canvas.lines(&[ends.to_vec()], Stroke::new(0.6, rgb(GUIDE)), dash);
            }
        }
        for series in &self.series {
            series.draw_lines(canvas, at, panel);
        }
        for series in &self.series {
            let (fill, line) = (rgb(series.color), line(canvas, series.color));
            for (index, point) in series.known() {
                let center = at(index, point.value);
                canvas.marker(series.marker, center, RADIUS * em, fill, line);
                if point.is_ringed {
                    canvas.painter.circle_stroke(center, RING * em, Stroke::new(canvas.style.line.width, line));
                }
            }
        }
        canvas.frame(panel);
    }
}

/// Returns the position of a value along an axis, from 0 to 1, clamped to its ends.
fn part_of(scale: &Scale, value: f64) -> f64 {
    let part = scale.position(value);
    // NaN for a value that is not positive on a logarithmic axis.
    if part.is_nan() { 0.0 } else { part.clamp(0.0, 1.0) }
}

impl Series {
    fn known(&self) -> impl Iterator<Item = (usize, Measured)> {
        self.points.iter().enumerate().filter_map(|(index, point)| Some((index, (*point)?)))
    }

    /// Draws error bars, and the line between neighbouring values, which has gaps where a value is not known.
    fn draw_lines(&self, canvas: &Canvas, at: impl Fn(usize, f64) -> Pos2, panel: Rect) {
        let color = line(canvas, self.color);
        for (index, Measured { value, error, .. }) in self.known().filter(|(_, point)| point.error.is_finite()) {
            let [high, low] = [value + error, value - error].map(|end| at(index, end));
            let cap = |end: Pos2| [-CAP, CAP].map(|side| end + vec2(side * canvas.style.em, 0.0)).to_vec();
            let mut lines = vec![vec![low, high]];
            // An end at the frame lies beyond it, and has no cap.
            lines.extend([low, high].into_iter().filter(|end| end.y > panel.top() && end.y < panel.bottom()).map(cap));
            canvas.lines(&lines, Stroke::new(BAR_WIDTH, color), Dash::Solid);
        }
        let centers = self.points.iter().enumerate().map(|(index, point)| Some(at(index, (*point)?.value)));
        let centers: Vec<Option<Pos2>> = centers.collect();
        let pieces = centers.split(Option::is_none).map(|piece| piece.iter().copied().flatten().collect());
        let pieces: Vec<Vec<Pos2>> = pieces.filter(|piece: &Vec<_>| piece.len() > 1).collect();
        if !pieces.is_empty() {
            canvas.lines(&pieces, Stroke::new(CURVE_WIDTH, color), Dash::Solid);
        }
    }
}

const PERCENT: f64 = 100.0;

impl Figure {
    /// Returns a figure of the best test loss of each optimizer by batch size, with its deviation over replicates (the
    /// paper's Fig. 2c); where Adam and Signum are among them also the improvement of Signum on Adam in %, with its
    /// error, the line at 0 and dashed lines at ±5 % (Fig. 2d).
    pub fn scan(result: &ScanResult) -> Figure {
        Figure { about: about(result), content: Arc::new(ScanPlots::of(result)), legend: legend(result) }
    }
}

impl ScanPlots {
    pub(crate) fn of(result: &ScanResult) -> ScanPlots {
        let axes = &result.axes;
        let mut order: Vec<usize> = (0..axes.batch_sizes.len()).collect();
        order.sort_by_key(|index| axes.batch_sizes[*index]);
        let mut plots = vec![losses(result, &order)];
        plots.extend(improvement(result, &order));
        let sizes = order.iter().map(|index| axes.batch_sizes[*index]);
        let ticks = sizes.map(|size| ((size as f64).log2(), size.to_string())).collect();
        ScanPlots { label: "batch size".to_owned(), ticks, plots }
    }
}

fn losses(result: &ScanResult, order: &[usize]) -> ScanPlot {
    let series = result.colors.iter().zip(&result.markers).enumerate().map(|(index, (color, marker))| {
        let points = order.iter().map(|size| {
            let score = result.scores.get(index, *size)?;
            let is_ringed = result.edge(index, *size).is_some();
            Some(Measured { value: score.mean, error: score.deviation, is_ringed })
        });
        let points = points.collect();
        Series { color: *color, marker: *marker, points }
    });
    ScanPlot { title: None, label: "best test loss".to_owned(), vertical: Vertical::Log, series: series.collect() }
}

fn improvement(result: &ScanResult, order: &[usize]) -> Option<ScanPlot> {
    let [adam, signum] = result.adam_and_signum()?;
    let improvements = result.scores.improvements(adam, signum);
    let points = order.iter().map(|size| {
        let improvement = improvements[*size]?;
        Some(Measured { value: PERCENT * improvement.value, error: PERCENT * improvement.error, is_ringed: false })
    });
    let names = [signum, adam].map(|index| result.axes.optimizers[index].as_str());
    let around = PERCENT * NEGLIGIBLE;
    Some(ScanPlot {
        title: Some(format!("{} over {} (dashed: ±{around} %)", names[0], names[1])),
        label: "improvement (%)".to_owned(),
        vertical: Vertical::Linear {
            guides: vec![(0.0, Dash::Solid), (around, Dash::Dashed), (-around, Dash::Dashed)],
        },
        series: vec![Series { color: result.colors[signum], marker: result.markers[signum], points: points.collect() }],
    })
}

fn legend(result: &ScanResult) -> Vec<Swatch> {
    let names = result.axes.optimizers.iter().zip(&result.colors);
    let mut legend: Vec<Swatch> =
        names.map(|(name, color)| Swatch { color: Some(*color), text: name.clone() }).collect();
    let mut note = |text: String| legend.push(Swatch { color: None, text });
    let (known, all) = (result.known() as u64, result.axes.grid_points());
    if known < all {
        note(format!("so far {known} of {all} points"));
    }
    if result.is_synthetic {
        note(result.data.clone());
    }
    for (edge, _) in result.edges() {
        let sentence = format!("ringed: best η {}", edge.sentence("the learning rates"));
        // Two lines where one has no room for it.
        sentence.splitn(2, ", ").for_each(|part| note(part.to_owned()));
    }
    legend
}

fn about(result: &ScanResult) -> FigureMetadata {
    let parts = [result.program(), result.data.clone()];
    let program = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    FigureMetadata { title: result.title.clone(), programs: vec![program], specs: vec![result.spec.clone()] }
}
