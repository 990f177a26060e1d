//! The particles at their current positions, as discs.

use super::pipeline::{Ground, POINT_BYTES, POINTS, Uniforms};
use super::positions::PositionBuffer;
use super::uniform::{Disc, rgb};
use super::{EnsembleStyle, Scene};

/// Width of a disc's dark edge, in points.
const EDGE: f32 = 0.75;
/// The gap between a selected particle and its ring, and the ring's own width, in points.
const RING_GAP: f32 = 2.0;
const RING_WIDTH: f32 = 1.5;

pub(super) struct Points {
    /// One on the plane; in space, one behind the surface and one in front of it.
    pipelines: Vec<wgpu::RenderPipeline>,
    uniforms: Uniforms<Disc>,
    /// The draws, selected particles last, so that nothing covers them.
    draws: Vec<Draw>,
    selected: Vec<Draw>,
}

struct Draw {
    uniforms: u32,
    positions: wgpu::Buffer,
    offset: u64,
    instances: u32,
}

impl Points {
    pub(super) fn new(device: &wgpu::Device, ground: Ground<'_>) -> Self {
        let uniforms = Uniforms::new(device, "points");
        let entries = ["point_vertex", "point_fragment"];
        let pipelines = ground.pipelines(device, POINTS, entries, &uniforms.layout, 1);
        Points { pipelines, uniforms, draws: Vec::new(), selected: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.uniforms.clear();
        self.draws.clear();
        self.selected.clear();
    }

    pub(super) fn add(&mut self, scene: &Scene, style: &EnsembleStyle, positions: &PositionBuffer) {
        let Some(offset) = positions.newest_offset() else { return };
        let plain = disc(scene, style, positions.particles);
        self.draws.push(Draw {
            uniforms: self.uniforms.push(plain),
            positions: positions.buffer.clone(),
            offset,
            instances: positions.particles as u32,
        });
        let Some(selected) = style.selected.filter(|index| (*index as usize) < positions.particles) else { return };
        let ring_half_width = 0.5 * RING_WIDTH;
        let ringed = Disc {
            edge_opacity: 0.8,
            ring_radius_px: plain.radius_px + (RING_GAP + ring_half_width) * scene.pixels_per_point,
            ring_half_width_px: ring_half_width * scene.pixels_per_point,
            ..plain
        };
        self.selected.push(Draw {
            uniforms: self.uniforms.push(ringed),
            positions: positions.buffer.clone(),
            offset: offset + u64::from(selected) * POINT_BYTES,
            instances: 1,
        });
    }

    pub(super) fn upload(&mut self, device: &wgpu::Device, queue: &wgpu::Queue) {
        self.uniforms.upload(device, queue);
    }

    /// Draws with the pipeline of this number.
    pub(super) fn paint(&self, pass: &mut wgpu::RenderPass<'_>, pipeline: usize) {
        pass.set_pipeline(&self.pipelines[pipeline]);
        for draw in self.draws.iter().chain(&self.selected) {
            self.uniforms.bind(pass, 1, draw.uniforms);
            let end = draw.offset + u64::from(draw.instances) * POINT_BYTES;
            pass.set_vertex_buffer(0, draw.positions.slice(draw.offset..end));
            pass.draw(0..4, 0..draw.instances);
        }
    }
}

/// Returns the uniform values of an ensemble's discs. One particle has a clear edge; the edges of many would overlap to
/// a dark mass.
fn disc(scene: &Scene, style: &EnsembleStyle, particles: usize) -> Disc {
    Disc {
        color: rgb(style.color),
        radius_px: style.point_radius * scene.pixels_per_point,
        edge_opacity: 0.8 * (particles as f32).powf(-0.1),
        edge_px: EDGE * scene.pixels_per_point,
        opacity: style.opacity,
        ..Disc::default()
    }
}
