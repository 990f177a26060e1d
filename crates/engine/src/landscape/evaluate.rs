//! The evaluation of landscapes.

use super::NarrowValley;
use super::rotation::{Rotation, Uv};
use crate::instructions::{OfSet, OwnFunction, VectorSet, vectorized};
use crate::lanes::{Lanes, Real, Vector};
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
            Landscape::Program(program) => program.rotation.uv_from_xy(at).u,
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
    pub fn uv_from_xy<R: Real>(&self, at: [R; 2]) -> Uv<R> {
        self.rotation().uv_from_xy(at)
    }

    /// Converts a point or a vector from u and v to (x, y).
    pub fn xy_from_uv(&self, uv: Uv<f64>) -> [f64; 2] {
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
