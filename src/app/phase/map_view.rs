//! One map: picture, axes, colour bar, markers, and pointer actions.

use std::sync::Arc;

use egui::accesskit::Role;
use egui::epaint::TextShape;
use egui::text::{LayoutJob, TextFormat, TextWrapping};
use egui::{
    Align2, Color32, CursorIcon, EventFilter, FontId, Galley, Key, Modifiers, Pos2, Rect, Response, Sense, Stroke,
    TextStyle, Ui, WidgetInfo, pos2, vec2,
};
use valleyscope_engine::sweep::{Axis, Diagram, Spacing, SweepSpec};
use valleyscope_experiments::view::ticks::{Tick, Ticks, short};

use super::map_picture::{ColorKey, LetteredRegions, MapPicture};
use crate::app::widgets::theme;
use crate::figure::{axis_label, axis_meanings, ink};

/// The smallest space for the labels of the rows, at the left, in points.
const LEFT: f32 = 64.0;
const BOTTOM: f32 = 44.0;
/// The distance from the map to the labels below it, in points.
const LABELS_BELOW: f32 = 6.0;
const TOP: f32 = 8.0;
/// The smallest space for the colour bar and its labels, at the right, in points.
const RIGHT: f32 = 84.0;
/// The distances of the colour bar from the map, of its labels from the map, and of the rows' labels from the map.
const BAR: f32 = 12.0;
const BAR_LABELS: f32 = 31.0;
const ROW_LABELS: f32 = 7.0;
/// The distance between an upright name of an axis and its labels, and the edge of the view.
const NAME_GAP: f32 = 5.0;
/// The space at the right without a colour bar, in points.
const NO_BAR: f32 = 16.0;

/// The fraction of its colour that an outdated picture keeps.
const FAINT: f32 = 0.5;
/// The largest distance at which the marker is grabbed, in points.
const GRAB_RADIUS: f32 = 16.0;
/// The largest size of a letter in a square of side 1, and the smallest size of a letter in points.
const LETTER_SIZE: f32 = 1.3;
const SMALLEST_LETTER: f32 = 8.0;
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
        let small = TextStyle::Small.resolve(ui.style());
        let widest = |labels: &mut dyn Iterator<Item = String>| {
            labels.map(|label| theme::text_width(ui, &small, &label)).fold(0.0, f32::max)
        };
        let ticks = MapSide(&picture.spec_or(diagram).rows).ticks(row_labels(height));
        let labels = widest(&mut ticks.into_iter().map(|(_, label)| label));
        let left = LEFT.max(ROW_LABELS + labels + 2.0 * NAME_GAP + ui.text_style_height(&TextStyle::Body));
        let scale = picture.color_key.as_ref().and_then(|color_key| color_key.scale.as_ref());
        let right = scale.map_or(NO_BAR, |scale| {
            let marks = scale.marks(row_labels(height)).0;
            let labels = widest(&mut marks.into_iter().map(|mark| mark.label));
            RIGHT.max(BAR_LABELS + labels + 2.0 * NAME_GAP + ui.text_style_height(&TextStyle::Small))
        });
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

fn row_labels(height: f32) -> usize {
    (height / 40.0) as usize
}

/// Returns the area of the picture of a map that is drawn into an area.
pub(super) fn inside(ui: &Ui, area: Rect, margins: Margins) -> Rect {
    let bottom = name_below(ui) + ui.text_style_height(&TextStyle::Body) + 2.0;
    Rect::from_min_max(area.min + vec2(margins.left, TOP), area.max - vec2(margins.right, bottom.max(BOTTOM)))
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
    if let Some(texture) = view.picture.texture() {
        let whole = Rect::from_min_max(Pos2::ZERO, pos2(1.0, 1.0));
        let strength = ui.ctx().animate_bool(response.id.with("strength"), !view.is_stale);
        let tint = Color32::WHITE.gamma_multiply(egui::lerp(FAINT..=1.0, strength));
        painter.image(texture.id(), frame, whole, tint);
    }
    if let Some(regions) = color_key.and_then(|color_key| color_key.regions.as_ref()) {
        draw_regions(ui, &painter.with_clip_rect(frame), frame, seen.shape(), regions);
    }
    let focused = response.has_focus();
    let line = if focused { ui.visuals().hyperlink_color } else { ui.visuals().text_color() };
    let width = if focused { 2.0 } else { 1.0 };
    painter.rect_stroke(frame, 0.0, Stroke::new(width, line), egui::StrokeKind::Outside);
    draw_axes(ui, &painter, outer, frame, seen);
    if let Some(color_key) = color_key.filter(|_| view.margins.bar_width() > 0.0) {
        draw_bar(ui, &painter, outer, frame, color_key);
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

/// Draws the borders of regions, and a letter in each that has room for it.
fn draw_regions(ui: &Ui, painter: &egui::Painter, frame: Rect, shape: [usize; 2], lettered: &LetteredRegions) {
    let [height, width] = shape.map(|count| count as f64);
    let at = |[column, row]: [f64; 2]| position(frame, [row / height, column / width]);
    for ends in &lettered.regions.borders {
        painter.line_segment(ends.map(at), Stroke::new(1.5, Color32::BLACK));
    }
    let font = TextStyle::Body.resolve(ui.style());
    let cell = (frame.width() / width as f32).min(frame.height() / height as f32);
    for (letter, behind) in lettered.regions.letters.iter().zip(&lettered.behind) {
        let font = FontId { size: font.size.min(LETTER_SIZE * 2.0 * letter.reach as f32 * cell), ..font.clone() };
        if font.size >= SMALLEST_LETTER {
            let [red, green, blue] = ink(*behind);
            let (text, color) = (&lettered.letters[letter.winner], Color32::from_rgb(red, green, blue));
            painter.text(at(letter.at), Align2::CENTER_CENTER, text, font, color);
        }
    }
}

fn draw_axes(ui: &Ui, painter: &egui::Painter, outer: Rect, frame: Rect, spec: &SweepSpec) {
    let (small, body) = (TextStyle::Small.resolve(ui.style()), TextStyle::Body.resolve(ui.style()));
    let (line, text) = (ui.visuals().widgets.noninteractive.fg_stroke.color, ui.visuals().text_color());
    let stroke = Stroke::new(1.0, line);
    for (position, label) in MapSide(&spec.columns).ticks((frame.width() / 70.0) as usize) {
        let x = frame.left() + frame.width() * position as f32;
        painter.line_segment([pos2(x, frame.bottom()), pos2(x, frame.bottom() + 4.0)], stroke);
        painter.text(pos2(x, frame.bottom() + LABELS_BELOW), Align2::CENTER_TOP, label, small.clone(), text);
    }
    for (position, label) in MapSide(&spec.rows).ticks(row_labels(frame.height())) {
        let y = frame.bottom() - frame.height() * position as f32;
        painter.line_segment([pos2(frame.left() - 4.0, y), pos2(frame.left(), y)], stroke);
        painter.text(pos2(frame.left() - ROW_LABELS, y), Align2::RIGHT_CENTER, label, small.clone(), text);
    }
    let below = one_line(ui, axis_label(spec, &spec.columns), &body, outer.width());
    let left = (frame.center().x - below.size().x / 2.0).clamp(outer.left(), outer.right() - below.size().x);
    let at = pos2(left, frame.bottom() + name_below(ui));
    explain_axis(ui, "columns", spec, &spec.columns, Rect::from_min_size(at, below.size()));
    painter.galley(at, below, text);
    let beside = one_line(ui, axis_label(spec, &spec.rows), &body, outer.height());
    let name = upright(beside, outer.left() + NAME_GAP, frame, outer, text);
    let size = name.galley.size();
    let of_name = Rect::from_min_size(name.pos - vec2(0.0, size.x), vec2(size.y, size.x));
    explain_axis(ui, "rows", spec, &spec.rows, of_name);
    painter.add(name);
}

/// Explains what a hyperparameter of an axis is in each rule, while the pointer is on its name.
fn explain_axis(ui: &Ui, side: &str, spec: &SweepSpec, axis: &Axis, name: Rect) {
    if let Some(meanings) = axis_meanings(spec, axis) {
        ui.interact(name, ui.scope_id().with(side), Sense::hover()).on_hover_text(meanings);
    }
}

/// Lays out a text in one line, shortened where it is longer than `most`.
fn one_line(ui: &Ui, text: String, font: &FontId, most: f32) -> Arc<Galley> {
    let mut job = LayoutJob::single_section(text, TextFormat::simple(font.clone(), Color32::PLACEHOLDER));
    job.wrap = TextWrapping::truncate_at_width(most);
    ui.painter().layout_job(job)
}

/// Places a text from below upwards: its left side at `x`, its middle beside that of the map, all of it in the view.
fn upright(galley: Arc<Galley>, x: f32, frame: Rect, outer: Rect, color: Color32) -> TextShape {
    let length = galley.size().x;
    let bottom =
        (frame.center().y + length / 2.0).clamp(outer.top() + length, outer.bottom().max(outer.top() + length));
    TextShape::new(pos2(x, bottom), galley, color).with_angle(-std::f32::consts::FRAC_PI_2)
}

/// Draws the colour bar beside the map.
fn draw_bar(ui: &Ui, painter: &egui::Painter, outer: Rect, frame: Rect, color_key: &ColorKey) {
    let Some(scale) = &color_key.scale else { return };
    let bar = Rect::from_min_size(pos2(frame.right() + BAR, frame.top()), vec2(14.0, frame.height()));
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
    let (marks, note) = scale.marks(row_labels(frame.height()));
    let title = note.map_or(color_key.label.clone(), |note| format!("{} ({note})", color_key.label));
    let title = one_line(ui, title, &font, outer.height());
    painter.add(upright(title.clone(), outer.right() - NAME_GAP - title.size().y, frame, outer, color));
    for mark in marks {
        let y = bar.bottom() - bar.height() * mark.position as f32;
        painter.line_segment([pos2(bar.right(), y), pos2(bar.right() + 3.0, y)], Stroke::new(1.0, color));
        painter.text(pos2(frame.right() + BAR_LABELS, y), Align2::LEFT_CENTER, mark.label, font.clone(), color);
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

/// A side of the map, from 0 at the first row or column's outer edge to 1 at the last one's.
pub(super) struct MapSide<'a>(pub &'a Axis);

impl MapSide<'_> {
    /// Returns the position of a value; outside 0 to 1 where it is not on the map.
    pub(super) fn position(&self, value: f64) -> f64 {
        let Axis { from, to, count, spacing, .. } = *self.0;
        let along = if from == to { 0.0 } else { spacing.position([from, to], value) };
        // The values of pixels are those of their middles.
        let count = count.get() as f64;
        (0.5 + along * (count - 1.0)) / count
    }

    pub(super) fn value(&self, position: f64) -> f64 {
        let Axis { from, to, count, spacing, .. } = *self.0;
        let count = count.get() as f64;
        let along = if count > 1.0 { ((position * count - 0.5) / (count - 1.0)).clamp(0.0, 1.0) } else { 0.0 };
        spacing.value([from, to], along)
    }

    /// Returns the row or column at a position.
    pub(super) fn index(&self, position: f64) -> usize {
        let count = self.0.count.get();
        ((position * count as f64).floor().max(0.0) as usize).min(count - 1)
    }

    pub(super) fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        let (low, high) = (self.0.from.min(self.0.to), self.0.from.max(self.0.to));
        let ticks = match self.0.spacing {
            _ if low == high => vec![Tick { value: low, label: short(low) }],
            Spacing::Linear => Ticks::linear(low, high, most).in_full(),
            Spacing::Log => Ticks::log(low, high, most).ticks,
            Spacing::LogComplement => Ticks::log_complement(low, high, most).ticks,
        };
        let is_whole = self.0.of.is_whole();
        let ticks = ticks.into_iter().filter(|tick| !is_whole || tick.value.fract() == 0.0);
        ticks.map(|tick| (self.position(tick.value), tick.label)).collect()
    }
}
