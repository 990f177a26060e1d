//! Kinds of noise of gradients: their distributions, and steps beside formulas written from their sources.

use statrs::distribution::{ContinuousCDF, StudentsT};
use valleyscope_engine::lanes::Lanes;
use valleyscope_engine::noise::{NoiseKind, NoiseSpec};
use valleyscope_engine::optimizer::Need;
use valleyscope_engine::quantity::Noise;
use valleyscope_engine::random::{Key, Streams};
use valleyscope_engine::simulation::{ParticleId, Simulation, SimulationSpec, noise_key};

use crate::comparison::{Case, draws_of_step, first_disagreement, next_draws, valley_of};
use crate::specs::{all_rules, rated, simulation, start, valley};
use crate::statistics::{Moments, assert_within, correlation, kolmogorov_smirnov};

/// Returns heavy-tailed noise with σ and ν.
pub fn heavy_tailed(sigma: f64, freedom: f64) -> NoiseSpec {
    let mut noise = of_kind(NoiseKind::HeavyTailed, sigma);
    noise.set("degrees_of_freedom", freedom).unwrap();
    noise
}

pub fn of_kind(kind: NoiseKind, sigma: f64) -> NoiseSpec {
    NoiseSpec::new(kind).with_sigma(Noise::new(sigma).unwrap())
}

/// Returns noise of each kind but the paper's, and one with very heavy tails.
fn others(sigma: f64) -> [NoiseSpec; 3] {
    [of_kind(NoiseKind::Additive, sigma), heavy_tailed(sigma, 3.0), heavy_tailed(sigma, 2.01)]
}

/// Returns draws x and y of heavy-tailed noise.
fn heavy_draws(freedom: f64, count: usize) -> (Vec<f64>, Vec<f64>) {
    let noise = heavy_tailed(1.0, freedom).noise();
    let mut stream = Streams::<1>::new([Key::new(5)]);
    let pairs = (0..count).map(|_| {
        let mut pairs = [stream.normal_pair::<Lanes<f64, 1>>()];
        noise.shape(&mut pairs);
        (pairs[0][0].0[0], pairs[0][1].0[0])
    });
    pairs.unzip()
}

#[test]
fn heavy_tailed_draws_are_students_t_with_variance_1() {
    const COUNT: usize = 200_000;
    for freedom in [2.5_f64, 3.0, 10.0] {
        let student = StudentsT::new(0.0, ((freedom - 2.0) / freedom).sqrt(), freedom).unwrap();
        let (x, y) = heavy_draws(freedom, COUNT);
        for draws in [&x, &y] {
            let distance = kolmogorov_smirnov(draws, |at| student.cdf(at));
            // A true sample exceeds 2.0/√n once in 1,500 times.
            assert!(distance * (COUNT as f64).sqrt() < 2.0, "ν = {freedom}: distance {distance}");
            for p in [1e-4, 1e-3, 0.1, 0.5, 0.9, 0.999, 0.9999] {
                let quantile = student.inverse_cdf(p);
                let share = draws.iter().filter(|draw| **draw < quantile).count() as f64 / COUNT as f64;
                assert_within("share below a quantile", share, p, (p * (1.0 - p) / COUNT as f64).sqrt());
            }
        }
    }
    // The fourth moment, 3 + 6/(ν − 4), gives the variance an error.
    let (x, y) = heavy_draws(10.0, COUNT);
    let n = COUNT as f64;
    for draws in [&x, &y] {
        let moments = Moments::of(draws);
        assert_within("mean", moments.mean, 0.0, (1.0 / n).sqrt());
        assert_within("variance", moments.variance, 1.0, (3.0 / n).sqrt());
    }
    // E x²y² = (ν − 2)/(ν − 4), as large draws coincide.
    assert_within("correlation of x and y", correlation(&x, &y), 0.0, (8.0 / 6.0 / n).sqrt());
}

/// Bailey's formula, with U from the length of the normal pair.
pub fn students_pair([x, y]: [f64; 2], freedom: f64) -> [f64; 2] {
    let square = x * x + y * y;
    let uniform = (-square / 2.0).exp();
    let radius = (freedom * (uniform.powf(-2.0 / freedom) - 1.0)).sqrt() * ((freedom - 2.0) / freedom).sqrt();
    [x, y].map(|normal| normal / square.sqrt() * radius)
}

#[test]
fn a_step_with_each_kind_of_noise_has_the_gradient_of_its_formula() {
    for noise in others(0.7).into_iter().chain([of_kind(NoiseKind::Multiplicative, 0.7)]) {
        let rules = all_rules(0.01);
        let spec = SimulationSpec { noise, start: start(0.8, -0.4, 0.1), ..simulation(1.0, 11, &rules) };
        for (index, rule) in rules.iter().enumerate() {
            let id = ParticleId { optimizer: index as u32 + 1, particle: 10 };
            let mut simulation = Simulation::new(spec.clone());
            simulation.select(Some(id));
            let mut stream = Streams::<1>::new([noise_key(spec.seed, id.optimizer, 10)]);
            let theta = simulation.ensembles()[index].position(10);
            simulation.advance();
            let step = simulation.step_trace().expect("a step was taken");
            let exact = valley_of(&spec.landscape).gradient(theta);
            let [draws, curvature_draws] = draws_of_step(&rule.rule, &mut stream).map(|normal| match noise.kind() {
                NoiseKind::HeavyTailed if normal != [0.0; 2] => {
                    students_pair(normal, noise.get("degrees_of_freedom").unwrap())
                }
                _ => normal,
            });
            let noisy = |exact: f64, draw: f64| match noise.kind() {
                NoiseKind::Additive => exact + 0.7 * draw,
                _ => exact * (1.0 + 0.7 * draw),
            };
            let close = |found: f64, expected: f64| (found - expected).abs() <= 1e-11 * expected.abs().max(1.0);
            for axis in [0, 1] {
                let expected = noisy(exact[axis], draws[axis]);
                let found = step.inputs.gradient[axis];
                assert!(close(found, expected), "{noise:?}, {}: {found}, {expected}", rule.rule.name());
                if rule.rule.info().needs(Need::Curvature) {
                    let mean = if noise.kind() == NoiseKind::Additive { 0.0 } else { 1.0 };
                    assert!(close(step.curvature_noise[axis], mean + 0.7 * curvature_draws[axis]), "{noise:?}");
                }
            }
        }
    }
}

/// In particular the curvature and gradients at other parameters have the noise of the step.
#[test]
fn trajectories_of_every_rule_with_each_kind_of_noise_agree_with_the_oracle() {
    for noise in others(0.5) {
        let spec = SimulationSpec { noise, seed: 4, ..simulation(1.0, 3, &all_rules(0.01)) };
        let case = Case { name: noise.info().name, spec, changes: Vec::new(), steps: 200 };
        if let Some(disagreement) = first_disagreement(None, &case) {
            panic!("{disagreement:?}");
        }
    }
}

#[test]
fn additive_noise_does_not_grow_with_the_gradient() {
    let rule = rated(0.01, crate::specs::rule(valleyscope_engine::optimizer::RuleKind::Sgd, &[]));
    let noise_of = |kind: NoiseKind, slope: f64| {
        let spec = SimulationSpec {
            landscape: valley(10.0, slope, 30.0),
            noise: of_kind(kind, 0.5),
            ..simulation(1.0, 3, &[rule])
        };
        let mut simulation = Simulation::new(spec);
        simulation.select(Some(ParticleId { optimizer: 1, particle: 2 }));
        simulation.advance();
        let step = simulation.step_trace().expect("a step was taken");
        step.inputs.gradient[0] - step.gradient[0]
    };
    let [small, large] = [0.1, 10.0].map(|slope| noise_of(NoiseKind::Additive, slope));
    assert!(small != 0.0 && (small - large).abs() < 1e-12, "{small}, {large}");
    let [small, large] = [0.1, 10.0].map(|slope| noise_of(NoiseKind::Multiplicative, slope));
    assert!((large / small - 100.0).abs() < 1e-3, "{small}, {large}");
}

/// A change of the kind during a run shifts no later draw.
#[test]
fn every_kind_of_noise_takes_the_same_random_numbers() {
    let draws_after = |noise: NoiseSpec| {
        let spec = SimulationSpec { noise, ..simulation(1.0, 3, &all_rules(0.01)) };
        let mut simulation = Simulation::new(spec);
        (0..20).for_each(|_| simulation.advance());
        let paper = of_kind(NoiseKind::Multiplicative, 1.0);
        simulation.apply(&valleyscope_engine::simulation::Setting::Noise(paper)).unwrap();
        simulation.select(Some(ParticleId { optimizer: 1, particle: 1 }));
        simulation.advance();
        simulation.step_trace().expect("a step was taken").noise
    };
    let mut stream = Streams::<1>::new([noise_key(1, 1, 1)]);
    let expected = (0..21).map(|_| next_draws(&mut stream)).last().expect("there are steps").map(|draw| 1.0 + draw);
    for noise in others(0.5) {
        assert_eq!(draws_after(noise), expected, "{noise:?}");
    }
}
