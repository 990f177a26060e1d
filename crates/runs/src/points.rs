//! Points of a run's curves, in columns.
//!
//! The metrics of every point share one column of steps and times. An event holds any numbers by name, and `started`
//! describes them, so curves, tables, lists and exports need no list of metrics.

use std::collections::BTreeMap;

use super::event::EventRecord;
use super::metric::{MetricId, MetricValues};

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

/// The steps and times of points.
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

    fn kept(&self, last_step: u64) -> Vec<bool> {
        self.step.iter().map(|&step| step <= last_step).collect()
    }

    fn retain(&mut self, kept: &[bool]) {
        retain(&mut self.step, kept);
        retain(&mut self.wall_s, kept);
        retain(&mut self.time_s, kept);
    }
}

fn retain<T>(values: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    values.retain(|_| *kept.next().expect("there is one for each value"));
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

    /// Moves shared metrics that an event lacks, or holds in another order, to columns of their own.
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

    /// Removes the points after a step, and returns whether there were any.
    pub(super) fn forget_after(&mut self, step: u64) -> bool {
        let kept = self.moments.kept(step);
        self.moments.retain(&kept);
        self.shared.iter_mut().for_each(|(_, values)| retain(values, &kept));
        for series in self.others.values_mut() {
            let kept = series.moments.kept(step);
            series.moments.retain(&kept);
            retain(&mut series.value, &kept);
        }
        kept.contains(&false)
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
