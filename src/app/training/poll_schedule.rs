//! The schedule of the runs' watcher: when the folder is listed again, and which runs are checked in a poll.

use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use valleyscope_runs::RunFolder;

/// The number of polls in which each run at rest is checked once.
pub(super) const ROUND: usize = 10;
/// The age of a listing from which the folder is listed again.
const RELIST: Duration = Duration::from_secs(10);
/// The age of the folder's last change until which each poll lists it again: a run's folder may be filled some time
/// after it was made.
const FRESH: Duration = Duration::from_secs(5);

/// The state of the folder of runs when it was last listed.
pub(super) struct Listing {
    /// The reason why the folder cannot be read, if it cannot.
    pub trouble: Option<String>,
    time: Instant,
    /// The modification time of the folder.
    modified: Option<SystemTime>,
}

impl Listing {
    /// Lists the runs in a folder; without a folder there are none.
    pub(super) fn of(folder: Option<&Path>) -> (Listing, Vec<RunFolder>) {
        let (time, modified) = (Instant::now(), folder.and_then(modified));
        let (runs, trouble) = match folder.map_or(Ok(Vec::new()), RunFolder::list) {
            Ok(runs) => (runs, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        (Listing { trouble, time, modified }, runs)
    }

    /// Returns whether the folder may hold other runs by now.
    pub(super) fn is_outdated(&self, folder: &Path) -> bool {
        let now = modified(folder);
        let is_fresh = || now.is_some_and(|time| time.elapsed().is_ok_and(|since| since < FRESH));
        self.trouble.is_some() || now != self.modified || self.time.elapsed() >= RELIST || is_fresh()
    }
}

fn modified(folder: &Path) -> Option<SystemTime> {
    folder.metadata().ok()?.modified().ok()
}

/// Divides the runs at rest among [`ROUND`] polls.
#[derive(Default)]
pub(super) struct RoundRobin {
    next: usize,
    /// Makes the next poll check all of them.
    pub all: bool,
}

impl RoundRobin {
    /// Returns the indices of the runs to check now, of `count` runs at rest.
    pub(super) fn take(&mut self, count: usize) -> Range<usize> {
        if std::mem::take(&mut self.all) {
            return 0..count;
        }
        let start = if self.next < count { self.next } else { 0 };
        self.next = (start + count.div_ceil(ROUND)).min(count);
        start..self.next
    }
}
