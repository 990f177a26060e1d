//! A step taken apart: its parts are those of the step that was taken.

use valleyscope::random::Streams;
use valleyscope::simulation::{Anatomy, AnatomyMemory, ParticleId, Setting, Simulation, noise_key};

use crate::comparison::{law_of, next_draws, valley_of};
use crate::oracle::{Coordinate, Law, Particle, sign};
use crate::specs::{adam, all_rules, noise, simulation, valley};

#[track_caller]
fn assert_close(name: &str, found: [f64; 2], expected: [f64; 2]) {
    for (found, expected) in found.into_iter().zip(expected) {
        // Far above the rounding of some hundred steps, far below what a wrong formula gives.
        let allowed = 1e-8 * expected.abs().max(1e-3);
        assert!((found - expected).abs() <= allowed, "{name}: {found} where {expected} is right");
    }
}

/// Compares the memory with that of the oracle's particle before and after the same step.
#[track_caller]
fn assert_memory(anatomy: &Anatomy, was: &Particle, is: &Particle) {
    let of = |particle: &Particle, part: fn(&Coordinate) -> f64| [part(&particle.0[0]), part(&particle.0[1])];
    let momentum = |coordinate: &Coordinate| coordinate.m;
    match (anatomy.memory, law_of(&anatomy.rule)) {
        (AnatomyMemory::Adam { m_before, s_before, m, s, m_weight, s_weight, m_hat, s_hat }, Law::Adam { .. }) => {
            assert_close("m before", m_before, of(was, momentum));
            assert_close("s before", s_before, of(was, |coordinate| coordinate.s));
            assert_close("m", m, of(is, momentum));
            assert_close("s", s, of(is, |coordinate| coordinate.s));
            assert_close("1 − β₁ᵗ", [m_weight; 2], of(is, |coordinate| -coordinate.log_beta1_product.exp_m1()));
            assert_close("1 − β₂ᵗ", [s_weight; 2], of(is, |coordinate| -coordinate.log_beta2_product.exp_m1()));
            assert_close("m̂", m_hat, of(is, |coordinate| coordinate.m / -coordinate.log_beta1_product.exp_m1()));
            assert_close("ŝ", s_hat, of(is, |coordinate| coordinate.s / -coordinate.log_beta2_product.exp_m1()));
        }
        (AnatomyMemory::Focus { m_before, average_before, average_weight, m, average, pull }, Law::Focus { .. }) => {
            assert_close("m before", m_before, of(was, momentum));
            assert_close("m", m, of(is, momentum));
            // Nothing is remembered at first.
            let remembered = |coordinate: &Coordinate| {
                if coordinate.past.is_empty() { 0.0 } else { coordinate.average(None) }
            };
            assert_close("θ̂ before", average_before, of(was, remembered));
            assert_close("θ̂", average, of(is, remembered));
            let newest_share = |coordinate: &Coordinate| {
                let all: f64 = coordinate.past.iter().map(|(weight, _)| weight).sum();
                coordinate.past.last().map_or(f64::NAN, |(weight, _)| weight / all)
            };
            assert_close("w", [average_weight; 2], of(is, newest_share));
            assert_eq!(pull, [0, 1].map(|axis| sign(anatomy.before[axis] - average[axis])));
        }
        (AnatomyMemory::Signum { m_before, m }, Law::Signum { .. })
        | (AnatomyMemory::Sgd { m_before, m }, Law::Sgd { .. }) => {
            assert_close("m before", m_before, of(was, momentum));
            assert_close("m", m, of(is, momentum));
        }
        (memory, law) => panic!("{memory:?} of {law:?}"),
    }
}

#[test]
fn the_parts_of_a_step_are_those_of_the_oracle() {
    for (index, rule) in all_rules(0.01).into_iter().enumerate() {
        // The last particle, in a block that is not full.
        let id = ParticleId { optimizer: index as u32 + 1, particle: 10 };
        let mut simulation = Simulation::new(simulation(1.0, 11, &all_rules(0.01)));
        let seed = simulation.spec().seed;
        let mut noise_stream = Streams::<1>::new([noise_key(seed, id.optimizer, id.particle as u64)]);
        let mut particle = Particle::starting_at(simulation.ensembles()[index].position(id.particle));
        simulation.select(Some(id));
        assert!(simulation.anatomy().is_none(), "no step was taken yet");
        for step in 1..=300 {
            if step == 100 {
                simulation.apply(&Setting::Landscape(valley(20.0, 0.2, -50.0))).unwrap();
                simulation.apply(&Setting::Noise(noise(0.5))).unwrap();
            }
            let (valley, sigma) = (valley_of(&simulation.spec().landscape), simulation.spec().noise.get());
            let before = simulation.ensembles()[index].position(id.particle);
            let draws = next_draws(&mut noise_stream);
            simulation.advance();
            let was = particle.clone();
            let direction = particle.step(valley, law_of(&rule), sigma, draws, None);

            let anatomy = simulation.anatomy().expect("a step was taken");
            assert_eq!((anatomy.id, anatomy.step, anatomy.rule), (id, step, rule));
            assert_eq!(anatomy.before, before);
            assert_eq!(anatomy.after, simulation.ensembles()[index].position(id.particle));
            assert_close("gradient", anatomy.gradient, valley.gradient(before));
            assert_close("noise", anatomy.noise, draws.map(|draw| 1.0 + sigma * draw));
            assert_close("noisy gradient", anatomy.noisy_gradient, valley.noisy_gradient(before, sigma, draws, None));
            assert_close("direction", anatomy.direction, direction);
            assert_memory(&anatomy, &was, &particle);
        }
    }
}

/// Between a change and the next step, the last step is still shown as it was taken.
#[test]
fn a_change_does_not_rewrite_the_last_step() {
    let mut simulation = Simulation::new(simulation(1.0, 3, &all_rules(0.01)));
    simulation.select(Some(ParticleId { optimizer: 1, particle: 2 }));
    for _ in 0..20 {
        simulation.advance();
    }
    let shown = simulation.anatomy().unwrap();
    simulation.apply(&Setting::Noise(noise(0.0))).unwrap();
    simulation.apply(&Setting::Landscape(valley(500.0, 0.1, 0.0))).unwrap();
    simulation.apply(&Setting::Rule { optimizer: 1, rule: adam(0.5, 0.1, 0.2, 0.3) }).unwrap();
    assert_eq!(simulation.anatomy().unwrap(), shown);
    simulation.advance();
    assert_eq!(simulation.anatomy().unwrap().before, shown.after);
    simulation.select(None);
    assert!(simulation.anatomy().is_none());
}

/// Looking changes nothing.
#[test]
fn a_selection_does_not_disturb() {
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
