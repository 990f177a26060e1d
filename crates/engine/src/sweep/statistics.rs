//! Averages over replicates, and the certainty of a difference between two averages.

use serde::{Deserialize, Serialize};

/// Returns the number, or a NaN with the same bits everywhere: the bits of NaNs differ between processors.
pub(super) fn with_one_nan(number: f64) -> f64 {
    if number.is_nan() { f64::NAN } else { number }
}

/// Returns the mean, summed up in the values' order. A value that is not finite makes it `worst`.
pub(super) fn mean_or(values: &[f64], worst: f64) -> f64 {
    if values.iter().all(|value| value.is_finite()) { mean(values) } else { worst }
}

/// Returns mean and population standard deviation, summed up in the values' order. A value that is not finite makes the
/// mean `worst` and the deviation NaN.
pub(super) fn mean_and_deviation(values: &[f64], worst: f64) -> [f64; 2] {
    if values.iter().any(|value| !value.is_finite()) {
        return [worst, f64::NAN];
    }
    let mean = mean(values);
    [mean, (sum_of_squares(values, mean) / values.len() as f64).sqrt()]
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn sum_of_squares(values: &[f64], mean: f64) -> f64 {
    values.iter().map(|value| (value - mean) * (value - mean)).sum()
}

/// Returns the middle value, or the mean of the two middle values. Values that are not finite count as worst.
pub(super) fn median(values: &[f64], worst: f64) -> f64 {
    let sorted = sorted(values, worst);
    let half = sorted.len() / 2;
    // Two infinite values have no mean.
    if sorted.len() % 2 == 1 || sorted[half - 1] == sorted[half] {
        sorted[half]
    } else {
        0.5 * (sorted[half - 1] + sorted[half])
    }
}

fn sorted(values: &[f64], worst: f64) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.iter().map(|&value| if value.is_finite() { value } else { worst }).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// An average and its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    pub value: f64,
    /// The square of the standard error.
    pub variance: f64,
    /// The degrees of freedom behind the variance.
    pub freedom: f64,
}

impl Estimate {
    /// Estimates the mean of at least two values.
    pub(super) fn of_mean(values: &[f64], worst: f64) -> Option<Estimate> {
        let count = values.len();
        if count < 2 {
            return None;
        }
        let freedom = (count - 1) as f64;
        if values.iter().any(|value| !value.is_finite()) {
            return Some(Estimate { value: worst, variance: 0.0, freedom });
        }
        let mean = mean(values);
        Some(Estimate { value: mean, variance: sum_of_squares(values, mean) / freedom / count as f64, freedom })
    }

    /// Estimates the median of at least two values, with its standard error from the distance between two order
    /// statistics (McKean and Schrader 1984). `None` if too many values are not finite.
    pub(super) fn of_median(values: &[f64], worst: f64) -> Option<Estimate> {
        let count = values.len();
        if count < 2 {
            return None;
        }
        const Z: f64 = 2.575_829_303_548_901;
        let below = ((count + 1) as f64 / 2.0 - Z * (count as f64 / 4.0).sqrt()).round().max(1.0) as usize;
        let sorted = sorted(values, worst);
        let (value, freedom) = (median(values, worst), (count - 1) as f64);
        if value == worst {
            return Some(Estimate { value, variance: 0.0, freedom });
        }
        let error = (sorted[count - below] - sorted[below - 1]) / (2.0 * Z);
        error.is_finite().then_some(Estimate { value, variance: error * error, freedom })
    }
}

/// The difference between two averages, or a mean of several differences.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// The difference; positive if the first average is better.
    pub value: f64,
    /// The standard error.
    pub error: f64,
    /// The degrees of freedom, by Welch and Satterthwaite.
    pub freedom: f64,
}

impl Gap {
    pub(super) const UNKNOWN: Gap = Gap { value: f64::NAN, error: f64::NAN, freedom: f64::NAN };

    /// Creates a gap of these numbers.
    pub(super) fn of(value: f64, error: f64, freedom: f64) -> Gap {
        let [value, error, freedom] = [value, error, freedom].map(with_one_nan);
        Gap { value, error, freedom }
    }

    /// Returns the mean of differences whose parts are independent of each other.
    pub(super) fn mean_of_independent(differences: &[(f64, &[Estimate])]) -> Gap {
        let count = differences.len() as f64;
        let value = differences.iter().map(|(difference, _)| difference).sum::<f64>() / count;
        let parts = || differences.iter().flat_map(|(_, parts)| parts.iter());
        let variance: f64 = parts().map(|part| part.variance).sum();
        let spread: f64 = parts().map(|part| part.variance * part.variance / part.freedom).sum();
        Gap::of(value, variance.sqrt() / count, variance * variance / spread)
    }

    /// Returns the median gap of several, by their values in standard errors; of two middle ones the smaller. `UNKNOWN`
    /// if fewer than half of them are known.
    pub(super) fn median(mut gaps: Vec<Gap>) -> Gap {
        let all = gaps.len();
        gaps.retain(|gap| gap.certainty().is_some());
        if 2 * gaps.len() < all {
            return Gap::UNKNOWN;
        }
        let in_errors = |gap: &Gap| if gap.value == 0.0 { 0.0 } else { gap.value / gap.error };
        gaps.sort_by(|a, b| in_errors(a).total_cmp(&in_errors(b)).then(a.value.total_cmp(&b.value)));
        gaps.get(gaps.len().saturating_sub(1) / 2).copied().unwrap_or(Gap::UNKNOWN)
    }

    /// Returns the probability that the true difference is positive: Student's distribution at the gap over its error.
    /// `None` if there are too few replicates.
    pub(crate) fn certainty(&self) -> Option<f64> {
        use statrs::distribution::{ContinuousCDF, StudentsT};
        if self.value.is_nan() || self.error.is_nan() {
            return None;
        }
        if self.error == 0.0 || self.value.is_infinite() {
            return Some(if self.value == 0.0 { 0.5 } else { f64::from(u8::from(self.value > 0.0)) });
        }
        let student = StudentsT::new(0.0, 1.0, self.freedom).ok()?;
        Some(student.cdf(self.value / self.error))
    }
}
