//! Folders of runs, sweeps and presets that come from anybody, or are damaged, as a user of the real program meets them.

// The folders of a user are those of Linux.
#![cfg(target_os = "linux")]

mod check;
mod check_sweeps;
mod list;
mod place;
mod terminal;
