//! Making the files of tokens from text.
//!
//! The first of two passes checks that all is UTF-8, and finds the checksums, the characters and the start of the
//! validation part. The tokens depend only on these and the settings. Their hash identifies the job in
//! `unfinished.json` and the folder in the cache, so that changed text is never joined to the tokens of other text.

use std::ops;
use std::path::Path;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use valleyscope_engine::quantity::ValidationFraction;
use valleyscope_runs::atomic_file::write_plain_file;
use valleyscope_runs::plain_file::Links;

use super::output::{Begun, TokenFile, TokenFiles, read_json};
use super::sources::{Blocks, CharacterSet, LONGEST, Scanned, TextBlock, byte_of_character, scan};
use super::tokenizer::Alphabet;
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

    /// Reads the text once.
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
        let mut output = match TokenFiles::begin(folder, &job.plan, self.replace, cancelled)? {
            Begun::Complete(meta) => return Ok(meta),
            Begun::Unfinished(output) => output,
        };
        let outcome = tokenize(job, &mut output, progress, cancelled);
        output.end(outcome)
    }
}

/// Makes the tokens of a job that are not in its files yet.
fn tokenize(
    job: &PreparationJob<'_>,
    output: &mut TokenFiles<'_>,
    progress: &mut dyn FnMut(PreparationProgress),
    cancelled: &dyn Fn() -> bool,
) -> Result<(), TextError> {
    let mut blocks = Blocks::from_state(job, output.state());
    output.report_beginning(progress);
    loop {
        progress(output.progress());
        let batch = next_batch(&mut blocks)?;
        if batch.is_empty() {
            return Ok(());
        }
        let tokenized: Vec<_> = batch.par_iter().map(|block| tokens(&job.plan.tokenizer, block)).collect();
        for (block, tokens) in batch.iter().zip(tokenized) {
            let tokens = tokens.map_err(|error| match error {
                // All characters are known from reading the text.
                TextError::UnknownCharacter(_) => TextError::Changed(job.files[block.file].path.clone()),
                other => other,
            });
            output.append(block.split, &tokens?)?;
        }
        output.reached(blocks.range, blocks.at, cancelled)?;
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

/// Returns a block's tokens in the format of the files.
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

/// The file with the state of the work, in a folder whose tokens are not finished.
pub(super) const STATE_FILE: &str = "unfinished.json";

/// The inputs of the tokens.
pub(super) struct TokenPlan {
    pub tokenizer: Tokenizer,
    /// The fraction for validation.
    pub fraction: ValidationFraction,
    pub sources: Vec<SourceFile>,
    /// The parts of the work in their order, each as bytes of a source.
    pub parts: Vec<ops::Range<u64>>,
}

impl TokenPlan {
    /// Returns a hash of everything that the tokens depend on: SHA-256 in hexadecimal.
    pub(super) fn sum(&self) -> String {
        let kind = self.tokenizer.kind().name();
        let all = serde_json::to_vec(&(kind, self.fraction.get(), &self.sources)).expect("it is plain");
        format!("{:x}", Sha256::digest(all))
    }

    /// Returns the state at the beginning of the work.
    pub(super) fn beginning(&self) -> ResumeState {
        let at = self.parts.first().map_or(0, |part| part.start);
        ResumeState { job: self.sum(), part: 0, at, tokens: [0; 2], sums: [0; 2] }
    }

    /// Returns whether a state is possible for this work.
    pub(super) fn fits(&self, state: &ResumeState) -> bool {
        let is_in_part = || self.parts.get(state.part).is_some_and(|part| part.contains(&state.at));
        state.job == self.sum() && (state.part == self.parts.len() || is_in_part())
    }

    pub(super) fn progress(&self, state: &ResumeState) -> PreparationProgress {
        let length = |parts: &[ops::Range<u64>]| parts.iter().map(|part| part.end - part.start).sum::<u64>();
        let parts = &self.parts;
        let done = parts.get(state.part).map_or(0, |part| state.at - part.start);
        PreparationProgress {
            stage: Stage::Tokenizing,
            done: length(&parts[..state.part]) + done,
            total: length(parts),
            tokens: state.tokens.iter().sum(),
        }
    }

    pub(super) fn meta(&self, [train, val]: [TokenFile; 2]) -> Meta {
        Meta {
            tokenizer: self.tokenizer.kind().name().to_owned(),
            vocabulary_size: self.tokenizer.vocabulary_size(),
            vocabulary: match &self.tokenizer {
                Tokenizer::Gpt2 => None,
                Tokenizer::Characters(alphabet) => Some(alphabet.characters().iter().collect()),
            },
            train,
            val,
            val_fraction: self.fraction.get(),
            sources: self.sources.clone(),
        }
    }
}

/// The place that the work has reached, and the tokens so far: the contents of `unfinished.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ResumeState {
    /// The sum of the plan.
    job: String,
    /// The next part, and its first byte without tokens.
    pub part: usize,
    pub at: u64,
    /// The number of tokens in the files, in the order of [`Split::ALL`](super::Split::ALL).
    pub tokens: [u64; 2],
    /// The CRC-32 of each file up to there.
    pub sums: [u32; 2],
}

impl ResumeState {
    /// Reads the state from a folder; `None` where nothing is unfinished there.
    pub(super) fn read(folder: &Path) -> Result<Option<ResumeState>, TextError> {
        let (expected, remedy) = ("how far the tokens are, as JSON", "begin anew with --force");
        read_json(folder.join(STATE_FILE), Links::Refused, 1 << 16, expected, remedy)
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), TextError> {
        let path = folder.join(STATE_FILE);
        let text = serde_json::to_string(self).expect("it is plain");
        write_plain_file(&path, text.as_bytes()).map_err(TextError::at(&path))
    }
}

/// The progress of the work, in bytes read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreparationProgress {
    pub stage: Stage,
    pub done: u64,
    pub total: u64,
    /// Tokens made so far.
    pub tokens: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Everything is read once, for its sum, its characters and to check that it is UTF-8.
    Reading,
    /// The unfinished tokens in the folder have changed since they were written, and are made again.
    Restarting,
    Tokenizing,
}

impl Stage {
    /// The message where unfinished tokens cannot be resumed.
    pub const RESTARTING: &str = "the unfinished tokens are not those that were written there, and all are made anew";
}
