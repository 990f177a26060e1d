//! The landscape with its particles: its canvases, their layout and their tools.

pub(crate) mod camera;
pub(crate) mod color_bar;
pub(crate) mod draw;
pub(crate) mod inset;
pub(crate) mod interaction;
pub(crate) mod legend;
mod lens;
pub(crate) mod paint;
pub(crate) mod particle;

use camera::Framing;
use eframe::egui_wgpu::RenderState;
use egui::emath::{GuiRounding as _, easing};
use egui::{FontId, Id, Rect, Response, Sense, TextStyle, Ui, Vec2, pos2, vec2};
use inset::InsetArea;
use interaction::{Interaction, Tool};
use legend::mean_losses;
use paint::{SharedUploads, SurfaceCache};
use valleyscope_engine::landscape::LandscapeSpec;
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_experiments::preset::LessonDraft;
use valleyscope_experiments::view::ticks::{grouped, significant};
use valleyscope_experiments::view::{AutoScale, Camera, Orbit, ViewProjection};

use crate::app::landscape::editor::Document;
use crate::app::landscape::live::Live;
use crate::app::landscape::transport::in_words;
use crate::app::shell::actions::{Action, Requests};
use crate::app::shell::graphics::Graphics;
use crate::app::widgets::theme::{self, text_width};
use crate::draw::{LabelledSides, Projection};
use crate::player::Snapshot;

pub use crate::app::widgets::icons::line_color;
pub use camera::{Bounds, Follower, fitted, framed, limited, panned, zoomed};
pub(crate) use color_bar::{FIRST_SCALE, color_scale, colormap_name};
pub use interaction::nearest_particle;
pub use particle::{FormulaPanel, Glyph, compressed_length, glyphs};

/// The width of a panel, in points, below which its tools are in a menu.
const NARROW_TOOLS: f32 = 280.0;
/// The size of the canvas before it was shown, in points.
const FIRST_SIZE: Vec2 = vec2(800.0, 600.0);

/// A part of the landscape in view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    pub camera: Camera,
    pub orbit: Orbit,
    /// The width of the canvas over its height. A wider picture shows the same height.
    pub aspect: f64,
}

/// The landscape: heatmap, particles, axes, colour bar, legend and tools.
pub struct LandscapePanel {
    /// The GPU, if there is one to draw the landscape and the particles.
    render_state: Option<RenderState>,
    /// The canvases of the simulations side by side, at least one.
    panes: Vec<Pane>,
    /// Whether the canvases had cameras of their own in the last frame.
    had_own_cameras: bool,
    auto_scale: AutoScale,
    /// The lesson, and the landscapes that its steps show.
    of_lesson: Option<(LessonDraft, Vec<LandscapeSpec>)>,
    /// The state of pointer actions on all canvases, of which one is used at a time.
    interaction: Interaction,
    /// The size of the first canvas when it was last shown.
    last_size: Vec2,
    /// The width over the height of the view that the next picture shows whole.
    contained: Option<f64>,
    /// The part of the turn from the plane into space that has been made; 1 at rest.
    turned: f64,
    /// The size of the box in space, as of [`SpaceView`](valleyscope_experiments::view::SpaceView).
    cover: f64,
}

/// The duration of the turn from the plane into space and back, in seconds.
const TURN_SECS: f32 = 0.4;
/// The size of the box in space where the landscape fills the window.
const FILLING: f64 = 0.26;

/// The canvas of a simulation. The framing of the first one is that of all that share a camera.
#[derive(Default)]
struct Pane {
    uploads: SharedUploads,
    inset_uploads: SharedUploads,
    framing: Framing,
    surface: SurfaceCache,
}

impl Pane {
    fn all_uploads(&self) -> [&SharedUploads; 2] {
        [&self.uploads, &self.inset_uploads]
    }

    fn keep_trails(&self, columns: usize) {
        for uploads in self.all_uploads() {
            paint::lock(uploads).set_capacity(columns);
        }
    }
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
            of_lesson: None,
            interaction: Interaction::default(),
            last_size: FIRST_SIZE,
            contained: None,
            turned: 1.0,
            cover: 0.0,
        }
    }

    /// Makes the next document start with its own view.
    pub fn reset_view(&mut self) {
        self.panes.iter_mut().for_each(|pane| pane.framing.reset_view());
    }

    /// Restores the camera of an earlier session for `document`, and the direction from which the surface was seen.
    pub fn restore_view(&mut self, document: &Document, camera: Camera, orbit: Orbit) {
        self.panes[0].framing.restore_view(document, 0, camera, orbit);
    }

    /// Adds the new data of a snapshot. Call once for each, even while the window is hidden.
    pub fn absorb(&mut self, snapshot: &Snapshot) {
        if self.render_state.is_none() {
            return;
        }
        self.keep_panes(self.panes.len().max(snapshot.sessions.len()));
        for (index, (session, pane)) in snapshot.sessions.iter().zip(&self.panes).enumerate() {
            for uploads in pane.all_uploads() {
                let branches = snapshot.branches_of(index).map(|branch| (branch.id, &branch.session));
                let shown = std::iter::once((paint::OWN_SESSION, session)).chain(branches);
                paint::lock(uploads).absorb(snapshot.track, shown);
            }
        }
    }

    /// Removes the panes of simulations that are gone, and makes those that are missing.
    fn keep_panes(&mut self, count: usize) {
        if self.panes.len() > count
            && let Some(render_state) = &self.render_state
        {
            paint::remove_from(render_state, count);
        }
        self.panes.resize_with(count, Pane::default);
    }

    pub fn camera(&self) -> Camera {
        self.panes[0].framing.camera()
    }

    /// Returns the direction from which the surface in space is seen on the first canvas.
    pub fn orbit(&self) -> Orbit {
        self.panes[0].framing.orbit()
    }

    /// Shows the landscape below its tools, with the legend on it, or several side by side below one legend.
    pub fn ui(&mut self, ui: &mut Ui, document: &mut Document, live: &mut Live, requests: &mut Requests) {
        self.tools(ui, document, requests);
        if document.count() > 1 {
            legend::show_rows(ui, document, live, false);
        }
        self.cover = 0.0;
        self.canvases(ui, CanvasParts::of(document), document, live, requests);
    }

    /// Shows the landscape below its legend, which so covers no particle.
    pub fn presentation(&mut self, ui: &mut Ui, document: &mut Document, live: &mut Live, requests: &mut Requests) {
        legend::show_rows(ui, document, live, false);
        self.cover = 0.0;
        self.canvases(ui, CanvasParts { has_legend: false, ..CanvasParts::of(document) }, document, live, requests);
    }

    /// Shows the landscape alone, as large as it can be: without tools, legend, axes, colour bar and values under the
    /// pointer.
    pub(crate) fn alone(&mut self, ui: &mut Ui, document: &mut Document, live: &mut Live, requests: &mut Requests) {
        self.cover = FILLING;
        let parts = CanvasParts { has_legend: false, has_axes: false, has_bar: false, sense: Sense::click_and_drag() };
        self.canvases(ui, parts, document, live, requests);
    }

    /// Looks at the surface in space of `document` from another direction.
    pub(crate) fn look_from(&mut self, document: &Document, orbit: Orbit) {
        self.begin_framing(document.count(), document);
        self.panes[0].framing.look_from(orbit);
    }

    /// Shows the canvases. While the camera turns from space to the plane, the surface is still shown.
    fn canvases(
        &mut self,
        ui: &mut Ui,
        parts: CanvasParts,
        document: &mut Document,
        live: &mut Live,
        requests: &mut Requests,
    ) {
        let area = ui.available_rect_before_wrap();
        ui.allocate_rect(area, Sense::hover());
        let projection = document.view.projection;
        let turned = self.turn(ui, document.view.is_in_space());
        if turned > 0.0 {
            document.view.projection = ViewProjection::Space;
        }
        let canvases = self.lay_out(ui, area, parts, document, live);
        self.last_size = canvases[0].0.canvas.size();
        if !canvases.iter().any(is_small) {
            self.move_cameras(ui, &canvases, document, live, requests);
            self.draw_all(ui, &canvases, document, live);
        }
        document.view.projection = projection;
    }

    /// Goes on with the turn from the plane into space, or back, and returns the part of it that has been made.
    fn turn(&mut self, ui: &Ui, in_space: bool) -> f32 {
        let secs = if theme::is_motion_reduced(ui.ctx()) { 0.0 } else { TURN_SECS };
        let id = Id::unique("turn into space");
        let turned = ui.ctx().animate_bool_with_time_and_easing(id, in_space, secs, easing::cubic_in_out);
        self.turned = if turned > 0.0 { f64::from(turned) } else { 1.0 };
        turned
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
        self.keep_panes(count);
        self.panes.iter().for_each(|pane| pane.keep_trails(columns));
    }

    /// Widens the view once, at the next picture, where that is wider than `aspect` times its height, so that it shows
    /// the same height.
    pub fn contain(&mut self, aspect: f64) {
        self.contained = Some(aspect);
    }

    /// Draws the landscape into all of the available space, without tools and legend.
    pub fn picture(&mut self, ui: &mut Ui, document: &mut Document, live: &mut Live, has_bar: bool) {
        let area = ui.available_rect_before_wrap();
        let parts = CanvasParts { has_legend: false, has_bar, has_axes: true, sense: Sense::hover() };
        let canvases = self.lay_out(ui, area, parts, document, live);
        if canvases.iter().any(is_small) {
            return;
        }
        self.begin_framing(canvases.len(), document);
        let aspect = f64::from(canvases[0].0.canvas.aspect_ratio());
        if let Some(seen) = self.contained.take().filter(|_| document.view.projection == ViewProjection::Plane) {
            let camera = self.camera();
            self.panes[0].framing.look_at(Camera { width: camera.width * (aspect / seen).max(1.0), ..camera });
        }
        self.update_framing(ui, &canvases, document, live);
        self.draw_all(ui, &canvases, document, live);
    }

    /// Shows the tools above the canvas: in a row, or in a menu where a row does not fit.
    fn tools(&mut self, ui: &mut Ui, document: &mut Document, requests: &mut Requests) {
        let margin = egui::Margin { left: 6, right: 6, top: 4, bottom: 0 };
        let narrow = ui.available_width() < NARROW_TOOLS;
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
        let drags = match document.view.is_in_space() {
            false => "drag to move the view",
            true => "drag to turn the surface, drag with Ctrl or another button to move it",
        };
        let mut places_start = *tool == Tool::PlaceStart;
        ui.toggle_value(&mut places_start, "Place start").on_hover_text(format!(
            "On: click or drag once to place the start of the particles; the right button moves the view, Esc cancels.\n\
             Off: {drags}, click to select a particle, double-click to fit the particles. Shift+click, or drag its \
             marker, to place the start.",
        ));
        *tool = if places_start { Tool::PlaceStart } else { Tool::MoveView };
        if ui.button("Fit").on_hover_text("Fit the shown particles and the start into the view.").clicked() {
            self.panes.iter_mut().for_each(|pane| pane.framing.request_fit());
        }
        ui.toggle_value(&mut document.view.follow, "Follow")
            .on_hover_text("Keep the particles in view. Moving or zooming the view turns it off.");
        ui.toggle_value(&mut document.view.glyphs, "Arrows")
            .on_hover_text("Arrows on the selected particle: gradient, momentum, step and more.");
        ui.separator();
        for projection in ViewProjection::ALL {
            let [_, label, description] = projection.words();
            ui.selectable_value(&mut document.view.projection, projection, label).on_hover_text(description);
        }
        ui.separator();
        let export = ui.button("Export…").on_hover_text("Pictures, figures, animations, pages and data. Key: Ctrl E.");
        if export.accessible_name("Export the landscape").clicked() {
            requests.actions.push(Action::Export(None));
        }
    }
}

/// The parts around the landscape that canvases have.
#[derive(Clone, Copy)]
struct CanvasParts {
    has_legend: bool,
    has_bar: bool,
    has_axes: bool,
    sense: Sense,
}

impl CanvasParts {
    /// Returns all parts. In space, the axis of the loss has the labels of the colour bar.
    fn of(document: &Document) -> CanvasParts {
        let has_bar = !document.view.is_in_space();
        CanvasParts { has_legend: true, has_bar, has_axes: true, sense: Sense::click_and_drag() }
    }
}

impl LandscapePanel {
    /// Lays out the canvases of all simulations, and makes them interactive.
    fn lay_out(
        &self,
        ui: &Ui,
        area: Rect,
        parts: CanvasParts,
        document: &Document,
        live: &Live,
    ) -> Vec<(CanvasLayout, Response)> {
        let CanvasParts { has_legend, has_bar, has_axes, sense } = parts;
        let in_space = document.view.is_in_space();
        let layouts = match document.count() {
            1 if !has_axes => vec![CanvasLayout { has_legend, ..CanvasLayout::bare(ui, area) }],
            1 => vec![CanvasLayout { has_legend, ..CanvasLayout::new(ui, area, in_space, has_bar) }],
            count => CanvasLayout::side_by_side(ui, area, count, in_space, has_bar, !live.has_own_cameras),
        };
        let canvas = |(index, mut layout): (usize, CanvasLayout)| {
            let id = ui.scope_id().with("landscape");
            let id = if index == 0 { id } else { id.with(index) };
            let response = ui.interact(layout.canvas, id, sense);
            let of = (index, Self::framed_by(index, live));
            let inset = document.view.shown_inset().map(|inset| self.placed(ui, inset, layout.canvas, document, of));
            layout.inset = inset.and_then(|inset| InsetArea::lay_out(ui, inset, &response, sense)).map(Box::new);
            (layout, response)
        };
        layouts.into_iter().enumerate().map(canvas).collect()
    }
}

fn is_small((layout, _): &(CanvasLayout, Response)) -> bool {
    layout.canvas.width() < 16.0 || layout.canvas.height() < 16.0
}

/// The size of a canvas, in points, below which it has no axes and no colour bar.
const LEAST_CANVAS: f32 = 110.0;

/// The areas of the canvas and of the parts around it, and the font of their labels.
pub(crate) struct CanvasLayout {
    pub canvas: Rect,
    /// The area of the colour bar; `None` where it is not wanted or has no room.
    pub bar: Option<Rect>,
    /// Whether there is room for the axes.
    pub has_axes: bool,
    pub font: FontId,
    /// True if space is scarce, so that legends are short and keys are omitted.
    pub compact: bool,
    /// Whether the legend is on the canvas.
    pub has_legend: bool,
    /// The sides with labels of the axes.
    pub labelled: LabelledSides,
    /// The area of the title; `None` for a single canvas.
    pub title: Option<Rect>,
    /// The inset on the canvas.
    pub inset: Option<Box<InsetArea>>,
}

/// The gap between canvases side by side, in points.
const GAP: f32 = 10.0;
/// The width of a canvas, in points, below which two are one above the other.
const NARROW_CANVAS: f32 = 190.0;

impl CanvasLayout {
    /// Lays out the canvas, with a colour bar or without one. In space it has its axes inside, and so reaches the
    /// edges.
    pub(crate) fn new(ui: &Ui, area: Rect, in_space: bool, has_bar: bool) -> CanvasLayout {
        let bare = CanvasLayout::bare(ui, area);
        let font = &bare.font;
        let width = |text: &str| text_width(ui, font, text);
        // Labels of fixed widths, so that the canvas does not move while the view does.
        let left = if in_space { 4.0 } else { width("−0.0000") + 10.0 };
        let right = if has_bar { color_bar::STRIP + width("−10\u{2009}000") + 20.0 } else { width("0.000") };
        if area.width() < left + right + LEAST_CANVAS || area.height() < LEAST_CANVAS {
            return bare;
        }
        // The labels of the ticks and the name of the axis.
        let line = ui.fonts_mut(|fonts| fonts.row_height(font));
        let below = if in_space { 8.0 } else { (2.0 * line + 8.0).max(2.0 * font.size + 14.0) };
        let above = font.size + 8.0;
        let canvas = Rect::from_min_max(
            pos2(area.left() + left, area.top() + above),
            pos2(area.right() - right, area.bottom() - below),
        )
        .round_to_pixels(ui.ctx().pixels_per_point());
        let bar_left = canvas.right() + 10.0;
        let bar = Rect::from_min_max(pos2(bar_left, canvas.top()), pos2(bar_left + color_bar::STRIP, canvas.bottom()));
        let bar = has_bar.then_some(bar);
        let compact = canvas.width() < 420.0 || canvas.height() < 240.0;
        CanvasLayout { canvas, bar, has_axes: true, compact, ..bare }
    }

    /// Lays out a canvas with nothing around it.
    fn bare(ui: &Ui, area: Rect) -> CanvasLayout {
        CanvasLayout {
            canvas: area.round_to_pixels(ui.ctx().pixels_per_point()),
            bar: None,
            has_axes: false,
            font: TextStyle::Small.resolve(ui.style()),
            compact: true,
            has_legend: true,
            labelled: LabelledSides { left: true, below: true },
            title: None,
            inset: None,
        }
    }

    /// Lays out several canvases of the same size, with titles and one colour bar, which is that of the first: two in a
    /// row, or one above the other where that is larger, and more of them in rows of two. Axes that all share are
    /// labelled at the outer canvases alone.
    pub(crate) fn side_by_side(
        ui: &Ui,
        area: Rect,
        count: usize,
        in_space: bool,
        has_bar: bool,
        share_axes: bool,
    ) -> Vec<CanvasLayout> {
        let around = CanvasLayout::new(ui, area, in_space, has_bar);
        let inner = around.canvas;
        // A surface in space is wider than high.
        let highest = if in_space { 0.85 } else { 1.1 };
        let is_narrow = inner.width() < 2.0 * NARROW_CANVAS || inner.height() > highest * inner.width();
        let columns = if count == 2 && is_narrow { 1 } else { 2 };
        let rows = count.div_ceil(columns);
        let title = ui.text_style_height(&TextStyle::Body) + 6.0;
        let has_axes = around.has_axes;
        // What is left and below of each canvas, beside what is at the edges of the whole.
        let between = match has_axes && !share_axes {
            true => vec2(inner.left() - area.left(), area.bottom() - inner.bottom()),
            false => Vec2::ZERO,
        };
        // The name of the vertical axis and that of the bar are in the row of the titles.
        let top = if has_axes { inner.top() - around.font.size - 8.0 } else { inner.top() };
        let room = vec2(inner.width(), inner.bottom() - top);
        let gaps = vec2((columns - 1) as f32 * (GAP + between.x), (rows - 1) as f32 * (2.0 + between.y));
        let size = vec2((room.x - gaps.x) / columns as f32, (room.y - gaps.y - rows as f32 * title) / rows as f32);
        let pixels_per_point = ui.ctx().pixels_per_point();
        let canvas = |index: usize| {
            let (row, column) = ((index / columns) as f32, (index % columns) as f32);
            let min = pos2(
                inner.left() + column * (size.x + GAP + between.x),
                top + title + row * (size.y + 2.0 + between.y + title),
            );
            Rect::from_min_size(min, size.max(Vec2::ZERO)).round_to_pixels(pixels_per_point)
        };
        let bar = around.bar.map(|bar| Rect::from_x_y_ranges(bar.x_range(), canvas(0).top()..=inner.bottom()));
        let compact = size.x < 420.0 || size.y < 240.0 || around.compact;
        let layout = |index: usize| {
            let canvas = canvas(index);
            let is_lowest = index + columns >= count;
            CanvasLayout {
                canvas,
                bar,
                has_axes,
                compact,
                has_legend: false,
                labelled: LabelledSides {
                    left: !share_axes || index.is_multiple_of(columns),
                    below: !share_axes || is_lowest,
                },
                title: Some(Rect::from_min_max(canvas.left_top() - vec2(0.0, title), canvas.right_top())),
                ..CanvasLayout::bare(ui, area)
            }
        };
        (0..count).map(layout).collect()
    }
}

/// Describes the canvas of a simulation for screen readers. `left_out` are the optimizers that have run away.
fn summary(spec: &SimulationSpec, live: &Live, index: usize, projection: &Projection, left_out: &[u32]) -> String {
    let ([x, y], lens) = (projection.lens().names(), projection.lens());
    let [[left, bottom], [right, top]] = projection.corners().map(|corner| corner.map(|value| significant(value, 3)));
    let mut text = format!("In view: {x} from {left} to {right}, {y} from {bottom} to {top}.");
    if !lens.is_none() {
        text += &format!(" {y} is stretched {} times.", significant(lens.stretch, 3));
    }
    if let Projection::Space(space) = projection {
        let [azimuth, elevation] = [space.view.orbit.azimuth, space.view.orbit.elevation].map(f64::round);
        text += &format!(" A surface in space, seen from {elevation}° above, azimuth {azimuth}°.");
    }
    let Some(session) = live.session(index) else { return text + " Nothing is simulated yet." };
    text += &format!(" Step {}, {}.", grouped(session.step), in_words(live.playback()));
    for view in live.visible(index) {
        let name = spec.name_of(view.optimizer).unwrap_or_else(|| "An optimizer".to_owned());
        let loss = significant(view.sample.loss.mean, 4);
        text += &format!(" {name}: {} particles, mean loss {loss}", view.particles);
        if view.sample.diverged > 0 {
            text += &format!(", {} diverged", view.sample.diverged);
        }
        if left_out.contains(&view.optimizer) {
            text += ", run away and not followed";
        }
        text += ".";
    }
    for branch in live.shown_branches_of(index) {
        let (label, losses) = (live.label_of(branch, spec), mean_losses(spec, live, &branch.session));
        text += &format!(" Pale: {label}, mean loss {losses}.");
    }
    if let Some(particle) = live.selected {
        text += &format!(" Particle {} is selected.", particle.particle + 1);
    }
    text
}
