//! Curves of trainings in plots over one horizontal axis: those that are chosen in the window, or the runs of a preset.

use super::canvas::{Anchor, Area, Canvas, Stroke};
use super::layout::{LABEL_GAP, LINE, MARGIN, MINOR_TICK, NARROWEST_PANEL, TICK, minor_values};
use super::plot::{CURVE_WIDTH, LABEL_SHARE, LEAST_HEIGHT, WIDE};
use super::svg::CREATOR;
use super::{About, Content, Figure, Swatch, font};
use crate::run::{MetricInfo, Unit};
use crate::view::ticks::{Tick, Ticks};
use crate::view::{Background, Dash, Pen};

// Lengths in font sizes.
const ASPECT: f64 = 0.62;
/// Of a horizontal axis for each of its labels.
const LABEL_WIDTH: f64 = 4.0;
/// Between plots beside each other.
const GAP: f64 = 1.2;
/// Opacity of the curves as they are, behind smoothed ones, and of bands.
const FAINT: f64 = 0.3;
const BAND: f64 = 0.2;

/// Curves in plots over one horizontal axis.
#[derive(Clone, Debug)]
pub struct Curves {
    pub title: String,
    /// The presets that repeat the runs.
    pub specs: Vec<String>,
    /// What is drawn, with its line.
    pub names: Vec<(String, Pen)>,
    pub horizontal: CurveAxis,
    pub plots: Vec<CurvePlot>,
}

/// An axis from one place to another: a place is a value, or on a logarithmic axis its decimal logarithm.
#[derive(Clone, Debug)]
pub struct CurveAxis {
    pub label: String,
    pub kind: AxisKind,
    pub range: [f64; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisKind {
    Linear,
    Log,
    /// Of parts of 1, shown in %.
    Percent,
    /// Of seconds since 1970.
    Clock,
}

#[derive(Clone, Debug)]
pub struct CurvePlot {
    pub vertical: CurveAxis,
    pub curves: Vec<CurveLines>,
}

/// A curve in places, in pieces where it has none.
#[derive(Clone, Debug)]
pub struct CurveLines {
    /// Which of the names it belongs to.
    pub index: usize,
    /// Before it was smoothed; empty where it was not.
    pub raw: Vec<Vec<[f64; 2]>>,
    pub line: Vec<Vec<[f64; 2]>>,
    /// Where, how low and how high.
    pub band: Vec<[f64; 3]>,
}

impl Figure {
    /// Curves of trainings, each plot with its own vertical axis.
    pub fn curves(curves: Curves) -> Figure {
        let swatch = |(text, pen): &(String, Pen)| Swatch { color: Some(line(*pen)), text: text.clone() };
        let legend = curves.names.iter().map(swatch);
        let about =
            About { title: curves.title.clone(), programs: vec![CREATOR.to_owned()], specs: curves.specs.clone() };
        Figure { about, legend: legend.collect(), content: Content::Curves(curves) }
    }
}

/// The colour of a curve on paper.
fn line(pen: Pen) -> [u8; 3] {
    pen.color_on(Background::Light)
}

fn stroke(pen: Pen) -> Stroke {
    Stroke { color: line(pen), width: CURVE_WIDTH, dash: pen.dash, opacity: 1.0 }
}

impl AxisKind {
    /// Of a metric's values.
    pub fn of(metric: &MetricInfo, is_log: bool) -> AxisKind {
        match metric.unit {
            _ if is_log => AxisKind::Log,
            Unit::Fraction => AxisKind::Percent,
            _ => AxisKind::Linear,
        }
    }
}

impl CurveAxis {
    /// Of a metric's values.
    pub fn vertical(metric: &MetricInfo, kind: AxisKind, range: [f64; 2]) -> CurveAxis {
        let unit = if kind == AxisKind::Percent { " (%)" } else { "" };
        CurveAxis { label: format!("{}{unit}", metric.title.to_lowercase()), kind, range }
    }

    /// Places with their labels, at most about so many.
    fn marks(&self, most: usize) -> Vec<(f64, String)> {
        let [low, high] = self.range;
        let (ticks, place): (Vec<Tick>, fn(f64) -> f64) = match self.kind {
            AxisKind::Linear => (Ticks::linear(low, high, most).in_full(), |value| value),
            AxisKind::Log => (Ticks::log(10_f64.powf(low), 10_f64.powf(high), most).in_full(), f64::log10),
            AxisKind::Percent => (Ticks::linear(100.0 * low, 100.0 * high, most).in_full(), |value| value / 100.0),
            AxisKind::Clock => (Ticks::clock(low, high, (high - low) / most as f64).ticks, |value| value),
        };
        ticks.into_iter().map(|tick| (place(tick.value), tick.label)).collect()
    }

    /// Places without labels, on a logarithmic axis.
    fn minor_marks(&self) -> Vec<f64> {
        let [low, high] = self.range.map(|place| 10_f64.powf(place));
        if self.kind == AxisKind::Log { minor_values(low, high).map(f64::log10).collect() } else { Vec::new() }
    }

    /// Where a place lies, from 0 to 1.
    fn part(&self, place: f64) -> f64 {
        let [low, high] = self.range;
        (place - low) / (high - low)
    }
}

impl Curves {
    /// The sign of the curve with this index in a legend.
    pub(super) fn draw_key(&self, canvas: &mut Canvas, [x, y]: [f64; 2], width: f64, index: usize) {
        let stroke = Stroke { width: 1.4 * CURVE_WIDTH, ..stroke(self.names[index].1) };
        canvas.path(&[vec![[x, y], [x + width, y]]], stroke);
    }

    /// Draws the plots from `y` downwards. Gives the end, or `None` where there is no room for them.
    pub(super) fn draw(&self, canvas: &mut Canvas, mut y: f64, inner: f64, em: f64) -> Option<f64> {
        let columns = if inner >= WIDE * em { self.plots.len().clamp(1, 2) } else { 1 };
        let share = (inner - (columns - 1) as f64 * GAP * em) / columns as f64;
        let labels = |plot: &CurvePlot| {
            let marks = plot.vertical.marks(rows(height(share, em), em));
            marks.into_iter().map(|(_, label)| font::width(&label, em)).fold(0.0, f64::max)
        };
        let left = self.plots.iter().map(labels).fold(0.0, f64::max) + (TICK + 2.0 * LABEL_GAP + LINE) * em;
        // The last label reaches beyond its plot.
        let labels = self.horizontal.marks(columns_of_labels(share - left, em)).into_iter();
        let right = labels.map(|(_, label)| font::width(&label, em) / 2.0).fold(0.3 * em, f64::max);
        let width = share - left - right;
        if width < NARROWEST_PANEL * em {
            return None;
        }
        for plots in self.plots.chunks(columns) {
            let area = |column: usize| Area {
                x: MARGIN * em + column as f64 * (share + GAP * em) + left,
                y: y + 0.4 * em,
                width,
                height: height(share, em),
            };
            for (column, plot) in plots.iter().enumerate() {
                self.draw_plot(canvas, plot, area(column), left, em);
            }
            y = area(0).bottom() + (TICK + LABEL_GAP + 0.5) * em + 1.8 * LINE * em;
        }
        Some(y)
    }

    fn draw_plot(&self, canvas: &mut Canvas, plot: &CurvePlot, area: Area, left: f64, em: f64) {
        let at = |[x, y]: [f64; 2]| {
            // Far outside it does not matter how far.
            let part = plot.vertical.part(y).clamp(-10.0, 11.0);
            [area.x + self.horizontal.part(x) * area.width, area.bottom() - part * area.height]
        };
        canvas.clipped(area, |canvas| {
            for curve in &plot.curves {
                curve.draw(canvas, self.names[curve.index].1, at, em);
            }
        });
        canvas.frame(area);
        let label_y = area.bottom() + (TICK + LABEL_GAP + 0.5) * em;
        let mut free_from = f64::NEG_INFINITY;
        for (place, label) in self.horizontal.marks(columns_of_labels(area.width, em)) {
            let ([x, _], half) = (at([place, 0.0]), font::width(&label, em) / 2.0);
            canvas.line([x, area.bottom()], [x, area.bottom() + TICK * em]);
            if x - half >= free_from {
                canvas.text([x, label_y], Anchor::Middle, &label);
                free_from = x + half + 0.35 * em;
            }
        }
        canvas.text_within([area.x + area.width / 2.0, label_y + LINE * em], area.width, &self.horizontal.label);
        for place in self.horizontal.minor_marks() {
            let [x, _] = at([place, 0.0]);
            canvas.line([x, area.bottom()], [x, area.bottom() + MINOR_TICK * em]);
        }
        for (place, label) in plot.vertical.marks(rows(area.height, em)) {
            let y = area.bottom() - plot.vertical.part(place) * area.height;
            canvas.line([area.x - TICK * em, y], [area.x, y]);
            canvas.text([area.x - (TICK + LABEL_GAP) * em, y], Anchor::End, &label);
        }
        for place in plot.vertical.minor_marks() {
            let y = area.bottom() - plot.vertical.part(place) * area.height;
            canvas.line([area.x - MINOR_TICK * em, y], [area.x, y]);
        }
        let middle = [area.x - left + 0.5 * LINE * em, area.y + area.height / 2.0];
        canvas.upright_text_within(middle, area.height, &plot.vertical.label);
    }
}

fn height(share: f64, em: f64) -> f64 {
    (ASPECT * share).max(LEAST_HEIGHT * em)
}

/// How many labels a horizontal axis has room for.
fn columns_of_labels(width: f64, em: f64) -> usize {
    ((width / (LABEL_WIDTH * em)) as usize).clamp(2, 9)
}

/// How many labels a vertical axis has room for.
fn rows(height: f64, em: f64) -> usize {
    ((height / (LABEL_SHARE * em)) as usize).clamp(2, 9)
}

impl CurveLines {
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
            // A point alone is no line.
            if let [only] = piece[..] {
                canvas.dot(only, 0.16 * em, line(pen));
            }
        }
        // Where values are not finite any more.
        for ends in drawn.windows(2) {
            if let Some([x, y]) = ends[0].last() {
                let arm = 0.3 * em;
                let cross = [[[x - arm, y - arm], [x + arm, y + arm]], [[x - arm, y + arm], [x + arm, y - arm]]];
                canvas.path(&cross.map(|arm| arm.to_vec()), Stroke { dash: Dash::Solid, ..stroke(pen) });
            }
        }
    }
}
