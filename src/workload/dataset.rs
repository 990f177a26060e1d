use std::error::Error;

/// What a workload learns from, as forms and messages say it.
#[derive(Debug)]
pub struct Dataset {
    /// What a choice of data for this and no other dataset is remembered by.
    pub name: &'static str,
    /// What [`DataChoice::Automatic`](super::DataChoice::Automatic) does.
    pub automatic: &'static str,
    /// What a folder of it holds.
    pub folder: &'static str,
    /// What the program makes where there is nothing else.
    pub synthetic: &'static str,
}

/// What a training would learn from if it began now, as far as that is told without reading it all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// In words, such as `tokens in FOLDER`.
    pub data: String,
    /// Whether the program would make it up, though nobody has asked for that.
    pub is_fallback: bool,
    /// What else the user had better know.
    pub warnings: Vec<String>,
}

/// Why a training could not begin, where data are missing or cannot be used.
pub type OutlookResult = Result<Outlook, Box<dyn Error + Send + Sync>>;

/// The words for a run's data without the folder that the files were in.
pub fn without_folder(data: &str) -> &str {
    match data.split_once(", in ") {
        Some((what, _)) if !what.starts_with("files in ") => what,
        _ => data,
    }
}
