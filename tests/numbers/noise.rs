//! Noise: random streams that are normal, independent and functions of their keys alone, and the kinds of noise of
//! gradients, whose steps are compared with formulas written from their sources.

use rand::Rng;
use statrs::distribution::{ContinuousCDF, StudentsT};
use valleyscope_engine::lanes::Lanes;
use valleyscope_engine::noise::{NoiseKind, NoiseSpec};
use valleyscope_engine::optimizer::Need;
use valleyscope_engine::quantity::Noise;
use valleyscope_engine::random::{Key, Stream, Streams};
use valleyscope_engine::simulation::{ParticleId, Simulation, SimulationSpec, noise_key};

use crate::specs::{all_rules, rated, simulation, start, valley};
use crate::statistics::{Moments, assert_standard_normal, assert_within, correlation, kolmogorov_smirnov};
use crate::trajectories::{Case, draws_of_step, first_disagreement, next_draws, valley_of};

/// Draws x and y of `count` steps from the stream of `key`.
fn pairs(key: Key, count: usize) -> (Vec<f64>, Vec<f64>) {
    let mut stream = Streams::<1>::new([key]);
    (0..count).map(|_| next_draws(&mut stream)).map(|[x, y]| (x, y)).unzip()
}

/// Returns the first draws of `count` streams beside one another.
fn first_pairs(parent: Key, count: u64) -> (Vec<f64>, Vec<f64>) {
    (0..count).map(|index| next_draws(&mut Streams::new([parent.at(index)]))).map(|[x, y]| (x, y)).unzip()
}

/// An ensemble takes one draw from each of many streams in a step.
#[test]
fn the_same_draw_of_many_streams_is_standard_normal() {
    let (x, y) = first_pairs(Key::new(2).at(1), 300_000);
    assert_standard_normal("x", &x);
    assert_standard_normal("y", &y);
    assert_within("correlation of x and y", correlation(&x, &y), 0.0, 1.0 / (x.len() as f64).sqrt());
}

/// Checks that n r² over many pairs of streams adds up to χ² with as many degrees of freedom as pairs.
#[track_caller]
fn assert_uncorrelated(streams: &[(Vec<f64>, Vec<f64>)]) {
    let mut sum = 0.0;
    let mut pairs = 0.0;
    for next in streams.windows(2) {
        let [(x, y), (next_x, next_y)] = next else { unreachable!() };
        for (a, b) in [(x, next_x), (y, next_y), (x, next_y), (y, next_x)] {
            sum += a.len() as f64 * correlation(a, b).powi(2);
            pairs += 1.0;
        }
    }
    // Under independence E[n r²] is n/(n − 1), and its variance just under 2.
    let n = streams[0].0.len() as f64;
    assert_within("sum of n r²", sum, pairs * n / (n - 1.0), (2.0 * pairs).sqrt());
}

#[test]
fn neighbouring_streams_are_uncorrelated() {
    const STEPS: usize = 500;
    let particles: Vec<_> = (0..1000).map(|particle| pairs(Key::new(5).at(0).at(particle), STEPS)).collect();
    assert_uncorrelated(&particles);
    let optimizers: Vec<_> = (0..300).map(|optimizer| pairs(Key::new(5).at(optimizer).at(0), STEPS)).collect();
    assert_uncorrelated(&optimizers);
    let seeds: Vec<_> = (0..300).map(|seed| pairs(Key::new(seed).at(0).at(0), STEPS)).collect();
    assert_uncorrelated(&seeds);
    // These seeds differ in one high bit.
    let bits: Vec<_> = (0..64).map(|bit| pairs(Key::new(1 << bit).at(0).at(0), STEPS)).collect();
    assert_uncorrelated(&bits);
}

#[test]
fn a_million_keys_begin_a_million_streams() {
    let mut first: Vec<u64> = Vec::with_capacity(1_100_000);
    for seed in 0..10 {
        first.push(Stream::new(Key::new(seed)).next_u64());
        for optimizer in 0..10 {
            let key = Key::new(seed).at(optimizer);
            first.push(Stream::new(key).next_u64());
            first.extend((0..10_000).map(|particle| Stream::new(key.at(particle)).next_u64()));
        }
    }
    let keys = first.len();
    first.sort_unstable();
    first.dedup();
    // A chance collision among 10⁶ of 2⁶⁴ numbers has probability 3e-8.
    assert_eq!(first.len(), keys);
}

#[test]
fn keys_are_equal_exactly_for_equal_paths() {
    let root = Key::new(9);
    assert_eq!(root.at(1).at(2), Key::new(9).at(1).at(2));
    assert_ne!(root.at(1).at(2), root.at(2).at(1));
    assert_ne!(root.at(0), root);
    assert_ne!(root.at(0).at(0), root.at(0));
    assert_ne!(Key::new(0).at(1), Key::new(1).at(0));
    assert_ne!(root.at(0), root.at(u64::MAX));
}

/// Bytes, 32 and 64 bits come from the same sequence, so that `rand`'s distributions can use a stream.
#[test]
fn a_stream_serves_as_a_generator() {
    let key = Key::new(8).at(3);
    let words: Vec<u64> = {
        let mut stream = Stream::new(key);
        (0..4).map(|_| stream.next_u64()).collect()
    };
    let mut halves = Stream::new(key);
    assert!(words.iter().all(|word| halves.next_u32() == (word >> 32) as u32));
    let mut bytes = [0; 27];
    Stream::new(key).fill_bytes(&mut bytes);
    let expected: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).take(27).collect();
    assert_eq!(bytes.as_slice(), expected);
}

/// SplitMix64 and xoshiro256++ as published, to hash a path and to generate.
mod published {
    pub const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

    pub fn mix(z: u64) -> u64 {
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub struct SplitMix64(pub u64);

    impl SplitMix64 {
        pub fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(INCREMENT);
            mix(self.0)
        }
    }

    pub struct Xoshiro256PlusPlus(pub [u64; 4]);

    impl Xoshiro256PlusPlus {
        pub fn next(&mut self) -> u64 {
            let s = &mut self.0;
            let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
            let t = s[1] << 17;
            s[2] ^= s[0];
            s[3] ^= s[1];
            s[1] ^= s[2];
            s[0] ^= s[3];
            s[2] ^= t;
            s[3] = s[3].rotate_left(45);
            result
        }
    }
}

#[test]
fn the_published_generators_reproduce_their_published_numbers() {
    let mut split_mix = published::SplitMix64(1_234_567);
    let numbers = [(); 5].map(|()| split_mix.next());
    assert_eq!(
        numbers,
        [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ]
    );
    let mut xoshiro = published::Xoshiro256PlusPlus([1, 2, 3, 4]);
    let numbers = [(); 6].map(|()| xoshiro.next());
    assert_eq!(
        numbers,
        [
            41_943_041,
            58_720_359,
            3_588_806_011_781_223,
            3_591_011_842_654_386,
            9_228_616_714_210_784_205,
            9_973_669_472_204_895_162,
        ]
    );
}

/// Returns the stream at a path, from the published generators.
fn published_stream(seed: u64, path: &[u64]) -> published::Xoshiro256PlusPlus {
    let hash = path.iter().fold(published::mix(seed), |hash, &index| {
        published::mix(hash.rotate_left(23) ^ published::mix(index.wrapping_add(published::INCREMENT)))
    });
    let mut seeder = published::SplitMix64(hash);
    published::Xoshiro256PlusPlus([(); 4].map(|()| seeder.next()))
}

/// The bits are those of xoshiro256++, and the normal draws those of Box and Muller with the standard library's
/// functions, up to rounding.
#[test]
fn streams_agree_with_the_published_generators() {
    for (seed, path) in [(0, vec![]), (1, vec![2, 3]), (u64::MAX, vec![0, u64::MAX, 7])] {
        let key = path.iter().fold(Key::new(seed), |key, &index| key.at(index));
        let mut expected = published_stream(seed, &path);
        let mut stream = Stream::new(key);
        (0..1000).for_each(|_| assert_eq!(stream.next_u64(), expected.next()));
        let mut bits = published_stream(seed, &path);
        let mut normals = Streams::new([key]);
        for _ in 0..10_000 {
            let (radius, angle) = (bits.next(), bits.next());
            let fraction = |bits: u64| (bits >> 12) as f64 / (1_u64 << 52) as f64;
            let radius = (-2.0 * (1.0 - fraction(radius)).ln()).sqrt();
            let quarters = (angle & 1) as f64 + 2.0 * (angle >> 1 & 1) as f64;
            let angle = (fraction(angle) - 0.5 + quarters) * std::f64::consts::FRAC_PI_2;
            let [x, y] = next_draws(&mut normals);
            let off = (x - radius * angle.cos()).abs().max((y - radius * angle.sin()).abs());
            assert!(off < 2e-15 * radius.max(0.1), "off by {off} at radius {radius}");
        }
    }
}

/// The golden numbers were made by this crate: a version that draws others cannot repeat saved sessions.
#[test]
fn streams_do_not_change_between_versions() {
    let mut stream = Stream::new(Key::new(1).at(2).at(3));
    assert_eq!(
        [(); 3].map(|()| stream.next_u64()),
        [13_145_652_067_722_142_884, 10_970_796_210_411_960_555, 9_814_385_999_557_924_996]
    );
    let mut normals = Streams::new([Key::new(1).at(2).at(3)]);
    assert_eq!(
        [(); 2].map(|()| next_draws(&mut normals)),
        [[0.234_120_029_458_338_32, -1.561_773_959_090_34], [-0.013_922_271_136_036_802, 1.232_293_193_890_512_6]]
    );
}

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
