//! The view of a landscape as a surface in space, and its axes. Pure arithmetic.

use serde::{Deserialize, Serialize};

use super::ticks::Ticks;
use super::{Camera, SymLog};

/// The direction from which the surface is seen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Orbit {
    /// The direction from the middle of the box to the eye, in degrees counter-clockwise from x.
    pub azimuth: f64,
    /// The angle of the eye above the plane, in degrees.
    pub elevation: f64,
}

impl Orbit {
    /// The initial direction, up the paper’s valley.
    pub const HOME: Orbit = Orbit { azimuth: -148.0, elevation: 40.0 };
    /// The allowed elevations: the surface is never seen from below.
    pub const ELEVATIONS: std::ops::RangeInclusive<f64> = 5.0..=90.0;

    /// Normalizes the azimuth to −180° to 180°, and clamps the elevation.
    pub fn limited(self) -> Orbit {
        let [azimuth, elevation] = [(self.azimuth, Orbit::HOME.azimuth), (self.elevation, Orbit::HOME.elevation)]
            .map(|(angle, usual)| if angle.is_finite() { angle } else { usual });
        Orbit {
            azimuth: (azimuth + 180.0).rem_euclid(360.0) - 180.0,
            elevation: elevation.clamp(*Orbit::ELEVATIONS.start(), *Orbit::ELEVATIONS.end()),
        }
    }

    /// Turns the direction about the vertical and over the surface, in degrees.
    pub fn turned(self, [azimuth, elevation]: [f64; 2]) -> Orbit {
        Orbit { azimuth: self.azimuth + azimuth, elevation: self.elevation + elevation }.limited()
    }

    /// Returns the direction after this share of the shortest way to this one from straight above, where x and y lie as
    /// on the plane.
    pub fn reached_from_above(self, share: f64) -> Orbit {
        let Orbit { azimuth, elevation } = Orbit { azimuth: self.azimuth + 90.0, ..self }.limited();
        Orbit { azimuth: share * azimuth - 90.0, elevation: 90.0 + share * (elevation - 90.0) }.limited()
    }
}

/// The directions of the picture in the box, each of length 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ViewAxes {
    pub right: [f64; 3],
    pub up: [f64; 3],
    /// The direction from the box to the eye.
    pub back: [f64; 3],
}

/// The position of a point on the canvas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Projected {
    /// Pixels from the top left, y down.
    pub px: [f32; 2],
    /// The distance from the eye along the direction of view.
    pub distance: f64,
}

/// A line of sight in the box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ray {
    pub origin: [f64; 3],
    /// The direction away from the eye, of length 1.
    pub direction: [f64; 3],
}

impl Ray {
    pub fn at(&self, distance: f64) -> [f64; 3] {
        [0, 1, 2].map(|axis| self.origin[axis] + distance * self.direction[axis])
    }
}

/// The projection of a surface in space onto a canvas of a given size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpaceView {
    pub camera: Camera,
    pub orbit: Orbit,
    pub size_px: [f32; 2],
    /// The size of the box: at 0 all of it is seen with its axes, at 1 it is as wide as the canvas, like the part of the
    /// plane in view.
    pub cover: f64,
}

impl SpaceView {
    /// The distance of the eye from the middle of the box.
    pub const DISTANCE: f64 = 6.0;
    /// The half width and the half height that the canvas shows at least, at the distance of the box's middle.
    const HALF_SIZE: [f64; 2] = [1.74, 1.5];
    /// The distance of the middle of the box above that of the canvas, which leaves more room for the near edges and
    /// the labels of the axes below.
    const LIFT: f64 = 0.2;

    /// The brightness of the surface without light, and what full light adds to it.
    pub const AMBIENT: f64 = 0.42;
    pub const DIFFUSE: f64 = 0.62;

    /// The direction to the light, of length 1: from above the left shoulder of the viewer.
    pub fn light(&self) -> [f64; 3] {
        let ViewAxes { right, up, back } = self.axes();
        let light = [0, 1, 2].map(|axis| 0.5 * back[axis] + 0.75 * up[axis] - 0.45 * right[axis]);
        let length = dot(light, light).sqrt();
        light.map(|part| part / length)
    }

    /// The factor by which the colour of a surface with this normal of length 1 is darkened or lightened.
    pub fn brightness(&self, normal: [f64; 3]) -> f64 {
        SpaceView::AMBIENT + SpaceView::DIFFUSE * dot(normal, self.light()).max(0.0)
    }

    /// The pixels per unit of the box, at the distance of its middle.
    pub fn px_per_unit(&self) -> f64 {
        let (whole, width) = (self.px_per_unit_of_whole(), f64::from(self.size_px[0].max(1.0)));
        whole * (0.5 * width / whole).powf(self.cover)
    }

    fn px_per_unit_of_whole(&self) -> f64 {
        let [width, height] = self.size_px.map(|size| f64::from(size.max(1.0)));
        let [half_width, half_height] = SpaceView::HALF_SIZE;
        (0.5 * width / half_width).min(0.5 * height / half_height)
    }

    pub fn middle_px(&self) -> [f64; 2] {
        let [width, height] = self.size_px.map(f64::from);
        [0.5 * width, 0.5 * height - (1.0 - self.cover) * SpaceView::LIFT * self.px_per_unit_of_whole()]
    }

    pub fn axes(&self) -> ViewAxes {
        let (sin_a, cos_a) = self.orbit.azimuth.to_radians().sin_cos();
        let (sin_e, cos_e) = self.orbit.elevation.to_radians().sin_cos();
        ViewAxes {
            right: [-sin_a, cos_a, 0.0],
            up: [-sin_e * cos_a, -sin_e * sin_a, cos_e],
            back: [cos_e * cos_a, cos_e * sin_a, sin_e],
        }
    }

    pub fn eye(&self) -> [f64; 3] {
        self.axes().back.map(|part| SpaceView::DISTANCE * part)
    }

    /// Converts a point of the plane to the box, whose square is from −1 to 1.
    pub fn box_from_xy(&self, xy: [f64; 2]) -> [f64; 2] {
        [0, 1].map(|axis| (xy[axis] - self.camera.center[axis]) * 2.0 / self.camera.width)
    }

    /// Converts a point of the box to the plane.
    pub fn xy_from_box(&self, at: [f64; 2]) -> [f64; 2] {
        [0, 1].map(|axis| self.camera.center[axis] + at[axis] * 0.5 * self.camera.width)
    }

    /// Projects a point of the box onto the canvas.
    pub fn project(&self, point: [f64; 3]) -> Projected {
        let ViewAxes { right, up, back } = self.axes();
        let distance = SpaceView::DISTANCE - dot(back, point);
        let scale = self.px_per_unit() * SpaceView::DISTANCE / distance;
        let [middle_x, middle_y] = self.middle_px();
        let px = [middle_x + scale * dot(right, point), middle_y - scale * dot(up, point)];
        Projected { px: px.map(|px| px as f32), distance }
    }

    pub fn ray(&self, [px, py]: [f32; 2]) -> Ray {
        let ViewAxes { right, up, back } = self.axes();
        let scale = self.px_per_unit() * SpaceView::DISTANCE;
        let [middle_x, middle_y] = self.middle_px();
        let [along, above] = [(f64::from(px) - middle_x) / scale, (middle_y - f64::from(py)) / scale];
        let direction = [0, 1, 2].map(|axis| along * right[axis] + above * up[axis] - back[axis]);
        let length = dot(direction, direction).sqrt();
        Ray { origin: self.eye(), direction: direction.map(|part| part / length) }
    }

    /// Moves the camera as if the picture was dragged by `delta_px`, along the plane through the middle of the box.
    pub fn panned(&self, [dx, dy]: [f32; 2]) -> Camera {
        let (sin_a, cos_a) = self.orbit.azimuth.to_radians().sin_cos();
        // Seen nearly from the side, the plane would move by far more than the pointer.
        let foreshortening = self.orbit.elevation.to_radians().sin().max(0.3);
        let units_per_px = 0.5 * self.camera.width / self.px_per_unit();
        let (right, away) = (f64::from(dx) * units_per_px, -f64::from(dy) * units_per_px / foreshortening);
        let moved = [-sin_a * right - cos_a * away, cos_a * right - sin_a * away];
        Camera { center: [0, 1].map(|axis| self.camera.center[axis] - moved[axis]), ..self.camera }
    }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The sizes of the axes' parts, in the units of the canvas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpaceAxesStyle {
    /// The length of a tick, and the gap between it and its label.
    pub tick: f64,
    pub gap: f64,
    pub name: f64,
    /// The smallest distances between ticks: along x and y, and along the loss.
    pub spacing: [f64; 2],
}

/// A straight line on the canvas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AxisLine {
    pub ends: [[f64; 2]; 2],
    /// True for the frame of a wall, false for the grid on it.
    pub is_frame: bool,
}

/// A text on the canvas.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisLabel {
    /// The point next to the text, and the direction of length 1 from the point to the text.
    pub at: [f64; 2],
    pub outward: [f64; 2],
    pub text: String,
}

#[derive(Clone, Debug)]
pub struct SpaceAxes {
    view: SpaceView,
    style: SpaceAxesStyle,
    /// The sides, −1 or 1, of the near edges: the x axis lies at this y, the y axis at this x.
    near: [f64; 2],
    /// The heights of the x axis and of the y axis: on the floor where the side of the box above it is seen, else on
    /// top.
    levels: [f64; 2],
    /// The position of the left edge.
    left: [f64; 2],
    ticks: [Ticks; 2],
    /// The heights of the labelled losses.
    heights: Vec<(f64, String)>,
}

/// The heights of the floor and of the top of the box.
pub(super) const FLOOR: f64 = -0.5;
pub(super) const TOP: f64 = 0.5;

impl SpaceAxes {
    pub fn new(view: SpaceView, scale: &SymLog, style: SpaceAxesStyle) -> SpaceAxes {
        let back = view.axes().back;
        let near = [0, 1].map(|axis| if back[axis] < 0.0 { -1.0 } else { 1.0 });
        let eye = view.eye();
        let levels = [0, 1].map(|axis: usize| if eye[1 - axis].abs() > 1.0 { FLOOR } else { TOP });
        let at = |point| view.project(point).px.map(f64::from);
        let corners = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]];
        let left = corners.into_iter().min_by(|one, other| {
            let [one, other] = [one, other].map(|[x, y]| at([*x, *y, 0.0])[0]);
            one.total_cmp(&other)
        });
        let left = left.unwrap_or(corners[0]);
        let length = |[from, to]: [[f64; 2]; 2]| (to[0] - from[0]).hypot(to[1] - from[1]);
        let [low, high] = [-1.0, 1.0].map(|side| view.xy_from_box([side; 2]));
        let ticks = [0, 1].map(|axis| {
            let edge = [-1.0, 1.0].map(|along| at(on_edge(near, levels, axis, along)));
            Ticks::at_least_two([low[axis], high[axis]], length(edge), style.spacing[0])
        });
        let vertical = [FLOOR, TOP].map(|height| at([left[0], left[1], height]));
        let most = (length(vertical) / style.spacing[1]) as usize;
        let losses = Ticks::symlog(scale, most);
        let heights = losses.ticks.into_iter().map(|tick| (scale.position(tick.value) - 0.5, tick.label));
        // Seen nearly from above, the labels would cover each other.
        let heights = heights.filter(|(height, _)| most > 1 && (FLOOR..=TOP).contains(height)).collect();
        SpaceAxes { view, style, near, levels, left, ticks, heights }
    }

    /// The lines on the walls behind the surface, to be drawn before it.
    pub fn walls(&self) -> Vec<AxisLine> {
        let [far_x, far_y] = self.near.map(|side| -side);
        let line = |from, to, is_frame| AxisLine { ends: [self.at(from), self.at(to)], is_frame };
        let upright = |x, y, is_frame| line([x, y, FLOOR], [x, y, TOP], is_frame);
        let mut lines: Vec<AxisLine> = Vec::new();
        lines.extend(self.ticks[0].ticks.iter().map(|tick| upright(self.along(0, tick.value), far_y, false)));
        lines.extend(self.ticks[1].ticks.iter().map(|tick| upright(far_x, self.along(1, tick.value), false)));
        let levels = self.heights.iter().map(|(height, _)| (*height, false)).chain([(FLOOR, true), (TOP, true)]);
        for (height, is_frame) in levels {
            lines.push(line([-1.0, far_y, height], [1.0, far_y, height], is_frame));
            lines.push(line([far_x, -1.0, height], [far_x, 1.0, height], is_frame));
        }
        lines.extend([[far_x, far_y], [-far_x, far_y], [far_x, -far_y]].map(|[x, y]| upright(x, y, true)));
        lines
    }

    /// The axes with their ticks, to be drawn after the surface.
    pub fn lines(&self) -> Vec<AxisLine> {
        let line = |ends| AxisLine { ends, is_frame: true };
        let mut lines: Vec<AxisLine> = Vec::new();
        for axis in 0..2 {
            lines.push(line([-1.0, 1.0].map(|along| self.at(on_edge(self.near, self.levels, axis, along)))));
            let outward = self.outward(axis);
            lines.extend(self.marks(axis).map(|(at, _)| line([at, moved(at, outward, self.style.tick)])));
        }
        lines.push(line([FLOOR, TOP].map(|height| self.at([self.left[0], self.left[1], height]))));
        lines.extend(self.losses().map(|(at, _)| line([at, moved(at, LEFT, self.style.tick)])));
        lines
    }

    /// The labels of the ticks and the names of the axes.
    pub fn labels(&self) -> Vec<AxisLabel> {
        let beyond = self.style.tick + self.style.gap;
        let label = |at, outward, distance, text: &str| AxisLabel {
            at: moved(at, outward, distance),
            outward,
            text: text.to_owned(),
        };
        let mut labels = Vec::new();
        for (axis, name) in ["x", "y"].into_iter().enumerate() {
            let outward = self.outward(axis);
            labels.extend(self.marks(axis).map(|(at, text)| label(at, outward, beyond, text)));
            let name = match &self.ticks[axis].note {
                Some(note) => format!("{name}   ({note})"),
                None => name.to_owned(),
            };
            labels.push(label(self.at(on_edge(self.near, self.levels, axis, 0.0)), outward, self.style.name, &name));
        }
        labels.extend(self.losses().map(|(at, text)| label(at, LEFT, beyond, text)));
        let top = self.at([self.left[0], self.left[1], TOP]);
        // A tick at the top has its label at its side.
        labels.push(label(top, [-0.6, -0.8], 0.6 * self.style.spacing[1], "loss L"));
        labels
    }

    /// The positions of an axis' ticks, with their labels.
    fn marks(&self, axis: usize) -> impl Iterator<Item = ([f64; 2], &str)> {
        let at = move |value| self.at(on_edge(self.near, self.levels, axis, self.along(axis, value)));
        self.ticks[axis].ticks.iter().map(move |tick| (at(tick.value), tick.label.as_str()))
    }

    /// The positions of the labelled losses on the left edge.
    fn losses(&self) -> impl Iterator<Item = ([f64; 2], &str)> {
        let [x, y] = self.left;
        self.heights.iter().map(move |(height, label)| (self.at([x, y, *height]), label.as_str()))
    }

    fn at(&self, point: [f64; 3]) -> [f64; 2] {
        self.view.project(point).px.map(f64::from)
    }

    /// The position along an axis, from −1 to 1, of a coordinate.
    fn along(&self, axis: usize, value: f64) -> f64 {
        let mut xy = self.view.camera.center;
        xy[axis] = value;
        self.view.box_from_xy(xy)[axis]
    }

    /// The direction on the canvas that leads away from the box at the near edge along an axis.
    fn outward(&self, axis: usize) -> [f64; 2] {
        let edge = on_edge(self.near, self.levels, axis, 0.0);
        let mut beyond = edge;
        beyond[1 - axis] *= 1.1;
        let ([x0, y0], [x1, y1]) = (self.at(edge), self.at(beyond));
        let (dx, dy) = (x1 - x0, y1 - y0);
        let length = dx.hypot(dy);
        // An edge seen from its end has no side.
        if length < 1e-6 { [0.0, 1.0] } else { [dx / length, dy / length] }
    }
}

const LEFT: [f64; 2] = [-1.0, 0.0];

fn moved(at: [f64; 2], direction: [f64; 2], distance: f64) -> [f64; 2] {
    [0, 1].map(|axis| at[axis] + distance * direction[axis])
}

/// The point of the near edge along an axis, from −1 to 1 along it.
fn on_edge(near: [f64; 2], levels: [f64; 2], axis: usize, along: f64) -> [f64; 3] {
    let mut point = [near[0], near[1], levels[axis]];
    point[axis] = along;
    point
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::Viewport;

    #[test]
    fn angles_that_are_not_finite_are_those_of_the_initial_view() {
        assert_eq!(Orbit { azimuth: f64::NAN, elevation: f64::INFINITY }.limited(), Orbit::HOME);
    }

    #[test]
    fn from_straight_above_a_covering_surface_lies_as_on_the_plane() {
        let orbit = Orbit { azimuth: 150.0, elevation: 30.0 };
        let size_px = [900.0, 500.0];
        let camera = Camera::new([1.0, -2.0], 3.0);
        let view = SpaceView { camera, orbit: orbit.reached_from_above(0.0), size_px, cover: 1.0 };
        let plane = Viewport { camera, size_px };
        for xy in [[1.0, -2.0], [0.2, -1.5], [2.4, -2.7]] {
            let [x, y] = view.box_from_xy(xy);
            let (in_space, on_plane) = (view.project([x, y, 0.0]).px, plane.px_from_xy(xy));
            assert!((0..2).all(|axis| (in_space[axis] - on_plane[axis]).abs() < 0.01), "{in_space:?} {on_plane:?}");
        }
        assert_eq!(orbit.reached_from_above(0.5), Orbit { azimuth: -150.0, elevation: 60.0 }, "the shorter way");
        assert_eq!(orbit.reached_from_above(1.0), orbit);
    }

    #[test]
    fn the_box_fits_into_the_canvas_at_the_initial_direction() {
        for size_px in [[400.0, 400.0], [900.0, 500.0], [500.0, 900.0]] {
            let view = SpaceView { camera: Camera::HOME, orbit: Orbit::HOME, size_px, cover: 0.0 };
            for corner in 0..8 {
                let side = |bit: i32| if corner >> bit & 1 == 1 { 1.0 } else { -1.0 };
                let [x, y] = view.project([side(0), side(1), 0.5 * side(2)]).px;
                assert!((0.0..size_px[0]).contains(&x) && (0.0..size_px[1]).contains(&y), "{x} {y} of {size_px:?}");
            }
        }
    }
}

#[cfg(test)]
mod space_axes_tests {
    use super::*;
    use crate::view::{Camera, Orbit};

    #[test]
    fn each_axis_has_its_name_and_its_ticks_at_their_values() {
        let camera = Camera::new([1.0, 2.0], 4.0);
        let style = SpaceAxesStyle { tick: 5.0, gap: 3.0, name: 40.0, spacing: [46.0, 26.0] };
        let scale = SymLog::symmetric(0.01, 10.0);
        for azimuth in [-160.0, -110.0, -45.0, 20.0, 70.0, 135.0] {
            let orbit = Orbit { azimuth, elevation: 40.0 };
            let view = SpaceView { camera, orbit, size_px: [900.0, 600.0], cover: 0.0 };
            let axes = SpaceAxes::new(view, &scale, style);
            let labels = axes.labels();
            for name in ["x", "y", "loss L"] {
                assert_eq!(labels.iter().filter(|label| label.text == name).count(), 1, "{name} from {azimuth}");
            }
            let inside = |[x, y]: [f64; 2]| (0.0..900.0).contains(&x) && (0.0..600.0).contains(&y);
            assert!(labels.len() > 12 && labels.iter().all(|label| inside(label.at)), "{labels:?}");
            assert!(axes.lines().iter().all(|line| line.ends.into_iter().all(inside)));
            // The tick of x = 2 lies on the near edge.
            let y = if azimuth < 0.0 { -1.0 } else { 1.0 };
            let at = view.project([0.5, y, -0.5]).px.map(f64::from);
            let near = |line: &AxisLine| (line.ends[0][0] - at[0]).hypot(line.ends[0][1] - at[1]) < 1e-3;
            assert!(axes.lines().iter().any(near), "no tick of x = 2 from {azimuth}");
        }
    }
}
