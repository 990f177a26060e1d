//! Differences of presets, runs and diagrams: a table of the settings that differ.

use std::collections::HashMap;

use super::preset::{ListedSetting, SettingOwner};

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
