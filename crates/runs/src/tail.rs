//! Following a file of lines to which another program appends.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::SystemTime;

use super::plain_file::{self, Links};

const PIECE: usize = 1 << 20;
/// The number of bytes before the current position that are compared to detect another file.
const MARK: usize = 256;

/// A file of lines, read up to the last whole one.
#[derive(Debug)]
pub(super) struct Tail {
    path: PathBuf,
    /// The largest length of a line in bytes, without its newline.
    longest: usize,
    /// The current position: the beginning of the next line, or an offset in a line that is too long.
    reached: u64,
    /// Whether the position is in a line that is too long.
    skipping: bool,
    /// The bytes before the position.
    mark: Vec<u8>,
    /// Length and modification time of the file at the last read.
    seen: Option<(u64, Option<SystemTime>)>,
}

/// A piece of a file, passed to the callback of [`Tail::read`].
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'p> {
    /// The file was replaced or truncated: its beginning follows.
    Again,
    /// Whole lines, each with its newline.
    Lines(&'p [u8]),
    /// A line that is too long, and skipped.
    TooLong,
}

impl Tail {
    pub(super) fn new(path: PathBuf, longest: usize) -> Tail {
        Tail { path, longest, reached: 0, skipping: false, mark: Vec::new(), seen: None }
    }

    /// Passes new pieces to `take`. A last line without a newline is passed once it has one. A missing file has no
    /// lines; when a file disappears, its lines stay valid.
    ///
    /// Time and memory do not depend on the lengths of lines: each byte is scanned once, and not much more than
    /// the longest line is buffered.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, or is not a regular file.
    pub(super) fn read(&mut self, mut take: impl FnMut(Piece<'_>)) -> io::Result<()> {
        let mut file = match plain_file::open(&self.path, Links::Refused) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let data = file.metadata()?;
        let now = Some((data.len(), data.modified().ok()));
        if self.seen == now {
            return Ok(());
        }
        if !self.goes_on(&mut file, data.len())? {
            self.reached = 0;
            self.skipping = false;
            self.mark.clear();
            take(Piece::Again);
        }
        file.seek(SeekFrom::Start(self.reached))?;
        let mut buffer = Vec::with_capacity(PIECE.min((data.len() - self.reached) as usize));
        loop {
            let known = buffer.len();
            let new = (&mut file).take(PIECE as u64).read_to_end(&mut buffer)?;
            self.pass_on(&mut buffer, known, &mut take);
            if new == 0 {
                break;
            }
        }
        self.seen = now;
        Ok(())
    }

    /// Passes on the whole lines in the buffer, which then holds the beginning of the next. The first `known` bytes
    /// contain no newline.
    fn pass_on(&mut self, buffer: &mut Vec<u8>, known: usize, take: &mut impl FnMut(Piece<'_>)) {
        if self.skipping {
            let end = buffer.iter().position(|&byte| byte == b'\n').map(|newline| newline + 1);
            self.skipping = end.is_none();
            self.advance(buffer, end.unwrap_or(buffer.len()));
        }
        if let Some(newline) = buffer[known..].iter().rposition(|&byte| byte == b'\n') {
            let end = known + newline + 1;
            let first = buffer[known..end].iter().position(|&byte| byte == b'\n').map_or(end, |first| known + first);
            // Only the first line can be longer than a single read.
            if first > self.longest {
                take(Piece::TooLong);
                self.advance(buffer, first + 1);
                return self.pass_on(buffer, 0, take);
            }
            take(Piece::Lines(&buffer[..end]));
            self.advance(buffer, end);
        }
        if buffer.len() > self.longest {
            take(Piece::TooLong);
            self.skipping = true;
            self.advance(buffer, buffer.len());
        }
    }

    /// Drops the first bytes of the buffer, which need not be read again.
    fn advance(&mut self, buffer: &mut Vec<u8>, bytes: usize) {
        self.reached += bytes as u64;
        self.store_mark(&buffer[..bytes]);
        buffer.drain(..bytes);
    }

    /// Whether the file still begins with the bytes that were read.
    fn goes_on(&self, file: &mut File, length: u64) -> io::Result<bool> {
        if length < self.reached {
            return Ok(false);
        }
        let mut there = vec![0; self.mark.len()];
        file.seek(SeekFrom::Start(self.reached - self.mark.len() as u64))?;
        match file.read_exact(&mut there) {
            Ok(()) => Ok(there == self.mark),
            // The file was truncated just now.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn store_mark(&mut self, lines: &[u8]) {
        self.mark.extend_from_slice(&lines[lines.len().saturating_sub(MARK)..]);
        self.mark.drain(..self.mark.len().saturating_sub(MARK));
    }
}
