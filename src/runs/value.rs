//! Values of runs and of groups of runs, and how they are compared and shown.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use valleyscope_engine::quantity::number_text;
use valleyscope_experiments::view::ticks::{grouped, moment, significant};
use valleyscope_runs::{Better, MetricInfo, Unit, span};

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
    /// Parses a value of a file: as a number if it is one, or as a text without its quotes.
    pub fn parse(text: &str) -> Value {
        let text_of = || Value::Text(text.trim_matches('"').to_owned());
        text.parse().map(Value::Whole).or_else(|_| text.parse().map(Value::Number)).unwrap_or_else(|_| text_of())
    }

    /// Converts a number that replaces this value: to a whole number if this value is whole.
    pub fn in_place_of(&self, number: f64) -> Value {
        let is_whole = number >= 0.0 && number.fract() == 0.0;
        if matches!(self, Value::Whole(_)) && is_whole { Value::Whole(number as u64) } else { Value::Number(number) }
    }

    /// Formats a text that is the same for equal values only.
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

    /// Makes the cell of a file, with all digits.
    pub(super) fn csv_cell(&self) -> CsvCell<'_> {
        match self {
            Value::Text(text) => CsvCell::Text(text),
            Value::Whole(number) => CsvCell::Whole(*number),
            Value::Number(number) => CsvCell::Number(*number),
        }
    }

    /// Orders values: numbers before texts, and missing values and NaN at the end, even in descending order.
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
    /// A rate per second.
    Rate,
    /// A fraction from 0 to 1, in per cent.
    Fraction,
    /// Seconds.
    Duration,
    /// Seconds since 1970.
    Moment,
}

impl Format {
    pub fn of_metric(info: &MetricInfo) -> Format {
        match info.unit {
            Unit::Plain => Format::Measured,
            Unit::Exact => Format::Exact,
            Unit::Rate => Format::Rate,
            Unit::Fraction => Format::Fraction,
        }
    }

    pub fn is_number(self) -> bool {
        self != Format::Text
    }

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

    pub fn number(self, number: f64) -> String {
        self.text(&Value::Number(number)).into_owned()
    }

    /// Formats a mean with its deviation, in the same unit.
    pub fn with_deviation(self, mean: f64, deviation: f64) -> String {
        let joined = |[mean, deviation]: [String; 2], unit: &str| format!("{mean} ± {deviation}{unit}");
        let text = |number: f64| self.number(number);
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

    /// Formats the difference of two values, with its sign; `None` for values that have none.
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

fn exact(number: f64) -> String {
    let short = number_text(number);
    match short.parse::<f64>() {
        Ok(read) if number == read => short,
        _ if (1e-4..1e7).contains(&number.abs()) => number.to_string(),
        _ => format!("{number:e}"),
    }
}

/// Chooses the factor and the unit in which a rate is shown: slow ones by the hour.
fn unit_of_rate(rate: f64) -> (f64, &'static str) {
    if rate != 0.0 && rate.abs() < 0.1 { (3600.0, "/h") } else { (1.0, "/s") }
}

/// Formats a duration; short ones with fractions of a second.
fn duration(seconds: f64) -> String {
    match seconds.max(0.0) {
        seconds if seconds < 0.005 => "0 s".to_owned(),
        seconds if seconds < 1.0 => format!("{seconds:.2} s"),
        seconds if seconds < 9.95 => format!("{seconds:.1} s"),
        seconds => span(seconds.round() as u64),
    }
}

/// Formats a mean and its deviation with the same decimals: those with which the deviation has two digits.
fn to_same_decimals(mean: f64, deviation: f64) -> [String; 2] {
    let decimals = 1 - deviation.log10().floor().max(-300.0) as i32;
    if deviation == 0.0 || decimals > 6 || mean.abs() >= 1e6 || deviation >= 1e6 {
        return [significant(mean, 4), significant(deviation, 2)];
    }
    let decimals = usize::try_from(decimals).unwrap_or(0);
    [mean, deviation].map(|number| format!("{number:.decimals$}").replace('-', "−"))
}

fn short_rate(rate: f64) -> String {
    if rate >= 1000.0 { grouped(rate.round() as u64) } else { significant(rate, 3) }
}

/// The statistic by which a group summarizes the numbers of its runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
pub enum Statistic {
    /// Mean and sample deviation
    #[default]
    Mean,
    /// Median, which a diverged run hardly moves
    Median,
    /// Best value; the mean of what is neither better nor worse
    Best,
}

impl Statistic {
    pub const ALL: [Statistic; 3] = [Statistic::Mean, Statistic::Median, Statistic::Best];

    pub fn name(self) -> &'static str {
        match self {
            Statistic::Mean => "Mean ± deviation",
            Statistic::Median => "Median",
            Statistic::Best => "Best",
        }
    }

    /// Whether the numbers of a column are summarized by a mean, which has a deviation.
    pub fn has_deviation(self, better: Better) -> bool {
        matches!((self, better), (Statistic::Mean, _) | (Statistic::Best, Better::Neither))
    }

    /// Summarizes several numbers by one; `None` for a mean, which has a deviation too.
    fn number(self, better: Better, mut numbers: Vec<f64>) -> Option<f64> {
        if self.has_deviation(better) {
            return None;
        }
        // NaN is worse than any number.
        let worst = if better == Better::Higher { f64::NEG_INFINITY } else { f64::INFINITY };
        numbers.iter_mut().filter(|number| number.is_nan()).for_each(|number| *number = worst);
        numbers.sort_by(f64::total_cmp);
        let number = match (self, better) {
            (Statistic::Median | Statistic::Mean, _) => {
                let middle = numbers.len() / 2;
                if numbers.len() % 2 == 1 {
                    numbers[middle]
                } else {
                    f64::midpoint(numbers[middle - 1], numbers[middle])
                }
            }
            (Statistic::Best, Better::Higher) => numbers[numbers.len() - 1],
            (Statistic::Best, _) => numbers[0],
        };
        Some(number)
    }
}

/// The value of a column for several runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Aggregate {
    Missing,
    /// All runs with a value have the same one.
    Same(Value),
    /// Mean and sample deviation (n − 1). A run whose value is not finite makes the mean not finite.
    Mean {
        mean: f64,
        deviation: f64,
        /// The number of runs with a value, how many of these are not finite, and the number of all runs.
        counts: [usize; 3],
    },
    /// The median or the best of the numbers, with the number of runs with a value, and of all runs.
    Picked(Value, [usize; 2]),
    /// This many different values, which have no mean: texts, and settings.
    Several(usize),
}

impl Aggregate {
    pub fn by<'v>(statistic: Statistic, better: Better, values: impl Iterator<Item = Option<&'v Value>>) -> Aggregate {
        let all: Vec<Option<&Value>> = values.collect();
        let known: Vec<&Value> = all.iter().copied().flatten().collect();
        let Some(first) = known.first() else { return Aggregate::Missing };
        if known.iter().all(|value| value == first) {
            return Aggregate::Same((*first).clone());
        }
        let numbers: Option<Vec<f64>> = known.iter().map(|value| value.number()).collect();
        let Some(numbers) = numbers else { return Aggregate::several(&known) };
        if let Some(number) = statistic.number(better, numbers.clone()) {
            return Aggregate::Picked(Value::Number(number), [known.len(), all.len()]);
        }
        let count = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / count;
        let squares = numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>();
        let unfinished = numbers.iter().filter(|number| !number.is_finite()).count();
        let counts = [numbers.len(), unfinished, all.len()];
        Aggregate::Mean { mean, deviation: (squares / (count - 1.0)).sqrt(), counts }
    }

    /// Summarizes the values of a setting, which has no mean.
    pub fn of_setting<'v>(values: impl Iterator<Item = Option<&'v Value>>) -> Aggregate {
        let known: Vec<&Value> = values.flatten().collect();
        match known.first() {
            None => Aggregate::Missing,
            Some(first) if known.iter().all(|value| value == first) => Aggregate::Same((*first).clone()),
            Some(_) => Aggregate::several(&known),
        }
    }

    fn several(values: &[&Value]) -> Aggregate {
        let mut different: Vec<&Value> = Vec::new();
        for value in values {
            if !different.contains(value) {
                different.push(value);
            }
        }
        Aggregate::Several(different.len())
    }

    /// The value by which groups are sorted, and which files contain.
    pub fn value(&self) -> Option<Cow<'_, Value>> {
        match self {
            Aggregate::Missing | Aggregate::Several(_) => None,
            Aggregate::Same(value) | Aggregate::Picked(value, _) => Some(Cow::Borrowed(value)),
            Aggregate::Mean { mean, .. } => Some(Cow::Owned(Value::Number(*mean))),
        }
    }

    pub fn text(&self, format: Format) -> Cow<'_, str> {
        let part = |count: usize, all: usize| match count < all {
            true => format!(" ({count} of {all})"),
            false => String::new(),
        };
        match self {
            Aggregate::Missing => Cow::Borrowed(""),
            Aggregate::Same(value) => format.text(value),
            Aggregate::Several(count) => Cow::Owned(format!("{count} values")),
            Aggregate::Picked(value, [count, all]) => Cow::Owned(format.text(value).into_owned() + &part(*count, *all)),
            Aggregate::Mean { counts: [count, unfinished, _], .. } if *unfinished > 0 => {
                Cow::Owned(format!("not finite in {unfinished} of {count}"))
            }
            Aggregate::Mean { counts: [count, ..], .. } if format == Format::Moment => {
                Cow::Owned(format!("{count} values"))
            }
            Aggregate::Mean { mean, deviation, counts: [count, _, all] } => {
                Cow::Owned(format.with_deviation(*mean, *deviation) + &part(*count, *all))
            }
        }
    }
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
        let text = Format::number;
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

#[cfg(test)]
mod aggregate_tests {
    use super::{Aggregate, Format, Statistic, Value};
    use valleyscope_runs::Better;

    fn text(values: &[Option<Value>], format: Format) -> String {
        let values = values.iter().map(Option::as_ref);
        Aggregate::by(Statistic::Mean, Better::Neither, values).text(format).into_owned()
    }

    fn numbers(numbers: &[f64]) -> Vec<Option<Value>> {
        numbers.iter().map(|number| Some(Value::Number(*number))).collect()
    }

    #[test]
    fn a_mean_has_the_sample_deviation_and_states_what_is_missing_or_diverged() {
        assert_eq!(text(&numbers(&[1.0, 2.0, 3.0]), Format::Measured), "2.0 ± 1.0");
        let some = [numbers(&[1.0, 2.0, 3.0]), vec![None]].concat();
        assert_eq!(text(&some, Format::Measured), "2.0 ± 1.0 (3 of 4)");
        assert_eq!(text(&numbers(&[1.0, f64::NAN, f64::INFINITY]), Format::Measured), "not finite in 2 of 3");
        assert_eq!(text(&numbers(&[0.001, 0.001]), Format::Exact), "0.001");
        assert_eq!(text(&[None, None], Format::Exact), "");
    }

    #[test]
    fn a_mean_and_its_deviation_have_the_same_unit_and_decimals() {
        assert_eq!(text(&numbers(&[0.35, 0.41]), Format::Measured), "0.380 ± 0.042");
        assert_eq!(text(&numbers(&[0.009, 0.011]), Format::Rate), "36.0 ± 5.1/h");
        assert_eq!(text(&numbers(&[99.0, 100.0]), Format::Whole), "99.50 ± 0.71");
        assert_eq!(text(&numbers(&[11_000.0, 13_001.0]), Format::Whole), "12\u{2009}001 ± 1\u{2009}415");
        assert_eq!(text(&numbers(&[0.97, 0.98]), Format::Fraction), "97.50 ± 0.71 %");
        assert_eq!(text(&numbers(&[0.5, 0.7]), Format::Duration), "0.60 ± 0.14 s");
        assert_eq!(text(&numbers(&[299.0, 301.0]), Format::Duration), "5 min ± 1.4 s");
    }

    #[test]
    fn a_diverged_run_hardly_moves_the_median_and_not_the_best() {
        let values = numbers(&[0.3, 0.4, f64::NAN]);
        let of = |statistic, better| Aggregate::by(statistic, better, values.iter().map(Option::as_ref));
        let text = |statistic, better| of(statistic, better).text(Format::Measured).into_owned();
        assert_eq!(text(Statistic::Median, Better::Lower), "0.4000");
        assert_eq!(text(Statistic::Median, Better::Higher), "0.3000");
        assert_eq!(text(Statistic::Best, Better::Lower), "0.3000");
        assert_eq!(text(Statistic::Best, Better::Higher), "0.4000");
        assert_eq!(text(Statistic::Best, Better::Neither), "not finite in 1 of 3");
        let even = numbers(&[1.0, 2.0, 4.0, 100.0]);
        let median = Aggregate::by(Statistic::Median, Better::Lower, even.iter().map(Option::as_ref));
        assert_eq!(median.value().and_then(|value| value.number()), Some(3.0));
    }

    #[test]
    fn texts_are_counted_where_they_differ() {
        let texts = |all: &[&str]| all.iter().map(|text| Some(Value::Text((*text).to_owned()))).collect::<Vec<_>>();
        assert_eq!(text(&texts(&["a", "a"]), Format::Text), "a");
        assert_eq!(text(&texts(&["a", "b", "a"]), Format::Text), "2 values");
        let seeds = numbers(&[1.0, 2.0, 3.0]);
        let seeds = Aggregate::of_setting(seeds.iter().map(Option::as_ref));
        assert_eq!(seeds.text(Format::Exact), "3 values", "a mean of seeds means nothing");
    }
}
