//! Tokens from wherever they can be had.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use directories::ProjectDirs;

use super::job::VALIDATION_FRACTION;
use super::prepare::{Preparation, Progress, Stage};
use super::tokenizer::Alphabet;
use super::{Corpus, GENERATED, Meta, Origin, Split, TextError, TextFile, Tokenizer, find, stand_in};
use crate::dataset::FOLDER_VARIABLE;
use crate::quantity::ValidationFraction;
use crate::workload::{DataChoice, TokenizerKind};

/// What a training needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub tokenizer: TokenizerKind,
    /// Tokens of a sequence.
    pub context: usize,
}

/// Where is looked for text, and where tokens are kept.
#[derive(Clone, Debug)]
pub struct Sources {
    /// For the tokens of text.
    pub cache: Option<PathBuf>,
    /// A folder to look in where no folder is named.
    pub folder: Option<PathBuf>,
}

/// Subfolders of the folder that the variable names, the better ones first.
const PLACES: [&str; 2] = ["openwebtext", "tinyshakespeare"];
const BETWEEN_LINES: Duration = Duration::from_secs(2);

impl Sources {
    /// The user's cache, and the folder that `VALLEYSCOPE_DATA` names.
    pub fn of_this_machine() -> Sources {
        let folder = std::env::var_os(FOLDER_VARIABLE).filter(|folder| !folder.is_empty());
        Sources { cache: cache_folder().ok(), folder: folder.map(PathBuf::from) }
    }
}

/// Where the tokens of text are kept: `valleyscope/text` in the user's folder for caches.
pub fn cache_folder() -> Result<PathBuf, TextError> {
    let project = ProjectDirs::from("", "", "valleyscope").ok_or(TextError::NoCache)?;
    Ok(project.cache_dir().join("text"))
}

/// The corpus that a preset asks for, and what its user had better know about it.
///
/// A folder has `train.bin` and `val.bin`, or files ending in `.txt`, which are tokenized into the cache; the path of
/// one text file does too. `say` is told in a line from time to time what long work is being done.
pub fn obtain(
    choice: &DataChoice,
    wanted: Wanted,
    sources: &Sources,
    say: &mut dyn FnMut(&str),
    cancelled: &dyn Fn() -> bool,
) -> Result<(Corpus, Vec<String>), TextError> {
    let mut warnings = Vec::new();
    let mut lines = Lines { say, last: None };
    let mut search = Search { wanted, sources, lines: &mut lines, cancelled, warnings: &mut warnings };
    let corpus = match choice {
        DataChoice::Automatic => search.automatic()?,
        DataChoice::Folder(folder) => search.at(folder.as_ref())?,
        DataChoice::StandIn => generated(wanted)?,
    };
    Ok((corpus, warnings))
}

struct Search<'a, 'b> {
    wanted: Wanted,
    sources: &'a Sources,
    lines: &'a mut Lines<'b>,
    cancelled: &'a dyn Fn() -> bool,
    warnings: &'a mut Vec<String>,
}

impl Search<'_, '_> {
    fn automatic(&mut self) -> Result<Corpus, TextError> {
        let reason = match &self.sources.folder {
            None => format!("{FOLDER_VARIABLE} names no folder, nor does the preset"),
            Some(folder) => {
                // The folder itself may have text of all kinds in its subfolders.
                let places = PLACES.map(|place| folder.join(place)).into_iter().filter(|place| place.is_dir());
                let itself = Some(folder.clone()).filter(|folder| holds_tokens(folder));
                for place in itself.into_iter().chain(places) {
                    match self.at(&place) {
                        Err(error @ TextError::OtherTokenizer { .. }) => self.warnings.push(error.to_string()),
                        Err(error) if error.is_absence() => {}
                        outcome => return outcome,
                    }
                }
                format!("{FOLDER_VARIABLE}: {}", TextError::NoText(folder.clone()))
            }
        };
        self.warnings.push(format!("no text was found, and {GENERATED} takes its place: {reason}"));
        generated(self.wanted)
    }

    /// The corpus in a folder, or in a file of text.
    fn at(&mut self, path: &Path) -> Result<Corpus, TextError> {
        if !holds_tokens(path) {
            return self.tokenized(path, &text_at(path)?);
        }
        let corpus = Corpus::open(path, self.wanted.context)?;
        let found = corpus.tokenizer.kind();
        if found == self.wanted.tokenizer {
            if !path.join(Meta::FILE).exists() {
                let path = path.display();
                self.warnings.push(format!("{path}: there is no {}, so the tokens are taken for GPT-2's", Meta::FILE));
            }
            return Ok(corpus);
        }
        match text_at(path) {
            Ok(files) => self.tokenized(path, &files),
            Err(_) => {
                let (folder, wanted) = (path.to_owned(), self.wanted.tokenizer);
                Err(TextError::OtherTokenizer { folder, wanted, found })
            }
        }
    }

    /// The tokens of text, from the cache, where they are put first if they are not there.
    fn tokenized(&mut self, path: &Path, files: &[TextFile]) -> Result<Corpus, TextError> {
        let cache = self.sources.cache.as_ref().ok_or(TextError::NoCache)?;
        let fraction = ValidationFraction::clamped(VALIDATION_FRACTION);
        let preparation = Preparation { files, tokenizer: self.wanted.tokenizer, fraction, replace: true };
        let job = preparation.read(&mut |at| self.lines.at(at), self.cancelled)?;
        let folder = cache.join(format!("{}-{}", self.wanted.tokenizer.name(), &job.plan.sum()[..16]));
        preparation.make_of(&job, &folder, &mut |at| self.lines.at(at), self.cancelled)?;
        let mut corpus = Corpus::open(&folder, self.wanted.context)?;
        corpus.origin = Origin::Text(path.to_owned());
        Ok(corpus)
    }
}

/// Refuses a path at which there are neither tokens nor text.
pub fn look_in(path: &Path) -> Result<(), TextError> {
    if holds_tokens(path) { Ok(()) } else { text_at(path).map(drop) }
}

/// The files of text at a path where there might be tokens too.
fn text_at(path: &Path) -> Result<Vec<TextFile>, TextError> {
    find(&[path.to_owned()]).map_err(|error| match error {
        TextError::NoTextFiles(folder) => TextError::NoText(folder),
        other => other,
    })
}

fn holds_tokens(folder: &Path) -> bool {
    Split::ALL.iter().any(|split| folder.join(split.file_name()).exists())
}

/// The stand-in as a corpus.
fn generated(wanted: Wanted) -> Result<Corpus, TextError> {
    let text = stand_in();
    let tokenizer = match wanted.tokenizer {
        TokenizerKind::Gpt2 => Tokenizer::Gpt2,
        TokenizerKind::Char => Tokenizer::Characters(Alphabet::of(&text)),
    };
    // It is all ASCII.
    let border = (text.len() as f64 * (1.0 - VALIDATION_FRACTION)) as usize;
    let (train, val) = text.split_at(border);
    Corpus::in_memory(
        Origin::StandIn,
        tokenizer.clone(),
        [tokenizer.encode(train)?, tokenizer.encode(val)?],
        wanted.context,
    )
}

/// Progress in lines, not too many.
struct Lines<'a> {
    say: &'a mut dyn FnMut(&str),
    last: Option<Instant>,
}

impl Lines<'_> {
    fn at(&mut self, Progress { stage, done, total, .. }: Progress) {
        if done < total && self.last.is_none_or(|last| last.elapsed() >= BETWEEN_LINES) {
            self.last = Some(Instant::now());
            let [done, total] = [done, total].map(|bytes| bytes as f64 / 1e6);
            let doing = match stage {
                Stage::Reading => "reading text",
                Stage::Tokenizing => "tokenizing text",
            };
            (self.say)(&format!("{doing}: {done:.1} of {total:.1} MB"));
        }
    }
}
