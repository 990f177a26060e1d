//! `valleyscope optimizers show --as`: an optimizer as text of the language, as a class of PyTorch, or in LaTeX.

use std::ffi::OsStr;

use anyhow::anyhow;
use valleyscope_engine::identifier::folded;
use valleyscope_engine::optimizer::notation::{Notation, written};
use valleyscope_engine::optimizer::{MASK, RatedRule, RuleKind, RuleSpec};
use valleyscope_engine::quantity::LearningRate;
use valleyscope_experiments::preset::{Library, Preset, PresetError, full_name};

use super::output::print_content;
use super::{Failure, preset_in_place_of, rules, simulations};

/// The learning rate of a rule that none is given for.
const USUAL_LEARNING_RATE: f64 = 1e-3;

/// Prints a rule with these settings.
pub(super) fn show(name: &OsStr, notation: Notation, settings: &[(String, String)]) -> Result<(), Failure> {
    let mut rule = chosen(name)?;
    for (key, value) in settings {
        set(&mut rule, key, value).map_err(|error| Failure::BadInput(anyhow!("--set {key}={value}: {error}")))?;
    }
    print_content(&written(&rule, notation).map_err(|reason| Failure::BadInput(anyhow!(reason)))?)
}

/// An optimizer of a preset.
struct Listed {
    id: Option<u32>,
    title: String,
    rule: RatedRule,
}

/// Finds the rule that a user named: a built-in one, with its values in training, or an optimizer of a preset.
fn chosen(name: &OsStr) -> Result<RatedRule, Failure> {
    let text = name.to_string_lossy();
    if let Some(kind) = RuleKind::shown_as(&text) {
        let is_cautious = RuleKind::named(&text).is_none();
        let rule = RuleSpec::in_training(kind).with(MASK, f64::from(is_cautious)).map_err(Failure::bad_input)?;
        return Ok(rule.rated(LearningRate::clamped(USUAL_LEARNING_RATE)));
    }
    let (preset, of) = match text.rsplit_once(':') {
        Some((preset, of)) if matches!(Library::open().load(name), Err(PresetError::NotFound { .. })) => {
            (OsStr::new(preset).to_owned(), Some(of))
        }
        _ => (name.to_owned(), None),
    };
    let names = RuleKind::ALL.iter().map(|kind| kind.info().name);
    let listed = listed(&preset_in_place_of("optimizer", names, &preset)?)?;
    let found = match (of, &listed[..]) {
        (None, [only]) => Some(only),
        (None, _) => None,
        (Some(of), all) => {
            let number: Option<u32> = of.parse().ok();
            let by_id = all.iter().find(|it| number.is_some() && it.id == number);
            let by_title = || all.iter().find(|it| folded(&it.title) == folded(of));
            by_id.or_else(by_title).or_else(|| all.get(number? as usize))
        }
    };
    found.map(|it| it.rule).ok_or_else(|| {
        let preset = preset.display();
        let all = listed.iter().enumerate().map(|(index, Listed { id, title, .. })| {
            format!("`{preset}:{}` ({title})", id.map_or(index, |id| id as usize))
        });
        let all = all.collect::<Vec<_>>().join(", ");
        Failure::BadInput(anyhow!("expected one optimizer of the preset, found `{text}`; there are {all}"))
    })
}

/// Lists the optimizers of a preset; those that only a lesson's steps have come last.
fn listed(preset: &Preset) -> Result<Vec<Listed>, Failure> {
    let usual = LearningRate::clamped(USUAL_LEARNING_RATE);
    let listed = |id, title: &str, rule| Listed { id, title: title.to_owned(), rule };
    let mut all: Vec<Listed> = match preset {
        Preset::Landscape(preset) => {
            let simulations = simulations(preset)?;
            let optimizers = simulations.iter().flat_map(|simulation| &simulation.optimizers);
            optimizers.map(|it| listed(Some(it.id), it.label(), it.rule)).collect()
        }
        Preset::Sweep(preset) => {
            let optimizers = preset.sweep.optimizers.iter();
            optimizers.map(|it| listed(Some(it.id), it.label(), it.rule.rated(usual))).collect()
        }
        other => {
            let rated = |(rule, rate): (RuleSpec, Option<LearningRate>)| (rule, rule.rated(rate.unwrap_or(usual)));
            rules(other).into_iter().map(rated).map(|(rule, rated)| listed(None, rule.name(), rated)).collect()
        }
    };
    let mut known: Vec<(Option<u32>, String)> = Vec::new();
    all.retain(|it| {
        let is_new = it.id.is_none() || !known.contains(&(it.id, it.title.clone()));
        known.push((it.id, it.title.clone()));
        is_new
    });
    Ok(all)
}

/// Sets a hyperparameter, or the learning rate; a choice by its name.
fn set(rule: &mut RatedRule, key: &str, value: &str) -> Result<(), String> {
    let key = full_name(key);
    let keys = || rule.settings().map(|(of, _)| of.key).collect::<Vec<_>>().join(", ");
    let (of, _) = rule
        .settings()
        .find(|(of, _)| of.key == key)
        .ok_or_else(|| format!("expected a hyperparameter of {}: {}", rule.name(), keys()))?;
    let choices = of.choices();
    let number = match choices.iter().position(|choice| folded(choice.key) == folded(value)) {
        Some(index) => index as f64,
        None if choices.is_empty() => value.parse().map_err(|_| "expected a number".to_owned())?,
        None => {
            let keys: Vec<&str> = choices.iter().map(|choice| choice.key).collect();
            return Err(format!("expected one of {}", keys.join(", ")));
        }
    };
    rule.set(of.key, number).map_err(|error| error.to_string())
}
