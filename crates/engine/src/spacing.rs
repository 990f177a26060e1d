//! The spacing of values between two ends, along axes and sliders.

use serde::{Deserialize, Serialize};

use crate::elementary::geometric;

/// The spacing of values between two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Spacing {
    /// Equal differences.
    Linear,
    /// Equal quotients.
    Log,
    /// Equal quotients of 1 − x, for decay rates: 0, 0.9, 0.99 and 0.999 are equally far apart.
    LogComplement,
}

impl Spacing {
    /// Whether an end can have this value: a positive one, or one below 1, where logarithms are taken.
    pub fn allows(self, end: f64) -> bool {
        match self {
            Spacing::Linear => true,
            Spacing::Log => end > 0.0,
            Spacing::LogComplement => end < 1.0,
        }
    }

    /// Returns the quotient of the ends, or of their complements, that are spaced by quotients.
    pub(crate) fn quotient(self, [from, to]: [f64; 2]) -> Option<f64> {
        match self {
            Spacing::Linear => None,
            Spacing::Log => Some(to / from),
            Spacing::LogComplement => Some((1.0 - to) / (1.0 - from)),
        }
    }

    /// Returns the position of a value, from 0 at the first end to 1 at the second. The ends must be different, and
    /// [allowed](Spacing::allows).
    pub fn position(self, [from, to]: [f64; 2], value: f64) -> f64 {
        match self {
            Spacing::Linear => (value - from) / (to - from),
            Spacing::Log => (value / from).ln() / (to / from).ln(),
            Spacing::LogComplement => ((1.0 - value) / (1.0 - from)).ln() / ((1.0 - to) / (1.0 - from)).ln(),
        }
    }

    /// Returns the value at a position from 0 to 1, the inverse of [`Spacing::position`]. It lies between the ends.
    pub fn value(self, [from, to]: [f64; 2], position: f64) -> f64 {
        let value = match (self, position) {
            (_, 1.0) => to,
            (Spacing::Linear, part) => from + (to - from) * part,
            (Spacing::Log, part) => geometric(from, to, part),
            (Spacing::LogComplement, 0.0) => from,
            (Spacing::LogComplement, part) => 1.0 - geometric(1.0 - from, 1.0 - to, part),
        };
        // Rounding must not move a value beyond the ends, which may be limits of the allowed range.
        value.clamp(from.min(to), from.max(to))
    }
}
