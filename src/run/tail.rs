//! Following a file of lines that another program appends to.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// As much as is read at once.
const PIECE: usize = 1 << 20;
/// So much before the place that was reached is compared, to notice that the file is another.
const MARK: usize = 256;

/// A file of lines, read as far as the last whole one.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    /// Where the next line begins.
    reached: u64,
    /// The bytes before that.
    mark: Vec<u8>,
    /// Length and time of the file at the last look.
    seen: Option<(u64, Option<SystemTime>)>,
}

/// What there is to be done about a piece of a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'p> {
    /// The file is another one than before, or was cut: what follows is its beginning.
    Again,
    /// Whole lines, each with its end.
    Lines(&'p [u8]),
}

impl Tail {
    pub fn new(path: PathBuf) -> Tail {
        Tail { path, reached: 0, mark: Vec::new(), seen: None }
    }

    /// Hands what is new to `take`. A last line without its end waits until it has one. A file that is not there
    /// has no lines; one that is gone is no news, as its lines were true.
    pub fn read(&mut self, mut take: impl FnMut(Piece<'_>)) -> io::Result<()> {
        let mut file = match File::open(&self.path) {
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
            self.mark.clear();
            take(Piece::Again);
        }
        file.seek(SeekFrom::Start(self.reached))?;
        let mut buffer = Vec::with_capacity(PIECE.min((data.len() - self.reached) as usize));
        loop {
            let new = (&mut file).take(PIECE as u64).read_to_end(&mut buffer)?;
            if let Some(newline) = buffer.iter().rposition(|&byte| byte == b'\n') {
                let lines = newline + 1;
                take(Piece::Lines(&buffer[..lines]));
                self.reached += lines as u64;
                self.remember(&buffer[..lines]);
                buffer.drain(..lines);
            }
            if new == 0 {
                break;
            }
        }
        self.seen = now;
        Ok(())
    }

    /// Whether the file begins as it did when it was read.
    fn goes_on(&self, file: &mut File, length: u64) -> io::Result<bool> {
        if length < self.reached {
            return Ok(false);
        }
        let mut there = vec![0; self.mark.len()];
        file.seek(SeekFrom::Start(self.reached - self.mark.len() as u64))?;
        match file.read_exact(&mut there) {
            Ok(()) => Ok(there == self.mark),
            // Cut just now.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn remember(&mut self, lines: &[u8]) {
        self.mark.extend_from_slice(&lines[lines.len().saturating_sub(MARK)..]);
        self.mark.drain(..self.mark.len().saturating_sub(MARK));
    }
}

/// The last bytes of a text, at most so many, in whole lines; nothing where it cannot be read.
pub fn last_lines(path: &Path, most: u64) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let start = file.metadata()?.len().saturating_sub(most);
        file.seek(SeekFrom::Start(start))?;
        let mut end = Vec::new();
        file.take(most).read_to_end(&mut end)?;
        if start > 0
            && let Some(newline) = end.iter().position(|&byte| byte == b'\n')
        {
            end.drain(..=newline);
        }
        Ok(end)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}
