//! Metrics of the time that the processes of a training wait for each other.

use std::sync::Arc;

use valleyscope_runs::{MetricId, MetricInfo, MetricValues, Unit};

use super::group::{Group, Wait};

/// Measures how long the processes of a training wait for each other.
pub(super) struct WaitMetrics {
    group: Arc<Group>,
    before: Vec<Wait>,
    /// The fraction of its recent time that each process has waited; none before its second report.
    shares: Vec<Option<f64>>,
}

impl WaitMetrics {
    pub(super) fn new(group: Arc<Group>) -> WaitMetrics {
        let shares = vec![None; group.size()];
        WaitMetrics { group, before: Vec::new(), shares }
    }

    /// Lists the measured metrics: none for a single process.
    pub(super) fn metrics(&self) -> Vec<MetricInfo> {
        if self.group.is_alone() {
            return Vec::new();
        }
        vec![
            MetricId::PROCESSES.described("Processes", Unit::Exact),
            MetricId::WAIT_SHARE.described("Wait for other processes", Unit::Fraction),
            MetricId::SLOWEST_RANK.described("Slowest rank", Unit::Exact),
        ]
    }

    /// Starts the measurement.
    pub(super) fn begin(&mut self) {
        self.before = self.group.waits();
    }

    /// Returns the metrics of the last `seconds`, the time since the previous call.
    pub(super) fn measure(&mut self, seconds: f64) -> MetricValues {
        if self.group.is_alone() {
            return MetricValues::default();
        }
        let now = self.group.waits();
        let own_share = ((now[0].waited_s - self.before[0].waited_s) / seconds).clamp(0.0, 1.0);
        // The others report once a second, each by its own clock.
        for ((now, before), share) in now.into_iter().zip(&mut self.before).zip(&mut self.shares) {
            let passed = now.at_s - before.at_s;
            if passed > 0.0 {
                *share = (before.at_s > 0.0).then(|| (now.waited_s - before.waited_s) / passed).or(*share);
                *before = now;
            }
        }
        let mut values: MetricValues =
            [(MetricId::PROCESSES, self.group.size() as f64), (MetricId::WAIT_SHARE, own_share)].into();
        let shares: Option<Vec<f64>> = self.shares.iter().copied().collect();
        let least = shares.and_then(|shares| (0..shares.len()).min_by(|a, b| shares[*a].total_cmp(&shares[*b])));
        if let Some(slowest) = least {
            values.set(MetricId::SLOWEST_RANK, slowest as f64);
        }
        values
    }
}
