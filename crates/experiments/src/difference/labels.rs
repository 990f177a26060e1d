//! The labels of settings, from the tables of parameters, of rules and of landscapes, and from the forms of trainings.

use std::collections::HashMap;

use valleyscope_engine::landscape::LandscapeSpec;
use valleyscope_engine::optimizer::RuleSpec;
use valleyscope_engine::parameter::{
    DIMENSION, LEARNING_RATE, NOISE, PARTICLES, Parameter, REPLICATES, START_SPREAD, START_X, START_Y, STEPS,
    TEMPERATURE,
};

use super::listed::SettingOwner;
use crate::preset::Preset;

/// The parameters of simulations and sweeps, with their paths.
const PARAMETERS: [(&str, Parameter); 11] = [
    ("noise", NOISE),
    ("steps", STEPS),
    ("dimension", DIMENSION),
    ("replicates", REPLICATES),
    ("particles", PARTICLES),
    ("start.x", START_X),
    ("start.y", START_Y),
    ("start.spread", START_SPREAD),
    ("start_spread", START_SPREAD),
    ("temperature", TEMPERATURE),
    ("rule.learning_rate", LEARNING_RATE),
];

/// Labels that no table has.
const OTHERS: [(&str, &str); 6] = [
    ("optimizer", "Rule"),
    ("rows.of", "Rows: what varies"),
    ("columns.of", "Columns: what varies"),
    ("changes", "Recorded changes"),
    ("init_from", "Initial weights"),
    ("id", "Key of the random stream"),
];

/// The labels of a preset's settings.
pub(super) struct Labels {
    landscape: Option<LandscapeSpec>,
    rules: Vec<RuleSpec>,
    /// The names of the fields in the forms of a workload, by their paths.
    fields: HashMap<&'static str, &'static str>,
}

impl Labels {
    pub(super) fn of(preset: &Preset) -> Labels {
        let mut labels = Labels { landscape: None, rules: Vec::new(), fields: HashMap::new() };
        match preset {
            Preset::Landscape(preset) => {
                labels.landscape = Some(preset.spec().landscape);
                labels.rules = preset.spec().optimizers.iter().map(|optimizer| optimizer.rule.rule).collect();
            }
            Preset::Sweep(preset) => {
                labels.landscape = Some(preset.sweep.landscape);
                labels.rules = preset.sweep.optimizers.iter().map(|optimizer| optimizer.rule).collect();
            }
            training => {
                let mut training = training.clone();
                let Some(workload) = training.workload_mut() else { return labels };
                labels.rules = workload.runs().iter().map(|run| *run.rule).collect();
                labels.rules.extend(workload.scanned().iter().map(|optimizer| optimizer.rule));
                for run in 0..workload.places().len() {
                    let fields = workload.form(run).into_iter().flat_map(|section| section.fields);
                    labels.fields.extend(fields.filter(|it| !it.path.is_empty()).map(|it| (it.path, it.name)));
                }
            }
        }
        labels
    }

    /// Returns the label of the setting at a path of an owner, or of the preset.
    pub(super) fn label(&self, owner: Option<&SettingOwner>, path: &str) -> String {
        let rule = owner.and_then(|owner| self.rules.get(owner.index));
        let of_rule = path.strip_prefix("rule.").or_else(|| path.strip_prefix("optimizer."));
        // The label of a choice is the beginning of a phrase that its value ends.
        let of_rule = of_rule.and_then(|key| rule?.hyperparameter(key)).filter(|it| it.choices().is_empty());
        let of_rule = of_rule.map(|hyperparameter| hyperparameter.label);
        let of_landscape = path.strip_prefix("landscape.");
        let of_landscape = of_landscape.and_then(|key| Some(self.landscape?.parameter(key)?.parameter.label));
        let of_table = || PARAMETERS.iter().find(|(known, _)| *known == path).map(|(_, parameter)| parameter.label);
        let of_others = || OTHERS.iter().find(|(known, _)| *known == path).map(|(_, label)| *label);
        let of_form = self.fields.get(path).copied();
        let known = of_rule.or(of_landscape).or(of_form).or_else(of_others).or_else(of_table);
        known.map_or_else(|| in_words(path), str::to_owned)
    }
}

/// Returns a path as words: `Rows from` for `rows.from`.
fn in_words(path: &str) -> String {
    let path = ["rule.", "optimizer."].iter().find_map(|start| path.strip_prefix(start)).unwrap_or(path);
    let words = path.replace(['.', '_'], " ");
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
