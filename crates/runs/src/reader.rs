//! Reading a run's folder as a watcher.

use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::event::{BadLine, EventRecord};
use super::folder::RunFolder;
use super::forked::Forked;
use super::history::RunHistory;
use super::line_crc::{self, LineCrc};
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
    /// The newest point of training only, for lists of runs: the others are not even parsed.
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
        let (tail, history) = (Tail::new(run.events()), RunHistory::default());
        RunReader { tail, run, history, curves: Curves::Whole, forks }
    }

    /// Creates a reader that skips all but the newest point of training, and so is many times as fast.
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

    /// Reads new events, and returns whether there were any.
    pub fn poll(&mut self) -> io::Result<bool> {
        let RunReader { run, tail, history, curves, forks } = self;
        let mut news = false;
        tail.read(|piece| {
            news = true;
            match piece {
                Piece::Again => history.reset(),
                Piece::TooLong => pass_over_long(history),
                Piece::Lines(lines) => match curves {
                    Curves::Whole => lines_of(lines).for_each(|line| {
                        take(history, line);
                        if history.awaits_shared() {
                            share(history, run, *forks);
                        }
                    }),
                    Curves::Newest => take_brief(history, lines),
                },
            }
        })?;
        Ok(news)
    }

    /// Reads new events. Counts lines cut off since the last worker released the lock as missing, if that was on this
    /// machine: a lock from elsewhere may have been copied later than the events.
    pub fn poll_to_end(&mut self) -> io::Result<()> {
        let lock_state = LockState::of(&self.run);
        self.poll()?;
        if let LockState::Free(owner) = lock_state {
            self.history.expect_lines(owner.written());
        }
        Ok(())
    }

    /// Reads new events, and returns the status of the run at the time `now`.
    pub fn status(&mut self, now: Timestamp) -> io::Result<Status> {
        let lock_state = LockState::of(&self.run);
        self.poll()?;
        Ok(Status::of(&self.run, lock_state, &self.history, now))
    }
}

/// Returns the run from which `fork` was forked, if its folder exists.
pub fn forked_run(forked: &Forked, fork: &RunFolder) -> Option<RunFolder> {
    places_of(forked, fork).find(|run| {
        let mut reader = RunReader::brief(run.clone());
        reader.poll().is_ok() && may_be_origin(reader.history(), forked)
    })
}

/// Lists the possible folders of the other run: beside the fork, as after all runs were moved, and its old place.
fn places_of(forked: &Forked, fork: &RunFolder) -> impl Iterator<Item = RunFolder> {
    let name = Path::new(&forked.from_run).file_name();
    let beside = fork.path().parent().zip(name).map(|(parent, name)| parent.join(name));
    let places = beside.into_iter().chain([PathBuf::from(&forked.folder)]);
    places.filter_map(|place| RunFolder::open(&place).ok())
}

/// Returns whether a run with this history may be the one that was forked, as its name may have been reused. A run that
/// has not begun, such as a fork before its first step, is accepted.
fn may_be_origin(history: &RunHistory, forked: &Forked) -> bool {
    let sum = history.started().map(|started| &started.config_sha256).filter(|sum| !sum.is_empty());
    sum.is_none_or(|sum| *sum == forked.config_sha256)
}

/// Reads the history of the forked run, if it exists, through at most `forks` further forks.
fn history_of_origin(forked: &Forked, fork: &RunFolder, forks: u32) -> Option<RunHistory> {
    places_of(forked, fork).find_map(|run| {
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

fn take(history: &mut RunHistory, line: &[u8]) {
    if history.admit(line) {
        parse(history, line);
    }
}

/// Adds the event of a counted line.
fn parse(history: &mut RunHistory, line: &[u8]) {
    match EventRecord::parse_whole(line) {
        Ok(record) => history.apply(record),
        Err(why) => history.pass_over(&why),
    }
}

/// Counts a line that is too long for an event.
fn pass_over_long(history: &mut RunHistory) {
    if history.admit(b"") {
        history.pass_over(&BadLine::TooLong);
    }
}

/// Adds the events of all lines, except that of consecutive points of training only the last is added. The others are
/// counted by their checksums, or parsed if they have none, and only their losses are read.
fn take_brief(history: &mut RunHistory, lines: &[u8]) {
    let mut lines = lines_of(lines).peekable();
    let mut waiting = None;
    while let Some(line) = lines.next() {
        let is_train = EventRecord::is_train(line);
        let is_whole = match history.admit(line) {
            true if !is_train || line_crc::check(line) != LineCrc::Absent => true,
            true => EventRecord::parse_whole(line).map_err(|why| history.pass_over(&why)).is_ok(),
            false => false,
        };
        if is_whole && let Some(passed) = waiting.replace(line) {
            history.pass_over_train(passed);
        }
        // After a loss, the first readable line dates the beginning of the run.
        let is_first = history.began().is_none() && !history.damage().is_none();
        if is_train && !is_first && lines.peek().is_some_and(|next| EventRecord::is_train(next)) {
            continue;
        }
        let Some(line) = waiting.take() else { continue };
        let generation = history.generation();
        parse(history, line);
        // The newest point became void, and its successor was skipped.
        if history.generation() > generation {
            history.forget_training();
        }
    }
}
