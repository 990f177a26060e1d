//! The details of one run as text.

use std::path::Path;

use valleyscope_engine::terminal_escape::{visible, visible_lines};
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::run::{RunConfig, with_changed_settings};
use valleyscope_runs::plain_file::{self, Links};
use valleyscope_runs::{
    Event, EventRecord, Forked, RunFolder, RunHistory, RunWarning, SettingChange, TextSample, Timestamp, forked_run,
    last_lines,
};

/// The number of bytes of the end of a log that are shown.
const LOG_TAIL: u64 = 128 * 1024;
/// The number of the newest texts that are shown.
const SAMPLES: usize = 50;
/// The number of the newest warnings that are shown.
const WARNINGS: usize = 1000;

/// The texts and lists that the tabs below the plots show of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RunDetail {
    pub log: String,
    pub config: String,
    /// The training with which the run began, if it can be read.
    pub begun: Option<Preset>,
    /// The training with the settings in force, if it can be read.
    pub in_force: Option<Preset>,
    /// The changes of settings by commands, with the steps after which they were made.
    pub changes: Vec<(u64, SettingChange)>,
    /// The events, one per line, without the points of curves.
    pub events: String,
    /// The warnings, the newest first, one per line.
    pub warnings: String,
    /// The number of warnings.
    pub warned: usize,
    /// The newest generated texts, the newest first.
    pub samples: Vec<TextSample>,
    /// The steps of the checkpoints in its folder, in order.
    pub checkpoints: Vec<u64>,
    /// The origin of a fork as text, whose second part is a name, and whether that run is found.
    pub fork: Option<[String; 3]>,
    /// A description of lost events; empty if there are none.
    pub damage: String,
}

impl RunDetail {
    /// Reads the files of a run with this history.
    pub(super) fn of(run: &RunFolder, history: &RunHistory) -> RunDetail {
        let warning = |warning: &RunWarning| line(warning.time, warning.step, &visible(&warning.message));
        // A folder that cannot be read has no usable checkpoint.
        let checkpoints = run.checkpoints().unwrap_or_default();
        let config = RunConfig::begun(run, history).ok();
        let other = |error| plain_file::read_text(&run.other_config(), Links::Refused, LOG_TAIL * 8).map_err(|_| error);
        RunDetail {
            in_force: config.as_ref().and_then(|config| config.with_changed_settings(history).ok()),
            begun: config.map(|config| config.preset),
            changes: history.changes().to_vec(),
            // A run without worker output has no log.
            log: log_tail(&run.log(), LOG_TAIL),
            config: run.config_text().or_else(other).unwrap_or_else(|error| format!("cannot be read: {error}")),
            events: event_lines(history.recent()),
            warnings: history.warnings().iter().rev().take(WARNINGS).map(warning).collect(),
            warned: history.warnings().len(),
            samples: history.samples().iter().rev().take(SAMPLES).map(escaped_sample).collect(),
            fork: history.forked().map(|forked| fork(run, forked)),
            damage: damage(history, &checkpoints),
            checkpoints,
        }
    }
}

impl RunDetail {
    /// Returns whether settings of the run can be changed while it runs.
    pub(super) fn has_live_settings(&self) -> bool {
        self.in_force.as_ref().and_then(Preset::workload).is_some_and(|workload| !workload.live().is_empty())
    }
}

fn line(time: Timestamp, step: u64, text: &str) -> String {
    format!("{}  step {step}: {text}\n", time.strftime("%Y-%m-%d %H:%M:%S"))
}

/// Returns events as lines, in which successive checkpoints are one line.
fn event_lines<'e>(records: impl Iterator<Item = &'e EventRecord>) -> String {
    let (mut text, mut checkpoints): (String, Vec<&EventRecord>) = (String::new(), Vec::new());
    let fold = |checkpoints: &mut Vec<&EventRecord>| {
        let last = checkpoints.last().map(|last| match checkpoints.len() {
            1 => line(last.time, last.step, &last.event.sentence()),
            count => line(last.time, last.step, &format!("{count} checkpoints, the last at step {}", last.step)),
        });
        checkpoints.clear();
        last.unwrap_or_default()
    };
    for record in records {
        if matches!(record.event, Event::Checkpoint { .. }) {
            checkpoints.push(record);
        } else {
            text.push_str(&fold(&mut checkpoints));
            text.push_str(&line(record.time, record.step, &record.event.sentence()));
        }
    }
    text.push_str(&fold(&mut checkpoints));
    text
}

/// Returns a training with the settings that were in force after a step, if these are its settings.
pub(super) fn training_after(begun: &Preset, changes: &[(u64, SettingChange)], step: u64) -> Option<Preset> {
    let until = changes.iter().filter(|(at, _)| *at <= step);
    let settings = until.map(|(_, change)| (change.name.clone(), change.now)).collect();
    with_changed_settings(begun, &settings).ok()
}

/// Describes the lost events of a run with these checkpoints.
fn damage(history: &RunHistory, checkpoints: &[u64]) -> String {
    if history.is_gone(checkpoints) {
        return "nothing is left of them, and there are checkpoints".to_owned();
    }
    history.skipped_text()
}

/// Escapes a text for display.
fn escaped_sample(sample: &TextSample) -> TextSample {
    TextSample { text: visible_lines(&sample.text).into_owned(), ..sample.clone() }
}

fn fork(run: &RunFolder, forked: &Forked) -> [String; 3] {
    let [before, name, mut after] = forked.sentence_parts();
    if forked_run(forked, run).is_none() {
        after = format!("{after}; {}", forked.missing());
    }
    [before, name, after].map(|part| visible(&part).into_owned())
}

/// Returns the end of a log, escaped for display.
pub(super) fn log_tail(path: &Path, most: u64) -> String {
    visible_lines(&last_lines(path, most)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::event_lines;
    use valleyscope_runs::{Event, EventRecord, Timestamp};

    #[test]
    fn successive_checkpoints_are_one_line_of_events() {
        let record = |step, event| EventRecord { time: Timestamp::UNIX_EPOCH, step, wall_s: 0.0, event };
        let saved = |step| record(step, Event::Checkpoint { file: format!("{step}.safetensors") });
        let warning = record(250, Event::Warning { message: "look at this".into() });
        let records = [saved(100), saved(200), warning, saved(300)];
        let text = event_lines(records.iter());
        let lines: Vec<&str> = text.lines().map(|line| line.split_once("  ").map_or(line, |(_, text)| text)).collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert_eq!(lines[0], "step 200: 2 checkpoints, the last at step 200");
        assert!(lines[2].starts_with("step 300: checkpoint 300"), "{text}");
    }
}
