//! The engine against the oracle, in distribution.
//!
//! Some thousand pairs of samples are compared. Of true pairs one in 16,000 lies 4 standard errors apart, and one
//! in 50,000 exceeds the limit of the Kolmogorov–Smirnov test. All seeds are fixed: a test passes or fails for good.

use std::sync::LazyLock;

use valleyscope_engine::sweep::{Average, Cell, Metric, Metrics, Precision, Runs, SweepOptimizer, SweepSpec};

use super::oracle::{self, LAWS, Law, Outcome, RATES};
use super::specs::{fig2a, only, runs};
use super::two_samples::{KOLMOGOROV_SMIRNOV_LIMIT, kolmogorov_smirnov, standard_errors_apart};
use crate::statistics::correlation;

/// The paper's grid.
const GRID: [usize; 2] = [96, 100];

/// Flat and sharp valleys without noise and with the least, middling and the most noise.
const SPOTS: [[usize; 2]; 8] = [[8, 0], [8, 1], [8, 50], [8, 99], [88, 0], [88, 1], [88, 50], [88, 99]];

const ORACLE_REPLICATES: usize = 200;

/// The oracle's runs at [`SPOTS`]: for each spot, law and learning rate.
static ORACLE: LazyLock<Vec<[Vec<Vec<Outcome>>; 3]>> = LazyLock::new(|| {
    let at = |pixel: [usize; 2]| {
        let of = |law: Law| {
            let rates = 0..RATES;
            rates.map(|rate| oracle_runs(pixel, law, oracle::rate(rate), ORACLE_REPLICATES, rate as u64)).collect()
        };
        LAWS.map(of)
    };
    SPOTS.map(at).into()
});

fn oracle_runs(pixel @ [row, column]: [usize; 2], law: Law, rate: f64, count: usize, salt: u64) -> Vec<Outcome> {
    let seed = ((row as u64 * 1000 + column as u64) * 1000 + salt) * 3 + law as u64;
    oracle::fig2a(GRID, pixel).runs(law, rate, count, seed)
}

/// Each of the three metrics of an optimizer's runs with one learning rate.
pub fn samples(runs: &Runs, rate: usize) -> [Vec<f64>; 3] {
    let runs = &runs.metrics[rate * runs.replicates..][..runs.replicates];
    let of = |metric: fn(&Metrics<f64>) -> f64| runs.iter().map(metric).collect();
    [of(|run| run.final_loss), of(|run| run.smallest_loss), of(|run| run.depth)]
}

pub fn oracle_samples(outcomes: &[Outcome]) -> [Vec<f64>; 3] {
    [0, 1, 2].map(|metric| outcomes.iter().map(|outcome| outcome.metrics()[metric]).collect())
}

/// Returns the distance by which rounding may move a loss or a depth of size 1 without noise to hide it.
pub fn rounding(precision: Precision) -> f64 {
    match precision {
        Precision::Single => 1e-5,
        Precision::Double => 1e-10,
    }
}

/// Compares many pairs of samples.
#[derive(Default)]
pub struct Judge {
    compared: usize,
    /// Squares of the standard errors between two means, where means can be compared.
    squares: Vec<f64>,
    faults: Vec<String>,
}

impl Judge {
    pub fn compare(&mut self, what: &str, engine: &[Vec<f64>; 3], oracle: &[Vec<f64>; 3], rounding: f64) {
        for ((metric, engine), oracle) in Metric::ALL.iter().zip(engine).zip(oracle) {
            self.compared += 1;
            let what = format!("{what}, {}", metric.name());
            let distance = kolmogorov_smirnov(engine, oracle, rounding);
            if distance > KOLMOGOROV_SMIRNOV_LIMIT {
                self.faults.push(format!("{what}: Kolmogorov–Smirnov distance {distance:.2}"));
            }
            if let Some(apart) = standard_errors_apart(engine, oracle, rounding) {
                if apart.abs() > 4.0 {
                    self.faults.push(format!("{what}: means {apart:.2} standard errors apart"));
                }
                self.squares.push(apart * apart);
            }
        }
    }

    /// Many small differences in one direction show in the sum of squares before any of them stands out.
    #[track_caller]
    pub fn verdict(self) {
        let mean_square = self.squares.iter().sum::<f64>() / self.squares.len() as f64;
        println!(
            "{} pairs of samples compared, {} of them by their means; mean square of standard errors {mean_square:.3}",
            self.compared,
            self.squares.len()
        );
        assert!(self.faults.is_empty(), "{} faults:\n{}", self.faults.len(), self.faults.join("\n"));
        assert!(2 * self.squares.len() > self.compared, "too few means could be compared");
        // The three metrics of a run are strongly correlated, so the variance of the mean is up to 3 · 2/n.
        let limit = 1.0 + 4.0 * (6.0 / self.squares.len() as f64).sqrt();
        assert!(mean_square < limit, "mean square of standard errors {mean_square}, expected 1");
    }
}

/// Returns whether rounding is the only randomness of a score. Runs without noise take nearly the same path, and Adam's
/// is chaotic: rounding in single precision then moves the distribution. A separate test bounds the distance.
fn is_up_to_rounding(precision: Precision, [_, column]: [usize; 2], law: Law) -> bool {
    precision == Precision::Single && column == 0 && law == Law::Adam
}

fn every_learning_rate_agrees(precision: Precision, replicates: usize) {
    let (spec, mut judge) = (fig2a(GRID), Judge::default());
    for (pixel, oracle) in SPOTS.into_iter().zip(ORACLE.iter()) {
        let engine = runs(precision, &spec, pixel, 0..replicates);
        for ((law, engine), oracle) in LAWS.into_iter().zip(&engine).zip(oracle) {
            if is_up_to_rounding(precision, pixel, law) {
                continue;
            }
            for (rate, oracle) in oracle.iter().enumerate() {
                let what = format!("{} at {pixel:?}, {law:?}, learning rate {rate}", precision.name());
                judge.compare(&what, &samples(engine, rate), &oracle_samples(oracle), rounding(precision));
            }
        }
    }
    judge.verdict();
}

#[test]
fn every_learning_rate_agrees_in_single_precision() {
    every_learning_rate_agrees(Precision::Single, 400);
}

#[test]
fn every_learning_rate_agrees_in_double_precision() {
    every_learning_rate_agrees(Precision::Double, 100);
}

#[test]
fn without_noise_adam_in_single_precision_agrees_to_a_percent() {
    let spec = fig2a(GRID);
    for (pixel, oracle) in SPOTS.into_iter().zip(ORACLE.iter()).filter(|([_, column], _)| *column == 0) {
        let cell = Cell::new(&runs(Precision::Single, &spec, pixel, 0..200), Average::Mean, false);
        let mean = |outcomes: &Vec<Outcome>| {
            outcomes.iter().map(|outcome| outcome.final_loss).sum::<f64>() / outcomes.len() as f64
        };
        let expected = oracle[0].iter().map(mean).fold(f64::INFINITY, f64::min);
        let found = cell.score(0, Metric::FinalLoss).value;
        println!("at {pixel:?} Adam reaches {found}, the oracle {expected}");
        assert!((found / expected - 1.0).abs() < 0.01, "{found} instead of {expected} at {pixel:?}");
    }
}

#[test]
fn common_noise_changes_no_distribution() {
    let (mut spec, mut judge) = (fig2a(GRID), Judge::default());
    spec.common_random_numbers = true;
    for (pixel, oracle) in SPOTS.into_iter().zip(ORACLE.iter()).filter(|([_, column], _)| *column > 1) {
        let engine = runs(Precision::Single, &spec, pixel, 0..400);
        for ((law, engine), oracle) in LAWS.into_iter().zip(&engine).zip(oracle) {
            for (rate, oracle) in oracle.iter().enumerate() {
                let what = format!("common noise at {pixel:?}, {law:?}, learning rate {rate}");
                judge.compare(&what, &samples(engine, rate), &oracle_samples(oracle), 0.0);
            }
        }
    }
    judge.verdict();
}

#[test]
fn only_common_noise_makes_optimizers_and_learning_rates_alike() {
    let correlations = |common: bool| {
        let spec = SweepSpec { common_random_numbers: common, ..fig2a(GRID) };
        let runs = runs(Precision::Single, &spec, [8, 50], 0..400);
        let depth = |optimizer: usize, rate: usize| {
            let [_, _, depth] = samples(&runs[optimizer], rate);
            depth
        };
        // The pairs are FOCUS and Signum, and two learning rates of Signum.
        [correlation(&depth(1, 2), &depth(2, 2)), correlation(&depth(2, 2), &depth(2, 3))]
    };
    let (alike, apart) = (correlations(true), correlations(false));
    assert!(alike.iter().all(|r| *r > 0.8), "{alike:?}");
    assert!(apart.iter().all(|r| r.abs() < 4.0 / 20.0), "{apart:?}");
}

/// Each optimizer is compared more closely at its best learning rate.
#[test]
fn two_thousand_final_losses_agree_at_six_pixels() {
    const REPLICATES: usize = 2000;
    // Of true pairs one in 1,000 exceeds it; there are 54.
    const LIMIT: f64 = 1.95;
    let spec = fig2a(GRID);
    for pixel in [[8, 10], [8, 50], [8, 99], [88, 10], [88, 50], [88, 99]] {
        let scores = Cell::new(&runs(Precision::Single, &spec, pixel, 0..50), Average::Mean, false);
        for (index, law) in LAWS.into_iter().enumerate() {
            let rate = oracle::rate(scores.score(index, Metric::FinalLoss).best);
            let tuned = SweepOptimizer { learning_rates: only(rate), ..spec.optimizers[index].clone() };
            let spec = SweepSpec { optimizers: vec![tuned], ..spec.clone() };
            let [single, double] = Precision::ALL.map(|precision| {
                let [losses, ..] = samples(&runs(precision, &spec, pixel, 0..REPLICATES)[0], 0);
                losses
            });
            let [oracle, ..] = oracle_samples(&oracle_runs(pixel, law, rate, REPLICATES, 77));
            for (what, a, b) in [
                ("single precision and the oracle", &single, &oracle),
                ("double precision and the oracle", &double, &oracle),
                ("single and double precision", &single, &double),
            ] {
                let distance = kolmogorov_smirnov(a, b, 0.0);
                println!("{what} at {pixel:?}, {law:?}: {distance:.2}");
                assert!(distance < LIMIT, "{what} at {pixel:?}, {law:?}: {distance}");
            }
        }
    }
}
