//! The speed of the simulation.

use serde::{Deserialize, Serialize};

use crate::player::Speed;

/// The speed of the simulation; kept with the session.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlaybackPace {
    pub steps_per_sec: f64,
    /// Plays at full speed if true, regardless of `steps_per_sec`.
    pub unlimited: bool,
}

impl PlaybackPace {
    pub const SLOWEST: f64 = 1.0;
    pub const FASTEST: f64 = 10_000.0;

    /// The speeds of the digits 1 to 9 in steps a second; `None` is as fast as it goes.
    pub const OF_DIGITS: [Option<f64>; 9] =
        [Some(1.0), Some(2.0), Some(5.0), Some(10.0), Some(30.0), Some(60.0), Some(200.0), Some(1000.0), None];

    /// Returns the speed of a digit, by its index in [`PlaybackPace::OF_DIGITS`].
    pub fn of_digit(self, index: usize) -> PlaybackPace {
        match Self::OF_DIGITS[index] {
            Some(steps_per_sec) => PlaybackPace { steps_per_sec, unlimited: false },
            None => PlaybackPace { unlimited: true, ..self },
        }
    }

    /// Returns the next faster speed of a digit, or the next slower one.
    pub fn next(self, faster: bool) -> PlaybackPace {
        let rate = |speed: Option<f64>| speed.unwrap_or(f64::INFINITY);
        let own = rate((!self.unlimited).then_some(self.steps_per_sec));
        let found = match faster {
            true => Self::OF_DIGITS.iter().position(|speed| rate(*speed) > own),
            false => Self::OF_DIGITS.iter().rposition(|speed| rate(*speed) < own),
        };
        found.map_or(self, |index| self.of_digit(index))
    }

    /// Formats the speed, as in "60 steps a second".
    pub fn words(self) -> String {
        match (self.unlimited, self.steps_per_sec) {
            (true, _) => "as fast as it goes".to_owned(),
            (false, 1.0) => "1 step a second".to_owned(),
            (false, rate) => format!("{} steps a second", super::number::text(rate)),
        }
    }

    pub fn speed(self) -> Speed {
        if self.unlimited {
            Speed::Unlimited
        } else {
            Speed::StepsPerSecond(self.steps_per_sec.clamp(Self::SLOWEST, Self::FASTEST))
        }
    }
}

impl Default for PlaybackPace {
    fn default() -> Self {
        PlaybackPace { steps_per_sec: 60.0, unlimited: false }
    }
}

#[cfg(test)]
mod tests {
    use super::PlaybackPace;

    #[test]
    fn the_next_speed_is_that_of_the_next_digit() {
        let own = PlaybackPace { steps_per_sec: 45.0, unlimited: false };
        assert_eq!(own.next(true).words(), "60 steps a second");
        assert_eq!(own.next(false).words(), "30 steps a second");
        let slowest = own.of_digit(0);
        assert_eq!((slowest.words(), slowest.next(false)), ("1 step a second".to_owned(), slowest));
        let fastest = own.of_digit(8);
        assert_eq!((fastest.words(), fastest.next(true)), ("as fast as it goes".to_owned(), fastest));
        assert_eq!(fastest.next(false).words(), "1000 steps a second");
    }
}
