//! Watching runs in the window: marks in the list, texts, comparison.

use std::path::Path;

use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT, Queryable};
#[cfg(target_os = "linux")]
use valleyscope_runs::Notes;
use valleyscope_runs::{Event, MetricId, MetricValues, RunCommand, RunFolder, RunSession, Started};

use super::harness::App;
#[cfg(target_os = "linux")]
use super::harness::Begin;
#[cfg(target_os = "linux")]
use super::queue::ready;
use super::training::{begun, compare, config, finished, listed, open_tab, select};
#[cfg(target_os = "linux")]
use super::training_fork::checkpoint;

/// Returns the texts of the marks in the list.
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
    assert!(app.shows("running, diverged, step 20/40"));
    assert!(app.shows("running, warned, step 20/40"));
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
    assert!(matches!(command, RunCommand::Sample { prompt, .. } if prompt == "Once"), "{command:?}");
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
    assert!(app.shows("No text so far. With `sample` in the preset"));
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
    app.button("Reaching a loss");
    app.settle();
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
