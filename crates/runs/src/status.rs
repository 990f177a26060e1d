//! The status of a run, and the problems that its folder shows.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use super::event::Event;
use super::folder::RunFolder;
use super::history::{Ending, RunHistory};
use super::lock::{LockOwner, LockState, last_beat};
use super::metric::{Better, MetricInfo};
use super::plain_file::last_lines;

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
        last_output: String,
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
const LAST_OUTPUT_BYTES: u64 = 2000;

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
            // The worker that has taken the run since then has not yet recorded that it resumes it.
            Some(Ending::Stopped | Ending::Failed(_)) if is_of_another(&lock_state, history) => {}
            Some(Ending::Stopped) => return Status::Stopped,
            Some(Ending::Finished) => return Status::Finished,
            Some(Ending::Failed(message)) => return Status::Failed(message.clone()),
            None => {}
        }
        match lock_state {
            LockState::Free(_) => Status::Crashed { last_output: last_output(run) },
            LockState::Remote(owner) => silent(run, history, Some(owner.host), now),
            LockState::NeverTaken if is_unused(history) => not_begun(run, now),
            LockState::NeverTaken | LockState::Unknown | LockState::Held(_) => silent(run, history, None, now),
        }
    }

    /// Whether a worker is running, or may be.
    pub fn is_open(&self) -> bool {
        matches!(self, Status::Starting | Status::Running(_) | Status::Silent { .. })
    }

    /// Whether a worker that may be running on another machine has been silent for so long that it is probably gone.
    pub fn is_lost(&self) -> bool {
        matches!(self, Status::Silent { seconds: GONE.., .. })
    }

    pub fn name(&self) -> &'static str {
        match self {
            Status::Starting => "starting",
            Status::Running(_) => "running",
            Status::Stopped => "stopped",
            Status::Finished => "finished",
            Status::Failed(_) => "failed",
            Status::Crashed { .. } => "crashed",
            Status::Silent { .. } => "silent",
        }
    }

    /// The name or, for a silent worker, the time since its last sign of life.
    pub fn label(&self) -> String {
        match self {
            Status::Silent { seconds, .. } => format!("last seen {} ago", span(*seconds)),
            status => status.name().to_owned(),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str(&self.label())?;
        match self {
            Status::Running(Some(owner)) => write!(text, ", process {} on {}", owner.pid, owner.host),
            Status::Failed(message) => write!(text, ": {message}"),
            Status::Crashed { last_output } if last_output.is_empty() => {
                write!(text, "; its worker ended without a final event")
            }
            Status::Crashed { last_output } => {
                write!(text, "; its worker ended without a final event; its last output:\n{last_output}")
            }
            Status::Silent { host: Some(host), .. } => write!(text, ", on {host}"),
            _ => Ok(()),
        }
    }
}

/// Whether the worker that is gone took the run after the last final event, which an earlier worker recorded.
fn is_of_another(lock_state: &LockState, history: &RunHistory) -> bool {
    matches!((lock_state, history.ended()), (LockState::Free(owner), Some(line)) if line <= owner.lines)
}

/// Whether no worker has recorded anything: in a fork, only the event of its origin precedes.
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
    let output = last_output(run);
    Status::Failed(if output.is_empty() {
        "its worker never began".to_owned()
    } else {
        format!("its worker never began; its last output:\n{output}")
    })
}

/// Reads the end of the log, in whole lines.
pub fn last_output(run: &RunFolder) -> String {
    last_lines(&run.log(), LAST_OUTPUT_BYTES).trim_end().to_owned()
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

// Problems of a run that its folder shows.
//
// They are derived from a run's status, its events and the time, for the window's list and for the command line. The
// worker, which sees every point, finds jumps of the loss and records them as warnings; a stalled worker cannot report
// this itself, so readers detect it.

/// A problem that is marked in lists of runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concern {
    pub kind: ConcernKind,
    /// A description without the run's name.
    pub description: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConcernKind {
    /// The run has failed or crashed.
    Ended,
    /// The newest value of a loss is not finite.
    Diverged,
    /// The worker is alive, but has recorded nothing for far longer than the longest time between two events.
    Stalled,
    /// The worker has recorded a warning during training, such as a jump of the loss, or lines of its events were
    /// skipped.
    Warned,
}

impl ConcernKind {
    pub const ALL: [ConcernKind; 4] =
        [ConcernKind::Ended, ConcernKind::Diverged, ConcernKind::Stalled, ConcernKind::Warned];

    /// Whether the run is lost unless the user acts.
    pub fn is_grave(self) -> bool {
        matches!(self, ConcernKind::Ended | ConcernKind::Diverged)
    }

    /// The label for lists; empty if the run's status already names the problem.
    pub fn label(self) -> &'static str {
        match self {
            ConcernKind::Ended => "",
            ConcernKind::Diverged => "diverged",
            ConcernKind::Stalled => "stalled",
            ConcernKind::Warned => "warned",
        }
    }
}

/// A session is stalled when it has recorded nothing for this many times its longest pause.
const FAR_LONGER: f64 = 20.0;
/// The shortest time in seconds after which a session can be stalled: its first evaluation or checkpoint takes longer
/// than any step before.
const PATIENCE_S: f64 = 600.0;
/// The largest age in seconds of the heartbeat of a living worker.
const BEATS: u64 = 60;
/// The number of the newest warnings that are shown.
const WARNINGS: usize = 5;

impl Concern {
    /// Finds the problems of a run with this status and history at the time `now`, the gravest first.
    pub fn of(status: &Status, history: &RunHistory, now: Timestamp) -> Vec<Concern> {
        let ended = match status {
            Status::Failed(_) | Status::Crashed { .. } => Some(status.to_string()),
            _ => None,
        };
        let diverged = history.metrics().into_iter().find_map(|info| diverged(history, &info));
        let kinds = [
            (ConcernKind::Ended, ended),
            (ConcernKind::Diverged, diverged),
            (ConcernKind::Stalled, stalled(status, history, now)),
        ];
        let found =
            kinds.into_iter().filter_map(|(kind, description)| Some(Concern { kind, description: description? }));
        let warned = history
            .incidents()
            .iter()
            .rev()
            .take(WARNINGS)
            .map(|warning| format!("step {}: {}", warning.step, warning.message))
            .map(|description| Concern { kind: ConcernKind::Warned, description });
        let skipped = Some(history.skipped_text()).filter(|text| !text.is_empty());
        let skipped = skipped.map(|text| format!("{}: {text}", RunFolder::EVENTS));
        found
            .chain(skipped.map(|description| Concern { kind: ConcernKind::Warned, description }))
            .chain(warned)
            .collect()
    }

    /// Joins the kinds of concerns for a list, such as `diverged, warned`.
    pub fn summary(concerns: &[Concern]) -> String {
        let mut description: Vec<&str> = concerns.iter().map(|concern| concern.kind.label()).collect();
        description.dedup();
        description.retain(|label| !label.is_empty());
        description.join(", ")
    }
}

fn diverged(history: &RunHistory, info: &MetricInfo) -> Option<String> {
    let (step, value) = history.latest_at(info.metric()?)?;
    let is_bad = info.better == Better::Lower && !value.is_finite();
    is_bad.then(|| format!("{} at step {step}", info.labeled_value(value)))
}

fn stalled(status: &Status, history: &RunHistory, now: Timestamp) -> Option<String> {
    let is_alive = match status {
        Status::Running(_) => true,
        Status::Silent { seconds, .. } => *seconds < BEATS,
        _ => false,
    };
    let silent_s = now.duration_since(history.last()?.time).as_secs_f64();
    let longest_s = history.longest_pause_s().filter(|_| is_alive)?;
    (silent_s > PATIENCE_S.max(FAR_LONGER * longest_s)).then(|| {
        let [silent, longest] = [silent_s, longest_s.ceil()].map(|seconds| span(seconds as u64));
        format!(
            "its worker is alive, but has recorded nothing for {silent}; before, no pause was longer than {longest}"
        )
    })
}
