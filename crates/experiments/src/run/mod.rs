//! Runs of presets: their configs, forks of them, checks of their folders, and whether a machine can train them.

mod capacity;
mod config;
mod fork;

pub use capacity::{Capacity, CapacityReport, SystemMemory};
pub use config::{ConfigError, Difference, PresetConfigs, RunConfig, compute_the_same, differing_fields};
pub use fork::{Fork, ForkError};
