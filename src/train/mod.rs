//! Training with libtorch: the worker's half of the program.
//!
//! ```text
//! config.ron  ->  data, Mlp (a stack of models), FlatOptimizer  ->  events, checkpoints
//! ```
//!
//! Everything that is trained is a **stack** of models of one shape, which are trained side by side: products
//! have a leading axis over the models. A single run is a stack of one. All parameters of a stack are one flat
//! tensor ([`Layout`]), and the layers' parameters are views of it; so are the gradients.
//!
//! Forward and backward pass are written out, not recorded: the model is small, and on the processor most of
//! a step's time would go into the recording. What is not a product of matrices has two forms, loops over
//! slices for the processor and tensor operations for a GPU, which the tests compare.

mod checkpoint;
mod device;
mod drive;
mod error;
mod images;
mod layout;
mod loops;
mod mlp;
mod mnist;
mod optimizer;
mod order;
mod scan;
mod waiting;
mod worker;

pub use crate::run::{Checkpoint, Origin};
pub use checkpoint::CheckpointError;
pub use device::Devices;
pub use drive::{Drive, DriveError, Ended};
pub use error::TrainError;
pub use images::{Batch, Images};
pub use layout::{Layout, Segment};
pub use loops::Number;
pub use mlp::{Evaluation, Mlp};
pub use mnist::MnistRun;
pub use optimizer::FlatOptimizer;
pub use order::Order;
pub use scan::{Scan, ScanPixel};
pub use worker::main;
