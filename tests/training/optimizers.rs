//! Each optimizer against the formulas as they stand in the books, and AdamW against libtorch's own.

use tch::nn::{self, OptimizerConfig};
use tch::{Device, Kind, Tensor};
use valleyscope::optimizer::{RuleKind, RuleSpec};
use valleyscope::train::{FlatOptimizer, ParameterLayout};

use crate::golden::{GOLDENS, Golden, TOLERANCE, deviation};
use crate::laws::law;
use crate::oracle::{Coordinate, step_parameter};
use crate::small::uniform;

const MODELS: usize = 3;
const RATES: [f64; MODELS] = [1e-3, 0.02, 0.3];

fn layout() -> ParameterLayout {
    let tensors = [("weight", vec![7, 5], true), ("bias", vec![7], false), ("last", vec![130], true)];
    ParameterLayout::new(tensors.map(|(name, shape, decays)| (name.to_owned(), shape, decays)), MODELS)
}

/// Every registered rule with decay that matters, FOCUS with both targets of it.
fn rules() -> Vec<RuleSpec> {
    let with = |rule: RuleSpec, values: &[(&str, f64)]| {
        values.iter().fold(rule, |rule, (key, value)| rule.with(key, *value).unwrap())
    };
    let registered = RuleKind::ALL.iter().map(|&kind| {
        let rule = with(RuleSpec::in_training(kind), &[("beta1", 0.8), ("weight_decay", 0.3)]);
        let others = [("beta2", 0.97), ("gamma", 0.4)].into_iter().filter(|(key, _)| rule.get(key).is_some());
        with(rule, &others.collect::<Vec<_>>())
    });
    let focus = RuleSpec::in_training(RuleKind::Focus);
    let repelled =
        with(focus, &[("beta2", 0.97), ("beta1", 0.8), ("gamma", -0.3), ("weight_decay", 0.3), ("decay", 0.0)]);
    registered.chain([repelled]).collect()
}

/// Whether a number of the flat tensor is an element of a parameter, and in none of the gaps.
fn elements(layout: &ParameterLayout) -> Vec<bool> {
    let mut elements = vec![false; layout.length()];
    for index in 0..layout.segments().len() {
        for model in 0..MODELS {
            elements[layout.range(index, model)].fill(true);
        }
    }
    elements
}

/// Gradients of all sizes, and exact zeros.
fn gradient(step: u64, at: usize) -> f64 {
    let [u, v] = [0, 1].map(|draw| uniform(step * 100_000 + 2 * at as u64 + draw));
    if at % 11 == 3 { 0.0 } else { (2.0 * u - 1.0) * 10_f64.powf(6.0 * v - 4.0) }
}

fn start(layout: &ParameterLayout) -> Vec<f64> {
    let elements = elements(layout);
    (0..layout.length()).map(|at| if elements[at] { 2.0 * uniform(at as u64) - 1.0 } else { 0.0 }).collect()
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    Vec::try_from(tensor.to_kind(Kind::Double)).unwrap()
}

#[test]
fn every_rule_follows_its_formulas_step_by_step() {
    let layout = layout();
    let elements = elements(&layout);
    for rule in rules() {
        for tensors in [false, true] {
            let mut optimizer = FlatOptimizer::new(rule, &RATES, &layout, Kind::Double, Device::Cpu).unwrap();
            if tensors {
                optimizer = optimizer.with_tensor_operations(&layout).unwrap();
            }
            let mut theta = Tensor::from_slice(&start(&layout));
            let mut oracle: Vec<Coordinate> = start(&layout).into_iter().map(Coordinate::starting_at).collect();
            for t in 1..=100 {
                let gradients: Vec<f64> =
                    (0..layout.length()).map(|at| if elements[at] { gradient(t, at) } else { 0.0 }).collect();
                optimizer.step(&layout, &mut theta, &Tensor::from_slice(&gradients)).unwrap();
                let found = numbers(&theta);
                for (index, segment) in layout.segments().iter().enumerate() {
                    let rule = if segment.decays { rule } else { rule.with("weight_decay", 0.0).unwrap() };
                    for (model, rate) in RATES.into_iter().enumerate() {
                        let range = layout.range(index, model);
                        step_parameter(&mut oracle[range.clone()], law(&rule, rate), &gradients[range], None);
                    }
                }
                for (at, oracle) in oracle.iter().enumerate() {
                    if !elements[at] {
                        assert_eq!(found[at], 0.0, "the gaps of the layout stay zero");
                        continue;
                    }
                    let off = (found[at] - oracle.theta).abs() / oracle.theta.abs().max(1.0);
                    assert!(off < 1e-11, "{rule:?}, tensors {tensors}, step {t}, number {at}: {off:e}");
                }
            }
        }
    }
}

#[test]
fn adam_is_libtorchs_adamw() {
    let (beta1, beta2) = (0.9, 0.999);
    let rule = RuleSpec::in_training(RuleKind::Adam).with("weight_decay", 0.1).unwrap();
    let layout = ParameterLayout::new([("weight".to_owned(), vec![200], true)], 1);
    let mut flat = FlatOptimizer::new(rule, &[0.01], &layout, Kind::Double, Device::Cpu).unwrap();
    let mut theta = Tensor::from_slice(&(0..layout.length()).map(|at| uniform(at as u64)).collect::<Vec<_>>());
    let mut store = nn::VarStore::new(Device::Cpu);
    let variable = store.root().var_copy("weight", &theta);
    store.double();
    tch::no_grad(|| variable.shallow_clone().copy_(&theta));
    let mut theirs = nn::AdamW { beta1, beta2, wd: 0.1, eps: 1e-8, amsgrad: false }.build(&store, 0.01).unwrap();
    for t in 1..=100 {
        let gradients = Tensor::from_slice(&(0..layout.length()).map(|at| gradient(t, at)).collect::<Vec<_>>());
        theirs.backward_step(&(&variable * &gradients).sum(Kind::Double));
        flat.step(&layout, &mut theta, &gradients).unwrap();
        let off = (&theta - &variable).narrow(0, 0, 200).abs().max().double_value(&[]);
        assert!(off < 1e-12, "step {t}: {off:e}");
    }
}

#[test]
fn single_precision_follows_double() {
    let layout = layout();
    for rule in rules() {
        let runs = [Kind::Double, Kind::Float].map(|kind| {
            let mut optimizer = FlatOptimizer::new(rule, &RATES, &layout, kind, Device::Cpu).unwrap();
            let mut theta = Tensor::from_slice(&start(&layout)).to_kind(kind);
            for t in 1..=20 {
                let gradients: Vec<f64> = (0..layout.length()).map(|at| gradient(t, at)).collect();
                optimizer.step(&layout, &mut theta, &Tensor::from_slice(&gradients).to_kind(kind)).unwrap();
            }
            numbers(&theta)
        });
        let off = runs[0].iter().zip(&runs[1]).map(|(a, b)| (a - b).abs() / a.abs().max(1.0)).fold(0.0, f64::max);
        assert!(off < 1e-4, "{rule:?}: {off:e}");
    }
}

#[test]
fn what_is_no_number_stays_none() {
    let layout = ParameterLayout::new([("weight".to_owned(), vec![3], true)], 1);
    for rule in rules() {
        for tensors in [false, true] {
            let mut optimizer = FlatOptimizer::new(rule, &[0.1], &layout, Kind::Float, Device::Cpu).unwrap();
            if tensors {
                optimizer = optimizer.with_tensor_operations(&layout).unwrap();
            }
            let mut theta = Tensor::zeros([layout.length() as i64], (Kind::Float, Device::Cpu));
            let gradients = theta.copy();
            let _ = gradients.get(1).fill_(f64::NAN);
            optimizer.step(&layout, &mut theta, &gradients).unwrap();
            let theta = numbers(&theta);
            assert!(theta[0].is_finite() && theta[1].is_nan() && theta[2].is_finite(), "{rule:?}: {:?}", &theta[..3]);
        }
    }
}

/// Loops and tensor operations against the reference implementations, for a matrix and for two parameters.
#[test]
fn every_rule_is_its_reference_implementation() {
    for &(kind, name) in GOLDENS {
        let golden = Golden::read(name);
        let rule = golden.rule(kind);
        for (tensor, shape) in [("W", vec![6, 4]), ("p2", vec![2])] {
            for tensors in [false, true] {
                let layout = ParameterLayout::new([(tensor.to_owned(), shape.clone(), true)], 1);
                let rates = [rule.learning_rate.get()];
                let mut optimizer = FlatOptimizer::new(rule.rule, &rates, &layout, Kind::Double, Device::Cpu).unwrap();
                if tensors {
                    optimizer = optimizer.with_tensor_operations(&layout).unwrap();
                }
                let parameters = golden.parameters(tensor);
                let flat = |values: &[f64]| {
                    let mut flat = values.to_vec();
                    flat.resize(layout.length(), 0.0);
                    Tensor::from_slice(&flat)
                };
                let mut theta = flat(parameters[0]);
                for (step, (gradients, expected)) in
                    golden.gradients(tensor).into_iter().zip(&parameters[1..]).enumerate()
                {
                    optimizer.step(&layout, &mut theta, &flat(gradients)).unwrap();
                    let off = deviation(&numbers(&theta)[..expected.len()], expected);
                    assert!(off < TOLERANCE, "{name}, {tensor}, tensors {tensors}, step {}: {off:e}", step + 1);
                }
            }
        }
    }
}
