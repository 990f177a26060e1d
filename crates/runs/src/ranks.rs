//! The processes that train a run together, according to its events.

use std::fmt::{self, Display};

use super::history::RunHistory;
use super::metric::MetricId;

/// The processes of a run that is trained by several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranks {
    pub count: u64,
    /// The rank that has waited least for the others since the previous point, once measured.
    pub slowest_rank: Option<u64>,
    /// The fraction of that time for which rank 0 has waited.
    pub wait_share: Option<f64>,
}

impl Ranks {
    /// Returns the processes that train the run, or trained it last; none for a single process.
    pub fn of(history: &RunHistory) -> Option<Ranks> {
        let count = history.started()?.processes.filter(|count| *count > 1)?;
        let newest = |metric| Some(history.latest_at(metric)?.1).filter(|value: &f64| value.is_finite());
        // Points of a session with another number of processes do not apply.
        let is_theirs = newest(MetricId::PROCESSES) == Some(count as f64);
        let newest = |metric| newest(metric).filter(|_| is_theirs);
        let slowest_rank = newest(MetricId::SLOWEST_RANK).map(|rank| rank as u64);
        Some(Ranks { count, slowest_rank, wait_share: newest(MetricId::WAIT_SHARE) })
    }

    /// Returns a short form, such as `4, slowest 2`.
    pub fn brief(&self) -> String {
        let slowest = self.slowest_rank.map(|rank| format!(", slowest {rank}"));
        format!("{}{}", self.count, slowest.unwrap_or_default())
    }
}

impl Display for Ranks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} processes", self.count)?;
        if let Some(rank) = self.slowest_rank {
            write!(f, ", the slowest is rank {rank}")?;
        }
        if let Some(share) = self.wait_share {
            write!(f, ", rank 0 waits {:.1} % of the time", 100.0 * share)?;
        }
        Ok(())
    }
}
