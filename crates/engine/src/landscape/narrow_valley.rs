//! The narrowing valley of the paper's toy model (section "Toy model", equation 1).

use super::rotation::{Rotation, Uv};
use crate::lanes::Real;

/// The loss `L(x, y) = (a/2) u² v² − c u`, with valley coordinates turned counter-clockwise by φ:
///
/// ```text
/// u =  x cos φ + y sin φ
/// v = −x sin φ + y cos φ
/// ```
///
/// `u` runs along the valley and `v` across it. The curvature across the valley is `a u²`: the
/// further down, the narrower. There is no minimum; `L → −∞` along `+u` at `v = 0`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NarrowValley {
    /// Sharpness `a` of the walls.
    pub sharpness: f64,
    /// Slope `c` along the valley.
    pub slope: f64,
    rotation: Rotation,
}

impl NarrowValley {
    /// Creates a valley of sharpness `a` and slope `c` whose axis `u` lies `rotation` radians counter-clockwise from
    /// `x`.
    pub fn new(sharpness: f64, slope: f64, rotation: f64) -> Self {
        NarrowValley { sharpness, slope, rotation: Rotation::new(rotation) }
    }

    pub(super) fn rotation(&self) -> &Rotation {
        &self.rotation
    }

    /// Converts (x, y), a point or a vector, to valley coordinates.
    #[inline(always)]
    pub fn uv_from_xy<R: Real>(&self, xy: [R; 2]) -> Uv<R> {
        self.rotation.uv_from_xy(xy)
    }

    /// Converts a point or a vector from valley coordinates to (x, y).
    #[inline(always)]
    pub fn xy_from_uv<R: Real>(&self, uv: Uv<R>) -> [R; 2] {
        self.rotation.xy_from_uv(uv)
    }

    /// Returns the loss `L = (a/2) u² v² − c u`.
    #[inline(always)]
    pub fn loss<R: Real>(&self, Uv { u, v }: Uv<R>) -> R {
        let uv = u * v;
        (R::splat(0.5 * self.sharpness) * uv).mul_add(uv, -(R::splat(self.slope) * u))
    }

    /// Returns the gradient `∂L/∂u = a u v² − c`, `∂L/∂v = a u² v`.
    #[inline(always)]
    pub fn gradient_uv<R: Real>(&self, Uv { u, v }: Uv<R>) -> Uv<R> {
        let a_u_v = R::splat(self.sharpness) * u * v;
        Uv { u: a_u_v.mul_add(v, R::splat(-self.slope)), v: a_u_v * u }
    }

    /// Returns the gradient of the loss with respect to (x, y), at a point given in valley coordinates.
    #[inline(always)]
    pub fn gradient<R: Real>(&self, at: Uv<R>) -> [R; 2] {
        self.xy_from_uv(self.gradient_uv(at))
    }

    /// Returns `∂²L/∂x²` and `∂²L/∂y²` at a point given in valley coordinates. With `L_uu = a v²`, `L_uv = 2 a u v` and
    /// `L_vv = a u²`:
    ///
    /// ```text
    /// ∂²L/∂x² = cos² φ L_uu − 2 cos φ sin φ L_uv + sin² φ L_vv
    /// ∂²L/∂y² = sin² φ L_uu + 2 cos φ sin φ L_uv + cos² φ L_vv
    /// ```
    #[inline(always)]
    pub fn hessian_diagonal<R: Real>(&self, Uv { u, v }: Uv<R>) -> [R; 2] {
        let a = R::splat(self.sharpness);
        let Rotation { cos, sin } = self.rotation;
        let (along, across, mixed) = (a * v * v, a * u * u, R::splat(4.0 * cos * sin) * a * u * v);
        let (cos, sin) = (R::splat(cos * cos), R::splat(sin * sin));
        [cos.mul_add(along, sin * across) - mixed, sin.mul_add(along, cos * across) + mixed]
    }
}

/// The narrowing valley in more than two dimensions: `L = (a/2) u² |v|² − c u` with `u = r·θ` along the
/// valley's direction `r` and `v = θ − u r` across it (the paper's figure "moretoy").
#[derive(Clone, Debug, PartialEq)]
pub struct ValleyInSpace {
    /// Sharpness `a` of the walls.
    pub sharpness: f64,
    /// Slope `c` along the valley.
    pub slope: f64,
    /// The direction `r`, of length 1.
    pub direction: Vec<f64>,
}

/// The terms of a point that all its coordinates share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValleyTerms<R> {
    pub u: R,
    /// The squared distance from the valley's floor, `|v|²`.
    pub v_squared: R,
}

/// The coefficients of the gradient that all coordinates of a point share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slopes<R> {
    u: R,
    /// The slope along the valley, `a u |v|² − c`.
    along: R,
    /// The curvature across the valley, `a u²`.
    across: R,
}

impl ValleyInSpace {
    /// Computes `u = r·θ` and `|v|² = Σ (θ − u r)²`, free of cancellation.
    #[inline(always)]
    pub fn terms<R: Real>(&self, theta: &[R]) -> ValleyTerms<R> {
        let (mut u, mut v_squared) = (R::splat(0.0), R::splat(0.0));
        for (&r, &theta) in self.direction.iter().zip(theta) {
            u = theta.mul_add(R::splat(r), u);
        }
        for (&r, &theta) in self.direction.iter().zip(theta) {
            let v = (-u).mul_add(R::splat(r), theta);
            v_squared = v.mul_add(v, v_squared);
        }
        ValleyTerms { u, v_squared }
    }

    /// Returns the loss `L = (a/2) u² |v|² − c u`.
    #[inline(always)]
    pub(crate) fn loss<R: Real>(&self, ValleyTerms { u, v_squared }: ValleyTerms<R>) -> R {
        (R::splat(0.5 * self.sharpness) * u * u).mul_add(v_squared, -(R::splat(self.slope) * u))
    }

    #[inline(always)]
    pub fn slopes<R: Real>(&self, ValleyTerms { u, v_squared }: ValleyTerms<R>) -> Slopes<R> {
        let a_u = R::splat(self.sharpness) * u;
        Slopes { u, along: a_u.mul_add(v_squared, R::splat(-self.slope)), across: a_u * u }
    }

    /// Returns a coordinate of `∇L = (a u |v|² − c) r + a u² v`.
    #[inline(always)]
    pub fn gradient<R: Real>(&self, slopes: Slopes<R>, coordinate: usize, theta: R) -> R {
        let r = R::splat(self.direction[coordinate]);
        slopes.across.mul_add((-slopes.u).mul_add(r, theta), slopes.along * r)
    }

    /// Returns a coordinate of the Hessian's diagonal, `a |v|² r² + 4 a u v r + a u² (1 − r²)`.
    #[inline(always)]
    pub fn hessian_diagonal<R: Real>(
        &self,
        ValleyTerms { u, v_squared }: ValleyTerms<R>,
        coordinate: usize,
        theta: R,
    ) -> R {
        let r = self.direction[coordinate];
        let v = (-u).mul_add(R::splat(r), theta);
        let (along, across) = (v_squared * R::splat(r * r), u * u * R::splat(1.0 - r * r));
        R::splat(self.sharpness) * (u * v).mul_add(R::splat(4.0 * r), along + across)
    }
}
