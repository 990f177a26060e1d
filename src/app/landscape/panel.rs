//! The canvas with everything on it.

use std::sync::Arc;

use eframe::egui_wgpu::{self, RenderState};
use egui::emath::GuiRounding as _;
use egui::{Color32, FontId, Rect, Response, Sense, Stroke, TextStyle, Ui, WidgetInfo, pos2, vec2};

use super::auto_scale::AutoScale;
use super::glyphs::{self, on_canvas};
use super::interaction::{CameraMove, Interaction, Tool, start_xy};
use super::motion::{Bounds, Follower, fitted, limited};
use super::paint::{self, LandscapeCallback, SharedUploads};
use super::readout::{self, Readout};
use super::{axes, color_bar, legend};
use crate::app::{Action, Document, Live, Requests};
use crate::gpu::{EnsembleStyle, Scene};
use crate::landscape::Landscape;
use crate::simulation::{Playback, Snapshot, trail_columns};
use crate::view::ticks::{grouped, significant};
use crate::view::{Camera, SymLog, Viewport};

/// Contour lines over the whole colour bar.
const CONTOURS: u32 = 24;
/// At most this many particles of an ensemble are looked at to see where it is.
const ENOUGH_TO_FIT: usize = 2000;
/// A narrower panel than this, in points, has its tools in a menu.
const NARROW: f32 = 280.0;
/// A smaller canvas than this, in points, gets no axes and no colour bar.
const LEAST_CANVAS: f32 = 110.0;
/// The narrowest view that fitting chooses, in start spreads.
const FIT_SPREADS: f64 = 40.0;

/// The landscape: heatmap, particles, axes, colour bar, legend and tools.
pub struct LandscapePanel {
    /// Whether there is a GPU to draw the landscape and the particles.
    gpu: bool,
    uploads: SharedUploads,
    camera: Option<Camera>,
    /// The document's first camera when it was last looked at; another one means another document.
    first_camera: Option<Camera>,
    follower: Follower,
    auto_scale: AutoScale,
    interaction: Interaction,
    fit_requested: bool,
    /// Run and step for which the follower aimed last.
    aimed_at: Option<(u64, u64)>,
    /// Where the panel without its tools, and the legend in it, were last drawn.
    last_area: Option<Rect>,
    legend_area: Rect,
}

impl LandscapePanel {
    /// Without a render state everything works but the picture of the landscape and its particles.
    pub fn new(render_state: Option<&RenderState>) -> Self {
        if let Some(render_state) = render_state {
            paint::install(render_state);
        }
        LandscapePanel {
            gpu: render_state.is_some(),
            uploads: SharedUploads::default(),
            camera: None,
            first_camera: None,
            follower: Follower::default(),
            auto_scale: AutoScale::default(),
            interaction: Interaction::default(),
            fit_requested: false,
            aimed_at: None,
            last_area: None,
            legend_area: Rect::NOTHING,
        }
    }

    /// Looks at the next document as at a new one, and not where the last one was looked at.
    pub fn look_anew(&mut self) {
        self.camera = None;
    }

    /// Takes what is new in a snapshot. To be called once for each, also while the window is hidden.
    pub fn absorb(&mut self, snapshot: &Snapshot) {
        if self.gpu {
            paint::lock(&self.uploads).absorb(snapshot);
        }
    }

    /// The part of the plane in view.
    pub fn camera(&self) -> Camera {
        self.camera.unwrap_or(Camera::HOME)
    }

    pub fn ui(&mut self, ui: &mut Ui, document: &mut Document, live: &mut Live, requests: &mut Requests) {
        let whole = ui.available_rect_before_wrap();
        self.tools(ui, document, requests, whole);
        let area = ui.available_rect_before_wrap();
        let font = TextStyle::Small.resolve(ui.style());
        let layout = Layout::new(ui, area, &font);
        ui.allocate_rect(area, Sense::hover());
        let response = ui.interact(layout.canvas, ui.scope_id().with("landscape"), Sense::click_and_drag());
        if layout.canvas.width() < 16.0 || layout.canvas.height() < 16.0 {
            return;
        }
        self.move_camera(ui, &response, document, live, requests);
        self.draw(ui, &response, &layout, document, live);
    }

    /// The tools above the canvas: in a row, or in a menu where a row has no room.
    fn tools(&mut self, ui: &mut Ui, document: &mut Document, requests: &mut Requests, whole: Rect) {
        let margin = egui::Margin { left: 6, right: 6, top: 4, bottom: 0 };
        egui::Frame::NONE.inner_margin(margin).show(ui, |ui| {
            if whole.width() < NARROW {
                ui.menu_button("Tools", |ui| self.tool_buttons(ui, document, requests, whole));
            } else {
                ui.horizontal_wrapped(|ui| self.tool_buttons(ui, document, requests, whole));
            }
        });
    }

    fn tool_buttons(&mut self, ui: &mut Ui, document: &mut Document, requests: &mut Requests, whole: Rect) {
        let tool = &mut self.interaction.tool;
        ui.selectable_value(tool, Tool::MoveView, "Move view").on_hover_text(
            "Drag to move the view, click to select a particle, double-click to fit the particles.\n\
             Shift+click, or drag its marker, to place the start.",
        );
        ui.selectable_value(tool, Tool::PlaceStart, "Place start")
            .on_hover_text("Click or drag where the particles shall start. The right button moves the view.");
        ui.separator();
        if ui.button("Fit").on_hover_text("Fit the shown particles and the start into the view.").clicked() {
            self.fit_requested = true;
        }
        ui.toggle_value(&mut document.view.follow, "Follow")
            .on_hover_text("Keep the particles in view. Moving or zooming the view turns it off.");
        ui.toggle_value(&mut document.view.glyphs, "Arrows")
            .on_hover_text("Arrows on the selected particle: gradient, momentum, step and more.");
        ui.separator();
        ui.menu_button("Export", |ui| {
            let area = self.last_area.unwrap_or(whole);
            if ui.button("Picture (PNG)…").clicked() {
                let suggested_name = "landscape.png".to_owned();
                requests.actions.push(Action::SavePicture { area, suggested_name });
            }
            if ui.button("Animation…").clicked() {
                requests.actions.push(Action::OpenAnimationExport { area });
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
        let first = document.view.camera;
        if self.camera.is_none() || self.first_camera != first {
            self.camera = Some(limited(first.unwrap_or(Camera::HOME)));
            self.follower.stop();
        }
        self.first_camera = first;

        let viewport = self.viewport(response.rect);
        match self.interaction.handle(ui, response, &viewport, document, live, requests) {
            CameraMove::Stay => {}
            CameraMove::Fit => self.fit_requested = true,
            CameraMove::To(camera) => {
                self.camera = Some(camera);
                document.view.follow = false;
            }
        }
        let aspect = f64::from(response.rect.aspect_ratio());
        if std::mem::take(&mut self.fit_requested) {
            let bounds = bounds_of_particles(document, live);
            let least = (FIT_SPREADS * document.spec.start.spread.get()).max(1e-6);
            self.camera = Some(fitted(&bounds, aspect, least));
            self.follower.stop();
        }
        if document.view.follow {
            self.follow(ui, document, live, aspect);
        } else {
            self.follower.stop();
        }
    }

    fn follow(&mut self, ui: &Ui, document: &Document, live: &Live, aspect: f64) {
        let Some(snapshot) = &live.snapshot else { return };
        let camera = self.camera();
        let shown = Some((snapshot.run, snapshot.step));
        let is_new = self.aimed_at != shown;
        if is_new {
            let fresh = self.aimed_at.is_none_or(|(run, _)| run != snapshot.run);
            self.follower.aim(camera, &bounds_of_particles(document, live), aspect);
            self.aimed_at = shown;
            if fresh && live.frame_secs.is_some() {
                self.camera = Some(self.follower.advance(camera, f32::INFINITY));
                return;
            }
        }
        if !self.follower.moving() {
            return;
        }
        match live.frame_secs {
            Some(secs) if is_new => self.camera = Some(self.follower.advance(camera, secs)),
            Some(_) => {}
            None => {
                let secs = ui.input(|input| input.stable_dt).min(0.1);
                self.camera = Some(self.follower.advance(camera, secs));
                ui.ctx().request_repaint();
            }
        }
    }

    /// The view in points.
    fn viewport(&self, canvas: Rect) -> Viewport {
        Viewport { camera: self.camera(), size_px: canvas.size().into() }
    }

    fn draw(&mut self, ui: &mut Ui, response: &Response, layout: &Layout, document: &mut Document, live: &mut Live) {
        self.last_area = Some(layout.area);
        let canvas = layout.canvas;
        let viewport = self.viewport(canvas);
        let landscape = document.spec.landscape.landscape();
        let scale = match document.view.scale {
            Some(scale) => scale,
            None => self.auto_scale.update(&landscape, &viewport),
        };
        let font = &layout.font;
        let painter = ui.painter().with_clip_rect(canvas);
        if self.gpu {
            self.paint_landscape(ui, canvas, &landscape, scale, document, live);
        } else {
            no_gpu(ui, canvas);
        }
        if document.view.uv_frame {
            axes::draw_uv(&painter, canvas, &viewport, &landscape, &layout.body, self.legend_area);
        }
        draw_start(&painter, canvas, &viewport, document);
        legend::mark_means(ui, canvas, document, live, |xy| on_canvas(canvas, &viewport, xy));
        let key_area = match live.anatomy().filter(|_| document.view.glyphs) {
            Some(anatomy) => glyphs::draw(&painter, canvas, &viewport, anatomy, font, layout.compact),
            None => Rect::NOTHING,
        };
        if let Some(bar) = layout.bar {
            axes::draw(ui.painter(), canvas, &viewport, &axes::ticks(&viewport), font, ui.visuals());
            let bar_ticks = color_bar::ticks(&scale, bar.height());
            color_bar::show(ui, bar, scale, &mut document.view, font, &bar_ticks);
        }
        self.legend_area = legend::show(ui, canvas, document, live, font, layout.compact);
        if let Some(pointer) = response.hover_pos()
            && !response.dragged()
        {
            let xy = viewport.xy_from_px((pointer - canvas.min).into());
            let taken = [self.legend_area, key_area];
            readout::draw(&painter, canvas, pointer, &Readout::at(&landscape, xy), font, &taken);
        }
        if response.has_focus() {
            let stroke = ui.visuals().selection.stroke;
            ui.painter().rect_stroke(canvas, 0.0, stroke, egui::StrokeKind::Inside);
        }
        response.widget_info(|| WidgetInfo {
            label: Some("Landscape".to_owned()),
            current_text_value: Some(summary(document, live, &viewport)),
            ..WidgetInfo::new(egui::Role::Canvas)
        });
    }

    fn paint_landscape(
        &self,
        ui: &Ui,
        canvas: Rect,
        landscape: &Landscape,
        scale: SymLog,
        document: &Document,
        live: &Live,
    ) {
        let view = &document.view;
        let particles = live.snapshot.iter().flat_map(|snapshot| &snapshot.ensembles).map(|view| view.particles).sum();
        let columns = trail_columns(view.trail_steps as usize, particles);
        paint::lock(&self.uploads).set_capacity(columns);
        let pixels_per_point = ui.ctx().pixels_per_point();
        let ensembles = live
            .visible()
            .filter_map(|ensemble| {
                let spec = document.spec.optimizers.iter().find(|spec| spec.id == ensemble.optimizer)?;
                let selected = live.selected.filter(|particle| particle.optimizer == spec.id);
                Some(EnsembleStyle {
                    id: spec.id,
                    color: spec.rgb(),
                    trail_steps: u32::try_from(columns - 1).unwrap_or(view.trail_steps),
                    trail_width: view.trail_width,
                    point_radius: view.point_radius,
                    mean_path: view.mean_path,
                    selected: selected.and_then(|particle| u32::try_from(particle.particle).ok()),
                })
            })
            .collect();
        let scene = Scene {
            viewport: Viewport { camera: self.camera(), size_px: (canvas.size() * pixels_per_point).round().into() },
            landscape: *landscape,
            scale,
            colormap: view.colormap,
            contours: if view.contours { CONTOURS } else { 0 },
            pixels_per_point,
            ensembles,
        };
        let callback = LandscapeCallback { scene, uploads: Arc::clone(&self.uploads) };
        ui.painter().add(egui_wgpu::Callback::new_paint_callback(canvas, callback));
    }
}

/// Where the canvas and what is around it lie.
struct Layout {
    area: Rect,
    canvas: Rect,
    /// The colour bar; where there is no room for it there is none for the axes either.
    bar: Option<Rect>,
    font: FontId,
    body: FontId,
    /// Little room: legends are short, keys are left out.
    compact: bool,
}

impl Layout {
    fn new(ui: &Ui, area: Rect, font: &FontId) -> Layout {
        let width = |text: &str| ui.painter().layout_no_wrap(text.to_owned(), font.clone(), Color32::WHITE).size().x;
        // Labels of fixed widths, so that the canvas does not jump while the view moves.
        let left = width("−0.0000") + 10.0;
        let right = color_bar::STRIP + width("−0.001") + 20.0;
        let body = TextStyle::Body.resolve(ui.style());
        let pixels_per_point = ui.ctx().pixels_per_point();
        if area.width() < left + right + LEAST_CANVAS || area.height() < LEAST_CANVAS {
            let canvas = area.round_to_pixels(pixels_per_point);
            return Layout { area, canvas, bar: None, font: font.clone(), body, compact: true };
        }
        let below = 2.0 * font.size + 14.0;
        let above = font.size + 8.0;
        let canvas = Rect::from_min_max(
            pos2(area.left() + left, area.top() + above),
            pos2(area.right() - right, area.bottom() - below),
        )
        .round_to_pixels(pixels_per_point);
        let bar_left = canvas.right() + 10.0;
        let bar =
            Some(Rect::from_min_max(pos2(bar_left, canvas.top()), pos2(bar_left + color_bar::STRIP, canvas.bottom())));
        let compact = canvas.width() < 420.0 || canvas.height() < 240.0;
        Layout { area, canvas, bar, font: font.clone(), body, compact }
    }
}

/// The box around the shown particles and the start.
fn bounds_of_particles(document: &Document, live: &Live) -> Bounds {
    let start = Bounds::of_point(start_xy(document));
    live.visible().fold(start, |bounds, view| {
        let newest = view.columns.len().saturating_sub(view.particles);
        let stride = view.particles.div_ceil(ENOUGH_TO_FIT).max(1);
        let some = view.columns[newest..].iter().step_by(stride).copied();
        Bounds::robust(some).map_or(bounds, |ensemble| bounds.union(ensemble))
    })
}

/// The start: a cross, and a circle of one spread about it where that can be seen.
fn draw_start(painter: &egui::Painter, canvas: Rect, viewport: &Viewport, document: &Document) {
    let at = on_canvas(canvas, viewport, start_xy(document));
    if !canvas.expand(20.0).contains(at) {
        return;
    }
    for (color, width) in [(Color32::from_black_alpha(180), 3.5), (Color32::WHITE, 1.5)] {
        for arm in [vec2(1.0, 0.0), vec2(0.0, 1.0)] {
            for side in [-1.0, 1.0] {
                let ends = [at + arm * side * 3.0, at + arm * side * 9.0];
                painter.line_segment(ends, Stroke::new(width, color));
            }
        }
    }
    let radius = (document.spec.start.spread.get() / viewport.units_per_px()) as f32;
    if radius > 4.0 && radius < 4.0 * canvas.width() {
        painter.circle_stroke(at, radius, Stroke::new(1.0, Color32::from_white_alpha(190)));
    }
}

/// Says why there is no picture.
fn no_gpu(ui: &Ui, canvas: Rect) {
    let visuals = ui.visuals();
    ui.painter().rect_filled(canvas, 0.0, visuals.extreme_bg_color);
    let text = "The landscape cannot be drawn: no graphics adapter was found. Everything else works.";
    let font = TextStyle::Body.resolve(ui.style());
    let color = visuals.weak_text_color();
    let galley = ui.painter().layout(text.to_owned(), font, color, (canvas.width() - 24.0).max(80.0));
    let at = pos2(canvas.left() + 12.0, canvas.center().y + 0.2 * canvas.height());
    ui.painter().with_clip_rect(canvas).galley(at, galley, color);
}

/// The state of the canvas in words, for screen readers.
fn summary(document: &Document, live: &Live, viewport: &Viewport) -> String {
    let [width, height] = viewport.size_px;
    let [left, bottom] = viewport.xy_from_px([0.0, height]).map(|value| significant(value, 3));
    let [right, top] = viewport.xy_from_px([width, 0.0]).map(|value| significant(value, 3));
    let mut text = format!("In view: x from {left} to {right}, y from {bottom} to {top}.");
    let Some(snapshot) = &live.snapshot else { return text + " Nothing is simulated yet." };
    let playback = match snapshot.playback {
        Playback::Playing => "playing",
        Playback::Paused => "paused",
        Playback::Finished => "finished",
    };
    text += &format!(" Step {}, {playback}.", grouped(snapshot.step));
    for view in live.visible() {
        let spec = document.spec.optimizers.iter().find(|spec| spec.id == view.optimizer);
        let name = spec.map_or("An optimizer", |spec| spec.label());
        let loss = significant(view.sample.loss.mean, 4);
        text += &format!(" {name}: {} particles, mean loss {loss}", view.particles);
        if view.sample.diverged > 0 {
            text += &format!(", {} diverged", view.sample.diverged);
        }
        text += ".";
    }
    if let Some(particle) = live.selected {
        text += &format!(" Particle {} is selected.", particle.particle + 1);
    }
    text
}
