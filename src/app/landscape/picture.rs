//! Pictures of a run at a step, for saved pictures and animations, drawn off screen in any size.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use eframe::egui_wgpu::{RenderState, Renderer, RendererOptions, ScreenDescriptor, wgpu};
use egui::mutex::RwLock;
use egui::text::{LayoutJob, TextFormat, TextWrapping};
use egui::{
    ClippedPrimitive, Color32, Context, FontSelection, Galley, Pos2, RawInput, Rect, RichText, TextStyle, TextWrapMode,
    TexturesDelta, Theme, Ui, UiBuilder, ViewportId, WidgetText,
};
use image::RgbImage;
use valleyscope_engine::simulation::{ParticleId, PlotRequest};
use valleyscope_experiments::preset::{LandscapePreset, TitledSimulation};
use valleyscope_experiments::view::simulation_colors;

use super::canvas::legend::show_rows;
use super::canvas::{LandscapePanel, View};
use super::picture_options::{PictureExtent, VariedSettings};
use super::plots::DiagnosticsPanel;
use super::transport::step_text;
use crate::app::landscape::editor::Document;
use crate::app::landscape::live::Live;
use crate::app::shell::graphics::Graphics;
use crate::app::widgets::plot::install_curves;
use crate::app::widgets::theme;
use crate::app::widgets::theme::text_width;
use crate::draw::{FallbackFonts, RunPlots};
use crate::player::{RecordedCloud, Stage, trail_columns};

pub use super::picture_options::{PictureContent, PictureOptions};

/// The margin around a picture and the gap between its parts, in points.
const MARGIN: f32 = 10.0;
/// The share of the width of plots beside the landscape.
const PLOTS: f32 = 0.4;
/// The most lines of a caption.
const MOST_ROWS: usize = 3;
/// The number of buckets of a curve: as fine as it looks in the widest plots.
const BUCKETS: usize = 500;

/// Recorded sessions side by side, and the way in which they are looked at.
#[derive(Clone, Debug)]
pub struct PictureSubject {
    pub preset: LandscapePreset,
    /// The part of the landscape in view; `None` for that of the view settings.
    pub seen: Option<View>,
    pub selected: Option<ParticleId>,
    pub hidden: BTreeSet<u32>,
    /// The recorded clouds beside the ensembles of each session.
    pub recorded: Vec<RecordedCloud>,
    /// The plots, from top to bottom, and their options.
    pub plots: RunPlots,
}

impl PictureSubject {
    pub fn colors(&self) -> Vec<[u8; 3]> {
        let recorded = || self.recorded.iter().map(|cloud| cloud.optimizer.clone());
        let simulations = self.preset.resolved_simulations().unwrap_or_default();
        let colors = |TitledSimulation { spec, .. }: TitledSimulation| {
            simulation_colors(&spec.optimizers.into_iter().chain(recorded()).collect::<Vec<_>>())
        };
        simulations.into_iter().flat_map(colors).collect()
    }
}

/// Draws pictures of a session at one step after another.
pub struct PictureStage {
    title: String,
    options: PictureOptions,
    offscreen: Offscreen,
    run: Stage,
    plot: PlotRequest,
    document: Document,
    live: Live,
    landscape: LandscapePanel,
    diagnostics: DiagnosticsPanel,
    varied: VariedSettings,
    last_step: u64,
    /// The number of lines kept free for the caption.
    caption_rows: usize,
    is_drawn: bool,
}

impl PictureStage {
    /// Makes the stage of a session, whose plots go to `last_step`. A camera that follows the particles moves by
    /// `frame_secs` from one picture to the next.
    ///
    /// # Errors
    ///
    /// Returns the reason if the graphics driver has no device, or if a simulation beside the first one does not fit it.
    pub fn open(
        graphics: &Graphics,
        subject: PictureSubject,
        options: PictureOptions,
        last_step: u64,
        frame_secs: f32,
    ) -> Result<PictureStage, String> {
        let offscreen = Offscreen::open(graphics, options.theme)?;
        install_curves(offscreen.render_state());
        let mut landscape = LandscapePanel::new(Some(offscreen.render_state()));
        let PictureSubject { preset, seen, selected, hidden, recorded, plots } = subject;
        let simulations = preset.resolved_simulations().map_err(|error| error.to_string())?;
        let records = preset.records().map_err(|error| error.to_string())?;
        let document = Document { simulations, view: preset.view.unwrap_or_default() };
        if let Some(View { camera, orbit, aspect }) = seen {
            landscape.restore_view(&document, camera, orbit);
            landscape.contain(aspect);
        }
        let enabled = document.spec(0).optimizers.iter().filter(|optimizer| optimizer.enabled).count();
        let of_clouds: usize = recorded.iter().map(|cloud| cloud.recording.particles).sum();
        let particles = enabled * document.spec(0).particles.get() + of_clouds;
        landscape.keep_trails(document.count(), trail_columns(document.view.trail_steps as usize, particles));
        let varied = VariedSettings::of(&records[0]);
        let mut run = Stage::default();
        run.set_trail_length(document.view.trail_steps as usize);
        run.select(selected);
        run.set_recorded(recorded.clone());
        run.load(records);
        Ok(PictureStage {
            title: preset.title,
            options,
            offscreen,
            run,
            plot: PlotRequest { buckets: BUCKETS, log_steps: plots.log_steps, ..PlotRequest::default() },
            live: Live { selected, hidden, recorded, frame_secs: Some(frame_secs), ..Live::default() },
            landscape,
            diagnostics: DiagnosticsPanel::of_picture(plots, last_step),
            varied,
            last_step,
            caption_rows: 1,
            is_drawn: false,
            document,
        })
    }

    /// Goes on to a step. Returns false if it was stopped on the way, as `is_stopped` asks for.
    pub fn go_to(&mut self, step: u64, is_stopped: impl Fn() -> bool) -> bool {
        while self.run.step() < step {
            if is_stopped() {
                return false;
            }
            self.run.take_step();
        }
        let snapshot = self.run.snapshot(&self.plot);
        self.landscape.absorb(&snapshot);
        self.live.take(snapshot);
        true
    }

    /// Returns a warning about characters that no font has, since the last one.
    pub fn take_warning(&self) -> Option<String> {
        self.offscreen.take_warning()
    }

    /// Draws the step that was gone to.
    ///
    /// # Errors
    ///
    /// Returns the reason if the graphics driver did not draw it.
    pub fn draw(&mut self) -> Result<RgbImage, String> {
        if self.live.snapshot.is_none() {
            return Err("the run has not begun".to_owned());
        }
        let mut document = self.live.in_force(&self.document);
        if !self.is_drawn {
            // Some parts know their size only after they were laid out once.
            self.is_drawn = true;
            self.draw_document(&mut document)?;
        }
        self.draw_document(&mut document)
    }

    fn draw_document(&mut self, document: &mut Document) -> Result<RgbImage, String> {
        let PictureStage { title, options, offscreen, live, landscape, diagnostics, .. } = self;
        let shown = live.snapshot.as_ref().filter(|_| options.step || options.settings);
        let caption = shown.map(|snapshot| {
            let steps = [snapshot.step, self.last_step].map(step_text);
            let settings = options.settings.then(|| self.varied.caption(&snapshot.sessions[0].spec));
            (options.step.then_some(steps), settings)
        });
        let rows = &mut self.caption_rows;
        offscreen.draw(options.extent(), |ui| {
            let whole = ui.max_rect();
            ui.painter().rect_filled(whole, 0.0, ui.visuals().extreme_bg_color);
            let mut inner = whole.shrink(MARGIN);
            if let Some((steps, settings)) = &caption {
                let galley = lay_out(ui, steps.as_ref(), settings.as_deref(), inner.width());
                *rows = (*rows).max(galley.rows.len());
                let line = galley.size().y / galley.rows.len().max(1) as f32;
                inner.max.y -= line * *rows as f32;
                ui.painter().galley(inner.left_bottom(), galley, Color32::PLACEHOLDER);
                inner.max.y -= 0.5 * MARGIN;
            }
            if options.title {
                inner.min.y = heading(ui, inner, title);
            }
            if options.legend {
                inner.min.y = part(ui, inner, "legend", |ui| show_rows(ui, document, live, true)).bottom() + 4.0;
            }
            let [left, right] = halves(options, inner);
            if let Some(left) = left {
                part(ui, left, "landscape", |ui| landscape.picture(ui, document, live, options.color_bar));
            }
            if let Some(right) = right {
                part(ui, right, "plots", |ui| diagnostics.picture(ui, document, live));
            }
        })
    }
}

/// Returns the areas of the landscape and of the plots, if they are shown.
fn halves(options: &PictureOptions, area: Rect) -> [Option<Rect>; 2] {
    match (options.content.has_landscape(), options.content.has_plots()) {
        (true, true) => {
            let middle = area.right() - PLOTS * area.width();
            let [left, right] = [area.with_max_x(middle - MARGIN), area.with_min_x(middle)];
            [Some(left), Some(right)]
        }
        (has_landscape, has_plots) => [has_landscape.then_some(area), has_plots.then_some(area)],
    }
}

/// Draws a part of the picture into an area, and returns the area that it takes.
fn part(ui: &mut Ui, area: Rect, name: &str, draw: impl FnOnce(&mut Ui)) -> Rect {
    ui.scope_builder(UiBuilder::new().id_salt(name).max_rect(area), draw).response.rect
}

/// Draws the title in one line, and returns its lower end.
fn heading(ui: &Ui, area: Rect, title: &str) -> f32 {
    let text = RichText::new(title).heading().strong();
    let galley = WidgetText::from(text).into_galley(ui, Some(TextWrapMode::Truncate), area.width(), TextStyle::Heading);
    let height = galley.size().y;
    ui.painter().galley(area.min, galley, ui.visuals().strong_text_color());
    area.top() + height + 4.0
}

/// Lays out a caption with a step and settings in lines of a width. Beside the text of the step is that of the last one,
/// as wide as which its column is.
fn lay_out(ui: &Ui, steps: Option<&[String; 2]>, settings: Option<&str>, width: f32) -> Arc<Galley> {
    let font = FontSelection::from(TextStyle::Body).resolve(ui.style());
    let format = |color| TextFormat { font_id: font.clone(), color, ..TextFormat::default() };
    let visuals = ui.visuals();
    let wrap = TextWrapping { max_width: width, max_rows: MOST_ROWS, ..TextWrapping::default() };
    let mut job = LayoutJob { wrap, ..LayoutJob::default() };
    let mut room = 0.0;
    if let Some(steps @ [step, _]) = steps {
        job.append(step, 0.0, format(visuals.strong_text_color()));
        let [step, widest] = steps.each_ref().map(|text| text_width(ui, &font, text));
        room = (widest - step).max(0.0) + 2.0 * MARGIN;
    }
    job.append(settings.unwrap_or_default(), room, format(visuals.text_color()));
    ui.painter().layout_job(job)
}

/// The time limit of a picture.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// The format of the pictures' pixels.
const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;

/// A device that draws pictures, and the style in which they are laid out.
pub(crate) struct Offscreen {
    state: RenderState,
    context: Context,
    fonts: Arc<FallbackFonts>,
    /// The first failure of the device.
    fault: Arc<Mutex<Option<String>>>,
}

impl Offscreen {
    /// Opens a device, with the app's typeface and this theme.
    ///
    /// # Errors
    ///
    /// Returns the reason if the driver has no device.
    pub(crate) fn open(graphics: &Graphics, theme: Theme) -> Result<Offscreen, String> {
        let Graphics { instance, adapter } = graphics.clone();
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("pictures"),
            required_limits: adapter.limits(),
            ..wgpu::DeviceDescriptor::default()
        };
        let opened = pollster::block_on(adapter.request_device(&descriptor));
        let (device, queue) = opened.map_err(|error| format!("the graphics driver has no device: {error}"))?;
        let fault: Arc<Mutex<Option<String>>> = Arc::default();
        let to = Arc::clone(&fault);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            to.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error.to_string());
        }));
        let context = Context::default();
        theme::install(&context);
        let fonts = FallbackFonts::install(&context, false);
        context.set_theme(theme);
        // Dithering would only add colours.
        let options = RendererOptions { dithering: false, ..RendererOptions::default() };
        let renderer = Arc::new(RwLock::new(Renderer::new(&device, FORMAT, options)));
        let state = RenderState {
            adapter,
            available_adapters: Vec::new(),
            instance,
            device,
            queue,
            target_format: FORMAT,
            renderer,
        };
        Ok(Offscreen { state, context, fonts, fault })
    }

    /// Returns a warning about characters that no font has, since the last one.
    pub(crate) fn take_warning(&self) -> Option<String> {
        self.fonts.take_warning()
    }

    /// Returns the device, in which the resources of paint callbacks are installed.
    pub(crate) fn render_state(&self) -> &RenderState {
        &self.state
    }

    /// Draws `contents` as a picture. Blocks until it is drawn.
    ///
    /// # Errors
    ///
    /// Returns the reason if the device did not draw it.
    pub(crate) fn draw(&mut self, extent: PictureExtent, contents: impl FnMut(&mut Ui)) -> Result<RgbImage, String> {
        let (size_in_pixels, pixels_per_point) = (extent.pixels(), extent.pixels_per_point);
        let most = self.state.device.limits().max_texture_dimension_2d;
        if let Some(side) = size_in_pixels.into_iter().find(|side| *side > most) {
            return Err(format!("the graphics driver draws at most {most} pixels a side, found {side}"));
        }
        let mut input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, extent.points)),
            max_texture_side: Some(most as usize),
            ..RawInput::default()
        };
        input.viewports.entry(ViewportId::ROOT).or_default().native_pixels_per_point = Some(pixels_per_point);
        let output = self.context.run_ui(input, contents);
        let primitives = self.context.tessellate(output.shapes, pixels_per_point);
        self.take_textures(output.textures_delta);
        let texture = self.paint(&primitives, &ScreenDescriptor { size_in_pixels, pixels_per_point });
        let picture = self.read(&texture);
        match self.fault.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(fault) => Err(fault),
            None => picture,
        }
    }

    fn take_textures(&mut self, mut textures: TexturesDelta) {
        let RenderState { device, queue, renderer, .. } = &self.state;
        let mut renderer = renderer.write();
        for (id, images) in textures.set.drain() {
            for image in images {
                renderer.update_texture(device, queue, id, &image);
            }
        }
        for id in textures.free.drain() {
            renderer.free_texture(&id);
        }
    }

    fn paint(&mut self, primitives: &[ClippedPrimitive], screen: &ScreenDescriptor) -> wgpu::Texture {
        let RenderState { device, queue, renderer, .. } = &self.state;
        let [width, height] = screen.size_in_pixels;
        let texture = device.create_texture(&wgpu::TextureDescriptor {
            label: Some("picture"),
            size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: FORMAT,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut renderer = renderer.write();
        let mut commands = renderer.update_buffers(device, queue, &mut encoder, primitives, screen);
        let mut pass = encoder
            .begin_render_pass(&wgpu::RenderPassDescriptor {
                color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                    view: &view,
                    depth_slice: None,
                    resolve_target: None,
                    ops: wgpu::Operations {
                        load: wgpu::LoadOp::Clear(wgpu::Color::BLACK),
                        store: wgpu::StoreOp::Store,
                    },
                })],
                ..Default::default()
            })
            .forget_lifetime();
        renderer.render(&mut pass, primitives, screen);
        drop(pass);
        commands.push(encoder.finish());
        queue.submit(commands);
        texture
    }

    /// Reads a texture's pixels, row by row.
    fn read(&self, texture: &wgpu::Texture) -> Result<RgbImage, String> {
        let RenderState { device, queue, .. } = &self.state;
        let (width, height) = (texture.width(), texture.height());
        let row = 4 * width;
        let padded = row.next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("picture"),
            size: u64::from(padded) * u64::from(height),
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(padded), rows_per_image: None };
        let target = wgpu::TexelCopyBufferInfo { buffer: &buffer, layout };
        encoder.copy_texture_to_buffer(texture.as_image_copy(), target, texture.size());
        queue.submit([encoder.finish()]);
        let failed = |error: &dyn std::fmt::Display| format!("the graphics card did not draw the picture: {error}");
        // A buffer that is not mapped cannot be read below.
        buffer.slice(..).map_async(wgpu::MapMode::Read, |_| ());
        let wait = wgpu::PollType::Wait { submission_index: None, timeout: Some(TIME_LIMIT) };
        device.poll(wait).map_err(|error| failed(&error))?;
        let bytes = buffer.slice(..).get_mapped_range().map_err(|error| failed(&error))?;
        let mut pixels = Vec::with_capacity(3 * width as usize * height as usize);
        for padded in bytes.chunks_exact(padded as usize) {
            pixels.extend(padded[..row as usize].chunks_exact(4).flat_map(|pixel| &pixel[..3]));
        }
        RgbImage::from_raw(width, height, pixels).ok_or_else(|| failed(&"a part of it is missing"))
    }
}
