//! The selected particle and the record of its last step.

use crate::noise::NoiseKind;
use crate::optimizer::{StepInputs, Trace};

/// A particle of an optimizer's ensemble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParticleId {
    /// The optimizer's id.
    pub optimizer: u32,
    /// The number of the particle, from 0.
    pub particle: usize,
}

/// A recorded step of one particle. Pairs are the coordinates x and y.
#[derive(Clone, Debug, PartialEq)]
pub struct StepTrace {
    pub id: ParticleId,
    /// The parameters θ after the step.
    pub after: [f64; 2],
    /// The exact gradient, at the parameters at which the rule computes it, usually θ before the step.
    pub gradient: [f64; 2],
    pub noise_kind: NoiseKind,
    /// The noise of the gradient, as factors or terms.
    pub noise: [f64; 2],
    /// The diagonal of the Hessian at θ, and its noise if the rule uses it.
    pub curvature: [f64; 2],
    pub curvature_noise: [f64; 2],
    /// The inputs of the step: θ, the noisy gradient, the rule and the optimizer's state.
    pub inputs: StepInputs,
    pub trace: Trace,
}

impl StepTrace {
    /// Returns the number `t` of the step, from 1.
    pub fn step(&self) -> u64 {
        self.inputs.bias.steps
    }
}
