//! Pipelines and uniform buffers of the primitives, and the contents of the uniform blocks.

use std::marker::PhantomData;
use std::mem;

use bytemuck::{Pod, Zeroable};
use valleyscope_engine::loss::LossProgram;

/// Puts shared parts in front of a shader.
macro_rules! shader {
    ($name:literal: $($file:literal)+) => {
        ($name, concat!($(include_str!(concat!("../../shaders/", $file, ".wgsl"))),+))
    };
}

/// The shaders by name, each with the shared parts in front, as passed to wgpu.
pub const SHADERS: [(&str, &str); 10] =
    [HEATMAP, TRAILS.plane, TRAILS.space, PATH.plane, PATH.space, POINTS.plane, POINTS.space, CURVE, SURFACE, BLIT];

/// The heatmap of the paper's valley.
pub(super) const HEATMAP: (&str, &str) = shader!("heatmap": "frame" "colors" "heatmap" "valley");
/// The heatmap of a landscape that runs as a program, without its loss.
const PROGRAM: (&str, &str) = shader!("program": "frame" "colors" "heatmap" "program");
pub(super) const SURFACE: (&str, &str) = shader!("surface": "frame" "colors" "stroke" "space" "surface");
pub(super) const BLIT: (&str, &str) = shader!("blit": "frame" "blit");
pub(super) const CURVE: (&str, &str) = shader!("curve": "frame" "stroke" "plane" "curve");
pub(super) const TRAILS: Overlay = Overlay {
    plane: shader!("trails": "frame" "stroke" "plane" "trails"),
    space: shader!("trails in space": "frame" "stroke" "space" "trails"),
};
pub(super) const PATH: Overlay = Overlay {
    plane: shader!("path": "frame" "stroke" "plane" "path"),
    space: shader!("path in space": "frame" "stroke" "space" "path"),
};
pub(super) const POINTS: Overlay = Overlay {
    plane: shader!("points": "frame" "plane" "points"),
    space: shader!("points in space": "frame" "stroke" "space" "points"),
};

/// Completes the shader of the heatmap of a landscape that runs as a program.
pub fn program_shader(program: &LossProgram) -> String {
    format!("{}\n{}", PROGRAM.1, program.wgsl())
}

/// The opacity of overlays behind the surface, over that in front of it.
pub const BEHIND: f32 = 0.25;

#[derive(Clone, Copy)]
pub(super) struct Overlay {
    plane: (&'static str, &'static str),
    space: (&'static str, &'static str),
}

/// The number of bytes of a point (x, y) in a vertex buffer.
pub(super) const POINT_BYTES: u64 = mem::size_of::<[f32; 2]>() as u64;

#[derive(Clone, Copy)]
pub(super) struct Target {
    pub format: wgpu::TextureFormat,
    pub samples: u32,
    /// The comparison with the stored depth, if the target has one.
    pub depth: Option<wgpu::CompareFunction>,
    /// The factor of the opacity of overlays.
    pub visibility: f32,
}

pub(super) const DEPTH: wgpu::TextureFormat = wgpu::TextureFormat::Depth24Plus;

/// The target of overlays: on the plane, or on the surface in space.
#[derive(Clone, Copy)]
pub(super) struct OverlayTarget<'a> {
    pub target: Target,
    pub frame: &'a wgpu::BindGroupLayout,
    /// The layout of the surface in space; `None` on the plane.
    pub space: Option<&'a wgpu::BindGroupLayout>,
}

impl OverlayTarget<'_> {
    /// Creates the pipelines of an overlay: on the plane a single one; in space first that of the parts behind the
    /// surface, then that of the parts in front of it.
    pub(super) fn pipelines(
        &self,
        device: &wgpu::Device,
        overlay: Overlay,
        entries: &str,
        uniforms: &wgpu::BindGroupLayout,
        points: u32,
    ) -> Vec<wgpu::RenderPipeline> {
        let pipeline = |target: Target, shader, bind_groups: &[&wgpu::BindGroupLayout]| {
            let primitive = Primitive { shader, entries, bind_groups, points, opaque: false };
            target.pipeline(device, &primitive)
        };
        let Some(space) = self.space else {
            return vec![pipeline(self.target, overlay.plane, &[self.frame, uniforms])];
        };
        let parts = [(wgpu::CompareFunction::Greater, BEHIND), (wgpu::CompareFunction::LessEqual, 1.0)];
        let of_part = |(depth, visibility)| {
            let target = Target { depth: Some(depth), visibility, ..self.target };
            pipeline(target, overlay.space, &[self.frame, uniforms, space])
        };
        parts.map(of_part).into()
    }
}

/// The properties specific to one primitive's pipeline.
pub(super) struct Primitive<'a> {
    pub shader: (&'a str, &'a str),
    /// The beginning of the names of the entry points, before `_vertex` and `_fragment`.
    pub entries: &'a str,
    /// The layouts of bind groups 0, 1, ….
    pub bind_groups: &'a [&'a wgpu::BindGroupLayout],
    /// The number of points (x, y) of an instance, each at its own location.
    pub points: u32,
    pub opaque: bool,
}

impl Target {
    pub(super) fn flat(format: wgpu::TextureFormat, samples: u32) -> Target {
        Target { format, samples, depth: None, visibility: 1.0 }
    }

    pub(super) fn pipeline(&self, device: &wgpu::Device, primitive: &Primitive<'_>) -> wgpu::RenderPipeline {
        let (label, source) = primitive.shader;
        let [vertex, fragment] = ["vertex", "fragment"].map(|stage| format!("{}_{stage}", primitive.entries));
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(label),
            source: wgpu::ShaderSource::Wgsl(source.into()),
        });
        let bind_groups: Vec<_> = primitive.bind_groups.iter().copied().map(Some).collect();
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(label),
            bind_group_layouts: &bind_groups,
            immediate_size: 0,
        });
        let attributes: Vec<_> = (0..primitive.points)
            .map(|location| wgpu::VertexAttribute {
                format: wgpu::VertexFormat::Float32x2,
                offset: 0,
                shader_location: location,
            })
            .collect();
        let buffers: Vec<_> = attributes
            .iter()
            .map(|attribute| {
                Some(wgpu::VertexBufferLayout {
                    array_stride: POINT_BYTES,
                    step_mode: wgpu::VertexStepMode::Instance,
                    attributes: std::slice::from_ref(attribute),
                })
            })
            .collect();
        let constants = [
            ("target_encodes", f64::from(u8::from(self.format.is_srgb()))),
            ("visibility", f64::from(self.visibility)),
        ];
        let options = wgpu::PipelineCompilationOptions { constants: &constants, ..Default::default() };
        device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: Some(label),
            layout: Some(&layout),
            vertex: wgpu::VertexState {
                module: &module,
                entry_point: Some(&vertex),
                compilation_options: options.clone(),
                buffers: &buffers,
            },
            primitive: wgpu::PrimitiveState { topology: wgpu::PrimitiveTopology::TriangleStrip, ..Default::default() },
            depth_stencil: self.depth.map(|compare| wgpu::DepthStencilState {
                format: DEPTH,
                depth_write_enabled: Some(primitive.opaque),
                depth_compare: Some(compare),
                stencil: wgpu::StencilState::default(),
                bias: wgpu::DepthBiasState::default(),
            }),
            multisample: wgpu::MultisampleState { count: self.samples, ..Default::default() },
            fragment: Some(wgpu::FragmentState {
                module: &module,
                entry_point: Some(&fragment),
                compilation_options: options,
                targets: &[Some(wgpu::ColorTargetState {
                    format: self.format,
                    blend: (!primitive.opaque).then_some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING),
                    write_mask: wgpu::ColorWrites::ALL,
                })],
            }),
            multiview_mask: None,
            cache: None,
        })
    }
}

pub(super) const TEXTURE_FORMAT: wgpu::BindingType = wgpu::BindingType::Texture {
    sample_type: wgpu::TextureSampleType::Float { filterable: false },
    view_dimension: wgpu::TextureViewDimension::D2,
    multisampled: false,
};

pub(super) fn uniform<T>() -> wgpu::BindingType {
    wgpu::BindingType::Buffer {
        ty: wgpu::BufferBindingType::Uniform,
        has_dynamic_offset: false,
        min_binding_size: wgpu::BufferSize::new(size_of::<T>() as u64),
    }
}

/// Creates the layout of a bind group whose bindings are numbered from 0.
pub(super) fn layout(
    device: &wgpu::Device,
    label: &str,
    bindings: &[(wgpu::ShaderStages, wgpu::BindingType)],
) -> wgpu::BindGroupLayout {
    let entry = |(binding, &(visibility, ty))| wgpu::BindGroupLayoutEntry { binding, visibility, ty, count: None };
    let entries: Vec<_> = (0..).zip(bindings).map(entry).collect();
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some(label), entries: &entries })
}

pub(super) fn bind_group<'r>(
    device: &wgpu::Device,
    layout: &wgpu::BindGroupLayout,
    resources: impl IntoIterator<Item = wgpu::BindingResource<'r>>,
) -> wgpu::BindGroup {
    let entry = |(binding, resource)| wgpu::BindGroupEntry { binding, resource };
    let entries: Vec<_> = (0..).zip(resources).map(entry).collect();
    device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries: &entries })
}

/// Creates a buffer into which the queue writes.
pub(super) fn buffer(device: &wgpu::Device, label: &str, size: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
    let usage = usage | wgpu::BufferUsages::COPY_DST;
    device.create_buffer(&wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false })
}

pub(super) fn texture(
    device: &wgpu::Device,
    label: &str,
    [width, height]: [u32; 2],
    format: wgpu::TextureFormat,
    sample_count: u32,
    usage: wgpu::TextureUsages,
) -> wgpu::Texture {
    device.create_texture(&wgpu::TextureDescriptor {
        label: Some(label),
        size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage,
        view_formats: &[],
    })
}

/// Binds points (x, y) of a buffer from a byte on, one for each instance.
pub(super) fn bind_points(pass: &mut wgpu::RenderPass<'_>, slot: u32, buffer: &wgpu::Buffer, offset: u64, count: u32) {
    pass.set_vertex_buffer(slot, buffer.slice(offset..offset + u64::from(count) * POINT_BYTES));
}

/// A vertex buffer of points (x, y), which grows with its content.
pub(super) struct PointBuffer {
    label: &'static str,
    pub buffer: wgpu::Buffer,
}

impl PointBuffer {
    pub(super) fn new(device: &wgpu::Device, label: &'static str) -> PointBuffer {
        PointBuffer { label, buffer: buffer(device, label, 0, wgpu::BufferUsages::VERTEX) }
    }

    pub(super) fn write(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, points: &[[f32; 2]]) {
        let bytes: &[u8] = bytemuck::cast_slice(points);
        if bytes.len() as u64 > self.buffer.size() {
            let size = points.len().next_power_of_two() as u64 * POINT_BYTES;
            self.buffer = buffer(device, self.label, size, wgpu::BufferUsages::VERTEX);
        }
        if !bytes.is_empty() {
            queue.write_buffer(&self.buffer, 0, bytes);
        }
    }

    pub(super) fn bind(&self, pass: &mut wgpu::RenderPass<'_>, slot: u32, first: u64, count: u32) {
        bind_points(pass, slot, &self.buffer, first * POINT_BYTES, count);
    }
}

/// Uniform values of one type, of which each draw binds one.
pub(super) struct Uniforms<T> {
    pub layout: wgpu::BindGroupLayout,
    label: &'static str,
    /// The number of bytes from one value to the next, with the device's alignment.
    stride: usize,
    bytes: Vec<u8>,
    buffer: wgpu::Buffer,
    bind_group: wgpu::BindGroup,
    values: PhantomData<T>,
}

impl<T: Pod> Uniforms<T> {
    pub(super) fn new(device: &wgpu::Device, label: &'static str) -> Self {
        let size = mem::size_of::<T>();
        let ty = wgpu::BindingType::Buffer {
            ty: wgpu::BufferBindingType::Uniform,
            has_dynamic_offset: true,
            min_binding_size: wgpu::BufferSize::new(size as u64),
        };
        let layout = layout(device, label, &[(wgpu::ShaderStages::VERTEX_FRAGMENT, ty)]);
        let stride = size.next_multiple_of(device.limits().min_uniform_buffer_offset_alignment as usize);
        let (buffer, bind_group) = Self::allocate(device, label, &layout, stride);
        Uniforms { layout, label, stride, bytes: Vec::new(), buffer, bind_group, values: PhantomData }
    }

    fn allocate(
        device: &wgpu::Device,
        label: &str,
        layout: &wgpu::BindGroupLayout,
        bytes: usize,
    ) -> (wgpu::Buffer, wgpu::BindGroup) {
        let buffer = buffer(device, label, bytes as u64, wgpu::BufferUsages::UNIFORM);
        let size = wgpu::BufferSize::new(mem::size_of::<T>() as u64);
        let value = wgpu::BufferBinding { buffer: &buffer, offset: 0, size };
        let bind_group = bind_group(device, layout, [wgpu::BindingResource::Buffer(value)]);
        (buffer, bind_group)
    }

    /// Begins a new frame's values.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Adds a value; returns its offset for [`Uniforms::bind`].
    pub(super) fn push(&mut self, value: T) -> u32 {
        let offset = self.bytes.len();
        self.bytes.extend_from_slice(bytemuck::bytes_of(&value));
        self.bytes.resize(offset + self.stride, 0);
        offset as u32
    }

    pub(super) fn upload(&mut self, device: &wgpu::Device, queue: &wgpu::Queue) {
        if self.bytes.len() as u64 > self.buffer.size() {
            let bytes = self.bytes.len().next_power_of_two();
            (self.buffer, self.bind_group) = Self::allocate(device, self.label, &self.layout, bytes);
        }
        if !self.bytes.is_empty() {
            queue.write_buffer(&self.buffer, 0, &self.bytes);
        }
    }

    pub(super) fn bind(&self, pass: &mut wgpu::RenderPass<'_>, group: u32, offset: u32) {
        pass.set_bind_group(group, &self.bind_group, &[offset]);
    }
}

/// Mirrors `Frame` of `frame.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Frame {
    pub offset_per_unit: [f32; 4],
    pub center_hi: [f32; 2],
    pub center_lo: [f32; 2],
    pub size_px: [f32; 2],
    pub padding: [f32; 2],
}

/// Mirrors `LossMap` of `heatmap.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct LossMap {
    pub center_hi: [f32; 2],
    pub center_lo: [f32; 2],
    pub first_per_px: [f32; 2],
    pub second_per_px: [f32; 2],
    pub numbers: [[f32; 4]; 4],
    pub center_loss: f32,
    pub inv_linear: f32,
    pub inv_length: f32,
    pub zero: f32,
    pub contours: f32,
    pub lowest_contour: f32,
    pub highest_contour: f32,
    pub center_level: f32,
    pub center_gap: f32,
    pub contour_width_px: f32,
    pub padding: [f32; 2],
}

/// Mirrors `Trail` of `trails.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Trail {
    pub color: [f32; 3],
    pub opacity: f32,
    pub edge_opacity: f32,
    pub edge_px: f32,
    pub half_width_px: f32,
    pub fade_steps: f32,
    pub first_age: u32,
    pub oldest_age: u32,
    pub particles: u32,
    pub piece: u32,
    pub pieces: u32,
    pub padding: [u32; 3],
}

/// Mirrors `Path` of `path.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Path {
    pub color: [f32; 3],
    pub half_width_px: f32,
    pub opacity: f32,
    pub padding: [f32; 3],
}

/// Mirrors `Curve` of `curve.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Curve {
    pub color: [f32; 3],
    pub opacity: f32,
    pub half_width_px: f32,
    pub period_px: f32,
    pub dash_px: f32,
    pub padding: f32,
}

/// Mirrors `Disc` of `points.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Disc {
    pub color: [f32; 3],
    pub radius_px: f32,
    pub edge_opacity: f32,
    pub edge_px: f32,
    pub ring_radius_px: f32,
    pub ring_half_width_px: f32,
    pub opacity: f32,
    pub padding: [f32; 3],
}

/// Mirrors `Space` of `space.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Space {
    pub right: [f32; 3],
    pub distance: f32,
    pub up: [f32; 3],
    pub focal_px: f32,
    pub back: [f32; 3],
    pub lift_px: f32,
}

/// Mirrors `Surface` of `surface.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Surface {
    pub light: [f32; 3],
    pub contours: f32,
    pub zero: f32,
    pub lowest_contour: f32,
    pub highest_contour: f32,
    pub contour_width_px: f32,
    pub ambient: f32,
    pub diffuse: f32,
    pub padding: [f32; 2],
}

/// Converts an sRGB colour to channels from 0 to 1, as in the shaders.
pub(super) fn rgb(color: [u8; 3]) -> [f32; 3] {
    color.map(|channel| f32::from(channel) / 255.0)
}

/// Splits a number into a sum of two floats, accurate to about 14 digits.
pub(super) fn split(value: f64) -> (f32, f32) {
    let hi = value as f32;
    (hi, (value - f64::from(hi)) as f32)
}
