//! Each rule in single precision against itself in double precision, in distribution.

use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_engine::quantity::{LearningRate, Replicates};
use valleyscope_engine::sweep::{LearningRates, Precision, SweepOptimizer, SweepSpec};

use super::specs::{count, fig2a, optimizer, runs};
use super::truth::{Judge, samples};

const RATES: usize = 4;
const REPLICATES: usize = 300;

/// Pixels with noise: without it, the chaos of some rules makes rounding the only source of randomness.
const SPOTS: [[usize; 2]; 4] = [[1, 1], [1, 4], [3, 1], [3, 4]];

#[test]
fn every_rule_has_the_same_distribution_in_both_precisions() {
    let rate = |rate| LearningRate::new(rate).unwrap();
    let of = |(id, &kind): (u32, &RuleKind)| {
        // The rates are small enough that SGD does not diverge: the depth of a diverged run depends on the largest
        // number of the precision.
        let [from, to] = if kind == RuleKind::Sgd { [1e-5, 1e-3] } else { [1e-3, 0.3] }.map(rate);
        let learning_rates = LearningRates { from, to, count: count(RATES) };
        SweepOptimizer { learning_rates, ..optimizer(id, RuleSpec::on_plane(kind)) }
    };
    let spec = |seed: u64| SweepSpec {
        seed,
        replicates: Replicates::clamped(REPLICATES as u64),
        optimizers: (0..).zip(RuleKind::ALL).map(of).collect(),
        ..fig2a([5, 6])
    };
    let mut judge = Judge::default();
    for pixel in SPOTS {
        let single = runs(Precision::Single, &spec(1), pixel, 0..REPLICATES);
        let double = runs(Precision::Double, &spec(2), pixel, 0..REPLICATES);
        for ((kind, single), double) in RuleKind::ALL.iter().zip(&single).zip(&double) {
            for rate in 0..RATES {
                let what = format!("{} at {pixel:?}, learning rate {rate}", kind.info().name);
                judge.compare(&what, &samples(single, rate), &samples(double, rate), 0.0);
            }
        }
    }
    judge.verdict();
}
