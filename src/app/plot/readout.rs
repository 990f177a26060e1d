//! The texts on a plot: values at the pointer, notes, and the names of curves that leave the view.

use egui::text::{LayoutJob, TextWrapping};
use egui::{
    Align2, Color32, Grid, Rect, RectAlign, Response, Sense, Shape, Stroke, TextFormat, TextStyle, Tooltip, Ui, Vec2,
    WidgetInfo, pos2, vec2,
};
use egui_plot::PlotPoint;
use valleyscope_experiments::view::AxisScale;
use valleyscope_experiments::view::ticks::significant;

use super::frame::ShownPlot;

/// A curve that leaves the view, with its first point outside.
pub(in crate::app) struct LeavingCurve {
    pub name: String,
    pub color: Color32,
    pub first: [f64; 2],
    /// The text about the values beyond the edge.
    pub beyond: String,
}

/// Shows a table of values beside the pointer, on the side where the plot has more room, and a note below it.
pub(in crate::app) fn readout(response: &Response, title: &str, note: Option<&str>, rows: impl FnOnce(&mut Ui)) {
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
    pub(in crate::app) fn note(&self, ui: &Ui, text: &str) {
        let (font, color) = (TextStyle::Small.resolve(ui.style()), ui.visuals().weak_text_color());
        let frame = *self.transform.frame();
        ui.painter().with_clip_rect(frame).text(frame.center(), Align2::CENTER_CENTER, text, font, color);
    }

    /// Marks curves that leave a view which was chosen for the others, by small arrows and names along that edge, near
    /// the point if there is room. The pointer shows what lies beyond the edge.
    pub(in crate::app) fn mark_leaving(&self, ui: &Ui, top: f64, curves: impl Iterator<Item = LeavingCurve>) {
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
            let place = free_place(frame, &taken, size, x, up);
            // A curve without room for its name has the arrow alone.
            let area = place.unwrap_or_else(|| beside_edge(frame, vec2(ARROW, size.y), x, up, 0));
            let mark = ui.interact(area.intersect(frame), self.response.id.with(("leaving", index)), Sense::hover());
            mark.widget_info(|| WidgetInfo::labeled(egui::Role::Label, true, &hint));
            mark.on_hover_text(&hint);
            if place.is_some() {
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
fn free_place(frame: Rect, taken: &[Rect], size: Vec2, x: f32, up: f32) -> Option<Rect> {
    /// The gap between names in a row, in points.
    const BETWEEN: f32 = 8.0;
    (0..NAME_ROWS).find_map(|row| {
        let at = |x: f32| beside_edge(frame, size, x, up, row);
        let beside = taken.iter().flat_map(|other| [other.right() + BETWEEN, other.left() - BETWEEN - size.x]);
        let is_inside = |left: &f32| *left >= frame.left() + 4.0 && left + size.x <= frame.right() - 4.0;
        let mut places = std::iter::once(x).chain(beside.filter(is_inside)).map(at);
        places.find(|area| !taken.iter().any(|other| other.expand2(vec2(0.5 * BETWEEN, -1.0)).intersects(*area)))
    })
}

/// Describes the values of a curve outside of a range, in places, by the farthest one; `x_words` describes its place on
/// the horizontal axis. The curve leaves the range.
pub(in crate::app) fn beyond(
    places: impl Iterator<Item = [f64; 2]>,
    [bottom, top]: [f64; 2],
    scale: AxisScale,
    x_words: impl Fn(f64) -> String,
) -> String {
    let outside = places.map(|[x, y]| (x, y, (y - top).max(bottom - y))).filter(|(.., away)| *away > 0.0);
    let farthest = outside.reduce(|first, next| if next.2 > first.2 { next } else { first });
    farthest.map_or_else(String::new, |(x, y, _)| {
        let direction = if y > top { "up" } else { "down" };
        format!("{direction} to {} at {}", significant(scale.value(y), 3), x_words(x))
    })
}

#[cfg(test)]
mod tests {
    use super::{ARROW, free_place};
    use egui::{Rect, pos2, vec2};

    #[test]
    fn names_of_leaving_curves_are_beside_each_other_along_the_edge_in_a_few_rows() {
        let frame = Rect::from_min_size(pos2(0.0, 0.0), vec2(300.0, 100.0));
        let size = vec2(ARROW + 68.0, 12.0);
        let mut taken: Vec<Rect> = Vec::new();
        while let Some(area) = free_place(frame, &taken, size, 20.0, 1.0) {
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
