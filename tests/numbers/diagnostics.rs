//! The diagnostics against their definitions, computed plainly from the positions, and recorded steps against the steps
//! that were taken.

use valleyscope_engine::expression::{Input, Node, Op};
use valleyscope_engine::landscape::{LandscapeFormula, LandscapeKind, LandscapeSpec};
use valleyscope_engine::optimizer::{ArrowRole, RatedRule, RatioCorrection, RuleKind};
use valleyscope_engine::random::Streams;
use valleyscope_engine::simulation::{
    ParticleId, Sample, Setting, Simulation, SimulationSpec, Spread, StepTrace, noise_key,
};

use crate::oracle::{Particle, sign};
use crate::references::law;
use crate::specs::{DecayTarget, adam, all_rules, focus, noise, sgd, signum, simulation, start, valley};
use crate::trajectories::{draws_of_step, valley_of};

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
            check("u", |sample| sample.u, &at.iter().map(|at| at[0]).collect::<Vec<_>>());
            check("|v|", |sample| sample.abs_v, &at.iter().map(|at| at[1].abs()).collect::<Vec<_>>());
            // These values agree with the oracle's.
            for (&position, at) in positions.iter().zip(&at).filter(|(_, at)| at[0].abs() < 1e9 && at[1].abs() < 1e9) {
                let [u, v] = valley.uv(position);
                let r = position[0].hypot(position[1]);
                assert!((u - at[0]).abs() + (v - at[1]).abs() <= 1e-15 * r);
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
    (0..200).for_each(|_| simulation.advance());
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
    (0..50).for_each(|_| simulation.advance());
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

#[track_caller]
fn assert_pair(name: &str, found: [f64; 2], expected: [f64; 2]) {
    for (found, expected) in found.into_iter().zip(expected) {
        // Far above the rounding of some hundred steps, far below what a wrong formula gives.
        let allowed = 1e-8 * expected.abs().max(1e-3);
        assert!((found - expected).abs() <= allowed, "{name}: {found} where {expected} is right");
    }
}

fn part(step: &StepTrace, symbol: &str) -> [f64; 2] {
    let found = step.trace.parts.iter().find(|(_, part)| part.symbol == symbol);
    let (id, _) = found.unwrap_or_else(|| panic!("no {symbol} in a step of {}", step.inputs.rule.name()));
    step.trace.values(*id)
}

/// Compares the states with the oracle's particle before and after the same step.
#[track_caller]
fn assert_states(step: &StepTrace, was: &Particle, is: &Particle) {
    let of = |particle: &Particle, name: &str| -> [f64; 2] { particle.0.remembered(name).try_into().unwrap() };
    let names: Vec<&str> = step.inputs.rule.info().state_keys().collect();
    assert!(!names.is_empty());
    for (index, name) in names.into_iter().enumerate() {
        assert_pair(&format!("{name} before"), step.inputs.states[index], of(was, name));
        assert_pair(name, step.trace.states[index], of(is, name));
        // A state that is an input has the symbol of that.
        let inputs = [Input::Gradient, Input::Theta, Input::State(index)].map(Node::Input);
        if !inputs.contains(&step.trace.graph.node(step.trace.new_states[index])) {
            let symbol = step.inputs.rule.info().states[index].symbol;
            assert_eq!(part(step, symbol), step.trace.states[index], "{symbol} is shown as it is remembered");
        }
    }
    let gathered = |key: &str| [is.0.gathered_so_far(key); 2];
    match step.inputs.rule.kind() {
        RuleKind::Adam => {
            let (ratio, _) = step.trace.parts.iter().find(|(_, part)| part.symbol == "d").unwrap();
            let Node::Of(Op::Ratio(_, _, RatioCorrection { m_weight, s_weight, .. })) = step.trace.graph.node(*ratio)
            else {
                panic!("Adam's direction is a ratio of averages")
            };
            assert_pair("1 − β₁ᵗ", step.trace.values(m_weight), gathered("beta1"));
            assert_pair("1 − β₂ᵗ", step.trace.values(s_weight), gathered("beta2"));
        }
        RuleKind::Focus => {
            let gamma = step.inputs.rule.get("gamma").unwrap();
            assert_pair("w", part(step, "w"), [is.0.newest_share(); 2]);
            let (_, pull) = step.trace.arrows.iter().find(|(arrow, _)| arrow.label == "pull").unwrap();
            let average = step.trace.states[1];
            assert_eq!(*pull, [0, 1].map(|axis| gamma * sign(step.inputs.theta[axis] - average[axis])));
        }
        _ => {}
    }
}

#[test]
fn the_parts_of_a_step_agree_with_the_oracle() {
    for (index, rule) in all_rules(0.01).into_iter().enumerate() {
        // This is the last particle, in a block that is not full.
        let id = ParticleId { optimizer: index as u32 + 1, particle: 10 };
        let mut simulation = Simulation::new(simulation(1.0, 11, &all_rules(0.01)));
        let seed = simulation.spec().seed;
        let mut noise_stream = Streams::<1>::new([noise_key(seed, id.optimizer, id.particle as u64)]);
        let mut particle = Particle::starting_at(simulation.ensembles()[index].position(id.particle));
        simulation.select(Some(id));
        assert!(simulation.step_trace().is_none(), "no step was taken yet");
        for number in 1..=300 {
            if number == 100 {
                simulation.apply(&Setting::Landscape(valley(20.0, 0.2, -50.0))).unwrap();
                simulation.apply(&Setting::Noise(noise(0.5))).unwrap();
            }
            let (valley, sigma) = (valley_of(&simulation.spec().landscape), simulation.spec().noise.sigma());
            let before = simulation.ensembles()[index].position(id.particle);
            let [draws, curvature_draws] = draws_of_step(&rule.rule, &mut noise_stream);
            simulation.advance();
            let was = particle.clone();
            let place = match rule.rule.gradient_toward() {
                Some(_) => was.0.gradient_point(rule.rule.get("beta1").unwrap()).try_into().unwrap(),
                None => before,
            };
            let law = law(&rule.rule, rule.learning_rate.get());
            let direction = particle.step(valley, &law, sigma, [draws, curvature_draws], None);

            let step = simulation.step_trace().expect("a step was taken");
            assert_eq!((step.id, step.step(), step.inputs.rule), (id, number, rule.rule));
            assert_eq!(step.inputs.learning_rate, rule.learning_rate.get());
            assert_eq!(step.inputs.theta, before);
            assert_eq!(step.after, simulation.ensembles()[index].position(id.particle));
            assert_pair("gradient", step.gradient, valley.gradient(place));
            assert_pair("noise", step.noise, draws.map(|draw| 1.0 + sigma * draw));
            assert_pair("noisy gradient", step.inputs.gradient, valley.noisy_gradient(place, sigma, draws, None));
            assert_pair("direction", step.trace.direction, direction);
            assert_states(&step, &was, &particle);
        }
    }
}

/// The direction and the weight decay are drawn, and nothing else moves a particle of Adam or Signum.
#[test]
fn the_drawn_arrows_add_up_to_the_step() {
    let rules = all_rules(0.01);
    for (index, rule) in rules.iter().enumerate() {
        if !matches!(rule.rule.kind(), RuleKind::Adam | RuleKind::Signum) {
            continue;
        }
        let mut simulation = Simulation::new(simulation(1.0, 11, &rules));
        simulation.select(Some(ParticleId { optimizer: index as u32 + 1, particle: 3 }));
        (0..300).for_each(|_| simulation.advance());
        let step = simulation.step_trace().unwrap();
        let drawn =
            |role| step.trace.arrows.iter().filter(move |(arrow, _)| arrow.role == role).map(|(_, value)| *value);
        assert_eq!(drawn(ArrowRole::Decay).count(), 1, "{}", step.inputs.rule.name());
        let all: Vec<[f64; 2]> = drawn(ArrowRole::Direction).chain(drawn(ArrowRole::Decay)).collect();
        for axis in 0..2 {
            let sum: f64 = all.iter().map(|value| value[axis]).sum();
            let moved = step.after[axis] - step.inputs.theta[axis];
            assert!((moved + step.inputs.learning_rate * sum).abs() < 1e-12, "{all:?} and a step of {moved}");
        }
    }
}

/// A change of settings leaves the shown trace of the last step as it was taken, until the next step.
#[test]
fn a_change_does_not_rewrite_the_last_step() {
    let mut simulation = Simulation::new(simulation(1.0, 3, &all_rules(0.01)));
    simulation.select(Some(ParticleId { optimizer: 1, particle: 2 }));
    (0..20).for_each(|_| simulation.advance());
    let shown = simulation.step_trace().unwrap();
    simulation.apply(&Setting::Noise(noise(0.0))).unwrap();
    simulation.apply(&Setting::Landscape(valley(500.0, 0.1, 0.0))).unwrap();
    simulation.apply(&Setting::Rule { optimizer: 1, rule: adam(0.5, 0.1, 0.2, 0.3) }).unwrap();
    assert_eq!(simulation.step_trace().unwrap(), shown);
    simulation.advance();
    assert_eq!(simulation.step_trace().unwrap().inputs.theta, shown.after);
    simulation.select(None);
    assert!(simulation.step_trace().is_none());
}

#[test]
fn a_selection_changes_no_step() {
    let mut looked_at = Simulation::new(simulation(1.0, 9, &all_rules(0.01)));
    let mut left_alone = looked_at.clone();
    for step in 0..100 {
        let optimizer = step % 7;
        looked_at.select(Some(ParticleId { optimizer, particle: step as usize % 12 }));
        looked_at.advance();
        left_alone.advance();
        for (a, b) in looked_at.ensembles().iter().zip(left_alone.ensembles()) {
            assert!(a.positions().eq(b.positions()));
        }
    }
}
