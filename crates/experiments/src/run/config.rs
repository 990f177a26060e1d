//! A run's `config.ron`, and its comparison with the config that the run was begun with.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;
use sha2::{Digest, Sha256};
use valleyscope_engine::terminal_escape::{shortened, visible};
use valleyscope_runs::{ConfigReader, GridPoint, RunFolder, RunHistory, RunReader, ScanAxes, Started};

use crate::preset::{Preset, PresetError};
use crate::workload::Workload;

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
        "{} is not the one that the run was begun with: {}; put the old values back to go on{}{}, or start a new run with \
         the new ones",
        RunFolder::CONFIG, list(differences), how(*kept), advice(differences)
    )]
    Changed {
        differences: Vec<Difference>,
        /// Whether the events contain the config with which the run began.
        kept: bool,
    },
}

/// A field of a config that was changed since the run was begun.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// The field's path as for `--set`, such as `optimizer.gamma`.
    pub field: String,
    pub before: String,
    pub now: String,
}

impl Difference {
    /// Returns a difference of values from files, which may hold anything.
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

/// Returns advice on how to restore the old values.
fn how(kept: bool) -> &'static str {
    if kept { " (`valleyscope runs check --repair` does that)" } else { "" }
}

/// Returns advice on a changed field that may be changed by a command.
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

/// Returns the SHA-256 of a config's text, in hexadecimal digits.
fn sha256(text: &str) -> String {
    format!("{:x}", Sha256::digest(text))
}

impl RunConfig {
    /// Reads the `config.ron` of a run.
    pub fn read(run: &RunFolder) -> Result<RunConfig, ConfigError> {
        if run.other_settings().is_ok_and(|settings| settings.is_some()) {
            return Err(ConfigError::OtherProgram);
        }
        let path = run.config();
        let text = run.config_text().map_err(|source| PresetError::Read { path: path.clone(), source })?;
        let preset = Preset::parse(&text, &path.display().to_string())?;
        Ok(RunConfig { preset, text })
    }

    /// Returns the config with which a run with this history began: the one in its events or, if their first line is
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

    /// Returns the training with the settings that commands have changed, in a run with this history. Its title and
    /// description name them.
    ///
    /// # Errors
    ///
    /// Returns [`ConfigError::Settings`] if they are not settings of this training.
    pub fn with_changed_settings(&self, history: &RunHistory) -> Result<Preset, ConfigError> {
        with_changed_settings(&self.preset, &history.changed_settings())
    }

    /// Returns the text as in the file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether the config computes the same as a training, apart from the differences that [`RunConfig::check`]
    /// allows.
    pub fn computes_the_same_as(&self, training: &Preset) -> bool {
        differing_fields(training, &self.preset).is_empty()
    }

    /// Returns the description of the run, for its first event.
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
    /// run was begun with. Comments, the title, the description, the place of the data (which have a fingerprint of
    /// their own) and the device may differ.
    ///
    /// # Errors
    ///
    /// Returns [`ConfigError::Changed`] with the fields that differ.
    pub fn check(&self, history: &RunHistory) -> Result<(), ConfigError> {
        let begun = history.started().map(|started| started.config.as_str()).filter(|text| !text.is_empty());
        let differences = match begun {
            Some(begun) if begun != self.text => differing_fields(&RunConfig::parse_begun(begun)?.preset, &self.preset),
            _ => Vec::new(),
        };
        if !differences.is_empty() {
            return Err(ConfigError::Changed { differences, kept: true });
        }
        let differences = points_that_differ(history, self.started().scan.as_ref());
        if differences.is_empty() { Ok(()) } else { Err(ConfigError::Changed { differences, kept: false }) }
    }

    /// Checks that a run's config computes the same as the one with which it began ([`RunConfig::check`]), as far as
    /// its events can be read.
    pub fn check_run(run: &RunFolder) -> Result<(), ConfigError> {
        let mut reader = RunReader::brief(run.clone());
        reader.poll().map_err(|source| PresetError::Read { path: run.events(), source })?;
        RunConfig::read(run)?.check(reader.history())
    }

    /// Returns the identity of the run's checkpoints: the hash of the config that the run was begun with, to which this
    /// one is equal.
    pub fn identity(&self, history: &RunHistory) -> String {
        let begun = history.started().map(|started| started.config_sha256.clone());
        begun.filter(|sum| !sum.is_empty()).unwrap_or_else(|| sha256(&self.text))
    }
}

/// Returns a training with other values of settings that can be changed while it runs. Its title and description name
/// those that differ.
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

/// Returns whether two texts are configs that compute the same ([`RunConfig::check`]).
pub fn compute_the_same(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(|text| Preset::parse(text, RunFolder::CONFIG));
    matches!((one, other), (Ok(one), Ok(other)) if differing_fields(&one, &other).is_empty())
}

/// Returns the differences shown by a scan's finished grid points, which record their settings, also where the first
/// event is lost.
fn points_that_differ(history: &RunHistory, axes: Option<&ScanAxes>) -> Vec<Difference> {
    let Some(axes) = axes else { return Vec::new() };
    let mut differences = BTreeSet::new();
    for GridPoint { index: [row, column], optimizer, batch_size, test_loss, .. } in history.grid_points() {
        let shape = |rates: usize, replicates: usize| format!("{rates} × {replicates}");
        let trainings = shape(test_loss.len(), test_loss.first().map_or(0, Vec::len));
        for (field, before, now) in [
            (format!("optimizers[{row}]"), optimizer.clone(), axes.optimizers.get(*row).cloned()),
            (
                format!("batch_sizes[{column}]"),
                batch_size.to_string(),
                axes.batch_sizes.get(*column).map(u64::to_string),
            ),
            (
                "learning_rates × replicates".to_owned(),
                trainings,
                Some(shape(axes.learning_rates.len(), axes.replicates as usize)),
            ),
        ] {
            let now = now.unwrap_or_else(|| "not given".to_owned());
            if before != now {
                differences.insert(Difference::new(&field, &before, &now));
            }
        }
    }
    differences.into_iter().collect()
}

/// The fields that need not be equal for a run to resume. The data have a fingerprint.
const FREE: [&str; 6] = ["title", "description", "data", "device", "processes", "shard_optimizer"];

/// Returns the fields in which two configs differ, so that they do not compute the same.
pub fn differing_fields(before: &Preset, now: &Preset) -> Vec<Difference> {
    if before.kind() != now.kind() {
        return vec![Difference::new("kind", before.kind(), now.kind())];
    }
    let (kind, places) = (now.kind(), now.workload().map_or_else(Vec::new, Workload::places));
    let [before, now] = [before, now].map(|preset| {
        let mut tree = serde_json::to_value(preset).expect("a preset holds nothing that JSON cannot express");
        prune(&mut tree);
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

/// Removes the fields that need not be equal, of the preset, of its runs and of its scan.
fn prune(tree: &mut Value) {
    match tree {
        Value::Object(fields) => {
            fields.retain(|name, _| !FREE.contains(&name.as_str()));
            fields.values_mut().for_each(prune);
        }
        Value::Array(elements) => elements.iter_mut().for_each(prune),
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
        _ => {
            let [before, now] = [before, now].map(written);
            differences.push(Difference::new(path, &before, &now));
        }
    }
}

/// Formats a value approximately as in the file.
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
