//! The text of a job in blocks that can be tokenized independently.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::job::PreparationJob;
use super::output::ResumeState;
use super::{Split, TextError, gpt2};
use crate::plain_file::{self, Links};

/// A text whose tokens do not depend on the text before or after it.
pub(super) struct TextBlock {
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
    /// The file of that range, read up to `at` plus the content of the buffer.
    file: Option<File>,
    buffer: Vec<u8>,
}

impl<'a> Blocks<'a> {
    pub(super) fn from_state(job: &'a PreparationJob<'a>, state: &ResumeState) -> Blocks<'a> {
        Blocks { job, range: state.part, at: state.at, file: None, buffer: Vec::new() }
    }

    /// The next block; `None` after the last.
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
            self.at = self.job.ranges.get(self.range).map_or(0, |next| next.start);
            self.file = None;
        }
        Ok(Some(TextBlock { split: range.split, text, begins_document }))
    }

    /// Fills the buffer from the file.
    fn fill(&mut self, path: &Path, left: u64) -> Result<(), TextError> {
        let failed = |source| TextError::File { path: path.to_owned(), source };
        if self.file.is_none() {
            let mut file = plain_file::open(path, Links::Followed).map_err(failed)?;
            file.seek(SeekFrom::Start(self.at)).map_err(failed)?;
            self.file = Some(file);
        }
        let wanted = left.min(LONGEST as u64) as usize;
        let file = self.file.as_mut().expect("it was opened");
        file.take((wanted - self.buffer.len()) as u64).read_to_end(&mut self.buffer).map_err(failed)?;
        if self.buffer.len() < wanted {
            return Err(TextError::Changed(path.to_owned()));
        }
        Ok(())
    }
}

/// The number of bytes that form a block; `None` where they are not text.
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
