//! `valleyscope runs import`: runs of other programs and from other machines.

use std::path::PathBuf;

use anyhow::anyhow;

use super::find::RunsLocation;
use crate::cli::{Failure, say};
use crate::run_import::{Imported, Outcome, import_runs};

/// Writes a run for each that is found at and below `paths`. Fails if there is none to write.
pub(super) fn run(place: &RunsLocation, paths: &[PathBuf]) -> Result<(), Failure> {
    let mut made = 0;
    for path in paths {
        let take = |imported: Imported| {
            made += usize::from(matches!(imported.outcome, Outcome::Made { .. }));
            imported.lines().iter().for_each(|line| say(format_args!("{line}")));
        };
        import_runs(&place.folder, path, take).map_err(Failure::bad_input)?;
    }
    if made == 0 {
        return Err(Failure::BadInput(anyhow!("nothing was imported")));
    }
    Ok(())
}
