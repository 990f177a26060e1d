//! A session is repeated bit for bit from its seed and its changes with their steps.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use valleyscope_engine::optimizer::{Decay, RatedRule, RuleKind, RuleSpec, Schedule, TypedRule};
use valleyscope_engine::quantity::{DecaySteps, FinalShare, LearningRate, WarmupSteps};
use valleyscope_engine::simulation::{Change, Record, Setting, SettingError, Simulation, SimulationSpec};

use crate::specs::{DecayTarget, adam, all_rules, focus, noise, sgd, signum, simulation, valley};

const STEPS: u64 = 400;

/// Returns the bits of every position of every ensemble.
fn bits(simulation: &Simulation) -> Vec<[u64; 2]> {
    let positions = simulation.ensembles().iter().flat_map(|ensemble| ensemble.positions());
    positions.map(|position| position.map(f64::to_bits)).collect()
}

pub(crate) fn random_setting(random: &mut StdRng) -> Setting {
    let eta = 10_f64.powf(random.random_range(-3.0..-1.0));
    let beta1 = random.random_range(0.0..0.99);
    let beta2 = random.random_range(0.0..0.999);
    let omega = random.random_range(0.0..0.5);
    let schedule = random_schedule(random);
    let rule = |optimizer, rule| Setting::Rule { optimizer, rule: RatedRule { schedule, ..rule } };
    match random.random_range(0..7) {
        0 => rule(1, adam(eta, beta1, beta2, omega)),
        1 => rule(2, signum(eta, beta1, omega)),
        2 => rule(3, focus(eta, [beta1, beta2], random.random_range(-1.0..1.0), omega, DecayTarget::Average)),
        3 => rule(6, sgd(0.01 * eta, beta1, omega)),
        4 => Setting::Noise(noise(random.random_range(0.0..3.0))),
        5 => Setting::Landscape(valley(
            10_f64.powf(random.random_range(-1.0..2.0)),
            0.1,
            random.random_range(-90.0..90.0),
        )),
        _ => Setting::Steps(Some(random.random_range(1..1_000_000))),
    }
}

fn random_schedule(random: &mut StdRng) -> Schedule {
    let to = FinalShare::clamped(random.random_range(0.0..1.0));
    let steps = random.random_bool(0.5).then(|| DecaySteps::clamped(random.random_range(1..2 * STEPS)));
    let decay = match random.random_range(0..3) {
        0 => Decay::Constant,
        1 => Decay::Cosine { to, steps },
        _ => Decay::InverseRoot,
    };
    Schedule { warmup: WarmupSteps::clamped(random.random_range(0..STEPS)), decay }
}

/// Returns a session with changes at random steps, and the positions at each step.
fn session(seed: u64) -> (Simulation, Vec<Vec<[u64; 2]>>) {
    let mut random = StdRng::seed_from_u64(seed);
    let mut simulation = Simulation::new(SimulationSpec { seed, ..simulation(1.0, 5, &all_rules(0.01)) });
    let mut positions = vec![bits(&simulation)];
    for _ in 0..STEPS {
        while random.random_bool(0.05) {
            simulation.apply(&random_setting(&mut random)).unwrap();
        }
        simulation.advance();
        positions.push(bits(&simulation));
    }
    (simulation, positions)
}

fn assert_repeats(record: Record, expected: &[Vec<[u64; 2]>]) -> Simulation {
    let mut replay = Simulation::replay(record);
    for (step, expected) in expected.iter().enumerate() {
        if step > 0 {
            replay.advance();
        }
        assert_eq!(&bits(&replay), expected, "after step {step}");
    }
    replay
}

#[test]
fn a_record_repeats_the_session() {
    for seed in 0..5 {
        let (original, positions) = session(seed);
        let record = original.record().clone();
        assert!(!record.changes.is_empty());
        let replay = assert_repeats(record.clone(), &positions);
        assert!(!replay.is_replaying());
        assert_eq!(replay.record(), &record, "the replay's own record is that of the original");
        assert_eq!(replay.spec(), original.spec());
        // Debug text, because a NaN is not equal to itself.
        for (ours, theirs) in replay.ensembles().iter().zip(original.ensembles()) {
            assert_eq!(format!("{:?}", ours.sample()), format!("{:?}", theirs.sample()));
        }
    }
}

#[test]
fn a_record_is_written_and_read_back() {
    let (original, positions) = session(7);
    let record = original.record();
    let spec = ron::to_string(&record.spec).unwrap();
    let changes = ron::to_string(&record.changes).unwrap();
    let read = Record { spec: ron::from_str(&spec).unwrap(), changes: ron::from_str(&changes).unwrap() };
    assert_eq!(&read, record);
    assert_repeats(read, &positions);
}

#[test]
fn a_copy_continues_like_the_original() {
    let mut original = Simulation::new(simulation(1.0, 11, &all_rules(0.01)));
    for _ in 0..100 {
        original.advance();
    }
    let mut copy = original.clone();
    for _ in 0..100 {
        original.advance();
        copy.advance();
        assert_eq!(bits(&original), bits(&copy));
    }
}

#[test]
fn a_change_acts_on_the_next_step_and_is_recorded_at_the_present_one() {
    let mut changed = Simulation::new(simulation(1.0, 2, &all_rules(0.01)));
    let mut unchanged = changed.clone();
    for _ in 0..10 {
        changed.advance();
        unchanged.advance();
    }
    let set = Setting::Noise(noise(2.0));
    changed.apply(&set).unwrap();
    assert_eq!(bits(&changed), bits(&unchanged), "nothing moves before the next step");
    assert_eq!(changed.record().changes, [Change { step: 10, set }]);
    changed.advance();
    unchanged.advance();
    assert_ne!(bits(&changed), bits(&unchanged));
}

/// A slider dragged while the simulation is paused leaves one change, not hundreds.
#[test]
fn the_last_of_several_changes_between_two_steps_counts() {
    let mut simulation = Simulation::new(simulation(1.0, 2, &all_rules(0.01)));
    simulation.advance();
    for sigma in [0.5, 0.6, 0.7] {
        simulation.apply(&Setting::Noise(noise(sigma))).unwrap();
        simulation.apply(&Setting::Rule { optimizer: 2, rule: signum(sigma, 0.9, 0.1) }).unwrap();
        simulation.apply(&Setting::Rule { optimizer: 1, rule: adam(sigma, 0.9, 0.9, 0.1) }).unwrap();
    }
    let at_one = |set| Change { step: 1, set };
    let changes = [
        at_one(Setting::Noise(noise(0.7))),
        at_one(Setting::Rule { optimizer: 2, rule: signum(0.7, 0.9, 0.1) }),
        at_one(Setting::Rule { optimizer: 1, rule: adam(0.7, 0.9, 0.9, 0.1) }),
    ];
    assert_eq!(simulation.record().changes, changes);
}

/// Each text of a typed rule keeps the states that it names and drops the others, so that none may be left out.
#[test]
fn all_changes_of_a_typed_text_between_two_steps_are_recorded() {
    let rule = |state: &str| {
        let text = format!("state {state}\n{state} = 0.9*{state} + 0.1*g\ntheta = theta - eta*{state}");
        let typed = TypedRule::new(&format!("keeps {state}"), &text).unwrap();
        RuleSpec::on_plane(RuleKind::Typed(typed)).rated(LearningRate::clamped(0.01))
    };
    let mut changed = Simulation::new(simulation(1.0, 2, &[rule("m")]));
    changed.advance();
    for state in ["w", "m"] {
        changed.apply(&Setting::Rule { optimizer: 1, rule: rule(state) }).unwrap();
    }
    changed.advance();
    let mut replay = Simulation::replay(changed.record().clone());
    (0..2).for_each(|_| replay.advance());
    assert_eq!(bits(&replay), bits(&changed));
}

#[test]
fn a_change_during_a_replay_begins_another_session() {
    let (original, _) = session(3);
    let mut replay = Simulation::replay(original.record().clone());
    for _ in 0..STEPS / 2 {
        replay.advance();
    }
    assert!(replay.is_replaying());
    let set = Setting::Noise(noise(0.125));
    replay.apply(&set).unwrap();
    assert!(!replay.is_replaying());
    let mut positions = Vec::new();
    for _ in STEPS / 2..STEPS {
        replay.advance();
        positions.push(bits(&replay));
    }
    let record = replay.record().clone();
    assert_eq!(record.changes.last(), Some(&Change { step: STEPS / 2, set }));
    let mut again = Simulation::replay(record);
    for _ in 0..STEPS / 2 {
        again.advance();
    }
    for expected in positions {
        again.advance();
        assert_eq!(bits(&again), expected);
    }
}

/// A recorded change is applied when its step is reached, not only with the next step.
#[test]
fn a_recorded_change_is_repeated_as_soon_as_its_step_is_reached() {
    let spec = SimulationSpec { steps: Some(10), ..simulation(1.0, 2, &all_rules(0.01)) };
    let at_start = Change { step: 0, set: Setting::Noise(noise(0.5)) };
    let at_end = Change { step: 10, set: Setting::Steps(Some(20)) };
    let mut replay = Simulation::replay(Record { spec, changes: vec![at_start, at_end] });
    assert_eq!(replay.spec().noise, noise(0.5));
    for _ in 0..10 {
        assert!(!replay.is_finished());
        replay.advance();
    }
    assert!(!replay.is_finished(), "the number of steps was raised here");
    assert!(!replay.is_replaying());
    replay.apply(&Setting::Noise(noise(2.0))).unwrap();
    assert_eq!(replay.spec().steps, Some(20), "another change takes none of them back");
}

#[test]
fn a_setting_that_does_not_fit_changes_nothing() {
    let mut refusing = Simulation::new(simulation(1.0, 2, &all_rules(0.01)));
    let mut untouched = refusing.clone();
    let rule = signum(0.5, 0.9, 0.1);
    let unknown = refusing.apply(&Setting::Rule { optimizer: 99, rule }).unwrap_err();
    assert_eq!(unknown, SettingError::UnknownOptimizer(99));
    let other = refusing.apply(&Setting::Rule { optimizer: 1, rule }).unwrap_err();
    assert_eq!(other, SettingError::OtherRule { id: 1, has: "Adam", found: "Signum" });
    assert!(refusing.record().changes.is_empty());
    refusing.advance();
    untouched.advance();
    assert_eq!(bits(&refusing), bits(&untouched));
}
