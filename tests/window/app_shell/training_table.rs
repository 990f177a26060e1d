//! The table of runs: filters, columns, groups, a baseline, and several runs at once.

use std::path::Path;

use egui::accesskit::Role;
use egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};
use valleyscope_experiments::preset::built_ins;
use valleyscope_runs::{Event, MetricId, MetricValues, Notes, RunFolder, RunSession, Started};

use super::harness::{App, Begin};
use super::training::{begun, compare, finished, listed, open_tab, plotted, select, trained};

fn open_table(app: &mut App) {
    app.button("Show the table of runs");
    app.settle();
}

/// Returns the row of the run with this title.
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

/// Returns the titles of the listed runs from top to bottom.
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
    app.button("Show the curves");
    app.settle();
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
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
    app.settle();
    assert!(app.shows("4 selected"));
    app.harness.key_press(Key::Space);
    app.settle();
    assert_eq!(app.state().training().selected().len(), 4);
    app.harness.key_press(Key::Space);
    app.settle();
    assert!(app.state().training().selected().is_empty());
    app.harness.key_press(Key::Delete);
    app.settle();
    assert!(app.shows("Move these runs to the trash?") && app.shows("3 runs, with their curves"));
    assert!(app.shows("Those that are trained stay; stop them first"));
    app.button("Keep the runs");
    app.settle();
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
    app.harness.key_press(Key::ArrowDown);
    app.settle();
    app.harness.key_press_modifiers(Modifiers::SHIFT, Key::ArrowDown);
    app.settle();
    assert!(app.shows("2 selected"));
    app.harness.key_press(Key::Enter);
    app.settle();
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
    app.harness.key_press(Key::Escape);
    app.settle();
    assert!(app.shows("0.50 ± 0.25"));
    assert_eq!(titles(&app).len(), 0, "the groups are closed");
    app.press("Open the group FOCUS");
    app.settle();
    assert_eq!(titles(&app).len(), 3);
}

#[test]
fn a_baseline_shows_differences_and_the_table_returns_with_the_session() {
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    three(place.path());
    let begin = || Begin { runs: Some(place.path()), ..Begin::default() };
    let mut app = App::begin(begin());
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::Num3);
    app.settle();
    listed(&mut app, 3);
    open_table(&mut app);
    app.button(&row(&app, "First"));
    app.button("Compare to the selected run");
    app.settle();
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
    app.harness.key_press(Key::Enter);
    app.settle();
    let tags = |run: &RunFolder| Notes::read(run).map(|notes| notes.tags).unwrap_or_default();
    app.until("the notes", |_| tags(&runs[1]) == ["good ones"] && tags(&runs[2]) == ["good ones"]);
    assert!(tags(&runs[0]).is_empty());
    app.harness.key_press(Key::Escape);
    app.settle();
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
fn the_list_offers_fields_for_a_filter() {
    let (mut app, _) = open_tab(three);
    listed(&mut app, 3);
    select(&mut app, "First");
    app.harness.get_by_role_and_label(Role::TextInput, "Search the runs").focus();
    app.harness.run_steps(2);
    app.harness.get_by_role_and_label(Role::TextInput, "Search the runs").type_text("lea");
    app.harness.run_steps(3);
    app.button("Complete the field learning_rate");
    app.settle();
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
    app.harness.key_press(Key::Escape);
    app.settle();
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
