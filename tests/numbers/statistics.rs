//! Textbook statistics for judging samples.

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

#[track_caller]
pub fn assert_standard_normal(what: &str, draws: &[f64]) {
    let n = draws.len() as f64;
    let moments = Moments::of(draws);
    assert_within(&format!("{what}: mean"), moments.mean, 0.0, (1.0 / n).sqrt());
    assert_within(&format!("{what}: variance"), moments.variance, 1.0, (2.0 / n).sqrt());
    assert_within(&format!("{what}: skewness"), moments.skewness, 0.0, (6.0 / n).sqrt());
    assert_within(&format!("{what}: excess kurtosis"), moments.excess_kurtosis, 0.0, (24.0 / n).sqrt());
    let distance = kolmogorov_smirnov(draws, normal_cdf);
    // A true sample exceeds 2.0/√n once in 1,500 times.
    assert!(distance * n.sqrt() < 2.0, "{what}: Kolmogorov–Smirnov distance {distance}");
    for threshold in [3.0, 4.0] {
        let p = normal_cdf(-threshold);
        let share = |is_in: &dyn Fn(f64) -> bool| draws.iter().filter(|draw| is_in(**draw)).count() as f64 / n;
        let error = (p * (1.0 - p) / n).sqrt();
        assert_within(&format!("{what}: above {threshold}"), share(&|draw| draw > threshold), p, error);
        assert_within(&format!("{what}: below −{threshold}"), share(&|draw| draw < -threshold), p, error);
    }
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

/// Returns √(nm/(n+m)) times the largest distance between two samples' distributions; numbers that are not finite are
/// the largest. Samples of one distribution exceed [`KOLMOGOROV_SMIRNOV_LIMIT`] once in 50,000 times.
///
/// Numbers that differ by less than `rounding` times the largest (at least 1) count as equal: without noise many runs
/// end in the same point, but for rounding.
pub fn distance_of_two(a: &[f64], b: &[f64], rounding: f64) -> f64 {
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
    assert!(distance_of_two(&even, &even, 0.0) == 0.0);
    assert!((distance_of_two(&even, &moved, 0.0) - 0.25 * 250_f64.sqrt()).abs() < 0.1);
    assert!((distance_of_two(&moved, &even, 0.0) - 0.25 * 250_f64.sqrt()).abs() < 0.1);
    let apart = standard_errors_apart(&moved, &even, 0.0).unwrap();
    // The variance of a uniform distribution is 1/12.
    assert!((apart - 0.25 / (2.0 / 12.0 / 500_f64).sqrt()).abs() < 0.1, "{apart}");
    let mut wild = even.clone();
    wild[0] = 1e9;
    assert!(standard_errors_apart(&wild, &even, 0.0).is_none());
    wild[0] = f64::NAN;
    assert!(standard_errors_apart(&wild, &even, 0.0).is_none());
    assert!(distance_of_two(&wild, &even, 0.0) < 1.0);
    // All numbers are at one point, except for rounding.
    let (here, there) = ([2.0; 9], [2.0 + 1e-12; 9]);
    assert!(distance_of_two(&here, &there, 0.0) > 2.0);
    assert!(distance_of_two(&here, &there, 1e-9) == 0.0);
    assert!(standard_errors_apart(&here, &there, 1e-9) == Some(0.0));
}
