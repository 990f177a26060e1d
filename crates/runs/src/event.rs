//! Events of a run, as lines of JSON.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::forked::Forked;
use super::metric::{MetricId, MetricInfo, MetricValues, PointFields};
use super::number;
use super::tail::LONGEST_LINE;
use super::turns::SettingChange;

/// A line of `events.jsonl`: an event, and when it happened.
///
/// ```text
/// {"event":"train","step":40,"time":"2026-03-01T12:00:00.25Z","wall_s":1.5,"loss":2.25,"lr":0.001,"grad_norm":"inf"}
/// ```
///
/// Any program can write such lines.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRecord {
    /// Optimizer steps so far. In a scan: finished grid points.
    pub step: u64,
    pub time: Timestamp,
    /// Seconds of training over all sessions of the run, without the time between them.
    pub wall_s: f64,
    pub event: Event,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[allow(clippy::large_enum_variant, reason = "the large one is there once in a run, and events are soon taken apart")]
pub enum Event {
    /// The run was made as a fork of another: always its first event, written before a session begins.
    Forked(Forked),
    /// The first session begins. Repeated after `resumed` if a resumed run has lost that line, or is trained by another
    /// number of processes.
    Started(Started),
    /// Another session begins, from a checkpoint. Earlier events of later steps are void.
    Resumed { from_step: u64 },
    /// One or more steps were taken: a point of the training curves, with a loss.
    Train(MetricValues),
    /// The model was evaluated, with the metrics that were measured.
    Eval(MetricValues),
    /// Text that the model has written.
    Sample { text: String },
    /// A grid point of a scan is complete.
    GridPoint(GridPoint),
    /// A checkpoint has reached the disk, in the run's folder under this name.
    Checkpoint { file: String },
    /// The answer to a command.
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
    /// The number of steps of the run. In a scan: its grid points.
    pub steps: u64,
    /// The optimizer, such as `FOCUS, γ 0.2`.
    pub optimizer: String,
    pub learning_rate: Option<f64>,
    /// Samples per step, which converts a number of steps into samples.
    pub batch_size: Option<u64>,
    /// Tokens per step.
    pub tokens_per_step: Option<u64>,
    pub seed: Option<u64>,
    /// Number of trainable parameters.
    pub parameters: Option<u64>,
    /// The name of the training data, such as `MNIST`.
    pub data: String,
    /// A hash of the data: a run resumes only with the same.
    pub fingerprint: String,
    /// Whether the data are synthetic, in place of real ones.
    pub synthetic: bool,
    /// The device, such as `cuda:0, NVIDIA H200`.
    pub device: String,
    /// The number of processes that share each batch, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// The number format, such as `float32`.
    pub precision: String,
    /// Version of the worker.
    pub version: String,
    /// The text of `config.ron`.
    pub config: String,
    /// SHA-256 of that text, in hexadecimal digits.
    pub config_sha256: String,
    /// The metrics that the run logs, in the order in which they are shown.
    pub metrics: Vec<MetricInfo>,
    /// The axes of a scan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scan: Option<ScanAxes>,
    /// The grid points of a part of a scan, by their indices of optimizer and batch size; none in a run of all points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_points: Option<Vec<[usize; 2]>>,
}

/// The axes of a scan: its results have the shape (optimizers, batch sizes, learning rates, replicates).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScanAxes {
    /// Names of the optimizers.
    pub optimizers: Vec<String>,
    pub batch_sizes: Vec<u64>,
    pub learning_rates: Vec<f64>,
    pub replicates: u64,
    /// The number of training steps of each model.
    pub steps: u64,
}

impl ScanAxes {
    /// The largest number of optimizers, and of batch sizes, of a scan in an event.
    pub const MOST: usize = 256;
    /// The largest number of learning rates.
    const MOST_RATES: usize = 10_000;

    /// Checks the sizes of the axes, so that loops over pairs of optimizers and batch sizes end.
    fn check(&self) -> Result<(), BadLine> {
        let sides = [
            ("optimizers", self.optimizers.len(), Self::MOST),
            ("batch sizes", self.batch_sizes.len(), Self::MOST),
            ("learning rates", self.learning_rates.len(), Self::MOST_RATES),
        ];
        match sides.into_iter().find(|(_, found, most)| found > most) {
            Some((of, found, most)) => Err(BadLine::Axes { of, most, found }),
            None => Ok(()),
        }
    }

    /// Returns the number of pairs of an optimizer and a batch size.
    pub fn grid_points(&self) -> u64 {
        (self.optimizers.len() * self.batch_sizes.len()) as u64
    }

    /// Lists the pairs of an optimizer and a batch size, by their indices, in the order in which a run trains them
    /// ([`ScanAxes::points_of`]).
    pub fn points(&self) -> Vec<[usize; 2]> {
        ScanAxes::points_of(self.optimizers.len(), self.batch_sizes.len())
    }

    /// Lists the pairs of so many optimizers and batch sizes, small batches first: large ones take longest, so a
    /// picture fills quickly.
    pub fn points_of(optimizers: usize, batch_sizes: usize) -> Vec<[usize; 2]> {
        (0..batch_sizes).flat_map(|column| (0..optimizers).map(move |row| [row, column])).collect()
    }
}

/// The results of an optimizer with a batch size, for each learning rate (outer) and replicate (inner).
///
/// The event holds all results of the grid point, so a stopped scan needs no checkpoint: it resumes with the grid
/// points that have no such event, and its `from_step` is the number of those that have one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GridPoint {
    /// Indices into [`ScanAxes::optimizers`] and [`ScanAxes::batch_sizes`].
    pub index: [usize; 2],
    /// Name of the optimizer.
    pub optimizer: String,
    pub batch_size: u64,
    /// The number of complete grid points, including this one.
    pub done: u64,
    pub total: u64,
    /// Seconds of training.
    #[serde(default, with = "number")]
    pub seconds: f64,
    /// Training loss of the last step's batch.
    #[serde(with = "number::grid")]
    pub train_loss: Vec<Vec<f64>>,
    #[serde(with = "number::grid")]
    pub test_loss: Vec<Vec<f64>>,
    /// Test accuracies, as fractions.
    #[serde(with = "number::grid")]
    pub test_accuracy: Vec<Vec<f64>>,
}

/// Why a line of `events.jsonl` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadLine {
    #[error("it has more than {LONGEST_LINE} bytes")]
    TooLong,
    #[error("expected an event as a JSON object: {0}")]
    Json(#[from] serde_json::Error),
    #[error("expected an event of this version of Valleyscope, found `{0}`")]
    Unknown(String),
    #[error("expected a scan with at most {most} {of}, found {found}")]
    Axes { of: &'static str, most: usize, found: usize },
}

impl Event {
    /// Returns the event's name in the line.
    pub fn name(&self) -> &'static str {
        match self {
            Event::Forked(_) => "forked",
            Event::Started(_) => "started",
            Event::Resumed { .. } => "resumed",
            Event::Train(_) => "train",
            Event::Eval(_) => "eval",
            Event::Sample { .. } => "sample",
            Event::GridPoint(_) => "grid_point",
            Event::Checkpoint { .. } => "checkpoint",
            Event::Command { .. } => "command",
            Event::Changed { .. } => "changed",
            Event::Warning { .. } => "warning",
            Event::Stopped => "stopped",
            Event::Finished => "finished",
            Event::Failed { .. } => "failed",
        }
    }

    /// Describes the event for logs and lists.
    pub fn sentence(&self) -> String {
        match self {
            Event::Forked(forked) => forked.sentence(),
            Event::Started(Started { title, optimizer, data, device, .. }) => {
                let parts = [title, optimizer, data, device].into_iter().filter(|part| !part.is_empty());
                format!("started: {}", parts.map(String::as_str).collect::<Vec<_>>().join(", "))
            }
            Event::Resumed { from_step } => format!("resumed from step {from_step}"),
            Event::Train(metrics) | Event::Eval(metrics) => metrics.sentence(),
            Event::Sample { text } => format!("sample: {text}"),
            Event::GridPoint(point) => {
                let GridPoint { optimizer, batch_size, done, total, seconds, .. } = point;
                format!("{optimizer} with batches of {batch_size} took {seconds:.1} s, {done} of {total} done")
            }
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

    fn parse(name: &str, line: &[u8]) -> Result<Event, BadLine> {
        #[derive(Deserialize)]
        struct Resumed {
            from_step: u64,
        }
        #[derive(Deserialize)]
        struct Text {
            text: String,
        }
        #[derive(Deserialize)]
        struct Message {
            message: String,
        }
        #[derive(Deserialize)]
        struct Named {
            file: String,
        }
        #[derive(Deserialize)]
        struct Changed {
            changes: Vec<SettingChange>,
        }
        #[derive(Deserialize)]
        struct Answer {
            id: String,
            ok: bool,
            message: String,
            #[serde(default)]
            steps: Option<u64>,
        }
        fn of<'l, T: Deserialize<'l>>(line: &'l [u8]) -> Result<T, BadLine> {
            Ok(serde_json::from_slice(line)?)
        }
        Ok(match name {
            "forked" => Event::Forked(of(line)?),
            "grid_point" => Event::GridPoint(of(line)?),
            "started" => {
                let started: Started = of(line)?;
                started.scan.as_ref().map_or(Ok(()), ScanAxes::check)?;
                Event::Started(started)
            }
            "resumed" => Event::Resumed { from_step: of::<Resumed>(line)?.from_step },
            "sample" => Event::Sample { text: of::<Text>(line)?.text },
            "checkpoint" => Event::Checkpoint { file: of::<Named>(line)?.file },
            "command" => {
                let Answer { id, ok, message, steps } = of(line)?;
                Event::Command { id, ok, message, steps }
            }
            "changed" => Event::Changed { changes: of::<Changed>(line)?.changes },
            "warning" => Event::Warning { message: of::<Message>(line)?.message },
            "failed" => Event::Failed { message: of::<Message>(line)?.message },
            "stopped" => Event::Stopped,
            "finished" => Event::Finished,
            other => return Err(BadLine::Unknown(other.to_owned())),
        })
    }
}

impl EventRecord {
    /// Returns the line of JSON, without its newline.
    pub fn to_line(&self) -> String {
        #[derive(Serialize)]
        struct Line<'r> {
            event: &'static str,
            step: u64,
            time: Timestamp,
            #[serde(with = "number")]
            wall_s: f64,
            #[serde(flatten)]
            rest: &'r Event,
        }
        let EventRecord { step, time, wall_s, event } = self;
        let line = Line { event: event.name(), step: *step, time: *time, wall_s: *wall_s, rest: event };
        serde_json::to_string(&line).expect("events hold nothing that JSON cannot express")
    }

    /// Parses a point of the training curves, or an evaluation.
    fn parse_metrics(line: &[u8], event: fn(MetricValues) -> Event) -> Result<EventRecord, BadLine> {
        let PointFields { step, time, wall_s, metrics } = serde_json::from_slice(line)?;
        Ok(EventRecord { step, time, wall_s, event: event(metrics) })
    }

    fn parse_train(line: &[u8]) -> Result<EventRecord, BadLine> {
        let record = EventRecord::parse_metrics(line, Event::Train)?;
        let Event::Train(metrics) = &record.event else { return Ok(record) };
        match metrics.get(MetricId::LOSS) {
            Some(_) => Ok(record),
            None => Err(BadLine::Json(serde::de::Error::missing_field(MetricId::LOSS.name()))),
        }
    }

    /// Returns whether a line is a point of the training curves, which far outnumber all other events. May be false for
    /// points that another program wrote.
    pub(super) fn is_train(line: &[u8]) -> bool {
        line.starts_with(br#"{"event":"train","#)
    }

    /// Parses a line without its newline. Ignores unknown fields.
    pub fn parse(line: &[u8]) -> Result<EventRecord, BadLine> {
        #[derive(Deserialize)]
        struct Head<'l> {
            #[serde(borrow)]
            event: Cow<'l, str>,
            step: u64,
            time: Timestamp,
            #[serde(with = "number")]
            wall_s: f64,
        }
        if EventRecord::is_train(line) {
            return EventRecord::parse_train(line);
        }
        let Head { event, step, time, wall_s } = serde_json::from_slice(line)?;
        match &*event {
            "train" => return EventRecord::parse_train(line),
            "eval" => return EventRecord::parse_metrics(line, Event::Eval),
            _ => {}
        }
        Ok(EventRecord { step, time, wall_s, event: Event::parse(&event, line)? })
    }
}
