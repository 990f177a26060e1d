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
    Number(f64),
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Text(a), Value::Text(b)) => a == b,
            (Value::Number(a), Value::Number(b)) => a.to_bits() == b.to_bits(),
            _ => false,
        }
    }
}

impl Value {
    /// Returns a value that a file holds as text: a number where it is one, and a text without its quotes.
    pub fn parse(text: &str) -> Value {
        match text.parse() {
            Ok(number) => Value::Number(number),
            Err(_) => Value::Text(text.trim_matches('"').to_owned()),
        }
    }

    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Number(number) => Some(*number),
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
            (Value::Number(a), Value::Number(b)) => a.total_cmp(b),
            (Value::Number(_), Value::Text(_)) => Ordering::Less,
            (Value::Text(_), Value::Number(_)) => Ordering::Greater,
            (Value::Text(a), Value::Text(b)) => {
                let lower = |text: &str| text.chars().flat_map(char::to_lowercase).collect::<String>();
                lower(a).cmp(&lower(b)).then_with(|| a.cmp(b))
            }
        }
    }
}

/// Returns the cell of a value in a file, with all digits; empty where there is none.
pub fn csv_cell(value: Option<&Value>) -> CsvCell<'_> {
    match value {
        None => CsvCell::Text(""),
        Some(Value::Text(text)) => CsvCell::Text(text),
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
            Format::Text | Format::Exact => number_text(number),
            Format::Whole if number >= 0.0 => grouped(number as u64),
            Format::Whole | Format::Measured => significant(number, 4),
            Format::Rate if number != 0.0 && number < 0.1 => format!("{}/h", significant(3600.0 * number, 3)),
            Format::Rate => format!("{}/s", short_rate(number)),
            Format::Fraction => format!("{:.2} %", 100.0 * number),
            Format::Duration => span(number.max(0.0).round() as u64),
            Format::Moment => moment(number, "%Y-%m-%d %H:%M"),
        })
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
            Format::Measured | Format::Rate => significant(size, 3),
            Format::Fraction => format!("{:.2} %", 100.0 * size),
            Format::Duration => span(size.round() as u64),
        };
        Some(format!("{}{text}", if difference < 0.0 { "−" } else { "+" }))
    }
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
        let difference = |format: Format, a, b| format.difference(&Value::Number(a), &Value::Number(b));
        assert_eq!(difference(Format::Measured, 0.5, 0.75).as_deref(), Some("−0.250"));
        assert_eq!(difference(Format::Fraction, 0.98, 0.97).as_deref(), Some("+1.00 %"));
        assert_eq!(difference(Format::Whole, 5.0, 5.0).as_deref(), Some("±0"));
        assert_eq!(difference(Format::Measured, f64::NAN, 0.75), None);
        assert_eq!(Format::Text.difference(&Value::Text("a".to_owned()), &Value::Text("b".to_owned())), None);
    }
}
