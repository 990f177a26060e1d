//! The landscape as a lit surface in space.
//!
//! The heights are sampled on the CPU in double precision and are a texture, which the mesh, the trails, the paths and
//! the particles all read, so that they lie on one surface. The picture is drawn into textures of its own, as egui's
//! pass has no depth, and then copied onto the canvas.

use std::sync::Arc;

use valleyscope_experiments::view::{HeightField, SpaceView, ViewAxes};

use super::pipeline::{BLIT, DEPTH, Ground, Primitive, SURFACE, Target, Uniforms};
use super::uniform::{Frame, Space, Surface};
use super::{Overlays, Scene, SpaceScene};

const CONTOUR_WIDTH: f32 = 1.0;
/// The samples of a pixel: the surface's edges are those of triangles.
const SAMPLES: u32 = 4;
/// A height in the texture where there is no surface; more than `MISSING` of the shader.
const NO_SURFACE: f32 = 2e30;
const SIDE: u32 = HeightField::SIDE as u32;

pub(super) struct SpaceRenderer {
    pub overlays: Overlays,
    surface_pipeline: wgpu::RenderPipeline,
    blit_pipeline: wgpu::RenderPipeline,
    /// The heights, and how they are seen.
    space: wgpu::Buffer,
    heights: wgpu::Texture,
    space_bind_group: wgpu::BindGroup,
    uploaded: Option<Arc<HeightField>>,
    surface: wgpu::Buffer,
    surface_bind_group: wgpu::BindGroup,
    blit_layout: wgpu::BindGroupLayout,
    format: wgpu::TextureFormat,
    picture: Option<Picture>,
}

/// The textures of one size into which the surface is drawn.
struct Picture {
    size: [u32; 2],
    /// The colours and the depths, several samples a pixel.
    samples: wgpu::TextureView,
    depth: wgpu::TextureView,
    pixels: wgpu::TextureView,
    blit: wgpu::BindGroup,
}

impl SpaceRenderer {
    pub(super) fn new(
        device: &wgpu::Device,
        target: Target,
        frame: &wgpu::BindGroupLayout,
        colors: &wgpu::TextureView,
    ) -> SpaceRenderer {
        let vertex_and_fragment = wgpu::ShaderStages::VERTEX_FRAGMENT;
        let texture = |binding, visibility| layout_entry(binding, visibility, TEXTURE);
        let space_layout = layout(
            device,
            "space",
            &[layout_entry(0, vertex_and_fragment, uniform::<Space>()), texture(1, vertex_and_fragment)],
        );
        let surface_layout = layout(
            device,
            "surface",
            &[layout_entry(0, vertex_and_fragment, uniform::<Surface>()), texture(1, wgpu::ShaderStages::FRAGMENT)],
        );
        let blit_layout = layout(device, "blit", &[texture(0, vertex_and_fragment)]);
        let heights = device.create_texture(&wgpu::TextureDescriptor {
            label: Some("heights"),
            size: wgpu::Extent3d { width: SIDE, height: SIDE, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: wgpu::TextureFormat::R32Float,
            usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
            view_formats: &[],
        });
        let [space, surface] = [size_of::<Space>(), size_of::<Surface>()].map(|size| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("space"),
                size: size as u64,
                usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        });
        let heights_view = heights.create_view(&wgpu::TextureViewDescriptor::default());
        let in_space = Target { samples: SAMPLES, depth: Some(wgpu::CompareFunction::Less), ..target };
        let surface_primitive = Primitive {
            shader: SURFACE,
            vertex_entry: "surface_vertex",
            fragment_entry: "surface_fragment",
            bind_groups: &[frame, &surface_layout, &space_layout],
            points: 0,
            opaque: true,
        };
        let blit_primitive = Primitive {
            shader: BLIT,
            vertex_entry: "blit_vertex",
            fragment_entry: "blit_fragment",
            bind_groups: &[frame, &blit_layout],
            points: 0,
            opaque: false,
        };
        SpaceRenderer {
            overlays: Overlays::new(device, Ground { target: in_space, frame, space: Some(&space_layout) }),
            surface_pipeline: in_space.pipeline(device, &surface_primitive),
            blit_pipeline: target.pipeline(device, &blit_primitive),
            space_bind_group: bind_group(device, &space_layout, &space, &heights_view),
            surface_bind_group: bind_group(device, &surface_layout, &surface, colors),
            space,
            heights,
            uploaded: None,
            surface,
            blit_layout,
            format: target.format,
            picture: None,
        }
    }

    /// Uploads what the surface needs.
    pub(super) fn prepare(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, scene: &Scene, in_space: &SpaceScene) {
        let view = in_space.view(scene);
        queue.write_buffer(&self.space, 0, bytemuck::bytes_of(&space(&view)));
        queue.write_buffer(&self.surface, 0, bytemuck::bytes_of(&surface(scene, &view)));
        if !self.uploaded.as_ref().is_some_and(|uploaded| Arc::ptr_eq(uploaded, &in_space.heights)) {
            self.upload_heights(queue, &in_space.heights);
            self.uploaded = Some(Arc::clone(&in_space.heights));
        }
        let size = scene.viewport.size_px.map(|size| size as u32);
        if self.picture.as_ref().is_none_or(|picture| picture.size != size) {
            self.picture = Some(Picture::new(device, self.format, &self.blit_layout, size));
        }
    }

    fn upload_heights(&self, queue: &wgpu::Queue, field: &HeightField) {
        let texels: Vec<f32> =
            field.heights().iter().map(|height| if height.is_finite() { *height } else { NO_SURFACE }).collect();
        let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(4 * SIDE), rows_per_image: None };
        queue.write_texture(self.heights.as_image_copy(), bytemuck::cast_slice(&texels), layout, self.heights.size());
    }

    /// Returns the commands that draw the surface, and over it the overlays: first their parts behind it, faintly.
    pub(super) fn draw(&self, device: &wgpu::Device, frame: &Uniforms<Frame>) -> wgpu::CommandBuffer {
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("surface") });
        if let Some(picture) = &self.picture {
            let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                label: Some("surface"),
                color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                    view: &picture.samples,
                    depth_slice: None,
                    resolve_target: Some(&picture.pixels),
                    ops: wgpu::Operations {
                        load: wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT),
                        store: wgpu::StoreOp::Discard,
                    },
                })],
                depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
                    view: &picture.depth,
                    depth_ops: Some(wgpu::Operations { load: wgpu::LoadOp::Clear(1.0), store: wgpu::StoreOp::Discard }),
                    stencil_ops: None,
                }),
                ..Default::default()
            });
            frame.bind(&mut pass, 0, 0);
            pass.set_bind_group(2, &self.space_bind_group, &[]);
            pass.set_pipeline(&self.surface_pipeline);
            pass.set_bind_group(1, &self.surface_bind_group, &[]);
            // A strip for each row of cells, and one for each wall.
            pass.draw(0..2 * SIDE, 0..SIDE - 1 + 4);
            for part in 0..2 {
                self.overlays.paint(&mut pass, part);
            }
        }
        encoder.finish()
    }

    /// Copies the picture onto the canvas.
    pub(super) fn paint(&self, pass: &mut wgpu::RenderPass<'_>) {
        if let Some(picture) = &self.picture {
            pass.set_pipeline(&self.blit_pipeline);
            pass.set_bind_group(1, &picture.blit, &[]);
            pass.draw(0..3, 0..1);
        }
    }
}

impl Picture {
    fn new(
        device: &wgpu::Device,
        format: wgpu::TextureFormat,
        blit_layout: &wgpu::BindGroupLayout,
        [width, height]: [u32; 2],
    ) -> Picture {
        let view = |format, sample_count, usage| {
            let texture = device.create_texture(&wgpu::TextureDescriptor {
                label: Some("surface"),
                size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
                mip_level_count: 1,
                sample_count,
                dimension: wgpu::TextureDimension::D2,
                format,
                usage: wgpu::TextureUsages::RENDER_ATTACHMENT | usage,
                view_formats: &[],
            });
            texture.create_view(&wgpu::TextureViewDescriptor::default())
        };
        let none = wgpu::TextureUsages::empty();
        let pixels = view(format, 1, wgpu::TextureUsages::TEXTURE_BINDING);
        let blit = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("blit"),
            layout: blit_layout,
            entries: &[wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::TextureView(&pixels) }],
        });
        Picture {
            size: [width, height],
            samples: view(format, SAMPLES, none),
            depth: view(DEPTH, SAMPLES, none),
            pixels,
            blit,
        }
    }
}

const TEXTURE: wgpu::BindingType = wgpu::BindingType::Texture {
    sample_type: wgpu::TextureSampleType::Float { filterable: false },
    view_dimension: wgpu::TextureViewDimension::D2,
    multisampled: false,
};

fn uniform<T>() -> wgpu::BindingType {
    wgpu::BindingType::Buffer {
        ty: wgpu::BufferBindingType::Uniform,
        has_dynamic_offset: false,
        min_binding_size: wgpu::BufferSize::new(size_of::<T>() as u64),
    }
}

fn layout_entry(binding: u32, visibility: wgpu::ShaderStages, ty: wgpu::BindingType) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry { binding, visibility, ty, count: None }
}

fn layout(device: &wgpu::Device, label: &str, entries: &[wgpu::BindGroupLayoutEntry]) -> wgpu::BindGroupLayout {
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some(label), entries })
}

/// Binds a uniform buffer and a texture.
fn bind_group(
    device: &wgpu::Device,
    layout: &wgpu::BindGroupLayout,
    buffer: &wgpu::Buffer,
    texture: &wgpu::TextureView,
) -> wgpu::BindGroup {
    device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("space"),
        layout,
        entries: &[
            wgpu::BindGroupEntry { binding: 0, resource: buffer.as_entire_binding() },
            wgpu::BindGroupEntry { binding: 1, resource: wgpu::BindingResource::TextureView(texture) },
        ],
    })
}

fn space(view: &SpaceView) -> Space {
    let ViewAxes { right, up, back } = view.axes();
    let [_, middle] = view.middle_px();
    let single = |axis: [f64; 3]| axis.map(|part| part as f32);
    Space {
        right: single(right),
        distance: SpaceView::DISTANCE as f32,
        up: single(up),
        focal_px: (view.px_per_unit() * SpaceView::DISTANCE) as f32,
        back: single(back),
        lift_px: (0.5 * f64::from(view.size_px[1]) - middle) as f32,
    }
}

fn surface(scene: &Scene, view: &SpaceView) -> Surface {
    let [lowest_contour, highest_contour] = scene.scale.contour_range(scene.contours);
    Surface {
        light: view.light().map(|part| part as f32),
        contours: scene.contours as f32,
        zero: scene.scale.zero() as f32,
        lowest_contour: lowest_contour as f32,
        highest_contour: highest_contour as f32,
        contour_width_px: CONTOUR_WIDTH * scene.pixels_per_point,
        ambient: SpaceView::AMBIENT as f32,
        diffuse: SpaceView::DIFFUSE as f32,
        padding: [0.0; 2],
    }
}
