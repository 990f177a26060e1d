//! Settings that can be changed while a training runs.
//!
//! They are numbers, named by their paths in the run, as for `--set`. A step depends on the settings in force, on the
//! state and on the step's number only, so a run whose settings were changed after a step continues like a fork with
//! these settings from a checkpoint of that step.

use std::collections::BTreeMap;

use valleyscope_engine::optimizer::{Hyperparameter, HyperparameterKind, RuleSpec};
use valleyscope_runs::SettingChange;

use super::RunSpec;
use super::form::{Field, Value};

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
