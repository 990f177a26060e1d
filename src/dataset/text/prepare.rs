//! Making the files of tokens from text.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::blocks::{Block, Blocks, LONGEST};
use super::job::{Job, STATE_FILE, State};
use super::meta::Part;
use super::{END_OF_TEXT, Meta, Split, TextError, TextFile, Tokenizer};
use crate::dataset::{download, lock};
use crate::export::Aside;
use crate::plain_file::{self, Links};
use crate::quantity::ValidationFraction;
use crate::workload::TokenizerKind;

/// Tokens to be made of text.
#[derive(Clone, Copy, Debug)]
pub struct Preparation<'a> {
    pub files: &'a [TextFile],
    pub tokenizer: TokenizerKind,
    /// How much of the text is for validation: the last characters of all.
    pub fraction: ValidationFraction,
    /// Whether other tokens that are there may be replaced.
    pub replace: bool,
}

/// How far the work is, in bytes of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub stage: Stage,
    pub done: u64,
    pub total: u64,
    /// Tokens made so far.
    pub tokens: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The text is read once: is it UTF-8, which characters are in it, what is its sum?
    Reading,
    Tokenizing,
}

/// The file that says who works on a folder. It stays there, empty.
const LOCK: &str = ".tokens.lock";
/// How often it is saved how far the work is.
const SAVE_EVERY: Duration = Duration::from_secs(2);
/// Blocks for each thread between two looks at the clock.
const BLOCKS_A_THREAD: usize = 4;

impl Preparation<'_> {
    /// Makes the tokens in a folder, which is made where there is none, on the threads of the current pool of rayon.
    /// The same text gives the same bytes, on any number of threads, and also where the work was cut off and goes on.
    /// Where they are there already nothing is done.
    pub fn make(
        &self,
        folder: &Path,
        progress: &mut dyn FnMut(Progress),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Meta, TextError> {
        let job = self.read(progress, cancelled)?;
        self.make_of(&job, folder, progress, cancelled)
    }

    /// The same where the text has been read.
    pub(super) fn make_of(
        &self,
        job: &Job<'_>,
        folder: &Path,
        progress: &mut dyn FnMut(Progress),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Meta, TextError> {
        let failed = |source| TextError::File { path: folder.to_owned(), source };
        fs::create_dir_all(folder).map_err(failed)?;
        let lock = lock::wait(&folder.join(LOCK), &mut || (), cancelled).map_err(failed)?;
        let _lock = lock.ok_or(TextError::Cancelled)?;
        Aside::clear(folder).map_err(failed)?;
        let state = match State::read(folder) {
            Ok(Some(state)) if state.fits(job) => state,
            Ok(Some(_)) if !self.replace => return Err(TextError::OtherJob(folder.to_owned())),
            Err(error) if !self.replace => return Err(error),
            Ok(None) => match self.present(folder, job)? {
                Some(meta) => return Ok(meta),
                None => State::of(job),
            },
            _ => State::of(job),
        };
        let mut making = Making::open(folder, job, state)?;
        making.all(progress, cancelled)?;
        making.finish()
    }

    /// Reads the text once.
    pub(super) fn read(
        &self,
        progress: &mut dyn FnMut(Progress),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Job<'_>, TextError> {
        let length = |file: &TextFile| file.path.metadata().map_or(0, |found| found.len());
        let total = self.files.iter().map(length).sum();
        let mut done = 0;
        let mut seen = |bytes| {
            done += bytes;
            progress(Progress { stage: Stage::Reading, done, total, tokens: 0 });
            if cancelled() { Err(TextError::Cancelled) } else { Ok(()) }
        };
        Job::new(self.files, self.tokenizer, self.fraction, &mut seen)
    }

    /// What is known of the tokens where they are there and whole. Where others are, an error, unless they may be
    /// replaced.
    fn present(&self, folder: &Path, job: &Job<'_>) -> Result<Option<Meta>, TextError> {
        let names = [Split::Train.file_name(), Split::Validation.file_name(), Meta::FILE];
        let mut paths = names.iter().map(|name| folder.join(name));
        let Some(path) = paths.find(|path| path.symlink_metadata().is_ok()) else { return Ok(None) };
        let is_same = |meta: &Meta| {
            meta.tokenizer == self.tokenizer.name()
                && meta.val_fraction == self.fraction.get()
                && meta.sources == job.sources
                && Split::ALL.into_iter().all(|split| {
                    let file = plain_file::open(&folder.join(split.file_name()), Links::Followed);
                    file.and_then(|mut file| download::sum(&mut file)).is_ok_and(|sum| sum == meta.part(split).sha256)
                })
        };
        match Meta::read(folder) {
            Ok(Some(meta)) if is_same(&meta) => Ok(Some(meta)),
            _ if self.replace => Ok(None),
            _ => Err(TextError::Full(path)),
        }
    }
}

/// The work on the files of tokens.
struct Making<'a> {
    folder: &'a Path,
    job: &'a Job<'a>,
    state: State,
    /// In the order of [`Split::ALL`].
    files: [File; 2],
}

fn final_path(folder: &Path, split: Split) -> PathBuf {
    folder.join(split.file_name())
}

/// Where tokens are until all are there.
fn part_path(folder: &Path, split: Split) -> PathBuf {
    folder.join(format!("{}.part", split.file_name()))
}

impl Making<'_> {
    /// Begins the work, or goes on where the state is.
    fn open<'a>(folder: &'a Path, job: &'a Job<'a>, mut state: State) -> Result<Making<'a>, TextError> {
        let open = |split: Split| {
            let path = part_path(folder, split);
            let is_renamed = state.range == job.ranges.len() && !path.exists();
            if is_renamed && final_path(folder, split).exists() {
                fs::rename(final_path(folder, split), &path).map_err(|source| failed(folder, split, source))?;
            }
            let file = plain_file::open_to_write(&path).map_err(|source| failed(folder, split, source))?;
            let length = file.metadata().map_err(|source| failed(folder, split, source))?.len();
            Ok((file, length))
        };
        let [(train, train_bytes), (val, val_bytes)] = [open(Split::Train)?, open(Split::Validation)?];
        // A file that somebody has cut has to be made anew.
        if [train_bytes, val_bytes].iter().zip(state.tokens).any(|(&bytes, tokens)| bytes / 2 < tokens) {
            state = State::of(job);
        }
        let mut making = Making { folder, job, state, files: [train, val] };
        for split in Split::ALL {
            let length = 2 * making.state.tokens[split.index()];
            let file = &mut making.files[split.index()];
            let cut = file.set_len(length).and_then(|()| file.seek(SeekFrom::Start(length)));
            cut.map_err(|source| failed(folder, split, source))?;
        }
        making.state.write(folder)?;
        Ok(making)
    }

    /// Makes all tokens that are missing.
    fn all(&mut self, progress: &mut dyn FnMut(Progress), cancelled: &dyn Fn() -> bool) -> Result<(), TextError> {
        let job = self.job;
        let total = job.ranges.iter().map(|range| range.end - range.start).sum();
        let mut blocks = Blocks::from_state(job, &self.state);
        let mut saved = Instant::now();
        loop {
            let before: u64 = job.ranges[..blocks.range].iter().map(|range| range.end - range.start).sum();
            let done = before + job.ranges.get(blocks.range).map_or(0, |range| blocks.at - range.start);
            progress(Progress { stage: Stage::Tokenizing, done, total, tokens: self.state.tokens.iter().sum() });
            let batch = next_batch(&mut blocks)?;
            if batch.is_empty() {
                return self.save();
            }
            let tokenized = batch.par_iter().map(|block| tokens(&job.tokenizer, block)).collect::<Vec<_>>();
            for (block, tokens) in batch.iter().zip(tokenized) {
                let tokens = tokens?;
                let written = self.files[block.split.index()].write_all(&tokens);
                written.map_err(|source| failed(self.folder, block.split, source))?;
                self.state.tokens[block.split.index()] += tokens.len() as u64 / 2;
            }
            (self.state.range, self.state.at) = (blocks.range, blocks.at);
            if cancelled() {
                self.save()?;
                return Err(TextError::Cancelled);
            }
            if saved.elapsed() >= SAVE_EVERY {
                self.save()?;
                saved = Instant::now();
            }
        }
    }

    /// Saves how far the work is, after the tokens have reached the disk.
    fn save(&mut self) -> Result<(), TextError> {
        for (split, file) in Split::ALL.into_iter().zip(&self.files) {
            file.sync_data().map_err(|source| failed(self.folder, split, source))?;
        }
        self.state.write(self.folder)
    }

    /// Gives the files their names, and says what they are.
    fn finish(mut self) -> Result<Meta, TextError> {
        let mut part = |split: Split| {
            let file = &mut self.files[split.index()];
            let sum = file.rewind().and_then(|()| download::sum(file));
            let sha256 = sum.map_err(|source| failed(self.folder, split, source))?;
            Ok(Part { tokens: self.state.tokens[split.index()], sha256 })
        };
        let [train, val] = [part(Split::Train)?, part(Split::Validation)?];
        drop(self.files);
        for split in Split::ALL {
            let renamed = fs::rename(part_path(self.folder, split), final_path(self.folder, split));
            renamed.map_err(|source| failed(self.folder, split, source))?;
        }
        let tokenizer = &self.job.tokenizer;
        let meta = Meta {
            tokenizer: tokenizer.kind().name().to_owned(),
            vocabulary_size: tokenizer.vocabulary_size(),
            vocabulary: match tokenizer {
                Tokenizer::Gpt2 => None,
                Tokenizer::Characters(alphabet) => Some(alphabet.characters().iter().collect()),
            },
            train,
            val,
            val_fraction: self.job.fraction.get(),
            sources: self.job.sources.clone(),
        };
        meta.write(self.folder)?;
        let state = self.folder.join(STATE_FILE);
        fs::remove_file(&state).map_err(|source| TextError::File { path: state, source })?;
        Ok(meta)
    }
}

fn failed(folder: &Path, split: Split, source: std::io::Error) -> TextError {
    TextError::File { path: part_path(folder, split), source }
}

/// Blocks for all threads; none at the end.
fn next_batch(blocks: &mut Blocks<'_>) -> Result<Vec<Block>, TextError> {
    let room = BLOCKS_A_THREAD * rayon::current_num_threads() * LONGEST;
    let mut batch = Vec::new();
    let mut bytes = 0;
    while bytes < room {
        let Some(block) = blocks.next_block()? else { break };
        bytes += block.text.len();
        batch.push(block);
    }
    Ok(batch)
}

/// A block's tokens as they are in files.
fn tokens(tokenizer: &Tokenizer, block: &Block) -> Result<Vec<u8>, TextError> {
    let end = (block.begins_document && *tokenizer == Tokenizer::Gpt2).then_some(END_OF_TEXT);
    let tokens = tokenizer.encode(&block.text)?;
    Ok(end.into_iter().chain(tokens).flat_map(u16::to_le_bytes).collect())
}
