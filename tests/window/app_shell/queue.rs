//! Trainings that are started from the window, with a script as the worker.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use egui::accesskit::Role;
use egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};
use valleyscope::app::WorkerState;
use valleyscope_experiments::preset::{Preset, built_ins};
use valleyscope_experiments::workload::{DeviceChoice, MnistSpec};
use valleyscope_machine::WorkerFolder;
use valleyscope_runs::{
    Device, Event, EventRecord, Handshake, PROTOCOL, RunFolder, RunReader, Started, Status, Timestamp,
};

use super::harness::{App, Begin};
use crate::put_program::put_program;

fn line(event: Event) -> String {
    EventRecord { step: 0, time: Timestamp::now(), wall_s: 0.0, event }.to_line()
}

/// Installs a worker that waits until the run's last event is written beside it. Its texts are the step and the prompt.
fn put_worker(folder: &Path) {
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

/// Waits for the one run in training among `count` runs.
pub fn at_work(app: &mut App, folder: &Path, count: usize) -> RunFolder {
    let running = || runs(folder).into_iter().find(|run| matches!(status(run), Status::Running(_)));
    app.until("the run", |_| runs(folder).len() == count && running().is_some());
    running().expect("it waits for its end")
}

/// Returns a preset of `runs` runs, with the seeds from 0.
fn preset(runs: u64) -> String {
    on_device(runs, DeviceChoice::Automatic)
}

/// Returns a preset of `runs` runs, the last of which names a device.
fn on_device(runs: u64, device: DeviceChoice) -> String {
    let mnist = built_ins().iter().find(|built_in| built_in.name == "mnist").expect("it is built in");
    let Preset::Mnist(mut preset) = mnist.preset.clone() else { panic!("it is a run") };
    let first = preset.runs[0].clone();
    preset.runs = (0..runs).map(|seed| MnistSpec { seed, ..first.clone() }).collect();
    preset.runs.last_mut().expect("there are some").device = device;
    Preset::Mnist(preset).to_ron()
}

pub fn ready(begin: Begin<'_>) -> App {
    let mut app = App::prepared(Begin { size: [1400.0, 1500.0], ..begin }, put_worker);
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::Num3);
    app.until("the worker", |app| matches!(app.state().training().worker(), WorkerState::Ready(_)));
    app.settle();
    app
}

#[test]
fn a_queue_goes_on_in_the_next_window() {
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    let text = preset(3);
    let mut app = ready(Begin { preset: Some(&text), runs: Some(place.path()), ..Begin::default() });
    app.button("Start all trainings of the preset");
    let first = at_work(&mut app, place.path(), 1);
    drop(app);
    let lock = File::open(place.path().join("queue.lock")).expect("it is there");
    let begun = Instant::now();
    while lock.try_lock().is_err() {
        assert!(begun.elapsed() < Duration::from_secs(120), "the window's thread still holds the queue");
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(lock);
    end(&first, Event::Finished);
    // The tab need not be shown.
    let begin = Begin { runs: Some(place.path()), ..Begin::default() };
    let mut again = App::prepared(begin, put_worker);
    for count in 2..=3 {
        let next = at_work(&mut again, place.path(), count);
        end(&next, Event::Finished);
    }
    again.until("the end of the queue", |_| !place.path().join("queue.json").exists());
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
fn a_queue_ends_with_a_run_that_is_stopped_or_gone() {
    let text = preset(2);
    for stopped in [true, false] {
        let [place, elsewhere] = [(); 2].map(|()| tempfile::tempdir().expect("a temporary folder can be made"));
        let mut app = ready(Begin { preset: Some(&text), runs: Some(place.path()), ..Begin::default() });
        app.button("Start all trainings of the preset");
        let run = at_work(&mut app, place.path(), 1);
        if stopped {
            end(&run, Event::Stopped);
        } else {
            // By one rename, as a file may be written meanwhile.
            fs::rename(run.path(), elsewhere.path().join("run")).expect("it can be moved away");
        }
        app.until("the end of the queue", |_| !place.path().join("queue.json").exists());
        app.until("what is said", |app| app.shows("The run that waited for it will not be started"));
        assert_eq!(runs(place.path()).len(), usize::from(stopped));
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
    app.harness.key_press(Key::Escape);
    app.settle();
    assert_eq!(seed(&app).as_deref(), Some("2"));
    // Saving shows the same run.
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::S);
    app.until("the question", |app| app.shows("Replace three.ron?"));
    app.button("Replace");
    app.until("the notice", |app| app.shows("Saved "));
    app.settle();
    assert_eq!(seed(&app).as_deref(), Some("2"));
    // Undo restores a preset of fewer runs, which has no third.
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    app.settle();
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
    app.until("both curves", |app| *app.state().training().selected() == [before.clone(), first.clone()]);
    end(&first, Event::Finished);
    let second = at_work(&mut app, &folder, 3);
    app.until("all", |app| *app.state().training().selected() == [before.clone(), first.clone(), second.clone()]);
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
    app.harness.key_press(Key::Escape);
    app.settle();
    assert!(app.shows(refusal) && !enabled(&app, "Start the training"));
}
