//! The canvas with everything on it.

use std::sync::Arc;

use eframe::egui_wgpu::{self, RenderState};
use egui::{Context, Painter, Pos2, Rect, Response, Sense, Ui, Vec2, WidgetInfo, vec2};
use valleyscope_experiments::view::{AutoScale, Camera, Orbit, SymLog, Viewport};

use super::framing::Framing;
use super::glyphs;
use super::interaction::{CameraMove, Interaction, Tool};
use super::layout::CanvasLayout;
use super::legend::{self, Legend};
use super::means::EnsembleMean;
use super::paint::{self, LandscapeCallback, SharedUploads};
use super::projection::{Projection, SurfaceCache};
use super::readout::{self, Readout};
use super::summary::summary;
use super::{axes, color_bar, marks, means, space_axes};
use crate::app::branches::PALE;
use crate::app::{Action, Document, LandscapeAction, Live, Offscreen, PictureExtent, PictureSize, Requests};
use crate::gpu::{EnsembleKey, EnsembleStyle, Scene, SpaceScene};
use crate::player::{Snapshot, trail_columns};

/// The width of a panel, in points, below which its tools are in a menu.
const NARROW: f32 = 280.0;
/// The size of a picture before the panel was shown, in points.
const FIRST_SIZE: Vec2 = vec2(800.0, 600.0);
/// The width of mean paths, and of those of branches, in points.
const PATH: f32 = 2.0;
const PALE_PATH: f32 = 1.2;
/// The factor of the radius of a branch's particles.
const PALE_RADIUS: f32 = 0.8;
/// The longest side of a picture without a GPU, which would have its own limit, in pixels.
const LONGEST_SIDE: u32 = 8192;
/// The longest side of a picture in space, in pixels, each of which takes 36 bytes on the GPU while it is drawn.
const LONGEST_IN_SPACE: u32 = 4096;

/// The landscape: heatmap, particles, axes, colour bar, legend and tools.
pub struct LandscapePanel {
    /// The GPU, if there is one to draw the landscape and the particles.
    render_state: Option<RenderState>,
    uploads: SharedUploads,
    framing: Framing,
    auto_scale: AutoScale,
    surface: SurfaceCache,
    interaction: Interaction,
    /// The size of the panel without its tools when it was last shown.
    last_size: Vec2,
    /// Whether the landscape was last shown in space.
    was_in_space: bool,
}

impl LandscapePanel {
    /// Makes the panel. Without a render state it lacks only the picture of the landscape and its particles.
    pub fn new(render_state: Option<&RenderState>) -> Self {
        if let Some(render_state) = render_state {
            paint::install(render_state);
        }
        LandscapePanel {
            render_state: render_state.cloned(),
            uploads: SharedUploads::default(),
            framing: Framing::default(),
            auto_scale: AutoScale::default(),
            surface: SurfaceCache::default(),
            interaction: Interaction::default(),
            last_size: FIRST_SIZE,
            was_in_space: false,
        }
    }

    /// Makes the next document start with its own view.
    pub fn reset_view(&mut self) {
        self.framing.reset_view();
    }

    /// Restores the camera of an earlier session for `document`, and the direction from which the surface was seen.
    pub fn restore_view(&mut self, document: &Document, camera: Camera, orbit: Orbit) {
        self.framing.restore_view(document, camera, orbit);
    }

    /// Adds the new data of a snapshot. Call once for each, even while the window is hidden.
    pub fn absorb(&mut self, snapshot: &Snapshot) {
        if self.render_state.is_some() {
            paint::lock(&self.uploads).absorb(snapshot);
        }
    }

    /// Returns the camera.
    pub fn camera(&self) -> Camera {
        self.framing.camera()
    }

    /// Returns the direction from which the surface in space is seen.
    pub fn orbit(&self) -> Orbit {
        self.framing.orbit()
    }

    /// Shows the landscape below its tools, with the legend on it.
    pub fn ui(&mut self, ui: &mut Ui, document: &mut Document, live: &mut Live, requests: &mut Requests) {
        self.tools(ui, document, requests);
        self.canvas(ui, true, document, live, requests);
    }

    /// Shows the landscape below its legend, which so covers no particle.
    pub fn presentation(&mut self, ui: &mut Ui, document: &mut Document, live: &mut Live, requests: &mut Requests) {
        legend::row(ui, document, live);
        self.canvas(ui, false, document, live, requests);
    }

    fn canvas(
        &mut self,
        ui: &mut Ui,
        has_legend: bool,
        document: &mut Document,
        live: &mut Live,
        requests: &mut Requests,
    ) {
        let area = ui.available_rect_before_wrap();
        (self.last_size, self.was_in_space) = (area.size(), document.view.space);
        let layout = CanvasLayout { has_legend, ..CanvasLayout::new(ui, area, document.view.space) };
        ui.allocate_rect(area, Sense::hover());
        let response = ui.interact(layout.canvas, ui.scope_id().with("landscape"), Sense::click_and_drag());
        if layout.canvas.width() < 16.0 || layout.canvas.height() < 16.0 {
            return;
        }
        self.move_camera(ui, &response, document, live, requests);
        self.draw(ui, &response, &layout, document, live);
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
        let area = ui.max_rect();
        ui.painter().rect_filled(area, 0.0, ui.visuals().extreme_bg_color);
        let layout = CanvasLayout::new(ui, area, document.view.space);
        let response = ui.interact(layout.canvas, ui.scope_id().with("landscape"), Sense::hover());
        let legend = self.draw(ui, &response, &layout, document, live);
        if let Some(caption) = caption {
            marks::draw_caption(ui, &layout, caption, legend);
        }
    }

    /// Shows the tools above the canvas: in a row, or in a menu where a row does not fit.
    fn tools(&mut self, ui: &mut Ui, document: &mut Document, requests: &mut Requests) {
        let margin = egui::Margin { left: 6, right: 6, top: 4, bottom: 0 };
        let narrow = ui.available_width() < NARROW;
        egui::Frame::NONE.inner_margin(margin).show(ui, |ui| {
            if narrow {
                ui.menu_button("Tools", |ui| self.tool_buttons(ui, document, requests));
            } else {
                ui.horizontal_wrapped(|ui| self.tool_buttons(ui, document, requests));
            }
        });
    }

    fn tool_buttons(&mut self, ui: &mut Ui, document: &mut Document, requests: &mut Requests) {
        let tool = &mut self.interaction.tool;
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
            self.framing.request_fit();
        }
        ui.toggle_value(&mut document.view.follow, "Follow")
            .on_hover_text("Keep the particles in view. Moving or zooming the view turns it off.");
        ui.toggle_value(&mut document.view.glyphs, "Arrows")
            .on_hover_text("Arrows on the selected particle: gradient, momentum, step and more.");
        ui.toggle_value(&mut document.view.space, "3-D")
            .on_hover_text("Show the landscape as a surface in space, or from above. Key: 3.");
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

    fn move_camera(
        &mut self,
        ui: &Ui,
        response: &Response,
        document: &mut Document,
        live: &mut Live,
        requests: &mut Requests,
    ) {
        self.framing.begin(document);
        let projection = self.projection(response.rect, document);
        match self.interaction.handle(ui, response, &projection, document, live, requests) {
            CameraMove::Stay => {}
            CameraMove::Fit => self.framing.request_fit(),
            CameraMove::From(orbit) => self.framing.look_from(orbit),
            CameraMove::To(camera) => {
                self.framing.look_at(camera);
                document.view.follow = false;
            }
        }
        // In space, the part in view is a square.
        let aspect = if document.view.space { 1.0 } else { f64::from(response.rect.aspect_ratio()) };
        self.framing.update(ui, document, live, aspect);
    }

    /// Returns the viewport in points.
    fn viewport(&self, canvas: Rect) -> Viewport {
        Viewport { camera: self.camera(), size_px: canvas.size().into() }
    }

    /// Returns the colour scale of the part in view.
    fn scale(&mut self, canvas: Rect, document: &Document) -> SymLog {
        let viewport = match document.view.space {
            false => self.viewport(canvas),
            true => Viewport { camera: self.camera(), size_px: [canvas.width(); 2] },
        };
        let landscape = document.spec.landscape.landscape();
        document.view.scale.unwrap_or_else(|| self.auto_scale.update(&landscape, &viewport))
    }

    /// Returns the mapping of the plane to the canvas.
    fn projection(&mut self, canvas: Rect, document: &Document) -> Projection {
        let (viewport, orbit) = (self.viewport(canvas), self.orbit());
        if !document.view.space {
            return Projection::Plane(viewport);
        }
        let (landscape, scale) = (document.spec.landscape.landscape(), self.scale(canvas, document));
        Projection::Space(self.surface.projection(&landscape, &scale, viewport, orbit))
    }

    /// Draws the landscape with its overlays, and returns the area of the legend.
    fn draw(
        &mut self,
        ui: &mut Ui,
        response: &Response,
        layout: &CanvasLayout,
        document: &mut Document,
        live: &mut Live,
    ) -> Rect {
        let canvas = layout.canvas;
        let viewport = self.viewport(canvas);
        let landscape = document.spec.landscape.landscape();
        let scale = self.scale(canvas, document);
        let projection = self.projection(canvas, document);
        let space_axes = match &projection {
            Projection::Plane(_) => None,
            Projection::Space(space) => Some(space_axes::of(space.view, &scale)),
        };
        let font = &layout.font;
        let painter = ui.painter().with_clip_rect(canvas);
        if let Some(axes) = &space_axes {
            space_axes::draw_walls(&painter, canvas, axes, ui.visuals());
        }
        let means = means::means(live, &projection, canvas);
        if self.render_state.is_some() {
            self.paint_landscape(ui, canvas, scale, (&projection, &means), document, live);
        } else {
            marks::no_gpu(ui, canvas);
        }
        let legend = Legend::lay_out(ui, layout, document, live);
        match &space_axes {
            Some(_) if document.view.uv_frame => {
                space_axes::draw_uv(&painter, canvas, &projection, &landscape, &layout.body);
            }
            None if document.view.uv_frame => {
                axes::draw_uv(&painter, canvas, &viewport, &landscape, &layout.body, legend.area);
            }
            _ => {}
        }
        if let Some(axes) = &space_axes {
            space_axes::draw(&painter, canvas, axes, font, ui.visuals());
        }
        marks::draw_start(&painter, canvas, &projection, document);
        means::draw_pale(ui, canvas, &projection, document, live);
        means::draw(ui, canvas, document, &means);
        let particles: Vec<Pos2> = means.iter().map(|mean| mean.at).collect();
        let key_area = draw_glyphs(&painter, response, layout, &projection, document, live, &particles);
        marks::draw_run_away_note(&painter, canvas, document, self.framing.left_out(), font);
        if let Some(bar) = layout.bar {
            if space_axes.is_none() {
                axes::draw(ui.painter(), canvas, &viewport, &axes::ticks(&viewport), font, ui.visuals());
            }
            let bar_ticks = color_bar::ticks(&scale, bar.height());
            color_bar::show(ui, bar, scale, &mut document.view, font, &bar_ticks);
        }
        legend.show(ui, canvas, live);
        if let Some(pointer) = response.hover_pos()
            && !response.dragged()
            && let Some(xy) = projection.xy((pointer - canvas.min).into())
        {
            let taken = [legend.area, key_area];
            let readout = Readout::at(&landscape, xy);
            readout::draw(&painter, canvas, pointer, &readout, font, (&taken, &particles));
        }
        if response.has_focus() {
            let stroke = ui.visuals().selection.stroke;
            ui.painter().rect_stroke(canvas, 0.0, stroke, egui::StrokeKind::Inside);
        }
        response.widget_info(|| WidgetInfo {
            label: Some("Landscape".to_owned()),
            current_text_value: Some(summary(document, live, &projection, self.framing.left_out())),
            ..WidgetInfo::new(egui::Role::Canvas)
        });
        legend.area
    }

    fn paint_landscape(
        &self,
        ui: &Ui,
        canvas: Rect,
        scale: SymLog,
        (projection, means): (&Projection, &[EnsembleMean]),
        document: &Document,
        live: &Live,
    ) {
        let view = &document.view;
        let particles = live.snapshot.iter().flat_map(|snapshot| &snapshot.ensembles).map(|view| view.particles).sum();
        let columns = trail_columns(view.trail_steps as usize, particles);
        paint::lock(&self.uploads).set_capacity(columns);
        let pixels_per_point = ui.ctx().pixels_per_point();
        let ensembles = live.visible().filter_map(|ensemble| {
            let spec = document.spec.optimizers.iter().find(|spec| spec.id == ensemble.optimizer)?;
            let selected = live.selected.filter(|particle| particle.optimizer == spec.id);
            let nested = means.iter().find(|mean| mean.id == spec.id).map_or(1.0, |mean| mean.scale);
            Some(EnsembleStyle {
                key: EnsembleKey { session: paint::FIRST_SESSION, optimizer: spec.id },
                color: spec.rgb(),
                opacity: 1.0,
                trail_steps: u32::try_from(columns - 1).unwrap_or(view.trail_steps),
                trail_width: nested * view.trail_width,
                point_radius: nested * view.point_radius,
                path_width: if view.mean_path { PATH } else { 0.0 },
                selected: selected.and_then(|particle| u32::try_from(particle.particle).ok()),
            })
        });
        let ensembles = pale_ensembles(document, live).chain(ensembles).collect();
        let scene = Scene {
            viewport: Viewport { camera: self.camera(), size_px: (canvas.size() * pixels_per_point).round().into() },
            landscape: document.spec.landscape.landscape(),
            scale,
            colormap: view.colormap,
            contours: if view.contours { SymLog::CONTOURS } else { 0 },
            pixels_per_point,
            ensembles,
            space: match projection {
                Projection::Plane(_) => None,
                Projection::Space(space) => {
                    Some(SpaceScene { orbit: space.view.orbit, heights: Arc::clone(&space.heights) })
                }
            },
        };
        let callback = LandscapeCallback { scene, uploads: Arc::clone(&self.uploads) };
        ui.painter().add(egui_wgpu::Callback::new_paint_callback(canvas, callback));
    }
}

/// Returns the styles of the ensembles of branches, which are drawn below all others.
fn pale_ensembles<'a>(document: &'a Document, live: &'a Live) -> impl Iterator<Item = EnsembleStyle> + 'a {
    let view = &document.view;
    live.pale().flat_map(move |(branch, session)| {
        live.visible_of(session).filter_map(move |ensemble| {
            let spec = document.spec.optimizers.iter().find(|spec| spec.id == ensemble.optimizer)?;
            Some(EnsembleStyle {
                key: EnsembleKey { session: branch.id, optimizer: spec.id },
                color: spec.rgb(),
                opacity: PALE,
                trail_steps: 0,
                trail_width: 0.0,
                point_radius: PALE_RADIUS * view.point_radius,
                path_width: if view.mean_path { PALE_PATH } else { 0.0 },
                selected: None,
            })
        })
    })
}

/// Draws the arrows on the selected particle, if they are shown, and returns the area of their key.
fn draw_glyphs(
    painter: &Painter,
    response: &Response,
    layout: &CanvasLayout,
    projection: &Projection,
    document: &Document,
    live: &Live,
    particles: &[Pos2],
) -> Rect {
    let Some(step) = live.step_trace().filter(|_| document.view.glyphs) else { return Rect::NOTHING };
    // A picture cannot be clicked or zoomed.
    let key = match layout.compact {
        true => glyphs::GlyphKey::None,
        false if response.sense.senses_click() => glyphs::GlyphKey::WithHints,
        false => glyphs::GlyphKey::Plain,
    };
    glyphs::draw(painter, layout.canvas, projection, step, &layout.font, key, particles)
}
