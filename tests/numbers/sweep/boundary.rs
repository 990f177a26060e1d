//! The boundary of the region where Adam wins, row by row, in the engine and in the oracle.

use std::fmt::Write;

use valleyscope_engine::sweep::{Average, Cell, Metric, Precision, SweepSpec};

use super::oracle::{self, LAWS, Outcome, RATES};
use super::specs::{fig2a, runs};

const GRID: [usize; 2] = [12, 13];
const REPLICATES: usize = 50;

/// The oracle's scores by row, column and optimizer; written by `write_the_oracles_scores`.
const SCORES: &str = include_str!("data/oracle_scores.csv");

/// Returns, for each row, the first column in which Adam does not win, and the number of columns in which it wins.
fn boundary(adam_wins: impl Fn([usize; 2]) -> bool) -> Vec<[usize; 2]> {
    let [rows, columns] = GRID;
    let of_row = |row: usize| {
        let wins = |column: &usize| adam_wins([row, *column]);
        [(0..columns).take_while(wins).count(), (0..columns).filter(wins).count()]
    };
    (0..rows).map(of_row).collect()
}

fn oracle_boundary() -> Vec<[usize; 2]> {
    let scores: Vec<Vec<f64>> = SCORES
        .lines()
        .filter(|line| line.starts_with(|first: char| first.is_ascii_digit()))
        .map(|line| line.split(',').map(|number| number.parse().expect("a number")).collect())
        .collect();
    assert_eq!(scores.len(), GRID[0] * GRID[1]);
    boundary(|[row, column]| {
        let [_, _, adam, focus, signum] = scores[row * GRID[1] + column][..] else { panic!("five numbers a line") };
        adam < focus.min(signum)
    })
}

fn assert_boundary(spec: &SweepSpec, precision: Precision) {
    let wins = |pixel: [usize; 2]| {
        let runs = runs(precision, spec, pixel, 0..spec.replicates.get());
        Cell::new(&runs, Average::Mean, spec.common_random_numbers).winner(Metric::FinalLoss) == Some(0)
    };
    let (found, expected) = (boundary(wins), oracle_boundary());
    println!("engine {found:?}\noracle {expected:?}");
    for (row, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let apart = [0, 1].map(|index| found[index].abs_diff(expected[index]));
        assert!(apart.iter().all(|columns| *columns <= 2), "row {row}: {found:?} instead of {expected:?}");
    }
    // In total the boundaries differ by less than a column.
    let sum = |of: &[[usize; 2]]| of.iter().map(|[_, wins]| *wins).sum::<usize>();
    assert!(sum(&found).abs_diff(sum(&expected)) <= GRID[0] / 2, "{found:?} instead of {expected:?}");
}

#[test]
fn adams_region_ends_where_it_does_in_the_oracle() {
    assert_boundary(&fig2a(GRID), Precision::Single);
}

#[test]
fn common_noise_does_not_move_the_end_of_adams_region() {
    assert_boundary(&SweepSpec { common_random_numbers: true, ..fig2a(GRID) }, Precision::Single);
}

/// `cargo test --release --test numbers -- --ignored write_the_oracles_scores`, about a minute.
#[test]
#[ignore = "writes a golden"]
fn write_the_oracles_scores() {
    let mut text = "# The oracle's scores on 12 x 13 pixels of Fig. 2a, 20 learning rates, 50 replicates; made by\n\
        # cargo test --release --test numbers -- --ignored write_the_oracles_scores\n\
        row,column,Adam,FOCUS,Signum\n"
        .to_owned();
    for row in 0..GRID[0] {
        for column in 0..GRID[1] {
            let score = |law: oracle::Law| {
                let mean = |rate: usize| {
                    let seed = ((row * GRID[1] + column) * RATES + rate) * 3 + law as usize;
                    let toy = oracle::fig2a(GRID, [row, column]);
                    let outcomes = toy.runs(law, oracle::rate(rate), REPLICATES, seed as u64);
                    let sum: f64 = outcomes.iter().map(|Outcome { final_loss, .. }| final_loss).sum();
                    if sum.is_finite() { sum / REPLICATES as f64 } else { f64::INFINITY }
                };
                (0..RATES).map(mean).fold(f64::INFINITY, f64::min)
            };
            let [adam, focus, signum] = LAWS.map(score);
            writeln!(text, "{row},{column},{adam:.6},{focus:.6},{signum:.6}").expect("a text takes it");
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/numbers/sweep/data/oracle_scores.csv");
    std::fs::write(path, text).unwrap();
}
