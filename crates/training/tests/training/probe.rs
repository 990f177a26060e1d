//! The metrics of an optimizer's steps, against computations by hand, and jumps of made-up training losses.

use tch::{Device, Kind, Tensor};
use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_runs::MetricId;
use valleyscope_training::probe::Probe;
use valleyscope_training::{FlatOptimizer, LossSpikes, ParameterLayout, QueryResults};

use crate::stage::uniform;

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

const NONE: [usize; 0] = [];

/// Returns the indices of the points at which a jump is reported.
fn reported(losses: impl IntoIterator<Item = f64>) -> Vec<usize> {
    let mut spikes = LossSpikes::default();
    losses.into_iter().enumerate().filter_map(|(index, loss)| spikes.next(loss).map(|_| index)).collect()
}

/// Returns a number from 0 to 1 that looks random: a step of a low-discrepancy sequence.
fn scatter(index: usize) -> f64 {
    (index as f64 * 0.618_033_988_749_895).fract()
}

/// Returns a loss that falls from 3 and levels out at 2, with a scatter of some per cent.
fn falling(index: usize) -> f64 {
    2.0 + (-(index as f64) / 20.0).exp() + 0.1 * scatter(index)
}

#[test]
fn reports_a_lasting_jump_once_with_its_size() {
    let jumps = |index: usize| if index < 100 { falling(index) } else { 4.5 + scatter(index) };
    assert_eq!(reported((0..200).map(jumps)), [101], "as soon as two of three points are high");
    let mut spikes = LossSpikes::default();
    let said = (0..200).find_map(|index| spikes.next(if index < 100 { 2.0 } else { 5.0 }));
    let expected = "the training loss has jumped to 5.00; the median of the 50 points before was 2.00";
    assert_eq!(said.as_deref(), Some(expected));
}

#[test]
fn reports_a_second_jump() {
    let losses = (0..300).map(|index| match index {
        100..110 => 6.0,
        200..210 => 7.0,
        _ => falling(index),
    });
    assert_eq!(reported(losses), [101, 201]);
}

#[test]
fn reports_no_jump_in_usual_curves() {
    assert_eq!(reported((0..5000).map(falling)), NONE, "it falls and levels out");
    assert_eq!(reported((0..5000).map(|index| falling(5000 - index))), NONE, "it rises slowly");
    // Factors from 0.1 to 10 about a small loss.
    assert_eq!(
        reported((0..5000).map(|index| 0.01 * 10_f64.powf(2.0 * scatter(index) - 1.0))),
        NONE,
        "small losses scatter"
    );
    let outlier = |index: usize| if index.is_multiple_of(40) { 9.0 } else { falling(index) };
    assert_eq!(reported((0..400).map(outlier)), NONE, "single points stand out");
    assert_eq!(reported((0..400).map(|index| if index < 200 { 2.0 } else { 2.05 })), NONE, "a plateau is 2.5 % higher");
    assert_eq!(reported([2.0; 5].into_iter().chain([9.0; 10])), NONE, "too few earlier points");
}

#[test]
fn skips_losses_that_are_not_positive_or_finite() {
    let gaps = |index: usize| match index % 3 {
        0 => f64::NAN,
        1 => f64::INFINITY,
        _ => falling(index),
    };
    assert_eq!(reported((0..600).map(gaps)), NONE);
    assert_eq!(reported((0..100).map(|index| if index < 50 { 2.0 } else { f64::NAN })), NONE);
}
