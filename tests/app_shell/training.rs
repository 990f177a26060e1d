//! Real workloads in the window, on runs that the test writes.

use std::path::Path;
use std::time::Duration;

use eframe::App as _;
use egui::accesskit::Role;
use egui::{Key, Modifiers, vec2};
use egui_kittest::kittest::{NodeT, Queryable};
use valleyscope::app::WorkerState;
use valleyscope::preset::{Preset, built_ins};
use valleyscope::run::{
    Event, Metric, Metrics, Notes, Pixel, Record, RunFolder, RunSession, ScanAxes, Started, Timestamp,
};
use valleyscope::workload::{DataChoice, RunSpec};

use crate::harness::{App, Begin, MemoryStorage};

fn config(seed: u64) -> String {
    let mnist = built_ins().iter().find(|built_in| built_in.name == "mnist").expect("it is built in");
    mnist.preset.with("seed", &seed.to_string()).expect("a seed can be set").to_ron()
}

fn started(title: &str, steps: u64) -> Event {
    Event::Started(Started {
        title: title.to_owned(),
        kind: "Mnist".to_owned(),
        steps,
        optimizer: "FOCUS, γ 0.2".to_owned(),
        batch_size: Some(128),
        ..Started::default()
    })
}

/// A run of some steps whose loss at step s is `loss(s)`; its session is still open.
fn begun(runs: &Path, title: &str, seed: u64, loss: impl Fn(u64) -> f64) -> RunSession {
    let run = RunFolder::create(runs, "mnist", &config(seed)).expect("a run can be made");
    let mut session = RunSession::begin(&run).expect("a session can begin");
    session.record(0, started(title, 40)).expect("it can be written");
    session.begin_training();
    for step in 1..=20 {
        let train = Metrics::from([
            (Metric::LOSS, loss(step)),
            (Metric::LEARNING_RATE, 0.001),
            (Metric::GRAD_NORM, 1.0),
            (Metric::SAMPLES_PER_S, 5e3),
        ]);
        session.record(step, Event::Train(train)).expect("it can be written");
    }
    let eval = Metrics::from([(Metric::TEST_LOSS, 0.25), (Metric::TEST_ACCURACY, 0.9375)]);
    session.record(20, Event::Eval(eval)).expect("it can be written");
    session
}

pub fn finished(runs: &Path, title: &str, seed: u64, loss: impl Fn(u64) -> f64) -> RunFolder {
    let mut session = begun(runs, title, seed, loss);
    session.record(20, Event::Finished).expect("it can be written");
    session.run().clone()
}

/// A run of the built-in preset with other settings, as the worker writes it.
pub fn trained(runs: &Path, settings: &[(&str, &str)]) -> RunFolder {
    let mnist = built_ins().iter().find(|built_in| built_in.name == "mnist").expect("it is built in");
    let set = |preset: Preset, (key, value): &(&str, &str)| preset.with(key, value).expect("it can be set");
    let preset = settings.iter().fold(mnist.preset.clone(), set);
    let Preset::Mnist(training) = &preset else { panic!("it is a run") };
    let spec = &training.runs[0];
    let started = Started {
        title: preset.title().to_owned(),
        kind: "Mnist".to_owned(),
        steps: 40,
        optimizer: spec.common().label().to_owned(),
        learning_rate: Some(spec.learning_rate.get()),
        batch_size: Some(spec.batch_size.get() as u64),
        seed: Some(spec.seed),
        ..Started::default()
    };
    let run = RunFolder::create(runs, "mnist", &preset.to_ron()).expect("a run can be made");
    let mut session = RunSession::begin(&run).expect("a session can begin");
    session.record(0, Event::Started(started)).expect("it can be written");
    for step in 1..=20 {
        let train = Metrics::from([
            (Metric::LOSS, 1.0 / step as f64),
            (Metric::LEARNING_RATE, spec.learning_rate.get()),
            (Metric::GRAD_NORM, 1.0),
        ]);
        session.record(step, Event::Train(train)).expect("it can be written");
    }
    session.record(20, Event::Finished).expect("it can be written");
    run
}

/// The app in the room of real workloads, with the runs that `write` makes in its folder.
pub fn room<T>(write: impl FnOnce(&Path) -> T) -> (App, T) {
    let mut written = None;
    let mut app = App::prepared(Begin::default(), |folder| written = Some(write(&folder.join("runs"))));
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::Num3);
    app.settle();
    (app, written.expect("it was called"))
}

pub fn listed(app: &mut App, count: usize) {
    app.until("the list of runs", |app| app.state().training().runs().len() == count);
    app.settle();
}

/// What the run of this title is called in the list.
fn called(app: &App, title: &str) -> String {
    let runs = app.state().training().runs();
    runs.iter().find(|run| run.title == title).expect("it is listed").in_full()
}

/// Clicks on a run in the list.
pub fn choose(app: &mut App, title: &str) {
    app.button(&format!("Run {}", called(app, title)));
}

/// Shows a run together with the others, or not any more.
fn compare(app: &mut App, title: &str) {
    app.click(Role::CheckBox, &format!("Compare {}", called(app, title)));
}

/// Selects a run in the list, and waits for its curve.
pub fn select(app: &mut App, title: &str) {
    choose(app, title);
    app.until("its curve", |app| {
        app.state().training().drawn().iter().any(|drawn| drawn.tracks.contains_key(&Metric::LOSS))
    });
    app.settle();
}

fn plotted(app: &App, name: &str) -> String {
    let plot = app.harness.get_by_label(name);
    plot.accesskit_node().value().unwrap_or_default()
}

#[test]
fn without_runs_and_without_a_worker_it_says_what_is_missing_and_how_to_get_it() {
    let (mut app, ()) = room(|_| ());
    app.until("the search for the worker", |app| matches!(app.state().training().worker(), WorkerState::Missing(_)));
    app.settle();
    assert!(app.shows("The training worker is not installed"));
    assert!(app.shows("cargo xtask setup"));
    assert!(app.shows("No runs yet"));
    app.button("Copy the command that installs the worker");
    assert!(app.shows("Copied `cargo xtask setup`"));
    let start = app.harness.get_by_role_and_label(Role::Button, "Start the training");
    assert!(start.accesskit_node().is_disabled());
}

#[test]
fn runs_are_listed_with_their_status_and_last_values() {
    let (mut app, open) = room(|runs| {
        finished(runs, "First", 1, |step| 1.0 / step as f64);
        begun(runs, "Second", 2, |_| 0.5)
    });
    listed(&mut app, 2);
    let [first, second] = ["First", "Second"].map(|title| {
        let runs = app.state().training().runs();
        runs.iter().find(|run| run.title == title).expect("it is listed").clone()
    });
    assert_eq!((first.status.word(), second.status.word()), ("finished".to_owned(), "running".to_owned()));
    assert_eq!((first.step, second.steps, first.evaluated[1].1), (20, Some(40), 0.9375));
    assert!(app.shows("running, step 20/40"));
    assert!(app.shows("test 0.250"));
    drop(open);
    app.until("the worker to be gone", |app| app.shows("crashed, step 20/40"));
}

#[test]
fn runs_are_named_by_their_settings_unless_they_have_a_title_of_their_own() {
    let (mut app, named) = room(|runs| {
        trained(runs, &[("optimizer", "Adam"), ("learning_rate", "0.003"), ("batch_size", "8")]);
        trained(runs, &[("optimizer.gamma", "0.4"), ("optimizer.decay", "Parameters"), ("seed", "7")]);
        let named = trained(runs, &[("optimizer", "Signum")]);
        Notes { title: "The odd one".to_owned(), note: String::new() }.write(&named).expect("it can be written");
        named
    });
    listed(&mut app, 3);
    for name in [
        "Adam, η 0.003, batch 8, seed 0 (MNIST classifier, one run)",
        "FOCUS, γ 0.4, parameters decay, η 0.001, batch 128, seed 7 (MNIST classifier, one run)",
        "The odd one (Signum, η 0.001, batch 128, seed 0)",
    ] {
        let row = format!("Run {name}");
        assert!(app.harness.query_by_role_and_label(Role::Button, &row).is_some(), "no row for {name}");
    }
    // Each part is seen.
    assert!(app.shows("Adam, η 0.003, batch 8, seed 0") && app.shows("MNIST classifier, one run"));
    // A name of those that are compared has no part that all have.
    for run in app.state().training().runs().to_vec() {
        if run.run != named {
            app.click(Role::CheckBox, &format!("Compare {}", run.in_full()));
        }
    }
    let last = (1.0_f64 / 20.0).to_string() + "000";
    app.until("both curves", |app| {
        let mut values: Vec<String> = plotted(app, "Plot of Train loss").split("; ").map(str::to_owned).collect();
        values.sort();
        values == [format!("Adam {last}"), format!("FOCUS {last}")]
    });
}

#[test]
fn a_curve_is_named_by_its_optimizer_whatever_title_its_run_was_begun_with() {
    let long = "optimizer=Adam, steps=60 (MNIST classifier, one run)";
    let (mut app, ()) = room(|runs| {
        trained(runs, &[("optimizer", "Adam"), ("title", &format!("\"{long}\""))]);
    });
    listed(&mut app, 1);
    select(&mut app, long);
    app.until("its curve", |app| plotted(app, "Plot of Train loss") == "Adam 0.05000");
    app.button("Rename the run");
    app.settle();
    let title = app.harness.get_by_role_and_label(Role::TextInput, "Title; empty for that of the preset");
    title.type_text("Mine");
    app.harness.run_steps(2);
    app.button("Keep");
    app.until("its own title", |app| plotted(app, "Plot of Train loss") == "Mine 0.05000");
}

#[test]
fn a_selected_run_shows_its_curves_and_follows_them() {
    let (mut app, mut session) = room(|runs| begun(runs, "Live", 0, |step| 2.0 / step as f64));
    listed(&mut app, 1);
    select(&mut app, "Live");
    app.until("the last point", |app| plotted(app, "Plot of Train loss").ends_with("0.1000"));
    assert_eq!(plotted(&app, "Plot of Test accuracy"), "FOCUS, γ 0.2 0.9375");
    let train = Metrics::from([(Metric::LOSS, 0.0625), (Metric::LEARNING_RATE, 0.001), (Metric::GRAD_NORM, 1.0)]);
    session.record(21, Event::Train(train)).expect("it can be written");
    app.until("the new point", |app| plotted(app, "Plot of Train loss").ends_with("0.06250"));
    session.record(21, Event::Stopped).expect("it can be written");
    drop(session);
    app.until("the new status", |app| app.shows("stopped, step 21/40"));
    assert!(app.harness.query_by_role_and_label(Role::Button, "Resume the run").is_some());
}

#[test]
fn several_runs_are_compared_and_replicates_grouped() {
    let (mut app, ()) = room(|runs| {
        finished(runs, "A", 1, |_| 1.0);
        finished(runs, "B", 2, |_| 3.0);
    });
    listed(&mut app, 2);
    select(&mut app, "A");
    compare(&mut app, "B");
    app.until("both curves", |app| app.state().training().drawn().len() == 2);
    let one = "FOCUS, γ 0.2, seed";
    let both = format!("{one} 1 1.000; {one} 2 3.000");
    app.until("their values", |app| plotted(app, "Plot of Train loss") == both);
    app.click(Role::CheckBox, "Group replicates");
    app.until("their mean", |app| plotted(app, "Plot of Train loss") == "FOCUS, γ 0.2, mean of 2 2.000");
    compare(&mut app, "A");
    app.until("one of them", |app| plotted(app, "Plot of Train loss") == "FOCUS, γ 0.2 3.000");
}

#[test]
fn the_list_is_searched() {
    let (mut app, ()) = room(|runs| {
        finished(runs, "Large batches", 1, |_| 1.0);
        finished(runs, "Small batches", 2, |_| 3.0);
    });
    listed(&mut app, 2);
    app.type_into("Search the runs", "small");
    app.settle();
    let [small, large] = ["Small batches", "Large batches"].map(|title| format!("Run {}", called(&app, title)));
    assert!(app.harness.query_by_role_and_label(Role::Button, &small).is_some());
    assert!(app.harness.query_by_role_and_label(Role::Button, &large).is_none());
}

#[test]
fn stop_writes_a_command_that_the_worker_answers() {
    let (mut app, mut session) = room(|runs| begun(runs, "Live", 0, |_| 1.0));
    listed(&mut app, 1);
    select(&mut app, "Live");
    app.button("Stop the run");
    let commands = session.run().commands();
    app.until("the command", |_| std::fs::read_to_string(&commands).is_ok_and(|text| text.contains("\"Stop\"")));
    let asked = session.commands().expect("they can be read");
    let [(id, _)] = &asked[..] else { panic!("one command is expected, found {asked:?}") };
    session.answer(id, true, "stopping after this step").expect("it can be written");
    app.until("the answer", |app| app.shows("Live: stopping after this step"));
}

#[test]
fn a_run_is_renamed_and_the_note_is_kept_in_its_folder() {
    let (mut app, run) = room(|runs| finished(runs, "Old title", 0, |_| 1.0));
    listed(&mut app, 1);
    select(&mut app, "Old title");
    app.button("Rename the run");
    app.settle();
    let title = app.harness.get_by_role_and_label(Role::TextInput, "Title; empty for that of the preset");
    title.type_text("New title");
    app.harness.run_steps(2);
    app.button("Keep");
    app.until("the notes", |_| Notes::read(&run).is_ok_and(|notes| notes.title == "New title"));
    app.until("the new title", |app| app.state().training().runs().iter().any(|run| run.title == "New title"));
}

#[test]
fn many_long_names_have_room_in_windows_of_any_width() {
    let titles =
        [1, 2, 3, 4, 5, 6, 7].map(|run| format!("Focus with a learning rate of 0.00{run}, as it was at first"));
    let (mut app, ()) = room(|runs| {
        for (seed, title) in (0..).zip(&titles) {
            let run = finished(runs, "One run of MNIST", seed, |_| 1.0);
            Notes { title: title.clone(), note: String::new() }.write(&run).expect("it can be written");
        }
    });
    listed(&mut app, titles.len());
    select(&mut app, &titles[0]);
    for title in &titles[1..] {
        compare(&mut app, title);
        app.settle();
    }
    app.until("all curves", |app| app.state().training().drawn().len() == titles.len());
    for width in (600..1400).step_by(37) {
        app.harness.set_size(vec2(width as f32, 700.0));
        app.harness.run_steps(2);
    }
}

#[test]
fn deleting_asks_first_and_a_running_one_cannot_be_deleted() {
    let (mut app, (run, session)) = room(|runs| {
        let run = finished(runs, "Done", 0, |_| 1.0);
        (run, begun(runs, "Live", 1, |_| 1.0))
    });
    listed(&mut app, 2);
    select(&mut app, "Done");
    app.button("Delete the run");
    app.settle();
    assert!(app.shows("Move this run to the trash?"));
    app.button("Keep the run");
    app.settle();
    assert!(!app.shows("Move this run to the trash?"));
    assert!(run.path().is_dir());
    select(&mut app, "Live");
    app.until("its name", |app| app.harness.query_by_role_and_label(Role::Button, "Stop the run").is_some());
    let delete = app.harness.get_by_role_and_label(Role::Button, "Delete the run");
    assert!(delete.accesskit_node().is_disabled());
    drop(session);
}

/// Makes a run look as if its worker were on another machine and had been heard last so many seconds ago.
fn lose(run: &RunFolder, seconds: u64) {
    let heard = Timestamp::now() - Duration::from_secs(seconds);
    let events = std::fs::read_to_string(run.events()).expect("it can be read");
    let old = |line: &str| {
        let record = Record::parse(line.as_bytes()).expect("a record");
        Record { time: heard, ..record }.to_line() + "\n"
    };
    std::fs::write(run.events(), events.lines().map(old).collect::<String>()).expect("it can be written");
    std::fs::write(run.heartbeat(), format!("{heard}\n")).expect("it can be written");
    let holder = r#"{"host":"far-away","pid":1,"started":"2026-03-01T12:00:00Z"}"#;
    std::fs::write(run.lock(), holder).expect("it can be written");
}

#[test]
fn a_run_that_was_not_heard_from_for_long_can_be_deleted_and_resumed_after_a_question() {
    let (mut app, ()) = room(|runs| {
        for (title, seconds) in [("Lost", 1200), ("Silent", 300)] {
            let run = begun(runs, title, 0, |_| 1.0).run().clone();
            lose(&run, seconds);
        }
    });
    listed(&mut app, 2);
    select(&mut app, "Silent");
    app.until("its status", |app| app.shows("last heard 5 min ago, on far-away"));
    let delete = app.harness.get_by_role_and_label(Role::Button, "Delete the run");
    assert!(delete.accesskit_node().is_disabled());
    assert!(app.harness.query_by_role_and_label(Role::Button, "Resume the run").is_none());
    select(&mut app, "Lost");
    app.until("its status", |app| app.shows("last heard 20 min ago, on far-away"));
    for (asked, question) in
        [("Delete the run", "Move this run to the trash?"), ("Resume the run", "Go on with this run here?")]
    {
        app.button(asked);
        app.settle();
        assert!(app.shows(question));
        assert!(app.shows("It was last heard 20 min ago, on far-away"));
        app.harness.key_press(Key::Escape);
        app.settle();
        assert!(!app.shows(question));
    }
}

#[test]
fn a_run_with_another_config_is_not_resumed_and_damage_is_shown() {
    // The first event and the config say another number of steps.
    let (mut app, ()) = room(|runs| {
        let run = begun(runs, "Cut", 0, |_| 1.0).run().clone();
        let events = std::fs::read_to_string(run.events()).expect("it can be read");
        let changed = events.replacen("\"loss\":1.0", "\"loss\":2.0", 1);
        std::fs::write(run.events(), changed).expect("it can be written");
    });
    listed(&mut app, 1);
    select(&mut app, "Cut");
    app.until("the damage", |app| app.shows("events.jsonl is damaged: line 2 cannot be read"));
    app.button("Resume the run");
    app.until("the refusal", |app| app.shows("config.ron is not the one that the run was begun with"));
    assert!(app.shows("`steps` was 40 and is 400"));
}

#[test]
fn a_folder_of_runs_that_is_mended_has_no_trouble_any_more() {
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
fn a_loss_that_is_no_number_does_not_make_a_run_differ_from_itself() {
    let (mut app, _) = room(|runs| finished(runs, "Broken", 0, |_| f64::NAN));
    listed(&mut app, 1);
    let [run] = app.state().training().runs() else { panic!("one run is listed") };
    assert!(run.loss.is_some_and(f64::is_nan));
    assert_eq!(*run, run.clone());
    let mut other = run.clone();
    other.evaluated[0].1 = 0.5;
    assert_ne!(*run, other);
}

#[test]
fn the_reason_of_a_failure_the_log_and_the_config_can_be_read() {
    let (mut app, _) = room(|runs| {
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

/// A scan of which Adam and Signum are through with batches of 2.
pub fn begun_scan(runs: &Path) -> RunFolder {
    let scan = built_ins().iter().find(|built_in| built_in.name == "fig2cd").expect("it is built in");
    let run = RunFolder::create(runs, "fig2cd", &scan.preset.to_ron()).expect("a run can be made");
    let mut session = RunSession::begin(&run).expect("a session can begin");
    let axes = ScanAxes {
        optimizers: vec!["Adam".to_owned(), "Signum".to_owned()],
        batch_sizes: vec![128, 2],
        learning_rates: vec![0.001, 0.01],
        replicates: 2,
        steps: 400,
    };
    let mut event = started("Scan", 4);
    if let Event::Started(started) = &mut event {
        started.scan = Some(axes);
    }
    session.record(0, event).expect("it can be written");
    for (done, (pixel, loss)) in [([0, 0], 0.1), ([0, 1], 0.5), ([1, 1], 0.4)].into_iter().enumerate() {
        let pixel = Pixel {
            pixel,
            done: done as u64 + 1,
            total: 4,
            test_loss: vec![vec![loss, loss], vec![f64::NAN, 0.1]],
            ..Pixel::default()
        };
        session.record(done as u64 + 1, Event::Pixel(pixel)).expect("it can be written");
    }
    run
}

#[test]
fn a_scan_shows_its_scores_and_the_improvement() {
    let (mut app, _) = room(begun_scan);
    listed(&mut app, 1);
    choose(&mut app, "Scan");
    let losses = "Plot of best test loss by batch size";
    app.until("the scan's picture", |app| app.harness.query_by_label(losses).is_some());
    app.settle();
    assert_eq!(plotted(&app, losses), "Adam at 2: 0.500; Adam at 128: 0.100; Signum at 2: 0.400");
    assert_eq!(plotted(&app, "Plot of the improvement of Signum on Adam"), "2: 20.0 ± 0 %");
    assert!(app.shows("3 of 4 pixels"));
}

#[test]
fn a_dropped_run_is_shown_wherever_it_is() {
    let (mut app, ()) = room(|_| ());
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::Num1);
    app.settle();
    let run = finished(&app.folder.path().join("elsewhere"), "Dropped", 0, |_| 1.0);
    app.drop(run.path());
    app.until("the run", |app| app.state().training().runs().iter().any(|run| run.title == "Dropped"));
    app.until("its curve", |app| app.state().training().drawn().iter().any(|drawn| !drawn.tracks.is_empty()));
    assert_eq!(app.state().training().selected().len(), 1);
}

#[test]
fn settings_and_the_selection_come_back_at_the_next_start() {
    let (mut app, run) = room(|runs| finished(runs, "Kept", 0, |_| 1.0));
    listed(&mut app, 1);
    select(&mut app, "Kept");
    app.type_into("Batch size", "64");
    app.settle();
    let mut storage = MemoryStorage::default();
    app.harness.state_mut().save(&mut storage);
    let runs = run.path().parent().expect("it is in a folder").to_owned();
    let begin = Begin { preset: None, storage: Some(&storage), runs: Some(&runs), ..Begin::default() };
    let mut again = App::begin(begin);
    again.until("the selection", |app| app.state().training().drawn().iter().any(|drawn| !drawn.tracks.is_empty()));
    let Preset::Mnist(preset) = again.state().training().preset() else { panic!("a run is under the controls") };
    assert_eq!(preset.runs[0].batch_size.get(), 64);
    assert!(again.state().training().is_dirty(), "it is known to be changed");
    again.type_into("Batch size", "128");
    assert!(!again.state().training().is_dirty(), "and to be as it was opened");
}

#[test]
fn a_preset_of_a_training_opens_under_the_controls_and_a_bad_value_is_refused() {
    // High enough that all controls are in view.
    let preset = config(7);
    let mut app = App::begin(Begin { preset: Some(&preset), size: [1400.0, 1500.0], ..Begin::default() });
    app.settle();
    let field = |app: &App, name: &str| app.harness.get_by_role_and_label(Role::TextInput, name).value();
    assert_eq!(field(&app, "Seed of the training").as_deref(), Some("7"));
    app.type_into("Batch size", "1");
    assert!(app.shows("batch_size must be a whole number from 2 to 60000, found 1"));
    app.type_into("Batch size", "32");
    app.settle();
    assert_eq!(field(&app, "Batch size").as_deref(), Some("32"));
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    app.settle();
    assert_eq!(field(&app, "Batch size").as_deref(), Some("128"));
}

#[test]
fn the_folder_of_the_dataset_is_chosen_and_can_be_undone() {
    let (mut app, ()) = room(|_| ());
    let data = |app: &App| {
        let Preset::Mnist(preset) = app.state().training().preset() else { panic!("a run is under the controls") };
        preset.runs[0].data.clone()
    };
    let before = data(&app);
    let folder = app.folder.path().join("images");
    app.button("Choose the folder of the dataset");
    app.settle();
    app.type_over("Path of the folder", &folder);
    let chosen = DataChoice::Folder(folder.display().to_string());
    app.until("the folder", |app| data(app) == chosen);
    app.settle();
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    app.settle();
    assert_eq!(data(&app), before);
}

#[test]
fn the_choice_of_the_dataset_is_kept_when_the_experiment_changes() {
    let (mut app, ()) = room(|_| ());
    let data = |app: &App| app.state().training().preset().trainings()[0].data().cloned();
    let folder = app.folder.path().join("images");
    let chosen = Some(DataChoice::Folder(folder.display().to_string()));
    app.button("Choose the folder of the dataset");
    app.settle();
    app.type_over("Path of the folder", &folder);
    app.until("the folder", |app| data(app) == chosen);
    app.click(Role::ComboBox, "Workload");
    app.press("MNIST classifier, scan over batch sizes");
    app.harness.key_press(Key::Escape);
    app.settle();
    assert!(matches!(app.state().training().preset(), Preset::MnistScan(_)));
    assert_eq!(data(&app), chosen);
    // A preset of several runs, which learn from the same data.
    let mnist = built_ins().iter().find(|built_in| built_in.name == "mnist").expect("it is built in");
    let Preset::Mnist(mut several) = mnist.preset.clone() else { panic!("it is a run") };
    several.runs.push(several.runs[0].clone());
    let path = app.write("several.ron", &Preset::Mnist(several.clone()).to_ron());
    app.open(&path);
    app.until("its runs", |app| app.state().training().preset().trainings().len() == 2);
    assert!(app.state().training().preset().trainings().iter().all(|training| training.data().cloned() == chosen));
    // One that names its data keeps them.
    several.runs.truncate(1);
    several.runs[0].data = DataChoice::StandIn;
    let path = app.write("digits.ron", &Preset::Mnist(several).to_ron());
    app.open(&path);
    app.until("its data", |app| data(app) == Some(DataChoice::StandIn));
    // Digits that nobody has chosen by hand are not trained on in its place.
    let path = app.write("automatic.ron", &config(0));
    app.open(&path);
    app.until("the usual data", |app| data(app) == Some(DataChoice::Automatic));
}

#[test]
fn a_narrow_window_and_long_names_fit() {
    let long = "A very long title of a run that somebody has given ".repeat(4);
    let begin = Begin { size: [900.0, 600.0], ..Begin::default() };
    let mut app = App::prepared(begin, |folder| {
        finished(&folder.join("runs"), long.trim(), 0, |step| 1.0 / step as f64);
    });
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::Num3);
    app.settle();
    listed(&mut app, 1);
    select(&mut app, long.trim());
    let window = egui::Rect::from_min_size(egui::Pos2::ZERO, egui::vec2(900.0, 600.0));
    for name in ["Start the training", "Delete the run"] {
        let rect = app.harness.get_by_role_and_label(Role::Button, name).rect();
        assert!(window.contains_rect(rect), "{name} is at {rect}");
    }
    let plot = app.harness.get_by_label("Plot of Train loss").rect();
    assert!(plot.width() > 300.0 && plot.height() > 100.0, "{plot}");
}
