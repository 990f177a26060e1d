//! The paper's statements about its toy model, tested in the simulation.

use valleyscope_engine::optimizer::RatedRule;
use valleyscope_engine::simulation::{Ensemble, Simulation};

use crate::specs::{DecayTarget, adam, focus, signum, simulation};

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
