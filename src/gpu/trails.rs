//! The trails of the particles, fading with age.

use super::pipeline::{Ground, POINT_BYTES, TRAILS, Uniforms};
use super::positions::{PositionBuffer, Segments};
use super::uniform::{Trail, rgb};
use super::{EnsembleStyle, Scene};

/// Width of the dark edge on each side, in points.
const EDGE: f32 = 0.75;
/// The largest number of particles whose trails have edges; more would overlap and darken the background.
const MOST_EDGED: usize = 300;
/// The largest number of pieces in which a segment follows the surface in space.
const MOST_PIECES: usize = 32;
/// The number of pieces of all trails of an ensemble from which on segments have fewer pieces.
const MANY_PIECES: usize = 60_000;
/// The number of segments of an ensemble's trails from which on they are not drawn behind the surface in space, where
/// so many would only be a haze and take as long again.
const TOO_MANY_BEHIND: usize = 100_000;

pub(super) struct Trails {
    /// One on the plane; in space, one behind the surface and one in front of it.
    pipelines: Vec<wgpu::RenderPipeline>,
    uniforms: Uniforms<Trail>,
    draws: Vec<Draw>,
}

struct Draw {
    uniforms: u32,
    positions: wgpu::Buffer,
    offset: u64,
    stride: u64,
    instances: u32,
    /// Whether the parts behind the surface are drawn.
    is_seen_behind: bool,
}

impl Trails {
    pub(super) fn new(device: &wgpu::Device, ground: Ground<'_>) -> Self {
        let uniforms = Uniforms::new(device, "trails");
        let entries = ["trail_vertex", "trail_fragment"];
        let pipelines = ground.pipelines(device, TRAILS, entries, &uniforms.layout, 4);
        Trails { pipelines, uniforms, draws: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.uniforms.clear();
        self.draws.clear();
    }

    pub(super) fn add(&mut self, scene: &Scene, style: &EnsembleStyle, positions: &PositionBuffer) {
        let all = (style.trail_steps as usize).min(positions.oldest_age()) * positions.particles;
        let pieces = if scene.space.is_some() { (MANY_PIECES / all.max(1)).clamp(1, MOST_PIECES) as u32 } else { 1 };
        for segments in positions.segments(style.trail_steps as usize) {
            let whole = Trail { pieces, ..trail(scene, style, positions, segments) };
            for piece in 0..pieces {
                let uniforms = self.uniforms.push(Trail { piece, ..whole });
                self.draws.push(Draw {
                    uniforms,
                    positions: positions.buffer.clone(),
                    offset: segments.offset,
                    stride: positions.stride(),
                    instances: (segments.columns * positions.particles) as u32,
                    is_seen_behind: all < TOO_MANY_BEHIND,
                });
            }
        }
    }

    pub(super) fn upload(&mut self, device: &wgpu::Device, queue: &wgpu::Queue) {
        self.uniforms.upload(device, queue);
    }

    /// Draws with the pipeline of this number.
    pub(super) fn paint(&self, pass: &mut wgpu::RenderPass<'_>, pipeline: usize) {
        pass.set_pipeline(&self.pipelines[pipeline]);
        let is_behind = pipeline + 1 < self.pipelines.len();
        for draw in self.draws.iter().filter(|draw| !is_behind || draw.is_seen_behind) {
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
    let opacity = style.opacity * opacity(positions.particles);
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
        ..Trail::default()
    }
}

/// Returns the opacity of a trail: one particle's trail is clear; many are pale, so that dense regions can be told from
/// sparse ones.
fn opacity(particles: usize) -> f32 {
    (particles as f32).powf(-0.15)
}
