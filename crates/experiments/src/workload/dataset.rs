use std::error::Error;
use std::path::{Path, PathBuf};

/// The words for a workload's dataset in forms and messages.
#[derive(Debug)]
pub struct Dataset {
    /// The name under which the choice of data for this dataset is stored.
    pub name: &'static str,
    /// The effect of [`DataChoice::Automatic`](crate::dataset::DataChoice::Automatic).
    pub automatic: &'static str,
    /// The contents of a folder of it.
    pub folder: &'static str,
    /// The synthetic data that replace it where nothing else is found.
    pub synthetic: &'static str,
    /// The files of a dataset that the program downloads.
    pub files: Option<DatasetFiles>,
}

/// The files of a dataset, which can be in any folder.
#[derive(Debug)]
pub struct DatasetFiles {
    /// The name of the dataset for users, such as `MNIST`.
    pub title: &'static str,
    /// The folder of the user into which they are downloaded.
    pub cache: fn() -> Option<PathBuf>,
    /// Returns the reason why a folder lacks some of the files, without reading them.
    pub lacking_in: fn(&Path) -> Option<String>,
}

impl DatasetFiles {
    /// Describes whether the files are in a folder.
    pub fn words_of(&self, folder: &Path) -> String {
        let title = self.title;
        (self.lacking_in)(folder)
            .map_or_else(|| format!("has the files of {title}"), |why| format!("no {title}: {why}"))
    }
}

/// The data that a training would use if it began now, as far as can be determined without reading them all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// The data in words, such as `tokens in FOLDER`.
    pub data: String,
    /// Whether the data would be synthetic without being requested.
    pub is_fallback: bool,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// The data of a training, or the reason why it could not begin with missing or unusable data.
pub type OutlookResult = Result<Outlook, Box<dyn Error + Send + Sync>>;

/// Returns the words for a run's data without the folder that the files were in.
pub fn without_folder(data: &str) -> &str {
    match data.split_once(", in ") {
        Some((what, _)) if !what.starts_with("files in ") => what,
        _ => data,
    }
}
