//! What the engine's thread tells the window, as plain values.

use std::sync::Arc;

use super::diagnostics::Sample;
use super::history::Bucket;
use super::spec::{Rule, SimulationSpec};

/// The state of a running simulation at one step, and what is new since the snapshot before.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Counts fresh starts. A new number means that trails and curves begin anew.
    pub run: u64,
    /// Steps taken since the start.
    pub step: u64,
    pub playback: Playback,
    /// What is simulated, with the settings in force.
    pub spec: Arc<SimulationSpec>,
    /// Whether changes of a recorded session are still to come.
    pub replaying: bool,
    /// Measured over the last moments: steps a second, and particle steps of all ensembles together.
    pub steps_per_sec: f64,
    pub particle_steps_per_sec: f64,
    /// One for each enabled optimizer, in the order of the specification.
    pub ensembles: Vec<EnsembleView>,
    /// The selected particle's last step; none before the first step or without a selection.
    pub anatomy: Option<Box<Anatomy>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Playback {
    Playing,
    Paused,
    /// The number of steps asked for is reached; playing on needs a larger one.
    Finished,
}

/// One ensemble as it is drawn.
#[derive(Clone, Debug)]
pub struct EnsembleView {
    /// The optimizer's id.
    pub optimizer: u32,
    /// The rule in force.
    pub rule: Rule,
    pub particles: usize,
    /// Positions (x, y) since the previous snapshot, `columns × particles`, oldest column first. The
    /// last column belongs to the snapshot's step, the one before to the step before, and so on. At
    /// least one column, which was handed over before where no step was taken since; at most the trail
    /// length plus one. Diverged particles are not finite.
    pub columns: Arc<Vec<[f32; 2]>>,
    /// The ensemble's mean position from the start until now, thinned to a bounded number of points.
    pub mean_path: Arc<Vec<[f32; 2]>>,
    /// The smallest box around the finite particles, as [min x, min y, max x, max y].
    pub bounds: Option<[f64; 4]>,
    /// The diagnostics of the snapshot's step, on the landscape in force.
    pub sample: Sample,
    /// The history over the requested range of steps, oldest first.
    pub plot: Vec<Bucket>,
}

/// A particle of an optimizer's ensemble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParticleId {
    /// The optimizer's id.
    pub optimizer: u32,
    /// From 0.
    pub particle: usize,
}

/// Which part of the history to show, and how finely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlotRequest {
    pub first_step: u64,
    /// Included; `None` follows the run.
    pub last_step: Option<u64>,
    /// The most buckets an optimizer's curve is cut into.
    pub buckets: usize,
    /// Buckets of equal width on a logarithmic axis of steps.
    pub log_steps: bool,
}

impl Default for PlotRequest {
    fn default() -> Self {
        PlotRequest { first_step: 0, last_step: None, buckets: 500, log_steps: false }
    }
}

/// One step of one particle, taken apart. Pairs are the coordinates x and y.
#[derive(Clone, Debug, PartialEq)]
pub struct Anatomy {
    pub id: ParticleId,
    /// The number `t` of the step, from 1.
    pub step: u64,
    pub rule: Rule,
    /// θ before the step.
    pub before: [f64; 2],
    /// θ after the step.
    pub after: [f64; 2],
    /// The exact gradient at `before`.
    pub gradient: [f64; 2],
    /// The factors, drawn from Normal(1, σ), that made it noisy.
    pub noise: [f64; 2],
    /// The gradient that the optimizer saw.
    pub noisy_gradient: [f64; 2],
    /// The step without weight decay in units of −η: Adam's m̂/(√ŝ + ε), FOCUS's sign(m) + γ sign(θ − θ̂), ….
    pub direction: [f64; 2],
    /// What the optimizer remembers after the step.
    pub memory: AnatomyMemory,
}

/// The memory of the optimizer before and after a step, per coordinate, with the values that its formula
/// derives from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AnatomyMemory {
    Adam {
        m_before: [f64; 2],
        s_before: [f64; 2],
        m: [f64; 2],
        s: [f64; 2],
        /// 1 − β₁ᵗ and 1 − β₂ᵗ, by which m and s are divided.
        m_weight: f64,
        s_weight: f64,
        m_hat: [f64; 2],
        s_hat: [f64; 2],
    },
    Signum {
        m_before: [f64; 2],
        m: [f64; 2],
    },
    /// `pull` is sign(θ − θ̂), before it is multiplied by γ.
    Focus {
        m_before: [f64; 2],
        average_before: [f64; 2],
        /// w = (1 − β₂)/(1 − β₂ᵗ)
        average_weight: f64,
        m: [f64; 2],
        average: [f64; 2],
        pull: [f64; 2],
    },
    Sgd {
        m_before: [f64; 2],
        m: [f64; 2],
    },
}
