//! Differences of presets, runs and diagrams: a table of the settings that differ.
//!
//! A [`ListedSetting`] is a value with its path in a preset and its label. [`Preset::listed_settings`] lists all that a
//! preset's file holds, so that presets of equal lists compute the same. [`DifferenceTable::of`] compares such lists.
//!
//! [`Preset::listed_settings`]: crate::preset::Preset::listed_settings

use std::collections::HashMap;

use valleyscope_engine::optimizer::RuleSpec;
use valleyscope_engine::quantity::number_text;
use valleyscope_engine::setting::{LEARNING_RATE, SettingValue};
use valleyscope_runs::{Better, Forked, MetricInfo, RunFolder, RunHistory, RunReader, Started, Unit};

use super::preset::{Preset, SweepPreset};
use super::run::RunConfig;
use super::view::ticks::significant;
use super::workload::Workload;

/// A preset, run or diagram that is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingColumn {
    pub name: String,
    /// The folder of a run, which identifies it where its name may not; empty where the name does.
    pub folder: String,
    /// Its results, such as a loss. They are shown whether they differ or not.
    pub results: Vec<ListedSetting>,
    pub settings: Vec<ListedSetting>,
}

impl SettingColumn {
    /// Makes a column without results, which its name identifies.
    pub fn new(name: impl Into<String>, settings: Vec<ListedSetting>) -> SettingColumn {
        SettingColumn { name: name.into(), folder: String::new(), results: Vec::new(), settings }
    }
}

/// The settings in which presets, runs or diagrams differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DifferenceTable {
    /// The names of the columns.
    pub names: Vec<String>,
    /// The folders of the columns' runs; empty where their names identify them.
    pub folders: Vec<String>,
    /// The results, whether they differ or not.
    pub results: Vec<DifferenceRow>,
    pub rows: Vec<DifferenceRow>,
    /// The number of settings that are equal in all columns.
    pub equal: usize,
}

/// A setting that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DifferenceRow {
    /// The label, after the name of the optimizer or run where there may be several.
    pub label: String,
    /// The path as for `--set`, in the first column that has the setting.
    pub path: String,
    /// The value in each column; none where a column lacks the setting.
    pub values: Vec<Option<String>>,
}

/// The identity of a setting in all columns: its slot, its path, and its [meaning](ListedSetting::meaning).
type Key<'s> = (Option<usize>, &'s str, &'s str);

impl DifferenceTable {
    /// Compares settings. Columns of equal names are numbered.
    pub fn of(columns: &[SettingColumn]) -> DifferenceTable {
        let slots = Slots::of(&columns.iter().map(owners).collect::<Vec<_>>());
        let mut order: Vec<Key<'_>> = Vec::new();
        let mut found: HashMap<Key<'_>, Vec<Option<&ListedSetting>>> = HashMap::new();
        for (column, SettingColumn { settings, .. }) in columns.iter().enumerate() {
            let mut before = 0;
            for setting in settings {
                let slot = setting.owner.as_ref().and_then(|owner| slots.index(column, owner));
                let key = (slot, setting.path.as_str(), setting.meaning());
                let values = found.entry(key).or_default();
                if values.is_empty() {
                    values.resize(columns.len(), None);
                    order.insert(before, key);
                    before += 1;
                } else if let Some(index) = order.iter().position(|other| *other == key) {
                    before = index + 1;
                }
                values[column] = Some(setting);
            }
        }
        let rows = order.iter().filter_map(|key| row(&found[key], key.0.and_then(|slot| slots.name(slot))));
        let rows: Vec<DifferenceRow> = rows.collect();
        let equal = order.len() - rows.len();
        let folders = columns.iter().map(|column| column.folder.clone()).collect();
        DifferenceTable { names: distinct(columns), folders, results: results(columns), rows, equal }
    }

    /// Describes how many settings are equal.
    pub fn equal_text(&self) -> String {
        match self.equal {
            1 => "1 setting is equal".to_owned(),
            count => format!("{count} settings are equal"),
        }
    }

    /// Returns the table as text whose cells are separated by tabs, for spreadsheets.
    pub fn to_text(&self) -> String {
        let head = ["Setting", "Path"].into_iter().chain(self.names.iter().map(String::as_str));
        let folders = ["Folder", ""].into_iter().chain(self.folders.iter().map(String::as_str));
        let folders = self.folders.iter().any(|folder| !folder.is_empty()).then(|| line(folders));
        let rows = self.results.iter().chain(&self.rows).map(|DifferenceRow { label, path, values }| {
            let values = values.iter().map(|value| value.as_deref().unwrap_or_default());
            line([label.as_str(), path.as_str()].into_iter().chain(values))
        });
        std::iter::once(line(head)).chain(folders).chain(rows).collect()
    }
}

impl DifferenceRow {
    /// The text of a cell whose column lacks the setting.
    pub const MISSING: &str = "–";

    /// Returns the values in at most `most` characters each. Of long ones the part is shown in which they differ.
    pub fn shown(&self, most: usize) -> Vec<String> {
        let is_long = |value: &&str| value.chars().count() > most;
        let values: Vec<&str> = self.values.iter().flatten().map(String::as_str).filter(is_long).collect();
        let first = values.first().copied().unwrap_or_default();
        let same_as_first =
            |value: &&str| first.chars().zip(value.chars()).take_while(|(one, other)| one == other).count();
        let same = values.iter().skip(1).map(same_as_first).min().unwrap_or(0);
        // A part of the equal text stays, so that the difference is seen in its context.
        let start = if same > most / 2 { same - most / 4 } else { 0 };
        let cut = |value: &String| {
            let count = value.chars().count();
            if count <= most {
                return value.clone();
            }
            let start = start.min(count - most / 2);
            let beginning = if start > 0 { "…" } else { "" };
            let room = most - beginning.chars().count();
            let end = if count - start > room { "…" } else { "" };
            let middle: String = value.chars().skip(start).take(room - end.chars().count()).collect();
            format!("{beginning}{middle}{end}")
        };
        let shown = self.values.iter().map(|value| value.as_ref().map_or_else(|| Self::MISSING.to_owned(), cut));
        shown.map(|value| value.replace(['\n', '\t', '\r'], " ")).collect()
    }
}

/// Returns the rows of the results, in the order in which columns have them first.
fn results(columns: &[SettingColumn]) -> Vec<DifferenceRow> {
    let mut labels: Vec<&str> = Vec::new();
    for result in columns.iter().flat_map(|column| &column.results) {
        if !labels.contains(&result.label.as_str()) {
            labels.push(&result.label);
        }
    }
    let value = |column: &SettingColumn, label: &str| {
        column.results.iter().find(|result| result.label == label).map(|result| result.value.clone())
    };
    let row = |label: &&str| DifferenceRow {
        label: (*label).to_owned(),
        path: String::new(),
        values: columns.iter().map(|column| value(column, label)).collect(),
    };
    labels.iter().map(row).collect()
}

fn owners(column: &SettingColumn) -> Vec<&SettingOwner> {
    let mut owners: Vec<&SettingOwner> = Vec::new();
    for owner in column.settings.iter().filter_map(|setting| setting.owner.as_ref()) {
        if !owners.contains(&owner) {
            owners.push(owner);
        }
    }
    owners
}

fn row(found: &[Option<&ListedSetting>], owner: Option<String>) -> Option<DifferenceRow> {
    let value = |setting: &Option<&ListedSetting>| setting.map(|setting| setting.value.clone());
    let values: Vec<Option<String>> = found.iter().map(value).collect();
    let first = found.iter().flatten().next()?;
    if values.iter().all(|value| *value == values[0]) {
        return None;
    }
    // A setting of the only run is named without the run, also for `--set`.
    let (label, path) = match owner {
        Some(owner) => (format!("{owner}: {}", first.label), first.full_path()),
        None => (first.label.clone(), first.path.clone()),
    };
    Some(DifferenceRow { label, path, values })
}

fn distinct(columns: &[SettingColumn]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for SettingColumn { name, folder, .. } in columns {
        if !folder.is_empty() {
            names.push(name.clone());
            continue;
        }
        let numbered = (2..).map(|number| format!("{name} ({number})"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !names.contains(name));
        names.extend(free);
    }
    names
}

fn line<'c>(cells: impl Iterator<Item = &'c str>) -> String {
    let cells = cells.map(|cell| cell.replace(['\t', '\n', '\r'], " "));
    cells.collect::<Vec<_>>().join("\t") + "\n"
}

/// An optimizer or a run that is compared, with its owner in each column that has it.
struct Slot {
    list: &'static str,
    owners: Vec<Option<SettingOwner>>,
}

/// The optimizers and runs of all columns.
struct Slots(Vec<Slot>);

impl Slots {
    /// Assigns the owners of each column: those of equal names to each other, then those of other names that have
    /// the same index, such as a rule that replaces another.
    fn of(columns: &[Vec<&SettingOwner>]) -> Slots {
        let mut slots: Vec<Slot> = Vec::new();
        for (column, owners) in columns.iter().enumerate() {
            let mut left = Vec::new();
            for owner in owners {
                let is_same = |other: &SettingOwner| other.name == owner.name;
                if !assign(&mut slots, column, owner, is_same) {
                    left.push(*owner);
                }
            }
            for owner in left {
                let has_same_index = |other: &SettingOwner| other.index == owner.index;
                if !assign(&mut slots, column, owner, has_same_index) {
                    let mut owners = vec![None; columns.len()];
                    owners[column] = Some(owner.clone());
                    slots.push(Slot { list: owner.list, owners });
                }
            }
        }
        Slots(slots)
    }

    fn index(&self, column: usize, owner: &SettingOwner) -> Option<usize> {
        self.0.iter().position(|slot| slot.owners[column].as_ref() == Some(owner))
    }

    /// Returns the names of a slot's owners; none for the only run of all columns.
    fn name(&self, index: usize) -> Option<String> {
        let Slot { list, owners } = &self.0[index];
        if *list == "runs" && self.0.iter().filter(|slot| slot.list == *list).count() == 1 {
            return None;
        }
        let mut names: Vec<&str> = Vec::new();
        for owner in owners.iter().flatten().filter(|owner| !owner.name.is_empty()) {
            if !names.contains(&owner.name.as_str()) {
                names.push(&owner.name);
            }
        }
        Some(names.join(" / "))
    }
}

/// Assigns an owner to the first slot without one of its column that has a matching one in another column. Returns
/// whether there is such a slot.
fn assign(slots: &mut [Slot], column: usize, owner: &SettingOwner, matches: impl Fn(&SettingOwner) -> bool) -> bool {
    let is_free = |slot: &&mut Slot| {
        slot.list == owner.list && slot.owners[column].is_none() && slot.owners.iter().flatten().any(&matches)
    };
    match slots.iter_mut().find(is_free) {
        Some(slot) => {
            slot.owners[column] = Some(owner.clone());
            true
        }
        None => false,
    }
}

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
    fn meaning(&self) -> &str {
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
const STARTS: [&str; 4] = ["simulations[0].spec.", "simulations[0].", "sweep.", "scan."];
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
            let name = self.names_of(list).into_iter().nth(index)?;
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

    fn names_of(&self, list: &str) -> Vec<String> {
        match self {
            Preset::Landscape(preset) => preset.spec().distinct_names(),
            Preset::Sweep(preset) => preset.sweep.optimizers.iter().map(|it| it.label().to_owned()).collect(),
            _ => self.workload().map_or_else(Vec::new, |workload| match list {
                "runs" => workload.labels(),
                _ => workload.scanned().iter().map(|it| it.label().to_owned()).collect(),
            }),
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
const OTHERS: [(&str, &str); 4] = [
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
                let mut rules: Vec<RuleSpec> = workload.runs().iter().map(|run| *run.rule).collect();
                rules.extend(workload.scanned().iter().map(|optimizer| optimizer.rule));
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

/// Lists the results and the settings of a run, with the facts about it that its config leaves open: the changes while
/// it was trained, the data, the device, the number of steps after a command changed it, and the origin of a fork.
///
/// # Errors
///
/// Returns a sentence where neither the config nor the description in the events can be read.
pub fn run_column(run: &RunFolder, name: String) -> Result<SettingColumn, String> {
    let mut reader = RunReader::brief(run.clone());
    let polled = reader.poll().map_err(|error| format!("cannot read {}: {error}", run.events().display()));
    let history = reader.history();
    let mut settings = match (RunConfig::read(run), history.started()) {
        (Ok(config), _) => config.preset.listed_settings(),
        (Err(_), Some(started)) if polled.is_ok() => {
            let others = run.other_settings().ok().flatten().unwrap_or_default().into_iter();
            let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let others = others.map(|(path, value)| ListedSetting::new(path.clone(), path, text(&value)));
            described(started).into_iter().chain(others).collect()
        }
        (Err(error), _) => return Err(format!("the settings of {} are not known: {error}", run.name())),
    };
    polled?;
    set_steps(&mut settings, history);
    settings.extend(facts(history));
    Ok(SettingColumn { name, folder: run.name(), results: results_of(history), settings })
}

/// Returns the last training loss, and the best values of evaluations.
fn results_of(history: &RunHistory) -> Vec<ListedSetting> {
    let metrics = history.metrics();
    let last = MetricInfo::of_training_loss(&metrics).and_then(|loss| {
        let value = history.latest(loss.metric()?)?;
        Some((format!("Last {}", lower_first(&loss.title)), loss.clone(), value))
    });
    let best = history.evaluated().into_iter().filter(|info| info.better != Better::Neither).filter_map(|info| {
        let best = history.tally(info.metric()?).best(info.better)?;
        Some((format!("Best {}", lower_first(&info.title)), info, best))
    });
    let value = |info: &MetricInfo, value: f64| match info.unit {
        Unit::Fraction => info.value(value),
        _ => significant(value, 4),
    };
    let results = last.into_iter().chain(best);
    results.map(|(label, info, number)| ListedSetting::new("", label, value(&info, number))).collect()
}

fn lower_first(title: &str) -> String {
    let mut chars = title.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// Returns the settings in the description of a run whose config cannot be read, such as an imported one.
fn described(started: &Started) -> Vec<ListedSetting> {
    let Started { optimizer, learning_rate, batch_size, seed, precision, .. } = started;
    let owner = SettingOwner { list: "runs", index: 0, name: optimizer.clone() };
    let text = |number: &Option<u64>| number.map(|number| number.to_string());
    let known = [
        ("optimizer", "Rule", Some(optimizer.clone()).filter(|name| !name.is_empty())),
        (LEARNING_RATE.key, LEARNING_RATE.label, learning_rate.map(|rate| rate.to_string())),
        ("batch_size", "Batch size", text(batch_size)),
        ("seed", "Seed", text(seed)),
        ("precision", "Precision", Some(precision.clone()).filter(|name| !name.is_empty())),
    ];
    let listed = known.into_iter().filter_map(|(path, label, value)| Some(ListedSetting::new(path, label, value?)));
    listed.map(|setting| ListedSetting { owner: Some(owner.clone()), ..setting }).collect()
}

/// Sets the number of steps of a training to that of its history, which a command may have changed.
fn set_steps(settings: &mut [ListedSetting], history: &RunHistory) {
    let is_scan = history.started().is_none_or(|started| started.scan.is_some());
    let steps = history.steps().filter(|_| !is_scan);
    if let (Some(steps), Some(setting)) = (steps, settings.iter_mut().find(|setting| setting.path == "steps")) {
        setting.value = steps.to_string();
    }
}

/// Returns the facts that the events hold.
fn facts(history: &RunHistory) -> Vec<ListedSetting> {
    let Some(Started { data, fingerprint, device, version, .. }) = history.started() else { return Vec::new() };
    let fork = history.forked().map(|Forked { from_run, from_step, .. }| format!("{from_run} at step {from_step}"));
    let known = [
        ("changed", "Changed while it ran", Some(history.changes_text())),
        ("started.data", "Data that were read", Some(data.clone())),
        ("started.fingerprint", "Fingerprint of the data", Some(fingerprint.clone())),
        ("started.device", "Device that was used", Some(device.clone())),
        ("started.version", "Version of the worker", Some(version.clone())),
        ("forked", "Fork of", fork),
    ];
    let known = known.into_iter().filter_map(|(path, label, value)| Some((path, label, value?)));
    known
        .filter(|(.., value)| !value.is_empty())
        .map(|(path, label, value)| ListedSetting::new(path, label, value))
        .collect()
}
