//! `meta.json`: the meaning of the tokens of a folder, and their sources.

use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use valleyscope_runs::atomic_file::write_plain_file;
use valleyscope_runs::plain_file::{self, Links};

use super::error::REMAKE_ADVICE;
use super::tokenizer::Alphabet;
use super::{Split, TextError, Tokenizer, TokenizerKind};

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

/// A file that tokens were made from.
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

    /// Returns the tokenizer that it describes; `folder` is where it was read.
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
