//! The plan of tokenizing text, and the progress of the work.

use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use valleyscope_engine::quantity::ValidationFraction;
use valleyscope_runs::atomic_file::write_plain_file;
use valleyscope_runs::plain_file::Links;

use super::meta::{TokenFile, read_json};
use super::{Meta, SourceFile, TextError, Tokenizer};

/// The file with the state of the work, in a folder whose tokens are not finished.
pub(super) const STATE_FILE: &str = "unfinished.json";

/// The inputs of the tokens.
pub(super) struct TokenPlan {
    pub tokenizer: Tokenizer,
    /// The fraction for validation.
    pub fraction: ValidationFraction,
    pub sources: Vec<SourceFile>,
    /// The parts of the work in their order, each as bytes of a source.
    pub parts: Vec<Range<u64>>,
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

    /// Returns the progress of the work in a state.
    pub(super) fn progress(&self, state: &ResumeState) -> PreparationProgress {
        let length = |parts: &[Range<u64>]| parts.iter().map(|part| part.end - part.start).sum::<u64>();
        let parts = &self.parts;
        let done = parts.get(state.part).map_or(0, |part| state.at - part.start);
        PreparationProgress {
            stage: Stage::Tokenizing,
            done: length(&parts[..state.part]) + done,
            total: length(parts),
            tokens: state.tokens.iter().sum(),
        }
    }

    /// Returns the description of the tokens.
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
