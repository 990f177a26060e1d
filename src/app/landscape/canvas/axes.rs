//! The axes of the canvas, flat and in space, and the colour bar.

use egui::{
    Align2, Color32, ComboBox, FontId, Mesh, Painter, Popup, Pos2, Rect, Sense, Shape, Stroke, Ui, Vec2, Visuals,
    WidgetInfo, pos2, vec2,
};
use valleyscope_engine::landscape::{Landscape, Uv};
use valleyscope_engine::quantity::Range;
use valleyscope_engine::setting::SettingInfo;
use valleyscope_experiments::view::ticks::{Ticks, significant};
use valleyscope_experiments::view::{
    AxisLine, Colormap, SpaceAxes, SpaceAxesStyle, SpaceView, SymLog, ViewSettings, Viewport,
};

use super::paint::Projection;
use super::particle::on_canvas;
use crate::app::landscape::controls::Control;
use crate::app::widgets::form::check_box;

/// The smallest distance between tick labels, in points.
const SPACING_X: f32 = 72.0;
const SPACING_Y: f32 = 38.0;
const TICK: f32 = 4.0;

fn axis_ticks(viewport: &Viewport) -> [Ticks; 2] {
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
pub(crate) struct LabelledSides {
    pub left: bool,
    pub below: bool,
}

/// Draws the frame with ticks and labels outside of it, and the axes' names.
pub(crate) fn draw_axes(
    painter: &Painter,
    canvas: Rect,
    viewport: &Viewport,
    labelled: LabelledSides,
    font: &FontId,
    visuals: &Visuals,
) {
    let [x, y] = axis_ticks(viewport);
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
pub(crate) fn draw_uv_axes(
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

/// The sizes of the axes, in points.
const STYLE: SpaceAxesStyle = SpaceAxesStyle { tick: 5.0, gap: 3.0, name: 30.0, spacing: [48.0, 26.0] };

pub(crate) fn space_axes_of(view: SpaceView, scale: &SymLog) -> SpaceAxes {
    SpaceAxes::new(view, scale, STYLE)
}

fn on(canvas: Rect, [x, y]: [f64; 2]) -> Pos2 {
    pos2(canvas.left() + x as f32, canvas.top() + y as f32)
}

/// Draws the walls behind the surface. Call before the surface is drawn.
pub(crate) fn draw_walls(painter: &Painter, canvas: Rect, axes: &SpaceAxes, visuals: &Visuals) {
    draw_lines(painter, canvas, &axes.walls(), visuals);
}

/// Draws the axes with ticks, labels and names. Call after the surface is drawn.
pub(crate) fn draw_space_axes(painter: &Painter, canvas: Rect, axes: &SpaceAxes, font: &FontId, visuals: &Visuals) {
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
pub(crate) fn draw_uv_in_space(
    painter: &Painter,
    canvas: Rect,
    projection: &Projection,
    landscape: &Landscape,
    font: &FontId,
) {
    let Projection::Space(space) = projection else { return };
    let (text_color, halo) = (Color32::from_white_alpha(210), Color32::from_black_alpha(110));
    for (name, axis) in [("u", Uv { u: 1.0, v: 0.0 }), ("v", Uv { u: 0.0, v: 1.0 })] {
        let direction = landscape.xy_from_uv(axis);
        let Some([from, to]) = across(space.view.box_from_xy([0.0; 2]), direction) else { continue };
        let points = (0..=POINTS).map(|point| {
            let part = point as f64 / POINTS as f64;
            space.view.xy_from_box([0, 1].map(|axis| from[axis] + part * (to[axis] - from[axis])))
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

/// Returns the part inside the square of the line through a point along a direction.
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

/// The width of the coloured strip, in points.
pub(crate) const STRIP: f32 = 14.0;
/// The number of colour steps along the strip.
const BAR_SHADES: usize = 128;
const SPACING: f32 = 22.0;
/// The width of the settings, in points.
const SETTINGS_WIDTH: f32 = 300.0;

/// Returns the ticks that fit on a bar of this height.
pub(crate) fn color_bar_ticks(scale: &SymLog, height: f32) -> Ticks {
    Ticks::symlog(scale, (height / SPACING) as usize)
}

/// Draws the bar into `strip`, with labels to its right; a click opens the settings.
pub(crate) fn show_color_bar(
    ui: &mut Ui,
    strip: Rect,
    scale: SymLog,
    view: &mut ViewSettings,
    font: &FontId,
    ticks: &Ticks,
) {
    let text_color = ui.visuals().text_color();
    let painter = ui.painter();
    painter.add(gradient(strip, view.colormap));
    painter.rect_stroke(strip, 0.0, Stroke::new(1.0, ui.visuals().weak_text_color()), egui::StrokeKind::Outside);
    for tick in &ticks.ticks {
        let position = scale.position(tick.value) as f32;
        if !(0.0..=1.0).contains(&position) {
            continue;
        }
        let y = strip.bottom() - position * strip.height();
        painter.hline(strip.right()..=strip.right() + 3.0, y, Stroke::new(1.0, text_color));
        painter.text(pos2(strip.right() + 6.0, y), Align2::LEFT_CENTER, &tick.label, font.clone(), text_color);
    }
    // Aligned with the strip's right edge, as the label of the topmost tick may be beyond it.
    painter.text(strip.right_top() + vec2(0.0, -3.0), Align2::RIGHT_BOTTOM, "loss L", font.clone(), text_color);

    let id = ui.scope_id().with("color bar");
    let response = ui.interact(strip.expand2(vec2(2.0, 0.0)), id, Sense::click());
    let kind = if view.scale.is_some() { "fixed" } else { "automatic" };
    let summary = format!(
        "{:?}, {kind}: {min} to {max}, linear below {linear}",
        view.colormap,
        min = significant(scale.min, 3),
        max = significant(scale.max, 3),
        linear = significant(scale.linear, 3)
    );
    response.widget_info(|| WidgetInfo {
        current_text_value: Some(summary.clone()),
        ..WidgetInfo::labeled(egui::Role::Button, true, "Colour scale")
    });
    if response.has_focus() {
        ui.painter().rect_stroke(strip, 0.0, ui.visuals().selection.stroke, egui::StrokeKind::Outside);
    }
    let response = response
        .on_hover_cursor(egui::CursorIcon::PointingHand)
        .on_hover_text("Colours of the loss: linear about 0, logarithmic far from it.\nClick to set them.");
    Popup::menu(&response)
        .close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside)
        .accessible_name("Colour scale settings")
        .show(|ui| color_settings(ui, scale, view));
}

/// Draws the strip as one mesh, with the highest values at the top.
fn gradient(strip: Rect, colormap: Colormap) -> Shape {
    let mut mesh = Mesh::default();
    for shade in 0..=BAR_SHADES {
        let part = shade as f32 / BAR_SHADES as f32;
        let [red, green, blue] = colormap.rgb(f64::from(part));
        let y = strip.bottom() - part * strip.height();
        mesh.colored_vertex(pos2(strip.left(), y), Color32::from_rgb(red, green, blue));
        mesh.colored_vertex(pos2(strip.right(), y), Color32::from_rgb(red, green, blue));
        if shade > 0 {
            let corner = 2 * shade as u32;
            mesh.add_triangle(corner - 2, corner - 1, corner);
            mesh.add_triangle(corner - 1, corner, corner + 1);
        }
    }
    Shape::mesh(mesh)
}

fn color_settings(ui: &mut Ui, shown: SymLog, view: &mut ViewSettings) {
    ui.set_width(SETTINGS_WIDTH);
    ui.strong("Colours of the loss");
    ui.horizontal(|ui| {
        let label = ui.label("Colour map");
        let combo = ComboBox::from_id_salt("color map").selected_text(colormap_name(view.colormap));
        let combo = combo.show_ui(ui, |ui| {
            for colormap in Colormap::ALL {
                ui.selectable_value(&mut view.colormap, colormap, colormap_name(colormap));
            }
        });
        combo.response.labelled_by(label.id);
    });
    color_scale(ui, &mut view.scale, shown);
}

const fn scale_end(label: &'static str, help: &'static str) -> SettingInfo {
    SettingInfo::number("", label, Range::new("scale", 1e-9, 1e12)).logarithmic().help(help).paper("no such setting")
}

const SCALE_LINEAR: SettingInfo =
    scale_end("Linear below", "Colour smaller losses about linearly, and larger ones logarithmically.")
        .slider(1e-4, 10.0);
const SCALE_MAX: SettingInfo =
    scale_end("Largest loss", "The loss at the upper end of the colour bar.").slider(1e-2, 1e6);
const SCALE_DEPTH: SettingInfo =
    scale_end("Depth below 0", "How far the lower end of the colour bar is below 0.").slider(1e-2, 1e6);

/// The usual scale, when it is first fixed from a menu and when its controls are reset.
pub(crate) const FIRST_SCALE: SymLog = SymLog::symmetric(0.01, 10.0);

/// Shows the controls of the colour scale; `first` is the scale when it is first fixed.
pub(crate) fn color_scale(ui: &mut Ui, scale: &mut Option<SymLog>, first: SymLog) {
    let mut follows = scale.is_none();
    if check_box(ui, &mut follows, "Colour scale follows the view").changed() {
        *scale = (!follows).then_some(first);
    }
    if let Some(scale) = scale {
        let [mut linear, mut max] = [scale.linear, scale.max];
        Control { of: &SCALE_LINEAR, default: FIRST_SCALE.linear }.show(ui, "", &mut linear);
        Control { of: &SCALE_MAX, default: FIRST_SCALE.max }.show(ui, "", &mut max);
        let mut has_negative = scale.min < 0.0;
        if check_box(ui, &mut has_negative, "Colours for losses below 0").changed() {
            scale.min = if has_negative { -max } else { 0.0 };
        }
        if has_negative {
            let mut depth = -scale.min;
            Control { of: &SCALE_DEPTH, default: -FIRST_SCALE.min }.show(ui, "", &mut depth);
            scale.min = -depth;
        }
        // The linear part lies inside the scale.
        *scale = SymLog { linear: linear.min(max), max, ..*scale };
    }
}

pub(crate) fn colormap_name(colormap: Colormap) -> String {
    match colormap {
        Colormap::Cividis => "Cividis (for colour vision deficiency)".to_owned(),
        other => format!("{other:?}"),
    }
}
