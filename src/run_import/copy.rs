//! Copies of runs from another machine or folder.

use std::fs;
use std::io;
use std::path::Path;

use valleyscope_runs::RunFolder;

use super::{Outcome, RunError};

/// Copies the files of a run into a folder of runs under the same name. The run appears there when it is complete.
pub(super) fn copy_run(into: &Path, folder: &Path) -> Result<Outcome, RunError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source: io::Error| RunError::Write { path, source }
    };
    let from = RunFolder::open(folder)?;
    fs::create_dir_all(into).map_err(failed(into))?;
    let target = into.canonicalize().map_err(failed(into))?.join(from.name());
    if target == from.path() {
        return Err(RunError::Unfit("it is in the folder of runs already".to_owned()));
    }
    if target.exists() {
        let is_same = same_events(&from, &target);
        let is = if is_same { "was imported before" } else { "is another run" };
        return Err(RunError::Unfit(format!("{}, of the same name, {is}", target.display())));
    }
    let aside = tempfile::Builder::new().prefix(".import-").tempdir_in(into).map_err(failed(into))?;
    let whole = aside.path().join(from.name());
    fs::create_dir(&whole).map_err(failed(&whole))?;
    let unreadable = |source| RunError::Read { path: from.path().to_owned(), source };
    let mut files = 0;
    for entry in fs::read_dir(from.path()).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        // A run consists of plain files; links may lead anywhere.
        if entry.file_type().map_err(unreadable)?.is_file() {
            let copied = whole.join(entry.file_name());
            fs::copy(entry.path(), &copied).map_err(failed(&copied))?;
            files += 1;
        }
    }
    fs::rename(&whole, &target).map_err(failed(&target))?;
    let run = RunFolder::open(&target)?;
    Ok(Outcome::Made { run, what: format!("{files} files"), damage: Vec::new() })
}

/// Returns whether the events of two runs begin alike: one may have been trained longer.
fn same_events(run: &RunFolder, other: &Path) -> bool {
    let first_line = |path: &Path| -> Option<String> {
        let mut line = String::new();
        io::BufRead::read_line(&mut io::BufReader::new(fs::File::open(path).ok()?), &mut line).ok()?;
        Some(line)
    };
    let events = [run.events(), other.join(RunFolder::EVENTS)].map(|path| first_line(&path));
    events[0].is_some() && events[0] == events[1]
}
