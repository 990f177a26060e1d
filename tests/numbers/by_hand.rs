//! The update rules against steps worked out by hand.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use valleyscope_engine::optimizer::{
    Adam, BiasCorrection, Focus, Lion, Mars, Moved, NoBatch, RatedRule, Rates, Rule, RuleInput, RuleKind, RuleSpec,
    RuleVisitor, Sgd, Signum, zero_state,
};

use crate::specs::{DecayTarget, adam, focus, lion, mars, rated, sgd, signum};

/// One coordinate with the library's rule `R`, whose hyperparameters may be changed between steps.
struct Run<R: Rule> {
    bias: BiasCorrection,
    theta: f64,
    state: R::State<f64>,
}

impl<R: Rule> Run<R> {
    fn starting_at(theta: f64) -> Self {
        Run { bias: BiasCorrection::START, theta, state: zero_state::<R, f64>() }
    }

    /// Takes a step; returns its direction.
    fn step(&mut self, rule: &RatedRule, gradient: f64) -> f64 {
        self.bias = self.bias.after::<R>(&rule.rule, rule.learning_rate.get());
        let (state, Moved { theta, direction }) = step::<R>(rule, &self.bias, self.theta, gradient, self.state);
        (self.theta, self.state) = (theta, state);
        direction
    }

    fn state(&self, index: usize) -> f64 {
        self.state.as_ref()[index]
    }
}

fn step<R: Rule>(
    rule: &RatedRule,
    bias: &BiasCorrection,
    theta: f64,
    gradient: f64,
    state: R::State<f64>,
) -> (R::State<f64>, Moved<f64>) {
    let rates = Rates {
        learning_rate: rule.learning_rate.get(),
        weight_decay: rule.rule.weight_decay(),
        is_cautious: rule.rule.is_cautious(),
    };
    R::step(&bias.coefficients::<R, f64>(&rule.rule), rates, RuleInput { theta, gradient, batch: NoBatch }, state)
}

#[track_caller]
fn assert_close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 4.0 * f64::EPSILON * expected.abs(), "{found} where {expected} is right");
}

#[test]
fn adam_by_hand() {
    let rule = adam(0.1, 0.5, 0.75, 0.5);
    let mut run = Run::<Adam>::starting_at(2.0);
    // m = 2, m̂ = 2/0.5 = 4; s = 0.25·16 = 4, ŝ = 4/0.25 = 16; d = 4/(4 + 1e-8) = 1 − 2.5e-9
    // θ = 2 − 0.1 (0.9999999975 + 0.5·2)
    assert_close(run.step(&rule, 4.0), 0.999_999_997_5);
    assert_close(run.theta, 1.800_000_000_25);
    // m = 0.5·2 − 0.5·4 = −1, m̂ = −1/0.75; s = 0.75·4 + 0.25·16 = 7, ŝ = 7/(1 − 0.5625) = 16
    // d = −(1/3)(1 − 2.5e-9); θ = 1.80000000025 − 0.1 (−0.3333333325 + 0.900000000125)
    assert_close(run.step(&rule, -4.0), -0.333_333_332_5);
    assert_close(run.theta, 1.743_333_333_487_5);
    // β₁ and β₂ change: the averages have gathered 1 − 0.5·0.5·0.25 = 15/16 and 1 − 0.75·0.75·(2/3) = 5/8.
    // m = −0.25 + 0.75·4 = 11/4, m̂ = 44/15; s = (2/3)·7 + (1/3)·16 = 10, ŝ = 16
    // d = (11/15)(1 − 2.5e-9); θ = 1.7433333334875 − 0.1 (0.7333333315 + 0.87166666674375)
    let rule = adam(0.1, 0.25, 2.0 / 3.0, 0.5);
    assert_close(run.step(&rule, 4.0), 0.733_333_331_5);
    assert_close(run.theta, 1.582_833_333_663_125);
    assert_close(run.state(0), 2.75);
    assert_close(run.state(1), 10.0);
}

#[test]
fn signum_by_hand() {
    let rule = signum(0.25, 0.5, 0.5);
    let mut run = Run::<Signum>::starting_at(1.0);
    // m = −1: θ = 1 − 0.25 (−1 + 0.5·1)
    assert_eq!(run.step(&rule, -2.0), -1.0);
    assert_eq!(run.theta, 1.125);
    // m = −0.5 + 0.5 = 0, so there is only decay: θ = 1.125 − 0.25·0.5625
    assert_eq!(run.step(&rule, 1.0), 0.0);
    assert_eq!(run.theta, 0.984_375);
    // m = 1.5: θ = 0.984375 − 0.25 (1 + 0.4921875)
    assert_eq!(run.step(&rule, 3.0), 1.0);
    assert_eq!(run.theta, 0.611_328_125);
    // β₁ = 0.25: m = 0.375 − 0.75·1 = −0.375, where β₁ = 0.5 would give +0.25.
    // θ = 0.611328125 − 0.25 (−1 + 0.3056640625)
    let rule = signum(0.25, 0.25, 0.5);
    assert_eq!(run.step(&rule, -1.0), -1.0);
    assert_eq!(run.theta, 0.784_912_109_375);
}

#[test]
fn sgd_by_hand() {
    let rule = sgd(0.25, 0.5, 0.5);
    let mut run = Run::<Sgd>::starting_at(1.0);
    // m = 2: θ = 1 − 0.25 (2 + 0.5)
    assert_eq!(run.step(&rule, 2.0), 2.0);
    assert_eq!(run.theta, 0.375);
    // m = 1 − 3 = −2: θ = 0.375 − 0.25 (−2 + 0.1875)
    assert_eq!(run.step(&rule, -3.0), -2.0);
    assert_eq!(run.theta, 0.828_125);
    // β₁ = 0.25: m = −0.5 + 1 = 0.5; θ = 0.828125 − 0.25 (0.5 + 0.4140625)
    let rule = sgd(0.25, 0.25, 0.5);
    assert_eq!(run.step(&rule, 1.0), 0.5);
    assert_eq!(run.theta, 0.599_609_375);
}

/// FOCUS with η = 0.25, β₁ = 0.5 and ω = 0.5.
fn toy_focus(beta2: f64, gamma: f64, decay: DecayTarget) -> RatedRule {
    focus(0.25, [0.5, beta2], gamma, 0.5, decay)
}

#[test]
fn focus_with_decay_of_the_parameters_by_hand() {
    let rule = toy_focus(0.5, 0.25, DecayTarget::Parameters);
    let mut run = Run::<Focus>::starting_at(2.0);
    // θ̄ = 0.5·2 = 1, θ̂ = 1/0.5 = 2 = θ: no pull. m = 0.5: θ = 2 − 0.25 (1 + 0.5·2)
    assert_eq!(run.step(&rule, 1.0), 1.0);
    assert_eq!(run.theta, 1.5);
    // θ̄ = 0.5·1 + 0.5·1.5 = 1.25, θ̂ = 1.25/0.75 = 5/3 > θ. m = 0.75: d = 1 − 0.25
    // θ = 1.5 − 0.25 (0.75 + 0.75)
    assert_eq!(run.step(&rule, 1.0), 0.75);
    assert_close(run.state(1), 5.0 / 3.0);
    assert_close(run.theta, 1.125);
    // β₂ = 0.75: θ̄ = 0.75·1.25 + 0.25·1.125 = 1.21875, θ̂ = 1.21875/(1 − 0.25·0.75) = 1.5 > θ.
    // m = 0.375 − 2.5: d = −1 − 0.25; θ = 1.125 − 0.25 (−1.25 + 0.5625)
    let rule = toy_focus(0.75, 0.25, DecayTarget::Parameters);
    assert_eq!(run.step(&rule, -5.0), -1.25);
    assert_close(run.state(1), 1.5);
    assert_close(run.theta, 1.296_875);
}

#[test]
fn focus_with_decay_of_the_average_by_hand() {
    let rule = toy_focus(0.5, 0.25, DecayTarget::Average);
    let mut run = Run::<Focus>::starting_at(2.0);
    // θ̂ = θ: as with decay of the parameters.
    assert_eq!(run.step(&rule, 1.0), 1.0);
    assert_eq!(run.theta, 1.5);
    // θ̂ = 5/3: θ = 1.5 − 0.25·0.75 − 0.25·0.5·(5/3) = 53/48
    assert_eq!(run.step(&rule, 1.0), 0.75);
    assert_close(run.theta, 53.0 / 48.0);
    // β₂ = 0.75: θ̄ = 0.75·1.25 + 0.25·53/48 = 233/192, θ̂ = (233/192)/(13/16) = 233/156 > θ.
    // d = −1.25: θ = 53/48 + 0.25·1.25 − 0.25·0.5·233/156 = 1535/1248
    let rule = toy_focus(0.75, 0.25, DecayTarget::Average);
    assert_eq!(run.step(&rule, -5.0), -1.25);
    assert_close(run.state(1), 233.0 / 156.0);
    assert_close(run.theta, 1535.0 / 1248.0);
}

#[test]
fn focus_with_repulsion_by_hand() {
    let rule = toy_focus(0.5, -0.25, DecayTarget::Parameters);
    let mut run = Run::<Focus>::starting_at(2.0);
    assert_eq!(run.step(&rule, 1.0), 1.0);
    // θ = 1.5 is below θ̂ = 5/3, and now driven further down: d = 1 + 0.25; θ = 1.5 − 0.25 (1.25 + 0.75)
    assert_eq!(run.step(&rule, 1.0), 1.25);
    assert_close(run.theta, 1.0);
}

#[test]
fn focus_without_attraction_and_memory_is_signum() {
    let mut random = StdRng::seed_from_u64(2);
    let signum = signum(0.03, 0.9, 0.1);
    for (gamma, beta2) in [(0.0, 0.0), (0.0, 0.9), (0.7, 0.0)] {
        let focus = focus(0.03, [0.9, beta2], gamma, 0.1, DecayTarget::Parameters);
        let (mut with_signum, mut with_focus) = (Run::<Signum>::starting_at(0.3), Run::<Focus>::starting_at(0.3));
        for _ in 0..500 {
            let gradient = random.random_range(-1.0..1.0);
            assert_eq!(with_signum.step(&signum, gradient), with_focus.step(&focus, gradient));
            assert_eq!(with_signum.theta, with_focus.theta);
        }
    }
}

/// Dividing by 1 − β₂ᵗ would round, and the sign would turn the rounding into steps of ±γη.
#[test]
fn a_parameter_that_has_not_moved_is_not_pulled() {
    let mut random = StdRng::seed_from_u64(3);
    for decay in [DecayTarget::Parameters, DecayTarget::Average] {
        for _ in 0..100 {
            let theta = random.random_range(-3.0..3.0);
            let rule = focus(0.25, [0.5, random.random_range(0.0..0.999)], 0.25, 0.0, decay);
            let mut run = Run::<Focus>::starting_at(theta);
            for _ in 0..200 {
                assert_eq!(run.step(&rule, 0.0), 0.0);
                assert_eq!(run.theta, theta);
            }
        }
    }
}

#[test]
fn a_nan_gradient_is_not_hidden() {
    struct Check(RatedRule);

    impl RuleVisitor for Check {
        type Output = ();

        fn visit<R: Rule>(self) {
            let Check(rule) = self;
            let mut run = Run::<R>::starting_at(1.0);
            run.step(&rule, 1.0);
            assert!(run.step(&rule, f64::NAN).is_nan());
            assert!(run.theta.is_nan());
            run.step(&rule, 1.0);
            assert!(run.theta.is_nan(), "a diverged parameter does not come back");
        }
    }
    let rules = RuleKind::ALL.iter().map(|&kind| rated(0.1, RuleSpec::on_plane(kind)));
    for rule in rules.chain([toy_focus(0.5, 0.25, DecayTarget::Average)]) {
        rule.rule.kind().visit(Check(rule));
    }
}

#[test]
fn the_first_step_of_adam_has_the_size_of_the_learning_rate() {
    let rule = adam(0.1, 0.9, 0.999, 0.0);
    for gradient in [1e-3, -0.5, 7e5] {
        let direction = Run::<Adam>::starting_at(0.0).step(&rule, gradient);
        assert!((direction - gradient.signum()).abs() < 2e-5, "{direction} for a gradient of {gradient}");
    }
    // ε keeps a step without any gradient finite.
    assert_eq!(Run::<Adam>::starting_at(0.0).step(&rule, 0.0), 0.0);
}

#[test]
fn the_bias_correction_multiplies_the_decay_rates() {
    let powers = |bias: &BiasCorrection, rule: &RatedRule| bias.powers(&rule.rule).collect::<Vec<_>>();
    let fast = adam(0.1, 0.5, 0.75, 0.0);
    let bias = BiasCorrection::START.after::<Adam>(&fast.rule, 0.1).after::<Adam>(&fast.rule, 0.1);
    assert_eq!((bias.steps, powers(&bias, &fast)), (2, vec![("beta1", 0.25), ("beta2", 0.5625)]));
    let bias = bias.after::<Adam>(&adam(0.1, 0.0, 0.5, 0.0).rule, 0.1);
    assert_eq!((bias.steps, powers(&bias, &fast)), (3, vec![("beta1", 0.0), ("beta2", 0.281_25)]));
    let focus = toy_focus(0.5, 0.25, DecayTarget::Parameters);
    let bias = BiasCorrection::START.after::<Focus>(&focus.rule, 0.1);
    assert_eq!((bias.steps, powers(&bias, &focus)), (1, vec![("beta1", 0.5), ("beta2", 0.5)]));
}

#[test]
fn lion_by_hand() {
    let rule = lion(0.25, 0.5, 0.75, 0.5);
    let mut run = Run::<Lion>::starting_at(1.0);
    // c = 0.5·(−2) = −1: θ = 1 − 0.25 (−1 + 0.5·1); m = 0.25·(−2)
    assert_eq!(run.step(&rule, -2.0), -1.0);
    assert_eq!((run.theta, run.state(0)), (1.125, -0.5));
    // c = −0.25 + 0.5: the new gradient outweighs the momentum, which stays negative.
    // θ = 1.125 − 0.25 (1 + 0.5625); m = −0.375 + 0.25
    assert_eq!(run.step(&rule, 1.0), 1.0);
    assert_eq!((run.theta, run.state(0)), (0.734_375, -0.125));
}

#[test]
fn mars_by_hand() {
    let rule = mars(0.1, 0.5, 0.75, 0.5, 0.5);
    let mut run = Run::<Mars>::starting_at(2.0);
    // c = 0.25 + 0.5·(0.5/0.5)·0.25 = 0.375, shorter than 1: m̂ = 0.375, ŝ = 0.375², d = 1 but for ε.
    assert!((run.step(&rule, 0.25) - 1.0).abs() < 1e-7);
    assert_eq!((run.state(0), run.state(1), run.state(2)), (0.1875, 0.035_156_25, 0.25));
    // c = 4 + 0.5·3.75 = 5.875, brought to length 1: m = 0.09375 + 0.5, s = 0.75·0.03515625 + 0.25.
    run.step(&rule, 4.0);
    assert_eq!((run.state(0), run.state(1), run.state(2)), (0.593_75, 0.276_367_187_5, 4.0));
}
