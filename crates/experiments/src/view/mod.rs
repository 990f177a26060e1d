//! The view of a landscape: camera, colour scale, and what is drawn. Plain values, no drawing.

mod color_difference;
pub mod formula;
mod height_field;
mod lens;
mod line_colors;
pub mod range;
pub mod rule_summary;
mod space;
pub mod ticks;
mod triangle;

use serde::{Deserialize, Serialize};
use ticks::nice_step;
use valleyscope_engine::landscape::{HomeView, Landscape, LandscapeSpec};

pub use color_difference::{Background, ColorUse, Vision, color_difference, contrasting, faded, legible};
pub use height_field::{HeightField, Sight};
pub use lens::{Lens, LensAxes};
pub use line_colors::{Dash, OwnColors, Pen, assigned_colors, simulation_colors, sweep_colors, usual_colors};
pub use range::{Band, DiagnosticInfo, DiagnosticMetric};
pub use space::{AxisLabel, AxisLine, Orbit, Projected, Ray, SpaceAxes, SpaceAxesStyle, SpaceView, ViewAxes};
pub use ticks::AxisScale;
pub use triangle::{ReferenceTriangle, Triangle, TrianglePoint};

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
    /// The initial camera of the projection; `None` is [`Camera::home`] of the landscape.
    pub camera: Option<Camera>,
    pub projection: ViewProjection,
    /// The inset with the view along the valley, on the other projections.
    pub inset: Option<Inset>,
    /// The initial direction of view of the surface; `None` is [`Orbit::HOME`].
    pub orbit: Option<Orbit>,
}

impl ViewSettings {
    /// The largest length of a trail.
    pub const MAX_TRAIL_STEPS: u32 = 10_000;

    /// Returns whether the landscape is drawn as a surface in space.
    pub fn is_in_space(&self) -> bool {
        self.projection == ViewProjection::Space
    }

    /// Returns whether the view along the valley is drawn on the whole canvas.
    pub fn is_along_valley(&self) -> bool {
        self.projection == ViewProjection::Valley
    }

    /// Returns the inset that is drawn.
    pub fn shown_inset(&self) -> Option<Inset> {
        self.inset.filter(|_| !self.is_along_valley())
    }

    /// Changes to a projection, or from it to the plane.
    pub fn toggle(&mut self, projection: ViewProjection) {
        self.projection = if self.projection == projection { ViewProjection::Plane } else { projection };
    }
}

/// The way in which the landscape is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ViewProjection {
    /// Draws the plane from above, with one scale for x and y.
    #[default]
    Plane,
    /// Draws a surface in space, whose height is the loss.
    Space,
    /// Draws the landscape's coordinates u and v, each with its own scale, which follows the particles.
    Valley,
}

impl ViewProjection {
    pub const ALL: [ViewProjection; 3] = [ViewProjection::Plane, ViewProjection::Space, ViewProjection::Valley];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        self.words()[0]
    }

    /// Returns the name on the command line, the label of the button, and a description with the key.
    pub fn words(self) -> [&'static str; 3] {
        match self {
            ViewProjection::Plane => ["2d", "2-D", "From above, 2-D"],
            ViewProjection::Space => ["3d", "3-D", "Surface in space, 3-D (3)"],
            ViewProjection::Valley => ["valley", "Valley", "Along the valley, each axis with its own scale (4)"],
        }
    }
}

/// The position and size of the inset with the view along the valley, in parts of the canvas.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Inset {
    /// The upper left corner.
    pub at: [f32; 2],
    pub size: [f32; 2],
}

impl Default for Inset {
    /// The lower right corner.
    fn default() -> Inset {
        Inset { at: [0.46, 0.57], size: [0.53, 0.42] }
    }
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
            projection: ViewProjection::Plane,
            inset: None,
            orbit: None,
        }
    }
}

/// The part of the (x, y) plane in view. Without a lens, one unit is equally long in x and y.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Camera {
    /// The point in the middle of the view.
    pub center: [f64; 2],
    /// Width of the view, in units of the plane.
    pub width: f64,
    /// The axes of the view.
    #[serde(default, skip_serializing_if = "Lens::is_none")]
    pub lens: Lens,
}

impl Camera {
    /// The initial view of the paper's valley, from the start along the floor.
    pub const HOME: Camera = Camera::new([0.9, 0.5], 3.0);

    /// A camera that looks at the plane from above.
    pub const fn new(center: [f64; 2], width: f64) -> Camera {
        Camera { center, width, lens: Lens::NONE }
    }

    pub fn home(landscape: &LandscapeSpec) -> Camera {
        let HomeView { center, width } = landscape.info().home;
        Camera::new(center, width)
    }
}

/// A camera on a canvas of a given size. Pixels count from the top left, y down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Viewport {
    pub camera: Camera,
    pub size_px: [f32; 2],
}

impl Viewport {
    /// Units of the plane per pixel, to the right.
    pub fn units_per_px(&self) -> f64 {
        self.camera.width / f64::from(self.size_px[0].max(1.0))
    }

    /// The vectors of the plane that are one pixel long, to the right and upwards.
    pub fn xy_per_px(&self) -> [[f64; 2]; 2] {
        let (scale, Lens { right: [cos, sin], stretch, .. }) = (self.units_per_px(), self.camera.lens);
        [[scale * cos, scale * sin], [-scale * sin / stretch, scale * cos / stretch]]
    }

    /// The pixels to the right and upwards of a vector of the plane.
    pub fn px_of_vector(&self, vector: [f64; 2]) -> [f64; 2] {
        let ([along, across], scale) = (self.camera.lens.coordinates(vector), 1.0 / self.units_per_px());
        [along * scale, across * scale * self.camera.lens.stretch]
    }

    pub fn px_from_xy(&self, [x, y]: [f64; 2]) -> [f32; 2] {
        let ([width, height], [x_0, y_0]) = (self.size_px, self.camera.center);
        let [right, up] = self.px_of_vector([x - x_0, y - y_0]);
        [right as f32 + 0.5 * width, 0.5 * height - up as f32]
    }

    pub fn xy_from_px(&self, [px, py]: [f32; 2]) -> [f64; 2] {
        let ([width, height], [first, second]) = (self.size_px, self.xy_per_px());
        let (right, up) = (f64::from(px - 0.5 * width), f64::from(0.5 * height - py));
        [0, 1].map(|axis| self.camera.center[axis] + right * first[axis] + up * second[axis])
    }

    /// The coordinates in the lens of the lower left and the upper right corner.
    pub fn corners(&self) -> [[f64; 2]; 2] {
        let [width, height] = self.size_px;
        [[0.0, height], [width, 0.0]].map(|corner| self.camera.lens.coordinates(self.xy_from_px(corner)))
    }

    /// The number of equal parts of the colours that contour lines separate: [`SymLog::CONTOURS`], and through a lens,
    /// in which losses differ less, so many times more by a power of two that at least some lines are in view.
    pub fn contours(&self, landscape: &Landscape, scale: &SymLog) -> u32 {
        const LEAST: f64 = 9.0;
        const FINEST: u32 = 64;
        if self.camera.lens.is_none() {
            return SymLog::CONTOURS;
        }
        let [width, height] = self.size_px;
        let parts = [0.0, 0.25, 0.5, 0.75, 1.0];
        let points = parts.iter().flat_map(|x| parts.map(|y| [width * x, height * y]));
        let levels = points.map(|px| scale.position(landscape.loss(self.xy_from_px(px))).clamp(0.0, 1.0));
        let [low, high] = levels.fold([1.0, 0.0], |[low, high]: [f64; 2], level| [low.min(level), high.max(level)]);
        let lines = (high - low).max(0.0) * f64::from(SymLog::CONTOURS);
        let finer = (LEAST / lines).log2().ceil().exp2().clamp(1.0, f64::from(FINEST));
        SymLog::CONTOURS * finer as u32
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

    /// The values at which contour lines lie that separate this number of equal parts of the colours, from the lowest
    /// to the highest. One of them is 0.
    pub fn contour_levels(&self, parts: u32) -> impl Iterator<Item = f64> + use<> {
        let scale = *self;
        let [lowest, highest] = self.contour_range(parts);
        (lowest..=highest).map(move |level| scale.contour_value(parts, level))
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
    let points = (0..ROWS).flat_map(|row| (0..COLUMNS).map(move |column| (column, row)));
    let losses = points.map(|(column, row)| landscape.loss(at(column, row)));
    let mut losses: Vec<f64> = losses.filter(|loss| loss.is_finite()).collect();
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
