//! Making the files of tokens from text.
//!
//! The first of two passes checks that all is UTF-8, and finds the checksums, the characters and the start of the
//! validation part. The tokens depend only on these and the settings. Their hash identifies the job in
//! `unfinished.json` and the folder in the cache, so that changed text is never joined to the tokens of other text.

use std::path::Path;

use rayon::prelude::*;
use valleyscope_engine::quantity::ValidationFraction;

use super::blocks::{Blocks, LONGEST, TextBlock};
use super::job::PreparationJob;
use super::output::{Begun, TokenFiles};
use super::plan::{PreparationProgress, Stage};
use super::{END_OF_TEXT, Meta, TextError, TextFile, Tokenizer, TokenizerKind};

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
