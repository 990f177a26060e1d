//! Distinct names of the optimizers of a simulation.

use super::spec::{OptimizerSpec, SimulationSpec};
use crate::optimizer::{RuleKind, RuleSpec, differing, with_settings};
use crate::parameter::LEARNING_RATE;
use crate::quantity::{LearningRate, number_text};

impl SimulationSpec {
    /// Returns the name of each optimizer, in their order: its label, followed by a number if an earlier one has the
    /// same, as in "Adam" and "Adam (2)".
    pub fn distinct_names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for optimizer in &self.optimizers {
            let label = optimizer.label();
            let is_label = |name: &str| self.optimizers.iter().any(|other| other.label() == name);
            let is_taken = |name: &str| names.iter().any(|other| other == name) || (name != label && is_label(name));
            names.push(distinct_name(label, is_taken));
        }
        names
    }

    /// Returns the names of the optimizers for showing them together, in their order: the distinct names, each with the
    /// settings that differ among the simulated ones. A name given by the user stays unchanged.
    pub fn shown_names(&self) -> Vec<String> {
        let is_named = |optimizer: &OptimizerSpec| {
            let own = optimizer.rule.schedule.named(optimizer.rule.name());
            is_given(optimizer.name.as_deref(), own)
        };
        let settings = |optimizer: &&OptimizerSpec| optimizer.rule.shown_settings();
        let simulated: Vec<&OptimizerSpec> = self.optimizers.iter().filter(|optimizer| optimizer.enabled).collect();
        let words = differing(&simulated.iter().map(settings).collect::<Vec<_>>());
        let named = self.optimizers.iter().zip(self.distinct_names()).map(|(optimizer, name)| {
            let place = simulated.iter().position(|other| other.id == optimizer.id);
            match place.filter(|_| !is_named(optimizer)) {
                Some(place) => with_settings(&name, &words[place]),
                None => name,
            }
        });
        named.collect()
    }

    /// Returns the name of the optimizer with this id.
    pub fn name_of(&self, id: u32) -> Option<String> {
        let index = self.optimizers.iter().position(|optimizer| optimizer.id == id)?;
        self.distinct_names().into_iter().nth(index)
    }
}

/// Returns `label`, or if it is taken, the label followed by the first free number from 2 on: "Adam (2)".
pub fn distinct_name(label: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = |number: u32| {
        let number = format!(" ({number})");
        let room = OptimizerSpec::LONGEST_NAME - number.chars().count();
        without_number(label).chars().take(room).chain(number.chars()).collect()
    };
    let candidates = std::iter::once(label.to_owned()).chain((2..).map(numbered));
    candidates.into_iter().find(|name| !is_taken(name)).unwrap_or_else(|| label.to_owned())
}

/// Returns whether the user gave a name: it is not the `made` one, with or without a number.
pub(crate) fn is_given(name: Option<&str>, made: &str) -> bool {
    name.is_some_and(|name| without_number(name) != made)
}

/// Returns whether a name states another rule or another value than the optimizer has, such as `FOCUS, γ 0.1` of one
/// whose γ was changed.
pub fn states_other_settings(name: &str, rule: &RuleSpec, learning_rate: Option<LearningRate>) -> bool {
    let first = name.split([',', '(', ' ']).find(|word| !word.is_empty() && *word != "Cautious");
    if first.and_then(RuleKind::shown_as).is_some_and(|kind| kind != rule.kind()) {
        return true;
    }
    let rate = learning_rate.map(|rate| (LEARNING_RATE.symbol, rate.get()));
    let values = rule.hyperparameters().filter(|(of, _)| of.choices().is_empty()).map(|(of, value)| (of.symbol, value));
    rate.into_iter().chain(values).any(|(symbol, value)| {
        let stated = name.split_once(&format!("{symbol} ")).map(|(_, rest)| rest.trim_start_matches(['=', ' ']));
        let number = stated.and_then(|rest| rest.split([',', ' ', ')', ';']).next());
        let number = number.and_then(|number| number.replace('−', "-").parse::<f64>().ok());
        number.is_some_and(|number| number_text(number) != number_text(value))
    })
}

/// Strips the number, as "Adam" of "Adam (2)".
fn without_number(label: &str) -> &str {
    let before = label.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
    match before {
        Some((before, number)) if number.parse::<u32>().is_ok() => before,
        _ => label,
    }
}
