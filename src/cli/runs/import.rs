//! `valleyscope runs import`: runs of other programs and from other machines.

use std::path::PathBuf;

use super::find::RunsLocation;
use crate::cli::{Failure, say};
use crate::run_import::{Imported, Outcome, import_runs};

/// Writes a run for each that is found at and below `paths`.
pub(super) fn run(place: &RunsLocation, paths: &[PathBuf]) -> Result<(), Failure> {
    for path in paths {
        let take = |imported: Imported| {
            if let Outcome::Made { damage, .. } = &imported.outcome {
                damage.iter().for_each(|damage| say(format_args!("{}: {damage}", imported.from.display())));
            }
            say(format_args!("{imported}"));
        };
        import_runs(&place.folder, path, take).map_err(Failure::bad_input)?;
    }
    Ok(())
}
