//! The files of tokens during their creation.
//!
//! The state of the work is written after the tokens have reached the disk. When the work is resumed, the files are
//! truncated to the lengths in the state.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io, ops};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use valleyscope_engine::quantity::ValidationFraction;
use valleyscope_runs::atomic_file::{AtomicFile, write_plain_file};
use valleyscope_runs::plain_file;
use valleyscope_runs::plain_file::Links;

use super::tokenizer::Alphabet;
use super::{REMAKE_ADVICE, Split, TextError, Tokenizer, TokenizerKind};
use crate::dataset;
use crate::dataset::download;

/// The lock file of a folder. It stays there, empty.
const LOCK: &str = ".tokens.lock";
/// The interval between saves of the state.
const SAVE_EVERY: Duration = Duration::from_secs(2);

/// The unfinished files of tokens of a plan.
struct TokenFiles<'a> {
    folder: &'a Path,
    plan: &'a TokenPlan,
    state: ResumeState,
    /// The files in the order of [`Split::ALL`].
    files: [File; 2],
    saved: Instant,
    _lock: File,
}

/// The tokens of some text, each part with the file that it is for, as they follow each other there.
pub(super) struct TokenBatch {
    pub tokens: Vec<(Split, Vec<u8>)>,
    /// The position behind the text, as in [`ResumeState`].
    pub part: usize,
    pub at: u64,
}

/// Makes the tokens of a plan in a folder, which is created if needed, or resumes that. Waits until no other process
/// works there. Existing other tokens are refused, unless they may be replaced. `next` makes the tokens behind a state;
/// none at the end.
pub(super) fn make(
    folder: &Path,
    plan: &TokenPlan,
    replace: bool,
    progress: &mut dyn FnMut(PreparationProgress),
    cancelled: &dyn Fn() -> bool,
    mut next: impl FnMut(&ResumeState) -> Result<Option<TokenBatch>, TextError>,
) -> Result<Meta, TextError> {
    fs::create_dir_all(folder).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => TextError::NoFolder(folder.to_owned()),
        _ => TextError::at(folder)(source),
    })?;
    let lock = dataset::wait(&folder.join(LOCK), cancelled).map_err(TextError::at(folder))?;
    let lock = lock.ok_or(TextError::Cancelled)?;
    AtomicFile::clear(folder).map_err(TextError::at(folder))?;
    let state = match ResumeState::read(folder) {
        Ok(Some(state)) if plan.fits(&state) => state,
        Ok(Some(_)) if !replace => return Err(TextError::OtherJob(folder.to_owned())),
        Err(error) if !replace => return Err(error),
        Ok(None) => match present(folder, plan, replace)? {
            Some(meta) => return Ok(meta),
            None => plan.beginning(),
        },
        _ => plan.beginning(),
    };
    let mut output = TokenFiles::open(folder, plan, state, lock)?;
    loop {
        progress(plan.progress(&output.state));
        match next(&output.state) {
            Ok(Some(batch)) => output.append(batch, cancelled)?,
            Ok(None) => return output.finish(),
            Err(error) => return Err(output.given_up(error)),
        }
    }
}

impl TokenFiles<'_> {
    /// Opens the files and truncates them to the lengths in the state. If one is shorter, the work starts over.
    fn open<'a>(
        folder: &'a Path,
        plan: &'a TokenPlan,
        mut state: ResumeState,
        lock: File,
    ) -> Result<TokenFiles<'a>, TextError> {
        let open = |split: Split| {
            let path = part_path(folder, split);
            let is_renamed = state.part == plan.parts.len() && !path.exists();
            if is_renamed && final_path(folder, split).exists() {
                fs::rename(final_path(folder, split), &path).map_err(|source| failed(folder, split, source))?;
            }
            let file = plain_file::open_to_write(&path).map_err(|source| failed(folder, split, source))?;
            let length = file.metadata().map_err(|source| failed(folder, split, source))?.len();
            Ok((file, length >= 2 * state.tokens[split.index()]))
        };
        let [(train, has_train), (val, has_val)] = [open(Split::Train)?, open(Split::Validation)?];
        if !has_train || !has_val {
            state = plan.beginning();
        }
        let mut output = TokenFiles { folder, plan, state, files: [train, val], saved: Instant::now(), _lock: lock };
        for split in Split::ALL {
            let length = 2 * output.state.tokens[split.index()];
            let file = &mut output.files[split.index()];
            let cut = file.set_len(length).and_then(|()| file.seek(SeekFrom::Start(length)));
            cut.map_err(|source| failed(folder, split, source))?;
        }
        output.state.write(folder)?;
        Ok(output)
    }

    /// Appends tokens. The state is saved at intervals, and on cancellation, which is an error.
    fn append(&mut self, batch: TokenBatch, cancelled: &dyn Fn() -> bool) -> Result<(), TextError> {
        for (split, tokens) in batch.tokens {
            let written = self.files[split.index()].write_all(&tokens);
            written.map_err(|source| failed(self.folder, split, source))?;
            self.state.tokens[split.index()] += tokens.len() as u64 / 2;
        }
        (self.state.part, self.state.at) = (batch.part, batch.at);
        if cancelled() {
            self.save()?;
            return Err(TextError::Cancelled);
        }
        if self.saved.elapsed() >= SAVE_EVERY {
            self.save()?;
            self.saved = Instant::now();
        }
        Ok(())
    }

    /// Saves the state, after the tokens have reached the disk.
    fn save(&mut self) -> Result<(), TextError> {
        for (split, file) in Split::ALL.into_iter().zip(&self.files) {
            file.sync_data().map_err(|source| failed(self.folder, split, source))?;
        }
        self.state.write(self.folder)
    }

    /// Removes the files where the text has changed meanwhile. A file that cannot be removed does no harm: its state does
    /// not fit the plan of the changed text.
    fn given_up(self, error: TextError) -> TextError {
        if matches!(error, TextError::Changed(_)) {
            let parts = Split::ALL.map(|split| part_path(self.folder, split));
            for path in parts.into_iter().chain([self.folder.join(STATE_FILE)]) {
                let _ = fs::remove_file(path);
            }
        }
        error
    }

    /// Renames the files, and writes their description.
    fn finish(mut self) -> Result<Meta, TextError> {
        self.save()?;
        let mut part = |split: Split| {
            let file = &mut self.files[split.index()];
            let sum = file.rewind().and_then(|()| download::sum(file));
            let sha256 = sum.map_err(|source| failed(self.folder, split, source))?;
            Ok(TokenFile { tokens: self.state.tokens[split.index()], sha256 })
        };
        let meta = self.plan.meta([part(Split::Train)?, part(Split::Validation)?]);
        drop(self.files);
        for split in Split::ALL {
            let renamed = fs::rename(part_path(self.folder, split), final_path(self.folder, split));
            renamed.map_err(|source| failed(self.folder, split, source))?;
        }
        meta.write(self.folder)?;
        let state = self.folder.join(STATE_FILE);
        fs::remove_file(&state).map_err(TextError::at(&state))?;
        Ok(meta)
    }
}

/// Reads the description of the tokens if they are complete and intact. Other tokens are an error, unless they may be
/// replaced.
fn present(folder: &Path, plan: &TokenPlan, replace: bool) -> Result<Option<Meta>, TextError> {
    let names = [Split::Train.file_name(), Split::Validation.file_name(), Meta::FILE];
    let mut paths = names.iter().map(|name| folder.join(name));
    let Some(path) = paths.find(|path| path.symlink_metadata().is_ok()) else { return Ok(None) };
    let has_sum = |meta: &Meta, split: Split| {
        let file = plain_file::open(&final_path(folder, split), Links::Followed);
        file.and_then(|mut file| download::sum(&mut file)).is_ok_and(|sum| sum == meta.part(split).sha256)
    };
    match Meta::read(folder) {
        Ok(Some(meta))
            if meta == plan.meta([meta.train.clone(), meta.val.clone()])
                && Split::ALL.into_iter().all(|split| has_sum(&meta, split)) =>
        {
            Ok(Some(meta))
        }
        _ if replace => Ok(None),
        _ => Err(TextError::Full(path)),
    }
}

fn final_path(folder: &Path, split: Split) -> PathBuf {
    folder.join(split.file_name())
}

fn part_path(folder: &Path, split: Split) -> PathBuf {
    folder.join(format!("{}.part", split.file_name()))
}

fn failed(folder: &Path, split: Split, source: io::Error) -> TextError {
    TextError::File { path: part_path(folder, split), source }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    /// `gpt2` or `char`.
    pub tokenizer: String,
    pub vocabulary_size: usize,
    /// The characters in the order of their tokens, at character level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<String>,
    pub train: TokenFile,
    pub val: TokenFile,
    /// The fraction of the text for validation.
    pub val_fraction: f64,
    pub sources: Vec<SourceFile>,
}

/// One of the two files of tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenFile {
    pub tokens: u64,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    pub name: String,
    pub bytes: u64,
    /// SHA-256 in hexadecimal.
    pub sha256: String,
}

impl Meta {
    pub const FILE: &str = "meta.json";
    /// The longest file, in bytes; enough for a hundred thousand sources.
    const LONGEST: u64 = 64 << 20;

    /// Reads the file from a folder; `None` where there is none.
    pub fn read(folder: &Path) -> Result<Option<Meta>, TextError> {
        let expected = "what is known of tokens, as JSON";
        read_json(folder.join(Meta::FILE), Links::Followed, Meta::LONGEST, expected, REMAKE_ADVICE)
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), TextError> {
        let path = folder.join(Meta::FILE);
        let mut text = serde_json::to_string_pretty(self).expect("it has nothing that JSON has not");
        text.push('\n');
        if text.len() as u64 > Meta::LONGEST {
            return Err(TextError::Unusable {
                expected: format!("sources whose names take at most {} MB", Meta::LONGEST >> 20),
                found: format!("{} files", self.sources.len()),
                remedy: "join files",
            });
        }
        write_plain_file(&path, text.as_bytes()).map_err(TextError::at(&path))
    }

    pub fn part(&self, split: Split) -> &TokenFile {
        match split {
            Split::Train => &self.train,
            Split::Validation => &self.val,
        }
    }

    /// Makes the tokenizer that `meta.json` in this folder describes.
    pub fn tokenizer(&self, folder: &Path) -> Result<Tokenizer, TextError> {
        let bad = |expected: String, found: String| TextError::Bad {
            path: folder.join(Meta::FILE),
            expected,
            found,
            remedy: REMAKE_ADVICE,
        };
        let Some(kind) = TokenizerKind::from_name(&self.tokenizer) else {
            return Err(bad("the tokenizer gpt2 or char".to_owned(), format!("{:?}", self.tokenizer)));
        };
        let tokenizer = match kind {
            TokenizerKind::Gpt2 => Tokenizer::Gpt2,
            TokenizerKind::Char => {
                let characters = self.vocabulary.iter().flat_map(|text| text.chars()).collect();
                let expected = || format!("a vocabulary of 1 to {} characters in the order of Unicode", Alphabet::MOST);
                let alphabet = Alphabet::new(characters).ok_or_else(|| bad(expected(), "none".to_owned()))?;
                Tokenizer::Characters(alphabet)
            }
        };
        if self.vocabulary_size != tokenizer.vocabulary_size() {
            let expected = format!("a vocabulary_size of {}", tokenizer.vocabulary_size());
            return Err(bad(expected, self.vocabulary_size.to_string()));
        }
        Ok(tokenizer)
    }
}

/// Reads a value from a file of JSON with at most `longest` bytes; `None` where there is none.
pub(super) fn read_json<T: DeserializeOwned>(
    path: PathBuf,
    links: Links,
    longest: u64,
    expected: &str,
    remedy: &'static str,
) -> Result<Option<T>, TextError> {
    let text = match plain_file::read_text(&path, links, longest) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(TextError::File { path, source }),
    };
    serde_json::from_str(&text).map(Some).map_err(|error| {
        let (expected, found) = (expected.to_owned(), error.to_string());
        TextError::Bad { path, expected, found, remedy }
    })
}

/// The file with the state of the work, in a folder whose tokens are not finished.
pub(super) const STATE_FILE: &str = "unfinished.json";

pub(super) struct TokenPlan {
    pub tokenizer: Tokenizer,
    pub fraction: ValidationFraction,
    pub sources: Vec<SourceFile>,
    /// The parts of the work in their order, each as bytes of a source.
    pub parts: Vec<ops::Range<u64>>,
}

impl TokenPlan {
    /// Hashes everything that the tokens depend on: SHA-256 in hexadecimal.
    pub(super) fn sum(&self) -> String {
        let kind = self.tokenizer.kind().name();
        let all = serde_json::to_vec(&(kind, self.fraction.get(), &self.sources)).expect("it is plain");
        format!("{:x}", Sha256::digest(all))
    }

    fn beginning(&self) -> ResumeState {
        let at = self.parts.first().map_or(0, |part| part.start);
        ResumeState { job: self.sum(), part: 0, at, tokens: [0; 2] }
    }

    /// Whether a state is possible for this work.
    fn fits(&self, state: &ResumeState) -> bool {
        let is_in_part = || self.parts.get(state.part).is_some_and(|part| part.contains(&state.at));
        state.job == self.sum() && (state.part == self.parts.len() || is_in_part())
    }

    fn progress(&self, state: &ResumeState) -> PreparationProgress {
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

    fn meta(&self, [train, val]: [TokenFile; 2]) -> Meta {
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

/// The position that the work has reached, and the tokens so far: the contents of `unfinished.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ResumeState {
    /// The sum of the plan.
    job: String,
    /// The next part, and its first byte without tokens.
    pub part: usize,
    pub at: u64,
    /// The number of tokens in the files, in the order of [`Split::ALL`](super::Split::ALL).
    pub tokens: [u64; 2],
}

impl ResumeState {
    /// Reads the state from a folder; `None` if nothing is unfinished.
    pub(super) fn read(folder: &Path) -> Result<Option<ResumeState>, TextError> {
        let (expected, remedy) = ("how far the tokens are, as JSON", "begin anew with --force");
        read_json(folder.join(STATE_FILE), Links::Refused, 1 << 16, expected, remedy)
    }

    fn write(&self, folder: &Path) -> Result<(), TextError> {
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
    Reading,
    Tokenizing,
}
