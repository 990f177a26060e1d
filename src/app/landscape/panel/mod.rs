//! The panel of the landscape: its canvases and its tools.

mod cameras;
mod draw;

use eframe::egui_wgpu::RenderState;
use egui::{Rect, Response, Sense, Ui, Vec2, vec2};
use valleyscope_experiments::view::{AutoScale, Camera, Orbit};

use super::framing::Framing;
use super::interaction::{Interaction, Tool};
use super::layout::CanvasLayout;
use super::legend;
use super::paint::{self, SessionData, SharedUploads};
use super::projection::SurfaceCache;
use crate::app::graphics::Graphics;
use crate::app::picture::View;
use crate::app::{Action, Document, LandscapeAction, Live, Requests};
use crate::player::{SessionView, Snapshot};

/// The width of a panel, in points, below which its tools are in a menu.
const NARROW: f32 = 280.0;
/// The size of the canvas before it was shown, in points.
const FIRST_SIZE: Vec2 = vec2(800.0, 600.0);

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
    /// The size of the first canvas when it was last shown.
    last_size: Vec2,
    /// The width over the height of the view that the next picture shows whole.
    contained: Option<f64>,
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
            contained: None,
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
        let is_beside = |other: &&SessionView| other.kind.is_beside();
        let beside = snapshot.others.iter().filter(is_beside).map(|other| (other.step, &other.ensembles));
        let all = std::iter::once((snapshot.step, &snapshot.ensembles)).chain(beside);
        for (place, (step, ensembles)) in all.enumerate() {
            let branches = snapshot.others.iter().filter(|other| other.kind.is_branch_of(place));
            let shown = std::iter::once(SessionData::own(step, ensembles)).chain(branches.map(SessionData::branch));
            paint::lock(&self.pane(place).uploads).absorb(snapshot.track, shown);
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
            Self::legend_row(ui, document, live);
        }
        self.canvases(ui, true, document, live, requests);
    }

    /// Shows the landscape below its legend, which so covers no particle.
    pub fn presentation(&mut self, ui: &mut Ui, document: &mut Document, live: &mut Live, requests: &mut Requests) {
        Self::legend_row(ui, document, live);
        self.canvases(ui, false, document, live, requests);
    }

    /// Shows the legend above the canvases.
    fn legend_row(ui: &mut Ui, document: &mut Document, live: &mut Live) {
        if let Some(chosen) = legend::row(ui, document, live, legend::Rows::All) {
            chosen.apply(document);
        }
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
        ui.allocate_rect(area, Sense::hover());
        let look = CanvasLook { has_legend, has_bar: true, sense: Sense::click_and_drag() };
        let canvases = canvases(ui, area, look, document, live);
        self.last_size = canvases[0].0.canvas.size();
        if canvases.iter().any(is_small) {
            return;
        }
        self.move_cameras(ui, &canvases, document, live, requests);
        self.draw_all(ui, &canvases, document, live);
    }

    /// Returns the part of the landscape in view on the first canvas.
    pub fn seen(&self) -> View {
        let aspect = f64::from(self.last_size.x / self.last_size.y.max(1.0));
        View { camera: self.camera(), orbit: self.orbit(), aspect }
    }

    /// Returns the graphics driver for pictures of the landscape.
    ///
    /// # Errors
    ///
    /// Returns a message if there is none.
    pub fn graphics(&self) -> Result<Graphics, String> {
        let no_gpu = || "no graphics adapter was found that could draw it".to_owned();
        self.render_state.as_ref().map(Graphics::of).ok_or_else(no_gpu)
    }

    /// Keeps the positions of so many steps for the trails of each of `count` simulations, also before the landscape is
    /// first drawn.
    pub fn keep_trails(&mut self, count: usize, columns: usize) {
        for place in 0..count {
            paint::lock(&self.pane(place).uploads).set_capacity(columns);
        }
    }

    /// Widens the view once, at the next picture, where that is wider than `aspect` times its height, so that it shows the
    /// same height.
    pub fn contain(&mut self, aspect: f64) {
        self.contained = Some(aspect);
    }

    /// Draws the landscape into all of the available space, without tools and legend.
    pub fn picture(&mut self, ui: &mut Ui, document: &mut Document, live: &mut Live, has_bar: bool) {
        let area = ui.available_rect_before_wrap();
        let look = CanvasLook { has_legend: false, has_bar, sense: Sense::hover() };
        let canvases = canvases(ui, area, look, document, live);
        if canvases.iter().any(is_small) {
            return;
        }
        self.begin_framing(canvases.len(), document);
        let aspect = f64::from(canvases[0].0.canvas.aspect_ratio());
        if let Some(seen) = self.contained.take().filter(|_| !document.view.space) {
            let camera = self.camera();
            self.panes[0].framing.look_at(Camera { width: camera.width * (aspect / seen).max(1.0), ..camera });
        }
        self.update_framing(ui, &canvases, document, live);
        self.draw_all(ui, &canvases, document, live);
    }

    /// Shows the legend of the shown ensembles in rows.
    pub fn picture_legend(&self, ui: &mut Ui, document: &Document, live: &mut Live) {
        legend::row(ui, document, live, legend::Rows::Shown);
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

/// The parts around the landscape that canvases have.
#[derive(Clone, Copy)]
struct CanvasLook {
    has_legend: bool,
    has_bar: bool,
    sense: Sense,
}

/// Lays out the canvases of all simulations, and makes them interactive.
fn canvases(ui: &Ui, area: Rect, look: CanvasLook, document: &Document, live: &Live) -> Vec<(CanvasLayout, Response)> {
    let CanvasLook { has_legend, has_bar, sense } = look;
    let in_space = document.view.space;
    let layouts = match document.count() {
        1 => vec![CanvasLayout { has_legend, ..CanvasLayout::new(ui, area, in_space, has_bar) }],
        count => CanvasLayout::side_by_side(ui, area, count, in_space, has_bar, !live.has_own_cameras),
    };
    let canvas = |(place, layout): (usize, CanvasLayout)| {
        let id = ui.scope_id().with("landscape");
        let id = if place == 0 { id } else { id.with(place) };
        let response = ui.interact(layout.canvas, id, sense);
        (layout, response)
    };
    layouts.into_iter().enumerate().map(canvas).collect()
}

fn is_small((layout, _): &(CanvasLayout, Response)) -> bool {
    layout.canvas.width() < 16.0 || layout.canvas.height() < 16.0
}
