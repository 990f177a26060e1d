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

mod error;
mod images;
mod layout;
mod loops;
mod mlp;
mod optimizer;
mod order;

pub use error::TrainError;
pub use images::{Batch, Images};
pub use layout::{Layout, Segment};
pub use loops::Number;
pub use mlp::{Evaluation, Mlp};
pub use optimizer::FlatOptimizer;
pub use order::Order;
