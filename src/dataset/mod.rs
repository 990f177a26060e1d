//! The data that real trainings learn from: read, downloaded, or made by the program.

pub mod download;
mod lock;
pub mod mnist;
pub mod text;

/// The variable that names a folder with data.
pub const FOLDER_VARIABLE: &str = "VALLEYSCOPE_DATA";
