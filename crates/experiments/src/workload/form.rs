//! The tables of the fields of trainings, and the settings that can be changed while a training runs.
//!
//! A field is an entry of its workload's table: its description, its section of the form, its role in the training,
//! and how its value is reached in the spec. The form in the window, `--set`, columns, titles and differences use it by
//! its path in the run.
//!
//! Live settings are numbers. A step depends on the settings in force, on the state and on the step's number only, so a
//! run whose settings were changed after a step continues like a fork with these settings from a checkpoint of that
//! step.

use std::collections::BTreeMap;

use valleyscope_engine::optimizer::{RuleSpec, ShownSetting};
use valleyscope_engine::quantity::{
    BatchSize, CheckpointInterval, LoggingInterval, MeasureInterval, Number, Processes, Range, TrainingSteps,
};
use valleyscope_engine::setting::{Extent, LEARNING_RATE, SettingInfo, SettingPath, SettingValue};
use valleyscope_runs::SettingChange;

use super::{Dataset, DeviceChoice, NotFinite, RunSpec, ScanOptimizer};
use crate::dataset::DataChoice;
use crate::view::ticks::grouped;

/// A group of fields.
pub struct Section<S: 'static> {
    /// The heading; empty for a section without one.
    pub(super) heading: &'static str,
    pub(super) show: Show,
    pub(super) fields: &'static [Field<S>],
}

/// How a section is shown in the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    Open,
    /// Initially closed.
    Folded,
    Never,
}

/// The fields of a section that a training has.
#[derive(Debug)]
pub struct FormSection {
    pub heading: &'static str,
    pub folded: bool,
    pub fields: Vec<&'static SettingInfo>,
}

/// A field of the spec `S`.
pub struct Field<S: 'static> {
    info: FieldInfo,
    /// Returns the value; `None` for an optional field that the spec leaves out.
    value: fn(&mut S) -> Option<Value<'_>>,
}

/// The description of a field.
#[derive(Clone, Copy, Debug)]
pub struct FieldInfo {
    /// The setting, whose key is the path in the run.
    pub setting: SettingInfo,
    pub role: Role,
    /// Whether it can be changed while the training runs.
    is_live: bool,
    /// Whether a preset may leave it out, with what titles and legends show then, beside trainings that have it.
    pub absent: Option<&'static str>,
    text: fn(&'static SettingInfo, &str) -> String,
}

/// The role of a field in a training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It affects what is learned, and is part of titles and legends.
    Learning,
    /// Titles and legends show it otherwise, or it distinguishes replicates.
    Identity,
    /// It does not affect what is learned.
    Bookkeeping,
}

/// The value of a field.
pub enum Value<'a> {
    Number(&'a mut dyn Number),
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

impl FieldInfo {
    pub(crate) const fn new(key: &'static str, setting: SettingInfo) -> FieldInfo {
        let setting = setting.key(key);
        FieldInfo { setting, role: Role::Learning, is_live: false, absent: None, text: field_text }
    }

    pub(crate) const fn whole(key: &'static str, label: &'static str, range: Range, help: &'static str) -> FieldInfo {
        // Small and large numbers are reached on one slider.
        let slider = Extent::logarithmic(range.min.max(1.0), range.max.min(10_000.0));
        FieldInfo::new(key, SettingInfo::whole("", label, range).help(help)).slider(slider)
    }

    pub(crate) const fn number(key: &'static str, label: &'static str, range: Range, help: &'static str) -> FieldInfo {
        FieldInfo::new(key, SettingInfo::number("", label, range).help(help))
    }

    /// Sets the extent of the slider.
    pub(crate) const fn slider(self, slider: Extent) -> FieldInfo {
        FieldInfo { setting: SettingInfo { slider, ..self.setting }, ..self }
    }

    /// Creates a field that is no number.
    pub(crate) const fn other(key: &'static str, label: &'static str, help: &'static str) -> FieldInfo {
        FieldInfo::new(key, SettingInfo::other(label).help(help))
    }

    pub(crate) const fn identity(self) -> FieldInfo {
        FieldInfo { role: Role::Identity, ..self }
    }

    pub(crate) const fn bookkeeping(self) -> FieldInfo {
        FieldInfo { role: Role::Bookkeeping, ..self }
    }

    pub(crate) const fn live(self) -> FieldInfo {
        FieldInfo { is_live: true, ..self }
    }

    pub(crate) const fn optional(self, absent: &'static str) -> FieldInfo {
        FieldInfo { absent: Some(absent), ..self }
    }

    /// Sets how titles and legends show a value.
    pub(crate) const fn text(self, text: fn(&'static SettingInfo, &str) -> String) -> FieldInfo {
        FieldInfo { text, ..self }
    }

    /// Sets another label and meaning.
    pub(crate) const fn labelled(self, label: &'static str, help: &'static str) -> FieldInfo {
        FieldInfo { setting: SettingInfo { label, help, paper: "", ..self.setting }, ..self }
    }

    /// Creates the field whose value this function returns.
    pub(crate) const fn at<S>(self, value: fn(&mut S) -> Option<Value<'_>>) -> Field<S> {
        Field { info: self, value }
    }

    /// Returns the field with a value as titles and legends show it; `None` if they omit it or show it otherwise.
    pub fn shown(&'static self, value: &str) -> Option<ShownSetting> {
        let text = (self.role == Role::Learning).then(|| (self.text)(&self.setting, value))?;
        Some(ShownSetting { is_usual: self.absent.is_none(), ..ShownSetting::new(self.setting.key, text) })
    }
}

/// The usual text of a field with a value in titles and legends.
fn field_text(of: &'static SettingInfo, value: &str) -> String {
    let name = of.key.rsplit('.').next().unwrap_or(of.key).replace('_', " ");
    match value {
        "true" => name,
        "false" => format!("no {name}"),
        _ => format!("{name} {value}"),
    }
}

/// Finds a field by its path in the run.
pub(super) fn field<S>(table: &'static [Section<S>], path: &str) -> Option<&'static Field<S>> {
    table.iter().flat_map(|section| section.fields).find(|field| field.info.setting.key == path)
}

/// Returns the value of the field at a path; `None` if the spec lacks it.
pub(super) fn value<'a, S>(table: &'static [Section<S>], spec: &'a mut S, path: &str) -> Option<Value<'a>> {
    (field(table, path)?.value)(spec)
}

pub(super) fn infos<S>(table: &'static [Section<S>]) -> Vec<&'static FieldInfo> {
    table.iter().flat_map(|section| section.fields).map(|field| &field.info).collect()
}

/// Lists the fields of the form that a spec has.
pub(super) fn form<S>(table: &'static [Section<S>], spec: &mut S) -> Vec<FormSection> {
    let mut sections = Vec::new();
    for Section { heading, show, fields } in table.iter().filter(|section| section.show != Show::Never) {
        let fields = fields.iter().filter(|field| (field.value)(spec).is_some()).map(|field| &field.info.setting);
        sections.push(FormSection { heading, folded: *show == Show::Folded, fields: fields.collect() });
    }
    sections
}

pub(crate) fn number<N: Number>(value: &mut N) -> Option<Value<'_>> {
    Some(Value::Number(value))
}

/// Returns the value of a choice between values with names.
pub(crate) fn choice<'a, T: Copy + PartialEq>(
    value: &'a mut T,
    choices: &'static [(T, &'static str)],
) -> Option<Value<'a>> {
    let chosen = choices.iter().position(|(choice, _)| choice == value);
    let names = choices.iter().map(|(_, name)| *name).collect();
    let choose = Box::new(move |index: usize| *value = choices[index].0);
    Some(Value::Choice(Choice { names, chosen, choose }))
}

pub(crate) const AT_NAN: &[(NotFinite, &str)] = &[(NotFinite::GoOn, "go on"), (NotFinite::Stop, "stop")];

// The fields of several workloads.

pub(crate) const NAME: FieldInfo = FieldInfo::other("name", "Name", "").identity();
pub(crate) const RULE: FieldInfo = FieldInfo::other("optimizer", "Rule", "The update rule").identity().live();
pub(crate) const RATE: FieldInfo = FieldInfo::new(LEARNING_RATE.key, LEARNING_RATE).identity().live();
pub(crate) const LOG_EVERY: FieldInfo =
    interval("log_every", "Log every", "Steps between points of the training curve");
pub(crate) const CHECKPOINT_EVERY: FieldInfo = FieldInfo::whole(
    "checkpoint_every",
    "Save every",
    CheckpointInterval::RANGE,
    "Steps between checkpoints; with 0 there are none, and an interrupted run begins again",
)
.bookkeeping();
pub(crate) const KEEP_EVERY: FieldInfo =
    interval("keep_every", "Keep every", "Steps between checkpoints that are kept, beside the last two and the best")
        .optional("");
pub(crate) const MEASURE_EVERY: FieldInfo = FieldInfo::whole(
    "measure_every",
    "Measure every",
    MeasureInterval::RANGE,
    "Steps between measures of the gradient's noise, signal and oscillation; 0 for none",
)
.optional("")
.bookkeeping();
pub(crate) const DEVICE: FieldInfo =
    FieldInfo::other("device", "Device", "What the worker has found on this machine").bookkeeping();
pub(crate) const PROCESSES: FieldInfo = FieldInfo::whole(
    "processes",
    "Processes",
    Processes::RANGE,
    "Processes on this machine that share each batch. Each has a part of the processor, or a GPU of its own; the losses \
     are those of one process, up to rounding.",
)
.slider(Extent::linear(1.0, 16.0))
.bookkeeping();
pub(crate) const SHARD: FieldInfo = FieldInfo::other(
    "shard_optimizer",
    "Divide memory",
    "Each process keeps the optimizer's memory for a part of the parameters only. For rules that step each element by \
     itself.",
)
.bookkeeping();
pub(crate) const NOT_FINITE: FieldInfo =
    FieldInfo::other("not_finite", "At NaN", "When the loss is no finite number any more").bookkeeping();

pub(crate) const fn data(dataset: &'static Dataset) -> FieldInfo {
    FieldInfo::other("data", "Dataset", dataset.automatic).identity()
}

pub(crate) const fn precision(help: &'static str) -> FieldInfo {
    FieldInfo::other("precision", "Precision", help).text(|_, name| name.to_lowercase())
}

/// Makes the field of the number of steps.
pub(crate) const fn steps(help: &'static str) -> FieldInfo {
    let text = |_: &_, steps: &str| format!("{} steps", steps.parse().map_or_else(|_| steps.to_owned(), grouped));
    let steps = FieldInfo::whole(SettingChange::STEPS, "Steps", TrainingSteps::RANGE, help);
    steps.slider(Extent::logarithmic(10.0, 1e6)).live().text(text)
}

pub(crate) const fn seed(help: &'static str) -> FieldInfo {
    FieldInfo::other("seed", "Seed", help).identity()
}

/// Makes the field of an interval of steps that does not affect what is learned.
pub(crate) const fn interval(key: &'static str, label: &'static str, help: &'static str) -> FieldInfo {
    FieldInfo::whole(key, label, LoggingInterval::RANGE, help).bookkeeping()
}

// Settings that can be changed while a training runs.

/// Lists the settings of a training that can be changed while it runs, with their paths in the run.
pub fn live_settings<S: RunSpec>(spec: &S) -> Vec<SettingValue> {
    let mut spec = spec.clone();
    let mut settings = Vec::new();
    for Field { info: FieldInfo { setting, is_live, .. }, value } in S::FIELDS.iter().flat_map(|it| it.fields) {
        let mut add = |path: String, info: &'static SettingInfo, value: f64| {
            settings.push(SettingValue { path: SettingPath::new(path), info, value, default: info.in_training });
        };
        match is_live.then(|| value(&mut spec)).flatten() {
            Some(Value::Number(value)) => add(setting.key.to_owned(), setting, value.value()),
            Some(Value::Rule(rule)) => {
                for (of, value) in rule.hyperparameters().filter(|(of, _)| of.range().is_some()) {
                    add(format!("{}.{}", setting.key, of.key), of, value);
                }
            }
            _ => {}
        }
    }
    settings
}

/// Returns the training with other values of settings that can be changed while it runs, by their paths. They must fit
/// each other when all are set.
///
/// # Errors
///
/// Returns a sentence with what was expected and what was found.
pub fn with_live_settings<S: RunSpec>(spec: &S, settings: &BTreeMap<String, f64>) -> Result<S, String> {
    let known = live_settings(spec);
    let mut changed = spec.clone();
    for (path, &number) in settings {
        if !known.iter().any(|setting| setting.path.path == *path) {
            return Err(unknown(path, &known));
        }
        let (of_rule, key) = path.rsplit_once('.').unwrap_or_default();
        let field = if field(S::FIELDS, path).is_some() { path } else { of_rule };
        let outcome = match value(S::FIELDS, &mut changed, field) {
            Some(Value::Number(value)) => value.enter(number),
            Some(Value::Rule(rule)) => rule.set(key, number),
            _ => unreachable!("`{path}` is a live setting"),
        };
        outcome.map_err(|error| format!("`{path}`: {error}"))?;
    }
    changed.check().map_err(|error| error.to_string())?;
    changed.check_processes(changed.common().sharing.processes.get())?;
    Ok(changed)
}

fn unknown(path: &str, settings: &[SettingValue]) -> String {
    let known: Vec<&str> = settings.iter().map(|setting| &*setting.path.path).collect();
    format!("`{path}` cannot be changed while this run is trained; these can: {}", known.join(", "))
}

/// Returns the path of a setting that is named on a command line: `-` stands for `_`, and the rule's path may be
/// omitted. A name without such a setting is returned unchanged.
pub fn live_path(name: &str, settings: &[SettingValue]) -> String {
    let name = name.replace('-', "_");
    let paths = || settings.iter().map(|setting| &*setting.path.path);
    let has_key = |path: &&str| path.rsplit_once('.').is_some_and(|(_, key)| key == name);
    let found = paths().find(|path| *path == name).or_else(|| paths().find(has_key));
    found.map_or(name.clone(), str::to_owned)
}

/// Lists the settings that differ between two states of a training.
pub fn changes(before: &[SettingValue], now: &[SettingValue]) -> Vec<SettingChange> {
    let both = before.iter().zip(now).filter(|(before, now)| before.value != now.value);
    let change = |(before, SettingValue { path, info, value, .. }): (&SettingValue, &SettingValue)| SettingChange {
        name: path.path.clone().into_owned(),
        label: if info.symbol.is_empty() { info.label.to_lowercase() } else { info.symbol.to_owned() },
        before: before.value,
        now: *value,
    };
    both.map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::built_ins;

    #[test]
    fn sliders_of_fields_lie_within_ranges_whose_ends_can_be_entered() {
        for mut preset in built_ins().iter().map(|built_in| built_in.preset.clone()) {
            let form = preset.workload_mut().map_or_else(Vec::new, |workload| workload.form(0));
            for info in form.into_iter().flat_map(|section| section.fields) {
                let value = preset.workload_mut().and_then(|workload| workload.value(0, info.key));
                let Some(Value::Number(number)) = value else { continue };
                let Range { min, max, .. } = info.range().expect("a number has a range");
                let Extent { low, high, spacing } = info.slider;
                let name = info.key;
                assert!(min <= low && low < high && high <= max && spacing.allows(low), "{name}: {low} to {high}");
                for end in [min, max] {
                    assert!(number.enter(end).is_ok() && number.value() == end, "{name}: {end}");
                }
            }
        }
    }
}
