//! The update rules against steps worked out by hand and against the oracle, one step at a time.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use valleyscope::optimizer::{Adam, AdamMemory, Clock, DecayTarget, Focus, FocusMemory, Move, Optimizer, Sgd, Signum};

use crate::oracle::{Coordinate, Law};

/// One coordinate with the library's optimizer, which may be changed between steps.
struct Run<O: Optimizer> {
    clock: Clock,
    theta: f64,
    memory: O::Memory<f64>,
}

impl<O: Optimizer> Run<O> {
    fn starting_at(theta: f64, rule: &O) -> Self {
        Run { clock: Clock::START, theta, memory: rule.fresh() }
    }

    /// Takes a step; returns its direction.
    fn step(&mut self, rule: &O, gradient: f64) -> f64 {
        self.clock = rule.tick(self.clock);
        let (memory, Move { theta, direction }) =
            O::step(&rule.factors(&self.clock), self.theta, gradient, self.memory);
        (self.theta, self.memory) = (theta, memory);
        direction
    }
}

#[track_caller]
fn assert_close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 4.0 * f64::EPSILON * expected.abs(), "{found} where {expected} is right");
}

#[test]
fn adam_by_hand() {
    let rule = Adam { learning_rate: 0.1, beta1: 0.5, beta2: 0.75, weight_decay: 0.5 };
    let mut run = Run::starting_at(2.0, &rule);
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
    let rule = Adam { beta1: 0.25, beta2: 2.0 / 3.0, ..rule };
    assert_close(run.step(&rule, 4.0), 0.733_333_331_5);
    assert_close(run.theta, 1.582_833_333_663_125);
    assert_close(run.memory.m, 2.75);
    assert_close(run.memory.s, 10.0);
}

#[test]
fn signum_by_hand() {
    let rule = Signum { learning_rate: 0.25, beta1: 0.5, weight_decay: 0.5 };
    let mut run = Run::starting_at(1.0, &rule);
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
    let rule = Signum { beta1: 0.25, ..rule };
    assert_eq!(run.step(&rule, -1.0), -1.0);
    assert_eq!(run.theta, 0.784_912_109_375);
}

#[test]
fn sgd_by_hand() {
    let rule = Sgd { learning_rate: 0.25, beta1: 0.5, weight_decay: 0.5 };
    let mut run = Run::starting_at(1.0, &rule);
    // m = 2: θ = 1 − 0.25 (2 + 0.5)
    assert_eq!(run.step(&rule, 2.0), 2.0);
    assert_eq!(run.theta, 0.375);
    // m = 1 − 3 = −2: θ = 0.375 − 0.25 (−2 + 0.1875)
    assert_eq!(run.step(&rule, -3.0), -2.0);
    assert_eq!(run.theta, 0.828_125);
    // β₁ = 0.25: m = −0.5 + 1 = 0.5; θ = 0.828125 − 0.25 (0.5 + 0.4140625)
    let rule = Sgd { beta1: 0.25, ..rule };
    assert_eq!(run.step(&rule, 1.0), 0.5);
    assert_eq!(run.theta, 0.599_609_375);
}

const FOCUS: Focus = Focus {
    learning_rate: 0.25,
    beta1: 0.5,
    beta2: 0.5,
    gamma: 0.25,
    weight_decay: 0.5,
    decay: DecayTarget::Parameters,
};

#[test]
fn focus_with_decay_of_the_parameters_by_hand() {
    let mut run = Run::starting_at(2.0, &FOCUS);
    // θ̄ = 0.5·2 = 1, θ̂ = 1/0.5 = 2 = θ: no pull. m = 0.5: θ = 2 − 0.25 (1 + 0.5·2)
    assert_eq!(run.step(&FOCUS, 1.0), 1.0);
    assert_eq!(run.theta, 1.5);
    // θ̄ = 0.5·1 + 0.5·1.5 = 1.25, θ̂ = 1.25/0.75 = 5/3 > θ. m = 0.75: d = 1 − 0.25
    // θ = 1.5 − 0.25 (0.75 + 0.75)
    assert_eq!(run.step(&FOCUS, 1.0), 0.75);
    assert_close(run.memory.average, 5.0 / 3.0);
    assert_close(run.theta, 1.125);
    // β₂ = 0.75: θ̄ = 0.75·1.25 + 0.25·1.125 = 1.21875, θ̂ = 1.21875/(1 − 0.25·0.75) = 1.5 > θ.
    // m = 0.375 − 2.5: d = −1 − 0.25; θ = 1.125 − 0.25 (−1.25 + 0.5625)
    let rule = Focus { beta2: 0.75, ..FOCUS };
    assert_eq!(run.step(&rule, -5.0), -1.25);
    assert_close(run.memory.average, 1.5);
    assert_close(run.theta, 1.296_875);
}

#[test]
fn focus_with_decay_of_the_average_by_hand() {
    let rule = Focus { decay: DecayTarget::Average, ..FOCUS };
    let mut run = Run::starting_at(2.0, &rule);
    // θ̂ = θ: as with decay of the parameters.
    assert_eq!(run.step(&rule, 1.0), 1.0);
    assert_eq!(run.theta, 1.5);
    // θ̂ = 5/3: θ = 1.5 − 0.25·0.75 − 0.25·0.5·(5/3) = 53/48
    assert_eq!(run.step(&rule, 1.0), 0.75);
    assert_close(run.theta, 53.0 / 48.0);
    // β₂ = 0.75: θ̄ = 0.75·1.25 + 0.25·53/48 = 233/192, θ̂ = (233/192)/(13/16) = 233/156 > θ.
    // d = −1.25: θ = 53/48 + 0.25·1.25 − 0.25·0.5·233/156 = 1535/1248
    let rule = Focus { beta2: 0.75, ..rule };
    assert_eq!(run.step(&rule, -5.0), -1.25);
    assert_close(run.memory.average, 233.0 / 156.0);
    assert_close(run.theta, 1535.0 / 1248.0);
}

#[test]
fn focus_with_repulsion_by_hand() {
    let rule = Focus { gamma: -0.25, ..FOCUS };
    let mut run = Run::starting_at(2.0, &rule);
    assert_eq!(run.step(&rule, 1.0), 1.0);
    // θ = 1.5 is below θ̂ = 5/3, and now driven further down: d = 1 + 0.25; θ = 1.5 − 0.25 (1.25 + 0.75)
    assert_eq!(run.step(&rule, 1.0), 1.25);
    assert_close(run.theta, 1.0);
}

#[test]
fn focus_without_attraction_and_memory_is_signum() {
    let mut random = StdRng::seed_from_u64(2);
    let signum = Signum { learning_rate: 0.03, beta1: 0.9, weight_decay: 0.1 };
    for (gamma, beta2) in [(0.0, 0.0), (0.0, 0.9), (0.7, 0.0)] {
        let focus =
            Focus { learning_rate: 0.03, beta1: 0.9, beta2, gamma, weight_decay: 0.1, decay: DecayTarget::Parameters };
        let (mut with_signum, mut with_focus) = (Run::starting_at(0.3, &signum), Run::starting_at(0.3, &focus));
        for _ in 0..500 {
            let gradient = random.random_range(-1.0..1.0);
            assert_eq!(with_signum.step(&signum, gradient), with_focus.step(&focus, gradient));
            assert_eq!(with_signum.theta, with_focus.theta);
        }
    }
}

/// Dividing by 1 − β₂ᵗ would round, and the sign turn the rounding into steps of ±γη.
#[test]
fn a_parameter_that_has_not_moved_is_not_pulled() {
    let mut random = StdRng::seed_from_u64(3);
    for decay in [DecayTarget::Parameters, DecayTarget::Average] {
        for _ in 0..100 {
            let theta = random.random_range(-3.0..3.0);
            let rule = Focus { beta2: random.random_range(0.0..0.999), weight_decay: 0.0, decay, ..FOCUS };
            let mut run = Run::starting_at(theta, &rule);
            for _ in 0..200 {
                assert_eq!(run.step(&rule, 0.0), 0.0);
                assert_eq!(run.theta, theta);
            }
        }
    }
}

#[test]
fn a_gradient_that_is_not_a_number_shows() {
    fn check<O: Optimizer>(rule: &O) {
        let mut run = Run::starting_at(1.0, rule);
        run.step(rule, 1.0);
        assert!(run.step(rule, f64::NAN).is_nan());
        assert!(run.theta.is_nan());
        run.step(rule, 1.0);
        assert!(run.theta.is_nan(), "a diverged parameter does not come back");
    }
    check(&Adam { learning_rate: 0.1, beta1: 0.9, beta2: 0.999, weight_decay: 0.1 });
    check(&Signum { learning_rate: 0.1, beta1: 0.9, weight_decay: 0.1 });
    check(&FOCUS);
    check(&Focus { decay: DecayTarget::Average, ..FOCUS });
    check(&Sgd { learning_rate: 0.1, beta1: 0.9, weight_decay: 0.1 });
}

#[test]
fn the_first_step_of_adam_has_the_size_of_the_learning_rate() {
    let rule = Adam { learning_rate: 0.1, beta1: 0.9, beta2: 0.999, weight_decay: 0.0 };
    for gradient in [1e-3, -0.5, 7e5] {
        let direction = Run::starting_at(0.0, &rule).step(&rule, gradient);
        assert!((direction - gradient.signum()).abs() < 2e-5, "{direction} for a gradient of {gradient}");
    }
    // ε keeps a step without any gradient finite.
    assert_eq!(Run::starting_at(0.0, &rule).step(&rule, 0.0), 0.0);
}

#[test]
fn the_clock_multiplies_the_decay_rates() {
    let adam = Adam { learning_rate: 0.1, beta1: 0.5, beta2: 0.75, weight_decay: 0.0 };
    let clock = adam.tick(adam.tick(Clock::START));
    assert_eq!(clock, Clock { steps: 2, beta1_power: 0.25, beta2_power: 0.5625 });
    let clock = Adam { beta1: 0.0, beta2: 0.5, ..adam }.tick(clock);
    assert_eq!(clock, Clock { steps: 3, beta1_power: 0.0, beta2_power: 0.281_25 });
    assert_eq!(FOCUS.tick(Clock::START), Clock { steps: 1, beta1_power: 0.5, beta2_power: 0.5 });
}

/// A state in which a coordinate may find itself.
#[derive(Clone, Copy, Debug)]
struct State {
    clock: Clock,
    theta: f64,
    gradient: f64,
    m: f64,
    /// Adam's s, FOCUS's θ̂.
    second: f64,
}

/// What one step makes of it.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    theta: f64,
    direction: f64,
    m: f64,
    second: f64,
}

fn by_library(law: Law, state: State) -> Outcome {
    fn step<O: Optimizer>(rule: &O, state: State, memory: O::Memory<f64>) -> (O::Memory<f64>, Move<f64>) {
        O::step(&rule.factors(&rule.tick(state.clock)), state.theta, state.gradient, memory)
    }
    let outcome =
        |m: f64, second: f64, moved: Move<f64>| Outcome { theta: moved.theta, direction: moved.direction, m, second };
    match law {
        Law::Adam { eta, beta1, beta2, omega } => {
            let rule = Adam { learning_rate: eta, beta1, beta2, weight_decay: omega };
            let (memory, moved) = step(&rule, state, AdamMemory { m: state.m, s: state.second });
            outcome(memory.m, memory.s, moved)
        }
        Law::Signum { eta, beta1, omega } => {
            let (m, moved) = step(&Signum { learning_rate: eta, beta1, weight_decay: omega }, state, state.m);
            outcome(m, 0.0, moved)
        }
        Law::Sgd { eta, beta1, omega } => {
            let (m, moved) = step(&Sgd { learning_rate: eta, beta1, weight_decay: omega }, state, state.m);
            outcome(m, 0.0, moved)
        }
        Law::Focus { eta, beta1, beta2, gamma, omega, decays_average } => {
            let decay = if decays_average { DecayTarget::Average } else { DecayTarget::Parameters };
            let rule = Focus { learning_rate: eta, beta1, beta2, gamma, weight_decay: omega, decay };
            let (memory, moved) = step(&rule, state, FocusMemory { m: state.m, average: state.second });
            outcome(memory.m, memory.average, moved)
        }
    }
}

fn by_oracle(law: Law, state: State) -> Outcome {
    let mut coordinate = Coordinate {
        theta: state.theta,
        m: state.m,
        s: state.second,
        log_beta1_product: state.clock.beta1_power.ln(),
        log_beta2_product: state.clock.beta2_power.ln(),
        // All that was averaged before, as one lump.
        past: vec![(1.0 - state.clock.beta2_power, state.second)],
    };
    let direction = coordinate.step(law, state.gradient, None);
    let second = match law {
        Law::Adam { .. } => coordinate.s,
        Law::Focus { .. } => coordinate.average(None),
        Law::Signum { .. } | Law::Sgd { .. } => 0.0,
    };
    Outcome { theta: coordinate.theta, direction, m: coordinate.m, second }
}

/// Each rule with random hyperparameters.
fn random_laws(random: &mut StdRng) -> [Law; 6] {
    let eta = 10_f64.powf(random.random_range(-4.0..0.0));
    let beta1 = random.random_range(0.0..0.99);
    let beta2 = 1.0 - 10_f64.powf(random.random_range(-3.0..0.0));
    let omega = random.random_range(0.0..0.5);
    let gamma = random.random_range(0.0..1.0);
    let focus = Law::Focus { eta, beta1, beta2, gamma, omega, decays_average: false };
    [
        Law::Adam { eta, beta1, beta2, omega },
        Law::Signum { eta, beta1, omega },
        Law::Sgd { eta, beta1, omega },
        focus,
        Law::Focus { eta, beta1, beta2, gamma, omega, decays_average: true },
        Law::Focus { eta, beta1, beta2, gamma: -gamma, omega, decays_average: false },
    ]
}

fn random_state(random: &mut StdRng, law: Law) -> State {
    let steps = 10_f64.powf(random.random_range(0.0..3.7)) as u64;
    let (beta1, beta2) = match law {
        Law::Adam { beta1, beta2, .. } | Law::Focus { beta1, beta2, .. } => (beta1, beta2),
        Law::Signum { beta1, .. } | Law::Sgd { beta1, .. } => (beta1, 0.0),
    };
    let gradient_scale = 10_f64.powf(random.random_range(-4.0..4.0));
    let theta = random.random_range(-3.0..3.0);
    let second = match law {
        Law::Focus { .. } => random.random_range(-3.0..3.0),
        _ => random.random_range(0.0..1.0) * gradient_scale * gradient_scale,
    };
    State {
        clock: Clock { steps, beta1_power: beta1.powf(steps as f64), beta2_power: beta2.powf(steps as f64) },
        theta,
        gradient: random.random_range(-1.0..1.0) * gradient_scale,
        m: random.random_range(-1.0..1.0) * gradient_scale,
        second,
    }
}

#[test]
fn one_step_from_a_thousand_states_agrees_with_the_oracle() {
    let mut random = StdRng::seed_from_u64(4);
    for _ in 0..1000 {
        for law in random_laws(&mut random) {
            let state = random_state(&mut random, law);
            let (ours, theirs) = (by_library(law, state), by_oracle(law, state));
            // Relative to the largest term of each sum. The bias correction 1 − βᵗ loses what the
            // rounding of βᵗ, half an ε, is of it.
            let (eta, omega, conditioning) = match law {
                Law::Adam { eta, beta1, beta2, omega } => {
                    let gathered = (1.0 - state.clock.beta1_power * beta1, 1.0 - state.clock.beta2_power * beta2);
                    (eta, omega, 1.0 / gathered.0 + 1.0 / gathered.1)
                }
                Law::Focus { eta, beta2, omega, .. } => (eta, omega, 1.0 / (1.0 - state.clock.beta2_power * beta2)),
                Law::Signum { eta, omega, .. } | Law::Sgd { eta, omega, .. } => (eta, omega, 0.0),
            };
            let relative = 1e-14 + 0.5 * f64::EPSILON * conditioning;
            let decayed = state.theta.abs().max(theirs.second.abs() * f64::from(matches!(law, Law::Focus { .. })));
            let check = |name: &str, ours: f64, theirs: f64, scale: f64| {
                assert!(
                    (ours - theirs).abs() <= relative * scale,
                    "{name} {ours:e} against {theirs:e} for {law:?} from {state:?}"
                );
            };
            check("θ", ours.theta, theirs.theta, state.theta.abs() + eta * (theirs.direction.abs() + omega * decayed));
            let momentum = state.m.abs().max(state.gradient.abs());
            let direction_scale = match law {
                Law::Adam { .. } => theirs.direction.abs() * (momentum / theirs.m.abs()).max(1.0),
                Law::Sgd { .. } => momentum,
                Law::Signum { .. } | Law::Focus { .. } => 0.0,
            };
            check("direction", ours.direction, theirs.direction, direction_scale);
            check("m", ours.m, theirs.m, momentum);
            check("second", ours.second, theirs.second, theirs.second.abs() + decayed);
        }
    }
}
