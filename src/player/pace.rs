//! The timing of steps, and the measured rate of steps per second.

use std::time::{Duration, Instant};

/// The interval over which the displayed rate is measured, at first a shorter one.
const RATE_INTERVAL: Duration = Duration::from_millis(500);
const FIRST_RATE_INTERVAL: Duration = Duration::from_millis(100);

/// The speed of a playing simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    StepsPerSecond(f64),
    Unlimited,
}

/// Determines how many steps are due at a time.
pub(super) struct Pace {
    playing: bool,
    /// Whether steps are held back although it plays.
    is_held: bool,
    speed: Speed,
    /// The number of steps to take at full speed before a pause.
    ahead: u64,
    /// The number of steps due, with a fractional part.
    due: f64,
    last: Instant,
}

impl Pace {
    /// The longest delay whose missed steps are made up for.
    const CATCH_UP: Duration = Duration::from_millis(100);

    /// Creates a paused pace, with a speed of 60 steps a second.
    pub(super) fn new(now: Instant) -> Pace {
        Pace { playing: false, is_held: false, speed: Speed::StepsPerSecond(60.0), ahead: 0, due: 0.0, last: now }
    }

    /// Sets the speed. A rate that is NaN or too small becomes one step in 1000 seconds.
    pub(super) fn set_speed(&mut self, speed: Speed) {
        self.speed = match speed {
            Speed::StepsPerSecond(rate) => Speed::StepsPerSecond(rate.max(1e-3)),
            Speed::Unlimited => Speed::Unlimited,
        };
    }

    pub(super) fn play(&mut self) {
        if !self.playing {
            self.playing = true;
            self.last = Instant::now();
            self.due = 0.0;
        }
        self.ahead = 0;
    }

    pub(super) fn pause(&mut self) {
        self.playing = false;
        self.ahead = 0;
    }

    /// Holds back the steps of a playing simulation, or releases them; the time in between does not count.
    pub(super) fn hold(&mut self, is_held: bool) {
        self.is_held = is_held;
        self.last = Instant::now();
        self.due = 0.0;
    }

    pub(super) fn advance(&mut self, steps: u64) {
        self.playing = false;
        self.ahead = self.ahead.saturating_add(steps);
    }

    /// Returns whether requested single steps are being taken.
    pub(super) fn is_ahead(&self) -> bool {
        self.ahead > 0
    }

    /// Drops the remaining requested single steps.
    pub(super) fn drop_ahead(&mut self) {
        self.ahead = 0;
    }

    pub(super) fn is_moving(&self) -> bool {
        self.playing || self.ahead > 0
    }

    pub(super) fn steps_due(&mut self, now: Instant) -> u64 {
        let elapsed = now - self.last;
        self.last = now;
        match self.speed {
            _ if self.ahead > 0 => self.ahead,
            _ if !self.playing || self.is_held => 0,
            Speed::Unlimited => u64::MAX,
            Speed::StepsPerSecond(rate) => {
                // At a slow rate the wait for a single step may be longer than the catch-up time.
                let most = (rate * Self::CATCH_UP.as_secs_f64()).max(1.0);
                self.due = (self.due + rate * elapsed.as_secs_f64()).min(most);
                self.due as u64
            }
        }
    }

    pub(super) fn took(&mut self, steps: u64) {
        if self.ahead > 0 {
            self.ahead = self.ahead.saturating_sub(steps);
        } else {
            self.due = (self.due - steps as f64).max(0.0);
        }
    }

    /// Returns the time until a step is due; `None` while none will be.
    pub(super) fn until_due(&self) -> Option<Duration> {
        match self.speed {
            _ if self.ahead > 0 => Some(Duration::ZERO),
            _ if !self.playing || self.is_held => None,
            Speed::Unlimited => Some(Duration::ZERO),
            Speed::StepsPerSecond(rate) => {
                let wait_secs = ((1.0 - self.due) / rate).clamp(0.0, 3600.0);
                Some(Duration::from_secs_f64(wait_secs).saturating_sub(self.last.elapsed()))
            }
        }
    }
}

/// Measures steps per second.
pub(super) struct Rate {
    since: Instant,
    /// The step at that time, if all steps since then had been taken forwards.
    from_step: u64,
    steps_per_sec: f64,
    moving: bool,
}

impl Rate {
    pub(super) fn new(now: Instant) -> Self {
        Rate { since: now, from_step: 0, steps_per_sec: 0.0, moving: false }
    }

    /// Goes on measuring after a move from one step to another that was no step of the simulation.
    pub(super) fn skip(&mut self, from: u64, to: u64) {
        self.from_step = self.from_step.wrapping_add(to).wrapping_sub(from);
    }

    /// Measures the rate. A measurement begins when the simulation begins to move: the pause before does not count.
    pub(super) fn measure(&mut self, now: Instant, step: u64, moving: bool) -> f64 {
        if !moving || !self.moving {
            *self = Rate { since: now, from_step: step, steps_per_sec: 0.0, moving };
            return 0.0;
        }
        let (elapsed, taken) = (now - self.since, step.wrapping_sub(self.from_step).cast_signed().max(0));
        let interval = if self.steps_per_sec == 0.0 { FIRST_RATE_INTERVAL } else { RATE_INTERVAL };
        // At a slow pace the time without a step is not informative: the rate is measured from one step to another.
        if taken > 0 && elapsed >= interval {
            let steps_per_sec = taken as f64 / elapsed.as_secs_f64();
            *self = Rate { since: now, from_step: step, steps_per_sec, moving };
        }
        self.steps_per_sec
    }
}
