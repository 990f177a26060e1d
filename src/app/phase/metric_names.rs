//! The names of the metrics of a sweep.

use valleyscope_engine::sweep::Metric;

/// The metrics with their names, in the order of [`Metric::ALL`].
pub(super) const METRICS: [(Metric, &str); 3] =
    [(Metric::FinalLoss, "final loss"), (Metric::SmallestLoss, "smallest loss"), (Metric::Depth, "depth")];
