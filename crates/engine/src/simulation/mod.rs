//! Ensembles of particles that optimizers move on a landscape.
//!
//! [`Simulation`] holds all ensembles: it advances when called, and uses neither clock nor thread. The caller decides
//! when: the command line takes all steps at once, the window's player takes them at a pace.
//!
//! A particle's trajectory depends only on the seed, its optimizer's id, its own number, and the settings in force at
//! each step. A [`Record`] therefore suffices to repeat a session, and a [`Timeline`] shows any of its steps again.

mod diagnostics;
mod ensemble;
mod history;
mod kernel;
mod model;
mod names;
mod shown;
mod spec;
mod step_trace;
mod timeline;
mod what_if;

pub use diagnostics::{Sample, Spread};
pub use ensemble::{Ensemble, noise_key};
pub use history::{Bucket, BucketSpread, History, PlotRequest, RECENT_STEPS};
pub use model::Simulation;
pub(crate) use names::is_given;
pub use names::{distinct_name, states_other_settings};
pub use spec::defaults;
pub use spec::{Change, OptimizerSpec, Record, Setting, SettingError, SimulationSpec, StartSpec};
pub use step_trace::{ParticleId, StepTrace};
pub use timeline::Timeline;
