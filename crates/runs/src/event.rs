//! Events of a run, as lines of JSON.

use std::time::SystemTime;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use valleyscope_engine::quantity::number_text;

use super::measure::Measure;
use super::metric::{Head, MetricInfo, MetricValues, Point};

/// The largest length of a line in bytes, without its newline. The longest that a worker writes hold the measures of
/// single tensors.
pub const LONGEST_LINE: usize = 16 << 20;

/// A line of `events.jsonl`: an event and its time.
///
/// ```text
/// {"event":"train","step":40,"time":"2026-03-01T12:00:00.25Z","wall_s":1.5,"loss":2.25,"lr":0.001,"grad_norm":"inf"}
/// ```
///
/// Any program can write such lines.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRecord {
    /// Optimizer steps so far.
    pub step: u64,
    pub time: Timestamp,
    /// Seconds of training over all sessions of the run, without the time between them.
    pub wall_s: f64,
    pub event: Event,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "the large one is there once in a run, and events are soon taken apart")]
pub enum Event {
    /// The run was made as a fork of another: always its first event, written before a session begins.
    Forked(Forked),
    /// The first session begins. Repeated after `resumed` if a resumed run has lost that line, or is trained by another
    /// number of processes.
    Started(Started),
    /// Another session begins, from a checkpoint. Earlier events of later steps are void.
    Resumed { from_step: u64 },
    /// One or more steps were taken: a point of the training curves.
    Train(MetricValues),
    /// The model was evaluated, with the metrics that were measured.
    Eval(MetricValues),
    /// The gradients of the last steps were measured.
    Measure(Measure),
    /// Text that the model has written.
    Sample { text: String },
    /// A checkpoint has reached the disk, in the run's folder under this name.
    Checkpoint { file: String },
    Command {
        id: String,
        ok: bool,
        message: String,
        /// The new number of steps of the run, if the command has changed it.
        #[serde(skip_serializing_if = "Option::is_none")]
        steps: Option<u64>,
    },
    /// Settings were changed by a command; they are in force from the next step on.
    Changed { changes: Vec<SettingChange> },
    /// A problem that does not end the run.
    Warning { message: String },
    /// The session has ended as requested; the run can be resumed.
    Stopped,
    /// All steps have been taken.
    Finished,
    /// The session cannot continue.
    Failed { message: String },
}

/// The description of a run, for lists of runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Started {
    /// Title of the preset, with the settings that distinguish this run from the preset's others.
    pub title: String,
    /// Kind of the preset, such as `Mnist`.
    pub kind: String,
    /// The number of steps of the run, or 0 if it is not known.
    pub steps: u64,
    /// The optimizer, such as `FOCUS, γ 0.2`.
    pub optimizer: String,
    pub learning_rate: Option<f64>,
    /// Samples per step, which converts a number of steps into samples.
    pub batch_size: Option<u64>,
    pub tokens_per_step: Option<u64>,
    pub seed: Option<u64>,
    pub parameters: Option<u64>,
    /// The name of the training data, such as `MNIST`.
    pub data: String,
    /// A hash of the data: a run resumes only with the same.
    pub fingerprint: String,
    /// Whether the data are synthetic, instead of real ones.
    pub synthetic: bool,
    /// The device, such as `cuda:0, NVIDIA H200`.
    pub device: String,
    /// The number of processes that share each batch, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// The number of threads that share each product, if it is not the default. A resumed run uses as many, which gives
    /// the same bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
    /// The number format, such as `float32`.
    pub precision: String,
    pub version: String,
    /// The text of `config.ron`.
    pub config: String,
    /// SHA-256 of that text, in hexadecimal digits.
    pub config_sha256: String,
    /// The metrics that the run logs, in the order in which they are shown; others are described by their names.
    pub metrics: Vec<MetricInfo>,
    /// The path of the folder or the file that the run was imported from.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub imported_from: String,
}

/// A setting that was changed while the run was trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SettingChange {
    /// The path of the setting in the run's config, such as `optimizer.gamma`.
    pub name: String,
    /// A short name for users, such as `γ`.
    pub label: String,
    pub before: f64,
    pub now: f64,
}

impl SettingChange {
    /// The name of the number of steps of the run.
    pub const STEPS: &str = "steps";

    /// Describes a change of the number of steps of the run.
    pub fn of_steps(before: u64, now: f64) -> SettingChange {
        let name = SettingChange::STEPS.to_owned();
        SettingChange { label: name.clone(), name, before: before as f64, now }
    }

    /// Whether the number of samples of a step is proportional to the setting.
    pub fn is_of_batch(&self) -> bool {
        matches!(self.name.as_str(), "batch_size" | "accumulation")
    }

    /// Describes the change, such as `γ 0.2 → 0.4`.
    pub fn text(&self) -> String {
        format!("{} {} → {}", self.label, number_text(self.before), number_text(self.now))
    }

    pub fn list(changes: &[SettingChange]) -> String {
        changes.iter().map(SettingChange::text).collect::<Vec<_>>().join(", ")
    }
}

impl Event {
    pub fn sentence(&self) -> String {
        match self {
            Event::Forked(forked) => forked.sentence(),
            Event::Started(Started { title, optimizer, data, device, .. }) => {
                let parts = [title, optimizer, data, device].into_iter().filter(|part| !part.is_empty());
                format!("started: {}", parts.map(String::as_str).collect::<Vec<_>>().join(", "))
            }
            Event::Resumed { from_step } => format!("resumed from step {from_step}"),
            Event::Train(metrics) | Event::Eval(metrics) => metrics.sentence(),
            Event::Measure(Measure { metrics, .. }) => metrics.sentence(),
            Event::Sample { text } => format!("sample: {text}"),
            Event::Checkpoint { file } => format!("checkpoint {file}"),
            Event::Command { id, ok: true, message, .. } => format!("command {id}: {message}"),
            Event::Command { id, ok: false, message, .. } => format!("command {id} was refused: {message}"),
            Event::Changed { changes } => format!("changed: {}", SettingChange::list(changes)),
            Event::Warning { message } => format!("warning: {message}"),
            Event::Stopped => "stopped".to_owned(),
            Event::Finished => "finished".to_owned(),
            Event::Failed { message } => format!("failed: {message}"),
        }
    }
}

impl EventRecord {
    /// Serializes the event to a line of JSON, without its newline.
    pub fn to_line(&self) -> String {
        const WRITABLE: &str = "events hold nothing that JSON cannot express";
        let EventRecord { step, time, wall_s, ref event } = *self;
        let head = serde_json::to_string(&Head { step, time, wall_s }).expect(WRITABLE);
        let event = serde_json::to_string(event).expect(WRITABLE);
        let (name, rest) = event.split_at(event.find([',', '}']).expect("an object has an end"));
        format!("{name},{}{rest}", head.trim_matches(['{', '}']))
    }

    /// Whether a line is a point of the training curves, which far outnumber all other events. May be false for points
    /// that another program wrote.
    pub(super) fn is_train(line: &[u8]) -> bool {
        line.starts_with(br#"{"event":"train","#)
    }

    /// Parses a line without its newline. Ignores unknown fields.
    pub fn parse(line: &[u8]) -> serde_json::Result<EventRecord> {
        let (Head { step, time, wall_s }, event) = if EventRecord::is_train(line) {
            let Point { head, metrics } = serde_json::from_slice(line)?;
            (head, Event::Train(metrics))
        } else {
            (serde_json::from_slice(line)?, serde_json::from_slice(line)?)
        };
        if matches!(&event, Event::Train(metrics) if metrics.iter().next().is_none()) {
            return Err(serde::de::Error::custom("expected a number, and found none"));
        }
        Ok(EventRecord { step, time, wall_s, event })
    }
}

/// The origin of a fork, as recorded in the first event of its run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forked {
    /// Name of the other run's folder.
    pub from_run: String,
    /// The step of the other run's checkpoint from which the fork starts.
    pub from_step: u64,
    /// Path of the other run's folder when the fork was made.
    pub folder: String,
    /// SHA-256 of the config that the other run was begun with, which identifies it.
    pub config_sha256: String,
    /// Checksum of the checkpoint, which distinguishes it from those that the fork saves.
    pub checkpoint_crc32: u32,
    /// Whether the optimizer continues with its state, as its rule is unchanged. Otherwise its state is fresh.
    pub keeps_optimizer: bool,
}

impl Forked {
    /// Describes the origin, such as `forked from mnist-1 at step 100, with its optimizer's state`.
    pub fn sentence(&self) -> String {
        self.sentence_parts().concat()
    }

    /// Splits the sentence into three parts, the second of which is the name of the other run.
    pub fn sentence_parts(&self) -> [String; 3] {
        let Forked { from_run, from_step, .. } = self;
        let state = if self.keeps_optimizer { "with its optimizer's state" } else { "with a fresh optimizer" };
        ["forked from ".to_owned(), from_run.clone(), format!(" at step {from_step}, {state}")]
    }

    /// Describes a fork without a usable checkpoint, with the fault of its newest one, if it has any.
    pub fn lost(&self, newest: Option<&String>) -> String {
        let Forked { from_run, from_step, .. } = self;
        let newest = newest.map_or("the run has no checkpoint", String::as_str);
        format!(
            "{newest}; a fork without a checkpoint of its own begins with that of step {from_step} of {from_run}: put it back, or \
             fork that run again, from another checkpoint if need be"
        )
    }

    /// Describes a fork without the other run's history.
    pub fn missing(&self) -> String {
        let Forked { from_run, from_step, .. } = self;
        format!("the run {from_run} is not found, so the curve begins at step {from_step}, where it was forked")
    }
}

/// The present time, or the nearest one that can be written where the clock is beyond the year 9999.
pub fn now() -> Timestamp {
    nearest(SystemTime::now())
}

fn nearest(time: SystemTime) -> Timestamp {
    let end = if time < SystemTime::UNIX_EPOCH { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::try_from(time).unwrap_or(end)
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
