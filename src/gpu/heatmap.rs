//! The landscape itself: every pixel's loss as a colour, with contour lines.
//!
//! The loss is evaluated at each pixel, so no setting needs a new mesh. Single precision does not suffice for a deep
//! zoom, so the camera's centre is passed as a sum of two floats.

use valleyscope_engine::landscape::Valley;
use valleyscope_experiments::view::{Colormap, SymLog};

use super::Scene;
use super::pipeline::{HEATMAP, Primitive, Target};
use super::uniform::{Ground, split};

const CONTOUR_WIDTH: f32 = 1.0;
/// The number of colours in the look-up table, between which the shader interpolates.
const COLORS: u32 = 1024;

pub(super) struct Heatmap {
    pipeline: wgpu::RenderPipeline,
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
        let primitive = Primitive {
            shader: HEATMAP,
            vertex_entry: "heatmap_vertex",
            fragment_entry: "heatmap_fragment",
            bind_groups: &[frame, &layout],
            points: 0,
            opaque: true,
        };
        let pipeline = target.pipeline(device, &primitive);
        Heatmap { pipeline, bind_group, ground, colors, uploaded: None }
    }

    pub(super) fn prepare(&self, queue: &wgpu::Queue, scene: &Scene) {
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
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(1, &self.bind_group, &[]);
        pass.draw(0..3, 0..1);
    }
}

/// Returns the shader's uniform values, computed in double precision: the shader computes only what differs between
/// pixels.
fn ground(scene: &Scene) -> Ground {
    let Scene { viewport, landscape, scale, .. } = scene;
    let center = landscape.uv_from_xy(viewport.camera.center);
    let [(u_hi, u_lo), (v_hi, v_lo)] = [split(center.u), split(center.v)];
    let units_per_px = viewport.units_per_px();
    let per_px = |valley: Valley<f64>| [(valley.u * units_per_px) as f32, (valley.v * units_per_px) as f32];
    let [right_u, right_v] = per_px(landscape.uv_from_xy([1.0, 0.0]));
    let [up_u, up_v] = per_px(landscape.uv_from_xy([0.0, 1.0]));
    let loss = landscape.loss(center);
    let (level, gap) = nearest_contour(scale, scene.contours, loss);
    Ground {
        uv_hi: [u_hi, v_hi],
        uv_lo: [u_lo, v_lo],
        u_per_px: [right_u, up_u],
        v_per_px: [right_v, up_v],
        units_per_px: units_per_px as f32,
        sharpness: landscape.sharpness as f32,
        slope: landscape.slope as f32,
        center_uv: (center.u * center.v) as f32,
        center_loss: loss as f32,
        inv_linear: (1.0 / scale.linear) as f32,
        half_inv_log: (0.5 / (scale.max / scale.linear).ln_1p()) as f32,
        contours: scene.contours as f32,
        center_level: level as f32,
        center_gap: gap as f32,
        contour_width_px: CONTOUR_WIDTH * scene.pixels_per_point,
        padding: 0.0,
    }
}

/// Returns the number of the contour nearest to a loss on the colour bar, and how far the loss is above it.
fn nearest_contour(scale: &SymLog, contours: u32, loss: f64) -> (f64, f64) {
    let contours = f64::from(contours);
    let level = (scale.position(loss) * contours).round().clamp(0.0, contours);
    (level, loss - scale.value(level / contours.max(1.0)))
}
