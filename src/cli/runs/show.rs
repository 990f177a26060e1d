//! `valleyscope runs show`: the settings, status and last events of a run.

use std::fmt::Write;

use anyhow::Context;
use valleyscope_engine::optimizer::Hyperparameter;
use valleyscope_engine::terminal_escape::{visible, visible_path};
use valleyscope_experiments::preset::Preset;
use valleyscope_runs::{Concern, Ranks, RunFolder, RunHistory, RunReader, Started, forked_run, now, span};

use super::{cell, in_force, left, newest, notes, print, progress, rate, unit};
use crate::cli::Failure;

/// The number of the last events that are shown.
const EVENTS: usize = 12;
/// The largest number of characters of each line.
const LONGEST: usize = 2000;

pub(super) fn run(run: &RunFolder) -> Result<(), Failure> {
    let mut reader = RunReader::brief(run.clone());
    let status = reader.status(now());
    let status = status.and_then(|status| reader.poll().map(|_| status));
    let status = status.with_context(|| format!("cannot read {}", visible_path(&run.events())))?;
    let history = reader.history();
    let notes = notes(run);
    let training = in_force(run, history);
    let mut lines = Lines::default();
    lines.add("run", run.shown_name());
    lines.add("title", notes.title);
    lines.add("status", status.to_string());
    for Concern { kind, words } in Concern::of(&status, history, now()) {
        lines.add(kind.word(), if kind.word().is_empty() { String::new() } else { words });
    }
    lines.add("fork", fork(run, history));
    lines.add("progress", how_far(history));
    lines.add("trained for", span(history.wall_s() as u64));
    if history.sessions() > 1 {
        lines.add("sessions", history.sessions().to_string());
    }
    if let Some(started) = history.started() {
        lines.describe(started, training.as_ref());
    }
    let changes = history.changes().iter().map(|(step, change)| format!("{} after step {step}", change.words()));
    lines.add("changed", changes.collect::<Vec<_>>().join("\n"));
    lines.add("ranks", Ranks::of(history).map(|ranks| ranks.to_string()).unwrap_or_default());
    lines.add_rule(training.as_ref());
    let other = run.other_settings().ok().flatten().unwrap_or_default().into_iter();
    let other = other.map(|(key, value)| visible(&format!("{key} {}", as_text(&value))).into_owned());
    lines.add("settings", other.collect::<Vec<_>>().join(", "));
    for info in history.metrics() {
        let name = info.name.clone();
        lines.add(&name, newest(history, &[("", info)]).concat());
    }
    lines.add("last checkpoint", last_checkpoint(run, history));
    if run.checkpoints().is_ok_and(|steps| history.is_gone(&steps)) {
        lines.add("damaged", format!("{}: is gone or empty, and there are checkpoints", RunFolder::EVENTS));
    } else if history.skipped() > 0 {
        lines.add("damaged", format!("{}: {}", RunFolder::EVENTS, history.skipped_text()));
    }
    lines.add("note", notes.note);
    lines.add("folder", visible_path(run.path()));
    let config = if run.config().exists() { run.config() } else { run.other_config() };
    lines.add("config", visible_path(&config));
    lines.add("log", visible_path(&run.log()));
    print(&(lines.text() + &last_events(history)))
}

/// Returns the origin of a fork.
fn fork(run: &RunFolder, history: &RunHistory) -> String {
    let Some(forked) = history.forked() else { return String::new() };
    match forked_run(forked, run) {
        Some(other) => format!("{}\nthat run is in {}", forked.sentence(), visible_path(other.path())),
        None => format!("{}\n{}", forked.sentence(), forked.missing()),
    }
}

/// Returns the newest checkpoint in the folder.
fn last_checkpoint(run: &RunFolder, history: &RunHistory) -> String {
    match run.newest_checkpoint() {
        Ok(Some(step)) => format!("{}, of step {step}", RunFolder::checkpoint_name(step)),
        Ok(None) if history.checkpoints().is_empty() => String::new(),
        Ok(None) => "none is in the folder any more".to_owned(),
        Err(error) => format!("unknown, as the folder cannot be read: {error}"),
    }
}

/// Returns a setting of another program as text.
fn as_text(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn how_far(history: &RunHistory) -> String {
    let mut text = format!("{} {}", progress(history), unit(history));
    if let Some(rate) = rate(history) {
        let _ = write!(text, ", {rate}");
    }
    if let Some(left) = left(history).filter(|_| history.ending().is_none()) {
        let _ = write!(text, ", {left} left");
    }
    text
}

fn last_events(history: &RunHistory) -> String {
    let recent = history.recent();
    let skipped = recent.len().saturating_sub(EVENTS);
    let lines = recent.skip(skipped).map(|record| {
        let time = record.time.strftime("%Y-%m-%d %H:%M:%S UTC");
        format!("  {time}  step {}  {}\n", record.step, cell(&record.event.sentence(), LONGEST))
    });
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { format!("last events\n{lines}") }
}

/// Lines of names and values.
#[derive(Default)]
struct Lines(Vec<(String, String)>);

impl Lines {
    /// Adds a line, unless the value is empty.
    fn add(&mut self, name: &str, value: String) {
        if !value.is_empty() {
            self.0.push((name.to_owned(), value));
        }
    }

    fn describe(&mut self, started: &Started, training: Option<&Preset>) {
        fn text<T: ToString>(value: Option<T>) -> String {
            value.map_or_else(String::new, |value| value.to_string())
        }
        self.add("preset", format!("{}, {}", started.kind, started.title));
        self.add("optimizer", started.optimizer.clone());
        let common = training.and_then(Preset::training);
        let rate = common.as_ref().map(|common| common.learning_rate.get());
        self.add("learning rate", text(rate.or(started.learning_rate)));
        self.add("batch size", text(common.map(|common| common.batch_size).or(started.batch_size)));
        self.add("tokens a step", text(started.tokens_per_step));
        self.add("parameters", text(started.parameters));
        self.add("seed", text(started.seed));
        self.add("data", started.data.clone());
        self.add("device", started.device.clone());
        self.add("precision", started.precision.clone());
        self.add("worker", started.version.clone());
    }

    /// Adds the hyperparameters of a training's rule, and the text of a typed one.
    fn add_rule(&mut self, training: Option<&Preset>) {
        let Some(rule) = training.and_then(Preset::training).map(|common| *common.rule) else { return };
        let value = |(of, value): (&Hyperparameter, f64)| match of.choices().get(value as usize) {
            Some(choice) => format!("{} {}", of.key, choice.key),
            None => format!("{} {value}", of.key),
        };
        self.add("hyperparameters", rule.hyperparameters().map(value).collect::<Vec<_>>().join(", "));
        if let Some(typed) = rule.kind().typed() {
            self.add("its text", typed.text().trim_end().to_owned());
        }
    }

    fn text(&self) -> String {
        let width = self.0.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let indent = format!("\n{:width$}  ", "");
        self.0.iter().map(|(name, value)| format!("{name:width$}  {}\n", value.replace('\n', &indent))).collect()
    }
}
