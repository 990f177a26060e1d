//! Tests of whether two samples have the same distribution.

use crate::statistics::Moments;

/// Returns √(nm/(n+m)) times the largest distance between two samples' distributions; numbers that are not finite are
/// the largest. Samples of one distribution exceed [`KOLMOGOROV_SMIRNOV_LIMIT`] once in 50,000 times.
///
/// Numbers that differ by less than `rounding` times the largest (at least 1) count as equal: without noise many runs
/// end in the same point, but for rounding.
pub fn kolmogorov_smirnov(a: &[f64], b: &[f64], rounding: f64) -> f64 {
    let sorted = |sample: &[f64]| {
        let mut sorted: Vec<f64> = sample.iter().map(|&x| if x.is_finite() { x } else { f64::INFINITY }).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted
    };
    let (a, b) = (sorted(a), sorted(b));
    let tolerance = rounding * largest(&[&a, &b]);
    let share = |sample: &[f64], x: f64| sample.partition_point(|&y| y <= x) as f64 / sample.len() as f64;
    let ahead = |this: &[f64], that: &[f64], x: f64| share(this, x) - share(that, x + tolerance);
    let distance = a.iter().chain(&b).map(|&x| ahead(&a, &b, x).max(ahead(&b, &a, x))).fold(0.0, f64::max);
    let (n, m) = (a.len() as f64, b.len() as f64);
    distance * (n * m / (n + m)).sqrt()
}

pub const KOLMOGOROV_SMIRNOV_LIMIT: f64 = 2.4;

/// Returns the largest finite number, without its sign, and at least 1, the size of the positions that all losses are
/// made of.
fn largest(samples: &[&[f64]]) -> f64 {
    samples.iter().copied().flatten().filter(|x| x.is_finite()).fold(1.0, |largest: f64, x| largest.max(x.abs()))
}

/// Returns the standard errors between two samples' means, where a difference of `rounding` times the largest number
/// (at least 1) is none.
///
/// `None` where the mean is meaningless: a run that is not finite, or tails so heavy (excess kurtosis above 20, where
/// some runs shot out of the valley) that the standard error is itself a matter of a few runs.
pub fn standard_errors_apart(a: &[f64], b: &[f64], rounding: f64) -> Option<f64> {
    const HEAVY: f64 = 20.0;
    let (a_moments, b_moments) = (Moments::of(a), Moments::of(b));
    let difference = a_moments.mean - b_moments.mean;
    if difference.abs() <= rounding * largest(&[a, b]) {
        return Some(0.0);
    }
    let tame = |moments: &Moments| moments.excess_kurtosis.abs() < HEAVY;
    let variance = a_moments.variance / (a.len() - 1) as f64 + b_moments.variance / (b.len() - 1) as f64;
    (tame(&a_moments) && tame(&b_moments)).then(|| difference / variance.sqrt())
}

#[test]
fn samples_of_one_distribution_pass_and_others_do_not() {
    let even: Vec<f64> = (0..500).map(|i| f64::from(i) / 500.0).collect();
    let moved: Vec<f64> = even.iter().map(|x| x + 0.25).collect();
    assert!(kolmogorov_smirnov(&even, &even, 0.0) == 0.0);
    assert!((kolmogorov_smirnov(&even, &moved, 0.0) - 0.25 * 250_f64.sqrt()).abs() < 0.1);
    assert!((kolmogorov_smirnov(&moved, &even, 0.0) - 0.25 * 250_f64.sqrt()).abs() < 0.1);
    let apart = standard_errors_apart(&moved, &even, 0.0).unwrap();
    // The variance of a uniform distribution is 1/12.
    assert!((apart - 0.25 / (2.0 / 12.0 / 500_f64).sqrt()).abs() < 0.1, "{apart}");
    let mut wild = even.clone();
    wild[0] = 1e9;
    assert!(standard_errors_apart(&wild, &even, 0.0).is_none());
    wild[0] = f64::NAN;
    assert!(standard_errors_apart(&wild, &even, 0.0).is_none());
    assert!(kolmogorov_smirnov(&wild, &even, 0.0) < 1.0);
    // All numbers are at one point, except for rounding.
    let (here, there) = ([2.0; 9], [2.0 + 1e-12; 9]);
    assert!(kolmogorov_smirnov(&here, &there, 0.0) > 2.0);
    assert!(kolmogorov_smirnov(&here, &there, 1e-9) == 0.0);
    assert!(standard_errors_apart(&here, &there, 1e-9) == Some(0.0));
}
