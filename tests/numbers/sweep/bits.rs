//! Equality of bits with every kind of vector, on any number of threads, in any order and in parts, and the random
//! streams of a sweep's runs: normal, independent, and distinct.

use std::f64::consts::PI;
use std::sync::Arc;

use rand::Rng;
use valleyscope::sweep::pool::{Pool, Sweep};
use valleyscope_engine::lanes::Lanes;
use valleyscope_engine::optimizer::Need;
use valleyscope_engine::random::{Key, Normals, Stream};
use valleyscope_engine::sweep::{
    Backend, LearningRates, PixelOrder, Precision, Runs, SweepJob, SweepOptimizer, SweepSpec,
};

use crate::statistics::{assert_standard_normal, assert_within, correlation};
use crate::sweep::{backends, bits, count, fig2a, odd, optimizer, rules_of_whole_parameters, runs, runs_with, signum};

/// Rules that step each coordinate by itself, and those that do not, on a plane and in a space of an odd number of
/// dimensions, with noise of each run's own and with common noise.
fn sweeps() -> Vec<SweepSpec> {
    let with = |dimension: u64, common: bool| SweepSpec { common_random_numbers: common, ..odd(dimension) };
    let whole = |dimension: u64, common: bool| {
        let learning_rates = LearningRates { count: count(7), ..LearningRates::default() };
        let of_rule = |(id, rule)| SweepOptimizer { learning_rates, ..optimizer(id, rule) };
        let rules = rules_of_whole_parameters().into_iter();
        let rules = rules.filter(|rule| dimension == 2 || !rule.info().needs(Need::Axes));
        let optimizers = (3..).zip(rules).map(of_rule).collect();
        SweepSpec { optimizers, ..with(dimension, common) }
    };
    let kinds = [(2, false), (2, true), (5, false), (5, true)];
    kinds.into_iter().flat_map(|(dimension, common)| [with(dimension, common), whole(dimension, common)]).collect()
}

fn pixels(spec: &SweepSpec) -> Vec<[usize; 2]> {
    let [rows, columns] = spec.shape();
    (0..rows).flat_map(|row| (0..columns).map(move |column| [row, column])).collect()
}

#[test]
fn every_kind_of_vector_gives_the_same_bits() {
    for precision in Precision::ALL {
        let backends = backends(precision);
        let (plain, others) = backends.split_first().expect("plain instructions are everywhere");
        for spec in sweeps() {
            for pixel in pixels(&spec) {
                // One pixel has more replicates than any vector has lanes.
                let replicates = if pixel == [1, 2] { 0..70 } else { 0..11 };
                let expected = bits(&runs_with(*plain, &spec, pixel, replicates.clone()));
                for backend in others {
                    let found = bits(&runs_with(*backend, &spec, pixel, replicates.clone()));
                    let what = (backend, spec.dimension, spec.common_random_numbers, pixel);
                    assert!(found == expected, "other bits: {what:?}");
                }
            }
        }
    }
}

#[test]
fn replicates_computed_in_parts_equal_the_whole() {
    for spec in sweeps() {
        for precision in Precision::ALL {
            let pixel = [1, 2];
            let whole = runs(precision, &spec, pixel, 0..70);
            for cut in [1, 8, 33, 64] {
                let parts = [runs(precision, &spec, pixel, 0..cut), runs(precision, &spec, pixel, cut..70)];
                let [first, second] = &parts;
                let joined: Vec<Runs> = first.iter().zip(second).map(|(first, second)| join(first, second)).collect();
                assert!(bits(&joined) == bits(&whole), "cut at {cut}: {precision:?}, {:?}", spec.dimension);
            }
        }
    }
}

fn join(first: &Runs, second: &Runs) -> Runs {
    let rates = first.metrics.chunks(first.replicates).zip(second.metrics.chunks(second.replicates));
    let metrics = rates.flat_map(|(first, second)| [first, second].concat()).collect();
    Runs { replicates: first.replicates + second.replicates, metrics }
}

/// The bits of a pixel's metrics, for each optimizer and run.
type PixelBits = Vec<Vec<[u64; 3]>>;

/// All runs of all pixels but the `known`, by pixel.
fn swept(
    spec: &SweepSpec,
    threads: usize,
    order: PixelOrder,
    known: fn([usize; 2]) -> bool,
) -> Vec<([usize; 2], PixelBits)> {
    let backend = Backend::new(Precision::Single);
    let pool = Pool::new(threads).unwrap();
    assert_eq!(pool.threads(), threads);
    let job = SweepJob { order, keep_runs: true, known: &known, ..SweepJob::new(Arc::new(spec.clone()), backend) };
    let sweep = Sweep::start(&pool, job, || ());
    let mut pixels: Vec<_> =
        sweep.finished().iter().filter_map(|finished| Some((finished.pixel, bits(&finished.runs?)))).collect();
    pixels.sort();
    pixels
}

#[test]
fn threads_order_and_neighbours_change_nothing() {
    for spec in sweeps() {
        let alone: Vec<_> = pixels(&spec)
            .into_iter()
            .map(|pixel| (pixel, bits(&runs(Precision::Single, &spec, pixel, 0..11))))
            .collect();
        for threads in [1, 3] {
            for order in [PixelOrder::RowByRow, PixelOrder::CoarseToFine] {
                assert!(swept(&spec, threads, order, |_| false) == alone, "{threads} threads, {order:?}");
                // A rectangle alone.
                let is_outside = |[row, column]: [usize; 2]| row == 0 || column == 1;
                let inside: Vec<_> = alone.iter().filter(|(pixel, _)| !is_outside(*pixel)).cloned().collect();
                assert!(
                    swept(&spec, threads, order, is_outside) == inside,
                    "a rectangle, {threads} threads, {order:?}"
                );
            }
        }
    }
}

#[test]
fn other_optimizers_in_the_sweep_change_nothing() {
    for spec in sweeps() {
        let all = bits(&runs(Precision::Single, &spec, [1, 1], 0..11));
        for (index, optimizer) in spec.optimizers.iter().enumerate() {
            let alone = SweepSpec { optimizers: vec![optimizer.clone()], ..spec.clone() };
            assert!(bits(&runs(Precision::Single, &alone, [1, 1], 0..11))[0] == all[index], "{}", optimizer.label());
        }
    }
}

#[test]
fn noise_is_shared_by_optimizers_only_when_it_is_common() {
    for mut spec in sweeps() {
        spec.optimizers = vec![optimizer(3, signum()), optimizer(8, signum())];
        let runs = bits(&runs(Precision::Single, &spec, [0, 2], 0..11));
        let same = runs[0].iter().zip(&runs[1]).filter(|(one, other)| one == other).count();
        let expected = if spec.common_random_numbers { runs[0].len() } else { 0 };
        assert_eq!(same, expected, "{:?}", spec.dimension);
    }
}

#[test]
fn seed_row_and_column_each_change_the_noise() {
    for spec in sweeps() {
        let here = bits(&runs(Precision::Single, &spec, [0, 1], 0..11));
        let reseeded = SweepSpec { seed: spec.seed + 1, ..spec.clone() };
        // Where the axes have one value, only the place in the grid differs.
        let mut flat = spec.clone();
        flat.columns.from = 1.5;
        flat.columns.to = 1.5;
        flat.rows.to = flat.rows.from;
        let [first, beside, above] =
            [[0, 0], [0, 1], [1, 0]].map(|pixel| bits(&runs(Precision::Single, &flat, pixel, 0..11)));
        assert!(bits(&runs(Precision::Single, &reseeded, [0, 1], 0..11)) != here);
        assert!(first != beside && first != above && beside != above);
    }
}

/// A run of Fig. 2a by its row, column, optimizer, learning rate and replicate.
type Run = [usize; 5];

fn key([row, column, optimizer, rate, replicate]: Run) -> Key {
    fig2a([96, 100]).pixel_key(row, column).of_run(optimizer as u32, rate, replicate)
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
                let pixel = spec.pixel_key(row, column);
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
    let pixel = spec.pixel_key(5, 7);
    assert_eq!(pixel.of_run(0, 0, 11), pixel.of_run(2, 19, 11));
    assert_ne!(pixel.of_run(0, 0, 11), pixel.of_run(0, 0, 12));
    assert_ne!(pixel.of_run(0, 0, 11), spec.pixel_key(7, 5).of_run(0, 0, 11));
}
