//! Differences of presets, runs and diagrams: a table of the settings that differ.
//!
//! A [`ListedSetting`] is a value with its path in a preset and its label. [`Preset::listed_settings`] lists all that a
//! preset's file holds, so that presets of equal lists compute the same. [`DifferenceTable::of`] compares such lists.
//!
//! [`Preset::listed_settings`]: crate::preset::Preset::listed_settings

mod labels;
mod listed;
mod of_run;
mod slots;
mod table;

pub use listed::{ListedSetting, SettingOwner};
pub use of_run::run_column;
pub use table::{DifferenceRow, DifferenceTable, SettingColumn};
