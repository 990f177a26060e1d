//! The window: the app as a user drives it, its panels and its drawing.

mod app_shell;
mod canvas_logic;
mod canvas_panels;
mod canvas_stage;
mod diagnostics_plots;
mod gpu;
mod landscape_exports;
mod pale;
#[cfg(unix)]
#[path = "../support/put_program.rs"]
mod put_program;
mod session_store;
mod shaders;
mod snapshots;
mod space;
