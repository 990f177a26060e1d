//! The history of a run as plain values: curves, samples, answers, and the ending.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::{self, Display};

use jiff::Timestamp;

use super::curves::{LongestInterval, LossTallies, LossTally, MetricCurve, MetricPoints};
use super::event::{Event, EventRecord, Forked, SettingChange, Started};
use super::measure::Measure;
use super::metric::{MetricId, MetricInfo, MetricSource, MetricValues};

#[derive(Clone, Debug, PartialEq)]
pub struct TextSample {
    pub step: u64,
    pub time: Timestamp,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunWarning {
    pub step: u64,
    pub time: Timestamp,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandAnswer {
    pub id: String,
    pub ok: bool,
    pub message: String,
}

/// The final event of the last session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    Stopped,
    Finished,
    Failed(String),
}

/// The number of newest events that are stored in full.
const RECENT: usize = 50;

/// The contents of the events of a run.
///
/// Resuming makes earlier events of later steps void, and they are dropped: the curves of a killed and resumed run have
/// no gap, no repeat and no jump.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunHistory {
    forked: Option<Forked>,
    /// Whether the points before the fork were searched; the next field states why they are missing.
    is_shared: bool,
    missing: Option<String>,
    started: Option<Started>,
    began: Option<Timestamp>,
    steps: Option<u64>,
    last: Option<EventRecord>,
    /// The ending of the last session, with the number of its line.
    ending: Option<(Ending, u64)>,
    sessions: u64,
    /// Step and seconds of training at which the last session began.
    session_start: (u64, f64),
    training: MetricPoints,
    tallies: LossTallies,
    evaluations: MetricPoints,
    measures: MetricPoints,
    /// The measures of single tensors in the last event that has any, with its step.
    tensors: Option<(u64, Vec<(String, MetricValues)>)>,
    samples: Vec<TextSample>,
    checkpoints: Vec<(u64, String)>,
    pub(super) markers: Markers,
    warnings: Vec<RunWarning>,
    /// The warnings that do not concern the start of a session.
    incidents: Vec<RunWarning>,
    interval: LongestInterval,
    answers: Vec<CommandAnswer>,
    /// The newest events that are not points of curves, with their lines.
    recent: VecDeque<(u64, EventRecord)>,
    records: u64,
    /// The number of complete lines so far.
    lines: u64,
    /// The number of lines among them that are no events.
    skipped: u64,
    generation: u64,
}

impl RunHistory {
    pub fn apply(&mut self, record: EventRecord) {
        self.records += 1;
        if !matches!(record.event, Event::Forked(_) | Event::Train(_)) {
            self.began.get_or_insert(record.time);
        }
        match &record.event {
            Event::Forked(forked) => {
                // Another run's points do not replace its own.
                if !self.is_begun() {
                    self.forked = Some(forked.clone());
                }
            }
            Event::Started(started) => {
                // A resumed run may repeat this event.
                if self.sessions == 0 {
                    self.begin_session(&record);
                }
                self.steps = Some(started.steps).filter(|steps| *steps > 0);
                self.started = Some(started.clone());
            }
            Event::Resumed { from_step } => {
                self.begin_session(&record);
                self.forget_after(*from_step);
                self.markers.resumed.push(*from_step);
            }
            Event::Train(metrics) => {
                self.tallies.push(metrics);
                self.training.push(&record, metrics);
            }
            Event::Eval(metrics) => self.evaluations.push(&record, metrics),
            Event::Measure(Measure { metrics, tensors }) => {
                self.measures.push(&record, metrics);
                if !tensors.is_empty() {
                    self.tensors = Some((record.step, tensors.clone()));
                }
            }
            Event::Sample { text } => {
                self.samples.push(TextSample { step: record.step, time: record.time, text: text.clone() });
            }
            Event::Checkpoint { file } => {
                self.tallies.keep_at(record.step);
                self.checkpoints.push((record.step, file.clone()));
            }
            Event::Command { id, ok, message, steps } => {
                self.steps = steps.or(self.steps);
                self.answers.push(CommandAnswer { id: id.clone(), ok: *ok, message: message.clone() });
            }
            Event::Changed { changes } => {
                self.steps = self.markers.change(record.step, changes).or(self.steps);
            }
            Event::Warning { message } => {
                let warning = RunWarning { step: record.step, time: record.time, message: message.clone() };
                self.warnings.push(warning.clone());
                if record.step > self.session_start.0 {
                    self.incidents.push(warning);
                }
            }
            Event::Stopped => self.end(Ending::Stopped),
            Event::Finished => self.end(Ending::Finished),
            Event::Failed { message } => self.end(Ending::Failed(message.clone())),
        }
        if !matches!(record.event, Event::Train(_) | Event::Eval(_) | Event::Measure(_)) {
            self.recent.push_back((self.lines(), record.clone()));
            self.recent.drain(..self.recent.len().saturating_sub(RECENT));
        }
        self.interval.add(self.lines(), record.time);
        self.last = Some(record);
    }

    fn begin_session(&mut self, record: &EventRecord) {
        self.sessions += 1;
        self.session_start = (record.step, record.wall_s);
        self.ending = None;
        self.interval = LongestInterval::default();
    }

    fn end(&mut self, ending: Ending) {
        self.ending = Some((ending, self.lines()));
    }

    pub(super) fn forget_after(&mut self, step: u64) {
        if self.last.as_ref().is_some_and(|last| last.step > step) {
            self.tallies.return_to(step);
        }
        let points = [&mut self.training, &mut self.evaluations, &mut self.measures];
        let mut forgotten = points.into_iter().fold(false, |any, points| points.forget_after(step) | any);
        self.tensors.take_if(|(at, _)| *at > step);
        let known = self.samples.len();
        self.samples.retain(|sample| sample.step <= step);
        self.incidents.retain(|warning| warning.step <= step);
        self.steps = self.markers.forget_after(step).or(self.steps);
        forgotten |= self.samples.len() < known;
        self.generation += u64::from(forgotten);
    }
}

impl RunHistory {
    pub fn forked(&self) -> Option<&Forked> {
        self.forked.as_ref()
    }

    /// States why points before a fork are missing, if they were searched.
    pub fn missing(&self) -> Option<&str> {
        self.missing.as_deref()
    }

    pub fn started(&self) -> Option<&Started> {
        self.started.as_ref()
    }

    /// The time of the first event, at which the first session began; a fork's origin and points of training do not
    /// count.
    pub fn began(&self) -> Option<Timestamp> {
        self.began
    }

    pub fn step(&self) -> u64 {
        self.last.as_ref().map_or(0, |last| last.step)
    }

    pub fn steps(&self) -> Option<u64> {
        self.steps
    }

    pub fn wall_s(&self) -> f64 {
        self.last.as_ref().map_or(0.0, |last| last.wall_s)
    }

    /// The steps per second of training since the last session began.
    pub fn steps_per_s(&self) -> Option<f64> {
        let (step, wall_s) = self.session_start;
        let rate = self.step().checked_sub(step)? as f64 / (self.wall_s() - wall_s);
        (rate.is_finite() && rate > 0.0).then_some(rate)
    }

    /// Estimates the seconds of training until all steps are taken, at the rate so far.
    pub fn seconds_left(&self) -> Option<f64> {
        Some(self.steps?.saturating_sub(self.step()) as f64 / self.steps_per_s()?)
    }

    pub fn last(&self) -> Option<&EventRecord> {
        self.last.as_ref()
    }

    /// The ending of the last session, if it was recorded.
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref().map(|(ending, _)| ending)
    }

    pub fn ended(&self) -> Option<u64> {
        self.ending.as_ref().map(|(_, line)| *line)
    }

    /// The number of times that the run was started or resumed.
    pub fn sessions(&self) -> u64 {
        self.sessions
    }

    pub fn curve(&self, metric: MetricId) -> MetricCurve<'_> {
        const NONE: MetricCurve<'static> = MetricCurve { step: &[], wall_s: &[], time_s: &[], value: &[] };
        let of_training = self.training.curve(metric).or_else(|| self.measures.curve(metric));
        of_training.or_else(|| self.evaluations.curve(metric)).unwrap_or(NONE)
    }

    /// The best and the smoothed value of a metric, also where the reader keeps only the newest points of training.
    pub fn tally(&self, metric: MetricId) -> LossTally {
        self.tallies.of(metric).unwrap_or_else(|| {
            let mut tally = LossTally::default();
            self.curve(metric).value.iter().for_each(|value| tally.push(*value));
            tally
        })
    }

    /// Lists the metrics that the run logs, those of training before those of evaluations: first those that it
    /// describes, then any others that were measured. These others are grouped by the part of their names before a
    /// slash, and losses come first in a group. A name with a word such as `val` makes a metric one of evaluations.
    pub fn metrics(&self) -> Vec<MetricInfo> {
        let described = self.started.as_ref().map_or(&[][..], |started| &started.metrics);
        let mut infos: Vec<MetricInfo> = described.iter().take(MetricValues::MOST).cloned().collect();
        let known = infos.len();
        for metric in self.training.metrics().chain(self.measures.metrics()).chain(self.evaluations.metrics()) {
            if !infos.iter().any(|info| info.name == metric.name()) {
                infos.push(metric.info());
            }
        }
        for info in &mut infos[known..] {
            let is_in = |points: &MetricPoints| info.metric().is_some_and(|metric| points.curve(metric).is_some());
            if is_in(&self.measures) && !is_in(&self.training) {
                let usual = Measure::infos().into_iter().find(|usual| usual.name == info.name);
                *info = usual.unwrap_or(MetricInfo { source: MetricSource::Training, ..info.clone() });
            } else if !is_in(&self.training) {
                info.source = MetricSource::Evaluation;
            } else if info.name == MetricId::TRAIN_LOSS.name() {
                *info = MetricInfo { name: info.name.clone(), ..MetricId::LOSS.info() };
            }
        }
        let groups: Vec<String> = infos[known..].iter().map(|info| info.group().to_owned()).collect();
        infos[known..].sort_by_key(|info| (groups.iter().position(|group| group == info.group()), info.better));
        infos.sort_by_key(|info| info.source == MetricSource::Evaluation);
        infos
    }

    pub fn evaluated(&self) -> Vec<MetricInfo> {
        self.metrics().into_iter().filter(|info| info.source == MetricSource::Evaluation).collect()
    }

    pub fn latest(&self, metric: MetricId) -> Option<f64> {
        self.latest_at(metric).map(|(_, value)| value)
    }

    /// The newest value of a metric, and its step.
    pub fn latest_at(&self, metric: MetricId) -> Option<(u64, f64)> {
        let curve = self.curve(metric);
        Some((*curve.step.last()?, *curve.value.last()?))
    }

    /// The measures of single parameter tensors in the newest event that has any, with its step.
    pub fn tensors(&self) -> Option<(u64, &[(String, MetricValues)])> {
        self.tensors.as_ref().map(|(step, tensors)| (*step, &tensors[..]))
    }

    pub fn samples(&self) -> &[TextSample] {
        &self.samples
    }

    /// Lists the names of the checkpoints, with their steps; old ones may have been deleted since.
    pub fn checkpoints(&self) -> &[(u64, String)] {
        &self.checkpoints
    }

    /// Whether checkpoints were saved, or may have been according to skipped lines.
    pub fn may_have_checkpoints(&self) -> bool {
        !self.checkpoints.is_empty() || self.forked.is_some() || self.skipped > 0 || self.lines == 0
    }

    /// Whether the events of a run with such checkpoints are lost.
    pub fn is_gone(&self, checkpoints: &[u64]) -> bool {
        self.lines == 0 && !checkpoints.is_empty()
    }

    pub fn warnings(&self) -> &[RunWarning] {
        &self.warnings
    }

    /// The warnings of problems during training: those that do not concern the start of a session.
    pub(super) fn incidents(&self) -> &[RunWarning] {
        &self.incidents
    }

    /// The longest time between two events of the last session, in seconds; None before it has taken a step.
    pub(super) fn longest_pause_s(&self) -> Option<f64> {
        self.interval.seconds().filter(|_| self.step() > self.session_start.0)
    }

    /// Lists the answers to commands, oldest first.
    pub fn answers(&self) -> &[CommandAnswer] {
        &self.answers
    }

    /// The newest events that are not points of curves, oldest first.
    pub fn recent(&self) -> impl DoubleEndedIterator<Item = &EventRecord> + ExactSizeIterator {
        self.recent.iter().map(|(_, record)| record)
    }

    /// The newest events after a line.
    pub fn recent_after(&self, line: u64) -> impl Iterator<Item = &EventRecord> {
        self.recent.iter().filter(move |(at, _)| *at > line).map(|(_, record)| record)
    }

    pub fn records(&self) -> u64 {
        self.records
    }

    /// Whether a session has begun, by any event, as its first line may have been skipped; also true for a fork, which
    /// does not begin at step 0.
    pub(super) fn is_begun(&self) -> bool {
        let points = [&self.training, &self.evaluations, &self.measures].iter().any(|points| !points.is_empty());
        let results = !self.samples.is_empty() || !self.checkpoints.is_empty();
        self.sessions > 0 || self.forked.is_some() || points || results || self.skipped > 0
    }

    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// The number of complete lines that are no events, and were skipped.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Describes the skipped lines, such as `skipped 2 lines that are no events`; empty if there are none.
    pub fn skipped_text(&self) -> String {
        match self.skipped {
            0 => String::new(),
            1 => "skipped 1 line that is no event".to_owned(),
            lines => format!("skipped {lines} lines that are no events"),
        }
    }

    /// A number that changes whenever points are removed, as after resuming from an earlier step. Anything derived from
    /// the curves must then be recomputed; otherwise curves only grow.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether the run is a fork whose earlier points have not been searched yet.
    pub(super) fn needs_points_before_fork(&self) -> bool {
        self.forked.is_some() && !self.is_shared
    }

    /// Copies the points and samples of the run that this one was forked from, up to the fork. To be called before it
    /// has its own points.
    pub(super) fn share(&mut self, other: Option<RunHistory>) {
        self.is_shared = true;
        let Some(forked) = &self.forked else { return };
        let Some(mut other) = other else {
            self.missing = Some(forked.missing());
            return;
        };
        other.forget_after(forked.from_step);
        self.markers.shared = other.marks();
        (self.training, self.evaluations, self.samples) = (other.training, other.evaluations, other.samples);
        (self.measures, self.tensors) = (other.measures, other.tensors);
        self.missing = other.missing;
    }

    /// Adds a point of training to the tallies only.
    pub(super) fn add_to_tallies(&mut self, record: &EventRecord) {
        if let Event::Train(metrics) = &record.event {
            self.tallies.push(metrics);
        }
    }

    pub(super) fn forget_training(&mut self) {
        self.training = MetricPoints::default();
    }

    pub(super) fn count_line(&mut self) {
        self.lines += 1;
    }

    /// Records that the last counted line is no event.
    pub(super) fn skip_line(&mut self) {
        self.skipped += 1;
    }

    /// Clears the history, and marks it as another.
    pub(super) fn reset(&mut self) {
        *self = RunHistory { generation: self.generation + 1, ..RunHistory::default() };
    }
}

/// A mark on the curves of a run, after a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunMark {
    pub step: u64,
    pub kind: MarkKind,
    /// A description, such as `γ 0.2 → 0.4`.
    pub label: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkKind {
    Forked,
    Resumed,
    Changed,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Markers {
    /// The marks before a fork, which are the other run's.
    pub shared: Vec<RunMark>,
    /// The steps from which the run was resumed.
    pub resumed: Vec<u64>,
    /// The changes of settings, with the steps after which they were made.
    changes: Vec<(u64, SettingChange)>,
}

impl Markers {
    /// Adds changes of settings; returns the new number of steps of the run, if that is among them.
    pub(super) fn change(&mut self, step: u64, changes: &[SettingChange]) -> Option<u64> {
        self.changes.extend(changes.iter().map(|change| (step, change.clone())));
        let steps = changes.iter().rfind(|change| change.name == SettingChange::STEPS);
        steps.map(|change| change.now as u64)
    }

    /// Removes the markers after a step; returns the number of steps of the run before them, if they have changed it.
    pub(super) fn forget_after(&mut self, step: u64) -> Option<u64> {
        self.resumed.retain(|from_step| *from_step <= step);
        let (valid, void): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.changes).into_iter().partition(|(at, _)| *at <= step);
        self.changes = valid;
        let steps = void.iter().find(|(_, change)| change.name == SettingChange::STEPS);
        steps.map(|(_, change)| change.before as u64)
    }
}

impl RunHistory {
    /// Lists the changes of settings by commands to this run, with the steps after which they were made.
    pub fn changes(&self) -> &[(u64, SettingChange)] {
        &self.markers.changes
    }

    /// Describes the changes of settings, such as `γ 0.2 → 0.4 after step 100`; empty without changes.
    pub fn changes_text(&self) -> String {
        let changes = self.changes().iter().map(|(step, change)| format!("{} after step {step}", change.text()));
        changes.collect::<Vec<_>>().join(", ")
    }

    /// The settings that commands to this run have changed, by their names, with the values now in force.
    pub fn changed_settings(&self) -> BTreeMap<String, f64> {
        self.changes().iter().map(|(_, change)| (change.name.clone(), change.now)).collect()
    }

    /// Copies the history up to a step, as after resuming from it.
    pub fn until(&self, step: u64) -> RunHistory {
        let mut history = self.clone();
        history.forget_after(step);
        history
    }

    /// Lists the marks on the run's curves in the order of steps.
    pub fn marks(&self) -> Vec<RunMark> {
        let mark = |step: u64, kind: MarkKind, label: String| RunMark { step, kind, label };
        let forked = self.forked().map(|forked| mark(forked.from_step, MarkKind::Forked, forked.sentence()));
        // The first session of a fork resumes from its checkpoint.
        let is_own = |step: &&u64| self.forked().is_none_or(|forked| forked.from_step != **step);
        let resumed = self.markers.resumed.iter().filter(is_own);
        let resumed = resumed.map(|&step| mark(step, MarkKind::Resumed, format!("resumed from step {step}")));
        let changed = self.changes().iter().map(|(step, change)| mark(*step, MarkKind::Changed, change.text()));
        let mut marks: Vec<RunMark> =
            self.markers.shared.iter().cloned().chain(forked).chain(resumed).chain(changed).collect();
        marks.sort_by_key(|mark| mark.step);
        marks
    }
}

/// The processes of a run that is trained by several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranks {
    pub count: u64,
    /// The rank that waited least for the others since the previous point, once measured.
    pub slowest_rank: Option<u64>,
    /// The fraction of that time for which rank 0 waited.
    pub wait_share: Option<f64>,
}

impl Ranks {
    pub fn of(history: &RunHistory) -> Option<Ranks> {
        let count = history.started()?.processes.filter(|count| *count > 1)?;
        let newest = |metric| Some(history.latest_at(metric)?.1).filter(|value: &f64| value.is_finite());
        // Points of a session with another number of processes are ignored.
        let is_theirs = newest(MetricId::PROCESSES) == Some(count as f64);
        let newest = |metric| newest(metric).filter(|_| is_theirs);
        let slowest_rank = newest(MetricId::SLOWEST_RANK).map(|rank| rank as u64);
        Some(Ranks { count, slowest_rank, wait_share: newest(MetricId::WAIT_SHARE) })
    }

    /// A short form, such as `4, slowest 2`.
    pub fn brief(&self) -> String {
        let slowest = self.slowest_rank.map(|rank| format!(", slowest {rank}"));
        format!("{}{}", self.count, slowest.unwrap_or_default())
    }
}

impl Display for Ranks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} processes", self.count)?;
        if let Some(rank) = self.slowest_rank {
            write!(f, ", the slowest is rank {rank}")?;
        }
        if let Some(share) = self.wait_share {
            write!(f, ", rank 0 waits {:.1} % of the time", 100.0 * share)?;
        }
        Ok(())
    }
}
