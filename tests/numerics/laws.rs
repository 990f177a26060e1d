//! The oracle's law of each rule of the library.

use valleyscope::optimizer::RuleSpec;

use crate::oracle::Law;

/// The law of a rule with the learning rate `eta`; none where the oracle does not know the rule.
pub fn known_law(rule: &RuleSpec, eta: f64) -> Option<Law> {
    let value = |key| rule.get(key).expect("the rule has this hyperparameter");
    let omega = rule.weight_decay();
    match rule.kind().key() {
        "Adam" => Some(Law::Adam { eta, beta1: value("beta1"), beta2: value("beta2"), omega }),
        "Signum" => Some(Law::Signum { eta, beta1: value("beta1"), omega }),
        "Focus" => Some(Law::Focus {
            eta,
            beta1: value("beta1"),
            beta2: value("beta2"),
            gamma: value("gamma"),
            omega,
            decays_average: rule.choice("decay").is_some_and(|choice| choice.key == "Average"),
        }),
        "Sgd" => Some(Law::Sgd { eta, beta1: value("beta1"), omega }),
        "Lion" => Some(Law::Lion { eta, beta1: value("beta1"), beta2: value("beta2"), omega }),
        "Mars" => Some(Law::Mars { eta, beta1: value("beta1"), beta2: value("beta2"), gamma: value("gamma"), omega }),
        _ => None,
    }
}

pub fn law(rule: &RuleSpec, eta: f64) -> Law {
    known_law(rule, eta).unwrap_or_else(|| {
        panic!("{} is registered, and the oracle (tests/numerics/oracle.rs) has no law of it", rule.name())
    })
}
