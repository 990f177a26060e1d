//! Making the files of tokens from text.
//!
//! The first of two passes checks that all is UTF-8, and finds the checksums, the characters and the start of the
//! validation part. The tokens depend only on these and the settings. Their hash identifies the job in
//! `unfinished.json` and the folder in the cache, so that changed text is never joined to the tokens of other text.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rayon::prelude::*;
use sha2::{Digest, Sha256};
use valleyscope_engine::quantity::ValidationFraction;
use valleyscope_runs::plain_file::{self, Links};

use super::output::{self, PreparationProgress, Stage, TokenBatch, TokenPlan};
use super::sources::{CharacterSet, Scanned, byte_of_character, scan};
use super::tokenizer::{self, Alphabet};
use super::{END_OF_TEXT, Meta, SourceFile, Split, TextError, TextFile, Tokenizer, TokenizerKind};

/// Tokens to be made of text.
#[derive(Clone, Copy, Debug)]
pub struct Preparation<'a> {
    pub files: &'a [TextFile],
    pub tokenizer: TokenizerKind,
    /// The fraction of the text for validation: the last characters of all.
    pub fraction: ValidationFraction,
    /// Whether existing other tokens may be replaced.
    pub replace: bool,
}

/// Blocks for each thread between two checks of the clock.
pub(super) const BLOCKS_PER_THREAD: usize = 4;

impl Preparation<'_> {
    /// Makes the tokens in a folder, which is created if needed, on the threads of the current rayon pool. The same
    /// text gives the same bytes, on any number of threads, and also where the work was interrupted and resumed. Where
    /// they exist already nothing is done.
    pub fn make(
        &self,
        folder: &Path,
        progress: &mut dyn FnMut(PreparationProgress),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Meta, TextError> {
        let job = self.read(progress, cancelled)?;
        self.make_of(&job, folder, progress, cancelled)
    }

    pub(super) fn read(
        &self,
        progress: &mut dyn FnMut(PreparationProgress),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<PreparationJob<'_>, TextError> {
        let length = |file: &TextFile| file.path.metadata().map_or(0, |found| found.len());
        let total = self.files.iter().map(length).sum();
        let mut done = 0;
        let mut seen = |bytes| {
            done += bytes;
            progress(PreparationProgress { stage: Stage::Reading, done, total, tokens: 0 });
            if cancelled() { Err(TextError::Cancelled) } else { Ok(()) }
        };
        PreparationJob::new(self.files, self.tokenizer, self.fraction, &mut seen)
    }

    /// Makes the tokens after the text has been read.
    pub(super) fn make_of(
        &self,
        job: &PreparationJob<'_>,
        folder: &Path,
        progress: &mut dyn FnMut(PreparationProgress),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Meta, TextError> {
        let mut blocks = Blocks { job, range: 0, at: 0, reading: None, buffer: Vec::new() };
        output::make(folder, &job.plan, self.replace, progress, cancelled, |state| {
            (blocks.range, blocks.at) = (state.part, state.at);
            let batch = next_batch(&mut blocks)?;
            if batch.is_empty() {
                return Ok(None);
            }
            let tokens = batch.par_iter().map(|block| match tokens(&job.plan.tokenizer, block) {
                // All characters are known from reading the text.
                Err(TextError::UnknownCharacter(_)) => Err(TextError::Changed(job.files[block.file].path.clone())),
                tokens => Ok((block.split, tokens?)),
            });
            let tokens = tokens.collect::<Result<_, TextError>>()?;
            Ok(Some(TokenBatch { tokens, part: blocks.range, at: blocks.at }))
        })
    }
}

/// Blocks for all threads; none at the end.
fn next_batch(blocks: &mut Blocks<'_>) -> Result<Vec<TextBlock>, TextError> {
    let room = BLOCKS_PER_THREAD * rayon::current_num_threads() * LONGEST;
    let mut batch = Vec::new();
    let mut bytes = 0;
    while bytes < room {
        let Some(block) = blocks.next_block()? else { break };
        bytes += block.text.len();
        batch.push(block);
    }
    Ok(batch)
}

fn tokens(tokenizer: &Tokenizer, block: &TextBlock) -> Result<Vec<u8>, TextError> {
    let end = (block.begins_document && *tokenizer == Tokenizer::Gpt2).then_some(END_OF_TEXT);
    let tokens = tokenizer.encode(&block.text)?;
    Ok(end.into_iter().chain(tokens).flat_map(u16::to_le_bytes).collect())
}

/// The default fraction of a text for validation, as in nanoGPT.
pub const VALIDATION_FRACTION: f64 = 0.1;

/// The fewest characters of each part: with fewer there is not even one sequence of 64 tokens, the shortest context of
/// the built-in presets, and the token after it.
const SHORTEST_PART: u64 = 65;

/// A text that has been read once, and its division into parts.
pub(super) struct PreparationJob<'a> {
    pub files: &'a [TextFile],
    pub ranges: Vec<Range>,
    pub plan: TokenPlan,
}

/// Bytes of a file that belong to one split.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub file: usize,
    pub start: u64,
    pub end: u64,
    pub split: Split,
    /// Whether another document of the same split precedes the range.
    pub follows: bool,
}

impl PreparationJob<'_> {
    /// Reads the files. Of all characters taken together, the first are for training, and the last for validation.
    pub(super) fn new<'a>(
        files: &'a [TextFile],
        kind: TokenizerKind,
        fraction: ValidationFraction,
        seen: &mut dyn FnMut(u64) -> Result<(), TextError>,
    ) -> Result<PreparationJob<'a>, TextError> {
        let mut occurring = (kind == TokenizerKind::Char).then(CharacterSet::none);
        let scanned = files.iter().map(|file| scan(&file.path, occurring.as_mut(), seen));
        let scanned = scanned.collect::<Result<Vec<_>, _>>()?;
        let ranges = ranges(files, &scanned, fraction)?;
        let tokenizer = match occurring.map(|occurring| occurring.characters()) {
            None => Tokenizer::Gpt2,
            Some(characters) => {
                let found = format!("{} different ones", characters.len());
                let expected = format!("text of at most {} different characters", Alphabet::MOST);
                let remedy = "use the tokenizer gpt2";
                let unusable = || TextError::Unusable { expected, found, remedy };
                Tokenizer::Characters(Alphabet::new(characters).ok_or_else(unusable)?)
            }
        };
        let source = |(file, scanned): (&TextFile, &Scanned)| SourceFile {
            name: file.name.clone(),
            bytes: scanned.bytes,
            sha256: scanned.sha256.clone(),
        };
        let sources = files.iter().zip(&scanned).map(source).collect();
        let parts = ranges.iter().map(|range| range.start..range.end).collect();
        Ok(PreparationJob { files, ranges, plan: TokenPlan { tokenizer, fraction, sources, parts } })
    }
}

fn ranges(files: &[TextFile], scanned: &[Scanned], fraction: ValidationFraction) -> Result<Vec<Range>, TextError> {
    let characters: u64 = scanned.iter().map(|file| file.characters).sum();
    let mut to_learn_from = (characters as f64 * (1.0 - fraction.get())) as u64;
    let to_validate_with = characters - to_learn_from;
    if to_learn_from.min(to_validate_with) < SHORTEST_PART {
        return Err(TextError::Unusable {
            expected: format!("text of at least {SHORTEST_PART} characters for training and as many for validation"),
            found: match files {
                [file] => format!("{to_learn_from} and {to_validate_with} in {}", file.path.display()),
                _ => format!("{to_learn_from} and {to_validate_with} in {} files", files.len()),
            },
            remedy: "take more text, or another part of it for validation",
        });
    }
    let mut ranges: Vec<Range> = Vec::new();
    for (number, (file, scanned)) in files.iter().zip(scanned).enumerate() {
        let border = match to_learn_from {
            0 => scanned.start,
            all if all >= scanned.characters => scanned.bytes,
            some => byte_of_character(&file.path, some + u64::from(scanned.start > 0))?,
        };
        to_learn_from = to_learn_from.saturating_sub(scanned.characters);
        for (split, start, end) in [(Split::Train, scanned.start, border), (Split::Validation, border, scanned.bytes)] {
            if start < end {
                let follows = ranges.last().is_some_and(|last| last.split == split);
                ranges.push(Range { file: number, start, end, split, follows });
            }
        }
    }
    Ok(ranges)
}

// The text of a job in blocks that can be tokenized independently.
//
// Blocks are cut before the last white space in front of a word. GPT-2's pattern makes no token across such a cut,
// whatever the text before and after it, so the tokens of the blocks are those of the whole text. The encoder receives
// even shorter segments, cut the same way: its pattern fails on long stretches of white space.

/// A text whose tokens do not depend on the text before or after it.
pub(super) struct TextBlock {
    pub file: usize,
    pub split: Split,
    pub text: String,
    /// Whether it begins a document other than the first.
    pub begins_document: bool,
}

/// The largest number of bytes of a block. A stretch of text of this length without a word after white space is cut at
/// an arbitrary position; so the blocks depend only on the text.
const LONGEST: usize = 1 << 18;

/// Reads the blocks of a job from a given position on.
struct Blocks<'a> {
    job: &'a PreparationJob<'a>,
    /// The range of the next block, and the block's beginning.
    range: usize,
    at: u64,
    reading: Option<HashedFile>,
    buffer: Vec<u8>,
}

/// A file that is read from its beginning on, with the hash of all bytes so far.
struct HashedFile {
    file: File,
    hash: Sha256,
}

impl HashedFile {
    /// Opens a file, and reads the bytes before a position.
    fn open(path: &Path, at: u64) -> io::Result<HashedFile> {
        let (mut file, mut hash) = (plain_file::open(path, Links::Followed)?, Sha256::new());
        match io::copy(&mut (&mut file).take(at), &mut hash)? {
            count if count < at => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(HashedFile { file, hash }),
        }
    }
}

impl Blocks<'_> {
    /// Reads the next block; `None` after the last.
    ///
    /// # Errors
    ///
    /// Fails with [`TextError::Changed`] at the end of a file whose bytes are not those that the job has read.
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

/// The length of the next block, in bytes; `None` where the bytes are not text.
fn length(bytes: &[u8], is_last: bool) -> Option<usize> {
    match std::str::from_utf8(bytes) {
        Ok(text) if is_last => Some(text.len()),
        Ok(text) => Some(tokenizer::last_cut(text).unwrap_or(text.len())),
        Err(error) if error.error_len().is_none() && !is_last => {
            let text = std::str::from_utf8(&bytes[..error.valid_up_to()]).expect("it was looked at");
            Some(tokenizer::last_cut(text).unwrap_or(text.len()))
        }
        Err(_) => None,
    }
}
