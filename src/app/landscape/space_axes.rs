//! Draws the axes of the surface in space, and those of the valley on it.

use egui::{Align2, Color32, FontId, Painter, Pos2, Rect, Shape, Stroke, Visuals, pos2, vec2};
use valleyscope_engine::landscape::{Landscape, Uv};
use valleyscope_experiments::view::{AxisLine, SpaceAxes, SpaceAxesStyle, SpaceView, SymLog};

use super::projection::Projection;

/// The sizes of the axes, in points.
const STYLE: SpaceAxesStyle = SpaceAxesStyle { tick: 5.0, gap: 3.0, name: 30.0, spacing: [48.0, 26.0] };

/// Returns the axes of a surface.
pub(super) fn of(view: SpaceView, scale: &SymLog) -> SpaceAxes {
    SpaceAxes::new(view, scale, STYLE)
}

fn on(canvas: Rect, [x, y]: [f64; 2]) -> Pos2 {
    pos2(canvas.left() + x as f32, canvas.top() + y as f32)
}

/// Draws the walls behind the surface. Call before the surface is drawn.
pub(super) fn draw_walls(painter: &Painter, canvas: Rect, axes: &SpaceAxes, visuals: &Visuals) {
    draw_lines(painter, canvas, &axes.walls(), visuals);
}

/// Draws the axes with ticks, labels and names. Call after the surface is drawn.
pub(super) fn draw(painter: &Painter, canvas: Rect, axes: &SpaceAxes, font: &FontId, visuals: &Visuals) {
    draw_lines(painter, canvas, &axes.lines(), visuals);
    for label in axes.labels() {
        let outward = vec2(label.outward[0] as f32, label.outward[1] as f32);
        let galley = painter.layout_no_wrap(label.text, font.clone(), visuals.text_color());
        let half = 0.5 * galley.size();
        let reach = outward.x.abs() * half.x + outward.y.abs() * half.y;
        let mut at = on(canvas, label.at) + outward * reach - half;
        // In a narrow canvas, labels would begin or end outside of it.
        at.x = at.x.min(canvas.right() - 2.0 * half.x - 2.0).max(canvas.left() + 2.0);
        painter.galley(at, galley, visuals.text_color());
    }
}

fn draw_lines(painter: &Painter, canvas: Rect, lines: &[AxisLine], visuals: &Visuals) {
    let frame = visuals.weak_text_color();
    for line in lines {
        let color = if line.is_frame { frame } else { frame.gamma_multiply(0.35) };
        painter.line_segment(line.ends.map(|end| on(canvas, end)), Stroke::new(1.0, color));
    }
}

/// Draws the valley's axes through the origin on the surface: u along the floor, v across it.
pub(super) fn draw_uv(painter: &Painter, canvas: Rect, projection: &Projection, landscape: &Landscape, font: &FontId) {
    let Projection::Space(space) = projection else { return };
    let (text_color, halo) = (Color32::from_white_alpha(210), Color32::from_black_alpha(110));
    for (name, axis) in [("u", Uv { u: 1.0, v: 0.0 }), ("v", Uv { u: 0.0, v: 1.0 })] {
        let direction = landscape.xy_from_uv(axis);
        let Some([from, to]) = across(space.view.place_from_xy([0.0; 2]), direction) else { continue };
        let points = (0..=POINTS).map(|point| {
            let part = point as f64 / POINTS as f64;
            space.view.xy_from_place([0, 1].map(|axis| from[axis] + part * (to[axis] - from[axis])))
        });
        let pieces = projection.line(canvas, points);
        for piece in &pieces {
            for (color, width) in [(halo, 2.5), (text_color, 1.0)] {
                let stroke = Stroke::new(width, color.gamma_multiply(piece.opacity));
                painter.extend(Shape::dashed_line(&piece.points, stroke, 7.0, 5.0));
            }
        }
        let Some(last) = pieces.last() else { continue };
        let [.., before, tip] = last.points[..] else { continue };
        let unit = (tip - before).normalized();
        let beside = tip - unit * 18.0 + unit.rot90() * 12.0;
        let color = Color32::WHITE.gamma_multiply(last.opacity);
        painter.text(beside + vec2(1.0, 1.0), Align2::CENTER_CENTER, name, font.clone(), Color32::BLACK);
        painter.text(beside, Align2::CENTER_CENTER, name, font.clone(), color);
    }
}

/// The number of straight pieces of an axis of the valley.
const POINTS: usize = 72;

/// Returns the part inside the square of the line through a place along a direction.
fn across(through: [f64; 2], direction: [f64; 2]) -> Option<[[f64; 2]; 2]> {
    let (mut from, mut to) = (f64::NEG_INFINITY, f64::INFINITY);
    for axis in 0..2 {
        let ends = [-0.999, 0.999].map(|side| (side - through[axis]) / direction[axis]);
        // For a line along a side both are infinite, or NaN on the side, and neither narrows the range.
        from = from.max(ends[0].min(ends[1]));
        to = to.min(ends[0].max(ends[1]));
    }
    let at = |length: f64| [0, 1].map(|axis| through[axis] + length * direction[axis]);
    (from < to && from.is_finite() && to.is_finite()).then(|| [at(from), at(to)])
}
