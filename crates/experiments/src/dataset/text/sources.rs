//! Files of text: finding and reading them.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{fs, io};

use valleyscope_runs::plain_file::{self, Links};

use super::TextError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextFile {
    pub path: PathBuf,
    /// The name in `meta.json`: the file's name, or its path in the named folder.
    pub name: String,
}

const EXTENSION: &str = "txt";

/// The character at the start of a file that marks the order of its bytes. It is no part of the text.
pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';

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

/// Reads the text of a file, with its byte-order mark.
pub(super) fn read(path: &Path) -> Result<String, TextError> {
    let bytes = plain_file::read(path, Links::Followed, u64::MAX).map_err(TextError::at(path))?;
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to() as u64;
        TextError::NotUtf8 { path: path.to_owned(), offset }
    })
}
