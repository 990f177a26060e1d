//! Pipelines and uniform buffers of the primitives.

use std::marker::PhantomData;
use std::mem;

use bytemuck::Pod;
use valleyscope_engine::loss::LossProgram;

/// The shaders by file name, each with the shared parts in front, as passed to wgpu.
pub const SHADERS: [(&str, &str); 5] = [HEATMAP, TRAILS, PATH, POINTS, CURVE];

/// The heatmap of the paper's valley.
pub(super) const HEATMAP: (&str, &str) = (
    "heatmap",
    concat!(
        include_str!("../../shaders/frame.wgsl"),
        include_str!("../../shaders/heatmap.wgsl"),
        include_str!("../../shaders/valley.wgsl")
    ),
);

/// Returns the shader of the heatmap of a landscape that runs as a program.
pub fn program_shader(program: &LossProgram) -> String {
    const COMMON: &str = concat!(
        include_str!("../../shaders/frame.wgsl"),
        include_str!("../../shaders/heatmap.wgsl"),
        include_str!("../../shaders/program.wgsl")
    );
    format!("{COMMON}\n{}", program.wgsl())
}

pub(super) const TRAILS: (&str, &str) = (
    "trails",
    concat!(
        include_str!("../../shaders/frame.wgsl"),
        include_str!("../../shaders/stroke.wgsl"),
        include_str!("../../shaders/trails.wgsl")
    ),
);
pub(super) const PATH: (&str, &str) = (
    "path",
    concat!(
        include_str!("../../shaders/frame.wgsl"),
        include_str!("../../shaders/stroke.wgsl"),
        include_str!("../../shaders/path.wgsl")
    ),
);
pub(super) const CURVE: (&str, &str) = (
    "curve",
    concat!(
        include_str!("../../shaders/frame.wgsl"),
        include_str!("../../shaders/stroke.wgsl"),
        include_str!("../../shaders/curve.wgsl")
    ),
);
pub(super) const POINTS: (&str, &str) =
    ("points", concat!(include_str!("../../shaders/frame.wgsl"), include_str!("../../shaders/points.wgsl")));

/// The number of bytes of a point (x, y) in a vertex buffer.
pub(super) const POINT_BYTES: u64 = mem::size_of::<[f32; 2]>() as u64;

/// The render target of all pipelines.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub format: wgpu::TextureFormat,
    pub samples: u32,
}

/// The properties specific to one primitive's pipeline.
pub(super) struct Primitive<'a> {
    pub shader: (&'a str, &'a str),
    pub vertex_entry: &'a str,
    pub fragment_entry: &'a str,
    /// The layouts of bind groups 0, 1, ….
    pub bind_groups: &'a [&'a wgpu::BindGroupLayout],
    /// The number of points (x, y) of an instance, each at its own location.
    pub points: usize,
    pub opaque: bool,
}

impl Target {
    pub(super) fn pipeline(&self, device: &wgpu::Device, primitive: &Primitive<'_>) -> wgpu::RenderPipeline {
        let (label, source) = primitive.shader;
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
        let attributes: Vec<_> = (0..primitive.points as u32)
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
        let constants = [("target_encodes", f64::from(u8::from(self.format.is_srgb())))];
        let options = wgpu::PipelineCompilationOptions { constants: &constants, ..Default::default() };
        device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: Some(label),
            layout: Some(&layout),
            vertex: wgpu::VertexState {
                module: &module,
                entry_point: Some(primitive.vertex_entry),
                compilation_options: options.clone(),
                buffers: &buffers,
            },
            primitive: wgpu::PrimitiveState { topology: wgpu::PrimitiveTopology::TriangleStrip, ..Default::default() },
            depth_stencil: None,
            multisample: wgpu::MultisampleState { count: self.samples, ..Default::default() },
            fragment: Some(wgpu::FragmentState {
                module: &module,
                entry_point: Some(primitive.fragment_entry),
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
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some(label),
            entries: &[wgpu::BindGroupLayoutEntry {
                binding: 0,
                visibility: wgpu::ShaderStages::VERTEX_FRAGMENT,
                ty: wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Uniform,
                    has_dynamic_offset: true,
                    min_binding_size: wgpu::BufferSize::new(size as u64),
                },
                count: None,
            }],
        });
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
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: bytes as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(label),
            layout,
            entries: &[wgpu::BindGroupEntry {
                binding: 0,
                resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer: &buffer,
                    offset: 0,
                    size: wgpu::BufferSize::new(mem::size_of::<T>() as u64),
                }),
            }],
        });
        (buffer, bind_group)
    }

    /// Begins a new frame's values.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Adds a value, and returns the offset for [`Uniforms::bind`].
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
