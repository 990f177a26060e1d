//! The plots of a scan: measured values with their errors over batch sizes.

use egui::{Align, Color32, Pos2, Rect, Stroke, pos2, vec2};
use valleyscope_engine::optimizer::Marker;
use valleyscope_experiments::view::range::{Extent, union, with_margin};
use valleyscope_experiments::view::{AxisScale, Dash, contrasting};

use super::axis::{Axis, LABEL_GAP, Parts, Side, TICK, have_room};
use super::canvas::{Canvas, LINE, rgb};
use super::curves::{CURVE_WIDTH, CurveAxis};
use super::scale::Mark;
use crate::sweep::result::scan::{NEGLIGIBLE, ScanResult};

// Lengths in font sizes.
const RADIUS: f32 = 0.26;
const CAP: f32 = 0.28;
const RING: f32 = 0.5;

const BAR_WIDTH: f32 = 0.7;
/// The lowest point of an error bar that extends a logarithmic axis, as a fraction of the value.
const LOWEST_PART: f64 = 0.2;
/// The colour of lines at values that are always in view.
const GUIDE: [u8; 3] = [120; 3];

/// The plots of a scan over one horizontal axis.
#[derive(Clone, Debug)]
pub(crate) struct ScanPlots {
    label: String,
    /// Positions on the horizontal axis, from left to right, with their labels.
    pub ticks: Vec<(f64, String)>,
    pub plots: Vec<ScanPlot>,
}

#[derive(Clone, Debug)]
pub(crate) struct ScanPlot {
    pub title: Option<String>,
    vertical: CurveAxis,
    /// Lines at values that are always in view.
    guides: Vec<(f64, Dash)>,
    series: Vec<Series>,
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

const PERCENT: f64 = 100.0;

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
    ScanPlot::new(None, "best test loss", AxisScale::Log, Vec::new(), series.collect())
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
    let title = format!("{} over {} (dashed: ±{around} %)", names[0], names[1]);
    let guides = vec![(0.0, Dash::Solid), (around, Dash::Dashed), (-around, Dash::Dashed)];
    let series = Series { color: result.colors[signum], marker: result.markers[signum], points: points.collect() };
    Some(ScanPlot::new(Some(title), "improvement (%)", AxisScale::Linear, guides, vec![series]))
}

fn line_color(canvas: &Canvas, color: [u8; 3]) -> Color32 {
    rgb(contrasting(color, canvas.style.background))
}

impl ScanPlots {
    /// Draws the key of a series in a legend: a piece of its line with its marker.
    pub(super) fn draw_key(&self, canvas: &Canvas, from: Pos2, width: f32, index: usize) {
        let series = &self.plots[0].series[index];
        let (line, end) = (line_color(canvas, series.color), from + vec2(width, 0.0));
        canvas.painter.line_segment([from, end], Stroke::new(CURVE_WIDTH, line));
        canvas.marker(series.marker, from.lerp(end, 0.5), RADIUS * canvas.style.em, rgb(series.color), line);
    }

    /// The position of a tick along the axis, from 0 to 1; half a unit is left free at the ends.
    pub(super) fn position(&self, index: usize) -> f64 {
        let tick = |index: usize| self.ticks[index].0;
        let (first, last) = (tick(0), tick(self.ticks.len() - 1));
        (tick(index) - first + 0.5) / (last - first + 1.0)
    }

    /// The index of the tick nearest to a position along the axis.
    #[cfg(feature = "app")]
    pub(crate) fn nearest(&self, position: f64) -> Option<usize> {
        let away = |index: &usize| (self.position(*index) - position).abs();
        (0..self.ticks.len()).min_by(|one, other| away(one).total_cmp(&away(other)))
    }

    fn axis(&self, ticks: impl IntoIterator<Item = usize>) -> Axis {
        let mark = |index: usize| Mark { position: self.position(index), label: self.ticks[index].1.clone() };
        Axis { label: self.label.clone(), marks: ticks.into_iter().map(mark).collect(), minor: Vec::new() }
    }

    /// The ticks whose labels have room side by side: each second, third and so on where all are equally far apart,
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

    /// Draws a plot into a frame; the label of its vertical axis begins `left` of it. The lowest plots have labels
    /// below. Returns the lower end.
    pub(crate) fn draw_plot(&self, canvas: &Canvas, index: usize, panel: Rect, left: f32, is_lowest: bool) -> f32 {
        let (plot, em) = (&self.plots[index], canvas.style.em);
        if let Some(title) = &plot.title {
            let middle = pos2(panel.center().x, panel.top() - 0.6 * LINE * em);
            canvas.text_within(middle, Align::Center, panel.width(), title);
        }
        self.axis(0..self.ticks.len()).draw(canvas, panel, Side::Bottom, Parts::Ticks);
        plot.draw(canvas, panel, |index| panel.left() + self.position(index) as f32 * panel.width());
        let beside = plot.vertical.at(Side::Left, panel.height(), em);
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
    /// Makes a plot with a vertical axis that shows all values with their errors, and the guides.
    fn new(
        title: Option<String>,
        label: &str,
        scale: AxisScale,
        guides: Vec<(f64, Dash)>,
        series: Vec<Series>,
    ) -> ScanPlot {
        let known = series.iter().flat_map(|series| series.points.iter().flatten());
        let ends = |Measured { value, error, .. }: &Measured| {
            let error = if error.is_finite() { *error } else { 0.0 };
            let low = if scale == AxisScale::Log { (value - error).max(LOWEST_PART * value) } else { value - error };
            [low, value + error].map(|end| scale.position(end))
        };
        let extents = known.map(ends).chain(guides.iter().map(|(value, _)| [*value; 2]));
        let extent: Option<Extent> = extents.filter(|ends| ends.iter().all(|end| end.is_finite())).reduce(union);
        let range = with_margin(extent.map(|extent| (extent, None)).as_slice());
        let vertical = CurveAxis { label: label.to_owned(), scale, range };
        ScanPlot { title, vertical, guides, series }
    }

    /// The width from the left end of the vertical axis' label to a frame of this height.
    pub(crate) fn gutter(&self, canvas: &Canvas, height: f32) -> f32 {
        self.vertical.gutter(canvas, height)
    }

    /// The height of a value on a panel, on its edge where it is beyond; one that is not positive is at the lower edge
    /// of a logarithmic axis.
    fn height_of(&self, panel: Rect, value: f64) -> f32 {
        let part = self.vertical.part(self.vertical.scale.position(value));
        panel.bottom() - if part.is_nan() { 0.0 } else { part.clamp(0.0, 1.0) as f32 } * panel.height()
    }

    /// Draws the values into a frame, each at the horizontal position of its tick, and the vertical axis.
    fn draw(&self, canvas: &Canvas, panel: Rect, x: impl Fn(usize) -> f32) {
        let em = canvas.style.em;
        let at = |index: usize, value: f64| pos2(x(index), self.height_of(panel, value));
        self.vertical.at(Side::Left, panel.height(), em).draw(canvas, panel, Side::Left, Parts::Both);
        for &(value, dash) in &self.guides {
            let ends = [panel.left(), panel.right()].map(|x| pos2(x, self.height_of(panel, value)));
            canvas.lines(&[ends.to_vec()], Stroke::new(0.6, rgb(GUIDE)), dash);
        }
        for series in &self.series {
            series.draw_lines(canvas, at, panel);
        }
        for series in &self.series {
            let (fill, line) = (rgb(series.color), line_color(canvas, series.color));
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

impl Series {
    fn known(&self) -> impl Iterator<Item = (usize, Measured)> {
        self.points.iter().enumerate().filter_map(|(index, point)| Some((index, (*point)?)))
    }

    /// Draws error bars, and the line between neighbouring values, which has gaps where a value is not known.
    fn draw_lines(&self, canvas: &Canvas, at: impl Fn(usize, f64) -> Pos2, panel: Rect) {
        let color = line_color(canvas, self.color);
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
