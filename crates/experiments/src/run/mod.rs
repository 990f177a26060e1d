//! Runs of presets: configs, forks, checks of folders, and estimates of whether a machine can train them.

mod capacity;
mod config;
mod fork;

pub use capacity::{Capacity, CapacityReport, SystemMemory};
pub use config::{
    ConfigError, Difference, PresetConfigs, RunConfig, compute_the_same, differing_fields, with_changed_settings,
};
pub use fork::{Fork, ForkError};
