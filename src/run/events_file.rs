//! The file that a worker appends its events to.
//!
//! Lines are gathered in memory and written together. In the file there are only whole lines: where writing
//! fails, what was written of the lines is taken back, and they are kept for the next attempt.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::folder::RunFolder;

/// Bytes that are put by for a last word on a full disk.
const RESERVE: usize = 1 << 18;

#[derive(Debug)]
pub struct EventsFile {
    file: File,
    path: PathBuf,
    reserve: PathBuf,
    /// Length of the file, up to its last whole line.
    end: u64,
    /// Whole lines that are not in the file yet.
    waiting: Vec<u8>,
    /// Why lines could not be written when nobody was there to be told.
    pub trouble: Option<io::Error>,
}

impl EventsFile {
    /// Opens the file, or makes it, removes a last line without its end, and puts the reserve by.
    pub fn open(run: &RunFolder) -> io::Result<EventsFile> {
        let path = run.events();
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&path)?;
        let end = end_of_lines(&mut file)?;
        if end < file.metadata()?.len() {
            file.set_len(end)?;
        }
        let reserve = run.reserve();
        put_by(&reserve)?;
        Ok(EventsFile { file, path, reserve, end, waiting: Vec::new(), trouble: None })
    }

    /// Calls `each` with every line of the file.
    pub fn for_each_line(&self, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        let mut reader = BufReader::with_capacity(1 << 20, File::open(&self.path)?);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            each(line.strip_suffix(b"\n").unwrap_or(&line));
            line.clear();
        }
        Ok(())
    }

    /// Adds a line, given without its end, to those that wait.
    pub fn push(&mut self, line: &str) {
        self.waiting.extend(line.as_bytes());
        self.waiting.push(b'\n');
    }

    /// Writes the lines that wait if there are many, though fewer than the reserve has room for.
    pub fn flush_if_many(&mut self) -> io::Result<()> {
        if self.waiting.len() < RESERVE / 4 { Ok(()) } else { self.flush() }
    }

    /// Writes the lines that wait. On a full disk the reserve is given up for them; that this was so is an error
    /// all the same, and there is little room left.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.is_written() {
            return Ok(());
        }
        self.look_for_file()?;
        match self.write() {
            Err(full) if is_full(&full) && self.reserve.exists() => {
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

    /// Whether no lines wait.
    pub fn is_written(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns when all lines have reached the disk.
    pub fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file.sync_data()
    }

    /// Fails where nobody will ever find what is written, as the file was deleted.
    fn look_for_file(&self) -> io::Result<()> {
        #[cfg(unix)]
        if std::os::unix::fs::MetadataExt::nlink(&self.file.metadata()?) == 0 {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the file has been deleted"));
        }
        #[cfg(not(unix))]
        self.path.metadata()?;
        Ok(())
    }
}

impl Drop for EventsFile {
    fn drop(&mut self) {
        // Errors have been told by `flush`, which comes before the end of every session.
        let _ = self.flush();
        let _ = std::fs::remove_file(&self.reserve);
    }
}

pub fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// Where the last whole line of a file ends.
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

/// Writes the reserve, of bytes that a file system cannot store in less room.
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
    let put = || {
        let mut file = File::create(path)?;
        file.write_all(&bytes)?;
        file.sync_data()
    };
    put().inspect_err(|_| {
        // Half a reserve would only be in the way.
        let _ = std::fs::remove_file(path);
    })
}
