//! Titles, descriptions and names made of the settings in which presets differ.

use valleyscope_engine::language::symbol;
use valleyscope_engine::optimizer::{RatedRule, ShownSetting, changed_texts, with_settings};
use valleyscope_engine::quantity::number_text;
use valleyscope_engine::simulation::{OptimizerSpec, SimulationSpec, states_other_settings};
use valleyscope_engine::terminal_escape::shortened;

use super::listed::ListedSetting;
use super::outline::Outline;
use super::{LandscapePreset, Preset, Variation, built_ins};
use crate::workload::CommonMut;
use crate::workload::form::Role;

impl Preset {
    /// Returns the preset with a title and a description made from its settings, where these differ from those of
    /// `before`, the preset that it was derived from. Words that differ from that preset's are the user's own and stay.
    /// A run's name that describes other settings is removed.
    ///
    /// A phase diagram is returned as it is; the program has `sweep::titles::as_changed` for those.
    pub fn as_changed_from(mut self, before: &Preset) -> Preset {
        if let (Some(own), Some(old)) = (self.workload_mut(), before.workload()) {
            own.forget_names_of(old);
        }
        if self.changes_from(before).is_none_or(|(_, changes)| changes.is_empty()) {
            return self;
        }
        let origin = before.origin();
        let Some((head, changes)) = self.changes_from(&origin).filter(|(_, changes)| !changes.is_empty()) else {
            return self;
        };
        let made = [with_changes(&head, &changes), description(origin.title(), &changes)];
        for ((word, old), made) in self.words_mut().into_iter().zip(before.words()).zip(made) {
            if word == old {
                *word = made;
            }
        }
        self
    }

    /// Returns the beginning of a title, and the settings that differ from another preset's; none for a phase diagram.
    fn changes_from(&self, before: &Preset) -> Option<(String, Vec<String>)> {
        match (self, before) {
            (Preset::Landscape(this), Preset::Landscape(before)) => {
                Some((changed_head(&before.title), changes_of_landscape(this, before)))
            }
            (this, before) => {
                let head = format!("{} · ", self.workload()?.info().name);
                let mut changes = changes_of_trainings(this.base(), before.base());
                // The rules that a grid compares are more than its base's.
                if matches!(this, Preset::Grid(grid) if grid.vary.iter().any(|of| of.setting == "optimizer")) {
                    let base = this.base().workload().and_then(|workload| Some(workload.training()?.rule.name()));
                    changes.retain(|text| Some(text.as_str()) != base);
                }
                let [own, old] = [this, before].map(Preset::varied);
                changes.extend(own.into_iter().filter(|text| !old.contains(text)));
                Some((head, changes))
            }
        }
    }

    /// Lists what varies in a grid, such as `5 learning rates` and `3 seeds`; nothing for another preset.
    pub fn varied(&self) -> Vec<String> {
        let Preset::Grid(grid) = self else { return Vec::new() };
        let values = |Variation { setting, values, .. }: &Variation| {
            let name = setting.rsplit('.').next().unwrap_or(setting).replace('_', " ");
            let symbol = symbol(&name);
            match values.len() {
                count if symbol != name => format!("{count} values of {symbol}"),
                count if count > 1 && !name.ends_with('s') => format!("{count} {name}s"),
                count => format!("{count} {name}"),
            }
        };
        let seeds = (grid.seeds.get() > 1).then(|| format!("{} seeds", grid.seeds.get()));
        grid.vary.iter().map(values).chain(seeds).collect()
    }

    /// Returns the built-in preset from whose settings the title is made, as in `Fig. 1c, changed: σ = 0.5`; without
    /// one, the preset.
    pub fn origin(&self) -> Preset {
        let built_in = || {
            let (title, _) = split_changed(self.title())?;
            let found = built_ins().iter().map(|built_in| &built_in.preset);
            found.into_iter().find(|preset| preset.kind() == self.kind() && preset.title() == title).cloned()
        };
        built_in().unwrap_or_else(|| self.clone())
    }

    /// Removes the names of optimizers that state other settings since these were changed from those of `before`.
    pub(super) fn forget_false_names(&mut self, before: &Preset) {
        match (self, before) {
            (Preset::Landscape(this), Preset::Landscape(before)) => {
                let both = this.spec_mut().optimizers.iter_mut().zip(&before.spec().optimizers);
                for (own, _) in both.filter(|(own, old)| own.name == old.name && own.rule != old.rule) {
                    let RatedRule { rule, learning_rate, .. } = own.rule;
                    own.name.take_if(|name| states_other_settings(name, &rule, Some(learning_rate)));
                }
            }
            (Preset::Sweep(this), Preset::Sweep(before)) => {
                let both = this.sweep.optimizers.iter_mut().zip(&before.sweep.optimizers);
                for (own, _) in both.filter(|(own, old)| own.name == old.name && own.rule != old.rule) {
                    own.name.take_if(|name| states_other_settings(name, &own.rule, None));
                }
            }
            _ => {}
        }
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
    pub(crate) fn leaves(&self) -> Vec<(String, String)> {
        let text = self.to_ron();
        let leaves = Outline::of(&text).leaves().into_iter();
        leaves.map(|(path, value)| (path, value.to_owned())).collect()
    }

    /// Returns the text of the field at a path, if the file has it.
    pub(crate) fn field_text(&self, path: &str) -> Option<String> {
        let text = self.to_ron();
        Some(text[Outline::of(&text).exact(path)?].to_owned())
    }
}

/// The words between the title of a preset and its changes, and those after a title that ends as a sentence does.
const CHANGED: &str = ", changed: ";
const AFTER_A_SENTENCE: &str = " Changed: ";

/// Returns whether a title describes settings, so that it does not suit other ones: that of a built-in preset, or one
/// that was made from changes.
pub fn is_made_title(title: &str) -> bool {
    is_built_in_title(title) || lists_changes(title)
}

fn is_built_in_title(title: &str) -> bool {
    built_ins().iter().any(|built_in| title == built_in.preset.title())
}

/// Returns whether a title was made from changes and lists them.
pub fn lists_changes(title: &str) -> bool {
    let mut presets = built_ins().iter().map(|built_in| &built_in.preset);
    let of_workload = |preset: &Preset| Some(format!("{} · ", preset.workload()?.info().name));
    let is_made = |preset| of_workload(preset).is_some_and(|head| title.starts_with(&head));
    split_changed(title).is_some() || (!is_built_in_title(title) && presets.any(is_made))
}

pub fn changed_head(title: &str) -> String {
    format!("{title}{}", if ends_sentence(title) { AFTER_A_SENTENCE } else { CHANGED })
}

fn ends_sentence(title: &str) -> bool {
    title.ends_with(['?', '!', '.', '…'])
}

/// Splits the title of a changed preset into the title of the preset and the changes; `None` without changes.
pub fn split_changed(title: &str) -> Option<(&str, &str)> {
    let after_sentence = title.split_once(AFTER_A_SENTENCE).filter(|(head, _)| ends_sentence(head));
    [title.split_once(CHANGED), after_sentence].into_iter().flatten().min_by_key(|(head, _)| head.len())
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
pub(super) fn changes_of_landscape(this: &LandscapePreset, before: &LandscapePreset) -> Vec<String> {
    let mut changes = changed_settings(this.spec(), before.spec());
    if this.simulations[1..] != before.simulations[1..] {
        changes.push(if this.simulations.len() == 1 { "nothing beside it" } else { "side by side" }.to_owned());
    }
    changes
}

/// Returns the settings of a simulation that differ from another's, such as `σ = 0.5` and `Adam: η 0.01`.
pub fn changed_settings(this: &SimulationSpec, before: &SimulationSpec) -> Vec<String> {
    let mut changes = changed_texts(&this.shared_settings(), &before.shared_settings());
    changes_of_optimizers(this, before, &mut changes);
    changes
}

fn changes_of_optimizers(this: &SimulationSpec, before: &SimulationSpec, changes: &mut Vec<String>) {
    let ids = |spec: &SimulationSpec| -> Vec<(u32, bool)> {
        spec.optimizers.iter().map(|optimizer| (optimizer.id, optimizer.enabled)).collect()
    };
    if ids(this) != ids(before) {
        let simulated = this.optimizers.iter().filter(|optimizer| optimizer.enabled);
        return changes.push(simulated.map(OptimizerSpec::label).collect::<Vec<_>>().join(", "));
    }
    for (this, before) in this.optimizers.iter().zip(&before.optimizers) {
        let words = changed_texts(&this.rule.shown_settings(), &before.rule.shown_settings());
        match (this.rule.name(), before.rule.name()) {
            (own, old) if own != old => changes.push(with_settings(&format!("{old} → {own}"), &words)),
            _ if !words.is_empty() => changes.push(format!("{}: {}", this.label(), words.join(", "))),
            _ if this.rule != before.rule => changes.push(format!("{}: another rule", this.label())),
            _ => {}
        }
    }
}

impl Preset {
    /// Returns the settings of a preset of one training.
    pub fn shown_settings(&self) -> Vec<ShownSetting> {
        let Some(training) = self.training() else { return other_settings(self) };
        let mut settings = training.rule.shown_in_training();
        settings.push(ShownSetting::learning_rate(training.learning_rate.get()));
        settings.push(ShownSetting::new("batch", format!("batch {}", training.batch_size)));
        settings.extend(other_settings(self));
        settings
    }

    /// Returns the settings of a training that do not affect what it learns, such as the interval of checkpoints.
    pub fn bookkeeping_settings(&self) -> Vec<ShownSetting> {
        let fields = self.workload().map_or_else(Vec::new, |workload| workload.fields());
        let is_bookkeeping =
            |it: &ListedSetting| fields.iter().any(|of| of.setting.key == it.path && of.role == Role::Bookkeeping);
        let listed = self.listed_settings().into_iter().filter(is_bookkeeping);
        let shown = listed.map(|ListedSetting { path, label, value, .. }| ShownSetting {
            is_usual: false,
            ..ShownSetting::new(path, format!("{} {value}", label.to_lowercase()))
        });
        shown.collect()
    }

    /// Returns all settings of a preset of one training, with their paths as for `--set`. The elements of a list are one
    /// setting.
    pub fn settings(&self) -> Vec<(String, String)> {
        let start = self.places().first().map_or_else(String::new, |place| format!("{place}."));
        let mut values: Vec<(String, String)> = Vec::new();
        for (path, value) in self.leaves() {
            let Some(path) = path.strip_prefix(&start) else { continue };
            let key = path.split('[').next().unwrap_or(path);
            match values.last_mut().filter(|(last, _)| last == key && path.contains('[')) {
                Some((_, list)) => list.push_str(&format!(", {value}")),
                None => values.push((key.to_owned(), value)),
            }
        }
        values
    }

    /// Returns the text of a preset of runs without the fields that may differ between replicates; none for other kinds.
    pub fn replicate_key(&self) -> Option<String> {
        let mut alike = self.clone();
        for CommonMut { name, seed, data } in alike.workload_mut()?.runs_mut() {
            (*name, *seed, *data) = Default::default();
        }
        alike.words_mut().into_iter().for_each(String::clear);
        Some(alike.to_ron())
    }
}

/// Returns the settings besides optimizer, learning rate and batch size.
fn other_settings(preset: &Preset) -> Vec<ShownSetting> {
    let Some(workload) = preset.workload() else { return Vec::new() };
    let short = |part: &str| part.parse::<f64>().map_or_else(|_| part.to_owned(), number_text);
    let short = |value: &str| value.split(", ").map(short).collect::<Vec<_>>().join(", ");
    let values = preset.settings();
    let fields = workload.fields();
    let field = |key: &str| fields.iter().find(|of| of.setting.key == key);
    let mut shown: Vec<ShownSetting> =
        values.iter().filter_map(|(key, value)| field(key)?.shown(&short(value))).collect();
    for (path, text) in fields.iter().filter_map(|of| Some((of.setting.key, of.absent?))) {
        if !text.is_empty() && !values.iter().any(|(key, _)| key == path) {
            shown.push(ShownSetting::silent_if(true, path, text));
        }
    }
    shown
}

/// Returns the settings of a preset of trainings that differ from another's, in words. The first names the rule, where
/// one training is described.
pub(super) fn changes_of_trainings(this: &Preset, before: &Preset) -> Vec<String> {
    let [own, old] = [this, before].map(Preset::trainings);
    match (&own[..], &old[..]) {
        ([own], [old]) => changes_of_training(own, old),
        _ if own.len() != old.len() => vec![format!("{} runs", own.len())],
        _ => {
            let each = own.iter().zip(&old).map(|(own, old)| changes_of_training(own, old)).enumerate();
            let changed = each.filter(|(_, changes)| !changes.is_empty());
            changed.map(|(run, changes)| format!("run {}: {}", run + 1, changes.join(", "))).collect()
        }
    }
}

fn changes_of_training(this: &Preset, before: &Preset) -> Vec<String> {
    let (Some(own), Some(old)) = (this.workload(), before.workload()) else { return Vec::new() };
    let [settings, of_before] = [this, before].map(Preset::shown_settings);
    let mut words = changed_texts(&settings, &of_before);
    let has = |meaning: &str| settings.iter().any(|setting| setting.meaning == meaning);
    let of_fields = other_settings(before).into_iter();
    words.extend(of_fields.filter(|old| !has(&old.meaning)).map(|old| format!("no {}", old.meaning.replace('_', " "))));
    let (Some(own), Some(old)) = (own.training(), old.training()) else { return words };
    let rule = match (own.rule.name(), old.rule.name()) {
        (name, before) if name != before => format!("{before} → {name}"),
        (name, _) if own.rule.kind() != old.rule.kind() => format!("another text of {name}"),
        (_, _) if words.is_empty() => return words,
        (name, _) => name.to_owned(),
    };
    words.insert(0, rule);
    words
}
