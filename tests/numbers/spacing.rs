//! The spacing of values along axes and sliders.

use proptest::prelude::*;

use valleyscope_engine::setting::Spacing;

const ALL: [Spacing; 3] = [Spacing::Linear, Spacing::Log, Spacing::LogComplement];

/// Ends that every spacing allows, in either order.
fn ends() -> impl Strategy<Value = [f64; 2]> {
    let end = || {
        (0.5..6.0_f64, any::<bool>()).prop_map(|(size, is_near_one)| {
            let small = 10_f64.powf(-size);
            if is_near_one { 1.0 - small } else { small }
        })
    };
    (end(), end()).prop_filter("the ends differ", |(a, b)| (a - b).abs() > 1e-9).prop_map(|(a, b)| [a, b])
}

proptest! {
    #[test]
    fn positions_give_values_that_go_from_end_to_end(ends in ends(), count in 2..200_usize) {
        for spacing in ALL {
            let at = |index: usize| spacing.value(ends, index as f64 / (count - 1) as f64);
            prop_assert_eq!([at(0), at(count - 1)], ends);
            let rises = ends[0] < ends[1];
            for index in 1..count {
                prop_assert!(at(index) == at(index - 1) || (at(index) > at(index - 1)) == rises, "{spacing:?}");
            }
        }
    }

    #[test]
    fn a_value_has_the_position_that_it_was_made_of_within_a_pixel(ends in ends(), position in 0.0..=1.0_f64) {
        for spacing in ALL {
            let found = spacing.position(ends, spacing.value(ends, position));
            // A pixel of the longest side of a diagram.
            prop_assert!((found - position).abs() < 1e-4, "{spacing:?}: {position}, {found}");
        }
    }
}

#[test]
fn decay_rates_with_another_nine_are_equally_far_apart() {
    let position = |value| Spacing::LogComplement.position([0.0, 0.9999], value);
    for (nines, value) in [0.0, 0.9, 0.99, 0.999, 0.9999].into_iter().enumerate() {
        assert!((position(value) - nines as f64 / 4.0).abs() < 1e-12, "{value}");
        let found = Spacing::LogComplement.value([0.0, 0.9999], nines as f64 / 4.0);
        assert!((found - value).abs() < 1e-14, "{found}, not {value}");
    }
}

#[test]
fn ends_without_a_logarithm_are_not_allowed() {
    assert!(ALL.iter().all(|spacing| spacing.allows(0.5)));
    assert!(!Spacing::Log.allows(0.0) && Spacing::LogComplement.allows(0.0) && Spacing::LogComplement.allows(-1.0));
    assert!(Spacing::Log.allows(1.0) && !Spacing::LogComplement.allows(1.0));
    assert!(!ALL[1..].iter().any(|spacing| spacing.allows(f64::NAN)));
}
