//! The training data of real trainings: read, downloaded, or synthetic.

pub mod download;
pub mod mnist;
pub mod text;

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{io, thread};

use directories::ProjectDirs;
use serde::{Deserialize, Serialize};
use valleyscope_engine::spec_error::{SpecError, broken};
use valleyscope_runs::plain_file;

pub const FOLDER_VARIABLE: &str = "VALLEYSCOPE_DATA";

/// The folder of this name in `valleyscope` in the user's cache folder; none without a home folder.
fn cache_folder(name: &str) -> Option<PathBuf> {
    ProjectDirs::from("", "", "valleyscope").map(|project| project.cache_dir().join(name))
}

/// The folder that the variable names, if it names one.
pub fn named_folder() -> Option<PathBuf> {
    std::env::var_os(FOLDER_VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// The source of the training data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DataChoice {
    /// The cache; else the folder that `VALLEYSCOPE_DATA` names; else, for a dataset that is downloaded, its mirrors;
    /// else synthetic data.
    #[default]
    Automatic,
    /// A folder that holds the files.
    Folder(String),
    /// Synthetic digits or text. They are not MNIST, and not a real corpus.
    Synthetic,
}

impl DataChoice {
    /// Checks that a folder's path is no longer than systems allow.
    pub(crate) fn check(&self) -> Result<(), SpecError> {
        match self {
            DataChoice::Folder(folder) if folder.is_empty() => broken("data", "names no folder; give the path of one"),
            DataChoice::Folder(folder) => SpecError::check_length("data", folder, 1..=4096),
            DataChoice::Automatic | DataChoice::Synthetic => Ok(()),
        }
    }
}

/// The interval at which the lock is tried.
const TICK: Duration = Duration::from_millis(50);

/// Waits until no other process holds the lock, and holds it until the file is dropped. The empty file is not removed.
/// `None` when cancelled.
fn wait(path: &Path, cancelled: &dyn Fn() -> bool) -> io::Result<Option<File>> {
    let lock = plain_file::open_to_write(path)?;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(Some(lock)),
            // Two processes at once then cost time, but do no harm: both write the same bytes at the same offsets.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => return Ok(Some(lock)),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if cancelled() => return Ok(None),
            Err(TryLockError::WouldBlock) => thread::sleep(TICK),
        }
    }
}

/// The interval between two lines.
const BETWEEN: Duration = Duration::from_secs(2);

/// Progress of long work in lines, at a limited rate.
struct SparseLines<'a> {
    say: &'a mut dyn FnMut(&str),
    last: Option<Instant>,
}

impl<'a> SparseLines<'a> {
    fn new(say: &'a mut dyn FnMut(&str)) -> SparseLines<'a> {
        SparseLines { say, last: None }
    }

    /// Reports that `done` of `total` bytes are done. The end is not reported.
    fn at(&mut self, doing: &str, done: u64, total: u64) {
        if done < total && self.last.is_none_or(|last| last.elapsed() >= BETWEEN) {
            self.last = Some(Instant::now());
            let [done, total] = [done, total].map(|bytes| bytes as f64 / 1e6);
            (self.say)(&format!("{doing}: {done:.1} of {total:.1} MB"));
        }
    }
}
