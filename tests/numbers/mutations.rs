//! Mutations of the oracle: the comparison notices every misreading of the paper, in exactly the rules that it affects.

use valleyscope_engine::optimizer::{RatedRule, RuleKind};

use crate::comparison::{Case, first_disagreement};
use crate::oracle::Misreading;
use crate::specs::{all_rules, simulation};

/// Returns a case of one rule and few steps. σ is neither 0 nor 1, where variance and deviation are equal.
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
fn every_misreading_is_detected() {
    for misreading in Misreading::ALL {
        for rule in all_rules(0.02) {
            let noticed = first_disagreement(Some(misreading), &reduced(rule));
            assert_eq!(noticed.is_some(), matters_to(misreading, &rule), "{misreading:?} with {rule:?}: {noticed:?}");
        }
    }
}
