//! Curves as lines in a plot.

use egui::Theme;
use egui_plot::{FilledArea, MarkerShape, PlotUi, Points};

use super::pens::{color, dash};
use super::track::{Pieces, Track, TrackLook};
use crate::gpu::{CurveSet, CurveStyle};
use crate::view::Pen;
use crate::view::range::with_margin;

/// A track as it is drawn.
pub(super) struct Lines {
    /// Before it was smoothed; empty where it was not.
    pub raw: Pieces,
    pub line: Pieces,
    pub band: Vec<[f64; 3]>,
    /// Where the run was forked from another, whose points are before.
    pub fork: Option<f64>,
}

impl Lines {
    pub(super) fn of(track: &Track, look: &TrackLook) -> Lines {
        let raw = if track.is_smoothed() { track.raw(look) } else { Pieces::new() };
        Lines { raw, line: track.line(look), band: track.band(look), fork: track.fork(look) }
    }
}

/// The smallest range of places that shows the curves; a few that run away do not flatten the others.
pub(super) fn y_in_view<'l>([from, to]: [f64; 2], lines: impl Iterator<Item = &'l Lines>) -> [f64; 2] {
    let extents: Vec<_> = lines
        .filter_map(|lines| {
            let line = seen(&lines.line, [from, to]).map(|y| [y, y]);
            let line = line.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])])?;
            let band =
                lines.band.iter().filter(|point| (from..=to).contains(&point[0])).map(|point| [point[1], point[2]]);
            let around = band.chain(seen(&lines.raw, [from, to]).map(|y| [y, y]));
            Some((line, around.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])])))
        })
        .collect();
    with_margin(&extents)
}

/// The heights of a curve's points in view, and those at which it enters and leaves the view.
fn seen(pieces: &Pieces, [from, to]: [f64; 2]) -> impl Iterator<Item = f64> {
    let inside = pieces.iter().flatten().filter(move |[x, _]| (from..=to).contains(x)).map(|[_, y]| *y);
    let segments = pieces.iter().flat_map(|piece| piece.windows(2));
    let crossings = segments.flat_map(move |ends| {
        let [[x, y], [next_x, next]] = [ends[0], ends[1]];
        let crossed = [from, to].into_iter().filter(move |edge| x < *edge && *edge < next_x);
        crossed.map(move |edge| y + (next - y) * ((edge - x) / (next_x - x)))
    });
    inside.chain(crossings)
}

/// Where curves are drawn when a place is far outside of the view: how far does not matter, and pixels could not count
/// it.
fn near(y: f64, [bottom, top]: [f64; 2]) -> f64 {
    let far = 100.0 * (top - bottom);
    y.clamp(bottom - far, top + far)
}

/// A line without what is far outside of the view; what is left of a segment stays in its place.
fn near_line(line: &[[f64; 2]], view: [f64; 2]) -> Vec<[f64; 2]> {
    let mut kept = Vec::with_capacity(line.len());
    for (index, &[x, y]) in line.iter().enumerate() {
        let end = near(y, view);
        // Where the segments to the neighbours come near.
        let neighbors =
            [index.checked_sub(1), Some(index + 1)].into_iter().flatten().filter_map(|other| line.get(other));
        let crossings = neighbors.filter(|[_, other]| (y - end) * (other - end) < 0.0);
        let crossings = crossings.map(|[other_x, other]| [x + (other_x - x) * ((end - y) / (other - y)), end]);
        let before = kept.len();
        kept.extend(crossings);
        if kept.len() == before {
            kept.push([x, end]);
        }
    }
    kept
}

/// The part of a line before a fork, which is the other run's and paler, and the part after it, with their strengths.
/// They meet in a point.
fn at_fork(line: &[[f64; 2]], fork: Option<f64>) -> [(&[[f64; 2]], f32); 2] {
    const PALE: f32 = 0.65;
    let after = fork.map_or(0, |fork| line.partition_point(|point| point[0] <= fork));
    [(&line[..after], PALE), (&line[after.saturating_sub(1)..], 1.0)]
}

/// What curves are drawn into.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CurveCanvas {
    pub theme: Theme,
    /// The ranges of places in view.
    pub x: [f64; 2],
    pub y: [f64; 2],
    /// In points.
    pub size: [f32; 2],
    pub pixels_per_point: f32,
}

impl CurveCanvas {
    /// The lines of all curves for the GPU: for each the raw one and over it the one that is read.
    pub(super) fn curves<'l>(&self, curves: impl Iterator<Item = (&'l Lines, Pen)>) -> CurveSet {
        let mut set = CurveSet::default();
        for (lines, pen) in curves {
            let own = color(pen, self.theme);
            for (pieces, opacity, dash, width) in [(&lines.raw, 0.3, None, 1.0), (&lines.line, 1.0, dash(pen), 1.6)] {
                for (part, strength) in pieces.iter().flat_map(|piece| at_fork(piece, lines.fork)) {
                    let style = CurveStyle {
                        color: [own.r(), own.g(), own.b()],
                        opacity: strength * opacity,
                        width_px: strength * width * self.pixels_per_point,
                        dash_px: dash.map(|[dash, gap]| [dash, dash + gap].map(|size| size * self.pixels_per_point)),
                    };
                    let size_px = self.size.map(|size| f64::from(size * self.pixels_per_point));
                    set.add(style, size_px, near_line(part, self.y).into_iter().map(|point| self.place(point)));
                }
            }
        }
        set
    }

    /// From 0 to 1 through what is in view.
    fn place(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let share = |at: f64, [from, to]: [f64; 2]| (at - from) / (to - from);
        [share(x, self.x), share(y, self.y)]
    }

    /// The area of a curve's deviations, below all lines.
    pub(super) fn band(&self, plot: &mut PlotUi<'_>, pen: Pen, lines: &Lines) {
        if lines.band.is_empty() {
            return;
        }
        let column = |index: usize| lines.band.iter().map(move |point| point[index]);
        let x: Vec<f64> = column(0).collect();
        let [low, high] = [1, 2].map(|index| column(index).map(|y| near(y, self.y)).collect::<Vec<f64>>());
        let area = FilledArea::new("", &x, &low, &high).fill_color(color(pen, self.theme).gamma_multiply(0.2));
        plot.add(area.allow_hover(false));
    }

    /// A curve's single points, its fork, and where its values are not finite any more, above all lines.
    pub(super) fn marks(&self, plot: &mut PlotUi<'_>, pen: Pen, lines: &Lines) {
        let own = color(pen, self.theme);
        let mut mark = |[x, y]: [f64; 2], shape, radius, color| {
            let mark = Points::new("", [x, near(y, self.y)]).color(color).shape(shape);
            plot.points(mark.radius(radius).allow_hover(false));
        };
        for (pieces, color) in [(&lines.raw, own.gamma_multiply(0.3)), (&lines.line, own)] {
            for piece in pieces {
                if let [only] = piece[..] {
                    mark(only, MarkerShape::Circle, 2.5, color);
                }
            }
        }
        let mut points = lines.line.iter().flatten();
        if let Some(first) = points.find(|point| lines.fork.is_some_and(|fork| point[0] >= fork)) {
            mark(*first, MarkerShape::Diamond, 4.0, own);
        }
        for ends in lines.line.windows(2) {
            if let Some(last) = ends[0].last() {
                mark(*last, MarkerShape::Cross, 4.0, own);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Lines, near_line, y_in_view};

    #[test]
    fn a_view_between_two_points_shows_what_lies_between_them() {
        let of = |line: &[[f64; 2]]| Lines { raw: Vec::new(), line: vec![line.to_vec()], band: Vec::new(), fork: None };
        let sparse = of(&[[0.0, 10.0], [100.0, 20.0], [200.0, 10.0]]);
        let [low, high] = y_in_view([40.0, 60.0], std::iter::once(&sparse));
        assert!((13.0..14.0).contains(&low) && (16.0..17.0).contains(&high), "{low} to {high}");
        let [low, high] = y_in_view([90.0, 150.0], std::iter::once(&sparse));
        assert!((14.0..15.0).contains(&low) && (20.0..21.0).contains(&high), "{low} to {high}");
    }

    #[test]
    fn segments_that_come_from_far_outside_of_the_view_stay_in_their_place() {
        // In view are 0 to 1, and near it −100 to 101.
        let line = [[0.0, 0.5], [1.0, 1000.5], [2.0, 0.5], [3.0, -500.0], [4.0, -600.0]];
        let kept = near_line(&line, [0.0, 1.0]);
        let on =
            |from: [f64; 2], to: [f64; 2], y: f64| [from[0] + (to[0] - from[0]) * (y - from[1]) / (to[1] - from[1]), y];
        let expected = [
            line[0],
            on(line[0], line[1], 101.0),
            on(line[1], line[2], 101.0),
            line[2],
            on(line[2], line[3], -100.0),
            [4.0, -100.0],
        ];
        assert_eq!(kept.len(), expected.len(), "{kept:?}");
        for (kept, expected) in kept.iter().zip(expected) {
            assert!((0..2).all(|axis| (kept[axis] - expected[axis]).abs() < 1e-12), "{kept:?}, not {expected:?}");
        }
    }
}
