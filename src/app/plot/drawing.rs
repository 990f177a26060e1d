//! The drawing of a curve in a plot: its line, its band, error bars and single points.

use egui::{Color32, Stroke};
use egui_plot::{FilledArea, Line, LineStyle, MarkerShape, PlotPoints, PlotUi, Points};
use valleyscope_experiments::view::Dash;

use super::dashed_line::DashedLine;

/// Clamps a place far outside of the view, whose exact distance does not matter and would overflow pixels.
fn near(y: f64, [bottom, top]: [f64; 2]) -> f64 {
    let far = 100.0 * (top - bottom);
    y.clamp(bottom - far, top + far)
}

/// Clips a line to the surroundings of the view without moving its visible segments.
pub(in crate::app) fn near_line(line: &[[f64; 2]], view: [f64; 2]) -> Vec<[f64; 2]> {
    let mut kept = Vec::with_capacity(line.len());
    for (index, &[x, y]) in line.iter().enumerate() {
        let end = near(y, view);
        // The places at which the segments to the neighbours come near.
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

/// Draws a line through places, as far as it is near the view.
pub(in crate::app) fn line(
    plot: &mut PlotUi<'_>,
    name: &str,
    places: &[[f64; 2]],
    width: f32,
    color: Color32,
    view: [f64; 2],
) {
    let line = Line::new(name, PlotPoints::from(near_line(places, view)));
    plot.line(line.color(color).width(width).allow_hover(false));
}

/// Draws a line as dashes of this length, in points, that leave a line below it visible.
pub(in crate::app) fn dashes(
    plot: &mut PlotUi<'_>,
    name: &str,
    places: &[[f64; 2]],
    [width, length]: [f32; 2],
    color: Color32,
    view: [f64; 2],
) {
    let line = Line::new(name, PlotPoints::from(near_line(places, view))).style(LineStyle::Dashed { length });
    plot.line(line.color(color).width(width).allow_hover(false));
}

/// Draws a line with a dash pattern.
pub(in crate::app) fn dashed(
    plot: &mut PlotUi<'_>,
    name: &str,
    places: &[[f64; 2]],
    width: f32,
    dash: Dash,
    color: Color32,
    view: [f64; 2],
) {
    plot.add(DashedLine::new(name, near_line(places, view), Stroke::new(width, color), dash));
}

/// Fills the area between the low and the high ends `[x, low, high]`.
pub(in crate::app) fn band(
    plot: &mut PlotUi<'_>,
    ends: impl Iterator<Item = [f64; 3]>,
    color: Color32,
    view: [f64; 2],
) {
    let ends: Vec<[f64; 3]> = ends.map(|[x, low, high]| [x, near(low, view), near(high, view)]).collect();
    let [x, low, high] = [0, 1, 2].map(|index| ends.iter().map(|end| end[index]).collect::<Vec<f64>>());
    plot.add(FilledArea::new("", &x, &low, &high).fill_color(color).allow_hover(false));
}

/// Draws a single place.
pub(in crate::app) fn point(
    plot: &mut PlotUi<'_>,
    [x, y]: [f64; 2],
    shape: MarkerShape,
    radius: f32,
    color: Color32,
    view: [f64; 2],
) {
    let point = Points::new("", [x, near(y, view)]).shape(shape).radius(radius);
    plot.points(point.color(color).allow_hover(false));
}

/// Draws a vertical line at a place from `low` to `high`; with a `cap`, also horizontal lines twice as wide at its
/// ends.
pub(in crate::app) fn error_bar(
    plot: &mut PlotUi<'_>,
    [x, low, high]: [f64; 3],
    cap: Option<f64>,
    color: Color32,
    view: [f64; 2],
) {
    let caps = cap.into_iter().flat_map(|cap| [low, high].map(|y| [[x - cap, y], [x + cap, y]]));
    for ends in caps.chain([[[x, low], [x, high]]]) {
        line(plot, "", &ends, 1.2, color, view);
    }
}

#[cfg(test)]
mod tests {
    use super::near_line;

    #[test]
    fn segments_from_far_outside_of_the_view_stay_in_their_place() {
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
