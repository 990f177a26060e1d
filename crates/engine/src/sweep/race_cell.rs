//! The results of a race.

use std::sync::Arc;

use super::cell::{Cell, Comparison, Sampled};
use super::metric::Metric;
use super::race::{Race, Racing};
use super::spec::SweepSpec;
use super::statistics::Gap;
use super::tally::Tally;

impl Race {
    /// Returns what is known so far.
    pub(super) fn cell(self: &Arc<Race>, spec: &SweepSpec, racing: &Racing) -> Cell {
        let metric = spec.metric;
        let optimizers = 0..spec.optimizers.len();
        let tallies: Vec<Vec<&Tally>> = optimizers.clone().map(|optimizer| self.tallies(optimizer).collect()).collect();
        let per_candidate = |of: &dyn Fn(&Tally, Metric) -> f64| -> Vec<Vec<[f64; 3]>> {
            let table = tallies.iter().map(|own| own.iter().map(|tally| Metric::ALL.map(|metric| of(tally, metric))));
            table.map(Iterator::collect).collect()
        };
        let replicates: Vec<Vec<u32>> =
            tallies.iter().map(|own| own.iter().map(|tally| tally.count as u32).collect()).collect();
        let unknown = Comparison { winner: None, gaps: vec![Gap::UNKNOWN; tallies.len()], doubts: Vec::new() };
        let mut cell = Cell {
            replicates: replicates.iter().flatten().max().map_or(0, |most| *most as usize),
            averages: per_candidate(&Tally::mean),
            deviations: per_candidate(&Tally::deviation),
            diverged: tallies.iter().map(|own| own.iter().map(|tally| tally.diverged).sum()).collect(),
            comparisons: [unknown.clone(), unknown.clone(), unknown],
            sampled: Some(Sampled {
                replicates,
                apart: Vec::new(),
                is_over: self.is_over(),
                race: (!self.is_over()).then(|| Arc::clone(self)),
            }),
        };
        for other in Metric::ALL {
            cell.comparisons[other as usize].winner = cell.winner(other);
        }
        if let Some(winner) = self.leading(metric) {
            let best: Vec<&Tally> = optimizers.clone().map(|of| tallies[of][cell.score(of, metric).best]).collect();
            let gap = |other: usize| match other == winner {
                true => Gap::UNKNOWN,
                false => Gap::of_tallies(best[winner], best[other], metric),
            };
            let gaps: Vec<Gap> = optimizers.clone().map(gap).collect();
            let apart = |other: usize| match other == winner {
                true => 0.0,
                false => racing.apart(&gaps[other], tallies[winner].len() + tallies[other].len()),
            };
            if let Some(sampled) = &mut cell.sampled {
                sampled.apart = optimizers.clone().map(apart).collect();
            }
            let doubt = |other: usize| if other == winner { 0.0 } else { self.doubt(other, racing) };
            cell.comparisons[metric as usize] =
                Comparison { winner: Some(winner), gaps, doubts: optimizers.map(doubt).collect() };
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
