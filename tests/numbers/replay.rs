//! A session is repeated bit for bit from its seed and its changes with their steps, and a timeline shows each step of
//! a run again with the bits of the run, wherever it jumps.

use std::hash::{DefaultHasher, Hash, Hasher};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use valleyscope_engine::optimizer::{Decay, RatedRule, RuleKind, RuleSpec, Schedule, TypedRule};
use valleyscope_engine::quantity::{DecaySteps, FinalShare, LearningRate, ParticleCount, WarmupSteps};
use valleyscope_engine::simulation::{
    Change, ParticleId, PlotRequest, Record, Setting, SettingError, Simulation, SimulationSpec, Timeline,
};

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
    (0..100).for_each(|_| original.advance());
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

const TIMELINE_STEPS: u64 = 700;
const SELECTED: Option<ParticleId> = Some(ParticleId { optimizer: 3, particle: 2 });

/// Returns a hash of the whole present state: particles, random streams, optimizers' states, the settings in force,
/// the diagnostics, and the record of the selected particle's step. Debug text has all digits.
fn state(simulation: &Simulation) -> u64 {
    let samples: Vec<_> = simulation.present_samples().collect();
    let text = format!(
        "{} {:?} {:?} {samples:?} {:?}",
        simulation.step(),
        simulation.spec(),
        simulation.ensembles(),
        simulation.step_trace()
    );
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Returns the histories in the finest stored buckets, as text.
fn histories(simulation: &Simulation) -> Vec<String> {
    simulation.histories().iter().map(|history| format!("{:?}", history.finest())).collect()
}

fn changed_timeline(seed: u64) -> Timeline {
    let mut random = StdRng::seed_from_u64(seed);
    let mut timeline = Timeline::new(SimulationSpec { seed, ..simulation(1.0, 5, &all_rules(0.01)) });
    timeline.select(SELECTED);
    for _ in 0..TIMELINE_STEPS {
        while random.random_bool(0.02) {
            timeline.apply(&random_setting(&mut random)).unwrap();
        }
        timeline.advance();
    }
    timeline
}

/// Returns the state at each step of a fresh run with the recorded changes.
fn states(record: &Record) -> Vec<u64> {
    let mut run = Simulation::replay(record.clone());
    run.select(SELECTED);
    let mut states = vec![state(&run)];
    for _ in 0..TIMELINE_STEPS {
        run.advance();
        states.push(state(&run));
    }
    states
}

#[test]
fn seeks_to_any_step_in_any_order_show_the_bits_of_the_run() {
    for seed in 0..4 {
        let mut timeline = changed_timeline(seed);
        let record = timeline.record();
        assert!(!record.changes.is_empty());
        let expected = states(&record);
        let whole = histories(timeline.simulation());
        let mut random = StdRng::seed_from_u64(100 + seed);
        for _ in 0..60 {
            let step = random.random_range(0..=TIMELINE_STEPS);
            timeline.seek(step);
            assert_eq!(timeline.simulation().step(), step);
            assert_eq!(state(timeline.simulation()), expected[step as usize], "step {step} of session {seed}");
            // Some steps of the past are played again, up to new ones.
            for step in (step + 1..=TIMELINE_STEPS).take(random.random_range(0..20)) {
                timeline.advance();
                assert_eq!(state(timeline.simulation()), expected[step as usize], "step {step} played again");
            }
            assert_eq!(timeline.last_step(), TIMELINE_STEPS);
        }
        assert_eq!(timeline.record(), record, "looking back changes no record");
        assert_eq!(histories(timeline.simulation()), whole, "nor the diagnostics of the run");
    }
}

#[test]
fn a_change_at_an_earlier_step_begins_a_new_future() {
    let set = Setting::Noise(noise(0.125));
    for at in [0, 1, 64, 300, 511] {
        let mut timeline = changed_timeline(2);
        timeline.seek(at);
        timeline.apply(&set).unwrap();
        assert_eq!((timeline.simulation().step(), timeline.last_step()), (at, at));
        let changes = timeline.record().changes;
        assert!(changes.iter().all(|change| change.step <= at), "later changes are gone");
        assert_eq!(changes.iter().filter(|change| change.set == set).count(), 1);
        let mut fresh = Simulation::replay(timeline.record());
        fresh.select(SELECTED);
        while fresh.step() < at {
            fresh.advance();
        }
        for _ in 0..150 {
            assert_eq!(state(timeline.simulation()), state(&fresh));
            assert_eq!(histories(timeline.simulation()), histories(&fresh));
            timeline.advance();
            fresh.advance();
        }
        // The new future can be shown again, too.
        let expected = state(timeline.simulation());
        timeline.seek(at / 2);
        timeline.seek(at + 150);
        assert_eq!(state(timeline.simulation()), expected);
    }
}

#[test]
fn a_session_without_changes_has_the_bits_of_their_absence() {
    for seed in 0..4 {
        let timeline = changed_timeline(seed);
        let record = timeline.record();
        assert_eq!(record.without(&[]), record);
        assert!(record.without(&record.changes).changes.is_empty());
        for removed in [&record.changes[..1], &record.changes[3..5], &record.changes] {
            let expected = record.without(removed);
            let mut without = timeline.without(removed);
            while without.simulation().step() < TIMELINE_STEPS {
                without.advance();
            }
            assert_eq!(without.record(), expected);
            let mut alone = Simulation::replay(expected);
            alone.select(SELECTED);
            (0..TIMELINE_STEPS).for_each(|_| alone.advance());
            assert_eq!(state(without.simulation()), state(&alone));
            assert_eq!(histories(without.simulation()), histories(&alone));
        }
        assert_eq!(timeline.record(), record);
    }
}

#[test]
fn a_setting_that_does_not_fit_removes_no_future() {
    let mut timeline = changed_timeline(2);
    timeline.seek(100);
    timeline.apply(&Setting::Rule { optimizer: 99, rule: adam(0.1, 0.9, 0.9, 0.1) }).unwrap_err();
    assert_eq!(timeline.last_step(), TIMELINE_STEPS);
}

/// A plot of a long run stays whole when the run is cut where only wide buckets are kept.
#[test]
fn a_long_history_cut_at_an_early_step_is_without_gaps() {
    const LONG: u64 = 60_000;
    let mut timeline = Timeline::new(simulation(1.0, 1, &[adam(0.01, 0.9, 0.99, 0.0)]));
    (0..LONG).for_each(|_| timeline.advance());
    timeline.seek(10_000);
    timeline.apply(&Setting::Noise(noise(0.5))).unwrap();
    (0..300).for_each(|_| timeline.advance());
    let mut fresh = Simulation::replay(timeline.record());
    (0..10_300).for_each(|_| fresh.advance());
    let [ours, theirs] = [timeline.simulation(), &fresh].map(|simulation| simulation.histories()[0].clone());
    assert_eq!(ours.len(), theirs.len());
    let finest = ours.finest();
    assert!(finest.windows(2).all(|pair| pair[0].first_step + pair[0].steps == pair[1].first_step));
    assert_eq!(finest.iter().map(|bucket| bucket.steps).sum::<u64>(), 10_301);
    // Buckets as wide as those that were kept are the same as without the cut.
    let coarse = PlotRequest { buckets: 100, ..PlotRequest::default() };
    assert_eq!(format!("{:?}", ours.view(&coarse)), format!("{:?}", theirs.view(&coarse)));
}

#[test]
fn keyframes_of_many_particles_stay_within_their_memory() {
    const BUDGET: usize = 64 << 20;
    let positions = |timeline: &Timeline| -> Vec<[u64; 2]> {
        let all = timeline.simulation().ensembles().iter().flat_map(|ensemble| ensemble.positions());
        all.map(|position| position.map(f64::to_bits)).collect()
    };
    let particles = ParticleCount::new(10_000).unwrap();
    let spec = SimulationSpec { particles, ..simulation(1.0, 1, &all_rules(0.01)[..6]) };
    let mut timeline = Timeline::new(spec);
    let mut expected = Vec::new();
    let mut most = 0;
    for step in 0..1200 {
        if step % 300 == 77 {
            expected.push((step, positions(&timeline)));
        }
        let before = timeline.bytes();
        timeline.advance();
        assert!(timeline.bytes() <= BUDGET, "{} bytes at step {step}", timeline.bytes());
        most = most.max(before);
    }
    assert!(timeline.bytes() < most, "some keyframes were removed");
    for (step, expected) in expected.into_iter().rev() {
        timeline.seek(step);
        assert!(positions(&timeline) == expected, "step {step}");
    }
}
