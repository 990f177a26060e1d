//! Schedule-Free: weights of steps by their learning rates, and the places of gradients.

use valleyscope_engine::optimizer::{BiasCorrection, RuleKind, RuleSpec, ScheduleFree};
use valleyscope_engine::simulation::{Change, Setting};

use crate::comparison::{Case, first_disagreement};
use crate::specs::{noise, rated, rule, simulation};

fn schedule_free(learning_rate: f64, values: &[(&str, f64)]) -> valleyscope_engine::optimizer::RatedRule {
    rated(learning_rate, rule(RuleKind::ScheduleFree, values))
}

#[test]
fn a_changing_rate_is_weighted_as_in_the_oracle() {
    let set = |optimizer, rule| Setting::Rule { optimizer, rule };
    let more = [("warmup", 200.0), ("r", 1.0), ("weight_lr_power", 1.5), ("beta1", 0.5)];
    let changes = [
        (50, set(1, schedule_free(0.05, &[]))),
        (60, set(2, schedule_free(0.02, &more))),
        (150, set(1, schedule_free(0.002, &[("beta1", 0.5)]))),
        (300, set(2, schedule_free(0.001, &more))),
        (300, Setting::Noise(noise(0.3))),
        (500, set(1, schedule_free(0.08, &[("weight_lr_power", 1.0), ("r", 0.5)]))),
        (700, set(2, schedule_free(0.03, &[("warmup", 1000.0), ("weight_decay", 0.3)]))),
    ];
    let case = Case {
        name: "rates that change",
        spec: simulation(1.0, 3, &[schedule_free(0.01, &[]), schedule_free(0.01, &more)]),
        changes: changes.map(|(step, set)| Change { step, set }).to_vec(),
        steps: 1500,
    };
    assert!(first_disagreement(None, &case).is_none(), "{:?}", first_disagreement(None, &case));
}

/// Weights are squares of the largest rate so far; while they are 0, nothing is averaged.
#[test]
fn the_weights_of_steps_agree_with_hand_computed_ones() {
    let rule = RuleSpec::on_plane(RuleKind::ScheduleFree);
    let mut bias = BiasCorrection::START;
    for (rate, share) in [(0.0, 0.0), (0.0, 0.0), (1.0, 1.0), (2.0, 0.8), (0.5, 4.0 / 9.0), (3.0, 0.5)] {
        bias = bias.after::<ScheduleFree>(&rule, rate);
        let found = bias.elapsed::<ScheduleFree>(&rule).share;
        assert!((found - share).abs() < 1e-15, "step {}: {found} where {share} is right", bias.steps);
    }
    // t² and a warm-up: in step 2 of 4 the rate is a half.
    let rule = rule.with("r", 2.0).and_then(|rule| rule.with("warmup", 4.0)).unwrap();
    let first = BiasCorrection::START.after::<ScheduleFree>(&rule, 4.0);
    let second = first.after::<ScheduleFree>(&rule, 4.0).elapsed::<ScheduleFree>(&rule).share;
    assert_eq!((first.elapsed::<ScheduleFree>(&rule).share, second), (1.0, 16.0 / 17.0));
}

/// A common factor of all rates changes no share, so sweeps and stacks of models need no share for each rate.
#[test]
fn shares_depend_on_changes_of_the_rate_alone() {
    let rule = rule(RuleKind::ScheduleFree, &[("weight_lr_power", 1.7), ("r", 0.3)]);
    let mut both = [BiasCorrection::START; 2];
    for step in 1..200 {
        let rate = 0.01 + 0.005 * f64::from(step % 17);
        both = [both[0].after::<ScheduleFree>(&rule, rate), both[1].after::<ScheduleFree>(&rule, 37.0 * rate)];
        let [a, b] = both.map(|bias| bias.elapsed::<ScheduleFree>(&rule).share);
        assert!((a - b).abs() <= 1e-13 * a, "step {step}: {a} {b}");
    }
}
