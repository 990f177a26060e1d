/// The factor by which the loss is multiplied so that gradients do not underflow in float16.
///
/// The factor is halved whenever a gradient is not finite, and doubled after [`LossScale::PATIENCE`] steps without
/// that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LossScale {
    pub factor: f64,
    /// Steps with finite gradients since the last change of the factor.
    good: u64,
    /// Skipped steps, whose gradients were not finite.
    pub skipped: u64,
}

impl LossScale {
    /// Steps until the factor is doubled.
    const PATIENCE: u64 = 2000;

    pub(super) fn new(factor: f64) -> LossScale {
        LossScale { factor, good: 0, skipped: 0 }
    }

    /// Updates the factor, given whether the gradients of a step were finite.
    pub(super) fn update(&mut self, finite: bool) {
        if !finite {
            *self = LossScale { factor: 0.5 * self.factor, good: 0, skipped: self.skipped + 1 };
        } else if self.good + 1 == Self::PATIENCE {
            *self = LossScale { factor: 2.0 * self.factor, good: 0, ..*self };
        } else {
            self.good += 1;
        }
    }

    /// Returns the numbers for a checkpoint.
    pub(super) fn to_numbers(self) -> [f64; 3] {
        [self.factor, self.good as f64, self.skipped as f64]
    }

    /// Restores the loss scale after `step` steps from these numbers; `None` if they are impossible.
    pub(super) fn from_numbers([factor, good, skipped]: [f64; 3], step: u64) -> Option<LossScale> {
        let is_count = |number: f64, most: u64| (0.0..=most as f64).contains(&number);
        let fits = factor.is_normal() && factor > 0.0 && is_count(good, Self::PATIENCE - 1) && is_count(skipped, step);
        fits.then_some(LossScale { factor, good: good as u64, skipped: skipped as u64 })
    }
}

#[cfg(test)]
mod tests {
    use super::LossScale;

    #[test]
    fn halves_at_once_and_doubles_after_two_thousand_good_steps() {
        let mut scale = LossScale::new(65536.0);
        scale.update(false);
        assert_eq!((scale.factor, scale.skipped), (32768.0, 1));
        for _ in 0..1999 {
            scale.update(true);
        }
        assert_eq!(scale.factor, 32768.0);
        scale.update(true);
        assert_eq!(scale.factor, 65536.0);
        assert_eq!(LossScale::from_numbers(scale.to_numbers(), 2001), Some(scale));
        for wrong in [[0.0, 0.0, 0.0], [f64::NAN, 0.0, 0.0], [1.0, 2000.0, 0.0], [1.0, 0.0, 2002.0], [1.0, -1.0, 0.0]] {
            assert_eq!(LossScale::from_numbers(wrong, 2001), None, "{wrong:?}");
        }
        // A bad step restarts the count.
        for _ in 0..1999 {
            scale.update(true);
        }
        scale.update(false);
        scale.update(true);
        assert_eq!((scale.factor, scale.skipped), (32768.0, 2));
    }
}
