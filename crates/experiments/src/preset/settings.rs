//! The settings of trainings: in words, for legends, lists and titles, and as a key that replicates share.

use valleyscope_engine::optimizer::{ShownSetting, changed_words, with_settings};
use valleyscope_engine::quantity::number_text;

use super::Preset;
use crate::difference::ListedSetting;
use crate::workload::{CommonMut, ScanOptimizer};

impl Preset {
    /// Returns the settings of a preset of one training, or of a scan without its optimizers.
    pub fn shown_settings(&self) -> Vec<ShownSetting> {
        let Some(training) = self.training() else { return others(self) };
        let mut settings = training.rule.shown_in_training();
        settings.push(ShownSetting::learning_rate(training.learning_rate.get()));
        settings.push(ShownSetting::new("batch", format!("batch {}", training.batch_size)));
        settings.extend(others(self));
        settings
    }

    /// Returns the settings of a training that do not affect what it learns, such as the interval of checkpoints.
    pub fn bookkeeping_settings(&self) -> Vec<ShownSetting> {
        let is_bookkeeping = |path: &str| BOOKKEEPING.contains(&path.split('.').next().unwrap_or_default());
        let listed = self.listed_settings().into_iter().filter(|setting| is_bookkeeping(&setting.path));
        let shown = listed.map(|ListedSetting { path, label, value, .. }| ShownSetting {
            is_usual: false,
            ..ShownSetting::new(path, format!("{} {value}", label.to_lowercase()))
        });
        shown.collect()
    }

    /// Returns all settings of a preset of one training or one scan, with their paths as for `--set`. The elements of a
    /// list are one setting.
    pub fn settings(&self) -> Vec<(String, String)> {
        let Some(workload) = self.workload() else { return Vec::new() };
        let start = workload.places().first().map_or_else(String::new, |place| format!("{place}."));
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

    /// Returns the text of a preset of runs without the fields that may differ between replicates; none for a scan, and
    /// for other kinds.
    pub fn replicate_key(&self) -> Option<String> {
        let mut alike = self.clone();
        let runs = alike.workload_mut()?.runs_mut();
        if runs.is_empty() {
            return None;
        }
        for CommonMut { name, seed, data } in runs {
            (*name, *seed, *data) = Default::default();
        }
        alike.words_mut().into_iter().for_each(String::clear);
        Some(alike.to_ron())
    }
}

/// The fields that do not affect what a training learns.
const BOOKKEEPING: [&str; 10] = [
    "device",
    "processes",
    "shard_optimizer",
    "log_every",
    "eval_every",
    "eval_batches",
    "checkpoint_every",
    "keep_every",
    "not_finite",
    "sample",
];

/// Returns the settings besides optimizer, learning rate and batch size.
fn others(preset: &Preset) -> Vec<ShownSetting> {
    let Some(workload) = preset.workload() else { return Vec::new() };
    let short = |part: &str| part.parse::<f64>().map_or_else(|_| part.to_owned(), number_text);
    let short = |value: &str| value.split(", ").map(short).collect::<Vec<_>>().join(", ");
    let values = preset.settings();
    let mut shown: Vec<ShownSetting> =
        values.iter().filter_map(|(key, value)| workload.shown_field(key, &short(value))).collect();
    for (path, words) in workload.optional_fields() {
        if !values.iter().any(|(key, _)| key == path) {
            shown.push(ShownSetting::silent_if(true, *path, *words));
        }
    }
    shown
}

/// Returns the settings of a preset of trainings that differ from another's, in words. The first names the rule, where
/// one training is described.
pub(super) fn changes_of_trainings(this: &Preset, before: &Preset) -> Vec<String> {
    let [own, old] = [this, before].map(Preset::trainings);
    match (&own[..], &old[..]) {
        ([own], [old]) => of_one(own, old),
        _ if own.len() != old.len() => vec![format!("{} runs", own.len())],
        _ => {
            let each = own.iter().zip(&old).map(|(own, old)| of_one(own, old)).enumerate();
            let changed = each.filter(|(_, changes)| !changes.is_empty());
            changed.map(|(run, changes)| format!("run {}: {}", run + 1, changes.join(", "))).collect()
        }
    }
}

fn of_one(this: &Preset, before: &Preset) -> Vec<String> {
    let (Some(own), Some(old)) = (this.workload(), before.workload()) else { return Vec::new() };
    let [settings, of_before] = [this, before].map(Preset::shown_settings);
    let mut words = changed_words(&settings, &of_before);
    let has = |meaning: &str| settings.iter().any(|setting| setting.meaning == meaning);
    let of_fields = others(before).into_iter();
    words.extend(of_fields.filter(|old| !has(&old.meaning)).map(|old| format!("no {}", old.meaning.replace('_', " "))));
    let (Some(own), Some(old)) = (own.training(), old.training()) else {
        words.splice(0..0, of_scanned(own.scanned(), old.scanned()));
        return words;
    };
    let rule = match (own.rule.name(), old.rule.name()) {
        (name, before) if name != before => format!("{before} → {name}"),
        (name, _) if own.rule.kind() != old.rule.kind() => format!("another text of {name}"),
        (_, _) if words.is_empty() => return words,
        (name, _) => name.to_owned(),
    };
    words.insert(0, rule);
    words
}

fn of_scanned(these: &[ScanOptimizer], others: &[ScanOptimizer]) -> Vec<String> {
    let rules = |of: &[ScanOptimizer]| of.iter().map(|it| it.rule.name()).collect::<Vec<_>>();
    if rules(these) != rules(others) {
        return vec![these.iter().map(ScanOptimizer::label).collect::<Vec<_>>().join(", ")];
    }
    let settings = |it: &ScanOptimizer| it.rule.shown_in_training();
    let changed = these.iter().zip(others).filter(|(own, old)| own.rule != old.rule);
    changed.map(|(own, old)| with_settings(own.rule.name(), &changed_words(&settings(own), &settings(old)))).collect()
}
