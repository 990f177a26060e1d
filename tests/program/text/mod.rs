//! Text as tokens: tokenizers, the files of tokens, reading them, and finding them.

mod corpus;
mod obtain;
mod prepare;
mod with_data;

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use valleyscope_engine::quantity::ValidationFraction;
use valleyscope_experiments::dataset::text::TokenizerKind;
use valleyscope_experiments::dataset::text::{
    Meta, Preparation, PreparationProgress, Stage, TextError, TextFile, find, synthetic_text,
};

/// A text of some million characters.
static TEXT: LazyLock<String> = LazyLock::new(synthetic_text);

fn put(folder: &Path, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

/// Makes the tokens of paths, a tenth for validation, without replacing others.
fn make(paths: &[PathBuf], kind: TokenizerKind, folder: &Path) -> Result<Meta, TextError> {
    let files = find(paths)?;
    preparation(&files, kind).make(folder, &mut |_| (), &|| false)
}

/// Makes the tokens of paths until the first blocks are tokenized. If those are all, only the files' names are missing.
fn make_some(paths: &[PathBuf], kind: TokenizerKind, folder: &Path) -> Result<Meta, TextError> {
    let files = find(paths)?;
    let is_tokenizing = Cell::new(false);
    let mut progress = |at: PreparationProgress| is_tokenizing.set(at.stage == Stage::Tokenizing);
    preparation(&files, kind).make(folder, &mut progress, &|| is_tokenizing.get())
}

fn preparation(files: &[TextFile], tokenizer: TokenizerKind) -> Preparation<'_> {
    Preparation { files, tokenizer, fraction: ValidationFraction::clamped(0.1), replace: false }
}

fn tokens(path: &Path) -> Vec<u16> {
    fs::read(path).unwrap().chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect()
}

fn results(folder: &Path) -> [Vec<u8>; 3] {
    ["train.bin", "val.bin", "meta.json"].map(|name| fs::read(folder.join(name)).unwrap())
}
