//! The worker's set-up in the window, simulated by the test with a script as its command.

use std::path::Path;

use egui::accesskit::Role;
use egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};
use valleyscope::app::{InstallCommand, WorkerState};
use valleyscope_machine::{SetUp, SetUpState, WorkerFolder};

use super::harness::{App, Begin};
#[cfg(unix)]
use crate::put_program::put_program;

fn open_tab(install: Option<InstallCommand>, prepare: impl FnOnce(&WorkerFolder)) -> App {
    let begin = Begin { install, ..Begin::default() };
    let mut app = App::prepared(begin, |folder| prepare(&WorkerFolder::at(&folder.join("worker"))));
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::Num3);
    app.settle();
    app
}

fn folder(app: &App) -> WorkerFolder {
    WorkerFolder::at(&app.folder.path().join("worker"))
}

fn missing(app: &mut App) {
    app.until("the search for the worker", |app| matches!(app.state().training().worker(), WorkerState::Missing(_)));
    app.settle();
}

fn stands(app: &mut App, state: SetUpState) {
    app.until("the set-up's word", |app| app.state().training().set_up().is_some_and(|it| it.state == state));
    app.settle();
}

/// Returns a command that runs this shell script.
#[cfg(unix)]
fn script(text: &str) -> InstallCommand {
    let arguments = vec!["-c".to_owned(), text.to_owned()];
    InstallCommand { program: "/bin/sh".into(), arguments, folder: std::env::temp_dir() }
}

/// Installs a worker with valid answers.
#[cfg(unix)]
fn put_worker(folder: &WorkerFolder) {
    let answer = valleyscope_runs::Handshake {
        version: "0.1.0".to_owned(),
        protocol: valleyscope_runs::PROTOCOL,
        libtorch: "2.11.0".to_owned(),
        ..Default::default()
    };
    put_program(&folder.program(), &format!("#!/bin/sh\necho '{}'", answer.to_line()));
}

#[test]
fn without_a_source_folder_only_the_command_is_shown_and_why() {
    let mut app = open_tab(None, |_| ());
    missing(&mut app);
    assert!(app.shows("This program does not find its source folder"));
    assert!(app.shows("cargo xtask setup"));
    assert!(app.harness.query_by_role_and_label(Role::Button, "Install the training worker").is_none());
}

#[test]
#[cfg(unix)]
fn install_shows_the_size_and_then_the_set_up_until_the_worker_is_ready() {
    let mut app = open_tab(Some(script("echo begun > worker-was-asked-for")), |_| ());
    missing(&mut app);
    app.button("Install the training worker");
    app.settle();
    assert!(app.shows("Install the training worker?"));
    assert!(app.shows("GB"), "the size is told");
    app.button("Not now");
    app.settle();
    assert!(!app.shows("Install the training worker?"));

    // The set-up starts before the script ends, as the real one does soon after.
    app.button("Install the training worker");
    app.settle();
    let folder = folder(&app);
    let set_up = SetUp::begin(&folder).expect("a set-up can begin");
    set_up.report(SetUpState::Working, "Downloading and unpacking PyTorch", (1, 3), Some(42));
    app.button("Install");
    stands(&mut app, SetUpState::Working);
    assert!(app.shows("The training worker is being set up"));
    assert!(app.shows("Step 1 of 3: Downloading and unpacking PyTorch"));
    let percent = app.harness.get_by_label("Progress of the step").accesskit_node().numeric_value();
    assert!(percent.is_some_and(|percent| (percent - 42.0).abs() <= 1.0), "{percent:?}");

    put_worker(&folder);
    set_up.report(SetUpState::Done, "The training worker works.", (3, 3), None);
    drop(set_up);
    app.until("the worker", |app| matches!(app.state().training().worker(), WorkerState::Ready(_)));
    app.settle();
    assert!(!app.shows("The training worker"));
    let start = app.harness.get_by_role_and_label(Role::Button, "Start the training");
    assert!(!start.accesskit_node().is_disabled());
}

#[test]
#[cfg(unix)]
fn a_set_up_that_cannot_start_shows_the_reason() {
    let mut app = open_tab(Some(script("echo 'error: no such command: xtask' >&2; exit 101")), |_| ());
    missing(&mut app);
    app.button("Install the training worker");
    app.settle();
    app.button("Install");
    app.until("the refusal", |app| app.shows("no such command: xtask"));
    app.settle();
    assert!(app.shows("The set-up did not start"));
    let install = app.harness.get_by_role_and_label(Role::Button, "Install the training worker");
    assert!(!install.accesskit_node().is_disabled());
}

#[test]
fn a_running_set_up_is_shown_and_can_be_cancelled() {
    let mut set_up = None;
    let mut app = open_tab(None, |folder| {
        let begun = SetUp::begin(folder).expect("a set-up can begin");
        begun.report(SetUpState::Working, "Building the training worker", (2, 3), None);
        set_up = Some(begun);
    });
    let set_up = set_up.expect("it has begun");
    stands(&mut app, SetUpState::Working);
    assert!(app.shows("Step 2 of 3: Building the training worker"));
    app.button("Cancel the set-up of the worker");
    app.until("the wish", |_| set_up.is_cancelled());
    set_up.report(SetUpState::Cancelled, "The set-up of the training worker was cancelled.", (2, 3), None);
    drop(set_up);
    stands(&mut app, SetUpState::Cancelled);
    missing(&mut app);
    assert!(app.shows("The set-up of the training worker was cancelled."));
    assert!(app.shows("cargo xtask setup"));
}

#[test]
fn a_set_up_that_failed_shows_its_reason_and_the_end_of_its_log() {
    let install = InstallCommand { program: "sh".into(), arguments: Vec::new(), folder: Path::new("/").to_owned() };
    let mut app = open_tab(Some(install), |folder| {
        let set_up = SetUp::begin(folder).expect("a set-up can begin");
        std::fs::write(folder.log(), "xtask: Looking for PyTorch\nERROR: surprise\n").expect("a log can be written");
        set_up.report(SetUpState::Failed, "There is no room left on the disk: make some.", (1, 3), None);
    });
    missing(&mut app);
    assert!(app.shows("The set-up failed: There is no room left on the disk"));
    assert!(app.harness.query_by_role_and_label(Role::Button, "Install the training worker").is_some());
    app.harness.get_by_label("Log").click_accesskit();
    app.harness.run_steps(3);
    app.settle();
    let log = app.harness.get_by_label("Log of the set-up").value().unwrap_or_default();
    assert!(log.contains("ERROR: surprise"), "{log}");
    app.button("Copy the log of the set-up");
    assert!(app.shows("Copied the end of the log."));
}

#[test]
fn a_killed_set_up_is_shown_as_interrupted() {
    let mut app = open_tab(None, |folder| {
        let set_up = SetUp::begin(folder).expect("a set-up can begin");
        set_up.report(SetUpState::Working, "Building the training worker", (2, 3), Some(50));
    });
    stands(&mut app, SetUpState::Interrupted);
    missing(&mut app);
    assert!(app.shows("The set-up was interrupted. Its last message: Building the training worker"));
}
