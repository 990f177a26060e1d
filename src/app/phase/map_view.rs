//! One map: picture, axes, colour bar, markers, and pointer actions.

use egui::accesskit::Role;
use egui::{
    Color32, CursorIcon, EventFilter, Key, Modifiers, Painter, Pos2, Rect, Response, Sense, Stroke, TextStyle, Ui,
    Vec2, WidgetInfo, pos2, vec2,
};
use valleyscope_engine::sweep::{Diagram, SweepSpec};

use super::map_picture::{ColorKey, MapPicture};
use crate::app::widgets::theme;
use crate::draw::{Axis, Canvas, LABEL_GAP, LINE, MapSide, Parts, Side, TICK, WHOLE};
use crate::sweep::titles::axis_meanings;

const TOP: f32 = 8.0;
/// The smallest space for the labels of the rows, at the left, in points.
const LEFT: f32 = 64.0;
/// The smallest space for the colour bar and its labels, at the right, and without a colour bar, in points.
const RIGHT: f32 = 84.0;
const NO_BAR: f32 = 16.0;
/// The distance between an upright name of an axis and the edge of the view, in points.
const NAME_GAP: f32 = 5.0;

/// The fraction of its colour that an outdated picture keeps.
const FAINT: f32 = 0.5;
/// The largest distance at which the marker is grabbed, in points.
const GRAB_RADIUS: f32 = 16.0;
const MARKER: &str = "The settings of the Landscape tab. Drag the cross to change them there.";

/// A diagram and its picture.
pub(super) struct MapView<'a> {
    /// The accessible name.
    pub name: &'a str,
    pub diagram: &'a Diagram,
    pub picture: &'a MapPicture,
    pub margins: Margins,
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
    pub selected: Option<[usize; 2]>,
    /// The pixel to which keys moved.
    pub moved: Option<[usize; 2]>,
    /// The values of row and column to which the marker was dragged.
    pub dragged: Option<[f64; 2]>,
}

/// The pixels that are marked on a map.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct MapMarks {
    pub chosen: Option<[usize; 2]>,
    pub pointed: Option<[usize; 2]>,
}

/// The spaces beside a map, for its labels and its colour bar, in points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Margins {
    left: f32,
    right: f32,
}

impl Margins {
    /// Returns the spaces that a map of this height needs.
    pub(super) fn of(ui: &Ui, diagram: &Diagram, picture: &MapPicture, height: f32) -> Margins {
        let (canvas, spec) = (canvas(ui, ui.painter().clone()), picture.spec_or(diagram));
        let labels = axes(spec, vec2(height, height))[0].label_width(&canvas);
        let left = LEFT.max(labels + (TICK + LABEL_GAP + 1.1 * LINE) * canvas.style.em + NAME_GAP);
        let bar = picture.color_key.as_ref().and_then(ColorKey::bar);
        let right = bar.map_or(NO_BAR, |bar| RIGHT.max(bar.width(&canvas, height) + NAME_GAP));
        Margins { left, right }
    }

    /// Returns the spaces of a map beside others of the same scale, which have one colour bar together.
    pub(super) fn without_bar(self) -> Margins {
        Margins { right: NO_BAR, ..self }
    }

    /// Returns by how much a map with these margins is wider than one without a colour bar.
    pub(super) fn bar_width(self) -> f32 {
        self.right - NO_BAR
    }

    /// Returns spaces that are enough for both.
    pub(super) fn max(self, other: Margins) -> Margins {
        Margins { left: self.left.max(other.left), right: self.right.max(other.right) }
    }
}

/// Returns a painter with the style of maps.
fn canvas(ui: &Ui, painter: Painter) -> Canvas {
    Canvas { painter, style: theme::drawing(ui, &TextStyle::Small) }
}

/// Returns the axes of the rows and of the columns of a map of this size.
fn axes(spec: &SweepSpec, size: Vec2) -> [Axis; 2] {
    [MapSide(&spec.rows).axis(spec, size.y / ROW_LABEL), MapSide(&spec.columns).axis(spec, size.x / COLUMN_LABEL)]
}

/// The height and the width of a map for each label, in points.
const ROW_LABEL: f32 = 40.0;
const COLUMN_LABEL: f32 = 70.0;

/// Returns the area of the picture of a map that is drawn into an area.
pub(super) fn inside(ui: &Ui, area: Rect, margins: Margins) -> Rect {
    let below = Axis::depth(TextStyle::Small.resolve(ui.style()).size) + 2.0;
    Rect::from_min_max(area.min + vec2(margins.left, TOP), area.max - vec2(margins.right, below))
}

/// Draws a diagram's map into all of the available space. `marker` has values of row and column.
pub(super) fn show(
    ui: &mut Ui,
    view: &MapView<'_>,
    marker: Option<[f64; 2]>,
    MapMarks { chosen, pointed }: MapMarks,
) -> MapResponse {
    let (spec, seen) = (view.diagram.spec(), view.picture.spec_or(view.diagram));
    let sides = [MapSide(&spec.rows), MapSide(&spec.columns)];
    let (outer, _) = ui.allocate_exact_size(ui.available_size(), Sense::hover());
    let color_key = view.picture.color_key.as_ref();
    let frame = inside(ui, outer, view.margins);
    if frame.width() < 40.0 || frame.height() < 40.0 {
        return MapResponse::default();
    }
    let response = ui.interact(frame, ui.scope_id().with(view.name), Sense::click_and_drag());
    response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, view.name));
    let painter = ui.painter_at(outer);
    let canvas = canvas(ui, painter.clone());
    if let Some(texture) = &view.picture.texture {
        let strength = ui.ctx().animate_bool(response.id.with("strength"), !view.is_stale);
        let tint = Color32::WHITE.gamma_multiply(egui::lerp(FAINT..=1.0, strength));
        painter.image(texture.id(), frame, WHOLE, tint);
    }
    if let Some(regions) = color_key.and_then(|color_key| color_key.regions.as_ref()) {
        regions.draw(&canvas.clipped(frame), frame, seen.shape());
    }
    let focused = response.has_focus();
    let line = if focused { ui.visuals().hyperlink_color } else { ui.visuals().text_color() };
    let width = if focused { 2.0 } else { 1.0 };
    painter.rect_stroke(frame, 0.0, Stroke::new(width, line), egui::StrokeKind::Outside);
    draw_axes(ui, &canvas, frame, seen);
    if let Some(bar) = color_key.filter(|_| view.margins.bar_width() > 0.0).and_then(ColorKey::bar) {
        bar.draw(&canvas, frame);
    }
    if let Some(chosen) = chosen {
        draw_chosen(&painter, frame, spec.shape(), chosen);
    }
    if let Some(pointed) = pointed {
        let cell = cell(frame, spec.shape(), pointed);
        painter.rect_stroke(cell.expand(1.0), 0.0, Stroke::new(1.0, Color32::WHITE), egui::StrokeKind::Outside);
        painter.rect_stroke(cell, 0.0, Stroke::new(1.0, Color32::BLACK), egui::StrokeKind::Outside);
    }
    let marker = marker.map(|[row, column]| [sides[0].position(row), sides[1].position(column)]);
    let marker = marker.filter(|marker| marker.iter().all(|along| (0.0..=1.0).contains(along)));
    let marker = marker.map(|marker| position(frame, marker));
    if let Some(at) = marker {
        draw_marker(&painter.with_clip_rect(frame), at);
    }
    let mut response_to = point(ui, &response, frame, &sides, marker);
    response_to.moved = keys(ui, &response, spec.shape(), chosen);
    // Enter and the space bar press the focused control.
    if response.clicked() && response.interact_pointer_pos().is_none() {
        response_to.clicked = chosen;
    }
    if response.hover_pos().is_some_and(|pointer| is_near(marker, pointer)) {
        response.on_hover_text_at_pointer(MARKER);
    }
    response_to
}

fn position(frame: Rect, [row, column]: [f64; 2]) -> Pos2 {
    pos2(frame.left() + frame.width() * column as f32, frame.bottom() - frame.height() * row as f32)
}

/// Returns whether the pointer is where it grabs the marker.
fn is_near(marker: Option<Pos2>, pointer: Pos2) -> bool {
    marker.is_some_and(|marker| marker.distance(pointer) < GRAB_RADIUS)
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
    let is_near = |pointer: Pos2| is_near(marker, pointer);
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
        selected: pointer.filter(|_| response.secondary_clicked()).map(pixel),
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

fn cell(frame: Rect, shape: [usize; 2], [row, column]: [usize; 2]) -> Rect {
    let [height, width] = shape.map(|count| count as f64);
    let low = position(frame, [row as f64 / height, column as f64 / width]);
    let high = position(frame, [(row + 1) as f64 / height, (column + 1) as f64 / width]);
    Rect::from_two_pos(low, high)
}

fn draw_chosen(painter: &egui::Painter, frame: Rect, shape: [usize; 2], pixel: [usize; 2]) {
    let cell = cell(frame, shape, pixel).expand(1.0);
    painter.rect_stroke(cell, 0.0, Stroke::new(2.0, Color32::BLACK), egui::StrokeKind::Outside);
    painter.rect_stroke(cell.expand(2.0), 0.0, Stroke::new(1.0, Color32::WHITE), egui::StrokeKind::Outside);
}

/// Draws the axes of a map; the pointer on the name of a hyperparameter explains what it is in each rule.
fn draw_axes(ui: &Ui, canvas: &Canvas, frame: Rect, spec: &SweepSpec) {
    let [rows, columns] = axes(spec, frame.size());
    columns.draw(canvas, frame, Side::Bottom, Parts::Both);
    rows.draw(canvas, frame, Side::Left, Parts::Both);
    let names = [rows.draw_label_beside(canvas, frame), columns.draw_label_below(canvas, frame)];
    for (name, (side, axis)) in names.into_iter().zip([("rows", &spec.rows), ("columns", &spec.columns)]) {
        if let Some(meanings) = axis_meanings(spec, axis) {
            ui.interact(name, ui.scope_id().with(side), Sense::hover()).on_hover_text(meanings);
        }
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
