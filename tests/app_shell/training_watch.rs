//! Watching runs in the window: marks in the list, texts, comparison.

use egui_kittest::kittest::{NodeT, Queryable};
use valleyscope::run::Event;

use crate::harness::App;
use crate::training::{begun, finished, listed, room, select};

/// The words of the marks in the list.
fn marks(app: &App) -> Vec<String> {
    let marks = app.harness.query_all_by_label_contains("Not well: ");
    let mut words: Vec<String> = marks.filter_map(|mark| mark.accesskit_node().label()).collect();
    words.sort();
    words
}

#[test]
fn runs_that_are_not_well_are_marked_in_the_list_with_the_reason() {
    let (mut app, _sessions) = room(|runs| {
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
