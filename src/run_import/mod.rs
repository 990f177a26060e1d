//! Runs from elsewhere, imported into a folder of runs: TensorBoard's event files, tables as CSV, and folders of runs of
//! this program from another place.

mod copy;
mod scalars;
mod table;

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use valleyscope_runs::{FolderError, RunFolder};

use self::copy::copy_run;
use self::scalars::make_run;
use self::table::read_table;
use crate::tensorboard::{ReadError, event_files, is_event_file, read_folder};

/// The deepest folder below the named one in which runs are looked for.
const DEEPEST: usize = 8;
/// The largest number of runs that are imported at once.
const MOST: usize = 10_000;

/// The result of importing a folder or a file.
#[derive(Debug)]
pub struct Imported {
    pub from: PathBuf,
    pub outcome: Outcome,
}

/// The outcome for a folder or a file that holds a run.
#[derive(Debug)]
pub enum Outcome {
    /// A run was written; with what was read, and what could not be read of it.
    Made { run: RunFolder, what: String, damage: Vec<String> },
    /// Nothing was written, for this reason.
    LeftOut(String),
}

/// Why nothing can be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("cannot read {}: {source}", path.display())]
    Look { path: PathBuf, source: io::Error },
    #[error(
        "expected runs in {}, and it has none: neither event files of TensorBoard, whose names contain `tfevents`, nor \
         tables whose names end in `.csv`, nor folders of runs",
        .0.display()
    )]
    Nothing(PathBuf),
    #[error("{} holds more than {MOST} runs; name a folder in it", .0.display())]
    TooMany(PathBuf),
}

/// Why one run cannot be imported.
#[derive(Debug, thiserror::Error)]
enum RunError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Events(#[from] ReadError),
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{0}")]
    Unfit(String),
}

impl fmt::Display for Imported {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = self.from.display();
        match &self.outcome {
            Outcome::Made { run, what, .. } => write!(text, "{what} of {from} are in {}", run.path().display()),
            Outcome::LeftOut(reason) => write!(text, "{from} is left out: {reason}"),
        }
    }
}

/// A place that holds a run.
enum Found {
    /// A folder with event files.
    Events(PathBuf),
    /// A table, with the name of the run.
    Table(PathBuf, String),
    /// A folder of a run of this program.
    Run(PathBuf),
    /// A folder that cannot be read.
    Unreadable(PathBuf, io::Error),
}

/// Imports all runs at and below a path into a folder of runs, and passes on the outcome of each.
pub fn import_runs(into: &Path, path: &Path, mut take: impl FnMut(Imported)) -> Result<(), ImportError> {
    let mut found = Vec::new();
    if path.is_file() {
        found.extend(found_file(path));
    } else {
        look(path, path, into, DEEPEST, &mut found)?;
    }
    if found.is_empty() {
        return Err(ImportError::Nothing(path.to_owned()));
    }
    for found in found {
        let (from, made) = match found {
            Found::Events(folder) => {
                let made = read_folder(&folder)
                    .map_err(RunError::from)
                    .and_then(|scalars| make_run(into, &folder, &name_of(&folder), &scalars));
                (folder, made)
            }
            Found::Table(file, name) => {
                let made = read_table(&file).and_then(|scalars| make_run(into, &file, &name, &scalars));
                (file, made)
            }
            Found::Unreadable(folder, source) => {
                let error = RunError::Read { path: folder.clone(), source };
                (folder, Err(error))
            }
            Found::Run(folder) => {
                let made = copy_run(into, &folder);
                (folder, made)
            }
        };
        let outcome = made.unwrap_or_else(|error| Outcome::LeftOut(error.to_string()));
        take(Imported { from, outcome });
    }
    Ok(())
}

fn found_file(path: &Path) -> Option<Found> {
    if is_event_file(path) {
        return Some(Found::Events(path.parent()?.to_owned()));
    }
    is_table(path).then(|| Found::Table(path.to_owned(), stem(path)))
}

fn is_table(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"))
}

fn look(root: &Path, folder: &Path, into: &Path, depth: usize, found: &mut Vec<Found>) -> Result<(), ImportError> {
    let failed = |source| ImportError::Look { path: folder.to_owned(), source };
    if RunFolder::is_at(folder) {
        found.push(Found::Run(folder.to_owned()));
        return if found.len() > MOST { Err(ImportError::TooMany(root.to_owned())) } else { Ok(()) };
    }
    if !event_files(folder).map_err(failed)?.is_empty() {
        found.push(Found::Events(folder.to_owned()));
    }
    let mut entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>).map_err(failed)?;
    entries.sort_by_key(fs::DirEntry::path);
    let is = |entry: &fs::DirEntry, test: fn(&fs::FileType) -> bool| entry.file_type().is_ok_and(|kind| test(&kind));
    let tables: Vec<PathBuf> = entries
        .iter()
        .filter(|entry| is(entry, fs::FileType::is_file))
        .map(fs::DirEntry::path)
        .filter(|path| is_table(path))
        .collect();
    // The only table of a folder of its own is called like the folder, as in `runs/adam/metrics.csv`.
    let is_named_by_folder = tables.len() == 1 && folder != root;
    found.extend(tables.into_iter().map(|table| {
        let name = if is_named_by_folder { name_of(folder) } else { stem(&table) };
        Found::Table(table, name)
    }));
    if found.len() > MOST {
        return Err(ImportError::TooMany(root.to_owned()));
    }
    for entry in entries.iter().filter(|entry| is(entry, fs::FileType::is_dir)) {
        // The runs that are written must not be read.
        if depth == 0 || entry.path() == into {
            continue;
        }
        match look(root, &entry.path(), into, depth - 1, found) {
            // The others can be imported all the same.
            Err(ImportError::Look { path, source }) => found.push(Found::Unreadable(path, source)),
            outcome => outcome?,
        }
    }
    Ok(())
}

/// Returns the name of a folder, also of one that is named `.`.
fn name_of(folder: &Path) -> String {
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    whole.file_name().map_or_else(|| "imported".to_owned(), |name| name.to_string_lossy().into_owned())
}

fn stem(file: &Path) -> String {
    file.file_stem().map_or_else(|| "imported".to_owned(), |stem| stem.to_string_lossy().into_owned())
}
