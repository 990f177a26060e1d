//! Sweeps with each kind of noise.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use valleyscope::sweep::pool::{Pool, Sweep};
use valleyscope_engine::noise::{NoiseKind, NoiseSpec};
use valleyscope_engine::optimizer::Need;
use valleyscope_engine::quantity::{StartSpread, StepCount};
use valleyscope_engine::sweep::{
    Axis, Backend, LearningRates, PixelOrder, Precision, Quantity, Spacing, SweepJob, SweepOptimizer, SweepSpec,
};

use super::specs::{backends, bits, count, odd, only, optimizer, rules_of_whole_parameters, runs, runs_with, sgd};
use crate::noise_kinds::{heavy_tailed, of_kind};
use crate::statistics::{Moments, assert_within, kolmogorov_smirnov};

/// Returns small sweeps of all kinds of steps with each kind of noise, on a plane and in a space.
fn sweeps() -> Vec<SweepSpec> {
    let kinds = [of_kind(NoiseKind::Additive, 1.0), heavy_tailed(1.0, 2.5)];
    let with = |noise: NoiseSpec, dimension: u64, common: bool| {
        let mut spec = SweepSpec { common_random_numbers: common, noise, ..odd(dimension) };
        let learning_rates = LearningRates { count: count(3), ..LearningRates::default() };
        let whole = rules_of_whole_parameters().into_iter();
        let whole = whole.filter(|rule| dimension == 2 || !rule.info().needs(Need::Axes));
        let whole = (20..).zip(whole).map(|(id, rule)| SweepOptimizer { learning_rates, ..optimizer(id, rule) });
        spec.optimizers.extend(whole);
        spec
    };
    let places = [(2, false), (2, true), (5, false)];
    kinds.into_iter().flat_map(|noise| places.map(|(dimension, common)| with(noise, dimension, common))).collect()
}

#[test]
fn each_kind_of_noise_gives_the_same_bits_in_every_kind_of_vector() {
    for precision in Precision::ALL {
        let backends = backends(precision);
        let (plain, others) = backends.split_first().expect("plain instructions are everywhere");
        for spec in sweeps() {
            let expected = bits(&runs_with(*plain, &spec, [1, 2], 0..11));
            for backend in others {
                let found = bits(&runs_with(*backend, &spec, [1, 2], 0..11));
                assert!(found == expected, "{backend:?}, {:?}, {:?}", spec.noise, spec.dimension);
            }
        }
    }
}

#[test]
fn each_kind_of_noise_gives_the_same_diagram_on_any_number_of_threads() {
    for spec in sweeps() {
        let swept = |threads: usize| {
            let pool = Pool::new(threads).unwrap();
            let backend = Backend::new(Precision::Single);
            let known = |_: [usize; 2]| false;
            let (spec, order) = (std::sync::Arc::new(spec.clone()), PixelOrder::RowByRow);
            let job = SweepJob { spec, backend, order, keep_runs: true, known: &known, begun: &|_| None };
            let sweep = Sweep::start(&pool, job, || ());
            let pixels = sweep.finished().iter();
            let mut pixels: Vec<_> = pixels.filter_map(|done| Some((done.pixel, bits(&done.runs?)))).collect();
            pixels.sort();
            pixels
        };
        let alone = swept(1);
        assert_eq!(alone.len(), 6);
        assert!(alone == swept(3), "{:?}, {:?}", spec.noise, spec.dimension);
        // The kind is seen in the results, and an axis of σ keeps it.
        let paper = SweepSpec { noise: NoiseKind::Multiplicative.into(), ..spec.clone() };
        let [here, there] = [&spec, &paper].map(|spec| bits(&runs(Precision::Single, spec, [1, 2], 0..11)));
        assert!(here != there, "{:?}", spec.noise);
    }
}

#[test]
fn an_axis_of_the_tails_gives_the_runs_of_each_noise() {
    let noise = heavy_tailed(1.0, 3.0);
    let of = Quantity::NoiseParameter(noise.info().parameters[1].key);
    assert_eq!((of.key(), of.info(&odd(2).landscape).label), ("degrees_of_freedom", "Degrees of freedom ν"));
    let freedoms = [2.5, 20.0];
    let columns = Axis { of, from: freedoms[0], to: freedoms[1], count: count(2), spacing: Spacing::Linear };
    let swept = SweepSpec { noise, columns, ..odd(2) };
    for (column, freedom) in freedoms.into_iter().enumerate() {
        // σ is 1 in this column.
        let sigma =
            Axis { of: Quantity::Noise, from: 1.0 - column as f64, to: 2.0 - column as f64, ..swept.columns.clone() };
        let fixed = SweepSpec { noise: heavy_tailed(1.0, freedom), columns: sigma, ..odd(2) };
        let [found, expected] = [&swept, &fixed].map(|spec| bits(&runs(Precision::Double, spec, [1, column], 0..11)));
        assert!(found == expected, "ν = {freedom}");
    }
}

/// Returns u/η after one step of gradient descent from the origin, for many replicates.
fn first_steps(noise: NoiseSpec, slope: f64, rotation: f64, dimension: u64, precision: Precision) -> Vec<f64> {
    let rule = sgd().with("beta1", 0.0).and_then(|rule| rule.with("weight_decay", 0.0)).unwrap();
    let mut spec = odd(dimension);
    spec.noise = noise;
    spec.steps = StepCount::clamped(1);
    spec.start_spread = StartSpread::clamped(0.0);
    spec.landscape = spec.landscape.with("slope", slope).unwrap().with("rotation_degrees", rotation).unwrap();
    // A flat valley, in which the loss is −c u.
    (spec.rows.from, spec.rows.count) = (1e-6, count(1));
    (spec.columns.from, spec.columns.count) = (SIGMA, count(1));
    spec.optimizers = vec![SweepOptimizer { learning_rates: only(RATE), ..optimizer(1, rule) }];
    let runs = runs(precision, &spec, [0, 0], 0..COUNT);
    runs[0].metrics.iter().map(|metrics| -metrics.final_loss / slope / RATE).collect()
}

const COUNT: usize = 4000;
const SIGMA: f64 = 0.5;
const RATE: f64 = 0.01;

#[test]
fn the_first_steps_of_a_sweep_have_the_distribution_of_the_noise() {
    for precision in Precision::ALL {
        for (dimension, slope) in [(2, 0.1), (2, 10.0), (5, 0.1), (5, 10.0)] {
            let at = first_steps(of_kind(NoiseKind::Additive, 3.0), slope, 30.0, dimension, precision);
            let normal = Normal::new(slope, SIGMA).unwrap();
            let distance = kolmogorov_smirnov(&at, |at| normal.cdf(at)) * (COUNT as f64).sqrt();
            assert!(distance < 2.0, "{dimension} dimensions, slope {slope}: {distance}");
            let Moments { variance, .. } = Moments::of(&at);
            assert_within("variance", variance, SIGMA * SIGMA, SIGMA * SIGMA * (2.0 / COUNT as f64).sqrt());
        }
        for (slope, freedom) in [(0.1, 2.5), (10.0, 2.5), (0.1, 10.0)] {
            let at = first_steps(heavy_tailed(3.0, freedom), slope, 0.0, 2, precision);
            let scale = slope * SIGMA * ((freedom - 2.0_f64) / freedom).sqrt();
            let student = StudentsT::new(slope, scale, freedom).unwrap();
            let distance = kolmogorov_smirnov(&at, |at| student.cdf(at)) * (COUNT as f64).sqrt();
            assert!(distance < 2.0, "ν = {freedom}, slope {slope}: {distance}");
        }
    }
}
