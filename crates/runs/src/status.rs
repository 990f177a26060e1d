//! The status of a run.

use std::fmt;
use std::time::SystemTime;

use jiff::{SignedDuration, Timestamp};

use super::event::Event;
use super::folder::RunFolder;
use super::history::{Ending, RunHistory};
use super::lock::{LockOwner, LockState, last_beat};
use super::tail::last_lines;

/// The status of a run as seen from this machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Status {
    /// The run was created, and its worker has not started yet.
    Starting,
    /// The worker is alive on this machine.
    Running(Option<LockOwner>),
    /// The run was stopped, and can be resumed.
    Stopped,
    Finished,
    /// The worker recorded why it could not continue, or never began.
    Failed(String),
    /// The worker, on this machine, is gone without a final event.
    Crashed {
        last_words: String,
    },
    /// The worker has recorded no final event, and this machine cannot see whether it is alive.
    Silent {
        host: Option<String>,
        /// Seconds since the worker's last heartbeat or event.
        seconds: u64,
    },
}

/// The time after which a worker that has not started counts as failed: it loads gigabytes of libraries first.
const START: SignedDuration = SignedDuration::from_secs(120);
/// The number of seconds without a heartbeat after which a worker on another machine counts as gone.
const GONE: u64 = 600;
/// The number of bytes of the log's end that are shown.
const LAST_WORDS: u64 = 2000;

impl Status {
    /// Derives the status of a run from its lock and its history. The history must have been read after the lock:
    /// otherwise a worker that ends in between would seem to have recorded no final event. [`RunReader::status`] reads
    /// them in this order.
    ///
    /// [`RunReader::status`]: super::RunReader::status
    pub fn of(run: &RunFolder, lock_state: LockState, history: &RunHistory, now: Timestamp) -> Status {
        if let LockState::Held(owner) = lock_state {
            return Status::Running(owner);
        }
        match history.ending() {
            // The worker that has taken the run since then has not recorded yet that it resumes it.
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

    /// Returns whether a worker is running, or may be.
    pub fn is_open(&self) -> bool {
        matches!(self, Status::Starting | Status::Running(_) | Status::Silent { .. })
    }

    /// Returns whether a worker that may be running on another machine has been silent for so long that it is probably
    /// gone.
    pub fn is_lost(&self) -> bool {
        matches!(self, Status::Silent { seconds: GONE.., .. })
    }

    /// Returns the status in a few words.
    pub fn word(&self) -> String {
        match self {
            Status::Starting => "starting".to_owned(),
            Status::Running(_) => "running".to_owned(),
            Status::Stopped => "stopped".to_owned(),
            Status::Finished => "finished".to_owned(),
            Status::Failed(_) => "failed".to_owned(),
            Status::Crashed { .. } => "crashed".to_owned(),
            Status::Silent { seconds, .. } => format!("last seen {} ago", span(*seconds)),
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
                write!(text, "; its worker ended without a final event")
            }
            Status::Crashed { last_words } => {
                write!(text, "; its worker ended without a final event; its last output:\n{last_words}")
            }
            Status::Silent { host: Some(host), .. } => write!(text, ", on {host}"),
            _ => Ok(()),
        }
    }
}

/// Returns whether the worker that is gone took the run after the last final event, which an earlier one recorded.
fn is_of_another(lock_state: &LockState, history: &RunHistory) -> bool {
    matches!((lock_state, history.ended()), (LockState::Free(owner), Some(line)) if line <= owner.lines)
}

/// Returns whether no worker has recorded anything: in a fork, only the event of its origin comes before.
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
        format!("its worker never began; its last output:\n{words}")
    })
}

/// Returns the end of the log, in whole lines.
pub fn last_words(run: &RunFolder) -> String {
    last_lines(&run.log(), LAST_WORDS).trim_end().to_owned()
}

/// Returns the present time, or the nearest one that can be written where the clock is beyond the year 9999.
pub fn now() -> Timestamp {
    nearest(SystemTime::now())
}

fn nearest(time: SystemTime) -> Timestamp {
    let end = if time < SystemTime::UNIX_EPOCH { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::try_from(time).unwrap_or(end)
}

/// Formats a number of seconds in a readable unit, such as `3 min`.
pub fn span(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::nearest;

    #[test]
    fn a_clock_in_the_year_10000_gives_the_last_time_that_can_be_written() {
        let year_10000 = SystemTime::UNIX_EPOCH + Duration::from_secs(253_402_300_900);
        assert_eq!(nearest(year_10000).strftime("%Y-%m-%d").to_string(), "9999-12-30");
        let year_2026 = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        assert_eq!(nearest(year_2026).as_second(), 1_800_000_000);
    }
}
