//! Jumps of made-up training losses.

use valleyscope_training::LossSpikes;

const NONE: [usize; 0] = [];

/// Returns the indices of the points at which a jump is reported.
fn reported(losses: impl IntoIterator<Item = f64>) -> Vec<usize> {
    let mut spikes = LossSpikes::default();
    losses.into_iter().enumerate().filter_map(|(index, loss)| spikes.next(loss).map(|_| index)).collect()
}

/// Returns a number from 0 to 1 that looks random: a step of a low-discrepancy sequence.
fn scatter(index: usize) -> f64 {
    (index as f64 * 0.618_033_988_749_895).fract()
}

/// Returns a loss that falls from 3 and levels out at 2, with a scatter of some per cent.
fn falling(index: usize) -> f64 {
    2.0 + (-(index as f64) / 20.0).exp() + 0.1 * scatter(index)
}

#[test]
fn reports_a_lasting_jump_once_with_its_size() {
    let jumps = |index: usize| if index < 100 { falling(index) } else { 4.5 + scatter(index) };
    assert_eq!(reported((0..200).map(jumps)), [101], "as soon as two of three points are high");
    let mut spikes = LossSpikes::default();
    let said = (0..200).find_map(|index| spikes.next(if index < 100 { 2.0 } else { 5.0 }));
    let expected = "the training loss has jumped to 5.00; the median of the 50 points before was 2.00";
    assert_eq!(said.as_deref(), Some(expected));
}

#[test]
fn reports_a_second_jump() {
    let losses = (0..300).map(|index| match index {
        100..110 => 6.0,
        200..210 => 7.0,
        _ => falling(index),
    });
    assert_eq!(reported(losses), [101, 201]);
}

#[test]
fn reports_no_jump_in_usual_curves() {
    assert_eq!(reported((0..5000).map(falling)), NONE, "it falls and levels out");
    assert_eq!(reported((0..5000).map(|index| falling(5000 - index))), NONE, "it rises slowly");
    // Factors from 0.1 to 10 about a small loss.
    assert_eq!(
        reported((0..5000).map(|index| 0.01 * 10_f64.powf(2.0 * scatter(index) - 1.0))),
        NONE,
        "small losses scatter"
    );
    let outlier = |index: usize| if index.is_multiple_of(40) { 9.0 } else { falling(index) };
    assert_eq!(reported((0..400).map(outlier)), NONE, "single points stand out");
    assert_eq!(reported((0..400).map(|index| if index < 200 { 2.0 } else { 2.05 })), NONE, "a plateau is 2.5 % higher");
    assert_eq!(reported([2.0; 5].into_iter().chain([9.0; 10])), NONE, "too few earlier points");
}

#[test]
fn skips_losses_that_are_not_positive_or_finite() {
    let gaps = |index: usize| match index % 3 {
        0 => f64::NAN,
        1 => f64::INFINITY,
        _ => falling(index),
    };
    assert_eq!(reported((0..600).map(gaps)), NONE);
    assert_eq!(reported((0..100).map(|index| if index < 50 { 2.0 } else { f64::NAN })), NONE);
}
