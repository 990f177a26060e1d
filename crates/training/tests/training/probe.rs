//! The metrics of an optimizer's steps, against computations by hand.

use tch::{Device, Kind, Tensor};
use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_runs::MetricId;
use valleyscope_training::probe::Probe;
use valleyscope_training::{FlatOptimizer, ParameterLayout, QueryResults};

use crate::small_mnist::uniform;

fn layout() -> ParameterLayout {
    let tensors = [("layers.0.weight", vec![7, 5]), ("layers.0.bias", vec![7]), ("head.weight", vec![130])];
    ParameterLayout::new(tensors.map(|(name, shape)| (name.to_owned(), shape, true)), 1)
}

/// Numbers from −1 to 1 in all segments, and zeros in the gaps.
fn flat(layout: &ParameterLayout, stream: u64) -> Tensor {
    let mut values = vec![0.0; layout.length()];
    for index in 0..layout.segments().len() {
        for place in layout.range(index, 0) {
            values[place] = 2.0 * uniform(1000 * stream + place as u64) - 1.0;
        }
    }
    Tensor::from_slice(&values)
}

fn values(tensor: &Tensor) -> Vec<f64> {
    Vec::try_from(tensor).unwrap()
}

fn optimizer(name: &str) -> FlatOptimizer {
    let rule = RuleSpec::in_training(RuleKind::named(name).unwrap());
    FlatOptimizer::new(rule, &[0.1], &layout(), Kind::Double, Device::Cpu).unwrap()
}

#[test]
fn measures_steps_of_focus() {
    let (layout, mut optimizer) = (layout(), optimizer("FOCUS"));
    let mut theta = flat(&layout, 1);
    let mut probe = Probe::new(&layout, &theta).unwrap();
    assert_eq!(probe.end(&theta, &optimizer).unwrap().iter().count(), 0);
    for step in 2..6 {
        let before = values(&theta);
        probe.begin(&theta).unwrap();
        optimizer.step(&layout, &mut theta, &flat(&layout, step), &QueryResults::default()).unwrap();
        let metrics = probe.end(&theta, &optimizer).unwrap();
        let after = values(&theta);
        let memory: Vec<Vec<f64>> = optimizer.states().map(|(_, tensor)| values(tensor)).collect();
        let places = |segments: &[usize]| -> Vec<usize> {
            segments.iter().flat_map(|&segment| layout.range(segment, 0)).collect()
        };
        for (name, places) in [("layers.0", places(&[0, 1])), ("head", places(&[2]))] {
            let norm = |of: &dyn Fn(usize) -> f64| places.iter().map(|&at| of(at).powi(2)).sum::<f64>().sqrt();
            let expected = norm(&|at| after[at] - before[at]) / norm(&|at| before[at]);
            let found = metrics.get(MetricId::named(&format!("update_ratio.{name}")).unwrap()).unwrap();
            assert!((found / expected - 1.0).abs() < 1e-12, "{name}: {found} {expected}");
        }
        let all = places(&[0, 1, 2]);
        let opposed = all.iter().filter(|&&at| (before[at] - memory[1][at]).signum() * memory[0][at].signum() < 0.0);
        // The average is the parameter itself at first, so its pull is zero.
        let opposed = if step == 2 { 0 } else { opposed.count() };
        assert_eq!(metrics.get(MetricId::of("pull_opposes")), Some(opposed as f64 / all.len() as f64));
    }
}

#[test]
fn measures_steps_of_adam() {
    let (layout, mut optimizer) = (layout(), optimizer("Adam"));
    let (mut theta, gradient) = (flat(&layout, 1), flat(&layout, 2));
    let mut probe = Probe::new(&layout, &theta).unwrap();
    // One gradient, and then its opposite: m̂ = −g (1 − β₁) / (1 + β₁), ŝ = g².
    for (factor, expected) in [(1.0, 1.0), (-1.0, 0.1 / 1.9)] {
        probe.begin(&theta).unwrap();
        optimizer.step(&layout, &mut theta, &(&gradient * factor), &QueryResults::default()).unwrap();
        let metrics = probe.end(&theta, &optimizer).unwrap();
        for metric in ["signal_q10", "signal_q50", "signal_q90"].map(MetricId::of) {
            let found = metrics.get(metric).unwrap();
            assert!((found - expected).abs() < 1e-9, "{metric}: {found} {expected}");
        }
    }
}

/// Statistics of axes have other shapes than the parameters, and nothing is sampled of them.
#[test]
fn measures_steps_of_rules_with_statistics_of_axes() {
    for name in ["SOAP", "Shampoo"] {
        let (layout, mut optimizer) = (layout(), optimizer(name));
        let mut theta = flat(&layout, 1);
        let mut probe = Probe::new(&layout, &theta).unwrap();
        for step in 2..5 {
            let before = values(&theta);
            probe.begin(&theta).unwrap();
            optimizer.step(&layout, &mut theta, &flat(&layout, step), &QueryResults::default()).unwrap();
            let metrics = probe.end(&theta, &optimizer).unwrap();
            let after = values(&theta);
            let norm = |of: &dyn Fn(usize) -> f64| layout.range(2, 0).map(|at| of(at).powi(2)).sum::<f64>().sqrt();
            let expected = norm(&|at| after[at] - before[at]) / norm(&|at| before[at]);
            let found = metrics.get(MetricId::named("update_ratio.head").unwrap()).unwrap();
            assert!((found - expected).abs() <= 1e-12 * expected, "{name}, step {step}: {found} {expected}");
        }
    }
}

#[test]
fn each_rule_lists_its_measured_metrics() {
    let layout = layout();
    let probe = Probe::new(&layout, &flat(&layout, 1)).unwrap();
    let names =
        |name: &str| -> Vec<String> { probe.metrics(&optimizer(name)).into_iter().map(|info| info.name).collect() };
    let layers = ["update_ratio.layers.0", "update_ratio.head"];
    assert_eq!(names("Signum"), layers);
    assert_eq!(names("FOCUS"), ["pull_opposes", layers[0], layers[1]]);
    assert_eq!(names("Adam"), ["signal_q10", "signal_q50", "signal_q90", layers[0], layers[1]]);
}
