//! Ensembles of particles that optimizers move on a landscape.
//!
//! [`Simulation`] holds all ensembles: it advances when called, and uses neither clock nor thread. [`Engine`] runs one
//! on a thread of its own, paced or at full speed, receives [`EngineCommand`]s and returns [`Snapshot`]s. The command
//! line uses the first, the window the second.
//!
//! A particle's trajectory depends only on the seed, its optimizer's id, its own number, and the settings in force at
//! each step. A [`Record`] therefore suffices to repeat a session.

mod diagnostics;
mod engine;
mod ensemble;
mod history;
mod kernel;
mod model;
mod names;
mod pace;
mod snapshot;
mod spec;
mod trail;

pub use diagnostics::{Sample, Spread};
pub use engine::{Engine, EngineCommand};
pub use ensemble::{Ensemble, noise_key, start_key};
pub use history::{Bucket, BucketSpread, History, PlotRequest, RECENT_STEPS};
pub use model::Simulation;
pub use names::{distinct_name, is_given, kept_name};
pub use pace::Speed;
pub use snapshot::{EnsembleView, ParticleId, Playback, Snapshot, StepTrace};
pub use spec::defaults;
pub use spec::{Change, LandscapeSpec, OptimizerSpec, Record, Setting, SettingError, SimulationSpec, StartSpec};
pub use trail::trail_columns;
