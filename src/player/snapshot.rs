//! Snapshots that the player's thread sends to the window, as plain values.

use std::sync::Arc;

use valleyscope_engine::optimizer::RatedRule;
use valleyscope_engine::simulation::{Bucket, Record, Sample, SimulationSpec, StepTrace};

/// The state of a running simulation at one step, and the changes since the previous snapshot.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The number of restarts. At a new number, curves start again.
    pub run: u64,
    /// The number of restarts and seeks. At a new number, trails start again.
    pub track: u64,
    /// The shown step, counted from the start.
    pub step: u64,
    /// The last step that the run has reached.
    pub last_step: u64,
    pub playback: Playback,
    /// The specification, with the settings in force.
    pub spec: Arc<SimulationSpec>,
    /// The number of commands so far that set or replaced settings. While it is smaller than the number of those sent,
    /// `spec` is older than the settings sent last.
    pub settings: u64,
    /// The session's start and its changes up to the last step.
    pub record: Arc<Record>,
    /// The speed over a recent interval: steps per second, and particle steps per second of all ensembles together.
    pub steps_per_sec: f64,
    pub particle_steps_per_sec: f64,
    /// The enabled optimizers' ensembles, in the order of the specification.
    pub ensembles: Vec<EnsembleView>,
    /// The selected particle's last step; none before the first step or without a selection.
    pub step_trace: Option<Box<StepTrace>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Playback {
    Playing,
    Paused,
    /// The requested number of steps is reached; playing on needs a larger one.
    Finished,
}

/// The data of one ensemble for drawing.
#[derive(Clone, Debug)]
pub struct EnsembleView {
    /// The optimizer's id.
    pub optimizer: u32,
    /// The rule in force.
    pub rule: RatedRule,
    pub particles: usize,
    /// Positions (x, y) since the previous snapshot, `columns × particles`, oldest column first. The last column
    /// belongs to the snapshot's step, the one before to the step before, and so on. There is at least one column,
    /// which repeats the last one if no step was taken since, and at most the trail length plus one. Positions of
    /// diverged particles are not finite.
    pub columns: Arc<Vec<[f32; 2]>>,
    /// The ensemble's mean position from the start to the snapshot's step, thinned to a bounded number of points.
    pub mean_path: Arc<Vec<[f32; 2]>>,
    /// The smallest box around the finite particles, as [min x, min y, max x, max y].
    pub bounds: Option<[f64; 4]>,
    /// The diagnostics of the snapshot's step, on the landscape in force.
    pub sample: Sample,
    /// The history of the run up to its last step, over the requested range of steps, oldest first.
    pub plot: Vec<Bucket>,
}
