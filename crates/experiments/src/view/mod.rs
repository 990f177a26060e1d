//! The view of a landscape: camera, colour scale, and what is drawn. Plain values, no drawing.

mod color_difference;
pub mod formula;
mod height_field;
mod line_colors;
pub mod range;
pub mod rule_summary;
mod space;
pub mod ticks;
mod triangle;

use serde::{Deserialize, Serialize};
use ticks::nice_step;
use valleyscope_engine::landscape::{HomeView, Landscape, LandscapeSpec};

pub use color_difference::{Background, ColorUse, Vision, color_difference, contrasting, faded};
pub use height_field::{HeightField, Sight};
pub use line_colors::{Dash, OwnColors, Pen, assigned_colors, simulation_colors, sweep_colors, usual_colors};
pub use range::{Band, DiagnosticInfo, DiagnosticMetric};
pub use space::{AxisLabel, AxisLine, Orbit, Projected, Ray, SpaceAxes, SpaceAxesStyle, SpaceView, ViewAxes};
pub use ticks::AxisScale;
pub use triangle::{Prediction, ReferenceTriangle, Triangle, TrianglePoint};

/// The drawing settings of the landscape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ViewSettings {
    pub colormap: Colormap,
    /// The colour scale; `None` chooses one for the first view.
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

    pub fn px_from_xy(&self, [x, y]: [f64; 2]) -> [f32; 2] {
        let [width, height] = self.size_px;
        let scale = 1.0 / self.units_per_px();
        [
            ((x - self.camera.center[0]) * scale) as f32 + 0.5 * width,
            0.5 * height - ((y - self.camera.center[1]) * scale) as f32,
        ]
    }

    pub fn xy_from_px(&self, [px, py]: [f32; 2]) -> [f64; 2] {
        let [width, height] = self.size_px;
        let scale = self.units_per_px();
        [
            self.camera.center[0] + f64::from(px - 0.5 * width) * scale,
            self.camera.center[1] - f64::from(py - 0.5 * height) * scale,
        ]
    }
}

/// A logarithm of values with a sign: linear about 0, logarithmic far from it on both sides, so that one scale shows
/// both the gentle slope −cu and the steep walls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written")]
pub struct SymLog {
    /// Below this size values are shown about linearly.
    pub linear: f64,
    /// The value at the lower end of the colours: 0 or less.
    pub min: f64,
    /// The value at the upper end of the colours: more than 0.
    pub max: f64,
}

/// A scale as presets have it.
#[derive(Deserialize)]
#[serde(rename = "SymLog", deny_unknown_fields)]
struct Written {
    linear: f64,
    #[serde(default)]
    min: Option<f64>,
    max: f64,
}

impl From<Written> for SymLog {
    /// Converts a written scale; one without a lower end is symmetric about 0.
    fn from(Written { linear, min, max }: Written) -> SymLog {
        SymLog { linear, min: min.unwrap_or(-max), max }
    }
}

impl SymLog {
    /// The number of equal parts of the colours that contour lines separate.
    pub const CONTOURS: u32 = 24;

    /// A scale from `−max` to `max`.
    pub const fn symmetric(linear: f64, max: f64) -> SymLog {
        SymLog { linear, min: -max, max }
    }

    /// The values at which contour lines lie, from the lowest to the highest. One of them is 0.
    pub fn contour_levels(&self) -> impl Iterator<Item = f64> + use<> {
        let scale = *self;
        let [lowest, highest] = self.contour_range(Self::CONTOURS);
        (lowest..=highest).map(move |level| scale.contour_value(Self::CONTOURS, level))
    }

    /// The numbers of the lowest and of the highest contour line, counted from the one at 0, where the lines separate
    /// this number of equal parts of the colours.
    pub fn contour_range(&self, parts: u32) -> [i32; 2] {
        let zero = self.zero();
        // The tolerance includes a line at an end.
        let whole = |part: f64| (part * f64::from(parts) + 1e-9).floor() as i32;
        [-whole(zero), whole(1.0 - zero)]
    }

    /// The value of a contour line, counted from the one at 0.
    pub fn contour_value(&self, parts: u32, level: i32) -> f64 {
        self.value(self.zero() + f64::from(level) / f64::from(parts))
    }

    /// Position on the colour bar from 0 to 1, not clamped: `(s(L) − s(min)) / (s(max) − s(min))` with
    /// `s(L) = sign(L) ln(1 + |L|/linear)`.
    pub fn position(&self, value: f64) -> f64 {
        self.zero() + self.log(value) / self.length()
    }

    /// The value at a position on the colour bar; the inverse of [`SymLog::position`].
    pub fn value(&self, position: f64) -> f64 {
        let log = (position - self.zero()) * self.length();
        (self.linear * log.abs().exp_m1()).copysign(log)
    }

    /// The derivative of [`SymLog::position`] with respect to the value.
    pub fn slope(&self, value: f64) -> f64 {
        1.0 / ((self.linear + value.abs()) * self.length())
    }

    pub fn zero(&self) -> f64 {
        self.log(self.min).abs() / self.length()
    }

    /// The length of the colour bar in the units of `s`: `s(max) − s(min)`.
    pub fn length(&self) -> f64 {
        self.log(self.max) - self.log(self.min)
    }

    /// `sign(L) ln(1 + |L|/linear)`
    fn log(&self, value: f64) -> f64 {
        (value.abs() / self.linear).ln_1p().copysign(value)
    }
}

/// A colour map. All are perceptually uniform.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Colormap {
    #[default]
    Viridis,
    /// Made for readers with a colour vision deficiency.
    Cividis,
    Magma,
    Inferno,
    Plasma,
}

impl Colormap {
    pub const ALL: [Colormap; 5] =
        [Colormap::Viridis, Colormap::Cividis, Colormap::Magma, Colormap::Inferno, Colormap::Plasma];

    pub fn rgb(self, position: f64) -> [u8; 3] {
        let gradient = match self {
            Colormap::Viridis => colorous::VIRIDIS,
            Colormap::Cividis => colorous::CIVIDIS,
            Colormap::Magma => colorous::MAGMA,
            Colormap::Inferno => colorous::INFERNO,
            Colormap::Plasma => colorous::PLASMA,
        };
        gradient.eval_continuous(position.clamp(0.0, 1.0)).as_array()
    }
}

/// The number of columns of the grid on which the losses in view are sampled.
const COLUMNS: usize = 36;
const ROWS: usize = 24;
/// A scale stays until it is wrong by this factor.
const TOLERANCE: f64 = 2.5;
/// The size of a negative loss, over the largest loss, that may be a rounding error.
const ROUNDING: f64 = 1e-12;
/// The scale where no loss is in view.
const NOTHING_IN_VIEW: SymLog = SymLog::symmetric(1.0, 10.0);

/// The colour scale of the previous view, which stays if possible.
#[derive(Debug, Default)]
pub struct AutoScale {
    current: Option<(Vec<(Landscape, Viewport)>, SymLog)>,
}

impl AutoScale {
    /// Chooses the scale for the parts of landscapes that are in view, in one or several panels.
    ///
    /// The upper end of the colours is about the highest loss in view, except for the highest tenth. The lower end is 0
    /// where no loss in view is negative, so that all colours are used, and else symmetric to the upper end. Linear is
    /// a twelfth of the deepest descent in view, so that the gentle slope −cu takes a good part of the colours however
    /// high the walls are. All are rounded to 1, 2 or 5 times a power of ten, and stay until they are off by more than
    /// a factor of 2.5. Negative colours stay while only the views of the landscapes change. Several views share the
    /// largest ends and the smallest linear part.
    pub fn update(&mut self, views: &[(&Landscape, Viewport)]) -> SymLog {
        let is_same = |current: &[(Landscape, Viewport)], also_views: bool| {
            let is_same = |((of, at), (landscape, viewport)): (&(Landscape, Viewport), &(&Landscape, Viewport))| {
                of == *landscape && (!also_views || at == viewport)
            };
            current.len() == views.len() && current.iter().zip(views).all(is_same)
        };
        if let Some((_, scale)) = self.current.as_ref().filter(|(current, _)| is_same(current, true)) {
            return *scale;
        }
        // Compared panels often show the same landscape in the same view.
        let distinct = views.iter().enumerate().filter(|(index, view)| !views[..*index].contains(view));
        let wanted = distinct.map(|(_, (landscape, viewport))| suitable(landscape, viewport));
        let shared = |a: SymLog, b: SymLog| SymLog {
            linear: a.linear.min(b.linear),
            min: a.min.min(b.min),
            max: a.max.max(b.max),
        };
        let wanted = wanted.reduce(shared).unwrap_or(NOTHING_IN_VIEW);
        let scale = match &self.current {
            None => SymLog { linear: nice_step(wanted.linear), max: nice_step(wanted.max), ..wanted },
            Some((of, current)) => SymLog {
                linear: keep_or_round(current.linear, wanted.linear),
                min: if is_same(of, false) { wanted.min.min(current.min) } else { wanted.min },
                max: keep_or_round(current.max, wanted.max),
            },
        };
        let min = if scale.min < 0.0 { -scale.max } else { 0.0 };
        let scale = SymLog { linear: scale.linear.min(scale.max), min, ..scale };
        let views = views.iter().map(|(landscape, viewport)| ((*landscape).clone(), *viewport));
        self.current = Some((views.collect(), scale));
        scale
    }
}

fn keep_or_round(current: f64, wanted: f64) -> f64 {
    if (wanted / current).ln().abs() <= TOLERANCE.ln() { current } else { nice_step(wanted) }
}

/// Computes the unrounded scale for the losses on a coarse grid over the view.
fn suitable(landscape: &Landscape, viewport: &Viewport) -> SymLog {
    let [width, height] = viewport.size_px;
    let at = |column: usize, row: usize| {
        let px = [width * (column as f32 + 0.5) / COLUMNS as f32, height * (row as f32 + 0.5) / ROWS as f32];
        viewport.xy_from_px(px)
    };
    let x: Vec<f64> = (0..COLUMNS).map(|column| at(column, 0)[0]).collect();
    let mut losses = vec![0.0; COLUMNS * ROWS];
    for (row, losses) in losses.chunks_exact_mut(COLUMNS).enumerate() {
        landscape.losses_along(&x, at(0, row)[1], losses);
    }
    losses.retain(|loss| loss.is_finite());
    if losses.is_empty() {
        return NOTHING_IN_VIEW;
    }
    losses.sort_by(f64::total_cmp);
    let deepest = (-losses[0]).max(0.0);
    let highest = losses[(losses.len() * 9) / 10].max(deepest);
    let max = highest.clamp(1e-12, 1e12);
    let is_negative = deepest > ROUNDING * max;
    let linear = if is_negative { deepest / 12.0 } else { max / 1000.0 };
    SymLog { linear: linear.clamp(1e-6 * max, max), min: if is_negative { -max } else { 0.0 }, max }
}
