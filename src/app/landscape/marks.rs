//! Marks and texts on the canvas: the start, captions, and reasons for missing parts.

use super::interaction::start_xy;
use super::layout::CanvasLayout;
use super::projection::Projection;
use crate::app::Document;
use egui::text::{LayoutJob, TextWrapping};
use egui::{Color32, Painter, Rect, Stroke, TextStyle, Ui, Vec2, pos2, vec2};

/// The corners of a circle that lies on the surface in space.
const CIRCLE: usize = 64;

/// Draws the start: a cross, and a circle of one spread about it where that is visible.
pub(super) fn draw_start(painter: &Painter, canvas: Rect, projection: &Projection, document: &Document) {
    let start = start_xy(document);
    let Some(mark) = projection.mark(start) else { return };
    let at = mark.on(canvas);
    if !canvas.expand(20.0).contains(at) {
        return;
    }
    for (color, width) in [(Color32::from_black_alpha(180), 3.5), (Color32::WHITE, 1.5)] {
        for arm in [vec2(1.0, 0.0), vec2(0.0, 1.0)] {
            for side in [-1.0, 1.0] {
                let ends = [at + arm * side * 3.0, at + arm * side * 9.0];
                painter.line_segment(ends, Stroke::new(width, color.gamma_multiply(mark.opacity())));
            }
        }
    }
    let spread = document.spec.start.spread.get();
    let radius = (spread / projection.units_per_px()) as f32;
    if radius > 4.0 && radius < 4.0 * canvas.width() {
        let color = Color32::from_white_alpha(190);
        if matches!(projection, Projection::Plane(_)) {
            painter.circle_stroke(at, radius, Stroke::new(1.0, color));
            return;
        }
        let around = (0..=CIRCLE).map(|corner| {
            let (sin, cos) = (std::f64::consts::TAU * corner as f64 / CIRCLE as f64).sin_cos();
            [start[0] + spread * cos, start[1] + spread * sin]
        });
        for piece in projection.line(canvas, around) {
            painter.line(piece.points, Stroke::new(1.0, color.gamma_multiply(piece.opacity)));
        }
    }
}

/// Names the ensembles that have run away out of view: above the canvas, where the note covers nothing, or at the lower
/// end of a canvas that has no room around it.
pub(super) fn draw_run_away_note(ui: &Ui, layout: &CanvasLayout, document: &Document, left_out: &[u32]) {
    let names: Vec<String> = left_out.iter().filter_map(|id| document.spec.name_of(*id)).collect();
    if names.is_empty() {
        return;
    }
    let text = format!("Run away: {}", names.join(", "));
    let (painter, canvas) = (ui.painter(), layout.canvas);
    let is_above = layout.has_axes;
    let color = if is_above { ui.visuals().warn_fg_color } else { Color32::from_rgb(255, 170, 120) };
    let mut job = LayoutJob::simple_singleline(text, layout.font.clone(), color);
    job.wrap =
        TextWrapping::truncate_at_width(if is_above { ABOVE_SHARE * canvas.width() } else { canvas.width() - 24.0 });
    let galley = painter.layout_job(job);
    let area = run_away_area(canvas, galley.size(), is_above);
    if !is_above {
        painter.rect_filled(area.expand(4.0), 4.0, Color32::from_black_alpha(165));
    }
    painter.galley(area.min, galley, color);
}

/// The share of the canvas's width that a note above it may take. The rest is left to the notes of the axes.
const ABOVE_SHARE: f32 = 0.7;

/// Returns the area of the note about ensembles that have run away.
fn run_away_area(canvas: Rect, size: Vec2, is_above: bool) -> Rect {
    let min = match is_above {
        true => pos2(canvas.right() - 24.0 - size.x, canvas.top() - 3.0 - size.y),
        false => pos2(canvas.left() + 12.0, canvas.bottom() - size.y - 10.0),
    };
    Rect::from_min_size(min, size)
}

/// Explains why there is no picture.
pub(super) fn no_gpu(ui: &Ui, canvas: Rect) {
    let visuals = ui.visuals();
    ui.painter().rect_filled(canvas, 0.0, visuals.extreme_bg_color);
    let text = "The landscape cannot be drawn: no graphics adapter was found. Everything else works.";
    let font = TextStyle::Body.resolve(ui.style());
    let color = visuals.weak_text_color();
    let galley = ui.painter().layout(text.to_owned(), font, color, (canvas.width() - 24.0).max(80.0));
    let at = pos2(canvas.left() + 12.0, canvas.center().y + 0.2 * canvas.height());
    ui.painter().with_clip_rect(canvas).galley(at, galley, color);
}

#[cfg(test)]
mod tests {
    use egui::{Rect, pos2, vec2};

    use super::run_away_area;

    #[test]
    fn the_note_about_ensembles_out_of_view_covers_nothing_of_a_canvas_with_room_around_it() {
        let canvas = Rect::from_min_size(pos2(60.0, 20.0), vec2(140.0, 110.0));
        let area = run_away_area(canvas, vec2(98.0, 12.0), true);
        assert!(!area.intersects(canvas) && area.left() > canvas.left() && area.right() < canvas.right(), "{area:?}");
        assert!(canvas.contains_rect(run_away_area(canvas, vec2(98.0, 12.0), false)));
    }
}
