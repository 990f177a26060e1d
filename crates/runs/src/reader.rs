//! Following the events of a run as a watcher.

use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::event::{Event, EventRecord, Forked, LONGEST_LINE};
use super::folder::RunFolder;
use super::history::RunHistory;
use super::lock::LockState;
use super::status::Status;
use super::tail::{Piece, Tail};

/// Follows the events of a run, during or after training.
///
/// It can be polled often: without new events, a poll only checks the file's metadata. A truncated or replaced file is
/// read again. The window reads in a thread, as the first read of a long history takes time.
#[derive(Debug)]
pub struct RunReader {
    run: RunFolder,
    tail: Tail,
    history: RunHistory,
    curves: Curves,
    /// The number of forks that are followed for the points before a fork.
    forks: u32,
}

#[derive(Debug, PartialEq, Eq)]
enum Curves {
    Whole,
    /// The newest point of training only, for lists of runs.
    Newest,
}

impl RunReader {
    /// The largest number of forks that are followed: folders may claim to be forked from each other.
    const MOST_FORKS: u32 = 64;

    /// Creates a reader of all points. Those of a fork begin with the earlier points of the other run, if that exists.
    pub fn new(run: RunFolder) -> RunReader {
        RunReader::of_fork(run, RunReader::MOST_FORKS)
    }

    /// Creates a reader of all points that follows at most `forks` further forks.
    fn of_fork(run: RunFolder, forks: u32) -> RunReader {
        let (tail, history) = (Tail::new(run.events(), LONGEST_LINE), RunHistory::default());
        RunReader { tail, run, history, curves: Curves::Whole, forks }
    }

    /// Creates a reader that keeps only the newest point of training, and so needs less time and memory.
    pub fn brief(run: RunFolder) -> RunReader {
        RunReader { curves: Curves::Newest, ..RunReader::new(run) }
    }

    pub fn run(&self) -> &RunFolder {
        &self.run
    }

    pub fn history(&self) -> &RunHistory {
        &self.history
    }

    pub(super) fn into_history(self) -> RunHistory {
        self.history
    }

    pub fn poll(&mut self) -> io::Result<bool> {
        let RunReader { run, tail, history, curves, forks } = self;
        let mut news = false;
        tail.read(|piece| {
            news = true;
            match piece {
                Piece::Again => history.reset(),
                Piece::TooLong => {
                    history.count_line();
                    history.skip_line();
                }
                Piece::Lines(lines) => match curves {
                    Curves::Whole => lines_of(lines).for_each(|line| {
                        read_event(history, line).into_iter().for_each(|record| history.apply(record));
                        if history.needs_points_before_fork() {
                            share(history, run, *forks);
                        }
                    }),
                    Curves::Newest => take_brief(history, lines),
                },
            }
        })?;
        Ok(news)
    }

    /// Reads new events; returns the status of the run at the time `now`.
    pub fn status(&mut self, now: Timestamp) -> io::Result<Status> {
        let lock_state = LockState::of(&self.run);
        self.poll()?;
        Ok(Status::of(&self.run, lock_state, &self.history, now))
    }
}

/// Finds the run from which `fork` was forked, if its folder exists.
pub fn forked_run(forked: &Forked, fork: &RunFolder) -> Option<RunFolder> {
    candidate_folders(forked, fork).find(|run| {
        let mut reader = RunReader::brief(run.clone());
        reader.poll().is_ok() && may_be_origin(reader.history(), forked)
    })
}

/// Lists the folders in which the other run may be: that next to the fork, as after all runs were moved, and the
/// recorded one.
fn candidate_folders(forked: &Forked, fork: &RunFolder) -> impl Iterator<Item = RunFolder> {
    let name = Path::new(&forked.from_run).file_name();
    let moved = fork.path().parent().zip(name).map(|(parent, name)| parent.join(name));
    let paths = moved.into_iter().chain([PathBuf::from(&forked.folder)]);
    paths.filter_map(|path| RunFolder::open(&path).ok())
}

/// Whether a run with this history may be the one that was forked, as its name may have been reused. A run that has not
/// begun, such as a fork before its first step, is accepted.
fn may_be_origin(history: &RunHistory, forked: &Forked) -> bool {
    let sum = history.started().map(|started| &started.config_sha256).filter(|sum| !sum.is_empty());
    sum.is_none_or(|sum| *sum == forked.config_sha256)
}

/// Reads the history of the forked run, if it exists, through at most `forks` further forks.
fn history_of_origin(forked: &Forked, fork: &RunFolder, forks: u32) -> Option<RunHistory> {
    candidate_folders(forked, fork).find_map(|run| {
        let mut reader = RunReader::of_fork(run, forks);
        reader.poll().ok()?;
        Some(reader.into_history()).filter(|history| may_be_origin(history, forked))
    })
}

/// Copies the points before a fork.
fn share(history: &mut RunHistory, run: &RunFolder, forks: u32) {
    let other = forks.checked_sub(1).and_then(|forks| history_of_origin(history.forked()?, run, forks));
    history.share(other);
}

fn lines_of(lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    lines.split_inclusive(|&byte| byte == b'\n').map(|line| line.trim_ascii_end()).filter(|line| !line.is_empty())
}

/// Counts a line; returns its event. A line that is not an event is skipped.
fn read_event(history: &mut RunHistory, line: &[u8]) -> Option<EventRecord> {
    history.count_line();
    EventRecord::parse(line).inspect_err(|_| history.skip_line()).ok()
}

/// Adds the events of all lines, except that of consecutive points of training with the same metrics only the last is
/// added. The others are tallied.
fn take_brief(history: &mut RunHistory, lines: &[u8]) {
    let mut newest: Option<EventRecord> = None;
    for line in lines_of(lines) {
        let is_train = EventRecord::is_train(line);
        if !is_train {
            newest.take().into_iter().for_each(|record| history.apply(record));
        }
        let Some(record) = read_event(history, line) else { continue };
        if is_train {
            match newest.take() {
                Some(passed) if have_same_metrics(&passed, &record) => history.add_to_tallies(&passed),
                Some(passed) => history.apply(passed),
                None => {}
            }
            newest = Some(record);
            continue;
        }
        let generation = history.generation();
        history.apply(record);
        // The newest point became void, and its predecessor was skipped.
        if history.generation() > generation {
            history.forget_training();
        }
    }
    newest.into_iter().for_each(|record| history.apply(record));
}

fn have_same_metrics(one: &EventRecord, other: &EventRecord) -> bool {
    let (Event::Train(one), Event::Train(other)) = (&one.event, &other.event) else { return false };
    one.iter().map(|(metric, _)| metric).eq(other.iter().map(|(metric, _)| metric))
}
