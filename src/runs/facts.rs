//! The facts of a run: the table of what is known of each run besides its settings and metrics, the values of one run,
//! and the names under which its metrics are shown.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_engine::setting::{LEARNING_RATE, SettingInfo};
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::run::RunConfig;
use valleyscope_runs::atomic_file::{Overwrite, write_file};
use valleyscope_runs::plain_file::{self, Links};
use valleyscope_runs::{
    Better, Concern, ConcernKind, Forked, MetricId, MetricInfo, MetricSource, Notes, RunFolder, RunHistory,
    SettingChange, Started, Status, Unit, Words,
};

use super::value::Format::{self, Duration, Moment, Rate, Text, Whole};
use super::value::Value;
use Shown::{Always, IfKnown, IfMixed, Never, NoColumn};

/// A fact about each run besides its settings and metrics: a field of filters, a column of tables, and a key of JSON.
pub(super) struct Fact {
    pub field: &'static str,
    pub title: &'static str,
    pub help: &'static str,
    pub format: Format,
    pub shown: Shown,
    value: FactValue,
}

type FactValue = fn(&RunSource<'_>) -> Option<Value>;

/// Whether the column of a fact is shown unless the user hides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Always,
    /// If a run has a value.
    IfKnown,
    /// If the runs have different values.
    IfMixed,
    Never,
    /// It is no column, but runs can be grouped by it.
    NoColumn,
}

pub(super) const RUN: &str = "run";
pub(super) const NAME: &str = "name";
pub(super) const OPTIMIZER: &str = "optimizer";
pub(super) const STATE: &str = "state";
pub(super) const PROBLEM: &str = "problem";
pub(super) const STEP: &str = "step";
pub(super) const BEGAN: &str = "began";
pub(super) const TAGS: &str = "tags";
pub(super) const NOTE: &str = "note";
/// The key of what replicates share.
pub(super) const REPLICATES: &str = "replicates";

const STATES: &str = "starting, running, stopped, finished, failed, crashed or silent";
const CHANGED: &str = "The settings that were changed, and after which steps";

/// The facts, in the order of their columns.
pub(super) static FACTS: [Fact; 16] = [
    fact(NAME, "Name", "The run's name or title", Text, Always, name),
    fact(RUN, "Folder", "The name of the run's folder", Text, Never, |it| text(it.run.name())),
    fact("workload", "Workload", "What is trained", Text, IfMixed, |it| {
        let family = it.settings.family.map(str::to_owned);
        text(family.or_else(|| Some(it.history.started()?.kind.clone()))?)
    }),
    fact(OPTIMIZER, "Optimizer", "The update rule", Text, Always, |it| {
        let optimizer = it.settings.optimizer.clone();
        text(optimizer.or_else(|| Some(it.history.started()?.optimizer.clone()))?)
    }),
    fact(STATE, "State", STATES, Text, Always, |it| text(state(it.status))),
    fact(PROBLEM, "Problem", "diverged, stalled or warned", Text, IfKnown, |it| text(Concern::summary(it.concerns))),
    fact(STEP, "Step", "Steps so far", Whole, Always, |it| {
        it.history.started().map(|_| Value::Whole(it.history.step()))
    }),
    fact("rate", "Rate", "Steps a second of training since the last start", Rate, Always, |it| {
        it.history.steps_per_s().map(Value::Number)
    }),
    fact("time", "Time", "Time of training, without pauses", Duration, Always, |it| {
        Some(it.history.wall_s()).filter(|seconds| *seconds > 0.0).map(Value::Number)
    }),
    fact("left", "Left", "Estimated time until the last step", Duration, Never, |it| {
        it.history.seconds_left().filter(|_| it.status.is_open()).map(Value::Number)
    }),
    fact(BEGAN, "Began", "When the training began, in UTC", Moment, Never, |it| {
        let began = it.history.began().or_else(|| it.run.made());
        began.map(|time| Value::Number(time.as_duration().as_secs_f64()))
    }),
    fact("fork", "Fork of", "The run and the step that a fork goes on from", Text, Never, |it| {
        text(it.history.forked().map(|forked| format!("{}@{}", forked.from_run, forked.from_step))?)
    }),
    fact("changed", "Changed while it ran", CHANGED, Text, IfKnown, |it| text(it.history.changes_text())),
    fact(TAGS, "Tags", "Your tags", Text, IfKnown, |it| text(it.notes.tags.join(", "))),
    fact(NOTE, "Note", "Your note", Text, IfKnown, |it| {
        text(it.notes.note.split_whitespace().collect::<Vec<_>>().join(" "))
    }),
    fact(REPLICATES, "", "", Text, NoColumn, |it| text(short_hash(&it.settings.replicates(it.history)?))),
];

/// Other names of fields.
pub(super) const ALIASES: [(&str, &str); 8] = [
    ("lr", "learning_rate"),
    ("η", "learning_rate"),
    ("batch", "batch_size"),
    ("status", STATE),
    ("title", NAME),
    ("tag", TAGS),
    ("notes", NOTE),
    ("started", BEGAN),
];

const fn fact(
    field: &'static str,
    title: &'static str,
    help: &'static str,
    format: Format,
    shown: Shown,
    value: FactValue,
) -> Fact {
    Fact { field, title, help, format, shown, value }
}

fn text(text: impl Into<String>) -> Option<Value> {
    Some(text.into()).filter(|text: &String| !text.is_empty()).map(Value::Text)
}

fn name(it: &RunSource<'_>) -> Option<Value> {
    let titles = [Some(&it.notes.title), it.history.started().map(|started| &started.title)];
    let title = titles.into_iter().flatten().find(|title| !title.is_empty());
    text(title.map_or_else(|| it.run.name(), |title| title.lines().next().unwrap_or("").to_owned()))
}

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

/// The state of a run whose events cannot be read.
const UNREADABLE: &str = "unreadable";

/// Lists the words that a filter compares the state with: the states, and the kinds of problems.
pub(super) fn states() -> impl Iterator<Item = &'static str> {
    let states = ["starting", "running", "stopped", "finished", "failed", "crashed", "silent", UNREADABLE];
    states.into_iter().chain(ConcernKind::ALL.map(ConcernKind::label)).filter(|label| !label.is_empty())
}

fn short_hash(key: &str) -> String {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Whether a field is that of a fact, and neither of a setting nor of a metric.
fn is_fact(field: &str) -> bool {
    FACTS.iter().any(|fact| fact.field == field)
}

/// The values from which the facts of a run follow.
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

/// The settings of a run, in the order of its config.
type Settings = Arc<[RunSetting]>;

/// A setting of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RunSetting {
    /// The path as for `--set`.
    pub path: String,
    /// The value; `None` where an optional one is left out.
    pub value: Option<Value>,
    /// The entry in the table of the workload or of the rule, if there is one.
    pub info: Option<&'static SettingInfo>,
}

impl RunSetting {
    /// Creates a setting of a run whose rule has this name.
    fn named(path: String, value: Value, rule: Option<&str>) -> RunSetting {
        let of_rule = || {
            let rule = RuleSpec::in_training(RuleKind::shown_as(rule?)?);
            rule.hyperparameter(path.strip_prefix("optimizer.")?)
        };
        let info = if path == LEARNING_RATE.key { Some(&LEARNING_RATE) } else { of_rule() };
        RunSetting { path, value: Some(value), info }
    }
}

/// The config of a run, which never changes: it is read once.
#[derive(Clone, Debug, Default)]
pub struct RunSettings {
    /// The training, if this program can read its config.
    pub preset: Option<Preset>,
    settings: Settings,
    optimizer: Option<String>,
    family: Option<&'static str>,
    replicates: Option<String>,
}

impl RunSettings {
    /// Reads the config of a run, or the settings that another program has given it.
    pub fn read(run: &RunFolder) -> RunSettings {
        RunConfig::read(run)
            .map_or_else(|_| RunSettings::of_other_program(run), |config| RunSettings::of(config.preset))
    }

    pub fn of(preset: Preset) -> RunSettings {
        // The names of an optimizer and of a run have columns of their own.
        let is_shown = |(path, _): &(String, String)| path != OPTIMIZER && path != NAME;
        let listed = preset.settings().into_iter().filter(is_shown);
        let fields = preset.workload().map_or_else(Vec::new, |workload| workload.fields());
        let setting = |path: String, value: Option<Value>| {
            let of_rule = || preset.training()?.rule.hyperparameter(path.strip_prefix("optimizer.")?);
            let of_field = || fields.iter().find(|of| of.setting.key == path).map(|of| &of.setting);
            let of_rate = (path == LEARNING_RATE.key).then_some(&LEARNING_RATE);
            RunSetting { info: of_rate.or_else(of_rule).or_else(of_field), path, value }
        };
        let mut settings: Vec<_> = listed.map(|(path, value)| setting(path, Some(Value::parse(&value)))).collect();
        // Runs of a workload have the same keys, whatever their configs leave out.
        if let Some(training) = preset.training() {
            let of_sharing = training.sharing.settings();
            let defaults = of_sharing.iter().map(|(path, value)| (*path, Some(Value::parse(value))));
            let optional = fields.iter().filter(|of| of.absent.is_some()).map(|of| (of.setting.key, None));
            for (path, value) in defaults.chain(optional) {
                if !settings.iter().any(|known| known.path == path) {
                    settings.push(setting(path.to_owned(), value));
                }
            }
        }
        RunSettings {
            settings: settings.into(),
            optimizer: preset.training().map(|training| training.rule.name().to_owned()),
            family: preset.workload().map(|workload| workload.info().family),
            replicates: preset.replicate_key(),
            preset: Some(preset),
        }
    }

    fn of_other_program(run: &RunFolder) -> RunSettings {
        let mut settings = RunSettings::default();
        let mut list = Vec::new();
        for (path, value) in run.other_settings().ok().flatten().unwrap_or_default() {
            let value = match value {
                serde_json::Value::String(text) => Value::Text(text),
                value => Value::parse(&value.to_string()),
            };
            let path = match (path.as_str(), &value) {
                (OPTIMIZER | "optimizer.name", Value::Text(name)) => {
                    settings.optimizer = Some(name.clone());
                    continue;
                }
                (field, _) if is_fact(field) => format!("config.{field}"),
                (field, _) => {
                    let standard = ALIASES.iter().find(|(alias, path)| *alias == field && !is_fact(path));
                    standard.map_or(field, |(_, path)| *path).to_owned()
                }
            };
            list.push((path, value));
        }
        let setting = |(path, value): &(String, Value)| (path != "seed").then(|| format!("{path} {}", value.key()));
        let shared: Vec<String> = list.iter().filter_map(setting).collect();
        settings.replicates = Some(match shared.is_empty() && settings.optimizer.is_none() {
            // Without settings nothing shows that two runs are alike.
            true => run.name(),
            false => format!("{:?} {}", settings.optimizer, shared.join(", ")),
        });
        let rule = settings.optimizer.as_deref();
        settings.settings = list.into_iter().map(|(path, value)| RunSetting::named(path, value, rule)).collect();
        settings
    }

    /// Returns the key that replicates share: their settings with all changes, their data, which may be in several
    /// folders, and the step at which they were forked.
    pub fn replicates(&self, history: &RunHistory) -> Option<String> {
        let data = history.started().map_or("", |started| &started.fingerprint);
        let fork = history.forked().map(|Forked { from_run, from_step, .. }| format!("{from_run}@{from_step}"));
        let changes = history.changes_text();
        self.replicates.as_ref().map(|key| format!("{key}{data}{}{changes}", fork.unwrap_or_default()))
    }
}

/// Returns the field of a metric's last value: its name, unless another field or the setting of a run may have it.
pub(super) fn last_of(info: &MetricInfo) -> String {
    let is_taken = is_fact(&info.name) || Words::of(&info.name).is_setting();
    if is_taken { format!("last_{}", info.name) } else { info.name.clone() }
}

pub(super) fn best_of(info: &MetricInfo) -> String {
    format!("best_{}", info.name)
}

pub(super) fn smoothed_of(info: &MetricInfo) -> String {
    format!("smooth_{}", info.name)
}

/// Whether a metric is a result: one of its directions is better, and it is no rate.
pub(super) fn is_result(info: &MetricInfo) -> bool {
    info.better != Better::Neither && info.unit != Unit::Rate
}

/// Whether a metric is a loss on data that the run does not learn from.
pub(super) fn is_held_out(info: &MetricInfo) -> bool {
    let is_evaluated = info.source == MetricSource::Evaluation && info.name != MetricId::TRAIN_LOSS.name();
    is_evaluated && info.better == Better::Lower
}

/// The values of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunFacts {
    settings: Settings,
    /// The facts and the measured values, by their fields.
    values: BTreeMap<String, Value>,
    metrics: Vec<MetricInfo>,
    training_loss: Option<MetricInfo>,
    tags: Vec<String>,
}

impl RunFacts {
    pub fn of(source: RunSource<'_>) -> RunFacts {
        let RunSource { settings, history, notes, aliases, .. } = source;
        let metrics = aliases.apply(history.metrics());
        let facts = FACTS.iter().filter_map(|fact| Some((fact.field.to_owned(), (fact.value)(&source)?)));
        let mut facts = RunFacts {
            settings: Arc::clone(&settings.settings),
            values: facts.collect(),
            metrics: metrics.iter().map(|(_, info)| info.clone()).collect(),
            training_loss: None,
            tags: notes.tags.clone(),
        };
        facts.training_loss = MetricInfo::of_training_loss(&facts.metrics).cloned();
        if settings.settings.is_empty() {
            facts.settings = history.started().map(described).unwrap_or_default();
        }
        facts.put_in_force(history);
        for (metric, info) in metrics {
            facts.measure(metric, &info, history);
        }
        facts
    }

    /// Returns the facts of a run whose events cannot be read.
    pub fn unreadable(run: &RunFolder) -> RunFacts {
        let values = [(RUN, run.name()), (NAME, run.name()), (STATE, UNREADABLE.to_owned())];
        let values = values.map(|(field, text)| (field.to_owned(), Value::Text(text)));
        RunFacts { values: values.into(), ..RunFacts::default() }
    }

    /// Replaces the settings that were changed while the run was trained by the values now in force.
    fn put_in_force(&mut self, history: &RunHistory) {
        let mut changed = history.changed_settings();
        // A command for other steps changes those of the run, and no setting of its training.
        let is_scan = history.started().is_some_and(|started| started.scan.is_some());
        let steps = history.steps().filter(|_| !is_scan);
        changed.extend(steps.map(|steps| (SettingChange::STEPS.to_owned(), steps as f64)));
        let in_force = |setting: &RunSetting| {
            let RunSetting { path, value, .. } = setting;
            let now = value.as_ref().zip(changed.get(path)).map(|(value, now)| value.in_place_of(*now));
            RunSetting { value: now.or_else(|| value.clone()), ..setting.clone() }
        };
        let differs = |setting: &RunSetting| in_force(setting) != *setting;
        if self.settings.iter().any(differs) {
            self.settings = self.settings.iter().map(in_force).collect();
        }
    }

    /// Adds the last, the best and the smoothed value of a metric that is shown with this description.
    fn measure(&mut self, metric: MetricId, info: &MetricInfo, history: &RunHistory) {
        let mut measured = vec![(last_of(info), history.latest(metric))];
        if is_result(info) {
            let tally = history.tally(metric);
            measured.extend([(best_of(info), tally.best(info.better)), (smoothed_of(info), tally.smoothed())]);
        }
        let known = measured.into_iter().filter_map(|(field, value)| Some((field, Value::Number(value?))));
        self.values.extend(known);
    }

    pub fn get(&self, field: &str) -> Option<&Value> {
        let of_settings = || self.settings.iter().find(|it| it.path == field)?.value.as_ref();
        self.values.get(field).or_else(of_settings)
    }

    /// Returns the value of a field that has numbers.
    pub fn number(&self, field: &str) -> Option<f64> {
        self.get(field)?.number()
    }

    /// Returns the last value of a metric.
    pub fn last(&self, info: &MetricInfo) -> Option<f64> {
        self.number(&last_of(info))
    }

    /// Whether the run has a field, also if its value is not known yet.
    pub fn has_field(&self, field: &str) -> bool {
        let is_measured = |info: &MetricInfo| {
            let of_result = || [best_of(info), smoothed_of(info)].iter().any(|name| name == field);
            last_of(info) == field || (is_result(info) && of_result())
        };
        is_fact(field) || self.settings.iter().any(|it| it.path == field) || self.metrics.iter().any(is_measured)
    }

    /// Returns the fields by which the run can be judged: its best losses on data that it does not learn from or, if it
    /// logs none, its best training loss.
    pub(super) fn judging_fields(&self) -> Vec<String> {
        let held_out: Vec<String> = self.metrics.iter().filter(|info| is_held_out(info)).map(best_of).collect();
        let training = || self.training_loss().map(best_of).into_iter().collect();
        if held_out.is_empty() { training() } else { held_out }
    }

    /// Returns the metric that is the loss of the training.
    pub fn training_loss(&self) -> Option<&MetricInfo> {
        self.training_loss.as_ref()
    }

    /// Replaces the name by one that distinguishes the run from others.
    pub fn set_name(&mut self, name: String) {
        self.values.insert(NAME.to_owned(), Value::Text(name));
    }

    pub fn tags(&self) -> &[String] {
        &self.tags
    }

    pub(super) fn settings(&self) -> &[RunSetting] {
        &self.settings
    }

    pub(super) fn metrics(&self) -> &[MetricInfo] {
        &self.metrics
    }
}

/// Returns the settings of a run without a readable config, as its first event describes them.
fn described(started: &Started) -> Settings {
    let known = [
        ("learning_rate", started.learning_rate.map(Value::Number)),
        ("batch_size", started.batch_size.map(Value::Whole)),
        ("seed", started.seed.map(Value::Whole)),
    ];
    let setting = |(path, value): (&str, Option<Value>)| Some(RunSetting::named(path.to_owned(), value?, None));
    known.into_iter().filter_map(setting).collect()
}

/// The largest file of aliases, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// The number of metrics that are proposed to be shown together with another.
const MOST_PROPOSED: usize = 12;

/// The likeness of names, from 0 to 1, from which metrics are proposed though their better directions differ.
const SIMILAR: f64 = 0.5;

/// The names under which metrics are shown, by their names in the events of runs. The user's choice counts for the
/// plots of the window, that of a command for its columns.
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
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let file = folder.path().join("settings/metrics.ron");
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
