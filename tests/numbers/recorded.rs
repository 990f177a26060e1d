//! Recorded clouds in the player, beside the ensembles of a simulation.

use std::io::Cursor;
use std::path::Path;
use std::time::Duration;

use valleyscope::export::TrajectoryArrays;
use valleyscope::player::{EnsembleView, Playback, Player, PlayerCommand, RecordedCloud, Snapshot};
use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_engine::quantity::LearningRate;
use valleyscope_engine::simulation::{Setting, Simulation, SimulationSpec};
use valleyscope_experiments::preset::LandscapePreset;

use crate::specs::{noise, simulation, valley};

/// A time limit long enough for any machine; only a failing test reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

fn spec() -> SimulationSpec {
    let rated = |kind| RuleSpec::on_plane(kind).rated(LearningRate::new(0.01).unwrap());
    simulation(1.0, 5, &[RuleKind::Adam, RuleKind::Signum].map(rated))
}

/// Records some steps as `valleyscope simulate` does, and reads them with ids from 101 on.
fn recorded(spec: &SimulationSpec, steps: u64, every: u64) -> Vec<RecordedCloud> {
    let mut arrays = TrajectoryArrays::new(LandscapePreset::new("Recorded", spec.clone()), 0);
    let mut simulation = Simulation::new(spec.clone());
    arrays.record(&simulation);
    while simulation.step() < steps {
        simulation.advance();
        if simulation.step().is_multiple_of(every) {
            arrays.record(&simulation);
        }
    }
    let mut archive = Cursor::new(Vec::new());
    arrays.write(&mut archive).unwrap();
    archive.set_position(0);
    let mut clouds = RecordedCloud::read_archive(archive, Path::new("run.npz")).unwrap();
    (101..).zip(&mut clouds).for_each(|(id, cloud)| cloud.optimizer.id = id);
    clouds
}

fn player(clouds: &[RecordedCloud]) -> Player {
    let player = Player::spawn(spec(), || {});
    player.send(PlayerCommand::TrailLength(10));
    player.send(PlayerCommand::Recorded(clouds.to_vec()));
    player
}

/// Returns the first snapshot of a resting player at this step that `holds`.
#[track_caller]
fn shown(player: &Player, step: u64, holds: impl Fn(&Snapshot) -> bool) -> Snapshot {
    loop {
        let snapshot = player.wait_snapshot(PATIENCE).expect("there is a snapshot within a minute");
        if snapshot.step == step && snapshot.playback != Playback::Playing && holds(&snapshot) {
            return snapshot;
        }
    }
}

fn advance_to(player: &Player, from: u64, to: u64) -> Snapshot {
    player.send(PlayerCommand::Advance(to - from));
    shown(player, to, |_| true)
}

fn seek(player: &Player, step: u64) -> Snapshot {
    player.send(PlayerCommand::Seek(step));
    shown(player, step, |_| true)
}

fn newest(view: &EnsembleView) -> &[[f32; 2]] {
    &view.columns[view.columns.len() - view.particles..]
}

/// Checks that the two clouds of a snapshot are at the positions of its two ensembles, with the same losses.
#[track_caller]
fn assert_repeats(snapshot: &Snapshot) {
    let [adam, signum, of_adam, of_signum] = &snapshot.sessions[0].ensembles[..] else { panic!("four ensembles") };
    for (simulated, recorded) in [(adam, of_adam), (signum, of_signum)] {
        assert_eq!(newest(simulated), newest(recorded));
        let [expected, found] = [simulated, recorded].map(|view| view.sample.loss.mean);
        assert!((expected - found).abs() <= 1e-12 * expected.abs().max(1e-3), "{expected} and {found}");
    }
}

#[test]
fn a_recorded_cloud_repeats_its_ensemble_in_both_directions_and_stays_at_its_end() {
    let clouds = recorded(&spec(), 60, 1);
    let names: Vec<_> = clouds.iter().map(|cloud| cloud.optimizer.name.clone().unwrap()).collect();
    assert_eq!(names, ["Adam, recorded", "Signum, recorded"]);
    let player = player(&clouds);
    let first = advance_to(&player, 0, 40);
    assert_repeats(&first);
    let [plot, of_cloud] = [0, 2].map(|index| &first.sessions[0].ensembles[index].plot);
    assert_eq!([plot.len(), of_cloud.len()], [41, 41]);
    let earlier = seek(&player, 25);
    assert_repeats(&earlier);
    let [adam, _, recorded, _] = &earlier.sessions[0].ensembles[..] else { panic!("four ensembles") };
    assert_eq!(adam.columns.len(), 11 * 5, "a seek makes the whole trail");
    assert_eq!(adam.columns, recorded.columns);
    assert_eq!(adam.mean_path.len(), recorded.mean_path.len());
    assert_repeats(&advance_to(&player, 25, 60));

    let beyond = advance_to(&player, 60, 100);
    let stays = &beyond.sessions[0].ensembles[2];
    let last: Vec<_> = clouds[0].recording.positions_at(60).iter().map(|xy| xy.map(|value| value as f32)).collect();
    assert_eq!(newest(stays), last);
    assert_eq!(stays.plot.last().map(|bucket| bucket.first_step + bucket.steps), Some(61), "its curve ends");
    assert_repeats(&seek(&player, 12));
}

#[test]
fn between_recorded_steps_a_cloud_is_at_the_last_one() {
    let clouds = recorded(&spec(), 40, 10);
    assert_eq!(clouds[0].recording.steps[..], [0, 10, 20, 30, 40]);
    let player = player(&clouds);
    let at_20 = newest(&advance_to(&player, 0, 20).sessions[0].ensembles[2]).to_vec();
    assert_eq!(newest(&advance_to(&player, 20, 29).sessions[0].ensembles[2]), at_20);
    assert_repeats(&advance_to(&player, 29, 30));
}

#[test]
fn losses_of_a_cloud_are_those_of_the_landscape_in_force_at_all_steps() {
    let player = player(&recorded(&spec(), 60, 1));
    let first = |snapshot: &Snapshot| snapshot.sessions[0].ensembles[2].plot[0].loss.mean;
    let before = first(&advance_to(&player, 0, 40));
    let steep = valley(20.0, 0.2, 30.0);
    player.send(PlayerCommand::Set(0, Setting::Landscape(steep)));
    let after = first(&shown(&player, 40, |snapshot| snapshot.sessions[0].spec.landscape == steep));
    let expected =
        |landscape| Simulation::new(SimulationSpec { landscape, ..spec() }).ensembles()[0].sample().loss.mean;
    assert_eq!([before, after], [expected(spec().landscape), expected(steep)]);
    // Before the change, the session has the first landscape.
    assert_eq!(first(&seek(&player, 30)), before);
}

#[test]
fn clouds_stay_with_the_session_and_not_with_its_branches() {
    let player = player(&recorded(&spec(), 60, 1));
    advance_to(&player, 0, 40);
    seek(&player, 20);
    player.send(PlayerCommand::Set(0, Setting::Noise(noise(0.25))));
    let branched = shown(&player, 20, |snapshot| snapshot.branches.len() == 1);
    assert_eq!(branched.sessions[0].ensembles.len(), 4);
    assert_eq!(branched.branches[0].session.ensembles.len(), 2);
    player.send(PlayerCommand::GoBackTo(branched.branches[0].id));
    let back = shown(&player, 20, |snapshot| snapshot.last_step == 40);
    assert_repeats(&back);
    assert_eq!(back.branches[0].session.ensembles.len(), 2);
    player.send(PlayerCommand::Restart);
    assert_eq!(shown(&player, 0, |_| true).sessions[0].ensembles.len(), 4);
    player.send(PlayerCommand::Recorded(Vec::new()));
    shown(&player, 0, |snapshot| snapshot.sessions[0].ensembles.len() == 2);
}
