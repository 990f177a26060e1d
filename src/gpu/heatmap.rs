//! The landscape itself: every pixel's loss as a colour, with contour lines.
//!
//! The loss is evaluated at each pixel, so no setting needs a new mesh. The paper's valley has a shader of its own; that
//! of another landscape is printed from its program when it is first shown. Single precision does not suffice for a deep
//! zoom, so the camera's centre is passed as a sum of two floats.

use valleyscope_engine::landscape::{Landscape, Uv};
use valleyscope_engine::loss::LossProgram;
use valleyscope_experiments::view::{Colormap, SymLog};

use super::Scene;
use super::pipeline::{HEATMAP, Primitive, Target, program_shader};
use super::uniform::{Ground, split};

const CONTOUR_WIDTH: f32 = 1.0;
/// The most pipelines that are kept for landscapes that run as programs.
const MOST_PROGRAMS: usize = 16;
/// The number of colours in the look-up table, between which the shader interpolates.
const COLORS: u32 = 1024;

pub(super) struct Heatmap {
    target: Target,
    layout: wgpu::BindGroupLayout,
    /// The pipeline of the paper's valley.
    valley: wgpu::RenderPipeline,
    /// The pipelines of other landscapes, the latest last.
    programs: Vec<(&'static LossProgram, wgpu::RenderPipeline)>,
    is_valley: bool,
    bind_group: wgpu::BindGroup,
    ground: wgpu::Buffer,
    colors: wgpu::Texture,
    uploaded: Option<Colormap>,
}

impl Heatmap {
    pub(super) fn new(device: &wgpu::Device, target: Target, frame: &wgpu::BindGroupLayout) -> Self {
        let label = Some("heatmap");
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label,
            entries: &[
                wgpu::BindGroupLayoutEntry {
                    binding: 0,
                    visibility: wgpu::ShaderStages::FRAGMENT,
                    ty: wgpu::BindingType::Buffer {
                        ty: wgpu::BufferBindingType::Uniform,
                        has_dynamic_offset: false,
                        min_binding_size: wgpu::BufferSize::new(size_of::<Ground>() as u64),
                    },
                    count: None,
                },
                wgpu::BindGroupLayoutEntry {
                    binding: 1,
                    visibility: wgpu::ShaderStages::FRAGMENT,
                    ty: wgpu::BindingType::Texture {
                        sample_type: wgpu::TextureSampleType::Float { filterable: false },
                        view_dimension: wgpu::TextureViewDimension::D2,
                        multisampled: false,
                    },
                    count: None,
                },
            ],
        });
        let ground = device.create_buffer(&wgpu::BufferDescriptor {
            label,
            size: size_of::<Ground>() as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let colors = device.create_texture(&wgpu::TextureDescriptor {
            label,
            size: wgpu::Extent3d { width: COLORS, height: 1, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: wgpu::TextureFormat::Rgba8Unorm,
            usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
            view_formats: &[],
        });
        let view = colors.create_view(&wgpu::TextureViewDescriptor::default());
        let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label,
            layout: &layout,
            entries: &[
                wgpu::BindGroupEntry { binding: 0, resource: ground.as_entire_binding() },
                wgpu::BindGroupEntry { binding: 1, resource: wgpu::BindingResource::TextureView(&view) },
            ],
        });
        let valley = pipeline(device, target, [frame, &layout], HEATMAP);
        let programs = Vec::new();
        Heatmap { target, layout, valley, programs, is_valley: true, bind_group, ground, colors, uploaded: None }
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
        queue.write_buffer(&self.ground, 0, bytemuck::bytes_of(&ground(scene)));
    }

    /// Returns the colours from the lowest to the highest loss, as a texture of one row.
    pub(super) fn colors(&self) -> wgpu::TextureView {
        self.colors.create_view(&wgpu::TextureViewDescriptor::default())
    }

    pub(super) fn prepare_colors(&mut self, queue: &wgpu::Queue, scene: &Scene) {
        if self.uploaded != Some(scene.colormap) {
            self.upload_colors(queue, scene.colormap);
            self.uploaded = Some(scene.colormap);
        }
    }

    /// Puts the pipeline of a program last, compiled unless it is among the latest ones.
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

    fn upload_colors(&self, queue: &wgpu::Queue, colormap: Colormap) {
        let texels: Vec<u8> = (0..COLORS)
            .flat_map(|index| {
                let [r, g, b] = colormap.rgb(f64::from(index) / f64::from(COLORS - 1));
                [r, g, b, 255]
            })
            .collect();
        let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(4 * COLORS), rows_per_image: None };
        queue.write_texture(self.colors.as_image_copy(), &texels, layout, self.colors.size());
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
    let primitive = Primitive {
        shader,
        vertex_entry: "heatmap_vertex",
        fragment_entry: "heatmap_fragment",
        bind_groups: &bind_groups,
        points: 0,
        opaque: true,
    };
    target.pipeline(device, &primitive)
}

/// Returns the shader's uniform values, computed in double precision: the shader computes only what differs between
/// pixels.
fn ground(scene: &Scene) -> Ground {
    let Scene { viewport, landscape, scale, .. } = scene;
    let units_per_px = viewport.units_per_px();
    let loss = landscape.loss(viewport.camera.center);
    let [lowest_contour, highest_contour] = scale.contour_range(scene.contours);
    let (level, gap) = nearest_contour(scale, scene.contours, loss);
    let coordinates = Coordinates::of(landscape, viewport.camera.center);
    let [(first_hi, first_lo), (second_hi, second_lo)] = coordinates.center.map(split);
    let per_px = |directions: [f64; 2]| directions.map(|direction| (direction * units_per_px) as f32);
    Ground {
        center_hi: [first_hi, second_hi],
        center_lo: [first_lo, second_lo],
        first_per_px: per_px(coordinates.first),
        second_per_px: per_px(coordinates.second),
        numbers: coordinates.numbers,
        units_per_px: units_per_px as f32,
        center_loss: loss as f32,
        inv_linear: (1.0 / scale.linear) as f32,
        inv_length: (1.0 / scale.length()) as f32,
        zero: scale.zero() as f32,
        contours: scene.contours as f32,
        lowest_contour: lowest_contour as f32,
        highest_contour: highest_contour as f32,
        center_level: level as f32,
        center_gap: gap as f32,
        contour_width_px: CONTOUR_WIDTH * scene.pixels_per_point,
        padding: 0.0,
    }
}

/// The coordinates in which a shader evaluates a landscape: u and v of the paper's valley, else x and y.
struct Coordinates {
    /// The camera's centre.
    center: [f64; 2],
    /// The changes of the first coordinate to the right and upwards.
    first: [f64; 2],
    second: [f64; 2],
    /// The numbers that the shader reads.
    numbers: [[f32; 4]; 4],
}

impl Coordinates {
    fn of(landscape: &Landscape, center: [f64; 2]) -> Coordinates {
        let mut numbers = [0.0; 16];
        let coordinates = |center, first, second, numbers: [f32; 16]| Coordinates {
            center,
            first,
            second,
            numbers: [0, 4, 8, 12].map(|start| [0, 1, 2, 3].map(|index| numbers[start + index])),
        };
        match landscape {
            Landscape::Valley(valley) => {
                let Uv { u, v } = valley.uv_from_xy(center);
                let (right, up) = (valley.uv_from_xy([1.0, 0.0]), valley.uv_from_xy([0.0, 1.0]));
                numbers[..3].copy_from_slice(&[valley.sharpness as f32, valley.slope as f32, (u * v) as f32]);
                coordinates([u, v], [right.u, up.u], [right.v, up.v], numbers)
            }
            Landscape::Program(program) => {
                let values = program.loss().wgsl_uniforms();
                numbers[..values.len()].copy_from_slice(&values);
                coordinates(center, [1.0, 0.0], [0.0, 1.0], numbers)
            }
        }
    }
}

/// Returns the number of the contour nearest to a loss on the colour bar, counted from the one at 0, and how far the loss
/// is above it.
fn nearest_contour(scale: &SymLog, contours: u32, loss: f64) -> (i32, f64) {
    let [lowest, highest] = scale.contour_range(contours);
    let levels = (scale.position(loss) - scale.zero()) * f64::from(contours);
    let level = (levels.round() as i32).clamp(lowest, highest);
    (level, loss - scale.contour_value(contours.max(1), level))
}
