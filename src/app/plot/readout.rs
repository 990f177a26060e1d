//! The texts on a plot: values at the pointer, notes, and the names of curves that leave the view.

use egui::text::{LayoutJob, TextWrapping};
use egui::{
    Align2, Color32, Grid, Rect, RectAlign, Response, Sense, Shape, Stroke, TextFormat, TextStyle, Tooltip, Ui,
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

    /// Marks curves that leave a view which was chosen for the others, by a small arrow at that point and the name. What
    /// lies beyond the edge is told at the pointer.
    pub(in crate::app) fn mark_leaving(&self, ui: &Ui, top: f64, curves: impl Iterator<Item = LeavingCurve>) {
        let frame = *self.transform.frame();
        let painter = ui.painter().with_clip_rect(frame);
        let mut taken: Vec<Rect> = Vec::new();
        for (index, LeavingCurve { name, color, first, beyond }) in curves.enumerate() {
            let hint = format!("{name}: {beyond}");
            let (edge, up) = if first[1] > top { (frame.top() + 2.0, 1.0) } else { (frame.bottom() - 2.0, -1.0) };
            let format = TextFormat::simple(TextStyle::Small.resolve(ui.style()), color);
            let mut job = LayoutJob::single_section(name, format);
            job.wrap = TextWrapping::truncate_at_width(0.5 * frame.width());
            let name = painter.layout_job(job);
            let x = self.transform.position_from_point(&PlotPoint::new(first[0], first[1])).x;
            let size = vec2(12.0 + name.size().x, name.size().y);
            let left = x.min(frame.right() - size.x - 4.0).max(frame.left() + 4.0);
            let mut area = Rect::from_min_size(pos2(left, if up > 0.0 { edge } else { edge - size.y }), size);
            while taken.iter().any(|other| other.intersects(area)) && frame.contains_rect(area) {
                area = area.translate(vec2(0.0, up * size.y));
            }
            taken.push(area);
            let mark = ui.interact(area.intersect(frame), self.response.id.with(("leaving", index)), Sense::hover());
            mark.widget_info(|| WidgetInfo::labeled(egui::Role::Label, true, &hint));
            mark.on_hover_text(&hint);
            let tip = pos2(area.left() + 4.0, area.center().y - up * 4.0);
            let corners = vec![tip, tip + vec2(4.0, up * 8.0), tip + vec2(-4.0, up * 8.0)];
            painter.add(Shape::convex_polygon(corners, color, Stroke::NONE));
            painter.galley(area.left_top() + vec2(12.0, 0.0), name, color);
        }
    }
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
