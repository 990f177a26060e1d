//! Copies of runs from another machine or folder.

use std::fs;
use std::io::{self, BufRead, Read, Write};
use std::path::Path;
use std::time::Duration;

use valleyscope_engine::terminal_escape::visible_path;
use valleyscope_runs::RunFolder;
use valleyscope_runs::plain_file::{self, Links};

use super::{Outcome, RunError};

/// The beginning of the name of a folder in which a copy is made.
const ASIDE: &str = ".import-";
/// The file that marks such a folder as this program's.
const MARK: &str = ".valleyscope-import";

/// Copies the files of a run into a folder of runs under the same name. The run appears there when it is complete.
pub(super) fn copy_run(into: &Path, folder: &Path) -> Result<Outcome, RunError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source: io::Error| RunError::Write { path, source }
    };
    let from = RunFolder::open(folder)?;
    fs::create_dir_all(into).map_err(failed(into))?;
    // A hidden folder is no run of the user's.
    let name = from.name();
    let name = name.trim_start_matches('.');
    let name = if name.is_empty() { "run" } else { name };
    let target = into.canonicalize().map_err(failed(into))?.join(name);
    if target == from.path() {
        return Err(RunError::Unfit("it is in the folder of runs already".to_owned()));
    }
    if target.exists() {
        let is_same = same_events(&from, &target);
        let is = if is_same {
            "was imported before"
        } else {
            "is another run; rename its folder or this one, and import it again"
        };
        return Err(RunError::Unfit(format!("{}, of the same name, {is}", visible_path(&target))));
    }
    remove_remains(into);
    let aside = tempfile::Builder::new().prefix(ASIDE).tempdir_in(into).map_err(failed(into))?;
    let mark = aside.path().join(MARK);
    fs::write(&mark, "").map_err(failed(&mark))?;
    let whole = aside.path().join(name);
    fs::create_dir(&whole).map_err(failed(&whole))?;
    let unreadable = |source| RunError::Read { path: from.path().to_owned(), source };
    let mut files = 0;
    for entry in fs::read_dir(from.path()).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        // A run consists of plain files; links may lead anywhere.
        if entry.file_type().map_err(unreadable)?.is_file() {
            let copied = whole.join(entry.file_name());
            copy_file(&entry.path(), &copied)?;
            files += 1;
        }
    }
    fs::rename(&whole, &target).map_err(failed(&target))?;
    let run = RunFolder::open(&target)?;
    Ok(Outcome::Made { run, what: format!("{files} files"), left_out: Vec::new() })
}

/// Copies a file, unless a link or a FIFO has replaced it.
fn copy_file(from: &Path, to: &Path) -> Result<(), RunError> {
    let unreadable = |source| RunError::Read { path: from.to_owned(), source };
    let failed = |source| RunError::Write { path: to.to_owned(), source };
    let mut source = plain_file::open(from, Links::Refused).map_err(unreadable)?;
    let mut copy = fs::File::create_new(to).map_err(failed)?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        match source.read(&mut buffer).map_err(unreadable)? {
            0 => return Ok(()),
            count => copy.write_all(&buffer[..count]).map_err(failed)?,
        }
    }
}

/// Removes what imports have left that were killed. Younger folders may be those of an import in another window.
fn remove_remains(into: &Path) {
    const OLD: Duration = Duration::from_secs(24 * 3600);
    let Ok(entries) = fs::read_dir(into) else { return };
    for entry in entries.flatten() {
        let modified = entry.metadata().and_then(|data| data.modified());
        let is_old = modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > OLD));
        if is_old && is_remains(&entry.path()) {
            // The next import tries again.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Returns whether a folder is one in which an import was making a copy.
pub(super) fn is_remains(folder: &Path) -> bool {
    let is_named = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(ASIDE));
    is_named && folder.join(MARK).symlink_metadata().is_ok_and(|mark| mark.is_file())
}

/// Returns whether the events of two runs begin alike: one may have been trained longer.
fn same_events(run: &RunFolder, other: &Path) -> bool {
    /// The largest number of compared bytes: the first line has the whole config.
    const MOST: u64 = 64 << 20;
    let first_line = |path: &Path| -> Option<Vec<u8>> {
        let mut line = Vec::new();
        let file = plain_file::open(path, Links::Refused).ok()?;
        io::BufReader::new(file.take(MOST)).read_until(b'\n', &mut line).ok()?;
        Some(line)
    };
    let events = [run.events(), other.join(RunFolder::EVENTS)].map(|path| first_line(&path));
    events[0].is_some() && events[0] == events[1]
}
