//! Short titles of the diagrams of one figure, by what differs between them.

use valleyscope_engine::sweep::{Precision, SweepSpec};
use valleyscope_experiments::preset::{SweepPreset, split_changed};

use super::difference;

/// A diagram that is shown among others, as far as its title depends on it.
#[derive(Clone, Debug)]
pub struct TitledSweep {
    /// The name that the user gave.
    pub name: Option<String>,
    /// The sweep, by the metric that is shown, with its title.
    pub preset: SweepPreset,
    pub precision: Precision,
}

/// Returns the titles of diagrams that are shown together. A diagram has the name that the user gave it. Without one, it has
/// the title of its preset, if the titles of all differ. Otherwise it has its optimizers and the settings that differ.
pub fn short_titles(diagrams: &[TitledSweep]) -> Vec<String> {
    let unnamed = diagrams.iter().filter(|diagram| diagram.name.is_none());
    let parts: Vec<[&str; 2]> = unnamed.map(|diagram| head_and_changes(&diagram.preset.title)).collect();
    let is_own = |index: usize| {
        let is_distinct = (0..index).all(|other| parts[other][0] != parts[index][0]);
        is_distinct && parts[index][1] == parts[0][1]
    };
    let have_own = (0..parts.len()).all(is_own);
    let titles = |words: fn(&[String]) -> String| -> Vec<String> {
        let title = |(index, TitledSweep { name, preset, .. }): (usize, &TitledSweep)| {
            let others = diagrams.iter().enumerate().filter(|(other, _)| *other != index);
            let settings = || settings_among(&diagrams[index], &others.map(|(_, other)| other).collect::<Vec<_>>());
            match name {
                Some(name) => name.clone(),
                None if have_own => head_and_changes(&preset.title)[0].to_owned(),
                None => Some(settings()).filter(|all| !all.is_empty()).map_or(preset.title.clone(), |all| words(&all)),
            }
        };
        diagrams.iter().enumerate().map(title).collect()
    };
    let short = titles(in_short);
    let is_distinct = (1..short.len()).all(|index| !short[..index].contains(&short[index]));
    if is_distinct { short } else { titles(|all| all.join(", ")) }
}

/// Formats the first of several settings, and the number of others.
pub fn in_short(all: &[String]) -> String {
    const MOST: usize = 3;
    match all.len() {
        count if count <= MOST => all.join(", "),
        count => format!("{} and {} more", all[..MOST].join(", "), count - MOST),
    }
}

/// Splits the title of a changed preset into that of the preset and the changes.
fn head_and_changes(title: &str) -> [&str; 2] {
    split_changed(title).map_or([title, ""], |(head, changes)| [head, changes])
}

/// Returns what tells a sweep apart from others that are shown beside it: its optimizers where their names differ, its
/// precision, and the settings that differ.
pub fn settings_among(this: &TitledSweep, others: &[&TitledSweep]) -> Vec<String> {
    let sweep = &this.preset.sweep;
    let names = sweep.shown_names();
    let mut settings: Vec<String> = Vec::new();
    if others.iter().any(|other| other.preset.sweep.shown_names() != names) {
        settings.push(names.join(", "));
    }
    if others.iter().any(|other| other.precision != this.precision) {
        settings.push(this.precision.name().to_owned());
    }
    for other in others {
        let mut other: SweepSpec = other.preset.sweep.clone();
        if other.shown_names() != names {
            other.optimizers = sweep.optimizers.clone();
        }
        for setting in difference(sweep, &other) {
            if !settings.contains(&setting) {
                settings.push(setting);
            }
        }
    }
    settings
}
