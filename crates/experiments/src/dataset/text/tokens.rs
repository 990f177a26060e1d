//! Files of tokens: two bytes each, little-endian.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};
use valleyscope_runs::plain_file::{self, Links};

use super::error::REMAKE_ADVICE;
use super::{Meta, TextError};

/// Tokens in a file or in memory.
///
/// Files are read on demand, and stay in the system's cache. (A memory-mapped file that is truncated would end the
/// program by a signal.)
#[derive(Debug)]
pub(super) struct Tokens {
    storage: TokenStorage,
    path: PathBuf,
    count: u64,
}

#[derive(Debug)]
enum TokenStorage {
    File(Mutex<File>),
    Memory(Vec<u16>),
}

/// The largest number of tokens that are checked when a file is opened; in larger files tokens are checked as they are
/// read, and their sum once.
const CHECKED_AT_ONCE: u64 = 1 << 26;
const CHUNK: usize = 1 << 16;

impl Tokens {
    /// Opens a file of tokens, which must be smaller than `vocabulary`.
    pub(super) fn open(path: &Path, vocabulary: usize) -> Result<Tokens, TextError> {
        let (file, count) = open(path)?;
        let tokens = Tokens { storage: TokenStorage::File(Mutex::new(file)), path: path.to_owned(), count };
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

    /// Returns the tokens in memory, with the name of a file for errors.
    pub(super) fn in_memory(name: &str, tokens: Vec<u16>) -> Tokens {
        Tokens { path: name.into(), count: tokens.len() as u64, storage: TokenStorage::Memory(tokens) }
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Reads `count` tokens from the place `at` on, which must be smaller than `vocabulary`.
    pub(super) fn read(&self, at: u64, count: usize, vocabulary: usize) -> Result<Vec<u16>, TextError> {
        let tokens = match &self.storage {
            TokenStorage::Memory(tokens) => {
                let rest = tokens.get(usize::try_from(at).unwrap_or(usize::MAX)..).unwrap_or_default();
                rest.get(..count)
                    .ok_or_else(|| TextError::at(&self.path)(io::ErrorKind::UnexpectedEof.into()))?
                    .to_vec()
            }
            TokenStorage::File(file) => {
                let mut bytes = vec![0; 2 * count];
                read_at(file, 2 * at, &mut bytes).map_err(TextError::at(&self.path))?;
                bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect()
            }
        };
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

    /// Returns whether all tokens were checked when the file was opened.
    pub(super) fn is_checked(&self) -> bool {
        self.count <= CHECKED_AT_ONCE
    }

    /// Returns the SHA-256 of all tokens, in hexadecimal. `seen` receives the number of bytes so far; an error of it
    /// ends the reading.
    pub(super) fn sum(&self, seen: &mut dyn FnMut(u64) -> Result<(), TextError>) -> Result<String, TextError> {
        let mut hash = Sha256::new();
        let (mut at, mut bytes) = (0, Vec::new());
        while at < self.count {
            let count = (self.count - at).min(CHUNK as u64) as usize;
            match &self.storage {
                TokenStorage::Memory(tokens) => {
                    let tokens = &tokens[at as usize..at as usize + count];
                    bytes = tokens.iter().flat_map(|token| token.to_le_bytes()).collect();
                }
                TokenStorage::File(file) => {
                    bytes.resize(2 * count, 0);
                    read_at(file, 2 * at, &mut bytes).map_err(TextError::at(&self.path))?;
                }
            }
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

/// Returns the number of tokens of a file, by its length.
pub(super) fn count_in(path: &Path) -> Result<u64, TextError> {
    open(path).map(|(_, count)| count)
}

/// Refuses a file whose tokens have four or eight bytes each, which nothing describes: as tokens of two bytes, every
/// second one would be the high part of a number, 0 or little more.
pub(super) fn refuse_wide(path: &Path) -> Result<(), TextError> {
    /// Bytes that are read.
    const MOST: u64 = 1 << 14;
    /// The fewest tokens that show it.
    const FEWEST: usize = 32;
    /// The largest high part: of vocabularies of up to 262,144 tokens.
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

/// Opens a file of tokens, and returns its number of tokens.
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

fn read_at(file: &Mutex<File>, at: u64, bytes: &mut [u8]) -> io::Result<()> {
    let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(bytes)
}
