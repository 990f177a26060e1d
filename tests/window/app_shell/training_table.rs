//! The table of runs: filters, columns, groups, a baseline, and several runs at once.

use std::path::Path;

use egui::accesskit::Role;
use egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};
use valleyscope_experiments::preset::built_ins;
use valleyscope_runs::{Event, MetricId, MetricValues, Notes, RunCommand, RunFolder, RunSession, Started, TextRequest};

use super::harness::{App, Begin};
use super::training::{begun, compare, config, finished, listed, open_tab, plotted, select, trained};
#[cfg(target_os = "linux")]
use super::training_actions::checkpoint;
#[cfg(target_os = "linux")]
use super::worker::ready;

fn open_table(app: &mut App) {
    app.button("Show the table of runs").settle();
}

fn row(app: &App, title: &str) -> String {
    let runs = app.state().training().runs();
    format!("Run {}", runs.iter().find(|run| run.title == title).expect("it is listed").in_full())
}

/// Clicks on a run with modifiers held.
fn click_with(app: &mut App, title: &str, modifiers: Modifiers) {
    let row = row(app, title);
    let place = app.harness.get_by_role_and_label(Role::Button, &row).rect().center();
    app.harness.hover_at(place);
    for pressed in [true, false] {
        let button = egui::PointerButton::Primary;
        app.harness.event_modifiers(egui::Event::PointerButton { pos: place, button, pressed, modifiers }, modifiers);
        app.harness.run_steps(1);
    }
    app.settle();
}

fn titles(app: &App) -> Vec<String> {
    let runs = app.state().training().runs();
    let mut rows: Vec<(i32, String)> = runs
        .iter()
        .filter_map(|run| {
            let name = format!("Run {}", run.in_full());
            let row = app.harness.query_by_role_and_label(Role::Button, &name)?;
            Some((row.rect().top() as i32, run.title.clone()))
        })
        .collect();
    rows.sort();
    rows.into_iter().map(|(_, title)| title).collect()
}

fn three(runs: &Path) -> [RunFolder; 3] {
    [("First", 1, 0.5), ("Second", 2, 0.25), ("Third", 3, 0.75)]
        .map(|(title, seed, loss)| finished(runs, title, seed, move |_| loss))
}

#[test]
fn runs_are_filtered_and_sorted_and_a_mistake_is_explained() {
    let (mut app, _) = open_tab(three);
    listed(&mut app, 3);
    open_table(&mut app);
    assert!(app.shows("3 runs") && app.shows("0.7500"));
    app.button("Sort by Train loss");
    assert_eq!(titles(&app), ["Second", "First", "Third"]);
    app.button("Sort by Train loss");
    assert_eq!(titles(&app), ["Third", "First", "Second"]);
    app.type_into("Search the runs", "optimizer = FOCUS, seed > 1");
    app.settle();
    assert_eq!(titles(&app), ["Third", "Second"]);
    assert!(app.shows("2 of 3 runs"));
    app.type_into("Search the runs", ", sed = 2");
    app.settle();
    assert!(app.shows("Filter: there is no field `sed`; did you mean `seed`?"));
    assert_eq!(titles(&app), ["Third", "Second"], "the last filter without a mistake holds");
    // The curves are there again, and the list has the same filter.
    app.button("Show the curves").settle();
    assert!(app.harness.query_by_label("Table of runs").is_none());
}

#[test]
fn several_runs_are_selected_shown_and_deleted_after_one_question() {
    let (mut app, (runs, _live)) = open_tab(|runs| (three(runs), begun(runs, "Live", 4, |_| 1.0)));
    listed(&mut app, 4);
    open_table(&mut app);
    app.button("Sort by Name");
    let order = titles(&app);
    app.button(&row(&app, &order[0]));
    click_with(&mut app, &order[2], Modifiers::SHIFT);
    assert!(app.shows("3 selected"));
    click_with(&mut app, &order[1], Modifiers::COMMAND);
    assert!(app.shows("2 selected"));
    app.keys(Modifiers::COMMAND, Key::A);
    assert!(app.shows("4 selected"));
    app.key(Key::Space);
    assert_eq!(app.state().training().selected().len(), 4);
    app.key(Key::Space);
    assert!(app.state().training().selected().is_empty());
    app.key(Key::Delete);
    assert!(app.shows("Move these runs to the trash?") && app.shows("3 runs, with their curves"));
    assert!(app.shows("Those that are trained stay; stop them first"));
    app.button("Keep the runs").settle();
    assert!(runs.iter().all(|run| run.path().is_dir()));
}

#[test]
fn arrows_move_through_the_table_and_enter_opens_a_run() {
    let (mut app, _) = open_tab(three);
    listed(&mut app, 3);
    open_table(&mut app);
    app.button("Sort by Name");
    let order = titles(&app);
    app.button(&row(&app, &order[0]));
    app.key(Key::ArrowDown);
    app.keys(Modifiers::SHIFT, Key::ArrowDown);
    assert!(app.shows("2 selected"));
    app.key(Key::Enter);
    let selected = app.state().training().selected();
    let opened = app.state().training().runs().iter().find(|run| run.title == order[2]).expect("it is listed");
    assert_eq!(selected, std::slice::from_ref(&opened.run));
    assert!(app.harness.query_by_label("Table of runs").is_none());
}

#[test]
fn replicates_are_grouped_with_mean_and_deviation() {
    let (mut app, _) = open_tab(|runs| {
        three(runs);
        trained(runs, &[("optimizer", "Adam")]);
    });
    listed(&mut app, 4);
    open_table(&mut app);
    app.button("Group");
    app.click(Role::CheckBox, "Replicates");
    app.key(Key::Escape);
    assert!(app.shows("0.50 ± 0.25"));
    assert_eq!(titles(&app).len(), 0, "the groups are closed");
    app.press("Open the group FOCUS").settle();
    assert_eq!(titles(&app).len(), 3);
}

#[test]
fn a_baseline_shows_differences_and_the_table_returns_with_the_session() {
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    three(place.path());
    let begin = || Begin { runs: Some(place.path()), ..Begin::default() };
    let mut app = App::begin(begin());
    app.keys(Modifiers::COMMAND, Key::Num3);
    listed(&mut app, 3);
    open_table(&mut app);
    app.button(&row(&app, "First"));
    app.button("Compare to the selected run").settle();
    assert!(app.shows("−0.250") && app.shows("+0.250"));
    app.button("Sort by Train loss");
    assert_eq!(titles(&app), ["First", "Second", "Third"], "the baseline is at the top");
    app.button("Columns");
    app.click(Role::CheckBox, "Folder");
    app.button("Move Folder to the left");
    app.harness.key_press(Key::Escape);
    app.type_into("Search the runs", "seed < 3");
    app.settle();
    let storage = app.state().session();
    let mut app = App::begin(Begin { storage: Some(&storage), preset: None, ..begin() });
    listed(&mut app, 3);
    app.until("the filter", |app| titles(app) == ["First", "Second"]);
    assert!(app.shows("−0.250") && app.shows("2 of 3 runs"));
    assert!(app.harness.query_by_role_and_label(Role::Button, "Sort by Folder").is_some());
}

#[test]
fn a_tag_is_kept_with_the_runs_and_found_by_a_filter() {
    let (mut app, runs) = open_tab(three);
    listed(&mut app, 3);
    open_table(&mut app);
    app.button(&row(&app, "Second"));
    click_with(&mut app, "Third", Modifiers::COMMAND);
    app.button("Tag");
    let field = app.harness.get_by_role_and_label(Role::TextInput, "New tag");
    field.focus();
    app.harness.run_steps(2);
    app.harness.get_by_role_and_label(Role::TextInput, "New tag").type_text("good, ones");
    app.harness.run_steps(2);
    app.key(Key::Enter);
    let tags = |run: &RunFolder| Notes::read(run).map(|notes| notes.tags).unwrap_or_default();
    app.until("the notes", |_| tags(&runs[1]) == ["good ones"] && tags(&runs[2]) == ["good ones"]);
    assert!(tags(&runs[0]).is_empty());
    app.key(Key::Escape);
    app.until("the tags", |app| {
        app.state().training().runs().iter().filter(|run| !run.notes.tags.is_empty()).count() == 2
    });
    app.type_into("Search the runs", "tags = \"good ones\"");
    app.settle();
    assert!(app.shows("2 of 3 runs"));
}

#[test]
fn runs_of_other_programs_are_imported_with_a_report() {
    let (mut app, ()) = open_tab(|_| ());
    let other = app.folder.path().join("elsewhere");
    std::fs::create_dir_all(other.join("adam")).expect("the test's folder can be written");
    app.write("elsewhere/adam/metrics.csv", "step,loss\n1,2.0\n2,1.0\n");
    app.write("elsewhere/notes.csv", "when,what\ntoday,nothing\n");
    open_table(&mut app);
    app.button("Import runs…");
    app.type_over("Path of the folder", &other);
    listed(&mut app, 1);
    assert!(app.shows("1 run was imported"));
    assert!(app.shows("is left out: expected a header with a column `step`, found `when`, `what`"));
    assert_eq!(app.state().training().runs()[0].title, "adam");
}

#[test]
fn a_folder_is_followed_until_the_user_ends_it() {
    let (mut app, ()) = open_tab(|_| ());
    let other = app.folder.path().join("elsewhere");
    std::fs::create_dir_all(&other).expect("the test's folder can be written");
    app.write("elsewhere/adam.csv", "step,loss\n1,2.0\n");
    open_table(&mut app);
    app.button("Follow a folder…");
    app.type_over("Path of the folder", &other);
    listed(&mut app, 1);
    assert!(app.shows("Following elsewhere"));
    app.write("elsewhere/adam.csv", "step,loss\n1,2.0\n2,1.0\n");
    app.until("the new point", |app| app.state().training().runs()[0].step() == 2);
    app.button("Follow elsewhere no longer").settle();
    assert!(!app.shows("Following elsewhere"));
}

#[test]
fn the_list_offers_fields_for_a_filter() {
    let (mut app, _) = open_tab(three);
    listed(&mut app, 3);
    select(&mut app, "First");
    app.focus(Role::TextInput, "Search the runs");
    app.harness.get_by_role_and_label(Role::TextInput, "Search the runs").type_text("lea");
    app.harness.run_steps(3);
    app.button("Complete the field learning_rate").settle();
    let field = app.harness.get_by_role_and_label(Role::TextInput, "Search the runs");
    assert_eq!(field.accesskit_node().value().unwrap_or_default(), "learning_rate ");
}

/// Writes a run at a learning rate, whose evaluation has this result.
fn rated(runs: &Path, rate: &str, metric: MetricId, loss: f64) {
    let mnist = built_ins().iter().find(|built_in| built_in.name == "mnist").expect("it is built in");
    let preset = mnist.preset.with("learning_rate", rate).expect("it can be set");
    let run = RunFolder::create(runs, "rated", &preset.to_ron()).expect("a run can be made");
    let mut session = RunSession::begin(&run).expect("a session can begin");
    let title = format!("{} at {rate}", metric.name());
    session.record(0, Event::Started(Started { title, steps: 20, ..Started::default() })).expect("it can be written");
    session.record(20, Event::Train(MetricValues::from([(MetricId::LOSS, 1.0)]))).expect("it can be written");
    session.record(20, Event::Eval(MetricValues::from([(metric, loss)]))).expect("it can be written");
    session.record(20, Event::Finished).expect("it can be written");
}

#[test]
fn each_group_is_at_its_best_by_the_metric_of_the_runs_that_fit_the_filter() {
    let (mut app, ()) = open_tab(|runs| {
        rated(runs, "0.01", MetricId::VAL_LOSS, 4.0);
        for (rate, loss) in [("0.003", 0.388), ("0.001", 0.3), ("0.0003", 0.289)] {
            rated(runs, rate, MetricId::TEST_LOSS, loss);
        }
    });
    listed(&mut app, 4);
    open_table(&mut app);
    app.button("Group");
    app.click(Role::CheckBox, "Equal optimizer");
    app.click(Role::RadioButton, "learning rate η");
    app.key(Key::Escape);
    assert!(app.shows("as its runs are judged by different losses"));
    app.type_into("Search the runs", "best_test_loss < 9");
    app.settle();
    assert!(!app.shows("judged by different losses") && app.shows("≤ 0.0003") && app.shows("0.2890"));
    assert!(app.harness.query_by_role_and_label(Role::Button, "Sort by Best validation loss").is_none());
}

#[test]
fn metrics_of_several_names_are_shown_together_and_apart_again() {
    let (mut app, ()) = open_tab(|runs| {
        rated(runs, "0.01", MetricId::VAL_LOSS, 4.0);
        rated(runs, "0.001", MetricId::TEST_LOSS, 0.3);
    });
    listed(&mut app, 2);
    select(&mut app, "val_loss at 0.01");
    compare(&mut app, "test_loss at 0.001");
    app.until("its plot", |app| app.harness.query_by_label("Plot of Test loss").is_some());
    app.button("Show Test loss together with…");
    app.button("Show test_loss together with val_loss");
    app.until("one plot", |app| app.harness.query_by_label("Plot of Test loss").is_none());
    app.settle();
    let values = plotted(&app, "Plot of Validation loss");
    assert!(values.contains("0.3") && values.contains('4'), "{values}");
    let file = app.folder.path().join("metrics.ron");
    assert!(std::fs::read_to_string(file).is_ok_and(|text| text.contains("\"test_loss\": \"val_loss\"")));
    app.button("Show Validation loss together with…");
    app.button("Show test_loss in its own plot");
    app.until("its own plot", |app| app.harness.query_by_label("Plot of Test loss").is_some());
}

fn marks(app: &App) -> Vec<String> {
    let marks = app.harness.query_all_by_label_contains("Not well: ");
    let mut words: Vec<String> = marks.filter_map(|mark| mark.accesskit_node().label()).collect();
    words.sort();
    words
}

#[test]
fn runs_with_problems_are_marked_in_the_list_with_the_reason() {
    let (mut app, _sessions) = open_tab(|runs| {
        finished(runs, "Well", 0, |_| 1.0);
        let diverged = begun(runs, "Diverged", 1, |step| if step < 20 { 1.0 } else { f64::NAN });
        let mut full = begun(runs, "Full", 2, |_| 1.0);
        let message = "the disk is full: cannot write events.jsonl".to_owned();
        full.record(20, Event::Failed { message }).expect("it can be written");
        drop(full);
        let mut jumped = begun(runs, "Jumped", 3, |_| 1.0);
        let message = "the training loss has jumped to 9.00; the median of the 50 points before was 1.00".to_owned();
        jumped.record(20, Event::Warning { message }).expect("it can be written");
        (diverged, jumped)
    });
    listed(&mut app, 4);
    let expected = [
        "Not well: failed: the disk is full: cannot write events.jsonl",
        "Not well: step 20: the training loss has jumped to 9.00; the median of the 50 points before was 1.00",
        "Not well: train loss NaN at step 20",
    ];
    assert_eq!(marks(&app), expected);
    assert!(app.shows("running, diverged, 20/40 steps"));
    assert!(app.shows("running, warned, 20/40 steps"));
    select(&mut app, "Jumped");
    app.until("the reason", |app| app.shows("step 20: the training loss has jumped to 9.00"));
}

/// Starts a run of a text model that has written some texts; its session is still open.
fn writing(runs: &Path, texts: &[(u64, &str)]) -> RunSession {
    let run = RunFolder::create(runs, "gpt2", &config(0)).expect("a run can be made");
    let mut session = RunSession::begin(&run).expect("a session can begin");
    let started = Started { title: "Writer".to_owned(), steps: 40, tokens_per_step: Some(768), ..Started::default() };
    session.record(0, Event::Started(started)).expect("it can be written");
    let train = Event::Train(MetricValues::from([(MetricId::LOSS, 4.0)]));
    session.record(1, train).expect("it can be written");
    texts.iter().for_each(|(step, text)| write(&mut session, *step, text));
    session
}

fn write(session: &mut RunSession, step: u64, text: &str) {
    session.record(step, Event::Sample { text: text.to_owned() }).expect("it can be written");
}

#[test]
fn texts_of_a_run_are_shown_newest_first_and_can_be_requested() {
    let (mut app, mut session) = open_tab(|runs| writing(runs, &[(10, "To be\nor not"), (20, "a bell:\u{7}")]));
    listed(&mut app, 1);
    select(&mut app, "Writer");
    app.until("the log", |app| app.shows("Texts"));
    app.button("Texts");
    app.until("the texts", |app| app.shows("a bell:\\u{7}"));
    let top = |app: &App, text: &str| app.harness.get_by_label_contains(text).rect().top();
    assert!(top(&app, "step 20, 20") < top(&app, "step 10, 20"));
    assert!(app.shows("To be\nor not"));
    write(&mut session, 30, "Later");
    app.until("the new text", |app| app.shows("Later"));
    app.type_into("Prompt of the text", "Once");
    app.button("Write a text now");
    app.until("the command", |_| session.run().commands().exists());
    let [(_, command)] = &session.commands().expect("they can be read")[..] else { panic!("one is expected") };
    assert!(matches!(command, RunCommand::Sample(TextRequest { prompt, .. }) if prompt == "Once"), "{command:?}");
}

#[test]
fn a_run_without_texts_explains_how_to_get_some_and_image_runs_have_none() {
    let (mut app, session) = open_tab(|runs| {
        finished(runs, "Images", 1, |_| 1.0);
        writing(runs, &[])
    });
    listed(&mut app, 2);
    select(&mut app, "Writer");
    app.until("the log", |app| app.shows("Texts"));
    app.button("Texts");
    assert!(app.shows("No text so far. With “sample” in the preset"));
    drop(session);
    app.until("the end of the worker", |app| !app.shows("Write a text now"));
    select(&mut app, "Images");
    app.until("the events in place of an empty log", |app| app.shows("Events of the run"));
    assert!(app.harness.query_by_role_and_label(Role::Button, "Log").is_none(), "the worker has written nothing");
    assert!(!app.shows("Texts"));
}

#[cfg(target_os = "linux")]
#[test]
fn checkpoints_of_finished_runs_write_side_by_side() {
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    for (title, step) in [("First", 10), ("Second", 20)] {
        let mut session = writing(place.path(), &[]);
        checkpoint(session.run(), step);
        let notes = Notes { title: title.to_owned(), ..Notes::default() };
        notes.write(session.run()).expect("it can be written");
        session.record(step, Event::Finished).expect("it can be written");
    }
    let mut app = ready(Begin { runs: Some(place.path()), ..Begin::default() });
    listed(&mut app, 2);
    select(&mut app, "First");
    compare(&mut app, "Second");
    app.until("the log", |app| app.shows("Texts"));
    app.button("Texts");
    app.type_into("Prompt of the text", "Once");
    assert!(!app.shows("Write a text now"), "nothing is trained");
    app.button("Write texts from checkpoints");
    for step in [10, 20] {
        app.until("the text", |app| app.shows(&format!("step {step} --prompt=Once")));
    }
    let left = |app: &App, text: &str| app.harness.get_by_label_contains(text).rect().left();
    assert!(left(&app, "step 10 --prompt=Once") < left(&app, "step 20 --prompt=Once"));
}

/// Shows when the runs `Quick` and `Slow` reach a loss.
fn compared(app: &mut App) {
    listed(app, 2);
    select(app, "Quick");
    compare(app, "Slow");
    app.until("both curves", |app| {
        app.state().training().drawn().iter().filter(|it| !it.tracks.is_empty()).count() == 2
    });
    app.button("Reaching a loss").settle();
}

#[test]
fn runs_are_compared_by_when_they_reach_a_loss() {
    // One run reaches the loss 1 at step 5, and the other at step 20.
    let (mut app, ()) = open_tab(|runs| {
        finished(runs, "Quick", 1, |step| 5.0 / step as f64);
        finished(runs, "Slow", 2, |step| 20.0 / step as f64);
    });
    compared(&mut app);
    // Both have one evaluation, of a test loss of 0.25 after step 20.
    assert!(app.shows("Test loss of"));
    app.type_into("Loss to reach", "0.3");
    assert!(app.shows("step 20"));
    app.type_into("Loss to reach", "0.2");
    assert_eq!(app.harness.query_all_by_label("does not reach it").count(), 2);
    app.button("The lowest loss that all runs reach");
    let field = app.harness.get_by_role_and_label(Role::TextInput, "Loss to reach");
    assert_eq!(field.value().as_deref(), Some("0.25000"));
}

#[test]
fn without_evaluations_the_training_loss_is_compared_with_the_slowest_or_the_chosen_run() {
    let curve = |runs: &Path, title: &str, seed: u64, reach: f64| {
        let run = RunFolder::create(runs, "mnist", &config(seed)).expect("a run can be made");
        let mut session = RunSession::begin(&run).expect("a session can begin");
        let started = Started { title: title.to_owned(), steps: 40, ..Started::default() };
        session.record(0, Event::Started(started)).expect("it can be written");
        for step in 1..=20 {
            let train = Event::Train(MetricValues::from([(MetricId::LOSS, reach / step as f64)]));
            session.record(step, train).expect("it can be written");
        }
        session.record(20, Event::Finished).expect("it can be written");
    };
    let (mut app, ()) = open_tab(|runs| {
        curve(runs, "Quick", 1, 5.0);
        curve(runs, "Slow", 2, 20.0);
    });
    compared(&mut app);
    assert!(app.shows("Train loss of"));
    assert!(app.shows("step 5"), "where the slow one ends");
    assert!(app.shows("4.00 × fewer steps"));
    let quick = app.harness.get_all_by_role(Role::RadioButton).next().expect("there are two").accesskit_node().label();
    app.click(Role::RadioButton, &quick.expect("it has a name"));
    assert!(app.shows("4.00 × more steps"));
}
