//! Detection of jumps of the training loss.

use std::collections::VecDeque;

use valleyscope_experiments::view::ticks::significant;

/// Detects jumps in the points of a training curve as they arrive.
///
/// Logarithms are compared, as small losses scatter by factors. A jump is a median of the newest three points that is
/// above all earlier points, and above their median by six deviations and by 5 %. A deviation is 1.4826 times the
/// median absolute deviation from the median: the standard deviation of a normal distribution, robust against single
/// outliers ([Rousseeuw and Croux, 1993](https://doi.org/10.1080/01621459.1993.10476408)).
#[derive(Clone, Debug, Default)]
pub struct LossSpikes {
    /// Logarithms of the newest points, the newest last.
    recent: VecDeque<f64>,
}

impl LossSpikes {
    const NEWEST: usize = 3;
    /// The smallest number of earlier points for a comparison, and the largest number that is kept.
    const BEFORE: [usize; 2] = [16, 50];
    const DEVIATIONS: f64 = 6.0;
    const RISE: f64 = 1.05;

    /// Adds the next point; returns a message if the loss has jumped. A jump is reported once: after it, the points for
    /// comparison are collected anew. Losses that are not finite or not positive are skipped.
    pub fn next(&mut self, loss: f64) -> Option<String> {
        if !(loss.is_finite() && loss > 0.0) {
            return None;
        }
        self.recent.push_back(loss.ln());
        let [least, most] = Self::BEFORE;
        if self.recent.len() > most + Self::NEWEST {
            self.recent.pop_front();
        }
        let count = self.recent.len().checked_sub(Self::NEWEST).filter(|count| *count >= least)?;
        let points = self.recent.make_contiguous();
        let (before, newest) = points.split_at(count);
        let (usual, newest) = (median(before), median(newest));
        let deviation = 1.4826 * median(&before.iter().map(|point| (point - usual).abs()).collect::<Vec<_>>());
        let highest = before.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let bound = highest.max(usual + (Self::DEVIATIONS * deviation).max(Self::RISE.ln()));
        if newest <= bound {
            return None;
        }
        self.recent.clear();
        let [usual, newest] = [usual, newest].map(|point| significant(point.exp(), 3));
        Some(format!("the training loss has jumped to {newest}; the median of the {count} points before was {usual}"))
    }
}

/// Returns the middle value, or the upper of the two in the middle.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
