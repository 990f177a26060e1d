//! Cautious steps of every rule.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use valleyscope_engine::optimizer::{Batch, BiasCorrection, RuleKind, RuleSpec, StepInputs, trace};

/// Inputs that a rule may request of its batch.
#[derive(Clone, Copy)]
struct Given {
    elsewhere: [f64; 2],
    curvature: [f64; 2],
}

impl Batch<[f64; 2]> for Given {
    fn gradient_at(self, _theta: [f64; 2]) -> [f64; 2] {
        self.elsewhere
    }

    fn curvature(self) -> [f64; 2] {
        self.curvature
    }
}

/// The masked direction is d φ / max(mean φ, 0.001), where φ = 1 if d g > 0, else 0.
#[test]
fn every_rule_masks_its_direction() {
    let mut random = StdRng::seed_from_u64(12);
    for &kind in RuleKind::ALL {
        let mut seen = [0; 3];
        for _ in 0..200 {
            let plain = RuleSpec::on_plane(kind);
            let mut pair = |low: f64, high: f64| [0, 1].map(|_| random.random_range(low..high));
            let batch = Given { elsewhere: pair(-1.0, 1.0), curvature: pair(0.1, 1.0) };
            // Averages of squares, and statistics that are positive.
            let states = plain.info().state_keys().map(|key| match key {
                "s" | "h" | "diagonal" => pair(0.5, 1.0),
                "mixed" => [0.1; 2],
                "slow" | "m" | "lead" => pair(-1.0, 1.0),
                _ => pair(0.1, 0.4),
            });
            let states: Vec<[f64; 2]> = states.collect();
            let (theta, gradient) = (pair(-1.0, 1.0), pair(-1.0, 1.0));
            let steps = |rule: RuleSpec| {
                let bias = BiasCorrection::new(7, &rule, |key| rule.get(key).map(|rate| rate.powi(7))).unwrap();
                StepInputs { rule, learning_rate: 0.1, bias, theta, gradient, states: states.clone() }
            };
            let plain_step = trace(&steps(plain), batch);
            let cautious_step = trace(&steps(plain.with("mask", 1.0).unwrap()), batch);
            let agrees = [0, 1].map(|axis| plain_step.direction[axis] * gradient[axis] > 0.0);
            let moved = agrees.iter().filter(|agrees| **agrees).count();
            seen[moved] += 1;
            let mean: f64 = moved as f64 / 2.0;
            for (axis, agrees) in agrees.into_iter().enumerate() {
                let expected = if agrees { plain_step.direction[axis] / mean } else { 0.0 };
                let found = cautious_step.direction[axis];
                let name = kind.info().name;
                assert!(
                    (found - expected).abs() <= 1e-12 * expected.abs(),
                    "{name}: {found} where {expected} is right"
                );
            }
            assert_eq!(cautious_step.states, plain_step.states, "{}: its memory", kind.info().name);
        }
        // The direction of some rules has the gradient's signs by its formula.
        assert!(seen[2] == 200 || seen[1] > 10 && seen[2] > 10, "{}: {seen:?}", kind.info().name);
    }
}
