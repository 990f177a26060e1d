//! The update rules: special values, cautious steps, dependence on the valley's direction, and the paper's
//! statements about its toy model.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use valleyscope_engine::optimizer::{
    Adam, Batch, BiasCorrection, Focus, NoBatch, RatedRule, Rates, Rule, RuleInput, RuleKind, RuleSpec, Signum,
    StepInputs, trace, zero_state,
};
use valleyscope_engine::quantity::LearningRate;
use valleyscope_engine::simulation::{Ensemble, Simulation};
use valleyscope_engine::with_rule;

use crate::specs::{DecayTarget, adam, focus, rated, signum, simulation, start, valley};

/// One coordinate with the library's rule `R`, whose hyperparameters may be changed between steps.
struct Run<R: Rule> {
    bias: BiasCorrection,
    theta: f64,
    state: R::State<f64>,
}

impl<R: Rule> Run<R> {
    fn starting_at(theta: f64) -> Self {
        Run { bias: BiasCorrection::START, theta, state: zero_state::<R, f64>() }
    }

    /// Takes a step; returns its direction.
    fn step(&mut self, rule: &RatedRule, gradient: f64) -> f64 {
        self.bias = self.bias.after::<R>(&rule.rule, rule.learning_rate.get());
        let (learning_rate, weight_decay) = (rule.learning_rate.get(), rule.rule.weight_decay());
        let rates = Rates { learning_rate, weight_decay, is_cautious: rule.rule.is_cautious() };
        let input = RuleInput { rates, theta: self.theta, gradient, batch: NoBatch };
        let (state, moved) = R::step(&self.bias.coefficients::<R, f64>(&rule.rule), input, self.state);
        (self.theta, self.state) = (moved.theta, state);
        moved.direction
    }
}

/// FOCUS with η = 0.25, β₁ = 0.5 and ω = 0.5.
fn toy_focus(beta2: f64, gamma: f64, decay: DecayTarget) -> RatedRule {
    focus(0.25, [0.5, beta2], gamma, 0.5, decay)
}

#[test]
fn focus_without_attraction_and_memory_is_signum() {
    let mut random = StdRng::seed_from_u64(2);
    let signum = signum(0.03, 0.9, 0.1);
    for (gamma, beta2) in [(0.0, 0.0), (0.0, 0.9), (0.7, 0.0)] {
        let focus = focus(0.03, [0.9, beta2], gamma, 0.1, DecayTarget::Parameters);
        let (mut with_signum, mut with_focus) = (Run::<Signum>::starting_at(0.3), Run::<Focus>::starting_at(0.3));
        for _ in 0..500 {
            let gradient = random.random_range(-1.0..1.0);
            assert_eq!(with_signum.step(&signum, gradient), with_focus.step(&focus, gradient));
            assert_eq!(with_signum.theta, with_focus.theta);
        }
    }
}

/// Dividing by 1 − β₂ᵗ would round, and the sign would turn the rounding into steps of ±γη.
#[test]
fn a_parameter_that_has_not_moved_is_not_pulled() {
    let mut random = StdRng::seed_from_u64(3);
    for decay in [DecayTarget::Parameters, DecayTarget::Average] {
        for _ in 0..100 {
            let theta = random.random_range(-3.0..3.0);
            let rule = focus(0.25, [0.5, random.random_range(0.0..0.999)], 0.25, 0.0, decay);
            let mut run = Run::<Focus>::starting_at(theta);
            for _ in 0..200 {
                assert_eq!(run.step(&rule, 0.0), 0.0);
                assert_eq!(run.theta, theta);
            }
        }
    }
}

#[test]
fn a_nan_gradient_is_not_hidden() {
    fn check<R: Rule>(rule: &RatedRule) {
        let mut run = Run::<R>::starting_at(1.0);
        run.step(rule, 1.0);
        assert!(run.step(rule, f64::NAN).is_nan());
        assert!(run.theta.is_nan());
        run.step(rule, 1.0);
        assert!(run.theta.is_nan(), "a diverged parameter does not come back");
    }
    let rules = RuleKind::ALL.iter().map(|&kind| rated(0.1, RuleSpec::on_plane(kind)));
    for rule in rules.chain([toy_focus(0.5, 0.25, DecayTarget::Average)]) {
        with_rule!(rule.rule.kind(), R => check::<R>(&rule));
    }
}

#[test]
fn the_first_step_of_adam_has_the_size_of_the_learning_rate() {
    let rule = adam(0.1, 0.9, 0.999, 0.0);
    for gradient in [1e-3, -0.5, 7e5] {
        let direction = Run::<Adam>::starting_at(0.0).step(&rule, gradient);
        assert!((direction - gradient.signum()).abs() < 2e-5, "{direction} for a gradient of {gradient}");
    }
    // ε keeps a step without any gradient finite.
    assert_eq!(Run::<Adam>::starting_at(0.0).step(&rule, 0.0), 0.0);
}

#[test]
fn the_bias_correction_multiplies_the_decay_rates() {
    let powers = |bias: &BiasCorrection, rule: &RatedRule| bias.powers(&rule.rule).collect::<Vec<_>>();
    let fast = adam(0.1, 0.5, 0.75, 0.0);
    let bias = BiasCorrection::START.after::<Adam>(&fast.rule, 0.1).after::<Adam>(&fast.rule, 0.1);
    assert_eq!((bias.steps, powers(&bias, &fast)), (2, vec![("beta1", 0.25), ("beta2", 0.5625)]));
    let bias = bias.after::<Adam>(&adam(0.1, 0.0, 0.5, 0.0).rule, 0.1);
    assert_eq!((bias.steps, powers(&bias, &fast)), (3, vec![("beta1", 0.0), ("beta2", 0.281_25)]));
    let focus = toy_focus(0.5, 0.25, DecayTarget::Parameters);
    let bias = BiasCorrection::START.after::<Focus>(&focus.rule, 0.1);
    assert_eq!((bias.steps, powers(&bias, &focus)), (1, vec![("beta1", 0.5), ("beta2", 0.5)]));
}

/// Inputs that a rule may request of its batch.
#[derive(Clone, Copy)]
struct Given {
    elsewhere: [f64; 2],
    curvature: [f64; 2],
}

impl Batch<[f64; 2]> for Given {
    fn gradient_at(self, _theta: [f64; 2]) -> [f64; 2] {
        self.elsewhere
    }

    fn curvature(self) -> [f64; 2] {
        self.curvature
    }
}

/// The masked direction is d φ / max(mean φ, 0.001), where φ = 1 if d g > 0, else 0.
#[test]
fn every_rule_masks_its_direction() {
    let mut random = StdRng::seed_from_u64(12);
    for &kind in RuleKind::ALL {
        let mut seen = [0; 3];
        for _ in 0..200 {
            let plain = RuleSpec::on_plane(kind);
            let mut pair = |low: f64, high: f64| [0, 1].map(|_| random.random_range(low..high));
            let batch = Given { elsewhere: pair(-1.0, 1.0), curvature: pair(0.1, 1.0) };
            // Averages of squares, and statistics that are positive.
            let states = plain.info().state_keys().map(|key| match key {
                "s" | "h" | "diagonal" => pair(0.5, 1.0),
                "mixed" => [0.1; 2],
                "slow" | "m" | "lead" => pair(-1.0, 1.0),
                _ => pair(0.1, 0.4),
            });
            let states: Vec<[f64; 2]> = states.collect();
            let (theta, gradient) = (pair(-1.0, 1.0), pair(-1.0, 1.0));
            let steps = |rule: RuleSpec| {
                let bias = BiasCorrection::new(7, &rule, |key| rule.get(key).map(|rate| rate.powi(7))).unwrap();
                StepInputs { rule, learning_rate: 0.1, bias, theta, gradient, states: states.clone() }
            };
            let plain_step = trace(&steps(plain), batch);
            let cautious_step = trace(&steps(plain.with("mask", 1.0).unwrap()), batch);
            let agrees = [0, 1].map(|axis| plain_step.direction[axis] * gradient[axis] > 0.0);
            let moved = agrees.iter().filter(|agrees| **agrees).count();
            seen[moved] += 1;
            let mean: f64 = moved as f64 / 2.0;
            for (axis, agrees) in agrees.into_iter().enumerate() {
                let expected = if agrees { plain_step.direction[axis] / mean } else { 0.0 };
                let found = cautious_step.direction[axis];
                let name = kind.info().name;
                assert!(
                    (found - expected).abs() <= 1e-12 * expected.abs(),
                    "{name}: {found} where {expected} is right"
                );
            }
            assert_eq!(cautious_step.states, plain_step.states, "{}: its memory", kind.info().name);
        }
        // The direction of some rules has the gradient's signs by its formula.
        assert!(seen[2] == 200 || seen[1] > 10 && seen[2] > 10, "{}: {seen:?}", kind.info().name);
    }
}

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

/// Runs the paper's valley and takes the mean of a quantity over the steps after `settled`.
fn mean_after(rule: RatedRule, sigma: f64, settled: u64, steps: u64, quantity: fn(&Ensemble) -> f64) -> f64 {
    let mut simulation = Simulation::new(simulation(sigma, 100, &[rule]));
    let mut sum = 0.0;
    while simulation.step() < steps {
        simulation.advance();
        if simulation.step() > settled {
            sum += quantity(&simulation.ensembles()[0]);
        }
    }
    sum / (steps - settled) as f64
}

fn effective_step(ensemble: &Ensemble) -> f64 {
    ensemble.sample().effective_step.mean
}

/// "When a small signal-to-noise ratio is mainly due to noise, Adam decreases the effective step size too
/// much and becomes slower."
#[test]
fn noise_starves_adam_but_not_signum() {
    const ETA: f64 = 0.003;
    let sigmas = [1.0, 2.0, 3.0];
    let adam_steps = sigmas.map(|sigma| mean_after(adam(ETA, 0.9, 0.999, 0.1), sigma, 500, 1000, effective_step));
    assert!(adam_steps.is_sorted_by(|a, b| a > b), "Adam's effective steps at {sigmas:?} are {adam_steps:?}");
    assert!(adam_steps[2] < 0.5, "{adam_steps:?}");
    for sigma in sigmas {
        assert_eq!(mean_after(signum(ETA, 0.9, 0.1), sigma, 500, 1000, effective_step), 1.0);
    }
}

/// |sign(m) + γ sign(θ − θ̂)| is 1 − γ or 1 + γ: the attraction squeezes FOCUS without shrinking its steps.
#[test]
fn the_steps_of_focus_differ_from_signums_by_gamma() {
    let gamma = 0.2;
    let mut simulation =
        Simulation::new(simulation(1.0, 50, &[focus(0.01, [0.9, 0.9], gamma, 0.1, DecayTarget::Parameters)]));
    simulation.advance();
    assert_eq!(effective_step(&simulation.ensembles()[0]), 1.0, "there is no pull in the first step");
    for _ in 0..1000 {
        simulation.advance();
        let steps = simulation.ensembles()[0].sample().effective_step;
        assert!(steps.min >= 1.0 - gamma - 1e-15 && steps.max <= 1.0 + gamma + 1e-15, "{steps:?}");
    }
}

/// Fig. 1c: with noise and at the same learning rate, Signum gets deeper into the valley than Adam.
#[test]
fn with_noise_signum_gets_deeper_than_adam() {
    for sigma in [1.0, 2.0] {
        let depth = |rule| mean_after(rule, sigma, 900, 1000, |ensemble| ensemble.sample().u.mean);
        let (adam, signum) = (depth(adam(0.003, 0.9, 0.999, 0.1)), depth(signum(0.003, 0.9, 0.1)));
        assert!(signum > adam, "at σ = {sigma} Signum is at u = {signum}, Adam at u = {adam}");
    }
}

/// "We find that given sharpness a there is a critical noise strength σ_c beyond which Signum will become
/// better than Adam", each with its best learning rate.
#[test]
fn beyond_a_critical_noise_signum_is_better_than_adam() {
    let best = |rule: fn(f64) -> RatedRule, sigma: f64| {
        let losses = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05]
            .map(|eta| mean_after(rule(eta), sigma, 999, 1000, |ensemble| ensemble.sample().loss.mean));
        losses.into_iter().fold(f64::INFINITY, f64::min)
    };
    let adam = |sigma| best(|eta| adam(eta, 0.9, 0.999, 0.1), sigma);
    let signum = |sigma| best(|eta| signum(eta, 0.9, 0.1), sigma);
    assert!(adam(0.25) < signum(0.25), "little noise: Adam {}, Signum {}", adam(0.25), signum(0.25));
    assert!(signum(3.0) < adam(3.0), "much noise: Adam {}, Signum {}", adam(3.0), signum(3.0));
}
