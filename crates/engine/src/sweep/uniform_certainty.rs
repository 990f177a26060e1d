//! The gap between the winner and each other optimizer, from runs that had no part in the choice of candidates.
//!
//! The best of 20 noisy averages is biased towards better scores. So the replicates are split into two halves, each
//! optimizer's candidate is chosen on one half, and the optimizers are compared on the other; then the halves
//! change roles. The two differences rest on different runs, and their mean is one estimate of the gap.
//!
//! One split depends much on chance, so the estimate is the median of several, by the gap in standard errors. A split
//! in which a candidate is chosen that diverges in the other half does not decide alone, as it would in a mean.
//! Choosing on more than half of the replicates, as cross-validation with 5 or 10 folds does, would make the error too
//! small: its folds choose on nearly the same runs.

use serde::{Deserialize, Serialize};

use super::runs::{Average, Table, mean, median, sorted, sum_of_squares, with_one_nan};
use crate::random::Key;

/// The smallest number of replicates that determine the certainty of a winner.
pub(super) const FEWEST_TO_BE_SURE: usize = 4;
/// The number of splits of the replicates into halves.
const SPLITS: usize = 9;
/// The number of halves of all splits: those of split `s` are `2 s` and `2 s + 1`.
const HALVES: usize = 2 * SPLITS;

/// Splits of the replicates into random halves, the same everywhere.
pub(super) struct Splits {
    /// The replicates of each half, in ascending order.
    halves: [Vec<usize>; HALVES],
    /// The membership of each replicate in each half: 1 if the half contains it, else 0.
    membership: Vec<[f64; HALVES]>,
}

impl Splits {
    /// Splits this number of replicates by a hash of each split's number; none if there are too few.
    pub(super) fn of(replicates: usize) -> Option<Splits> {
        if replicates < FEWEST_TO_BE_SURE {
            return None;
        }
        let mut halves: [Vec<usize>; HALVES] = std::array::from_fn(|_| Vec::new());
        for split in 0..SPLITS {
            let key = Key::new(split as u64);
            let mut order: Vec<usize> = (0..replicates).collect();
            order.sort_by_cached_key(|replicate| key.at(*replicate as u64).bits());
            let (first, second) = order.split_at(replicates / 2);
            for (half, part) in [first, second].into_iter().enumerate() {
                let half = &mut halves[2 * split + half];
                half.extend(part);
                half.sort_unstable();
            }
        }
        let mut membership = vec![[0.0; HALVES]; replicates];
        for (half, members) in halves.iter().enumerate() {
            members.iter().for_each(|replicate| membership[*replicate][half] = 1.0);
        }
        Some(Splits { halves, membership })
    }

    /// Returns the average over each half of a candidate's values.
    fn averages(&self, values: &[f64], table: &Table, average: Average) -> [f64; HALVES] {
        match average {
            Average::Mean => self.means(values, table.metric.worst()),
            Average::Median => std::array::from_fn(|half| average.of(&self.part(values, half), table.metric)),
        }
    }

    /// Returns the means over all halves in one pass; a value that is not finite makes the means that contain it
    /// `worst`.
    fn means(&self, values: &[f64], worst: f64) -> [f64; HALVES] {
        let (mut sums, mut not_finite) = ([0.0; HALVES], [0.0; HALVES]);
        for (value, membership) in values.iter().zip(&self.membership) {
            let (counts, part) = if value.is_finite() { (&mut sums, *value) } else { (&mut not_finite, 1.0) };
            counts.iter_mut().zip(membership).for_each(|(sum, is_in)| *sum += is_in * part);
        }
        let mean = |half: usize| sums[half] / self.halves[half].len() as f64;
        std::array::from_fn(|half| if not_finite[half] > 0.0 { worst } else { mean(half) })
    }

    fn part(&self, values: &[f64], half: usize) -> Vec<f64> {
        self.halves[half].iter().map(|replicate| values[*replicate]).collect()
    }

    /// Returns for each half its values of the candidate that is best on the other half of its split.
    fn held_out(&self, table: &Table, average: Average) -> [Vec<f64>; HALVES] {
        let mut best = [(table.metric.worst(), 0); HALVES];
        for candidate in 0..table.candidates() {
            let averages = self.averages(table.values(candidate), table, average);
            for (best, value) in best.iter_mut().zip(averages) {
                if table.metric.is_better(value, best.0) {
                    *best = (value, candidate);
                }
            }
        }
        std::array::from_fn(|half| self.part(table.values(best[half ^ 1].1), half))
    }

    /// Returns the gap between the winner and each optimizer; unknown for the winner itself. With `paired`, runs of the
    /// same replicate share their noise.
    pub(super) fn gaps(&self, tables: &[Table], winner: usize, average: Average, paired: bool) -> Vec<Gap> {
        let held_out: Vec<[Vec<f64>; HALVES]> = tables.iter().map(|table| self.held_out(table, average)).collect();
        let gap_to = |other: usize| {
            let on = |half: usize| {
                difference(&tables[winner], &held_out[winner][half], &held_out[other][half], average, paired)
            };
            let by_split = (0..SPLITS).map(|split| match (on(2 * split), on(2 * split + 1)) {
                (Some(first), Some(second)) => Gap::mean_of_independent(&[(first.0, &first.1), (second.0, &second.1)]),
                _ => Gap::UNKNOWN,
            });
            Gap::median(by_split.collect())
        };
        (0..tables.len()).map(|other| if other == winner { Gap::UNKNOWN } else { gap_to(other) }).collect()
    }
}

/// Returns the difference of the averages of two optimizers over the same replicates, and the independent estimates
/// behind it. `None` if its error is unknown.
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
            let estimate = Estimate::of(average, &differences, f64::NEG_INFINITY)?;
            return Some((estimate.value, vec![estimate]));
        }
    }
    let of = |values| Estimate::of(average, values, metric.worst());
    let estimates = [of(this)?, of(that)?];
    Some((metric.advantage(estimates[0].value, estimates[1].value), estimates.to_vec()))
}

/// An average and its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    pub value: f64,
    /// The square of the standard error.
    pub variance: f64,
    /// The degrees of freedom behind the variance.
    pub freedom: f64,
}

impl Estimate {
    /// Estimates this kind of average of at least two values.
    fn of(average: Average, values: &[f64], worst: f64) -> Option<Estimate> {
        match average {
            Average::Mean => Estimate::of_mean(values, worst),
            Average::Median => Estimate::of_median(values, worst),
        }
    }

    /// Estimates the mean of at least two values.
    pub(super) fn of_mean(values: &[f64], worst: f64) -> Option<Estimate> {
        let count = values.len();
        if count < 2 {
            return None;
        }
        let freedom = (count - 1) as f64;
        if values.iter().any(|value| !value.is_finite()) {
            return Some(Estimate { value: worst, variance: 0.0, freedom });
        }
        let mean = mean(values);
        Some(Estimate { value: mean, variance: sum_of_squares(values, mean) / freedom / count as f64, freedom })
    }

    /// Estimates the median of at least two values, with its standard error from the distance between two order
    /// statistics (McKean and Schrader 1984). `None` if too many values are not finite.
    pub(super) fn of_median(values: &[f64], worst: f64) -> Option<Estimate> {
        let count = values.len();
        if count < 2 {
            return None;
        }
        const Z: f64 = 2.575_829_303_548_901;
        let below = ((count + 1) as f64 / 2.0 - Z * (count as f64 / 4.0).sqrt()).round().max(1.0) as usize;
        let sorted = sorted(values, worst);
        let (value, freedom) = (median(values, worst), (count - 1) as f64);
        if value == worst {
            return Some(Estimate { value, variance: 0.0, freedom });
        }
        let error = (sorted[count - below] - sorted[below - 1]) / (2.0 * Z);
        error.is_finite().then_some(Estimate { value, variance: error * error, freedom })
    }
}

/// The difference between two averages, or a mean of several differences.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// The difference; positive if the first average is better.
    pub value: f64,
    pub error: f64,
    /// The degrees of freedom, by Welch and Satterthwaite.
    pub freedom: f64,
}

impl Gap {
    pub(super) const UNKNOWN: Gap = Gap { value: f64::NAN, error: f64::NAN, freedom: f64::NAN };

    pub(super) fn of(value: f64, error: f64, freedom: f64) -> Gap {
        let [value, error, freedom] = [value, error, freedom].map(with_one_nan);
        Gap { value, error, freedom }
    }

    /// Returns the mean of differences whose parts are independent of each other.
    fn mean_of_independent(differences: &[(f64, &[Estimate])]) -> Gap {
        let count = differences.len() as f64;
        let value = differences.iter().map(|(difference, _)| difference).sum::<f64>() / count;
        let parts = || differences.iter().flat_map(|(_, parts)| parts.iter());
        let variance: f64 = parts().map(|part| part.variance).sum();
        let spread: f64 = parts().map(|part| part.variance * part.variance / part.freedom).sum();
        Gap::of(value, variance.sqrt() / count, variance * variance / spread)
    }

    /// Returns the median gap of several, by their values in standard errors; of two middle ones the smaller. `UNKNOWN`
    /// if fewer than half of them are known.
    pub(super) fn median(mut gaps: Vec<Gap>) -> Gap {
        let all = gaps.len();
        gaps.retain(|gap| gap.certainty().is_some());
        if 2 * gaps.len() < all {
            return Gap::UNKNOWN;
        }
        let in_errors = |gap: &Gap| if gap.value == 0.0 { 0.0 } else { gap.value / gap.error };
        gaps.sort_by(|a, b| in_errors(a).total_cmp(&in_errors(b)).then(a.value.total_cmp(&b.value)));
        gaps.get(gaps.len().saturating_sub(1) / 2).copied().unwrap_or(Gap::UNKNOWN)
    }

    /// Returns the probability that the true difference is positive: Student's distribution at the gap over its error.
    /// `None` if there are too few replicates.
    pub(crate) fn certainty(&self) -> Option<f64> {
        use statrs::distribution::{ContinuousCDF, StudentsT};
        if self.value.is_nan() || self.error.is_nan() {
            return None;
        }
        if self.error == 0.0 || self.value.is_infinite() {
            return Some(if self.value == 0.0 { 0.5 } else { f64::from(u8::from(self.value > 0.0)) });
        }
        let student = StudentsT::new(0.0, 1.0, self.freedom).ok()?;
        Some(student.cdf(self.value / self.error))
    }
}
