//! The real workloads' part of the window: start trainings, watch them, and compare their curves.
//!
//! The window's thread never reads a file here. One thread knows which runs there are ([`watcher`]), one reads whole
//! runs and makes their curves ([`plotter`]), and short-lived ones start, stop and delete ([`office`]).

mod charts;
mod colors;
mod detail;
mod dialogs;
mod draft;
mod export;
mod list;
mod marks;
mod office;
mod panel;
mod plotter;
mod pyramid;
mod scan_view;
mod setup;
mod track;
mod watcher;
mod worker;

pub use draft::TrainingMemory;
pub use office::WorkerState;
pub use panel::TrainingPanel;
