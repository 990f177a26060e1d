//! The inset with the view along the valley: its areas, its frame, and how it is moved, resized and closed.

use egui::{
    Color32, CursorIcon, FontId, Pos2, Rect, Response, Sense, Stroke, StrokeKind, TextStyle, Ui, UiBuilder, Vec2, pos2,
    vec2,
};
use valleyscope_experiments::view::{Inset, Lens, LensAxes, Viewport};

use super::camera::start_xy;
use super::interaction::{SELECT_RADIUS, nearest_particle};
use super::{CanvasLayout, LandscapePanel};
use crate::app::landscape::editor::Document;
use crate::app::landscape::live::Live;
use crate::app::shell::actions::Requests;
use crate::app::widgets::icons::{Icon, icon_button};
use crate::app::widgets::theme::text_width;
use crate::draw::{LandscapePainter, Projection};

/// The height of the title, and the side of the corner that resizes, in points.
const TITLE: f32 = 20.0;
const GRIP: f32 = 14.0;
/// The largest size of labels, in points.
const LABELS: f32 = 10.5;
/// The smallest inset, and the gap between it and the edge of the canvas, in points.
const SMALLEST: Vec2 = vec2(190.0, 124.0);
const EDGE: f32 = 8.0;
/// Half the smallest side of the mark of what an inset magnifies, in points.
const LEAST_MARK: f64 = 4.0;

/// An inset on a canvas.
pub(crate) struct InsetArea {
    pub layout: CanvasLayout,
    pub response: Response,
    /// The canvas on which it is.
    of: Rect,
    pub frame: Rect,
    title: Response,
    grip: Response,
}

/// Returns the area of an inset on a canvas; `None` where the canvas is too small.
fn frame(inset: Inset, canvas: Rect) -> Option<Rect> {
    let room = canvas.shrink(EDGE);
    if room.width() < 1.5 * SMALLEST.x || room.height() < 1.3 * SMALLEST.y {
        return None;
    }
    let size = (Vec2::from(inset.size) * canvas.size()).max(SMALLEST).min(room.size());
    let at = canvas.min + Vec2::from(inset.at) * canvas.size();
    let at = at.max(room.min).min(room.max - size);
    Some(Rect::from_min_size(at, size))
}

/// Lays out the canvas of an inset, with small labels also where a presentation has large ones.
fn inner_layout(ui: &Ui, frame: Rect) -> CanvasLayout {
    let small = TextStyle::Small.resolve(ui.style());
    let font = FontId::new(small.size.min(LABELS), small.family);
    let line = ui.fonts_mut(|fonts| fonts.row_height(&font));
    let left = text_width(ui, &font, "−0.0000") + 8.0;
    let title = Rect::from_min_max(frame.min + vec2(10.0, 1.0), frame.right_top() + vec2(-TITLE, TITLE + 1.0));
    let min = frame.min + vec2(left, TITLE + 3.0);
    let canvas = Rect::from_min_max(min, frame.max - vec2(GRIP, 2.0 * line + 8.0));
    let compact = CanvasLayout::bare(ui, canvas);
    CanvasLayout { has_axes: true, has_legend: false, font, title: Some(title), ..compact }
}

impl InsetArea {
    /// Lays out an inset on a canvas, over which it takes the pointer.
    pub(super) fn lay_out(ui: &Ui, inset: Inset, canvas: &Response, sense: Sense) -> Option<InsetArea> {
        let frame = frame(inset, canvas.rect)?;
        let layout = inner_layout(ui, frame);
        let id = canvas.id.with("inset");
        // What is registered later is above.
        ui.interact(frame, id.with("frame"), sense);
        let title = ui.interact(frame.with_max_y(frame.top() + TITLE), id.with("title"), sense);
        let response = ui.interact(layout.canvas, id, sense);
        let corner = Rect::from_min_max(frame.max - Vec2::splat(GRIP), frame.max);
        let grip = ui.interact(corner, id.with("grip"), sense);
        Some(InsetArea { layout, response, of: canvas.rect, frame, title, grip })
    }

    /// Returns the inset after it was dragged by its title or resized by its corner.
    pub(super) fn dragged(&self, ui: &Ui, inset: Inset) -> Inset {
        let canvas = self.of;
        let part = |delta: Vec2| delta / canvas.size();
        // From where it is drawn, which may be within narrower limits.
        let (at, size) = ((self.frame.min - canvas.min) / canvas.size(), self.frame.size() / canvas.size());
        for (response, cursor) in [(&self.title, CursorIcon::Grab), (&self.grip, CursorIcon::ResizeNwSe)] {
            if response.hovered() || response.dragged() {
                ui.ctx().set_cursor_icon(cursor);
            }
        }
        if self.title.dragged() {
            let at = (at + part(self.title.drag_delta())).clamp(Vec2::ZERO, Vec2::splat(1.0) - size);
            return Inset { at: at.into(), size: size.into() };
        }
        if self.grip.dragged() {
            let size = (size + part(self.grip.drag_delta())).clamp(part(SMALLEST), Vec2::splat(1.0) - at);
            return Inset { at: at.into(), size: size.into() };
        }
        inset
    }

    /// Draws the background and the frame. Returns whether it is closed.
    pub(super) fn draw_frame(&self, ui: &mut Ui) -> bool {
        let (visuals, painter) = (ui.visuals(), ui.painter());
        let shadow = egui::Shadow { offset: [0, 3], blur: 12, spread: 0, color: Color32::from_black_alpha(110) };
        painter.add(shadow.as_shape(self.frame, 6));
        let outline = Stroke::new(1.0, visuals.window_stroke.color);
        painter.rect(self.frame, 6, visuals.panel_fill, outline, StrokeKind::Inside);
        if !self.title.sense.interactive() {
            return false;
        }
        let line = Stroke::new(1.0, visuals.weak_text_color());
        for inset in [4.0, 7.5] {
            let corner = self.frame.max - Vec2::splat(3.0);
            painter.line_segment([corner - vec2(inset, 0.0), corner - vec2(0.0, inset)], line);
        }
        let side = TITLE - 2.0;
        let button =
            Rect::from_min_size(pos2(self.frame.right() - side - 2.0, self.frame.top() + 1.0), Vec2::splat(side));
        let hint = "Close the inset. The View menu shows it again.";
        let mut is_closed = false;
        ui.scope_builder(UiBuilder::new().max_rect(button), |ui| {
            is_closed = icon_button(ui, Icon::Close, side, "Close the inset", hint).clicked();
        });
        is_closed
    }
}

/// Returns points on the line between two others.
fn between([a, b]: [[f64; 2]; 2]) -> impl Iterator<Item = [f64; 2]> {
    const PARTS: u32 = 24;
    let parts = (0..=PARTS).map(|part| f64::from(part) / f64::from(PARTS));
    parts.map(move |part| [0, 1].map(|axis| a[axis] + part * (b[axis] - a[axis])))
}

impl LandscapePanel {
    /// Moves an inset that was not placed by hand to a corner of the plane where it covers neither the way of the
    /// particles, from the start along the valley, nor what it magnifies. Without one, it is as small as it can be. The
    /// upper right corner is the legend's.
    pub(super) fn placed(
        &self,
        ui: &Ui,
        inset: Inset,
        canvas: Rect,
        document: &Document,
        (index, framed): (usize, usize),
    ) -> Inset {
        let Some(framing) = self.panes.get(framed).map(|pane| &pane.framing) else { return inset };
        let Some(usual) = frame(inset, canvas) else { return inset };
        if inset.at != Inset::default().at {
            return inset;
        }
        if document.view.is_in_space() {
            // Above the name of the vertical axis.
            return Inset { at: [0.0; 2], size: [1.0 / 3.0, 0.29] };
        }
        let (spec, plane) =
            (document.spec(index), Viewport { camera: framing.camera(), size_px: canvas.size().into() });
        let (start, lens) = (start_xy(spec), Lens::along(&spec.landscape, &[], None));
        let length = if lens.axes == LensAxes::Uv { plane.camera.width } else { 0.0 };
        let way = [start, [0, 1].map(|axis| start[axis] + length * lens.right[axis])];
        let size_px = inner_layout(ui, usual).canvas.size().into();
        let magnified = framing.lens.camera.map(|camera| mark(Viewport { camera, size_px }, 0.0));
        let sides = magnified.iter().flat_map(|mark| mark.windows(2)).map(|side| [side[0], side[1]]);
        let lines = [way].into_iter().chain(sides).flat_map(between);
        let seen: Vec<Pos2> = lines.map(|at| canvas.min + Vec2::from(plane.px_from_xy(at))).collect();
        let covers = |inset: &Inset| {
            let area = frame(*inset, canvas).unwrap_or(canvas).expand(LEAST_MARK as f32);
            seen.iter().any(|at| area.contains(*at))
        };
        let corners = [[1.0, 1.0], [0.0, 0.0], [0.0, 1.0]].map(|at| Inset { at, ..inset });
        let smallest = corners.map(|corner| Inset { size: [0.0; 2], ..corner });
        corners.into_iter().chain(smallest).find(|inset| !covers(inset)).unwrap_or(corners[0])
    }

    /// Handles the input to an inset: it is dragged and resized, and a click selects a particle.
    pub(super) fn use_inset(
        &self,
        ui: &Ui,
        inset: &InsetArea,
        (index, framed): (usize, usize),
        document: &mut Document,
        live: &mut Live,
        requests: &mut Requests,
    ) {
        let Some(area) = document.view.inset else { return };
        document.view.inset = Some(inset.dragged(ui, area));
        // The wheel over the inset does not zoom the canvas.
        if ui.input(|input| input.pointer.hover_pos()).is_some_and(|at| inset.frame.contains(at)) {
            ui.input_mut(|input| input.smooth_scroll_delta = Vec2::ZERO);
        }
        if inset.response.clicked()
            && let Some(at) = inset.response.interact_pointer_pos()
            && let Some(viewport) = self.inset_viewport(framed, inset.layout.canvas)
        {
            let at = (at - inset.layout.canvas.min).into();
            live.select(nearest_particle(live, index, &Projection::Plane(viewport), at, SELECT_RADIUS), requests);
        }
    }

    /// Returns the viewport of an inset of a pane's canvas, once its camera is known.
    pub(super) fn inset_viewport(&self, framed: usize, canvas: Rect) -> Option<Viewport> {
        let camera = self.panes[framed].framing.lens.camera?;
        Some(Viewport { camera, size_px: canvas.size().into() })
    }
}

/// Returns the corners of the part of the plane that an inset magnifies, the first one twice. Half its sides are `least` or
/// more.
fn mark(Viewport { camera, size_px }: Viewport, least: f64) -> [[f64; 2]; 5] {
    let lens = camera.lens;
    let [along, across] = lens.coordinates(camera.center);
    let half = 0.5 * camera.width;
    let height = half * f64::from(size_px[1] / size_px[0].max(1.0)) / lens.stretch;
    let (half, height) = (half.max(least), height.max(least));
    let corners = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]];
    corners.map(|[x, y]| lens.xy([along + x * half, across + y * height]))
}

/// Marks the part of the plane that an inset magnifies.
pub(super) fn draw_mark(painter: &LandscapePainter<'_>, viewport: Viewport) {
    let path = mark(viewport, LEAST_MARK * painter.projection.units_per_px()).to_vec();
    for stroke in [Stroke::new(3.0, Color32::from_black_alpha(120)), Stroke::new(1.3, Color32::WHITE)] {
        painter.draw_paths(std::slice::from_ref(&path), stroke);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inset_lies_within_its_canvas() {
        let canvas = Rect::from_min_size(pos2(100.0, 50.0), vec2(700.0, 500.0));
        for at in [[0.0, 0.0], [0.54, 0.54], [2.0, -1.0]] {
            let frame = frame(Inset { at, ..Inset::default() }, canvas).expect("there is room");
            assert!(canvas.contains_rect(frame), "{frame:?}");
        }
        assert_eq!(frame(Inset::default(), canvas.with_max_y(200.0)), None, "a low canvas has none");
    }
}
