//! The random streams of a sweep's runs: normal, independent, and distinct.

use std::f64::consts::PI;

use rand::Rng;
use valleyscope_engine::lanes::Lanes;
use valleyscope_engine::random::{Key, Normals, Stream};
use valleyscope_engine::sweep::{PixelKey, SweepSpec};

use super::specs::fig2a;
use crate::statistics::{Moments, assert_within, correlation, kolmogorov_smirnov, normal_cdf};

/// A run of Fig. 2a by its row, column, optimizer, learning rate and replicate.
type Run = [usize; 5];

fn key([row, column, optimizer, rate, replicate]: Run) -> Key {
    PixelKey::new(&fig2a([96, 100]), row, column).of_run(optimizer as u32, rate, replicate)
}

/// A function that returns the draws for x and y of `count` steps from each stream, in one precision.
type Draw = fn(&[Key], usize) -> Vec<[Vec<f64>; 2]>;

const PRECISIONS: [(&str, Draw); 2] = [("f32", draw::<16, Lanes<f32, 16>>), ("f64", draw::<8, Lanes<f64, 8>>)];

fn draw<const N: usize, V>(keys: &[Key], count: usize) -> Vec<[Vec<f64>; 2]>
where
    V: Normals<N, Number: Into<f64>>,
{
    let mut streams = vec![[Vec::with_capacity(count), Vec::with_capacity(count)]; keys.len()];
    for (keys, streams) in keys.chunks(N).zip(streams.chunks_mut(N)) {
        let mut generator = V::generator(&std::array::from_fn(|lane| keys[lane.min(keys.len() - 1)]));
        for _ in 0..count {
            let pair = V::normal_pair(&mut generator).map(V::to_lanes);
            for (lane, stream) in streams.iter_mut().enumerate() {
                stream.iter_mut().zip(&pair).for_each(|(draws, lanes)| draws.push(lanes.0[lane].into()));
            }
        }
    }
    streams
}

#[track_caller]
fn assert_standard_normal(what: &str, draws: &[f64]) {
    let n = draws.len() as f64;
    let moments = Moments::of(draws);
    assert_within(&format!("{what}: mean"), moments.mean, 0.0, (1.0 / n).sqrt());
    assert_within(&format!("{what}: variance"), moments.variance, 1.0, (2.0 / n).sqrt());
    assert_within(&format!("{what}: skewness"), moments.skewness, 0.0, (6.0 / n).sqrt());
    assert_within(&format!("{what}: excess kurtosis"), moments.excess_kurtosis, 0.0, (24.0 / n).sqrt());
    let distance = kolmogorov_smirnov(draws, normal_cdf);
    // A true sample exceeds 2.0/√n once in 1,500 times.
    assert!(distance * n.sqrt() < 2.0, "{what}: Kolmogorov–Smirnov distance {distance}");
    for threshold in [3.0, 4.0] {
        let p = normal_cdf(-threshold);
        let share = |is_in: &dyn Fn(f64) -> bool| draws.iter().filter(|draw| is_in(**draw)).count() as f64 / n;
        let error = (p * (1.0 - p) / n).sqrt();
        assert_within(&format!("{what}: above {threshold}"), share(&|draw| draw > threshold), p, error);
        assert_within(&format!("{what}: below −{threshold}"), share(&|draw| draw < -threshold), p, error);
    }
}

#[track_caller]
fn assert_uncorrelated(what: &str, a: &[f64], b: &[f64]) {
    let squares = |draws: &[f64]| draws.iter().map(|draw| draw * draw).collect::<Vec<_>>();
    let error = 1.0 / (a.len() as f64).sqrt();
    let (a_squares, b_squares) = (squares(a), squares(b));
    assert_within(&format!("{what}: correlation"), correlation(a, b), 0.0, error);
    assert_within(&format!("{what}: of squares"), correlation(&a_squares, &b_squares), 0.0, error);
    assert_within(&format!("{what}: of the square of one"), correlation(&a_squares, b), 0.0, error);
    assert_within(&format!("{what}: of the square of the other"), correlation(a, &b_squares), 0.0, error);
}

const HERE: Run = [5, 7, 1, 3, 11];

#[test]
fn the_draws_of_a_run_are_normal_and_independent() {
    for (precision, draw) in PRECISIONS {
        let [x, y] = &draw(&[key(HERE)], 300_000)[0];
        assert_standard_normal(&format!("{precision} x"), x);
        assert_standard_normal(&format!("{precision} y"), y);
        assert_uncorrelated(&format!("{precision} x and y"), x, y);
        for lag in 1..=8 {
            let (before, after) = (x.len() - lag, lag..);
            for (name, a, b) in [("xx", x, x), ("yy", y, y), ("xy", x, y), ("yx", y, x)] {
                assert_uncorrelated(&format!("{precision} {name} {lag} steps later"), &a[..before], &b[after.clone()]);
            }
        }
    }
}

/// Millions of draws distinguish an error of half a percent from chance.
#[test]
fn the_draws_of_many_runs_are_normal_together() {
    let keys: Vec<Key> = (0..16).map(|replicate| key([60, 33, 0, 12, replicate])).collect();
    for (precision, draw) in PRECISIONS {
        let [mut x, mut y] = [vec![], vec![]];
        for [xs, ys] in draw(&keys, 150_000) {
            x.extend(xs);
            y.extend(ys);
        }
        for (axis, draws) in [("x", x), ("y", y)] {
            assert_standard_normal(&format!("{precision} {axis}"), &draws);
            let largest = draws.iter().fold(0.0, |largest: f64, draw| largest.max(draw.abs()));
            // The middle of the largest of so many is 5.2; it is below 4.5 or beyond 6.6 once in ten million times.
            assert!((4.5..6.6).contains(&largest), "{precision}: {largest}");
        }
    }
}

/// A pair in single precision has one of 2²³ angles in half a turn, and a radius from one of 2³¹ equally likely parts.
/// An error of logarithm, sine or cosine too small for any statistics shows in that.
#[test]
fn pairs_in_single_precision_lie_on_their_grid() {
    let keys: Vec<Key> = (0..16).map(|replicate| key([2, 3, 2, 1, replicate])).collect();
    // The likeness of the places between the points of a grid: 1 if all are equal, 0 if they are random.
    let alike = |places: &[f64]| {
        let mean =
            |wave: fn(f64) -> f64| places.iter().map(|at| wave(2.0 * PI * at)).sum::<f64>() / places.len() as f64;
        mean(f64::cos).hypot(mean(f64::sin))
    };
    let (mut angles, mut parts) = (vec![], vec![]);
    for [x, y] in draw::<16, Lanes<f32, 16>>(&keys, 60_000) {
        for (x, y) in x.into_iter().zip(y) {
            angles.push((y / x).atan() / PI * f64::from(1 << 23));
            let part = (-0.5 * (x * x + y * y)).exp() * f64::from(1_u32 << 31);
            if part < 50_000.0 {
                parts.push(part);
            }
        }
    }
    println!("angles {:.3}, {} radii {:.3}", alike(&angles), parts.len(), alike(&parts));
    assert!(alike(&angles) > 0.5, "{}", alike(&angles));
    assert!(parts.len() > 10 && alike(&parts) > 0.8, "{} of {}", alike(&parts), parts.len());
}

/// The runs of a pixel, a row, a column and a series of learning rates start from independent draws.
#[test]
fn the_first_draws_of_neighbouring_runs_are_normal_and_independent() {
    for (precision, draw) in PRECISIONS {
        for index in 0..HERE.len() {
            let keys: Vec<Key> = (0..20_000)
                .map(|step| {
                    let mut run = HERE;
                    run[index] = step;
                    key(run)
                })
                .collect();
            let streams = draw(&keys, 2);
            for which in [0, 1] {
                let [x, y] = [0, 1].map(|axis| streams.iter().map(|stream| stream[axis][which]).collect::<Vec<f64>>());
                let what = format!("{precision}, draw {which} along index {index}");
                assert_standard_normal(&what, &x);
                assert_uncorrelated(&format!("{what}: x and y"), &x, &y);
                assert_uncorrelated(&format!("{what}: next but one"), &x[2..], &x[..x.len() - 2]);
                assert_uncorrelated(&format!("{what}: neighbours"), &x[1..], &x[..x.len() - 1]);
            }
        }
    }
}

#[test]
fn neighbouring_runs_stay_independent() {
    for (precision, draw) in PRECISIONS {
        let mut runs = vec![HERE];
        for index in 0..HERE.len() {
            let mut run = HERE;
            run[index] += 1;
            runs.push(run);
        }
        // In these runs, rows and columns, and optimizers and learning rates, are exchanged.
        runs.push([7, 5, 1, 3, 11]);
        runs.push([5, 7, 3, 1, 11]);
        runs.push([5, 7, 1, 11, 3]);
        let keys: Vec<Key> = runs.iter().map(|run| key(*run)).collect();
        let streams = draw(&keys, 50_000);
        for (a, one) in streams.iter().enumerate() {
            for (b, other) in streams.iter().enumerate().skip(a + 1) {
                for (axis, other_axis) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    let what = format!("{precision}: {:?} and {:?}", runs[a], runs[b]);
                    assert_uncorrelated(&what, &one[axis], &other[other_axis]);
                }
            }
        }
    }
}

/// The first words of a quarter of a million streams differ: a repeated key would repeat a word, and chance does so
/// once in 10⁹ times.
#[test]
fn no_two_runs_have_the_same_stream() {
    let (mut words, mut runs) = (Vec::new(), 0);
    for seed in [0, 1] {
        let spec = SweepSpec { seed, ..fig2a([96, 100]) };
        for row in (0..96).step_by(5) {
            for column in (0..100).step_by(7) {
                let pixel = PixelKey::new(&spec, row, column);
                for (optimizer, rate, replicate) in
                    (0..3).flat_map(|o| (0..20).flat_map(move |l| (0..10).map(move |k| (o, l, k))))
                {
                    words.push(Stream::new(pixel.of_run(optimizer, rate, replicate)).next_u64());
                    runs += 1;
                }
            }
        }
    }
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), runs);
}

#[test]
fn common_noise_has_a_key_for_each_pixel_and_replicate_alone() {
    let spec = SweepSpec { common_random_numbers: true, ..fig2a([96, 100]) };
    let pixel = PixelKey::new(&spec, 5, 7);
    assert_eq!(pixel.of_run(0, 0, 11), pixel.of_run(2, 19, 11));
    assert_ne!(pixel.of_run(0, 0, 11), pixel.of_run(0, 0, 12));
    assert_ne!(pixel.of_run(0, 0, 11), PixelKey::new(&spec, 7, 5).of_run(0, 0, 11));
}
