//! Typed rules against the built-in rules in the training of networks.

use tch::{Device, Kind, Tensor};
use valleyscope_engine::optimizer::program::text_of;
use valleyscope_engine::optimizer::{RuleKind, RuleSpec, TypedRule};
use valleyscope_training::{FlatOptimizer, ParameterLayout, QueryResults};

use crate::small_mnist::uniform;

const RATES: [f64; 2] = [1e-3, 0.02];
const STEPS: u64 = 60;

fn layout() -> ParameterLayout {
    // With whole blocks of elements, parts of one, and less than one.
    let tensors = [("weight", vec![7, 37], true), ("bias", vec![7], false), ("last", vec![512], true)];
    ParameterLayout::new(tensors.map(|(name, shape, decays)| (name.to_owned(), shape, decays)), RATES.len())
}

/// Returns the parameters after some steps along gradients that do not depend on them.
fn trained(rule: RuleSpec, kind: Kind, in_tensors: bool) -> Vec<f64> {
    let layout = layout();
    let numbers = |seed: u64| -> Tensor {
        let numbers: Vec<f64> = (0..layout.length() as u64).map(|at| 2.0 * uniform(seed << 32 | at) - 1.0).collect();
        Tensor::from_slice(&numbers).to_kind(kind)
    };
    let mut parameters = numbers(0);
    let mut optimizer = FlatOptimizer::new(rule, &RATES, &layout, kind, Device::Cpu).unwrap();
    if in_tensors {
        optimizer = optimizer.with_tensor_operations(&layout).unwrap();
    }
    let nothing = QueryResults { gradient_elsewhere: None, curvature: None };
    for step in 1..=STEPS {
        optimizer.step(&layout, &mut parameters, &numbers(step), &nothing).unwrap();
    }
    let flat = Vec::<f64>::try_from(parameters.to_kind(Kind::Double)).unwrap();
    let ranges = (0..layout.segments().len()).flat_map(|index| (0..RATES.len()).map(move |model| (index, model)));
    ranges.flat_map(|(index, model)| flat[layout.range(index, model)].to_vec()).collect()
}

fn distance(found: &[f64], expected: &[f64]) -> f64 {
    assert!(found.len() == expected.len() && expected.iter().all(|value| value.is_finite()));
    let apart = |(found, expected): (&f64, &f64)| {
        let apart = (found - expected).abs() / expected.abs().max(1e-2);
        if apart.is_nan() { f64::INFINITY } else { apart }
    };
    found.iter().zip(expected).map(apart).fold(0.0, f64::max)
}

fn typed(name: &str, text: &str) -> RuleSpec {
    RuleSpec::in_training(RuleKind::Typed(TypedRule::new(name, text).unwrap()))
}

#[test]
fn typed_built_in_rules_train_like_the_compiled_ones() {
    let mut count = 0;
    for &kind in RuleKind::ALL {
        let built_in = RuleSpec::in_training(kind);
        let Ok(text) = text_of(&built_in) else { continue };
        let rule = typed(&format!("{} in training", built_in.name()), &text);
        // Its text has the rule's values in training as defaults, but without the weight decay.
        let rule = match built_in.get("weight_decay") {
            Some(decay) => rule.with("weight_decay", decay).unwrap(),
            None => rule,
        };
        let expected = trained(built_in, Kind::Double, false);
        for in_tensors in [false, true] {
            let apart = distance(&trained(rule, Kind::Double, in_tensors), &expected);
            assert!(apart <= 1e-12, "{text}: {apart} with tensor operations {in_tensors}");
        }
        count += 1;
    }
    assert!(count >= 6, "only {count} rules were compared");
}

#[test]
fn every_operation_agrees_in_loops_and_in_tensors() {
    let lines = [
        "u = exp(g) + ln(abs(g) + 1) + tanh(3*g) + sqrt(abs(g)) + sign(g)",
        "u = min(g, 0.2) + max(g, theta) + clamp(3*g, -1, 1) + where(g < theta, 0.1, g) + where(g >= 0, 1, 2)",
        "u = abs(g)^1.5 + g^3 + 2^g + abs(theta)^g + (g <= theta) - (g != theta) + (g == g)",
        "u = 1/(1 + g^2) + theta/t + (1 - 0.9^t)*g + where(t > 2, g, 0.5)",
    ];
    for (index, line) in lines.into_iter().enumerate() {
        let rule = typed(&format!("line {index}"), &format!("{line}\ntheta = theta - eta*u"));
        let [loops, tensors] = [false, true].map(|in_tensors| trained(rule, Kind::Double, in_tensors));
        let apart = distance(&tensors, &loops);
        assert!(apart <= 1e-12, "{line}: {apart}");
        let apart = distance(&trained(rule, Kind::Float, false), &loops);
        assert!(apart <= 1e-2, "{line} in single precision: {apart}");
    }
}

/// Sums, means and norms are computed over each tensor of each model.
#[test]
fn functions_of_the_whole_parameter_apply_to_each_tensor() {
    let rule = typed(
        "whole",
        "theta = theta - eta*(g/norm(g) + mean(g) + 0.01*sum(g) + 0.01*dot(g, theta) + mean(where(t < 3, 0, g)))",
    );
    let found = trained(rule, Kind::Double, false);
    // The same rule, element by element.
    let layout = layout();
    let number = |seed: u64, at: usize| 2.0 * uniform(seed << 32 | at as u64) - 1.0;
    let mut expected = Vec::new();
    for index in 0..layout.segments().len() {
        for (model, rate) in RATES.iter().enumerate() {
            let range = layout.range(index, model);
            let mut theta: Vec<f64> = range.clone().map(|at| number(0, at)).collect();
            for step in 1..=STEPS {
                let g: Vec<f64> = range.clone().map(|at| number(step, at)).collect();
                let sum: f64 = g.iter().sum();
                let norm = g.iter().map(|g| g * g).sum::<f64>().sqrt();
                let dot: f64 = g.iter().zip(&theta).map(|(g, theta)| g * theta).sum();
                for (theta, g) in theta.iter_mut().zip(&g) {
                    let mean = sum / range.len() as f64;
                    let later = if step < 3 { 0.0 } else { mean };
                    *theta -= rate * (g / norm + mean + 0.01 * sum + 0.01 * dot + later);
                }
            }
            expected.extend(theta);
        }
    }
    let apart = distance(&found, &expected);
    assert!(apart <= 1e-12, "{apart}");
}

/// Assignments between states, and from a state to θ, use the values before the step.
#[test]
fn states_may_exchange_their_values() {
    let rule = typed(
        "places",
        "state last, m, a, b\nold = last\nb = a\na = m\nm = 0.5*m + g\nlast = theta - eta*(b + g)\ntheta = old",
    );
    let layout = layout();
    let number = |seed: u64, at: usize| 2.0 * uniform(seed << 32 | at as u64) - 1.0;
    let mut expected = Vec::new();
    for index in 0..layout.segments().len() {
        for (model, rate) in RATES.iter().enumerate() {
            for at in layout.range(index, model) {
                let (mut theta, mut last, mut m, mut a) = (number(0, at), 0.0, 0.0, 0.0);
                for step in 1..=STEPS {
                    let (b, g) = (a, number(step, at));
                    a = m;
                    m = 0.5 * m + g;
                    (theta, last) = (last, theta - rate * (b + g));
                }
                expected.push(theta);
            }
        }
    }
    for in_tensors in [false, true] {
        let apart = distance(&trained(rule, Kind::Double, in_tensors), &expected);
        assert!(apart <= 1e-12, "{apart} with tensor operations {in_tensors}");
    }
}
