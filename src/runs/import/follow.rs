//! Following event files and tables of trainings that run elsewhere.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use valleyscope_runs::RunFolder;

use super::{Found, ImportError, Imported, Outcome, find, import, imported_before, source};
use crate::runs::tensorboard::event_files;

/// The shortest time between two searches for changes.
const INTERVAL: Duration = Duration::from_millis(500);
/// The part of the time that searching and writing may take: a long history is written anew less often.
const BUSY_SHARE: u32 = 4;
/// The time without new points after which a run counts as ended.
const GROWTH: Duration = Duration::from_secs(600);

/// Imports the runs at and below a path, and those whose files have changed again.
///
/// Programs that write such files do not record that they end. So a run has no end, and lists show when it was last
/// seen, until its files have not changed for ten minutes; then it counts as finished. If they change later, the run is
/// open again.
pub struct Follower {
    into: PathBuf,
    path: PathBuf,
    /// The states of what was imported.
    known: HashMap<PathBuf, Stamp>,
    /// The reasons for which something is left out, each of which is reported once.
    left_out: HashMap<PathBuf, String>,
    runs: HashMap<String, RunFolder>,
    next: Instant,
}

/// The state of the files of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    changed: Option<SystemTime>,
    grows: bool,
}

impl Follower {
    pub fn new(into: &Path, path: &Path) -> Follower {
        Follower {
            into: into.to_owned(),
            path: path.to_owned(),
            known: HashMap::new(),
            left_out: HashMap::new(),
            runs: imported_before(into),
            next: Instant::now(),
        }
    }

    /// Imports what has changed, unless the last call was just now. Passes on the outcome of what was found for the
    /// first time; a path without runs may have some later.
    ///
    /// # Errors
    ///
    /// Fails if nothing was found so far and the path cannot be read, or holds too many runs.
    pub fn poll(&mut self, mut take: impl FnMut(Imported)) -> Result<(), ImportError> {
        let begun = Instant::now();
        if begun < self.next {
            return Ok(());
        }
        let found = match find(&self.into, &self.path) {
            Err(ImportError::Nothing(_)) => Vec::new(),
            // A folder that was read before may be out of reach for a while.
            Err(_) if !self.known.is_empty() => Vec::new(),
            found => found?,
        };
        for found in found {
            let (from, stamp) = (found.path().to_owned(), Stamp::of(&found));
            if self.known.get(&from) == Some(&stamp) {
                continue;
            }
            let key = source(found.origin());
            // Users may delete a run.
            let before = self.runs.get(&key).filter(|run| run.path().is_dir());
            let outcome = import(&self.into, &self.path, found, before, stamp.grows);
            let is_first = match &outcome {
                Outcome::Made { run, .. } => {
                    self.left_out.remove(&from);
                    self.runs.insert(key, run.clone()).as_ref() != Some(run) || !self.known.contains_key(&from)
                }
                Outcome::LeftOut(reason) => self.left_out.insert(from.clone(), reason.clone()).as_ref() != Some(reason),
            };
            self.known.insert(from.clone(), stamp);
            if is_first {
                take(Imported { from, outcome });
            }
        }
        self.next = Instant::now() + INTERVAL.max(begun.elapsed() * BUSY_SHARE);
        Ok(())
    }
}

impl Stamp {
    fn of(found: &Found) -> Stamp {
        let files = match found {
            Found::Log(log) => {
                let folders = log.parts.iter().map(|part| &part.path).chain([&log.path]);
                folders.flat_map(|folder| event_files(folder).unwrap_or_default()).collect()
            }
            Found::Table(file) => vec![file.clone()],
            Found::Run(_) | Found::Passed(..) => Vec::new(),
        };
        let data: Vec<_> = files.iter().filter_map(|file| file.metadata().ok()).collect();
        let changed = data.iter().filter_map(|data| data.modified().ok()).max();
        // A time in the future is of another clock.
        let grows = changed.is_some_and(|changed| changed.elapsed().is_ok_and(|age| age < GROWTH));
        Stamp { bytes: data.iter().map(std::fs::Metadata::len).sum(), changed, grows }
    }
}
