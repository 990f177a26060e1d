//! Hyperparameters on an axis of a diagram.

use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_engine::quantity::{Replicates, StepCount};
use valleyscope_engine::sweep::{Axis, Precision, Quantity, Spacing, SweepSpec};

use super::specs::{count, fig2a, only, optimizer, runs};

/// Returns the final losses of two rules with the same noise at a pixel, where the second one has the column's value.
fn final_losses(rules: [RuleSpec; 2], columns: &Axis, column: usize) -> [Vec<f64>; 2] {
    let optimizers = (0..).zip(rules).map(|(id, rule)| {
        let mut optimizer = optimizer(id, rule);
        optimizer.learning_rates = only(0.005);
        optimizer
    });
    let spec = SweepSpec {
        steps: StepCount::clamped(40),
        replicates: Replicates::clamped(9),
        common_random_numbers: true,
        optimizers: optimizers.collect(),
        columns: columns.clone(),
        ..fig2a([3, 3])
    };
    let runs = <[_; 2]>::try_from(runs(Precision::Double, &spec, [1, column], 0..9)).unwrap();
    runs.map(|runs| runs.metrics.iter().map(|metrics| metrics.final_loss).collect())
}

#[test]
fn a_pixel_has_its_columns_hyperparameter() {
    let divided = [
        RuleKind::Adam,
        RuleKind::Mars,
        RuleKind::Sophia,
        RuleKind::RmsProp,
        RuleKind::NAdam,
        RuleKind::AdEmaMix,
        RuleKind::AdamMini,
        RuleKind::AdaBelief,
        RuleKind::Shampoo,
        RuleKind::Soap,
        RuleKind::ScheduleFree,
    ];
    let divided = divided.map(|kind| (kind, "eps", [1e-3, 1.0], Spacing::Log));
    let rates = [
        (RuleKind::Soap, "shampoo_beta", [0.0, 0.99], Spacing::LogComplement),
        (RuleKind::Adam, "beta1", [0.9, 0.999], Spacing::LogComplement),
        (RuleKind::Adam, "beta2", [0.9, 0.999], Spacing::LogComplement),
    ];
    for (kind, key, [from, to], spacing) in divided.into_iter().chain(rates) {
        let of = Quantity::Of(key, vec![1]);
        let columns = Axis { of, from, to, count: count(3), spacing };
        let (rule, values) = (RuleSpec::on_plane(kind), columns.values());
        for (column, &value) in values.iter().enumerate() {
            let at = |value| final_losses([rule.with(key, value).unwrap(), rule], &columns, column);
            let [fixed, varied] = at(value);
            assert!(fixed.iter().all(|loss| loss.is_finite()), "{} with {key} {value}", rule.name());
            assert_eq!(fixed, varied, "{} with {key} {value}", rule.name());
            let [other, varied] = at(values[(column + 1) % 3]);
            assert_ne!(other, varied, "{} depends on {key}", rule.name());
        }
    }
}

#[test]
fn soaps_statistics_have_the_decay_rate_of_its_squares_unless_they_have_their_own() {
    let soap = RuleSpec::on_plane(RuleKind::Soap).with("beta2", 0.8).unwrap();
    let columns = fig2a([3, 3]).columns;
    let losses = |beta| final_losses([soap, soap.with("shampoo_beta", beta).unwrap()], &columns, 1);
    let [usual, same] = losses(0.8);
    assert_eq!(usual, same);
    let [usual, other] = losses(0.5);
    assert_ne!(usual, other);
}
