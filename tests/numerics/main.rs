//! The numeric core against mathematics and against an independent oracle.

mod comparison;
mod diagnostics;
mod engine;
mod golden;
mod history;
mod landscape;
mod lanes;
mod laws;
mod memory;
mod mutations;
mod noise;
mod optimizers;
mod oracle;
mod paper;
mod replay;
mod specs;
mod statistics;
mod step_trace;
mod trajectories;
