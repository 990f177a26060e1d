//! Equality of bits with every kind of vector, on any number of threads, in any order and in parts.

use std::sync::Arc;

use valleyscope::sweep::pool::{Pool, Sweep};
use valleyscope_engine::optimizer::Need;
use valleyscope_engine::sweep::{
    Backend, LearningRates, PixelOrder, Precision, Runs, SweepJob, SweepOptimizer, SweepSpec,
};

use super::specs::{backends, bits, count, odd, optimizer, rules_of_whole_parameters, runs, runs_with, signum};

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
    let job =
        SweepJob { spec: Arc::new(spec.clone()), backend, order, keep_runs: true, known: &known, begun: &|_| None };
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
