//! The results of the runs of one pixel: averages, winners, and the certainty of these.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::adaptive::Tally;
use super::adaptive::allocation::{Race, RaceRules};
use super::runs::{Average, Metric, Runs, Table, mean_and_deviation};
use super::spec::SweepSpec;
use super::uniform_certainty::{FEWEST_TO_BE_SURE, Gap, Splits};

/// The best average of an optimizer over its candidates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    pub value: f64,
    /// The index of the candidate; of equal ones the smallest.
    pub best: usize,
}

/// The winner by a metric, and its gaps to the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The optimizer with the best score; none if the best scores are equal.
    pub winner: Option<usize>,
    /// The gap between the winner and each optimizer; unknown for the winner itself, and without a winner.
    pub gaps: Vec<Gap>,
    /// The error probabilities of adaptive sampling, by the sweep's own metric: for each optimizer a bound of the
    /// probability of as much evidence against it if it were the best; 0 for the winner. Empty by other metrics and
    /// with uniform sampling, where the winner's certainty follows from the gaps.
    pub error_probabilities: Vec<f64>,
}

impl Comparison {
    /// Returns the optimizer nearest to the winner, and the certainty of the lead over it: from 0.5 and less, if chance
    /// alone would suffice, to 1. With uniform sampling the nearest is the one with the smallest gap in standard
    /// errors. With adaptive sampling it is the one with the best score: runs stop as soon as the winner is certain, so
    /// that neither standard errors nor error probabilities rank the optimizers.
    pub fn rival(&self) -> Option<(usize, f64)> {
        if !self.error_probabilities.is_empty() {
            let others = (0..self.gaps.len()).filter(|index| Some(*index) != self.winner);
            let nearest = others.min_by(|a, b| self.gaps[*a].value.total_cmp(&self.gaps[*b].value));
            return nearest.map(|index| (index, 1.0 - self.error_probabilities[index]));
        }
        let known = self.gaps.iter().enumerate().filter_map(|(index, gap)| Some((index, gap, gap.certainty()?)));
        // If errors are 0, and so the ratios infinite, the smallest gap decides.
        let nearest = known.min_by(|(_, a, _), (_, b, _)| {
            (a.value / a.error).total_cmp(&(b.value / b.error)).then(a.value.total_cmp(&b.value))
        });
        nearest.map(|(index, _, certainty)| (index, certainty))
    }

    /// Returns the certainty of the winner: 1 minus the probabilities that another optimizer is truly better.
    pub fn certainty(&self) -> Option<f64> {
        if !self.error_probabilities.is_empty() {
            // One of the others at most is the best, so that their probabilities are not added.
            return Some(1.0 - self.error_probabilities.iter().copied().fold(0.0, f64::max));
        }
        let others = self.gaps.iter().enumerate().filter(|(index, _)| Some(*index) != self.winner);
        let error_probability =
            others.map(|(_, gap)| gap.certainty().map(|certainty| 1.0 - certainty)).sum::<Option<f64>>()?;
        self.winner.map(|_| (1.0 - error_probability).max(0.0))
    }
}

/// The replicates that adaptive sampling has given to a pixel, and what follows from them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sampled {
    /// The replicates of each optimizer and candidate.
    pub replicates: Vec<Vec<u32>>,
    /// For each optimizer a bound of the distance between its score and the winner's, which holds with about the
    /// requested certainty; empty without a winner.
    pub apart: Vec<f64>,
    /// Whether the pixel has no further runs: it is decided, or its budget is used up.
    pub is_over: bool,
    /// The race that is not over, from which the pixel continues; results from a file have none.
    #[serde(skip)]
    pub race: Option<Arc<Race>>,
}

/// The results of the runs of one pixel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The number of replicates behind the results; with adaptive sampling, the largest of a candidate.
    pub replicates: usize,
    /// The averages over replicates of the three metrics, for each optimizer and candidate.
    pub averages: Vec<Vec<[f64; 3]>>,
    /// The population standard deviations of the three metrics, for each optimizer and candidate; NaN if a run is
    /// not finite.
    pub deviations: Vec<Vec<[f64; 3]>>,
    /// The number of runs that have diverged, for each optimizer: whose last loss is not finite.
    pub diverged: Vec<u32>,
    /// The comparison by each of the three metrics.
    pub comparisons: [Comparison; 3],
    /// The replicates that adaptive sampling has given to the pixel; none with uniform sampling.
    pub sampled: Option<Sampled>,
}

impl Cell {
    /// The smallest number of replicates that determine the certainty of a winner.
    pub const FEWEST_TO_BE_SURE: usize = FEWEST_TO_BE_SURE;

    /// Summarises the runs of each optimizer. With `paired`, runs of the same replicate share their noise.
    pub fn new(runs: &[Runs], average: Average, paired: bool) -> Cell {
        let replicates = runs.first().map_or(0, |runs| runs.replicates);
        let tables = Metric::ALL.map(|metric| runs.iter().map(|runs| Table::new(runs, metric)).collect::<Vec<_>>());
        let per_candidate = |of: &dyn Fn(&Table, usize) -> f64| -> Vec<Vec<[f64; 3]>> {
            let optimizers = 0..runs.len();
            optimizers
                .map(|optimizer| {
                    let candidates = 0..tables[0][optimizer].candidates();
                    candidates
                        .map(|candidate| [0, 1, 2].map(|metric| of(&tables[metric][optimizer], candidate)))
                        .collect()
                })
                .collect()
        };
        let averages = per_candidate(&|table, candidate| average.of(table.values(candidate), table.metric));
        let deviations = per_candidate(&|table, candidate| mean_and_deviation(table.values(candidate), f64::NAN)[1]);
        let diverged = runs
            .iter()
            .map(|runs| runs.metrics.iter().filter(|metrics| !metrics.final_loss.is_finite()).count() as u32);
        let diverged = diverged.collect();
        let mut cell = Cell { replicates, averages, deviations, diverged, comparisons: [UNDECIDED; 3], sampled: None };
        let splits = Splits::of(replicates);
        cell.comparisons = Metric::ALL.map(|metric| {
            let winner = cell.winner(metric);
            let gaps = winner.zip(splits.as_ref()).map(|(winner, splits)| {
                let tables = &tables[metric as usize];
                splits.gaps(tables, winner, average, paired)
            });
            let gaps = gaps.unwrap_or_else(|| vec![Gap::UNKNOWN; runs.len()]);
            Comparison { winner, gaps, error_probabilities: Vec::new() }
        });
        cell
    }

    /// Returns whether no further runs follow in a sweep with these replicates.
    pub fn is_complete(&self, replicates: usize) -> bool {
        self.sampled.as_ref().map_or(self.replicates == replicates, |sampled| sampled.is_over)
    }

    pub fn replicates_of(&self, optimizer: usize, candidate: usize) -> usize {
        self.sampled.as_ref().map_or(self.replicates, |sampled| sampled.replicates[optimizer][candidate] as usize)
    }

    pub fn runs(&self) -> u64 {
        match &self.sampled {
            Some(sampled) => sampled.replicates.iter().flatten().map(|count| u64::from(*count)).sum(),
            None => (self.averages.iter().map(Vec::len).sum::<usize>() * self.replicates) as u64,
        }
    }

    /// Returns the best average of an optimizer over its candidates.
    pub fn score(&self, optimizer: usize, metric: Metric) -> Score {
        let values = self.averages[optimizer].iter().map(|averages| averages[metric as usize]);
        let mut best = Score { value: metric.worst(), best: 0 };
        for (candidate, value) in values.enumerate() {
            if metric.is_better(value, best.value) {
                best = Score { value, best: candidate };
            }
        }
        best
    }

    /// Returns the population standard deviation of an optimizer's metric of its best candidate.
    pub fn score_deviation(&self, optimizer: usize, metric: Metric) -> f64 {
        self.deviations[optimizer][self.score(optimizer, metric).best][metric as usize]
    }

    pub fn comparison(&self, metric: Metric) -> &Comparison {
        &self.comparisons[metric as usize]
    }

    /// Returns the optimizer whose score is better than all others'; none if the best scores are equal.
    pub fn winner(&self, metric: Metric) -> Option<usize> {
        let scores: Vec<f64> = (0..self.averages.len()).map(|index| self.score(index, metric).value).collect();
        let ahead_of_all = |index: &usize| {
            let others = scores.iter().enumerate().filter(|(other, _)| other != index);
            others.clone().count() > 0 && others.clone().all(|(_, other)| metric.is_better(scores[*index], *other))
        };
        (0..scores.len()).find(ahead_of_all)
    }
}

const UNDECIDED: Comparison = Comparison { winner: None, gaps: Vec::new(), error_probabilities: Vec::new() };

impl Cell {
    /// Summarises the runs of a race so far.
    pub(super) fn of_race(race: &Arc<Race>, spec: &SweepSpec, rules: &RaceRules) -> Cell {
        let metric = spec.metric;
        let optimizers = 0..spec.optimizers.len();
        let tallies: Vec<Vec<&Tally>> = optimizers.clone().map(|optimizer| race.tallies(optimizer).collect()).collect();
        let per_candidate = |of: &dyn Fn(&Tally, Metric) -> f64| -> Vec<Vec<[f64; 3]>> {
            let table = tallies.iter().map(|own| own.iter().map(|tally| Metric::ALL.map(|metric| of(tally, metric))));
            table.map(Iterator::collect).collect()
        };
        let replicates: Vec<Vec<u32>> =
            tallies.iter().map(|own| own.iter().map(|tally| tally.count as u32).collect()).collect();
        let unknown =
            Comparison { winner: None, gaps: vec![Gap::UNKNOWN; tallies.len()], error_probabilities: Vec::new() };
        let mut cell = Cell {
            replicates: replicates.iter().flatten().max().map_or(0, |most| *most as usize),
            averages: per_candidate(&Tally::mean),
            deviations: per_candidate(&Tally::deviation),
            diverged: tallies.iter().map(|own| own.iter().map(|tally| tally.diverged).sum()).collect(),
            comparisons: [unknown.clone(), unknown.clone(), unknown],
            sampled: Some(Sampled {
                replicates,
                apart: Vec::new(),
                is_over: race.is_over(),
                race: (!race.is_over()).then(|| Arc::clone(race)),
            }),
        };
        for other in Metric::ALL {
            cell.comparisons[other as usize].winner = cell.winner(other);
        }
        if let Some(winner) = race.leading(metric) {
            let best: Vec<&Tally> = optimizers.clone().map(|of| tallies[of][cell.score(of, metric).best]).collect();
            let gap = |other: usize| match other == winner {
                true => Gap::UNKNOWN,
                false => Gap::of_tallies(best[winner], best[other], metric),
            };
            let gaps: Vec<Gap> = optimizers.clone().map(gap).collect();
            let apart = |other: usize| match other == winner {
                true => 0.0,
                false => rules.apart(&gaps[other], tallies[winner].len() + tallies[other].len()),
            };
            if let Some(sampled) = &mut cell.sampled {
                sampled.apart = optimizers.clone().map(apart).collect();
            }
            let error_probability =
                |other: usize| if other == winner { 0.0 } else { race.error_probability(other, rules) };
            cell.comparisons[metric as usize] = Comparison {
                winner: Some(winner),
                gaps,
                error_probabilities: optimizers.map(error_probability).collect(),
            };
        }
        cell
    }
}

impl Gap {
    /// Returns the difference of two means, by Welch and Satterthwaite.
    fn of_tallies(this: &Tally, that: &Tally, metric: Metric) -> Gap {
        let value = metric.advantage(this.mean(metric), that.mean(metric));
        let variances = [this, that].map(|tally| tally.variance_of_mean(metric));
        let variance = variances[0] + variances[1];
        let freedom = variance * variance
            / (variances[0] * variances[0] / (this.count as f64 - 1.0)
                + variances[1] * variances[1] / (that.count as f64 - 1.0));
        Gap::of(value, variance.sqrt(), freedom)
    }
}
