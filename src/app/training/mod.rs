//! The training tab: start trainings, watch them, and compare their curves.
//!
//! The window's thread never reads a file here. One thread lists the runs ([`watcher`]), one reads whole runs and makes
//! their curves ([`plotter`]), and short-lived ones start, install and delete ([`jobs`]).

mod charts;
mod controls;
mod curves;
mod detail;
mod dialogs;
mod editor;
mod empty;
mod jobs;
mod legend;
mod list;
mod names;
mod panel;
mod plots;
mod plotter;
mod queue;
mod results;
mod summary;
mod table;
mod track;
mod triangle;
mod view;
mod watcher;
mod worker;

pub use panel::TrainingPanel;
pub use worker::{InstallCommand, TrainingPaths, WorkerState};
