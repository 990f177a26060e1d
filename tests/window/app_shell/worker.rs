//! The worker's set-up in the window, simulated by the test with a script as its command.

use std::fs;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use egui::accesskit::Role;
use egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};
use valleyscope::app::{InstallCommand, WorkerState};
use valleyscope_engine::quantity::BatchSize;
use valleyscope_experiments::preset::{Preset, built_ins};
use valleyscope_experiments::workload::{DeviceChoice, MnistSpec};
use valleyscope_machine::{SetUp, SetUpState, WorkerFolder};
use valleyscope_runs::{
    Device, Event, EventRecord, Handshake, PROTOCOL, Queue, RunCommand, RunFolder, RunReader, Started, Status,
    Timestamp, host, send,
};

use super::harness::{App, Begin};
#[cfg(unix)]
use crate::put_program::put_program;

fn open_tab(install: Option<InstallCommand>, prepare: impl FnOnce(&WorkerFolder)) -> App {
    let begin = Begin { install, ..Begin::default() };
    let mut app = App::prepared(begin, |folder| prepare(&WorkerFolder::at(&folder.join("worker"))));
    app.keys(Modifiers::COMMAND, Key::Num3);
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
    app.button("Install the training worker").settle();
    assert!(app.shows("Install the training worker?"));
    assert!(app.shows("GB"), "the size is told");
    app.button("Not now").settle();
    assert!(!app.shows("Install the training worker?"));

    // The set-up starts before the script ends, as the real one does soon after.
    app.button("Install the training worker").settle();
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
    app.button("Install the training worker").settle();
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

fn line(event: Event) -> String {
    EventRecord { step: 0, time: Timestamp::now(), wall_s: 0.0, event }.to_line()
}

/// Installs a worker that waits until the run's last event is written beside it. Its texts are the step and the prompt.
fn put_queued_worker(folder: &Path) {
    let devices = vec![Device { name: "cpu".into(), kind: "a processor".into(), memory: None }];
    let answer = Handshake { protocol: PROTOCOL, devices, ..Handshake::default() }.to_line();
    let started = line(Event::Started(Started { steps: 9, ..Started::default() }));
    let text = format!(
        r#"#!/bin/sh
        if [ "$1" = --handshake ]; then echo '{answer}'; exit; fi
        if [ "$1" = sample ]; then echo "{{\"Ok\":\"step $4 $5\"}}"; exit; fi
        exec 9> "$2/lock"
        flock 9
        echo '{started}' >> "$2/events.jsonl"
        while [ -d "$2" ] && ! [ -e "$2/last" ]; do sleep 0.05; done
        cat "$2/last" >> "$2/events.jsonl"
        "#
    );
    put_program(&WorkerFolder::at(&folder.join("worker")).program(), &text);
}

/// Ends the run in training.
pub fn end(run: &RunFolder, event: Event) {
    let aside = run.path().join("aside");
    fs::write(&aside, line(event) + "\n").expect("it can be written");
    fs::rename(aside, run.path().join("last")).expect("it can be renamed");
}

fn status(run: &RunFolder) -> Status {
    RunReader::brief(run.clone()).status(Timestamp::now()).expect("it can be read")
}

fn runs(folder: &Path) -> Vec<RunFolder> {
    RunFolder::list(folder).expect("it can be read")
}

/// Waits for the one run in training among `count` runs, whose worker has begun its events.
pub fn at_work(app: &mut App, folder: &Path, count: usize) -> RunFolder {
    let is_running = |run: &RunFolder| run.events().is_file() && matches!(status(run), Status::Running(_));
    let running = || runs(folder).into_iter().find(is_running);
    app.until("the run", |_| runs(folder).len() == count && running().is_some());
    running().expect("it waits for its end")
}

/// Returns a preset of `runs` runs, with the seeds from 0.
fn preset(runs: u64) -> String {
    on_device(runs, DeviceChoice::Automatic)
}

/// Returns a preset of `runs` runs, the last of which names a device. Their batches differ, so that each has a worker of
/// its own.
fn on_device(runs: u64, device: DeviceChoice) -> String {
    let mnist = built_ins().iter().find(|built_in| built_in.name == "mnist").expect("it is built in");
    let Preset::Mnist(mut preset) = mnist.preset.clone() else { panic!("it is a run") };
    let first = preset.runs[0].clone();
    let batch_size = |seed: u64| BatchSize::clamped(128 + seed);
    preset.runs = (0..runs).map(|seed| MnistSpec { seed, batch_size: batch_size(seed), ..first.clone() }).collect();
    preset.runs.last_mut().expect("there are some").device = device;
    Preset::Mnist(preset).to_ron()
}

pub fn ready(begin: Begin<'_>) -> App {
    let mut app = App::prepared(Begin { size: [1400.0, 1500.0], ..begin }, put_queued_worker);
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::Num3);
    app.until("the worker", |app| matches!(app.state().training().worker(), WorkerState::Ready(_)));
    app.settle();
    app
}

fn waiting(folder: &Path) -> usize {
    Queue::of(folder).entries().expect("it can be read").len()
}

#[test]
fn the_queue_is_paused_and_entries_are_removed_by_hand() {
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    let text = preset(3);
    let mut app = ready(Begin { preset: Some(&text), runs: Some(place.path()), ..Begin::default() });
    app.button("Start all trainings of the preset");
    let first = at_work(&mut app, place.path(), 1);
    app.until("the list", |app| app.shows("Queue (3)"));
    app.button("Pause the queue");
    app.until("the pause", |app| app.shows("Go on"));
    end(&first, Event::Finished);
    app.until("the end of the first", |app| app.shows("Queue (2)"));
    let names: Vec<String> =
        Queue::of(place.path()).entries().expect("it is read").into_iter().map(|it| it.name).collect();
    app.button(&format!("Remove {} from the queue", names[0]));
    app.until("the rest", |app| app.shows("Queue (1)"));
    assert_eq!(runs(place.path()).len(), 1, "nothing begins in a pause");
    app.button("Go on with the queue");
    let last = at_work(&mut app, place.path(), 2);
    assert_eq!(last.name(), names[1]);
    end(&last, Event::Finished);
    app.until("the end of the queue", |_| waiting(place.path()) == 0);
}

#[test]
fn a_queue_goes_on_in_the_next_window() {
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    let text = preset(3);
    let mut app = ready(Begin { preset: Some(&text), runs: Some(place.path()), ..Begin::default() });
    app.button("Start all trainings of the preset");
    let first = at_work(&mut app, place.path(), 1);
    drop(app);
    let lock = place.path().join("queue").join(format!("{}.lock", host()));
    let lock = File::open(lock).expect("it is there");
    let begun = Instant::now();
    while lock.try_lock().is_err() {
        assert!(begun.elapsed() < Duration::from_secs(120), "the window's thread still holds the queue");
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(lock);
    end(&first, Event::Finished);
    // The tab need not be shown.
    let begin = Begin { runs: Some(place.path()), ..Begin::default() };
    let mut again = App::prepared(begin, put_queued_worker);
    for count in 2..=3 {
        let next = at_work(&mut again, place.path(), count);
        end(&next, Event::Finished);
    }
    again.until("the end of the queue", |_| waiting(place.path()) == 0);
    let ended = runs(place.path());
    let seed = |run: &RunFolder| match Preset::read(&run.config()).expect("it is a preset") {
        Preset::Mnist(preset) => preset.runs[0].seed,
        other => panic!("found a {}", other.kind()),
    };
    let mut seeds: Vec<u64> = ended.iter().map(seed).collect();
    seeds.sort_unstable();
    assert_eq!(seeds, [0, 1, 2]);
    assert!(ended.iter().all(|run| status(run) == Status::Finished));
}

#[test]
fn a_queue_goes_on_without_a_run_that_is_stopped_or_gone() {
    let text = preset(2);
    for stopped in [true, false] {
        let [place, elsewhere] = [(); 2].map(|()| tempfile::tempdir().expect("a temporary folder can be made"));
        let mut app = ready(Begin { preset: Some(&text), runs: Some(place.path()), ..Begin::default() });
        app.button("Start all trainings of the preset");
        let run = at_work(&mut app, place.path(), 1);
        if stopped {
            // As the worker answers a command to stop.
            let id = send(&run, RunCommand::Stop).expect("it can be sent");
            let answer = Event::Command { id, ok: true, message: "stopped after step 9".to_owned(), steps: None };
            fs::write(run.events(), fs::read_to_string(run.events()).expect("it is text") + &line(answer) + "\n")
                .expect("it can be written");
            end(&run, Event::Stopped);
        } else {
            // By one rename, as a file may be written meanwhile.
            fs::rename(run.path(), elsewhere.path().join("run")).expect("it can be moved away");
        }
        let said = if stopped { "was stopped, and is no longer in the queue" } else { "its folder is gone" };
        app.until("what is said", |app| app.shows(said));
        let next = at_work(&mut app, place.path(), 1 + usize::from(stopped));
        end(&next, Event::Finished);
        app.until("the end of the queue", |_| waiting(place.path()) == 0);
    }
}

#[test]
fn start_trains_the_run_that_is_shown() {
    let (one, three) = (preset(1), preset(3));
    let mut app = ready(Begin { preset: Some(&one), ..Begin::default() });
    let path = app.write("three.ron", &three);
    app.open(&path);
    let seed = |app: &App| app.harness.get_by_role_and_label(Role::TextInput, "Seed of the training").value();
    app.until("its runs", |app| app.shows("Start all trainings of the preset"));
    app.settle();
    app.click(Role::ComboBox, "Run of the preset");
    app.press("3 of 3");
    // A click without a pointer leaves the choices open.
    app.key(Key::Escape);
    assert_eq!(seed(&app).as_deref(), Some("2"));
    // Saving shows the same run.
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::S);
    app.until("the question", |app| app.shows("Replace three.ron?"));
    app.button("Replace");
    app.until("the notice", |app| app.shows("Saved "));
    app.settle();
    assert_eq!(seed(&app).as_deref(), Some("2"));
    // Undo restores a preset of fewer runs, which has no third.
    app.undo();
    assert_eq!(seed(&app).as_deref(), Some("0"));
    app.button("Start the training");
    let folder = app.folder.path().join("runs");
    let run = at_work(&mut app, &folder, 1);
    end(&run, Event::Finished);
}

#[test]
fn what_is_shown_stays_so_when_others_are_begun() {
    let text = preset(2);
    let mut app = ready(Begin { preset: Some(&text), ..Begin::default() });
    let folder = app.folder.path().join("runs");
    app.button("Start the training");
    let before = at_work(&mut app, &folder, 1);
    app.until("its curves", |app| app.state().training().selected() == [before.clone()]);
    end(&before, Event::Finished);
    app.until("its end", |_| status(&before) == Status::Finished);
    app.button("Start all trainings of the preset");
    let first = at_work(&mut app, &folder, 2);
    app.until("both curves", |app| app.state().training().selected() == [before.clone(), first.clone()]);
    end(&first, Event::Finished);
    let second = at_work(&mut app, &folder, 3);
    app.until("all", |app| app.state().training().selected() == [before.clone(), first.clone(), second.clone()]);
    end(&second, Event::Finished);
}

#[test]
fn a_device_that_is_not_there_is_refused_before_a_run_is_made() {
    let text = on_device(2, DeviceChoice::Cuda(3));
    let mut app = ready(Begin { preset: Some(&text), ..Begin::default() });
    let refusal = "Device: expected a device that the worker can use, one of cpu, found cuda:3.";
    let enabled =
        |app: &App, button| !app.harness.get_by_role_and_label(Role::Button, button).accesskit_node().is_disabled();
    assert!(!app.shows(refusal) && enabled(&app, "Start the training"), "the first run has a device");
    assert!(!enabled(&app, "Start all trainings of the preset"), "the second has none");
    app.click(Role::ComboBox, "Run of the preset");
    app.press("2 of 2");
    app.key(Key::Escape);
    assert!(app.shows(refusal) && !enabled(&app, "Start the training"));
}
