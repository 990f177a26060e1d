//! Training with libtorch: the worker's half of the program.
//!
//! ```text
//! config.ron  ->  TrainedSpec -> data, Training       ->  Trainer  ->  events, checkpoints
//!                 TrainedScan -> data, PointTraining  ->  Work     ->  events
//! ```
//!
//! What is trained is the workloads' matter ([`crate::workload`]); here is what they have in common. All parameters of a
//! model, or of a stack of models of one shape that are trained side by side, are one flat tensor ([`ParameterLayout`]), and the
//! layers' parameters are views of it; so are the gradients. What is no product of matrices has two forms, loops over
//! slices for the processor and tensor operations for a GPU, which the tests compare.

mod checkpoint;
mod cuda;
mod device;
mod error;
mod fork;
mod layout;
pub(crate) mod loops;
mod optimizer;
pub mod probe;
mod progress;
mod saved;
mod since;
mod spikes;
pub(crate) mod team;
mod tensor_step;
mod trainer;
mod training;
pub mod usage;
mod waiting;
mod wanted;
mod worker;

pub use crate::run::{Checkpoint, CheckpointOrigin};
pub use checkpoint::{CheckpointError, NamedTensors};
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
pub use worker::{Ended, Work, main};
