//! Curves in a plot with axes.

use std::collections::BTreeSet;
use std::ops::Range;

use egui::epaint::{BandPoint, BandShape};
use egui::{Align, Color32, Pos2, Rangef, Rect, Shape, Stroke, pos2, vec2};
use valleyscope_experiments::view::range::{Ceiling, CurvePositions, Extent, suited, whole};
use valleyscope_experiments::view::{AxisScale, Dash, Pen, legible};
use valleyscope_runs::{MetricInfo, Unit};

use super::axis::{Axis, LABEL_GAP, Parts, Side, TICK, ticks};
use super::canvas::{Canvas, LINE, Style, area, polylines, rgb};

/// The width of a curve, in points.
pub(crate) const CURVE_WIDTH: f32 = 1.1;
/// Opacity of the raw curves behind smoothed ones, and of bands.
const FAINT: f32 = 0.3;
pub(super) const BAND: f32 = 0.2;
/// The gap between a plot and the names of its curves, in font sizes.
const NAME_GAP: f32 = 0.9;
/// The largest part of a plot's width for the names beside its curves.
const MOST_NAMES: f32 = 0.36;
/// The length of the shortest part of a curve on another that is dashed, in dashes.
const SHORTEST_TIE: f32 = 6.0;
/// The part of the horizontal axis after which the ends of curves have names.
const LATE: f64 = 0.75;
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
    /// Whether a whole line is dashed where it lies on others.
    pub dashes_ties: bool,
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

/// The scale of a metric's values.
pub fn metric_scale(metric: &MetricInfo, is_log: bool) -> AxisScale {
    match metric.unit {
        _ if is_log => AxisScale::Log,
        Unit::Fraction => AxisScale::Percent,
        _ => AxisScale::Linear,
    }
}

impl CurveAxis {
    pub(crate) fn linear(label: &str, range: [f64; 2]) -> CurveAxis {
        CurveAxis { label: label.to_owned(), scale: AxisScale::Linear, range }
    }

    /// The vertical axis of a metric's values.
    pub fn vertical(metric: &MetricInfo, scale: AxisScale, range: [f64; 2]) -> CurveAxis {
        let unit = if scale == AxisScale::Percent { " (%)" } else { "" };
        CurveAxis { label: format!("{}{unit}", metric.title.to_lowercase()), scale, range }
    }

    /// The axis, as it is drawn at a side of a panel of this width or height.
    pub(crate) fn at(&self, side: Side, length: f32, em: f32) -> Axis {
        let range = self.range.map(|position| self.scale.value(position));
        let ticks = ticks(self.scale, range, Axis::room(side, length, em));
        Axis::over(&self.label, self.scale, range, ticks, |value| self.part(self.scale.position(value)))
    }

    /// The width from the left end of a vertical axis' label to the frame.
    pub(crate) fn gutter(&self, canvas: &Canvas, height: f32) -> f32 {
        let em = canvas.style.em;
        self.at(Side::Left, height, em).label_width(canvas) + (TICK + 2.0 * LABEL_GAP + LINE) * em
    }

    /// How far the last label of a horizontal axis of this width may extend beyond it.
    pub(crate) fn overhang(&self, canvas: &Canvas, width: f32) -> f32 {
        let em = canvas.style.em;
        (self.at(Side::Bottom, width, em).label_width(canvas) / 2.0).max(0.3 * em)
    }

    /// The part of the axis before a position, from 0 to 1.
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
        let [low, high] = self.vertical.range;
        let near = f64::from(CURVE_WIDTH / panel.height()) * (high - low);
        let dash = |curve: &CurveLines| names[curve.index].1.dash;
        let color = |curve: &CurveLines| canvas.color(names[curve.index].1);
        let at = |xy| self.at(horizontal, panel, xy);
        for curve in self.curves.iter().filter(|curve| !curve.band.is_empty()) {
            let ends = curve.band.iter().map(|[x, low, high]| [*low, *high].map(|y| at([*x, y])));
            inside.painter.add(band_shape(ends, color(curve).gamma_multiply(BAND)));
        }
        for (index, curve) in self.curves.iter().enumerate() {
            let is_dashed = self.dashes_ties && dash(curve) == Dash::Solid;
            let below = self.curves[..index].iter().filter(|other| is_dashed && dash(other) == Dash::Solid);
            let below: Vec<&[Vec<[f64; 2]>]> = below.map(|other| other.line.as_slice()).collect();
            curve.draw(&inside, (dash(curve), color(curve)), |piece| parts(piece, &below, near), at);
        }
        for curve in &self.curves {
            let color = color(curve);
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

    /// The width beside plots of this size for the names of all their curves; `None` where one has no room.
    pub(crate) fn names_width(
        &self,
        canvas: &Canvas,
        horizontal: &CurveAxis,
        names: &[(String, Pen)],
        [width, height]: [f32; 2],
    ) -> Option<f32> {
        let em = canvas.style.em;
        let names = names_at_ends(names);
        let own = self.curves.iter().map(|curve| names[curve.index]);
        let wanted = NAME_GAP * em + canvas.widest(own);
        let ends = self.named_ends(horizontal, area(0.0, 0.0, width, height), em);
        (wanted <= MOST_NAMES * width).then_some(wanted).filter(|_| ends.is_some())
    }

    /// Draws the names of the curves in a column beside the plot, with lines from their ends.
    pub(crate) fn draw_names(&self, canvas: &Canvas, horizontal: &CurveAxis, names: &[(String, Pen)], panel: Rect) {
        let (em, at_ends) = (canvas.style.em, names_at_ends(names));
        let ends = self.named_ends(horizontal, panel, em).into_iter().flatten();
        for (curve, (end, height)) in self.curves.iter().zip(ends) {
            let (pen, at) = (names[curve.index].1, pos2(panel.right() + NAME_GAP * em, height));
            let background = canvas.style.background;
            let style = Style { text: rgb(legible(pen.color_on(background), background)), ..canvas.style };
            let gap = vec2(0.15 * em, 0.0);
            canvas.painter.line_segment([end + gap, at - gap], Stroke::new(0.5, style.text));
            Canvas { painter: canvas.painter.clone(), style }.text(at, Align::LEFT, at_ends[curve.index]);
        }
    }

    /// The ends of all curves and the heights of their names; `None` where one ends early, out of view, or without room.
    fn named_ends(&self, horizontal: &CurveAxis, panel: Rect, em: f32) -> Option<Vec<(Pos2, f32)>> {
        let end = |curve: &CurveLines| {
            let last = curve.line.iter().flatten().take_while(|[x, _]| horizontal.part(*x) <= 1.0).last()?;
            let is_seen = horizontal.part(last[0]) >= LATE && (0.0..=1.0).contains(&self.vertical.part(last[1]));
            is_seen.then(|| self.at(horizontal, panel, *last))
        };
        let ends: Vec<Pos2> = self.curves.iter().map(end).collect::<Option<_>>()?;
        let heights: Vec<f32> = ends.iter().map(|end| end.y).collect();
        let heights = spread(&heights, 1.2 * em, panel.y_range())?;
        Some(ends.into_iter().zip(heights).collect())
    }

    /// The point of a position on the axes.
    pub(crate) fn at(&self, horizontal: &CurveAxis, panel: Rect, [x, y]: [f64; 2]) -> Pos2 {
        // Far outside, the exact position does not matter.
        let part = self.vertical.part(y).clamp(-10.0, 11.0);
        let x = panel.left() + horizontal.part(x) as f32 * panel.width();
        pos2(x, panel.bottom() - part as f32 * panel.height())
    }

    /// Arrows at the upper and the lower edge where a curve leaves the plot.
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
    /// A curve without smoothing and without a band.
    pub(crate) fn new(index: usize, line: Vec<Vec<[f64; 2]>>) -> CurveLines {
        CurveLines { index, raw: Vec::new(), line, band: Vec::new() }
    }

    /// The positions in view of the main line, and of the raw line and the band around it, below a ceiling.
    fn positions(&self, [from, to]: [f64; 2], ceiling: Option<Ceiling>) -> CurvePositions {
        let line = || visible_heights(&self.line, [from, to]).map(|y| [y, y]);
        let band =
            || self.band.iter().filter(|point| (from..=to).contains(&point[0])).map(|point| [point[1], point[2]]);
        let around = || band().chain(visible_heights(&self.raw, [from, to]).map(|y| [y, y]));
        let highest = || line().chain(around()).map(|[_, high]| high);
        let top = ceiling.map_or(f64::INFINITY, |ceiling| ceiling.of_curve(highest()));
        let below = |extent: &Extent| extent[1] <= top;
        let end = CurvePositions::of_line(&self.line).end;
        CurvePositions { line: line().filter(below).collect(), around: around().filter(below).collect(), end }
    }

    fn draw(
        &self,
        canvas: &Canvas,
        (dash, color): (Dash, Color32),
        parts: impl Fn(&[[f64; 2]]) -> Vec<Part>,
        at: impl Fn([f64; 2]) -> Pos2,
    ) {
        let (em, stroke) = (canvas.style.em, Stroke::new(CURVE_WIDTH, color));
        let pieces = |pieces: &[Vec<[f64; 2]>]| -> Vec<Vec<Pos2>> {
            pieces.iter().map(|piece| piece.iter().map(|position| at(*position)).collect()).collect()
        };
        if !self.raw.is_empty() {
            let faint = Stroke::new(0.7 * CURVE_WIDTH, color.gamma_multiply(FAINT));
            canvas.lines(&pieces(&self.raw), faint, Dash::Solid);
        }
        let drawn = pieces(&self.line);
        for (piece, positions) in drawn.iter().zip(&self.line) {
            for part in parts(positions) {
                match part.dash {
                    None => canvas.lines(&[piece[part.points].to_vec()], stroke, dash),
                    // A short tie looks like a gap.
                    Some(length) if length_of(&piece[part.points.clone()]) < SHORTEST_TIE * length => {
                        canvas.lines(&[piece[part.points].to_vec()], stroke, dash);
                    }
                    Some(length) => {
                        canvas.painter.extend(Shape::dashed_line(&piece[part.points], stroke, length, length));
                    }
                }
            }
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

fn length_of(path: &[Pos2]) -> f32 {
    path.windows(2).map(|ends| ends[0].distance(ends[1])).sum()
}

/// The choice of the vertical range of a plot that is not zoomed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fit {
    Everything,
    /// The range of most curves below the ceiling, on an axis of this scale: a few that run away, and on a logarithmic
    /// axis a few values far below, do not flatten the others.
    Sensible(Option<Ceiling>, AxisScale),
}

/// The smallest range of positions that shows the curves as far as `fit` includes them.
pub(crate) fn y_in_view<'l>(x: [f64; 2], lines: impl Iterator<Item = &'l CurveLines> + Clone, fit: Fit) -> [f64; 2] {
    let positions =
        |ceiling: Option<Ceiling>| -> Vec<_> { lines.clone().map(|lines| lines.positions(x, ceiling)).collect() };
    match fit {
        Fit::Everything => whole(&positions(None)),
        Fit::Sensible(ceiling, scale) => {
            let below = positions(ceiling);
            // A view of diverged parts alone shows them.
            let is_empty = below.iter().all(|positions| positions.line.is_empty());
            suited(&if is_empty { positions(None) } else { below }, scale)
        }
    }
}

/// The heights of a curve's points in view, and those at which it enters and leaves the view.
fn visible_heights(pieces: &[Vec<[f64; 2]>], [from, to]: [f64; 2]) -> impl Iterator<Item = f64> {
    let inside = pieces.iter().flatten().filter(move |[x, _]| (from..=to).contains(x)).map(|[_, y]| *y);
    let segments = pieces.iter().flat_map(|piece| piece.windows(2));
    let crossings = segments.flat_map(move |ends| {
        let [[x, y], [next_x, next]] = [ends[0], ends[1]];
        let crossed = [from, to].into_iter().filter(move |edge| x < *edge && *edge < next_x);
        crossed.map(move |edge| y + (next - y) * ((edge - x) / (next_x - x)))
    });
    inside.chain(crossings)
}

pub(crate) fn band_shape(ends: impl Iterator<Item = [Pos2; 2]>, color: Color32) -> Shape {
    let points = ends.map(|[low, high]| BandPoint::new(low.x, high.y..=low.y));
    Shape::Band(BandShape::filled(points.collect(), color))
}

/// Draws the key of a curve in a legend from a point to the right.
pub(crate) fn draw_key(canvas: &Canvas, from: Pos2, width: f32, pen: Pen) {
    let ends = vec![from, from + vec2(width, 0.0)];
    canvas.lines(&[ends], Stroke::new(1.4 * CURVE_WIDTH, canvas.color(pen)), pen.dash);
}

/// Returns the part of an optimizer's name before the settings: "Adam (2)" of "Adam (2), η 0.005".
pub(crate) fn short_name(name: &str) -> &str {
    name.split_once(", ").map_or(name, |(own, _)| own)
}

/// Returns the names at the ends of curves: the parts before the settings, or the whole names if some parts are equal.
pub(crate) fn names_at_ends(names: &[(String, Pen)]) -> Vec<&str> {
    let whole = || names.iter().map(|(name, _)| name.as_str());
    let is_short = differ_without_settings(whole());
    whole().map(|name| if is_short { short_name(name) } else { name }).collect()
}

pub(crate) fn differ_without_settings<'n>(names: impl Iterator<Item = &'n str> + Clone) -> bool {
    names.clone().map(short_name).collect::<BTreeSet<_>>().len() == names.count()
}

/// Returns the heights of names as high as a `line`, within a range and as near as possible to the wanted heights, in
/// the same order; `None` where they have no room.
pub(crate) fn spread(wanted: &[f32], line: f32, range: Rangef) -> Option<Vec<f32>> {
    if line * (wanted.len() as f32 - 1.0) > range.span() {
        return None;
    }
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let sorted: Vec<f32> = order.iter().map(|index| range.clamp(wanted[*index])).collect();
    let mut heights = vec![0.0; wanted.len()];
    order.iter().zip(apart(&sorted, line, range)).for_each(|(index, height)| heights[*index] = height);
    Some(heights)
}

/// Moves sorted heights apart by at least a `line`, groups of them together, and keeps them in a range.
fn apart(sorted: &[f32], line: f32, range: Rangef) -> Vec<f32> {
    // The least squares solution: a group's first height is the mean of what its members want it to be.
    let mut groups: Vec<(f32, usize)> = Vec::new();
    for &wanted in sorted {
        groups.push((wanted, 1));
        while let [.., (above, count), (below, added)] = groups[..]
            && above + line * count as f32 > below
        {
            let sum = above * count as f32 + (below - line * count as f32) * added as f32;
            groups.pop();
            groups.pop();
            groups.push((sum / (count + added) as f32, count + added));
        }
    }
    let heights = groups.iter().flat_map(|(first, count)| (0..*count).map(move |index| first + line * index as f32));
    let mut heights: Vec<f32> = heights.collect();
    let (mut highest, mut lowest) = (range.min, range.max);
    for height in &mut heights {
        *height = height.max(highest);
        highest = *height + line;
    }
    for height in heights.iter_mut().rev() {
        *height = height.min(lowest);
        lowest = *height - line;
    }
    heights
}

/// The dashes of a curve on one other curve, and the least length of those on several, in points.
const DASH: f32 = 10.0;
const LEAST_DASH: f32 = 3.0;

/// A part of a curve's run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    /// The indices of its points. Neighbouring parts share a point.
    pub points: Range<usize>,
    /// The length of its dashes; `None` for a whole line.
    pub dash: Option<f32>,
}

/// Divides a run of points into the parts that lie within `near` of curves drawn before it, and the others.
pub(crate) fn parts(run: &[[f64; 2]], below: &[&[Vec<[f64; 2]>]], near: f64) -> Vec<Part> {
    let mut counts = vec![0_usize; run.len()];
    for line in below {
        let mut others = line.iter().flatten().peekable();
        for (count, [x, y]) in counts.iter_mut().zip(run) {
            while others.next_if(|other| other[0] < *x).is_some() {}
            let meets = others.peek().is_some_and(|other| other[0] == *x && (other[1] - y).abs() <= near);
            *count += usize::from(meets);
        }
    }
    // A line between two points lies on another one if both its ends do.
    let on = |index: usize| counts[index].min(counts[index + 1]);
    let mut parts: Vec<Part> = Vec::new();
    for index in 0..run.len().saturating_sub(1) {
        let dash = match on(index) {
            0 => None,
            others => Some((DASH / others as f32).max(LEAST_DASH)),
        };
        match parts.last_mut() {
            Some(part) if part.dash == dash => part.points.end = index + 2,
            _ => parts.push(Part { points: index..index + 2, dash }),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use egui::Rangef;

    use super::{CurveLines, Fit, Part, parts, spread, y_in_view};
    use valleyscope_experiments::view::AxisScale;
    use valleyscope_experiments::view::range::Ceiling;

    fn of(line: &[[f64; 2]]) -> CurveLines {
        CurveLines { index: 0, raw: Vec::new(), line: vec![line.to_vec()], band: Vec::new() }
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
        let view = |x, lines: &[&CurveLines], fit| y_in_view(x, lines.iter().copied(), fit);
        let sensible = |x, lines: &[&CurveLines]| view(x, lines, Fit::Sensible(ceiling, AxisScale::Linear));
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
        let positions =
            |lines: &CurveLines| of(&lines.line[0].iter().map(|[x, y]| [*x, y.log10()]).collect::<Vec<_>>());
        let ceiling = Ceiling::of_losses(initial.into_iter(), AxisScale::Log);
        let (good, diverged) = (positions(&good), positions(&diverged));
        let [_, high] = view([1.0, 3.0], &[&good, &diverged], Fit::Sensible(ceiling, AxisScale::Log));
        assert!((0.38..0.5).contains(&high), "{high}");
    }

    #[test]
    fn a_curve_is_dashed_where_it_lies_on_another() {
        let run = |values: &[f64]| values.iter().enumerate().map(|(step, y)| [step as f64, *y]).collect::<Vec<_>>();
        let (below, above) = ([run(&[0.0, 1.0, 2.0, 3.0, 4.0])], run(&[0.0, 1.001, 2.0, 9.0, 8.0]));
        let found = parts(&above, &[&below], 0.01);
        let [on, off] = [Some(10.0), None];
        assert_eq!(found, [Part { points: 0..3, dash: on }, Part { points: 2..5, dash: off }]);
        let third = parts(&above, &[&below, &below], 0.01);
        assert_eq!(third[0].dash, Some(5.0), "a third curve has shorter dashes than the second");
        assert_eq!(parts(&above, &[], 0.01), [Part { points: 0..5, dash: None }]);
    }

    #[test]
    fn names_at_the_ends_of_curves_do_not_overlap_and_stay_near_their_curves() {
        let range = Rangef::new(5.0, 155.0);
        let found = |wanted: &[f32]| spread(wanted, 10.0, range).expect("there is room");
        assert_eq!(found(&[20.0, 60.0]), [20.0, 60.0], "with room they are at the ends");
        assert_eq!(found(&[52.0, 48.0]), [55.0, 45.0], "in the order of the curves");
        assert_eq!(found(&[60.0, 52.0, 48.0]), [63.0 + 1.0 / 3.0, 53.0 + 1.0 / 3.0, 43.0 + 1.0 / 3.0]);
        assert_eq!(found(&[200.0, -2.0]), [155.0, 5.0], "inside of the plot");
        let crowded: Vec<f32> = (0..16).map(|index| 80.0 + 0.1 * index as f32).collect();
        let placed = found(&crowded);
        assert!(placed.windows(2).all(|pair| pair[1] - pair[0] >= 9.9) && placed[0] >= 4.9, "{placed:?}");
        assert_eq!(spread(&[80.0; 17], 10.0, range), None, "all names or none");
    }
}
