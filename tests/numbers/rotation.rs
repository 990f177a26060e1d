//! Dependence of rules on the direction of the valley.

use valleyscope_engine::optimizer::{RatedRule, RuleKind, RuleSpec};
use valleyscope_engine::quantity::LearningRate;
use valleyscope_engine::simulation::Simulation;

use crate::specs::{simulation, start, valley};

/// Returns the losses of a particle that starts at u = 0.5 and v = 0.3 of a valley turned by so many degrees, without
/// noise.
fn losses(rule: RatedRule, degrees: f64, steps: usize) -> Vec<f64> {
    let mut spec = simulation(0.0, 1, &[rule]);
    spec.landscape = valley(10.0, 0.1, degrees);
    let (sin, cos) = degrees.to_radians().sin_cos();
    spec.start = start(0.5 * cos - 0.3 * sin, 0.5 * sin + 0.3 * cos, 0.0);
    let mut simulation = Simulation::new(spec);
    let loss = |simulation: &Simulation| simulation.ensembles()[0].sample().loss.mean;
    let mut losses = vec![loss(&simulation)];
    for _ in 0..steps {
        simulation.advance();
        losses.push(loss(&simulation));
    }
    assert!(losses.iter().all(|loss| loss.is_finite()), "{rule:?} at {degrees}°: {losses:?}");
    losses
}

/// Returns the largest relative distance between the losses in the turned valley and in that along x.
fn turned(rule: RatedRule, degrees: f64, steps: usize) -> f64 {
    let apart = |(a, b): (f64, f64)| (a - b).abs() / a.abs().max(1e-3);
    losses(rule, 0.0, steps).into_iter().zip(losses(rule, degrees, steps)).map(apart).fold(0.0, f64::max)
}

#[test]
fn rules_of_the_whole_parameter_do_not_depend_on_the_valleys_direction() {
    let plain = |kind| RuleSpec::on_plane(kind);
    let blind = [
        (0.01, plain(RuleKind::Sgd).with("beta1", 0.0).unwrap()),
        (0.01, plain(RuleKind::Sgd)),
        (0.01, plain(RuleKind::Sgd).with("form", 1.0).unwrap()),
        (0.02, plain(RuleKind::Muon)),
        (0.02, plain(RuleKind::AdamMini)),
        (0.02, plain(RuleKind::Shampoo).with("grafting", 1.0).unwrap()),
        (0.02, plain(RuleKind::Shampoo).with("grafting", 1.0).unwrap().with("statistics", 1.0).unwrap()),
        (0.02, plain(RuleKind::Soap)),
    ];
    for (rate, rule) in blind {
        let rated = rule.rated(LearningRate::clamped(rate));
        for degrees in [17.0, 30.0, 45.0, 118.0] {
            let apart = turned(rated, degrees, 300);
            // SOAP's second gradient equals the first: its component across the axis is rounding, divided by ε.
            let most = if rule.kind() == RuleKind::Soap { 1e-8 } else { 1e-9 };
            assert!(apart < most, "{rule:?} at {degrees}°: {apart}");
        }
    }
}

#[test]
fn all_other_rules_depend_on_the_valleys_direction() {
    let blind = [RuleKind::Sgd, RuleKind::Muon, RuleKind::AdamMini, RuleKind::Soap];
    for &kind in RuleKind::ALL.iter().filter(|kind| !blind.contains(kind)) {
        let rated = RuleSpec::on_plane(kind).rated(LearningRate::clamped(0.02));
        let apart = turned(rated, 30.0, 300);
        assert!(apart > 1e-3, "{}: {apart}", kind.info().name);
        // A quarter turn exchanges the coordinates, up to their signs. Later on chaos amplifies rounding.
        let apart = turned(rated, 90.0, 50);
        assert!(apart < 1e-6, "{} at 90°: {apart}", kind.info().name);
    }
}
