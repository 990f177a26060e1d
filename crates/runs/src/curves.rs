//! The curves of a run: its points in columns, and statistics of its losses.
//!
//! The metrics of every point share one column of steps and times. An event holds any numbers by name, and `started`
//! describes them, so curves, tables, lists and exports need no list of metrics.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::event::EventRecord;
use super::metric::{Better, MetricId, MetricValues};

/// Points in the order of their steps: columns of equal length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricCurve<'h> {
    pub step: &'h [u64],
    /// Seconds of training.
    pub wall_s: &'h [f64],
    /// Seconds since 1970.
    pub time_s: &'h [f64],
    pub value: &'h [f64],
}

impl MetricCurve<'_> {
    pub fn len(&self) -> usize {
        self.value.len()
    }

    pub fn is_empty(&self) -> bool {
        self.value.is_empty()
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Moments {
    step: Vec<u64>,
    wall_s: Vec<f64>,
    time_s: Vec<f64>,
}

impl Moments {
    fn push(&mut self, record: &EventRecord) {
        self.step.push(record.step);
        self.wall_s.push(record.wall_s);
        self.time_s.push(record.time.as_duration().as_secs_f64());
    }

    fn curve<'h>(&'h self, value: &'h [f64]) -> MetricCurve<'h> {
        MetricCurve { step: &self.step, wall_s: &self.wall_s, time_s: &self.time_s, value }
    }

    fn mask_up_to(&self, last_step: u64) -> Vec<bool> {
        self.step.iter().map(|&step| step <= last_step).collect()
    }

    fn retain(&mut self, mask: &[bool]) {
        retain(&mut self.step, mask);
        retain(&mut self.wall_s, mask);
        retain(&mut self.time_s, mask);
    }
}

fn retain<T>(values: &mut Vec<T>, mask: &[bool]) {
    let mut mask = mask.iter();
    values.retain(|_| *mask.next().expect("there is one for each value"));
}

/// A metric that not every event holds.
#[derive(Clone, Debug, Default, PartialEq)]
struct Series {
    moments: Moments,
    value: Vec<f64>,
}

/// The points of all events of one kind.
///
/// The metrics that each of these events holds share the columns of steps and times; each of the others has its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MetricPoints {
    moments: Moments,
    /// The metrics of all these events, in the order of the first event.
    shared: Vec<(MetricId, Vec<f64>)>,
    others: BTreeMap<MetricId, Series>,
}

impl MetricPoints {
    pub(super) fn push(&mut self, record: &EventRecord, metrics: &MetricValues) {
        if self.is_empty() {
            self.shared = metrics.iter().map(|(metric, _)| (metric, Vec::new())).collect();
        }
        // Nearly all events hold the same metrics in the same order.
        if !metrics.iter().map(|(metric, _)| metric).eq(self.shared.iter().map(|(metric, _)| *metric)) {
            self.part_from(metrics);
        }
        self.moments.push(record);
        let mut shared = self.shared.iter_mut();
        for (metric, value) in metrics.iter() {
            match shared.as_slice().first() {
                Some((next, _)) if *next == metric => {
                    shared.next().expect("it was seen").1.push(value);
                }
                _ => {
                    let series = self.others.entry(metric).or_default();
                    series.moments.push(record);
                    series.value.push(value);
                }
            }
        }
    }

    /// Moves shared metrics that an event lacks, or holds in another order, to separate columns.
    fn part_from(&mut self, metrics: &MetricValues) {
        let mut there = metrics.iter().map(|(metric, _)| metric);
        let moments = &self.moments;
        let others = &mut self.others;
        self.shared.retain_mut(|(metric, value)| {
            let rest = there.clone();
            let is_there = there.any(|other| other == *metric);
            if !is_there {
                there = rest;
                others.insert(*metric, Series { moments: moments.clone(), value: std::mem::take(value) });
            }
            is_there
        });
    }

    pub(super) fn forget_after(&mut self, step: u64) -> bool {
        let mask = self.moments.mask_up_to(step);
        self.moments.retain(&mask);
        self.shared.iter_mut().for_each(|(_, values)| retain(values, &mask));
        for series in self.others.values_mut() {
            let mask = series.moments.mask_up_to(step);
            series.moments.retain(&mask);
            retain(&mut series.value, &mask);
        }
        mask.contains(&false)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.moments.step.is_empty()
    }

    pub(super) fn curve(&self, metric: MetricId) -> Option<MetricCurve<'_>> {
        let shared = self.shared.iter().find(|(other, _)| *other == metric);
        let shared = shared.map(|(_, values)| self.moments.curve(values));
        shared.or_else(|| self.others.get(&metric).map(|series| series.moments.curve(&series.value)))
    }

    /// Lists the measured metrics, those of every event first.
    pub(super) fn metrics(&self) -> impl Iterator<Item = MetricId> {
        self.shared.iter().map(|(metric, _)| *metric).chain(self.others.keys().copied())
    }
}

/// The range and the smoothed value of a metric, such as the training loss, in a run's own points; without those of
/// another run before a fork.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LossTally {
    /// The smallest and the largest value.
    range: Option<[f64; 2]>,
    last: f64,
    sum: f64,
    weight: f64,
}

impl LossTally {
    /// The weight of the past in the smoothed loss, which is an average over about the last fifty points.
    pub const SMOOTHING: f64 = 0.98;

    /// The best value, which is the smallest one unless larger ones are better; `None` if none is a number.
    pub fn best(&self, better: Better) -> Option<f64> {
        self.range.map(|[least, greatest]| if better == Better::Higher { greatest } else { least })
    }

    /// The exponential average with bias correction, as plots have it; the last loss if that is not finite.
    pub fn smoothed(&self) -> Option<f64> {
        match self.weight {
            _ if !self.last.is_finite() => Some(self.last),
            0.0 => None,
            weight => Some(self.sum / weight),
        }
    }

    /// Adds the next point's loss.
    pub fn push(&mut self, loss: f64) {
        self.last = loss;
        if !loss.is_nan() {
            let [least, greatest] = self.range.unwrap_or([loss; 2]);
            self.range = Some([least.min(loss), greatest.max(loss)]);
        }
        if loss.is_finite() {
            self.sum = Self::SMOOTHING * self.sum + (1.0 - Self::SMOOTHING) * loss;
            self.weight = Self::SMOOTHING * self.weight + (1.0 - Self::SMOOTHING);
        }
    }
}

/// The tallies of a run's metrics of training, with those at its checkpoints: resuming from one makes later points void.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LossTallies {
    now: BTreeMap<MetricId, LossTally>,
    at_checkpoints: Vec<(u64, BTreeMap<MetricId, LossTally>)>,
}

impl LossTallies {
    pub(super) fn of(&self, metric: MetricId) -> Option<LossTally> {
        self.now.get(&metric).copied()
    }

    pub(super) fn push(&mut self, metrics: &MetricValues) {
        for (metric, value) in metrics.iter() {
            self.now.entry(metric).or_default().push(value);
        }
    }

    pub(super) fn keep_at(&mut self, step: u64) {
        self.at_checkpoints.push((step, self.now.clone()));
    }

    /// Forgets the points after a step; without the event of its checkpoint, those after an earlier one.
    pub(super) fn return_to(&mut self, step: u64) {
        self.at_checkpoints.retain(|(at, _)| *at <= step);
        self.now = self.at_checkpoints.last().map(|(_, tallies)| tallies.clone()).unwrap_or_default();
    }
}

/// Tracks the longest time between two events of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LongestInterval {
    /// Line and time of the last event.
    last: Option<(u64, Timestamp)>,
    longest_s: Option<f64>,
}

impl LongestInterval {
    /// Adds the event of a line. A reader may skip lines of training in between; they count as evenly spaced in time.
    pub(super) fn add(&mut self, line: u64, time: Timestamp) {
        if let Some((before, at)) = self.last {
            let lines = line.saturating_sub(before).max(1) as f64;
            let interval_s = (time.duration_since(at).as_secs_f64() / lines).max(0.0);
            self.longest_s = Some(self.longest_s.map_or(interval_s, |longest| longest.max(interval_s)));
        }
        self.last = Some((line, time));
    }

    /// The longest interval in seconds; None before the second event.
    pub(super) fn seconds(&self) -> Option<f64> {
        self.longest_s
    }
}

#[cfg(test)]
mod tests {
    use super::{Better, LossTallies, LossTally, MetricId, MetricValues};

    #[test]
    fn the_smoothed_loss_has_no_pull_to_zero_and_shows_a_divergence() {
        let mut tally = LossTally::default();
        assert_eq!((tally.best(Better::Lower), tally.smoothed()), (None, None));
        (0..10).for_each(|_| tally.push(2.0));
        assert!(tally.smoothed().is_some_and(|loss| (loss - 2.0).abs() < 1e-12));
        tally.push(1.0);
        tally.push(f64::NAN);
        assert!(tally.smoothed().is_some_and(f64::is_nan));
        assert_eq!([Better::Lower, Better::Higher].map(|better| tally.best(better)), [Some(1.0), Some(2.0)]);
    }

    #[test]
    fn resuming_forgets_the_points_after_the_checkpoint() {
        let mut tallies = LossTallies::default();
        let push = |tallies: &mut LossTallies, loss| tallies.push(&MetricValues::from([(MetricId::LOSS, loss)]));
        push(&mut tallies, 3.0);
        tallies.keep_at(1);
        let then = tallies.of(MetricId::LOSS).expect("a tally");
        push(&mut tallies, 0.5);
        tallies.keep_at(2);
        push(&mut tallies, 0.25);
        tallies.return_to(1);
        assert_eq!(tallies.of(MetricId::LOSS), Some(then));
        assert_eq!(then.best(Better::Lower), Some(3.0));
        tallies.return_to(0);
        assert_eq!(tallies.of(MetricId::LOSS), None);
    }
}
