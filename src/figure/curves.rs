//! Curves of trainings in plots over one horizontal axis: those chosen in the window, or the runs of a preset.

use valleyscope_experiments::view::range::CurvePlaces;
use valleyscope_experiments::view::{AxisScale, Background, Dash, Pen};
use valleyscope_runs::{MetricInfo, Unit};

use super::axis::{Axis, Parts, Side};
use super::canvas::{Area, Canvas, Stroke};
use super::style::{CURVE_WIDTH, GAP, LABEL_GAP, LEAST_HEIGHT, LINE, MARGIN, NARROWEST_PANEL, TICK, WIDE};
use super::svg::CREATOR;
use super::{Content, Figure, FigureMetadata, Swatch};

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
    pub place: f64,
    pub label: String,
}

/// An axis from one place on its scale to another.
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

/// A curve in places, split into pieces at missing places.
#[derive(Clone, Debug)]
pub struct CurveLines {
    /// The index of its name.
    pub index: usize,
    /// The curve before smoothing; empty where it is not smoothed.
    pub raw: Vec<Vec<[f64; 2]>>,
    pub line: Vec<Vec<[f64; 2]>>,
    /// The band: place, lower end and upper end.
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

/// Returns the colour of a curve on paper.
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
        let range = self.range.map(|place| self.scale.value(place));
        Axis::new(&self.label, self.scale, range, most, |value| self.part(self.scale.place(value)))
    }

    /// Returns the width from the left end of a vertical axis' label to the frame.
    pub(super) fn gutter(&self, height: f64, em: f64) -> f64 {
        self.at(Side::Left, height, em).label_width(em) + (TICK + 2.0 * LABEL_GAP + LINE) * em
    }

    /// Returns the position of a place, from 0 to 1.
    pub(super) fn part(&self, place: f64) -> f64 {
        let [low, high] = self.range;
        (place - low) / (high - low)
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
        for CurveMark { place, label } in &self.marks {
            let x = area.x + self.horizontal.part(*place) * area.width;
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
    /// Returns the places by which the range of the vertical axis is chosen.
    pub(crate) fn places(&self) -> CurvePlaces {
        let around = self.band.iter().map(|[_, low, high]| [*low, *high]).collect();
        CurvePlaces { around, ..CurvePlaces::of_line(&self.line) }
    }

    fn draw(&self, canvas: &mut Canvas, pen: Pen, at: impl Fn([f64; 2]) -> [f64; 2], em: f64) {
        let above = self.band.iter().map(|[x, _, high]| at([*x, *high]));
        let below = self.band.iter().rev().map(|[x, low, _]| at([*x, *low]));
        let around: Vec<[f64; 2]> = above.chain(below).collect();
        if !around.is_empty() {
            canvas.filled(&around, line(pen), BAND);
        }
        let pieces = |pieces: &[Vec<[f64; 2]>]| -> Vec<Vec<[f64; 2]>> {
            pieces.iter().map(|piece| piece.iter().map(|place| at(*place)).collect()).collect()
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
        // A cross marks the place from which on values are not finite.
        for ends in drawn.windows(2) {
            if let Some([x, y]) = ends[0].last() {
                let arm = 0.3 * em;
                let cross = [[[x - arm, y - arm], [x + arm, y + arm]], [[x - arm, y + arm], [x + arm, y - arm]]];
                canvas.path(&cross.map(|arm| arm.to_vec()), Stroke { dash: Dash::Solid, ..stroke(pen) });
            }
        }
    }
}
