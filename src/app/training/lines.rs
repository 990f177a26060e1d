//! Curves as lines in a plot.

use egui::Theme;
use egui_plot::{MarkerShape, PlotUi};
use valleyscope_experiments::view::range::{Ceiling, CurvePlaces, Extent, suited, whole};
use valleyscope_experiments::view::{AxisScale, Pen};

use super::pens::{color, dash};
use super::track::{Pieces, Track, TrackLook};
use crate::app::plot::{band, near_line, point};
use crate::gpu::{CurveSet, CurveStyle};

/// The lines of a track, in places.
pub(super) struct Lines {
    /// The line before smoothing; empty without smoothing.
    pub raw: Pieces,
    pub line: Pieces,
    pub band: Vec<[f64; 3]>,
    /// The place of the fork from another run, which has the points before.
    pub fork: Option<f64>,
}

impl Lines {
    pub(super) fn of(track: &Track, look: &TrackLook) -> Lines {
        let raw = if track.is_smoothed() { track.raw(look) } else { Pieces::new() };
        Lines { raw, line: track.line(look), band: track.band(look), fork: track.fork(look) }
    }

    /// Returns the places in view of the main line, and of the raw line and the band around it, below a ceiling.
    fn places(&self, [from, to]: [f64; 2], ceiling: Option<Ceiling>) -> CurvePlaces {
        let line = || visible_heights(&self.line, [from, to]).map(|y| [y, y]);
        let band =
            || self.band.iter().filter(|point| (from..=to).contains(&point[0])).map(|point| [point[1], point[2]]);
        let around = || band().chain(visible_heights(&self.raw, [from, to]).map(|y| [y, y]));
        let highest = || line().chain(around()).map(|[_, high]| high);
        let top = ceiling.map_or(f64::INFINITY, |ceiling| ceiling.of_curve(highest()));
        let below = |extent: &Extent| extent[1] <= top;
        let end = CurvePlaces::of_line(&self.line).end;
        CurvePlaces { line: line().filter(below).collect(), around: around().filter(below).collect(), end }
    }
}

/// The choice of the vertical range of a plot that is not zoomed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fit {
    /// The whole range of the curves.
    Everything,
    /// The range of most curves below the ceiling, on an axis of this scale: a few that run away, and on a logarithmic
    /// axis a few values far below, do not flatten the others.
    Sensible(Option<Ceiling>, AxisScale),
}

/// Returns the smallest range of places that shows the curves as far as `fit` includes them.
pub(super) fn y_in_view<'l>(x: [f64; 2], lines: impl Iterator<Item = &'l Lines> + Clone, fit: Fit) -> [f64; 2] {
    let places = |ceiling: Option<Ceiling>| -> Vec<_> { lines.clone().map(|lines| lines.places(x, ceiling)).collect() };
    match fit {
        Fit::Everything => whole(&places(None)),
        Fit::Sensible(ceiling, scale) => {
            let below = places(ceiling);
            // A view of diverged parts alone shows them.
            let is_empty = below.iter().all(|places| places.line.is_empty());
            suited(&if is_empty { places(None) } else { below }, scale)
        }
    }
}

/// Returns the heights of a curve's points in view, and those at which it enters and leaves the view.
fn visible_heights(pieces: &Pieces, [from, to]: [f64; 2]) -> impl Iterator<Item = f64> {
    let inside = pieces.iter().flatten().filter(move |[x, _]| (from..=to).contains(x)).map(|[_, y]| *y);
    let segments = pieces.iter().flat_map(|piece| piece.windows(2));
    let crossings = segments.flat_map(move |ends| {
        let [[x, y], [next_x, next]] = [ends[0], ends[1]];
        let crossed = [from, to].into_iter().filter(move |edge| x < *edge && *edge < next_x);
        crossed.map(move |edge| y + (next - y) * ((edge - x) / (next_x - x)))
    });
    inside.chain(crossings)
}

/// Splits a line at a fork, in a common point, into the other run's part, which is paler, and the rest, with their
/// strengths.
fn at_fork(line: &[[f64; 2]], fork: Option<f64>) -> [(&[[f64; 2]], f32); 2] {
    const PALE: f32 = 0.65;
    let after = fork.map_or(0, |fork| line.partition_point(|point| point[0] <= fork));
    [(&line[..after], PALE), (&line[after.saturating_sub(1)..], 1.0)]
}

/// The area into which curves are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CurveCanvas {
    pub theme: Theme,
    /// The ranges of places in view.
    pub x: [f64; 2],
    pub y: [f64; 2],
    /// The size in points.
    pub size: [f32; 2],
    pub pixels_per_point: f32,
}

impl CurveCanvas {
    /// Returns the lines of all curves for the GPU, each with its opacity: the raw line and over it the main line.
    pub(super) fn curves<'l>(&self, curves: impl Iterator<Item = (&'l Lines, Pen, f32)>) -> CurveSet {
        let mut set = CurveSet::default();
        for (lines, pen, of_curve) in curves {
            let own = color(pen, self.theme);
            for (pieces, opacity, dash, width) in [(&lines.raw, 0.3, None, 1.0), (&lines.line, 1.0, dash(pen), 1.6)] {
                for (part, strength) in pieces.iter().flat_map(|piece| at_fork(piece, lines.fork)) {
                    let style = CurveStyle {
                        color: [own.r(), own.g(), own.b()],
                        opacity: strength * opacity * of_curve,
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

    /// Converts places to shares of the view, from 0 to 1.
    fn place(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let share = |at: f64, [from, to]: [f64; 2]| (at - from) / (to - from);
        [share(x, self.x), share(y, self.y)]
    }

    /// Fills the area of a curve's deviations, below all lines.
    pub(super) fn band(&self, plot: &mut PlotUi<'_>, pen: Pen, lines: &Lines, opacity: f32) {
        if lines.band.is_empty() {
            return;
        }
        band(plot, lines.band.iter().copied(), color(pen, self.theme).gamma_multiply(0.2 * opacity), self.y);
    }

    /// Returns the point where a curve leaves the view, if it does.
    pub(super) fn leaving(&self, lines: &Lines) -> Option<[f64; 2]> {
        let outside = |[_, y]: &[f64; 2]| !(self.y[0]..=self.y[1]).contains(y);
        self.points_in_view(lines).find(outside)
    }

    /// Returns the points of a curve above, in and below the view.
    pub(super) fn points_in_view<'l>(&self, lines: &'l Lines) -> impl Iterator<Item = [f64; 2]> + use<'l> {
        let [from, to] = self.x;
        lines.line.iter().flatten().filter(move |[x, _]| (from..=to).contains(x)).copied()
    }

    /// Draws marks above all lines: a curve's single points, its fork, the ends before values that are not finite, and
    /// the point nearest to the pointer.
    pub(super) fn marks(&self, plot: &mut PlotUi<'_>, pen: Pen, lines: &Lines, nearest: Option<[f64; 2]>) {
        let own = color(pen, self.theme);
        let mut mark = |at, shape, radius, color| point(plot, at, shape, radius, color, self.y);
        for (pieces, color) in [(&lines.raw, own.gamma_multiply(0.3)), (&lines.line, own)] {
            for piece in pieces {
                if let [only] = piece[..] {
                    mark(only, MarkerShape::Circle, 2.5, color);
                }
            }
        }
        if let Some(nearest) = nearest.filter(|[x, y]| x.is_finite() && y.is_finite()) {
            mark(nearest, MarkerShape::Circle, 3.0, own);
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
    use super::{Fit, Lines, y_in_view};
    use valleyscope_experiments::view::AxisScale;
    use valleyscope_experiments::view::range::Ceiling;

    fn of(line: &[[f64; 2]]) -> Lines {
        Lines { raw: Vec::new(), line: vec![line.to_vec()], band: Vec::new(), fork: None }
    }

    #[test]
    fn a_view_between_two_points_shows_what_lies_between_them() {
        let sparse = of(&[[0.0, 10.0], [100.0, 20.0], [200.0, 10.0]]);
        let [low, high] = y_in_view([40.0, 60.0], std::iter::once(&sparse), Fit::Sensible(None, AxisScale::Linear));
        assert!((13.0..14.0).contains(&low) && (16.0..17.0).contains(&high), "{low} to {high}");
        let [low, high] = y_in_view([90.0, 150.0], std::iter::once(&sparse), Fit::Sensible(None, AxisScale::Linear));
        assert!((14.0..15.0).contains(&low) && (20.0..21.0).contains(&high), "{low} to {high}");
    }

    #[test]
    fn a_diverged_run_does_not_flatten_the_others_and_is_shown_on_request() {
        let good = of(&[[1.0, 2.3], [2.0, 1.0], [3.0, 0.5]]);
        let diverged = of(&[[1.0, 2.4], [2.0, 1e6], [3.0, 1e20]]);
        let initial = [2.3, 2.4];
        let ceiling = Ceiling::of_losses(initial.into_iter(), AxisScale::Linear);
        let view = |x, lines: &[&Lines], fit| y_in_view(x, lines.iter().copied(), fit);
        let sensible = |x, lines: &[&Lines]| view(x, lines, Fit::Sensible(ceiling, AxisScale::Linear));
        // Also where the diverged runs are the majority, or alone.
        for lines in [&[&good, &diverged][..], &[&good, &diverged, &diverged, &diverged]] {
            let [low, high] = sensible([1.0, 3.0], lines);
            assert!((0.3..0.5).contains(&low) && (2.4..2.6).contains(&high), "{low} to {high}");
        }
        let [low, high] = sensible([1.0, 3.0], &[&diverged]);
        assert!(low > 0.0 && (2.4..3.0).contains(&high), "{low} to {high}");
        // The range has no limit where only the diverged part is in view, or with the whole range.
        assert!(sensible([2.5, 3.0], &[&diverged])[1] >= 1e20);
        assert!(view([1.0, 3.0], &[&good, &diverged], Fit::Everything)[1] >= 1e20);
        // A spike below ten times the initial loss is shown whole.
        let spike = of(&[[1.0, 2.3], [2.0, 20.0], [3.0, 0.5]]);
        assert!(sensible([1.0, 3.0], &[&good, &spike])[1] >= 20.0);
        // On a logarithmic axis it is the values that count, too.
        let places = |lines: &Lines| of(&lines.line[0].iter().map(|[x, y]| [*x, y.log10()]).collect::<Vec<_>>());
        let ceiling = Ceiling::of_losses(initial.into_iter(), AxisScale::Log);
        let (good, diverged) = (places(&good), places(&diverged));
        let [_, high] = view([1.0, 3.0], &[&good, &diverged], Fit::Sensible(ceiling, AxisScale::Log));
        assert!((0.38..0.5).contains(&high), "{high}");
    }
}
