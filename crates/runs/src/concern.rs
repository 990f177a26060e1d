//! Problems of a run, as far as they can be seen from its folder.
//!
//! They are found here from a run's status, its events and the time, for the window's list and for the command line.
//! Jumps of the loss are found by the worker, which sees every point, and are warnings like others; a stalled worker
//! is detected by readers, as it cannot report this itself.

use jiff::Timestamp;

use super::history::RunHistory;
use super::metric::{Better, MetricInfo};
use super::status::{Status, span};

/// A problem that is marked in lists of runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concern {
    pub kind: ConcernKind,
    /// In words, without the run's name.
    pub words: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConcernKind {
    /// It has failed or crashed.
    Ended,
    /// The newest value of a loss is not finite.
    Diverged,
    /// Its worker is alive, and has recorded nothing for far longer than the longest time between two events.
    Stalled,
    /// Its worker has recorded a warning while it trained, such as a jump of the loss.
    Warned,
}

impl ConcernKind {
    /// Whether the run is lost if nothing is done.
    pub fn is_grave(self) -> bool {
        matches!(self, ConcernKind::Ended | ConcernKind::Diverged)
    }

    /// The word in lists; empty where the run's status already says it.
    pub fn word(self) -> &'static str {
        match self {
            ConcernKind::Ended => "",
            ConcernKind::Diverged => "diverged",
            ConcernKind::Stalled => "stalled",
            ConcernKind::Warned => "warned",
        }
    }
}

/// A session is stalled when it has recorded nothing for this many times the longest pause before,
const FAR_LONGER: f64 = 20.0;
/// but not before this many seconds: the first evaluation or checkpoint takes longer than any step before it.
const PATIENCE_S: f64 = 600.0;
/// A worker with a heartbeat within this many seconds is alive.
const BEATS: u64 = 60;
/// The number of the newest warnings that are shown.
const WARNINGS: usize = 5;

impl Concern {
    /// The problems of a run of this status and history at the time `now`, the gravest first.
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
        let found = kinds.into_iter().filter_map(|(kind, words)| Some(Concern { kind, words: words? }));
        let warned = history
            .incidents()
            .iter()
            .rev()
            .take(WARNINGS)
            .map(|warning| format!("step {}: {}", warning.step, warning.message))
            .map(|words| Concern { kind: ConcernKind::Warned, words });
        found.chain(warned).collect()
    }

    /// The kinds of some concerns in words for a list, such as `diverged, warned`.
    pub fn summary(concerns: &[Concern]) -> String {
        let mut words: Vec<&str> = concerns.iter().map(|concern| concern.kind.word()).collect();
        words.dedup();
        words.retain(|word| !word.is_empty());
        words.join(", ")
    }
}

fn diverged(history: &RunHistory, info: &MetricInfo) -> Option<String> {
    let (step, value) = history.latest_at(info.metric()?)?;
    let is_bad = info.better == Better::Lower && !value.is_finite();
    is_bad.then(|| format!("{} at step {step}", info.words(value)))
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
        format!("its worker lives, but has recorded nothing for {silent}; before, no pause was longer than {longest}")
    })
}
