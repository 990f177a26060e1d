use std::io;
use std::path::PathBuf;

use crate::dataset::download::DownloadError;

/// Why the digits cannot be obtained.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    #[error(
        "there is no folder {}; name the folder that holds the four files of MNIST, or get them with `valleyscope data \
         mnist`", .0.display()
    )]
    NoFolder(PathBuf),
    #[error(
        "expected the four files of MNIST in {} or its subfolder mnist, as they are or with .gz, found no {}; name the \
         folder that holds them, or get them with `valleyscope data mnist`",
        folder.display(), missing.join(", no ")
    )]
    Missing { folder: PathBuf, missing: Vec<&'static str> },
    #[error("cannot use {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: expected {expected}, found {found}; put the original file there, or get it with `valleyscope data mnist`", path.display())]
    Damaged { path: PathBuf, expected: String, found: String },
    #[error("there is no home folder to keep MNIST in; set HOME, or name a folder for the files")]
    NoCache,
    #[error(transparent)]
    Download(#[from] DownloadError),
}

impl DataError {
    /// Returns whether the files were not found, as opposed to being wrong.
    pub fn is_absence(&self) -> bool {
        matches!(self, DataError::NoFolder(_) | DataError::Missing { .. })
    }
}
