//! Training with libtorch: the worker's half of the program.
//!
//! ```text
//! config.ron  ->  TrainedSpec -> data, Training       ->  Trainer  ->  events, checkpoints
//! ```
//!
//! The models and their trainings are in [`gpt2`] and [`mnist`], and their specs in
//! [`valleyscope_experiments::workload`]; the other modules are shared. All parameters of a model, or of a stack of
//! models of one shape that are trained together, are one flat tensor ([`ParameterLayout`]), and the layers' parameters
//! are views of it; so are the gradients. GPT-2's gradients are libtorch's. The classifier's passes, and the rules,
//! have two forms, loops over slices for the processor and tensor operations for a GPU, which the tests compare.

// Only items that the tests and the worker's binary need are public, so that the compiler reports unused ones.
#![warn(unreachable_pub)]

mod axes;
pub mod checkpoint;
mod device;
mod error;
mod follower;
pub mod gpt2;
mod gradient_queries;
mod group;
mod layout;
mod loops;
mod losses;
mod measures;
pub mod mnist;
mod optimizer;
pub mod probe;
mod tensor_step;
mod tensor_value;
mod trainer;
mod training;
mod work;
mod worker;

pub use checkpoint::TrainingState;
pub use error::{CheckpointError, TrainError};
pub use gradient_queries::{GradientQueries, QueryResults, drawn_labels, uniforms};
pub use layout::ParameterLayout;
pub use losses::LossSpikes;
pub use optimizer::FlatOptimizer;
pub use training::Training;
pub use valleyscope_runs::{Checkpoint, CheckpointOrigin, OptimizerProgress};
pub use worker::main;

use checkpoint::SavedRun;
use checkpoint::{NamedTensors, restore_tensors};
use gradient_queries::{Differentiable, Labels, with_parameters};
use training::{Check, ObtainResult, Obtained, TrainedSpec};
