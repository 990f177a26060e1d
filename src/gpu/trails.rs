//! The trails of the particles, fading with age.

use super::pipeline::{POINT_BYTES, Primitive, TRAILS, Target, Uniforms};
use super::positions::{PositionBuffer, Segments};
use super::uniform::{Trail, rgb};
use super::{EnsembleStyle, Scene};

/// Width of the dark edge on each side, in points.
const EDGE: f32 = 0.75;
/// The largest number of particles whose trails have edges; more would overlap and darken the background.
const MOST_EDGED: usize = 300;

pub(super) struct Trails {
    pipeline: wgpu::RenderPipeline,
    uniforms: Uniforms<Trail>,
    draws: Vec<Draw>,
}

struct Draw {
    uniforms: u32,
    positions: wgpu::Buffer,
    offset: u64,
    stride: u64,
    instances: u32,
}

impl Trails {
    pub(super) fn new(device: &wgpu::Device, target: Target, frame: &wgpu::BindGroupLayout) -> Self {
        let uniforms = Uniforms::new(device, "trails");
        let primitive = Primitive {
            shader: TRAILS,
            vertex_entry: "trail_vertex",
            fragment_entry: "trail_fragment",
            bind_groups: &[frame, &uniforms.layout],
            points: 4,
            opaque: false,
        };
        Trails { pipeline: target.pipeline(device, &primitive), uniforms, draws: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.uniforms.clear();
        self.draws.clear();
    }

    pub(super) fn add(&mut self, scene: &Scene, style: &EnsembleStyle, positions: &PositionBuffer) {
        for segments in positions.segments(style.trail_steps as usize) {
            let uniforms = self.uniforms.push(trail(scene, style, positions, segments));
            self.draws.push(Draw {
                uniforms,
                positions: positions.buffer.clone(),
                offset: segments.offset,
                stride: positions.stride(),
                instances: (segments.columns * positions.particles) as u32,
            });
        }
    }

    pub(super) fn upload(&mut self, device: &wgpu::Device, queue: &wgpu::Queue) {
        self.uniforms.upload(device, queue);
    }

    pub(super) fn paint(&self, pass: &mut wgpu::RenderPass<'_>) {
        pass.set_pipeline(&self.pipeline);
        for draw in &self.draws {
            self.uniforms.bind(pass, 1, draw.uniforms);
            for column in 0..4 {
                let start = draw.offset + u64::from(column) * draw.stride;
                let end = start + u64::from(draw.instances) * POINT_BYTES;
                pass.set_vertex_buffer(column, draw.positions.slice(start..end));
            }
            pass.draw(0..4, 0..draw.instances);
        }
    }
}

fn trail(scene: &Scene, style: &EnsembleStyle, positions: &PositionBuffer, segments: Segments) -> Trail {
    let opacity = opacity(positions.particles);
    let edge = if positions.particles <= MOST_EDGED { EDGE } else { 0.0 };
    Trail {
        color: rgb(style.color),
        opacity,
        edge_opacity: 0.5 * opacity * opacity,
        edge_px: edge * scene.pixels_per_point,
        half_width_px: 0.5 * style.trail_width * scene.pixels_per_point,
        fade_steps: style.trail_steps as f32,
        first_age: segments.first_age as u32,
        oldest_age: positions.oldest_age() as u32,
        particles: positions.particles as u32,
        padding: 0,
    }
}

/// Returns the opacity of a trail: one particle's trail is clear; many are pale, so that dense regions can be told from
/// sparse ones.
fn opacity(particles: usize) -> f32 {
    (particles as f32).powf(-0.15)
}
