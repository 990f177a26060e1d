//! Marks of changed settings, forks and resumes on the curves and their axis.

use egui::{Color32, Theme};
use egui_plot::{MarkerShape, PlotUi};
use valleyscope_runs::{MarkKind, RunMark};

use super::chart::ChartCurve;
use super::pens::color;
use super::track::TrackLook;
use crate::app::plot::point;

/// The distance from the pointer at which a mark is described, in points.
const NEAR: f64 = 8.0;
/// The width of the rim around a mark, in points.
const RIM: f32 = 1.5;

/// Draws the marks of a curve: a triangle on the horizontal axis for each, and a square on the curve for changed
/// settings. `y` is the vertical range.
pub(super) fn draw(plot: &mut PlotUi<'_>, theme: Theme, look: &TrackLook, y: [f64; 2], curve: &ChartCurve<'_>) {
    let color = color(curve.group.pen, theme);
    // A mark has the colour of its curve, on which it would not be visible without a rim.
    let rim = if theme == Theme::Dark { Color32::WHITE } else { Color32::BLACK };
    for mark in &curve.group.drawn.marks {
        let Some([x, height]) = curve.track.place_of_step(look, mark.step) else { continue };
        let mut rimmed = |at, shape, radius| {
            point(plot, at, shape, radius + RIM, rim, y);
            point(plot, at, shape, radius, color, y);
        };
        rimmed([x, y[0]], MarkerShape::Up, 7.0);
        if mark.kind == MarkKind::Changed && height.is_finite() {
            rimmed([x, height], MarkerShape::Square, 4.0);
        }
    }
}

/// Describes the marks of the curves near a place on the horizontal axis, each once. A plot is `width` points wide.
pub(super) fn near(look: &TrackLook, curves: &[ChartCurve<'_>], at: f64, width: f64) -> Vec<String> {
    let reach = NEAR * (look.x[1] - look.x[0]) / width.max(1.0);
    // Where only one curve has marks, its name says nothing.
    let is_named = curves.iter().filter(|curve| !curve.group.drawn.marks.is_empty()).count() > 1;
    let mut found = Vec::new();
    for curve in curves {
        let is_near = |mark: &&RunMark| {
            let place = curve.track.place_of_step(look, mark.step);
            place.is_some_and(|[x, _]| (x - at).abs() <= reach)
        };
        for mark in curve.group.drawn.marks.iter().filter(is_near) {
            let text = described(mark, &if is_named { curve.group.name.whole() } else { String::new() });
            if !found.contains(&text) {
                found.push(text);
            }
        }
    }
    found
}

/// Describes all marks of a curve.
pub(super) fn all(curve: &ChartCurve<'_>) -> impl Iterator<Item = String> {
    let name = curve.group.name.whole();
    curve.group.drawn.marks.iter().map(move |mark| described(mark, &name))
}

/// Describes a mark of a curve with a name, if it is to be named.
fn described(mark: &RunMark, name: &str) -> String {
    let of = if name.is_empty() { String::new() } else { format!("{name}: ") };
    match mark.kind {
        MarkKind::Changed => format!("{of}{} after step {}", mark.words, mark.step),
        MarkKind::Forked | MarkKind::Resumed => format!("{of}{}", mark.words),
    }
}
