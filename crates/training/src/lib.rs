//! Training with libtorch: the worker's half of the program.
//!
//! ```text
//! config.ron  ->  TrainedSpec -> data, Training       ->  Trainer  ->  events, checkpoints
//!                 TrainedScan -> data, PointTraining  ->  Work     ->  events
//! ```
//!
//! The trainings themselves are in the workloads ([`valleyscope_experiments::workload`]); here are their common parts. All parameters of
//! a model, or of a stack of models of one shape that are trained side by side, are one flat tensor
//! ([`ParameterLayout`]), and the layers' parameters are views of it; so are the gradients. Element-wise operations and
//! reductions have two forms, loops over slices for the processor and tensor operations for a GPU, which the tests
//! compare.

mod answers;
mod axes;
pub mod checkpoint;
mod cuda;
mod device;
mod error;
mod follower;
mod fork;
pub mod gpt2;
pub mod group;
mod layout;
pub(crate) mod loops;
pub mod mnist;
mod optimizer;
pub mod probe;
mod progress;
mod saved;
mod scan_session;
mod shared_state;
mod since;
mod spikes;
pub(crate) mod team;
mod tensor_step;
mod tensor_value;
mod together;
mod trainer;
mod training;
pub mod usage;
mod waiting;
mod wanted;
mod worker;

pub use answers::{Answers, Differentiable, Labels, Questions, at_place, drawn_labels, uniforms};
pub use checkpoint::{CheckpointError, NamedTensors, TrainingState};
pub use device::Devices;
pub use error::TrainError;
pub use layout::{ParameterLayout, Segment};
pub use loops::Number;
pub use optimizer::FlatOptimizer;
pub use saved::SavedRun;
pub use spikes::LossSpikes;
pub use trainer::{Trainer, TrainerError};
pub use training::{
    Check, MeanLoss, ObtainResult, Obtained, PointLosses, PointTraining, SampleRequest, Trained, TrainedScan,
    TrainedSpec, Training, restore_tensors,
};
pub use valleyscope_runs::{Checkpoint, CheckpointOrigin, OptimizerProgress};
pub use worker::{Ended, Work, main};
