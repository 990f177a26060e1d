//! Tick marks of times and of logarithmic axes.

use egui_plot::GridMark;

use crate::app::diagnostics::{AxisScale, Mark};
use crate::run::Timestamp;
use crate::view::ticks::{nice_step, short};

/// Seconds between marks: what people count in.
const STEPS: [f64; 17] = [
    1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 21_600.0, 43_200.0, 86_400.0,
    172_800.0,
];
/// Points between marks, at least.
const SPACING: f64 = 74.0;

/// Marks at round times of the day from `low` to `high`, in seconds since 1970.
pub fn clock(low: f64, high: f64, points_per_second: f64) -> Vec<Mark> {
    let least = SPACING / points_per_second;
    let days = || 86_400.0 * (least / 86_400.0).ceil();
    let step = STEPS.into_iter().find(|step| *step >= least).unwrap_or_else(days);
    let count = ((high - low) / step).clamp(0.0, 64.0) as usize + 1;
    let first = (low / step).ceil();
    let marks = (0..count).map(|index| (first + index as f64) * step).take_while(|value| *value <= high);
    let format = if step >= 86_400.0 {
        "%m-%d"
    } else if step >= 60.0 {
        "%H:%M"
    } else {
        "%H:%M:%S"
    };
    marks.map(|value| (GridMark { value, step_size: step }, time(value, format))).collect()
}

/// Marks at 1, 2 and 5 times the powers of ten from `low` to `high`, which are decimal logarithms; at fewer of them
/// where they would be closer than so many points, and at other round values where there are not two of them.
pub fn log(low: f64, high: f64, points_per_unit: f64, closest: f64) -> Vec<Mark> {
    let apart = closest / points_per_unit;
    let (digits, stride): (&[f64], f64) = match apart {
        // log₁₀ 2 and log₁₀ 3.
        _ if apart <= 0.301 => (&[1.0, 2.0, 5.0], 1.0),
        _ if apart <= 0.477 => (&[1.0, 3.0], 1.0),
        _ => (&[1.0], nice_step(apart.max(1.0))),
    };
    let (first, last) = ((low / stride).floor() as i64, (high / stride).floor() as i64);
    let decades = (first..=last).map(|index| index as f64 * stride);
    let values = decades.flat_map(|decade| digits.iter().map(move |digit| (decade, *digit)));
    let marks = values.map(|(decade, digit)| (decade + digit.log10(), digit * 10_f64.powf(decade)));
    let marks = marks.filter(|(place, _)| (low..=high).contains(place));
    let step_size = if digits.len() > 1 { 0.3 } else { stride };
    let marks: Vec<Mark> = marks.map(|(value, shown)| (GridMark { value, step_size }, short(shown))).collect();
    if marks.len() < 2 { AxisScale::Log.marks(low, high, points_per_unit) } else { marks }
}

/// A moment in seconds since 1970, in words.
pub fn time(seconds: f64, format: &str) -> String {
    let time = Timestamp::from_millisecond((seconds * 1e3).round() as i64);
    time.map_or_else(|_| String::new(), |time| time.strftime(format).to_string())
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
        assert_eq!(labels(0.03, 3.0, 200.0), ["0.05", "0.1", "0.2", "0.5", "1", "2"]);
        assert_eq!(labels(0.03, 30.0, 120.0), ["0.03", "0.1", "0.3", "1", "3", "10", "30"]);
        assert_eq!(labels(1e-8, 1e4, 100.0).len(), 3);
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
            ["00:00", "00:10", "00:20", "00:30", "00:40", "00:50", "01:00"]
        );
        // Every 50 days since 1970.
        assert_eq!(labels(midnight, midnight + 400.0 * 86_400.0).first().map(String::as_str), Some("02-16"));
    }
}
