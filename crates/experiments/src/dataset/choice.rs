//! The choice of the source of training data.

use serde::{Deserialize, Serialize};
use valleyscope_engine::spec_error::{SpecError, broken};

/// The source of the training data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DataChoice {
    /// The cache; else the folder that `VALLEYSCOPE_DATA` names; else, for a dataset that is downloaded, its mirrors;
    /// else synthetic data.
    #[default]
    Automatic,
    /// A folder that holds the files.
    Folder(String),
    /// Synthetic digits or text. They are not MNIST, and not a real corpus.
    Synthetic,
}

impl DataChoice {
    /// Checks that a folder's path is no longer than systems allow.
    pub(crate) fn check(&self) -> Result<(), SpecError> {
        match self {
            DataChoice::Folder(folder) if folder.is_empty() => broken("data", "names no folder; give the path of one"),
            DataChoice::Folder(folder) => SpecError::check_length("data", folder, 1..=4096),
            DataChoice::Automatic | DataChoice::Synthetic => Ok(()),
        }
    }
}
