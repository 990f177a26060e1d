//! The longest interval between the events of a session.

use jiff::Timestamp;

/// Tracks the longest time between two events of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LongestInterval {
    /// Line and time of the last event.
    last: Option<(u64, Timestamp)>,
    longest_s: Option<f64>,
}

impl LongestInterval {
    /// Adds the event of a line. A reader may skip lines of training in between; they count as evenly spaced in time.
    pub(super) fn add(&mut self, line: u64, time: Timestamp) {
        if let Some((before, at)) = self.last {
            let lines = line.saturating_sub(before).max(1) as f64;
            let interval_s = (time.duration_since(at).as_secs_f64() / lines).max(0.0);
            self.longest_s = Some(self.longest_s.map_or(interval_s, |longest| longest.max(interval_s)));
        }
        self.last = Some((line, time));
    }

    /// Returns the longest interval in seconds; None before the second event.
    pub(super) fn seconds(&self) -> Option<f64> {
        self.longest_s
    }
}
