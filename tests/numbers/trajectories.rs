//! Trajectories of the simulation: equal to the oracle's, and independent of other particles and ensembles. Mutations
//! of the oracle show that the comparison notices every misreading of the paper, in exactly the rules that it affects.

use valleyscope_engine::landscape::LandscapeSpec;
use valleyscope_engine::lanes::Lanes;
use valleyscope_engine::noise::NoiseKind;
use valleyscope_engine::optimizer::{Need, RatedRule, RuleKind, RuleSpec};
use valleyscope_engine::random::Streams;
use valleyscope_engine::simulation::{Change, Setting, Simulation, SimulationSpec, noise_key};

use crate::noise::students_pair;
use crate::oracle::{Misreading, Particle, Reading, Valley};
use crate::references::law;
use crate::schedules::expected_factor;
use crate::specs::{
    DecayTarget, adam, all_rules, focus, mars, noise, optimizer, particles, sgd, signum, simulation, start, valley,
};
use crate::statistics::{Moments, correlation, kolmogorov_smirnov, normal_cdf};

pub struct Case {
    pub name: &'static str,
    pub spec: SimulationSpec,
    /// The changes in the order of their steps.
    pub changes: Vec<Change>,
    pub steps: u64,
}

/// A step at which simulation and oracle differ.
#[derive(Debug)]
#[expect(dead_code, reason = "read by people, in the message of a failed test")]
pub struct Disagreement {
    pub case: &'static str,
    pub rule: &'static str,
    pub step: u64,
    pub particle: usize,
    pub simulation: [f64; 2],
    pub oracle: [f64; 2],
}

/// The largest difference of a coordinate that still counts as agreement.
pub const TOLERANCE: f64 = 1e-6;

/// A particle of the oracle, and the stream of noise of the simulation's particle.
struct Companion {
    particle: Particle,
    noise: Streams<1>,
}

/// Returns the next draws, for x and y, of a single stream.
pub fn next_draws(stream: &mut Streams<1>) -> [f64; 2] {
    stream.normal_pair::<Lanes<f64, 1>>().map(|draw| draw.0[0])
}

/// Returns the draws of a step for the gradient and, where the rule needs it, for the curvature.
pub fn draws_of_step(rule: &RuleSpec, stream: &mut Streams<1>) -> [[f64; 2]; 2] {
    let draws = next_draws(stream);
    [draws, if rule.info().needs(Need::Curvature) { next_draws(stream) } else { [0.0; 2] }]
}

/// Runs the simulation and an oracle with this reading of the paper from the same starting points and with the same
/// noise, until a position differs by more than [`TOLERANCE`].
pub fn first_disagreement(reading: Reading, case: &Case) -> Option<Disagreement> {
    let mut simulation = Simulation::new(case.spec.clone());
    let mut companions: Vec<Vec<Companion>> = simulation
        .ensembles()
        .iter()
        .map(|ensemble| {
            let key = |particle: usize| noise_key(case.spec.seed, ensemble.optimizer(), particle as u64);
            let companion = |particle: usize| Companion {
                particle: Particle::starting_at(ensemble.position(particle)),
                noise: Streams::new([key(particle)]),
            };
            (0..ensemble.particles()).map(companion).collect()
        })
        .collect();
    let mut changes = case.changes.iter().peekable();
    for step in 0..case.steps {
        while let Some(change) = changes.next_if(|change| change.step == step) {
            simulation.apply(&change.set).expect("the change fits");
        }
        let noise = simulation.spec().noise;
        let adds_noise = noise.kind() == NoiseKind::Additive;
        let valley = Valley { adds_noise, ..valley_of(&simulation.spec().landscape) };
        let (sigma, run) = (noise.sigma(), simulation.spec().steps);
        simulation.advance();
        for (ensemble, companions) in simulation.ensembles().iter().zip(&mut companions) {
            let rule = ensemble.rule();
            let factor = expected_factor(&rule.schedule, step + 1, run);
            let law = law(&rule.rule, rule.learning_rate.get() * factor);
            for (index, companion) in companions.iter_mut().enumerate() {
                let draws = draws_of_step(&rule.rule, &mut companion.noise).map(|draws| match noise.kind() {
                    NoiseKind::HeavyTailed if draws != [0.0; 2] => {
                        students_pair(draws, noise.get("degrees_of_freedom").expect("the noise has it"))
                    }
                    _ => draws,
                });
                companion.particle.step(valley, &law, sigma, draws, reading);
                let (ours, theirs) = (ensemble.position(index), companion.particle.position());
                let agree = ours.iter().zip(theirs).all(|(ours, theirs)| (ours - theirs).abs() <= TOLERANCE);
                if !agree {
                    return Some(Disagreement {
                        case: case.name,
                        rule: ensemble.rule().name(),
                        step: step + 1,
                        particle: index,
                        simulation: ours,
                        oracle: theirs,
                    });
                }
            }
        }
    }
    None
}

pub fn valley_of(spec: &LandscapeSpec) -> Valley {
    let phi = spec.rotation_degrees() * std::f64::consts::PI / 180.0;
    let [a, c] = spec.valley().expect("the oracle is of the valley");
    Valley { a, c, phi, adds_noise: false }
}

const LONG: u64 = 3000;

#[track_caller]
fn assert_agrees(case: &Case) {
    if let Some(disagreement) = first_disagreement(None, case) {
        panic!("{disagreement:?}");
    }
}

/// A trajectory without noise is chaotic, so only its beginning can be compared.
#[test]
fn long_trajectories_of_every_rule_agree_with_the_oracle() {
    let flat = SimulationSpec {
        landscape: valley(1.0, 0.5, -70.0),
        seed: 2,
        start: start(0.5, -1.0, 0.3),
        ..simulation(0.5, 2, &all_rules(0.02))
    };
    let sharp =
        SimulationSpec { landscape: valley(200.0, 0.1, 200.0), seed: 3, ..simulation(2.5, 2, &all_rules(0.002)) };
    for (name, spec, steps) in [
        ("the paper's valley", simulation(1.0, 3, &all_rules(0.01)), LONG),
        ("a flat valley, turned the other way", flat, LONG),
        ("a sharp valley and much noise", sharp, LONG),
        ("no noise", simulation(0.0, 3, &all_rules(0.01)), 200),
    ] {
        assert_agrees(&Case { name, spec, changes: Vec::new(), steps });
    }
}

/// Every setting with a slider changes during the run.
#[test]
fn long_trajectories_with_changes_agree_with_the_oracle() {
    let rule = |optimizer, rule| Setting::Rule { optimizer, rule };
    let changes = [
        (3, rule(1, adam(0.02, 0.5, 0.99, 0.0))),
        (3, rule(3, focus(0.02, [0.5, 0.0], 0.5, 0.2, DecayTarget::Parameters))),
        (7, rule(3, focus(0.02, [0.8, 0.95], 0.5, 0.2, DecayTarget::Average))),
        (20, rule(1, adam(0.005, 0.0, 0.9, 0.3))),
        (100, Setting::Noise(noise(0.3))),
        (100, rule(8, mars(0.002, 0.9, 0.95, 0.05, 0.2))),
        (250, rule(2, signum(0.03, 0.99, 0.05))),
        (250, Setting::Landscape(valley(40.0, 0.3, 75.0))),
        (400, rule(4, focus(0.004, [0.95, 0.9], 0.4, 0.2, DecayTarget::Parameters))),
        (401, rule(4, focus(0.004, [0.95, 0.9], -0.4, 0.2, DecayTarget::Average))),
        (700, Setting::Noise(noise(2.0))),
        (701, rule(1, adam(0.01, 0.95, 0.9999, 0.1))),
        (1000, rule(6, sgd(0.0005, 0.5, 0.2))),
        (1500, rule(5, focus(0.01, [0.9, 0.999], 0.1, 0.0, DecayTarget::Parameters))),
        (2000, Setting::Landscape(valley(10.0, 0.1, 30.0))),
    ];
    assert_agrees(&Case {
        name: "changes on the way",
        spec: simulation(1.0, 2, &all_rules(0.01)),
        changes: changes.map(|(step, set)| Change { step, set }).to_vec(),
        steps: LONG,
    });
}

/// A zero gradient is not divided by zero.
#[test]
fn without_gradients_nothing_moves() {
    let spec = SimulationSpec {
        landscape: valley(10.0, 0.0, 30.0),
        start: start(0.0, 0.0, 0.0),
        ..simulation(1.0, 1, &all_rules(0.01))
    };
    let mut simulation = Simulation::new(spec);
    (0..50).for_each(|_| simulation.advance());
    for ensemble in simulation.ensembles() {
        assert_eq!(ensemble.position(0), [0.0; 2], "{}", ensemble.rule().name());
    }
}

/// Returns the bits of the first particles' positions at all steps, in the order of steps and particles.
fn trajectories(spec: &SimulationSpec, id: u32, particles: usize, steps: u64) -> Vec<[u64; 2]> {
    let mut simulation = Simulation::new(spec.clone());
    let mut bits = Vec::new();
    for step in 0..=steps {
        if step > 0 {
            simulation.advance();
        }
        let ensemble = simulation.ensembles().iter().find(|ensemble| ensemble.optimizer() == id).unwrap();
        bits.extend(ensemble.positions().take(particles).map(|position| position.map(f64::to_bits)));
    }
    bits
}

fn trajectory(spec: &SimulationSpec, id: u32, particle: usize, steps: u64) -> Vec<[u64; 2]> {
    trajectories(spec, id, particle + 1, steps).into_iter().skip(particle).step_by(particle + 1).collect()
}

/// The place does not matter either: the last particles of an ensemble are not advanced in full vectors.
#[test]
fn a_particle_does_not_depend_on_the_number_of_particles() {
    let with = |count| simulation(1.0, count, &all_rules(0.01));
    for id in 1..=6 {
        for count in [1, 7, 8, 9, 13, 16, 100] {
            let expected = trajectories(&with(300), id, count as usize, 50);
            assert_eq!(trajectories(&with(count), id, count as usize, 50), expected, "{count} particles");
        }
    }
}

#[test]
fn an_ensemble_does_not_depend_on_the_others() {
    let together = simulation(1.0, 9, &all_rules(0.01));
    let mut backwards = together.clone();
    backwards.optimizers.reverse();
    let mut some_disabled = together.clone();
    some_disabled.optimizers[0].enabled = false;
    some_disabled.optimizers[2].enabled = false;
    for id in [2, 4, 6] {
        let mut alone = together.clone();
        alone.optimizers.retain(|optimizer| optimizer.id == id);
        let expected = trajectory(&together, id, 8, 100);
        for spec in [&backwards, &some_disabled, &alone] {
            assert_eq!(trajectory(spec, id, 8, 100), expected);
        }
    }
}

#[test]
fn seed_and_id_determine_a_trajectory() {
    let spec = simulation(1.0, 2, &[adam(0.01, 0.9, 0.999, 0.1), adam(0.01, 0.9, 0.999, 0.1)]);
    let expected = trajectory(&spec, 1, 0, 20);
    assert_eq!(trajectory(&spec, 1, 0, 20), expected);
    assert_ne!(trajectory(&spec, 2, 0, 20), expected, "another id, another stream");
    assert_ne!(trajectory(&spec, 1, 1, 20), expected, "another particle, another stream");
    let other_seed = SimulationSpec { seed: 2, ..spec.clone() };
    assert_ne!(trajectory(&other_seed, 1, 0, 20), expected, "another seed, another stream");
    let mut renamed = spec;
    renamed.optimizers[0].name = Some("Adam, again".to_owned());
    renamed.optimizers[0].color = Some([1, 2, 3]);
    assert_eq!(trajectory(&renamed, 1, 0, 20), expected, "a name is only a name");
}

/// Draws are taken at every step, even if σ = 0.
#[test]
fn noise_draws_continue_while_noise_is_off() {
    let mut simulation_a = Simulation::new(simulation(0.0, 1, &[sgd(0.001, 0.0, 0.0)]));
    let mut simulation_b = Simulation::new(simulation(1.0, 1, &[sgd(0.001, 0.0, 0.0)]));
    for _ in 0..10 {
        simulation_a.advance();
        simulation_b.advance();
    }
    simulation_a.apply(&Setting::Noise(noise(1.0))).unwrap();
    let factor_a = noise_of_next_steps(&mut simulation_a)[0];
    let factor_b = noise_of_next_steps(&mut simulation_b)[0];
    for (a, b) in factor_a.into_iter().zip(factor_b) {
        assert!((a - b).abs() < 1e-9, "{factor_a:?} and {factor_b:?}");
    }
}

/// Returns the factors of the particles' gradients, derived from the movement of SGD without momentum.
fn noise_of_next_steps(simulation: &mut Simulation) -> Vec<[f64; 2]> {
    let before: Vec<_> = simulation.ensembles()[0].positions().collect();
    simulation.advance();
    let ensemble = &simulation.ensembles()[0];
    let valley = valley_of(&simulation.spec().landscape);
    let learning_rate = ensemble.rule().learning_rate.get();
    let factors = before.into_iter().zip(ensemble.positions()).map(|(before, after)| {
        let gradient = valley.gradient(before);
        [0, 1].map(|axis| (before[axis] - after[axis]) / (learning_rate * gradient[axis]))
    });
    factors.collect()
}

/// σ is the deviation of the noise, not its variance.
#[test]
fn the_gradient_is_multiplied_by_draws_of_mean_one_and_deviation_sigma() {
    for sigma in [0.25, 1.0, 2.0, 3.0] {
        let spec =
            SimulationSpec { start: start(1.0, 1.0, 0.01), ..simulation(sigma, 10_000, &[sgd(0.001, 0.0, 0.0)]) };
        let factors = noise_of_next_steps(&mut Simulation::new(spec));
        let n = factors.len() as f64;
        let [x, y] = [0, 1].map(|axis| factors.iter().map(|factor| factor[axis]).collect::<Vec<_>>());
        for factors in [&x, &y] {
            let moments = Moments::of(factors);
            assert!((moments.mean - 1.0).abs() < 4.0 * sigma / n.sqrt(), "mean {}", moments.mean);
            let deviation = moments.variance.sqrt();
            assert!((deviation / sigma - 1.0).abs() < 4.0 / (2.0 * n).sqrt(), "deviation {deviation} at σ = {sigma}");
            let distance = kolmogorov_smirnov(factors, |factor| normal_cdf((factor - 1.0) / sigma));
            assert!(distance * n.sqrt() < 2.0, "Kolmogorov–Smirnov distance {distance}");
        }
        assert!(correlation(&x, &y).abs() < 4.0 / n.sqrt(), "x and y have a draw each");
    }
}

#[test]
fn particles_start_around_the_requested_point() {
    let spec = SimulationSpec { start: start(2.0, -1.0, 0.5), ..simulation(1.0, 10_000, &all_rules(0.01)) };
    for ensemble in Simulation::new(spec).ensembles() {
        let positions: Vec<_> = ensemble.positions().collect();
        let n = positions.len() as f64;
        let [x, y] = [0, 1].map(|axis| positions.iter().map(|position| position[axis]).collect::<Vec<_>>());
        for (coordinates, center) in [(&x, 2.0), (&y, -1.0)] {
            let distance = kolmogorov_smirnov(coordinates, |x| normal_cdf((x - center) / 0.5));
            assert!(distance * n.sqrt() < 2.0, "Kolmogorov–Smirnov distance {distance}");
        }
        assert!(correlation(&x, &y).abs() < 4.0 / n.sqrt());
    }
    let point = SimulationSpec { start: start(2.0, -1.0, 0.0), ..simulation(1.0, 3, &all_rules(0.01)) };
    for ensemble in Simulation::new(point).ensembles() {
        assert!(ensemble.positions().all(|position| position == [2.0, -1.0]));
    }
}

#[test]
fn a_disabled_optimizer_is_not_simulated() {
    let mut spec = simulation(1.0, 4, &all_rules(0.01));
    spec.particles = particles(2);
    spec.optimizers[1].enabled = false;
    spec.optimizers.push(optimizer(77, signum(0.1, 0.9, 0.1)));
    let ids: Vec<_> = Simulation::new(spec).ensembles().iter().map(|ensemble| ensemble.optimizer()).collect();
    let others = all_rules(0.01).len() as u32;
    let expected: Vec<u32> = (1..=others).filter(|id| *id != 2).chain([77]).collect();
    assert_eq!(ids, expected);
}

/// Returns a case of one rule and few steps. σ is neither 0 nor 1, where variance and deviation are equal.
fn reduced(rule: RatedRule) -> Case {
    Case { name: "reduced", spec: simulation(2.0, 2, &[rule]), changes: Vec::new(), steps: 300 }
}

fn matters_to(misreading: Misreading, rule: &RatedRule) -> bool {
    match misreading {
        Misreading::NoiseBeforeRotatingBack
        | Misreading::OneDrawForBoth
        | Misreading::OtherRotation
        | Misreading::VarianceForDeviation => true,
        Misreading::AverageAfterStep | Misreading::OtherDecayTarget => rule.rule.kind() == RuleKind::Focus,
        Misreading::GradientAtAverage => rule.rule.kind() == RuleKind::ScheduleFree,
        Misreading::NoBiasCorrection => {
            [RuleKind::Adam, RuleKind::Focus, RuleKind::Mars, RuleKind::AdaBelief].contains(&rule.rule.kind())
        }
    }
}

#[test]
fn the_right_reading_agrees() {
    for rule in all_rules(0.02) {
        assert!(first_disagreement(None, &reduced(rule)).is_none());
    }
}

#[test]
fn every_misreading_is_detected() {
    for misreading in Misreading::ALL {
        for rule in all_rules(0.02) {
            let noticed = first_disagreement(Some(misreading), &reduced(rule));
            assert_eq!(noticed.is_some(), matters_to(misreading, &rule), "{misreading:?} with {rule:?}: {noticed:?}");
        }
    }
}
