//! Temporary lines of progress in a run's log.

use std::fs;
use std::path::PathBuf;

use valleyscope_engine::terminal_escape::visible_lines;
use valleyscope_runs::plain_file;

/// Lines at the end of a log that show the progress of long work. Dropping them removes them from the log, so that they
/// are not mistaken for the last messages of later work.
pub(super) struct ProgressLines {
    log: PathBuf,
    /// The length of the log before them in bytes; `None` without a log.
    before: Option<u64>,
    written: u64,
}

impl ProgressLines {
    /// Creates progress lines at the end of this log, to which standard error is redirected.
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
        // If something else was printed meanwhile, or the output goes elsewhere, nothing is removed.
        let is_last = fs::symlink_metadata(&self.log).is_ok_and(|data| data.len() == before + self.written);
        if is_last && let Ok(file) = plain_file::open_to_write(&self.log) {
            // Lines that cannot be removed stay, which is harmless.
            let _ = file.set_len(before);
        }
    }
}
