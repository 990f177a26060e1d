//! A corpus that a model can learn from.

use std::path::Path;

use sha2::{Digest, Sha256};

use super::error::MAKE_ANEW;
use super::output::STATE_FILE;
use super::tokens::Tokens;
use super::{Meta, Offsets, Origin, Split, TextError, Tokenizer};
use crate::random::Key;

/// Tokens to learn from and to validate with.
#[derive(Debug)]
pub struct Corpus {
    pub origin: Origin,
    pub tokenizer: Tokenizer,
    /// Tokens of a sequence.
    context: usize,
    /// In the order of [`Split::ALL`].
    tokens: [Tokens; 2],
    sums: Option<[String; 2]>,
}

/// Sequences for a model, one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequences {
    /// Sequences × context.
    pub inputs: Vec<u16>,
    /// For each of the inputs the token that follows.
    pub targets: Vec<u16>,
}

impl Corpus {
    /// Opens a folder with `train.bin`, `val.bin` and `meta.json`, for sequences of `context` tokens. With no
    /// `meta.json` the tokens are taken for GPT-2's.
    ///
    /// # Errors
    ///
    /// Where a file is missing, of odd length, too short, or of another length than `meta.json` says, and where a token
    /// is beyond the vocabulary (in files of more than 67 million tokens only what is read is checked for that).
    pub fn open(folder: &Path, context: usize) -> Result<Corpus, TextError> {
        if folder.join(STATE_FILE).exists() {
            return Err(TextError::Bad {
                path: folder.to_owned(),
                expected: "finished files of tokens".to_owned(),
                found: "unfinished ones".to_owned(),
                remedy: "repeat the `valleyscope data text` that made them, which goes on from there",
            });
        }
        let meta = Meta::read(folder)?;
        let tokenizer = meta.as_ref().map_or(Ok(Tokenizer::Gpt2), |meta| meta.tokenizer(folder))?;
        if meta.is_none() && folder.join("meta.pkl").exists() {
            return Err(TextError::Bad {
                path: folder.to_owned(),
                expected: Meta::FILE.to_owned(),
                found: "only meta.pkl, which Python reads".to_owned(),
                remedy: MAKE_ANEW,
            });
        }
        let open = |split: Split| {
            let path = folder.join(split.file_name());
            let tokens = Tokens::open(&path, tokenizer.vocabulary_size())?;
            match meta.as_ref().map(|meta| meta.part(split).tokens).filter(|&known| known != tokens.count()) {
                None => Ok(tokens),
                Some(known) => Err(TextError::Bad {
                    path,
                    expected: format!("{known} tokens, as {} says", Meta::FILE),
                    found: tokens.count().to_string(),
                    remedy: MAKE_ANEW,
                }),
            }
        };
        let tokens = [open(Split::Train)?, open(Split::Validation)?];
        let sums = meta.map(|meta| [meta.train.sha256, meta.val.sha256]);
        let corpus = Corpus { origin: Origin::Tokens(folder.to_owned()), tokenizer, context, tokens, sums };
        corpus.check_lengths(folder)?;
        Ok(corpus)
    }

    /// A corpus in memory.
    pub(super) fn in_memory(
        origin: Origin,
        tokenizer: Tokenizer,
        tokens: [Vec<u16>; 2],
        context: usize,
    ) -> Result<Corpus, TextError> {
        let [train, val] = tokens;
        let tokens = [(Split::Train, train), (Split::Validation, val)]
            .map(|(split, tokens)| Tokens::in_memory(split.file_name(), tokens));
        let corpus = Corpus { origin, tokenizer, context, tokens, sums: None };
        corpus.check_lengths(Path::new(""))?;
        Ok(corpus)
    }

    fn check_lengths(&self, folder: &Path) -> Result<(), TextError> {
        for (split, tokens) in Split::ALL.into_iter().zip(&self.tokens) {
            if tokens.count() <= self.context as u64 {
                return Err(TextError::Bad {
                    path: folder.join(split.file_name()),
                    expected: format!("at least {} tokens, one more than the context", self.context + 1),
                    found: tokens.count().to_string(),
                    remedy: "take more text, or a shorter context",
                });
            }
        }
        Ok(())
    }

    /// How many tokens there are.
    pub fn count(&self, split: Split) -> u64 {
        self.tokens[split.index()].count()
    }

    /// Random offsets of sequences, by the key of a training.
    pub fn offsets(&self, split: Split, key: Key) -> Offsets {
        Offsets::new(key, self.count(split), self.context)
    }

    /// The offsets of sequences to evaluate with, always the same.
    pub fn evaluation_offsets(&self, split: Split) -> Offsets {
        Offsets::for_evaluation(self.count(split), self.context)
    }

    /// The sequences that begin at these offsets: tokens o to o + context as inputs, and o + 1 to o + context + 1 as
    /// targets.
    pub fn sequences(&self, split: Split, offsets: &[u64]) -> Result<Sequences, TextError> {
        let room = offsets.len() * self.context;
        let mut sequences = Sequences { inputs: Vec::with_capacity(room), targets: Vec::with_capacity(room) };
        let vocabulary = self.tokenizer.vocabulary_size();
        for &offset in offsets {
            let tokens = self.tokens[split.index()].read(offset, self.context + 1, vocabulary)?;
            sequences.inputs.extend_from_slice(&tokens[..self.context]);
            sequences.targets.extend_from_slice(&tokens[1..]);
        }
        Ok(sequences)
    }

    /// A hash of the tokens and of what they mean, wherever they are kept: SHA-256 in hexadecimal. A run goes on only
    /// with data of the same fingerprint. The sums of large files are taken from `meta.json` where there is one.
    pub fn fingerprint(&self) -> Result<String, TextError> {
        let mut hash = Sha256::new();
        hash.update(self.tokenizer.kind().name());
        if let Tokenizer::Characters(alphabet) = &self.tokenizer {
            hash.update(alphabet.characters().iter().collect::<String>());
        }
        for (place, tokens) in self.tokens.iter().enumerate() {
            hash.update(tokens.count().to_le_bytes());
            match &self.sums {
                Some(sums) if !tokens.is_checked() => hash.update(&sums[place]),
                _ => hash.update(tokens.sum()?),
            }
        }
        Ok(format!("{:x}", hash.finalize()))
    }
}
