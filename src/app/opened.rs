//! The content of an opened file or folder.

use std::path::Path;

use valleyscope_experiments::preset::Preset;
use valleyscope_runs::RunFolder;

use crate::result::SweepResult;

/// The content of an opened file or folder, which one of the tabs shows.
#[derive(Debug)]
pub(super) enum OpenedContent {
    Preset(Box<Preset>),
    Result(Box<SweepResult>),
    Run(RunFolder),
}

impl OpenedContent {
    /// Reads the preset, the sweep's result or the run at `path`.
    pub(super) fn read(path: &Path) -> Result<OpenedContent, String> {
        if RunFolder::is_at(path) {
            return RunFolder::open(path).map(OpenedContent::Run).map_err(|error| error.to_string());
        }
        if SweepResult::is_at(path) {
            let result = SweepResult::open(path).map_err(|error| error.to_string())?;
            return Ok(OpenedContent::Result(Box::new(result)));
        }
        Ok(OpenedContent::Preset(Box::new(Preset::read(path).map_err(|error| error.to_string())?)))
    }
}
