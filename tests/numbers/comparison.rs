//! The simulation beside the oracle, step by step.

use valleyscope_engine::landscape::LandscapeSpec;
use valleyscope_engine::lanes::Lanes;
use valleyscope_engine::noise::NoiseKind;
use valleyscope_engine::optimizer::{Need, RuleSpec};
use valleyscope_engine::random::Streams;
use valleyscope_engine::simulation::{Change, Simulation, SimulationSpec, noise_key};

use crate::laws::law;
use crate::noise_kinds::students_pair;
use crate::oracle::{Particle, Reading, Valley};
use crate::schedules::expected_factor;

/// A session to compare.
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
