//! How it stands with a run.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use super::event::Event;
use super::folder::RunFolder;
use super::history::{Ending, RunHistory};
use super::lock::{LockOwner, LockState, last_beat};
use super::tail::last_lines;

/// How it stands with a run, as far as it can be known from here.
#[derive(Clone, Debug, PartialEq)]
pub enum Status {
    /// It was made, and its worker is not at work yet.
    Starting,
    /// Its worker lives on this machine.
    Running(Option<LockOwner>),
    /// It was stopped, and can be resumed.
    Stopped,
    Finished,
    /// Its worker said why it could not go on, or never began.
    Failed(String),
    /// Its worker, on this machine, is gone without a goodbye.
    Crashed {
        last_words: String,
    },
    /// Its worker has said no goodbye, and whether it lives cannot be known from here.
    Silent {
        host: Option<String>,
        /// Since the worker was last heard.
        seconds: u64,
    },
}

/// A worker has this long to start before it counts as failed: it loads gigabytes of libraries first.
const START: SignedDuration = SignedDuration::from_secs(120);
/// A worker on another machine that was not heard for so many seconds is taken to be gone.
const GONE: u64 = 600;
/// So much of the end of the log are last words.
const LAST_WORDS: u64 = 2000;

impl Status {
    /// The status of a run with this life and this history, which must have been read after the life was looked
    /// at: else a worker that ends in between would seem to have said no goodbye. [`RunReader::status`] does so.
    ///
    /// [`RunReader::status`]: super::RunReader::status
    pub fn of(run: &RunFolder, lock_state: LockState, history: &RunHistory, now: Timestamp) -> Status {
        if let LockState::Held(owner) = lock_state {
            return Status::Running(owner);
        }
        match history.ending() {
            // A worker that has taken the run since then was to go on with it, and has not come to say so.
            Some(Ending::Stopped | Ending::Failed(_)) if is_of_another(&lock_state, history) => {}
            Some(Ending::Stopped) => return Status::Stopped,
            Some(Ending::Finished) => return Status::Finished,
            Some(Ending::Failed(message)) => return Status::Failed(message.clone()),
            None => {}
        }
        match lock_state {
            LockState::Free(_) => Status::Crashed { last_words: last_words(run) },
            LockState::Remote(owner) => silent(run, history, Some(owner.host), now),
            LockState::NeverTaken if is_unused(history) => not_begun(run, now),
            LockState::NeverTaken | LockState::Unknown | LockState::Held(_) => silent(run, history, None, now),
        }
    }

    /// Whether a worker is at work, or may be.
    pub fn is_open(&self) -> bool {
        matches!(self, Status::Starting | Status::Running(_) | Status::Silent { .. })
    }

    /// Whether a worker may be at work on it on another machine, but was not heard from for so long that it is
    /// probably gone.
    pub fn is_lost(&self) -> bool {
        matches!(self, Status::Silent { seconds: GONE.., .. })
    }

    /// In a word or a few.
    pub fn word(&self) -> String {
        match self {
            Status::Starting => "starting".to_owned(),
            Status::Running(_) => "running".to_owned(),
            Status::Stopped => "stopped".to_owned(),
            Status::Finished => "finished".to_owned(),
            Status::Failed(_) => "failed".to_owned(),
            Status::Crashed { .. } => "crashed".to_owned(),
            Status::Silent { seconds, .. } => format!("last heard {} ago", span(*seconds)),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str(&self.word())?;
        match self {
            Status::Running(Some(owner)) => write!(text, ", process {} on {}", owner.pid, owner.host),
            Status::Failed(message) => write!(text, ": {message}"),
            Status::Crashed { last_words } if last_words.is_empty() => {
                write!(text, "; its worker is gone without a goodbye")
            }
            Status::Crashed { last_words } => {
                write!(text, "; its worker is gone without a goodbye; its last words:\n{last_words}")
            }
            Status::Silent { host: Some(host), .. } => write!(text, ", on {host}"),
            _ => Ok(()),
        }
    }
}

/// Whether the worker that is gone took the run after the last goodbye, which then was that of an earlier one.
fn is_of_another(lock_state: &LockState, history: &RunHistory) -> bool {
    let (LockState::Free(owner), Some((line, time))) = (lock_state, history.ended()) else { return false };
    // Versions before do not say it by lines.
    owner.lines.map_or(owner.started > time, |before| line <= before)
}

/// Whether no worker has said anything: of a fork, what it comes from is said before.
fn is_unused(history: &RunHistory) -> bool {
    history.last().is_none_or(|last| matches!(last.event, Event::Forked(_)))
}

fn silent(run: &RunFolder, history: &RunHistory, host: Option<String>, now: Timestamp) -> Status {
    let event = history.last().map(|last| now.duration_since(last.time));
    let since = [last_beat(run, now), event].into_iter().flatten().min();
    Status::Silent { host, seconds: since.map_or(0, |since| since.as_secs().max(0) as u64) }
}

fn not_begun(run: &RunFolder, now: Timestamp) -> Status {
    let made = run.config().metadata().and_then(|data| data.modified()).ok();
    let made = made.and_then(|made| Timestamp::try_from(made).ok());
    if made.is_some_and(|made| now.duration_since(made) < START) {
        return Status::Starting;
    }
    let words = last_words(run);
    Status::Failed(if words.is_empty() {
        "its worker never began".to_owned()
    } else {
        format!("its worker never began; its last words:\n{words}")
    })
}

/// The end of the log, in whole lines.
pub fn last_words(run: &RunFolder) -> String {
    last_lines(&run.log(), LAST_WORDS).trim_end().to_owned()
}

/// A number of seconds as people say it, such as `3 min`.
pub fn span(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}
