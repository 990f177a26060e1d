//! Shorthands for specs of simulations.

use valleyscope_engine::landscape::LandscapeSpec;
use valleyscope_engine::noise::NoiseSpec;
use valleyscope_engine::optimizer::{RatedRule, RuleKind, RuleSpec};
use valleyscope_engine::quantity::{LearningRate, Noise, ParticleCount, StartCoordinate, StartSpread};
use valleyscope_engine::simulation::{OptimizerSpec, SimulationSpec, StartSpec};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DecayTarget {
    Parameters,
    Average,
}

/// Returns a rule with some of its hyperparameters set.
pub fn rule(kind: RuleKind, values: &[(&str, f64)]) -> RuleSpec {
    values.iter().fold(RuleSpec::on_plane(kind), |rule, (key, value)| rule.with(key, *value).unwrap())
}

pub fn rated(learning_rate: f64, rule: RuleSpec) -> RatedRule {
    rule.rated(LearningRate::new(learning_rate).unwrap())
}

pub fn adam(learning_rate: f64, beta1: f64, beta2: f64, weight_decay: f64) -> RatedRule {
    let values = [("beta1", beta1), ("beta2", beta2), ("weight_decay", weight_decay)];
    rated(learning_rate, rule(RuleKind::Adam, &values))
}

pub fn signum(learning_rate: f64, beta1: f64, weight_decay: f64) -> RatedRule {
    rated(learning_rate, rule(RuleKind::Signum, &[("beta1", beta1), ("weight_decay", weight_decay)]))
}

pub fn sgd(learning_rate: f64, beta1: f64, weight_decay: f64) -> RatedRule {
    rated(learning_rate, rule(RuleKind::Sgd, &[("beta1", beta1), ("weight_decay", weight_decay)]))
}

pub fn mars(learning_rate: f64, beta1: f64, beta2: f64, gamma: f64, weight_decay: f64) -> RatedRule {
    let values = [("beta1", beta1), ("beta2", beta2), ("gamma", gamma), ("weight_decay", weight_decay)];
    rated(learning_rate, rule(RuleKind::Mars, &values))
}

pub fn focus(learning_rate: f64, betas: [f64; 2], gamma: f64, weight_decay: f64, decay: DecayTarget) -> RatedRule {
    let values = [
        ("beta1", betas[0]),
        ("beta2", betas[1]),
        ("gamma", gamma),
        ("weight_decay", weight_decay),
        ("decay", f64::from(decay as u8)),
    ];
    rated(learning_rate, rule(RuleKind::Focus, &values))
}

pub fn valley(sharpness: f64, slope: f64, rotation_degrees: f64) -> LandscapeSpec {
    let values = [("sharpness", sharpness), ("slope", slope), ("rotation_degrees", rotation_degrees)];
    values.into_iter().fold(LandscapeSpec::default(), |spec, (key, value)| spec.with(key, value).unwrap())
}

pub fn noise(sigma: f64) -> NoiseSpec {
    Noise::new(sigma).unwrap().into()
}

pub fn start(x: f64, y: f64, spread: f64) -> StartSpec {
    StartSpec {
        x: StartCoordinate::new(x).unwrap(),
        y: StartCoordinate::new(y).unwrap(),
        spread: StartSpread::new(spread).unwrap(),
    }
}

pub fn particles(count: u64) -> ParticleCount {
    ParticleCount::new(count).unwrap()
}

pub fn optimizer(id: u32, rule: RatedRule) -> OptimizerSpec {
    OptimizerSpec { id, name: None, color: None, enabled: true, rule }
}

/// Returns the paper's landscape and start; the optimizers' ids count from 1.
pub fn simulation(sigma: f64, count: u64, rules: &[RatedRule]) -> SimulationSpec {
    SimulationSpec {
        landscape: valley(10.0, 0.1, 30.0),
        noise: noise(sigma),
        seed: 1,
        steps: None,
        particles: particles(count),
        start: start(0.0, 0.0, 1e-4),
        temperature: None,
        optimizers: (1..).zip(rules).map(|(id, &rule)| optimizer(id, rule)).collect(),
    }
}

/// Returns every registered rule, with the paper's values for its toy model except for the learning rate; some in
/// several variants.
pub fn all_rules(learning_rate: f64) -> Vec<RatedRule> {
    let mut rules = vec![
        adam(learning_rate, 0.9, 0.999, 0.1),
        signum(learning_rate, 0.9, 0.1),
        focus(learning_rate, [0.9, 0.9], 0.2, 0.1, DecayTarget::Parameters),
        focus(learning_rate, [0.9, 0.99], 0.2, 0.1, DecayTarget::Average),
        focus(learning_rate, [0.9, 0.9], -0.3, 0.1, DecayTarget::Parameters),
        sgd(0.1 * learning_rate, 0.9, 0.5),
    ];
    for &kind in RuleKind::ALL {
        if rules.iter().all(|rule| rule.rule.kind() != kind) {
            // Rounding grows wherever steps jump over the valley, as steps of constant length, and NAdam's and SOAP's,
            // do for long.
            let factor = if matches!(kind, RuleKind::Muon | RuleKind::NAdam | RuleKind::Soap) { 0.1 } else { 1.0 };
            // SOAP also amplifies rounding where gradients along one line have almost nothing across it.
            let values: &[_] = if kind == RuleKind::Soap { &[("eps", 0.01)] } else { &[] };
            rules.push(rated(factor * learning_rate, rule(kind, values)));
        }
    }
    rules
}
