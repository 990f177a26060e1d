//! Calibration: a winner with a certainty of 95 % is the true one in as many cases.
//!
//! The truth is the winner over 2,000 replicates.

use std::fmt::Write;
use std::sync::Arc;

use valleyscope::sweep::pool::{Pool, Sweep};
use valleyscope_engine::quantity::Replicates;
use valleyscope_engine::sweep::{
    Adaptive, Average, Backend, Diagram, Metric, Precision, Sampling, SweepJob, SweepSpec,
};

use super::specs::fig2a;

const GRID: [usize; 2] = [12, 13];
const REFERENCE_REPLICATES: u64 = 2000;
const REFERENCE_SEED: u64 = 1_000_000;

/// The true winners by metric, a line for each row; written by `write_the_true_winners`.
const WINNERS: &str = include_str!("data/true_winners.csv");

fn swept(spec: SweepSpec) -> Diagram {
    let spec = Arc::new(spec);
    let pool = Pool::new(std::thread::available_parallelism().map_or(1, usize::from)).unwrap();
    let backend = Backend::new(Precision::Single);
    let sweep = Sweep::start(&pool, SweepJob::new(Arc::clone(&spec), backend), || ());
    let mut diagram = Diagram::new(spec);
    sweep.finished().iter().for_each(|finished| diagram.insert(finished.pixel, finished.cell));
    assert!(diagram.is_complete());
    diagram
}

fn pixels() -> impl Iterator<Item = [usize; 2]> {
    (0..GRID[0]).flat_map(|row| (0..GRID[1]).map(move |column| [row, column]))
}

/// Returns the true winner for each metric and pixel; none where the best scores are equal.
fn true_winners() -> Vec<Vec<Option<usize>>> {
    let mut blocks = vec![vec![]; 3];
    for line in WINNERS.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(',');
        let name = words.next().expect("a line begins with a metric");
        let metric = Metric::ALL.iter().position(|metric| metric.name() == name).expect("a metric");
        blocks[metric].extend(words.map(|winner| winner.parse().ok()));
    }
    assert!(blocks.iter().all(|block| block.len() == GRID[0] * GRID[1]));
    blocks
}

/// The number of winners with this certainty, and of those that are the true ones.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    sure: usize,
    right: usize,
}

impl Count {
    fn rate(self) -> f64 {
        self.right as f64 / self.sure as f64
    }
}

/// Returns the counts for each metric, over all pixels and `seeds` seeds.
fn count(spec: &SweepSpec, seeds: u64, sure: f64) -> [Count; 3] {
    let truth = true_winners();
    let mut counts = [Count::default(); 3];
    for seed in 0..seeds {
        let diagram = swept(SweepSpec { seed, ..spec.clone() });
        for (metric, count) in Metric::ALL.into_iter().zip(&mut counts) {
            for (pixel, truth) in pixels().zip(&truth[metric as usize]) {
                let comparison = diagram.cell(pixel).expect("the diagram is complete").comparison(metric);
                if comparison.certainty().is_some_and(|certainty| certainty >= sure) {
                    count.sure += 1;
                    count.right += usize::from(comparison.winner == *truth);
                }
            }
        }
    }
    for (metric, count) in Metric::ALL.into_iter().zip(counts) {
        let all = seeds as usize * GRID[0] * GRID[1];
        println!(
            "{}, {} replicates, common noise {}, {:?}: {} of {all} winners are at least {sure} sure, {:.2} % of them right",
            metric.name(),
            spec.replicates.get(),
            spec.common_random_numbers,
            spec.average,
            count.sure,
            100.0 * count.rate()
        );
    }
    counts
}

#[track_caller]
fn assert_calibrated(counts: [Count; 3]) {
    for (metric, count) in Metric::ALL.into_iter().zip(counts) {
        assert!(count.rate() >= 0.93, "{}: {count:?}", metric.name());
    }
}

#[test]
fn certain_winners_are_right() {
    let counts = count(&fig2a(GRID), 3, 0.95);
    assert_calibrated(counts);
    // A test without certain winners would pass trivially.
    assert!(counts.iter().all(|count| count.sure > 3 * 156 / 2), "{counts:?}");
}

#[test]
fn certain_winners_by_common_noise_are_right() {
    let counts = count(&SweepSpec { common_random_numbers: true, ..fig2a(GRID) }, 3, 0.95);
    assert_calibrated(counts);
    assert!(counts.iter().all(|count| count.sure > 3 * 156 / 2), "{counts:?}");
}

/// With adaptive sampling, which looks after each round and stops when it is certain, by the metric that it compares.
fn adaptive(metric: Metric) -> SweepSpec {
    SweepSpec { metric, sampling: Sampling::Adaptive(Adaptive::default()), ..fig2a(GRID) }
}

#[test]
fn winners_of_races_are_right() {
    let count = count(&adaptive(Metric::FinalLoss), 2, 0.95)[Metric::FinalLoss as usize];
    assert!(count.rate() >= 0.95, "{count:?}");
    // Uniform sampling is as certain in 56 % of the pixels.
    assert!(count.sure > 2 * 156 * 7 / 10, "{count:?}");
}

/// `cargo test --release --test numbers -- --ignored races_over_twenty_seeds --nocapture`, a minute on two cores.
#[test]
#[ignore = "takes a minute in release"]
fn races_over_twenty_seeds() {
    for metric in Metric::ALL {
        let count = count(&adaptive(metric), 20, 0.95)[metric as usize];
        assert!(count.rate() >= 0.95, "{}: {count:?}", metric.name());
    }
}

/// `cargo test --release --test numbers -- --ignored calibration_over_twenty_seeds --nocapture`, some minutes on two
/// cores.
#[test]
#[ignore = "takes minutes in release"]
fn calibration_over_twenty_seeds() {
    for common_random_numbers in [false, true] {
        let spec = SweepSpec { common_random_numbers, ..fig2a(GRID) };
        assert_calibrated(count(&spec, 20, 0.95));
        for sure in [0.5, 0.8, 0.9, 0.99] {
            count(&spec, 20, sure);
        }
    }
    // A first picture has as few replicates.
    let few = SweepSpec { replicates: Replicates::clamped(8), ..fig2a(GRID) };
    let counts = count(&few, 20, 0.95);
    // With eight, the learning rate is chosen on four, and the error estimated from four.
    assert!(counts.iter().all(|count| count.rate() >= 0.9), "{counts:?}");
}

/// `cargo test --release --test numbers -- --ignored write_the_true_winners`, a minute on two cores.
#[test]
#[ignore = "writes a golden"]
fn write_the_true_winners() {
    let reference =
        SweepSpec { seed: REFERENCE_SEED, replicates: Replicates::clamped(REFERENCE_REPLICATES), ..fig2a(GRID) };
    assert_eq!(reference.average, Average::Mean);
    let diagram = swept(reference);
    let mut text =
        "# Indices of the winners (Adam, FOCUS, Signum) on 12 x 13 pixels of Fig. 2a over 2,000 replicates; \
        made by\n# cargo test --release --test numbers -- --ignored write_the_true_winners\n"
            .to_owned();
    for metric in Metric::ALL {
        for row in 0..GRID[0] {
            text += metric.name();
            for column in 0..GRID[1] {
                let winner = diagram.cell([row, column]).expect("the diagram is complete").winner(metric);
                match winner {
                    Some(winner) => write!(text, ",{winner}").expect("a text takes it"),
                    None => text += ",none",
                }
            }
            text.push('\n');
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/numbers/sweep/data/true_winners.csv");
    std::fs::write(path, text).unwrap();
}
