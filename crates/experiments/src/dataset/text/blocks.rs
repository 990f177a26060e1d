//! The text of a job in blocks that can be tokenized independently.
//!
//! Blocks are cut before the last white space in front of a word. GPT-2's pattern makes no token across that place,
//! whatever is before or after it, so the tokens of the blocks are those of the whole text. The encoder gets even
//! shorter segments, cut the same way: its pattern fails on long stretches of white space.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};
use valleyscope_runs::plain_file::{self, Links};

use super::job::PreparationJob;
use super::plan::ResumeState;
use super::{Split, TextError, gpt2};

/// A text whose tokens do not depend on the text before or after it.
pub(super) struct TextBlock {
    /// The number of its file.
    pub file: usize,
    pub split: Split,
    pub text: String,
    /// Whether it begins a document other than the first.
    pub begins_document: bool,
}

/// The largest number of bytes of a block. A stretch of text of this length without a word after white space is cut at
/// an arbitrary place; so the blocks depend only on the text.
pub(super) const LONGEST: usize = 1 << 18;

/// Reads the blocks of a job from a given place on.
pub(super) struct Blocks<'a> {
    job: &'a PreparationJob<'a>,
    /// The range of the next block, and the block's beginning.
    pub range: usize,
    pub at: u64,
    /// The file of that range.
    reading: Option<HashedFile>,
    buffer: Vec<u8>,
}

/// A file that is read from its beginning on, with the hash of all bytes so far.
struct HashedFile {
    file: File,
    hash: Sha256,
}

impl HashedFile {
    /// Opens a file, and reads the bytes before a place.
    fn open(path: &Path, at: u64) -> io::Result<HashedFile> {
        let (mut file, mut hash) = (plain_file::open(path, Links::Followed)?, Sha256::new());
        match io::copy(&mut (&mut file).take(at), &mut hash)? {
            count if count < at => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(HashedFile { file, hash }),
        }
    }
}

impl<'a> Blocks<'a> {
    pub(super) fn from_state(job: &'a PreparationJob<'a>, state: &ResumeState) -> Blocks<'a> {
        Blocks { job, range: state.part, at: state.at, reading: None, buffer: Vec::new() }
    }

    /// Returns the next block; `None` after the last.
    ///
    /// # Errors
    ///
    /// Returns [`TextError::Changed`] at the end of a file whose bytes are not those that the job has read.
    pub(super) fn next_block(&mut self) -> Result<Option<TextBlock>, TextError> {
        let Some(range) = self.job.ranges.get(self.range) else { return Ok(None) };
        let path = &self.job.files[range.file].path;
        let left = range.end - self.at;
        self.fill(path, left)?;
        let is_last = left == self.buffer.len() as u64;
        let length = length(&self.buffer, is_last).ok_or_else(|| TextError::Changed(path.clone()))?;
        let rest = self.buffer.split_off(length);
        let text = String::from_utf8(std::mem::replace(&mut self.buffer, rest)).expect("it was looked at");
        let begins_document = range.follows && self.at == range.start;
        self.at += length as u64;
        if is_last && self.at == range.end {
            self.range += 1;
            let next = self.job.ranges.get(self.range);
            self.at = next.map_or(0, |next| next.start);
            if next.is_none_or(|next| next.file != range.file) {
                self.end_file(range.file)?;
            }
        }
        Ok(Some(TextBlock { file: range.file, split: range.split, text, begins_document }))
    }

    /// Checks that all bytes of a file were those that the job has read.
    fn end_file(&mut self, file: usize) -> Result<(), TextError> {
        let Some(HashedFile { hash, .. }) = self.reading.take() else { return Ok(()) };
        if format!("{:x}", hash.finalize()) == self.job.plan.sources[file].sha256 {
            return Ok(());
        }
        Err(TextError::Changed(self.job.files[file].path.clone()))
    }

    /// Fills the buffer from the file.
    fn fill(&mut self, path: &Path, left: u64) -> Result<(), TextError> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::UnexpectedEof => TextError::Changed(path.to_owned()),
            _ => TextError::File { path: path.to_owned(), source },
        };
        let reading = match &mut self.reading {
            Some(reading) => reading,
            none => none.insert(HashedFile::open(path, self.at).map_err(failed)?),
        };
        let wanted = left.min(LONGEST as u64) as usize;
        let before = self.buffer.len();
        (&mut reading.file).take((wanted - before) as u64).read_to_end(&mut self.buffer).map_err(failed)?;
        reading.hash.update(&self.buffer[before..]);
        if self.buffer.len() < wanted {
            return Err(TextError::Changed(path.to_owned()));
        }
        Ok(())
    }
}

/// Returns the number of bytes that form a block; `None` where they are not text.
fn length(bytes: &[u8], is_last: bool) -> Option<usize> {
    match std::str::from_utf8(bytes) {
        Ok(text) if is_last => Some(text.len()),
        Ok(text) => Some(gpt2::last_cut(text).unwrap_or(text.len())),
        Err(error) if error.error_len().is_none() && !is_last => {
            let text = std::str::from_utf8(&bytes[..error.valid_up_to()]).expect("it was looked at");
            Some(gpt2::last_cut(text).unwrap_or(text.len()))
        }
        Err(_) => None,
    }
}
