//! Forks that are started from the window, with a script as the worker.

use std::path::Path;

use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT, Queryable};
use valleyscope_experiments::preset::Preset;
use valleyscope_runs::{Event, MetricId, RunFolder, RunReader};

use super::harness::{App, Begin};
use super::queue::{at_work, end, ready};
use super::training::{listed, trained};

/// Writes a checkpoint of a single tensor of four numbers.
pub fn checkpoint(run: &RunFolder, step: u64) {
    let header = br#"{"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}"#;
    let tensors = [&(header.len() as u64).to_le_bytes()[..], header, &[7; 16]].concat();
    let preset = Preset::read(&run.config()).expect("it was written").to_ron();
    let text = |text_sum: u32, crc32: u32| {
        format!(
            "(version: 1, step: {step}, wall_s: 1.0, optimizer_steps: {step}, powers: {{}}, best: None, data: \"digits\", \
             config: \"\", preset: {preset:?}, since: None, bytes: {}, text_sum: {text_sum}, crc32: {crc32})",
            tensors.len()
        )
    };
    let sum = crc32fast::hash(&[&tensors[..], text(0, 0).as_bytes()].concat());
    let path = run.path().join(format!("checkpoint-{step:08}.safetensors"));
    std::fs::write(path.with_extension("ron"), text(crc32fast::hash(text(0, sum).as_bytes()), sum))
        .expect("it can be written");
    std::fs::write(path, tensors).expect("it can be written");
}

/// Opens the window with the only run of a folder shown, which has checkpoints of steps 10 and 20.
fn shown(place: &Path, run: &RunFolder) -> App {
    [10, 20].into_iter().for_each(|step| checkpoint(run, step));
    let mut app = ready(Begin { runs: Some(place), ..Begin::default() });
    listed(&mut app, 1);
    let row = format!("Run {}", app.state().training().runs()[0].in_full());
    app.button(&row);
    app.settle();
    app
}

/// Takes the settings of the shown run, to continue from its checkpoint of step 10.
fn fork(app: &mut App) {
    app.until("its checkpoints", |app| {
        let fork = app.harness.query_by_role_and_label(Role::Button, "Fork the run");
        fork.is_some_and(|button| !button.accesskit_node().is_disabled())
    });
    app.button("Fork the run");
    app.settle();
    let chosen = app.harness.get_by_role_and_label(Role::RadioButton, "step 20, the newest");
    assert_eq!(chosen.accesskit_node().toggled(), Some(egui::accesskit::Toggled::True));
    app.click(Role::RadioButton, "step 10");
    app.button("Take the settings");
    app.settle();
}

#[test]
fn a_fork_is_begun_from_a_run_and_undone_before() {
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    let run = trained(place.path(), &[("learning_rate", "0.003"), ("steps", "40")]);
    let mut app = shown(place.path(), &run);
    let line = format!("Forks {} at step 10", run.name());
    fork(&mut app);
    assert!(app.shows(&line));
    app.button("Do not fork");
    app.settle();
    assert!(!app.shows(&line));
    fork(&mut app);
    app.button("Start the training");
    let new = at_work(&mut app, place.path(), 2);
    let mut reader = RunReader::new(new.clone());
    reader.poll().expect("it can be read");
    let forked = reader.history().forked().expect("it is a fork").clone();
    assert_eq!((forked.from_run, forked.from_step, forked.keeps_optimizer), (run.name(), 10, true));
    let config = Preset::read(&new.config()).expect("it was written");
    assert_eq!(config, Preset::read(&run.config()).expect("it was written"));
    // Its curve is that of the other run, up to the fork.
    assert_eq!(reader.history().curve(MetricId::LOSS).step, (1..=10).collect::<Vec<_>>());
    app.until("where it comes from", |app| app.shows(&format!("forked from {} at step 10", run.name())));
    app.until("its line in the list", |app| app.shows(&format!("fork of {} at step 10", run.name())));
    assert!(!app.shows(&line), "the next run begins at step 0");
    app.until("its curve", |app| {
        let mut drawn = app.state().training().drawn().iter();
        drawn.any(|drawn| {
            drawn.runs == [new.clone()] && drawn.tracks.get(&MetricId::LOSS).is_some_and(|it| it.len() == 10)
        })
    });
    app.settle();
    end(&new, Event::Finished);
}

#[test]
fn a_fork_that_was_not_started_is_dropped_at_the_next_start() {
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    let run = trained(place.path(), &[("learning_rate", "0.003"), ("steps", "40")]);
    let mut app = shown(place.path(), &run);
    fork(&mut app);
    assert!(app.shows(&format!("Forks {} at step 10", run.name())));
    let storage = app.state().session();
    let again = Begin { preset: None, runs: Some(place.path()), storage: Some(&storage), ..Begin::default() };
    let mut again = ready(again);
    listed(&mut again, 1);
    let config = Preset::read(&run.config()).expect("it was written");
    assert_eq!(*again.state().training().preset(), config, "the settings come back");
    assert!(!again.shows("Forks "));
}

#[test]
fn a_run_that_cannot_be_forked_is_reported_at_the_start() {
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    let run = trained(place.path(), &[("steps", "40")]);
    let mut app = shown(place.path(), &run);
    fork(&mut app);
    std::fs::remove_dir_all(run.path()).expect("it can be removed");
    app.button("Start the training");
    app.until("the refusal", |app| app.shows("It cannot be forked: there is no folder"));
    assert!(RunFolder::list(place.path()).expect("it can be read").is_empty(), "nothing is left of it");
}

#[test]
fn a_fork_without_steps_left_is_reported_at_the_field() {
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    let run = trained(place.path(), &[("steps", "10")]);
    let mut app = shown(place.path(), &run);
    fork(&mut app);
    let refusal = "steps must be more than 10, the step that the fork goes on from, found 10";
    assert!(app.shows(refusal) && app.shows("“Steps” can't be used as it is; see below."));
    assert!(app.harness.get_by_role_and_label(Role::Button, "Start the training").accesskit_node().is_disabled());
    app.button("Do not fork");
    app.settle();
    assert!(!app.shows(refusal));
}
