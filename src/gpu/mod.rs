//! Drawing the landscape, and the curves of plots, with wgpu. Pipelines are created once; the contents of a frame are
//! plain values.
//!
//! Nothing here depends on the window's state: a [`Scene`] describes the picture, and the positions of particles are
//! passed as they arrive.
//!
//! A primitive is a WGSL file in `shaders/` and a Rust file here, with its pipeline and the data of a frame as plain
//! values. A file in [`SHADERS`] has its entry points validated by a test, and the layout of the structs that it
//! shares with Rust. A test in `tests/` compares pixels with numbers computed on the CPU.

use std::collections::HashMap;
use std::sync::Arc;

use valleyscope_engine::landscape::Landscape;
use valleyscope_experiments::view::{Colormap, HeightField, Orbit, SpaceView, SymLog, Viewport};

mod curves;
mod landscape;
mod particles;
pub mod pipeline;

pub use curves::{CurveRenderer, CurveSet, CurveStyle, Placement};
pub use pipeline::{BEHIND, SHADERS, program_shader};

use landscape::Heatmap;
use landscape::SpaceRenderer;
use particles::Paths;
use particles::Points;
use particles::PositionBuffer;
use particles::Trails;
use pipeline::{Frame, split};
use pipeline::{OverlayTarget, Target, Uniforms};

/// The contents of one picture of the landscape, except for the particles' positions.
#[derive(Clone, Debug)]
pub struct Scene {
    pub viewport: Viewport,
    pub landscape: Landscape,
    pub scale: SymLog,
    pub colormap: Colormap,
    /// The number n of contour intervals: lines lie at 0/n, 1/n, … n/n of the colour bar; 0 for none. They fade out
    /// where they would come closer than some 4 pixels.
    pub contours: u32,
    /// Physical pixels per point of the interface, by which widths and radii are multiplied.
    pub pixels_per_point: f32,
    /// The ensembles in drawing order.
    pub ensembles: Vec<EnsembleStyle>,
    /// The surface in space that is drawn instead of the plane.
    pub space: Option<SpaceScene>,
}

/// The landscape as a surface in space, over the square about the camera's centre.
#[derive(Clone, Debug)]
pub struct SpaceScene {
    pub orbit: Orbit,
    /// The heights of the surface for the scene's landscape, camera and scale.
    pub heights: Arc<HeightField>,
}

impl SpaceScene {
    fn view(&self, scene: &Scene) -> SpaceView {
        SpaceView { camera: scene.viewport.camera, orbit: self.orbit, size_px: scene.viewport.size_px }
    }
}

impl Scene {
    /// The offset in the shaders of a point one unit of the plane from the camera's centre.
    fn offset_per_unit(&self) -> f64 {
        match self.space {
            None => 1.0 / self.viewport.units_per_px(),
            Some(_) => 2.0 / self.viewport.camera.width,
        }
    }
}

/// The name of an ensemble: its session, and its optimizer there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EnsembleKey {
    /// The number of the session; 0 for the first one.
    pub session: u64,
    /// The optimizer's id.
    pub optimizer: u32,
}

#[derive(Clone, Debug)]
pub struct EnsembleStyle {
    /// The name under which its positions were added.
    pub key: EnsembleKey,
    /// The sRGB colour.
    pub color: [u8; 3],
    /// The opacity of all its marks, from 0 to 1.
    pub opacity: f32,
    /// Steps of trail behind each particle; it fades to nothing over its length. 0 for none.
    pub trail_steps: u32,
    /// The width of trails, in points.
    pub trail_width: f32,
    /// The radius of particles, in points.
    pub point_radius: f32,
    /// The width of the mean path, in points; 0 for none.
    pub path_width: f32,
    /// The particle that is drawn with a ring around it.
    pub selected: Option<u32>,
}

/// The newest positions of one ensemble.
#[derive(Clone, Copy, Debug)]
pub struct Positions<'a> {
    /// The number of the run. A new run, or another number of particles, discards the older positions.
    pub run: u64,
    pub ensemble: EnsembleKey,
    pub particles: usize,
    /// The largest number of columns to store, fewer if the device cannot hold them. Trails of n steps need n + 1.
    pub capacity: usize,
    /// The step of the last column. A column replaces an older one of the same step; after a gap in the steps, the
    /// trail starts again.
    pub step: u64,
    /// `columns × particles` points (x, y), oldest column first, one column per step.
    pub columns: &'a [[f32; 2]],
}

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
        let stored = self.mean_paths.entry(ensemble).or_default();
        stored.clear();
        stored.extend_from_slice(path);
    }

    /// Removes every ensemble that is not among `keys`.
    pub fn retain(&mut self, keys: &[EnsembleKey]) {
        self.positions.retain(|key, _| keys.contains(key));
        self.mean_paths.retain(|key, _| keys.contains(key));
    }

    /// Uploads the data that [`Renderer::paint`] needs to draw `scene`. The returned commands draw the surface in space,
    /// if there is one; submit them before those of the pass.
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
        self.heatmap.prepare_colors(queue, scene);
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

/// The trails, mean paths and particles on the plane or on the surface.
struct Overlays {
    trails: Trails,
    paths: Paths,
    points: Points,
}

impl Overlays {
    fn new(device: &wgpu::Device, target: OverlayTarget<'_>) -> Overlays {
        Overlays {
            trails: Trails::new(device, target),
            paths: Paths::new(device, target),
            points: Points::new(device, target),
        }
    }

    fn prepare(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        scene: &Scene,
        positions: &HashMap<EnsembleKey, PositionBuffer>,
        mean_paths: &HashMap<EnsembleKey, Vec<[f32; 2]>>,
    ) {
        self.trails.clear();
        self.paths.clear();
        self.points.clear();
        for style in &scene.ensembles {
            if let Some(positions) = positions.get(&style.key) {
                self.trails.add(scene, style, positions);
                self.points.add(scene, style, positions);
            }
            if let Some(path) = mean_paths.get(&style.key).filter(|_| style.path_width > 0.0) {
                self.paths.add(scene, style, path);
            }
        }
        self.trails.upload(device, queue);
        self.paths.upload(device, queue);
        self.points.upload(device, queue);
    }

    fn paint(&self, pass: &mut wgpu::RenderPass<'_>, pipeline: usize) {
        self.trails.paint(pass, pipeline);
        self.paths.paint(pass, pipeline);
        self.points.paint(pass, pipeline);
    }
}

fn frame(scene: &Scene) -> Frame {
    let [(x_hi, x_lo), (y_hi, y_lo)] = scene.viewport.camera.center.map(split);
    Frame {
        center_hi: [x_hi, y_hi],
        center_lo: [x_lo, y_lo],
        size_px: scene.viewport.size_px,
        offset_per_unit: scene.offset_per_unit() as f32,
        padding: 0.0,
    }
}
