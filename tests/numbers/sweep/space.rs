//! The engine in more than two dimensions against the oracle, in distribution.

use valleyscope_engine::landscape::LandscapeSpec;
use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_engine::quantity::{Dimension, Replicates, StepCount};
use valleyscope_engine::sweep::{LearningRates, Precision, SweepOptimizer, SweepSpec};

use super::oracle::{self, LAWS, Toy};
use super::specs::{bits, count, fig2a, mars, only, optimizer, runs};
use super::truth::{Judge, oracle_samples, samples};

const RATES: usize = 6;

/// Compares the engine with the oracle. Rules that work by signs depend on the valley's direction, which the seed of a
/// sweep determines: each seed counts as one replicate, and the oracle draws a direction for every run.
fn agrees(precision: Precision, dimension: usize, steps: usize, seeds: usize, pixels: &[[usize; 2]]) {
    const GRID: [usize; 2] = [5, 7];
    let mut spec = SweepSpec {
        dimension: Dimension::clamped(dimension as u64),
        steps: StepCount::clamped(steps as u64),
        replicates: Replicates::clamped(1),
        ..fig2a(GRID)
    };
    let rates = LearningRates { count: count(RATES), ..LearningRates::default() };
    spec.optimizers =
        spec.optimizers.into_iter().map(|optimizer| SweepOptimizer { learning_rates: rates, ..optimizer }).collect();
    let mut judge = Judge::default();
    for &pixel in pixels {
        let of_seed = |seed: usize| {
            spec.seed = seed as u64;
            runs(precision, &spec, pixel, 0..1)
        };
        let by_seed: Vec<_> = (0..seeds).map(of_seed).collect();
        for (index, law) in LAWS.into_iter().enumerate() {
            for rate in 0..RATES {
                let mut engine = [vec![], vec![], vec![]];
                for runs in &by_seed {
                    let one = samples(&runs[index], rate);
                    engine.iter_mut().zip(one).for_each(|(all, one)| all.extend(one));
                }
                let toy = Toy { steps, ..oracle::fig2a(GRID, pixel) };
                let eta = oracle::log_spaced(-3.0, 0.0, RATES, rate);
                let oracle = toy.runs_in_space(law, eta, dimension, seeds, (rate + 10 * pixel[1]) as u64);
                let what = format!("{dimension} dimensions at {pixel:?}, {law:?}, learning rate {rate}");
                judge.compare(&what, &engine, &oracle_samples(&oracle), 0.0);
            }
        }
    }
    judge.verdict();
}

#[test]
fn a_hundred_dimensions_agree() {
    agrees(Precision::Single, 100, 200, 150, &[[2, 2]]);
}

#[test]
fn three_dimensions_agree() {
    agrees(Precision::Single, 3, 300, 300, &[[1, 1], [3, 6]]);
}

#[test]
fn three_dimensions_agree_in_double_precision() {
    agrees(Precision::Double, 3, 300, 400, &[[1, 1], [3, 6]]);
}

/// MARS without its correction is Adam as long as no gradient is longer than 1. The norm is that of all coordinates,
/// each of which stays shorter.
#[test]
fn mars_is_adam_until_a_gradient_is_longer_than_one() {
    for (dimension, precision) in [(2, Precision::Single), (100, Precision::Single), (100, Precision::Double)] {
        let found = |slope: f64, rule: RuleSpec| {
            let landscape = LandscapeSpec::default().with("slope", slope).unwrap();
            let learning_rates = only(0.01);
            let optimizers = vec![SweepOptimizer { learning_rates, ..optimizer(0, rule) }];
            let (dimension, steps) = (Dimension::clamped(dimension), StepCount::clamped(50));
            let spec = SweepSpec { landscape, dimension, steps, optimizers, ..fig2a([2, 7]) };
            bits(&runs(precision, &spec, [0, 3], 0..20))
        };
        let adam = RuleSpec::on_plane(RuleKind::Adam);
        let values = ["beta1", "beta2", "weight_decay"].map(|key| (key, adam.get(key).unwrap()));
        let mars = values.into_iter().fold(mars(), |rule, (key, value)| rule.with(key, value).unwrap());
        let mars = mars.with("gamma", 0.0).unwrap();
        assert!(found(0.01, mars) == found(0.01, adam), "{dimension} dimensions");
        assert!(found(1.5, mars) != found(1.5, adam), "{dimension} dimensions");
    }
}
