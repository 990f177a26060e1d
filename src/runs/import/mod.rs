//! Runs from elsewhere, imported into a folder of runs: TensorBoard's event files, tables as CSV, and folders of runs
//! of this program from another folder.
//!
//! Importing event files or a table again writes their run anew, which [`Started::imported_from`] identifies. A
//! [`Follower`] does so whenever they have changed.

mod events;
mod follow;
mod scalars;
mod table;

use std::collections::HashMap;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};
use std::{fs, io};

use events::RunWriter;
use scalars::{LogFolder, ScalarsError, read_logs, runs_of};
use table::{RowError, read_table};
use valleyscope_engine::terminal_escape::{visible, visible_path};
use valleyscope_runs::plain_file::Links;
use valleyscope_runs::{Event, EventRecord, FolderError, RunFolder, plain_file};

use super::tensorboard::{event_files, is_event_file};

pub use follow::Follower;

/// The deepest folder below the named one that is searched for runs.
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
    ReadFolder { path: PathBuf, source: io::Error },
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
    /// Formats a line about the run, after lines about what was left out of it.
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
    let before = imported_before(into);
    for found in find(into, path)? {
        let from = found.path().to_owned();
        let before = before.get(&source(found.origin()));
        let outcome = import(into, path, found, before, false);
        take(Imported { from, outcome });
    }
    Ok(())
}

/// Finds what can be imported at and below a path.
fn find(into: &Path, path: &Path) -> Result<Vec<Found>, ImportError> {
    let found = if path.is_file() { found_file(path).into_iter().collect() } else { Search::run(path, into)? };
    if found.is_empty() { Err(ImportError::Nothing(path.to_owned())) } else { Ok(found) }
}

/// Imports what was found below `root` as a new run, or as a new state of the run that was made of it `before`. A run
/// that `grows` has no end.
fn import(into: &Path, root: &Path, found: Found, before: Option<&RunFolder>, grows: bool) -> Outcome {
    let source = source(found.origin());
    let writer = |title: String| RunWriter { into, source, title, before, grows };
    let made = match found {
        Found::Log(log) => read_logs(into, &log).and_then(|scalars| writer(title(root, &log.path)).write(scalars)),
        Found::Table(file) => {
            read_table(into, &file).and_then(|scalars| writer(title_of_table(root, &file)).write(scalars))
        }
        Found::Run(folder) => copy_run(into, &folder),
        Found::Passed(_, reason) => Err(RunError::Unfit(reason)),
    };
    made.unwrap_or_else(|error| Outcome::LeftOut(error.to_string()))
}

/// Returns the path by which a run records what it was imported from.
fn source(from: &Path) -> String {
    from.canonicalize().unwrap_or_else(|_| from.to_owned()).to_string_lossy().into_owned()
}

/// Finds the imported runs in a folder, by what they were imported from.
fn imported_before(into: &Path) -> HashMap<String, RunFolder> {
    let imported = |run: RunFolder| {
        let Event::Started(started) = EventRecord::parse(&first_line(&run.events())?).ok()?.event else { return None };
        Some((started.imported_from, run)).filter(|(from, _)| !from.is_empty())
    };
    // A folder that cannot be listed cannot be written either, which is reported then.
    RunFolder::list(into).unwrap_or_default().into_iter().filter_map(imported).collect()
}

impl Found {
    fn path(&self) -> &Path {
        match self {
            Found::Log(log) => &log.path,
            Found::Table(path) | Found::Run(path) | Found::Passed(path, _) => path,
        }
    }

    /// Returns what identifies the run in later imports: the folder, or the only file that was named.
    fn origin(&self) -> &Path {
        match self {
            Found::Log(LogFolder { only: Some(file), .. }) => file,
            found => found.path(),
        }
    }
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
        search.search(root, DEEPEST)?;
        let logs = runs_of(search.logs).into_iter().map(Found::Log);
        Ok(logs.chain(search.found).collect())
    }

    fn search(&mut self, folder: &Path, depth: usize) -> Result<(), ImportError> {
        let failed = |source| ImportError::ReadFolder { path: folder.to_owned(), source };
        if self.logs.len() + self.found.len() > MOST {
            return Err(ImportError::TooMany(self.root.to_owned()));
        }
        if RunFolder::is_at(folder) {
            self.found.push(Found::Run(folder.to_owned()));
            return Ok(());
        }
        // A killed import leaves an incomplete copy.
        if folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(COPY_PREFIX)) {
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
            match self.search(&folder, depth - 1) {
                // The others can be imported in any case.
                Err(ImportError::ReadFolder { path, source }) => {
                    self.found.push(Found::Passed(path, format!("it cannot be read: {source}")));
                }
                outcome => outcome?,
            }
        }
        Ok(())
    }
}

/// Makes the title of the run in a folder: its path below the named folder, or the name of that one.
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

/// Makes the title of the run in a table. The only table of a folder is named like the folder, as in
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

/// The beginning of the name of a folder in which a copy is made.
const COPY_PREFIX: &str = ".import-";

/// Copies the files of a run into a folder of runs under the same name. The run appears there when it is complete.
fn copy_run(into: &Path, folder: &Path) -> Result<Outcome, RunError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source: io::Error| RunError::Write { path, source }
    };
    let from = RunFolder::open(folder)?;
    fs::create_dir_all(into).map_err(failed(into))?;
    // A hidden folder is not one of the user's runs.
    let name = from.name();
    let name = name.trim_start_matches('.');
    let name = if name.is_empty() { "run" } else { name };
    let target = into.canonicalize().map_err(failed(into))?.join(name);
    if target == from.path() {
        return Err(RunError::Unfit("it is in the folder of runs already".to_owned()));
    }
    if target.exists() {
        let is_same = same_events(&from, &target);
        let is = if is_same {
            "was imported before"
        } else {
            "is another run; rename its folder or this one, and import it again"
        };
        return Err(RunError::Unfit(format!("{}, of the same name, {is}", visible_path(&target))));
    }
    let aside = tempfile::Builder::new().prefix(COPY_PREFIX).tempdir_in(into).map_err(failed(into))?;
    let whole = aside.path().join(name);
    fs::create_dir(&whole).map_err(failed(&whole))?;
    let unreadable = |source| RunError::Read { path: from.path().to_owned(), source };
    let mut files = 0;
    for entry in fs::read_dir(from.path()).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        // A run consists of plain files; links may lead anywhere.
        if entry.file_type().map_err(unreadable)?.is_file() {
            let copied = whole.join(entry.file_name());
            copy_file(&entry.path(), &copied)?;
            files += 1;
        }
    }
    fs::rename(&whole, &target).map_err(failed(&target))?;
    let run = RunFolder::open(&target)?;
    Ok(Outcome::Made { run, what: format!("{files} files"), left_out: Vec::new() })
}

/// Copies a file, unless a link or a FIFO has replaced it.
fn copy_file(from: &Path, to: &Path) -> Result<(), RunError> {
    let unreadable = |source| RunError::Read { path: from.to_owned(), source };
    let failed = |source| RunError::Write { path: to.to_owned(), source };
    let mut source = plain_file::open(from, Links::Refused).map_err(unreadable)?;
    let mut copy = fs::File::create_new(to).map_err(failed)?;
    io::copy(&mut source, &mut copy).map_err(failed)?;
    Ok(())
}

/// Reads the first line of the events of a run, which contains the whole config; `None` if it cannot be read.
fn first_line(path: &Path) -> Option<Vec<u8>> {
    const MOST: u64 = 64 << 20;
    let mut line = Vec::new();
    let file = plain_file::open(path, Links::Refused).ok()?;
    io::BufReader::new(file.take(MOST)).read_until(b'\n', &mut line).ok()?;
    Some(line)
}

/// Whether the events of two runs begin alike: one may have been trained longer.
fn same_events(run: &RunFolder, other: &Path) -> bool {
    let events = [run.events(), other.join(RunFolder::EVENTS)].map(|path| first_line(&path));
    events[0].is_some() && events[0] == events[1]
}
