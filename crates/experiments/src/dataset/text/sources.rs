//! Files of text: finding them, and collecting the facts that tokenization needs.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{fs, io};

use sha2::{Digest, Sha256};
use valleyscope_runs::plain_file;
use valleyscope_runs::plain_file::Links;

use super::TextError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextFile {
    pub path: PathBuf,
    /// The name in `meta.json`: the file's name, or its path in the named folder.
    pub name: String,
}

const EXTENSION: &str = "txt";

/// The character at the start of a file that marks the order of its bytes. It is no part of the text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Reports which of the files begin with a byte-order mark, which is dropped; `None` if none does.
pub fn dropped_marks(files: &[TextFile]) -> Option<String> {
    let begins_with_mark = |file: &&TextFile| {
        let mut first = [0; BYTE_ORDER_MARK.len_utf8()];
        let opened = plain_file::open(&file.path, Links::Followed);
        opened.and_then(|mut file| file.read_exact(&mut first)).is_ok() && first == *"\u{feff}".as_bytes()
    };
    let mut marked = files.iter().filter(begins_with_mark);
    let first = marked.next()?.path.display();
    Some(match marked.count() {
        0 => format!("{first} begins with a byte-order mark, which is no text and is dropped"),
        others => format!("{first} and {others} more begin with a byte-order mark, which is no text and is dropped"),
    })
}

/// Finds the files at these paths, in their order: those that are named, and for a folder those in it and its
/// subfolders that end in `.txt`, sorted by name. Subfolders that are links, and hidden files, are skipped.
pub fn find(paths: &[PathBuf]) -> Result<Vec<TextFile>, TextError> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let before = files.len();
            list_texts(path, "", &mut files)?;
            if files.len() == before {
                return Err(TextError::NoTextFiles(path.clone()));
            }
        } else if path.exists() {
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
            files.push(TextFile { path: path.clone(), name });
        } else {
            return Err(TextError::NotThere(path.clone()));
        }
    }
    Ok(files)
}

fn list_texts(folder: &Path, prefix: &str, files: &mut Vec<TextFile>) -> Result<(), TextError> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut entries = entries.map_err(TextError::at(folder))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        let shown = format!("{prefix}{}", name.to_string_lossy());
        if name.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if entry.file_type().map_err(TextError::at(folder))?.is_dir() {
            list_texts(&path, &format!("{shown}/"), files)?;
        } else if path.extension().and_then(OsStr::to_str).is_some_and(|it| it.eq_ignore_ascii_case(EXTENSION)) {
            files.push(TextFile { path, name: shown });
        }
    }
    Ok(())
}

#[derive(Clone, Debug)]
pub(super) struct Scanned {
    pub bytes: u64,
    /// The byte at which the text begins: after a byte-order mark.
    pub start: u64,
    /// The number of characters from there.
    pub characters: u64,
    /// SHA-256 in hexadecimal.
    pub sha256: String,
}

pub(super) struct CharacterSet(Vec<bool>);

impl CharacterSet {
    pub(super) fn none() -> CharacterSet {
        CharacterSet(vec![false; char::MAX as usize + 1])
    }

    fn add(&mut self, text: &str) {
        for character in text.chars() {
            self.0[character as usize] = true;
        }
    }

    pub(super) fn characters(&self) -> Vec<char> {
        ('\0'..=char::MAX).filter(|&character| self.0[character as usize]).collect()
    }
}

/// Bytes read at once.
const CHUNK: usize = 1 << 18;

/// A file's text, part by part, each of whole characters.
pub(super) struct TextReader<'a> {
    path: &'a Path,
    file: File,
    /// The number of bytes before the buffer.
    before: u64,
    buffer: Vec<u8>,
    /// Bytes of the buffer that have been returned.
    used: usize,
}

impl<'a> TextReader<'a> {
    pub(super) fn open(path: &'a Path) -> Result<TextReader<'a>, TextError> {
        let file = plain_file::open(path, Links::Followed).map_err(TextError::at(path))?;
        Ok(TextReader { path, file, before: 0, buffer: Vec::new(), used: 0 })
    }

    /// Reads the next part; empty at the end.
    pub(super) fn next_part(&mut self) -> Result<&str, TextError> {
        self.buffer.drain(..self.used);
        self.before += self.used as u64;
        let limit = (CHUNK - self.buffer.len()) as u64;
        (&mut self.file).take(limit).read_to_end(&mut self.buffer).map_err(TextError::at(self.path))?;
        let is_end = self.buffer.len() < CHUNK;
        self.used = match std::str::from_utf8(&self.buffer) {
            Ok(text) => text.len(),
            // A character is cut at the end of the buffer; its rest follows.
            Err(error) if error.error_len().is_none() && !is_end => error.valid_up_to(),
            Err(error) => {
                let offset = self.before + error.valid_up_to() as u64;
                return Err(TextError::NotUtf8 { path: self.path.to_owned(), offset });
            }
        };
        Ok(std::str::from_utf8(&self.buffer[..self.used]).expect("it was looked at"))
    }
}

/// Reads a whole file. `seen` receives the number of bytes of each part; an error of it ends the reading.
pub(super) fn scan(
    path: &Path,
    mut occurring: Option<&mut CharacterSet>,
    seen: &mut dyn FnMut(u64) -> Result<(), TextError>,
) -> Result<Scanned, TextError> {
    let mut reader = TextReader::open(path)?;
    let mut hash = Sha256::new();
    let mut scanned = Scanned { bytes: 0, start: 0, characters: 0, sha256: String::new() };
    loop {
        let text = reader.next_part()?;
        if text.is_empty() {
            scanned.sha256 = format!("{:x}", hash.finalize());
            return Ok(scanned);
        }
        hash.update(text);
        let marked = text.strip_prefix(BYTE_ORDER_MARK).filter(|_| scanned.bytes == 0);
        let own = marked.unwrap_or(text);
        scanned.start += (text.len() - own.len()) as u64;
        scanned.bytes += text.len() as u64;
        scanned.characters += own.chars().count() as u64;
        if let Some(occurring) = &mut occurring {
            occurring.add(own);
        }
        seen(text.len() as u64)?;
    }
}

/// The byte at which a file's character of this number begins, counted from 0, with a byte-order mark.
pub(super) fn byte_of_character(path: &Path, mut number: u64) -> Result<u64, TextError> {
    let mut reader = TextReader::open(path)?;
    let mut bytes = 0;
    loop {
        let text = reader.next_part()?;
        if text.is_empty() {
            return Err(TextError::Changed(path.to_owned()));
        }
        if let Some((offset, _)) = usize::try_from(number).ok().and_then(|number| text.char_indices().nth(number)) {
            return Ok(bytes + offset as u64);
        }
        number -= text.chars().count() as u64;
        bytes += text.len() as u64;
    }
}
