//! The facts of a run: the table of what is known of each run besides its settings and metrics, and the values of one
//! run.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::sync::Arc;

use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_engine::setting::{LEARNING_RATE, SettingInfo};
use valleyscope_experiments::preset::{Preset, SHORT_NAMES};
use valleyscope_experiments::run::{RunConfig, with_changed_settings};
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_runs::{
    Better, Concern, ConcernKind, Forked, MetricId, MetricInfo, MetricSource, Notes, Ranks, RunFolder, RunHistory,
    RunReader, SettingChange, Started, Status, Unit, Words, now,
};

use super::aliases::MetricAliases;
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
pub(super) const FORK: &str = "fork";
pub(super) const CHANGED: &str = "changed";
pub(super) const TAGS: &str = "tags";
pub(super) const NOTE: &str = "note";
pub(super) const SYNTHETIC: &str = "synthetic";
/// The field that replicates share: runs that differ only in the seed and the folder of their data.
pub const REPLICATES: &str = "replicates";

const STATES: &str = "starting, running, stopped, finished, failed, crashed or silent";

/// The facts, in the order of their columns.
pub(super) static FACTS: [Fact; 22] = [
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
    fact(STATE, "State", STATES, Text, Always, |it| text(it.status.name())),
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
    fact("left", "Left", "Estimated time until the last step", Duration, IfKnown, |it| {
        it.history.seconds_left().filter(|_| it.status.is_open()).map(Value::Number)
    }),
    fact("ranks", "Ranks", "The processes that train it together, and the slowest of them", Text, IfKnown, |it| {
        text(Ranks::of(it.history)?.brief())
    }),
    fact(BEGAN, "Began", "When the training began, in UTC", Moment, Never, |it| {
        let began = it.history.began().or_else(|| it.run.made());
        began.map(|time| Value::Number(time.as_duration().as_secs_f64()))
    }),
    fact(FORK, "Fork of", "The run and the step that a fork goes on from", Text, IfKnown, |it| {
        text(it.history.forked().map(|forked| format!("{}@{}", forked.from_run, forked.from_step))?)
    }),
    fact(CHANGED, "Changed while it ran", "The changed settings, and after which steps", Text, IfKnown, |it| {
        text(it.history.changes_text())
    }),
    fact(SYNTHETIC, "Synthetic data", "The data that stand in for real ones", Text, IfKnown, |it| {
        text(it.history.started().filter(|started| started.synthetic)?.data.clone())
    }),
    fact("started.data", "Data that were read", "The name of the data", Text, Never, |it| {
        text(it.history.started()?.data.clone())
    }),
    fact("started.fingerprint", "Fingerprint of the data", "A hash of the data", Text, Never, |it| {
        text(it.history.started()?.fingerprint.clone())
    }),
    fact("started.device", "Device that was used", "The name of the device", Text, Never, |it| {
        text(it.history.started()?.device.clone())
    }),
    fact("started.version", "Version of the worker", "The version of the worker", Text, Never, |it| {
        text(it.history.started()?.version.clone())
    }),
    fact(TAGS, "Tags", "Your tags", Text, IfKnown, |it| text(it.notes.tags.join(", "))),
    fact(NOTE, "Note", "Your note", Text, IfKnown, |it| {
        text(it.notes.note.split_whitespace().collect::<Vec<_>>().join(" "))
    }),
    fact(REPLICATES, "", "", Text, NoColumn, |it| text(short_hash(&it.settings.replicates(it.history)?))),
];

/// Other names of fields, besides the short names of settings.
const ALIASES: [(&str, &str); 7] = [
    ("η", "learning_rate"),
    ("batch", "batch_size"),
    ("status", STATE),
    ("title", NAME),
    ("tag", TAGS),
    ("notes", NOTE),
    ("started", BEGAN),
];

/// Lists other names of fields, each with the field.
pub(super) fn aliases() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    ALIASES.iter().chain(&SHORT_NAMES)
}

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
                    let standard = aliases().find(|(alias, path)| *alias == field && !is_fact(path));
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

    /// The training with the settings now in force, if this program can read its config.
    pub fn in_force(&self, history: &RunHistory) -> Option<Preset> {
        let preset = self.preset.as_ref()?;
        Some(with_changed_settings(preset, &history.changed_settings()).unwrap_or_else(|_| preset.clone()))
    }

    /// The key that replicates share: their settings with all changes, their data, which may be in several folders, and
    /// the step at which they were forked.
    fn replicates(&self, history: &RunHistory) -> Option<String> {
        let data = history.started().map_or("", |started| &started.fingerprint);
        let fork = history.forked().map(|Forked { from_run, from_step, .. }| format!("{from_run}@{from_step}"));
        let changes = history.changes_text();
        self.replicates.as_ref().map(|key| format!("{key}{data}{}{changes}", fork.unwrap_or_default()))
    }
}

/// The field of a metric's last value: its name, unless another field or the setting of a run may have it.
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
pub(crate) fn is_held_out(info: &MetricInfo) -> bool {
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
    /// Reads a run with the user's notes about it.
    pub fn read(run: &RunFolder, notes: &Notes, aliases: &MetricAliases) -> io::Result<RunFacts> {
        let (mut reader, now) = (RunReader::brief(run.clone()), now());
        let status = &reader.status(now)?;
        let history = reader.history();
        let (settings, concerns) = (&RunSettings::read(run), &Concern::of(status, history, now));
        Ok(RunFacts::of(RunSource { run, settings, history, status, notes, concerns, aliases }))
    }

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

    /// The facts of a run whose events cannot be read.
    pub fn unreadable(run: &RunFolder) -> RunFacts {
        let values = [(RUN, run.name()), (NAME, run.name()), (STATE, UNREADABLE.to_owned())];
        let values = values.map(|(field, text)| (field.to_owned(), Value::Text(text)));
        RunFacts { values: values.into(), ..RunFacts::default() }
    }

    /// Replaces the settings that were changed while the run was trained by the values now in force.
    fn put_in_force(&mut self, history: &RunHistory) {
        let mut changed = history.changed_settings();
        // A command for other steps changes those of the run, and no setting of its training.
        changed.extend(history.steps().map(|steps| (SettingChange::STEPS.to_owned(), steps as f64)));
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

    /// Formats a fact for users; `None` if it is not known.
    pub fn text(&self, field: &str) -> Option<Cow<'_, str>> {
        let fact = FACTS.iter().find(|fact| fact.field == field)?;
        Some(fact.format.text(self.get(field)?))
    }

    /// The value of a field that has numbers.
    pub fn number(&self, field: &str) -> Option<f64> {
        self.get(field)?.number()
    }

    /// The last value of a metric.
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

    /// The fields by which the run can be judged: its best losses on data that it does not learn from or, if it logs
    /// none, its best training loss.
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

/// The settings of a run without a readable config, as its first event describes them.
fn described(started: &Started) -> Settings {
    let known = [
        ("learning_rate", started.learning_rate.map(Value::Number)),
        ("batch_size", started.batch_size.map(Value::Whole)),
        ("seed", started.seed.map(Value::Whole)),
    ];
    let setting = |(path, value): (&str, Option<Value>)| Some(RunSetting::named(path.to_owned(), value?, None));
    known.into_iter().filter_map(setting).collect()
}

/// Describes the progress of a run, such as `20/40 steps, 12.5/s, 5 min left`: its steps, their rate, and the time left
/// if it is open.
pub fn progress(history: &RunHistory, is_open: bool) -> String {
    let of = history.steps().map(|steps| format!("/{}", grouped(steps))).unwrap_or_default();
    let rate = history.steps_per_s().map(|rate| Rate.number(rate));
    let left = history.seconds_left().filter(|_| is_open);
    let left = left.map(|seconds| format!("{} left", Duration.number(seconds)));
    let steps = format!("{}{of} steps", grouped(history.step()));
    std::iter::once(steps).chain(rate).chain(left).collect::<Vec<_>>().join(", ")
}

/// Describes the status, the problems, the progress and the processes of a run in a line.
pub fn status_line(status: &Status, concerns: &[Concern], history: &RunHistory) -> String {
    let processes = Ranks::of(history).map(|ranks| format!("{} processes", ranks.count)).unwrap_or_default();
    let parts = [status.label(), Concern::summary(concerns), progress(history, status.is_open()), processes];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}
