//! The numeric core against mathematics and against an independent oracle.

mod by_hand;
mod cautious;
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
mod roots;
mod rotation;
mod schedule_free;
mod schedules;
mod specs;
mod statistics;
mod step_trace;
mod trajectories;
mod typed;
