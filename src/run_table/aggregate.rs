//! The value of a column for a group of runs.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use valleyscope_runs::Better;

use super::value::{Format, Value};

/// What a group shows of the numbers of its runs.
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

    /// Returns the name for users.
    pub fn name(self) -> &'static str {
        match self {
            Statistic::Mean => "Mean ± deviation",
            Statistic::Median => "Median",
            Statistic::Best => "Best",
        }
    }

    /// Returns whether the numbers of a column are summarized by a mean, which has a deviation.
    pub fn has_deviation(self, better: Better) -> bool {
        matches!((self, better), (Statistic::Mean, _) | (Statistic::Best, Better::Neither))
    }

    /// Returns the number that stands for several numbers; `None` for a mean, which has a deviation too.
    fn number(self, better: Better, mut numbers: Vec<f64>) -> Option<f64> {
        if self.has_deviation(better) {
            return None;
        }
        // What is not a number is worse than any.
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
    /// All runs that have a value have the same one.
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
    /// So many different values, which have no mean: texts, and settings.
    Several(usize),
}

impl Aggregate {
    /// Returns the mean of values.
    pub fn of<'v>(values: impl Iterator<Item = Option<&'v Value>>) -> Aggregate {
        Aggregate::by(Statistic::Mean, Better::Neither, values)
    }

    /// Returns a statistic of values.
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
    use super::{Aggregate, Statistic};
    use crate::run_table::value::{Format, Value};
    use valleyscope_runs::Better;

    fn text(values: &[Option<Value>], format: Format) -> String {
        Aggregate::of(values.iter().map(Option::as_ref)).text(format).into_owned()
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
