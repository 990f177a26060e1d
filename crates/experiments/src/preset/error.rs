use std::io;
use std::path::PathBuf;

use super::Preset;
use super::fault::Fault;

/// Why a preset could not be read, found or saved.
#[derive(Debug, thiserror::Error)]
pub enum PresetError {
    #[error("cannot read the preset {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is a folder; a preset is a file, usually with the extension .ron", path.display())]
    Folder { path: PathBuf },
    #[error("{} is longer than {} MiB, the limit for presets", path.display(), Preset::LONGEST >> 20)]
    TooLarge { path: PathBuf },
    #[error("{origin} is not a text file in UTF-8: {what}")]
    NotText { origin: String, what: String },
    /// A fault in the text.
    #[error(transparent)]
    Content(Box<Fault>),
    /// A single field that cannot be set.
    #[error(
        "{assignment}: {reason}; `valleyscope presets show NAME` prints a preset whose comments explain the fields"
    )]
    CannotSet { assignment: String, reason: String },
    /// A fault in a preset that is about to be written.
    #[error("the preset cannot be saved: {0}")]
    Invalid(String),
    #[error("there is no preset named `{name}`{}; `valleyscope presets list` shows all", did_you_mean(closest))]
    NotFound { name: String, closest: Vec<String> },
    #[error("`{name}` cannot be the name of a preset: {reason}")]
    BadName { name: String, reason: &'static str },
    #[error("{} exists already; choose another name, or agree to replace it", path.display())]
    Exists { path: PathBuf },
    #[error(
        "cannot write {}: {source}; save the preset in another folder, or make this one writable",
        path.display()
    )]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot read the folder of your presets, {}: {source}", folder.display())]
    ReadFolder { folder: PathBuf, source: io::Error },
}

fn did_you_mean(closest: &[String]) -> String {
    match closest {
        [] => String::new(),
        [one] => format!(" (did you mean `{one}`?)"),
        [several @ .., last] => format!(" (did you mean `{}` or `{last}`?)", several.join("`, `")),
    }
}
