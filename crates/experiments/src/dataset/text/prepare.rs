//! Making the files of tokens from text.
//!
//! The first of two passes checks that all is UTF-8, and finds the checksums, the characters and the start of the
//! validation part. The tokens depend only on these and the settings. Their hash identifies the job in
//! `unfinished.json` and the folder in the cache, so that changed text is never joined to the tokens of other text.

use std::path::Path;

use rayon::prelude::*;
use sha2::{Digest, Sha256};
use valleyscope_engine::quantity::ValidationFraction;

use super::output::{self, PreparationProgress, Stage, TokenBatch, TokenPlan};
use super::sources::{BYTE_ORDER_MARK, read};
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

    /// Reads the files. Of all characters taken together, the first are for training, and the last for validation.
    pub(super) fn read(
        &self,
        progress: &mut dyn FnMut(PreparationProgress),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<PreparationJob<'_>, TextError> {
        let length = |file: &TextFile| file.path.metadata().map_or(0, |found| found.len());
        let total = self.files.iter().map(length).sum();
        let mut occurring = vec![false; char::MAX as usize + 1];
        let (mut scanned, mut done) = (Vec::new(), 0);
        for TextFile { path, name } in self.files {
            let text = read(path)?;
            let own = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text);
            if self.tokenizer == TokenizerKind::Char {
                own.chars().for_each(|character| occurring[character as usize] = true);
            }
            let (start, characters) = ((text.len() - own.len()) as u64, own.chars().count() as u64);
            let source = SourceFile { name: name.clone(), bytes: text.len() as u64, sha256: sum(&text) };
            scanned.push(Scanned { source, start, characters });
            done += text.len() as u64;
            progress(PreparationProgress { stage: Stage::Reading, done, total, tokens: 0 });
            if cancelled() {
                return Err(TextError::Cancelled);
            }
        }
        let ranges = ranges(self.files, &scanned, self.fraction)?;
        let tokenizer = match self.tokenizer {
            TokenizerKind::Gpt2 => Tokenizer::Gpt2,
            TokenizerKind::Char => {
                let characters: Vec<char> = ('\0'..=char::MAX).filter(|it| occurring[*it as usize]).collect();
                let found = format!("{} different ones", characters.len());
                let expected = format!("text of at most {} different characters", Alphabet::MOST);
                let remedy = "use the tokenizer gpt2";
                let unusable = || TextError::Unusable { expected, found, remedy };
                Tokenizer::Characters(Alphabet::new(characters).ok_or_else(unusable)?)
            }
        };
        let sources = scanned.into_iter().map(|scanned| scanned.source).collect();
        let parts = ranges.iter().map(|range| range.start..range.end).collect();
        let plan = TokenPlan { tokenizer, fraction: self.fraction, sources, parts };
        Ok(PreparationJob { files: self.files, ranges, plan })
    }

    /// Makes the tokens after the text has been read.
    pub(super) fn make_of(
        &self,
        job: &PreparationJob<'_>,
        folder: &Path,
        progress: &mut dyn FnMut(PreparationProgress),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Meta, TextError> {
        let mut blocks = Blocks { job, range: 0, at: 0, open: None };
        output::make(folder, &job.plan, self.replace, progress, cancelled, |state| {
            (blocks.range, blocks.at) = (state.part, state.at);
            let batch = next_batch(&mut blocks)?;
            if batch.is_empty() {
                return Ok(None);
            }
            let tokens = batch.par_iter().map(|block| Ok((block.split, tokens(&job.plan.tokenizer, block)?)));
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

/// A file that has been read once.
struct Scanned {
    source: SourceFile,
    /// The byte at which the text begins: after a byte-order mark.
    start: u64,
    /// The number of characters from there.
    characters: u64,
}

/// The SHA-256 of a text, in hexadecimal.
fn sum(text: &str) -> String {
    format!("{:x}", Sha256::digest(text))
}

/// A text that has been read once, and its division into parts.
pub(super) struct PreparationJob<'a> {
    files: &'a [TextFile],
    ranges: Vec<Range>,
    pub plan: TokenPlan,
}

/// Bytes of a file that belong to one split.
#[derive(Clone, Copy, Debug)]
struct Range {
    file: usize,
    start: u64,
    end: u64,
    split: Split,
    /// Whether another document of the same split precedes the range.
    follows: bool,
}

impl PreparationJob<'_> {
    /// Reads a file again, whose bytes must be those that were read before.
    fn text(&self, file: usize) -> Result<String, TextError> {
        let path = &self.files[file].path;
        match read(path) {
            Ok(text) if sum(&text) == self.plan.sources[file].sha256 => Ok(text),
            Ok(_) | Err(TextError::NotUtf8 { .. }) => Err(TextError::Changed(path.clone())),
            Err(error) => Err(error),
        }
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
        let bytes = scanned.source.bytes;
        let border = match to_learn_from {
            0 => scanned.start,
            all if all >= scanned.characters => bytes,
            some => {
                let text = read(&file.path)?;
                let border = text.char_indices().nth(some as usize + usize::from(scanned.start > 0));
                border.ok_or_else(|| TextError::Changed(file.path.clone()))?.0 as u64
            }
        };
        to_learn_from = to_learn_from.saturating_sub(scanned.characters);
        for (split, start, end) in [(Split::Train, scanned.start, border), (Split::Validation, border, bytes)] {
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
struct TextBlock {
    split: Split,
    text: String,
    /// Whether it begins a document other than the first.
    begins_document: bool,
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
    /// The file of the last block, and its text.
    open: Option<(usize, String)>,
}

impl Blocks<'_> {
    /// Reads the next block; `None` after the last.
    ///
    /// # Errors
    ///
    /// Fails with [`TextError::Changed`] at a file whose bytes are not those that the job has read.
    fn next_block(&mut self) -> Result<Option<TextBlock>, TextError> {
        let Some(range) = self.job.ranges.get(self.range) else { return Ok(None) };
        let (_, text) = match self.open.take().filter(|(file, _)| *file == range.file) {
            Some(open) => self.open.insert(open),
            None => self.open.insert((range.file, self.job.text(range.file)?)),
        };
        let rest = text.get(self.at as usize..range.end as usize);
        let rest = rest.ok_or_else(|| TextError::Changed(self.job.files[range.file].path.clone()))?;
        let text = first_block(rest).to_owned();
        let begins_document = range.follows && self.at == range.start;
        self.at += text.len() as u64;
        if self.at == range.end {
            self.range += 1;
            self.at = self.job.ranges.get(self.range).map_or(0, |next| next.start);
        }
        Ok(Some(TextBlock { split: range.split, text, begins_document }))
    }
}

fn first_block(text: &str) -> &str {
    if text.len() <= LONGEST {
        return text;
    }
    let longest = &text[..text.floor_char_boundary(LONGEST)];
    &longest[..tokenizer::last_cut(longest).unwrap_or(longest.len())]
}
