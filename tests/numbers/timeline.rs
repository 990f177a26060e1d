//! A timeline shows each step of a run again with the bits of the run, wherever it jumps.

use std::hash::{DefaultHasher, Hash, Hasher};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use valleyscope_engine::quantity::ParticleCount;
use valleyscope_engine::simulation::{ParticleId, PlotRequest, Record, Setting, Simulation, SimulationSpec, Timeline};

use crate::replay::random_setting;
use crate::specs::{adam, all_rules, noise, simulation};

const STEPS: u64 = 700;
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

/// Runs a timeline with changes at random steps.
fn session(seed: u64) -> Timeline {
    let mut random = StdRng::seed_from_u64(seed);
    let mut timeline = Timeline::new(SimulationSpec { seed, ..simulation(1.0, 5, &all_rules(0.01)) });
    timeline.select(SELECTED);
    for _ in 0..STEPS {
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
    for _ in 0..STEPS {
        run.advance();
        states.push(state(&run));
    }
    states
}

#[test]
fn seeks_to_any_step_in_any_order_show_the_bits_of_the_run() {
    for seed in 0..4 {
        let mut timeline = session(seed);
        let record = timeline.record();
        assert!(!record.changes.is_empty());
        let expected = states(&record);
        let whole = histories(timeline.simulation());
        let mut random = StdRng::seed_from_u64(100 + seed);
        for _ in 0..60 {
            let step = random.random_range(0..=STEPS);
            timeline.seek(step);
            assert_eq!(timeline.simulation().step(), step);
            assert_eq!(state(timeline.simulation()), expected[step as usize], "step {step} of session {seed}");
            // Some steps of the past are played again, up to new ones.
            for step in (step + 1..=STEPS).take(random.random_range(0..20)) {
                timeline.advance();
                assert_eq!(state(timeline.simulation()), expected[step as usize], "step {step} played again");
            }
            assert_eq!(timeline.last_step(), STEPS);
        }
        assert_eq!(timeline.record(), record, "looking back changes no record");
        assert_eq!(histories(timeline.simulation()), whole, "nor the diagnostics of the run");
    }
}

#[test]
fn a_run_goes_on_after_a_seek_as_if_there_had_been_none() {
    let mut timeline = session(9);
    for step in [3, 640, 64, 65, 0, 699] {
        timeline.seek(step);
    }
    while timeline.simulation().step() < STEPS {
        timeline.advance();
    }
    let mut straight = session(9);
    for _ in 0..200 {
        timeline.advance();
        straight.advance();
        assert_eq!(state(timeline.simulation()), state(straight.simulation()));
    }
    assert_eq!(histories(timeline.simulation()), histories(straight.simulation()));
}

#[test]
fn a_later_step_than_the_last_one_is_the_last_one() {
    let mut timeline = Timeline::new(simulation(1.0, 2, &all_rules(0.01)));
    timeline.seek(5);
    assert_eq!(timeline.simulation().step(), 0);
    (0..3).for_each(|_| timeline.advance());
    timeline.seek(u64::MAX);
    assert_eq!(timeline.simulation().step(), 3);
}

#[test]
fn a_change_at_an_earlier_step_begins_a_new_future() {
    let set = Setting::Noise(noise(0.125));
    for at in [0, 1, 64, 300, 511] {
        let mut timeline = session(2);
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
        let timeline = session(seed);
        let record = timeline.record();
        assert_eq!(record.without(&[]), record);
        assert!(record.without(&record.changes).changes.is_empty());
        for removed in [&record.changes[..1], &record.changes[3..5], &record.changes] {
            let expected = record.without(removed);
            let mut without = timeline.without(removed);
            while without.simulation().step() < STEPS {
                without.advance();
            }
            assert_eq!(without.record(), expected);
            let mut alone = Simulation::replay(expected);
            alone.select(SELECTED);
            (0..STEPS).for_each(|_| alone.advance());
            assert_eq!(state(without.simulation()), state(&alone));
            assert_eq!(histories(without.simulation()), histories(&alone));
        }
        assert_eq!(timeline.record(), record);
    }
}

#[test]
fn a_setting_that_does_not_fit_removes_no_future() {
    let mut timeline = session(2);
    timeline.seek(100);
    timeline.apply(&Setting::Rule { optimizer: 99, rule: adam(0.1, 0.9, 0.9, 0.1) }).unwrap_err();
    assert_eq!(timeline.last_step(), STEPS);
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
