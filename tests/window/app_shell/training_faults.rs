//! Runs that have failed, are damaged or were lost.

use std::time::Duration;

use egui::accesskit::Role;
use egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};
use valleyscope_runs::{Event, EventRecord, RunFolder, Timestamp};

use super::harness::{App, Begin};
use super::training::{begun, finished, listed, open_tab, select};

/// Makes a run look as if its worker were on another machine with a last heartbeat `seconds` ago.
fn lose(run: &RunFolder, seconds: u64) {
    let heard = Timestamp::now() - Duration::from_secs(seconds);
    let events = std::fs::read_to_string(run.events()).expect("it can be read");
    let old = |line: &str| {
        let record = EventRecord::parse(line.as_bytes()).expect("a record");
        EventRecord { time: heard, ..record }.to_line() + "\n"
    };
    std::fs::write(run.events(), events.lines().map(old).collect::<String>()).expect("it can be written");
    std::fs::write(run.heartbeat(), format!("{heard}\n")).expect("it can be written");
    let holder = r#"{"host":"far-away","pid":1,"started":"2026-03-01T12:00:00Z","lines":0}"#;
    std::fs::write(run.lock(), holder).expect("it can be written");
}

#[test]
fn a_silent_run_can_be_deleted_and_resumed_after_a_question() {
    let (mut app, ()) = open_tab(|runs| {
        for (title, seconds) in [("Lost", 1200), ("Silent", 300)] {
            let run = begun(runs, title, 0, |_| 1.0).run().clone();
            lose(&run, seconds);
        }
    });
    listed(&mut app, 2);
    select(&mut app, "Silent");
    app.until("its status", |app| app.shows("last seen 5 min ago, on far-away"));
    let delete = app.harness.get_by_role_and_label(Role::Button, "Delete the run");
    assert!(delete.accesskit_node().is_disabled());
    let resume = app.harness.get_by_role_and_label(Role::Button, "Resume the run");
    assert!(resume.accesskit_node().is_disabled());
    select(&mut app, "Lost");
    app.until("its status", |app| app.shows("last seen 20 min ago, on far-away"));
    for (asked, question) in
        [("Delete the run", "Move this run to the trash?"), ("Resume the run", "Resume this run here?")]
    {
        app.button(asked);
        app.settle();
        assert!(app.shows(question));
        assert!(app.shows("It was last seen 20 min ago, on far-away"));
        app.harness.key_press(Key::Escape);
        app.settle();
        assert!(!app.shows(question));
    }
}

#[test]
fn a_run_with_a_changed_config_is_not_resumed_and_damage_is_shown() {
    let (mut app, ()) = open_tab(|runs| {
        let run = begun(runs, "Cut", 0, |_| 1.0).run().clone();
        let events = std::fs::read_to_string(run.events()).expect("it can be read");
        let changed = events.replacen("\"loss\":", "\"loss\"", 1);
        std::fs::write(run.events(), changed).expect("it can be written");
        let config = std::fs::read_to_string(run.config()).expect("it can be read");
        assert!(config.contains("steps: 400"), "{config}");
        std::fs::write(run.config(), config.replace("steps: 400", "steps: 500")).expect("it can be written");
    });
    listed(&mut app, 1);
    select(&mut app, "Cut");
    app.until("the damage", |app| app.shows("events.jsonl is damaged: skipped 1 line that is no event"));
    app.button("Resume the run");
    app.until("the refusal", |app| app.shows("config.ron is not the one that the run was begun with"));
    assert!(app.shows("`steps` was 400 and is 500"));
}

#[test]
fn a_repaired_folder_of_runs_is_no_longer_reported() {
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    let file = place.path().join("runs");
    std::fs::write(&file, "").expect("it can be written");
    let mut app = App::begin(Begin { runs: Some(&file), ..Begin::default() });
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::Num3);
    app.until("the trouble", |app| app.shows("cannot look into"));
    std::fs::remove_file(&file).expect("it can be removed");
    app.until("its end", |app| !app.shows("cannot look into"));
}

#[test]
fn a_summary_with_a_nan_loss_equals_itself() {
    let (mut app, _) = open_tab(|runs| finished(runs, "Broken", 0, |_| f64::NAN));
    listed(&mut app, 1);
    let [run] = app.state().training().runs() else { panic!("one run is listed") };
    assert!(run.loss().is_some_and(f64::is_nan));
    assert_eq!(*run, run.clone());
    let mut other = (**run).clone();
    other.evaluated.clear();
    assert_ne!(**run, other);
}

#[test]
fn the_reason_of_a_failure_the_log_and_the_config_can_be_read() {
    let (mut app, _) = open_tab(|runs| {
        let mut session = begun(runs, "Broken", 0, |_| f64::NAN);
        std::fs::write(session.run().log(), "loading libraries\ngoing down\n").expect("a log can be written");
        let message = "the GPU is out of memory".to_owned();
        session.record(20, Event::Failed { message }).expect("it can be written");
    });
    listed(&mut app, 1);
    select(&mut app, "Broken");
    app.until("the log", |app| app.harness.query_by_label("Log of the run").is_some());
    assert!(app.shows("failed: the GPU is out of memory"));
    let text = |app: &App, name: &str| app.harness.get_by_label(name).value().unwrap_or_default();
    assert!(text(&app, "Log of the run").contains("going down"));
    app.button("Configuration");
    app.settle();
    assert!(text(&app, "Configuration of the run").contains("Mnist("));
}
