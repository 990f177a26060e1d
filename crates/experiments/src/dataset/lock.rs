//! A lock that lets one process at a time work on a folder.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use valleyscope_runs::plain_file;

/// The interval at which the lock is tried.
const TICK: Duration = Duration::from_millis(50);

/// Waits until no other process holds the lock, and holds it until the file is dropped. The empty file is not removed.
/// `waiting` is called repeatedly meanwhile. `None` when cancelled.
pub(super) fn wait(path: &Path, waiting: &mut dyn FnMut(), cancelled: &dyn Fn() -> bool) -> io::Result<Option<File>> {
    let lock = plain_file::open_to_write(path)?;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(Some(lock)),
            // Two processes at once then cost time, but do no harm: both write the same bytes to the same places.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => return Ok(Some(lock)),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if cancelled() => return Ok(None),
            Err(TryLockError::WouldBlock) => {
                waiting();
                thread::sleep(TICK);
            }
        }
    }
}
