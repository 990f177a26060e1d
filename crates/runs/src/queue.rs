//! The queue of trainings: a folder of entries beside the runs, on which programs and machines that share it work.
//!
//! ```text
//! queue/000001000 mnist-20260301T120000Z   an entry, named by its place and by the run that it becomes
//! queue/paused                             no program begins to work on an entry while this file exists
//! queue/host.lock                          held by the program of this machine that works on the queue
//! ```
//!
//! An entry's first line holds the run's config, and each further line a start of its worker or an interruption. A
//! program locks an entry as long as it works on it. The entry is removed when its run has ended, so a program that finds an entry after a
//! kill at any moment continues from what the run's folder shows.

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::atomic_file::{Overwrite, write_file, write_plain_file};
use super::command::{Inbox, RunCommand};
use super::event::now;
use super::folder::{FolderError, RunFolder};
use super::history::RunHistory;
use super::launch::{LaunchError, WorkerProgram};
use super::lock::{LockState, host};
use super::plain_file::{self, Links, ignore_missing};
use super::reader::RunReader;
use super::status::Status;

/// The queue of the runs in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// The folder of the runs.
    runs: PathBuf,
}

/// A training that waits in the queue, or is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueEntry {
    /// The name of the run's folder.
    pub name: String,
    pub config: String,
    /// The number of times its worker was started after it had died, or for the first time.
    pub starts: usize,
    /// Whether a program works on it.
    pub is_claimed: bool,
    last_start: Option<Timestamp>,
    place: u64,
    /// Whether the last program that worked on it stopped its run to continue later.
    is_interrupted: bool,
}

/// A line of an entry's file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Config(String),
    /// The worker was started.
    Start {
        time: Timestamp,
    },
    /// The program that worked on the entry stops the run, and the next one resumes it.
    Interrupted,
}

/// An entry that this program works on. Dropping it releases the entry.
#[derive(Debug)]
pub struct Claim {
    pub entry: QueueEntry,
    /// Whether its run can be trained together with others.
    is_small: bool,
    queue: Queue,
    file: File,
}

/// The right to work on the queue, which one program of a machine has at a time.
#[derive(Debug)]
pub struct QueueRunner {
    _lock: File,
}

/// The end of the work on an entry.
#[derive(Clone, Debug, PartialEq)]
pub enum EntryEnd {
    /// The run has ended with this status, and its entry is gone.
    Ended(Status),
    /// The program was asked to leave the entry, which stays in the queue. Its worker may go on.
    Left,
}

#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    #[error("cannot use the queue {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("there is no entry {0} in the queue; `valleyscope queue list` lists them")]
    Missing(String),
    #[error("{0} is under way; stop its run with `valleyscope runs stop {0}`, which also takes it out of the queue")]
    Claimed(String),
    #[error("{0} cannot be trained: its folder among the runs is that of another run; remove one of them")]
    Taken(String),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Launch(#[from] LaunchError),
}

/// The distance of neighbouring places of new entries, between which others can be moved.
const GAP: u64 = 1000;
/// The largest number of starts of an entry's worker: the first one, and three after its death.
const MOST_STARTS: usize = 4;
/// The largest size of an entry in bytes.
const MOST: u64 = 64 << 20;
const POLL_INTERVAL: Duration = Duration::from_millis(100);

impl Queue {
    /// The name of the queue's folder in the folder of the runs.
    pub const FOLDER: &str = "queue";
    const PAUSED: &str = "paused";
    /// The largest number of trainings of one worker.
    const MOST_TOGETHER: usize = 64;

    pub fn of(runs: &Path) -> Queue {
        Queue { runs: runs.to_owned() }
    }

    pub fn runs(&self) -> &Path {
        &self.runs
    }

    fn folder(&self) -> PathBuf {
        self.runs.join(Self::FOLDER)
    }

    /// The time at which the queue was last paused, or an entry added, moved or removed.
    pub fn changed(&self) -> Option<SystemTime> {
        self.folder().metadata().and_then(|data| data.modified()).ok()
    }

    fn failed(&self) -> impl Fn(io::Error) -> QueueError {
        let path = self.folder();
        move |source| QueueError::File { path: path.clone(), source }
    }

    /// Adds trainings at the end; returns the names of their entries.
    pub fn add(&self, stem: &str, configs: impl IntoIterator<Item = String>) -> Result<Vec<String>, QueueError> {
        let failed = self.failed();
        fs::create_dir_all(self.folder()).map_err(&failed)?;
        let entries = self.entries()?;
        let mut place = entries.last().map_or(0, |last| last.place);
        let taken: HashSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        let base = RunFolder::new_name(stem);
        let names = (1..).map(|number| if number == 1 { base.clone() } else { format!("{base}-{number}") });
        let mut free = names.filter(|name| !self.runs.join(name).exists() && !taken.contains(name.as_str()));
        let mut added = Vec::new();
        for config in configs {
            let text = line(&Line::Config(config));
            place += GAP;
            added.push(loop {
                let name = free.next().expect("some number is free");
                match write_file(&self.path(place, &name), Overwrite::No, text.as_bytes()) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    written => break written.map(|()| name).map_err(&failed)?,
                }
            });
        }
        Ok(added)
    }

    fn path(&self, place: u64, name: &str) -> PathBuf {
        self.folder().join(format!("{place:012} {name}"))
    }

    /// Lists the entries in their order. Files that are no entries are ignored.
    pub fn entries(&self) -> Result<Vec<QueueEntry>, QueueError> {
        let failed = self.failed();
        let files = match fs::read_dir(self.folder()) {
            Ok(files) => files,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut entries = Vec::new();
        for file in files {
            let path = file.map_err(&failed)?.path();
            let Some((place, name)) = self.place_and_name(&path) else { continue };
            let Ok(file) = plain_file::open(&path, Links::Refused) else { continue };
            let is_claimed = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
            // On some systems, a locked file cannot be read.
            let read = read_entry(file, place, &name).or_else(|| is_claimed.then(|| QueueEntry::empty(place, &name)));
            entries.extend(read.map(|entry| QueueEntry { is_claimed, ..entry }));
        }
        entries.sort_by(|a, b| (a.place, &a.name).cmp(&(b.place, &b.name)));
        Ok(entries)
    }

    /// Returns the place and the name of an entry, by its file; none for another file.
    fn place_and_name(&self, path: &Path) -> Option<(u64, String)> {
        let (place, name) = path.file_name()?.to_str()?.split_once(' ')?;
        let place = place.parse().ok().filter(|place| self.path(*place, name) == path)?;
        let mut parts = Path::new(name).components();
        let is_plain = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
        is_plain.then(|| (place, name.to_owned()))
    }

    /// Moves an entry before another one, or to the end.
    pub fn move_before(&self, name: &str, next: Option<&str>) -> Result<(), QueueError> {
        if next == Some(name) {
            return Ok(());
        }
        let mut entries = self.entries()?;
        let from = position(&entries, name)?;
        let moved = entries.remove(from);
        let to = next.map_or(Ok(entries.len()), |next| position(&entries, next))?;
        let before = to.checked_sub(1).map_or(0, |before| entries[before].place);
        let after = entries.get(to).map_or(before + 2 * GAP, |after| after.place);
        if after - before >= 2 {
            return self.set_place(&moved, before + (after - before) / 2);
        }
        entries.insert(to, moved);
        // From the end, so that no two entries have the same place meanwhile.
        let first = entries.iter().map(|entry| entry.place).max().unwrap_or(0) + GAP;
        let places = entries.iter().enumerate().map(|(index, entry)| (entry, first + index as u64 * GAP));
        places.rev().try_for_each(|(entry, place)| self.set_place(entry, place))
    }

    fn set_place(&self, entry: &QueueEntry, place: u64) -> Result<(), QueueError> {
        let renamed = fs::rename(self.path(entry.place, &entry.name), self.path(place, &entry.name));
        renamed.map_err(self.failed())
    }

    /// Returns the names of entries that are given by names or by numbers in the list.
    pub fn named(&self, given: &[String]) -> Result<Vec<String>, QueueError> {
        let entries = self.entries()?;
        given.iter().map(|given| position(&entries, given).map(|index| entries[index].name.clone())).collect()
    }

    /// Removes an entry on which nothing works.
    pub fn remove(&self, name: &str) -> Result<(), QueueError> {
        let entries = self.entries()?;
        let entry = &entries[position(&entries, name)?];
        match self.claim(entry)? {
            Some(claim) => claim.remove(),
            None => Err(QueueError::Claimed(entry.name.clone())),
        }
    }

    /// Whether no program begins to work on an entry.
    pub fn is_paused(&self) -> bool {
        self.folder().join(Self::PAUSED).exists()
    }

    /// Holds back the entries on which nothing works, or lets them begin.
    pub fn set_paused(&self, is_paused: bool) -> Result<(), QueueError> {
        let file = self.folder().join(Self::PAUSED);
        let set = if is_paused {
            fs::create_dir_all(self.folder()).and_then(|()| write_plain_file(&file, b""))
        } else {
            fs::remove_file(file).or_else(ignore_missing)
        };
        set.map_err(self.failed())
    }

    /// Takes the right to work on the queue; none while another program of this machine has it.
    pub fn runner(&self) -> Result<Option<QueueRunner>, QueueError> {
        let failed = self.failed();
        fs::create_dir_all(self.folder()).map_err(&failed)?;
        let file = plain_file::open_to_write(&self.folder().join(format!("{}.lock", host()))).map_err(&failed)?;
        match plain_file::lock(&file) {
            Ok(()) => Ok(Some(QueueRunner { _lock: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// Claims the first entry that `wanted` accepts and nothing works on; none if there is none, or the queue is paused.
    pub fn claim_first(&self, wanted: impl Fn(&QueueEntry) -> bool) -> Result<Option<Claim>, QueueError> {
        for entry in self.entries()?.iter().filter(|entry| !entry.is_claimed && wanted(entry)) {
            if self.is_paused() {
                break;
            }
            // Another user's entry, which cannot be locked, is left to others.
            if let Ok(Some(claim)) = self.claim(entry) {
                return Ok(Some(claim));
            }
        }
        Ok(None)
    }

    /// Claims the first entry like [`Queue::claim_first`], and those after it that one worker can train together with it,
    /// at most [`Queue::MOST_TOGETHER`]: entries that were never started, for whose configs `together` returns the same
    /// text.
    pub fn claim_together(
        &self,
        wanted: impl Fn(&QueueEntry) -> bool,
        together: impl Fn(&str) -> Option<String>,
    ) -> Result<Vec<Claim>, QueueError> {
        let mut claims = Vec::from_iter(self.claim_first(&wanted)?);
        let Some(first) = claims.first_mut() else { return Ok(claims) };
        let (place, Some(key)) = (first.entry.place, together(&first.entry.config)) else { return Ok(claims) };
        first.is_small = true;
        if first.entry.starts > 0 {
            return Ok(claims);
        }
        let others = self.entries()?.into_iter().filter(|entry| entry.place > place && !entry.is_claimed);
        for entry in others.take_while(|entry| together(&entry.config).as_ref() == Some(&key)) {
            if claims.len() >= Queue::MOST_TOGETHER || self.is_paused() {
                break;
            }
            // Another program may start it between listing and locking.
            let claim = if entry.starts == 0 && wanted(&entry) { self.claim(&entry)? } else { None };
            let claim = claim.filter(|claim| claim.entry.starts == 0);
            claims.extend(claim.map(|claim| Claim { is_small: true, ..claim }));
        }
        Ok(claims)
    }

    fn claim(&self, entry: &QueueEntry) -> Result<Option<Claim>, QueueError> {
        let (failed, path) = (self.failed(), self.path(entry.place, &entry.name));
        let file = match plain_file::open_existing(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        match plain_file::lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        // Another program may have removed it, or started its worker, between listing and locking.
        if !plain_file::is_at(&file, &path).map_err(&failed)? {
            return Ok(None);
        }
        let reread = file.try_clone().map_err(&failed)?;
        let Some(entry) = read_entry(reread, entry.place, &entry.name) else { return Ok(None) };
        Ok(Some(Claim { entry, is_small: false, queue: self.clone(), file }))
    }
}

impl Claim {
    /// Trains the entry's run to its end: starts it, waits for a worker that lives, and resumes it after the worker has
    /// died, at most [`MOST_STARTS`] times in all. Between, asks `goes_on` whether to leave it.
    ///
    /// # Errors
    ///
    /// Fails if the worker cannot be started or the folders cannot be written; then the entry stays in the queue.
    pub fn train(
        &mut self,
        worker: &WorkerProgram,
        mut goes_on: impl FnMut(&RunFolder) -> bool,
    ) -> Result<EntryEnd, QueueError> {
        let run = self.run_folder()?;
        let mut reader = RunReader::brief(run.clone());
        loop {
            if !run.path().is_dir() {
                return self.end(Status::Failed("its folder is gone".to_owned()));
            }
            if !goes_on(&run) {
                return Ok(EntryEnd::Left);
            }
            let Ok(status) = reader.status(now()) else {
                // A folder that cannot be read for a moment may be on another machine.
                std::thread::sleep(POLL_INTERVAL);
                continue;
            };
            let is_dead = match &status {
                Status::Finished => return self.end(status),
                // A run that nobody has begun counts as failed after a while.
                Status::Failed(_) if reader.history().lines() > 0 => return self.end(status),
                Status::Stopped if !self.entry.is_interrupted && is_stopped_by_user(&run, reader.history()) => {
                    return self.end(status);
                }
                Status::Running(_) => false,
                Status::Silent { .. } => status.is_lost(),
                _ => !self.is_loading(&run),
            };
            if is_dead {
                if self.entry.starts >= MOST_STARTS && !self.entry.is_interrupted {
                    return self.end(status);
                }
                self.start(worker, &run)?;
            } else {
                std::thread::sleep(POLL_INTERVAL);
            }
        }
    }

    /// Starts one worker on the runs of several claims, which trains them together. Each is then trained to its end by
    /// [`Claim::train`], alone where that worker has died.
    ///
    /// # Errors
    ///
    /// Fails if the worker cannot be started or the folders cannot be written; then the entries stay in the queue.
    pub fn start_together(claims: &mut [Claim], worker: &WorkerProgram) -> Result<(), QueueError> {
        let runs: Vec<RunFolder> = claims.iter().map(Claim::run_folder).collect::<Result<_, _>>()?;
        let time = now();
        for claim in &mut *claims {
            claim.record(&Line::Start { time })?;
            claim.entry.started(time);
        }
        let launched = worker.start_small(&runs)?;
        match launched.wait_until_at_work(WorkerProgram::START_TIMEOUT) {
            // A refused or dead worker leaves the runs to workers of their own.
            Ok(()) | Err(LaunchError::Died { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Records that this program stops the run, so that the next one resumes it.
    pub fn interrupt(&mut self) -> Result<(), QueueError> {
        self.record(&Line::Interrupted)
    }

    /// Returns the run's folder, which is created if it is missing or has no config.
    pub fn run_folder(&self) -> Result<RunFolder, QueueError> {
        let run = RunFolder::create_named(&self.queue.runs, &self.entry.name, &self.entry.config)?;
        let config = run.config_text().map_err(self.queue.failed())?;
        if config == self.entry.config { Ok(run) } else { Err(QueueError::Taken(self.entry.name.clone())) }
    }

    fn start(&mut self, worker: &WorkerProgram, run: &RunFolder) -> Result<(), QueueError> {
        let time = now();
        self.record(&Line::Start { time })?;
        self.entry.started(time);
        let launched = match self.is_small {
            true => worker.start_small(std::slice::from_ref(run))?,
            false => worker.start(run, true, None)?,
        };
        match launched.wait_until_at_work(WorkerProgram::START_TIMEOUT) {
            // The worker of a program that was killed before may have been faster, or has recorded why it cannot train.
            Err(LaunchError::Died { .. }) if !matches!(LockState::of(run), LockState::NeverTaken) => Ok(()),
            Err(_) if !run.path().is_dir() => Ok(()),
            begun => Ok(begun?),
        }
    }

    /// Returns whether a worker that a program has started, which may be gone, has yet to take the run.
    fn is_loading(&self, run: &RunFolder) -> bool {
        let Some(start) = self.entry.last_start else { return false };
        let patience = SignedDuration::try_from(WorkerProgram::START_TIMEOUT).unwrap_or(SignedDuration::MAX);
        now().duration_since(start) < patience
            && match LockState::of(run) {
                LockState::NeverTaken => true,
                LockState::Free(owner) | LockState::Remote(owner) => owner.started < start,
                LockState::Held(_) | LockState::Unknown => false,
            }
    }

    fn record(&mut self, added: &Line) -> Result<(), QueueError> {
        // A line that a full disk has cut is completed, so that it is ignored alone.
        let text = format!("\n{}", line(added));
        let written = self.file.seek(SeekFrom::End(0)).and_then(|_| self.file.write_all(text.as_bytes()));
        written.and_then(|()| self.file.sync_data()).map_err(self.queue.failed())
    }

    fn end(&self, status: Status) -> Result<EntryEnd, QueueError> {
        self.remove().map(|()| EntryEnd::Ended(status))
    }

    fn remove(&self) -> Result<(), QueueError> {
        let QueueEntry { place, name, .. } = &self.entry;
        match fs::remove_file(self.queue.path(*place, name)) {
            // It was moved since it was claimed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => return removed.map_err(self.queue.failed()),
        }
        let entries = self.queue.entries()?;
        let Some(entry) = entries.iter().find(|entry| entry.name == self.entry.name) else { return Ok(()) };
        let removed = fs::remove_file(self.queue.path(entry.place, &entry.name)).or_else(ignore_missing);
        removed.map_err(self.queue.failed())
    }
}

impl QueueEntry {
    fn empty(place: u64, name: &str) -> QueueEntry {
        QueueEntry {
            name: name.to_owned(),
            config: String::new(),
            starts: 0,
            is_claimed: false,
            last_start: None,
            place,
            is_interrupted: false,
        }
    }

    fn started(&mut self, time: Timestamp) {
        self.starts += usize::from(!self.is_interrupted);
        (self.last_start, self.is_interrupted) = (Some(time), false);
    }
}

/// Returns whether the last command that the worker of a run has answered is a stop. A system that shuts down stops
/// workers without one.
fn is_stopped_by_user(run: &RunFolder, history: &RunHistory) -> bool {
    let Some(last) = history.answers().last() else { return false };
    let received = Inbox::new(run).read_new().unwrap_or_default();
    received.iter().any(|it| it.id == last.id && matches!(it.command, Ok(RunCommand::Stop)))
}

/// Finds an entry by its name, or by its number in the list, from 1.
fn position(entries: &[QueueEntry], name: &str) -> Result<usize, QueueError> {
    let found = entries.iter().position(|entry| entry.name == name);
    let numbered = || name.parse::<usize>().ok()?.checked_sub(1).filter(|index| *index < entries.len());
    found.or_else(numbered).ok_or_else(|| QueueError::Missing(name.to_owned()))
}

fn line(line: &Line) -> String {
    serde_json::to_string(line).expect("it holds nothing that JSON cannot express") + "\n"
}

/// Reads an entry; none if it has no config. Lines that were cut by a kill are ignored.
fn read_entry(mut file: File, place: u64, name: &str) -> Option<QueueEntry> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    (&file).take(MOST).read_to_string(&mut text).ok()?;
    let mut entry = QueueEntry::empty(place, name);
    let mut has_config = false;
    for line in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
        match line {
            Line::Config(config) => (entry.config, has_config) = (config, true),
            Line::Start { time } => entry.started(time),
            Line::Interrupted => entry.is_interrupted = true,
        }
    }
    has_config.then_some(entry)
}
