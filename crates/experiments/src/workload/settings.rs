//! The settings of trainings in words, for legends, lists and titles.

use valleyscope_engine::optimizer::{ShownSetting, with_settings};
use valleyscope_engine::quantity::number_text;

use super::ScanOptimizer;
use crate::preset::{Preset, changed_words};
use crate::view::ticks::grouped;

/// The fields that titles and legends omit, as they distinguish replicates or do not affect learning.
const UNNAMED_FIELDS: [&str; 16] = [
    "name",
    "seed",
    "data",
    "device",
    "processes",
    "shard_optimizer",
    "part",
    "log_every",
    "eval_every",
    "eval_batches",
    "checkpoint_every",
    "keep_every",
    "sample",
    "not_finite",
    // The number of samples of a step replaces it.
    "batch_size",
    "accumulation",
];

/// Returns the settings of a preset of one training, or of a scan without its optimizers.
pub fn shown_settings(preset: &Preset) -> Vec<ShownSetting> {
    let Some(training) = preset.workload().and_then(|workload| workload.training()) else { return others(preset) };
    let mut settings = training.rule.shown_in_training();
    settings.push(ShownSetting::learning_rate(training.learning_rate.get()));
    settings.push(ShownSetting::new(BATCH, format!("batch {}", training.batch_size)));
    settings.extend(others(preset));
    settings
}

/// The meaning of the number of samples of a step among [`shown_settings`].
pub const BATCH: &str = "batch";
/// The meaning of the number of steps among [`shown_settings`].
pub const STEPS: &str = "steps";

/// Returns the settings besides optimizer, learning rate and batch size.
fn others(preset: &Preset) -> Vec<ShownSetting> {
    let mut values: Vec<(String, String)> = Vec::new();
    for (path, value) in preset.leaves() {
        let Some(path) = path.strip_prefix("runs[0].").or(path.strip_prefix("scan.")) else { continue };
        let root = path.split(['.', '[']).next().unwrap_or(path);
        if UNNAMED_FIELDS.contains(&root) || ["optimizer", "optimizers", ShownSetting::LEARNING_RATE].contains(&root) {
            continue;
        }
        let value = value.parse::<f64>().map_or(value, number_text);
        // The elements of a list are one setting.
        let key = path.split('[').next().unwrap_or(path);
        match values.last_mut().filter(|(last, _)| last == key && path.contains('[')) {
            Some((_, list)) => list.push_str(&format!(", {value}")),
            None => values.push((key.to_owned(), value)),
        }
    }
    let setting = |(key, value): (String, String)| {
        let is_usual = !["clip", "init_from"].contains(&key.as_str());
        ShownSetting { is_usual, ..ShownSetting::new(key.clone(), in_words(&key, &value)) }
    };
    values.into_iter().map(setting).collect()
}

fn in_words(key: &str, value: &str) -> String {
    let name = key.rsplit('.').next().unwrap_or(key).replace('_', " ");
    match (key, value) {
        (STEPS, _) => format!("{} steps", value.parse().map_or_else(|_| value.to_owned(), grouped)),
        ("schedule.warmup", _) => format!("warm-up {value}"),
        ("schedule.min_lr", _) => format!("final η {value}"),
        ("learning_rates.from" | "learning_rates.to", _) => format!("η {name} {value}"),
        ("learning_rates.count", _) => format!("{value} η"),
        ("precision", _) => value.to_lowercase(),
        ("attention", _) => format!("{} attention", value.to_lowercase()),
        ("init_from", _) => {
            let file = value.trim_matches('"').rsplit(['/', '\\']).next().unwrap_or(value);
            format!("weights of {file}")
        }
        (_, "true") => name,
        (_, "false") => format!("no {name}"),
        _ => format!("{name} {value}"),
    }
}

/// Returns the settings of a preset of trainings that differ from another's, in words. The first names the rule, where
/// one training is described.
pub fn changes(this: &Preset, before: &Preset) -> Vec<String> {
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
    let [settings, of_before] = [this, before].map(shown_settings);
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
