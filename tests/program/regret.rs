//! The regret of FOCUS and the bound of the theorem, against computations that share no code with them.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use valleyscope::draw::{Format, Options};
use valleyscope::sweep::regret::{figure, write_table};
use valleyscope_engine::regret::{Losses, RegretCurve, Theorem, run};

use crate::says::says;

use super::doctor::{Sandbox, stderr, stdout};

/// Runs FOCUS as in the paper's algorithm, with a projection onto the box.
fn focus(theorem: &Theorem, steps: u64, mut gradient: impl FnMut(u64, &[f64]) -> Vec<f64>) {
    const BETA2: f64 = 0.9;
    let sign = |x: f64| if x == 0.0 { 0.0 } else { x.signum() };
    let d = theorem.dimension;
    let (mut theta, mut m, mut centre) = (vec![0.0; d], vec![0.0; d], vec![0.0; d]);
    for t in 1..=steps {
        let g = gradient(t, &theta);
        let power = t as i32;
        let beta1 = theorem.beta1[0] * theorem.beta1[1].powi(power);
        let gamma = theorem.gamma[0] * theorem.gamma[1].powi(power);
        let eta = theorem.learning_rate / (t as f64).sqrt();
        for i in 0..d {
            m[i] = beta1 * m[i] + (1.0 - beta1) * g[i];
            centre[i] += (1.0 - BETA2) / (1.0 - BETA2.powi(power)) * (theta[i] - centre[i]);
            theta[i] = (theta[i] - eta * (sign(m[i]) + gamma * sign(theta[i] - centre[i]))).clamp(-1.0, 1.0);
        }
    }
}

fn course(losses: Losses, theorem: Theorem, steps: u64) -> RegretCurve {
    run(losses, &[theorem], steps, 7, || true).expect("it was not asked to end").remove(0)
}

fn last_regret(course: &RegretCurve) -> f64 {
    course.records.last().expect("a record").regret
}

#[test]
fn the_bound_is_that_of_the_theorem() {
    let theorem = Theorem { dimension: 1, learning_rate: 1.0, beta1: [0.5, 0.5], gamma: [-0.5, 0.5] };
    // 2 (4 + 4 · 2) / (2 · 0.5) + 2 · 2 · 1.5² / 0.5 + (0.5 + 0.5) · 2 · 2 / 0.5
    assert_eq!(theorem.bound(4, 2.0), 24.0 + 18.0 + 8.0);
    // D² is d D∞²; everything else is proportional to d too.
    assert!((Theorem { dimension: 10, ..theorem }.bound(4, 2.0) - 500.0).abs() < 1e-9);
}

#[test]
fn the_regret_agrees_with_the_algorithm() {
    for (losses, gamma) in Losses::ALL.into_iter().flat_map(|losses| [(losses, 0.2), (losses, -0.2)]) {
        for (dimension, steps) in [(1, 500), (3, 200)] {
            let theorem = Theorem::usual(dimension, gamma);
            let mut sequence = losses.sequence(dimension, 7);
            let mut sum = 0.0;
            focus(&theorem, steps, |step, theta| {
                let mut gradient = vec![0.0; dimension];
                sequence.advance(step);
                sum += sequence.loss(theta, &mut gradient);
                gradient
            });
            let expected = sum - sequence.least().0;
            let found = last_regret(&course(losses, theorem, steps));
            assert!((found - expected).abs() < 1e-6, "{losses:?} in {dimension}: {found}, expected {expected}");
        }
    }
}

#[test]
fn gradients_are_those_of_the_losses() {
    const H: f64 = 1e-6;
    let mut random = SmallRng::seed_from_u64(1);
    for losses in Losses::ALL {
        let mut sequence = losses.sequence(4, 3);
        for step in 1..50 {
            sequence.advance(step);
            let theta: Vec<f64> = (0..4).map(|_| random.random_range(-0.9..0.9)).collect();
            let mut gradient = [0.0; 4];
            sequence.loss(&theta, &mut gradient);
            for (index, entry) in gradient.into_iter().enumerate() {
                let at = |offset: f64| {
                    let mut theta = theta.clone();
                    theta[index] += offset;
                    sequence.loss(&theta, &mut [0.0; 4])
                };
                let difference = (at(H) - at(-H)) / (2.0 * H);
                assert!((difference - entry).abs() < 1e-5, "{losses:?}: {entry}, by differences {difference}");
            }
        }
    }
}

#[test]
fn no_point_of_the_box_is_better_than_the_best() {
    const STEPS: u64 = 300;
    let mut random = SmallRng::seed_from_u64(2);
    for losses in Losses::ALL {
        for dimension in [1, 3] {
            let mut sequence = losses.sequence(dimension, 5);
            let mut places: Vec<Vec<f64>> =
                (0..2000).map(|_| (0..dimension).map(|_| random.random_range(-1.0..=1.0)).collect()).collect();
            places.extend([-1.0, 1.0].map(|corner| vec![corner; dimension]));
            let mut sums = vec![0.0; places.len()];
            for step in 1..=STEPS {
                sequence.advance(step);
                for (sum, place) in sums.iter_mut().zip(&places) {
                    *sum += sequence.loss(place, &mut vec![0.0; dimension]);
                }
            }
            let (least, gap) = sequence.least();
            let best = sums.iter().copied().fold(f64::INFINITY, f64::min);
            assert!(gap <= 1e-5 && best >= least - gap - 1e-9, "{losses:?} in {dimension}: {best} is below {least}");
            // Two thousand places come close to it in one dimension.
            assert!(dimension > 1 || best - least < 0.005 * STEPS as f64, "{losses:?}: {least} is far below {best}");
        }
    }
}

#[test]
fn the_regret_of_even_losses_is_below_the_bound_and_sublinear() {
    for losses in [Losses::Linear, Losses::Absolute, Losses::Quadratic] {
        for (dimension, gamma) in [(1, 0.2), (1, -0.2), (10, 0.2), (10, -0.2)] {
            let course = course(losses, Theorem::usual(dimension, gamma), 5000);
            assert_eq!(course.above_bound_from(), None, "{losses:?} in {dimension}");
            assert!(course.growth().is_none_or(|power| power < 0.75), "{losses:?}: {:?}", course.growth());
        }
    }
}

/// FOCUS goes to +1 and stays near it. There three steps cost 4 − 1 − 1 = 2, and −2 at the best place, −1.
#[test]
fn the_regret_of_losses_that_are_rarely_steep_breaks_the_bound() {
    const STEPS: u64 = 30_000;
    for dimension in [1, 2] {
        let course = course(Losses::RareSteep, Theorem::usual(dimension, 0.2), STEPS);
        let a_step = last_regret(&course) / (dimension as u64 * STEPS) as f64;
        assert!((a_step - 4.0 / 3.0).abs() < 0.02, "{a_step}");
        assert!(course.above_bound_from().is_some_and(|from| from < STEPS), "{:?}", course.above_bound_from());
        assert!(course.growth().is_some_and(|power| power > 0.98), "{:?}", course.growth());
    }
}

#[test]
fn equal_seeds_give_equal_bytes() {
    let courses = |seed: u64| -> Vec<RegretCurve> {
        let theorems = [0.2, -0.2].map(|gamma| Theorem::usual(3, gamma));
        Losses::ALL.into_iter().flat_map(|losses| run(losses, &theorems, 200, seed, || true).expect("whole")).collect()
    };
    let table = |seed: u64| {
        let mut bytes = Vec::new();
        write_table(&courses(seed), &mut bytes).expect("memory takes all");
        String::from_utf8(bytes).expect("text")
    };
    assert_eq!(table(4), table(4));
    assert_ne!(table(4), table(5));
    assert!(table(4).starts_with("losses,dimension,") && table(4).contains("\nrare steep,3,1,0.9,0.9,-0.2,0.9,200,"));
    let drawn = || {
        let figure = figure(&courses(4)).render(&Options::default()).expect("a figure");
        figure.to_file(Format::Svg, 300.0).expect("a file")
    };
    let text = String::from_utf8(drawn()).expect("text");
    assert_eq!(text.as_bytes(), drawn());
    says(&text, &["bound", "absolute, γ = −0.2", "R(T) / (G √T), d = 3"]);
}

#[test]
fn a_computation_ends_when_cancelled() {
    assert_eq!(run(Losses::Linear, &[Theorem::usual(1, 0.2)], 10, 0, || false), None);
}

#[test]
fn the_command_writes_a_table_and_a_figure() {
    let sandbox = Sandbox::new();
    let regret = |args: &[&str]| {
        let output = sandbox.run(&[&["regret"], args].concat());
        (output.status.code(), stdout(&output).to_owned(), stderr(&output).to_owned())
    };
    let (code, stdout, stderr) = regret(&["--steps", "100", "--out", "r.csv", "--figure", "r.svg"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("rare steep  100  −0.2") && stdout.contains("does not hold as it is printed"), "{stdout}");
    let table = std::fs::read_to_string(sandbox.join("r.csv")).expect("the table");
    assert_eq!(table.lines().filter(|line| line.contains(",100,1,0.9,0.9,0.2,0.9,100,")).count(), Losses::ALL.len());
    assert!(std::fs::read_to_string(sandbox.join("r.svg")).expect("the figure").starts_with("<svg"));
    for (args, words) in [
        (["--out", "r.txt"], ["--out must be a file that ends in .csv", "r.txt"]),
        (["--figure", "r.gif"], ["--figure must be a file that ends in .png, .svg or .pdf", "r.gif"]),
        (["--steps", "0"], ["from 1 to 1000000", "found 0"]),
        (["--steps", "many"], ["expected a whole number from 1", "found many"]),
    ] {
        let (code, _, stderr) = regret(&args);
        assert!(code == Some(2) && words.iter().all(|word| stderr.contains(word)), "{args:?}: {stderr}");
    }
    let (code, _, stderr) = regret(&["--steps", "5", "--out", "none/r.csv"]);
    assert!(code == Some(1) && stderr.contains("cannot write none/r.csv"), "{stderr}");
}
