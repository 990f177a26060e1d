//! The numeric core against mathematics and against an independent oracle.

mod anatomy;
mod comparison;
mod diagnostics;
mod engine;
mod history;
mod landscape;
mod lanes;
mod memory;
mod mutations;
mod noise;
mod optimizers;
mod oracle;
mod paper;
mod replay;
mod specs;
mod statistics;
mod trajectories;
