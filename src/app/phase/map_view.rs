//! The map itself: picture, axes, marker, and pointer actions.

use egui::accesskit::Role;
use egui::{
    Align2, Color32, CursorIcon, EventFilter, Key, Modifiers, Pos2, Rect, Response, Sense, Stroke, TextStyle, Ui,
    WidgetInfo, pos2, vec2,
};
use valleyscope_engine::sweep::Diagram;

use super::axes::MapSide;
use super::picture::{ColorKey, MapPicture};
use crate::figure::axis_label;

/// The space for the labels of the rows, at the left, in points.
const LEFT: f32 = 64.0;
const BOTTOM: f32 = 44.0;
/// The distance from the map to the labels below it, in points.
const LABELS_BELOW: f32 = 6.0;
const TOP: f32 = 8.0;
/// The space for the colour bar and its labels, at the right, in points.
const RIGHT: f32 = 84.0;
/// The space at the right without a colour bar, in points.
const NO_BAR: f32 = 16.0;

/// The fraction of its colour that an outdated picture keeps.
const FAINT: f32 = 0.5;
/// The largest distance at which the marker is grabbed, in points.
const GRAB_RADIUS: f32 = 16.0;

/// A diagram and its picture.
pub(super) struct MapView<'a> {
    /// The accessible name.
    pub name: &'a str,
    pub diagram: &'a Diagram,
    pub picture: &'a MapPicture,
    /// Leaves space for a colour bar if true.
    pub bar: bool,
    /// True if the map is not of the settings under the controls, and drawn faded.
    pub is_stale: bool,
}

/// The pointer's and the keys' actions on a map.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct MapResponse {
    pub hovered: Option<[usize; 2]>,
    /// The pixel whose landscape was requested.
    pub clicked: Option<[usize; 2]>,
    /// The pixel to select.
    pub kept: Option<[usize; 2]>,
    /// The pixel to which keys moved.
    pub moved: Option<[usize; 2]>,
    /// The values of row and column to which the marker was dragged.
    pub dragged: Option<[f64; 2]>,
}

/// Returns the area of the picture of a map that is drawn into an area, with or without a colour bar.
pub(super) fn inside(ui: &Ui, area: Rect, bar: bool) -> Rect {
    let right = if bar { RIGHT } else { NO_BAR };
    let bottom = name_below(ui) + ui.text_style_height(&TextStyle::Body) + 2.0;
    Rect::from_min_max(area.min + vec2(LEFT, TOP), area.max - vec2(right, bottom.max(BOTTOM)))
}

/// Returns the distance from the map to the name of the axis below it, which is below the labels.
fn name_below(ui: &Ui) -> f32 {
    (LABELS_BELOW + ui.text_style_height(&TextStyle::Small)).max(22.0)
}

/// Draws a diagram's map into all of the available space. `marker` has values of row and column.
pub(super) fn show(
    ui: &mut Ui,
    view: &MapView<'_>,
    marker: Option<[f64; 2]>,
    chosen: Option<[usize; 2]>,
) -> MapResponse {
    let spec = view.diagram.spec();
    let sides = [MapSide(&spec.rows), MapSide(&spec.columns)];
    let (outer, _) = ui.allocate_exact_size(ui.available_size(), Sense::hover());
    let color_key = view.picture.color_key.as_ref();
    let frame = inside(ui, outer, view.bar);
    if frame.width() < 40.0 || frame.height() < 40.0 {
        return MapResponse::default();
    }
    let response = ui.interact(frame, ui.scope_id().with(view.name), Sense::click_and_drag());
    response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, view.name));
    let painter = ui.painter_at(outer);
    if let Some(texture) = view.picture.texture() {
        let whole = Rect::from_min_max(Pos2::ZERO, pos2(1.0, 1.0));
        let strength = ui.ctx().animate_bool(response.id.with("strength"), !view.is_stale);
        let tint = Color32::WHITE.gamma_multiply(egui::lerp(FAINT..=1.0, strength));
        painter.image(texture.id(), frame, whole, tint);
    }
    let focused = response.has_focus();
    let line = if focused { ui.visuals().hyperlink_color } else { ui.visuals().text_color() };
    let width = if focused { 2.0 } else { 1.0 };
    painter.rect_stroke(frame, 0.0, Stroke::new(width, line), egui::StrokeKind::Outside);
    draw_axes(ui, &painter, frame, view.diagram);
    if let Some(color_key) = color_key {
        draw_bar(ui, &painter, frame, color_key);
    }
    if let Some(chosen) = chosen {
        draw_chosen(&painter, frame, spec.shape(), chosen);
    }
    let marker = marker.map(|[row, column]| [sides[0].position(row), sides[1].position(column)]);
    let marker = marker.filter(|marker| marker.iter().all(|along| (0.0..=1.0).contains(along)));
    let marker = marker.map(|marker| place(frame, marker));
    if let Some(at) = marker {
        // Clipped before the labels of the axes.
        draw_marker(&painter.with_clip_rect(frame.expand(4.0)), at);
    }
    let mut pointed = point(ui, &response, frame, &sides, marker);
    pointed.moved = keys(ui, &response, spec.shape(), chosen);
    // Enter and the space bar press the focused control.
    if response.clicked() && response.interact_pointer_pos().is_none() {
        pointed.clicked = chosen;
    }
    pointed
}

/// Returns the point of a position along rows and columns.
fn place(frame: Rect, [row, column]: [f64; 2]) -> Pos2 {
    pos2(frame.left() + frame.width() * column as f32, frame.bottom() - frame.height() * row as f32)
}

/// Handles the pointer. The marker moves where it is grabbed.
fn point(ui: &Ui, response: &Response, frame: Rect, sides: &[MapSide<'_>; 2], marker: Option<Pos2>) -> MapResponse {
    let at = |pointer: Pos2| {
        let along = (pointer - frame.min) / frame.size();
        [1.0 - f64::from(along.y), f64::from(along.x)].map(|along| along.clamp(0.0, 1.0))
    };
    let pixel = |pointer: Pos2| {
        let [row, column] = at(pointer);
        [sides[0].index(row), sides[1].index(column)]
    };
    let is_near = |pointer: Pos2| marker.is_some_and(|marker| marker.distance(pointer) < GRAB_RADIUS);
    let grabbed = response.id.with("grasped");
    if response.drag_started() {
        let origin = ui.input(|input| input.pointer.press_origin());
        ui.data_mut(|data| data.insert_temp(grabbed, origin.is_some_and(is_near)));
    }
    let is_grasped = response.dragged() && ui.data(|data| data.get_temp(grabbed)).unwrap_or(false);
    if is_grasped {
        ui.ctx().set_cursor_icon(CursorIcon::Grabbing);
    } else if response.hover_pos().is_some_and(is_near) {
        ui.ctx().set_cursor_icon(CursorIcon::Grab);
    }
    let pointer = response.interact_pointer_pos();
    MapResponse {
        hovered: response.hover_pos().map(pixel),
        clicked: pointer.filter(|_| response.clicked()).map(pixel),
        kept: pointer.filter(|_| response.secondary_clicked()).map(pixel),
        moved: None,
        dragged: pointer.filter(|_| is_grasped).map(|pointer| {
            let [row, column] = at(pointer);
            [sides[0].value(row), sides[1].value(column)]
        }),
    }
}

/// Returns the pixel to which the arrow keys move from the chosen one, while the map has the focus.
fn keys(ui: &Ui, response: &Response, shape: [usize; 2], chosen: Option<[usize; 2]>) -> Option<[usize; 2]> {
    if !response.has_focus() {
        return None;
    }
    let filter = EventFilter { horizontal_arrows: true, vertical_arrows: true, ..EventFilter::default() };
    ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
    let steps = |back: Key, on: Key| {
        ui.input_mut(|input| {
            input.count_and_consume_key(Modifiers::NONE, on) as isize
                - input.count_and_consume_key(Modifiers::NONE, back) as isize
        })
    };
    let by = [steps(Key::ArrowDown, Key::ArrowUp), steps(Key::ArrowLeft, Key::ArrowRight)];
    if by == [0, 0] {
        return None;
    }
    let from = chosen.unwrap_or(shape.map(|count| count / 2));
    Some([0, 1].map(|side| from[side].saturating_add_signed(by[side]).min(shape[side] - 1)))
}

fn draw_chosen(painter: &egui::Painter, frame: Rect, shape: [usize; 2], [row, column]: [usize; 2]) {
    let [height, width] = shape.map(|count| count as f64);
    let low = place(frame, [row as f64 / height, column as f64 / width]);
    let high = place(frame, [(row + 1) as f64 / height, (column + 1) as f64 / width]);
    let cell = Rect::from_two_pos(low, high).expand(1.0);
    painter.rect_stroke(cell, 0.0, Stroke::new(2.0, Color32::BLACK), egui::StrokeKind::Outside);
    painter.rect_stroke(cell.expand(2.0), 0.0, Stroke::new(1.0, Color32::WHITE), egui::StrokeKind::Outside);
}

fn draw_axes(ui: &Ui, painter: &egui::Painter, frame: Rect, diagram: &Diagram) {
    let spec = diagram.spec();
    let (small, body) = (TextStyle::Small.resolve(ui.style()), TextStyle::Body.resolve(ui.style()));
    let (line, text) = (ui.visuals().widgets.noninteractive.fg_stroke.color, ui.visuals().text_color());
    let stroke = Stroke::new(1.0, line);
    for (position, label) in MapSide(&spec.columns).ticks((frame.width() / 70.0) as usize) {
        let x = frame.left() + frame.width() * position as f32;
        painter.line_segment([pos2(x, frame.bottom()), pos2(x, frame.bottom() + 4.0)], stroke);
        painter.text(pos2(x, frame.bottom() + LABELS_BELOW), Align2::CENTER_TOP, label, small.clone(), text);
    }
    for (position, label) in MapSide(&spec.rows).ticks((frame.height() / 40.0) as usize) {
        let y = frame.bottom() - frame.height() * position as f32;
        painter.line_segment([pos2(frame.left() - 4.0, y), pos2(frame.left(), y)], stroke);
        painter.text(pos2(frame.left() - 7.0, y), Align2::RIGHT_CENTER, label, small.clone(), text);
    }
    let below = pos2(frame.center().x, frame.bottom() + name_below(ui));
    painter.text(below, Align2::CENTER_TOP, axis_label(spec, &spec.columns), body.clone(), text);
    let galley = painter.layout_no_wrap(axis_label(spec, &spec.rows), body, text);
    let left = pos2(frame.left() - LEFT + 2.0, frame.center().y + galley.size().x / 2.0);
    painter.add(egui::epaint::TextShape::new(left, galley, text).with_angle(-std::f32::consts::FRAC_PI_2));
}

/// Draws the colour bar beside the map.
fn draw_bar(ui: &Ui, painter: &egui::Painter, frame: Rect, color_key: &ColorKey) {
    let Some(scale) = &color_key.scale else { return };
    let bar = Rect::from_min_size(pos2(frame.right() + 12.0, frame.top()), vec2(14.0, frame.height()));
    let mut mesh = egui::Mesh::default();
    const PARTS: u32 = 128;
    for part in 0..=PARTS {
        let along = f64::from(part) / f64::from(PARTS);
        let [red, green, blue] = scale.rgb_at(along);
        let y = bar.bottom() - bar.height() * along as f32;
        mesh.colored_vertex(pos2(bar.left(), y), Color32::from_rgb(red, green, blue));
        mesh.colored_vertex(pos2(bar.right(), y), Color32::from_rgb(red, green, blue));
        if part > 0 {
            let corner = 2 * part;
            mesh.add_triangle(corner - 2, corner - 1, corner);
            mesh.add_triangle(corner - 1, corner, corner + 1);
        }
    }
    painter.add(mesh);
    let (font, color) = (TextStyle::Small.resolve(ui.style()), ui.visuals().text_color());
    let (marks, note) = scale.marks((frame.height() / 40.0) as usize);
    let title = note.map_or(color_key.label.clone(), |note| format!("{} ({note})", color_key.label));
    let galley = painter.layout_no_wrap(title, font.clone(), color);
    let right = pos2(frame.right() + RIGHT - 4.0 - galley.size().y, frame.center().y + galley.size().x / 2.0);
    let title = egui::epaint::TextShape::new(right, galley, color);
    painter.add(title.with_angle(-std::f32::consts::FRAC_PI_2));
    for mark in marks {
        let y = bar.bottom() - bar.height() * mark.position as f32;
        painter.line_segment([pos2(bar.right(), y), pos2(bar.right() + 3.0, y)], Stroke::new(1.0, color));
        painter.text(pos2(bar.right() + 5.0, y), Align2::LEFT_CENTER, mark.label, font.clone(), color);
    }
}

/// Draws the marker of the landscape's settings.
fn draw_marker(painter: &egui::Painter, at: Pos2) {
    for (width, color) in [(4.0, Color32::WHITE), (2.0, Color32::BLACK)] {
        let stroke = Stroke::new(width, color);
        painter.circle_stroke(at, 7.0, stroke);
        for (dx, dy) in [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)] {
            painter.line_segment([at + vec2(5.0 * dx, 5.0 * dy), at + vec2(12.0 * dx, 12.0 * dy)], stroke);
        }
    }
}
