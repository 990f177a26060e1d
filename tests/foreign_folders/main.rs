//! Folders of runs, sweeps and presets that come from anybody, or are damaged, as a user of the real program meets them.

#![cfg(unix)]

mod check;
mod list;
mod place;
mod terminal;
