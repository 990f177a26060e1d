//! The arrows on the selected particle: its gradients, its optimizer's states, and its step.

use std::sync::Arc;

use egui::{Align2, Color32, FontId, Galley, Painter, Pos2, Rect, Shape, Stroke, Vec2, pos2, vec2};
use valleyscope_engine::optimizer::{ArrowRole, PartRole, StepInputs};
use valleyscope_engine::simulation::StepTrace;
use valleyscope_experiments::view::Viewport;

use super::labels::{LabelRequest, place};
use super::projection::Projection;

/// An arrow at the particle's position before the step.
#[derive(Clone, Debug, PartialEq)]
pub struct Glyph {
    /// The label at the arrow, and its text in the key.
    pub label: &'static str,
    pub meaning: &'static str,
    pub color: Color32,
    /// The vector in the plane.
    pub vector: [f64; 2],
    /// Draws the arrow to scale if true; others show a direction and, roughly, a size.
    pub to_scale: bool,
}

/// Returns the arrows of a step, each in the direction in which it pushes the particle: down the gradient, not up.
pub fn glyphs(step: &StepTrace) -> Vec<Glyph> {
    let glyph = |label, meaning, color, vector: [f64; 2]| Glyph {
        label,
        meaning,
        color,
        vector: vector.map(|value| -value),
        to_scale: false,
    };
    let StepInputs { theta, gradient: noisy_gradient, .. } = step.inputs;
    let mut glyphs = vec![
        glyph("−∇L", "down the gradient", Color32::WHITE, step.gradient),
        glyph("−g", "down the noisy gradient", Color32::from_rgb(120, 220, 255), noisy_gradient),
    ];
    // A rule without weight decay has none to draw.
    let drawn = step.trace.arrows.iter().filter(|(arrow, value)| arrow.role != ArrowRole::Decay || *value != [0.0; 2]);
    glyphs.extend(drawn.map(|(arrow, value)| {
        let color = match arrow.role {
            ArrowRole::Momentum => Color32::from_rgb(255, 150, 220),
            ArrowRole::Direction => Color32::from_rgb(160, 255, 160),
            ArrowRole::Decay => Color32::from_rgb(200, 165, 255),
        };
        glyph(arrow.label, arrow.meaning, color, *value)
    }));
    let vector = [step.after[0] - theta[0], step.after[1] - theta[1]];
    glyphs.push(Glyph {
        label: "step",
        meaning: "the step taken",
        color: Color32::from_rgb(255, 220, 60),
        vector,
        to_scale: true,
    });
    glyphs
}

/// Returns the length of an arrow that is not to scale, in points: 16 to 84, by the logarithm of its size from 0.0001
/// to 100; 0 for a size that is 0 or not finite.
pub fn compressed_length(size: f64) -> f32 {
    if !(size > 0.0 && size.is_finite()) {
        return 0.0;
    }
    let part = (size.log10() + 4.0) / 6.0;
    16.0 + 68.0 * part.clamp(0.0, 1.0) as f32
}

/// The length of a step, in points, below which it is drawn lengthened and the key notes that.
const VISIBLE_STEP: f32 = 6.0;

/// The presence of the arrows' key, and whether it includes hints at interactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GlyphKey {
    None,
    Plain,
    WithHints,
}

/// Draws the arrows, and their key into a corner where it covers none of `particles`; returns the key's area.
pub(super) fn draw(
    painter: &Painter,
    canvas: Rect,
    projection: &Projection,
    step: &StepTrace,
    font: &FontId,
    with_key: GlyphKey,
    particles: &[Pos2],
) -> Rect {
    let glyphs = glyphs(step);
    let theta = step.inputs.theta;
    let base = projection.mark(theta);
    let mut step_to_scale = true;
    if let Some(at) = base.map(|mark| mark.on(canvas)).filter(|at| canvas.expand(200.0).contains(*at)) {
        let mut labels = Vec::new();
        for glyph in &glyphs {
            let size = (glyph.vector[0].powi(2) + glyph.vector[1].powi(2)).sqrt();
            if compressed_length(size) == 0.0 {
                continue;
            }
            let true_length = (size / projection.units_per_px()) as f32;
            let length = match glyph.to_scale && true_length >= VISIBLE_STEP {
                true => true_length,
                false => compressed_length(size),
            };
            step_to_scale &= !glyph.to_scale || true_length >= VISIBLE_STEP;
            let Some(Shaft { points, unit, tip }) = shaft(canvas, projection, theta, at, glyph.vector, length) else {
                continue;
            };
            let width = if glyph.to_scale { 3.0 } else { 2.0 };
            arrow(painter, &points, unit, glyph.color, width);
            let galley = painter.layout_no_wrap(glyph.label.to_owned(), font.clone(), glyph.color);
            let wanted = LabelRequest { tip, unit, size: galley.size() + vec2(6.0, 0.0) };
            labels.push((wanted, galley, glyph.color));
        }
        let mut taken = vec![Rect::from_center_size(at, Vec2::splat(10.0))];
        let states = step.inputs.rule.info().states.iter().zip(&step.trace.states);
        for (part, place) in states.filter(|(part, _)| matches!(part.role, PartRole::State { is_place: true, .. })) {
            let Some(mark) = projection.mark(*place) else { continue };
            taken.push(place_mark(painter, mark.on(canvas), part.symbol, font));
        }
        draw_labels(painter, canvas, labels, &taken);
    }
    let note = match (step_to_scale, with_key) {
        (_, GlyphKey::None) => return Rect::NOTHING,
        (true, _) => "The step is to scale; the others’ lengths are logarithmic.",
        (false, GlyphKey::Plain) => "Lengths are logarithmic.",
        (false, GlyphKey::WithHints) => "Lengths are logarithmic; zoom in to see the step to scale.",
    };
    key(painter, canvas, &glyphs, font, note, particles)
}

/// Returns the position of a point of the plane on the screen.
pub(super) fn on_canvas(canvas: Rect, viewport: &Viewport, xy: [f64; 2]) -> Pos2 {
    let [x, y] = viewport.px_from_xy(xy);
    canvas.min + vec2(x, y)
}

/// The line of an arrow on the screen, up to its tip.
struct Shaft {
    points: Vec<Pos2>,
    /// The direction at the tip.
    unit: Vec2,
    /// The tip, also where it lies far outside of the canvas and the line ends before.
    tip: Pos2,
}

/// Returns the line of an arrow of this length along a vector of the plane. In space it lies on the surface, and ends
/// where that does.
fn shaft(
    canvas: Rect,
    projection: &Projection,
    theta: [f64; 2],
    at: Pos2,
    vector: [f64; 2],
    length: f32,
) -> Option<Shaft> {
    let size = vector[0].hypot(vector[1]);
    if matches!(projection, Projection::Plane(_)) {
        let direction = vec2(vector[0] as f32, -vector[1] as f32);
        let unit = if direction.length() > 0.0 { direction.normalized() } else { Vec2::X };
        return Some(Shaft { points: vec![at, at + unit * length.min(2000.0)], unit, tip: at + unit * length });
    }
    let reach = f64::from(length.min(2000.0)) * projection.units_per_px() / size;
    let end = [0, 1].map(|axis| theta[axis] + reach * vector[axis]);
    let pieces = projection.pieces(theta, end).max(4);
    let points: Vec<Pos2> = (0..=pieces)
        .map_while(|piece| {
            let part = piece as f64 / pieces as f64;
            projection.px([0, 1].map(|axis| theta[axis] + part * (end[axis] - theta[axis])))
        })
        .map(|px| canvas.min + Vec2::from(px))
        .collect();
    let tip = *points.last()?;
    let before = points.iter().rev().find(|point| point.distance(tip) > 3.0).or(points.first())?;
    let unit = (tip - *before).normalized();
    (points.len() > 1 && unit != Vec2::ZERO).then_some(Shaft { points, unit, tip })
}

fn arrow(painter: &Painter, points: &[Pos2], unit: Vec2, color: Color32, width: f32) {
    let Some(&tip) = points.last() else { return };
    let length: f32 = points.windows(2).map(|pair| pair[0].distance(pair[1])).sum();
    let head = (3.0 + 2.5 * width).min(0.7 * length);
    let neck = tip - unit * head * 0.8;
    let side = unit.rot90() * head * 0.5;
    let halo = Color32::from_black_alpha(170);
    // The line ends inside the head.
    let mut line = points[..points.len() - 1].to_vec();
    while line.len() > 1 && line[line.len() - 1].distance(tip) < head {
        line.pop();
    }
    line.push(neck);
    painter.line(line.clone(), Stroke::new(width + 2.0, halo));
    let corners = vec![tip, tip - unit * head + side, tip - unit * head - side];
    painter.add(Shape::convex_polygon(corners.clone(), halo, Stroke::new(2.0, halo)));
    painter.line(line, Stroke::new(width, color));
    painter.add(Shape::convex_polygon(corners, color, Stroke::NONE));
}

/// Draws the labels beyond the arrows' tips, each joined to its tip by a line if it had to move away.
fn draw_labels(painter: &Painter, canvas: Rect, labels: Vec<(LabelRequest, Arc<Galley>, Color32)>, taken: &[Rect]) {
    const FAR: f32 = 16.0;
    let wanted: Vec<LabelRequest> = labels.iter().map(|(wanted, ..)| *wanted).collect();
    let places = place(&wanted, canvas.shrink(2.0), taken);
    for ((wanted, galley, color), rect) in labels.into_iter().zip(places) {
        let Some(rect) = rect else { continue };
        let nearest = rect.clamp(wanted.tip);
        if nearest.distance(wanted.tip) > FAR {
            painter.line_segment([wanted.tip, nearest], Stroke::new(1.0, color.gamma_multiply(0.7)));
        }
        painter.rect_filled(rect, 3.0, Color32::from_black_alpha(150));
        painter.galley(rect.min + vec2(3.0, 0.0), galley, color);
    }
}

/// Marks a position that the rule remembers by a hollow diamond; returns the area that the mark covers.
fn place_mark(painter: &Painter, at: Pos2, symbol: &str, font: &FontId) -> Rect {
    let corners = [vec2(0.0, -5.0), vec2(5.0, 0.0), vec2(0.0, 5.0), vec2(-5.0, 0.0)].map(|offset| at + offset);
    painter.add(Shape::closed_line(corners.to_vec(), Stroke::new(3.0, Color32::from_black_alpha(170))));
    painter.add(Shape::closed_line(corners.to_vec(), Stroke::new(1.5, Color32::WHITE)));
    let anchor = at + vec2(0.0, 6.0);
    painter.text(anchor + vec2(0.7, 0.7), Align2::CENTER_TOP, symbol, font.clone(), Color32::BLACK);
    let name = painter.text(anchor, Align2::CENTER_TOP, symbol, font.clone(), Color32::WHITE);
    name.union(Rect::from_center_size(at, Vec2::splat(10.0)))
}

/// The distance of the key from particles, in points.
const CLEAR: f32 = 12.0;

/// Draws the key of the arrows with their sizes and a note into a corner, if there is room: the lower right one, or
/// another that holds fewer of `particles`; returns its area.
fn key(painter: &Painter, canvas: Rect, glyphs: &[Glyph], font: &FontId, note: &str, particles: &[Pos2]) -> Rect {
    let text = Color32::from_gray(235);
    let rows: Vec<_> = glyphs
        .iter()
        .map(|glyph| {
            let size = (glyph.vector[0].powi(2) + glyph.vector[1].powi(2)).sqrt();
            let name = format!("{}  {}", glyph.label, glyph.meaning);
            let size = valleyscope_experiments::view::ticks::significant(size, 3);
            (
                glyph.color,
                painter.layout_no_wrap(name, font.clone(), text),
                painter.layout_no_wrap(size, font.clone(), text),
            )
        })
        .collect();
    let names = rows.iter().map(|(_, name, _)| name.size().x).fold(0.0, f32::max);
    let sizes = rows.iter().map(|(_, _, size)| size.size().x).fold(0.0, f32::max);
    let line = rows.first().map_or(14.0, |(_, name, _)| name.size().y);
    let width = 26.0 + names + 14.0 + sizes;
    let note = painter.layout(note.to_owned(), font.clone(), Color32::from_gray(190), width);
    let height = line * rows.len() as f32 + note.size().y + 4.0;
    let size = vec2(width + 14.0, height + 12.0);
    let corners = canvas.shrink(8.0);
    let areas = [
        Rect::from_min_size(corners.max - size, size),
        Rect::from_min_size(pos2(corners.left(), corners.bottom() - size.y), size),
        Rect::from_min_size(corners.min, size),
    ];
    let covered = |area: &Rect| particles.iter().filter(|at| area.expand(CLEAR).contains(**at)).count();
    let area = areas.into_iter().min_by_key(covered).unwrap_or(areas[0]);
    if area.height() > 0.6 * canvas.height() || area.width() > 0.7 * canvas.width() {
        return Rect::NOTHING;
    }
    painter.rect_filled(area, 5.0, Color32::from_black_alpha(175));
    let mut at = area.min + vec2(7.0, 6.0);
    for (color, name, size) in rows {
        let middle = at.y + 0.5 * line;
        painter.line_segment([pos2(at.x, middle), pos2(at.x + 18.0, middle)], Stroke::new(2.5, color));
        painter.galley(pos2(at.x + 26.0, at.y), name, text);
        painter.galley(pos2(at.x + width - size.size().x, at.y), size, text);
        at.y += line;
    }
    painter.galley(pos2(at.x, at.y + 4.0), note, text);
    area
}
