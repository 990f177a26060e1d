//! Several sessions on the clock of one player: side by side, old futures, and sessions without a change.

use std::time::Duration;

use valleyscope::player::{BranchView, Playback, PlaybackPace, Player, PlayerCommand, SessionView, Snapshot};
use valleyscope_engine::landscape::LandscapeSpec;
use valleyscope_engine::optimizer::Decay;
use valleyscope_engine::simulation::{Change, ParticleId, Record, Setting, Simulation, SimulationSpec};

use crate::specs::{all_rules, noise, particles, simulation};

/// A time limit long enough for any machine; only a failing test reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

fn spec() -> SimulationSpec {
    simulation(1.0, 5, &all_rules(0.01))
}

fn landscape(values: &[(&str, f64)]) -> Setting {
    let set = |landscape: LandscapeSpec, (key, value): &(&str, f64)| landscape.with(key, *value).expect("in range");
    Setting::Landscape(values.iter().fold(spec().landscape, set))
}

fn steep() -> Setting {
    landscape(&[("sharpness", 20.0)])
}

/// Returns the first snapshot of a resting player, at this step, whose sessions have all reached it.
#[track_caller]
fn shown(player: &Player, step: u64, others: usize) -> Snapshot {
    loop {
        let snapshot = player.wait_snapshot(PATIENCE).expect("there is a snapshot within a minute");
        let sessions = || snapshot.sessions.iter().chain(snapshot.branches.iter().map(|branch| &branch.session));
        let rests = snapshot.step == step && snapshot.playback != Playback::Playing;
        if rests && sessions().all(|session| session.step == step) && sessions().count() == 1 + others {
            return snapshot;
        }
    }
}

#[track_caller]
fn advance_to(player: &Player, from: u64, to: u64, others: usize) -> Snapshot {
    player.send(PlayerCommand::Advance(to - from));
    shown(player, to, others)
}

/// Returns the index of the session of an old future, and the step from which it differs.
#[track_caller]
fn old_future(branch: &BranchView) -> (usize, u64) {
    assert!(branch.removed.is_empty(), "it leaves out changes");
    (branch.of, branch.since)
}

/// Checks that a session shows the state of a record replayed alone.
#[track_caller]
fn assert_replays(view: &SessionView, record: &Record) {
    let mut alone = Simulation::replay(record.clone());
    while alone.step() < view.step {
        alone.advance();
    }
    assert_eq!(*view.spec, *alone.spec());
    for (view, ensemble) in view.ensembles.iter().zip(alone.ensembles()) {
        assert_eq!(format!("{:?}", view.sample), format!("{:?}", ensemble.sample()));
        let positions: Vec<_> = ensemble.positions().map(|[x, y]| [x as f32, y as f32]).collect();
        assert_eq!(view.columns[view.columns.len() - view.particles..], positions);
    }
}

#[test]
fn sessions_side_by_side_share_the_clock_and_keep_their_own_settings() {
    let (a, b) = (spec(), SimulationSpec { noise: noise(0.25), ..spec() });
    let fresh = |spec: &SimulationSpec| Record { spec: spec.clone(), changes: Vec::new() };
    let player = Player::spawn(a.clone(), || {});
    player.send(PlayerCommand::Load(vec![fresh(&a), fresh(&b)]));
    player.send(PlayerCommand::Select(Some(ParticleId { optimizer: 1, particle: 2 })));
    let snapshot = advance_to(&player, 0, 150, 1);
    assert_replays(&snapshot.sessions[1], &fresh(&b));
    let traces = [0, 1].map(|index| snapshot.sessions[index].step_trace.as_deref());
    assert!(traces.iter().all(|trace| trace.is_some_and(|trace| trace.step() == 150)));

    player.send(PlayerCommand::Set(1, steep()));
    player.send(PlayerCommand::Seek(40));
    let past = shown(&player, 40, 1);
    assert_replays(&past.sessions[1], &fresh(&b));
    player.send(PlayerCommand::Seek(150));
    let last = advance_to(&player, 150, 200, 1);
    let changed = Record { changes: vec![Change { step: 150, set: steep() }], ..fresh(&b) };
    assert_eq!(*last.sessions[1].record, changed);
    assert_replays(&last.sessions[1], &changed);
    assert_eq!(*last.sessions[0].spec, a, "the first session has its own settings");

    // A setting of a session that there is not is harmless.
    player.send(PlayerCommand::Set(3, steep()));
    player.send(PlayerCommand::Restart);
    let restarted = shown(&player, 0, 1);
    assert_eq!(restarted.sessions[1].spec.landscape, last.sessions[1].spec.landscape);
}

#[test]
fn a_change_in_the_past_keeps_the_old_future_until_it_is_removed() {
    let player = Player::spawn(spec(), || {});
    advance_to(&player, 0, 300, 0);
    player.send(PlayerCommand::Seek(120));
    shown(&player, 120, 0);
    // A step at which to pause makes no other future, as it moves nothing, and a dragged slider makes one.
    player.send(PlayerCommand::Set(0, Setting::Steps(Some(900))));
    shown(&player, 120, 0);
    advance_to(&player, 120, 300, 0);
    player.send(PlayerCommand::Seek(120));
    shown(&player, 120, 0);
    for value in [0.75, 0.5, 0.25] {
        player.send(PlayerCommand::Set(0, Setting::Noise(noise(value))));
    }
    let branched = shown(&player, 120, 1);
    let old = &branched.branches[0];
    assert_eq!(old_future(old), (0, 120));
    assert_eq!((branched.last_step, old.session.last_step), (120, 300));
    let later = advance_to(&player, 120, 350, 1);
    let paused = Change { step: 120, set: Setting::Steps(Some(900)) };
    assert_replays(&later.branches[0].session, &Record { spec: spec(), changes: vec![paused] });
    let plot_end = later.branches[0].session.ensembles[0].plot.last().map(|bucket| bucket.first_step + bucket.steps);
    assert_eq!(plot_end, Some(351));
    player.send(PlayerCommand::Remove(later.branches[0].id));
    shown(&player, 350, 0);
}

#[test]
fn a_pause_set_in_the_past_keeps_later_changes_as_an_old_future() {
    let player = Player::spawn(spec(), || {});
    advance_to(&player, 0, 100, 0);
    player.send(PlayerCommand::Set(0, steep()));
    advance_to(&player, 100, 200, 0);
    player.send(PlayerCommand::Seek(50));
    player.send(PlayerCommand::Set(0, Setting::Steps(Some(500))));
    let branched = shown(&player, 50, 1);
    assert_eq!(old_future(&branched.branches[0]), (0, 50));
    assert_eq!(branched.branches[0].session.record.changes, [Change { step: 100, set: steep() }]);
}

#[test]
fn a_pause_set_in_the_past_is_another_future_where_a_schedule_ends_there() {
    let mut decaying = spec();
    decaying.optimizers[0].rule.schedule.decay = Decay::Cosine { to: Decay::nothing(), steps: None };
    let player = Player::spawn(decaying, || {});
    advance_to(&player, 0, 100, 0);
    player.send(PlayerCommand::Seek(50));
    player.send(PlayerCommand::Set(0, Setting::Steps(Some(500))));
    shown(&player, 50, 1);
}

#[test]
fn a_setting_of_the_present_makes_no_branch_and_their_number_is_bounded() {
    let player = Player::spawn(spec(), || {});
    player.send(PlayerCommand::Set(0, steep()));
    advance_to(&player, 0, 50, 0);
    for round in 1..7_u64 {
        player.send(PlayerCommand::Seek(50 - round));
        player.send(PlayerCommand::Set(0, Setting::Noise(noise(round as f64 / 8.0))));
        let others = round.min(4) as usize;
        shown(&player, 50 - round, others);
        advance_to(&player, 50 - round, 50, others);
    }
}

#[test]
fn a_session_without_a_change_is_computed_beside_the_one_with_it() {
    let player = Player::spawn(spec(), || {});
    player.send(PlayerCommand::Speed(PlaybackPace { unlimited: true, ..PlaybackPace::default() }));
    advance_to(&player, 0, 100, 0);
    player.send(PlayerCommand::Set(0, steep()));
    advance_to(&player, 100, 200, 0);
    player.send(PlayerCommand::Set(0, landscape(&[("sharpness", 20.0), ("slope", 2.0)])));
    advance_to(&player, 200, 300, 0);
    player.send(PlayerCommand::Without(0, vec![Change { step: 100, set: steep() }]));
    let with = shown(&player, 300, 1);
    assert_eq!(with.sessions[0].record.changes.len(), 2, "the session itself stays");
    let only_sloped = landscape(&[("slope", 2.0)]);
    let expected = Record { spec: spec(), changes: vec![Change { step: 200, set: only_sloped }] };
    assert_eq!(*with.branches[0].session.record, expected);
    assert_replays(&with.branches[0].session, &expected);

    // It follows the changes that are made now, in the parameters that they change.
    player.send(PlayerCommand::Set(0, Setting::Noise(noise(0.5))));
    let later = advance_to(&player, 300, 400, 1);
    let mut changes = expected.changes.clone();
    changes.push(Change { step: 300, set: Setting::Noise(noise(0.5)) });
    assert_replays(&later.branches[0].session, &Record { changes, ..expected });

    // A second time adds nothing, nor does a change that was never made.
    player.send(PlayerCommand::Without(0, vec![Change { step: 100, set: steep() }]));
    player.send(PlayerCommand::Without(0, vec![Change { step: 7, set: steep() }]));
    player.send(PlayerCommand::Without(0, Vec::new()));
    // The player has carried these out when it takes another step.
    advance_to(&player, 400, 401, 1);
    // It ends with its change, which an earlier one replaces; the old future is kept.
    player.send(PlayerCommand::Seek(60));
    player.send(PlayerCommand::Set(0, Setting::Noise(noise(0.125))));
    let anew = shown(&player, 60, 1);
    assert_eq!(old_future(&anew.branches[0]), (0, 60));
}

#[test]
fn a_replayed_session_without_a_change_keeps_the_changes_to_come() {
    let [early, late] = [Change { step: 100, set: steep() }, Change { step: 200, set: Setting::Noise(noise(0.5)) }];
    let player = Player::spawn(spec(), || {});
    player.send(PlayerCommand::Load(vec![Record { spec: spec(), changes: vec![early, late] }]));
    advance_to(&player, 0, 150, 0);
    player.send(PlayerCommand::Without(0, vec![early]));
    shown(&player, 150, 1);
    let later = advance_to(&player, 150, 250, 1);
    assert_replays(&later.branches[0].session, &Record { spec: spec(), changes: vec![late] });
}

#[test]
fn a_session_without_a_change_that_is_behind_takes_over_the_changes_of_a_dragged_slider() {
    let player = Player::spawn(SimulationSpec { particles: particles(500), ..spec() }, || {});
    player.send(PlayerCommand::Set(0, steep()));
    advance_to(&player, 0, 300, 0);
    // All in one go, so that the session without the change is behind at each of them.
    player.send(PlayerCommand::Without(0, vec![Change { step: 0, set: steep() }]));
    for value in [0.25, 0.5, 0.75] {
        player.send(PlayerCommand::Set(0, Setting::Noise(noise(value))));
    }
    player.send(PlayerCommand::Advance(50));
    while player.wait_snapshot(PATIENCE).is_some_and(|snapshot| snapshot.step < 350) {}
    for value in [1.25, 1.5] {
        player.send(PlayerCommand::Set(0, Setting::Noise(noise(value))));
    }
    let later = advance_to(&player, 350, 400, 1);
    let changes = [(300, 0.75), (350, 1.5)].map(|(step, value)| Change { step, set: Setting::Noise(noise(value)) });
    let changes = changes.to_vec();
    let spec = SimulationSpec { particles: particles(500), ..spec() };
    assert_replays(&later.branches[0].session, &Record { spec, changes });
}

#[test]
fn old_futures_differ_from_the_session_that_one_of_them_becomes() {
    let player = Player::spawn(spec(), || {});
    advance_to(&player, 0, 400, 0);
    player.send(PlayerCommand::Seek(100));
    player.send(PlayerCommand::Set(0, Setting::Noise(noise(0.5))));
    advance_to(&player, 100, 400, 1);
    player.send(PlayerCommand::Seek(300));
    player.send(PlayerCommand::Set(0, Setting::Noise(noise(0.25))));
    let branched = shown(&player, 300, 2);
    let since =
        |snapshot: &Snapshot| -> Vec<u64> { snapshot.branches.iter().map(|branch| old_future(branch).1).collect() };
    assert_eq!(since(&branched), [100, 300]);
    player.send(PlayerCommand::GoBackTo(branched.branches[0].id));
    let back = shown(&player, 300, 2);
    assert_eq!(since(&back), [100, 100], "the first one differs from all others since step 100");
}

#[test]
fn an_old_future_becomes_the_session_again() {
    let player = Player::spawn(spec(), || {});
    advance_to(&player, 0, 200, 0);
    player.send(PlayerCommand::Seek(100));
    player.send(PlayerCommand::Set(0, Setting::Noise(noise(0.5))));
    let branched = advance_to(&player, 100, 150, 1);
    player.send(PlayerCommand::GoBackTo(branched.branches[0].id));
    let back = shown(&player, 150, 1);
    assert_eq!((back.last_step, back.sessions[0].record.changes.len()), (200, 0));
    let old = &back.branches[0];
    assert_eq!(old_future(old), (0, 100));
    let changes = vec![Change { step: 100, set: Setting::Noise(noise(0.5)) }];
    assert_replays(&old.session, &Record { spec: spec(), changes });
    let later = advance_to(&player, 150, 250, 1);
    let mut alone = Simulation::new(spec());
    while alone.step() < 250 {
        alone.advance();
    }
    let samples = later.sessions[0].ensembles.iter().map(|view| format!("{:?}", view.sample));
    assert!(samples.eq(alone.ensembles().iter().map(|ensemble| format!("{:?}", ensemble.sample()))));
    // An id that is gone is harmless.
    player.send(PlayerCommand::GoBackTo(branched.branches[0].id));
    shown(&player, 250, 1);
}

#[test]
fn a_loop_repeats_its_steps_until_it_ends() {
    let player = Player::spawn(SimulationSpec { steps: Some(60), ..spec() }, || {});
    advance_to(&player, 0, 60, 0);
    player.send(PlayerCommand::Loop(Some([50, 60])));
    player.send(PlayerCommand::Speed(PlaybackPace { steps_per_sec: 500.0, unlimited: false }));
    player.send(PlayerCommand::Play);
    let mut restarts = 0;
    let mut before = 60;
    while restarts < 3 {
        let snapshot = player.wait_snapshot(PATIENCE).expect("there is a snapshot within a minute");
        if snapshot.looped != Some([50, 60]) {
            continue;
        }
        assert!((50..=60).contains(&snapshot.step) && snapshot.last_step == 60, "{}", snapshot.step);
        restarts += usize::from(snapshot.step < before);
        before = snapshot.step;
    }
    player.send(PlayerCommand::Loop(None));
    let end = shown(&player, 60, 0);
    assert_eq!((end.looped, end.playback), (None, Playback::Finished));
    // An empty range is none.
    player.send(PlayerCommand::Loop(Some([5, 5])));
    player.send(PlayerCommand::Seek(10));
    assert_eq!(shown(&player, 10, 0).looped, None);
}
