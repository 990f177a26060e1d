//! Curves as lines in a plot.

use egui::Theme;
use egui_plot::{FilledArea, Line, LineStyle, MarkerShape, PlotPoints, Points};

use super::pens::color;
use super::track::{Look, Pieces, Track};
use crate::view::range::with_margin;
use crate::view::{Dash, Pen};

/// A track as it is drawn.
pub struct Lines {
    /// Before it was smoothed; empty where it was not.
    pub raw: Pieces,
    pub line: Pieces,
    pub band: Vec<[f64; 3]>,
    /// Where the run was forked from another, whose points are before.
    pub fork: Option<f64>,
}

impl Lines {
    pub fn of(track: &Track, look: &Look) -> Lines {
        let raw = if track.is_smoothed() { track.raw(look) } else { Pieces::new() };
        Lines { raw, line: track.line(look), band: track.band(look), fork: track.fork(look) }
    }
}

/// The smallest range of places that shows the curves; a few that run away do not flatten the others.
pub fn y_in_view<'l>([from, to]: [f64; 2], lines: impl Iterator<Item = &'l Lines>) -> [f64; 2] {
    let extents: Vec<_> = lines
        .filter_map(|lines| {
            let points =
                lines.line.iter().flatten().filter(|point| (from..=to).contains(&point[0])).map(|point| point[1]);
            let line = points.map(|y| [y, y]).reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])])?;
            let band =
                lines.band.iter().filter(|point| (from..=to).contains(&point[0])).map(|point| [point[1], point[2]]);
            let raw = lines.raw.iter().flatten().filter(|point| (from..=to).contains(&point[0]));
            let around = band.chain(raw.map(|point| [point[1], point[1]]));
            Some((line, around.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])])))
        })
        .collect();
    with_margin(&extents)
}

/// The part of a line before a fork, which is the other run's and paler, and the part after it, with their strengths. They
/// meet in a point.
fn at_fork(line: &[[f64; 2]], fork: Option<f64>) -> [(&[[f64; 2]], f32); 2] {
    const PALE: f32 = 0.65;
    let after = fork.map_or(0, |fork| line.partition_point(|point| point[0] <= fork));
    [(&line[..after], PALE), (&line[after.saturating_sub(1)..], 1.0)]
}

/// Draws a curve with this pen; `[bottom, top]` is in view.
pub fn draw(plot: &mut egui_plot::PlotUi<'_>, pen: Pen, theme: Theme, lines: &Lines, [bottom, top]: [f64; 2]) {
    let own = color(pen, theme);
    let style = match pen.dash {
        Dash::Solid => LineStyle::Solid,
        Dash::Dashed => LineStyle::dashed_dense(),
        Dash::Dotted => LineStyle::dotted_dense(),
    };
    // Far outside of the view it does not matter how far; pixels could not count that far.
    let far = 100.0 * (top - bottom);
    let near = |y: f64| y.clamp(bottom - far, top + far);
    if !lines.band.is_empty() {
        let x: Vec<f64> = lines.band.iter().map(|point| point[0]).collect();
        let low: Vec<f64> = lines.band.iter().map(|point| near(point[1])).collect();
        let high: Vec<f64> = lines.band.iter().map(|point| near(point[2])).collect();
        let area = FilledArea::new("", &x, &low, &high).fill_color(own.gamma_multiply(0.2));
        plot.add(area.allow_hover(false));
    }
    for (pieces, color, style, width) in
        [(&lines.raw, own.gamma_multiply(0.3), LineStyle::Solid, 1.0), (&lines.line, own, style, 1.6)]
    {
        for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
            if let [only] = piece[..] {
                let dot = Points::new("", [only[0], near(only[1])]).color(color).radius(2.5);
                plot.points(dot.allow_hover(false));
                continue;
            }
            for (part, strength) in at_fork(piece, lines.fork).into_iter().filter(|(part, _)| part.len() > 1) {
                let points: PlotPoints<'_> = part.iter().map(|point| [point[0], near(point[1])]).collect();
                let line = Line::new("", points).color(color.gamma_multiply(strength)).style(style);
                plot.line(line.width(strength * width).allow_hover(false).allow_band(false));
            }
        }
    }
    if let Some(&[x, y]) = lines.line.iter().flatten().find(|point| lines.fork.is_some_and(|fork| point[0] >= fork)) {
        let mark = Points::new("", [x, near(y)]).color(own).shape(MarkerShape::Diamond);
        plot.points(mark.radius(4.0).allow_hover(false));
    }
    // Where values are not finite any more.
    for ends in lines.line.windows(2) {
        if let Some(last) = ends[0].last() {
            let cross = Points::new("", [last[0], near(last[1])]).color(own).shape(MarkerShape::Cross);
            plot.points(cross.radius(4.0).allow_hover(false));
        }
    }
}
