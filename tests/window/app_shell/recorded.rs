//! Recorded clouds in the window: opening their files, their cards, and looking back.

use std::fs::File;
use std::path::PathBuf;

use valleyscope::export::{NpzWriter, TrajectoryArrays};
use valleyscope_engine::simulation::Simulation;
use valleyscope_experiments::preset::Preset;

use super::harness::{App, Begin, PLAIN};
use super::timeline::{seek, steps, take_tens};

/// The last step of [`walk`].
const LAST: usize = 12;

/// Returns the position of a particle of [`walk`] at a step.
fn at(particle: usize, step: usize) -> [f64; 2] {
    [0.5 * step as f64, particle as f64 - 0.25 * step as f64]
}

/// Writes the positions of three particles at 12 steps and the start, as any program may write them.
fn walk(app: &App, name: &str) -> PathBuf {
    let path = app.folder.path().join(name);
    let mut file = File::create(&path).expect("the test's folder can be written");
    let mut npz = NpzWriter::new(&mut file);
    let all = (0..3).flat_map(|particle| (0..=LAST).flat_map(move |step| at(particle, step)));
    npz.array("positions", &[3, LAST + 1, 2], all.map(|value| value as f32)).expect("it is written");
    npz.finish().expect("it is written");
    path
}

/// Writes the first steps of [`PLAIN`], as `valleyscope simulate` does.
fn plain(app: &App, steps: u64) -> PathBuf {
    let Ok(Preset::Landscape(preset)) = Preset::parse(PLAIN, "test") else { panic!("a landscape") };
    let mut simulation = Simulation::new(preset.spec().clone());
    let mut arrays = TrajectoryArrays::new(preset, 0);
    arrays.record(&simulation);
    while simulation.step() < steps {
        simulation.advance();
        arrays.record(&simulation);
    }
    let path = app.folder.path().join("plain.npz");
    arrays.write(File::create(&path).expect("the test's folder can be written")).expect("it is written");
    path
}

fn ensembles(app: &App) -> usize {
    app.state().live().session(0).map_or(0, |session| session.ensembles.len())
}

/// Checks that the last cloud is at the positions of a step of [`walk`].
#[track_caller]
fn assert_at(app: &App, step: usize) {
    let view = app.state().live().visible(0).last().expect("it is shown");
    let newest = &view.columns[view.columns.len() - view.particles..];
    let expected: Vec<[f32; 2]> = (0..3).map(|particle| at(particle, step).map(|value| value as f32)).collect();
    assert_eq!(newest, expected);
}

/// Pauses the run, which plays when a recording is opened, and goes back to its start.
fn begin_again(app: &mut App) {
    app.until("the run", |app| app.state().live().is_playing());
    app.button("Pause").button("Restart");
    app.until("the start", |app| steps(app) == [0, 0] && !app.state().live().is_playing());
}

#[test]
fn a_file_of_another_program_is_shown_at_each_step_with_a_card_and_curves() {
    let mut app = App::plain();
    let path = walk(&app, "walk.npz");
    app.open(&path);
    app.until("the cloud", |app| ensembles(app) == 3);
    begin_again(&mut app);
    app.settle();
    assert_at(&app, 0);
    assert!(app.shows("walk.npz: 3 particles, 12 steps"), "the card names the file and its size");
    assert!(app.shows("Show walk, recorded"), "it is in the legend");
    assert!(!app.shows("Settings have left"), "a file without settings has none to leave");
    take_tens(&mut app, 2);
    app.settle();
    assert_at(&app, LAST);
    assert!(app.shows("It ends at step 12: the particles stay at their last positions."));
    for step in [7, 3, 11, 0] {
        seek(&mut app, step);
        app.settle();
        assert_at(&app, step as usize);
        assert!(!app.shows("It ends at step 12"));
    }
    let view = app.state().live().visible(0).last().cloned().expect("it is shown");
    assert_eq!(view.plot.last().map(|bucket| bucket.first_step + bucket.steps), Some(LAST as u64 + 1));
    app.button("walk, recorded: remove");
    app.until("its removal", |app| ensembles(app) == 2);
    assert!(!app.shows("walk.npz: "));
}

#[test]
fn clouds_of_this_program_have_the_names_of_their_optimizers_and_note_other_settings() {
    let mut app = App::plain();
    let path = plain(&app, 30);
    app.drop(&path);
    app.until("both clouds", |app| ensembles(app) == 4);
    begin_again(&mut app);
    app.settle();
    assert!(app.shows("Show Adam, recorded") && app.shows("Show FOCUS, recorded"));
    assert!(app.shows("plain.npz: 100 particles, 30 steps"));
    take_tens(&mut app, 1);
    let views: Vec<_> = app.state().live().visible(0).cloned().collect();
    let newest = |index: usize| &views[index].columns[views[index].columns.len() - 100..];
    assert_eq!(newest(0), newest(2), "a cloud is where the optimizer that made it is again");
    assert_eq!(newest(1), newest(3));
    assert!(!app.shows("Settings have left"));
    app.set_slider("Noise σ", 0.5);
    app.settle();
    assert!(app.shows("Settings have left those of the recording: σ 1 → 0.5."));
    // Opened again, the clouds replace those that are shown.
    app.open(&path);
    app.until("the notice", |app| app.shows("Opened 2 recorded clouds of plain.npz"));
    app.settle();
    assert_eq!(ensembles(&app), 4);
}

#[test]
fn a_recorded_particle_is_not_selected() {
    let mut app = App::plain();
    let path = walk(&app, "walk.npz");
    app.open(&path);
    app.until("the cloud", |app| ensembles(app) == 3);
    app.settle();
    let live = app.state().live();
    let simulated: Vec<u32> = live.sessions()[0].spec.optimizers.iter().map(|optimizer| optimizer.id).collect();
    assert!(live.recorded.iter().all(|cloud| !simulated.contains(&cloud.optimizer.id)));
    app.button("Show");
    let selected = app.state().live().selected.expect("a particle is selected");
    assert!(simulated.contains(&selected.optimizer));
}

#[test]
fn a_bad_file_is_refused_with_what_was_expected_and_what_to_do() {
    let mut app = App::plain();
    let text = app.write("text.npz", "no archive");
    app.drop(&text);
    app.until("the first report", |app| app.shows("text.npz was not opened"));
    assert!(app.shows("it does not begin like one") && app.shows("np.savez(file, positions=…)"));

    let path = app.folder.path().join("other.npz");
    let mut file = File::create(&path).expect("the test's folder can be written");
    let mut npz = NpzWriter::new(&mut file);
    npz.array("velocities", &[1, 1, 2], [0.0, 1.0]).expect("it is written");
    npz.finish().expect("it is written");
    app.drop(&path);
    app.until("the second report", |app| app.shows("other.npz was not opened"));
    assert!(app.shows("expected an array `positions`, found velocities"));
    assert_eq!(ensembles(&app), 2);
}

#[test]
fn the_next_session_opens_the_clouds_again_or_reports_once_that_the_file_is_gone() {
    let mut app = App::plain();
    let path = walk(&app, "walk.npz");
    app.open(&path);
    app.until("the cloud", |app| ensembles(app) == 3);
    app.set_color("walk, recorded: colour", "R", 200);
    let color = app.state().live().recorded[0].optimizer.color;
    assert!(color.is_some_and(|[red, ..]| red == 200));
    let storage = app.state().session();
    let mut again = App::begin(Begin { preset: None, storage: Some(&storage), ..Begin::default() });
    again.until("the cloud", |app| ensembles(app) == 3);
    assert_eq!(again.state().live().recorded[0].optimizer.color, color);
    take_tens(&mut again, 1);
    assert_eq!(steps(&again), [10, 10]);
    assert_at(&again, 10);

    std::fs::remove_file(&path).expect("the file can be removed");
    let storage = again.state().session();
    let mut without = App::begin(Begin { preset: None, storage: Some(&storage), ..Begin::default() });
    without.until("the report", |app| app.shows("Recorded clouds of the last session were not opened"));
    assert!(without.shows("walk.npz"));
    let storage = without.state().session();
    let mut later = App::begin(Begin { preset: None, storage: Some(&storage), ..Begin::default() });
    later.settle();
    assert!(!later.shows("were not opened"));
}
