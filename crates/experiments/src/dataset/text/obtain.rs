//! Obtaining tokens from a folder, the cache or text.

use std::path::{Path, PathBuf};

use valleyscope_engine::quantity::ValidationFraction;

use super::job::VALIDATION_FRACTION;
use super::plan::{PreparationProgress, Stage};
use super::prepare::Preparation;
use super::tokenizer::Alphabet;
use super::{
    Corpus, GENERATED, Meta, Split, TextError, TextFile, TextSource, Tokenizer, TokenizerKind, dropped_marks, find,
    synthetic_text,
};
use crate::dataset::sparse_lines::SparseLines;
use crate::dataset::{DataChoice, FOLDER_VARIABLE, cache_folder, named_folder};

/// The requirements of a training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextNeeds {
    pub tokenizer: TokenizerKind,
    /// The number of tokens of a sequence.
    pub context: usize,
}

/// The places of text, and of the tokens made from it.
#[derive(Clone, Debug)]
pub struct TextSources {
    /// The folder for the tokens of text.
    pub cache: Option<PathBuf>,
    /// The folder to search where no folder is named.
    pub folder: Option<PathBuf>,
}

/// Subfolders of the folder that the variable names, the preferred ones first.
const PLACES: [&str; 2] = ["openwebtext", "tinyshakespeare"];

impl TextSources {
    /// Returns `valleyscope/text` in the user's cache folder, and the folder that `VALLEYSCOPE_DATA` names.
    pub fn of_this_machine() -> TextSources {
        TextSources { cache: cache_folder("text"), folder: named_folder() }
    }
}

/// Returns the corpus that a preset requests, with warnings about it.
///
/// A folder has `train.bin` and `val.bin`, or files ending in `.txt`, which are tokenized into the cache; the path of
/// one text file does too. `say` receives a line from time to time about long work.
pub fn obtain(
    choice: &DataChoice,
    wanted: TextNeeds,
    sources: &TextSources,
    say: &mut dyn FnMut(&str),
    cancelled: &dyn Fn() -> bool,
) -> Result<(Corpus, Vec<String>), TextError> {
    let (found, warnings) = search(choice, wanted, sources)?;
    let corpus = match found {
        CorpusSource::Tokens(folder, _) => {
            let corpus = Corpus::open(&folder, wanted.context)?;
            let mut lines = SparseLines::new(say);
            corpus.check_large(&folder, sources.cache.as_deref(), &mut |done, total| {
                lines.at("comparing tokens with meta.json", done, total);
                if cancelled() { Err(TextError::Cancelled) } else { Ok(()) }
            })?;
            corpus
        }
        CorpusSource::Text(path, files) => {
            if let Some(dropped) = dropped_marks(&files) {
                say(&dropped);
            }
            let mut lines = SparseLines::new(say);
            tokenized(
                path,
                &files,
                wanted,
                sources,
                &mut |PreparationProgress { stage, done, total, .. }| match stage {
                    Stage::Reading => lines.at("reading text", done, total),
                    Stage::Restarting => lines.once(Stage::RESTARTING),
                    Stage::Tokenizing => lines.at("tokenizing text", done, total),
                },
                cancelled,
            )?
        }
        CorpusSource::Nothing => generated(wanted)?,
    };
    Ok((corpus, warnings))
}

/// The outcome of [`obtain`], as far as can be determined without reading text or tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextOutlook {
    pub source: TextSource,
    /// The number of distinct tokens, unless that depends on the text.
    pub vocabulary: Option<usize>,
    pub warnings: Vec<String>,
}

/// Returns the outcome of [`obtain`].
///
/// # Errors
///
/// Returns an error where the names and lengths of files and `meta.json` show that [`obtain`] would fail.
pub fn look(choice: &DataChoice, wanted: TextNeeds, sources: &TextSources) -> Result<TextOutlook, TextError> {
    let (found, warnings) = search(choice, wanted, sources)?;
    let of_text = (wanted.tokenizer == TokenizerKind::Gpt2).then(|| Tokenizer::Gpt2.vocabulary_size());
    let (source, vocabulary) = match found {
        CorpusSource::Tokens(folder, tokenizer) => (TextSource::Tokens(folder), Some(tokenizer.vocabulary_size())),
        CorpusSource::Text(path, _) => (TextSource::Text(path), of_text),
        CorpusSource::Nothing => (TextSource::Synthetic, of_text),
    };
    Ok(TextOutlook { source, vocabulary, warnings })
}

/// The source of a corpus.
enum CorpusSource {
    /// A folder of tokens.
    Tokens(PathBuf, Tokenizer),
    /// Files of text, at this path.
    Text(PathBuf, Vec<TextFile>),
    /// Synthetic text, where nothing is found or searched.
    Nothing,
}

fn search(
    choice: &DataChoice,
    wanted: TextNeeds,
    sources: &TextSources,
) -> Result<(CorpusSource, Vec<String>), TextError> {
    let mut warnings = Vec::new();
    let found = match choice {
        DataChoice::Automatic => automatic(wanted, sources.folder.as_deref(), &mut warnings)?,
        DataChoice::Folder(folder) => at(folder.as_ref(), wanted, &mut warnings)?,
        DataChoice::Synthetic => CorpusSource::Nothing,
    };
    Ok((found, warnings))
}

fn automatic(wanted: TextNeeds, folder: Option<&Path>, warnings: &mut Vec<String>) -> Result<CorpusSource, TextError> {
    let reason = match folder {
        None => format!("{FOLDER_VARIABLE} names no folder, nor does the preset"),
        Some(folder) => {
            // Only these subfolders are searched, as others may have text of all kinds.
            let places = PLACES.map(|place| folder.join(place)).into_iter().filter(|place| place.is_dir());
            let itself = Some(folder.to_owned()).filter(|folder| holds_tokens(folder));
            for place in itself.into_iter().chain(places) {
                match at(&place, wanted, warnings) {
                    Err(error @ TextError::OtherTokenizer { .. }) => warnings.push(error.to_string()),
                    Err(error) if error.is_absence() => {}
                    outcome => return outcome,
                }
            }
            format!("{FOLDER_VARIABLE}: {}", TextError::NoText(folder.to_owned()))
        }
    };
    warnings.push(format!("no text was found, and {GENERATED} takes its place: {reason}"));
    Ok(CorpusSource::Nothing)
}

/// Returns the tokens in a folder, or the text at a path.
fn at(path: &Path, wanted: TextNeeds, warnings: &mut Vec<String>) -> Result<CorpusSource, TextError> {
    if !holds_tokens(path) {
        return text(path, text_at(path)?, wanted);
    }
    let tokenizer = Corpus::check(path, wanted.context)?;
    let found = tokenizer.kind();
    if found == wanted.tokenizer {
        if !path.join(Meta::FILE).exists() {
            let path = path.display();
            warnings.push(format!("{path}: there is no {}, so the tokens are taken for GPT-2's", Meta::FILE));
        }
        return Ok(CorpusSource::Tokens(path.to_owned(), tokenizer));
    }
    match text_at(path) {
        Ok(files) => text(path, files, wanted),
        Err(_) => {
            let (folder, wanted) = (path.to_owned(), wanted.tokenizer);
            Err(TextError::OtherTokenizer { folder, wanted, found })
        }
    }
}

/// Returns the files of text at a path where there might be tokens too.
fn text_at(path: &Path) -> Result<Vec<TextFile>, TextError> {
    find(&[path.to_owned()]).map_err(|error| match error {
        TextError::NoTextFiles(folder) => TextError::NoText(folder),
        other => other,
    })
}

/// Refuses files that are too short for one sequence for training and one for validation: no token is shorter than a
/// byte.
fn text(path: &Path, files: Vec<TextFile>, wanted: TextNeeds) -> Result<CorpusSource, TextError> {
    let lengths =
        files.iter().map(|file| file.path.metadata().map(|data| data.len()).map_err(TextError::at(&file.path)));
    let (bytes, least) = (lengths.sum::<Result<u64, TextError>>()?, 2 * (wanted.context as u64 + 1));
    if bytes < least {
        return Err(TextError::Bad {
            path: path.to_owned(),
            expected: format!("at least {least} bytes of text, for sequences of {} tokens", wanted.context),
            found: bytes.to_string(),
            remedy: "take more text, or a shorter context",
        });
    }
    Ok(CorpusSource::Text(path.to_owned(), files))
}

/// Returns the tokens of text, from the cache, where they are made first if missing.
fn tokenized(
    path: PathBuf,
    files: &[TextFile],
    wanted: TextNeeds,
    sources: &TextSources,
    seen: &mut dyn FnMut(PreparationProgress),
    cancelled: &dyn Fn() -> bool,
) -> Result<Corpus, TextError> {
    let cache = sources.cache.as_ref().ok_or(TextError::NoCache)?;
    let fraction = ValidationFraction::clamped(VALIDATION_FRACTION);
    let preparation = Preparation { files, tokenizer: wanted.tokenizer, fraction, replace: true };
    let job = preparation.read(seen, cancelled)?;
    let folder = cache.join(format!("{}-{}", wanted.tokenizer.name(), &job.plan.sum()[..16]));
    preparation.make_of(&job, &folder, seen, cancelled)?;
    let mut corpus = Corpus::open(&folder, wanted.context)?;
    corpus.source = TextSource::Text(path);
    Ok(corpus)
}

fn holds_tokens(folder: &Path) -> bool {
    Split::ALL.iter().any(|split| folder.join(split.file_name()).exists())
}

/// Returns the synthetic text as a corpus.
fn generated(wanted: TextNeeds) -> Result<Corpus, TextError> {
    let text = synthetic_text();
    let tokenizer = match wanted.tokenizer {
        TokenizerKind::Gpt2 => Tokenizer::Gpt2,
        TokenizerKind::Char => Tokenizer::Characters(Alphabet::of(&text)),
    };
    // The text is ASCII, so any byte is a border.
    let border = (text.len() as f64 * (1.0 - VALIDATION_FRACTION)) as usize;
    let (train, val) = text.split_at(border);
    Corpus::in_memory(
        TextSource::Synthetic,
        tokenizer.clone(),
        [tokenizer.encode(train)?, tokenizer.encode(val)?],
        wanted.context,
    )
}
