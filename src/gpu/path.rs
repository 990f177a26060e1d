//! The mean path of each ensemble: a line in its colour with a dark casing.

use super::pipeline::{Ground, PATH, POINT_BYTES, Uniforms};
use super::uniform::{Path, rgb};
use super::{EnsembleStyle, Scene};

/// The width of the casing on each side of the line, in points.
const CASING: f32 = 1.0;
/// The smallest distance of points on the screen; closer ones are left out, as shorter pieces would spoil the line's
/// smooth edge.
const SPACING_PX: f32 = 1.0;
/// The longest piece of a line in space, which follows the surface, in halves of the square in view.
const LONGEST_IN_SPACE: f32 = 1.0 / 64.0;
/// The largest number of pieces from one point to the next.
const MOST_PIECES: f32 = 256.0;
/// The missing point before and after each line.
const NO_POINT: [f32; 2] = [f32::NAN; 2];

pub(super) struct Paths {
    /// One on the plane; in space, one behind the surface and one in front of it.
    pipelines: Vec<wgpu::RenderPipeline>,
    uniforms: Uniforms<Path>,
    buffer: wgpu::Buffer,
    /// The points as offsets; each path has a missing point before its first and after its last one.
    points: Vec<[f32; 2]>,
    draws: Vec<Draw>,
}

struct Draw {
    casing: u32,
    line: u32,
    /// The missing point before the path.
    first: u64,
    segments: u32,
}

impl Paths {
    pub(super) fn new(device: &wgpu::Device, ground: Ground<'_>) -> Self {
        let uniforms = Uniforms::new(device, "path");
        let entries = ["path_vertex", "path_fragment"];
        let pipelines = ground.pipelines(device, PATH, entries, &uniforms.layout, 4);
        Paths { pipelines, uniforms, buffer: allocate(device, 1024), points: Vec::new(), draws: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.uniforms.clear();
        self.points.clear();
        self.draws.clear();
    }

    pub(super) fn add(&mut self, scene: &Scene, style: &EnsembleStyle, path: &[[f32; 2]]) {
        let first = self.points.len();
        self.points.push(NO_POINT);
        push_spaced(&mut self.points, scene, path);
        self.points.push(NO_POINT);
        let Some(segments) = (self.points.len() - first).checked_sub(3).filter(|segments| *segments > 0) else {
            self.points.truncate(first);
            return;
        };
        let half_width_px = 0.5 * style.path_width * scene.pixels_per_point;
        let casing_px = CASING * scene.pixels_per_point;
        let line = Path { color: rgb(style.color), half_width_px, opacity: style.opacity, ..Path::default() };
        // Through a pale line its casing would be seen, which therefore is much paler.
        let opacity = style.opacity.powi(4);
        let casing = Path { color: [0.0; 3], half_width_px: half_width_px + casing_px, opacity, ..line };
        self.draws.push(Draw {
            casing: self.uniforms.push(casing),
            line: self.uniforms.push(line),
            first: first as u64,
            segments: segments as u32,
        });
    }

    pub(super) fn upload(&mut self, device: &wgpu::Device, queue: &wgpu::Queue) {
        self.uniforms.upload(device, queue);
        let bytes: &[u8] = bytemuck::cast_slice(&self.points);
        if bytes.len() as u64 > self.buffer.size() {
            self.buffer = allocate(device, self.points.len().next_power_of_two());
        }
        if !bytes.is_empty() {
            queue.write_buffer(&self.buffer, 0, bytes);
        }
    }

    /// Draws with the pipeline of this number.
    pub(super) fn paint(&self, pass: &mut wgpu::RenderPass<'_>, pipeline: usize) {
        pass.set_pipeline(&self.pipelines[pipeline]);
        // All casings are drawn first, so that adjacent paths keep their colours.
        for draw in &self.draws {
            self.paint_one(pass, draw, draw.casing);
        }
        for draw in &self.draws {
            self.paint_one(pass, draw, draw.line);
        }
    }

    fn paint_one(&self, pass: &mut wgpu::RenderPass<'_>, draw: &Draw, uniforms: u32) {
        for point in 0..4 {
            let start = (draw.first + u64::from(point)) * POINT_BYTES;
            let end = start + u64::from(draw.segments) * POINT_BYTES;
            pass.set_vertex_buffer(point, self.buffer.slice(start..end));
        }
        self.uniforms.bind(pass, 1, uniforms);
        pass.draw(0..4, 0..draw.segments);
    }
}

fn allocate(device: &wgpu::Device, points: usize) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("path"),
        size: points as u64 * POINT_BYTES,
        usage: wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

/// Adds a path as offsets, leaving out points that lie close to the one before, but never the last one. Where the mean
/// is not finite the line has a gap. In space, long pieces are divided.
fn push_spaced(points: &mut Vec<[f32; 2]>, scene: &Scene, path: &[[f32; 2]]) {
    let [center_x, center_y] = scene.viewport.camera.center;
    let offset_per_unit = scene.offset_per_unit();
    let (spacing, longest) = match &scene.space {
        None => (SPACING_PX, f32::INFINITY),
        Some(space) => (SPACING_PX / space.view(scene).px_per_unit() as f32, LONGEST_IN_SPACE),
    };
    let mut kept = NO_POINT;
    for (index, [x, y]) in path.iter().enumerate() {
        let point = [
            ((f64::from(*x) - center_x) * offset_per_unit) as f32,
            ((f64::from(*y) - center_y) * offset_per_unit) as f32,
        ];
        let length = (point[0] - kept[0]).hypot(point[1] - kept[1]);
        let is_close = length < spacing;
        if !is_close || index + 1 == path.len() {
            // The comparison fails for a length that is not finite.
            let pieces = if length > longest { (length / longest).ceil().min(MOST_PIECES) as u32 } else { 1 };
            for piece in 1..pieces {
                let part = piece as f32 / pieces as f32;
                points.push([0, 1].map(|axis| kept[axis] + part * (point[axis] - kept[axis])));
            }
            points.push(point);
            kept = point;
        }
    }
}
