//! Snapshots that the player's thread sends to the window, as plain values.

use std::sync::Arc;

use valleyscope_engine::optimizer::RatedRule;
use valleyscope_engine::simulation::{Bucket, Sample, SimulationSpec, StepTrace};

/// The state of a running simulation at one step, and the changes since the previous snapshot.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The number of restarts. At a new number, trails and curves start again.
    pub run: u64,
    /// Steps taken since the start.
    pub step: u64,
    pub playback: Playback,
    /// The specification, with the settings in force.
    pub spec: Arc<SimulationSpec>,
    /// Whether changes of a recorded session remain.
    pub replaying: bool,
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
    /// The ensemble's mean position from the start until now, thinned to a bounded number of points.
    pub mean_path: Arc<Vec<[f32; 2]>>,
    /// The smallest box around the finite particles, as [min x, min y, max x, max y].
    pub bounds: Option<[f64; 4]>,
    /// The diagnostics of the snapshot's step, on the landscape in force.
    pub sample: Sample,
    /// The history over the requested range of steps, oldest first.
    pub plot: Vec<Bucket>,
}
