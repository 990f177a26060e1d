//! A value of a run in a table, its order and its text.

use std::borrow::Cow;
use std::cmp::Ordering;

use valleyscope_engine::quantity::number_text;
use valleyscope_experiments::view::ticks::{grouped, moment, significant};
use valleyscope_runs::span;

use crate::export::CsvCell;

/// A value of a run. Numbers are compared by their bits, so that NaN equals itself.
#[derive(Clone, Debug)]
pub enum Value {
    Text(String),
    /// A whole number, such as a seed, with all its digits.
    Whole(u64),
    Number(f64),
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Text(a), Value::Text(b)) => a == b,
            (Value::Whole(a), Value::Whole(b)) => a == b,
            (a, b) => a.number().zip(b.number()).is_some_and(|(a, b)| a.to_bits() == b.to_bits()),
        }
    }
}

impl Value {
    /// Returns a value that a file holds as text: a number where it is one, and a text without its quotes.
    pub fn parse(text: &str) -> Value {
        let text_of = || Value::Text(text.trim_matches('"').to_owned());
        text.parse().map(Value::Whole).or_else(|_| text.parse().map(Value::Number)).unwrap_or_else(|_| text_of())
    }

    /// Returns a number in the place of another value: whole, if that is.
    pub fn in_place_of(&self, number: f64) -> Value {
        let is_whole = number >= 0.0 && number.fract() == 0.0;
        if matches!(self, Value::Whole(_)) && is_whole { Value::Whole(number as u64) } else { Value::Number(number) }
    }

    /// Returns a text that is the same for equal values only.
    pub fn key(&self) -> String {
        match self {
            Value::Whole(number) if *number as f64 as u64 == *number => Value::Number(*number as f64).key(),
            value => format!("{value:?}"),
        }
    }

    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Number(number) => Some(*number),
            Value::Whole(number) => Some(*number as f64),
            Value::Text(_) => None,
        }
    }

    /// Orders values: numbers before texts, and what is missing or not a number at the end, also of a descending order.
    pub fn order(a: Option<&Value>, b: Option<&Value>, is_descending: bool) -> Ordering {
        let known = |value: Option<&Value>| value.is_some_and(|value| !value.number().is_some_and(f64::is_nan));
        let order = match (a, b) {
            (Some(a), Some(b)) if known(Some(a)) && known(Some(b)) => a.order_of_known(b),
            (a, b) => return known(b).cmp(&known(a)),
        };
        if is_descending { order.reverse() } else { order }
    }

    fn order_of_known(&self, other: &Value) -> Ordering {
        match (self, other) {
            (Value::Text(a), Value::Text(b)) => {
                let lower = |text: &str| text.chars().flat_map(char::to_lowercase).collect::<String>();
                lower(a).cmp(&lower(b)).then_with(|| a.cmp(b))
            }
            (_, Value::Text(_)) => Ordering::Less,
            (Value::Text(_), _) => Ordering::Greater,
            (Value::Whole(a), Value::Whole(b)) => a.cmp(b),
            (a, b) => a.number().unwrap_or(f64::NAN).total_cmp(&b.number().unwrap_or(f64::NAN)),
        }
    }
}

/// Returns the cell of a value in a file, with all digits; empty where there is none.
pub fn csv_cell(value: Option<&Value>) -> CsvCell<'_> {
    match value {
        None => CsvCell::Text(""),
        Some(Value::Text(text)) => CsvCell::Text(text),
        Some(Value::Whole(number)) => CsvCell::Whole(*number),
        Some(Value::Number(number)) => CsvCell::Number(*number),
    }
}

/// The way in which the values of a column are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Text,
    /// A whole number with separators.
    Whole,
    /// A number all of whose digits matter.
    Exact,
    /// A measured number, with four digits.
    Measured,
    /// Something a second.
    Rate,
    /// A fraction from 0 to 1, in per cent.
    Fraction,
    /// Seconds.
    Duration,
    /// Seconds since 1970.
    Moment,
}

impl Format {
    pub fn is_number(self) -> bool {
        self != Format::Text
    }

    /// Returns the text of a value for users.
    pub fn text(self, value: &Value) -> Cow<'_, str> {
        let number = match value {
            Value::Text(text) => return Cow::Borrowed(text),
            Value::Whole(number) if self == Format::Whole => return Cow::Owned(grouped(*number)),
            Value::Whole(number) if matches!(self, Format::Text | Format::Exact) => {
                return Cow::Owned(number.to_string());
            }
            Value::Whole(number) => *number as f64,
            Value::Number(number) => *number,
        };
        if !number.is_finite() {
            return Cow::Borrowed(match number {
                f64::INFINITY => "∞",
                f64::NEG_INFINITY => "−∞",
                _ => "NaN",
            });
        }
        Cow::Owned(match self {
            Format::Text | Format::Exact => exact(number),
            Format::Whole if number >= 0.0 && number.fract() == 0.0 => grouped(number as u64),
            Format::Whole | Format::Measured => significant(number, 4),
            Format::Rate => {
                let (factor, unit) = unit_of_rate(number);
                short_rate(factor * number) + unit
            }
            Format::Fraction => format!("{:.2} %", 100.0 * number),
            Format::Duration => duration(number),
            Format::Moment => moment(number, "%Y-%m-%d %H:%M"),
        })
    }

    /// Returns the text of a mean with its deviation, in the same unit.
    pub fn with_deviation(self, mean: f64, deviation: f64) -> String {
        let joined = |[mean, deviation]: [String; 2], unit: &str| format!("{mean} ± {deviation}{unit}");
        let text = |number: f64| self.text(&Value::Number(number)).into_owned();
        match self {
            Format::Text | Format::Exact | Format::Measured => joined(to_same_decimals(mean, deviation), ""),
            Format::Whole if deviation < 10.0 && mean.abs() < 1000.0 => joined(to_same_decimals(mean, deviation), ""),
            Format::Whole => joined([mean, deviation].map(|number| text(number.round())), ""),
            Format::Rate => {
                let (factor, unit) = unit_of_rate(mean);
                joined(to_same_decimals(factor * mean, factor * deviation), unit)
            }
            Format::Fraction => joined([mean, deviation].map(|number| format!("{:.2}", 100.0 * number)), " %"),
            Format::Duration if mean < 9.95 => joined(to_same_decimals(mean, deviation), " s"),
            Format::Duration | Format::Moment => joined([mean, deviation].map(text), ""),
        }
    }

    /// Returns the text of a difference of two values, with its sign; `None` for values without one.
    pub fn difference(self, value: &Value, from: &Value) -> Option<String> {
        let difference = value.number()? - from.number()?;
        let size = difference.abs();
        let text = match self {
            Format::Text | Format::Moment => return None,
            _ if !difference.is_finite() => return None,
            _ if difference == 0.0 => return Some("±0".to_owned()),
            Format::Whole => grouped(size.round() as u64),
            Format::Exact => number_text(size),
            Format::Measured => significant(size, 3),
            Format::Rate => {
                let (factor, unit) = unit_of_rate(value.number()?.max(from.number()?));
                significant(factor * size, 3) + unit
            }
            // Percentage points.
            Format::Fraction => format!("{:.2} pp", 100.0 * size),
            Format::Duration => duration(size),
        };
        Some(format!("{}{text}", if difference < 0.0 { "−" } else { "+" }))
    }
}

/// Returns a number with all its digits.
fn exact(number: f64) -> String {
    let short = number_text(number);
    match short.parse::<f64>() {
        Ok(read) if number == read => short,
        _ if (1e-4..1e7).contains(&number.abs()) => number.to_string(),
        _ => format!("{number:e}"),
    }
}

/// Returns the factor and the unit in which a rate is shown: slow ones by the hour.
fn unit_of_rate(rate: f64) -> (f64, &'static str) {
    if rate != 0.0 && rate.abs() < 0.1 { (3600.0, "/h") } else { (1.0, "/s") }
}

/// Returns a duration; of short ones the parts of a second.
fn duration(seconds: f64) -> String {
    match seconds.max(0.0) {
        seconds if seconds < 0.005 => "0 s".to_owned(),
        seconds if seconds < 1.0 => format!("{seconds:.2} s"),
        seconds if seconds < 9.95 => format!("{seconds:.1} s"),
        seconds => span(seconds.round() as u64),
    }
}

/// Returns a mean and its deviation with the same decimals: those with which the deviation has two digits.
fn to_same_decimals(mean: f64, deviation: f64) -> [String; 2] {
    let decimals = 1 - deviation.log10().floor().max(-300.0) as i32;
    if deviation == 0.0 || decimals > 6 || mean.abs() >= 1e6 || deviation >= 1e6 {
        return [significant(mean, 4), significant(deviation, 2)];
    }
    let decimals = usize::try_from(decimals).unwrap_or(0);
    [mean, deviation].map(|number| format!("{number:.decimals$}").replace('-', "−"))
}

/// Returns a rate with about three digits.
fn short_rate(rate: f64) -> String {
    if rate >= 1000.0 { grouped(rate.round() as u64) } else { significant(rate, 3) }
}

#[cfg(test)]
mod tests {
    use super::{Format, Value};

    #[test]
    fn what_is_missing_or_not_a_number_is_last_in_both_directions() {
        let text = |text: &str| Some(Value::Text(text.to_owned()));
        let number = |number| Some(Value::Number(number));
        let all = [None, number(f64::NAN), text("b"), number(f64::INFINITY), number(1.0), text("A")];
        let sorted = |is_descending| {
            let mut values: Vec<Option<&Value>> = all.iter().map(Option::as_ref).collect();
            values.sort_by(|a, b| Value::order(*a, *b, is_descending));
            let word =
                |value: Option<&Value>| value.map_or("none".into(), |value| Format::Exact.text(value).into_owned());
            values.into_iter().map(word).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(sorted(false), "1 ∞ A b none NaN");
        assert_eq!(sorted(true), "b A ∞ 1 none NaN");
    }

    #[test]
    fn values_and_their_differences_are_shown_in_the_columns_unit() {
        let text = |format: Format, number| format.text(&Value::Number(number)).into_owned();
        assert_eq!(text(Format::Whole, 12_000.0), "12\u{2009}000");
        assert_eq!(text(Format::Measured, 0.123_456), "0.1235");
        assert_eq!(text(Format::Fraction, 0.9712), "97.12 %");
        assert_eq!(text(Format::Rate, 0.01), "36.0/h");
        assert_eq!(text(Format::Duration, 300.0), "5 min");
        assert_eq!([0.0, 0.123, 5.25].map(|it| text(Format::Duration, it)), ["0 s", "0.12 s", "5.2 s"]);
        let difference = |format: Format, a, b| format.difference(&Value::Number(a), &Value::Number(b));
        assert_eq!(difference(Format::Measured, 0.5, 0.75).as_deref(), Some("−0.250"));
        assert_eq!(difference(Format::Fraction, 0.98, 0.97).as_deref(), Some("+1.00 pp"));
        assert_eq!(difference(Format::Rate, 0.02, 0.01).as_deref(), Some("+36.0/h"));
        assert_eq!(difference(Format::Rate, 120.0, 100.0).as_deref(), Some("+20.0/s"));
        assert_eq!(difference(Format::Whole, 5.0, 5.0).as_deref(), Some("±0"));
        assert_eq!(difference(Format::Measured, f64::NAN, 0.75), None);
        assert_eq!(Format::Text.difference(&Value::Text("a".to_owned()), &Value::Text("b".to_owned())), None);
    }
}
