//! The panel of the landscape: its canvases and its tools.

mod cameras;
mod draw;

use eframe::egui_wgpu::RenderState;
use egui::{Context, Rect, Response, Sense, Ui, Vec2, vec2};
use valleyscope_experiments::view::{AutoScale, Camera, Orbit};

use super::framing::Framing;
use super::interaction::{Interaction, Tool};
use super::layout::CanvasLayout;
use super::paint::{self, SharedUploads};
use super::projection::SurfaceCache;
use super::{legend, marks};
use crate::app::{Action, Document, LandscapeAction, Live, Offscreen, PictureExtent, PictureSize, Requests};
use crate::player::{SessionKind, Snapshot};

/// The width of a panel, in points, below which its tools are in a menu.
const NARROW: f32 = 280.0;
/// The size of a picture before the panel was shown, in points.
const FIRST_SIZE: Vec2 = vec2(800.0, 600.0);
/// The longest side of a picture without a GPU, which would have its own limit, in pixels.
const LONGEST_SIDE: u32 = 8192;
/// The longest side of a picture in space, in pixels, each of which takes 36 bytes on the GPU while it is drawn.
const LONGEST_IN_SPACE: u32 = 4096;

/// The landscape: heatmap, particles, axes, colour bar, legend and tools.
pub struct LandscapePanel {
    /// The GPU, if there is one to draw the landscape and the particles.
    render_state: Option<RenderState>,
    /// The canvases of the simulations side by side, at least one.
    panes: Vec<Pane>,
    /// Whether the canvases had cameras of their own in the last frame.
    had_own_cameras: bool,
    auto_scale: AutoScale,
    tool: Tool,
    /// The size of the panel without its tools when it was last shown.
    last_size: Vec2,
    /// Whether the landscape was last shown in space.
    was_in_space: bool,
}

/// The canvas of a simulation. The framing of the first one is that of all that share a camera.
#[derive(Default)]
struct Pane {
    uploads: SharedUploads,
    framing: Framing,
    surface: SurfaceCache,
    interaction: Interaction,
}

impl LandscapePanel {
    /// Makes the panel. Without a render state it lacks only the picture of the landscape and its particles.
    pub fn new(render_state: Option<&RenderState>) -> Self {
        if let Some(render_state) = render_state {
            paint::install(render_state);
        }
        LandscapePanel {
            render_state: render_state.cloned(),
            panes: vec![Pane::default()],
            had_own_cameras: false,
            auto_scale: AutoScale::default(),
            tool: Tool::default(),
            last_size: FIRST_SIZE,
            was_in_space: false,
        }
    }

    /// Makes the next document start with its own view.
    pub fn reset_view(&mut self) {
        self.panes.iter_mut().for_each(|pane| pane.framing.reset_view());
    }

    /// Restores the camera of an earlier session for `document`, and the direction from which the surface was seen.
    pub fn restore_view(&mut self, document: &Document, camera: Camera, orbit: Orbit) {
        self.panes[0].framing.restore_view(document, camera, orbit);
    }

    /// Adds the new data of a snapshot. Call once for each, even while the window is hidden.
    pub fn absorb(&mut self, snapshot: &Snapshot) {
        if self.render_state.is_none() {
            return;
        }
        let beside = snapshot.others.iter().filter(|other| matches!(other.kind, SessionKind::Beside { .. }));
        let beside = beside.map(|other| (other.step, &other.ensembles));
        for (place, (step, ensembles)) in
            std::iter::once((snapshot.step, &snapshot.ensembles)).chain(beside).enumerate()
        {
            paint::lock(&self.pane(place).uploads).absorb(snapshot.track, step, ensembles);
        }
    }

    /// Returns the pane at this place, which is made if it is missing.
    fn pane(&mut self, place: usize) -> &mut Pane {
        if self.panes.len() <= place {
            self.panes.resize_with(place + 1, Pane::default);
        }
        &mut self.panes[place]
    }

    /// Returns the camera of the first canvas.
    pub fn camera(&self) -> Camera {
        self.panes[0].framing.camera()
    }

    /// Returns the direction from which the surface in space is seen on the first canvas.
    pub fn orbit(&self) -> Orbit {
        self.panes[0].framing.orbit()
    }

    /// Shows the landscape below its tools, with the legend on it, or several side by side below one legend.
    pub fn ui(&mut self, ui: &mut Ui, document: &mut Document, live: &mut Live, requests: &mut Requests) {
        self.tools(ui, document, live, requests);
        if document.count() > 1 {
            legend::row(ui, document, live);
        }
        self.canvases(ui, true, document, live, requests);
    }

    /// Shows the landscape below its legend, which so covers no particle.
    pub fn presentation(&mut self, ui: &mut Ui, document: &mut Document, live: &mut Live, requests: &mut Requests) {
        legend::row(ui, document, live);
        self.canvases(ui, false, document, live, requests);
    }

    fn canvases(
        &mut self,
        ui: &mut Ui,
        has_legend: bool,
        document: &mut Document,
        live: &mut Live,
        requests: &mut Requests,
    ) {
        let area = ui.available_rect_before_wrap();
        (self.last_size, self.was_in_space) = (area.size(), document.view.space);
        ui.allocate_rect(area, Sense::hover());
        let canvases = canvases(ui, area, has_legend, Sense::click_and_drag(), document, live);
        let is_small =
            |(layout, _): &(CanvasLayout, Response)| layout.canvas.width() < 16.0 || layout.canvas.height() < 16.0;
        if canvases.iter().any(is_small) {
            return;
        }
        self.move_cameras(ui, &canvases, document, live, requests);
        self.draw_all(ui, &canvases, document, live);
    }

    /// Returns the size of a picture of the landscape.
    pub fn extent(&self, window: &Context, size: PictureSize) -> PictureExtent {
        let longest = self.render_state.as_ref().map(|state| state.device.limits().max_texture_dimension_2d);
        let longest = longest.unwrap_or(LONGEST_SIDE);
        let longest = if self.was_in_space { longest.min(LONGEST_IN_SPACE) } else { longest };
        size.extent(self.last_size, window.pixels_per_point(), longest)
    }

    /// Makes an offscreen context for pictures of the landscape, with the style of `window`.
    ///
    /// # Errors
    ///
    /// Returns a message if there is no GPU.
    pub fn offscreen(&self, window: &Context) -> Result<Offscreen, String> {
        let no_gpu = || "no graphics adapter was found that could draw it".to_owned();
        Ok(Offscreen::new(self.render_state.as_ref().ok_or_else(no_gpu)?, window))
    }

    /// Draws the landscape in view into the whole of `ui`, without tools.
    pub fn picture(&mut self, ui: &mut Ui, document: &mut Document, live: &mut Live) {
        self.draw_picture(ui, document, live, None);
    }

    /// Draws the landscape as [`LandscapePanel::picture`] does, with a line of text on it.
    pub fn captioned(&mut self, ui: &mut Ui, document: &mut Document, live: &mut Live, caption: &str) {
        self.draw_picture(ui, document, live, Some(caption));
    }

    fn draw_picture(&mut self, ui: &mut Ui, document: &mut Document, live: &mut Live, caption: Option<&str>) {
        ui.painter().rect_filled(ui.max_rect(), 0.0, ui.visuals().extreme_bg_color);
        if document.count() > 1 {
            legend::row(ui, document, live);
        }
        let area = ui.available_rect_before_wrap();
        let canvases = canvases(ui, area, true, Sense::hover(), document, live);
        let legend = self.draw_all(ui, &canvases, document, live);
        if let Some(caption) = caption {
            marks::draw_caption(ui, &canvases[0].0, caption, legend);
        }
    }

    /// Shows the tools above the canvas: in a row, or in a menu where a row does not fit.
    fn tools(&mut self, ui: &mut Ui, document: &mut Document, live: &mut Live, requests: &mut Requests) {
        let margin = egui::Margin { left: 6, right: 6, top: 4, bottom: 0 };
        let narrow = ui.available_width() < NARROW;
        egui::Frame::NONE.inner_margin(margin).show(ui, |ui| {
            if narrow {
                ui.menu_button("Tools", |ui| self.tool_buttons(ui, document, live, requests));
            } else {
                ui.horizontal_wrapped(|ui| self.tool_buttons(ui, document, live, requests));
            }
        });
    }

    fn tool_buttons(&mut self, ui: &mut Ui, document: &mut Document, live: &mut Live, requests: &mut Requests) {
        let tool = &mut self.tool;
        let drags = match document.view.space {
            false => "Drag to move the view",
            true => "Drag to turn the surface, drag with Ctrl or another button to move it",
        };
        ui.selectable_value(tool, Tool::MoveView, "Move view").on_hover_text(format!(
            "{drags}, click to select a particle, double-click to fit the particles.\n\
             Shift+click, or drag its marker, to place the start.",
        ));
        ui.selectable_value(tool, Tool::PlaceStart, "Place start").on_hover_text(
            "Click or drag once to place the start of the particles. The right button moves the view; Esc cancels.",
        );
        ui.separator();
        if ui.button("Fit").on_hover_text("Fit the shown particles and the start into the view.").clicked() {
            self.panes.iter_mut().for_each(|pane| pane.framing.request_fit());
        }
        ui.toggle_value(&mut document.view.follow, "Follow")
            .on_hover_text("Keep the particles in view. Moving or zooming the view turns it off.");
        ui.toggle_value(&mut document.view.glyphs, "Arrows")
            .on_hover_text("Arrows on the selected particle: gradient, momentum, step and more.");
        ui.toggle_value(&mut document.view.space, "3-D")
            .on_hover_text("Show the landscape as a surface in space, or from above. Key: 3.");
        if document.count() > 1 {
            let mut is_linked = !live.has_own_cameras;
            ui.toggle_value(&mut is_linked, "Link views")
                .on_hover_text("Move the views of all landscapes together. Off: each has a view of its own.");
            live.has_own_cameras = !is_linked;
        }
        ui.separator();
        ui.menu_button("Export", |ui| {
            if ui.button("Picture (PNG)…").clicked() {
                requests.actions.push(Action::Landscape(LandscapeAction::OpenPictureExport));
            }
            if ui.button("Figure for a paper…").clicked() {
                requests.actions.push(Action::Landscape(LandscapeAction::OpenFigureExport));
            }
            if ui.button("Animation…").clicked() {
                requests.actions.push(Action::Landscape(LandscapeAction::OpenAnimationExport));
            }
        });
    }
}

/// Lays out the canvases of all simulations, and makes them interactive.
fn canvases(
    ui: &Ui,
    area: Rect,
    has_legend: bool,
    sense: Sense,
    document: &Document,
    live: &Live,
) -> Vec<(CanvasLayout, Response)> {
    let in_space = document.view.space;
    let layouts = match document.count() {
        1 => vec![CanvasLayout { has_legend, ..CanvasLayout::new(ui, area, in_space) }],
        count => CanvasLayout::side_by_side(ui, area, count, in_space, !live.has_own_cameras),
    };
    let canvas = |(place, layout): (usize, CanvasLayout)| {
        let id = ui.scope_id().with("landscape");
        let id = if place == 0 { id } else { id.with(place) };
        let response = ui.interact(layout.canvas, id, sense);
        (layout, response)
    };
    layouts.into_iter().enumerate().map(canvas).collect()
}
