//! The simulation's thread: its steps are those of the simulation, whatever the pace, pauses and queries. The tests do
//! not depend on the machine's speed.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use valleyscope::player::{Playback, PlaybackPace, Player, PlayerCommand, Snapshot};
use valleyscope_engine::simulation::{ParticleId, PlotRequest, Record, Sample, Setting, Simulation, SimulationSpec};

use crate::specs::{adam, all_rules, noise, signum, simulation, valley};

/// A time limit long enough for any machine; only a failing test reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

fn spawn(spec: &SimulationSpec) -> Player {
    Player::spawn(spec.clone(), || {})
}

/// Returns the first snapshot for which `enough` returns true; it is called with each.
#[track_caller]
fn wait_until(player: &Player, mut enough: impl FnMut(&Snapshot) -> bool) -> Snapshot {
    loop {
        let snapshot = player.wait_snapshot(PATIENCE).expect("there is a snapshot within a minute");
        if enough(&snapshot) {
            return snapshot;
        }
    }
}

#[track_caller]
fn wait_until_done(player: &Player, step: u64) -> Snapshot {
    wait_until(player, |snapshot| snapshot.step >= step && snapshot.playback != Playback::Playing)
}

fn unlimited() -> PlaybackPace {
    PlaybackPace { unlimited: true, ..PlaybackPace::default() }
}

fn record(snapshot: &Snapshot) -> Record {
    Record::clone(&snapshot.sessions[0].record)
}

/// Returns the simulation after so many steps, taken one by one.
fn reference(spec: &SimulationSpec, steps: u64) -> Simulation {
    let mut simulation = Simulation::new(spec.clone());
    (0..steps).for_each(|_| simulation.advance());
    simulation
}

/// Returns the debug text, which has all digits, and in which a NaN is equal to itself.
fn text(sample: &Sample) -> String {
    format!("{sample:?}")
}

#[track_caller]
fn assert_same(snapshot: &Snapshot, reference: &Simulation) {
    assert_eq!(snapshot.step, reference.step());
    assert_eq!(snapshot.sessions[0].ensembles.len(), reference.ensembles().len());
    for (view, ensemble) in snapshot.sessions[0].ensembles.iter().zip(reference.ensembles()) {
        assert_eq!(view.optimizer, ensemble.optimizer());
        assert_eq!(&view.rule, ensemble.rule());
        assert_eq!(view.particles, ensemble.particles());
        assert_eq!(text(&view.sample), text(ensemble.sample()));
        let newest = &view.columns[view.columns.len() - view.particles..];
        let expected: Vec<_> = ensemble.positions().map(single).collect();
        assert_eq!(newest, expected, "the last column is the present positions");
    }
}

fn single([x, y]: [f64; 2]) -> [f32; 2] {
    [x as f32, y as f32]
}

#[test]
fn begins_paused_at_the_start() {
    let spec = simulation(1.0, 9, &all_rules(0.01));
    let snapshot = wait_until(&spawn(&spec), |_| true);
    assert_eq!(snapshot.playback, Playback::Paused);
    assert_eq!(*snapshot.sessions[0].spec, spec);
    assert_same(&snapshot, &reference(&spec, 0));
}

#[test]
fn single_and_batched_steps_are_the_same() {
    let spec = simulation(1.0, 9, &all_rules(0.01));
    let expected = reference(&spec, 500);
    let one_by_one = spawn(&spec);
    for step in 1..=20 {
        one_by_one.send(PlayerCommand::Advance(1));
        assert_same(&wait_until_done(&one_by_one, step), &reference(&spec, step));
    }
    one_by_one.send(PlayerCommand::Advance(480));
    assert_same(&wait_until_done(&one_by_one, 500), &expected);
    let batches = spawn(&spec);
    for batch in [100, 1, 0, 249, 150] {
        batches.send(PlayerCommand::Advance(batch));
    }
    assert_same(&wait_until_done(&batches, 500), &expected);
}

#[test]
fn playing_at_any_speed_with_pauses_takes_the_same_steps() {
    let spec = SimulationSpec { steps: Some(8_000), ..simulation(1.0, 9, &all_rules(0.01)) };
    let player = spawn(&spec);
    player.send(PlayerCommand::TrailLength(50));
    player.send(PlayerCommand::Speed(PlaybackPace { steps_per_sec: 200.0, unlimited: false }));
    player.send(PlayerCommand::Play);
    let playing = wait_until(&player, |snapshot| snapshot.step > 10);
    assert_eq!(playing.playback, Playback::Playing);
    player.send(PlayerCommand::Pause);
    let paused = wait_until(&player, |snapshot| snapshot.playback == Playback::Paused);
    assert_same(&paused, &reference(&spec, paused.step));
    player.send(PlayerCommand::Advance(3));
    let paused = wait_until_done(&player, paused.step + 3);
    assert_same(&paused, &reference(&spec, paused.step));
    // Queries and settings of the view in between have no effect.
    player.send(PlayerCommand::Select(Some(ParticleId { optimizer: 3, particle: 8 })));
    player.send(PlayerCommand::Speed(unlimited()));
    player.send(PlayerCommand::Play);
    wait_until(&player, |snapshot| snapshot.step > paused.step);
    player.send(PlayerCommand::Plot(PlotRequest { buckets: 20, log_steps: true, ..PlotRequest::default() }));
    player.send(PlayerCommand::TrailLength(3));
    player.send(PlayerCommand::Pause);
    player.send(PlayerCommand::Play);
    let finished = wait_until_done(&player, 8_000);
    assert_eq!(finished.playback, Playback::Finished);
    assert_same(&finished, &reference(&spec, 8_000));
    // A single step is still possible.
    player.send(PlayerCommand::Advance(1));
    assert_same(&wait_until_done(&player, 8_001), &reference(&spec, 8_001));
    // Playing pauses there until more steps are allowed.
    player.send(PlayerCommand::Play);
    player.send(PlayerCommand::Set(0, Setting::Steps(Some(8_010))));
    player.send(PlayerCommand::Play);
    assert_same(&wait_until_done(&player, 8_010), &reference(&spec, 8_010));
}

#[test]
fn a_changed_landscape_shows_in_the_diagnostics_before_the_next_step() {
    let spec = simulation(1.0, 9, &all_rules(0.01));
    let player = spawn(&spec);
    player.send(PlayerCommand::Advance(50));
    let before = wait_until_done(&player, 50);
    let steep = valley(1000.0, 0.2, 60.0);
    player.send(PlayerCommand::Set(0, Setting::Landscape(steep)));
    let after = wait_until(&player, |snapshot| snapshot.sessions[0].spec.landscape == steep);
    assert_eq!(after.step, 50);
    let landscape = steep.landscape();
    for ((view, old), ensemble) in
        after.sessions[0].ensembles.iter().zip(&before.sessions[0].ensembles).zip(reference(&spec, 50).ensembles())
    {
        let mean = |of: &dyn Fn([f64; 2]) -> f64| {
            let values = ensemble.positions().map(of);
            values.sum::<f64>() / ensemble.particles() as f64
        };
        for (found, expected) in [
            (view.sample.loss, mean(&|xy| landscape.loss(xy))),
            (view.sample.u, mean(&|xy| landscape.uv_from_xy(xy)[0])),
            (view.sample.abs_v, mean(&|xy| landscape.uv_from_xy(xy)[1].abs())),
        ] {
            assert!((found.mean - expected).abs() < 1e-9 * expected.abs().max(1.0), "{found:?} is not {expected}");
        }
        assert_ne!(view.sample.loss.mean, old.sample.loss.mean);
        assert_eq!(view.sample.effective_step, old.sample.effective_step, "the step that was taken stays");
    }
    player.send(PlayerCommand::Set(0, Setting::Landscape(spec.landscape)));
    let back = wait_until(&player, |snapshot| snapshot.sessions[0].spec.landscape == spec.landscape);
    assert_same(&back, &reference(&spec, 50));
    // Observing changes no step.
    player.send(PlayerCommand::Set(0, Setting::Landscape(steep)));
    player.send(PlayerCommand::Advance(10));
    let mut changed = reference(&spec, 50);
    changed.apply(&Setting::Landscape(steep)).expect("any landscape fits");
    (0..10).for_each(|_| changed.advance());
    assert_same(&wait_until_done(&player, 60), &changed);
}

/// Changes to a playing simulation are recorded with their steps, and repeated.
#[test]
fn a_session_played_live_is_repeated_by_its_record() {
    let spec = SimulationSpec { steps: Some(10_000), ..simulation(1.0, 9, &all_rules(0.01)) };
    let player = spawn(&spec);
    // At this speed the end is twenty seconds away: the simulation still plays at the last change.
    player.send(PlayerCommand::Speed(PlaybackPace { steps_per_sec: 500.0, unlimited: false }));
    player.send(PlayerCommand::Play);
    let settings = [
        Setting::Noise(noise(0.5)),
        Setting::Landscape(valley(30.0, 0.2, 60.0)),
        Setting::Rule { optimizer: 1, rule: adam(0.02, 0.8, 0.99, 0.2) },
        Setting::Rule { optimizer: 2, rule: signum(0.005, 0.95, 0.05) },
    ];
    for set in settings {
        let step = wait_until(&player, |_| true).step;
        player.send(PlayerCommand::Set(0, set));
        wait_until(&player, |snapshot| snapshot.step > step || snapshot.playback == Playback::Finished);
    }
    player.send(PlayerCommand::Speed(unlimited()));
    let finished = wait_until_done(&player, 10_000);
    let record = record(&finished);
    assert_eq!(record.changes.len(), 4);
    let mut replay = Simulation::replay(record.clone());
    while replay.step() < 10_000 {
        replay.advance();
    }
    assert_same(&finished, &replay);
    player.send(PlayerCommand::Load(vec![record.clone()]));
    player.send(PlayerCommand::Play);
    let again = wait_until(&player, |snapshot| snapshot.run > finished.run && snapshot.playback == Playback::Finished);
    assert_same(&again, &replay);
    assert_eq!(self::record(&again), record);
}

#[test]
fn trails_have_every_step_once() {
    let spec = simulation(1.0, 9, &all_rules(0.01)[..2]);
    let player = spawn(&spec);
    player.send(PlayerCommand::TrailLength(10_000));
    player.send(PlayerCommand::Speed(unlimited()));
    player.send(PlayerCommand::Advance(300));
    player.send(PlayerCommand::TrailLength(5_000));
    player.send(PlayerCommand::Advance(700));
    let mut columns: Vec<Vec<[f32; 2]>> = vec![Vec::new(); 2];
    let mut shown = None;
    wait_until(&player, |snapshot| {
        for (columns, view) in columns.iter_mut().zip(&snapshot.sessions[0].ensembles) {
            assert_eq!(view.columns.len() % view.particles, 0);
            let count = (view.columns.len() / view.particles) as u64;
            // A snapshot begins with the step after the previous snapshot, or repeats the current positions.
            let fresh = snapshot.step + 1 - shown.map_or(0, |step: u64| step + 1);
            assert!(count >= fresh.max(1), "{count} columns for {fresh} new steps");
            let known = columns.len() - (count - fresh) as usize * view.particles;
            columns.truncate(known);
            columns.extend(view.columns.iter());
        }
        shown = Some(snapshot.step);
        snapshot.step == 1000 && snapshot.playback != Playback::Playing
    });
    let mut simulation = Simulation::new(spec);
    for step in 0..=1000 {
        for (columns, ensemble) in columns.iter().zip(simulation.ensembles()) {
            let expected: Vec<_> = ensemble.positions().map(single).collect();
            assert_eq!(columns[step * 9..(step + 1) * 9], expected, "step {step}");
        }
        simulation.advance();
    }
}

#[test]
fn a_short_trail_has_the_newest_positions() {
    let spec = simulation(1.0, 3, &all_rules(0.01)[..1]);
    let player = spawn(&spec);
    player.send(PlayerCommand::TrailLength(4));
    player.send(PlayerCommand::Advance(1000));
    let snapshot = wait_until_done(&player, 1000);
    assert!(snapshot.sessions[0].ensembles[0].columns.len() <= 5 * 3);
    assert_same(&snapshot, &reference(&spec, 1000));
}

/// A snapshot without a new step has the current positions too.
#[test]
fn every_snapshot_has_a_column() {
    let spec = simulation(1.0, 3, &all_rules(0.01));
    let player = spawn(&spec);
    player.send(PlayerCommand::Advance(10));
    wait_until_done(&player, 10);
    player.send(PlayerCommand::Plot(PlotRequest { buckets: 3, ..PlotRequest::default() }));
    let snapshot = wait_until(&player, |snapshot| snapshot.sessions[0].ensembles[0].plot.len() <= 3);
    assert_same(&snapshot, &reference(&spec, 10));
}

#[test]
fn snapshots_show_history_and_path() {
    let spec = simulation(1.0, 9, &all_rules(0.01));
    let player = spawn(&spec);
    let request = PlotRequest { first_step: 10, last_step: Some(700), buckets: 30, log_steps: true };
    player.send(PlayerCommand::Plot(request));
    player.send(PlayerCommand::Advance(1000));
    let snapshot = wait_until_done(&player, 1000);
    let reference = reference(&spec, 1000);
    let start = Simulation::new(spec);
    for (index, view) in snapshot.sessions[0].ensembles.iter().enumerate() {
        assert_eq!(view.plot, reference.histories()[index].view(&request));
        let path = &view.mean_path;
        assert!(path.len() >= 2 && path.len() < 10_000);
        assert_eq!(path[0], single(start.ensembles()[index].mean_position()));
        assert_eq!(path[path.len() - 1], single(reference.ensembles()[index].mean_position()));
    }
}

#[test]
fn fresh_starts_are_counted() {
    let spec = simulation(1.0, 3, &all_rules(0.01));
    let player = spawn(&spec);
    player.send(PlayerCommand::Set(0, Setting::Noise(noise(2.0))));
    player.send(PlayerCommand::Advance(50));
    let first = wait_until_done(&player, 50);
    // A restart keeps the settings in force.
    player.send(PlayerCommand::Restart);
    player.send(PlayerCommand::Advance(20));
    let second = wait_until(&player, |snapshot| snapshot.run > first.run && snapshot.step == 20);
    let noisy = SimulationSpec { noise: noise(2.0), ..spec.clone() };
    assert_same(&second, &reference(&noisy, 20));
    assert_eq!(record(&second), Record { spec: noisy, changes: Vec::new() });
    let other = simulation(0.5, 4, &all_rules(0.02)[..1]);
    player.send(PlayerCommand::Load(vec![Record { spec: other.clone(), changes: Vec::new() }]));
    let third = wait_until(&player, |snapshot| snapshot.run > second.run);
    assert_same(&third, &reference(&other, 0));
}

#[test]
fn a_sought_step_has_the_bits_the_trail_and_the_path_of_the_run() {
    const TRAIL: usize = 40;
    let spec = SimulationSpec { steps: Some(1000), ..simulation(1.0, 9, &all_rules(0.01)) };
    let player = spawn(&spec);
    player.send(PlayerCommand::Select(Some(ParticleId { optimizer: 3, particle: 8 })));
    player.send(PlayerCommand::TrailLength(TRAIL));
    player.send(PlayerCommand::Advance(1000));
    let last = wait_until_done(&player, 1000);
    let mut track = last.track;
    for step in [700, 701, 0, 20, 999] {
        player.send(PlayerCommand::Seek(step));
        let shown = wait_until(&player, |snapshot| snapshot.step == step);
        assert!(shown.track > track, "the trail starts again");
        track = shown.track;
        assert_eq!((shown.last_step, shown.playback), (1000, Playback::Paused));
        assert_same(&shown, &reference(&spec, step));
        let first = step.saturating_sub(TRAIL as u64);
        for (index, view) in shown.sessions[0].ensembles.iter().enumerate() {
            assert_eq!(view.columns.len() as u64, (step - first + 1) * 9);
            let oldest: Vec<_> = reference(&spec, first).ensembles()[index].positions().map(single).collect();
            assert_eq!(view.columns[..9], oldest);
            let path: Vec<_> =
                (0..=step).map(|step| last.sessions[0].ensembles[index].mean_path[step as usize]).collect();
            assert_eq!(view.mean_path[..view.mean_path.len() - 1], path);
            assert_eq!(view.mean_path.last(), path.last());
            assert_eq!(view.plot, last.sessions[0].ensembles[index].plot, "the plots show the whole run");
        }
        let trace = shown.sessions[0].step_trace.as_ref().map(|trace| trace.step());
        assert_eq!(trace, (step > 0).then_some(step), "the selected particle's step is that of the shown one");
    }
}

#[test]
fn playing_from_an_earlier_step_repeats_the_run_and_goes_on() {
    let spec = SimulationSpec { steps: Some(600), ..simulation(1.0, 9, &all_rules(0.01)) };
    let player = spawn(&spec);
    player.send(PlayerCommand::Speed(unlimited()));
    player.send(PlayerCommand::Advance(200));
    wait_until_done(&player, 200);
    player.send(PlayerCommand::Set(0, Setting::Noise(noise(2.0))));
    player.send(PlayerCommand::Advance(100));
    let last = wait_until_done(&player, 300);
    let changes = last.sessions[0].record.changes.clone();
    assert_eq!(changes.len(), 1);
    player.send(PlayerCommand::Seek(100));
    let shown = wait_until(&player, |snapshot| snapshot.step == 100);
    assert_eq!(shown.sessions[0].spec.noise, spec.noise, "the settings in force are those of the step");
    player.send(PlayerCommand::Play);
    let finished = wait_until_done(&player, 600);
    assert_eq!((finished.last_step, finished.playback), (600, Playback::Finished));
    assert_eq!(finished.sessions[0].spec.noise, noise(2.0));
    assert_eq!(record(&finished), Record { spec: spec.clone(), changes });
    let mut straight = Simulation::replay(record(&finished));
    (0..600).for_each(|_| straight.advance());
    assert_same(&finished, &straight);
}

#[test]
fn each_step_back_counts_however_fast_they_are_asked_for() {
    let spec = simulation(1.0, 9, &all_rules(0.01));
    let player = spawn(&spec);
    player.send(PlayerCommand::Advance(100));
    wait_until_done(&player, 100);
    (0..7).for_each(|_| player.send(PlayerCommand::Back(1)));
    player.send(PlayerCommand::Back(10));
    assert_same(&wait_until(&player, |snapshot| snapshot.step == 83), &reference(&spec, 83));
    player.send(PlayerCommand::Back(1000));
    assert_same(&wait_until(&player, |snapshot| snapshot.step == 0), &reference(&spec, 0));
    player.send(PlayerCommand::Seek(u64::MAX));
    assert_same(&wait_until(&player, |snapshot| snapshot.step == 100), &reference(&spec, 100));
}

#[test]
fn a_change_at_an_earlier_step_replaces_the_later_ones() {
    let spec = simulation(1.0, 9, &all_rules(0.01));
    let player = spawn(&spec);
    player.send(PlayerCommand::Advance(300));
    wait_until_done(&player, 300);
    player.send(PlayerCommand::Seek(120));
    player.send(PlayerCommand::Set(0, Setting::Noise(noise(0.25))));
    player.send(PlayerCommand::Advance(50));
    let shown = wait_until_done(&player, 170);
    assert_eq!(shown.last_step, 170);
    let mut fresh = reference(&spec, 120);
    fresh.apply(&Setting::Noise(noise(0.25))).expect("it fits");
    (0..50).for_each(|_| fresh.advance());
    assert_same(&shown, &fresh);
    for (view, history) in shown.sessions[0].ensembles.iter().zip(fresh.histories()) {
        assert_eq!(format!("{:?}", view.plot), format!("{:?}", history.view(&PlotRequest::default())));
        assert_eq!(view.mean_path.len(), 172, "the path is that of the new steps");
    }
}

#[test]
fn a_setting_that_does_not_fit_is_refused_and_harmless() {
    let spec = simulation(1.0, 3, &all_rules(0.01));
    let player = spawn(&spec);
    player.send(PlayerCommand::Set(0, Setting::Rule { optimizer: 99, rule: signum(0.1, 0.9, 0.1) }));
    player.send(PlayerCommand::Set(0, Setting::Rule { optimizer: 1, rule: signum(0.1, 0.9, 0.1) }));
    player.send(PlayerCommand::Select(Some(ParticleId { optimizer: 99, particle: 1_000_000 })));
    player.send(PlayerCommand::Select(Some(ParticleId { optimizer: 1, particle: 1_000_000 })));
    player.send(PlayerCommand::Advance(30));
    let snapshot = wait_until_done(&player, 30);
    assert_same(&snapshot, &reference(&spec, 30));
    assert!(snapshot.sessions[0].step_trace.is_none());
    assert!(record(&snapshot).changes.is_empty());
}

#[test]
fn snapshots_wake_the_window_and_the_thread_ends_with_its_handle() {
    let (waker, woken): (_, Receiver<()>) = channel();
    let player = Player::spawn(simulation(1.0, 3, &all_rules(0.01)), move || {
        // The receiver exists until the end.
        let _ = waker.send(());
    });
    woken.recv_timeout(PATIENCE).expect("woken for the first snapshot");
    assert!(player.try_snapshot().is_some(), "woken means that there is a snapshot");
    player.send(PlayerCommand::Speed(unlimited()));
    player.send(PlayerCommand::Play);
    woken.recv_timeout(PATIENCE).expect("woken while it plays");
    drop(player);
    // The closure is dropped with the thread, and the channel with the closure.
    while woken.recv_timeout(PATIENCE).is_ok() {}
    assert_eq!(woken.try_recv(), Err(std::sync::mpsc::TryRecvError::Disconnected));
}

#[test]
fn a_held_run_takes_only_requested_steps_and_then_continues() {
    let spec = simulation(1.0, 9, &all_rules(0.01));
    let player = spawn(&spec);
    player.send(PlayerCommand::Speed(unlimited()));
    player.send(PlayerCommand::Hold(true));
    player.send(PlayerCommand::Play);
    let held = wait_until(&player, |snapshot| snapshot.playback == Playback::Playing);
    assert_eq!(held.step, 0, "it plays, as far as can be seen, but takes no step");
    player.send(PlayerCommand::Set(0, Setting::Noise(noise(0.5))));
    let held = wait_until(&player, |snapshot| snapshot.sessions[0].spec.noise.sigma() == 0.5);
    assert_eq!((held.step, held.playback), (0, Playback::Playing));
    player.send(PlayerCommand::Hold(false));
    wait_until(&player, |snapshot| snapshot.step > 0);
    player.send(PlayerCommand::Hold(true));
    player.send(PlayerCommand::Pause);
    let paused = wait_until(&player, |snapshot| snapshot.playback == Playback::Paused);
    player.send(PlayerCommand::Advance(3));
    assert_eq!(wait_until_done(&player, paused.step + 3).step, paused.step + 3);
}
