//! Experiments: presets, workloads with their datasets, and the runs that are made of them.
//!
//! ```text
//! dataset     MNIST and texts: obtaining, checking and reading them
//! view        how landscapes, curves and numbers are shown, as plain values
//! workload    trainings in words: specs, forms, requirements; how they are trained is in the worker's crate
//! preset      experiments as RON files, with the positions of errors
//! run         configs of runs, forks, and checks of whole folders
//! difference  the settings in which presets, runs and diagrams differ
//! ```

// Only items that other crates need are public, so that the compiler reports unused ones.
#![warn(unreachable_pub)]

pub mod dataset;
pub mod difference;
mod format_version;
pub mod preset;
pub mod run;
pub mod view;
pub mod workload;
