//! The scene of a landscape: its picture, the styles of the ensembles, and their newest positions.

use std::sync::Arc;

use valleyscope_engine::landscape::Landscape;
use valleyscope_experiments::view::{Colormap, HeightField, Orbit, SpaceView, SymLog, Viewport};

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
    /// The size of the box, as of [`SpaceView`].
    pub cover: f64,
    /// The heights of the surface for the scene's landscape, camera and scale.
    pub heights: Arc<HeightField>,
}

impl SpaceScene {
    pub(super) fn view(&self, scene: &Scene) -> SpaceView {
        let Viewport { camera, size_px } = scene.viewport;
        SpaceView { camera, orbit: self.orbit, size_px, cover: self.cover }
    }
}

impl Scene {
    /// The offset in the shaders of a point at a distance from the camera's centre.
    pub(super) fn offset(&self, from_center: [f64; 2]) -> [f64; 2] {
        match self.space {
            None => self.viewport.px_of_vector(from_center),
            Some(_) => from_center.map(|part| part * 2.0 / self.viewport.camera.width),
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
    /// The largest number of columns to keep, fewer if the device cannot hold them. Trails of n steps need n + 1.
    pub capacity: usize,
    /// The step of the last column. A column replaces an older one of the same step; after a gap in the steps, the
    /// trail starts again.
    pub step: u64,
    /// `columns × particles` points (x, y), oldest column first, one column per step.
    pub columns: &'a [[f32; 2]],
}
