//! Tick marks of times and of logarithmic axes.

use egui_plot::GridMark;

use crate::app::diagnostics::{AxisMark, AxisScale};
use crate::view::ticks::{Tick, Ticks, short};

/// Points between marks, at least.
const SPACING: f64 = 74.0;

/// Marks at round times of the day from `low` to `high`, in seconds since 1970.
pub(super) fn clock(low: f64, high: f64, points_per_second: f64) -> Vec<AxisMark> {
    let least = SPACING / points_per_second;
    let ticks = Ticks::clock(low, high, least).ticks;
    let step_size = ticks.get(1).map_or(least, |second| second.value - ticks[0].value);
    ticks.into_iter().map(|Tick { value, label }| (GridMark { value, step_size }, label)).collect()
}

/// Round values within a decade, from few to many, and the smallest distance between two of them.
const DIGITS: [(&[f64], f64); 5] = [
    (&[1.0], 1.0),
    (&[1.0, 3.0], 0.477),
    (&[1.0, 2.0, 5.0], USUAL),
    (&[1.0, 2.0, 3.0, 5.0, 7.0], 0.146),
    (&[1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], 0.045),
];
/// The smallest distance of 1, 2 and 5, which are taken where there is room for them.
const USUAL: f64 = 0.301;
/// With fewer marks there are more round values between them.
const ENOUGH: usize = 4;

/// Marks from `low` to `high`, which are decimal logarithms: at 1, 2 and 5 times powers of ten, at more round values
/// where that makes few marks, and at fewer where there is no room. None are closer than so many points.
pub(super) fn log(low: f64, high: f64, points_per_unit: f64, closest: f64) -> Vec<AxisMark> {
    let apart = closest / points_per_unit;
    let fitting = DIGITS.iter().filter(|(_, gap)| *gap >= apart);
    let made = fitting.map(|(digits, gap)| (*gap, at_digits(low, high, digits, *gap)));
    let made: Vec<(f64, Vec<AxisMark>)> = made.collect();
    let enough = made.iter().find(|(gap, marks)| *gap <= USUAL && marks.len() >= ENOUGH);
    match enough.or(made.iter().max_by_key(|(_, marks)| marks.len())) {
        Some((_, marks)) if marks.len() >= 2 => marks.clone(),
        // Many decades, or hardly a round value.
        _ => AxisScale::Log.marks(low, high, points_per_unit),
    }
}

fn at_digits(low: f64, high: f64, digits: &[f64], step_size: f64) -> Vec<AxisMark> {
    let decades = low.floor() as i32..=high.floor() as i32;
    let values = decades.flat_map(|decade| digits.iter().map(move |digit| (decade, *digit)));
    let marks = values.map(|(decade, digit)| {
        let mark = GridMark { value: f64::from(decade) + digit.log10(), step_size };
        (mark, short(digit * 10_f64.powi(decade)))
    });
    marks.filter(|(mark, _)| (low..=high).contains(&mark.value)).collect()
}

#[cfg(test)]
mod tests {
    use super::{clock, log};

    #[test]
    fn logarithmic_marks_are_at_round_values_as_close_as_there_is_room() {
        let labels = |low: f64, high: f64, points: f64| {
            log(low.log10(), high.log10(), points / (high / low).log10(), 18.0)
                .into_iter()
                .map(|mark| mark.1)
                .collect::<Vec<_>>()
        };
        assert_eq!(labels(0.04, 1.5, 100.0), ["0.05", "0.1", "0.2", "0.5", "1"]);
        assert_eq!(labels(0.04, 1.5, 70.0), ["0.1", "0.3", "1"]);
        assert_eq!(labels(0.025, 35.0, 120.0), ["0.03", "0.1", "0.3", "1", "3", "10", "30"]);
        assert_eq!(labels(0.22, 0.83, 200.0), ["0.3", "0.5", "0.7"]);
        assert_eq!(labels(0.22, 0.83, 250.0), ["0.25", "0.3", "0.35", "0.4", "0.5", "0.6", "0.7", "0.8"]);
        assert!((2..=6).contains(&labels(1e-8, 1e4, 100.0).len()));
        assert!(labels(0.41, 0.45, 200.0).len() >= 2);
    }

    #[test]
    fn marks_are_at_round_times() {
        let labels = |low: f64, high: f64| {
            clock(low, high, 600.0 / (high - low)).into_iter().map(|mark| mark.1).collect::<Vec<_>>()
        };
        // 2026-01-01 00:00:00 UTC.
        let midnight = 1_767_225_600.0;
        assert_eq!(labels(midnight + 1.0, midnight + 3.9), ["00:00:01", "00:00:02", "00:00:03"]);
        assert_eq!(
            labels(midnight, midnight + 3600.0),
            ["01-01", "00:10", "00:20", "00:30", "00:40", "00:50", "01:00"]
        );
        let days = labels(midnight + 40_000.0, midnight + 210_000.0);
        assert_eq!(days, ["12:00", "18:00", "01-02", "06:00", "12:00", "18:00", "01-03", "06:00"]);
        // Every 50 days since 1970.
        assert_eq!(labels(midnight, midnight + 400.0 * 86_400.0).first().map(String::as_str), Some("02-16"));
    }
}
