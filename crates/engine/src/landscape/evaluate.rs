//! The evaluation of landscapes.

use super::{NarrowValley, Uv};
use crate::elementary::cos_sin;
use crate::instructions::{OfSet, OwnFunction, VectorSet};
use crate::lanes::Real;
use crate::loss::BoundLoss;

/// A landscape with values of its parameters, which evaluates losses and derivatives.
///
/// The paper's valley is inlined into its callers. All others run as programs in one function for each type of vector,
/// so that a landscape costs the compiler nothing. These functions count as cold: the compiler keeps their calls out of
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
    cos: f64,
    sin: f64,
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
        let [cos, sin] = cos_sin(rotation_radians);
        Landscape::Program(ProgramLandscape { loss, cos, sin })
    }

    /// Evaluates the landscape at (x, y).
    #[inline(always)]
    pub fn local<R: Real + OfSet>(&self, at: [R; 2]) -> Local<R> {
        match self {
            Landscape::Valley(valley) => {
                let uv @ Uv { u, v } = valley.uv_from_xy(at);
                Local { loss: valley.loss(uv), pair: [u, v] }
            }
            Landscape::Program(program) => program.local(&at),
        }
    }

    /// Returns the gradient with respect to (x, y) at an evaluated point.
    #[inline(always)]
    pub fn gradient_at<R: Real + OfSet>(&self, local: &Local<R>) -> [R; 2] {
        match self {
            Landscape::Valley(valley) => {
                let [u, v] = local.pair;
                valley.gradient(Uv { u, v })
            }
            Landscape::Program(_) => local.pair,
        }
    }

    /// Returns u of an evaluated point.
    #[inline(always)]
    pub fn depth<R: Real + OfSet>(&self, local: &Local<R>, at: [R; 2]) -> R {
        match self {
            Landscape::Valley(_) => local.pair[0],
            Landscape::Program(program) => program.uv_from_xy(at).u,
        }
    }

    /// Computes the loss at (x, y).
    #[inline(always)]
    pub fn loss<R: Real + OfSet>(&self, at: [R; 2]) -> R {
        match self {
            Landscape::Valley(valley) => valley.loss(valley.uv_from_xy(at)),
            Landscape::Program(program) => program.loss_at(&at),
        }
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
    pub fn uv_from_xy<R: Real>(&self, at: [R; 2]) -> Uv<R> {
        match self {
            Landscape::Valley(valley) => valley.uv_from_xy(at),
            Landscape::Program(program) => program.uv_from_xy(at),
        }
    }

    /// Converts a point or a vector from u and v to (x, y).
    pub fn xy_from_uv(&self, uv: Uv<f64>) -> [f64; 2] {
        match self {
            Landscape::Valley(valley) => valley.xy_from_uv(uv),
            Landscape::Program(ProgramLandscape { cos, sin, .. }) => {
                [uv.u.mul_add(*cos, -(uv.v * sin)), uv.u.mul_add(*sin, uv.v * cos)]
            }
        }
    }
}

impl ProgramLandscape {
    /// Returns the loss with the values of its parameters.
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

    #[inline(always)]
    fn uv_from_xy<R: Real>(&self, [x, y]: [R; 2]) -> Uv<R> {
        let (cos, sin) = (R::splat(self.cos), R::splat(self.sin));
        Uv { u: x.mul_add(cos, y * sin), v: y.mul_add(cos, -(x * sin)) }
    }
}

/// Defines an evaluation of a program that is compiled for the vectors' set of instructions, in a function of its own.
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
