//! Marks and texts on the canvas: the start, captions, and reasons for missing parts.

use super::interaction::start_xy;
use super::projection::Projection;
use crate::app::Document;
use egui::{Color32, FontId, Painter, Rect, Stroke, TextStyle, Ui, pos2, vec2};

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

/// Names the ensembles that have run away out of view.
pub(super) fn draw_run_away_note(
    painter: &Painter,
    canvas: Rect,
    document: &Document,
    left_out: &[u32],
    font: &FontId,
) {
    let names: Vec<String> = left_out.iter().filter_map(|id| document.spec.name_of(*id)).collect();
    if names.is_empty() {
        return;
    }
    let text = format!("Run away, out of view: {}", names.join(", "));
    let galley = painter.layout(text, font.clone(), Color32::from_rgb(255, 170, 120), canvas.width() - 24.0);
    let at = pos2(canvas.left() + 12.0, canvas.bottom() - galley.size().y - 10.0);
    let back = Rect::from_min_size(at, galley.size()).expand(4.0);
    painter.rect_filled(back, 4.0, Color32::from_black_alpha(165));
    painter.galley(at, galley, Color32::WHITE);
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
