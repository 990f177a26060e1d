//! The view of a landscape: camera, colour scale, and what is drawn. Plain values, no drawing.

use serde::{Deserialize, Serialize};

mod assigned_colors;
mod auto_scale;
mod axis;
mod camera;
mod color_difference;
mod contrast;
pub mod crossing;
mod diagnostic;
pub mod formula;
mod height_field;
mod pen;
pub mod range;
pub mod rule_summary;
mod scale;
mod space;
mod space_axes;
pub mod ticks;

pub use assigned_colors::{OwnColors, assigned_colors, simulation_colors, sweep_colors, usual_colors};
pub use auto_scale::AutoScale;
pub use axis::AxisScale;
pub use camera::{Camera, Viewport};
pub use color_difference::{ColorUse, Vision, color_difference, pale};
pub use contrast::{Background, contrasting};
pub use diagnostic::{Band, DiagnosticInfo, DiagnosticMetric};
pub use height_field::{HeightField, Sight};
pub use pen::{Dash, Pen};
pub use scale::{Colormap, SymLog};
pub use space::{Orbit, Projected, Ray, SpaceView, ViewAxes};
pub use space_axes::{AxisLabel, AxisLine, SpaceAxes, SpaceAxesStyle};

/// The drawing settings of the landscape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ViewSettings {
    pub colormap: Colormap,
    /// The colour scale; `None` follows the part of the landscape in view.
    pub scale: Option<SymLog>,
    pub contours: bool,
    /// The drawn frame of the valley coordinates u and v.
    pub uv_frame: bool,
    /// Steps of trail behind each particle.
    pub trail_steps: u32,
    pub trail_width: f32,
    pub point_radius: f32,
    pub mean_path: bool,
    /// Whether the camera keeps the particles in view.
    pub follow: bool,
    /// Whether the selected particle has arrows.
    pub glyphs: bool,
    /// The initial camera; `None` is [`Camera::home`] of the landscape.
    pub camera: Option<Camera>,
    /// Whether the landscape is drawn as a surface in space.
    pub space: bool,
    /// The initial direction of view of the surface; `None` is [`Orbit::HOME`].
    pub orbit: Option<Orbit>,
}

impl ViewSettings {
    /// The largest length of a trail.
    pub const MAX_TRAIL_STEPS: u32 = 10_000;
}

impl Default for ViewSettings {
    fn default() -> Self {
        ViewSettings {
            colormap: Colormap::default(),
            scale: None,
            contours: true,
            uv_frame: true,
            trail_steps: 60,
            trail_width: 1.0,
            point_radius: 2.5,
            mean_path: true,
            follow: true,
            glyphs: true,
            camera: None,
            space: false,
            orbit: None,
        }
    }
}
