//! Training with libtorch: the worker's half of the program.
//!
//! ```text
//! config.ron  ->  TrainedSpec -> data, Training       ->  Trainer  ->  events, checkpoints
//!                 TrainedScan -> data, PointTraining  ->  Work     ->  events
//! ```
//!
//! The models and their trainings are in [`gpt2`] and [`mnist`], and their specs in
//! [`valleyscope_experiments::workload`]; the other modules are common to all. All parameters of a model, or of a stack
//! of models of one shape that are trained side by side, are one flat tensor ([`ParameterLayout`]), and the layers'
//! parameters are views of it; so are the gradients. Element-wise operations and reductions have two forms, loops over
//! slices for the processor and tensor operations for a GPU, which the tests compare.

mod axes;
pub mod checkpoint;
mod checkpoint_reader;
mod cuda;
mod device;
mod error;
mod follower;
mod fork;
pub mod gpt2;
mod gradient_queries;
pub mod group;
mod layout;
pub(crate) mod loops;
mod loss_window;
pub mod mnist;
mod named_tensors;
pub(crate) mod openmp;
mod optimizer;
pub mod probe;
mod progress;
mod rank_arguments;
mod saved_run;
mod scan_session;
mod shared_state;
mod spikes;
mod tensor_rates;
mod tensor_step;
mod tensor_value;
mod thread_spin;
mod trained;
mod trainer;
mod training;
pub mod usage;
mod wait_metrics;
mod work;
mod worker;

pub use device::Devices;
pub use error::{CheckpointError, TrainError};
pub use gradient_queries::{
    Differentiable, GradientQueries, Labels, QueryResults, drawn_labels, uniforms, with_parameters,
};
pub use layout::{ParameterLayout, Segment};
pub use loops::Number;
pub use named_tensors::{NamedTensors, TrainingState, restore_tensors};
pub use optimizer::FlatOptimizer;
pub use saved_run::SavedRun;
pub use spikes::LossSpikes;
pub use trained::Trained;
pub use trainer::{Trainer, TrainerError};
pub use training::{
    Check, Ended, MeanLoss, ObtainResult, Obtained, PointLosses, PointTraining, SampleRequest, TrainedScan,
    TrainedSpec, Training,
};
pub use valleyscope_runs::{Checkpoint, CheckpointOrigin, OptimizerProgress};
pub use work::Work;
pub use worker::main;
