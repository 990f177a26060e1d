//! Runs from elsewhere, imported into a folder of runs: TensorBoard's event files, tables as CSV, and folders of runs of
//! this program from another place.

mod copy;
mod events;
mod logs;
mod names;
mod rows;
mod scalars;
mod table;

pub(crate) use self::names::Words;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use valleyscope_engine::terminal_escape::{visible, visible_path};
use valleyscope_runs::{FolderError, RunFolder};

use self::copy::{copy_run, is_remains};
use self::events::make_run;
use self::logs::{LogFolder, read_logs, runs_of};
use self::rows::RowError;
use self::scalars::ScalarsError;
use self::table::read_table;
use crate::tensorboard::{event_files, is_event_file};

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
    /// A run was written; with what was read, and sentences about what was left out of it.
    Made { run: RunFolder, what: String, left_out: Vec<String> },
    /// Nothing was written, for this reason.
    LeftOut(String),
}

/// Why nothing can be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("cannot read {}: {source}", visible_path(path))]
    Look { path: PathBuf, source: io::Error },
    #[error(
        "expected runs in {}, and it has none: neither event files of TensorBoard, whose names contain `tfevents`, nor \
         tables whose names end in `.csv`, nor folders of runs",
        visible_path(.0)
    )]
    Nothing(PathBuf),
    #[error("{} holds more than {MOST} runs; name a folder in it", visible_path(.0))]
    TooMany(PathBuf),
}

/// Why one run cannot be imported.
#[derive(Debug, thiserror::Error)]
enum RunError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Scalars(#[from] ScalarsError),
    #[error(transparent)]
    Row(#[from] RowError),
    #[error("cannot write {}: {source}", visible_path(path))]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot read {}: {source}", visible_path(path))]
    Read { path: PathBuf, source: io::Error },
    #[error("{0}")]
    Unfit(String),
}

impl Imported {
    /// Returns a line about the run, after lines about what was left out of it.
    pub fn lines(&self) -> Vec<String> {
        let from = visible_path(&self.from);
        match &self.outcome {
            Outcome::Made { run, what, left_out } => {
                let left_out = left_out.iter().map(|line| format!("{from}: {}", visible(line)));
                left_out.chain([format!("{what} of {from} are in {}", visible_path(run.path()))]).collect()
            }
            Outcome::LeftOut(reason) => vec![format!("{from} is left out: {}", visible(reason))],
        }
    }
}

/// A folder or a file that holds a run.
enum Found {
    Log(LogFolder),
    Table(PathBuf),
    /// A folder of a run of this program.
    Run(PathBuf),
    /// A folder that is not read, with the reason.
    Passed(PathBuf, String),
}

/// Imports all runs at and below a path into a folder of runs, and passes on the outcome of each.
pub fn import_runs(into: &Path, path: &Path, mut take: impl FnMut(Imported)) -> Result<(), ImportError> {
    let mut found = Vec::new();
    if path.is_file() {
        found.extend(found_file(path));
    } else {
        found = Search::run(path, into)?;
    }
    if found.is_empty() {
        return Err(ImportError::Nothing(path.to_owned()));
    }
    for found in found {
        let (from, made) = match found {
            Found::Log(log) => {
                let title = title(path, &log.path);
                let made = read_logs(into, &log).and_then(|scalars| make_run(into, &log.path, &title, scalars));
                (log.path, made)
            }
            Found::Table(file) => {
                let title = title_of_table(path, &file);
                let made = read_table(into, &file).and_then(|scalars| make_run(into, &file, &title, scalars));
                (file, made)
            }
            Found::Run(folder) => {
                let made = copy_run(into, &folder);
                (folder, made)
            }
            Found::Passed(folder, reason) => (folder, Err(RunError::Unfit(reason))),
        };
        let outcome = made.unwrap_or_else(|error| Outcome::LeftOut(error.to_string()));
        take(Imported { from, outcome });
    }
    Ok(())
}

fn found_file(path: &Path) -> Option<Found> {
    if is_event_file(path) {
        let only = Some(path.to_owned());
        return Some(Found::Log(LogFolder { path: path.parent()?.to_owned(), only, parts: Vec::new() }));
    }
    is_table(path).then(|| Found::Table(path.to_owned()))
}

fn is_table(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"))
}

/// A search for runs below a folder.
struct Search<'p> {
    root: &'p Path,
    /// The folder of runs, which must not be read while it is written.
    into: Option<PathBuf>,
    /// Folders with event files, each after those above it.
    logs: Vec<PathBuf>,
    found: Vec<Found>,
}

impl Search<'_> {
    /// Finds the runs at and below a folder.
    fn run(root: &Path, into: &Path) -> Result<Vec<Found>, ImportError> {
        let into = into.canonicalize().ok();
        let mut search = Search { root, into, logs: Vec::new(), found: Vec::new() };
        search.look(root, DEEPEST)?;
        let logs = runs_of(search.logs).into_iter().map(Found::Log);
        Ok(logs.chain(search.found).collect())
    }

    fn look(&mut self, folder: &Path, depth: usize) -> Result<(), ImportError> {
        let failed = |source| ImportError::Look { path: folder.to_owned(), source };
        if self.logs.len() + self.found.len() > MOST {
            return Err(ImportError::TooMany(self.root.to_owned()));
        }
        if RunFolder::is_at(folder) {
            self.found.push(Found::Run(folder.to_owned()));
            return Ok(());
        }
        if is_remains(folder) {
            let reason = "it is what an interrupted import has left".to_owned();
            self.found.push(Found::Passed(folder.to_owned(), reason));
            return Ok(());
        }
        if !event_files(folder).map_err(failed)?.is_empty() {
            self.logs.push(folder.to_owned());
        }
        let mut entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>).map_err(failed)?;
        entries.sort_by_key(fs::DirEntry::path);
        let of_kind = |test: fn(&fs::FileType) -> bool| {
            let is_it = move |entry: &&fs::DirEntry| entry.file_type().is_ok_and(|kind| test(&kind));
            entries.iter().filter(is_it).map(fs::DirEntry::path)
        };
        self.found.extend(of_kind(fs::FileType::is_file).filter(|path| is_table(path)).map(Found::Table));
        let is_own = |folder: &PathBuf| self.into.is_some() && folder.canonicalize().ok() == self.into;
        let folders: Vec<PathBuf> = of_kind(fs::FileType::is_dir).filter(|folder| !is_own(folder)).collect();
        if depth == 0 && !folders.is_empty() {
            let reason = format!("its folders are more than {DEEPEST} folders below the named one; name one of them");
            self.found.push(Found::Passed(folder.to_owned(), reason));
            return Ok(());
        }
        for folder in folders {
            match self.look(&folder, depth - 1) {
                // The others can be imported all the same.
                Err(ImportError::Look { path, source }) => {
                    self.found.push(Found::Passed(path, format!("it cannot be read: {source}")));
                }
                outcome => outcome?,
            }
        }
        Ok(())
    }
}

/// Returns the title of the run in a folder: its path below the named folder, or the name of that one.
fn title(root: &Path, folder: &Path) -> String {
    let below = folder.strip_prefix(root).ok().filter(|below| !below.as_os_str().is_empty());
    // The named folder may be `.`.
    let whole = || folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let names = match below {
        Some(below) => below.iter().map(|name| name.to_string_lossy().into_owned()).collect(),
        None => whole().file_name().map(|name| name.to_string_lossy().into_owned()).into_iter().collect::<Vec<_>>(),
    };
    if names.is_empty() { "imported".to_owned() } else { names.join("/") }
}

/// Returns the title of the run in a table. The only table of a folder of its own is called like the folder, as in
/// `runs/adam/metrics.csv`.
fn title_of_table(root: &Path, file: &Path) -> String {
    let folder = file.parent().filter(|folder| *folder != root && file != root);
    let is_only = |folder: &&Path| {
        let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        files.filter(|path| is_table(path) || is_event_file(path)).count() == 1
    };
    let name = || title(root, &file.with_extension(""));
    folder.filter(is_only).map_or_else(name, |folder| title(root, folder))
}
