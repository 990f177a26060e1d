//! Valleyscope: see why one optimizer beats another in a narrowing valley.

#[cfg(feature = "app")]
pub mod app;
pub mod cli;
pub mod dataset;
pub mod elementary;
pub mod export;
pub mod figure;
#[cfg(feature = "app")]
pub mod gpu;
pub mod landscape;
pub mod lanes;
pub mod machine;
pub mod optimizer;
pub mod plain_file;
pub mod preset;
pub mod quantity;
pub mod random;
pub mod result;
pub mod run;
pub mod simulation;
pub mod sweep;
#[cfg(feature = "torch")]
pub mod train;
pub mod view;
pub mod visible;
pub mod workload;
