//! The gap between the winner and each other optimizer, by runs that had no part in the choice of learning rates.
//!
//! The best of 20 noisy averages is biased towards better scores. So the replicates are split into two halves, each
//! optimizer's learning rate is chosen on one half, and the optimizers are compared on the other; then the halves change
//! places. The two differences rest on different runs, and their mean is one estimate of the gap.
//!
//! One split leaves much to its luck, so the estimate is that of the median of several, by the gap in standard errors. A
//! split in which a learning rate is chosen that diverges in the other half does not decide alone, as it would in a mean.
//! Choosing on more than half of the replicates, as cross-validation with 5 or 10 folds does, would make the error too
//! small: its folds choose on nearly the same runs.

use super::cell::{Average, Cell, Table};
use super::statistics::{Estimate, Gap};
use crate::random::Key;

/// The number of splits of the replicates into halves.
const SPLITS: u64 = 9;

/// A split of the replicates into two halves, each in ascending order.
pub(super) type Split = [Vec<usize>; 2];

/// The splits of so many replicates: for each the random half that a hash of its number gives, the same everywhere. None
/// where the replicates are too few.
pub(super) fn splits(replicates: usize) -> Vec<Split> {
    if replicates < Cell::FEWEST_TO_BE_SURE {
        return Vec::new();
    }
    let split = |number: u64| {
        let key = Key::new(number);
        let mut order: Vec<usize> = (0..replicates).collect();
        order.sort_by_key(|replicate| key.at(*replicate as u64).bits());
        let (first, second) = order.split_at(replicates / 2);
        [first, second].map(|half| {
            let mut half = half.to_vec();
            half.sort_unstable();
            half
        })
    };
    (0..SPLITS).map(split).collect()
}

/// The gap by which the winner is ahead of each optimizer; unknown for the winner itself, and for too few replicates. With
/// `paired`, runs of the same replicate share their noise.
pub(super) fn gaps_to_others(
    tables: &[Table],
    splits: &[Split],
    winner: usize,
    average: Average,
    paired: bool,
) -> Vec<Gap> {
    if splits.is_empty() {
        return vec![Gap::UNKNOWN; tables.len()];
    }
    let held_out: Vec<Vec<[Vec<f64>; 2]>> =
        tables.iter().map(|table| splits.iter().map(|split| held_out(table, average, split)).collect()).collect();
    let gap_to = |other: usize| {
        let by_split = held_out[winner].iter().zip(&held_out[other]).map(|(this, that)| {
            let on = |half: usize| difference(&tables[winner], &this[half], &that[half], average, paired);
            match (on(0), on(1)) {
                (Some(first), Some(second)) => Gap::mean_of_independent(&[(first.0, &first.1), (second.0, &second.1)]),
                _ => Gap::UNKNOWN,
            }
        });
        Gap::median(by_split.collect())
    };
    (0..tables.len()).map(|other| if other == winner { Gap::UNKNOWN } else { gap_to(other) }).collect()
}

/// The values of each half at the learning rate that is best on the other half.
fn held_out(table: &Table, average: Average, [first, second]: &Split) -> [Vec<f64>; 2] {
    [(second, first), (first, second)].map(|(chosen_on, compared_on)| {
        let values = table.values(best_rate(table, average, chosen_on));
        compared_on.iter().map(|replicate| values[*replicate]).collect()
    })
}

/// The learning rate with the best average over some of the replicates; of equal ones the smallest.
fn best_rate(table: &Table, average: Average, replicates: &[usize]) -> usize {
    let mut best = (table.metric.worst(), 0);
    let mut values = Vec::with_capacity(replicates.len());
    for rate in 0..table.rates() {
        let all = table.values(rate);
        values.clear();
        values.extend(replicates.iter().map(|replicate| all[*replicate]));
        let value = average.of(&values, table.metric);
        if table.metric.is_better(value, best.0) {
            best = (value, rate);
        }
    }
    best.1
}

/// The difference of the averages of two optimizers over the same replicates, and the independent estimates behind it.
/// `None` where its error is unknown.
fn difference(
    table: &Table,
    this: &[f64],
    that: &[f64],
    average: Average,
    paired: bool,
) -> Option<(f64, Vec<Estimate>)> {
    let metric = table.metric;
    if paired {
        let differences: Vec<f64> = this.iter().zip(that).map(|(this, that)| metric.advantage(*this, *that)).collect();
        if differences.iter().all(|difference| difference.is_finite()) {
            let estimate = average.estimate(&differences, f64::NEG_INFINITY)?;
            return Some((estimate.value, vec![estimate]));
        }
    }
    let estimates = [average.estimate(this, metric.worst())?, average.estimate(that, metric.worst())?];
    Some((metric.advantage(estimates[0].value, estimates[1].value), estimates.to_vec()))
}
