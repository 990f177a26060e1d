//! Pointer and keyboard actions on the canvas.

use egui::{EventFilter, Key, Modifiers, PointerButton, Pos2, Rect, Response, Ui, Vec2};
use valleyscope_engine::quantity::StartCoordinate;
use valleyscope_engine::simulation::ParticleId;
use valleyscope_experiments::view::{Camera, Viewport};

use super::motion::{limited, panned, zoomed};
use crate::app::{Document, Live, Requests};

/// The effect of dragging and clicking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tool {
    /// Dragging moves the view, clicking selects a particle.
    #[default]
    MoveView,
    /// A click or drag places the start, once.
    PlaceStart,
}

/// The largest distance of a click from the particle that it selects, in points.
const SELECT_RADIUS: f32 = 10.0;
/// The largest distance at which the start marker is grabbed, in points.
const START_RADIUS: f32 = 10.0;
/// The share of the view by which an arrow key moves.
const KEY_PAN: f32 = 0.1;
/// The factor by which + and − zoom.
const KEY_ZOOM: f64 = 1.25;

/// The drag in progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Drag {
    #[default]
    View,
    Start,
}

#[derive(Debug, Default)]
pub(super) struct Interaction {
    pub tool: Tool,
    drag: Drag,
}

/// The camera movement requested by a frame's input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum CameraMove {
    Stay,
    To(Camera),
    Fit,
}

impl Interaction {
    /// Handles this frame's input: selects, places the start, and returns the requested camera movement.
    pub(super) fn handle(
        &mut self,
        ui: &Ui,
        response: &Response,
        viewport: &Viewport,
        document: &mut Document,
        live: &mut Live,
        requests: &mut Requests,
    ) -> CameraMove {
        let canvas = response.rect;
        let shift = ui.input(|input| input.modifiers.shift);
        let start_px = to_screen(canvas, viewport, start_xy(document));
        self.show_cursor(ui, response, start_px, shift);
        let mut camera_move = self.drag(ui, response, viewport, document, start_px, shift);
        if response.double_clicked() && self.tool == Tool::MoveView && !shift {
            camera_move = CameraMove::Fit;
        } else if response.clicked()
            && let Some(at) = response.interact_pointer_pos()
        {
            if shift || self.tool == Tool::PlaceStart {
                place_start(document, to_plane(canvas, viewport, at));
            } else {
                let particle = nearest_particle(live, viewport, (at - canvas.min).into(), SELECT_RADIUS);
                live.select(particle, requests);
            }
        }
        let placed = response.clicked() || response.drag_stopped_by(PointerButton::Primary);
        if self.tool == Tool::PlaceStart && (placed || is_cancelled(ui)) {
            self.tool = Tool::MoveView;
        }
        if let Some(camera) = zoom(ui, response, viewport) {
            camera_move = CameraMove::To(camera);
        }
        if response.has_focus() {
            match keys(ui, response, viewport) {
                CameraMove::Stay => {}
                key_move => camera_move = key_move,
            }
        }
        camera_move
    }

    /// Sets the pointer's cursor to the effect of a drag or a click there.
    fn show_cursor(&self, ui: &Ui, response: &Response, start_px: Pos2, shift: bool) {
        let Some(pointer) = response.hover_pos() else { return };
        let cursor = match self.tool {
            _ if is_on_start_marker(start_px, pointer) => egui::CursorIcon::Move,
            _ if shift => egui::CursorIcon::Crosshair,
            Tool::PlaceStart => egui::CursorIcon::Crosshair,
            Tool::MoveView if response.dragged() => egui::CursorIcon::Grabbing,
            Tool::MoveView => egui::CursorIcon::Default,
        };
        ui.ctx().set_cursor_icon(cursor);
    }

    /// Moves the view or the start along with the pointer.
    fn drag(
        &mut self,
        ui: &Ui,
        response: &Response,
        viewport: &Viewport,
        document: &mut Document,
        start_px: Pos2,
        shift: bool,
    ) -> CameraMove {
        if response.drag_started_by(PointerButton::Primary) {
            let origin = ui.input(|input| input.pointer.press_origin()).unwrap_or(start_px);
            let places = shift || self.tool == Tool::PlaceStart || is_on_start_marker(start_px, origin);
            self.drag = if places { Drag::Start } else { Drag::View };
        }
        let by_first = response.dragged_by(PointerButton::Primary);
        if by_first
            && self.drag == Drag::Start
            && let Some(at) = response.interact_pointer_pos()
        {
            place_start(document, to_plane(response.rect, viewport, at));
        }
        let moves_view = response.dragged_by(PointerButton::Secondary)
            || response.dragged_by(PointerButton::Middle)
            || (by_first && self.drag == Drag::View);
        if moves_view && response.drag_delta() != Vec2::ZERO {
            return CameraMove::To(panned(viewport, response.drag_delta().into()));
        }
        CameraMove::Stay
    }
}

/// Returns whether a position is near enough to the start's marker to grab it.
fn is_on_start_marker(start_px: Pos2, at: Pos2) -> bool {
    at.distance(start_px) <= START_RADIUS
}

/// Returns whether Escape was pressed while nothing else is open that it would close.
fn is_cancelled(ui: &Ui) -> bool {
    let has_dialog = ui.ctx().memory(|memory| memory.top_modal_layer().is_some());
    let taken = has_dialog || ui.ctx().text_edit_focused() || egui::Popup::is_any_open(ui.ctx());
    !taken && ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Escape))
}

fn to_screen(canvas: Rect, viewport: &Viewport, xy: [f64; 2]) -> Pos2 {
    canvas.min + Vec2::from(viewport.px_from_xy(xy))
}

fn to_plane(canvas: Rect, viewport: &Viewport, at: Pos2) -> [f64; 2] {
    viewport.xy_from_px((at - canvas.min).into())
}

pub(super) fn start_xy(document: &Document) -> [f64; 2] {
    [document.spec.start.x.get(), document.spec.start.y.get()]
}

fn place_start(document: &mut Document, [x, y]: [f64; 2]) {
    document.spec.start.x = StartCoordinate::clamped(x);
    document.spec.start.y = StartCoordinate::clamped(y);
}

/// Returns the camera zoomed by the wheel or a pinch, at the pointer.
fn zoom(ui: &Ui, response: &Response, viewport: &Viewport) -> Option<Camera> {
    if !response.contains_pointer() {
        return None;
    }
    let pointer = ui.input(|input| input.pointer.hover_pos())?;
    let (wheel, pinch) = ui.input_mut(|input| {
        let wheel = input.smooth_scroll_delta.y;
        input.smooth_scroll_delta = Vec2::ZERO;
        (wheel, input.zoom_delta())
    });
    let factor = f64::from(wheel / 240.0).exp() * f64::from(pinch);
    (factor != 1.0).then(|| zoomed(viewport, (pointer - response.rect.min).into(), factor))
}

/// Returns the camera movement of the keys: arrows move the view, + and − zoom about its middle, Home fits the
/// particles.
fn keys(ui: &Ui, response: &Response, viewport: &Viewport) -> CameraMove {
    let filter = EventFilter { horizontal_arrows: true, vertical_arrows: true, ..EventFilter::default() };
    ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
    let [width, height] = viewport.size_px;
    let pressed = |key| ui.input_mut(|input| input.count_and_consume_key(Modifiers::NONE, key)) as f32;
    let delta = [
        KEY_PAN * width * (pressed(Key::ArrowLeft) - pressed(Key::ArrowRight)),
        KEY_PAN * height * (pressed(Key::ArrowUp) - pressed(Key::ArrowDown)),
    ];
    let closer = pressed(Key::Plus) + pressed(Key::Equals) - pressed(Key::Minus);
    if pressed(Key::Home) > 0.0 {
        return CameraMove::Fit;
    }
    if delta == [0.0, 0.0] && closer == 0.0 {
        return CameraMove::Stay;
    }
    let moved = Viewport { camera: panned(viewport, delta), ..*viewport };
    CameraMove::To(limited(zoomed(&moved, [0.5 * width, 0.5 * height], KEY_ZOOM.powf(f64::from(closer)))))
}

/// Returns the shown particle nearest to a point of the canvas, if within `radius` points.
pub fn nearest_particle(live: &Live, viewport: &Viewport, at: [f32; 2], radius: f32) -> Option<ParticleId> {
    let mut nearest = (radius * radius, None);
    for view in live.visible() {
        let newest = view.columns.len().saturating_sub(view.particles);
        for (particle, &[x, y]) in view.columns[newest..].iter().enumerate() {
            let [px, py] = viewport.px_from_xy([f64::from(x), f64::from(y)]);
            let distance = (px - at[0]).powi(2) + (py - at[1]).powi(2);
            // A diverged particle's distance is not finite, and then never smaller.
            if distance < nearest.0 || (distance == nearest.0 && nearest.1.is_none()) {
                nearest = (distance, Some(ParticleId { optimizer: view.optimizer, particle }));
            }
        }
    }
    nearest.1
}
