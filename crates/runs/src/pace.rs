//! The intervals between the events of a session.

use jiff::Timestamp;

/// The longest time between two events of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct EventRate {
    /// Line and time of the last event.
    last: Option<(u64, Timestamp)>,
    longest_s: Option<f64>,
}

impl EventRate {
    /// Adds the event of a line. A reader may skip lines of training in between, which are then assumed to be evenly
    /// spaced in time.
    pub(super) fn take(&mut self, line: u64, time: Timestamp) {
        if let Some((before, at)) = self.last {
            let lines = line.saturating_sub(before).max(1) as f64;
            let pause_s = (time.duration_since(at).as_secs_f64() / lines).max(0.0);
            self.longest_s = Some(self.longest_s.map_or(pause_s, |longest| longest.max(pause_s)));
        }
        self.last = Some((line, time));
    }

    /// In seconds; None before the second event.
    pub(super) fn longest_s(&self) -> Option<f64> {
        self.longest_s
    }
}
