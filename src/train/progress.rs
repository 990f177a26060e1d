//! Lines of progress in a run's log that stay only as long as they hold.

use std::fs;
use std::path::PathBuf;

use crate::plain_file;
use crate::visible::visible_lines;

/// Lines at the end of a log that tell how long work gets on. When they are dropped they are taken out of the log again,
/// so that they do not pass for the last words of what comes after.
pub(super) struct ProgressLines {
    log: PathBuf,
    /// Bytes of the log before them; `None` where there is no log to look at.
    before: Option<u64>,
    written: u64,
}

impl ProgressLines {
    /// At the end of this log, which is where the standard error output goes.
    pub(super) fn new(log: PathBuf) -> ProgressLines {
        let before = fs::symlink_metadata(&log).ok().map(|data| data.len());
        ProgressLines { log, before, written: 0 }
    }

    pub(super) fn add(&mut self, line: &str) {
        let line = visible_lines(line);
        eprintln!("{line}");
        self.written += line.len() as u64 + 1;
    }
}

impl Drop for ProgressLines {
    fn drop(&mut self) {
        let Some(before) = self.before.filter(|_| self.written > 0) else { return };
        // Where something else was said meanwhile, or the output goes elsewhere, all stays as it is.
        let is_last = fs::symlink_metadata(&self.log).is_ok_and(|data| data.len() == before + self.written);
        if is_last && let Ok(file) = plain_file::open_to_write(&self.log) {
            // What cannot be cut stays, and does no more harm than before.
            let _ = file.set_len(before);
        }
    }
}
