//! The training: models and optimizers on tensors, runs that survive anything, the scan.

mod checkpoints;
#[path = "../data_folder/mod.rs"]
mod data_folder;
mod faults;
mod fork;
mod gpt2;
mod gpt2_files;
mod gpt2_pytorch;
mod gpt2_run;
mod images;
mod mlp;
mod needs;
mod optimizers;
mod order;
mod probe;
mod pytorch;
mod real;
mod resume;
mod saved;
mod scan;
mod small;
mod spikes;
