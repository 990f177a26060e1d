//! Presets as text on the clipboard.

use egui::accesskit::Role;
use egui::{Event, OutputCommand};
use egui_kittest::kittest::Queryable as _;

use super::harness::{App, PLAIN};

/// Returns the text that the last frame copied.
fn copied(app: &App) -> Option<String> {
    app.harness.output().platform_output.commands.iter().find_map(|command| match command {
        OutputCommand::CopyText(text) => Some(text.clone()),
        _ => None,
    })
}

fn paste(app: &mut App, text: &str) {
    app.harness.event(Event::Paste(text.to_owned()));
    app.harness.run_steps(3);
}

#[test]
fn a_preset_is_copied_as_text_and_pasted_onto_the_window() {
    let mut app = App::plain();
    app.set_slider("Noise σ", 0.25);
    app.settle();
    app.button("Edit");
    app.harness.run_steps(2);
    app.harness.get_by_label("Copy preset").click_accesskit();
    let text = (0..4).find_map(|_| {
        app.harness.step();
        copied(&app)
    });
    let text = text.expect("it is copied");
    assert!(text.contains("\nLandscape(") && text.contains("0.25"), "{text}");

    let mut other = App::with(&PLAIN.replace("Plain", "Another"));
    paste(&mut other, &text);
    assert_eq!(other.state().document().spec(0).noise.sigma(), 0.25);
    assert!(other.shows("Opened “"));
}

#[test]
fn a_text_that_is_no_preset_is_refused_with_the_reason() {
    let mut app = App::plain();
    paste(&mut app, "hello");
    assert!(app.shows("The clipboard holds no preset") && app.shows("begins with its kind"));
    app.button("Dismiss");
    // The menu's entry waits for the clipboard, whose text may be missing.
    app.menu("Edit", "Paste preset");
    app.until("the answer", |app| app.shows("There is no text on it"));
}

#[test]
fn a_field_with_the_focus_takes_the_pasted_text() {
    let mut app = App::plain();
    app.harness.get_by_role_and_label(Role::TextInput, "Seed").focus();
    app.harness.run_steps(2);
    paste(&mut app, &PLAIN.replace("Plain", "Another"));
    assert!(!app.shows("Opened “Another”"));
}
