//! The fields of a spec as a generic form, and the settings that can be changed while a training runs.
//!
//! Live settings are numbers, named by their paths in the run, as for `--set`. A step depends on the settings in force,
//! on the state and on the step's number only, so a run whose settings were changed after a step continues like a fork
//! with these settings from a checkpoint of that step.

use std::collections::BTreeMap;

use valleyscope_engine::optimizer::{Hyperparameter, HyperparameterKind, RuleSpec};
use valleyscope_engine::quantity::{BatchSize, Processes, RealQuantity, WholeQuantity};
use valleyscope_runs::SettingChange;

use super::{Dataset, DeviceChoice, NotFinite, RunSpec, ScanOptimizer};
use crate::dataset::DataChoice;

/// Fields in sections.
pub type Form<'a> = Vec<Section<'a>>;

/// A group of fields.
pub struct Section<'a> {
    /// The heading; empty for a section without one.
    pub heading: &'static str,
    /// Whether the section is initially closed.
    pub folded: bool,
    pub fields: Vec<Field<'a>>,
}

impl<'a> Section<'a> {
    pub fn new(heading: &'static str, fields: Vec<Field<'a>>) -> Section<'a> {
        Section { heading, folded: false, fields }
    }

    pub fn folded(heading: &'static str, fields: Vec<Field<'a>>) -> Section<'a> {
        Section { heading, folded: true, fields }
    }
}

/// A field with its name and meaning.
pub struct Field<'a> {
    pub name: &'static str,
    pub help: &'static str,
    /// The field's path in the run, for errors of rules between fields and for labels; empty for a derived text.
    pub path: &'static str,
    pub value: Value<'a>,
}

/// The value of a field.
pub enum Value<'a> {
    Real(&'a mut dyn RealQuantity),
    Whole(&'a mut dyn WholeQuantity),
    Seed(&'a mut u64),
    Switch(&'a mut bool),
    Choice(Choice<'a>),
    Data(&'a mut DataChoice, &'static Dataset),
    Device(&'a mut DeviceChoice),
    /// An update rule and its hyperparameters.
    Rule(&'a mut RuleSpec),
    BatchSizes(&'a mut Vec<BatchSize>),
    Optimizers(&'a mut Vec<ScanOptimizer>),
    /// A text derived from the other fields.
    Note(String),
}

/// One of a few values.
pub struct Choice<'a> {
    pub names: Vec<&'static str>,
    pub chosen: Option<usize>,
    pub choose: Box<dyn FnMut(usize) + 'a>,
}

impl<'a> Field<'a> {
    pub fn new(name: &'static str, help: &'static str, value: Value<'a>) -> Field<'a> {
        Field { name, help, path: "", value }
    }

    /// Returns the field with this path in the run.
    pub(crate) fn at(self, path: &'static str) -> Field<'a> {
        Field { path, ..self }
    }

    pub(crate) fn real(name: &'static str, help: &'static str, value: &'a mut dyn RealQuantity) -> Field<'a> {
        Field::new(name, help, Value::Real(value))
    }

    pub(crate) fn whole(name: &'static str, help: &'static str, value: &'a mut dyn WholeQuantity) -> Field<'a> {
        Field::new(name, help, Value::Whole(value))
    }

    /// Returns a choice between values with names.
    pub(crate) fn choice<T: Copy + PartialEq>(
        name: &'static str,
        help: &'static str,
        value: &'a mut T,
        choices: &'static [(T, &'static str)],
    ) -> Field<'a> {
        let chosen = choices.iter().position(|(choice, _)| choice == value);
        let names = choices.iter().map(|(_, name)| *name).collect();
        let choose = Box::new(move |index: usize| *value = choices[index].0);
        Field::new(name, help, Value::Choice(Choice { names, chosen, choose }))
    }

    pub fn data(value: &'a mut DataChoice, dataset: &'static Dataset) -> Field<'a> {
        Field::new("Dataset", dataset.automatic, Value::Data(value, dataset)).at("data")
    }

    pub fn device(value: &'a mut DeviceChoice) -> Field<'a> {
        Field::new("Device", "What the worker has found on this machine", Value::Device(value)).at("device")
    }

    /// Returns the fields for the number of processes and, where there are several, for dividing the optimizer's
    /// memory.
    pub(crate) fn sharing(processes: &'a mut Processes, shard_optimizer: &'a mut bool) -> Vec<Field<'a>> {
        const PROCESSES: &str = "Processes on this machine that share each batch. Each has a part of the processor, or a GPU \
            of its own; the losses are those of one process, up to rounding.";
        const SHARD: &str = "Each process keeps the optimizer's memory for a part of the parameters only. For rules that step \
            each element by itself.";
        let several = processes.get() > 1;
        let shard =
            several.then(|| Field::new("Divide memory", SHARD, Value::Switch(shard_optimizer)).at("shard_optimizer"));
        let processes = Field::whole("Processes", PROCESSES, processes).at("processes");
        std::iter::once(processes).chain(shard).collect()
    }

    pub(crate) fn rule(value: &'a mut RuleSpec) -> Field<'a> {
        Field::new("Rule", "The update rule", Value::Rule(value)).at("optimizer")
    }

    pub(crate) fn at_nan(value: &'a mut NotFinite) -> Field<'a> {
        const AT_NAN: &[(NotFinite, &str)] = &[(NotFinite::GoOn, "go on"), (NotFinite::Stop, "stop")];
        Field::choice("At NaN", "When the loss is no finite number any more", value, AT_NAN).at("not_finite")
    }

    pub(crate) fn seed(help: &'static str, value: &'a mut u64) -> Field<'a> {
        Field::new("Seed", help, Value::Seed(value)).at("seed")
    }
}

// Settings that can be changed while a training runs.
//
// They are numbers, named by their paths in the run, as for `--set`. A step depends on the settings in force, on the
// state and on the step's number only, so a run whose settings were changed after a step continues like a fork with
// these settings from a checkpoint of that step.

/// A setting that can be changed while a training runs, with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveSetting {
    /// The path in the run, such as `optimizer.gamma`.
    pub path: String,
    /// The label beside a field.
    pub label: String,
    pub help: &'static str,
    pub value: f64,
    pub is_whole: bool,
}

/// Lists the settings of a training that can be changed while it runs.
pub fn live_settings<S: RunSpec>(spec: &S) -> Vec<LiveSetting> {
    spec.clone().live().into_iter().flat_map(settings_of).collect()
}

fn settings_of(Field { name, help, path, value }: Field<'_>) -> Vec<LiveSetting> {
    let one = |value: f64, is_whole: bool| {
        vec![LiveSetting { path: path.to_owned(), label: name.to_owned(), help, value, is_whole }]
    };
    match value {
        Value::Real(value) => one(value.value(), false),
        Value::Whole(value) => one(value.value() as f64, true),
        Value::Rule(rule) => numbers(rule).map(|(of, value)| hyperparameter(path, of, value)).collect(),
        _ => unreachable!("the field at `{path}` is no number"),
    }
}

/// Returns the hyperparameters that are numbers.
fn numbers(rule: &RuleSpec) -> impl Iterator<Item = (&'static Hyperparameter, f64)> {
    rule.hyperparameters().filter(|(of, _)| !matches!(of.kind, HyperparameterKind::Choice(_)))
}

fn hyperparameter(path: &str, of: &'static Hyperparameter, value: f64) -> LiveSetting {
    let is_whole = matches!(of.kind, HyperparameterKind::Whole(_));
    LiveSetting { path: format!("{path}.{}", of.key), label: of.label.to_owned(), help: of.help, value, is_whole }
}

/// Returns the training with other values of settings that can be changed while it runs, by their paths. They must fit
/// each other when all are set.
///
/// # Errors
///
/// Returns a sentence with what was expected and what was found.
pub fn with_live_settings<S: RunSpec>(spec: &S, settings: &BTreeMap<String, f64>) -> Result<S, String> {
    let mut changed = spec.clone();
    for (path, &value) in settings {
        let mut fields = changed.live();
        let has_path = |field: &&mut Field<'_>| path.strip_prefix(field.path).is_some_and(|rest| is_rest(field, rest));
        match fields.iter_mut().find(has_path) {
            Some(field) => set(field, path, value)?,
            None => return Err(unknown(path, &live_settings(spec))),
        }
    }
    changed.check().map_err(|error| error.to_string())?;
    changed.check_processes(changed.common().sharing.processes.get())?;
    Ok(changed)
}

/// Returns whether a path that begins with the field's names one of its numbers by the rest.
fn is_rest(field: &Field<'_>, rest: &str) -> bool {
    match &field.value {
        Value::Rule(rule) => rest.strip_prefix('.').is_some_and(|key| numbers(rule).any(|(of, _)| of.key == key)),
        _ => rest.is_empty(),
    }
}

fn set(field: &mut Field<'_>, path: &str, value: f64) -> Result<(), String> {
    let outcome = match &mut field.value {
        Value::Real(field) => field.enter(value),
        Value::Whole(field) if value.fract() == 0.0 && (0.0..=MOST_WHOLE).contains(&value) => field.enter(value as u64),
        Value::Whole(_) => return Err(format!("expected a whole number as `{path}`, found {value}")),
        Value::Rule(rule) => rule.set(path.rsplit('.').next().unwrap_or(path), value),
        _ => unreachable!("the field at `{path}` is no number"),
    };
    outcome.map_err(|error| format!("`{path}`: {error}"))
}

/// The largest number up to which all whole numbers are numbers of double precision.
const MOST_WHOLE: f64 = 9_007_199_254_740_992.0;

fn unknown(path: &str, settings: &[LiveSetting]) -> String {
    let known: Vec<&str> = settings.iter().map(|setting| setting.path.as_str()).collect();
    format!("`{path}` cannot be changed while this run is trained; these can: {}", known.join(", "))
}

/// Returns the path of a setting that is named on a command line: `-` stands for `_`, and the rule's path may be
/// omitted. A name without such a setting is returned unchanged.
pub fn live_path(name: &str, settings: &[LiveSetting]) -> String {
    let name = name.replace('-', "_");
    let is_it = |path: &str| path == name || path.rsplit_once('.').is_some_and(|(_, key)| key == name);
    let exact = settings.iter().find(|setting| setting.path == name);
    let found = exact.or_else(|| settings.iter().find(|setting| is_it(&setting.path)));
    found.map_or(name.clone(), |setting| setting.path.clone())
}

/// Returns the symbol at the end of a label, or else the label in lower case.
fn short_name(label: &str) -> String {
    let symbol = label.rsplit(' ').next().filter(|word| !word.is_ascii());
    symbol.map_or_else(|| label.to_lowercase(), str::to_owned)
}

/// Lists the settings that differ between two states of a training.
pub fn changes(before: &[LiveSetting], now: &[LiveSetting]) -> Vec<SettingChange> {
    let both = before.iter().zip(now).filter(|(before, now)| before.value != now.value);
    let change = |(before, now): (&LiveSetting, &LiveSetting)| SettingChange {
        name: now.path.clone(),
        label: short_name(&now.label),
        before: before.value,
        now: now.value,
    };
    both.map(change).collect()
}
