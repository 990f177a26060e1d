//! Draws pictures off screen, in any size, with a device of their own: the window draws on meanwhile.

use std::sync::mpsc::{TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use eframe::egui_wgpu::{RenderState, Renderer, RendererOptions, ScreenDescriptor, wgpu};
use egui::mutex::RwLock;
use egui::{ClippedPrimitive, Context, Pos2, RawInput, Rect, TexturesDelta, Theme, Ui, Vec2, ViewportId};
use image::RgbImage;

use super::fallback_fonts::FallbackFonts;
use super::graphics::Graphics;
use super::theme;

/// The time limit of a picture.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// The time between two looks whether a picture is drawn.
const PATIENCE: Duration = Duration::from_millis(1);
/// The format of the pictures' pixels.
const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;

/// The size of a picture: in points, for its layout, and in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PictureExtent {
    pub points: Vec2,
    pub pixels_per_point: f32,
}

impl PictureExtent {
    /// Returns width and height in pixels.
    pub(super) fn pixels(&self) -> [u32; 2] {
        let pixels = |points: f32| (points * self.pixels_per_point).round().max(1.0) as u32;
        [pixels(self.points.x), pixels(self.points.y)]
    }
}

/// A device that draws pictures, and the style in which they are laid out.
pub(super) struct Offscreen {
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
    pub(super) fn open(graphics: &Graphics, theme: Theme) -> Result<Offscreen, String> {
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
    pub(super) fn take_warning(&self) -> Option<String> {
        self.fonts.take_warning()
    }

    /// Returns the device, in which the resources of paint callbacks are installed.
    pub(super) fn render_state(&self) -> &RenderState {
        &self.state
    }

    /// Draws `contents` as a picture. Blocks until it is drawn.
    ///
    /// # Errors
    ///
    /// Returns the reason if the device did not draw it.
    pub(super) fn draw(&mut self, extent: PictureExtent, contents: impl FnMut(&mut Ui)) -> Result<RgbImage, String> {
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
        let (answer, mapped) = channel();
        buffer.slice(..).map_async(wgpu::MapMode::Read, move |result| {
            // After an error below, nothing receives this.
            let _ = answer.send(result);
        });
        let failed = |error: &dyn std::fmt::Display| format!("the graphics card did not draw the picture: {error}");
        let begin = Instant::now();
        loop {
            device.poll(wgpu::PollType::Poll).map_err(|error| failed(&error))?;
            match mapped.try_recv() {
                Ok(result) => break result.map_err(|error| failed(&error))?,
                Err(TryRecvError::Empty) if begin.elapsed() < TIME_LIMIT => std::thread::sleep(PATIENCE),
                Err(TryRecvError::Empty) => return Err(failed(&"it took longer than a minute")),
                Err(gone) => return Err(failed(&gone)),
            }
        }
        let bytes = buffer.slice(..).get_mapped_range().map_err(|error| failed(&error))?;
        let mut pixels = Vec::with_capacity(3 * width as usize * height as usize);
        for padded in bytes.chunks_exact(padded as usize) {
            pixels.extend(padded[..row as usize].chunks_exact(4).flat_map(|pixel| &pixel[..3]));
        }
        RgbImage::from_raw(width, height, pixels).ok_or_else(|| failed(&"a part of it is missing"))
    }
}
