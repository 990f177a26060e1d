//! The window: the app as a user drives it, its panels and its drawing.

mod app_shell;
mod canvas_lens;
mod canvas_logic;
mod canvas_panels;
mod canvas_space;
mod diagnostics_plots;
mod gpu;
#[path = "../support/home.rs"]
mod home;
mod landscape_exports;
#[path = "../support/left_out.rs"]
mod left_out;
#[cfg(unix)]
#[path = "../support/put_program.rs"]
mod put_program;
#[path = "../support/says.rs"]
mod says;
mod session_store;
mod shaders;
