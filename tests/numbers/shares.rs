//! Signal, noise and oscillation of gradients on the toy, against what is known of it.

use valleyscope_engine::noise::{NoiseKind, NoiseSpec};
use valleyscope_engine::quantity::{Dimension, LearningRate, Noise, Replicates, StepCount};
use valleyscope_engine::shares::Shares;
use valleyscope_engine::simulation::{Sample, Simulation, SimulationSpec};
use valleyscope_engine::sweep::{Backend, Cell, LearningRates, Precision, SweepOptimizer, SweepSpec, adam_shares};

use crate::specs::{adam, noise, particles, signum, simulation, valley};
use crate::sweep::{backends, count, fig2a, odd, only, optimizer, runs};

/// Returns the samples of the last half of a run of one optimizer.
fn late_samples(spec: SimulationSpec, steps: u64) -> Vec<Sample> {
    let mut simulation = Simulation::new(spec);
    let mut samples = Vec::new();
    for step in 1..=steps {
        simulation.advance();
        if step > steps / 2 {
            samples.push(*simulation.ensembles()[0].sample());
        }
    }
    samples
}

fn mean(samples: &[Sample], of: impl Fn(&Sample) -> f64) -> f64 {
    samples.iter().map(of).sum::<f64>() / samples.len() as f64
}

fn mean_shares(samples: &[Sample]) -> Shares {
    Shares::from_array([0, 1, 2].map(|share| mean(samples, |sample| sample.shares.to_array()[share])))
}

#[track_caller]
fn assert_near(found: Shares, expected: [f64; 3], within: f64) {
    let off = found.to_array().into_iter().zip(expected).map(|(found, expected)| (found - expected).abs());
    assert!(off.fold(0.0, f64::max) <= within, "{found:?} against {expected:?}");
}

#[test]
fn the_measured_noise_is_sigma() {
    // The mean square of 400 × 2 draws over some hundred steps has a relative deviation of less than 1 %.
    for sigma in [0.0, 0.5, 1.0, 2.0] {
        for rule in [adam(0.01, 0.9, 0.999, 0.1), signum(0.003, 0.9, 0.1)] {
            let samples =
                late_samples(SimulationSpec { particles: particles(400), ..simulation(sigma, 400, &[rule]) }, 600);
            let found = mean(&samples, |sample| sample.shares.sigma());
            assert!((found - sigma).abs() <= 0.02 * sigma, "{found} against {sigma}");
        }
    }
}

#[test]
fn the_shares_of_a_prototype_are_found() {
    // A script with NumPy: Adam without weight decay at η = 0.01 on a = 10, 400 particles, the second half of 1,500
    // steps; and the two extremes. Signal, noise, oscillation. Its runs with other seeds differ by some 0.04.
    let cases = [
        (10.0, 0.5, 0.01, [0.07, 0.20, 0.73]),
        (10.0, 1.0, 0.01, [0.04, 0.50, 0.46]),
        (10.0, 2.0, 0.01, [0.02, 0.81, 0.17]),
        (1000.0, 0.0, 0.01, [0.01, 0.00, 0.99]),
        (0.1, 3.0, 0.003, [0.10, 0.90, 0.00]),
    ];
    for (sharpness, sigma, rate, expected) in cases {
        let spec = SimulationSpec {
            landscape: valley(sharpness, 0.1, 30.0),
            ..simulation(sigma, 400, &[adam(rate, 0.9, 0.999, 0.0)])
        };
        assert_near(mean_shares(&late_samples(spec, 1500)), expected, 0.06);
    }
}

#[test]
fn shares_add_to_one_and_are_unknown_at_the_start() {
    let mut simulation = Simulation::new(simulation(1.0, 5, &[adam(0.01, 0.9, 0.999, 0.1)]));
    assert!(!simulation.ensembles()[0].sample().shares.is_known());
    assert!(simulation.ensembles()[0].sample().shares.sigma().is_nan());
    for _ in 0..50 {
        simulation.advance();
        let [signal, noise, oscillation] = simulation.ensembles()[0].sample().shares.to_array();
        assert!((signal + noise + oscillation - 1.0).abs() < 1e-12 && signal >= 0.0 && noise >= 0.0);
    }
}

#[test]
fn a_particle_s_shares_are_those_of_a_run_of_it_alone() {
    let spec = simulation(1.0, 1, &[adam(0.01, 0.9, 0.999, 0.1)]);
    let mut simulation = Simulation::new(spec);
    let only = valleyscope_engine::simulation::ParticleId { optimizer: 1, particle: 0 };
    simulation.select(Some(only));
    for _ in 0..20 {
        simulation.advance();
        let sample = simulation.ensembles()[0].sample().shares;
        let particle = simulation.step_trace().expect("it is selected").shares;
        assert_near(particle, sample.to_array(), 1e-14);
    }
}

/// Returns a sweep of one pixel with one learning rate of Adam.
fn pixel_of(sharpness: f64, noise: NoiseSpec, rate: f64) -> SweepSpec {
    let rates =
        LearningRates { from: LearningRate::new(rate).unwrap(), to: LearningRate::new(rate).unwrap(), count: count(1) };
    let with = |id, rule| SweepOptimizer { learning_rates: rates, ..optimizer(id, rule) };
    let mut spec = SweepSpec {
        landscape: valley(sharpness, 0.1, 30.0),
        noise,
        steps: StepCount::clamped(1000),
        replicates: Replicates::clamped(200),
        optimizers: vec![with(0, crate::sweep::signum()), with(1, crate::sweep::adam())],
        ..fig2a([1, 1])
    };
    (spec.rows.from, spec.rows.to) = (sharpness, sharpness);
    (spec.columns.from, spec.columns.to) = (noise.sigma(), noise.sigma());
    spec
}

fn shares_of(spec: &SweepSpec, pixel: [usize; 2]) -> Shares {
    let replicates = spec.replicates.get();
    let cell = Cell::new(&runs(Precision::Single, spec, pixel, 0..replicates), spec.average, false);
    adam_shares(Backend::new(Precision::Double), spec, pixel, &cell)
}

#[test]
fn a_pixel_has_the_shares_of_a_simulation() {
    for kind in NoiseKind::ALL {
        for (sharpness, sigma, rate) in [(10.0, 1.0, 0.01), (0.1, 0.5, 0.03), (1000.0, 0.2, 0.003)] {
            let noise = NoiseSpec::new(*kind).with_sigma(Noise::new(sigma).unwrap());
            let found = shares_of(&pixel_of(sharpness, noise, rate), [0, 0]);
            let spec = SimulationSpec {
                landscape: valley(sharpness, 0.1, 30.0),
                noise,
                ..simulation(sigma, 400, &[adam(rate, 0.9, 0.999, 0.1)])
            };
            assert_near(found, mean_shares(&late_samples(spec, 1000)).to_array(), 0.05);
        }
    }
}

#[test]
fn multiplicative_noise_has_its_known_share() {
    for sigma in [0.0, 0.5, 1.0, 3.0] {
        let found = shares_of(&pixel_of(10.0, noise(sigma), 0.01), [0, 0]);
        let expected = sigma * sigma / (1.0 + sigma * sigma);
        assert!((found.noise - expected).abs() < 1e-12, "{found:?} against {expected}");
    }
}

#[test]
fn shares_have_the_same_bits_at_every_width_of_vectors() {
    for dimension in [2, 5] {
        let spec = odd(dimension);
        for pixel in spec.pixels() {
            let replicates = spec.replicates.get();
            let cell = Cell::new(&runs(Precision::Single, &spec, pixel, 0..replicates), spec.average, false);
            let shares = |backend| adam_shares(backend, &spec, pixel, &cell).to_array().map(f64::to_bits);
            let [plain, others @ ..] = &*backends(Precision::Double) else {
                panic!("plain instructions are everywhere")
            };
            for backend in others {
                assert_eq!(shares(*backend), shares(*plain), "{backend:?}");
            }
        }
    }
}

#[test]
fn two_dimensions_in_space_are_the_plane() {
    // In space the valley has another direction, so that only statistics agree.
    let plane = pixel_of(10.0, noise(1.0), 0.01);
    let space = SweepSpec { dimension: Dimension::clamped(3), ..plane.clone() };
    let [plane, space] = [plane, space].map(|spec| shares_of(&spec, [0, 0]));
    assert!(plane.is_known() && (space.noise - 0.5).abs() < 1e-12 && space.oscillation > 0.2, "{plane:?} {space:?}");
}

#[test]
fn a_sweep_without_adam_and_sums_of_diverged_runs_have_no_shares() {
    let mut spec = pixel_of(10.0, noise(1.0), 0.01);
    spec.optimizers[1] = SweepOptimizer { learning_rates: only(0.01), ..optimizer(1, crate::sweep::toy_focus()) };
    assert!(!shares_of(&spec, [0, 0]).is_known());
    for diverged in [[f64::NAN, 1.0, 1.0], [1.0, f64::INFINITY, 1.0], [1.0, 1.0, f64::NAN], [0.0, 0.0, 0.0]] {
        assert!(!Shares::of_sums(diverged).is_known(), "{diverged:?}");
    }
    assert_eq!(Shares::of_sums([1.0, 3.0, 1.0]).to_array(), [0.25, 0.25, 0.5]);
}
