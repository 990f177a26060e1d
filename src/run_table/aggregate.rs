//! The value of a column for a group of runs.

use std::borrow::Cow;

use super::value::{Format, Value};
use valleyscope_experiments::view::ticks::significant;

/// The value of a column for several runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Aggregate {
    Missing,
    /// All runs that have a value have the same one.
    Same(Value),
    /// Mean and sample deviation (n − 1). A run whose value is not finite makes the mean not finite.
    Mean {
        mean: f64,
        deviation: f64,
        /// The number of runs with a value, how many of these are not finite, and the number of all runs.
        counts: [usize; 3],
    },
    /// So many different values, which have no mean: texts, and settings.
    Several(usize),
}

impl Aggregate {
    pub fn of<'v>(values: impl Iterator<Item = Option<&'v Value>>) -> Aggregate {
        let all: Vec<Option<&Value>> = values.collect();
        let known: Vec<&Value> = all.iter().copied().flatten().collect();
        let Some(first) = known.first() else { return Aggregate::Missing };
        if known.iter().all(|value| value == first) {
            return Aggregate::Same((*first).clone());
        }
        let numbers: Option<Vec<f64>> = known.iter().map(|value| value.number()).collect();
        let Some(numbers) = numbers else { return Aggregate::several(&known) };
        let count = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / count;
        let squares = numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>();
        let unfinished = numbers.iter().filter(|number| !number.is_finite()).count();
        let counts = [numbers.len(), unfinished, all.len()];
        Aggregate::Mean { mean, deviation: (squares / (count - 1.0)).sqrt(), counts }
    }

    /// Returns the value of a setting, which has no mean.
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

    /// Returns the value by which groups are sorted, and which files hold.
    pub fn value(&self) -> Option<Cow<'_, Value>> {
        match self {
            Aggregate::Missing | Aggregate::Several(_) => None,
            Aggregate::Same(value) => Some(Cow::Borrowed(value)),
            Aggregate::Mean { mean, .. } => Some(Cow::Owned(Value::Number(*mean))),
        }
    }

    pub fn text(&self, format: Format) -> Cow<'_, str> {
        match self {
            Aggregate::Missing => Cow::Borrowed(""),
            Aggregate::Same(value) => format.text(value),
            Aggregate::Several(count) => Cow::Owned(format!("{count} values")),
            Aggregate::Mean { counts: [count, unfinished, _], .. } if *unfinished > 0 => {
                Cow::Owned(format!("not finite in {unfinished} of {count}"))
            }
            Aggregate::Mean { mean, deviation, counts: [count, _, all] } => {
                let mean = Value::Number(*mean);
                let mean = format.text(&mean);
                let deviation = match format {
                    Format::Moment => return Cow::Owned(format!("{count} values")),
                    Format::Fraction => format!("{:.2} %", 100.0 * deviation),
                    Format::Rate | Format::Text | Format::Exact | Format::Measured => significant(*deviation, 2),
                    Format::Whole | Format::Duration => format.text(&Value::Number(*deviation)).into_owned(),
                };
                let part = if count < all { format!(" ({count} of {all})") } else { String::new() };
                Cow::Owned(format!("{mean} ± {deviation}{part}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Aggregate;
    use crate::run_table::value::{Format, Value};

    fn text(values: &[Option<Value>], format: Format) -> String {
        Aggregate::of(values.iter().map(Option::as_ref)).text(format).into_owned()
    }

    fn numbers(numbers: &[f64]) -> Vec<Option<Value>> {
        numbers.iter().map(|number| Some(Value::Number(*number))).collect()
    }

    #[test]
    fn a_mean_has_the_sample_deviation_and_states_what_is_missing_or_diverged() {
        assert_eq!(text(&numbers(&[1.0, 2.0, 3.0]), Format::Measured), "2.000 ± 1.0");
        let some = [numbers(&[1.0, 2.0, 3.0]), vec![None]].concat();
        assert_eq!(text(&some, Format::Measured), "2.000 ± 1.0 (3 of 4)");
        assert_eq!(text(&numbers(&[1.0, f64::NAN, f64::INFINITY]), Format::Measured), "not finite in 2 of 3");
        assert_eq!(text(&numbers(&[0.001, 0.001]), Format::Exact), "0.001");
        assert_eq!(text(&[None, None], Format::Exact), "");
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
