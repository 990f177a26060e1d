//! Schedule-Free, which takes gradients and losses at different places, against a plain loop, in distribution.

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, StandardNormal};
use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_engine::quantity::{Dimension, Replicates, StepCount};
use valleyscope_engine::sweep::{Precision, SweepOptimizer, SweepSpec};

use super::oracle::{DEGREES, SLOPE, START, Toy, fig2a as toy};
use super::specs::{fig2a, only, optimizer, runs};
use super::truth::{Judge, samples};
use super::two_samples::{KOLMOGOROV_SMIRNOV_LIMIT, kolmogorov_smirnov};

const GRID: [usize; 2] = [5, 7];
const STEPS: usize = 300;
const RUNS: usize = 400;
/// Far from 1, so that y is far from x.
const BETA1: f64 = 0.3;
const WARMUP: f64 = 40.0;
const OMEGA: f64 = 0.1;

/// The point at which a loop takes its gradients.
#[derive(Clone, Copy, PartialEq)]
enum GradientPoint {
    Y,
    X,
}

/// Returns final loss, smallest loss and depth of a run with r = 1 and p = 2.
fn run(toy: Toy, eta: f64, dimension: usize, place: GradientPoint, random: &mut SmallRng) -> [f64; 3] {
    let mut normal = || -> f64 { StandardNormal.sample(random) };
    let direction = match dimension {
        2 => <[f64; 2]>::from(DEGREES.to_radians().sin_cos()).into_iter().rev().collect(),
        _ => (0..dimension).map(|_| normal()).collect::<Vec<f64>>(),
    };
    let length = direction.iter().map(|r| r * r).sum::<f64>().sqrt();
    let direction: Vec<f64> = direction.into_iter().map(|r| r / length).collect();
    let along = |at: &[f64]| at.iter().zip(&direction).map(|(x, r)| x * r).sum::<f64>();
    let across = |at: &[f64], u: f64| at.iter().zip(&direction).map(|(x, r)| (x - u * r).powi(2)).sum::<f64>();
    let mut x: Vec<f64> = (0..dimension).map(|_| START * normal()).collect();
    let (mut z, mut s) = (x.clone(), vec![0.0; dimension]);
    let (mut weights, mut largest) = (0.0, 0.0_f64);
    let mut outcome = [f64::NAN, f64::INFINITY, 0.0];
    for t in 1..=STEPS {
        let y: Vec<f64> = x.iter().zip(&z).map(|(x, z)| BETA1 * x + (1.0 - BETA1) * z).collect();
        let at = if place == GradientPoint::Y { &y } else { &x }.clone();
        let u = along(&at);
        let v_squared = across(&at, u);
        let eta = eta * (t as f64 / WARMUP).min(1.0);
        largest = largest.max(eta);
        let weight = t as f64 * largest * largest;
        weights += weight;
        for index in 0..dimension {
            let r = direction[index];
            let slope = (toy.a * u * v_squared - SLOPE) * r + toy.a * u * u * (at[index] - u * r);
            let gradient = slope * (1.0 + toy.sigma * normal());
            s[index] = 0.999 * s[index] + 0.001 * gradient * gradient;
            let size = (s[index] / (1.0 - 0.999_f64.powi(t as i32))).sqrt() + 1e-8;
            z[index] -= eta * (gradient / size + OMEGA * y[index]);
            x[index] += weight / weights * (z[index] - x[index]);
        }
        let u = along(&x);
        let loss = 0.5 * toy.a * u * u * across(&x, u) - SLOPE * u;
        outcome = [loss, outcome[1].min(loss), outcome[2].max(u)];
    }
    outcome
}

fn by_loop(pixel: [usize; 2], eta: f64, dimension: usize, place: GradientPoint) -> [Vec<f64>; 3] {
    let mut random = SmallRng::seed_from_u64(8);
    let outcomes: Vec<[f64; 3]> =
        (0..RUNS).map(|_| run(toy(GRID, pixel), eta, dimension, place, &mut random)).collect();
    [0, 1, 2].map(|metric| outcomes.iter().map(|outcome| outcome[metric]).collect())
}

fn by_engine(precision: Precision, pixel: [usize; 2], eta: f64, dimension: usize) -> [Vec<f64>; 3] {
    let rule = [("beta1", BETA1), ("warmup", WARMUP), ("r", 1.0), ("weight_decay", OMEGA)]
        .into_iter()
        .fold(RuleSpec::on_plane(RuleKind::ScheduleFree), |rule, (key, value)| rule.with(key, value).unwrap());
    let mut spec = SweepSpec {
        dimension: Dimension::clamped(dimension as u64),
        steps: StepCount::clamped(STEPS as u64),
        replicates: Replicates::clamped(1),
        optimizers: vec![SweepOptimizer { learning_rates: only(eta), ..optimizer(0, rule) }],
        ..fig2a(GRID)
    };
    let mut all = [vec![], vec![], vec![]];
    // The seed determines the direction of the valley.
    for seed in 0..RUNS {
        spec.seed = seed as u64;
        let one = samples(&runs(precision, &spec, pixel, 0..1)[0], 0);
        all.iter_mut().zip(one).for_each(|(all, one)| all.extend(one));
    }
    all
}

#[test]
fn schedule_free_agrees_with_a_plain_loop() {
    let mut judge = Judge::default();
    let mut apart = 0.0_f64;
    for dimension in [2, 3, 20] {
        for (pixel, eta) in [([1, 2], 0.1), ([3, 2], 0.03), ([3, 4], 0.1)] {
            let expected = by_loop(pixel, eta, dimension, GradientPoint::Y);
            for precision in Precision::ALL {
                let what = format!("{dimension} dimensions at {pixel:?}, learning rate {eta}, {precision:?}");
                judge.compare(&what, &by_engine(precision, pixel, eta, dimension), &expected, 0.0);
            }
            let elsewhere = by_loop(pixel, eta, dimension, GradientPoint::X);
            let distances = expected.iter().zip(&elsewhere).map(|(a, b)| kolmogorov_smirnov(a, b, 0.0));
            apart = distances.fold(apart, f64::max);
        }
    }
    judge.verdict();
    // Gradients at x would be noticed.
    assert!(apart > 2.0 * KOLMOGOROV_SMIRNOV_LIMIT, "{apart}");
}
