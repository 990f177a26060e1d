//! The oracle's law of each rule of the library.

use valleyscope_engine::optimizer::RuleSpec;

use crate::oracle::{Hyper, Law, ORACLES};

/// Returns the law of a rule with the learning rate `eta`; none if the oracle has no such rule.
pub fn known_law(rule: &RuleSpec, eta: f64) -> Option<Law> {
    let (_, step) = ORACLES.iter().find(|(key, _)| *key == rule.kind().key())?;
    let chosen = |(key, _): &(&'static str, f64)| Some((*key, rule.choice(key)?.key));
    let values = rule.hyperparameters().map(|(of, value)| (of.key, value)).collect::<Vec<_>>();
    let choices = values.iter().filter_map(chosen).collect();
    Some(Law { step: *step, hyper: Hyper { eta, values: values.into_iter().collect(), choices } })
}

pub fn law(rule: &RuleSpec, eta: f64) -> Law {
    known_law(rule, eta)
        .unwrap_or_else(|| panic!("{} is registered, and has no oracle (tests/numbers/oracle)", rule.name()))
}
