//! The axes of the canvas: x and y along its frame, and the valley's u and v.

use egui::{Align2, Color32, FontId, Painter, Pos2, Rect, Shape, Stroke, Vec2, Visuals, pos2, vec2};
use valleyscope_engine::landscape::{Landscape, Uv};
use valleyscope_experiments::view::Viewport;
use valleyscope_experiments::view::ticks::Ticks;

use super::glyphs::on_canvas;

/// The smallest distance between tick labels, in points.
const SPACING_X: f32 = 72.0;
const SPACING_Y: f32 = 38.0;
const TICK: f32 = 4.0;

/// Returns the ticks of both axes for the view.
fn ticks(viewport: &Viewport) -> [Ticks; 2] {
    let [width, height] = viewport.size_px;
    let [left, bottom] = viewport.xy_from_px([0.0, height]);
    let [right, top] = viewport.xy_from_px([width, 0.0]);
    [
        Ticks::at_least_two([left, right], f64::from(width), f64::from(SPACING_X)),
        Ticks::at_least_two([bottom, top], f64::from(height), f64::from(SPACING_Y)),
    ]
}

/// The sides of a canvas with the labels of ticks and the name of the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LabelledSides {
    pub left: bool,
    pub below: bool,
}

/// Draws the frame with ticks and labels outside of it, and the axes' names.
pub(super) fn draw(
    painter: &Painter,
    canvas: Rect,
    viewport: &Viewport,
    labelled: LabelledSides,
    font: &FontId,
    visuals: &Visuals,
) {
    let [x, y] = ticks(viewport);
    let (text_color, faint) = (visuals.text_color(), visuals.weak_text_color());
    let stroke = Stroke::new(1.0, faint);
    painter.rect_stroke(canvas, 0.0, stroke, egui::StrokeKind::Outside);
    let below = canvas.bottom() + TICK + 2.0;
    let mut name_top = below + font.size + 2.0;
    for tick in &x.ticks {
        let at = on_canvas(canvas, viewport, [tick.value, viewport.camera.center[1]]).x;
        painter.vline(at, canvas.bottom()..=canvas.bottom() + TICK, stroke);
        if !labelled.below {
            continue;
        }
        let label = painter.text(pos2(at, below), Align2::CENTER_TOP, &tick.label, font.clone(), text_color);
        // Digits do not reach down to the end of their row.
        name_top = name_top.max(label.bottom() - 0.5);
    }
    for tick in &y.ticks {
        let at = on_canvas(canvas, viewport, [viewport.camera.center[0], tick.value]).y;
        painter.hline(canvas.left() - TICK..=canvas.left(), at, stroke);
        if !labelled.left {
            continue;
        }
        painter.text(pos2(canvas.left() - TICK - 3.0, at), Align2::RIGHT_CENTER, &tick.label, font.clone(), text_color);
    }
    let with_note = |name: &str, ticks: &Ticks| match &ticks.note {
        Some(note) => format!("{name}   ({note})"),
        None => name.to_owned(),
    };
    if labelled.below {
        let name_x = pos2(canvas.center().x, name_top);
        painter.text(name_x, Align2::CENTER_TOP, with_note("x", &x), font.clone(), text_color);
    }
    if !labelled.left {
        return;
    }
    // Above the axis, so that the text is upright.
    painter.text(canvas.left_top() - vec2(3.0, 3.0), Align2::RIGHT_BOTTOM, "y", font.clone(), text_color);
    if let Some(note) = &y.note {
        let text = format!("({note})");
        painter.text(canvas.left_top() + vec2(4.0, -3.0), Align2::LEFT_BOTTOM, text, font.clone(), text_color);
    }
}

/// Draws the axes of u and v, which φ turns, through the origin. Their names avoid `taken`.
pub(super) fn draw_uv(
    painter: &Painter,
    canvas: Rect,
    viewport: &Viewport,
    landscape: &Landscape,
    font: &FontId,
    taken: Rect,
) {
    let origin = on_canvas(canvas, viewport, [0.0, 0.0]);
    let text_color = Color32::from_white_alpha(210);
    let halo = Color32::from_black_alpha(110);
    for (name, axis) in [("u", Uv { u: 1.0, v: 0.0 }), ("v", Uv { u: 0.0, v: 1.0 })] {
        let [x, y] = landscape.xy_from_uv(axis);
        let unit = vec2(x as f32, -y as f32).normalized();
        let Some([from, to]) = clipped(origin, unit, canvas) else { continue };
        for stroke in [Stroke::new(2.5, halo), Stroke::new(1.0, text_color)] {
            painter.extend(Shape::dashed_line(&[from, to], stroke, 7.0, 5.0));
        }
        // The arrow and the name are as near as possible to the end to which the axis points.
        let keep_out = taken.expand(16.0);
        let length = (to - from).length();
        let back = (0..).map(|step| 4.0 + 12.0 * step as f32).take_while(|back| *back < 0.8 * length);
        let Some(tip) = back.map(|back| to - unit * back).find(|tip| !keep_out.contains(*tip)) else { continue };
        let head = [tip - unit * 10.0 + unit.rot90() * 4.0, tip - unit * 10.0 - unit.rot90() * 4.0];
        painter.add(Shape::convex_polygon(vec![tip, head[0], head[1]], text_color, Stroke::new(1.0, halo)));
        let beside = canvas.shrink(10.0).clamp(tip - unit * 18.0 + unit.rot90() * 12.0);
        painter.text(beside + vec2(1.0, 1.0), Align2::CENTER_CENTER, name, font.clone(), Color32::BLACK);
        painter.text(beside, Align2::CENTER_CENTER, name, font.clone(), Color32::WHITE);
    }
}

/// Clips the line through `origin` along `unit` to `rect`; returns the segment in that direction.
fn clipped(origin: Pos2, unit: Vec2, rect: Rect) -> Option<[Pos2; 2]> {
    let (mut from, mut to) = (f32::NEG_INFINITY, f32::INFINITY);
    for axis in 0..2 {
        if unit[axis].abs() < 1e-6 {
            if origin[axis] < rect.min[axis] || origin[axis] > rect.max[axis] {
                return None;
            }
            continue;
        }
        let a = (rect.min[axis] - origin[axis]) / unit[axis];
        let b = (rect.max[axis] - origin[axis]) / unit[axis];
        from = from.max(a.min(b));
        to = to.min(a.max(b));
    }
    (to - from > 20.0 && from.is_finite() && to.is_finite()).then(|| [origin + unit * from, origin + unit * to])
}
