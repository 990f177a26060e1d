//! The facts of one run, and the names under which its metrics are shown.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use valleyscope_experiments::preset::Preset;
use valleyscope_runs::atomic_file::{Overwrite, write_file};
use valleyscope_runs::plain_file::Links;
use valleyscope_runs::{
    Better, Concern, ConcernKind, Forked, LossTally, MetricCurve, MetricId, MetricInfo, MetricSource, Notes, RunFolder,
    RunHistory, SettingChange, Started, Status, Unit, plain_file,
};

use super::column::ALIASES;
use super::import::Words;
use super::value::Value;

/// The settings of a run, which never change: its config is read once.
#[derive(Clone, Debug, Default)]
pub struct RunSettings {
    /// The settings with their paths as for `--set`, in the order of the config.
    settings: Arc<[(String, Value)]>,
    optimizer: Option<String>,
    family: Option<&'static str>,
    replicates: Option<String>,
}

impl RunSettings {
    pub fn of(preset: &Preset) -> RunSettings {
        // The names of an optimizer and of a run have columns of their own.
        let is_shown = |(path, _): &(String, String)| path != OPTIMIZER && path != NAME;
        let settings = preset.settings().into_iter().filter(is_shown);
        RunSettings {
            settings: settings.map(|(path, value)| (path, Value::parse(&value))).collect(),
            optimizer: preset.training().map(|training| training.rule.name().to_owned()),
            family: preset.workload().map(|workload| workload.info().family),
            replicates: preset.replicate_key(),
        }
    }

    /// Reads the settings of a run whose preset is known, or which another program has given it.
    pub fn read(run: &RunFolder, preset: Option<&Preset>) -> RunSettings {
        if let Some(preset) = preset {
            return RunSettings::of(preset);
        }
        let mut settings = RunSettings::default();
        let mut list = Vec::new();
        for (path, value) in run.other_settings().ok().flatten().unwrap_or_default() {
            let value = match value {
                serde_json::Value::String(text) => Value::Text(text),
                value => Value::parse(&value.to_string()),
            };
            let standard = ALIASES.iter().find(|(alias, field)| *alias == path && !FIXED.contains(field));
            match (path.as_str(), value) {
                (OPTIMIZER, Value::Text(name)) => settings.optimizer = Some(name),
                (path, value) if FIXED.contains(&path) => list.push((format!("config.{path}"), value)),
                (path, value) => list.push((standard.map_or(path, |(_, field)| *field).to_owned(), value)),
            }
        }
        let setting = |(path, value): &(String, Value)| (path != "seed").then(|| format!("{path} {}", value.key()));
        let shared: Vec<String> = list.iter().filter_map(setting).collect();
        settings.replicates = Some(match shared.is_empty() && settings.optimizer.is_none() {
            // Without settings nothing shows that two runs are alike.
            true => run.name(),
            false => format!("{:?} {}", settings.optimizer, shared.join(", ")),
        });
        settings.settings = list.into();
        settings
    }

    /// Returns the key that replicates share: their settings with all changes, their data, which may be in several places,
    /// and the step at which they were forked.
    pub fn replicates(&self, history: &RunHistory) -> Option<String> {
        let data = history.started().map_or("", |started| &started.fingerprint);
        let fork = history.forked().map(|Forked { from_run, from_step, .. }| format!("{from_run}@{from_step}"));
        let changes = history.changes_in_words();
        self.replicates.as_ref().map(|key| format!("{key}{data}{}{changes}", fork.unwrap_or_default()))
    }
}

pub(super) const RUN: &str = "run";
pub(super) const NAME: &str = "name";
pub(super) const WORKLOAD: &str = "workload";
pub(super) const STATE: &str = "state";
pub(super) const OPTIMIZER: &str = "optimizer";
pub(super) const STEP: &str = "step";
pub(super) const RATE: &str = "rate";
pub(super) const TIME: &str = "time";
pub(super) const LEFT: &str = "left";
pub(super) const BEGAN: &str = "began";
pub(super) const FORK: &str = "fork";
pub(super) const PROBLEM: &str = "problem";
pub(super) const CHANGED: &str = "changed";
pub(super) const TAGS: &str = "tags";
pub(super) const NOTE: &str = "note";
/// The key of what replicates share; it is no column.
pub(super) const REPLICATES: &str = "replicates";

/// The fields that are neither settings nor metrics.
pub(super) const FIXED: [&str; 16] = [
    RUN, NAME, WORKLOAD, STATE, PROBLEM, OPTIMIZER, STEP, RATE, TIME, LEFT, BEGAN, FORK, CHANGED, TAGS, NOTE,
    REPLICATES,
];

/// Returns the field of a metric's last value: its name, unless another field or the setting of a run may have it.
pub(super) fn last_of(info: &MetricInfo) -> String {
    let is_taken = FIXED.contains(&info.name.as_str()) || Words::of(&info.name).is_setting();
    if is_taken { format!("last_{}", info.name) } else { info.name.clone() }
}

pub(super) fn best_of(info: &MetricInfo) -> String {
    format!("best_{}", info.name)
}

pub(super) fn smoothed_of(info: &MetricInfo) -> String {
    format!("smooth_{}", info.name)
}

/// Returns whether a metric is a result: one of its directions is better, and it is no rate.
pub(super) fn is_result(info: &MetricInfo) -> bool {
    info.better != Better::Neither && info.unit != Unit::Rate
}

/// Returns whether a metric is a loss on data that the run does not learn from.
pub(super) fn is_held_out(info: &MetricInfo) -> bool {
    let is_evaluated = info.source == MetricSource::Evaluation && info.name != MetricId::TRAIN_LOSS.name();
    is_evaluated && info.better == Better::Lower
}

/// The sources of the facts of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunSource<'s> {
    pub run: &'s RunFolder,
    pub settings: &'s RunSettings,
    pub history: &'s RunHistory,
    pub status: &'s Status,
    pub notes: &'s Notes,
    pub concerns: &'s [Concern],
    pub aliases: &'s MetricAliases,
}

/// The values of a run in a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunFacts {
    settings: Arc<[(String, Value)]>,
    /// The other values, by their fields.
    values: BTreeMap<String, Value>,
    metrics: Vec<MetricInfo>,
    tags: Vec<String>,
}

impl RunFacts {
    pub fn of(source: RunSource<'_>) -> RunFacts {
        let RunSource { run, settings, history, status, notes, concerns, aliases } = source;
        let metrics = aliases.apply(history.metrics());
        let mut facts = RunFacts {
            settings: Arc::clone(&settings.settings),
            metrics: metrics.iter().map(|(_, info)| info.clone()).collect(),
            tags: notes.tags.clone(),
            values: BTreeMap::new(),
        };
        let started = history.started();
        if settings.settings.is_empty() {
            facts.settings = started.map(described).unwrap_or_default();
        }
        facts.put_in_force(history);
        let title = [Some(&notes.title), started.map(|started| &started.title)];
        let title = title.into_iter().flatten().find(|title| !title.is_empty());
        facts.text(RUN, Some(run.name()));
        facts.text(NAME, Some(title.map_or_else(|| run.name(), |title| title.lines().next().unwrap_or("").to_owned())));
        facts.text(WORKLOAD, settings.family.map(str::to_owned).or_else(|| Some(started?.kind.clone())));
        facts.text(STATE, Some(state(status).to_owned()));
        facts.text(PROBLEM, Some(Concern::summary(concerns)));
        let optimizer = settings.optimizer.clone().or_else(|| Some(started?.optimizer.clone()));
        facts.text(OPTIMIZER, optimizer);
        facts.values.extend(started.map(|_| (STEP.to_owned(), Value::Whole(history.step()))));
        facts.number(RATE, history.steps_per_s());
        facts.number(TIME, Some(history.wall_s()).filter(|seconds| *seconds > 0.0));
        facts.number(LEFT, history.seconds_left().filter(|_| status.is_open()));
        facts.number(BEGAN, history.began().or_else(|| run.made()).map(|time| time.as_duration().as_secs_f64()));
        facts.text(FORK, history.forked().map(|forked| format!("{}@{}", forked.from_run, forked.from_step)));
        facts.text(CHANGED, Some(history.changes_in_words()));
        facts.text(TAGS, Some(notes.tags.join(", ")));
        facts.text(NOTE, Some(notes.note.split_whitespace().collect::<Vec<_>>().join(" ")));
        facts.text(REPLICATES, settings.replicates(history).map(|key| short_hash(&key)));
        for (metric, info) in metrics {
            facts.measured(metric, &info, history);
        }
        facts
    }

    /// Returns the facts of a run whose events cannot be read.
    pub fn unreadable(run: &RunFolder) -> RunFacts {
        let mut facts = RunFacts::default();
        facts.text(RUN, Some(run.name()));
        facts.text(NAME, Some(run.name()));
        facts.text(STATE, Some(UNREADABLE.to_owned()));
        facts
    }

    /// Replaces the settings that were changed while the run was trained by the values now in force.
    fn put_in_force(&mut self, history: &RunHistory) {
        let mut changed = history.changed_settings();
        // A command for other steps changes those of the run, and no setting of its training.
        let is_scan = history.started().is_some_and(|started| started.scan.is_some());
        let steps = history.steps().filter(|_| !is_scan);
        changed.extend(steps.map(|steps| (SettingChange::STEPS.to_owned(), steps as f64)));
        let differs =
            |(path, value): &(String, Value)| changed.get(path).is_some_and(|now| value.number() != Some(*now));
        if self.settings.iter().any(differs) {
            let now = |(path, value): &(String, Value)| {
                (path.clone(), changed.get(path).map_or_else(|| value.clone(), |now| value.in_place_of(*now)))
            };
            self.settings = self.settings.iter().map(now).collect();
        }
    }

    fn text(&mut self, field: &str, text: Option<String>) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.values.insert(field.to_owned(), Value::Text(text));
        }
    }

    fn number(&mut self, field: &str, number: Option<f64>) {
        if let Some(number) = number {
            self.values.insert(field.to_owned(), Value::Number(number));
        }
    }

    /// Adds the last, the best and the smoothed value of a metric that is shown with this description.
    fn measured(&mut self, metric: MetricId, info: &MetricInfo, history: &RunHistory) {
        let curve = history.curve(metric);
        self.number(&last_of(info), curve.value.last().copied());
        if !is_result(info) {
            return;
        }
        let (best, smoothed) = match metric {
            MetricId::LOSS => (history.losses().best(), history.losses().smoothed()),
            _ => (best(&curve, info.better), smoothed(&curve)),
        };
        self.number(&best_of(info), best);
        self.number(&smoothed_of(info), smoothed);
    }

    /// Returns the value of a field.
    pub fn get(&self, field: &str) -> Option<&Value> {
        let of_settings = || self.settings.iter().find(|(path, _)| path == field).map(|(_, value)| value);
        self.values.get(field).or_else(of_settings)
    }

    /// Returns whether the run has a field, also if its value is not known yet.
    pub fn has_field(&self, field: &str) -> bool {
        let is_measured = |info: &MetricInfo| {
            let of_result = || [best_of(info), smoothed_of(info)].iter().any(|name| name == field);
            last_of(info) == field || (is_result(info) && of_result())
        };
        FIXED.contains(&field)
            || self.settings.iter().any(|(path, _)| path == field)
            || self.metrics.iter().any(is_measured)
    }

    /// Returns the fields by which the run can be judged: its best losses on data that it does not learn from or, if it
    /// logs none, its best training loss.
    pub(super) fn judging_fields(&self) -> Vec<String> {
        let held_out: Vec<String> = self.metrics.iter().filter(|info| is_held_out(info)).map(best_of).collect();
        let training = || self.metrics.iter().filter(|info| info.name == MetricId::LOSS.name()).map(best_of).collect();
        if held_out.is_empty() { training() } else { held_out }
    }

    /// Replaces the name by one that distinguishes the run from others.
    pub fn set_name(&mut self, name: String) {
        self.text(NAME, Some(name));
    }

    pub fn tags(&self) -> &[String] {
        &self.tags
    }

    pub(super) fn settings(&self) -> &[(String, Value)] {
        &self.settings
    }

    pub(super) fn metrics(&self) -> &[MetricInfo] {
        &self.metrics
    }
}

/// The state of a run whose events cannot be read.
const UNREADABLE: &str = "unreadable";

/// Lists the words that a filter compares the state with: the states, and the kinds of problems.
pub(super) fn states() -> impl Iterator<Item = &'static str> {
    let states = ["starting", "running", "stopped", "finished", "failed", "crashed", "silent", UNREADABLE];
    states.into_iter().chain(ConcernKind::ALL.map(ConcernKind::word)).filter(|word| !word.is_empty())
}

/// Returns a state in one word.
fn state(status: &Status) -> &'static str {
    match status {
        Status::Starting => "starting",
        Status::Running(_) => "running",
        Status::Stopped => "stopped",
        Status::Finished => "finished",
        Status::Failed(_) => "failed",
        Status::Crashed { .. } => "crashed",
        Status::Silent { .. } => "silent",
    }
}

/// Returns the settings of a run without a readable config, as its first event describes them.
fn described(started: &Started) -> Arc<[(String, Value)]> {
    let known = [
        ("learning_rate", started.learning_rate.map(Value::Number)),
        ("batch_size", started.batch_size.map(Value::Whole)),
        ("seed", started.seed.map(Value::Whole)),
    ];
    known.into_iter().filter_map(|(path, value)| Some((path.to_owned(), value?))).collect()
}

fn short_hash(key: &str) -> String {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn best(curve: &MetricCurve<'_>, better: Better) -> Option<f64> {
    let known = curve.value.iter().copied().filter(|value| !value.is_nan());
    if better == Better::Higher { known.reduce(f64::max) } else { known.reduce(f64::min) }
}

fn smoothed(curve: &MetricCurve<'_>) -> Option<f64> {
    let mut tally = LossTally::default();
    curve.value.iter().for_each(|value| tally.push(*value));
    tally.smoothed()
}

/// The largest file of aliases, in bytes.
const MOST_BYTES: u64 = 1 << 20;
/// The number of metrics that are proposed to be shown together with another.
const MOST_PROPOSED: usize = 12;
/// The likeness of names, from 0 to 1, from which metrics are proposed though their better directions differ.
const SIMILAR: f64 = 0.5;

/// The names under which metrics are shown, by their names in the events of runs. The user's choice counts for the plots
/// of the window, that of a command for its columns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MetricAliases(BTreeMap<String, String>);

impl MetricAliases {
    /// Returns the user's file of aliases, if the system has a folder for settings.
    pub fn file_of_user() -> Option<PathBuf> {
        Some(directories::ProjectDirs::from("", "", "valleyscope")?.config_dir().join("metrics.ron"))
    }

    /// Reads a file of aliases; a missing file has none.
    ///
    /// # Errors
    ///
    /// Returns a sentence with the file, what was expected and what was found.
    pub fn read(file: &Path) -> Result<MetricAliases, String> {
        let failed = |error: &dyn std::fmt::Display| {
            let expected =
                r#"expected the names of metrics with those under which to show them, {"val/loss": "val_loss"}"#;
            format!("cannot read {}: {expected}: {error}", file.display())
        };
        let text = match plain_file::read_text(file, Links::Followed, MOST_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(MetricAliases::default()),
            Err(error) => return Err(failed(&error)),
        };
        let read: BTreeMap<String, String> = ron::from_str(&text).map_err(|error| failed(&error))?;
        let mut aliases = MetricAliases::default();
        for (name, shown) in read {
            aliases.set(&name, &shown).map_err(|error| failed(&error))?;
        }
        Ok(aliases)
    }

    pub fn write(&self, file: &Path) -> io::Result<()> {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let text = ron::ser::to_string_pretty(self, ron::ser::PrettyConfig::new().new_line("\n"))
            .expect("texts hold nothing that RON cannot express");
        write_file(file, Overwrite::Yes, (text + "\n").as_bytes())
    }

    /// Shows a metric under another name, with all that is shown under its own.
    ///
    /// # Errors
    ///
    /// Returns a sentence about a name that no metric can have.
    pub fn set(&mut self, name: &str, shown: &str) -> Result<(), String> {
        for name in [name, shown] {
            if MetricId::named(name).is_none() {
                return Err(format!("expected the name of a metric, such as val_loss, found `{name}`"));
            }
        }
        let shown = self.0.get(shown).cloned().unwrap_or_else(|| shown.to_owned());
        self.0.values_mut().filter(|other| *other == name).for_each(|other| other.clone_from(&shown));
        self.0.insert(name.to_owned(), shown);
        self.0.retain(|name, shown| name != shown);
        Ok(())
    }

    /// Shows a metric under its own name again.
    pub fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Lists the metrics that are shown under the name of another one.
    pub fn shown_as<'a>(&'a self, shown: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(_, other)| *other == shown).map(|(name, _)| name.as_str())
    }

    /// Returns the metrics of a run with their descriptions as they are shown. Where the run also logs the metric under
    /// whose name another one would be shown, both keep their own names.
    pub fn apply(&self, metrics: Vec<MetricInfo>) -> Vec<(MetricId, MetricInfo)> {
        let names = metrics.iter().map(|info| info.name.clone());
        let mut taken: BTreeSet<String> = names.filter(|name| !self.0.contains_key(name)).collect();
        let shown = |info: MetricInfo| {
            let metric = info.metric()?;
            let Some(shown) = self.0.get(&info.name).filter(|shown| taken.insert((*shown).clone())) else {
                return Some((metric, info));
            };
            let known = MetricId::named(shown)?.info();
            let (better, source) =
                if known.better == Better::Neither { (info.better, info.source) } else { (known.better, known.source) };
            Some((metric, MetricInfo { name: shown.clone(), title: known.title, better, source, ..info }))
        };
        metrics.into_iter().filter_map(shown).collect()
    }
}

/// Returns the metrics that may be shown together with another one, those of the most similar names first: of the same
/// unit, with the same better direction or a similar name, and logged by no run that logs the other, too.
pub fn proposals<'m>(of: &MetricInfo, all: &'m [MetricInfo], runs: &[&[MetricInfo]]) -> Vec<&'m MetricInfo> {
    let has = |run: &&&[MetricInfo], name: &str| run.iter().any(|info| info.name == name);
    let are_together = |name: &str| runs.iter().any(|run| has(&run, &of.name) && has(&run, name));
    let words = |name: &str| name.to_lowercase().replace(|c: char| !c.is_alphanumeric(), " ");
    let likeness = |info: &MetricInfo| strsim::normalized_damerau_levenshtein(&words(&info.name), &words(&of.name));
    let is_alike = |info: &MetricInfo| info.better == of.better || likeness(info) > SIMILAR;
    let fits = |info: &&MetricInfo| {
        info.name != of.name && info.unit == of.unit && is_alike(info) && !are_together(&info.name)
    };
    let mut found: Vec<&MetricInfo> = all.iter().filter(fits).collect();
    found.sort_by(|a, b| likeness(b).total_cmp(&likeness(a)));
    found.truncate(MOST_PROPOSED);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn infos(names: &[&str]) -> Vec<MetricInfo> {
        names.iter().map(|name| MetricId::named(name).expect("a name").info()).collect()
    }

    fn shown(aliases: &MetricAliases, names: &[&str]) -> Vec<String> {
        aliases.apply(infos(names)).into_iter().map(|(_, info)| info.name).collect()
    }

    #[test]
    fn metrics_are_shown_under_one_name_unless_a_run_logs_both() {
        let mut aliases = MetricAliases::default();
        aliases.set("test_loss", "val/loss").expect("names");
        aliases.set("val/loss", "val_loss").expect("names");
        assert_eq!(shown(&aliases, &["loss", "test_loss"]), ["loss", "val_loss"]);
        assert_eq!(shown(&aliases, &["val/loss"]), ["val_loss"]);
        assert_eq!(shown(&aliases, &["test_loss", "val_loss"]), ["test_loss", "val_loss"]);
        assert_eq!(shown(&aliases, &["test_loss", "val/loss"]), ["val_loss", "val/loss"]);
        assert_eq!(aliases.apply(infos(&["val/loss"]))[0].1.title, "Validation loss");
        // The other way round, the first name is its own again.
        aliases.set("val_loss", "test_loss").expect("names");
        assert_eq!(shown(&aliases, &["val_loss"]), ["val_loss"]);
        aliases.remove("test_loss");
        assert_eq!(aliases.shown_as("val_loss").collect::<Vec<_>>(), ["val/loss"]);
        assert!(aliases.set("a name", "time").is_err());
    }

    #[test]
    fn aliases_are_written_and_read_and_a_mistake_names_the_file() {
        let place = tempfile::tempdir().expect("a temporary folder can be made");
        let file = place.path().join("settings/metrics.ron");
        assert_eq!(MetricAliases::read(&file), Ok(MetricAliases::default()));
        let mut aliases = MetricAliases::default();
        aliases.set("val/loss", "val_loss").expect("names");
        aliases.write(&file).expect("it can be written");
        assert_eq!(MetricAliases::read(&file).as_ref(), Ok(&aliases));
        std::fs::write(&file, "{\"val/loss\": 3}").expect("it can be written");
        let error = MetricAliases::read(&file).expect_err("no name");
        assert!(error.contains("metrics.ron") && error.contains("\"val/loss\": \"val_loss\""), "{error}");
    }

    #[test]
    fn similar_names_are_proposed_first() {
        let [one, two] = [infos(&["loss", "test_loss", "test_accuracy"]), infos(&["loss", "val_loss", "grad_norm"])];
        let all = infos(&["loss", "grad_norm", "val_loss", "test_loss", "test_accuracy"]);
        let names = |of: &str| -> Vec<String> {
            let of = &infos(&[of])[0];
            proposals(of, &all, &[&one, &two]).iter().map(|info| info.name.clone()).collect()
        };
        assert_eq!(names("test_loss"), ["val_loss"]);
        assert!(names("loss").is_empty() && names("test_accuracy").is_empty());
    }
}
