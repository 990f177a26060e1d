//! The command line and the files of the program, without its window.

#[cfg(feature = "app")]
mod animate;
mod commands;
mod data_command;
#[path = "../support/data_folder.rs"]
mod data_folder;
mod datasets;
mod doctor;
mod figures;
mod foreign_folders;
#[path = "../support/golden_bytes.rs"]
mod golden_bytes;
mod grid_commands;
#[path = "../support/home.rs"]
mod home;
#[path = "../support/left_out.rs"]
mod left_out;
mod lesson_page;
#[cfg(unix)]
mod own_runs;
mod presets;
#[cfg(unix)]
#[path = "../support/put_program.rs"]
mod put_program;
mod regret;
mod run_table;
mod runs;
mod runs_command;
#[path = "../support/says.rs"]
mod says;
mod simulate;
mod sweep_command;
mod tensorboard;
mod text;
