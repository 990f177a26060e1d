//! The training tab, on runs that the test writes.

use std::path::Path;

use egui::accesskit::Role;
use egui::{Key, Modifiers, vec2};
use egui_kittest::kittest::{NodeT, Queryable};
use valleyscope::app::WorkerState;
use valleyscope_experiments::preset::{Preset, built_ins};
use valleyscope_experiments::workload::RunSpec;
use valleyscope_runs::{Event, MetricId, MetricValues, Notes, RunFolder, RunReader, RunSession, Started};

use super::harness::{App, Begin};

pub fn config(seed: u64) -> String {
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

/// Starts a run of some steps whose loss at step s is `loss(s)`; its session is still open.
pub fn begun(runs: &Path, title: &str, seed: u64, loss: impl Fn(u64) -> f64) -> RunSession {
    let run = RunFolder::create(runs, "mnist", &config(seed)).expect("a run can be made");
    let mut session = RunSession::begin(&run).expect("a session can begin");
    let mut first = started(title, 40);
    if let Event::Started(started) = &mut first {
        started.config = config(seed);
    }
    session.record(0, first).expect("it can be written");
    session.begin_training();
    for step in 1..=20 {
        let train = MetricValues::from([
            (MetricId::LOSS, loss(step)),
            (MetricId::LEARNING_RATE, 0.001),
            (MetricId::GRAD_NORM, 1.0),
            (MetricId::SAMPLES_PER_S, 5e3),
        ]);
        session.record(step, Event::Train(train)).expect("it can be written");
    }
    let eval = MetricValues::from([(MetricId::TEST_LOSS, 0.25), (MetricId::TEST_ACCURACY, 0.9375)]);
    session.record(20, Event::Eval(eval)).expect("it can be written");
    session
}

pub fn finished(runs: &Path, title: &str, seed: u64, loss: impl Fn(u64) -> f64) -> RunFolder {
    let mut session = begun(runs, title, seed, loss);
    session.record(20, Event::Finished).expect("it can be written");
    session.run().clone()
}

/// Writes a run of the built-in preset with other settings, as the worker does.
pub fn trained(runs: &Path, settings: &[(&str, &str)]) -> RunFolder {
    let mut session = trains(runs, settings);
    session.record(20, Event::Finished).expect("it can be written");
    session.run().clone()
}

/// Writes such a run without its end.
fn trains(runs: &Path, settings: &[(&str, &str)]) -> RunSession {
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
        let train = MetricValues::from([
            (MetricId::LOSS, 1.0 / step as f64),
            (MetricId::LEARNING_RATE, spec.learning_rate.get()),
            (MetricId::GRAD_NORM, 1.0),
        ]);
        session.record(step, Event::Train(train)).expect("it can be written");
    }
    session
}

/// Returns the test loss of a run of [`trained_grid`]: Adam's is lowest with the learning rate in the middle, and
/// Signum's with the largest.
pub fn grid_loss(optimizer: usize, rate: usize, seed: usize) -> f64 {
    [[0.5, 0.25, 0.75], [1.0, 0.5, 0.2]][optimizer][rate] + 0.02 * seed as f64
}

/// Writes finished runs of two optimizers with three learning rates and two seeds, and returns the last one.
pub fn trained_grid(runs: &Path) -> RunFolder {
    let mut last = None;
    for (optimizer, rule) in ["Adam", "Signum"].into_iter().enumerate() {
        for (rate, number) in ["0.001", "0.01", "0.1"].into_iter().enumerate() {
            for seed in 0..2 {
                let text = seed.to_string();
                let settings = [("optimizer", rule), ("learning_rate", number), ("seed", &*text)];
                let mut session = trains(runs, &settings);
                let loss = [(MetricId::TEST_LOSS, grid_loss(optimizer, rate, seed))];
                session.record(20, Event::Eval(MetricValues::from(loss))).expect("it can be written");
                session.record(20, Event::Finished).expect("it can be written");
                last = Some(session.run().clone());
            }
        }
    }
    last.expect("there are some")
}

/// Opens the app with runs, all of which are shown together, and shows their results.
pub fn open_results<T>(write: impl FnOnce(&Path) -> T, count: usize) -> (App, T) {
    let (mut app, written) = open_tab(write);
    app.harness.set_size(vec2(1600.0, 2400.0));
    listed(&mut app, count);
    for run in app.state().training().runs().to_vec() {
        app.click(Role::CheckBox, &format!("Compare {}", run.in_full()));
    }
    app.until("all runs", |app| app.state().training().selected().len() == count);
    app.settle();
    app.button("Results").settle();
    (app, written)
}

/// Opens the app in the training tab, with the runs that `write` makes in its folder.
pub fn open_tab<T>(write: impl FnOnce(&Path) -> T) -> (App, T) {
    let mut written = None;
    let mut app = App::prepared(Begin::default(), |folder| written = Some(write(&folder.join("runs"))));
    app.keys(Modifiers::COMMAND, Key::Num3);
    (app, written.expect("it was called"))
}

pub fn listed(app: &mut App, count: usize) {
    app.until("the list of runs", |app| app.state().training().runs().len() == count);
    app.settle();
}

fn called(app: &App, title: &str) -> String {
    let runs = app.state().training().runs();
    runs.iter().find(|run| run.title == title).expect("it is listed").in_full()
}

/// Clicks on a run in the list.
pub fn choose(app: &mut App, title: &str) {
    app.button(&format!("Run {}", called(app, title)));
}

/// Shows a run together with the others, or hides it.
pub fn compare(app: &mut App, title: &str) {
    app.click(Role::CheckBox, &format!("Compare {}", called(app, title)));
}

/// Selects a run in the list, and waits for its curve.
pub fn select(app: &mut App, title: &str) {
    choose(app, title);
    app.until("its curve", |app| {
        app.state().training().drawn().iter().any(|drawn| drawn.tracks.contains_key(&MetricId::LOSS))
    });
    app.settle();
}

pub fn plotted(app: &App, name: &str) -> String {
    let plot = app.harness.get_by_label(name);
    plot.accesskit_node().value().unwrap_or_default()
}

#[test]
fn an_empty_tab_explains_how_to_get_runs_and_a_worker() {
    let (mut app, ()) = open_tab(|_| ());
    app.until("the search for the worker", |app| matches!(app.state().training().worker(), WorkerState::Missing(_)));
    app.settle();
    assert!(app.shows("The training worker is not installed"));
    assert!(app.shows("cargo xtask setup"));
    assert!(app.shows("No runs yet"));
    app.button("Copy the command that installs the worker");
    assert!(app.shows("Copied “cargo xtask setup”"));
    assert!(app.harness.query_by_role_and_label(Role::Button, "Start the training").is_none());
}

#[test]
fn runs_are_listed_with_their_status_and_last_values() {
    let (mut app, open) = open_tab(|runs| {
        finished(runs, "First", 1, |step| 1.0 / step as f64);
        begun(runs, "Second", 2, |_| 0.5)
    });
    listed(&mut app, 2);
    let [first, second] = ["First", "Second"].map(|title| {
        let runs = app.state().training().runs();
        runs.iter().find(|run| run.title == title).expect("it is listed").clone()
    });
    assert_eq!((first.status.label(), second.status.label()), ("finished".to_owned(), "running".to_owned()));
    let accuracy = first.evaluation().nth(1).map(|(_, value)| value);
    assert_eq!((first.step(), second.steps, accuracy), (20, Some(40), Some(0.9375)));
    assert!(app.shows("running, 20/40 steps"));
    assert!(app.shows("test 0.250"));
    drop(open);
    app.until("the worker to be gone", |app| app.shows("crashed, 20/40 steps"));
}

#[test]
fn runs_are_named_by_their_settings_unless_they_have_a_title_of_their_own() {
    let (mut app, named) = open_tab(|runs| {
        trained(runs, &[("optimizer", "Adam"), ("learning_rate", "0.003"), ("batch_size", "8")]);
        trained(runs, &[("optimizer.gamma", "0.4"), ("optimizer.decay", "Parameters"), ("seed", "7")]);
        let named = trained(runs, &[("optimizer", "Signum")]);
        Notes { title: "The odd one".to_owned(), ..Notes::default() }.write(&named).expect("it can be written");
        named
    });
    listed(&mut app, 3);
    for name in [
        "Adam, η 0.003, batch 8, seed 0 (FOCUS on MNIST, one run)",
        "FOCUS, γ 0.4, parameters decay, η 0.001, batch 128, seed 7 (FOCUS on MNIST, one run)",
        "The odd one (Signum, η 0.001, batch 128, seed 0)",
    ] {
        let row = format!("Run {name}");
        assert!(app.harness.query_by_role_and_label(Role::Button, &row).is_some(), "no row for {name}");
    }
    // Both parts are visible.
    assert!(app.shows("Adam, η 0.003, batch 8, seed 0") && app.shows("FOCUS on MNIST, one run"));
    // Names of compared runs have each setting that differs, and no common part.
    for run in app.state().training().runs().to_vec() {
        if run.run != named {
            app.click(Role::CheckBox, &format!("Compare {}", run.in_full()));
        }
    }
    let last = (1.0_f64 / 20.0).to_string() + "000";
    app.until("both curves", |app| {
        let mut values: Vec<String> = plotted(app, "Plot of Train loss").split("; ").map(str::to_owned).collect();
        values.sort();
        let focus = format!("FOCUS, γ 0.4, parameters decay, η 0.001, batch 128 {last}");
        values == [format!("Adam, η 0.003, batch 8 {last}"), focus]
    });
}

#[test]
fn a_curve_is_named_by_its_optimizer_whatever_title_its_run_was_begun_with() {
    let long = "MNIST classifier · FOCUS → Adam, 60 steps";
    let (mut app, ()) = open_tab(|runs| {
        trained(runs, &[("optimizer", "Adam"), ("title", &format!("\"{long}\""))]);
    });
    listed(&mut app, 1);
    select(&mut app, long);
    app.until("its curve", |app| plotted(app, "Plot of Train loss") == "Adam 0.05000");
    app.button("Rename the run").settle();
    let title = app.harness.get_by_role_and_label(Role::TextInput, "Title; empty for that of the preset");
    title.type_text("Mine");
    app.harness.run_steps(2);
    app.button("Keep");
    app.until("its own title", |app| plotted(app, "Plot of Train loss") == "Mine 0.05000");
}

#[test]
fn a_selected_run_shows_its_curves_and_follows_them() {
    let (mut app, mut session) = open_tab(|runs| begun(runs, "Live", 0, |step| 2.0 / step as f64));
    listed(&mut app, 1);
    select(&mut app, "Live");
    app.until("the last point", |app| plotted(app, "Plot of Train loss").ends_with("0.1000"));
    assert_eq!(plotted(&app, "Plot of Test accuracy"), "FOCUS, γ 0.2 0.9375");
    let train =
        MetricValues::from([(MetricId::LOSS, 0.0625), (MetricId::LEARNING_RATE, 0.001), (MetricId::GRAD_NORM, 1.0)]);
    session.record(21, Event::Train(train)).expect("it can be written");
    app.until("the new point", |app| plotted(app, "Plot of Train loss").ends_with("0.06250"));
    session.record(21, Event::Stopped).expect("it can be written");
    drop(session);
    app.until("the new status", |app| app.shows("stopped, 21/40 steps"));
    app.until("its way on", |app| is_enabled(app, "Resume the run"));
    assert!(!is_enabled(&app, "Stop the run"));
}

#[test]
fn several_runs_are_compared_and_replicates_grouped() {
    let (mut app, ()) = open_tab(|runs| {
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

fn is_enabled(app: &App, name: &str) -> bool {
    !app.harness.get_by_role_and_label(Role::Button, name).accesskit_node().is_disabled()
}

#[test]
fn the_buttons_of_a_run_stay_in_place_for_any_title_and_status() {
    let long = "A very long title of a run that somebody has given ".repeat(4);
    let (mut app, _session) = open_tab(|runs| {
        let run = finished(runs, "One run of MNIST", 1, |_| 1.0);
        Notes { title: long.trim().to_owned(), ..Notes::default() }.write(&run).expect("it can be written");
        begun(runs, "Live", 2, |_| 1.0)
    });
    listed(&mut app, 2);
    let buttons = ["Stop", "Resume", "Fork", "Rename", "Delete", "Copy the path of"].map(|of| format!("{of} the run"));
    for width in [1400.0, 900.0, 700.0] {
        app.harness.set_size(vec2(width, 700.0));
        let mut places = Vec::new();
        for (title, runs) in [(long.trim(), false), ("Live", true)] {
            select(&mut app, title);
            app.until("its status", |app| is_enabled(app, "Stop the run") == runs);
            let rect = |name: &String| app.harness.get_by_role_and_label(Role::Button, name).rect();
            places.push(buttons.each_ref().map(rect));
        }
        assert_eq!(places[0], places[1], "at a width of {width}");
        let all = egui::Rect::from_min_size(egui::Pos2::ZERO, vec2(width, 700.0));
        assert!(places[0].iter().all(|button| all.contains_rect(*button)), "{:?}", places[0]);
    }
}

#[test]
fn the_list_and_the_plots_are_searched() {
    let (mut app, ()) = open_tab(|runs| {
        finished(runs, "Large batches", 1, |_| 1.0);
        finished(runs, "Small batches", 2, |_| 3.0);
    });
    listed(&mut app, 2);
    select(&mut app, "Large batches");
    compare(&mut app, "Small batches");
    app.until("both curves", |app| plotted(app, "Plot of Train loss").contains("; "));
    assert!(!app.shows("The search matches"));
    app.type_into("Search the runs", "small");
    assert_eq!(drawn(&app), 2, "the search alone hides no curve");
    app.click(Role::Button, "Search the plots, too");
    app.until("one curve", |app| plotted(app, "Plot of Train loss").ends_with(" 3.000") && drawn(app) == 1);
    assert!(app.shows("The search matches 1 of 2 chosen runs"));
    let [small, large] = ["Small batches", "Large batches"].map(|title| format!("Run {}", called(&app, title)));
    assert!(app.harness.query_by_role_and_label(Role::Button, &small).is_some());
    assert!(app.harness.query_by_role_and_label(Role::Button, &large).is_none());
    app.type_into("Search the runs", " neithr");
    assert!(app.shows("Filter: no run has “neithr” in its name, notes or tags"));
    assert_eq!(drawn(&app), 1, "a word that is not typed to its end hides nothing");
    app.type_over("Search the runs", Path::new("small, seed = 9"));
    app.until("no curve", |app| app.shows("None of the 2 chosen runs matches the search."));
}

#[test]
fn only_the_runs_that_a_search_finds_are_shown_on_request() {
    let (mut app, ()) = open_tab(|runs| {
        for (seed, title) in ["Large batches", "Small batches", "Small steps"].into_iter().enumerate() {
            finished(runs, title, seed as u64, |_| 1.0);
        }
    });
    listed(&mut app, 3);
    select(&mut app, "Large batches");
    let titles = |app: &App| {
        let runs = app.state().training();
        let title = |run: &RunFolder| runs.runs().iter().find(|it| it.run == *run).map(|it| it.title.clone());
        let mut titles: Vec<String> = runs.selected().iter().filter_map(title).collect();
        titles.sort();
        titles
    };
    app.type_into("Search the runs", "small");
    let row = format!("Run {}", called(&app, "Small steps"));
    let menu = |app: &mut App, entry: &str| {
        app.harness.get_by_role_and_label(Role::Button, &row).click_secondary();
        app.harness.run_steps(3);
        app.button(entry).settle();
    };
    menu(&mut app, "Show only these 2 found");
    assert_eq!(titles(&app), ["Small batches", "Small steps"]);
    menu(&mut app, "Show only this");
    assert_eq!(titles(&app), ["Small steps"]);
}

#[test]
fn a_diverged_run_leaves_the_plot_at_a_mark_that_says_how_far_it_goes() {
    let (mut app, ()) = open_tab(|runs| {
        finished(runs, "Good", 1, |step| 2.0 / step as f64);
        finished(runs, "Diverged", 2, |step| if step < 10 { 2.0 } else { 1e20 });
    });
    listed(&mut app, 2);
    select(&mut app, "Good");
    compare(&mut app, "Diverged");
    app.until("both curves", |app| plotted(app, "Plot of Train loss").contains("; "));
    app.until("the mark", |app| app.shows("up to 1.00×10²⁰ at step 10"));
    app.click(Role::Button, "Whole range");
    app.until("the whole curve", |app| !app.shows("up to 1.00×10²⁰"));
}

/// Returns the number of drawn curves or means.
fn drawn(app: &App) -> usize {
    app.state().training().drawn().len()
}

#[test]
fn warnings_are_listed_with_step_and_time_by_a_button_that_the_keyboard_reaches() {
    let (mut app, run) = open_tab(|runs| {
        let mut session = begun(runs, "Warned", 1, |_| 1.0);
        for step in [20, 21] {
            let message = format!("the loss has jumped at {step}");
            session.record(step, Event::Warning { message }).expect("it can be written");
        }
        session.record(21, Event::Finished).expect("it can be written");
        session.run().clone()
    });
    listed(&mut app, 1);
    select(&mut app, "Warned");
    app.until("the warnings", |app| app.shows("2 warnings"));
    app.harness.get_by_label("2 warnings").focus();
    app.harness.run_steps(2);
    app.key(Key::Enter);
    let shown = app.harness.get_by_label("Warnings of the run").value().unwrap_or_default();
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 2, "{shown}");
    let mut reader = RunReader::brief(run);
    reader.poll().expect("it can be read");
    let newest = reader.history().warnings()[1].time.strftime("%Y-%m-%d %H:%M:%S");
    assert_eq!(lines[0], format!("{newest}  step 21: the loss has jumped at 21"));
    assert!(lines[1].ends_with("step 20: the loss has jumped at 20"), "{shown}");
}

#[test]
fn stop_writes_a_command_that_the_worker_answers() {
    let (mut app, mut session) = open_tab(|runs| begun(runs, "Live", 0, |_| 1.0));
    listed(&mut app, 1);
    select(&mut app, "Live");
    app.until("its status", |app| is_enabled(app, "Stop the run"));
    app.button("Stop the run");
    let commands = session.run().commands();
    app.until("the command", |_| std::fs::read_to_string(&commands).is_ok_and(|text| text.contains("\"Stop\"")));
    let asked = session.commands().expect("they can be read");
    let [(id, _)] = &asked[..] else { panic!("one command is expected, found {asked:?}") };
    session.answer(id, true, "stopping after this step").expect("it can be written");
    let [name, _] = app.state().training().runs()[0].heading();
    app.until("the answer", |app| app.shows(&format!("{name}: stopping after this step")));
}

#[test]
fn a_run_is_renamed_and_the_note_is_kept_in_its_folder() {
    let (mut app, run) = open_tab(|runs| finished(runs, "Old title", 0, |_| 1.0));
    listed(&mut app, 1);
    select(&mut app, "Old title");
    app.button("Rename the run").settle();
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
    let (mut app, ()) = open_tab(|runs| {
        for (seed, title) in (0..).zip(&titles) {
            let run = finished(runs, "One run of MNIST", seed, |_| 1.0);
            Notes { title: title.clone(), ..Notes::default() }.write(&run).expect("it can be written");
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
    let (mut app, (run, session)) = open_tab(|runs| {
        let run = finished(runs, "Done", 0, |_| 1.0);
        (run, begun(runs, "Live", 1, |_| 1.0))
    });
    listed(&mut app, 2);
    select(&mut app, "Done");
    app.button("Delete the run").settle();
    assert!(app.shows("Move this run to the trash?"));
    app.button("Keep the run").settle();
    assert!(!app.shows("Move this run to the trash?"));
    assert!(run.path().is_dir());
    select(&mut app, "Live");
    app.until("its name", |app| is_enabled(app, "Stop the run"));
    let delete = app.harness.get_by_role_and_label(Role::Button, "Delete the run");
    assert!(delete.accesskit_node().is_disabled());
    drop(session);
}

#[test]
fn results_of_several_runs_are_plotted_over_a_setting_that_varies() {
    let (mut app, _) = open_results(trained_grid, 12);
    let losses = "Plot of test loss over learning rate";
    // The runs began in the same second, so the order of the curves is open.
    let found = plotted(&app, losses);
    let mut curves: Vec<&str> = found.split("; ").collect();
    curves.sort_unstable();
    assert_eq!(
        curves,
        [
            "Adam 0.001: 0.510 ± 0.010, 0.01: 0.260 ± 0.010, 0.1: 0.760 ± 0.010",
            "Signum 0.001: 1.010 ± 0.010, 0.01: 0.510 ± 0.010, 0.1: 0.210 ± 0.010"
        ]
    );
    // At one learning rate for both, nothing is said about which optimizer is better.
    assert!(app.harness.query_by_label_contains("Plot of the improvement").is_none());
    assert!(app.shows("Last test loss, with the standard error over seeds"));
    // Signum's best is at the end of those tried.
    let edge = "the best learning rate is at the edge of the learning rates tried, 0.001 to 0.1: widen them above 0.1";
    assert!(app.shows(&format!("Signum: {edge} (“--vary learning_rate=0.001,0.01,0.1,1”)")));
    assert!(!app.shows("runs have finished"));
    app.button("Curves").settle();
    assert!(app.harness.query_by_label(losses).is_none());
    assert!(app.harness.query_by_label("Plot of Train loss").is_some());
}

#[test]
fn the_improvement_of_signum_on_adam_is_plotted_over_batch_sizes() {
    let (mut app, ()) = open_results(
        |runs| {
            for (rule, size, loss) in
                [("Adam", "2", 0.5), ("Adam", "8", 0.4), ("Signum", "2", 0.4), ("Signum", "8", 0.5)]
            {
                let mut session = trains(runs, &[("optimizer", rule), ("batch_size", size)]);
                let loss = MetricValues::from([(MetricId::TEST_LOSS, loss)]);
                session.record(20, Event::Eval(loss)).expect("it can be written");
                session.record(20, Event::Finished).expect("it can be written");
            }
        },
        4,
    );
    app.settle();
    let improvement = "Plot of the improvement of Signum over Adam (dashed: ±5 %), in %";
    assert_eq!(plotted(&app, improvement), "2: 20.0, 8: -25.0");
    assert!(app.harness.query_by_label("Plot of test loss over batch size").is_some());
}

#[test]
fn axes_of_results_are_chosen_and_parallel_ones_shown() {
    let (mut app, _) = open_results(trained_grid, 12);
    app.choose("over", "optimizer");
    app.settle();
    assert_eq!(
        plotted(&app, "Plot of test loss over optimizer"),
        "Adam Adam: 0.260 ± 0.010 at η 0.01; Signum Signum: 0.210 ± 0.010 at η ≥ 0.1"
    );
    app.choose("over", "learning rate");
    app.settle();
    assert!(app.harness.query_by_label("Plot of test loss over learning rate").is_some());
    app.click(Role::CheckBox, "Parallel axes").settle();
    let parallel = "Combinations of settings and their results on parallel axes";
    assert_eq!(plotted(&app, parallel), "best 0.2100");
    assert!(app.harness.query_by_label("Plot of test loss over learning rate").is_none());
    app.click(Role::CheckBox, "Parallel axes").settle();
    assert!(app.harness.query_by_label(parallel).is_none());
}

#[test]
fn runs_that_have_not_finished_are_counted_and_one_has_no_results() {
    let (mut app, session) = open_results(
        |runs| {
            trained_grid(runs);
            trains(runs, &[("optimizer", "Adam"), ("learning_rate", "0.5"), ("seed", "0")])
        },
        13,
    );
    assert!(app.shows("12 of 13 runs have finished. Last test loss"));
    assert!(!plotted(&app, "Plot of test loss over learning rate").contains("0.5:"));
    drop(session);
    let running =
        app.state().training().runs().iter().find(|run| run.loss().is_some()).expect("it is listed").in_full();
    app.button(&format!("Run {running}")).settle();
    assert!(app.harness.query_by_role_and_label(Role::Button, "Results").is_none());
}

#[test]
fn a_dropped_run_is_shown_wherever_it_is() {
    let (mut app, ()) = open_tab(|_| ());
    app.keys(Modifiers::COMMAND, Key::Num1);
    let run = finished(&app.folder.path().join("elsewhere"), "Dropped", 0, |_| 1.0);
    app.drop(run.path());
    app.until("the run", |app| app.state().training().runs().iter().any(|run| run.title == "Dropped"));
    app.until("its curve", |app| app.state().training().drawn().iter().any(|drawn| !drawn.tracks.is_empty()));
    assert_eq!(app.state().training().selected().len(), 1);
}

#[test]
fn a_narrow_window_and_long_names_fit() {
    let long = "A very long title of a run that somebody has given ".repeat(4);
    let begin = Begin { size: [900.0, 600.0], ..Begin::default() };
    let mut app = App::prepared(begin, |folder| {
        finished(&folder.join("runs"), long.trim(), 0, |step| 1.0 / step as f64);
    });
    app.keys(Modifiers::COMMAND, Key::Num3);
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
