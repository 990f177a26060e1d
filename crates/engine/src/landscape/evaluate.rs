//! The evaluation of landscapes.

use crate::elementary::cos_sin;
use crate::instructions::{OfSet, OwnFunction, VectorSet, vectorized};
use crate::lanes::{Arithmetic, Lanes, Real, Vector};
use crate::loss::BoundLoss;

/// A landscape with values of its parameters, which evaluates losses and derivatives.
///
/// The paper's valley is inlined into its callers. All others run as programs in one function for each type of vector,
/// so that a further landscape costs no compile time. These functions are cold: the compiler moves their calls out of
/// the way of the valley's steps.
#[derive(Clone, Debug, PartialEq)]
pub enum Landscape {
    Valley(NarrowValley),
    Program(ProgramLandscape),
}

/// A landscape that runs as a program.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramLandscape {
    loss: BoundLoss,
    rotation: Rotation,
}

/// The landscape at a point, as far as a step from there needs it.
#[derive(Clone, Copy, Debug)]
pub struct Local<R> {
    pub loss: R,
    /// (u, v) on the valley, of which its gradient is computed; on others the gradient in x and y.
    pair: [R; 2],
}

impl Landscape {
    /// Creates a landscape that runs as a program, turned by φ.
    pub(super) fn program(loss: BoundLoss, rotation_radians: f64) -> Landscape {
        Landscape::Program(ProgramLandscape { loss, rotation: Rotation::new(rotation_radians) })
    }

    #[inline(always)]
    pub fn local<R: Real + OfSet>(&self, at: [R; 2]) -> Local<R> {
        match self {
            Landscape::Valley(valley) => {
                let uv = valley.uv_from_xy(at);
                Local { loss: valley.loss(uv), pair: uv }
            }
            Landscape::Program(program) => program.local(&at),
        }
    }

    /// The gradient with respect to (x, y) at an evaluated point.
    #[inline(always)]
    pub fn gradient_at<R: Real + OfSet>(&self, local: &Local<R>) -> [R; 2] {
        match self {
            Landscape::Valley(valley) => valley.gradient(local.pair),
            Landscape::Program(_) => local.pair,
        }
    }

    /// The coordinate u of an evaluated point.
    #[inline(always)]
    pub fn depth<R: Real + OfSet>(&self, local: &Local<R>, at: [R; 2]) -> R {
        match self {
            Landscape::Valley(_) => local.pair[0],
            Landscape::Program(program) => program.rotation.uv_from_xy(at)[0],
        }
    }

    #[inline(always)]
    pub fn loss<R: Real + OfSet>(&self, at: [R; 2]) -> R {
        match self {
            Landscape::Valley(valley) => valley.loss(valley.uv_from_xy(at)),
            Landscape::Program(program) => program.loss_at(&at),
        }
    }

    /// Computes the losses at points of one y, in vectors, with the bits of [`Landscape::loss`].
    ///
    /// # Panics
    ///
    /// Panics unless there is room for a loss for each x.
    pub fn losses_along(&self, x: &[f64], y: f64, losses: &mut [f64]) {
        assert_eq!(x.len(), losses.len(), "a loss for each point");
        losses_along(self, x, y, losses);
    }

    /// Computes the gradient with respect to (x, y) at (x, y).
    #[inline(always)]
    pub fn gradient<R: Real + OfSet>(&self, at: [R; 2]) -> [R; 2] {
        match self {
            Landscape::Valley(valley) => valley.gradient(valley.uv_from_xy(at)),
            Landscape::Program(program) => program.local(&at).pair,
        }
    }

    /// Computes `∂²L/∂x²` and `∂²L/∂y²` at (x, y).
    #[inline(always)]
    pub fn hessian_diagonal<R: Real + OfSet>(&self, at: [R; 2]) -> [R; 2] {
        match self {
            Landscape::Valley(valley) => valley.hessian_diagonal(valley.uv_from_xy(at)),
            Landscape::Program(program) => program.hessian_diagonal(&at),
        }
    }

    /// Converts (x, y), a point or a vector, to the coordinates u and v, which φ turns.
    #[inline(always)]
    pub fn uv_from_xy<R: Real>(&self, at: [R; 2]) -> [R; 2] {
        self.rotation().uv_from_xy(at)
    }

    /// Converts a point or a vector from u and v to (x, y).
    pub fn xy_from_uv(&self, uv: [f64; 2]) -> [f64; 2] {
        self.rotation().xy_from_uv(uv)
    }

    #[inline(always)]
    fn rotation(&self) -> &Rotation {
        match self {
            Landscape::Valley(valley) => valley.rotation(),
            Landscape::Program(program) => &program.rotation,
        }
    }
}

vectorized! {
    fn losses_along<>(landscape: &Landscape, x: &[f64], y: f64, losses: &mut [f64]) {
        const LENGTH: usize = 8;
        for (x, losses) in x.chunks(LENGTH).zip(losses.chunks_mut(LENGTH)) {
            // The last vector may have lanes that are not used.
            let mut lanes = [x[0]; LENGTH];
            lanes[..x.len()].copy_from_slice(x);
            let x = <Vectors as VectorSet>::Doubles::from_lanes(Lanes(lanes));
            let found = landscape.loss([x, <Vectors as VectorSet>::Doubles::splat(y)]).to_lanes();
            losses.copy_from_slice(&found.0[..losses.len()]);
        }
    }
}

impl ProgramLandscape {
    pub fn loss(&self) -> &BoundLoss {
        &self.loss
    }

    #[cold]
    #[inline(never)]
    fn local<R: Real + OfSet>(&self, at: &[R; 2]) -> Local<R> {
        R::Set::in_function(LocalWork { loss: &self.loss, at })
    }

    #[cold]
    #[inline(never)]
    fn loss_at<R: Real + OfSet>(&self, at: &[R; 2]) -> R {
        R::Set::in_function(LossWork { loss: &self.loss, at })
    }

    #[cold]
    #[inline(never)]
    fn hessian_diagonal<R: Real + OfSet>(&self, at: &[R; 2]) -> [R; 2] {
        R::Set::in_function(HessianWork { loss: &self.loss, at })
    }
}

/// Defines an evaluation of a program that is compiled for the vectors' set of instructions, in a separate function.
macro_rules! work {
    ($name:ident -> $output:ty: |$loss:ident, $at:ident| $body:expr) => {
        struct $name<'a, R> {
            loss: &'a BoundLoss,
            at: &'a [R; 2],
        }

        impl<R: Real> OwnFunction for $name<'_, R> {
            type Output = $output;
            type Home = BoundLoss;

            #[inline(always)]
            fn run(self) -> $output {
                let ($loss, $at) = (self.loss, *self.at);
                $body
            }
        }
    };
}

work!(LocalWork -> Local<R>: |loss, at| {
    let (loss, pair) = loss.loss_and_gradient(at);
    Local { loss, pair }
});
work!(LossWork -> R: |loss, at| loss.loss(at));
work!(HessianWork -> [R; 2]: |loss, at| loss.hessian_diagonal(at));

/// A rotation by φ, counter-clockwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rotation {
    pub cos: f64,
    pub sin: f64,
}

impl Rotation {
    pub(super) fn new(radians: f64) -> Rotation {
        let [cos, sin] = cos_sin(radians);
        Rotation { cos, sin }
    }

    /// Converts a point or a vector from (x, y): `u = x cos φ + y sin φ`, `v = −x sin φ + y cos φ`.
    #[inline(always)]
    pub(super) fn uv_from_xy<R: Real>(&self, [x, y]: [R; 2]) -> [R; 2] {
        let (cos, sin) = (R::splat(self.cos), R::splat(self.sin));
        [x.mul_add(cos, y * sin), y.mul_add(cos, -(x * sin))]
    }

    #[inline(always)]
    fn xy_from_uv<R: Real>(&self, [u, v]: [R; 2]) -> [R; 2] {
        let (cos, sin) = (R::splat(self.cos), R::splat(self.sin));
        [u.mul_add(cos, -(v * sin)), u.mul_add(sin, v * cos)]
    }
}

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
    pub fn uv_from_xy<R: Real>(&self, xy: [R; 2]) -> [R; 2] {
        self.rotation.uv_from_xy(xy)
    }

    /// Converts a point or a vector from valley coordinates to (x, y).
    #[inline(always)]
    pub fn xy_from_uv<R: Real>(&self, uv: [R; 2]) -> [R; 2] {
        self.rotation.xy_from_uv(uv)
    }

    /// The loss `L = (a/2) u² v² − c u`.
    #[inline(always)]
    pub fn loss<R: Real>(&self, [u, v]: [R; 2]) -> R {
        let uv = u * v;
        (R::splat(0.5 * self.sharpness) * uv).mul_add(uv, -(R::splat(self.slope) * u))
    }

    /// The gradient `∂L/∂u = a u v² − c`, `∂L/∂v = a u² v`.
    #[inline(always)]
    pub fn gradient_uv<R: Real>(&self, [u, v]: [R; 2]) -> [R; 2] {
        let a_u_v = R::splat(self.sharpness) * u * v;
        [a_u_v.mul_add(v, R::splat(-self.slope)), a_u_v * u]
    }

    /// The gradient of the loss with respect to (x, y), at a point given in valley coordinates.
    #[inline(always)]
    pub fn gradient<R: Real>(&self, at: [R; 2]) -> [R; 2] {
        self.xy_from_uv(self.gradient_uv(at))
    }

    /// `∂²L/∂x²` and `∂²L/∂y²` at a point given in valley coordinates. With `L_uu = a v²`, `L_uv = 2 a u v` and
    /// `L_vv = a u²`:
    ///
    /// ```text
    /// ∂²L/∂x² = cos² φ L_uu − 2 cos φ sin φ L_uv + sin² φ L_vv
    /// ∂²L/∂y² = sin² φ L_uu + 2 cos φ sin φ L_uv + cos² φ L_vv
    /// ```
    #[inline(always)]
    pub fn hessian_diagonal<R: Real>(&self, [u, v]: [R; 2]) -> [R; 2] {
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

    /// The loss `L = (a/2) u² |v|² − c u`.
    #[inline(always)]
    pub(crate) fn loss<R: Real>(&self, ValleyTerms { u, v_squared }: ValleyTerms<R>) -> R {
        (R::splat(0.5 * self.sharpness) * u * u).mul_add(v_squared, -(R::splat(self.slope) * u))
    }

    #[inline(always)]
    pub fn slopes<R: Real>(&self, ValleyTerms { u, v_squared }: ValleyTerms<R>) -> Slopes<R> {
        let a_u = R::splat(self.sharpness) * u;
        Slopes { u, along: a_u.mul_add(v_squared, R::splat(-self.slope)), across: a_u * u }
    }

    /// A coordinate of `∇L = (a u |v|² − c) r + a u² v`.
    #[inline(always)]
    pub fn gradient<R: Real>(&self, slopes: Slopes<R>, coordinate: usize, theta: R) -> R {
        let r = R::splat(self.direction[coordinate]);
        slopes.across.mul_add((-slopes.u).mul_add(r, theta), slopes.along * r)
    }

    /// A coordinate of the Hessian's diagonal, `a |v|² r² + 4 a u v r + a u² (1 − r²)`.
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
