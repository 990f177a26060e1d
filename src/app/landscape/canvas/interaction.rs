//! Pointer and keyboard actions on the canvas, and the values under the pointer.

use egui::{
    Align2, EventFilter, FontId, Key, Modifiers, Painter, PointerButton, Pos2, Rect, Response, Ui, Vec2, pos2, vec2,
};
use valleyscope_engine::landscape::Landscape;
use valleyscope_engine::quantity::StartCoordinate;
use valleyscope_engine::simulation::{ParticleId, SimulationSpec};
use valleyscope_experiments::view::ticks::significant;
use valleyscope_experiments::view::{Camera, Orbit, Viewport};

use super::camera::{limited, panned, start_xy, stretched, zoomed, zoomed_about};
use super::legend::OverlayColors;
use crate::app::landscape::live::Live;
use crate::app::shell::actions::Requests;
use crate::draw::Projection;

/// The effect of dragging and clicking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tool {
    /// Dragging moves the view, clicking selects a particle.
    #[default]
    MoveView,
    /// A click or drag places the start, once.
    PlaceStart,
}

/// The largest distance of a click from the particle that it selects, in points.
pub(super) const SELECT_RADIUS: f32 = 10.0;
/// The largest distance at which the start marker is grabbed, in points.
const START_RADIUS: f32 = 10.0;
/// The share of the view by which an arrow key moves.
const KEY_PAN: f32 = 0.1;
/// The factor by which + and − zoom.
const KEY_ZOOM: f64 = 1.25;
/// The angle by which a drag over a point of the screen, or an arrow key, turns the surface, in degrees.
const DRAG_TURN: f64 = 0.4;
const KEY_TURN: f64 = 5.0;

/// The camera movement requested by a frame's input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CameraMove {
    Stay,
    To(Camera),
    /// Looks at the surface in space from another direction.
    From(Orbit),
    Fit,
}

/// The state of pointer actions.
#[derive(Debug, Default)]
pub(crate) struct Interaction {
    pub tool: Tool,
    /// Whether the drag in progress places the start. Others move the view.
    places_start: bool,
}

impl Interaction {
    /// Handles this frame's input to the canvas of the simulation of this index: selects, places the start, and returns
    /// the requested camera movement.
    pub(crate) fn handle(
        &mut self,
        ui: &Ui,
        response: &Response,
        projection: &Projection,
        spec: &mut SimulationSpec,
        (live, index): (&mut Live, usize),
        requests: &mut Requests,
    ) -> CameraMove {
        let canvas = response.rect;
        let shift = ui.input(|input| input.modifiers.shift);
        let start_px = to_screen(canvas, projection, start_xy(spec));
        self.show_cursor(ui, response, start_px, shift);
        let mut camera_move = self.drag(ui, response, projection, spec, start_px, shift);
        if response.double_clicked() && self.tool == Tool::MoveView && !shift {
            camera_move = CameraMove::Fit;
        } else if response.clicked()
            && let Some(at) = response.interact_pointer_pos()
        {
            if shift || self.tool == Tool::PlaceStart {
                place_start(spec, to_plane(canvas, projection, at));
            } else {
                let particle = nearest_particle(live, index, projection, (at - canvas.min).into(), SELECT_RADIUS);
                live.select(particle, requests);
            }
        }
        let placed = response.clicked() || response.drag_stopped_by(PointerButton::Primary);
        if self.tool == Tool::PlaceStart && (placed || is_cancelled(ui)) {
            self.tool = Tool::MoveView;
        }
        if let Some(camera) = zoom(ui, response, projection) {
            camera_move = CameraMove::To(camera);
        }
        if response.has_focus() {
            match keys(ui, response, projection) {
                CameraMove::Stay => {}
                key_move => camera_move = key_move,
            }
        }
        camera_move
    }

    /// Sets the pointer's cursor to the effect of a drag or a click there.
    fn show_cursor(&self, ui: &Ui, response: &Response, start_px: Option<Pos2>, shift: bool) {
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
        projection: &Projection,
        spec: &mut SimulationSpec,
        start_px: Option<Pos2>,
        shift: bool,
    ) -> CameraMove {
        if response.drag_started_by(PointerButton::Primary) {
            let origin = ui.input(|input| input.pointer.press_origin());
            let grabs = origin.is_some_and(|origin| is_on_start_marker(start_px, origin));
            self.places_start = shift || self.tool == Tool::PlaceStart || grabs;
        }
        let by_first = response.dragged_by(PointerButton::Primary);
        if by_first
            && self.places_start
            && let Some(at) = response.interact_pointer_pos()
        {
            place_start(spec, to_plane(response.rect, projection, at));
        }
        let by_others = response.dragged_by(PointerButton::Secondary) || response.dragged_by(PointerButton::Middle);
        let moves_view = by_others || (by_first && !self.places_start);
        let delta = response.drag_delta();
        if !moves_view || delta == Vec2::ZERO {
            return CameraMove::Stay;
        }
        match projection {
            Projection::Plane(viewport) => CameraMove::To(panned(viewport, delta.into())),
            Projection::Space(space) if by_others || ui.input(|input| input.modifiers.command) => {
                CameraMove::To(limited(space.view.panned(delta.into())))
            }
            Projection::Space(space) => {
                let turn = [-delta.x, delta.y].map(|moved| DRAG_TURN * f64::from(moved));
                CameraMove::From(space.view.orbit.turned(turn))
            }
        }
    }
}

/// Returns whether a position is near enough to the start's marker to grab it.
fn is_on_start_marker(start_px: Option<Pos2>, at: Pos2) -> bool {
    start_px.is_some_and(|start_px| at.distance(start_px) <= START_RADIUS)
}

/// Returns whether Escape was pressed while nothing else is open that it would close.
fn is_cancelled(ui: &Ui) -> bool {
    let has_dialog = ui.ctx().memory(|memory| memory.top_modal_layer().is_some());
    let taken = has_dialog || ui.ctx().text_edit_focused() || egui::Popup::is_any_open(ui.ctx());
    !taken && ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Escape))
}

fn to_screen(canvas: Rect, projection: &Projection, xy: [f64; 2]) -> Option<Pos2> {
    projection.px(xy).map(|px| canvas.min + Vec2::from(px))
}

fn to_plane(canvas: Rect, projection: &Projection, at: Pos2) -> Option<[f64; 2]> {
    projection.xy((at - canvas.min).into())
}

/// Places the start at a point, if there is one under the pointer.
fn place_start(spec: &mut SimulationSpec, xy: Option<[f64; 2]>) {
    let Some([x, y]) = xy else { return };
    spec.start.x = StartCoordinate::clamped(x);
    spec.start.y = StartCoordinate::clamped(y);
}

/// Returns the camera zoomed by the wheel or a pinch, at the pointer; along the valley, Shift and the wheel stretch it.
fn zoom(ui: &Ui, response: &Response, projection: &Projection) -> Option<Camera> {
    if !response.contains_pointer() {
        return None;
    }
    let pointer = ui.input(|input| input.pointer.hover_pos())?;
    let (wheel, pinch) = ui.input_mut(|input| (std::mem::take(&mut input.smooth_scroll_delta), input.zoom_delta()));
    let factor_of = |wheel: f32| f64::from(wheel / 240.0).exp();
    let factor = factor_of(wheel.y) * f64::from(pinch);
    let at = (pointer - response.rect.min).into();
    if let Projection::Plane(viewport) = projection
        && !viewport.camera.lens.is_none()
        && wheel.x != 0.0
    {
        return Some(stretched(viewport, at, factor_of(wheel.x)));
    }
    (factor != 1.0).then(|| match projection {
        Projection::Plane(viewport) => zoomed(viewport, at, factor),
        Projection::Space(space) => {
            let fixed = projection.xy(at).unwrap_or(space.view.camera.center);
            zoomed_about(space.view.camera, fixed, factor)
        }
    })
}

/// Returns the camera movement of the keys: arrows move the view, + and − zoom about its middle, Home fits the
/// particles. In space, arrows turn the surface, and move it with Ctrl. Along the valley, arrows up and down with Shift
/// stretch it.
fn keys(ui: &Ui, response: &Response, projection: &Projection) -> CameraMove {
    let filter = EventFilter { horizontal_arrows: true, vertical_arrows: true, ..EventFilter::default() };
    ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
    let arrows = |modifiers| {
        let pressed = |key| ui.input_mut(|input| input.count_and_consume_key(modifiers, key)) as f32;
        [pressed(Key::ArrowLeft) - pressed(Key::ArrowRight), pressed(Key::ArrowUp) - pressed(Key::ArrowDown)]
    };
    let pressed = |key| ui.input_mut(|input| input.count_and_consume_key(Modifiers::NONE, key)) as f32;
    let closer = KEY_ZOOM.powf(f64::from(pressed(Key::Plus) + pressed(Key::Equals) - pressed(Key::Minus)));
    if pressed(Key::Home) > 0.0 {
        return CameraMove::Fit;
    }
    if let Projection::Plane(viewport) = projection
        && !viewport.camera.lens.is_none()
    {
        let [_, up] = arrows(Modifiers::SHIFT);
        if up != 0.0 {
            return CameraMove::To(stretched(viewport, viewport.size_px.map(|size| 0.5 * size), f64::from(up).exp2()));
        }
    }
    let share = |[across, up]: [f32; 2], [width, height]: [f32; 2]| [KEY_PAN * width * across, KEY_PAN * height * up];
    match projection {
        Projection::Plane(viewport) => {
            let delta = share(arrows(Modifiers::NONE), viewport.size_px);
            if delta == [0.0, 0.0] && closer == 1.0 {
                return CameraMove::Stay;
            }
            let moved = Viewport { camera: panned(viewport, delta), ..*viewport };
            let middle = viewport.size_px.map(|size| 0.5 * size);
            CameraMove::To(limited(zoomed(&moved, middle, closer)))
        }
        Projection::Space(space) => {
            let delta = share(arrows(Modifiers::COMMAND), space.view.size_px);
            let turn = arrows(Modifiers::NONE);
            if turn != [0.0, 0.0] {
                return CameraMove::From(space.view.orbit.turned(turn.map(|count| KEY_TURN * f64::from(count))));
            }
            if delta == [0.0, 0.0] && closer == 1.0 {
                return CameraMove::Stay;
            }
            let moved = space.view.panned(delta);
            CameraMove::To(zoomed_about(moved, moved.center, closer))
        }
    }
}

/// Returns the shown particle of a session, other than recorded ones, nearest to a point of the canvas, if within
/// `radius` points. In space, one in front of the surface is preferred to one behind it.
pub fn nearest_particle(
    live: &Live,
    session: usize,
    projection: &Projection,
    at: [f32; 2],
    radius: f32,
) -> Option<ParticleId> {
    let mut near: Vec<(f32, ParticleId, [f64; 2])> = Vec::new();
    for view in live.simulated(session) {
        for (particle, position) in view.newest().iter().enumerate() {
            let xy = position.map(f64::from);
            let Some([px, py]) = projection.px(xy) else { continue };
            let distance = (px - at[0]).hypot(py - at[1]);
            // A diverged particle's distance is not finite, and then the comparison fails.
            if distance <= radius {
                near.push((distance, ParticleId { optimizer: view.optimizer, particle }, xy));
            }
        }
    }
    near.sort_by(|one, other| one.0.total_cmp(&other.0));
    let in_front = near.iter().find(|(.., xy)| projection.mark(*xy).is_some_and(|mark| !mark.is_hidden));
    in_front.or(near.first()).map(|(_, particle, _)| *particle)
}

/// Returns the names and the values of a landscape at a point in two columns of four.
fn readout(landscape: &Landscape, xy @ [x, y]: [f64; 2]) -> [[(&'static str, f64); 4]; 2] {
    let ([along_x, along_y], loss) = (landscape.hessian_diagonal(xy), landscape.loss(xy));
    let ([u, v], [by_x, by_y]) = (landscape.uv_from_xy(xy), landscape.gradient(xy));
    // The sum of the curvatures, on the floor of the paper's valley a u². Its formula may have a value where the loss has
    // none.
    let curvature = if loss.is_nan() { loss } else { along_x + along_y };
    [[("x", x), ("y", y), ("u", u), ("v", v)], [("L", loss), ("∂L/∂x", by_x), ("∂L/∂y", by_y), ("ΔL", curvature)]]
}

const READOUT_PADDING: f32 = 7.0;
/// The distance from particles, in points.
const READOUT_CLEARANCE: f32 = 12.0;

/// Draws the values at a point into a corner of the canvas: the first, from the lower left on, that is free of `taken` and of
/// `particles` and not near the pointer.
pub(crate) fn draw_readout(
    painter: &Painter,
    canvas: Rect,
    pointer: Pos2,
    (landscape, xy): (&Landscape, [f64; 2]),
    (font, colors): (&FontId, OverlayColors),
    (taken, particles): (&[Rect], &[Pos2]),
) {
    let OverlayColors { background, text: value_color, weak: name_color, .. } = colors;
    let line = (font.size * 1.35).round();
    // As wide as the widest number, so that the box keeps its size while the pointer moves.
    let widest = painter.layout_no_wrap("−8.8888×10⁻⁸⁸".to_owned(), font.clone(), value_color).size().x;
    let names = ["y", "∂L/∂x"].map(|name| painter.layout_no_wrap(name.to_owned(), font.clone(), name_color).size().x);
    let column = |index: usize| names[index] + 7.0 + widest;
    let size = vec2(column(0) + column(1) + 12.0 + 2.0 * READOUT_PADDING, 4.0 * line + 2.0 * READOUT_PADDING - 4.0);
    let inside = canvas.shrink(8.0);
    if size.x > inside.width() || size.y > 0.6 * inside.height() {
        return;
    }
    let corners = [Align2::LEFT_BOTTOM, Align2::LEFT_TOP, Align2::RIGHT_BOTTOM, Align2::RIGHT_TOP];
    let corners = corners.map(|corner| corner.align_size_within_rect(size, inside));
    // Where two boxes do not fit side by side: above or below the existing ones.
    let next_to_taken = taken.iter().filter(|other| other.is_positive()).flat_map(|other| {
        let top = if other.center().y < canvas.center().y { other.bottom() + 8.0 } else { other.top() - 8.0 - size.y };
        [inside.left(), inside.right() - size.x].map(|left| Rect::from_min_size(pos2(left, top), size))
    });
    let is_free = |candidate: &Rect| !candidate.contains(pointer);
    let faults = |candidate: &Rect| {
        let is_covered = |at: &Pos2| candidate.expand(READOUT_CLEARANCE).contains(*at);
        let is_near = candidate.expand(20.0).contains(pointer);
        (taken.iter().any(|other| other.intersects(*candidate)), is_near, particles.iter().any(is_covered))
    };
    let Some(area) = corners.into_iter().chain(next_to_taken).filter(is_free).min_by_key(faults) else { return };
    painter.rect_filled(area, 5.0, background);
    let mut left = area.left() + READOUT_PADDING;
    for (index, cells) in readout(landscape, xy).into_iter().enumerate() {
        for (row, (name, value)) in cells.into_iter().enumerate() {
            let y = area.top() + READOUT_PADDING - 2.0 + row as f32 * line;
            painter.text(pos2(left, y), Align2::LEFT_TOP, name, font.clone(), name_color);
            let right = left + column(index);
            painter.text(pos2(right, y), Align2::RIGHT_TOP, significant(value, 5), font.clone(), value_color);
        }
        left += column(index) + 12.0;
    }
}

#[cfg(test)]
mod tests {
    use valleyscope_engine::landscape::{LandscapeFormula, LandscapeKind, LandscapeSpec};

    use super::*;

    #[test]
    fn no_curvature_is_shown_where_the_loss_is_nan() {
        let formula = LandscapeFormula::new("half", "L = 0*ln(x) + y^2").expect("it has no mistake");
        let landscape = LandscapeSpec::new(LandscapeKind::Formula(formula)).landscape();
        assert_eq!(readout(&landscape, [0.5, 1.0])[1][3], ("ΔL", 2.0));
        let [_, [(_, loss), .., (_, curvature)]] = readout(&landscape, [-0.5, 1.0]);
        assert!(loss.is_nan() && curvature.is_nan());
    }
}
