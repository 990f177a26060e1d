//! The training data of real trainings: read, downloaded, or synthetic.

mod choice;
pub mod download;
mod lock;
pub mod mnist;
mod sparse_lines;
pub mod text;

use std::path::PathBuf;

use directories::ProjectDirs;

pub use choice::DataChoice;

/// The variable that names a folder with data.
pub const FOLDER_VARIABLE: &str = "VALLEYSCOPE_DATA";

/// Returns the folder of this name in `valleyscope` in the user's cache folder; none without a home folder.
fn cache_folder(name: &str) -> Option<PathBuf> {
    ProjectDirs::from("", "", "valleyscope").map(|project| project.cache_dir().join(name))
}

/// Returns the folder that the variable names, if it names one.
pub fn named_folder() -> Option<PathBuf> {
    std::env::var_os(FOLDER_VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}
