//! Allocates replicates to the candidates between which the winner of a pixel is open: a race.
//!
//! A candidate is an optimizer with one of its learning rates, and one combination of the values of its tuned settings.
//! All candidates have a few replicates first. Then, round after round, those in the race have more, and each is
//! compared with the leader, the candidate with the best mean before the round, by the differences of their new runs. A
//! candidate is beaten when the [`Evidence`] that it is not the best of all has at most the permitted error
//! probability. The pixel is decided when only candidates of one optimizer are left.
//!
//! **Heavy tails.** Where a few runs of a candidate are worse by orders of magnitude, their spread hides the mean from the
//! test of all runs. A second test replaces a run that is worse than its candidate's [cap](FirstRuns::cap), which is
//! computed from earlier runs, by the cap. Capping improves the mean, so that evidence against the capped runs is
//! evidence against the candidate. The first test has four fifths of the error probability, the second one fifth.
//!
//! **Why a winner is certain.** It is wrong only if the best candidate of all was beaten. Whatever candidate leads, the
//! mean of its differences to the best one is not positive, as the leader was chosen before the runs that are compared.
//! So the probability that the best one is ever beaten is at most the permitted one. Neither the number of candidates
//! nor the choice among the candidates of an optimizer adds to it.
//!
//! Candidates of the leader's own optimizer need not be beaten. Those that are behind the leader by more than
//! [`PAUSE_LAG`] standard errors pause. A race ends without a winner where its budget, or the analyses of a candidate,
//! are used up. It also ends where even a lead that is [`LEAD_BOUND`] standard errors larger than its estimate would
//! not decide it in time.

use serde::{Deserialize, Serialize};

use super::sequential_test::{Evidence, FirstRuns, InterimAnalyses};
use super::{Adaptive, Tally};
use crate::sweep::pixel_runs::{Backend, PixelRuns, SomeRuns};
use crate::sweep::runs::{Metric, Metrics, Run};
use crate::sweep::spec::SweepSpec;
use crate::sweep::uniform_certainty::Gap;

/// The most runs of the leader for each run of another candidate in a round.
const MOST_OF_LEADER: usize = 3;
/// The shares of the error probability of the test of all runs and of that of capped ones.
const SHARES: [f64; 2] = [0.8, 0.2];
/// The standard errors by which a candidate of the leader's optimizer may be behind without pausing.
const PAUSE_LAG: f64 = 0.5;
/// The standard errors by which a lead may exceed its estimate.
const LEAD_BOUND: f64 = 1.0;

#[derive(Clone, Debug)]
pub(in crate::sweep) struct RaceRules {
    analyses: InterimAnalyses,
    certainty: f64,
    /// The evidence that beats a candidate in each of the two tests.
    thresholds: [f64; 2],
    /// The most runs of a pixel.
    budget: usize,
}

impl RaceRules {
    pub(in crate::sweep) fn new(spec: &SweepSpec, adaptive: &Adaptive) -> RaceRules {
        let analyses = InterimAnalyses::up_to(adaptive.most_replicates.get());
        let thresholds = SHARES.map(|share| analyses.threshold(share * (1.0 - adaptive.certainty.get())));
        RaceRules { thresholds, certainty: adaptive.certainty.get(), budget: spec.most_runs_of_pixel(), analyses }
    }

    /// Returns a bound of the probability of so much evidence against a candidate, in either test, if it were the best
    /// of all.
    fn error_probability(&self, candidate: &Candidate) -> f64 {
        let tests = candidate.evidence.iter().zip(SHARES);
        tests.map(|(evidence, share)| self.analyses.error_probability(evidence.strongest()) / share).fold(1.0, f64::min)
    }

    /// Returns a bound of the distance between the scores of a gap, which holds with about the permitted error
    /// probability: the gap and so many of its errors that, by Bonferroni's inequality, either direction holds for all
    /// of this many candidates at once.
    pub(in crate::sweep) fn apart(&self, gap: &Gap, candidates: usize) -> f64 {
        let width = self.analyses.threshold((1.0 - self.certainty) / (2 * candidates) as f64);
        // A gap without an error has none, however wide the interval.
        gap.value.abs() + if gap.error == 0.0 { 0.0 } else { width * gap.error }
    }
}

/// A candidate of a pixel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Candidate {
    optimizer: usize,
    /// The index among the optimizer's candidates.
    index: usize,
    tally: Tally,
    /// The evidence of all runs and of capped ones, at the same analyses.
    evidence: [Evidence; 2],
    first_runs: FirstRuns,
    is_beaten: bool,
    /// Whether a run's metric was not finite, so that the mean is the worst.
    has_diverged: bool,
    has_led: bool,
}

/// The race of a pixel, which can be continued.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Race {
    candidates: Vec<Candidate>,
    runs: usize,
    /// The first replicate of the next round where noise is common: all runs of a round then have the same replicates.
    next_replicate: usize,
    end: Option<End>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum End {
    Decided,
    /// The winner stays open.
    Open,
}

/// Returns a value of a metric as a loss: the smaller, the better.
fn loss_of(metric: Metric, value: f64) -> f64 {
    metric.advantage(0.0, value)
}

impl Candidate {
    fn is_in_race(&self) -> bool {
        !self.is_beaten && !self.has_diverged
    }
}

/// The pixel of a race, the backend of its runs, and the rules of the race.
pub(in crate::sweep) struct RaceContext<'a> {
    pub backend: Backend,
    pub pixel: PixelRuns<'a>,
    pub rules: &'a RaceRules,
}

/// The runs of a round.
struct Round {
    /// The candidates, and the number of new runs of each.
    field: Vec<(usize, usize)>,
    leader: usize,
    /// The runs of the leader for each run of another candidate.
    share: usize,
}

impl Race {
    /// Begins a race of this many candidates of each optimizer.
    pub(in crate::sweep) fn new(candidates: &[usize]) -> Race {
        let candidate = |optimizer, index| Candidate {
            optimizer,
            index,
            tally: Tally::default(),
            evidence: Default::default(),
            first_runs: FirstRuns::default(),
            is_beaten: false,
            has_diverged: false,
            has_led: false,
        };
        let all = candidates.iter().enumerate();
        let candidates = all.flat_map(|(optimizer, count)| (0..*count).map(move |index| candidate(optimizer, index)));
        Race { candidates: candidates.collect(), runs: 0, next_replicate: 0, end: None }
    }

    /// Returns whether a race that was read is one of a sweep: its candidates are the sweep's, it is not over, and its
    /// runs add up.
    pub fn is_of(&self, spec: &SweepSpec) -> bool {
        let is_alike = |(own, other): (&Candidate, &Candidate)| {
            [own.optimizer, own.index] == [other.optimizer, other.index] && own.first_runs.is_whole()
        };
        let expected = Race::new(&spec.candidate_counts()).candidates;
        let counted = self.candidates.iter().map(|it| it.tally.count).fold(0, usize::saturating_add);
        self.candidates.len() == expected.len()
            && self.candidates.iter().zip(&expected).all(is_alike)
            && self.end.is_none()
            && self.runs == counted
            && counted <= spec.most_runs_of_pixel()
    }

    /// Returns the number of runs so far.
    pub(in crate::sweep) fn runs(&self) -> usize {
        self.runs
    }

    pub(in crate::sweep) fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// Returns the runs of each candidate of an optimizer, in order.
    pub(in crate::sweep) fn tallies(&self, optimizer: usize) -> impl Iterator<Item = &Tally> {
        self.of(optimizer).map(|candidate| &candidate.tally)
    }

    fn of(&self, optimizer: usize) -> impl Iterator<Item = &Candidate> {
        self.candidates.iter().filter(move |candidate| candidate.optimizer == optimizer)
    }

    /// Returns the optimizer that leads, which is the winner of a race that is over; none if all candidates have
    /// diverged, or another optimizer is exactly as good.
    pub(in crate::sweep) fn leading(&self, metric: Metric) -> Option<usize> {
        let Candidate { optimizer, tally, .. } = &self.candidates[self.leader(metric)?];
        let is_as_good = |other: &Candidate| {
            other.is_in_race() && other.optimizer != *optimizer && other.tally.mean(metric) == tally.mean(metric)
        };
        (!self.candidates.iter().any(is_as_good)).then_some(*optimizer)
    }

    /// Returns a bound of the probability of so much evidence against an optimizer if it had the best candidate of all.
    pub(in crate::sweep) fn error_probability(&self, optimizer: usize, rules: &RaceRules) -> f64 {
        let open = self.of(optimizer).filter(|candidate| !candidate.has_diverged);
        open.map(|candidate| rules.error_probability(candidate)).fold(0.0, f64::max)
    }

    /// Runs round after round to the end, or `until` the race has this many runs. Returns `None` if cancelled, where the
    /// race is useless, or if runs of external optimizers are missing, where it is as it was before the round.
    pub(in crate::sweep) fn advance(&mut self, context: &RaceContext<'_>, until: Option<usize>) -> Option<()> {
        if self.runs == 0 {
            let all: Vec<(usize, usize)> =
                (0..self.candidates.len()).map(|index| (index, Adaptive::FIRST_REPLICATES)).collect();
            self.sample(context, &all)?;
        }
        while self.end.is_none() {
            match self.next_round(context) {
                Err(end) => self.end = Some(end),
                Ok(_) if until.is_some_and(|until| self.runs >= until) => break,
                Ok(round) => self.run_round(context, &round)?,
            }
        }
        Some(())
    }

    /// Returns the candidate in the race with the best mean, the first of equals; none if all have diverged.
    fn leader(&self, metric: Metric) -> Option<usize> {
        let mut in_race = self.candidates.iter().enumerate().filter(|(_, candidate)| candidate.is_in_race());
        let (mut leader, first) = in_race.next()?;
        let mut best = first.tally.mean(metric);
        for (index, candidate) in in_race {
            let mean = candidate.tally.mean(metric);
            if metric.is_better(mean, best) {
                (leader, best) = (index, mean);
            }
        }
        Some(leader)
    }

    /// Returns the next round, or as an error how the race ends.
    fn next_round(&self, context: &RaceContext<'_>) -> Result<Round, End> {
        let RaceContext { pixel, rules, .. } = context;
        let metric = pixel.spec.metric;
        let leader = self.leader(metric).ok_or(End::Open)?;
        let first = &self.candidates[leader];
        let is_rival = |candidate: &Candidate| candidate.is_in_race() && candidate.optimizer != first.optimizer;
        if !self.candidates.iter().any(is_rival) {
            return self.last_round(context, leader);
        }
        let waits = |candidate: &Candidate| {
            let behind = metric.advantage(first.tally.mean(metric), candidate.tally.mean(metric));
            let variance = first.tally.variance_of_mean(metric) + candidate.tally.variance_of_mean(metric);
            behind > PAUSE_LAG * variance.sqrt()
        };
        let mut field = Vec::new();
        for (index, candidate) in self.candidates.iter().enumerate() {
            if index == leader || !candidate.is_in_race() || (!is_rival(candidate) && waits(candidate)) {
                continue;
            }
            match candidate.evidence[0].missing(&rules.analyses) {
                Some(missing) => field.push((index, missing)),
                // It cannot be beaten any more.
                None if is_rival(candidate) => return Err(End::Open),
                None => {}
            }
        }
        // Where noise is common, each run is compared with the leader's of the same replicate.
        let share = if pixel.key.common { 1 } else { field.len().isqrt().clamp(1, MOST_OF_LEADER) };
        let most = field.iter().map(|(_, count)| *count).max().expect("there is a rival");
        let cost = field.iter().map(|(_, count)| count).sum::<usize>() + share * most;
        if self.runs + cost > rules.budget || self.is_hopeless(rules, first.optimizer) {
            return Err(End::Open);
        }
        field.push((leader, share * most));
        field.sort_unstable();
        Ok(Round { field, leader, share })
    }

    /// Returns the last round of a leader without rivals: if all candidates of some optimizer have diverged, the leader
    /// may diverge too, so that it needs as many replicates as with uniform sampling before it wins.
    fn last_round(&self, context: &RaceContext<'_>, leader: usize) -> Result<Round, End> {
        let spec = context.pixel.spec;
        let has_diverged = |optimizer| self.of(optimizer).all(|candidate| candidate.has_diverged);
        let missing = spec.replicates.get().saturating_sub(self.candidates[leader].tally.count);
        if missing == 0 || !(0..spec.optimizers.len()).any(has_diverged) {
            return Err(End::Decided);
        }
        if self.runs + missing > context.rules.budget {
            return Err(End::Open);
        }
        Ok(Round { field: vec![(leader, missing)], leader, share: 1 })
    }

    /// Returns whether some rival of the leading optimizer could not be beaten within the budget, even with a larger
    /// lead and if only that rival and the leader were left.
    fn is_hopeless(&self, rules: &RaceRules, leading: usize) -> bool {
        let left = (rules.budget - self.runs) / 2;
        self.candidates.iter().filter(|candidate| candidate.is_in_race() && candidate.optimizer != leading).any(
            |rival| {
                let count = rival.evidence[0].count();
                let last = (count + left).min(rules.analyses.last());
                let grown = (last as f64 / count as f64).sqrt();
                let is_lost =
                    |(evidence, threshold): (&Evidence, f64)| (evidence.deviate() + LEAD_BOUND) * grown < threshold;
                count > 0 && rival.evidence.iter().zip(rules.thresholds).all(is_lost)
            },
        )
    }

    /// Computes the runs of a round, and compares those of each candidate with the leader's.
    fn run_round(&mut self, context: &RaceContext<'_>, round: &Round) -> Option<()> {
        let &Round { ref field, leader, share } = round;
        let (metric, rules) = (context.pixel.spec.metric, context.rules);
        let caps: Vec<f64> = field.iter().map(|(index, _)| self.candidates[*index].first_runs.cap()).collect();
        let values = self.sample(context, field)?;
        self.candidates[leader].has_led = true;
        if field.iter().any(|(index, _)| self.candidates[*index].has_led && self.candidates[*index].has_diverged) {
            self.restart_comparisons();
            return Some(());
        }
        let position = field.iter().position(|(index, _)| *index == leader).expect("the leader is in the field");
        let of_leader: Vec<f64> =
            values[position].chunks(share).map(|runs| runs.iter().sum::<f64>() / share as f64).collect();
        for (((index, _), values), cap) in field.iter().zip(&values).zip(caps) {
            let candidate = &mut self.candidates[*index];
            if *index != leader && !candidate.has_diverged {
                for ((evidence, threshold), cap) in
                    candidate.evidence.iter_mut().zip(rules.thresholds).zip([f64::INFINITY, cap])
                {
                    let pairs = values.iter().zip(&of_leader);
                    evidence
                        .add(pairs.map(|(own, leading)| loss_of(metric, *own).min(cap) - loss_of(metric, *leading)));
                    candidate.is_beaten |= evidence.strongest() >= threshold;
                }
            }
        }
        Some(())
    }

    /// Discards all comparisons: a former leader has diverged, so that a candidate that it has beaten may be the best.
    fn restart_comparisons(&mut self) {
        for candidate in &mut self.candidates {
            candidate.evidence = Default::default();
            candidate.is_beaten = false;
            candidate.has_led = false;
        }
    }

    /// Computes new runs of candidates; returns their values of the metric.
    fn sample(&mut self, context: &RaceContext<'_>, field: &[(usize, usize)]) -> Option<Vec<Vec<f64>>> {
        let (metric, optimizers) = (context.pixel.spec.metric, 0..context.pixel.point.optimizers.len());
        let of_optimizer = |race: &Race, optimizer| -> Vec<(usize, usize)> {
            let is_own = |(index, _): &&(usize, usize)| race.candidates[*index].optimizer == optimizer;
            field.iter().filter(is_own).copied().collect()
        };
        let runs_of = |race: &Race, of: &[(usize, usize)]| -> Vec<Run> {
            let runs = of.iter().flat_map(|(index, count)| {
                let Candidate { index: candidate, tally, .. } = race.candidates[*index];
                let first = if context.pixel.key.common { race.next_replicate } else { tally.count };
                (first..first + count).map(move |replicate| Run { candidate, replicate })
            });
            runs.collect()
        };
        let external_runs = |optimizer| runs_of(self, &of_optimizer(self, optimizer));
        if !context.pixel.knows_external(external_runs) {
            return None;
        }
        let mut values = Vec::with_capacity(field.len());
        for optimizer in optimizers {
            let of_optimizer = of_optimizer(self, optimizer);
            let runs = runs_of(self, &of_optimizer);
            let metrics = context.backend.run(SomeRuns { pixel: context.pixel, optimizer, runs: &runs })?;
            self.runs += runs.len();
            let mut metrics = metrics.iter();
            for (index, count) in of_optimizer {
                let candidate = &mut self.candidates[index];
                let own: Vec<&Metrics<f64>> = metrics.by_ref().take(count).collect();
                for run in &own {
                    candidate.tally.add(run);
                    candidate.first_runs.add(loss_of(metric, metric.of_run(run)));
                }
                candidate.has_diverged = !candidate.tally.mean(metric).is_finite();
                values.push(own.iter().map(|run| metric.of_run(run)).collect());
            }
        }
        self.next_replicate += field.iter().map(|(_, count)| *count).max().unwrap_or(0);
        Some(values)
    }
}
