//! The batch of a step on the plane.

use super::Batch;
use crate::instructions::OfSet;
use crate::landscape::Landscape;
use crate::lanes::{Planar, Real};
use crate::noise::Action;

/// A place on a landscape and the draws of noise of a step there.
#[derive(Clone, Copy, Debug)]
pub struct PlaneBatch<'a, V> {
    pub landscape: &'a Landscape,
    /// The point (x, y) at which the gradient of the step is computed.
    pub at: [V; 2],
    /// How the noise acts on the gradient and on the curvature.
    pub action: Action,
    /// The noise of the gradient in x and y, as factors or terms.
    pub noise: [V; 2],
    /// The noise of the curvature, drawn as that of the gradient.
    pub curvature_noise: [V; 2],
}

impl<V: Real + OfSet> Batch<[V; 2]> for PlaneBatch<'_, V> {
    #[inline(always)]
    fn gradient_at(self, theta: [V; 2]) -> [V; 2] {
        self.action.apply(self.landscape.gradient(theta), self.noise)
    }

    #[inline(always)]
    fn curvature(self) -> [V; 2] {
        self.action.apply(self.landscape.hessian_diagonal(self.at), self.curvature_noise)
    }
}

/// The batch of both coordinates side by side.
#[derive(Clone, Copy, Debug)]
pub struct SideBySide<'a, V>(pub PlaneBatch<'a, V>);

impl<V: Planar + OfSet> Batch<V::Both> for SideBySide<'_, V> {
    #[inline(always)]
    fn gradient_at(self, theta: V::Both) -> V::Both {
        V::both(self.0.gradient_at(V::apart(theta)))
    }

    #[inline(always)]
    fn curvature(self) -> V::Both {
        V::both(self.0.curvature())
    }
}
