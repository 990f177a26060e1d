//! What is to be tokenized, and how far that has come.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::sources::{Occurring, Scanned, byte_of_character, scan};
use super::tokenizer::Alphabet;
use super::{Source, Split, TextError, TextFile, Tokenizer};
use crate::export::write_plain_file;
use crate::plain_file::{self, Links};
use crate::quantity::ValidationFraction;
use crate::workload::TokenizerKind;

/// How much of a text is for validation where nothing else is said, as in nanoGPT.
pub const VALIDATION_FRACTION: f64 = 0.1;
/// In a folder whose tokens are not finished: how far they are.
pub const STATE_FILE: &str = "unfinished.json";

/// A text that has been read once, and how it is cut into parts.
pub struct Job<'a> {
    pub files: &'a [TextFile],
    pub sources: Vec<Source>,
    pub tokenizer: Tokenizer,
    pub fraction: ValidationFraction,
    pub ranges: Vec<Range>,
}

/// Bytes of a file that belong to one split.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    pub file: usize,
    pub start: u64,
    pub end: u64,
    pub split: Split,
    /// Whether another document of the same split is before it.
    pub follows: bool,
}

impl Job<'_> {
    /// Reads the files. The first characters of all, taken together, are to learn from, and the last for validation.
    pub fn new<'a>(
        files: &'a [TextFile],
        kind: TokenizerKind,
        fraction: ValidationFraction,
        seen: &mut dyn FnMut(u64) -> Result<(), TextError>,
    ) -> Result<Job<'a>, TextError> {
        let mut occurring = (kind == TokenizerKind::Char).then(Occurring::none);
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
        let sources = files.iter().zip(&scanned).map(|(file, scanned)| Source {
            name: file.name.clone(),
            bytes: scanned.bytes,
            sha256: scanned.sha256.clone(),
        });
        Ok(Job { files, sources: sources.collect(), tokenizer, fraction, ranges })
    }

    /// A hash of all that the tokens depend on: SHA-256 in hexadecimal.
    pub fn sum(&self) -> String {
        let kind = self.tokenizer.kind().name();
        let all = serde_json::to_vec(&(kind, self.fraction.get(), &self.sources)).expect("it is plain");
        format!("{:x}", Sha256::digest(all))
    }
}

fn ranges(files: &[TextFile], scanned: &[Scanned], fraction: ValidationFraction) -> Result<Vec<Range>, TextError> {
    let characters: u64 = scanned.iter().map(|file| file.characters).sum();
    let mut to_learn_from = (characters as f64 * (1.0 - fraction.get())) as u64;
    if to_learn_from == 0 {
        return Err(TextError::Unusable {
            expected: "text to learn from and to validate with".to_owned(),
            found: format!("{characters} characters"),
            remedy: "take more text",
        });
    }
    let mut ranges: Vec<Range> = Vec::new();
    for (number, (file, scanned)) in files.iter().zip(scanned).enumerate() {
        let border = match to_learn_from {
            0 => 0,
            all if all >= scanned.characters => scanned.bytes,
            some => byte_of_character(&file.path, some)?,
        };
        to_learn_from = to_learn_from.saturating_sub(scanned.characters);
        for (split, start, end) in [(Split::Train, 0, border), (Split::Validation, border, scanned.bytes)] {
            if start < end {
                let follows = ranges.last().is_some_and(|last| last.split == split);
                ranges.push(Range { file: number, start, end, split, follows });
            }
        }
    }
    Ok(ranges)
}

/// How far the tokens are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The sum of the job.
    pub job: String,
    /// The range that comes next, and its first byte that has no tokens yet.
    pub range: usize,
    pub at: u64,
    /// Tokens that are in the files, in the order of [`Split::ALL`].
    pub tokens: [u64; 2],
}

impl State {
    /// Where a job begins.
    pub fn of(job: &Job<'_>) -> State {
        State { job: job.sum(), range: 0, at: job.ranges[0].start, tokens: [0; 2] }
    }

    /// Reads it from a folder; `None` where nothing is unfinished there.
    pub fn read(folder: &Path) -> Result<Option<State>, TextError> {
        let path = folder.join(STATE_FILE);
        let text = match plain_file::read_text(&path, Links::Refused, 1 << 16) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(TextError::File { path, source }),
        };
        serde_json::from_str(&text).map(Some).map_err(|error| TextError::Bad {
            path,
            expected: "how far the tokens are, as JSON".to_owned(),
            found: error.to_string(),
            remedy: "begin anew with --force",
        })
    }

    /// Whether it can be one of this job.
    pub fn fits(&self, job: &Job<'_>) -> bool {
        let is_at_end = self.range == job.ranges.len();
        let is_in_range =
            || job.ranges.get(self.range).is_some_and(|range| (range.start..range.end).contains(&self.at));
        self.job == job.sum() && (is_at_end || is_in_range())
    }

    pub fn write(&self, folder: &Path) -> Result<(), TextError> {
        let path = folder.join(STATE_FILE);
        let text = serde_json::to_string(self).expect("it is plain");
        write_plain_file(&path, text.as_bytes()).map_err(|source| TextError::File { path, source })
    }
}
