//! A run's `config.ron`, its comparison with the config that the run was begun with, and forks.

mod capacity;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fmt, io};

use serde_json::Value;
use sha2::{Digest, Sha256};
use valleyscope_engine::quantity::LearningRate;
use valleyscope_engine::terminal_escape::{shortened, visible};
use valleyscope_runs::atomic_file::{Overwrite, write_file};
use valleyscope_runs::{
    Checkpoint, CheckpointChoice, ChoiceError, ConfigReader, Event, EventRecord, FolderError, Forked, RunFolder,
    RunHistory, RunReader, Started, first_usable, link_checkpoint, now,
};

use super::preset::{Preset, PresetError};
use super::workload::Workload;

pub use capacity::{Capacity, CapacityReport, SystemMemory};

/// A run's `config.ron`: a training with every field.
#[derive(Clone, Debug, PartialEq)]
pub struct RunConfig {
    pub preset: Preset,
    text: String,
}

/// The reason why a run's config cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("the settings that were changed while the run was trained cannot be used: {0}")]
    Settings(String),
    #[error(transparent)]
    Preset(#[from] PresetError),
    #[error("another program has trained the run; it can be compared, shown and exported, and not resumed or forked")]
    OtherProgram,
    #[error(
        "the config that the run was begun with, in its {}, cannot be read by this version, and {} is another; put it back \
         as it was: {source}",
        RunFolder::EVENTS,
        RunFolder::CONFIG
    )]
    Begun { source: PresetError },
    #[error(
        "{} is not the one that the run was begun with: {}; put the old values back to go on (`valleyscope runs check \
         --repair` does that){}, or start a new run with the new ones",
        RunFolder::CONFIG,
        list(differences),
        advice(differences)
    )]
    Changed { differences: Vec<Difference> },
}

/// A field of a config that was changed after the run began.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// The field's path as for `--set`, such as `optimizer.gamma`.
    pub field: String,
    pub before: String,
    pub now: String,
}

impl Difference {
    /// Creates a difference of values from files, which may hold anything.
    fn new(field: &str, before: &str, now: &str) -> Difference {
        const LONGEST: usize = 300;
        let [before, now] = [before, now].map(|value| shortened(&visible(value), LONGEST).into_owned());
        Difference { field: field.to_owned(), before, now }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(text, "`{}` was {} and is {}", self.field, self.before, self.now)
    }
}

fn list(differences: &[Difference]) -> String {
    differences.iter().map(Difference::to_string).collect::<Vec<_>>().join(", ")
}

/// Advice on a changed field that may be changed by a command.
fn advice(differences: &[Difference]) -> String {
    let steps = differences.iter().find(|difference| difference.field == "steps");
    steps.map_or_else(String::new, |Difference { now, .. }| {
        format!(
            " (more steps are a matter of a command while the run is trained: append \
             {{\"id\": \"steps-{now}\", \"command\": {{\"SetSteps\": {{\"n\": {now}}}}}}} to {})",
            RunFolder::COMMANDS
        )
    })
}

fn sha256(text: &str) -> String {
    format!("{:x}", Sha256::digest(text))
}

impl RunConfig {
    pub fn read(run: &RunFolder) -> Result<RunConfig, ConfigError> {
        if run.other_settings().is_ok_and(|settings| settings.is_some()) {
            return Err(ConfigError::OtherProgram);
        }
        let path = run.config();
        let text = run.config_text().map_err(|source| PresetError::Read { path: path.clone(), source })?;
        let preset = Preset::parse(&text, &path.display().to_string())?;
        Ok(RunConfig { preset, text })
    }

    /// Reads the config with which a run with this history began: the one in its events or, if their first line is
    /// lost, its `config.ron`.
    pub fn begun(run: &RunFolder, history: &RunHistory) -> Result<RunConfig, ConfigError> {
        match history.started().map(|started| &started.config).filter(|config| !config.is_empty()) {
            None => RunConfig::read(run),
            Some(text) => RunConfig::parse_begun(text),
        }
    }

    fn parse_begun(text: &str) -> Result<RunConfig, ConfigError> {
        let preset = Preset::parse(text, "the config that the run was begun with");
        let preset = preset.map_err(|source| ConfigError::Begun { source })?;
        Ok(RunConfig { preset, text: text.to_owned() })
    }

    /// The training with the settings that commands have changed, in a run with this history. Its title and description
    /// name them.
    ///
    /// # Errors
    ///
    /// Fails with [`ConfigError::Settings`] if they are not settings of this training.
    pub fn with_changed_settings(&self, history: &RunHistory) -> Result<Preset, ConfigError> {
        with_changed_settings(&self.preset, &history.changed_settings())
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the config computes the same as a training, apart from the differences that [`RunConfig::check`] allows.
    pub fn computes_the_same_as(&self, training: &Preset) -> bool {
        differing_fields(training, &self.preset).is_empty()
    }

    /// The description of the run, for its first event.
    pub fn started(&self) -> Started {
        let text = &self.text;
        let (config, config_sha256) = (text.clone(), sha256(text));
        let started = Started { kind: self.preset.kind().to_owned(), config, config_sha256, ..Started::default() };
        let started = Started { title: self.preset.title().to_owned(), ..started };
        match self.preset.workload() {
            Some(workload) => workload.describe(started),
            None => started,
        }
    }

    /// Checks that a run with this history can resume with the config, which must compute the same as the one that the
    /// run was begun with. Comments, the title, the description, the folder of the data (which have a fingerprint of
    /// their own) and the device may differ.
    ///
    /// # Errors
    ///
    /// Fails with [`ConfigError::Changed`] with the fields that differ.
    pub fn check(&self, history: &RunHistory) -> Result<(), ConfigError> {
        let begun = history.started().map(|started| started.config.as_str()).filter(|text| !text.is_empty());
        let differences = match begun {
            Some(begun) if begun != self.text => differing_fields(&RunConfig::parse_begun(begun)?.preset, &self.preset),
            _ => Vec::new(),
        };
        if differences.is_empty() { Ok(()) } else { Err(ConfigError::Changed { differences }) }
    }

    /// Checks that a run's config computes the same as the one with which it began ([`RunConfig::check`]), as far as
    /// its events can be read.
    pub fn check_run(run: &RunFolder) -> Result<(), ConfigError> {
        let mut reader = RunReader::brief(run.clone());
        reader.poll().map_err(|source| PresetError::Read { path: run.events(), source })?;
        RunConfig::read(run)?.check(reader.history())
    }

    /// The identity of the run's checkpoints: the hash of the config that the run was begun with, to which this one is
    /// equal.
    pub fn identity(&self, history: &RunHistory) -> String {
        let begun = history.started().map(|started| started.config_sha256.clone());
        begun.filter(|sum| !sum.is_empty()).unwrap_or_else(|| sha256(&self.text))
    }
}

/// Replaces values of settings of a training that can be changed while it runs. Title and description name those that
/// differ.
pub fn with_changed_settings(training: &Preset, settings: &BTreeMap<String, f64>) -> Result<Preset, ConfigError> {
    if settings.is_empty() {
        return Ok(training.clone());
    }
    let mut changed = training.clone();
    let workload = changed.workload_mut().ok_or_else(|| ConfigError::Settings("it is no training".to_owned()))?;
    workload.set_live(settings).map_err(ConfigError::Settings)?;
    Ok(changed.as_changed_from(training))
}

/// Reads configs as presets, for [`RunFolder::check`].
#[derive(Clone, Copy, Debug)]
pub struct PresetConfigs;

impl ConfigReader for PresetConfigs {
    fn check(&self, run: &RunFolder, history: &RunHistory) -> Result<String, String> {
        let config = RunConfig::read(run).and_then(|config| config.check(history).map(|()| config));
        let preset = config.map_err(|error| error.to_string())?.preset;
        Ok(format!("{}, \"{}\"", preset.kind(), preset.title()))
    }

    fn is_readable(&self, config: &str) -> bool {
        Preset::parse(config, RunFolder::CONFIG).is_ok()
    }

    fn compute_the_same(&self, one: &str, other: &str) -> bool {
        compute_the_same(one, other)
    }
}

/// Whether two texts are configs that compute the same ([`RunConfig::check`]).
pub fn compute_the_same(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(|text| Preset::parse(text, RunFolder::CONFIG));
    matches!((one, other), (Ok(one), Ok(other)) if differing_fields(&one, &other).is_empty())
}

/// The fields that need not be equal for a run to resume. The data have a fingerprint.
const FREE: [&str; 6] = ["title", "description", "data", "device", "processes", "shard_optimizer"];

/// The fields in which two configs differ, so that they do not compute the same.
pub fn differing_fields(before: &Preset, now: &Preset) -> Vec<Difference> {
    if before.kind() != now.kind() {
        return vec![Difference::new("kind", before.kind(), now.kind())];
    }
    let (kind, places) = (now.kind(), now.places());
    let [before, now] = [before, now].map(|preset| {
        let mut tree = serde_json::to_value(preset).expect("a preset holds nothing that JSON cannot express");
        prune(&mut tree, &FREE);
        tree
    });
    let mut differences = Vec::new();
    compare("", &before, &now, &mut differences);
    for Difference { field, .. } in &mut differences {
        let start = places.iter().find_map(|place| field.strip_prefix(&format!("{kind}.{place}.")));
        *field = start.unwrap_or(field).to_owned();
    }
    differences
}

/// The fields that say how often a training is recorded.
const RECORDING: [&str; 5] = ["log_every", "checkpoint_every", "keep_every", "measure_every", "sample"];

/// Formats what a training computes, as a text that is equal for trainings that learn the same.
pub fn computation(training: &Preset) -> String {
    let mut tree = serde_json::to_value(training).expect("a preset holds nothing that JSON cannot express");
    prune(&mut tree, &[&FREE[..], &RECORDING].concat());
    tree.to_string()
}

/// Returns a text that is equal for the configs of new runs that one worker can train together: small ones that differ in
/// learning rate and seed only. None for another config.
pub fn trained_together(config: &str) -> Option<String> {
    let Ok(Preset::Mnist(mut preset)) = Preset::parse(config, RunFolder::CONFIG) else { return None };
    let [run] = &mut preset.runs[..] else { return None };
    (run.name, run.seed, run.learning_rate) = (None, 0, LearningRate::clamped(1.0));
    (run.processes.get() == 1).then(|| Preset::Mnist(preset).to_ron())
}

/// Removes the fields that need not be equal, of the preset and of its runs.
fn prune(tree: &mut Value, free: &[&str]) {
    match tree {
        Value::Object(fields) => {
            fields.retain(|name, _| !free.contains(&name.as_str()));
            fields.values_mut().for_each(|field| prune(field, free));
        }
        Value::Array(elements) => elements.iter_mut().for_each(|element| prune(element, free)),
        _ => {}
    }
}

fn compare(path: &str, before: &Value, now: &Value, differences: &mut Vec<Difference>) {
    match (before, now) {
        (Value::Object(one), Value::Object(other)) if one.keys().any(|name| other.contains_key(name)) => {
            for name in one.keys().chain(other.keys()).collect::<BTreeSet<_>>() {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                let [one, other] = [one, other].map(|fields| fields.get(name).unwrap_or(&Value::Null));
                compare(&path, one, other, differences);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() && one.iter().all(Value::is_object) => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                compare(&format!("{path}[{index}]"), one, other, differences);
            }
        }
        _ if before == now => {}
        // A vocabulary of 0 is that of the data.
        _ if path.ends_with("shape.vocabulary") && [before, now].iter().any(|it| **it == 0) => {}
        _ => {
            let [before, now] = [before, now].map(written);
            differences.push(Difference::new(path, &before, &now));
        }
    }
}

fn written(value: &Value) -> String {
    match value {
        Value::Null => "not given".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(elements) => format!("[{}]", elements.iter().map(written).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| match value {
                Value::Object(inner) if fields.len() == 1 => {
                    let inner = inner.iter().map(|(name, value)| format!("{name}: {}", written(value)));
                    format!("{name}({})", inner.collect::<Vec<_>>().join(", "))
                }
                _ => format!("{name}: {}", written(value)),
            });
            fields.collect::<Vec<_>>().join(", ")
        }
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

// Forks: new runs that start from a checkpoint of another.
//
// The fork's folder holds that checkpoint itself, as hard links of its files, or as copies where the file system has
// no links. So a fork takes no time and no space, and stays valid when the other run continues and removes the
// checkpoint, or is deleted. Only the curve before the fork is the other run's: it is read from that run's folder, as
// long as that is found.

/// A checkpoint of a run from which another run is to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    pub run: RunFolder,
    /// The step of the checkpoint; `None` is the newest usable one.
    pub step: Option<u64>,
}

/// The reason why a run cannot be forked.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("the run {run} cannot be forked: {source}")]
    Config { run: String, source: ConfigError },
    #[error("cannot read or write {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    #[error(
        "the run {run} is of the kind {expected}, and the settings are of the kind {found}; a fork goes on with the same model"
    )]
    Kind { run: String, expected: &'static str, found: &'static str },
    #[error(
        "the model of the run {run} has {expected}, and the settings ask for {found}; a fork goes on with the same model"
    )]
    Model { run: String, expected: String, found: String },
    #[error(
        "`steps` is {steps}, and the checkpoint of the run {run} is of step {step}, from which the fork counts on, so that \
         there is nothing left to train; set `steps` to more than {step}"
    )]
    Steps { run: String, step: u64, steps: u64 },
}

impl Fork {
    /// The training of the run itself, for a fork without changes, with the settings in force after the checkpoint's
    /// step.
    pub fn training(&self) -> Result<Preset, ForkError> {
        let reader = self.read()?;
        let history = reader.history();
        let config = self.config(history)?;
        if history.changes().is_empty() {
            return Ok(config.preset);
        }
        let step = match self.step {
            Some(step) => step,
            None => CheckpointChoice::Newest.find(&self.run)?.step,
        };
        let training = config.with_changed_settings(&history.until(step));
        training.map_err(|source| ForkError::Config { run: self.run.name(), source })
    }

    fn read(&self) -> Result<RunReader, ForkError> {
        let mut reader = RunReader::brief(self.run.clone());
        reader.poll().map_err(|source| ForkError::File { path: self.run.events(), source })?;
        Ok(reader)
    }

    fn config(&self, history: &RunHistory) -> Result<RunConfig, ForkError> {
        RunConfig::begun(&self.run, history).map_err(|source| ForkError::Config { run: self.run.name(), source })
    }

    /// Creates the folder of a run that continues a training from the checkpoint. A worker starts it like a resumed
    /// run.
    ///
    /// # Errors
    ///
    /// Fails where there is no such checkpoint, it is damaged, or is not of the training's model, and where the folder
    /// cannot be written. Then the new folder is removed. The forked run is never changed.
    pub fn create(&self, parent: &Path, stem: &str, training: &Preset) -> Result<(RunFolder, Forked), ForkError> {
        let reader = self.read()?;
        let config_sha256 = self.config(reader.history())?.identity(reader.history());
        let mut forked = Forked::default();
        let run = RunFolder::make(parent, stem, |folder| {
            // A worker may be training the run and remove a checkpoint at any moment.
            let checkpoint = first_usable(&self.run, self.step, |step| link_checkpoint(&self.run, step, folder))?;
            forked = Forked {
                from_run: self.run.name(),
                from_step: checkpoint.step,
                folder: self.run.path().display().to_string(),
                config_sha256,
                checkpoint_crc32: checkpoint.crc32,
                keeps_optimizer: self.check(training, &checkpoint)?,
            };
            let event = Event::Forked(forked.clone());
            let record = EventRecord { step: checkpoint.step, time: now(), wall_s: checkpoint.wall_s, event };
            write(&folder.config(), &training.to_ron())?;
            write(&folder.events(), &(record.to_line() + "\n"))
        })?;
        Ok((run, forked))
    }

    /// Checks that a training can continue from the checkpoint; returns whether it has the same update rule.
    fn check(&self, training: &Preset, checkpoint: &Checkpoint) -> Result<bool, ForkError> {
        let (run, step) = (self.run.name(), checkpoint.step);
        // The run may be a fork itself, with other settings than those that the checkpoint was trained with.
        let before = Preset::parse(&checkpoint.preset, &RunFolder::checkpoint_name(step));
        let before = before.map_err(|error| ForkError::Config { run: run.clone(), source: error.into() })?;
        let [old, new] = [&before, training].map(Preset::training);
        let (Some(old), Some(new), true) = (old, new, before.kind() == training.kind()) else {
            return Err(ForkError::Kind { run, expected: before.kind(), found: training.kind() });
        };
        let [expected, found] = [&before, training].map(|preset| preset.workload().and_then(Workload::model));
        if expected != found {
            let [expected, found] = [expected, found].map(Option::unwrap_or_default);
            return Err(ForkError::Model { run, expected, found });
        }
        let steps = new.course.steps;
        if steps <= step {
            return Err(ForkError::Steps { run, step, steps });
        }
        Ok(old.rule.kind() == new.rule.kind())
    }
}

fn write(path: &Path, text: &str) -> Result<(), ForkError> {
    let written = write_file(path, Overwrite::No, text.as_bytes());
    written.map_err(|source| ForkError::File { path: path.to_owned(), source })
}
