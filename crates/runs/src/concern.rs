//! Problems of a run that its folder shows.
//!
//! They are derived from a run's status, its events and the time, for the window's list and for the command line. The
//! worker, which sees every point, finds jumps of the loss and records them as warnings; a stalled worker cannot report
//! this itself, so readers detect it.

use jiff::Timestamp;

use super::folder::RunFolder;
use super::history::RunHistory;
use super::metric::{Better, MetricInfo};
use super::status::{Status, span};

/// A problem that is marked in lists of runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concern {
    pub kind: ConcernKind,
    /// A description without the run's name.
    pub words: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConcernKind {
    /// The run has failed or crashed.
    Ended,
    /// The newest value of a loss is not finite.
    Diverged,
    /// The worker is alive, but has recorded nothing for far longer than the longest time between two events.
    Stalled,
    /// The worker has recorded a warning during training, such as a jump of the loss, or lines of its events were skipped.
    Warned,
}

impl ConcernKind {
    pub const ALL: [ConcernKind; 4] =
        [ConcernKind::Ended, ConcernKind::Diverged, ConcernKind::Stalled, ConcernKind::Warned];

    /// Returns whether the run is lost unless someone acts.
    pub fn is_grave(self) -> bool {
        matches!(self, ConcernKind::Ended | ConcernKind::Diverged)
    }

    /// Returns the word for lists; empty if the run's status already names the problem.
    pub fn word(self) -> &'static str {
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
        let found = kinds.into_iter().filter_map(|(kind, words)| Some(Concern { kind, words: words? }));
        let warned = history
            .incidents()
            .iter()
            .rev()
            .take(WARNINGS)
            .map(|warning| format!("step {}: {}", warning.step, warning.message))
            .map(|words| Concern { kind: ConcernKind::Warned, words });
        let skipped = Some(history.skipped_text()).filter(|text| !text.is_empty());
        let skipped = skipped.map(|text| format!("{}: {text}", RunFolder::EVENTS));
        found.chain(skipped.map(|words| Concern { kind: ConcernKind::Warned, words })).chain(warned).collect()
    }

    /// Joins the kinds of concerns for a list, such as `diverged, warned`.
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
        format!(
            "its worker is alive, but has recorded nothing for {silent}; before, no pause was longer than {longest}"
        )
    })
}
