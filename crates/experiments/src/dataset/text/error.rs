use std::io;
use std::path::{Path, PathBuf};

use super::TokenizerKind;

/// The reason why tokens cannot be obtained or made.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    #[error("there is nothing at {}; name text files, or folders that hold files ending in .txt", .0.display())]
    NotThere(PathBuf),
    #[error(
        "expected train.bin and val.bin, or files ending in .txt, in {}, found neither; name the folder that holds \
         them, or the text files themselves", .0.display()
    )]
    NoText(PathBuf),
    #[error(
        "expected files ending in .txt in {}, found none; name a folder that holds some, or the text files themselves",
        .0.display()
    )]
    NoTextFiles(PathBuf),
    #[error("expected a folder for the tokens, or nothing, at {}, found a file there or in its path; name another", .0.display())]
    NoFolder(PathBuf),
    #[error("cannot use {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: expected UTF-8 text, found another byte at byte {offset}; convert the file, or leave it out", path.display())]
    NotUtf8 { path: PathBuf, offset: u64 },
    #[error("{}: expected {expected}, found {found}; {remedy}", path.display())]
    Bad { path: PathBuf, expected: String, found: String, remedy: &'static str },
    #[error("expected {expected}, found {found}; {remedy}")]
    Unusable { expected: String, found: String, remedy: &'static str },
    #[error(
        "{} is there already, and nothing is overwritten; choose another folder, or replace what is there with --force",
        .0.display()
    )]
    Full(PathBuf),
    #[error(
        "{} holds the unfinished tokens of other text or settings; repeat that command to go on with them, choose another \
         folder, or begin anew with --force", .0.display()
    )]
    OtherJob(PathBuf),
    #[error("{} was changed while it was read, and its tokens are given up; try again when nothing writes it", .0.display())]
    Changed(PathBuf),
    #[error(
        "{}: expected tokens of `{}`, found those of `{}`; make others from the text by `valleyscope data text \
         --tokenizer {}`", folder.display(), wanted.name(), found.name(), wanted.name()
    )]
    OtherTokenizer { folder: PathBuf, wanted: TokenizerKind, found: TokenizerKind },
    #[error("the character {0:?} is not in the text that the model learns from; leave it out")]
    UnknownCharacter(char),
    #[error("there is no home folder to keep tokens in; set HOME, or make the tokens by `valleyscope data text`")]
    NoCache,
    #[error("the work on the text was cancelled; trying again resumes it")]
    Cancelled,
}

/// Advice for tokens that cannot be used.
pub(super) const REMAKE_ADVICE: &str = "make the tokens anew by `valleyscope data text`";

impl TextError {
    /// Returns the conversion of an error of reading or writing a path.
    pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> TextError {
        |source| TextError::File { path: path.to_owned(), source }
    }

    /// Returns whether the text was not found, as opposed to being wrong.
    pub fn is_absence(&self) -> bool {
        matches!(self, TextError::NotThere(_) | TextError::NoText(_))
    }
}
