//! The training tab: start trainings, watch them, and compare their curves.
//!
//! The window's thread never reads a file here. One thread lists the runs ([`watcher`]), one reads whole runs and makes
//! their curves ([`plotter`]), and short-lived ones start, install and delete ([`jobs`]).

mod change_form;
mod chart;
mod charts;
mod choices;
mod curve_cache;
mod data_field;
mod detail;
mod dialogs;
mod editor;
mod elided_name;
mod export;
mod filter_field;
mod horizontal;
mod install;
mod jobs;
mod legend;
mod lines;
mod list;
mod marks;
mod named_curves;
mod names;
mod outlook;
mod panel;
mod pens;
mod plot_export;
mod plotter;
mod poll_schedule;
mod preset_menu;
mod pyramid;
mod queue;
mod run_detail;
mod samples;
mod scan_view;
mod setup;
mod summary;
mod table;
mod time_to_loss;
mod track;
mod update;
mod watched;
mod watcher;
mod worker;

pub use install::InstallCommand;
pub use jobs::TrainingPaths;
pub use panel::TrainingPanel;
pub use update::WorkerState;
