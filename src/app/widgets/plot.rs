//! The plot that all tabs draw: its axes and ticks, its gestures, and the texts on it.

use std::collections::BTreeMap;

use egui::text::{LayoutJob, TextWrapping};
use egui::{
    Align2, Color32, Context, FontId, Grid, Id, Rangef, Rect, RectAlign, Response, Sense, Shape, Stroke, TextFormat,
    TextStyle, Tooltip, Ui, Vec2, WidgetInfo, pos2, vec2,
};
use egui_plot::{AxisHints, GridMark, Plot, PlotBounds, PlotPoint, PlotTransform};
use valleyscope_experiments::view::ticks::{Ticks, significant};
use valleyscope_experiments::view::{AxisScale, Dash};

use super::icons::text_color;
use super::theme;

pub(crate) use super::curves::{PlotPainter, install_curves, near_line};
use crate::draw::spread;

/// The distances between labels beside each other and above each other, in points.
const BESIDE: f64 = 46.0;
const ABOVE: f64 = 28.0;
/// The approximate size of a plot's axes, in points.
const AXES: Vec2 = vec2(66.0, 24.0);
const GUTTER: f32 = 46.0;
/// The space at the right for half of the last label, in points.
const RIGHT: f32 = 10.0;

/// A tick of an axis, and its label.
type LabelledMark = (GridMark, String);

/// An axis of a plot, with its range in places on its scale.
#[derive(Clone, Debug)]
pub(crate) struct PlotAxis {
    pub scale: AxisScale,
    pub range: [f64; 2],
    /// Whether the axis has ticks.
    pub has_ticks: bool,
}

/// A plot of some size, before curves are drawn into it.
pub(crate) struct PlotFrame {
    pub axes: [PlotAxis; 2],
    pub size: Vec2,
    /// True for each axis that can be dragged and zoomed.
    pub is_moved: [bool; 2],
    /// The pointer's position on the horizontal axis, in this plot or in one beside it.
    pub pointer: Option<f64>,
}

/// A plot that has been drawn.
pub(crate) struct ShownPlot {
    pub response: Response,
    pub transform: PlotTransform,
    /// The pointer's positions.
    pub pointer: Option<[f64; 2]>,
    pub gesture: Gesture,
}

impl PlotAxis {
    /// Makes an axis with ticks at round values.
    pub(crate) fn new(scale: AxisScale, range: [f64; 2]) -> PlotAxis {
        PlotAxis { scale, range, has_ticks: true }
    }

    /// Returns the ticks of an axis of `length` points.
    fn labelled(&self, length: f32, apart: f64) -> Vec<LabelledMark> {
        let ticks = match self.has_ticks {
            true => Ticks::placed(self.scale, self.range, f64::from(length), apart),
            false => Vec::new(),
        };
        let placed = ticks.into_iter().map(|tick| (self.scale.position(tick.value), tick.label));
        let marks: Vec<(f64, String)> = placed.filter(|(position, _)| position.is_finite()).collect();
        // The distance to its neighbour determines how strongly the plot draws a tick.
        let gap = |index: usize| {
            let from = |other: Option<&(f64, String)>| other.map_or(1e9, |mark| (mark.0 - marks[index].0).abs());
            from(index.checked_sub(1).and_then(|before| marks.get(before))).min(from(marks.get(index + 1)))
        };
        let gaps: Vec<f64> = (0..marks.len()).map(gap).collect();
        let marks = marks.into_iter().zip(gaps);
        marks.map(|((value, label), step_size)| (GridMark { value, step_size }, label)).collect()
    }

    fn hints(hints: AxisHints<'static>, marks: Vec<LabelledMark>, font: FontId) -> AxisHints<'static> {
        hints.tick_label_font(font).label_spacing(Rangef::new(1.0, 2.0)).formatter(move |mark, _| {
            marks.iter().find(|(known, _)| known.value == mark.value).map_or_else(String::new, |(_, text)| text.clone())
        })
    }
}

impl PlotFrame {
    /// Returns the approximate size of the curves' area, in points.
    pub(crate) fn area(size: Vec2) -> Vec2 {
        size - AXES
    }

    /// Shows the plot with the contents that `draw` adds.
    pub(crate) fn show(&self, ui: &mut Ui, plot: Plot<'_>, draw: impl FnOnce(&PlotPainter)) -> ShownPlot {
        let [x, y] = [0, 1].map(|axis: usize| self.axes[axis].range);
        let shown = self.framed(ui, plot).show(ui, |plot| {
            plot.set_plot_bounds_x(x[0]..=x[1]);
            plot.set_plot_bounds_y(y[0]..=y[1]);
        });
        let painter = PlotPainter::new(ui, shown.transform, [x, y]);
        draw(&painter);
        if let Some(pointer) = self.pointer {
            let stroke = Stroke::new(1.0, ui.visuals().weak_text_color());
            painter.line(&painter.upright(pointer), stroke, Dash::Solid);
        }
        let position = |at| shown.transform.value_from_position(at);
        let pointer = shown.response.hover_pos().map(position).map(|position| [position.x, position.y]);
        let gesture = if self.is_moved[0] {
            Gesture::of(ui, &shown.response, shown.transform.bounds(), [x, y], pointer)
        } else {
            Gesture::default()
        };
        ShownPlot { response: shown.response, transform: shown.transform, pointer, gesture }
    }

    fn framed<'p>(&self, ui: &Ui, plot: Plot<'p>) -> Plot<'p> {
        let font = TextStyle::Small.resolve(ui.style());
        let area = PlotFrame::area(self.size);
        let [x, y] = &self.axes;
        let marks = [x.labelled(area.x, BESIDE), y.labelled(area.y, ABOVE)];
        let grid = |marks: &[LabelledMark]| -> Vec<GridMark> { marks.iter().map(|(mark, _)| *mark).collect() };
        let (x_grid, y_grid) = (grid(&marks[0]), grid(&marks[1]));
        let width = self.size.x - RIGHT - self.overhang(ui, &font, &marks[0]);
        let [x_marks, y_marks] = marks;
        plot.width(width)
            .height(self.size.y)
            .show_x(false)
            .show_y(false)
            .allow_drag(self.is_moved)
            .allow_zoom(self.is_moved)
            .allow_boxed_zoom(self.is_moved[0])
            .allow_scroll(false)
            .allow_axis_zoom_drag(false)
            .allow_double_click_reset(false)
            .grid_spacing(Rangef::new(1.0, 60.0))
            .grid_fade(0.9)
            .grid_color(ui.visuals().weak_text_color().gamma_multiply(0.35))
            .x_grid_spacer(move |_| x_grid.clone())
            .y_grid_spacer(move |_| y_grid.clone())
            .custom_x_axes(vec![PlotAxis::hints(AxisHints::new_x(), x_marks, font.clone())])
            .custom_y_axes(vec![PlotAxis::hints(AxisHints::new_y().min_thickness(GUTTER), y_marks, font)])
    }

    /// Returns how far the last label of the horizontal axis exceeds the space for it.
    fn overhang(&self, ui: &Ui, font: &FontId, marks: &[LabelledMark]) -> f32 {
        let Some((mark, label)) = marks.last() else { return 0.0 };
        let [from, to] = self.axes[0].range;
        let width = theme::text_width(ui, font, label);
        let before_end = (to - mark.value) / (to - from) * f64::from(PlotFrame::area(self.size).x);
        (0.5 * width - before_end as f32 - RIGHT).max(0.0)
    }
}

/// Sets the accessible name of a plot, and its description as the value.
pub(crate) fn describe(plot: &Response, label: &str, text: impl Fn() -> String) {
    plot.widget_info(|| WidgetInfo {
        label: Some(label.to_owned()),
        current_text_value: Some(text()),
        ..WidgetInfo::new(egui::Role::Figure)
    });
}

/// The result of a gesture on a plot: the ranges of positions to show.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Gesture {
    x: Option<[f64; 2]>,
    y: Option<[f64; 2]>,
    is_reset: bool,
}

impl Gesture {
    /// Derives the gesture from the ranges where a plot ended up, the wheel, and double clicks.
    pub(crate) fn of(
        ui: &Ui,
        response: &Response,
        bounds: &PlotBounds,
        [x, y]: [[f64; 2]; 2],
        pointer: Option<[f64; 2]>,
    ) -> Gesture {
        let moved = |axis: usize, set: [f64; 2]| {
            let now = [bounds.min()[axis], bounds.max()[axis]];
            let tolerance = 1e-9 * (set[1] - set[0]).abs();
            now.iter().zip(&set).any(|(now, set)| (now - set).abs() > tolerance).then_some(now)
        };
        let mut gesture = Gesture { is_reset: response.double_clicked(), ..Gesture::default() };
        let is_zoomed = ui.input(|input| input.zoom_delta() != 1.0) && response.contains_pointer();
        if response.dragged() || response.drag_stopped() || is_zoomed {
            (gesture.x, gesture.y) = (moved(0, x), moved(1, y));
        }
        if let Some(pointer) = pointer {
            let is_shifted = ui.input(|input| input.modifiers.shift);
            // With Shift the wheel scrolls sideways.
            let axis = usize::from(!is_shifted);
            let wheel = ui.input_mut(|input| std::mem::take(&mut input.smooth_scroll_delta[axis]));
            let factor = (f64::from(-wheel) / 240.0).exp();
            let zoomed = |range: [f64; 2], at: f64| Some(range.map(|end| at + (end - at) * factor));
            match wheel {
                0.0 => {}
                _ if is_shifted => gesture.y = zoomed(y, pointer[1]),
                _ => gesture.x = zoomed(x, pointer[0]),
            }
        }
        gesture
    }
}

/// The zoomed ranges of plots over one horizontal axis, in places; the others show everything.
#[derive(Debug)]
pub(crate) struct Zoom<K> {
    pub x: Option<[f64; 2]>,
    pub y: BTreeMap<K, [f64; 2]>,
}

impl<K> Default for Zoom<K> {
    fn default() -> Self {
        Zoom { x: None, y: BTreeMap::new() }
    }
}

impl<K: Ord> Zoom<K> {
    pub(crate) fn is_zoomed(&self) -> bool {
        self.x.is_some() || !self.y.is_empty()
    }

    /// Resets all ranges to everything.
    pub(crate) fn reset(&mut self) {
        *self = Zoom::default();
    }

    /// Applies a gesture on one of the plots. The horizontal axis stays near the `whole` and is no shorter than
    /// `least`.
    pub(crate) fn apply(&mut self, plot: K, gesture: Gesture, whole: [f64; 2], least: f64) {
        if gesture.is_reset {
            return self.reset();
        }
        let can_be_shown = |[from, to]: &[f64; 2]| {
            let smallest = 1e-12 * from.abs().max(to.abs());
            from.is_finite() && to.is_finite() && to - from > smallest
        };
        if let Some(x) = gesture.x.filter(can_be_shown) {
            self.x = Some(near(x, whole, least));
        }
        if let Some(y) = gesture.y.filter(can_be_shown) {
            self.y.insert(plot, y);
        }
    }
}

/// Moves or resizes a range that is too far from the whole or too short.
fn near([from, to]: [f64; 2], [start, end]: [f64; 2], least: f64) -> [f64; 2] {
    let room = 0.5 * (end - start);
    let [start, end] = [start - room, end + room];
    let length = (to - from).max(least).min(end - start);
    let from = (0.5 * (from + to - length)).min(end - length).max(start);
    [from, from + length]
}

/// A curve that leaves the view, with its first point outside.
pub(crate) struct LeavingCurve {
    pub name: String,
    pub color: Color32,
    pub first: [f64; 2],
    /// The text about the values beyond the edge.
    pub beyond: String,
}

/// The end of a curve in view, with the curve's name.
pub(crate) struct CurveEnd {
    pub name: String,
    pub color: Color32,
    pub end: [f64; 2],
}

/// The space between the end of a curve and its name, and beyond the name, in points.
const NAME_GAP: f32 = 10.0;
/// The largest part of a plot's width for the names beside its curves.
const MOST_NAMES: f32 = 0.3;

/// Returns the width beside the curves of a plot for their names; 0 where they would take too much of it.
pub(crate) fn names_width(ui: &Ui, names: impl Iterator<Item = String>, width: f32) -> f32 {
    let font = TextStyle::Small.resolve(ui.style());
    let names = names.map(|name| theme::text_width(ui, &font, &name)).fold(0.0, f32::max) + NAME_GAP;
    if names <= MOST_NAMES * width { names } else { 0.0 }
}

fn readouts_id() -> Id {
    Id::unique("readouts are shown")
}

/// Sets whether plots and landscape show the values under the pointer in this frame. Presentations hide them at first.
pub(crate) fn set_readouts(ctx: &Context, are_shown: bool) {
    ctx.data_mut(|data| data.insert_temp(readouts_id(), are_shown));
}

/// Returns whether the values under the pointer are shown.
pub(crate) fn has_readouts(ctx: &Context) -> bool {
    ctx.data(|data| data.get_temp(readouts_id())).unwrap_or(true)
}

/// Shows a table of values beside the pointer, on the side where the plot has more room, and a note below it.
pub(crate) fn readout(response: &Response, title: &str, note: Option<&str>, rows: impl FnOnce(&mut Ui)) {
    if !has_readouts(&response.ctx) {
        return;
    }
    let mut tooltip = Tooltip::for_widget(response).at_pointer().gap(14.0);
    let is_right = response.hover_pos().is_some_and(|at| at.x > response.rect.center().x);
    tooltip.popup = tooltip.popup.align(if is_right { RectAlign::LEFT_START } else { RectAlign::RIGHT_START });
    tooltip.show(|ui| {
        ui.set_max_width(460.0);
        ui.strong(title);
        Grid::new("values").spacing([12.0, 2.0]).show(ui, rows);
        if let Some(note) = note {
            ui.weak(note);
        }
    });
}

impl ShownPlot {
    /// Shows a note in the middle of an empty plot.
    pub(crate) fn note(&self, ui: &Ui, text: &str) {
        let (font, color) = (TextStyle::Small.resolve(ui.style()), ui.visuals().weak_text_color());
        let frame = *self.transform.frame();
        ui.painter().with_clip_rect(frame).text(frame.center(), Align2::CENTER_CENTER, text, font, color);
    }

    /// Writes names at the ends of curves, in the order of the ends. The plot has a `gutter` of this width at its right.
    /// Names move up or down to have room, half a line beyond the plot at most; there are none where one has no room.
    pub(crate) fn name_ends(&self, ui: &Ui, gutter: f32, curves: &[CurveEnd]) {
        let font = TextStyle::Small.resolve(ui.style());
        let line = ui.fonts_mut(|fonts| fonts.row_height(&font));
        let frame = *self.transform.frame();
        let ends = curves.iter().map(|curve| self.transform.position_from_point(&curve.end.into()));
        let ends: Vec<_> = ends.collect();
        let heights: Vec<f32> = ends.iter().map(|end| end.y).collect();
        // Between the buttons above the plot and the labels of its axis.
        let room = Rangef::new(frame.top() + 0.3 * line, frame.bottom() - 0.3 * line);
        let Some(heights) = spread(&heights, 0.85 * line, room) else { return };
        let area = frame.with_max_x(frame.right() + gutter).expand2(vec2(0.0, 0.5 * line));
        let painter = ui.painter().with_clip_rect(area.intersect(ui.clip_rect()));
        for ((curve, end), height) in curves.iter().zip(ends).zip(heights) {
            // The margin beyond the last point of the longest curves is too narrow for a name.
            let is_last = end.x + 2.0 * NAME_GAP > frame.right();
            let at = pos2(if is_last { frame.right() } else { end.x } + 0.7 * NAME_GAP, height);
            let stroke = Stroke::new(0.8, curve.color.gamma_multiply(0.7));
            painter.line_segment([end + vec2(1.5, 0.0), at - vec2(1.5, 0.0)], stroke);
            painter.text(at, Align2::LEFT_CENTER, &curve.name, font.clone(), text_color(curve.color, ui.theme()));
        }
    }

    /// Marks curves that leave a view which was chosen for the others, by small arrows and names along that edge, near
    /// the point if there is room. The pointer shows what lies beyond the edge.
    pub(crate) fn mark_leaving(&self, ui: &Ui, top: f64, curves: impl Iterator<Item = LeavingCurve>) {
        let frame = *self.transform.frame();
        let painter = ui.painter().with_clip_rect(frame);
        let mut taken: Vec<Rect> = Vec::new();
        for (index, LeavingCurve { name, color, first, beyond }) in curves.enumerate() {
            let hint = format!("{name}: {beyond}");
            let up = if first[1] > top { 1.0 } else { -1.0 };
            let format = TextFormat::simple(TextStyle::Small.resolve(ui.style()), color);
            let mut job = LayoutJob::single_section(name, format);
            job.wrap = TextWrapping::truncate_at_width(0.5 * frame.width());
            let name = painter.layout_job(job);
            let x = self.transform.position_from_point(&PlotPoint::new(first[0], first[1])).x;
            let size = vec2(ARROW + name.size().x, name.size().y);
            let position = free_position(frame, &taken, size, x, up);
            // A curve without room for its name has the arrow alone.
            let area = position.unwrap_or_else(|| beside_edge(frame, vec2(ARROW, size.y), x, up, 0));
            let mark = ui.interact(area.intersect(frame), self.response.id.with(("leaving", index)), Sense::hover());
            mark.widget_info(|| WidgetInfo::labeled(egui::Role::Label, true, &hint));
            mark.on_hover_text(&hint);
            if position.is_some() {
                taken.push(area);
                painter.rect_filled(area.expand2(vec2(2.0, 0.0)), 2.0, ui.visuals().extreme_bg_color);
                painter.galley(area.left_top() + vec2(ARROW, 0.0), name, color);
            }
            let tip = pos2(area.left() + 4.0, area.center().y - up * 4.0);
            let corners = vec![tip, tip + vec2(4.0, up * 8.0), tip + vec2(-4.0, up * 8.0)];
            painter.add(Shape::convex_polygon(corners, color, Stroke::NONE));
        }
    }
}

/// The width of the arrow before the name of a curve that leaves the view, in points.
const ARROW: f32 = 12.0;
/// The largest number of rows of names along an edge.
const NAME_ROWS: usize = 3;

/// Returns the area of a name at a row along the upper edge, or the lower one if `up` is negative.
fn beside_edge(frame: Rect, size: Vec2, x: f32, up: f32, row: usize) -> Rect {
    let left = x.min(frame.right() - size.x - 4.0).max(frame.left() + 4.0);
    let away = 2.0 + row as f32 * size.y;
    let edge = if up > 0.0 { frame.top() + away } else { frame.bottom() - away - size.y };
    Rect::from_min_size(pos2(left, edge), size)
}

/// Returns the area for a name along an edge that overlaps no other name: the first row that has room at `x` or beside
/// the other names.
fn free_position(frame: Rect, taken: &[Rect], size: Vec2, x: f32, up: f32) -> Option<Rect> {
    /// The gap between names in a row, in points.
    const BETWEEN: f32 = 8.0;
    (0..NAME_ROWS).find_map(|row| {
        let at = |x: f32| beside_edge(frame, size, x, up, row);
        let next_to_taken = taken.iter().flat_map(|other| [other.right() + BETWEEN, other.left() - BETWEEN - size.x]);
        let is_inside = |left: &f32| *left >= frame.left() + 4.0 && left + size.x <= frame.right() - 4.0;
        let mut candidates = std::iter::once(x).chain(next_to_taken.filter(is_inside)).map(at);
        candidates.find(|area| !taken.iter().any(|other| other.expand2(vec2(0.5 * BETWEEN, -1.0)).intersects(*area)))
    })
}

/// Describes the values of a curve outside of a range, in places, by the farthest one; `x_words` describes its place on
/// the horizontal axis. The curve leaves the range.
pub(crate) fn beyond(
    points: impl Iterator<Item = [f64; 2]>,
    [bottom, top]: [f64; 2],
    scale: AxisScale,
    x_words: impl Fn(f64) -> String,
) -> String {
    let outside = points.map(|[x, y]| (x, y, (y - top).max(bottom - y))).filter(|(.., away)| *away > 0.0);
    let farthest = outside.reduce(|first, next| if next.2 > first.2 { next } else { first });
    farthest.map_or_else(String::new, |(x, y, _)| {
        let direction = if y > top { "up" } else { "down" };
        format!("{direction} to {} at {}", significant(scale.value(y), 3), x_words(x))
    })
}

#[cfg(test)]
mod tests {
    use super::{Gesture, Zoom, near};

    #[test]
    fn a_horizontal_axis_stays_near_the_whole() {
        let near = |x| near(x, [0.0, 100.0], 4.0);
        assert_eq!(near([10.0, 30.0]), [10.0, 30.0]);
        assert_eq!(near([-90.0, -30.0]), [-50.0, 10.0], "a drag beyond the end keeps the length");
        assert_eq!(near([-900.0, 900.0]), [-50.0, 150.0]);
        assert_eq!(near([50.0, 50.5]), [48.25, 52.25]);
        assert_eq!(super::near([0.0, 1e-9], [0.0, 1e-6], 4.0), [-0.5e-6, 1.5e-6], "the whole may be shorter");
    }

    #[test]
    fn ranges_that_cannot_be_shown_are_refused_and_a_double_click_shows_everything() {
        let mut zoom = Zoom::default();
        let mut apply = |gesture| {
            zoom.apply("loss", gesture, [0.0, 100.0], 4.0);
            (zoom.x, zoom.y.get("loss").copied())
        };
        let ranged = |x, y| Gesture { x: Some(x), y: Some(y), is_reset: false };
        assert_eq!(apply(ranged([f64::NAN, 1.0], [2.0, 2.0])), (None, None));
        assert_eq!(apply(ranged([0.0, f64::INFINITY], [1e9, 1e9 + 1e-6])), (None, None));
        assert_eq!(apply(ranged([5.0, 15.0], [0.0, 1e-15])), (Some([5.0, 15.0]), Some([0.0, 1e-15])));
        assert_eq!(apply(Gesture { is_reset: true, ..Gesture::default() }), (None, None));
    }
}

#[cfg(test)]
mod readout_tests {
    use super::{ARROW, free_position};
    use egui::{Rect, pos2, vec2};

    #[test]
    fn names_of_leaving_curves_are_beside_each_other_along_the_edge_in_a_few_rows() {
        let frame = Rect::from_min_size(pos2(0.0, 0.0), vec2(300.0, 100.0));
        let size = vec2(ARROW + 68.0, 12.0);
        let mut taken: Vec<Rect> = Vec::new();
        while let Some(area) = free_position(frame, &taken, size, 20.0, 1.0) {
            assert!(
                frame.contains_rect(area) && !taken.iter().any(|other| other.shrink(0.5).intersects(area)),
                "{area:?}"
            );
            taken.push(area);
        }
        assert!(taken.len() >= 6 && taken[1].top() == taken[0].top(), "{taken:?}");
        assert!(taken.iter().all(|area| area.bottom() < 40.0), "{taken:?}");
    }
}
