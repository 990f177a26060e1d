//! The settings of a preset as a list of texts: each a value with its path in the preset and its label.
//!
//! [`Preset::listed_settings`] lists all that a preset's file holds, so that presets of equal lists compute the same.

use std::collections::HashMap;

use valleyscope_engine::optimizer::RuleSpec;
use valleyscope_engine::quantity::number_text;
use valleyscope_engine::setting::{LEARNING_RATE, SettingValue};

use super::{Preset, SweepPreset};
use crate::workload::Workload;

/// A setting as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSetting {
    /// The optimizer or the run that has it, where there may be several.
    pub owner: Option<SettingOwner>,
    /// The path as for `--set`; that of an owner's setting begins at the owner.
    pub path: String,
    /// The name in the window.
    pub label: String,
    /// The value as in a preset's file; a text without its quotation marks.
    pub value: String,
}

/// An element of a list of optimizers or runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingOwner {
    /// The path of the list, `optimizers` or `runs`.
    pub list: &'static str,
    pub index: usize,
    /// The name of the optimizer or run.
    pub name: String,
}

impl ListedSetting {
    /// Makes a setting without an owner.
    pub fn new(path: impl Into<String>, label: impl Into<String>, value: impl Into<String>) -> ListedSetting {
        ListedSetting { owner: None, path: path.into(), label: label.into(), value: value.into() }
    }

    /// Returns what distinguishes the setting from another of the same path: hyperparameters of one key may have
    /// different meanings in different rules, such as Adam's β₂ and FOCUS's.
    pub(crate) fn meaning(&self) -> &str {
        let is_of_rule = ["rule.", "optimizer."].iter().any(|start| self.path.starts_with(start));
        if is_of_rule { &self.label } else { "" }
    }

    /// Returns the path from the beginning of the preset's own settings, such as `optimizers[1].rule.gamma`.
    pub fn full_path(&self) -> String {
        match &self.owner {
            Some(SettingOwner { list, index, .. }) => format!("{list}[{index}].{}", self.path),
            None => self.path.clone(),
        }
    }
}

/// The beginnings of paths that names of settings leave out.
const STARTS: [&str; 4] = ["simulations[0].spec.", "simulations[0].", "sweep.", "base."];
/// The lists whose elements own settings.
const LISTS: [&str; 2] = ["optimizers", "runs"];
/// The fields that are a single setting each, as they have thousands of values.
const WHOLE: [&str; 2] = ["lesson", "changes"];
/// The value of a field that is not given.
const NONE: &str = "None";
/// The fields in words, which are no settings.
const WORDS: [&str; 3] = ["version", "title", "description"];

impl Preset {
    /// Lists all settings of the preset: its kind, and every value of its file, in the file's order. The names of
    /// fields that presets of different kinds share are equal: `simulations[0].spec.noise` and `sweep.noise` are
    /// `noise`. The value of a setting that an axis of a sweep varies is the name of the axis.
    pub fn listed_settings(&self) -> Vec<ListedSetting> {
        let labels = Labels::of(self);
        let mut settings = vec![ListedSetting::new("kind", "Kind", self.kind())];
        for (path, value) in self.leaves() {
            let path = STARTS.iter().find_map(|start| path.strip_prefix(start)).unwrap_or(&path);
            let field = path.split(['.', '[']).next().unwrap_or_default();
            if WORDS.contains(&field) || WHOLE.contains(&field) || value == NONE {
                continue;
            }
            let (owner, path) = self.owner_of(path);
            let axis = self.axis_of(owner.as_ref(), path).filter(|_| !is_kind_of_noise(path, &value));
            let value = axis.map_or_else(|| plain(&value), str::to_owned);
            add(&mut settings, &labels, owner, path, value);
        }
        self.add_left_out(&mut settings, &labels);
        let wholes = WHOLE.into_iter().filter_map(|field| {
            let of_first = || self.field_text(&format!("simulations[0].{field}"));
            Some((field, self.field_text(field).or_else(of_first)?))
        });
        settings.extend(wholes.map(|(field, text)| ListedSetting::new(field, labels.label(None, field), plain(&text))));
        settings
    }

    /// Splits a path into the optimizer or run and the path from there.
    fn owner_of<'p>(&self, path: &'p str) -> (Option<SettingOwner>, &'p str) {
        let split = || {
            let (list, rest) = path.split_once('[')?;
            let list = LISTS.into_iter().find(|name| *name == list)?;
            let (index, rest) = rest.split_once(']')?;
            let (index, rest) = (index.parse().ok()?, rest.strip_prefix('.')?);
            let name = self.names_of_owners().into_iter().nth(index)?;
            Some((Some(SettingOwner { list, index, name }), rest))
        };
        split().unwrap_or((None, path))
    }

    /// Returns which axis of a sweep varies the setting at a path, whose value in the file then has no meaning.
    fn axis_of(&self, owner: Option<&SettingOwner>, path: &str) -> Option<&'static str> {
        let Preset::Sweep(SweepPreset { sweep, .. }) = self else { return None };
        let id = owner.and_then(|owner| Some(sweep.optimizers.get(owner.index)?.id));
        match [&sweep.rows, &sweep.columns].map(|axis| axis.of.is_at(id, path)) {
            [true, _] => Some("the rows' axis"),
            [_, true] => Some("the columns' axis"),
            _ => None,
        }
    }

    fn names_of_owners(&self) -> Vec<String> {
        match self {
            Preset::Landscape(preset) => preset.spec().distinct_names(),
            Preset::Sweep(preset) => preset.sweep.optimizers.iter().map(|it| it.label().to_owned()).collect(),
            _ => self.workload().map_or_else(Vec::new, Workload::labels),
        }
    }

    /// Adds the settings of a run that its file leaves out where they have their defaults.
    fn add_left_out(&self, settings: &mut Vec<ListedSetting>, labels: &Labels) {
        for (index, run) in self.workload().map_or_else(Vec::new, Workload::runs).iter().enumerate() {
            let owner = SettingOwner { list: "runs", index, name: run.label().to_owned() };
            for (path, value) in run.sharing.settings() {
                let is_listed = settings.iter().any(|it| it.owner.as_ref() == Some(&owner) && it.path == path);
                if !is_listed {
                    add(settings, labels, Some(owner.clone()), path, value);
                }
            }
        }
    }
}

/// Adds a value. The numbers of a list are one setting.
fn add(settings: &mut Vec<ListedSetting>, labels: &Labels, owner: Option<SettingOwner>, path: &str, value: String) {
    let of_list = path.strip_suffix(']').and_then(|path| path.rsplit_once('[')).map(|(list, _)| list);
    let path = of_list.unwrap_or(path);
    match settings.last_mut().filter(|last| of_list.is_some() && last.path == path && last.owner == owner) {
        Some(last) => last.value.push_str(&format!(", {value}")),
        None => {
            let label = labels.label(owner.as_ref(), path);
            settings.push(ListedSetting { owner, path: path.to_owned(), label, value });
        }
    }
}

/// Returns whether a value is a noise with its kind, rather than only its σ.
fn is_kind_of_noise(path: &str, value: &str) -> bool {
    path == "noise" && value.parse::<f64>().is_err()
}

/// Returns a value of a file in one line: a text without its quotation marks, and numbers as they are shown.
fn plain(value: &str) -> String {
    if let Ok(number) = value.parse::<f64>() {
        return number_text(number);
    }
    if let Ok(text) = ron::from_str::<String>(value) {
        return text;
    }
    let line = value.split_whitespace().collect::<Vec<_>>().join(" ");
    [("( ", "("), ("[ ", "["), (", )", ")"), (", ]", "]")].iter().fold(line, |line, (from, to)| line.replace(from, to))
}

/// Labels that no table has.
const OTHERS: [(&str, &str); 10] = [
    ("simulations[1].set", "Simulation B"),
    ("simulations[2].set", "Simulation C"),
    ("simulations[3].set", "Simulation D"),
    ("schedule.warmup", "Warm-up"),
    ("schedule.decay", "Schedule of η"),
    ("enabled", "Simulated"),
    ("rows.of", "Rows: what varies"),
    ("columns.of", "Columns: what varies"),
    ("changes", "Recorded changes"),
    ("id", "Key of the random stream"),
];

/// The labels of a preset's settings.
struct Labels {
    rules: Vec<RuleSpec>,
    /// The labels of settings that no rule has, by their paths.
    of_all: HashMap<String, &'static str>,
}

impl Labels {
    fn of(preset: &Preset) -> Labels {
        let (rules, settings) = match preset {
            Preset::Landscape(preset) => {
                let spec = preset.spec();
                (spec.optimizers.iter().map(|optimizer| optimizer.rule.rule).collect(), spec.settings())
            }
            Preset::Sweep(SweepPreset { sweep, .. }) => {
                (sweep.optimizers.iter().map(|optimizer| optimizer.rule).collect(), sweep.settings())
            }
            training => {
                let Some(workload) = training.workload() else {
                    return Labels { rules: Vec::new(), of_all: HashMap::new() };
                };
                let rules = workload.runs().iter().map(|run| *run.rule).collect();
                let fields =
                    workload.fields().into_iter().map(|of| SettingValue::new(of.setting.key, &of.setting, 0.0));
                (rules, fields.collect())
            }
        };
        let of_all = settings.into_iter().filter(|it| it.path.optimizer.is_none() && !it.info.label.is_empty());
        Labels { rules, of_all: of_all.map(|it| (it.path.path.into_owned(), it.info.label)).collect() }
    }

    /// Returns the label of the setting at a path of an owner, or of the preset.
    fn label(&self, owner: Option<&SettingOwner>, path: &str) -> String {
        let of_rule = || {
            let key = path.strip_prefix("rule.").or_else(|| path.strip_prefix("optimizer."))?;
            let of = self.rules.get(owner?.index)?.hyperparameter(key);
            // The label of a choice is the beginning of a phrase that its value ends.
            let of = of
                .or_else(|| (key == LEARNING_RATE.key).then_some(&LEARNING_RATE))
                .filter(|it| it.choices().is_empty())?;
            Some(of.label)
        };
        let of_others = || OTHERS.iter().find(|(known, _)| *known == path).map(|(_, label)| *label);
        let known = of_rule().or_else(|| self.of_all.get(path).copied()).or_else(of_others);
        known.map_or_else(|| sentence(path), str::to_owned)
    }
}

/// Returns the label of a path without one: `Rows from` for `rows.from`.
fn sentence(path: &str) -> String {
    let path = ["rule.", "optimizer."].iter().find_map(|start| path.strip_prefix(start)).unwrap_or(path);
    let words = path.replace(['.', '_'], " ");
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
