//! Textbook statistics for judging samples.

/// The first four moments of a sample.
pub struct Moments {
    pub mean: f64,
    pub variance: f64,
    pub skewness: f64,
    pub excess_kurtosis: f64,
}

impl Moments {
    pub fn of(sample: &[f64]) -> Self {
        let n = sample.len() as f64;
        let mean = sample.iter().sum::<f64>() / n;
        let central = |power: i32| sample.iter().map(|x| (x - mean).powi(power)).sum::<f64>() / n;
        let variance = central(2);
        Moments {
            mean,
            variance,
            skewness: central(3) / variance.powf(1.5),
            excess_kurtosis: central(4) / (variance * variance) - 3.0,
        }
    }
}

/// Returns Pearson's correlation.
pub fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len() as f64;
    let (mean_a, mean_b) = (a.iter().sum::<f64>() / n, b.iter().sum::<f64>() / n);
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (a - mean_a, b - mean_b);
        ab += a * b;
        aa += a * a;
        bb += b * b;
    }
    ab / (aa * bb).sqrt()
}

/// Returns Φ(x) = ½ + φ(x) (x + x³/3 + x⁵/(3·5) + x⁷/(3·5·7) + …).
pub fn normal_cdf(x: f64) -> f64 {
    if x.abs() > 10.0 {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while term.abs() > 1e-18 * sum.abs() {
        odd += 2.0;
        term *= x * x / odd;
        sum += term;
    }
    0.5 + sum * (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// Returns the largest distance between the sample's distribution and `cdf`.
pub fn kolmogorov_smirnov(sample: &[f64], cdf: impl Fn(f64) -> f64) -> f64 {
    let mut sorted = sample.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len() as f64;
    sorted.iter().enumerate().fold(0.0, |distance: f64, (rank, &x)| {
        let expected = cdf(x);
        distance.max(expected - rank as f64 / n).max((rank + 1) as f64 / n - expected)
    })
}

#[test]
fn normal_cdf_agrees_with_tables() {
    for (x, expected) in
        [(0.0, 0.5), (1.0, 0.841_344_746_068_543), (-2.0, 0.022_750_131_948_179_2), (3.0, 0.998_650_101_968_370)]
    {
        assert!((normal_cdf(x) - expected).abs() < 1e-14, "Φ({x}) = {}", normal_cdf(x));
    }
    assert!((normal_cdf(-4.0) / 3.167_124_183_311_992e-5 - 1.0).abs() < 1e-10);
}

/// The standard errors that a check allows; seeds are fixed, so that it passes or fails for good.
const SIGMAS: f64 = 5.0;

#[track_caller]
pub fn assert_within(what: &str, found: f64, expected: f64, standard_error: f64) {
    let off = (found - expected) / standard_error;
    assert!(off.abs() < SIGMAS, "{what} is {found}, {off:.1} standard errors from {expected}");
}
