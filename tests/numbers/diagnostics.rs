//! The diagnostics against their definitions, computed plainly from the positions.

use valleyscope_engine::landscape::{LandscapeFormula, LandscapeKind, LandscapeSpec};
use valleyscope_engine::optimizer::{RatedRule, RuleKind};
use valleyscope_engine::simulation::{Sample, Setting, Simulation, SimulationSpec, Spread};

use crate::comparison::valley_of;
use crate::specs::{DecayTarget, adam, all_rules, focus, noise, sgd, signum, simulation, start, valley};

/// Returns mean, population deviation, smallest and largest, in two passes.
fn naive_spread(values: &[f64]) -> Spread {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
    let numbers = || values.iter().copied().filter(|value| !value.is_nan());
    Spread {
        mean,
        std: variance.sqrt(),
        min: numbers().reduce(f64::min).unwrap_or(f64::NAN),
        max: numbers().reduce(f64::max).unwrap_or(f64::NAN),
    }
}

/// Returns the sample covariance: of x, of y, and of both.
fn naive_covariance(positions: &[[f64; 2]]) -> [f64; 3] {
    let n = positions.len() as f64;
    let mean = [0, 1].map(|axis| positions.iter().map(|position| position[axis]).sum::<f64>() / n);
    let covariance = |a: usize, b: usize| {
        positions.iter().map(|position| (position[a] - mean[a]) * (position[b] - mean[b])).sum::<f64>() / (n - 1.0)
    };
    [covariance(0, 0), covariance(1, 1), covariance(0, 1)]
}

fn same_or_both_nan(a: f64, b: f64) -> bool {
    a == b || a.is_nan() && b.is_nan()
}

/// `moved` is how far the mean has moved since the step before: the library sums distances from there.
#[track_caller]
fn assert_spread(name: &str, found: &Spread, expected: &Spread, moved: f64) {
    assert!(same_or_both_nan(found.min, expected.min), "{name}: {found:?} against {expected:?}");
    assert!(same_or_both_nan(found.max, expected.max), "{name}: {found:?} against {expected:?}");
    if expected.mean.is_finite() && expected.std.is_finite() {
        let scale = found.min.abs().max(found.max.abs());
        let off = (found.mean - expected.mean).abs();
        assert!(off <= 1e-14 * scale + f64::EPSILON * moved.abs(), "{name}: {found:?} against {expected:?}");
        let variance = expected.std * expected.std;
        let off = (found.std * found.std - variance).abs();
        let allowed = 1e-13 * (variance + moved * moved) + (1e-15 * scale).powi(2);
        assert!(off <= allowed, "{name}: {found:?} against {expected:?}, moved by {moved}");
    } else {
        assert!(same_or_both_nan(found.mean, expected.mean), "{name}: {found:?} against {expected:?}");
        assert!(!found.std.is_finite(), "{name}: {found:?} against {expected:?}");
    }
}

/// Returns the weight decay of θ that is part of a step.
fn decay_of_theta(rule: &RatedRule) -> f64 {
    let decays_average = rule.rule.choice("decay").is_some_and(|choice| choice.key == "Average");
    assert!(!decays_average || rule.rule.weight_decay() == 0.0, "only θ's decay is known here");
    rule.rule.weight_decay()
}

/// Checks the diagnostics of all ensembles at every step.
#[track_caller]
fn assert_diagnostics(spec: SimulationSpec, steps: u64) {
    let mut simulation = Simulation::new(spec);
    let mut before: Vec<(Vec<[f64; 2]>, Sample)> = Vec::new();
    for _ in 0..=steps {
        let valley = valley_of(&simulation.spec().landscape);
        for (index, ensemble) in simulation.ensembles().iter().enumerate() {
            let sample = ensemble.sample();
            let positions: Vec<_> = ensemble.positions().collect();
            let before = before.get(index);
            let check = |name: &str, of: fn(&Sample) -> Spread, values: &[f64]| {
                let moved = before.map_or(0.0, |(_, before)| of(sample).mean - of(before).mean);
                let moved = if moved.is_nan() { of(sample).mean } else { moved };
                let name = format!("{} at step {}: {name}", ensemble.rule().name(), simulation.step());
                assert_spread(&name, &of(sample), &naive_spread(values), moved);
            };
            // The library's own values are used, so that the smallest and largest are the same numbers.
            let landscape = simulation.spec().landscape.landscape();
            let at: Vec<_> = positions.iter().map(|&position| landscape.uv_from_xy(position)).collect();
            check("loss", |sample| sample.loss, &positions.iter().map(|&at| landscape.loss(at)).collect::<Vec<_>>());
            check("u", |sample| sample.u, &at.iter().map(|at| at.u).collect::<Vec<_>>());
            check("|v|", |sample| sample.abs_v, &at.iter().map(|at| at.v.abs()).collect::<Vec<_>>());
            // These values agree with the oracle's.
            for (&position, at) in positions.iter().zip(&at).filter(|(_, at)| at.u.abs() < 1e9 && at.v.abs() < 1e9) {
                let [u, v] = valley.uv(position);
                let r = position[0].hypot(position[1]);
                assert!((u - at.u).abs() + (v - at.v).abs() <= 1e-15 * r);
            }
            if let Some((positions_before, _)) = before {
                assert_effective_step(sample, ensemble.rule(), positions_before, &positions);
            } else {
                assert!(sample.effective_step.mean.is_nan(), "no step was taken yet");
            }
            let is_finite = |&[x, y]: &[f64; 2]| x.is_finite() && y.is_finite() && landscape.loss([x, y]).is_finite();
            let diverged = positions.iter().filter(|&position| !is_finite(position)).count();
            assert_eq!(sample.diverged as usize, diverged);
            assert_entropy(sample.entropy, &positions, before.map(|(positions, _)| positions.as_slice()));
        }
        before = simulation
            .ensembles()
            .iter()
            .map(|ensemble| (ensemble.positions().collect(), *ensemble.sample()))
            .collect();
        simulation.advance();
    }
}

/// Checks the effective step: |Δθ without decay| / η, the mean over x and y. Seen from the positions it is as inexact
/// as they are, over η.
fn assert_effective_step(sample: &Sample, rule: &RatedRule, before: &[[f64; 2]], after: &[[f64; 2]]) {
    if rule.rule.gradient_toward().is_some() {
        // The effective step is that of other parameters, of which the positions are an average.
        return;
    }
    let (eta, omega) = (rule.learning_rate.get(), decay_of_theta(rule));
    let step = |before: f64, after: f64| match rule.rule.kind() {
        // SOAP's first step does not move, and its decay follows the others.
        RuleKind::Soap if before == after => 0.0,
        RuleKind::Soap => (before - after / (1.0 - eta * omega)) / eta,
        _ => (before - after) / eta - omega * before,
    };
    let steps: Vec<f64> = before
        .iter()
        .zip(after)
        .map(|(before, after)| {
            let [x, y] = [0, 1].map(|axis| step(before[axis], after[axis]).abs());
            0.5 * (x + y)
        })
        .collect();
    let expected = naive_spread(&steps);
    if !expected.std.is_finite() || !sample.effective_step.std.is_finite() {
        return;
    }
    let reach = before.iter().chain(after).flatten().fold(0.0, |reach: f64, x| reach.max(x.abs()));
    let tolerance = 4.0 * f64::EPSILON * reach * (1.0 / eta + 1.0) + 1e-12 * expected.max;
    let found = &sample.effective_step;
    for (found, expected) in [(found.mean, expected.mean), (found.min, expected.min), (found.max, expected.max)] {
        assert!((found - expected).abs() <= tolerance, "effective step {found} against {expected} ± {tolerance}");
    }
    // A deviation of 0 is accurate only to the root of the rounding.
    assert!((found.std - expected.std).abs() <= tolerance + 3e-8 * expected.max, "{found:?} against {expected:?}");
}

fn assert_entropy(found: f64, positions: &[[f64; 2]], before: Option<&[[f64; 2]]>) {
    if positions.len() < 3 {
        assert!(found.is_nan(), "{} particles have no entropy", positions.len());
        return;
    }
    let [xx, yy, xy] = naive_covariance(positions);
    let determinant = xx * yy - xy * xy;
    if !determinant.is_finite() {
        assert!(found.is_nan(), "{found} from a covariance that is not finite");
        return;
    }
    // The rounding error of the covariance grows with the movement of the mean in the step.
    let n = positions.len() as f64;
    let mean = |positions: &[[f64; 2]], axis: usize| positions.iter().map(|position| position[axis]).sum::<f64>() / n;
    let lost = |axis: usize, variance: f64| {
        let moved = before.map_or(mean(positions, axis), |before| mean(positions, axis) - mean(before, axis));
        1e-14 * (1.0 + moved * moved / variance)
    };
    let relative = (lost(0, xx) + lost(1, yy)) * xx * yy / determinant;
    if determinant > 1e-12 * xx * yy && relative < 1e-3 {
        let two_pi_e = 2.0 * std::f64::consts::PI * std::f64::consts::E;
        let expected = 0.5 * (two_pi_e.powi(2) * determinant).ln();
        assert!((found - expected).abs() <= 2.0 * relative + 1e-13, "entropy {found} against {expected}");
    }
}

/// Returns the rules of [`all_rules`], with decays that can be seen from the positions.
fn rules(learning_rate: f64) -> Vec<RatedRule> {
    let mut rules = all_rules(learning_rate);
    rules[3] = focus(learning_rate, [0.9, 0.99], 0.2, 0.0, DecayTarget::Average);
    rules
}

#[test]
fn diagnostics_agree_with_the_positions() {
    for particles in [1, 2, 3, 7, 8, 9, 100] {
        assert_diagnostics(simulation(1.0, particles, &rules(0.01)), 300);
    }
}

#[test]
fn diagnostics_far_from_the_origin() {
    let spec = SimulationSpec { start: start(3.0, -2.0, 1e-3), ..simulation(0.5, 20, &rules(1e-3)) };
    assert_diagnostics(spec, 200);
}

/// SGD diverges within a few steps if sliders are at their ends, and the diagnostics show it.
#[test]
fn diagnostics_of_a_divergence() {
    let extreme = [
        sgd(1.0, 0.9, 0.1),
        adam(1.0, 0.9, 0.999, 0.1),
        signum(1.0, 0.9, 0.1),
        focus(1.0, [0.9, 0.9], 0.2, 0.1, DecayTarget::Parameters),
    ];
    let spec = SimulationSpec { landscape: valley(1000.0, 0.1, 30.0), ..simulation(3.0, 50, &extreme) };
    assert_diagnostics(spec.clone(), 200);
    let mut simulation = Simulation::new(spec);
    for _ in 0..200 {
        simulation.advance();
    }
    let [sgd, others @ ..] = simulation.ensembles() else { unreachable!() };
    assert_eq!(sgd.sample().diverged, 50);
    assert!(!sgd.sample().loss.mean.is_finite());
    assert!(sgd.sample().entropy.is_nan());
    for ensemble in others {
        assert_eq!(ensemble.sample().diverged, 0, "{} takes bounded steps", ensemble.rule().name());
        assert!(ensemble.sample().loss.mean.is_finite());
    }
}

/// A landscape may have no loss at a finite position.
#[test]
fn particles_without_a_loss_have_diverged() {
    let formula = LandscapeFormula::new("Half a plane", "L = ln(x) + y^2").unwrap();
    let landscape = LandscapeSpec::new(LandscapeKind::Formula(formula));
    let of = |x: f64| {
        let spec =
            SimulationSpec { landscape, start: start(x, 0.5, 0.0), ..simulation(0.0, 10, &[sgd(0.1, 0.0, 0.0)]) };
        Simulation::new(spec).ensembles()[0].sample().diverged
    };
    assert_eq!([of(-1.0), of(1.0)], [10, 0]);
}

/// Identical particles have a covariance of 0, and rounding must not count as a spread.
#[test]
fn a_single_point_has_no_entropy() {
    for count in [3, 5, 8, 10, 100] {
        for point in [[0.3, -0.7], [0.0, 0.0], [1.0 / 3.0, 2.0 / 3.0]] {
            let spec = SimulationSpec { start: start(point[0], point[1], 0.0), ..simulation(0.0, count, &rules(0.03)) };
            let mut simulation = Simulation::new(spec);
            for step in 0..200 {
                for ensemble in simulation.ensembles() {
                    let (entropy, name) = (ensemble.sample().entropy, ensemble.rule().name());
                    assert!(entropy.is_nan(), "{entropy} for {count} times {name} at one point, step {step}");
                }
                simulation.advance();
            }
        }
    }
}

/// The entropy of Normal(0, s) in the plane is ln(2πe s²).
#[test]
fn the_entropy_of_a_normal_cloud() {
    let spread = 0.01;
    let spec = SimulationSpec { start: start(1.0, 2.0, spread), ..simulation(1.0, 10_000, &rules(0.01)) };
    let sample = *Simulation::new(spec).ensembles()[0].sample();
    let expected = (2.0 * std::f64::consts::PI * std::f64::consts::E * spread * spread).ln();
    // ln det of a sample covariance of n points has a deviation of √(4/n) for two dimensions; S is half.
    assert!((sample.entropy - expected).abs() < 4.0 * 0.01, "{} against {expected}", sample.entropy);
    let temperature = 0.25;
    assert_eq!(sample.free_energy(temperature), sample.loss.mean - temperature * sample.entropy);
}

/// The loss is the exact one of the landscape in force, not that of the noise.
#[test]
fn a_change_of_the_landscape_affects_diagnostics_after_the_next_step() {
    let mut simulation = Simulation::new(simulation(1.0, 10, &rules(0.01)));
    for _ in 0..50 {
        simulation.advance();
    }
    simulation.apply(&Setting::Landscape(valley(500.0, 0.3, 80.0))).unwrap();
    simulation.apply(&Setting::Noise(noise(3.0))).unwrap();
    simulation.advance();
    let valley = valley_of(&simulation.spec().landscape);
    for ensemble in simulation.ensembles() {
        let losses: Vec<_> = ensemble.positions().map(|position| valley.loss(position)).collect();
        let expected = naive_spread(&losses).mean;
        assert!((ensemble.sample().loss.mean - expected).abs() <= 1e-12 * expected.abs().max(1e-3));
    }
}
