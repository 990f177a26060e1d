//! Crossings of curves with a loss, against hand-computed values.

use valleyscope_experiments::view::range::{Crossing, common_level, first_crossing, speedup};

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
