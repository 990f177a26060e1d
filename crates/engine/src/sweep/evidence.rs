//! Evidence that the mean of differences is positive, valid however often one looks.
//!
//! After n₁ < n₂ < … differences one looks at their t-statistic, as the normal deviate Zₖ of the same probability. If the
//! mean is not positive, the deviates of normal differences, or of many of any kind, are at most those of a random walk with
//! normal steps: standard normal, with the correlation √(nₖ / nₖ₊₁) between neighbours. The evidence is the largest
//! Zₖ − b(nₖ), where the margin b asks more of the first looks, whose few differences say least about their own spread. Its
//! doubt is the probability that a walk without drift has as much at any look, so that one may stop whenever it is small:
//! a group-sequential test (Pocock 1977), whose probabilities are integrated look by look (Armitage, McPherson and
//! Rowe 1969).

use std::collections::HashMap;
use std::f64::consts::PI;
use std::sync::{Arc, LazyLock, Mutex};

use serde::{Deserialize, Serialize};

use crate::elementary::{exp_of_any, ln_of_any};

/// The differences of the first look.
const FIRST: usize = 3;
/// The quotient of the numbers of differences of neighbouring looks.
const GROWTH: f64 = 1.25;
/// The margin at the first look, and the number of differences from which there is none.
const MARGIN: f64 = 0.3;
const WITHOUT_MARGIN: f64 = 32.0;
/// The step of the table of doubts, in standard deviations, and its largest evidence.
const STEP: f64 = 0.125;
const LARGEST: f64 = 8.0;

/// The looks of a test, which are fixed before it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Looks {
    /// The numbers of differences.
    counts: Vec<usize>,
    ln_doubts: Arc<[f64]>,
}

/// The tables of [`ln_doubts`] by the number of looks, as each takes a tenth of a second.
static TABLES: LazyLock<Mutex<HashMap<usize, Arc<[f64]>>>> = LazyLock::new(Mutex::default);

/// Returns the logarithms of the doubts of the evidence 0, [`STEP`], 2 [`STEP`] and so on at these looks.
fn ln_doubts(counts: &[usize]) -> Arc<[f64]> {
    let mut tables = TABLES.lock().expect("no thread panics while it holds the lock");
    let table = tables.entry(counts.len()).or_insert_with(|| {
        let steps = (LARGEST / STEP) as usize;
        (0..=steps).map(|step| ln_of_any(doubt(counts, step as f64 * STEP))).collect()
    });
    Arc::clone(table)
}

impl Looks {
    /// Creates the looks of a test of up to `most` differences.
    pub(super) fn up_to(most: usize) -> Looks {
        let grown = |count: &usize| Some(((*count as f64 * GROWTH).round() as usize).max(count + 1));
        let counts: Vec<usize> =
            std::iter::successors(Some(FIRST), grown).take_while(|count| *count <= most.max(FIRST)).collect();
        Looks { ln_doubts: ln_doubts(&counts), counts }
    }

    /// Returns the number of differences of a look; none after the last.
    pub(super) fn count(&self, look: usize) -> Option<usize> {
        self.counts.get(look).copied()
    }

    pub(super) fn last(&self) -> usize {
        self.counts[self.counts.len() - 1]
    }

    /// Returns the probability of this much evidence, or more, if the mean is not positive.
    pub(super) fn doubt(&self, evidence: f64) -> f64 {
        let place = (evidence.max(0.0) / STEP).min((self.ln_doubts.len() - 1) as f64);
        let below = (place as usize).min(self.ln_doubts.len() - 2);
        let [low, high] = [self.ln_doubts[below], self.ln_doubts[below + 1]];
        exp_of_any(low + (place - below as f64) * (high - low))
    }

    /// Returns the least evidence with at most this doubt.
    pub(super) fn needed(&self, doubt: f64) -> f64 {
        let aim = ln_of_any(doubt);
        let Some(above) = self.ln_doubts.iter().position(|it| *it <= aim) else { return f64::INFINITY };
        if above == 0 {
            return 0.0;
        }
        let [low, high] = [self.ln_doubts[above - 1], self.ln_doubts[above]];
        (above as f64 - 1.0 + (aim - low) / (high - low)) * STEP
    }
}

/// Returns the margin b of a look at this many differences.
fn margin(count: usize) -> f64 {
    let first = FIRST as f64;
    MARGIN * (1.0 - ln_of_any(count as f64 / first) / ln_of_any(WITHOUT_MARGIN / first)).max(0.0)
}

/// Returns the probability that a random walk without drift has this much evidence at any of the looks.
///
/// The density of the deviate among the walks that have had less is carried from look to look on a grid.
fn doubt(counts: &[usize], evidence: f64) -> f64 {
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

/// The differences seen so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Evidence {
    count: usize,
    sum: f64,
    sum_of_squares: f64,
    /// The number of looks so far.
    looks: usize,
    strongest: f64,
}

impl Evidence {
    /// Returns how many differences are missing for the next look; none after the last.
    pub(super) fn missing(&self, looks: &Looks) -> Option<usize> {
        looks.count(self.looks).map(|count| count - self.count)
    }

    /// Adds the differences up to the next look, and looks.
    pub(super) fn add(&mut self, differences: impl Iterator<Item = f64>) {
        for difference in differences {
            // The square of a larger one would not be finite.
            let difference = difference.clamp(-1e150, 1e150);
            self.count += 1;
            self.sum += difference;
            self.sum_of_squares += difference * difference;
        }
        self.looks += 1;
        self.strongest = self.strongest.max(self.deviate() - margin(self.count));
    }

    /// Returns the number of differences.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the largest evidence of all looks so far, at least 0.
    pub(super) fn strongest(&self) -> f64 {
        self.strongest
    }

    /// Returns the t-statistic as the normal deviate of nearly the same probability (Wallace 1959); 0 if it is negative.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::Lanes;
    use crate::random::{Key, Normals};

    /// Returns the share of series of normal differences without a mean that reach the evidence of a doubt.
    fn reached(looks: &Looks, doubt: f64, series: u64) -> f64 {
        let needed = looks.needed(doubt);
        let reaches = |series: u64| {
            let mut generator = Lanes::<f64, 8>::generator(&std::array::from_fn(|_| Key::new(7).at(series)));
            let mut evidence = Evidence::default();
            while let Some(missing) = evidence.missing(looks) {
                evidence.add((0..missing).map(|_| Lanes::<f64, 8>::normal_pair(&mut generator)[0].0[0]));
                if evidence.strongest() >= needed {
                    return true;
                }
            }
            false
        };
        (0..series).filter(|series| reaches(*series)).count() as f64 / series as f64
    }

    #[test]
    fn chance_reaches_the_evidence_of_a_doubt_that_often() {
        let looks = Looks::up_to(300);
        // With 4,000 series the standard error of a share of 5 % is 0.35 %.
        for (doubt, slack) in [(0.05, 0.01), (0.2, 0.02)] {
            let share = reached(&looks, doubt, 4000);
            assert!((share - doubt).abs() < slack, "{share} of the series reach the evidence of {doubt}");
        }
    }

    #[test]
    fn a_single_look_has_the_doubt_of_a_normal_deviate() {
        let looks = Looks::up_to(FIRST);
        let margin = margin(FIRST);
        for (z, tail) in [(1.0, 0.158_655_25), (1.644_853_6, 0.05), (3.0, 0.001_349_898)] {
            let doubt = looks.doubt(z - margin);
            assert!((doubt / tail - 1.0).abs() < 0.01, "{doubt} for {tail}");
        }
    }

    #[test]
    fn the_needed_evidence_has_the_doubt_asked_for() {
        let looks = Looks::up_to(2000);
        for doubt in [0.3, 0.05, 1e-3, 1e-6] {
            let found = looks.doubt(looks.needed(doubt));
            assert!((found / doubt - 1.0).abs() < 1e-9, "{found} for {doubt}");
        }
        assert!(looks.needed(0.01) > looks.needed(0.05));
    }

    #[test]
    fn tests_with_equally_many_looks_share_a_table() {
        let [one, other, longer] = [4000, 4001, 40_000].map(Looks::up_to);
        assert_eq!(one.counts.len(), other.counts.len());
        assert!(Arc::ptr_eq(&one.ln_doubts, &other.ln_doubts) && !Arc::ptr_eq(&one.ln_doubts, &longer.ln_doubts));
    }

    #[test]
    fn differences_of_any_size_are_evidence() {
        let looks = Looks::up_to(100);
        for size in [1e-100, 1.0, 1e300] {
            let mut evidence = Evidence::default();
            while let Some(missing) = evidence.missing(&looks) {
                evidence.add((0..missing).map(|index| size * (1.0 + 0.1 * (index % 2) as f64)));
            }
            assert!(looks.doubt(evidence.strongest()) < 0.01, "{size}");
        }
    }
}
