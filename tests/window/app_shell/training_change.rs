//! Changing settings of a run while it is trained, and marks on its curves.

use std::collections::BTreeMap;

use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT, Queryable};
use valleyscope_runs::{Event, RunCommand, SettingChange};

use super::harness::App;
use super::training::{begun, compare, finished, listed, open_tab, plotted, select};

fn value(app: &App, field: &str) -> Option<String> {
    app.harness.get_by_role_and_label(Role::TextInput, field).value()
}

#[test]
fn settings_of_a_run_are_changed_from_its_page_and_marked_on_its_curves() {
    let (mut app, mut session) = open_tab(|runs| begun(runs, "Trains", 1, |_| 1.0));
    listed(&mut app, 1);
    select(&mut app, "Trains");
    app.until("the settings", |app| app.shows("Change while it runs"));
    app.button("Change while it runs");
    app.settle();
    assert_eq!(value(&app, "Change Attraction γ").as_deref(), Some("0.2"));
    assert_eq!(value(&app, "Change Batch size").as_deref(), Some("128"));
    let can_apply = |app: &App| {
        let apply = app.harness.get_by_role_and_label(Role::Button, "Apply the changed settings");
        !apply.accesskit_node().is_disabled()
    };
    assert!(!can_apply(&app));
    // A value out of range names the range, and cannot be applied.
    app.type_into("Change Attraction γ", "99");
    assert!(app.shows("optimizer.gamma") && !can_apply(&app));
    app.button("Put back");
    // The run has taken steps already.
    app.type_into("Change Steps", "1");
    assert!(app.shows("Steps must be more than") && !can_apply(&app));
    app.button("Put back");
    app.type_into("Change Attraction γ", "0.4");
    app.settle();
    assert!(can_apply(&app));
    // Text that is no number is refused while it is typed.
    app.replace("Change Batch size", Role::TextInput, "abc");
    assert!(app.shows("expected a whole number") && !can_apply(&app));
    app.harness.key_press(egui::Key::Escape);
    app.settle();
    assert!(can_apply(&app));
    assert!(app.shows("Saves a checkpoint after the present step, then continues with γ 0.2 → 0.4."));
    app.button("Apply the changed settings");
    app.settle();
    assert!(app.shows("Requested.") && !can_apply(&app));
    app.until("the command", |_| session.run().commands().exists());
    let [(id, command)] = &session.commands().expect("they can be read")[..] else { panic!("one is expected") };
    let settings = BTreeMap::from([("optimizer.gamma".to_owned(), 0.4)]);
    assert_eq!(*command, RunCommand::Set { settings });
    let gamma = SettingChange { name: "optimizer.gamma".into(), label: "γ".into(), before: 0.2, now: 0.4 };
    session.record(20, Event::Changed { changes: vec![gamma] }).expect("it can be written");
    session.answer(id, true, "γ 0.2 → 0.4 after step 20").expect("it can be written");
    app.until("the mark", |app| plotted(app, "Plot of Train loss").contains("γ 0.2 → 0.4 after step 20"));
    app.until("the new values", |app| !can_apply(app));
    assert_eq!(value(&app, "Change Attraction γ").as_deref(), Some("0.4"));
    drop(session);
    app.until("the end of the worker", |app| !app.shows("Change while it runs"));
}

#[test]
fn the_warning_of_a_run_opens_and_buttons_stay_in_their_places() {
    let places = |app: &App| -> Vec<egui::Rect> {
        let buttons = ["Stop the run", "Resume the run", "Fork the run", "Rename the run", "Delete the run"];
        buttons.iter().map(|name| app.harness.get_by_role_and_label(Role::Button, name).rect()).collect()
    };
    let (mut app, _session) = open_tab(|runs| {
        finished(
            runs,
            "A finished run with a title that is much longer than its page is wide, and goes on and on",
            1,
            |_| 1.0,
        );
        let mut session = begun(runs, "Warned", 2, |_| 1.0);
        session.record(20, Event::Warning { message: "look at this".into() }).expect("it can be written");
        session
    });
    listed(&mut app, 2);
    select(&mut app, "Warned");
    app.until("the warning", |app| app.shows("1 warning"));
    let of_short = places(&app);
    app.button("1 warning");
    app.settle();
    let text = app.harness.get_by_label("Warnings of the run").value();
    assert!(text.is_some_and(|text| text.contains("step 20: look at this")));
    select(&mut app, "A finished run with a title that is much longer than its page is wide, and goes on and on");
    assert_eq!(places(&app), of_short);
}

#[test]
fn curves_are_drawn_over_the_steps_since_the_fork() {
    let (mut app, ()) = open_tab(|runs| {
        finished(runs, "One", 1, |step| 1.0 / step as f64);
        finished(runs, "Two", 2, |step| 2.0 / step as f64);
    });
    listed(&mut app, 2);
    select(&mut app, "One");
    compare(&mut app, "Two");
    app.choose("Horizontal axis", "steps since the fork");
    app.until("the axis", |app| app.shows("Train loss (log) over steps since the fork"));
}
