//! Drawing the landscape, and the curves of plots, with wgpu. Pipelines are created once; the contents of a frame are
//! plain values.
//!
//! Nothing here depends on the window's state: a [`Scene`] describes the picture, and the positions of particles are
//! passed as they arrive.
//!
//! A primitive is a WGSL file in `shaders/` and a Rust file here, with its pipeline and the data of a frame as plain
//! values. A file in [`SHADERS`] has its entry points validated by a test, and the layout of the structs that it
//! shares with Rust. A test in `tests/` compares pixels with numbers computed on the CPU.

mod curves;
mod landscape;
mod particles;
pub mod pipeline;
mod scene;

use std::collections::HashMap;

pub use curves::{CurveRenderer, CurveSet, CurveStyle, Placement};
use landscape::{Heatmap, SpaceRenderer};
use particles::{Overlays, PositionBuffer};
pub use pipeline::{BEHIND, SHADERS, program_shader};
use pipeline::{Frame, OverlayTarget, Target, Uniforms, split};
pub use scene::{EnsembleKey, EnsembleStyle, Positions, Scene, SpaceScene};

/// The pipelines and buffers that draw scenes on one device.
///
/// It needs no more than the limits of WebGL 2, and so uses no storage buffers.
pub struct Renderer {
    frame: Uniforms<Frame>,
    target: Target,
    heatmap: Heatmap,
    overlays: Overlays,
    /// The pipelines and textures of the surface in space, while it is drawn.
    space: Option<SpaceRenderer>,
    positions: HashMap<EnsembleKey, PositionBuffer>,
    mean_paths: HashMap<EnsembleKey, Vec<[f32; 2]>>,
    /// Whether a scene of at least one pixel is prepared.
    is_prepared: bool,
}

impl Renderer {
    /// Creates the pipelines for render passes with one colour target of `format` and `samples` samples, and no depth.
    /// Colours are written as sRGB values, premultiplied; a format that encodes sRGB gets linear ones.
    pub fn new(device: &wgpu::Device, format: wgpu::TextureFormat, samples: u32) -> Self {
        let target = Target::flat(format, samples);
        let frame = Uniforms::new(device, "frame");
        Renderer {
            heatmap: Heatmap::new(device, target, &frame.layout),
            overlays: Overlays::new(device, OverlayTarget { target, frame: &frame.layout, space: None }),
            space: None,
            target,
            frame,
            positions: HashMap::new(),
            mean_paths: HashMap::new(),
            is_prepared: false,
        }
    }

    /// Adds the newest positions of an ensemble. Only they are uploaded.
    pub fn push_positions(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, positions: Positions<'_>) {
        if positions.particles == 0 {
            self.positions.remove(&positions.ensemble);
            return;
        }
        let buffer =
            self.positions.entry(positions.ensemble).or_insert_with(|| PositionBuffer::new(device, &positions));
        if buffer.particles != positions.particles {
            *buffer = PositionBuffer::new(device, &positions);
        } else if !buffer.is_continued_by(&positions) {
            buffer.begin_anew(&positions);
        }
        buffer.push(device, queue, &positions);
    }

    /// Replaces an ensemble's mean path, a line from its oldest to its newest point.
    pub fn set_mean_path(&mut self, ensemble: EnsembleKey, path: &[[f32; 2]]) {
        self.mean_paths.insert(ensemble, path.to_vec());
    }

    /// Removes every ensemble that is not among `keys`.
    pub fn retain(&mut self, keys: &[EnsembleKey]) {
        self.positions.retain(|key, _| keys.contains(key));
        self.mean_paths.retain(|key, _| keys.contains(key));
    }

    /// Uploads the data that [`Renderer::paint`] needs to draw `scene`. The returned commands draw the surface in
    /// space, if there is one; submit them before those of the pass.
    #[must_use]
    pub fn prepare(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        scene: &Scene,
    ) -> Option<wgpu::CommandBuffer> {
        let [width, height] = scene.viewport.size_px;
        self.is_prepared = width >= 1.0 && height >= 1.0;
        if !self.is_prepared {
            return None;
        }
        self.frame.clear();
        self.frame.push(frame(scene));
        self.frame.upload(device, queue);
        self.heatmap.prepare_colors(queue, scene.colormap);
        let Some(in_space) = &scene.space else {
            self.space = None;
            self.heatmap.prepare(device, queue, scene, &self.frame.layout);
            self.overlays.prepare(device, queue, scene, &self.positions, &self.mean_paths);
            return None;
        };
        let (target, frame) = (self.target, &self.frame.layout);
        let space = self.space.get_or_insert_with(|| SpaceRenderer::new(device, target, frame, &self.heatmap.colors()));
        space.prepare(device, queue, scene, in_space);
        space.overlays.prepare(device, queue, scene, &self.positions, &self.mean_paths);
        Some(space.draw(device, &self.frame))
    }

    /// Draws the prepared scene into the pass's viewport, which has the scene's `size_px`: the
    /// landscape, over it all trails, then the mean paths, then the particles.
    pub fn paint(&self, pass: &mut wgpu::RenderPass<'_>) {
        if !self.is_prepared {
            return;
        }
        self.frame.bind(pass, 0, 0);
        match &self.space {
            Some(space) => space.paint(pass),
            None => {
                self.heatmap.paint(pass);
                self.overlays.paint(pass, 0);
            }
        }
    }
}

fn frame(scene: &Scene) -> Frame {
    let [(x_hi, x_lo), (y_hi, y_lo)] = scene.viewport.camera.center.map(split);
    let [x, y] = [[1.0, 0.0], [0.0, 1.0]].map(|unit| scene.offset(unit).map(|part| part as f32));
    Frame {
        offset_per_unit: [x[0], y[0], x[1], y[1]],
        center_hi: [x_hi, y_hi],
        center_lo: [x_lo, y_lo],
        size_px: scene.viewport.size_px,
        padding: [0.0; 2],
    }
}
