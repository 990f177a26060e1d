//! Draws pictures off screen, in any size.
//!
//! Pictures and animations use the code that draws the panel, without controls. They share the window's device and the
//! resources of its paint callbacks.

use std::sync::mpsc::channel;
use std::time::Duration;

use eframe::egui_wgpu::{RenderState, Renderer, RendererOptions, ScreenDescriptor, wgpu};
use egui::{ClippedPrimitive, Color32, ColorImage, Context, RawInput, Rect, TexturesDelta, Ui, Vec2, ViewportId};

/// The time limit of a picture.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The size of a picture of a part of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureSize {
    /// The size on the screen, multiplied in width and height.
    Times(u32),
    /// The width in pixels.
    Width(u32),
}

impl PictureSize {
    /// Returns the size for a part of the window of `points`, at `pixels_per_point`. No side exceeds `most` pixels.
    pub fn extent(self, points: Vec2, pixels_per_point: f32, most: u32) -> PictureExtent {
        let points = points.max(Vec2::splat(1.0));
        let wanted = match self {
            PictureSize::Times(times) => times as f32 * pixels_per_point,
            PictureSize::Width(width) => width as f32 / points.x,
        };
        PictureExtent { points, pixels_per_point: wanted.min(most as f32 / points.max_elem()) }
    }
}

/// The size of a picture: in points, for its layout, and in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PictureExtent {
    pub points: Vec2,
    pub pixels_per_point: f32,
}

impl PictureExtent {
    /// Returns width and height in pixels.
    pub fn pixels(&self) -> [u32; 2] {
        let pixels = |points: f32| (points * self.pixels_per_point).round().max(1.0) as u32;
        [pixels(self.points.x), pixels(self.points.y)]
    }
}

/// Draws pictures with the window's device and the resources of its paint callbacks.
pub struct Offscreen {
    window: RenderState,
    renderer: Renderer,
    context: Context,
}

impl Offscreen {
    /// Makes a context with the font and the style of `window`.
    pub fn new(state: &RenderState, window: &Context) -> Offscreen {
        let context = Context::default();
        context.set_fonts(window.fonts(|fonts| fonts.definitions().clone()));
        let theme = window.theme();
        context.set_theme(theme);
        context.set_style_of(theme, window.style_of(theme));
        // Dithering would only add colours.
        let options = RendererOptions { dithering: false, ..RendererOptions::default() };
        let renderer = Renderer::new(&state.device, state.target_format, options);
        Offscreen { window: state.clone(), renderer, context }
    }

    /// Draws `contents` as a picture. Blocks on the graphics card.
    ///
    /// # Errors
    ///
    /// Returns the reason if the device did not draw it.
    pub fn draw(&mut self, extent: PictureExtent, contents: impl FnMut(&mut Ui)) -> Result<ColorImage, String> {
        let (size_in_pixels, pixels_per_point) = (extent.pixels(), extent.pixels_per_point);
        let order = channel_order(self.window.target_format)?;
        let mut input = RawInput {
            screen_rect: Some(Rect::from_min_size(egui::Pos2::ZERO, extent.points)),
            max_texture_side: Some(self.window.device.limits().max_texture_dimension_2d as usize),
            ..RawInput::default()
        };
        input.viewports.entry(ViewportId::ROOT).or_default().native_pixels_per_point = Some(pixels_per_point);
        let output = self.context.run_ui(input, contents);
        let primitives = self.context.tessellate(output.shapes, pixels_per_point);
        self.take_textures(output.textures_delta);
        let texture = self.paint(&primitives, &ScreenDescriptor { size_in_pixels, pixels_per_point });
        let pixels = self.read(&texture, order)?;
        Ok(ColorImage::new(size_in_pixels.map(|side| side as usize), pixels))
    }

    fn take_textures(&mut self, mut textures: TexturesDelta) {
        let RenderState { device, queue, .. } = &self.window;
        for (id, images) in textures.set.drain() {
            for image in images {
                self.renderer.update_texture(device, queue, id, &image);
            }
        }
        for id in textures.free.drain() {
            self.renderer.free_texture(&id);
        }
    }

    fn paint(&mut self, primitives: &[ClippedPrimitive], screen: &ScreenDescriptor) -> wgpu::Texture {
        let RenderState { device, queue, target_format, .. } = &self.window;
        let [width, height] = screen.size_in_pixels;
        let texture = device.create_texture(&wgpu::TextureDescriptor {
            label: Some("picture"),
            size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: *target_format,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        // The resources of paint callbacks belong to the window, and are borrowed for this picture.
        let mut window = self.window.renderer.write();
        std::mem::swap(&mut self.renderer.callback_resources, &mut window.callback_resources);
        let mut commands = self.renderer.update_buffers(device, queue, &mut encoder, primitives, screen);
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
        self.renderer.render(&mut pass, primitives, screen);
        drop(pass);
        std::mem::swap(&mut self.renderer.callback_resources, &mut window.callback_resources);
        commands.push(encoder.finish());
        queue.submit(commands);
        texture
    }

    /// Reads a texture's pixels, row by row. `order` is the position of red, green and blue among their bytes.
    fn read(&self, texture: &wgpu::Texture, order: [usize; 3]) -> Result<Vec<Color32>, String> {
        let RenderState { device, queue, .. } = &self.window;
        let row = 4 * texture.width();
        let padded = row.next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("picture"),
            size: u64::from(padded) * u64::from(texture.height()),
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(padded), rows_per_image: None };
        let target = wgpu::TexelCopyBufferInfo { buffer: &buffer, layout };
        encoder.copy_texture_to_buffer(texture.as_image_copy(), target, texture.size());
        let submission = queue.submit([encoder.finish()]);
        let (answer, mapped) = channel();
        buffer.slice(..).map_async(wgpu::MapMode::Read, move |result| {
            // After an error below, nothing receives this.
            let _ = answer.send(result);
        });
        let wait = wgpu::PollType::Wait { submission_index: Some(submission), timeout: Some(TIME_LIMIT) };
        let failed = |error: &dyn std::fmt::Display| format!("the graphics card did not draw the picture: {error}");
        device.poll(wait).map_err(|error| failed(&error))?;
        mapped.recv().map_err(|error| failed(&error))?.map_err(|error| failed(&error))?;
        let bytes = buffer.slice(..).get_mapped_range().map_err(|error| failed(&error))?;
        let mut pixels = Vec::with_capacity(texture.width() as usize * texture.height() as usize);
        for padded in bytes.chunks_exact(padded as usize) {
            pixels.extend(padded[..row as usize].chunks_exact(4).map(|pixel| {
                let [red, green, blue] = order.map(|channel| pixel[channel]);
                Color32::from_rgb(red, green, blue)
            }));
        }
        Ok(pixels)
    }
}

/// Returns the positions of red, green and blue among the bytes of a pixel.
fn channel_order(format: wgpu::TextureFormat) -> Result<[usize; 3], String> {
    match format {
        wgpu::TextureFormat::Rgba8Unorm | wgpu::TextureFormat::Rgba8UnormSrgb => Ok([0, 1, 2]),
        wgpu::TextureFormat::Bgra8Unorm | wgpu::TextureFormat::Bgra8UnormSrgb => Ok([2, 1, 0]),
        other => Err(format!("the window's pixels are of the format {other:?}, which cannot be saved")),
    }
}
