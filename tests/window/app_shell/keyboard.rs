//! The effects of keys, and the states in which they have none.

use egui::accesskit::Role;
use egui::{Event, Key, Modifiers, OutputCommand, Rect};
use egui_kittest::kittest::{NodeT, Queryable};
use valleyscope_engine::optimizer::RuleKind;

use super::harness::{App, PLAIN};
use super::timeline::{noise, press};

const CTRL_SHIFT: Modifiers = Modifiers::COMMAND.plus(Modifiers::SHIFT);

fn step(app: &App) -> Option<u64> {
    app.state().live().snapshot.as_ref().map(|snapshot| snapshot.step)
}

#[test]
fn space_plays_and_pauses_and_the_arrow_steps() {
    let mut app = App::plain();
    press(&mut app, Modifiers::NONE, Key::ArrowRight);
    app.until("one step", |app| step(app) == Some(1));
    press(&mut app, Modifiers::NONE, Key::Space);
    app.until("playing", |app| app.state().live().is_playing());
    press(&mut app, Modifiers::NONE, Key::Space);
    app.until("a pause", |app| !app.state().live().is_playing());
    press(&mut app, Modifiers::NONE, Key::R);
    app.until("a new run", |app| step(app) == Some(0));
}

#[test]
fn f_follows_the_particles_or_stops() {
    let mut app = App::plain();
    let before = app.state().document().view.follow;
    press(&mut app, Modifiers::NONE, Key::F);
    assert_ne!(app.state().document().view.follow, before);
}

#[test]
fn three_shows_the_surface_in_space_and_the_plane_again() {
    let mut app = App::plain();
    for space in [true, false] {
        press(&mut app, Modifiers::NONE, Key::Num3);
        assert_eq!(app.state().document().view.is_in_space(), space);
    }
    app.button("3-D");
    assert!(app.state().document().view.is_in_space());
    app.button("2-D");
    assert!(!app.state().document().view.is_in_space());
}

#[test]
fn keys_are_letters_while_typing() {
    let mut app = App::plain();
    app.focus(Role::TextInput, "0: name");
    let follow = app.state().document().view.follow;
    for key in [Key::Space, Key::R, Key::F, Key::ArrowRight, Key::Questionmark] {
        press(&mut app, Modifiers::NONE, key);
    }
    assert!(!app.state().live().is_playing());
    assert_eq!(step(&app), Some(0));
    assert_eq!(app.state().document().view.follow, follow);
    assert!(!app.shows("Play from the shown step, or pause"), "the sheet of keys stays away");
}

#[test]
fn space_presses_the_focused_button_instead() {
    let mut app = App::plain();
    app.focus(Role::Button, "Adam: duplicate");
    press(&mut app, Modifiers::NONE, Key::Space);
    app.settle();
    assert_eq!(app.state().document().spec(0).optimizers.len(), 3);
    assert!(!app.state().live().is_playing());
}

#[test]
fn undo_and_redo_go_through_every_change() {
    let mut app = App::plain();
    app.settle();
    app.set_slider("Noise σ", 2.0).settle();
    app.set_slider("Noise σ", 3.0).settle();
    press(&mut app, Modifiers::COMMAND, Key::Z);
    assert_eq!(noise(&app), 2.0);
    press(&mut app, Modifiers::COMMAND, Key::Z);
    assert_eq!(noise(&app), 1.0);
    press(&mut app, CTRL_SHIFT, Key::Z);
    assert_eq!(noise(&app), 2.0);
    press(&mut app, Modifiers::COMMAND, Key::Y);
    assert_eq!(noise(&app), 3.0);
    app.until("the player to follow", |app| {
        app.state().live().snapshot.as_ref().is_some_and(|snapshot| snapshot.sessions[0].spec.noise.sigma() == 3.0)
    });
}

#[test]
fn a_drag_is_one_undo() {
    let mut app = App::plain();
    app.settle();
    for step in 1..=20 {
        app.slider("Noise σ").set_value_accesskit(1.0 + 0.05 * f64::from(step));
        app.harness.step();
    }
    app.settle();
    assert_eq!(noise(&app), 2.0);
    press(&mut app, Modifiers::COMMAND, Key::Z);
    assert_eq!(noise(&app), 1.0);
}

#[test]
fn undo_restores_a_removed_optimizer() {
    let mut app = App::plain();
    app.settle();
    app.button("Adam: remove").settle();
    app.menu("Edit", "Undo");
    assert_eq!(app.state().document().spec(0).optimizers.len(), 2);
    app.until("the player to follow", |app| {
        app.state().live().snapshot.as_ref().is_some_and(|snapshot| snapshot.sessions[0].ensembles.len() == 2)
    });
}

#[test]
fn help_shows_the_keys_and_escape_closes_it() {
    let mut app = App::plain();
    press(&mut app, Modifiers::NONE, Key::F1);
    assert!(app.shows("Play from the shown step, or pause"));
    press(&mut app, Modifiers::NONE, Key::Escape);
    app.settle();
    assert!(!app.shows("Play from the shown step, or pause"));
    press(&mut app, Modifiers::NONE, Key::Questionmark);
    assert!(app.shows("Play from the shown step, or pause"));
}

#[test]
fn every_control_can_be_reached_by_tab() {
    let mut app = App::plain();
    let mut reached = std::collections::BTreeSet::new();
    for _ in 0..200 {
        app.harness.key_press(Key::Tab);
        app.harness.run_steps(1);
        let focused = app.harness.root().children_recursive().find(egui_kittest::Node::is_focused);
        if let Some(name) = focused.and_then(|node| accessible_name(&node)) {
            reached.insert(name);
        }
    }
    for name in [
        "File",
        "View",
        "Sharpness a",
        "Sharpness a, number",
        "Noise σ",
        "FOCUS: Attraction γ",
        "FOCUS: colour",
        "Adam: enabled",
        "Play",
        "Seed",
        "New seed",
    ] {
        assert!(reached.contains(name), "Tab does not reach {name}; it reaches {reached:?}");
    }
}

fn accessible_name(node: &egui_kittest::Node<'_>) -> Option<String> {
    node.accesskit_node().label()
}

#[test]
fn the_interface_grows_and_shrinks() {
    let mut app = App::plain();
    press(&mut app, Modifiers::COMMAND, Key::Plus);
    assert!(app.harness.ctx.zoom_factor() > 1.05);
    press(&mut app, Modifiers::COMMAND, Key::Num0);
    assert_eq!(app.harness.ctx.zoom_factor(), 1.0);
    press(&mut app, Modifiers::COMMAND, Key::Minus);
    assert!(app.harness.ctx.zoom_factor() < 0.95);
}

#[test]
fn escape_dismisses_one_report_at_a_time() {
    let mut app = App::plain();
    for name in ["one", "two"] {
        let path = app.folder.path().join(name);
        app.open(&path);
        app.until("the report", |app| app.shows(&format!("{name} was not opened")));
    }
    app.key(Key::Escape);
    assert!(app.shows("one was not opened") && !app.shows("two was not opened"));
    app.key(Key::Escape);
    assert!(!app.shows("one was not opened"));
}

fn rect(app: &App, text: &str) -> Rect {
    app.harness.get_by_label(text).rect()
}

#[test]
fn the_link_on_a_card_explains_its_optimizer() {
    let mut app = App::plain();
    app.click(Role::Link, "Adam: explain");
    app.harness.run_steps(4);
    let [first, last] = ["m ← β₁ m + (1 − β₁) g", "θ ← θ − η (d + ω θ)"].map(|line| rect(&app, line));
    assert!(first.left() == last.left() && first.bottom() < last.top(), "{first} and {last} are lines");
    assert!(first.height() < 30.0 && last.height() < 30.0, "{first} and {last} are not broken");
    assert!(app.shows("Source: arXiv:1412.6980"));
    app.harness.key_press_modifiers(Modifiers::NONE, Key::Escape);
    app.harness.run_steps(4);
    assert!(!app.shows("Source: arXiv:1412.6980"));
}

#[test]
fn every_optimizer_is_explained() {
    let mut app = App::plain();
    app.menu("Help", "Optimizers");
    app.harness.run_steps(4);
    for kind in RuleKind::ALL {
        let listed = app.harness.get_all_by_label(kind.info().name).last().expect("it is in the list");
        listed.click_accesskit();
        app.harness.run_steps(4);
        assert!(app.shows(kind.info().source), "{}", kind.info().name);
    }
}

pub fn copied(app: &App) -> Option<String> {
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
    app.set_slider("Noise σ", 0.25).settle();
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
    assert!(other.shows("Plain") && !other.shows("Another"));
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
    app.focus(Role::TextInput, "Seed");
    paste(&mut app, &PLAIN.replace("Plain", "Another"));
    assert!(app.shows("Plain"));
}
