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
