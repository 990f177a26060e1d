//! OpenWebText (Gokaslan and Cohen 2019, <https://skylion007.github.io/OpenWebTextCorpus/>): eight million pages of the
//! web, as tokens.
//!
//! It is published as *packs*: tar archives of some hundred text files each, compressed with xz. The packs are files of
//! a folder, or members of tar archives.
//!
//! The archive is unpacked on the fly: the outer tar is read for the positions of its packs, and each pack is unpacked
//! and tokenized by one thread. Whether a document is for validation depends on the name of its pack and its index in
//! the pack, so it does not depend on the files that contain the packs.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lzma_rust2::XzReader;
use rand::Rng;
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use valleyscope_engine::quantity::ValidationFraction;
use valleyscope_engine::random::{Key, Stream};
use valleyscope_runs::plain_file::{self, Links};

use super::output::{self, ResumeState, TokenBatch, TokenPlan};
use super::prepare::BLOCKS_PER_THREAD;
use super::{END_OF_TEXT, Meta, PreparationProgress, SourceFile, Split, Stage, TextError, Tokenizer, tokenizer};
use crate::dataset::download::DownloadFile;

/// The archive of all packs. Contrary to its name, only the packs in it are compressed.
pub const ARCHIVE: DownloadFile<'static> = DownloadFile {
    name: "openwebtext.tar.xz",
    bytes: 12_880_189_440,
    sha256: "9fe39d154c5bc67da8c359415372b79510eb1e2edb0d035fe4f7fc3a732b9336",
};

/// The default fraction of documents for validation, as in nanoGPT.
pub const VALIDATION_FRACTION: f64 = 0.0005;

/// The key of the choice of documents for validation.
const SEED: u64 = 2357;
/// Upper limits of the bytes of an unpacked pack, of one of its documents, and, in KiB, of memory for unpacking it.
const LONGEST_PACK: u64 = 1 << 30;
const LONGEST_DOCUMENT: u64 = 64 << 20;
const MOST_MEMORY: u32 = 256 << 10;

pub fn mirrors() -> Vec<String> {
    vec!["https://zenodo.org/records/3834942/files".to_owned(), "https://zenodo.org/record/3834942/files".to_owned()]
}

/// Tokens to be made of packs.
#[derive(Clone, Copy, Debug)]
pub struct WebText<'a> {
    /// A folder with packs, or with tar archives of packs.
    pub folder: &'a Path,
    /// The fraction of documents for validation, drawn for each by the name of its pack and its index in the pack.
    pub fraction: ValidationFraction,
    /// Whether existing other tokens may be replaced.
    pub replace: bool,
}

/// A tar archive of documents, compressed with xz, in a file.
struct Pack {
    name: String,
    path: PathBuf,
    start: u64,
    length: u64,
}

impl WebText<'_> {
    /// Makes the tokens as [`super::Preparation::make`] does. Packs are taken in the order of their names, and each
    /// document ends with the end-of-text token.
    pub fn make(
        &self,
        out: &Path,
        progress: &mut dyn FnMut(PreparationProgress),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Meta, TextError> {
        let files = find(self.folder)?;
        let packs = packs(self.folder, &files)?;
        let stamps: Vec<_> = files.iter().map(|path| stamp(path)).collect();
        let sources = sums(&files, progress, cancelled)?;
        let parts = packs.iter().map(|pack| pack.start..pack.start + pack.length).collect();
        let plan = TokenPlan { tokenizer: Tokenizer::Gpt2, fraction: self.fraction, sources, parts };
        output::make(out, &plan, self.replace, progress, cancelled, |state| {
            let batch = self.batch(&packs, state);
            // A pack that is being written usually looks damaged, so files are compared first.
            match files.iter().zip(&stamps).find(|(path, before)| stamp(path) != **before) {
                Some((path, _)) => Err(TextError::Changed(path.clone())),
                None => batch,
            }
        })
    }

    /// Makes the tokens of the next packs; none at the end.
    fn batch(&self, packs: &[Pack], state: &ResumeState) -> Result<Option<TokenBatch>, TextError> {
        let end = packs.len().min(state.part + BLOCKS_PER_THREAD * rayon::current_num_threads());
        if state.part == end {
            return Ok(None);
        }
        let tokenized = packs[state.part..end].par_iter().map(|pack| tokens(pack, self.fraction));
        let tokenized = tokenized.collect::<Result<Vec<_>, TextError>>()?.into_iter();
        let tokens = tokenized.flat_map(|tokens| Split::ALL.into_iter().zip(tokens)).collect();
        Ok(Some(TokenBatch { tokens, part: end, at: packs.get(end).map_or(0, |pack| pack.start) }))
    }
}

/// Reads the length and the time of the last change of a file. Sums cannot be used, as packs are not read in the order of
/// the files' bytes.
fn stamp(path: &Path) -> Option<(u64, SystemTime)> {
    let found = path.metadata().ok()?;
    Some((found.len(), found.modified().ok()?))
}

/// Finds the files that can be packs or archives of them, in a folder and in the subfolders into which archives are
/// unpacked.
fn find(folder: &Path) -> Result<Vec<PathBuf>, TextError> {
    let mut files = Vec::new();
    for path in ["", "openwebtext", "subsets"].map(|subfolder| folder.join(subfolder)) {
        let Ok(entries) = fs::read_dir(&path) else { continue };
        for entry in entries {
            let path = entry.map_err(TextError::at(&path))?.path();
            if path.extension().is_some_and(|extension| extension == "tar" || extension == "xz") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn packs(folder: &Path, files: &[PathBuf]) -> Result<Vec<Pack>, TextError> {
    let mut packs = Vec::new();
    for path in files {
        list_packs(path, &mut packs).map_err(TextError::at(path))?;
    }
    packs.sort_by(|a, b| a.name.cmp(&b.name));
    let names: HashSet<&str> = packs.iter().map(|pack| pack.name.as_str()).collect();
    let found = match packs.len() {
        0 => "none",
        count if count > names.len() => "some of them twice",
        _ => return Ok(packs),
    };
    Err(TextError::Bad {
        path: folder.to_owned(),
        expected:
            "the packs of OpenWebText (urlsf_subset….xz), each once, as files or in files ending in .tar or .tar.xz"
                .to_owned(),
        found: found.to_owned(),
        remedy: "name the folder that holds them, or have them downloaded",
    })
}

fn list_packs(path: &Path, packs: &mut Vec<Pack>) -> io::Result<()> {
    const XZ: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];
    let mut file = plain_file::open(path, Links::Followed)?;
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut magic = Vec::new();
    (&mut file).take(XZ.len() as u64).read_to_end(&mut magic)?;
    if magic == XZ {
        let length = file.metadata()?.len();
        packs.push(Pack { name: name(path), path: path.to_owned(), start: 0, length });
        return Ok(());
    }
    file.rewind()?;
    for entry in tar::Archive::new(file).entries_with_seek()? {
        let entry = entry?;
        let inner = entry.path()?;
        if entry.header().entry_type().is_file() && inner.extension().is_some_and(|extension| extension == "xz") {
            let (start, length) = (entry.raw_file_position(), entry.size());
            packs.push(Pack { name: name(&inner), path: path.to_owned(), start, length });
        }
    }
    Ok(())
}

fn sums(
    files: &[PathBuf],
    progress: &mut dyn FnMut(PreparationProgress),
    cancelled: &dyn Fn() -> bool,
) -> Result<Vec<SourceFile>, TextError> {
    let total = files.iter().map(|path| path.metadata().map_or(0, |found| found.len())).sum();
    let mut done = 0;
    let mut sum = |path: &PathBuf| {
        let mut file = plain_file::open(path, Links::Followed).map_err(TextError::at(path))?;
        let mut hash = Sha256::new();
        let mut buffer = vec![0; 1 << 20];
        let mut bytes = 0;
        loop {
            let count = file.read(&mut buffer).map_err(TextError::at(path))?;
            if count == 0 {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                return Ok(SourceFile { name, bytes, sha256: format!("{:x}", hash.finalize()) });
            }
            hash.update(&buffer[..count]);
            (bytes, done) = (bytes + count as u64, done + count as u64);
            progress(PreparationProgress { stage: Stage::Reading, done, total, tokens: 0 });
            if cancelled() {
                return Err(TextError::Cancelled);
            }
        }
    };
    files.iter().map(&mut sum).collect()
}

/// Encodes the tokens of a pack as files have them, in the order of [`Split::ALL`].
fn tokens(pack: &Pack, fraction: ValidationFraction) -> Result<[Vec<u8>; 2], TextError> {
    let failed = |found: String| TextError::Bad {
        path: pack.path.clone(),
        expected: "a pack of documents, a tar archive compressed with xz".to_owned(),
        found: format!("in {}: {found}", pack.name),
        remedy: "get that file anew",
    };
    let key = Key::new(SEED).at(number_of(&pack.name));
    let most = (fraction.get() * (u64::MAX as f64)) as u64;
    let mut tokens = [const { Vec::new() }; 2];
    let mut index = 0;
    let mut add = |document: &str| {
        let text = cleaned(document);
        if !text.is_empty() {
            let is_drawn = Stream::new(key.at(index)).next_u64() < most;
            let split = if is_drawn { Split::Validation } else { Split::Train };
            let all = tokenizer::encode(&text).into_iter().chain([END_OF_TEXT]);
            tokens[split.index()].extend(all.flat_map(u16::to_le_bytes));
        }
        index += 1;
    };
    unpack(pack, &mut add).map_err(|error| failed(error.to_string()))?;
    Ok(tokens)
}

fn number_of(name: &str) -> u64 {
    let sum = Sha256::digest(name);
    u64::from_le_bytes(std::array::from_fn(|index| sum[index]))
}

fn unpack(pack: &Pack, take: &mut dyn FnMut(&str)) -> io::Result<()> {
    let mut file: File = plain_file::open(&pack.path, Links::Followed)?;
    file.seek(SeekFrom::Start(pack.start))?;
    let unpacked = XzReader::new_mem_limit(BufReader::new(file.take(pack.length)), true, MOST_MEMORY);
    let mut archive = tar::Archive::new(unpacked.take(LONGEST_PACK + 1));
    let mut document = Vec::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        document.clear();
        if (&mut entry).take(LONGEST_DOCUMENT + 1).read_to_end(&mut document)? as u64 > LONGEST_DOCUMENT {
            return Err(io::Error::other(format!("a document of more than {} MB", LONGEST_DOCUMENT >> 20)));
        }
        let text = std::str::from_utf8(&document).map_err(|error| {
            let name = entry.path().map(|path| path.display().to_string()).unwrap_or_default();
            io::Error::other(format!("{name} is not UTF-8 at byte {}", error.valid_up_to()))
        })?;
        take(text);
    }
    // The checksum follows the end of the archive.
    let mut rest = archive.into_inner();
    io::copy(&mut rest, &mut io::sink())?;
    if rest.limit() == 0 {
        return Err(io::Error::other(format!("a pack of more than {} MB unpacked", LONGEST_PACK >> 20)));
    }
    Ok(())
}

/// Normalizes the text of a document to its form at Hugging Face, which nanoGPT uses: at most one line is empty between
/// others, and none at both ends.
fn cleaned(document: &str) -> String {
    let mut text = String::with_capacity(document.len());
    let mut line_feeds = 0;
    for character in document.trim().chars() {
        line_feeds = if character == '\n' { line_feeds + 1 } else { 0 };
        if line_feeds <= 2 {
            text.push(character);
        }
    }
    text
}
