//! A corpus for training a language model.

use std::path::Path;

use sha2::{Digest, Sha256};
use valleyscope_engine::random::Key;

use super::error::REMAKE_ADVICE;
use super::plan::STATE_FILE;
use super::tokens::{self, Tokens};
use super::verified_sums::CheckedFile;
use super::{Meta, Offsets, Split, TextError, TextSource, Tokenizer};

/// Tokens for training and for validation.
#[derive(Debug)]
pub struct Corpus {
    pub source: TextSource,
    pub tokenizer: Tokenizer,
    /// The number of tokens of a sequence.
    context: usize,
    /// The tokens in the order of [`Split::ALL`].
    tokens: [Tokens; 2],
    /// The sums of the tokens in `meta.json`, where there is one.
    sums: Option<[String; 2]>,
}

/// Sequences for a model, one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequences {
    /// Sequences × context.
    pub inputs: Vec<u16>,
    /// The tokens that follow the inputs.
    pub targets: Vec<u16>,
}

impl Corpus {
    /// Opens a folder with `train.bin`, `val.bin` and `meta.json`, for sequences of `context` tokens. Without
    /// `meta.json` the tokens are assumed to be GPT-2's.
    ///
    /// # Errors
    ///
    /// Returns an error where a file is missing, of odd length, too short, or of another length or sum than `meta.json`
    /// says, where tokens without `meta.json` have more than two bytes, and where a token is beyond the vocabulary. In files of more than 67 million tokens only tokens that are
    /// read are checked for that, and the sums by [`Corpus::check_large`].
    pub fn open(folder: &Path, context: usize) -> Result<Corpus, TextError> {
        let Description { meta, tokenizer } = Description::of(folder)?;
        let open = |split: Split| Tokens::open(&folder.join(split.file_name()), tokenizer.vocabulary_size());
        let tokens = [open(Split::Train)?, open(Split::Validation)?];
        check_counts(folder, meta.as_ref(), tokens.each_ref().map(Tokens::count), context)?;
        let sums = meta.map(|meta| [meta.train.sha256, meta.val.sha256]);
        for (tokens, known) in tokens.iter().zip(sums.iter().flatten()).filter(|(tokens, _)| tokens.is_checked()) {
            tokens.compare(&tokens.sum(&mut |_| Ok(()))?, known)?;
        }
        Ok(Corpus { source: TextSource::Tokens(folder.to_owned()), tokenizer, context, tokens, sums })
    }

    /// Compares the sums of the large files in its folder with those in `meta.json`. That takes some seconds per GB and
    /// is done once: `cache` keeps a record of the comparison, until the file's length or time changes. `seen` receives
    /// the bytes so far and all bytes of a file; an error of it ends the reading.
    ///
    /// # Errors
    ///
    /// Returns an error where a file has another sum than `meta.json` says, or cannot be read.
    pub(super) fn check_large(
        &self,
        folder: &Path,
        cache: Option<&Path>,
        seen: &mut dyn FnMut(u64, u64) -> Result<(), TextError>,
    ) -> Result<(), TextError> {
        for (place, split) in Split::ALL.into_iter().enumerate() {
            let tokens = &self.tokens[place];
            let Some(known) = self.sums.as_ref().map(|sums| &sums[place]).filter(|_| !tokens.is_checked()) else {
                continue;
            };
            let record = CheckedFile::of(&folder.join(split.file_name()), known)?;
            if cache.is_some_and(|cache| record.is_in(cache)) {
                continue;
            }
            let total = 2 * tokens.count();
            tokens.compare(&tokens.sum(&mut |done| seen(done, total))?, known)?;
            if let Some(cache) = cache {
                record.keep(cache);
            }
        }
        Ok(())
    }

    /// Returns the tokenizer of a folder with `train.bin`, `val.bin` and `meta.json`, without reading the tokens.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Corpus::open`], except for tokens beyond the vocabulary.
    pub fn check(folder: &Path, context: usize) -> Result<Tokenizer, TextError> {
        let Description { meta, tokenizer } = Description::of(folder)?;
        let count = |split: Split| tokens::count_in(&folder.join(split.file_name()));
        check_counts(folder, meta.as_ref(), [count(Split::Train)?, count(Split::Validation)?], context)?;
        Ok(tokenizer)
    }

    /// Returns a corpus in memory.
    pub(super) fn in_memory(
        source: TextSource,
        tokenizer: Tokenizer,
        tokens: [Vec<u16>; 2],
        context: usize,
    ) -> Result<Corpus, TextError> {
        let [train, val] = tokens;
        let tokens = [(Split::Train, train), (Split::Validation, val)]
            .map(|(split, tokens)| Tokens::in_memory(split.file_name(), tokens));
        check_counts(Path::new(""), None, tokens.each_ref().map(Tokens::count), context)?;
        Ok(Corpus { source, tokenizer, context, tokens, sums: None })
    }

    /// Returns the number of tokens.
    pub fn count(&self, split: Split) -> u64 {
        self.tokens[split.index()].count()
    }

    /// Returns the random offsets of sequences, by the key of a training.
    pub fn offsets(&self, split: Split, key: Key) -> Offsets {
        Offsets::new(key, self.count(split), self.context)
    }

    /// Returns the offsets of sequences for evaluation, always the same.
    pub fn evaluation_offsets(&self, split: Split) -> Offsets {
        Offsets::for_evaluation(self.count(split), self.context)
    }

    /// Returns the offsets of consecutive sequences, from the first token on. The rest at the end, with fewer targets
    /// than the context, is in none of them.
    pub fn windows(&self, split: Split) -> Vec<u64> {
        // The last token has none that follows it.
        (0..(self.count(split) - 1) / self.context as u64).map(|window| window * self.context as u64).collect()
    }

    /// Returns the sequences that begin at these offsets: tokens o to o + context as inputs, and o + 1 to o + context +
    /// 1 as targets.
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

    /// Returns a hash of the tokens and of their meaning, wherever they are stored: SHA-256 in hexadecimal. A run
    /// resumes only with data of the same fingerprint. The sums are taken from `meta.json` where there is one.
    pub fn fingerprint(&self) -> Result<String, TextError> {
        let mut hash = Sha256::new();
        hash.update(self.tokenizer.kind().name());
        if let Tokenizer::Characters(alphabet) = &self.tokenizer {
            hash.update(alphabet.characters().iter().collect::<String>());
        }
        for (place, tokens) in self.tokens.iter().enumerate() {
            hash.update(tokens.count().to_le_bytes());
            match &self.sums {
                // `Corpus::open` compares the files with these sums, and `Corpus::check_large` the large ones.
                Some(sums) => hash.update(&sums[place]),
                _ => hash.update(tokens.sum(&mut |_| Ok(()))?),
            }
        }
        Ok(format!("{:x}", hash.finalize()))
    }
}

/// The description of the tokens of a folder.
struct Description {
    meta: Option<Meta>,
    tokenizer: Tokenizer,
}

impl Description {
    fn of(folder: &Path) -> Result<Description, TextError> {
        let bad = |expected: &str, found: &str, remedy| TextError::Bad {
            path: folder.to_owned(),
            expected: expected.to_owned(),
            found: found.to_owned(),
            remedy,
        };
        if folder.join(STATE_FILE).exists() {
            let remedy = "repeat the `valleyscope data text` that made them, which resumes there";
            return Err(bad("finished files of tokens", "unfinished ones", remedy));
        }
        let meta = Meta::read(folder)?;
        if meta.is_none() && folder.join("meta.pkl").exists() {
            return Err(bad(Meta::FILE, "only meta.pkl, which Python reads", REMAKE_ADVICE));
        }
        if meta.is_none() {
            Split::ALL.into_iter().try_for_each(|split| tokens::refuse_wide(&folder.join(split.file_name())))?;
        }
        let tokenizer = meta.as_ref().map_or(Ok(Tokenizer::Gpt2), |meta| meta.tokenizer(folder))?;
        Ok(Description { meta, tokenizer })
    }
}

/// Refuses files whose lengths differ from `meta.json`, and too short ones.
fn check_counts(folder: &Path, meta: Option<&Meta>, counts: [u64; 2], context: usize) -> Result<(), TextError> {
    for (split, count) in Split::ALL.into_iter().zip(counts) {
        let bad = |expected: String, remedy| TextError::Bad {
            path: folder.join(split.file_name()),
            expected,
            found: count.to_string(),
            remedy,
        };
        if let Some(known) = meta.map(|meta| meta.part(split).tokens).filter(|known| *known != count) {
            return Err(bad(format!("{known} tokens, as {} says", Meta::FILE), REMAKE_ADVICE));
        }
        if count <= context as u64 {
            let expected = format!("at least {} tokens, one more than the context", context + 1);
            return Err(bad(expected, "take more text, or a shorter context"));
        }
    }
    Ok(())
}
