//! Statistics of a run's training loss over all of its points, without the points themselves.

/// The smallest and the smoothed training loss of a run's own points; those before a fork are another run's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LossTally {
    best: Option<f64>,
    last: f64,
    sum: f64,
    weight: f64,
}

impl LossTally {
    /// The weight of the past in the smoothed loss, which is an average over about the last fifty points.
    pub const SMOOTHING: f64 = 0.98;

    /// Returns the smallest loss; `None` if no loss is a number.
    pub fn best(&self) -> Option<f64> {
        self.best
    }

    /// Returns the exponential average with bias correction, as plots have it; the last loss if that is not finite.
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
            self.best = Some(self.best.map_or(loss, |best| best.min(loss)));
        }
        if loss.is_finite() {
            self.sum = Self::SMOOTHING * self.sum + (1.0 - Self::SMOOTHING) * loss;
            self.weight = Self::SMOOTHING * self.weight + (1.0 - Self::SMOOTHING);
        }
    }
}

/// The tally of a run, with those at its checkpoints: resuming from one makes later points void.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LossTallies {
    now: LossTally,
    at_checkpoints: Vec<(u64, LossTally)>,
}

impl LossTallies {
    pub(super) fn now(&self) -> LossTally {
        self.now
    }

    pub(super) fn push(&mut self, loss: f64) {
        self.now.push(loss);
    }

    pub(super) fn keep_at(&mut self, step: u64) {
        self.at_checkpoints.push((step, self.now));
    }

    /// Forgets the points after a step; where the event of its checkpoint is lost, those after an earlier one.
    pub(super) fn return_to(&mut self, step: u64) {
        self.at_checkpoints.retain(|(at, _)| *at <= step);
        self.now = self.at_checkpoints.last().map(|(_, tally)| *tally).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::{LossTallies, LossTally};

    #[test]
    fn the_smoothed_loss_has_no_pull_to_zero_and_shows_a_divergence() {
        let mut tally = LossTally::default();
        assert_eq!((tally.best(), tally.smoothed()), (None, None));
        (0..10).for_each(|_| tally.push(2.0));
        assert!(tally.smoothed().is_some_and(|loss| (loss - 2.0).abs() < 1e-12));
        tally.push(1.0);
        assert_eq!(tally.best(), Some(1.0));
        tally.push(f64::NAN);
        assert!(tally.smoothed().is_some_and(f64::is_nan));
        assert_eq!(tally.best(), Some(1.0));
    }

    #[test]
    fn resuming_forgets_the_points_after_the_checkpoint() {
        let mut tallies = LossTallies::default();
        tallies.push(3.0);
        tallies.keep_at(1);
        let then = tallies.now();
        tallies.push(0.5);
        tallies.keep_at(2);
        tallies.push(0.25);
        tallies.return_to(1);
        assert_eq!(tallies.now(), then);
        assert_eq!(tallies.now().best(), Some(3.0));
        tallies.return_to(0);
        assert_eq!(tallies.now(), LossTally::default());
    }
}
