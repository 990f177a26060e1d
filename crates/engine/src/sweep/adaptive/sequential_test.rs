//! A group-sequential test of whether the mean of differences is positive, valid however often it is evaluated.
//!
//! After n₁ < n₂ < … differences an interim analysis takes their t-statistic, as the normal deviate Zₖ of the same
//! probability. If the mean is not positive, the deviates of normal differences, or of many of any kind, are at most
//! those of a random walk with normal steps: standard normal, with the correlation √(nₖ / nₖ₊₁) between neighbours. The
//! evidence is the largest Zₖ − b(nₖ), where the margin b demands more of the first analyses, whose few differences say
//! least about their own spread. The error probability of evidence is the probability that a walk without drift has as
//! much at any analysis, so that a test may stop whenever it is small (Pocock 1977). It is integrated analysis by
//! analysis (Armitage, McPherson and Rowe 1969).

use std::collections::HashMap;
use std::f64::consts::PI;
use std::sync::{Arc, LazyLock, Mutex};

use serde::{Deserialize, Serialize};

use crate::elementary::{exp_of_any, ln_of_any};

/// The number of differences at the first analysis.
const FIRST: usize = 3;
/// The quotient of the numbers of differences at neighbouring analyses.
const GROWTH: f64 = 1.25;
/// The margin at the first analysis, and the number of differences from which there is none.
const MARGIN: f64 = 0.3;
const NO_MARGIN_FROM: f64 = 32.0;
/// The spacing of the table of error probabilities and its largest evidence, in standard deviations.
const STEP: f64 = 0.125;
const LARGEST: f64 = 8.0;

/// The schedule of a test's interim analyses, which is fixed before the test begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct InterimAnalyses {
    /// The number of differences at each analysis.
    counts: Vec<usize>,
    ln_error_probabilities: Arc<[f64]>,
}

/// The tables of [`ln_error_probabilities`] by the number of analyses; computing one takes a tenth of a second.
static TABLES: LazyLock<Mutex<HashMap<usize, Arc<[f64]>>>> = LazyLock::new(Mutex::default);

/// Returns the logarithms of the error probabilities of the evidence 0, [`STEP`], 2 [`STEP`] and so on.
fn ln_error_probabilities(counts: &[usize]) -> Arc<[f64]> {
    let mut tables = TABLES.lock().expect("no thread panics while it holds the lock");
    let table = tables.entry(counts.len()).or_insert_with(|| {
        let steps = (LARGEST / STEP) as usize;
        (0..=steps).map(|step| ln_of_any(error_probability(counts, step as f64 * STEP))).collect()
    });
    Arc::clone(table)
}

impl InterimAnalyses {
    /// Schedules the analyses of a test of up to `most` differences.
    pub(super) fn up_to(most: usize) -> InterimAnalyses {
        let grown = |count: &usize| Some(((*count as f64 * GROWTH).round() as usize).max(count + 1));
        let counts: Vec<usize> =
            std::iter::successors(Some(FIRST), grown).take_while(|count| *count <= most.max(FIRST)).collect();
        InterimAnalyses { ln_error_probabilities: ln_error_probabilities(&counts), counts }
    }

    /// Returns the number of differences at an analysis; none after the last.
    pub(super) fn count(&self, analysis: usize) -> Option<usize> {
        self.counts.get(analysis).copied()
    }

    pub(super) fn last(&self) -> usize {
        self.counts[self.counts.len() - 1]
    }

    /// Returns the probability of this much evidence, or more, if the mean is not positive.
    pub(super) fn error_probability(&self, evidence: f64) -> f64 {
        let position = (evidence.max(0.0) / STEP).min((self.ln_error_probabilities.len() - 1) as f64);
        let below = (position as usize).min(self.ln_error_probabilities.len() - 2);
        let [low, high] = [self.ln_error_probabilities[below], self.ln_error_probabilities[below + 1]];
        exp_of_any(low + (position - below as f64) * (high - low))
    }

    /// Returns the least evidence with at most this error probability.
    pub(super) fn threshold(&self, error_probability: f64) -> f64 {
        let aim = ln_of_any(error_probability);
        let Some(above) = self.ln_error_probabilities.iter().position(|it| *it <= aim) else { return f64::INFINITY };
        if above == 0 {
            return 0.0;
        }
        let [low, high] = [self.ln_error_probabilities[above - 1], self.ln_error_probabilities[above]];
        (above as f64 - 1.0 + (aim - low) / (high - low)) * STEP
    }
}

fn margin(count: usize) -> f64 {
    let first = FIRST as f64;
    MARGIN * (1.0 - ln_of_any(count as f64 / first) / ln_of_any(NO_MARGIN_FROM / first)).max(0.0)
}

/// Returns the probability that a random walk without drift reaches this evidence at any of the analyses.
///
/// The density of the deviate, among the walks that have stayed below, is propagated from analysis to analysis on a
/// grid.
fn error_probability(counts: &[usize], evidence: f64) -> f64 {
    /// The lower end of the grids, below which there is less than a millionth of the walks.
    const LOWEST: f64 = -5.0;
    /// The parts of a grid, an even number.
    const PARTS: usize = 48;
    let grid = |count: usize| {
        let step = (evidence + margin(count) - LOWEST) / PARTS as f64;
        let weight = |index: usize| match index {
            0 | PARTS => step / 3.0,
            _ if index % 2 == 1 => step * 4.0 / 3.0,
            _ => step * 2.0 / 3.0,
        };
        let points: [f64; PARTS + 1] = std::array::from_fn(|index| LOWEST + index as f64 * step);
        (points, std::array::from_fn::<f64, { PARTS + 1 }, _>(weight))
    };
    let (mut points, mut weights) = grid(counts[0]);
    let mut densities = points.map(normal_density);
    for pair in counts.windows(2) {
        let correlation = (pair[0] as f64 / pair[1] as f64).sqrt();
        let spread = (1.0 - correlation * correlation).sqrt();
        let (next, next_weights) = grid(pair[1]);
        densities = next.map(|to| {
            let from = points.iter().zip(&weights).zip(&densities);
            let moved = from
                .map(|((from, weight), density)| weight * density * normal_density((to - correlation * from) / spread));
            moved.sum::<f64>() / spread
        });
        (points, weights) = (next, next_weights);
    }
    let below: f64 = weights.iter().zip(&densities).map(|(weight, density)| weight * density).sum();
    (1.0 - below).max(f64::MIN_POSITIVE)
}

fn normal_density(z: f64) -> f64 {
    exp_of_any(-0.5 * z * z) / (2.0 * PI).sqrt()
}

/// The differences so far, and the strongest evidence at any analysis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Evidence {
    count: usize,
    sum: f64,
    sum_of_squares: f64,
    analyses: usize,
    strongest: f64,
}

impl Evidence {
    /// Returns how many differences the next analysis needs; none after the last analysis.
    pub(super) fn missing(&self, analyses: &InterimAnalyses) -> Option<usize> {
        analyses.count(self.analyses).map(|count| count - self.count)
    }

    /// Adds the differences up to the next analysis, and analyses.
    pub(super) fn add(&mut self, differences: impl Iterator<Item = f64>) {
        for difference in differences {
            // The square of a larger one would not be finite.
            let difference = difference.clamp(-1e150, 1e150);
            self.count += 1;
            self.sum += difference;
            self.sum_of_squares += difference * difference;
        }
        self.analyses += 1;
        self.strongest = self.strongest.max(self.deviate() - margin(self.count));
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the largest evidence at any analysis so far, at least 0.
    pub(super) fn strongest(&self) -> f64 {
        self.strongest
    }

    /// Returns the t-statistic as the normal deviate of nearly the same probability (Wallace 1959); 0 if it is
    /// negative.
    pub(super) fn deviate(&self) -> f64 {
        if self.count < 2 || self.sum <= 0.0 {
            return 0.0;
        }
        let count = self.count as f64;
        let freedom = count - 1.0;
        let of_mean = self.sum * self.sum / count;
        let rest = (self.sum_of_squares - of_mean).max(f64::EPSILON * of_mean);
        let t_squared = of_mean * freedom / rest;
        (8.0 * freedom + 1.0) / (8.0 * freedom + 3.0) * (freedom * ln_of_any(1.0 + t_squared / freedom)).sqrt()
    }
}

/// The number of runs that set the cap.
const MOST: usize = 5;
/// The distance of the cap from the median of the first runs, as a multiple of that of the best one.
const REACH: f64 = 8.0;

/// The metric of a candidate's first runs, which set the cap at which its further runs count: as losses, the smaller
/// the better, in ascending order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct FirstRuns {
    count: usize,
    values: [f64; MOST],
}

impl FirstRuns {
    /// Adds a run, unless there are enough.
    pub(super) fn add(&mut self, loss: f64) {
        if self.count < MOST {
            self.values[self.count] = loss;
            self.count += 1;
            self.values[..self.count].sort_unstable_by(f64::total_cmp);
        }
    }

    /// Returns whether first runs that were read are no more than there is room for.
    pub(super) fn is_whole(&self) -> bool {
        self.count <= MOST
    }

    /// Returns the largest loss that a further run counts with. Where runs are normally distributed, it is about nine
    /// standard deviations above their mean.
    pub(super) fn cap(&self) -> f64 {
        let median = self.median();
        median + REACH * (median - self.values[0])
    }

    /// Returns the median, the mean of the middle two of an even number.
    fn median(&self) -> f64 {
        let middle = self.count / 2;
        match self.count {
            0 => f64::INFINITY,
            count if count % 2 == 1 => self.values[middle],
            _ => 0.5 * (self.values[middle - 1] + self.values[middle]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::Lanes;
    use crate::random::{Key, Normals};

    /// Returns the share of series of normal differences with mean 0 that reach the threshold of an error probability.
    fn reached(analyses: &InterimAnalyses, probability: f64, series: u64) -> f64 {
        let threshold = analyses.threshold(probability);
        let reaches = |series: u64| {
            let mut generator = Lanes::<f64, 8>::generator(&std::array::from_fn(|_| Key::new(7).at(series)));
            let mut evidence = Evidence::default();
            while let Some(missing) = evidence.missing(analyses) {
                evidence.add((0..missing).map(|_| Lanes::<f64, 8>::normal_pair(&mut generator)[0].0[0]));
                if evidence.strongest() >= threshold {
                    return true;
                }
            }
            false
        };
        (0..series).filter(|series| reaches(*series)).count() as f64 / series as f64
    }

    #[test]
    fn chance_reaches_a_threshold_with_its_error_probability() {
        let analyses = InterimAnalyses::up_to(300);
        // With 4,000 series the standard error of a share of 5 % is 0.35 %.
        for (probability, slack) in [(0.05, 0.01), (0.2, 0.02)] {
            let share = reached(&analyses, probability, 4000);
            assert!((share - probability).abs() < slack, "{share} of the series reach the threshold of {probability}");
        }
    }

    #[test]
    fn a_single_analysis_has_the_tail_probability_of_a_normal_deviate() {
        let analyses = InterimAnalyses::up_to(FIRST);
        let margin = margin(FIRST);
        for (z, tail) in [(1.0, 0.158_655_25), (1.644_853_6, 0.05), (3.0, 0.001_349_898)] {
            let probability = analyses.error_probability(z - margin);
            assert!((probability / tail - 1.0).abs() < 0.01, "{probability} for {tail}");
        }
    }

    #[test]
    fn threshold_has_the_requested_error_probability() {
        let analyses = InterimAnalyses::up_to(2000);
        for probability in [0.3, 0.05, 1e-3, 1e-6] {
            let found = analyses.error_probability(analyses.threshold(probability));
            assert!((found / probability - 1.0).abs() < 1e-9, "{found} for {probability}");
        }
        assert!(analyses.threshold(0.01) > analyses.threshold(0.05));
    }

    #[test]
    fn tests_with_equally_many_analyses_share_a_table() {
        let [one, other, longer] = [4000, 4001, 40_000].map(InterimAnalyses::up_to);
        assert_eq!(one.counts.len(), other.counts.len());
        assert!(
            Arc::ptr_eq(&one.ln_error_probabilities, &other.ln_error_probabilities)
                && !Arc::ptr_eq(&one.ln_error_probabilities, &longer.ln_error_probabilities)
        );
    }

    #[test]
    fn differences_of_any_size_are_evidence() {
        let analyses = InterimAnalyses::up_to(100);
        for size in [1e-100, 1.0, 1e300] {
            let mut evidence = Evidence::default();
            while let Some(missing) = evidence.missing(&analyses) {
                evidence.add((0..missing).map(|index| size * (1.0 + 0.1 * (index % 2) as f64)));
            }
            assert!(analyses.error_probability(evidence.strongest()) < 0.01, "{size}");
        }
    }
}

#[cfg(test)]
mod first_runs_tests {
    use super::FirstRuns;
    use super::{Evidence, InterimAnalyses};
    use crate::lanes::Lanes;
    use crate::random::{Key, Normals};

    /// Returns the number of differences after which a candidate is beaten by a leader without spread, if it is. Its
    /// runs are `value` of normal draws, capped if asked for.
    fn beaten_after(
        analyses: &InterimAnalyses,
        threshold: f64,
        key: u64,
        is_capped: bool,
        value: impl Fn(f64) -> f64,
    ) -> Option<usize> {
        let mut generator = Lanes::<f64, 8>::generator(&std::array::from_fn(|_| Key::new(3).at(key)));
        let mut draw = || value(Lanes::<f64, 8>::normal_pair(&mut generator)[0].0[0]);
        let mut first = FirstRuns::default();
        (0..2).for_each(|_| first.add(draw()));
        let mut evidence = Evidence::default();
        while let Some(missing) = evidence.missing(analyses) {
            let cap = if is_capped { first.cap() } else { f64::INFINITY };
            let runs: Vec<f64> = (0..missing).map(|_| draw()).collect();
            evidence.add(runs.iter().map(|run| run.min(cap)));
            runs.iter().for_each(|run| first.add(*run));
            if evidence.strongest() >= threshold {
                return Some(evidence.count());
            }
        }
        None
    }

    #[test]
    fn the_cap_is_eight_times_as_far_from_the_median_as_the_best_run() {
        let mut first = FirstRuns::default();
        for (loss, cap) in [(3.0, 3.0), (1.0, 10.0), (9.0, 19.0), (2.0, 14.5), (100.0, 19.0), (50.0, 19.0)] {
            first.add(loss);
            assert_eq!(first.cap(), cap, "after {loss}");
        }
    }

    #[test]
    fn a_candidate_that_is_far_worse_now_and_then_is_beaten_soon() {
        let analyses = InterimAnalyses::up_to(2000);
        let threshold = analyses.threshold(0.05);
        // Losses of all orders of magnitude, none better than the leader's.
        let heavy = |normal: f64| (5.0 * normal).exp();
        let after = |is_capped| -> usize {
            let series = 0..200;
            series.map(|key| beaten_after(&analyses, threshold, key, is_capped, heavy).unwrap_or(analyses.last())).sum()
        };
        let [capped, plain] = [true, false].map(after);
        assert!(capped < 200 * 150 && plain > 200 * 1000, "{capped} and {plain} differences");
    }

    /// The mean of the runs is that of the leader, 0, so that a candidate is beaten with at most the error probability.
    #[test]
    fn a_candidate_as_good_as_the_leader_is_rarely_beaten() {
        let analyses = InterimAnalyses::up_to(500);
        let threshold = analyses.threshold(0.05);
        let lognormal_mean = 0.5_f64.exp();
        let skewed = |normal: f64| normal.exp() - lognormal_mean;
        let beaten = (0..2000).filter(|key| beaten_after(&analyses, threshold, *key, true, skewed).is_some()).count();
        assert!(beaten < 2000 / 20, "{beaten} of 2000 are beaten");
    }
}
