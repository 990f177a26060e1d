use std::error::Error;
use std::path::Path;

/// What a workload learns from, as forms and messages say it.
#[derive(Debug)]
pub struct Dataset {
    /// What [`DataChoice::Automatic`](super::DataChoice::Automatic) does.
    pub automatic: &'static str,
    /// What a folder of it holds.
    pub folder: &'static str,
    /// What the program makes where there is nothing else.
    pub stand_in: &'static str,
    /// Refuses a folder that does not hold it.
    pub look_in: fn(&Path) -> Result<(), Box<dyn Error + Send + Sync>>,
}

/// The words for a run's data without the folder that the files were in.
pub fn without_folder(data: &str) -> &str {
    match data.split_once(", in ") {
        Some((what, _)) if !what.starts_with("files in ") => what,
        _ => data,
    }
}
