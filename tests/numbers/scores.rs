//! Scores of scans and crossings of curves with a loss, against hand-computed values.

use valleyscope::sweep::result::scan::{Improvement, ScanScore, ScanScores};
use valleyscope_experiments::view::range::{Crossing, common_level, first_crossing, speedup};
use valleyscope_runs::{GridPoint, ScanAxes};

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1.0), "expected {expected}, found {found}");
}

#[test]
fn a_score_is_the_smallest_mean_over_learning_rates() {
    let score = ScanScore::of(&[vec![0.5, 0.7, 0.9], vec![0.2, 0.4, 0.3], vec![0.1, 0.1, 0.8]]).unwrap();
    assert_eq!((score.learning_rate, score.replicates), (1, 3));
    close(score.mean, 0.3);
    // Squares 0.01 + 0.01 + 0 over n − 1 = 2.
    close(score.deviation, 0.1);
}

#[test]
fn losses_that_are_not_finite_count_as_a_hundred() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let score = ScanScore::of(&[vec![0.1, bad], vec![45.0, 45.0]]).unwrap();
        assert_eq!(score.learning_rate, 1, "a mean of 50.05 is worse than 45");
        let score = ScanScore::of(&[vec![0.0, bad]]).unwrap();
        close(score.mean, 50.0);
        close(score.deviation, 50.0 * 2.0_f64.sqrt());
    }
}

#[test]
fn one_replicate_has_no_deviation_and_none_have_no_score() {
    assert!(ScanScore::of(&[vec![0.3]]).unwrap().deviation.is_nan());
    assert_eq!(ScanScore::of(&[]), None);
    assert_eq!(ScanScore::of(&[vec![]]), None);
}

#[test]
fn the_improvement_and_its_error() {
    let score = |mean, deviation| ScanScore { mean, deviation, learning_rate: 0, replicates: 3 };
    let improvement = Improvement::of(score(0.5, 0.02), score(0.4, 0.03));
    close(improvement.value, 0.2);
    // 0.16/0.0625 · 0.0004 + 4 · 0.0009.
    close(improvement.error, (2.56 * 0.0004 + 4.0 * 0.0009_f64).sqrt());
}

#[test]
fn scores_are_found_by_their_grid_points_and_unknown_ones_are_missing() {
    let axes = ScanAxes {
        optimizers: vec!["FOCUS".to_owned(), "Adam, β₂ 0.99".to_owned(), "Adam".to_owned(), "Signum".to_owned()],
        batch_sizes: vec![2, 8],
        learning_rates: vec![0.1],
        replicates: 2,
        steps: 10,
    };
    let point =
        |point, loss: f64| GridPoint { index: point, test_loss: vec![vec![loss, loss]], ..GridPoint::default() };
    let points = [point([2, 1], 0.5), point([3, 1], 0.4), point([2, 0], 0.5), point([7, 0], 0.0), point([0, 9], 0.0)];
    let scores = ScanScores::of(&axes, &points);
    assert_eq!(scores.get(0, 0), None);
    assert_eq!(scores.get(9, 0), None);
    close(scores.get(3, 1).unwrap().mean, 0.4);
    let improvements = scores.improvements(2, 3);
    assert_eq!(improvements[0], None, "Signum is not known there");
    close(improvements[1].unwrap().value, 0.2);
}

const NAN: f64 = f64::NAN;

#[test]
fn between_two_points_the_curve_is_a_straight_line() {
    let curve = [[0.0, 0.0, 4.0], [100.0, 10.0, 3.0], [200.0, 30.0, 2.0], [300.0, 40.0, 2.5]];
    // The crossing is a quarter of the way from step 100 to 200, and from second 10 to 30.
    assert_eq!(first_crossing(curve, 2.75), Some(Crossing { step: 125.0, wall_s: 15.0 }));
    assert_eq!(first_crossing(curve, 2.0), Some(Crossing { step: 200.0, wall_s: 30.0 }));
    assert_eq!(first_crossing(curve, 4.0), Some(Crossing { step: 0.0, wall_s: 0.0 }), "it begins there");
    assert_eq!(first_crossing(curve, 9.0), Some(Crossing { step: 0.0, wall_s: 0.0 }), "it begins below");
    assert_eq!(first_crossing(curve, 1.99), None);
    assert_eq!(first_crossing([], 1.0), None);
}

#[test]
fn points_that_are_not_finite_are_left_out() {
    let curve = [[0.0, 0.0, 4.0], [1.0, 1.0, NAN], [2.0, 2.0, 2.0]];
    assert_eq!(first_crossing(curve, 3.0), Some(Crossing { step: 2.0, wall_s: 2.0 }));
    assert_eq!(first_crossing([[1.0, 1.0, f64::NEG_INFINITY]], 3.0), None);
    assert_eq!(first_crossing([[1.0, 1.0, 2.0]], NAN), None);
}

#[test]
fn all_curves_reach_the_worst_of_their_best_values() {
    let curve = |values: &[f64]| values.iter().map(|value| [0.0, 0.0, *value]).collect::<Vec<_>>();
    assert_eq!(common_level([curve(&[4.0, 2.0, 2.5]), curve(&[3.5, NAN, 2.2]), curve(&[1.0])]), Some(2.2));
    assert_eq!(common_level([curve(&[4.0]), curve(&[NAN])]), None);
    assert_eq!(common_level([curve(&[4.0]), curve(&[])]), None);
    assert_eq!(common_level::<Vec<[f64; 3]>>([]), None);
}

#[test]
fn ratios_are_formatted_in_words() {
    const STEPS: [&str; 2] = ["fewer steps", "more steps"];
    assert_eq!(speedup(1800.0, 1000.0, STEPS), "1.80 × fewer steps");
    assert_eq!(speedup(1000.0, 2500.0, STEPS), "2.50 × more steps");
    assert_eq!(speedup(1000.0, 1000.0, STEPS), "1.00 × fewer steps");
    assert_eq!(speedup(1000.0, 0.0, STEPS), "");
    assert_eq!(speedup(0.0, 1000.0, STEPS), "");
}
