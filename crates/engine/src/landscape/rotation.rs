//! The coordinates u and v, which a rotation turns against x and y.

use crate::elementary::cos_sin;
use crate::lanes::Real;

/// A rotation by φ, counter-clockwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rotation {
    pub cos: f64,
    pub sin: f64,
}

/// A point, or a vector such as a gradient, in the coordinates u and v.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uv<R> {
    pub u: R,
    pub v: R,
}

impl Rotation {
    /// Creates the rotation by an angle in radians.
    pub(super) fn new(radians: f64) -> Rotation {
        let [cos, sin] = cos_sin(radians);
        Rotation { cos, sin }
    }

    /// Converts a point or a vector from (x, y): `u = x cos φ + y sin φ`, `v = −x sin φ + y cos φ`.
    #[inline(always)]
    pub(super) fn uv_from_xy<R: Real>(&self, [x, y]: [R; 2]) -> Uv<R> {
        let (cos, sin) = (R::splat(self.cos), R::splat(self.sin));
        Uv { u: x.mul_add(cos, y * sin), v: y.mul_add(cos, -(x * sin)) }
    }

    /// Converts a point or a vector to (x, y).
    #[inline(always)]
    pub(super) fn xy_from_uv<R: Real>(&self, Uv { u, v }: Uv<R>) -> [R; 2] {
        let (cos, sin) = (R::splat(self.cos), R::splat(self.sin));
        [u.mul_add(cos, -(v * sin)), u.mul_add(sin, v * cos)]
    }
}
