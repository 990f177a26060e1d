//! The view of a landscape as a surface in space. Pure arithmetic.
//!
//! The part of the plane in view is the square about the camera's centre, as wide as the camera's view. It fills a box
//! with x and y from −1 to 1, in which the surface has a height of −½ at the lower end of the colours and of ½ at their
//! upper end. The eye is always at the same distance from the middle of the box: zooming narrows the square.

use serde::{Deserialize, Serialize};

use super::Camera;

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
    /// The initial direction, into the paper’s valley.
    pub const HOME: Orbit = Orbit { azimuth: -138.0, elevation: 42.0 };
    /// The allowed elevations: the surface is never seen from below.
    pub const ELEVATIONS: std::ops::RangeInclusive<f64> = 5.0..=90.0;

    /// Returns the same direction with an azimuth from −180° to 180°, and the nearest allowed elevation.
    pub fn limited(self) -> Orbit {
        let [azimuth, elevation] = [(self.azimuth, Orbit::HOME.azimuth), (self.elevation, Orbit::HOME.elevation)]
            .map(|(angle, usual)| if angle.is_finite() { angle } else { usual });
        Orbit {
            azimuth: (azimuth + 180.0).rem_euclid(360.0) - 180.0,
            elevation: elevation.clamp(*Orbit::ELEVATIONS.start(), *Orbit::ELEVATIONS.end()),
        }
    }

    /// Returns the direction after a turn about the vertical and over the surface, in degrees.
    pub fn turned(self, [azimuth, elevation]: [f64; 2]) -> Orbit {
        Orbit { azimuth: self.azimuth + azimuth, elevation: self.elevation + elevation }.limited()
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
    /// Returns the point at a distance from the origin.
    pub fn at(&self, distance: f64) -> [f64; 3] {
        [0, 1, 2].map(|axis| self.origin[axis] + distance * self.direction[axis])
    }
}

/// A surface in space on a canvas of a given size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpaceView {
    pub camera: Camera,
    pub orbit: Orbit,
    pub size_px: [f32; 2],
}

impl SpaceView {
    /// The distance of the eye from the middle of the box.
    pub const DISTANCE: f64 = 6.0;
    /// The half width and the half height that the canvas shows at least, at the distance of the box's middle.
    const HALF_SIZE: [f64; 2] = [1.76, 1.62];
    /// How far the middle of the box lies above that of the canvas: the near edges, which are larger, and the labels of
    /// the axes need more room.
    const LIFT: f64 = 0.2;

    /// The brightness of the surface without light, and what full light adds to it.
    pub const AMBIENT: f64 = 0.42;
    pub const DIFFUSE: f64 = 0.62;

    /// Returns the direction to the light, of length 1: from above the left shoulder of the viewer.
    pub fn light(&self) -> [f64; 3] {
        let ViewAxes { right, up, back } = self.axes();
        let light = [0, 1, 2].map(|axis| 0.5 * back[axis] + 0.75 * up[axis] - 0.45 * right[axis]);
        let length = dot(light, light).sqrt();
        light.map(|part| part / length)
    }

    /// Returns the factor by which the colour of a surface with this normal of length 1 is darkened or lightened.
    pub fn brightness(&self, normal: [f64; 3]) -> f64 {
        SpaceView::AMBIENT + SpaceView::DIFFUSE * dot(normal, self.light()).max(0.0)
    }

    /// Returns the pixels per unit of the box, at the distance of its middle.
    pub fn px_per_unit(&self) -> f64 {
        let [width, height] = self.size_px.map(|size| f64::from(size.max(1.0)));
        let [half_width, half_height] = SpaceView::HALF_SIZE;
        (0.5 * width / half_width).min(0.5 * height / half_height)
    }

    /// Returns the middle of the box on the canvas.
    pub fn middle_px(&self) -> [f64; 2] {
        let [width, height] = self.size_px.map(f64::from);
        [0.5 * width, 0.5 * height - SpaceView::LIFT * self.px_per_unit()]
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

    /// Returns the eye's position in the box.
    pub fn eye(&self) -> [f64; 3] {
        self.axes().back.map(|part| SpaceView::DISTANCE * part)
    }

    /// Returns the place in the box, from −1 to 1 in the square, of a point of the plane.
    pub fn place_from_xy(&self, xy: [f64; 2]) -> [f64; 2] {
        [0, 1].map(|axis| (xy[axis] - self.camera.center[axis]) * 2.0 / self.camera.width)
    }

    /// Returns the point of the plane at a place of the box.
    pub fn xy_from_place(&self, place: [f64; 2]) -> [f64; 2] {
        [0, 1].map(|axis| self.camera.center[axis] + place[axis] * 0.5 * self.camera.width)
    }

    /// Returns the position on the canvas of a point of the box.
    pub fn project(&self, point: [f64; 3]) -> Projected {
        let ViewAxes { right, up, back } = self.axes();
        let distance = SpaceView::DISTANCE - dot(back, point);
        let scale = self.px_per_unit() * SpaceView::DISTANCE / distance;
        let [middle_x, middle_y] = self.middle_px();
        let px = [middle_x + scale * dot(right, point), middle_y - scale * dot(up, point)];
        Projected { px: px.map(|px| px as f32), distance }
    }

    /// Returns the line of sight through a pixel.
    pub fn ray(&self, [px, py]: [f32; 2]) -> Ray {
        let ViewAxes { right, up, back } = self.axes();
        let scale = self.px_per_unit() * SpaceView::DISTANCE;
        let [middle_x, middle_y] = self.middle_px();
        let [along, above] = [(f64::from(px) - middle_x) / scale, (middle_y - f64::from(py)) / scale];
        let direction = [0, 1, 2].map(|axis| along * right[axis] + above * up[axis] - back[axis]);
        let length = dot(direction, direction).sqrt();
        Ray { origin: self.eye(), direction: direction.map(|part| part / length) }
    }

    /// Returns the camera after the picture was dragged by `delta_px`, along the plane through the middle of the box.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_that_are_not_finite_are_those_of_the_initial_view() {
        assert_eq!(Orbit { azimuth: f64::NAN, elevation: f64::INFINITY }.limited(), Orbit::HOME);
    }

    #[test]
    fn the_box_fits_into_the_canvas_at_the_initial_direction() {
        for size_px in [[400.0, 400.0], [900.0, 500.0], [500.0, 900.0]] {
            let view = SpaceView { camera: Camera::HOME, orbit: Orbit::HOME, size_px };
            for corner in 0..8 {
                let side = |bit: i32| if corner >> bit & 1 == 1 { 1.0 } else { -1.0 };
                let [x, y] = view.project([side(0), side(1), 0.5 * side(2)]).px;
                assert!((0.0..size_px[0]).contains(&x) && (0.0..size_px[1]).contains(&y), "{x} {y} of {size_px:?}");
            }
        }
    }
}
