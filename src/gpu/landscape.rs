//! The landscape: every pixel's loss as a colour with contour lines, flat or as a lit surface in space.

use std::sync::Arc;

use valleyscope_engine::landscape::Landscape;
use valleyscope_engine::loss::LossProgram;
use valleyscope_experiments::view::{Colormap, HeightField, SpaceView, SymLog, ViewAxes};
use wgpu::BindingResource;

use super::particles::Overlays;
use super::pipeline::{
    BLIT, DEPTH, Frame, HEATMAP, LossMap, OverlayTarget, Primitive, SURFACE, Space, Surface, TEXTURE_FORMAT, Target,
    Uniforms, bind_group, buffer, layout, program_shader, split, texture, uniform,
};
use super::scene::{Scene, SpaceScene};

const FLAT_CONTOUR_WIDTH: f32 = 1.0;
/// The largest number of cached pipelines for landscapes that run as programs.
const MOST_PROGRAMS: usize = 16;
/// The number of colours in the look-up table, between which the shader interpolates.
const COLORMAP_TEXELS: u32 = 1024;

pub(super) struct Heatmap {
    target: Target,
    layout: wgpu::BindGroupLayout,
    /// The pipeline of the paper's valley.
    valley: wgpu::RenderPipeline,
    /// The pipelines of other landscapes, the latest last.
    programs: Vec<(&'static LossProgram, wgpu::RenderPipeline)>,
    is_valley: bool,
    bind_group: wgpu::BindGroup,
    loss_map: wgpu::Buffer,
    colors: wgpu::Texture,
    uploaded: Option<Colormap>,
}

impl Heatmap {
    pub(super) fn new(device: &wgpu::Device, target: Target, frame: &wgpu::BindGroupLayout) -> Self {
        let fragment = wgpu::ShaderStages::FRAGMENT;
        let layout = layout(device, "heatmap", &[(fragment, uniform::<LossMap>()), (fragment, TEXTURE_FORMAT)]);
        let loss_map = buffer(device, "heatmap", size_of::<LossMap>() as u64, wgpu::BufferUsages::UNIFORM);
        let usage = wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST;
        let colors = texture(device, "heatmap", [COLORMAP_TEXELS, 1], wgpu::TextureFormat::Rgba8Unorm, 1, usage);
        let view = colors.create_view(&Default::default());
        let bind_group =
            bind_group(device, &layout, [loss_map.as_entire_binding(), BindingResource::TextureView(&view)]);
        let valley = pipeline(device, target, [frame, &layout], HEATMAP);
        let programs = Vec::new();
        Heatmap { target, layout, valley, programs, is_valley: true, bind_group, loss_map, colors, uploaded: None }
    }

    pub(super) fn prepare(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        scene: &Scene,
        frame: &wgpu::BindGroupLayout,
    ) {
        self.is_valley = match &scene.landscape {
            Landscape::Valley(_) => true,
            Landscape::Program(program) => {
                self.select(device, program.loss().program(), frame);
                false
            }
        };
        queue.write_buffer(&self.loss_map, 0, bytemuck::bytes_of(&loss_map(scene)));
    }

    /// Makes a texture of one row with the colours from the lowest to the highest loss.
    pub(super) fn colors(&self) -> wgpu::TextureView {
        self.colors.create_view(&wgpu::TextureViewDescriptor::default())
    }

    pub(super) fn prepare_colors(&mut self, queue: &wgpu::Queue, colormap: Colormap) {
        if self.uploaded.replace(colormap) == Some(colormap) {
            return;
        }
        let color = |index| colormap.rgb(f64::from(index) / f64::from(COLORMAP_TEXELS - 1));
        let texels: Vec<u8> = (0..COLORMAP_TEXELS).map(color).flat_map(|[r, g, b]| [r, g, b, 255]).collect();
        let layout =
            wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(4 * COLORMAP_TEXELS), rows_per_image: None };
        queue.write_texture(self.colors.as_image_copy(), &texels, layout, self.colors.size());
    }

    /// Moves the pipeline of a program to the end, and compiles it unless it is among the latest ones.
    fn select(&mut self, device: &wgpu::Device, program: &'static LossProgram, frame: &wgpu::BindGroupLayout) {
        let known = self.programs.iter().position(|(known, _)| std::ptr::eq(*known, program));
        let entry = match known {
            Some(index) => self.programs.remove(index),
            None => {
                let shader = program_shader(program);
                (program, pipeline(device, self.target, [frame, &self.layout], ("program", &shader)))
            }
        };
        if self.programs.len() == MOST_PROGRAMS {
            self.programs.remove(0);
        }
        self.programs.push(entry);
    }

    pub(super) fn paint(&self, pass: &mut wgpu::RenderPass<'_>) {
        let program = self.programs.last().filter(|_| !self.is_valley).map(|(_, pipeline)| pipeline);
        pass.set_pipeline(program.unwrap_or(&self.valley));
        pass.set_bind_group(1, &self.bind_group, &[]);
        pass.draw(0..3, 0..1);
    }
}

fn pipeline(
    device: &wgpu::Device,
    target: Target,
    bind_groups: [&wgpu::BindGroupLayout; 2],
    shader: (&str, &str),
) -> wgpu::RenderPipeline {
    let primitive = Primitive { shader, entries: "heatmap", bind_groups: &bind_groups, points: 0, opaque: true };
    target.pipeline(device, &primitive)
}

/// Computes the shader's uniform values in double precision: the shader computes only what differs between pixels. Its
/// coordinates are u and v of the paper's valley, else x and y.
fn loss_map(scene: &Scene) -> LossMap {
    let Scene { viewport, landscape, scale, .. } = scene;
    let loss = landscape.loss(viewport.camera.center);
    let [lowest_contour, highest_contour] = scale.contour_range(scene.contours);
    let (level, gap) = nearest_contour(scale, scene.contours, loss);
    let [right, up] = viewport.xy_per_px();
    let (mut vectors, mut numbers) = ([viewport.camera.center, right, up], [0.0_f32; 16]);
    match landscape {
        Landscape::Valley(valley) => {
            vectors = vectors.map(|xy| valley.uv_from_xy(xy));
            let [u, v] = vectors[0];
            numbers[..3].copy_from_slice(&[valley.sharpness as f32, valley.slope as f32, (u * v) as f32]);
        }
        Landscape::Program(program) => {
            let values = program.loss().wgsl_uniforms();
            numbers[..values.len()].copy_from_slice(&values);
        }
    }
    let [center, right, up] = vectors;
    let [(first_hi, first_lo), (second_hi, second_lo)] = center.map(split);
    LossMap {
        center_hi: [first_hi, second_hi],
        center_lo: [first_lo, second_lo],
        first_per_px: [right[0] as f32, up[0] as f32],
        second_per_px: [right[1] as f32, up[1] as f32],
        numbers: bytemuck::cast(numbers),
        center_loss: loss as f32,
        inv_linear: (1.0 / scale.linear) as f32,
        inv_length: (1.0 / scale.length()) as f32,
        zero: scale.zero() as f32,
        contours: scene.contours as f32,
        lowest_contour: lowest_contour as f32,
        highest_contour: highest_contour as f32,
        center_level: level as f32,
        center_gap: gap as f32,
        contour_width_px: FLAT_CONTOUR_WIDTH * scene.pixels_per_point,
        padding: [0.0; 2],
    }
}

/// Finds the contour nearest to a loss on the colour bar, counted from the one at 0, and how far the loss is above it.
fn nearest_contour(scale: &SymLog, contours: u32, loss: f64) -> (i32, f64) {
    let [lowest, highest] = scale.contour_range(contours);
    let levels = (scale.position(loss) - scale.zero()) * f64::from(contours);
    let level = (levels.round() as i32).clamp(lowest, highest);
    (level, loss - scale.contour_value(contours.max(1), level))
}

// The landscape as a lit surface in space.
//
// The heights are sampled on the CPU in double precision and are a texture, which the mesh, the trails, the paths and
// the particles all read, so that they lie on one surface. The picture is drawn into separate textures, as egui's pass
// has no depth, and then copied onto the canvas.

const SURFACE_CONTOUR_WIDTH: f32 = 1.0;
/// The samples of a pixel: the surface's edges are those of triangles.
const SAMPLES: u32 = 4;
/// A height in the texture where there is no surface; more than `MISSING` of the shader.
const NO_SURFACE: f32 = 2e30;
const SIDE: u32 = HeightField::SIDE as u32;

pub(super) struct SpaceRenderer {
    pub overlays: Overlays,
    surface_pipeline: wgpu::RenderPipeline,
    blit_pipeline: wgpu::RenderPipeline,
    /// The parameters of the surface and of its view.
    space: wgpu::Buffer,
    heights: wgpu::Texture,
    space_bind_group: wgpu::BindGroup,
    uploaded: Option<Arc<HeightField>>,
    surface: wgpu::Buffer,
    surface_bind_group: wgpu::BindGroup,
    blit_layout: wgpu::BindGroupLayout,
    format: wgpu::TextureFormat,
    picture: Option<SurfaceTextures>,
}

/// The textures of one size into which the surface is drawn.
struct SurfaceTextures {
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
        let (both, fragment) = (wgpu::ShaderStages::VERTEX_FRAGMENT, wgpu::ShaderStages::FRAGMENT);
        let space_layout = layout(device, "space", &[(both, uniform::<Space>()), (both, TEXTURE_FORMAT)]);
        let surface_layout = layout(device, "surface", &[(both, uniform::<Surface>()), (fragment, TEXTURE_FORMAT)]);
        let blit_layout = layout(device, "blit", &[(both, TEXTURE_FORMAT)]);
        let usage = wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST;
        let heights = texture(device, "heights", [SIDE; 2], wgpu::TextureFormat::R32Float, 1, usage);
        let [space, surface] = [size_of::<Space>(), size_of::<Surface>()]
            .map(|size| buffer(device, "space", size as u64, wgpu::BufferUsages::UNIFORM));
        let heights_view = heights.create_view(&wgpu::TextureViewDescriptor::default());
        let in_space = Target { samples: SAMPLES, depth: Some(wgpu::CompareFunction::Less), ..target };
        let surface_primitive = Primitive {
            shader: SURFACE,
            entries: "surface",
            bind_groups: &[frame, &surface_layout, &space_layout],
            points: 0,
            opaque: true,
        };
        let blit_primitive =
            Primitive { shader: BLIT, entries: "blit", bind_groups: &[frame, &blit_layout], points: 0, opaque: false };
        SpaceRenderer {
            overlays: Overlays::new(device, OverlayTarget { target: in_space, frame, space: Some(&space_layout) }),
            surface_pipeline: in_space.pipeline(device, &surface_primitive),
            blit_pipeline: target.pipeline(device, &blit_primitive),
            space_bind_group: bind_group(
                device,
                &space_layout,
                [space.as_entire_binding(), BindingResource::TextureView(&heights_view)],
            ),
            surface_bind_group: bind_group(
                device,
                &surface_layout,
                [surface.as_entire_binding(), BindingResource::TextureView(colors)],
            ),
            space,
            heights,
            uploaded: None,
            surface,
            blit_layout,
            format: target.format,
            picture: None,
        }
    }

    pub(super) fn prepare(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, scene: &Scene, in_space: &SpaceScene) {
        let view = in_space.view(scene);
        queue.write_buffer(&self.space, 0, bytemuck::bytes_of(&space(&view)));
        queue.write_buffer(&self.surface, 0, bytemuck::bytes_of(&surface(scene, &view)));
        if !self.uploaded.as_ref().is_some_and(|uploaded| Arc::ptr_eq(uploaded, &in_space.heights)) {
            self.upload_heights(queue, &in_space.heights);
            self.uploaded = Some(Arc::clone(&in_space.heights));
        }
        // A window that changes its zoom may have no area, or a very large one, for a frame.
        let most = device.limits().max_texture_dimension_2d;
        let size = scene.viewport.size_px.map(|size| (size as u32).clamp(1, most));
        if self.picture.as_ref().is_none_or(|picture| picture.size != size) {
            self.picture = Some(SurfaceTextures::new(device, self.format, &self.blit_layout, size));
        }
    }

    fn upload_heights(&self, queue: &wgpu::Queue, field: &HeightField) {
        let texels: Vec<f32> =
            field.heights().iter().map(|height| if height.is_finite() { *height } else { NO_SURFACE }).collect();
        let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(4 * SIDE), rows_per_image: None };
        queue.write_texture(self.heights.as_image_copy(), bytemuck::cast_slice(&texels), layout, self.heights.size());
    }

    /// Records the commands that draw the surface, and over it the overlays: first their parts behind it, faintly.
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

    pub(super) fn paint(&self, pass: &mut wgpu::RenderPass<'_>) {
        if let Some(picture) = &self.picture {
            pass.set_pipeline(&self.blit_pipeline);
            pass.set_bind_group(1, &picture.blit, &[]);
            pass.draw(0..3, 0..1);
        }
    }
}

impl SurfaceTextures {
    fn new(
        device: &wgpu::Device,
        format: wgpu::TextureFormat,
        blit_layout: &wgpu::BindGroupLayout,
        size: [u32; 2],
    ) -> SurfaceTextures {
        let view = |format, samples, usage| {
            let usage = wgpu::TextureUsages::RENDER_ATTACHMENT | usage;
            texture(device, "surface", size, format, samples, usage).create_view(&Default::default())
        };
        let none = wgpu::TextureUsages::empty();
        let pixels = view(format, 1, wgpu::TextureUsages::TEXTURE_BINDING);
        let blit = bind_group(device, blit_layout, [BindingResource::TextureView(&pixels)]);
        SurfaceTextures { size, samples: view(format, SAMPLES, none), depth: view(DEPTH, SAMPLES, none), pixels, blit }
    }
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
        contour_width_px: SURFACE_CONTOUR_WIDTH * scene.pixels_per_point,
        ambient: SpaceView::AMBIENT as f32,
        diffuse: SpaceView::DIFFUSE as f32,
        padding: [0.0; 2],
    }
}
