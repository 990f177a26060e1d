//! Curves as lines in a plot, with marks of changed settings, forks and resumes; cached while neither they nor the view
//! changes.

use std::collections::HashMap;
use std::sync::Arc;

use egui::{Color32, Theme};
use rayon::prelude::*;
use valleyscope_engine::optimizer::MarkerShape;
use valleyscope_experiments::view::Pen;
use valleyscope_runs::{MarkKind, MetricId, MetricInfo, RunMark};

use super::names::{NamedCurves, color, dash};
use super::track::{Pieces, Track, TrackView};
use crate::app::widgets::plot::{PlotPainter, near_line};
use crate::draw::{CurveAxis, CurveLines, CurvePlot, Fit, y_in_view};
use crate::gpu::{CurveSet, CurveStyle};

/// The lines of a track, in positions.
pub(super) struct Lines {
    pub curve: CurveLines,
    /// The position of the fork from another run, which has the points before.
    pub fork: Option<f64>,
}

impl Lines {
    pub(super) fn of(track: &Track, view: &TrackView) -> Lines {
        let raw = if track.is_smoothed() { track.raw(view) } else { Pieces::new() };
        let curve = CurveLines { index: 0, raw, line: track.line(view), band: track.band(view) };
        Lines { curve, fork: track.fork(view) }
    }
}

/// Splits a line at a fork, in a common point, into the other run's part, which is fainter, and the rest, with their
/// opacities.
fn at_fork(line: &[[f64; 2]], fork: Option<f64>) -> [(&[[f64; 2]], f32); 2] {
    const SHARED_OPACITY: f32 = 0.65;
    let after = fork.map_or(0, |fork| line.partition_point(|point| point[0] <= fork));
    [(&line[..after], SHARED_OPACITY), (&line[after.saturating_sub(1)..], 1.0)]
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CurveCanvas {
    pub theme: Theme,
    /// The ranges of positions in view.
    pub x: [f64; 2],
    pub y: [f64; 2],
    /// The size in points.
    pub size: [f32; 2],
    pub pixels_per_point: f32,
}

impl CurveCanvas {
    /// Makes the lines of all curves for the GPU, each with its opacity: the raw line and over it the main line.
    pub(super) fn curves<'l>(&self, curves: impl Iterator<Item = (&'l Lines, Pen, f32)>) -> CurveSet {
        let mut set = CurveSet::default();
        for (lines, pen, of_curve) in curves {
            let own = color(pen, self.theme);
            for (pieces, opacity, dash, width) in
                [(&lines.curve.raw, 0.3, None, 1.0), (&lines.curve.line, 1.0, dash(pen), 1.6)]
            {
                for (part, strength) in pieces.iter().flat_map(|piece| at_fork(piece, lines.fork)) {
                    let style = CurveStyle {
                        color: [own.r(), own.g(), own.b()],
                        opacity: strength * opacity * of_curve,
                        width_px: strength * width * self.pixels_per_point,
                        dash_px: dash.map(|[dash, gap]| [dash, dash + gap].map(|size| size * self.pixels_per_point)),
                    };
                    let size_px = self.size.map(|size| f64::from(size * self.pixels_per_point));
                    set.add(style, size_px, near_line(part, self.y).into_iter().map(|point| self.part_of_view(point)));
                }
            }
        }
        set
    }

    /// Converts positions to fractions of the view, from 0 to 1.
    fn part_of_view(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let share = |at: f64, [from, to]: [f64; 2]| (at - from) / (to - from);
        [share(x, self.x), share(y, self.y)]
    }

    /// Fills the area of a curve's deviations, below all lines.
    pub(super) fn band(&self, plot: &PlotPainter, pen: Pen, lines: &Lines, opacity: f32) {
        if !lines.curve.band.is_empty() {
            plot.band(lines.curve.band.iter().copied(), color(pen, self.theme).gamma_multiply(0.2 * opacity));
        }
    }

    pub(super) fn leaving(&self, lines: &Lines) -> Option<[f64; 2]> {
        let outside = |[_, y]: &[f64; 2]| !(self.y[0]..=self.y[1]).contains(y);
        self.points_in_view(lines).find(outside)
    }

    /// Lists the points of a curve above, in and below the view.
    pub(super) fn points_in_view<'l>(&self, lines: &'l Lines) -> impl Iterator<Item = [f64; 2]> + use<'l> {
        let [from, to] = self.x;
        lines.curve.line.iter().flatten().filter(move |[x, _]| (from..=to).contains(x)).copied()
    }

    /// Draws marks above all lines: a curve's single points, its fork, the ends before values that are not finite, and
    /// the point nearest to the pointer.
    pub(super) fn marks(&self, plot: &PlotPainter, pen: Pen, lines: &Lines, nearest: Option<[f64; 2]>) {
        let own = color(pen, self.theme);
        for (pieces, color) in [(&lines.curve.raw, own.gamma_multiply(0.3)), (&lines.curve.line, own)] {
            for piece in pieces {
                if let [only] = piece[..] {
                    plot.point(only, MarkerShape::Circle, 2.5, color);
                }
            }
        }
        if let Some(nearest) = nearest.filter(|[x, y]| x.is_finite() && y.is_finite()) {
            plot.point(nearest, MarkerShape::Circle, 3.0, own);
        }
        let mut points = lines.curve.line.iter().flatten();
        if let Some(first) = points.find(|point| lines.fork.is_some_and(|fork| point[0] >= fork)) {
            plot.point(*first, MarkerShape::Diamond, 4.0, own);
        }
        for ends in lines.curve.line.windows(2) {
            if let Some(last) = ends[0].last() {
                plot.point(*last, MarkerShape::Cross, 4.0, own);
            }
        }
    }
}

/// The distance from the pointer at which a mark is described, in points.
const NEAR: f64 = 8.0;
/// The width of the rim around a mark, in points.
const RIM: f32 = 1.5;

/// Draws the marks of a curve: a triangle on the horizontal axis for each, and a square on the curve for changed
/// settings. `y` is the vertical range.
pub(super) fn draw(plot: &PlotPainter, theme: Theme, view: &TrackView, y: [f64; 2], curve: &ChartCurve<'_>) {
    let color = color(curve.group.pen, theme);
    // A mark has the colour of its curve, on which it would not be visible without a rim.
    let rim = if theme == Theme::Dark { Color32::WHITE } else { Color32::BLACK };
    for mark in &curve.group.drawn.marks {
        let Some([x, height]) = curve.track.position_of_step(view, mark.step) else { continue };
        let rimmed = |at, shape, radius| {
            plot.point(at, shape, radius + RIM, rim);
            plot.point(at, shape, radius, color);
        };
        rimmed([x, y[0]], MarkerShape::Triangle, 7.0);
        if mark.kind == MarkKind::Changed && height.is_finite() {
            rimmed([x, height], MarkerShape::Square, 4.0);
        }
    }
}

/// Describes the marks of the curves near a position on the horizontal axis, each once. A plot is `width` points wide.
pub(super) fn near(view: &TrackView, curves: &[ChartCurve<'_>], at: f64, width: f64) -> Vec<String> {
    let reach = NEAR * (view.x[1] - view.x[0]) / width.max(1.0);
    // With marks of a single curve, its name is redundant.
    let is_named = curves.iter().filter(|curve| !curve.group.drawn.marks.is_empty()).count() > 1;
    let mut found = Vec::new();
    for curve in curves {
        let is_near = |mark: &&RunMark| {
            let position = curve.track.position_of_step(view, mark.step);
            position.is_some_and(|[x, _]| (x - at).abs() <= reach)
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

pub(super) fn all(curve: &ChartCurve<'_>) -> impl Iterator<Item = String> {
    let name = curve.group.name.whole();
    curve.group.drawn.marks.iter().map(move |mark| described(mark, &name))
}

fn described(mark: &RunMark, name: &str) -> String {
    let of = if name.is_empty() { String::new() } else { format!("{name}: ") };
    match mark.kind {
        MarkKind::Changed => format!("{of}{} after step {}", mark.label, mark.step),
        MarkKind::Forked | MarkKind::Resumed => format!("{of}{}", mark.label),
    }
}

/// The lines of a curve, its pen, and its opacity.
pub(super) type PennedLines = (Arc<Lines>, Pen, f32);

#[derive(Default)]
pub(super) struct CurveCache {
    lines: HashMap<MetricId, Vec<CachedLines>>,
    sets: HashMap<MetricId, CachedSet>,
}

struct CachedLines {
    track: Arc<Track>,
    view: TrackView,
    lines: Arc<Lines>,
}

struct CachedSet {
    curves: Vec<PennedLines>,
    canvas: CurveCanvas,
    set: Arc<CurveSet>,
}

impl CachedLines {
    fn is_of(&self, track: &Arc<Track>, view: TrackView) -> bool {
        self.view == view && Arc::ptr_eq(&self.track, track)
    }
}

impl CurveCache {
    pub(super) fn retain(&mut self, metrics: &[MetricId]) {
        self.lines.retain(|metric, _| metrics.contains(metric));
        self.sets.retain(|metric, _| metrics.contains(metric));
    }

    /// Makes the lines of a metric's tracks, and drops those of other tracks from the cache.
    pub(super) fn lines(&mut self, metric: MetricId, tracks: &[&Arc<Track>], view: TrackView) -> Vec<Arc<Lines>> {
        let cached = self.lines.entry(metric).or_default();
        let is_same = |(cached, track): (&CachedLines, &&Arc<Track>)| cached.is_of(track, view);
        if cached.len() != tracks.len() || !cached.iter().zip(tracks).all(is_same) {
            let made = tracks.par_iter().map(|track| {
                let known = cached.iter().find(|cached| cached.is_of(track, view));
                let lines = known.map_or_else(|| Arc::new(Lines::of(track, &view)), |known| Arc::clone(&known.lines));
                CachedLines { track: Arc::clone(track), view, lines }
            });
            *cached = made.collect();
        }
        cached.iter().map(|cached| Arc::clone(&cached.lines)).collect()
    }

    /// Makes all curves of a metric for the GPU.
    pub(super) fn set(&mut self, metric: MetricId, curves: Vec<PennedLines>, canvas: CurveCanvas) -> Arc<CurveSet> {
        let is_same = |cached: &CachedSet| {
            let same = |(old, new): (&PennedLines, &PennedLines)| {
                Arc::ptr_eq(&old.0, &new.0) && (old.1, old.2) == (new.1, new.2)
            };
            let old = &cached.curves;
            cached.canvas == canvas && old.len() == curves.len() && old.iter().zip(&curves).all(same)
        };
        if let Some(cached) = self.sets.get(&metric).filter(|cached| is_same(cached)) {
            return Arc::clone(&cached.set);
        }
        let set = Arc::new(canvas.curves(curves.iter().map(|(lines, pen, opacity)| (&**lines, *pen, *opacity))));
        self.sets.insert(metric, CachedSet { curves, canvas, set: Arc::clone(&set) });
        set
    }
}

pub(super) struct ChartCurve<'a> {
    pub group: &'a NamedCurves<'a>,
    pub track: &'a Arc<Track>,
    pub lines: Arc<Lines>,
    /// Less than 1 while the legend's entry of another curve is pointed at.
    pub opacity: f32,
}

#[derive(Clone)]
pub(super) struct PlotExport {
    pub info: MetricInfo,
    pub view: TrackView,
    /// The zoomed vertical range, in positions.
    pub y: Option<[f64; 2]>,
    /// The choice of the range where it is not zoomed.
    pub fit: Fit,
    /// The tracks, each with the index of its name.
    pub tracks: Vec<(usize, Arc<Track>)>,
}

impl PlotExport {
    /// Makes the plot of a figure with the indices of the drawn names.
    pub(super) fn plot(&self, drawn: &[usize]) -> CurvePlot {
        let position = |index| drawn.iter().position(|of| *of == index).expect("it is drawn here");
        let lines = |(index, track): &(usize, Arc<Track>)| CurveLines {
            index: position(*index),
            ..Lines::of(track, &self.view).curve
        };
        let curves: Vec<CurveLines> = self.tracks.iter().map(lines).collect();
        let range = self.y.unwrap_or_else(|| y_in_view(self.view.x, curves.iter(), self.fit));
        CurvePlot { vertical: CurveAxis::vertical(&self.info, self.view.scales[1], range), curves, dashes_ties: false }
    }
}

#[cfg(test)]
mod curve_cache_tests {
    use egui::Theme;

    use super::*;
    use crate::app::training::track::{Horizontal, OfStep};
    use valleyscope_experiments::view::AxisScale;

    const VIEW: TrackView =
        TrackView { horizontal: Horizontal::Step, scales: [AxisScale::Linear; 2], x: [0.0, 1.0], columns: 100 };
    const CANVAS: CurveCanvas =
        CurveCanvas { theme: Theme::Dark, x: [0.0, 1.0], y: [0.0, 1.0], size: [100.0; 2], pixels_per_point: 1.0 };

    fn track() -> Arc<Track> {
        Arc::new(Track::new(OfStep { samples: 1.0, tokens: 0.0 }, 0.0))
    }

    #[test]
    fn lines_are_made_once_for_a_track_and_a_view() {
        let mut cache = CurveCache::default();
        let (a, b) = (track(), track());
        let mut lines = |tracks: &[&Arc<Track>], view| cache.lines(MetricId::LOSS, tracks, view);
        let first = lines(&[&a, &b], VIEW);
        let again = lines(&[&b, &a], VIEW);
        assert!(Arc::ptr_eq(&first[0], &again[1]) && Arc::ptr_eq(&first[1], &again[0]));
        let zoomed = lines(&[&a], TrackView { x: [0.0, 0.5], ..VIEW });
        assert!(!Arc::ptr_eq(&first[0], &zoomed[0]));
        // Tracks that are no longer shown are dropped.
        assert_eq!([Arc::strong_count(&a), Arc::strong_count(&b)], [2, 1]);
        cache.retain(&[MetricId::GRAD_NORM]);
        assert_eq!(Arc::strong_count(&a), 1);
    }

    #[test]
    fn curves_are_remade_when_lines_pens_or_the_view_change() {
        let mut cache = CurveCache::default();
        let lines = cache.lines(MetricId::LOSS, &[&track(), &track()], VIEW);
        let pens = [0, 1].map(|number| Pen::new([255, 0, 0], number));
        let mut set = |curves: &[(usize, usize)], canvas| {
            let curves = curves.iter().map(|(line, pen)| (Arc::clone(&lines[*line]), pens[*pen], 1.0));
            cache.set(MetricId::LOSS, curves.collect(), canvas)
        };
        let first = set(&[(0, 0)], CANVAS);
        assert!(Arc::ptr_eq(&first, &set(&[(0, 0)], CANVAS)));
        let others = [
            (&[(0, 1)][..], CANVAS),
            (&[(1, 0)], CANVAS),
            (&[(0, 0), (1, 1)], CANVAS),
            (&[(0, 0)], CurveCanvas { y: [0.0, 2.0], ..CANVAS }),
            (&[(0, 0)], CurveCanvas { theme: Theme::Light, ..CANVAS }),
        ];
        for (curves, canvas) in others {
            set(&[(0, 0)], CANVAS);
            let before = set(&[(0, 0)], CANVAS);
            assert!(!Arc::ptr_eq(&before, &set(curves, canvas)), "{curves:?} {canvas:?}");
        }
    }
}
