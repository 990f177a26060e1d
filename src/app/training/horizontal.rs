//! The horizontal axis of the curves of trainings.

use valleyscope_experiments::view::ticks::{grouped, moment};
use valleyscope_runs::span;

/// The quantity of the horizontal axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Horizontal {
    #[default]
    Step,
    /// Steps since the fork; of a run that is no fork, since its beginning.
    SinceFork,
    Samples,
    Tokens,
    /// Seconds of training.
    Relative,
    /// The time of day.
    Clock,
}

impl Horizontal {
    pub const ALL: [Horizontal; 6] = [
        Horizontal::Step,
        Horizontal::SinceFork,
        Horizontal::Samples,
        Horizontal::Tokens,
        Horizontal::Relative,
        Horizontal::Clock,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Horizontal::Step => "steps",
            Horizontal::SinceFork => "steps since the fork",
            Horizontal::Samples => "samples",
            Horizontal::Tokens => "tokens",
            Horizontal::Relative => "training time (s)",
            Horizontal::Clock => "wall-clock time (UTC)",
        }
    }

    /// Formats a value on the axis.
    pub(super) fn words(self, x: f64) -> String {
        match self {
            Horizontal::Step => format!("step {}", grouped(x as u64)),
            Horizontal::SinceFork if x == 1.0 => "1 step since the fork".to_owned(),
            Horizontal::SinceFork => format!("{x} steps since the fork"),
            Horizontal::Samples => format!("{} samples", grouped(x as u64)),
            Horizontal::Tokens => format!("{} tokens", grouped(x as u64)),
            Horizontal::Relative if x < 100.0 => format!("{x:.2} s"),
            Horizontal::Relative => span(x as u64),
            Horizontal::Clock => moment(x, "%m-%d %H:%M:%S"),
        }
    }
}

/// The values of the points on a horizontal axis: those of a column, times a factor, plus an offset.
#[derive(Clone, Copy)]
pub(super) struct Column<'t> {
    pub(super) values: &'t [f64],
    pub(super) factor: f64,
    pub(super) offset: f64,
}

impl Column<'_> {
    pub(super) fn new(values: &[f64], factor: f64) -> Column<'_> {
        Column { values, factor, offset: 0.0 }
    }

    pub(super) fn value(&self, of_column: f64) -> f64 {
        of_column * self.factor + self.offset
    }

    pub(super) fn get(&self, index: usize) -> Option<f64> {
        self.values.get(index).map(|&value| self.value(value))
    }

    /// Returns the number in the column of a value on the axis.
    pub(super) fn in_column(&self, value: f64) -> f64 {
        (value - self.offset) / self.factor
    }
}
