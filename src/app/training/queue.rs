//! The queue of waiting trainings, in a file so that it outlives the window.
//!
//! The file holds the current run and the waiting configs. A lock marks the window that manages it; the next window
//! takes over the queue of a closed one.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use valleyscope_experiments::preset::Preset;
use valleyscope_runs::RunFolder;
use valleyscope_runs::atomic_file::write_plain_file;
use valleyscope_runs::plain_file::{self, Links};

/// The name of the file in the folder of runs, which has at most one queue.
const FILE: &str = "queue.json";
/// The size limit of the file in bytes, more than any valid queue has.
const MOST: u64 = 64 << 20;
/// The name of the lock file, which the window that manages the queue holds.
const LOCK: &str = "queue.lock";

/// The content of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Waiting {
    /// The stem of the names of the runs' folders.
    stem: String,
    /// The folder of the current run.
    current: Option<PathBuf>,
    /// The configs of the waiting trainings.
    configs: Vec<String>,
}

/// A queue that this window manages.
#[derive(Debug)]
pub(super) struct Queue {
    folder: PathBuf,
    waiting: Waiting,
    _lock: File,
}

impl Queue {
    /// Returns whether a folder has a queue, of an earlier window or of another one.
    pub(super) fn is_in(folder: &Path) -> bool {
        folder.join(FILE).is_file()
    }

    /// Creates a queue of these trainings.
    ///
    /// # Errors
    ///
    /// Returns an error if there is a queue already, or it cannot be written.
    pub(super) fn begin(folder: &Path, stem: String, trainings: &[Preset]) -> io::Result<Queue> {
        fs::create_dir_all(folder)?;
        let lock = lock(folder)?.ok_or_else(|| {
            io::Error::other("there is a queue already; it ends after its last run, or when its run is stopped")
        })?;
        let configs = trainings.iter().map(Preset::to_ron).collect();
        let waiting = Waiting { stem, current: None, configs };
        let queue = Queue { folder: folder.to_owned(), waiting, _lock: lock };
        queue.write()?;
        Ok(queue)
    }

    /// Takes over the queue that an earlier window has left, unless another window manages it.
    pub(super) fn take_over(folder: &Path) -> io::Result<Option<Queue>> {
        if !Queue::is_in(folder) {
            return Ok(None);
        }
        let Some(lock) = lock(folder)? else { return Ok(None) };
        let text = match plain_file::read_text(&folder.join(FILE), Links::Refused, MOST) {
            Ok(text) => text,
            // Its window has just finished it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let waiting = serde_json::from_str(&text)?;
        Ok(Some(Queue { folder: folder.to_owned(), waiting, _lock: lock }))
    }

    /// Returns the folder of its runs.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder of the current run, which may be gone.
    pub(super) fn current(&self) -> Option<&Path> {
        self.waiting.current.as_deref()
    }

    /// Returns the number of waiting trainings.
    pub(super) fn count(&self) -> usize {
        self.waiting.configs.len()
    }

    /// Returns the stem of the next run's folder name, and its config.
    pub(super) fn first(&self) -> Option<(&str, &str)> {
        Some((&self.waiting.stem, self.waiting.configs.first()?))
    }

    /// Records the run of the first waiting training as the current one.
    pub(super) fn advance(&mut self, run: &RunFolder) -> io::Result<()> {
        self.waiting.configs.remove(0);
        self.waiting.current = Some(run.path().to_owned());
        self.write()
    }

    /// Drops the waiting trainings.
    pub(super) fn end(self) -> io::Result<()> {
        match fs::remove_file(self.folder.join(FILE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn write(&self) -> io::Result<()> {
        let text = serde_json::to_string_pretty(&self.waiting).expect("it holds nothing that JSON cannot express");
        write_plain_file(&self.folder.join(FILE), (text + "\n").as_bytes())
    }
}

/// Locks the queue; returns `None` if another window holds the lock.
fn lock(folder: &Path) -> io::Result<Option<File>> {
    let file = plain_file::open_to_write(&folder.join(LOCK))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}
