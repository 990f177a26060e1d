//! Draws into memory with the CPU's Vulkan, so that pictures are the same on every machine.

use std::sync::OnceLock;

use image::RgbaImage;
use valleyscope::gpu::{EnsembleKey, EnsembleStyle, Positions, Renderer, Scene};
use valleyscope_engine::landscape::{Landscape, NarrowValley};
use valleyscope_experiments::view::{Camera, Colormap, SymLog, Viewport};

pub struct Gpu {
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
}

/// Returns the device that all tests of a process share. Its limits are the lowest that the app supports.
pub fn gpu() -> &'static Gpu {
    static GPU: OnceLock<Gpu> = OnceLock::new();
    GPU.get_or_init(|| {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
            backends: wgpu::Backends::VULKAN,
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        });
        let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::VULKAN));
        let seen: Vec<_> = adapters.iter().map(|adapter| adapter.get_info().name).collect();
        let adapter = adapters
            .into_iter()
            .find(|adapter| adapter.get_info().device_type == wgpu::DeviceType::Cpu)
            .unwrap_or_else(|| {
                panic!(
                    "these tests need a Vulkan driver on the CPU, but there are only {seen:?}: install lavapipe, \
                     on Debian and Ubuntu the package mesa-vulkan-drivers"
                )
            });
        let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
            required_limits: wgpu::Limits::downlevel_webgl2_defaults(),
            ..Default::default()
        }))
        .unwrap();
        Gpu { device, queue }
    })
}

pub fn renderer(format: wgpu::TextureFormat) -> Renderer {
    Renderer::new(&gpu().device, format, 1)
}

pub const PLAIN: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;

/// Returns a plain scene: no contours, no ensembles.
pub fn scene(size_px: [u32; 2], camera: Camera) -> Scene {
    Scene {
        viewport: Viewport { camera, size_px: size_px.map(|size| size as f32) },
        landscape: Landscape::Valley(NarrowValley::new(10.0, 0.1, std::f64::consts::FRAC_PI_6)),
        scale: SymLog::symmetric(0.01, 10.0),
        colormap: Colormap::Viridis,
        contours: 0,
        pixels_per_point: 1.0,
        ensembles: Vec::new(),
        space: None,
    }
}

pub const RED: [u8; 3] = [255, 0, 0];

/// Returns the name of an optimizer's ensemble in the first session.
pub fn key(optimizer: u32) -> EnsembleKey {
    EnsembleKey { session: 0, optimizer }
}

/// Returns the style of points without trails.
pub fn points(optimizer: u32) -> EnsembleStyle {
    EnsembleStyle {
        key: key(optimizer),
        color: RED,
        opacity: 1.0,
        trail_steps: 0,
        trail_width: 1.0,
        point_radius: 4.0,
        path_width: 0.0,
        selected: None,
    }
}

pub fn push(renderer: &mut Renderer, positions: Positions<'_>) {
    renderer.push_positions(&gpu().device, &gpu().queue, positions);
}

/// Draws a scene on a clear ground and reads it back.
pub fn draw(renderer: &mut Renderer, format: wgpu::TextureFormat, scene: &Scene) -> RgbaImage {
    let Gpu { device, queue } = gpu();
    queue.submit(renderer.prepare(device, queue, scene));
    painted(format, scene.viewport.size_px.map(|size| size as u32), |pass| renderer.paint(pass))
}

/// Paints a picture on a clear ground and reads it back.
pub fn painted(
    format: wgpu::TextureFormat,
    [width, height]: [u32; 2],
    paint: impl FnOnce(&mut wgpu::RenderPass<'_>),
) -> RgbaImage {
    let Gpu { device, queue } = gpu();
    let texture = device.create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
        view_formats: &[],
    });
    let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    {
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: &view,
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations { load: wgpu::LoadOp::Clear(wgpu::Color::BLACK), store: wgpu::StoreOp::Store },
            })],
            ..Default::default()
        });
        paint(&mut pass);
    }
    let row_bytes = (4 * width).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: u64::from(row_bytes * height),
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    encoder.copy_texture_to_buffer(
        texture.as_image_copy(),
        wgpu::TexelCopyBufferInfo {
            buffer: &buffer,
            layout: wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(row_bytes), rows_per_image: None },
        },
        texture.size(),
    );
    queue.submit([encoder.finish()]);
    buffer.slice(..).map_async(wgpu::MapMode::Read, |result| result.unwrap());
    device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    let bytes = buffer.slice(..).get_mapped_range().unwrap();
    let pixels = bytes.chunks(row_bytes as usize).flat_map(|row| row[..4 * width as usize].to_vec()).collect();
    RgbaImage::from_raw(width, height, pixels).unwrap()
}
