//! The time that the grid points of a scan take, by their batch size.

use std::collections::BTreeMap;

use super::event::GridPoint;

/// The times of the finished grid points of a scan.
///
/// All grid points take equally many steps, and a step takes about `α + β b` seconds with batches of `b`: a fixed cost
/// per step, and a cost per sample. A batch size with finished grid points costs their mean. For the others, `α` and
/// `β` are fitted to these means by least squares, neither of them negative.
#[derive(Debug)]
pub(super) struct ScanCosts {
    /// Mean seconds of a grid point, by batch size.
    known: BTreeMap<u64, f64>,
}

impl ScanCosts {
    pub(super) fn of<'p>(points: impl Iterator<Item = &'p GridPoint>) -> ScanCosts {
        let mut sums: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
        // Other programs may not record the time of a grid point.
        for point in points.filter(|point| point.seconds.is_finite() && point.seconds > 0.0) {
            let (sum, count) = sums.entry(point.batch_size).or_default();
            *sum += point.seconds;
            *count += 1.0;
        }
        ScanCosts { known: sums.into_iter().map(|(size, (sum, count))| (size, sum / count)).collect() }
    }

    /// Returns the seconds of grid points with these batch sizes. None while they cannot be estimated: if larger
    /// batches remain, two batch sizes must be measured.
    pub(super) fn seconds_of(&self, mut batch_sizes: impl Iterator<Item = u64>) -> Option<f64> {
        batch_sizes.try_fold(0.0, |sum, size| Some(sum + self.seconds(size)?))
    }

    /// Returns the seconds of a grid point with this batch size.
    fn seconds(&self, batch_size: u64) -> Option<f64> {
        if let Some(&known) = self.known.get(&batch_size) {
            return Some(known);
        }
        if self.known.len() < 2 {
            return None;
        }
        let count = self.known.len() as f64;
        let points = || self.known.iter().map(|(&size, &seconds)| (size as f64, seconds));
        let (size, seconds) =
            points().fold((0.0, 0.0), |(x, y), (size, seconds)| (x + size / count, y + seconds / count));
        let covariance: f64 = points().map(|(x, y)| (x - size) * (y - seconds)).sum();
        let variance: f64 = points().map(|(x, _)| (x - size).powi(2)).sum();
        let slope = (covariance / variance).max(0.0);
        let intercept = seconds - slope * size;
        Some(if intercept >= 0.0 {
            intercept + slope * batch_size as f64
        } else {
            // The least-squares line through the origin.
            let proportion = points().map(|(x, y)| x * y).sum::<f64>() / points().map(|(x, _)| x * x).sum::<f64>();
            proportion * batch_size as f64
        })
    }
}
