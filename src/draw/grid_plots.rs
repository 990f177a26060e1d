//! The plots of a grid of trainings: results with their errors over a setting.

use egui::{Align, Color32, Pos2, Rect, Stroke, pos2, vec2};
use valleyscope_engine::optimizer::Marker;
use valleyscope_engine::setting::LEARNING_RATE;
use valleyscope_experiments::view::range::{Extent, union, with_margin};
use valleyscope_experiments::view::{AxisScale, Dash, contrasting};

use super::axis::{Axis, LABEL_GAP, Parts, Side, TICK, have_room};
use super::canvas::{Canvas, LINE, rgb};
use super::curves::{BAND, CURVE_WIDTH, CurveAxis, band_shape};
use super::scale::Mark;
use crate::runs::{GridCurve, GridMean, GridResult};

// Lengths in font sizes.
const RADIUS: f32 = 0.26;
const RING: f32 = 0.5;

/// The lowest point of a band that extends a logarithmic axis, as a fraction of the value.
const LOWEST_PART: f64 = 0.2;
/// The colour of lines at values that are always in view.
const GUIDE: [u8; 3] = [120; 3];
/// An improvement closer to 0 than this counts as none, in %.
const NEGLIGIBLE: f64 = 5.0;
const PERCENT: f64 = 100.0;

/// The plots of a grid over one horizontal axis.
#[derive(Clone, Debug)]
pub(crate) struct GridPlots {
    label: String,
    /// Positions on the horizontal axis, from left to right, with their labels.
    pub ticks: Vec<(f64, String)>,
    pub plots: Vec<GridPlot>,
}

#[derive(Clone, Debug)]
pub(crate) struct GridPlot {
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
    /// Whether lines join the values, as the axis has numbers.
    is_joined: bool,
    /// The value at each tick, if known.
    points: Vec<Option<Measured>>,
}

#[derive(Clone, Copy, Debug)]
struct Measured {
    value: f64,
    /// The error to both sides; NaN where it is not known.
    error: f64,
    /// Whether a ring marks the point as the best of its curve.
    is_best: bool,
    /// The sign above a point whose setting is the best at the end of those tried.
    edge: &'static str,
}

impl GridPlots {
    pub(crate) fn of(result: &GridResult) -> GridPlots {
        let plots = std::iter::once(results(result)).chain(improvement(result)).collect();
        GridPlots { label: result.x.word(), ticks: result.ticks.clone(), plots }
    }
}

fn results(result: &GridResult) -> GridPlot {
    let series = result.curves.iter().map(|curve| {
        let points = curve.points.iter().enumerate().map(|(index, point)| {
            let point = point.as_ref()?;
            let is_best = curve.best == Some(index);
            let edge = point.edge.or_else(|| result.edge_of(curve).filter(|_| is_best && result.best_over.is_none()));
            let edge = edge.map_or("", |edge| edge.mark().trim_end());
            // What has diverged is at the upper edge.
            let value = if point.mean.is_nan() { f64::INFINITY } else { point.mean };
            Some(Measured { value, error: point.error(), is_best, edge })
        });
        let is_joined = result.x.format.is_number();
        Series { color: curve.color, marker: curve.marker, is_joined, points: points.collect() }
    });
    let series: Vec<Series> = series.collect();
    let is_positive = series.iter().flat_map(Series::known).all(|(_, point)| point.value > 0.0 || point.value.is_nan());
    let scale = if is_positive { AxisScale::Log } else { AxisScale::Linear };
    GridPlot::new(None, &result.result.title, scale, Vec::new(), series)
}

/// The improvement of Signum on Adam by (A − S)/A with the error √[(S²/A⁴) σ_A² + σ_S²/A²], if both are in the grid and
/// the axis is not the learning rate.
fn improvement(result: &GridResult) -> Option<GridPlot> {
    let [adam, signum] = result.adam_and_signum().filter(|_| result.x.field != LEARNING_RATE.key)?;
    let of = |(adam, signum): (&Option<GridMean>, &Option<GridMean>)| {
        let (adam, signum) = (adam.as_ref()?, signum.as_ref()?);
        let value = (adam.mean - signum.mean) / adam.mean;
        let by_adam = signum.mean / (adam.mean * adam.mean) * adam.deviation;
        let error = by_adam.hypot(signum.deviation / adam.mean);
        let improvement = Measured { value: PERCENT * value, error: PERCENT * error, is_best: false, edge: "" };
        Some(improvement).filter(|_| value.is_finite())
    };
    let points: Vec<Option<Measured>> = adam.points.iter().zip(&signum.points).map(of).collect();
    points.iter().find(|point| point.is_some())?;
    let title = format!("{} over {} (dashed: ±{NEGLIGIBLE} %)", signum.name, adam.name);
    let guides = vec![(0.0, Dash::Solid), (NEGLIGIBLE, Dash::Dashed), (-NEGLIGIBLE, Dash::Dashed)];
    let GridCurve { color, marker, .. } = *signum;
    let series = vec![Series { color, marker, is_joined: result.x.format.is_number(), points }];
    Some(GridPlot::new(Some(title), "improvement (%)", AxisScale::Linear, guides, series))
}

fn line_color(canvas: &Canvas, color: [u8; 3]) -> Color32 {
    rgb(contrasting(color, canvas.style.background))
}

impl GridPlots {
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
    pub(crate) fn nearest(&self, position: f64) -> Option<usize> {
        let away = |index: &usize| (self.position(*index) - position).abs();
        (0..self.ticks.len()).min_by(|one, other| away(one).total_cmp(&away(other)))
    }

    /// Lists the values of a plot with their errors, at each tick.
    pub(crate) fn values_text(&self, plot: usize) -> String {
        let text = |(index, point): (usize, Measured)| {
            let error = if point.error.is_finite() { format!(" ± {:.1}", point.error) } else { String::new() };
            format!("{}: {:.1}{error}", self.ticks[index].1, point.value)
        };
        let series =
            self.plots[plot].series.iter().map(|series| series.known().map(text).collect::<Vec<_>>().join(", "));
        series.collect::<Vec<_>>().join("; ")
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

impl GridPlot {
    /// Makes a plot with a vertical axis that shows all values with their errors, and the guides.
    fn new(
        title: Option<String>,
        label: &str,
        scale: AxisScale,
        guides: Vec<(f64, Dash)>,
        series: Vec<Series>,
    ) -> GridPlot {
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
        GridPlot { title, vertical, guides, series }
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
            series.draw_lines(canvas, at);
        }
        for series in &self.series {
            let (fill, line) = (rgb(series.color), line_color(canvas, series.color));
            for (index, point) in series.known() {
                let center = at(index, point.value);
                canvas.marker(series.marker, center, RADIUS * em, fill, line);
                if point.is_best {
                    canvas.painter.circle_stroke(center, RING * em, Stroke::new(canvas.style.line.width, line));
                }
                if !point.edge.is_empty() {
                    canvas.text(center - vec2(0.0, (RING + 0.5 * LINE) * em), Align::Center, point.edge);
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

    /// Draws bands of errors, and the line between neighbouring values, with gaps where a value is not known.
    fn draw_lines(&self, canvas: &Canvas, at: impl Fn(usize, f64) -> Pos2) {
        let color = line_color(canvas, self.color);
        let known: Vec<(usize, Measured)> = self.known().collect();
        if !self.is_joined {
            let ends = |point: &Measured| [point.value - point.error, point.value + point.error];
            let bars = known.iter().filter(|(_, point)| point.error.is_finite());
            let bars = bars.map(|(index, point)| ends(point).map(|end| at(*index, end)).to_vec()).collect::<Vec<_>>();
            return canvas.lines(&bars, Stroke::new(CURVE_WIDTH, color), Dash::Solid);
        }
        let is_next = |a: &(usize, Measured), b: &(usize, Measured)| {
            b.0 == a.0 + 1 && b.1.error.is_finite() == a.1.error.is_finite()
        };
        for part in known.chunk_by(is_next).filter(|part| part.len() > 1 && part[0].1.error.is_finite()) {
            let ends = part.iter().map(|(index, point)| {
                [point.value - point.error, point.value + point.error].map(|end| at(*index, end))
            });
            canvas.painter.add(band_shape(ends, color.gamma_multiply(BAND)));
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
