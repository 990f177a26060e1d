//! Learning rates that change over a run, and the weights that Schedule-Free gives to steps.

use std::f64::consts::PI;

use valleyscope_engine::optimizer::{BiasCorrection, Decay, RatedRule, RuleKind, RuleSpec, Schedule, ScheduleFree};
use valleyscope_engine::quantity::{DecaySteps, FinalShare, WarmupSteps};
use valleyscope_engine::simulation::{Change, ParticleId, Setting, Simulation, SimulationSpec};

use crate::specs::{all_rules, noise, rated, rule, sgd, simulation, start, valley};
use crate::trajectories::{Case, first_disagreement};

pub fn schedule(warmup: u64, decay: Decay) -> Schedule {
    Schedule { warmup: WarmupSteps::new(warmup).unwrap(), decay }
}

pub fn cosine(to: f64, steps: Option<u64>) -> Decay {
    Decay::Cosine { to: FinalShare::new(to).unwrap(), steps: steps.map(DecaySteps::clamped) }
}

/// Returns the factor of the learning rate in step t of a run.
pub fn expected_factor(schedule: &Schedule, t: u64, run: Option<u64>) -> f64 {
    let warmup = schedule.warmup.get() as f64;
    let taken = t as f64 - 1.0;
    if taken < warmup {
        return (taken + 1.0) / warmup;
    }
    match schedule.decay {
        Decay::Constant => 1.0,
        Decay::InverseRoot => warmup.max(1.0).sqrt() * (taken + 1.0).powf(-0.5),
        Decay::Cosine { to, steps } => {
            let Some(steps) = steps.map(|steps| steps.get() as u64).or(run) else { return 1.0 };
            let past = if t > steps { 1.0 } else { (taken - warmup) / (steps as f64 - warmup) };
            to.get() + (1.0 - to.get()) * (0.5 * PI * past).cos().powi(2)
        }
    }
}

#[test]
fn the_factors_of_short_runs_agree_with_hand_computed_ones() {
    let root = 0.5_f64.sqrt();
    let cases: [(Schedule, &[f64]); 8] = [
        (schedule(0, Decay::Constant), &[1.0, 1.0, 1.0, 1.0]),
        (schedule(4, Decay::Constant), &[0.25, 0.5, 0.75, 1.0, 1.0, 1.0]),
        (schedule(0, Decay::InverseRoot), &[1.0, root, 3_f64.sqrt().recip(), 0.5]),
        (schedule(2, Decay::InverseRoot), &[0.5, 1.0, (2.0_f64 / 3.0).sqrt(), root]),
        (schedule(0, cosine(0.0, Some(4))), &[1.0, 0.5 + 0.5 * root, 0.5, 0.5 - 0.5 * root, 0.0, 0.0]),
        (schedule(2, cosine(0.5, Some(4))), &[0.5, 1.0, 1.0, 0.75, 0.5, 0.5]),
        // The warm-up is longer than the decay lasts.
        (schedule(4, cosine(0.25, Some(2))), &[0.25, 0.5, 0.75, 1.0, 0.25, 0.25]),
        // This run has no end.
        (schedule(2, cosine(0.25, None)), &[0.5, 1.0, 1.0, 1.0]),
    ];
    for (schedule, expected) in cases {
        for (t, expected) in (1..).zip(expected) {
            let found = schedule.factor(t);
            assert!((found - expected).abs() < 1e-15, "{schedule:?}, step {t}: {found} where {expected} is right");
        }
    }
}

#[test]
fn the_factors_agree_with_the_formula() {
    for warmup in [0, 1, 7, 100, 5000] {
        for decay in [Decay::Constant, Decay::InverseRoot, cosine(0.1, None), cosine(0.0, Some(300))] {
            let schedule = schedule(warmup, decay);
            for run in [None, Some(1), Some(100), Some(1000)] {
                for t in 1..1200 {
                    let (found, expected) = (schedule.over(run).factor(t), expected_factor(&schedule, t, run));
                    assert!((found - expected).abs() < 1e-14, "{schedule:?} of {run:?}, step {t}: {found}, {expected}");
                }
            }
        }
    }
}

/// Gradient descent along the floor of a valley, where each step adds the learning rate times the slope.
#[test]
fn a_run_adds_up_its_learning_rates() {
    let rule = RatedRule { schedule: schedule(10, cosine(0.2, None)), ..sgd(0.1, 0.0, 0.0) };
    let spec = SimulationSpec {
        landscape: valley(1.0, 0.5, 0.0),
        start: start(0.0, 0.0, 0.0),
        steps: Some(50),
        ..simulation(0.0, 1, &[rule])
    };
    let mut simulation = Simulation::new(spec);
    let mut sum = 0.0;
    for t in 1..=60 {
        simulation.advance();
        sum += 0.5 * 0.1 * expected_factor(&rule.schedule, t, Some(50));
        let [x, _] = simulation.ensembles()[0].position(0);
        assert!((x - sum).abs() < 1e-13, "step {t}: {x} where {sum} is right");
    }
}

/// All rules agree with the oracle under a warm-up, a decay, and changes of the schedule and of the run's length.
#[test]
fn every_rule_with_a_schedule_agrees_with_the_oracle() {
    let schedules = [schedule(50, cosine(0.1, None)), schedule(0, Decay::InverseRoot), schedule(200, Decay::Constant)];
    let with = |offset: usize| -> Vec<RatedRule> {
        let scheduled = |(index, rule)| RatedRule { schedule: schedules[(index + offset) % 3], ..rule };
        all_rules(0.02).into_iter().enumerate().map(scheduled).collect()
    };
    for offset in 0..3 {
        let rules = with(offset);
        let later = with(offset + 1);
        let set = |optimizer: usize| Setting::Rule { optimizer: optimizer as u32 + 1, rule: later[optimizer] };
        let mut changes = vec![Change { step: 100, set: Setting::Noise(noise(0.5)) }];
        changes.push(Change { step: 150, set: Setting::Steps(Some(450)) });
        changes.extend((0..rules.len()).step_by(2).map(|optimizer| Change { step: 200, set: set(optimizer) }));
        changes.push(Change { step: 300, set: Setting::Steps(None) });
        let spec = SimulationSpec { steps: Some(250), ..simulation(1.0, 2, &rules) };
        let case = Case { name: "schedules", spec, changes, steps: 400 };
        let found = first_disagreement(None, &case);
        assert!(found.is_none(), "{found:?}");
    }
}

/// A cosine that ends at the whole learning rate changes no bit.
#[test]
fn a_factor_of_one_changes_no_bit() {
    let run = |schedule: Schedule| {
        let rules: Vec<RatedRule> = all_rules(0.02).into_iter().map(|rule| RatedRule { schedule, ..rule }).collect();
        let mut simulation = Simulation::new(SimulationSpec { steps: Some(80), ..simulation(1.0, 3, &rules) });
        (0..100).for_each(|_| simulation.advance());
        let positions = simulation.ensembles().iter().flat_map(|ensemble| ensemble.positions());
        positions.map(|position| position.map(f64::to_bits)).collect::<Vec<_>>()
    };
    assert_eq!(run(schedule(0, cosine(1.0, None))), run(Schedule::default()));
}

/// A recorded step shows the learning rate with which it was taken.
#[test]
fn a_recorded_step_has_its_own_learning_rate() {
    let rule = RatedRule { schedule: schedule(4, Decay::InverseRoot), ..sgd(0.1, 0.0, 0.0) };
    let mut simulation = Simulation::new(simulation(1.0, 2, &[rule]));
    simulation.select(Some(ParticleId { optimizer: 1, particle: 1 }));
    for t in 1..10 {
        simulation.advance();
        let step = simulation.step_trace().unwrap();
        let eta = 0.1 * expected_factor(&rule.schedule, t, None);
        assert!((step.inputs.learning_rate - eta).abs() < 1e-15);
        for axis in 0..2 {
            let expected = step.inputs.theta[axis] - eta * step.inputs.gradient[axis];
            assert!((step.after[axis] - expected).abs() < 1e-14);
        }
    }
}

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
        let found = bias.settings::<ScheduleFree>(&rule).share;
        assert!((found - share).abs() < 1e-15, "step {}: {found} where {share} is right", bias.steps);
    }
    // t² and a warm-up: in step 2 of 4 the rate is a half.
    let rule = rule.with("r", 2.0).and_then(|rule| rule.with("warmup", 4.0)).unwrap();
    let first = BiasCorrection::START.after::<ScheduleFree>(&rule, 4.0);
    let second = first.after::<ScheduleFree>(&rule, 4.0).settings::<ScheduleFree>(&rule).share;
    assert_eq!((first.settings::<ScheduleFree>(&rule).share, second), (1.0, 16.0 / 17.0));
}

/// A common factor of all rates changes no share, so sweeps and stacks of models need no share for each rate.
#[test]
fn shares_depend_on_changes_of_the_rate_alone() {
    let rule = rule(RuleKind::ScheduleFree, &[("weight_lr_power", 1.7), ("r", 0.3)]);
    let mut both = [BiasCorrection::START; 2];
    for step in 1..200 {
        let rate = 0.01 + 0.005 * f64::from(step % 17);
        both = [both[0].after::<ScheduleFree>(&rule, rate), both[1].after::<ScheduleFree>(&rule, 37.0 * rate)];
        let [a, b] = both.map(|bias| bias.settings::<ScheduleFree>(&rule).share);
        assert!((a - b).abs() <= 1e-13 * a, "step {step}: {a} {b}");
    }
}
