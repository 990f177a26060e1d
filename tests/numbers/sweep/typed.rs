//! Rules that are typed, and cautious steps, in sweeps: with the same noise a built-in rule and its text give the same
//! runs.

use valleyscope_engine::optimizer::program::text_of;
use valleyscope_engine::optimizer::{RuleKind, RuleSpec, TypedRule};
use valleyscope_engine::quantity::{Dimension, Replicates, StepCount};
use valleyscope_engine::sweep::{Axis, Precision, Quantity, Spacing, SweepSpec};

use super::specs::{count, fig2a, only, optimizer, runs};

fn typed(name: &str, text: &str) -> RuleSpec {
    RuleSpec::on_plane(RuleKind::Typed(TypedRule::new(name, text).unwrap()))
}

/// Returns a sweep of two optimizers with the same noise, over more steps than a block of noise.
fn spec(rules: [RuleSpec; 2], dimension: u64) -> SweepSpec {
    let optimizers = (0..).zip(rules).map(|(id, rule)| {
        let mut optimizer = optimizer(id, rule);
        optimizer.learning_rates = only(0.005);
        optimizer
    });
    SweepSpec {
        dimension: Dimension::clamped(dimension),
        steps: StepCount::clamped(77),
        replicates: Replicates::clamped(9),
        common_random_numbers: true,
        optimizers: optimizers.collect(),
        ..fig2a([3, 3])
    }
}

/// Returns whether both give the same metrics.
fn agree(rules: [RuleSpec; 2], dimension: u64) -> bool {
    let spec = spec(rules, dimension);
    let [built_in, text] = <[_; 2]>::try_from(runs(Precision::Double, &spec, [1, 1], 0..9)).unwrap();
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(1e-3);
    built_in.metrics.iter().zip(&text.metrics).all(|(a, b)| {
        assert!(a.final_loss.is_finite(), "{} diverged in {dimension} dimensions", rules[0].name());
        close(a.final_loss, b.final_loss) && close(a.smallest_loss, b.smallest_loss) && close(a.depth, b.depth)
    })
}

#[test]
fn built_in_rules_and_their_texts_give_the_same_runs() {
    let mut compared = 0;
    for &kind in RuleKind::ALL {
        for mask in [0.0, 1.0] {
            let rule = RuleSpec::on_plane(kind).with("mask", mask).unwrap();
            let Ok(text) = text_of(&rule) else { continue };
            let typed = typed(&format!("{} in a sweep", rule.name()), &text);
            for dimension in [2, 5] {
                assert!(agree([rule, typed], dimension), "{} in {dimension} dimensions:\n{text}", rule.name());
            }
            compared += 1;
        }
    }
    assert!(compared >= 14, "{compared}");
}

/// A mask changes the runs of every rule, in two dimensions and in more.
#[test]
fn a_mask_changes_runs() {
    for kind in [RuleKind::Adam, RuleKind::Signum, RuleKind::Focus, RuleKind::Lion, RuleKind::Mars, RuleKind::Muon] {
        let rule = RuleSpec::on_plane(kind);
        for dimension in [2, 5] {
            assert!(!agree([rule, rule.with("mask", 1.0).unwrap()], dimension), "{}", rule.name());
        }
    }
}

/// A hyperparameter on an axis has the pixel's value, also in products over the steps.
#[test]
fn a_typed_hyperparameter_is_an_axis() {
    let adam = RuleSpec::on_plane(RuleKind::Adam);
    let text = text_of(&adam).unwrap().replace("beta2", "squares");
    let own = typed("Adam with an axis", &text);
    let axis =
        Axis { of: Quantity::Of("squares", vec![1]), from: 0.5, to: 0.99, count: count(3), spacing: Spacing::Linear };
    let spec = SweepSpec { columns: axis, ..spec([adam, own], 2) };
    for (column, beta2) in [0.5, 0.745, 0.99].into_iter().enumerate() {
        let fixed =
            SweepSpec { columns: fig2a([3, 3]).columns, ..self::spec([adam.with("beta2", beta2).unwrap(), adam], 2) };
        // All columns have the noise of the axis.
        let fixed = SweepSpec { columns: Axis { from: 1.0, to: 1.0 + 1e-12, ..fixed.columns }, ..fixed };
        let of =
            |spec: &SweepSpec, index: usize| runs(Precision::Double, spec, [1, column], 0..9)[index].metrics.clone();
        for (a, b) in of(&spec, 1).iter().zip(&of(&fixed, 0)) {
            assert!((a.final_loss - b.final_loss).abs() <= 1e-9, "{column}: {} {}", a.final_loss, b.final_loss);
        }
    }
}
