//! Titles and descriptions of presets whose settings were changed.

use valleyscope_engine::optimizer::{changed_words, with_settings};
use valleyscope_engine::parameter;
use valleyscope_engine::quantity::number_text;
use valleyscope_engine::simulation::{OptimizerSpec, SimulationSpec};
use valleyscope_engine::terminal_escape::shortened;

use super::outline::Outline;
use super::settings::changes_of_trainings;
use super::{LandscapePreset, Preset};

impl Preset {
    /// Returns the preset with a title and a description made from its settings, where these differ from those of
    /// `before`, the preset that it was derived from. Words that differ from that preset's are the user's own and stay.
    /// A run's name that describes other settings is removed.
    ///
    /// A phase diagram is returned as it is; the program has `figure::as_changed` for those.
    pub fn as_changed_from(mut self, before: &Preset) -> Preset {
        let (head, changes) = match (&mut self, before) {
            (Preset::Landscape(this), Preset::Landscape(before)) => {
                (format!("{}, changed: ", before.title), of_landscape(this, before))
            }
            (this, _) => {
                let (Some(own), Some(old)) = (this.workload_mut(), before.workload()) else { return self };
                own.forget_names_of(old);
                (format!("{} · ", own.info().name), changes_of_trainings(&self, before))
            }
        };
        if changes.is_empty() {
            return self;
        }
        let made = [with_changes(&head, &changes), description(before.title(), &changes)];
        for ((word, old), made) in self.words_mut().into_iter().zip(before.words()).zip(made) {
            if word == old {
                *word = made;
            }
        }
        self
    }

    /// Returns the trainings of the preset, each with a title and a description of its changes against the training of
    /// the same index in `before`.
    pub fn trainings_as_changed_from(&self, before: &[Preset]) -> Vec<Preset> {
        let named = |(index, training): (usize, Preset)| match before.get(index) {
            Some(before) => training.as_changed_from(before),
            None => training,
        };
        self.trainings().into_iter().enumerate().map(named).collect()
    }

    /// Returns the values without fields of their own, with their paths in the file.
    pub(super) fn leaves(&self) -> Vec<(String, String)> {
        let text = self.to_ron();
        let leaves = Outline::of(&text).leaves().into_iter();
        leaves.map(|(path, value)| (path, value.to_owned())).collect()
    }
}

/// Returns a title: its beginning, followed by as many changes as fit.
pub fn with_changes(head: &str, changes: &[String]) -> String {
    let with = |shown: usize| {
        let more = changes.len() - shown;
        let mut all = changes[..shown].to_vec();
        all.extend((more > 0).then(|| format!("{more} more")));
        format!("{head}{}", all.join(", "))
    };
    let fits = |title: &String| title.chars().count() <= Preset::LONGEST_TITLE;
    let title = (1..=changes.len()).rev().map(with).find(fits);
    title.unwrap_or_else(|| shortened(&with(1), Preset::LONGEST_TITLE).into_owned())
}

/// Returns the description of a preset with changes.
pub fn description(title: &str, changes: &[String]) -> String {
    let changes = changes.join("; ");
    shortened(&format!("“{title}”, changed: {changes}."), Preset::LONGEST_DESCRIPTION).into_owned()
}

/// Returns the settings of a landscape that differ from another's.
fn of_landscape(this: &LandscapePreset, before: &LandscapePreset) -> Vec<String> {
    let mut changes = Vec::new();
    let plain = |preset: &LandscapePreset| {
        let simulation = SimulationSpec { optimizers: Vec::new(), ..preset.simulation.clone() };
        Preset::Landscape(LandscapePreset::new("", simulation)).leaves()
    };
    let old = plain(before);
    let (own, other) = (&this.simulation, &before.simulation);
    let in_own_words = ["landscape", "noise"];
    changes.extend(own.landscape.differences(&other.landscape, number_text));
    changes.extend(own.noise.differences(&other.noise, number_text));
    for (path, value) in plain(this) {
        let is_same = old.iter().any(|(other, old)| *other == path && *old == value);
        let key = path.strip_prefix("simulation.").filter(|key| !in_own_words.iter().any(|own| key.starts_with(own)));
        if let (false, Some(key)) = (is_same, key) {
            changes.push(in_words(key, &value));
        }
    }
    of_optimizers(&this.simulation, &before.simulation, &mut changes);
    changes
}

fn in_words(key: &str, value: &str) -> String {
    let number = value.parse::<f64>().map_or_else(|_| value.to_lowercase(), number_text);
    let last = key.rsplit('.').next().unwrap_or(key);
    if let Some(parameter) = parameter::WITH_SYMBOL.iter().find(|parameter| parameter.key == last) {
        return parameter.with(number);
    }
    match last {
        "steps" if number == "none" => "no end".to_owned(),
        "steps" | "particles" => format!("{number} {last}"),
        _ => format!("{} {number}", last.replace('_', " ")),
    }
}

fn of_optimizers(this: &SimulationSpec, before: &SimulationSpec, changes: &mut Vec<String>) {
    let ids = |spec: &SimulationSpec| -> Vec<(u32, bool)> {
        spec.optimizers.iter().map(|optimizer| (optimizer.id, optimizer.enabled)).collect()
    };
    if ids(this) != ids(before) {
        let simulated = this.optimizers.iter().filter(|optimizer| optimizer.enabled);
        return changes.push(simulated.map(OptimizerSpec::label).collect::<Vec<_>>().join(", "));
    }
    for (this, before) in this.optimizers.iter().zip(&before.optimizers) {
        let words = changed_words(&this.rule.shown_settings(), &before.rule.shown_settings());
        match (this.rule.name(), before.rule.name()) {
            (own, old) if own != old => changes.push(with_settings(&format!("{old} → {own}"), &words)),
            _ if !words.is_empty() => changes.push(format!("{}: {}", this.label(), words.join(", "))),
            _ if this.rule != before.rule => changes.push(format!("{}: another rule", this.label())),
            _ => {}
        }
    }
}
