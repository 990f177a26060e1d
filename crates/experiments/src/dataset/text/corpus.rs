//! A corpus for training a language model.

use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;
use std::{fmt, fs};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use valleyscope_engine::random::{Key, Stream};
use valleyscope_runs::atomic_file::write_plain_file;
use valleyscope_runs::plain_file;
use valleyscope_runs::plain_file::Links;

use super::output::STATE_FILE;
use super::{Meta, REMAKE_ADVICE, Split, TextError, TextSource, Tokenizer};

/// Tokens for training and for validation.
#[derive(Debug)]
pub struct Corpus {
    pub source: TextSource,
    pub tokenizer: Tokenizer,
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
    /// Fails where a file is missing, of odd length, too short, or of another length or sum than in `meta.json`, where
    /// tokens without `meta.json` have more than two bytes, and where a token is outside the vocabulary. In files of
    /// more than 67 million tokens only tokens that are read are checked for that, and the sums by
    /// [`Corpus::check_large`].
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
    /// Fails where a file has another sum than in `meta.json`, or cannot be read.
    pub(super) fn check_large(
        &self,
        folder: &Path,
        cache: Option<&Path>,
        seen: &mut dyn FnMut(u64, u64) -> Result<(), TextError>,
    ) -> Result<(), TextError> {
        for (index, split) in Split::ALL.into_iter().enumerate() {
            let tokens = &self.tokens[index];
            let Some(known) = self.sums.as_ref().map(|sums| &sums[index]).filter(|_| !tokens.is_checked()) else {
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

    /// Checks a folder with `train.bin`, `val.bin` and `meta.json` without reading the tokens, and returns its
    /// tokenizer.
    ///
    /// # Errors
    ///
    /// Fails as [`Corpus::open`] does, except for tokens outside the vocabulary.
    pub fn check(folder: &Path, context: usize) -> Result<Tokenizer, TextError> {
        let Description { meta, tokenizer } = Description::of(folder)?;
        let count = |split: Split| open(&folder.join(split.file_name())).map(|(_, count)| count);
        check_counts(folder, meta.as_ref(), [count(Split::Train)?, count(Split::Validation)?], context)?;
        Ok(tokenizer)
    }

    pub(super) fn in_memory(
        source: TextSource,
        tokenizer: Tokenizer,
        tokens: [Vec<u16>; 2],
        context: usize,
    ) -> Result<Corpus, TextError> {
        let [train, val] = tokens;
        let tokens = [(Split::Train, train), (Split::Validation, val)]
            .map(|(split, tokens)| Tokens::in_memory(split.file_name(), &tokens));
        check_counts(Path::new(""), None, tokens.each_ref().map(Tokens::count), context)?;
        Ok(Corpus { source, tokenizer, context, tokens, sums: None })
    }

    pub fn count(&self, split: Split) -> u64 {
        self.tokens[split.index()].count()
    }

    /// Draws the offsets of sequences at random, by the key of a training.
    pub fn offsets(&self, split: Split, key: Key) -> super::Offsets {
        super::Offsets::new(key, self.count(split), self.context)
    }

    /// The offsets of sequences for evaluation, always the same.
    pub fn evaluation_offsets(&self, split: Split) -> super::Offsets {
        super::Offsets::new(Key::new(EVALUATION), self.count(split), self.context)
    }

    /// The offsets of consecutive sequences, from the first token on. The rest at the end, with fewer targets than the
    /// context, is in none of them.
    pub fn windows(&self, split: Split) -> Vec<u64> {
        // The last token has none that follows it.
        (0..(self.count(split) - 1) / self.context as u64).map(|window| window * self.context as u64).collect()
    }

    /// Reads the sequences that begin at these offsets: tokens o to o + context as inputs, and o + 1 to o + context + 1
    /// as targets.
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

    /// Hashes the tokens and their meaning, wherever they are stored: SHA-256 in hexadecimal. A run resumes only with
    /// data of the same fingerprint. The sums are taken from `meta.json` where there is one.
    pub fn fingerprint(&self) -> Result<String, TextError> {
        let mut hash = Sha256::new();
        hash.update(self.tokenizer.kind().name());
        if let Tokenizer::Characters(alphabet) = &self.tokenizer {
            hash.update(alphabet.characters().iter().collect::<String>());
        }
        for (index, tokens) in self.tokens.iter().enumerate() {
            hash.update(tokens.count().to_le_bytes());
            match &self.sums {
                // `Corpus::open` compares the files with these sums, and `Corpus::check_large` the large ones.
                Some(sums) => hash.update(&sums[index]),
                _ => hash.update(tokens.sum(&mut |_| Ok(()))?),
            }
        }
        Ok(format!("{:x}", hash.finalize()))
    }
}

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
            Split::ALL.into_iter().try_for_each(|split| refuse_wide(&folder.join(split.file_name())))?;
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

/// The offsets of the sequences of batches among the tokens, uniformly distributed.
///
/// The offsets of a batch depend only on the key and the numbers of the step and the batch, so that a resumed run has
/// the same batches as an uninterrupted one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offsets {
    key: Key,
    /// Offsets are smaller than this.
    count: u64,
}

/// The key of evaluations, whatever the seed of a run.
const EVALUATION: u64 = 0x6576_616c;

impl Offsets {
    /// Creates offsets at which a sequence of `context` tokens and the token after it fit into `tokens` tokens.
    ///
    /// # Panics
    ///
    /// Panics if there are no more than `context` tokens. A [`super::Corpus`] always has more.
    pub fn new(key: Key, tokens: u64, context: usize) -> Offsets {
        let count = tokens.saturating_sub(context as u64);
        assert!(count > 0, "there are {tokens} tokens, too few for a context of {context}");
        Offsets { key, count }
    }

    /// Draws the offsets of the sequences of a step's batch; both are counted from 0.
    pub fn batch(&self, step: u64, batch: u64, sequences: usize) -> Vec<u64> {
        let mut stream = Stream::new(self.key.at(step).at(batch));
        (0..sequences).map(|_| stream.below(self.count)).collect()
    }
}

/// Tokens in a file or in memory.
///
/// Files are read on demand, and stay in the system's cache. (A memory-mapped file that is truncated would end the
/// program by a signal.)
#[derive(Debug)]
pub(super) struct Tokens {
    bytes: Mutex<Box<dyn Storage>>,
    path: PathBuf,
    count: u64,
}

/// A file, or bytes in memory.
trait Storage: Read + Seek + Send + fmt::Debug {}

impl<S: Read + Seek + Send + fmt::Debug> Storage for S {}

/// The largest number of tokens that are checked when a file is opened; in larger files tokens are checked as they are
/// read, and their sum once.
const CHECKED_AT_ONCE: u64 = 1 << 26;
const CHUNK: usize = 1 << 16;

impl Tokens {
    /// Opens a file of tokens, which must be smaller than `vocabulary`.
    pub(super) fn open(path: &Path, vocabulary: usize) -> Result<Tokens, TextError> {
        let (file, count) = open(path)?;
        let tokens = Tokens { bytes: Mutex::new(Box::new(file)), path: path.to_owned(), count };
        if tokens.is_checked() {
            let mut at = 0;
            while at < tokens.count {
                let count = (tokens.count - at).min(CHUNK as u64) as usize;
                tokens.read(at, count, vocabulary)?;
                at += count as u64;
            }
        }
        Ok(tokens)
    }

    pub(super) fn in_memory(name: &str, tokens: &[u16]) -> Tokens {
        let bytes: Vec<u8> = tokens.iter().flat_map(|token| token.to_le_bytes()).collect();
        Tokens { path: name.into(), count: tokens.len() as u64, bytes: Mutex::new(Box::new(Cursor::new(bytes))) }
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Reads `count` tokens from the index `at` on, and checks that they are smaller than `vocabulary`.
    pub(super) fn read(&self, at: u64, count: usize, vocabulary: usize) -> Result<Vec<u16>, TextError> {
        let mut bytes = vec![0; 2 * count];
        self.read_bytes(at, &mut bytes)?;
        let tokens: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        match tokens.iter().position(|&token| usize::from(token) >= vocabulary) {
            None => Ok(tokens),
            Some(index) => Err(TextError::Bad {
                path: self.path.clone(),
                expected: format!("tokens smaller than {vocabulary}, the size of the vocabulary"),
                found: format!("{} as token {}", tokens[index], at + index as u64),
                remedy: REMAKE_ADVICE,
            }),
        }
    }

    /// Reads the bytes from the index `at` of a token on.
    fn read_bytes(&self, at: u64, bytes: &mut [u8]) -> Result<(), TextError> {
        let mut from = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let read = from.seek(SeekFrom::Start(2 * at)).and_then(|_| from.read_exact(bytes));
        read.map_err(TextError::at(&self.path))
    }

    pub(super) fn is_checked(&self) -> bool {
        self.count <= CHECKED_AT_ONCE
    }

    /// Computes the SHA-256 of all tokens, in hexadecimal. `seen` receives the number of bytes so far; an error of it
    /// ends the reading.
    pub(super) fn sum(&self, seen: &mut dyn FnMut(u64) -> Result<(), TextError>) -> Result<String, TextError> {
        let mut hash = Sha256::new();
        let (mut at, mut bytes) = (0, Vec::new());
        while at < self.count {
            let count = (self.count - at).min(CHUNK as u64) as usize;
            bytes.resize(2 * count, 0);
            self.read_bytes(at, &mut bytes)?;
            hash.update(&bytes);
            at += count as u64;
            seen(2 * at)?;
        }
        Ok(format!("{:x}", hash.finalize()))
    }

    /// Refuses tokens with another sum than `meta.json` has.
    pub(super) fn compare(&self, found: &str, known: &str) -> Result<(), TextError> {
        if found == known {
            return Ok(());
        }
        Err(TextError::Bad {
            path: self.path.clone(),
            expected: format!("the tokens of {}, with the SHA-256 {known}", Meta::FILE),
            found: format!("tokens with the SHA-256 {found}"),
            remedy: REMAKE_ADVICE,
        })
    }
}

/// Refuses a file whose tokens have four or eight bytes each, which nothing describes: as tokens of two bytes, every
/// second one would be the high part of a number, 0 or little more.
pub(super) fn refuse_wide(path: &Path) -> Result<(), TextError> {
    /// The number of bytes to read.
    const MOST: u64 = 1 << 14;
    /// The fewest tokens that are conclusive.
    const FEWEST: usize = 32;
    /// The largest high part of a token in vocabularies of up to 262,144 tokens.
    const LARGEST: u16 = 3;
    let (file, _) = open(path)?;
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes).map_err(TextError::at(path))?;
    let tokens: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    let are_small = |first: usize, step: usize| tokens.iter().skip(first).step_by(step).all(|token| *token <= LARGEST);
    if tokens.len() < FEWEST || !are_small(1, 2) {
        return Ok(());
    }
    let (found, remedy) = match are_small(2, 4) {
        true => ("eight", "convert GPT-2's with NumPy: np.fromfile(FILE, np.uint64).astype(np.uint16).tofile(FILE)"),
        false => ("four", "convert GPT-2's with NumPy: np.fromfile(FILE, np.uint32).astype(np.uint16).tofile(FILE)"),
    };
    let expected = "tokens of two bytes each".to_owned();
    let found = format!("tokens of {found} bytes, as every second number of two bytes is 0 or nearly");
    Err(TextError::Bad { path: path.to_owned(), expected, found, remedy })
}

fn open(path: &Path) -> Result<(File, u64), TextError> {
    let file = plain_file::open(path, Links::Followed).map_err(TextError::at(path))?;
    let bytes = file.metadata().map_err(TextError::at(path))?.len();
    let found = match bytes {
        0 => "an empty file".to_owned(),
        odd if odd % 2 == 1 => format!("{odd} bytes, an odd number"),
        even => return Ok((file, even / 2)),
    };
    let expected = "tokens of two bytes each".to_owned();
    Err(TextError::Bad { path: path.to_owned(), expected, found, remedy: REMAKE_ADVICE })
}

/// A record that a file of this length and time had this sum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CheckedFile {
    path: PathBuf,
    bytes: u64,
    /// The time of its last change: seconds since 1970, and nanoseconds.
    modified: (u64, u32),
    sha256: String,
}

impl CheckedFile {
    /// The longest record, in bytes.
    const LONGEST: u64 = 1 << 16;

    /// The record of a file in its current state.
    pub(super) fn of(path: &Path, sha256: &str) -> Result<CheckedFile, TextError> {
        let stamp = || {
            let found = fs::metadata(path)?;
            Ok((path.canonicalize()?, found.len(), found.modified()?))
        };
        let (path, bytes, modified) = stamp().map_err(TextError::at(path))?;
        let modified = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        let modified = (modified.as_secs(), modified.subsec_nanos());
        Ok(CheckedFile { path, bytes, modified, sha256: sha256.to_owned() })
    }

    pub(super) fn is_in(&self, folder: &Path) -> bool {
        let text = plain_file::read_text(&self.path_in(folder), Links::Refused, Self::LONGEST);
        text.is_ok_and(|text| serde_json::from_str(&text).is_ok_and(|known: CheckedFile| known == *self))
    }

    /// Writes the record into a folder. If that fails, the file is compared again the next time.
    pub(super) fn keep(&self, folder: &Path) {
        if let Ok(text) = serde_json::to_string(self) {
            let _ = fs::create_dir_all(folder).and_then(|()| write_plain_file(&self.path_in(folder), text.as_bytes()));
        }
    }

    fn path_in(&self, folder: &Path) -> PathBuf {
        let name = format!("{:x}", Sha256::digest(self.path.as_os_str().as_encoded_bytes()));
        folder.join(format!("checked-{}.json", &name[..16]))
    }
}
