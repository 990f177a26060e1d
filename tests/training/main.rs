//! The training: models and optimizers on tensors, runs that survive anything, the scan.

mod checkpoints;
mod faults;
mod images;
mod mlp;
mod optimizers;
mod order;
mod pytorch;
mod scan;
mod small;
