//! The visible part of the plane, and the mapping of points to pixels. Pure arithmetic.

use serde::{Deserialize, Serialize};
use valleyscope_engine::landscape::{HomeView, LandscapeSpec};

/// The part of the (x, y) plane in view. One unit is equally long in x and y.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Camera {
    /// The point in the middle of the view.
    pub center: [f64; 2],
    /// Width of the view, in units of the plane.
    pub width: f64,
}

impl Camera {
    /// The initial view of the paper's valley, from the start along the floor.
    pub const HOME: Camera = Camera { center: [0.9, 0.5], width: 3.0 };

    /// Returns the initial view of a landscape.
    pub fn home(landscape: &LandscapeSpec) -> Camera {
        let HomeView { center, width } = landscape.info().home;
        Camera { center, width }
    }
}

/// A camera on a canvas of a given size. Pixels count from the top left, y down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Viewport {
    pub camera: Camera,
    pub size_px: [f32; 2],
}

impl Viewport {
    /// Units of the plane per pixel.
    pub fn units_per_px(&self) -> f64 {
        self.camera.width / f64::from(self.size_px[0].max(1.0))
    }

    /// Returns the position on the canvas of a point of the plane.
    pub fn px_from_xy(&self, [x, y]: [f64; 2]) -> [f32; 2] {
        let [width, height] = self.size_px;
        let scale = 1.0 / self.units_per_px();
        [
            ((x - self.camera.center[0]) * scale) as f32 + 0.5 * width,
            0.5 * height - ((y - self.camera.center[1]) * scale) as f32,
        ]
    }

    /// Returns the point of the plane under a pixel.
    pub fn xy_from_px(&self, [px, py]: [f32; 2]) -> [f64; 2] {
        let [width, height] = self.size_px;
        let scale = self.units_per_px();
        [
            self.camera.center[0] + f64::from(px - 0.5 * width) * scale,
            self.camera.center[1] - f64::from(py - 0.5 * height) * scale,
        ]
    }
}
