//! The cap with which a candidate's further runs count.

use serde::{Deserialize, Serialize};

/// The number of runs that set the cap.
const MOST: usize = 5;
/// The distance of the cap from the median of the first runs, as a multiple of that of the best one.
const REACH: f64 = 8.0;

/// How bad the first runs of a candidate are, in ascending order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct FirstRuns {
    count: usize,
    values: [f64; MOST],
}

impl FirstRuns {
    /// Adds a run, unless there are enough.
    pub(super) fn add(&mut self, badness: f64) {
        if self.count < MOST {
            self.values[self.count] = badness;
            self.count += 1;
            self.values[..self.count].sort_unstable_by(f64::total_cmp);
        }
    }

    /// Returns whether first runs that were read are no more than there is room for.
    pub(super) fn is_whole(&self) -> bool {
        self.count <= MOST
    }

    /// Returns the largest badness with which further runs count. Where runs are normally distributed, it is about nine
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
    use super::super::evidence::{Evidence, Looks};
    use super::FirstRuns;
    use crate::lanes::Lanes;
    use crate::random::{Key, Normals};

    /// Returns the number of differences after which a candidate is beaten by a leader without spread, if it is. Its runs are
    /// `value` of normal draws, capped if asked for.
    fn beaten_after(
        looks: &Looks,
        needed: f64,
        key: u64,
        is_capped: bool,
        value: impl Fn(f64) -> f64,
    ) -> Option<usize> {
        let mut generator = Lanes::<f64, 8>::generator(&std::array::from_fn(|_| Key::new(3).at(key)));
        let mut draw = || value(Lanes::<f64, 8>::normal_pair(&mut generator)[0].0[0]);
        let mut first = FirstRuns::default();
        (0..2).for_each(|_| first.add(draw()));
        let mut evidence = Evidence::default();
        while let Some(missing) = evidence.missing(looks) {
            let cap = if is_capped { first.cap() } else { f64::INFINITY };
            let runs: Vec<f64> = (0..missing).map(|_| draw()).collect();
            evidence.add(runs.iter().map(|run| run.min(cap)));
            runs.iter().for_each(|run| first.add(*run));
            if evidence.strongest() >= needed {
                return Some(evidence.count());
            }
        }
        None
    }

    #[test]
    fn the_cap_is_eight_times_as_far_from_the_median_as_the_best_run() {
        let mut first = FirstRuns::default();
        for (badness, cap) in [(3.0, 3.0), (1.0, 10.0), (9.0, 19.0), (2.0, 14.5), (100.0, 19.0), (50.0, 19.0)] {
            first.add(badness);
            assert_eq!(first.cap(), cap, "after {badness}");
        }
    }

    #[test]
    fn a_candidate_that_is_far_worse_now_and_then_is_beaten_soon() {
        let looks = Looks::up_to(2000);
        let needed = looks.needed(0.05);
        // Losses of all orders of magnitude, none better than the leader's.
        let heavy = |normal: f64| (5.0 * normal).exp();
        let after = |is_capped| -> usize {
            let series = 0..200;
            series.map(|key| beaten_after(&looks, needed, key, is_capped, heavy).unwrap_or(looks.last())).sum()
        };
        let [capped, plain] = [true, false].map(after);
        assert!(capped < 200 * 150 && plain > 200 * 1000, "{capped} and {plain} differences");
    }

    /// The mean of the runs is that of the leader, 0, so that a candidate is beaten with the probability of the doubt at most.
    #[test]
    fn a_candidate_as_good_as_the_leader_is_rarely_beaten() {
        let looks = Looks::up_to(500);
        let needed = looks.needed(0.05);
        let lognormal_mean = 0.5_f64.exp();
        let skewed = |normal: f64| normal.exp() - lognormal_mean;
        let beaten = (0..2000).filter(|key| beaten_after(&looks, needed, *key, true, skewed).is_some()).count();
        assert!(beaten < 2000 / 20, "{beaten} of 2000 are beaten");
    }
}
