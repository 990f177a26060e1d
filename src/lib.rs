//! Valleyscope: see why one optimizer beats another in a narrowing valley.

// Only items that programs or tests need are public, so that the compiler reports unused ones.
#![warn(unreachable_pub)]

#[cfg(feature = "app")]
pub mod app;
pub mod cli;
pub mod dataset;
pub mod elementary;
pub mod export;
pub mod figure;
#[cfg(feature = "app")]
pub mod gpu;
pub mod instructions;
pub mod landscape;
pub mod lanes;
pub mod machine;
pub mod optimizer;
pub mod parameter;
pub mod plain_file;
pub mod preset;
pub mod quantity;
pub mod random;
pub mod regret;
pub mod result;
pub mod run;
pub mod simulation;
pub mod spec_error;
pub mod sweep;
#[cfg(feature = "torch")]
pub mod train;
pub mod view;
pub mod visible;
pub mod workload;
