//! The file to which a worker appends its events.
//!
//! Lines are collected in memory and written together. The file holds only whole lines: if a write fails, the written
//! part is removed again, and the lines are kept for the next attempt.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::folder::RunFolder;
use super::lock::LockRefusal;
use crate::plain_file::{self, Links};

/// Bytes reserved for the last event on a full disk.
const RESERVE: usize = 1 << 18;

#[derive(Debug)]
pub(super) struct EventsFile {
    file: File,
    path: PathBuf,
    reserve: PathBuf,
    /// Whether the reserve exists.
    has_reserve: bool,
    /// Length of the file, up to its last whole line.
    end: u64,
    /// Whole lines that are not in the file yet.
    waiting: Vec<u8>,
    /// The error of a write in the background, reported by the next call.
    pub trouble: Option<io::Error>,
}

impl EventsFile {
    /// Opens or creates the file. Locks it on systems where a locked file can still be read, so that removing the file
    /// `lock` does not admit a second worker.
    pub(super) fn open(run: &RunFolder) -> Result<EventsFile, LockRefusal> {
        let path = run.events();
        let file = plain_file::open_to_append(&path).map_err(LockRefusal::File)?;
        if cfg!(unix) {
            file.try_lock().map_err(|error| match error {
                // An unknown worker holds it, whose lock was removed.
                TryLockError::WouldBlock => LockRefusal::Held(None),
                TryLockError::Error(source) => LockRefusal::File(source),
            })?;
        }
        let reserve = run.reserve();
        let (waiting, trouble) = (Vec::new(), None);
        Ok(EventsFile { file, path, reserve, has_reserve: false, end: 0, waiting, trouble })
    }

    /// Removes the bytes after the last whole line, as a killed worker leaves them.
    pub(super) fn remove_partial_line(&mut self) -> io::Result<()> {
        self.end = end_of_lines(&mut self.file)?;
        if self.file.metadata()?.len() > self.end { self.file.set_len(self.end) } else { Ok(()) }
    }

    /// Writes the reserve.
    pub(super) fn put_reserve_by(&mut self) -> io::Result<()> {
        put_by(&self.reserve)?;
        self.has_reserve = true;
        Ok(())
    }

    /// Adds a line, without its newline, to those that wait to be written.
    pub(super) fn push(&mut self, line: &str) {
        self.waiting.extend(line.as_bytes());
        self.waiting.push(b'\n');
    }

    /// Writes the waiting lines if there are many, but still fewer than the reserve has room for.
    pub(super) fn flush_if_many(&mut self) -> io::Result<()> {
        if self.waiting.len() < RESERVE / 4 { Ok(()) } else { self.flush() }
    }

    /// Writes the waiting lines. On a full disk this uses up the reserve, and still fails, as there is little space
    /// left.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.is_written() {
            return Ok(());
        }
        self.check_place()?;
        match self.write() {
            Err(full) if is_full(&full) && self.has_reserve && self.reserve.exists() => {
                self.has_reserve = false;
                std::fs::remove_file(&self.reserve)?;
                self.write()?;
                Err(full)
            }
            outcome => outcome,
        }
    }

    fn write(&mut self) -> io::Result<()> {
        if let Err(error) = self.file.write_all(&self.waiting) {
            self.file.set_len(self.end)?;
            return Err(error);
        }
        self.end += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }

    /// Returns whether no lines are waiting.
    pub(super) fn is_written(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Blocks until all lines have reached the disk.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.check_place()?;
        self.flush()?;
        self.file.sync_data()
    }

    /// Fails if written lines would be lost, as the file was removed or replaced.
    pub(super) fn check_place(&self) -> io::Result<()> {
        if plain_file::is_at(&self.file, &self.path)? {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::NotFound, "the file has been deleted or replaced"))
    }
}

impl Drop for EventsFile {
    fn drop(&mut self) {
        // `flush`, which precedes the end of every session, has reported errors.
        let _ = self.flush();
        // If another worker has taken the run, the reserve is that worker's.
        if self.has_reserve && self.check_place().is_ok() {
            let _ = std::fs::remove_file(&self.reserve);
        }
        // Unlocked explicitly, like the lock of a run.
        let _ = self.file.unlock();
    }
}

pub(super) fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// Counts the bytes after the last whole line of a run's events.
pub(super) fn bytes_after_lines(run: &RunFolder) -> io::Result<u64> {
    match plain_file::open(&run.events(), Links::Refused) {
        // A worker may be adding lines.
        Ok(mut file) => Ok(file.metadata()?.len().saturating_sub(end_of_lines(&mut file)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

/// Finds the end of the last whole line of a file.
fn end_of_lines(file: &mut File) -> io::Result<u64> {
    const PIECE: u64 = 1 << 16;
    let mut end = file.metadata()?.len();
    let mut piece = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(PIECE);
        file.seek(SeekFrom::Start(start))?;
        piece.clear();
        (&mut *file).take(end - start).read_to_end(&mut piece)?;
        if let Some(newline) = piece.iter().rposition(|&byte| byte == b'\n') {
            return Ok(start + newline as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// Writes the reserve, of bytes that a file system cannot compress.
fn put_by(path: &Path) -> io::Result<()> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let bytes: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    })
    .take(RESERVE / 8)
    .flatten()
    .collect();
    let mut file = plain_file::open_to_write(path)?;
    let put = file.set_len(0).and_then(|()| file.write_all(&bytes)).and_then(|()| file.sync_data());
    put.inspect_err(|_| {
        // An incomplete reserve would be useless.
        let _ = std::fs::remove_file(path);
    })
}
