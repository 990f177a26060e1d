//! Shows that the comparison with the oracle is worth something: it notices every wrong reading of the
//! paper, in every rule that the reading makes a difference to, and only there.

use valleyscope_engine::optimizer::{RatedRule, RuleKind};

use crate::comparison::{Case, first_disagreement};
use crate::oracle::Misreading;
use crate::specs::{all_rules, simulation};

/// One rule and few steps; σ is neither 0 nor 1, where variance and deviation are the same.
fn reduced(rule: RatedRule) -> Case {
    Case { name: "reduced", spec: simulation(2.0, 2, &[rule]), changes: Vec::new(), steps: 300 }
}

fn matters_to(misreading: Misreading, rule: &RatedRule) -> bool {
    match misreading {
        Misreading::NoiseBeforeRotatingBack
        | Misreading::OneDrawForBoth
        | Misreading::OtherRotation
        | Misreading::VarianceForDeviation => true,
        Misreading::AverageAfterStep | Misreading::OtherDecayTarget => rule.rule.kind() == RuleKind::Focus,
        Misreading::GradientAtAverage => rule.rule.kind() == RuleKind::ScheduleFree,
        Misreading::NoBiasCorrection => {
            [RuleKind::Adam, RuleKind::Focus, RuleKind::Mars, RuleKind::AdaBelief].contains(&rule.rule.kind())
        }
    }
}

#[test]
fn the_right_reading_agrees() {
    for rule in all_rules(0.02) {
        assert!(first_disagreement(None, &reduced(rule)).is_none());
    }
}

#[test]
fn every_misreading_is_noticed() {
    for misreading in Misreading::ALL {
        for rule in all_rules(0.02) {
            let noticed = first_disagreement(Some(misreading), &reduced(rule));
            assert_eq!(noticed.is_some(), matters_to(misreading, &rule), "{misreading:?} with {rule:?}: {noticed:?}");
        }
    }
}
