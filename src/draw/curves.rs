//! Curves in a plot with axes.

use egui::epaint::{BandPoint, BandShape};
use egui::{Color32, Pos2, Rect, Shape, Stroke, pos2, vec2};
use valleyscope_experiments::view::range::CurvePlaces;
use valleyscope_experiments::view::{AxisScale, Dash, Pen};
use valleyscope_runs::{MetricInfo, Unit};

use super::axis::{Axis, LABEL_GAP, Parts, Side, TICK, ticks};
use super::canvas::{Canvas, LINE, polylines};

/// The width of a curve, in points.
pub(crate) const CURVE_WIDTH: f32 = 1.1;
/// Opacity of the raw curves behind smoothed ones, and of bands.
const FAINT: f32 = 0.3;
const BAND: f32 = 0.2;
/// The part of a plot's height by which a curve may leave it without a mark.
const BEYOND: f64 = 0.25;

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

/// Returns the scale of a metric's values.
pub fn metric_scale(metric: &MetricInfo, is_log: bool) -> AxisScale {
    match metric.unit {
        _ if is_log => AxisScale::Log,
        Unit::Fraction => AxisScale::Percent,
        _ => AxisScale::Linear,
    }
}

impl CurveAxis {
    /// Returns a linear axis.
    pub(crate) fn linear(label: &str, range: [f64; 2]) -> CurveAxis {
        CurveAxis { label: label.to_owned(), scale: AxisScale::Linear, range }
    }

    /// Returns the vertical axis of a metric's values.
    pub fn vertical(metric: &MetricInfo, scale: AxisScale, range: [f64; 2]) -> CurveAxis {
        let unit = if scale == AxisScale::Percent { " (%)" } else { "" };
        CurveAxis { label: format!("{}{unit}", metric.title.to_lowercase()), scale, range }
    }

    /// Returns the axis, as it is drawn at a side of a panel of this width or height.
    pub(crate) fn at(&self, side: Side, length: f32, em: f32) -> Axis {
        let range = self.range.map(|position| self.scale.value(position));
        let ticks = ticks(self.scale, range, Axis::room(side, length, em));
        Axis::over(&self.label, self.scale, range, ticks, |value| self.part(self.scale.place(value)))
    }

    /// Returns the width from the left end of a vertical axis' label to the frame.
    pub(crate) fn gutter(&self, canvas: &Canvas, height: f32) -> f32 {
        let em = canvas.style.em;
        self.at(Side::Left, height, em).label_width(canvas) + (TICK + 2.0 * LABEL_GAP + LINE) * em
    }

    /// Returns how far the last label of a horizontal axis of this width may extend beyond it.
    pub(crate) fn overhang(&self, canvas: &Canvas, width: f32) -> f32 {
        let em = canvas.style.em;
        (self.at(Side::Bottom, width, em).label_width(canvas) / 2.0).max(0.3 * em)
    }

    /// Returns the part of the axis before a position, from 0 to 1.
    pub(crate) fn part(&self, position: f64) -> f64 {
        let [low, high] = self.range;
        (position - low) / (high - low)
    }
}

impl CurvePlot {
    /// Draws the plot into a frame, with its axes and their labels; that of the vertical axis begins `left` of the
    /// frame.
    pub(crate) fn draw(
        &self,
        canvas: &Canvas,
        horizontal: &CurveAxis,
        names: &[(String, Pen)],
        panel: Rect,
        left: f32,
    ) {
        let em = canvas.style.em;
        let inside = canvas.clipped(panel);
        for curve in &self.curves {
            let color = canvas.color(names[curve.index].1);
            curve.draw(&inside, names[curve.index].1.dash, color, |xy| self.at(horizontal, panel, xy));
        }
        for curve in &self.curves {
            let color = canvas.color(names[curve.index].1);
            inside.painter.extend(self.departures(horizontal, curve, panel, em, color));
        }
        canvas.frame(panel);
        let below = horizontal.at(Side::Bottom, panel.width(), em);
        below.draw(canvas, panel, Side::Bottom, Parts::Both);
        below.draw_label_below(canvas, panel);
        let beside = self.vertical.at(Side::Left, panel.height(), em);
        beside.draw(canvas, panel, Side::Left, Parts::Both);
        beside.draw_label_upright(canvas, panel, panel.left() - left + 0.5 * LINE * em);
    }

    /// Returns the point of a position on the axes.
    pub(crate) fn at(&self, horizontal: &CurveAxis, panel: Rect, [x, y]: [f64; 2]) -> Pos2 {
        // Far outside, the exact position does not matter.
        let part = self.vertical.part(y).clamp(-10.0, 11.0);
        let x = panel.left() + horizontal.part(x) as f32 * panel.width();
        pos2(x, panel.bottom() - part as f32 * panel.height())
    }

    /// Returns arrows at the upper and the lower edge where a curve leaves the plot.
    fn departures(
        &self,
        horizontal: &CurveAxis,
        curve: &CurveLines,
        panel: Rect,
        em: f32,
        color: Color32,
    ) -> Vec<Shape> {
        let first = |is_beyond: &dyn Fn(f64) -> bool| {
            let within = curve.line.iter().flatten().filter(|[x, _]| (0.0..=1.0).contains(&horizontal.part(*x)));
            within.map(|[x, y]| (x, self.vertical.part(*y))).find(|(_, part)| is_beyond(*part))
        };
        let ends = [
            (first(&|part| part > 1.0 + BEYOND), panel.top(), 1.0),
            (first(&|part| part < -BEYOND), panel.bottom(), -1.0),
        ];
        let arrow = |(beyond, tip, inwards): (Option<(&f64, f64)>, f32, f32)| {
            let (x, _) = beyond?;
            let [x, arm] = [panel.left() + horizontal.part(*x) as f32 * panel.width(), 0.35 * em];
            let end = tip + inwards * 1.6 * arm;
            let corners = vec![pos2(x, tip), pos2(x + arm, end), pos2(x - arm, end)];
            Some(Shape::convex_polygon(corners, color, Stroke::NONE))
        };
        ends.into_iter().filter_map(arrow).collect()
    }
}

impl CurveLines {
    /// Returns the positions by which the range of the vertical axis is chosen.
    pub(crate) fn positions(&self) -> CurvePlaces {
        let around = self.band.iter().map(|[_, low, high]| [*low, *high]).collect();
        CurvePlaces { around, ..CurvePlaces::of_line(&self.line) }
    }

    fn draw(&self, canvas: &Canvas, dash: Dash, color: Color32, at: impl Fn([f64; 2]) -> Pos2) {
        let (em, stroke) = (canvas.style.em, Stroke::new(CURVE_WIDTH, color));
        if !self.band.is_empty() {
            let ends = self.band.iter().map(|[x, low, high]| [*low, *high].map(|y| at([*x, y])));
            canvas.painter.add(band_shape(ends, color.gamma_multiply(BAND)));
        }
        let pieces = |pieces: &[Vec<[f64; 2]>]| -> Vec<Vec<Pos2>> {
            pieces.iter().map(|piece| piece.iter().map(|position| at(*position)).collect()).collect()
        };
        if !self.raw.is_empty() {
            let faint = Stroke::new(0.7 * CURVE_WIDTH, color.gamma_multiply(FAINT));
            canvas.lines(&pieces(&self.raw), faint, Dash::Solid);
        }
        let drawn = pieces(&self.line);
        canvas.lines(&drawn, stroke, dash);
        for piece in &drawn {
            // A single point is drawn as a dot.
            if let [only] = piece[..] {
                canvas.painter.circle_filled(only, 0.16 * em, color);
            }
        }
        // A cross marks the position from which on values are not finite.
        for end in drawn.windows(2).filter_map(|ends| ends[0].last()) {
            let arms = [vec2(0.3, 0.3), vec2(0.3, -0.3)].map(|arm| vec![*end - em * arm, *end + em * arm]);
            canvas.painter.add(polylines(&arms, stroke, Dash::Solid));
        }
    }
}

/// Returns the area between low and high ends.
pub(crate) fn band_shape(ends: impl Iterator<Item = [Pos2; 2]>, color: Color32) -> Shape {
    let points = ends.map(|[low, high]| BandPoint::new(low.x, high.y..=low.y));
    Shape::Band(BandShape::filled(points.collect(), color))
}

/// Draws the key of a curve in a legend from a point to the right.
pub(crate) fn draw_key(canvas: &Canvas, from: Pos2, width: f32, pen: Pen) {
    let ends = vec![from, from + vec2(width, 0.0)];
    canvas.lines(&[ends], Stroke::new(1.4 * CURVE_WIDTH, canvas.color(pen)), pen.dash);
}
