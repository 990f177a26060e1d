//! The sides of a map: positions of values along them, and ticks.

use valleyscope_engine::sweep::{Axis, Spacing};
use valleyscope_experiments::view::ticks::{Tick, Ticks, short};

/// A side of the map, from 0 at the first row or column's outer edge to 1 at the last one's.
pub(super) struct MapSide<'a>(pub &'a Axis);

impl MapSide<'_> {
    /// Returns the position of a value; outside 0 to 1 where it is not on the map.
    pub(super) fn position(&self, value: f64) -> f64 {
        let Axis { from, to, count, spacing, .. } = *self.0;
        let along = if from == to { 0.0 } else { spacing.position([from, to], value) };
        // The values of pixels are those of their middles.
        let count = count.get() as f64;
        (0.5 + along * (count - 1.0)) / count
    }

    /// Returns the value at a position.
    pub(super) fn value(&self, position: f64) -> f64 {
        let Axis { from, to, count, spacing, .. } = *self.0;
        let count = count.get() as f64;
        let along = if count > 1.0 { ((position * count - 0.5) / (count - 1.0)).clamp(0.0, 1.0) } else { 0.0 };
        spacing.value([from, to], along)
    }

    /// Returns the row or column at a position.
    pub(super) fn index(&self, position: f64) -> usize {
        let count = self.0.count.get();
        ((position * count as f64).floor().max(0.0) as usize).min(count - 1)
    }

    /// Returns the ticks' positions with their labels.
    pub(super) fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        let (low, high) = (self.0.from.min(self.0.to), self.0.from.max(self.0.to));
        let ticks = match self.0.spacing {
            _ if low == high => vec![Tick { value: low, label: short(low) }],
            Spacing::Linear => Ticks::linear(low, high, most).in_full(),
            Spacing::Log => Ticks::log(low, high, most).ticks,
            Spacing::LogComplement => Ticks::log_complement(low, high, most).ticks,
        };
        let is_whole = self.0.of.is_whole();
        let ticks = ticks.into_iter().filter(|tick| !is_whole || tick.value.fract() == 0.0);
        ticks.map(|tick| (self.position(tick.value), tick.label)).collect()
    }
}
