//! The timeline: looking back at earlier steps by keys and pointer, and the marks of changed settings.

use egui::accesskit::Role;
use egui::{Key, Modifiers, PointerButton, Pos2, pos2};
use egui_kittest::kittest::{NodeT, Queryable};

use super::harness::{App, Begin};

/// Returns the shown step and the last one.
pub(super) fn steps(app: &App) -> [u64; 2] {
    app.state().live().snapshot.as_ref().map_or([0, 0], |snapshot| [snapshot.step, snapshot.last_step])
}

pub(super) fn noise(app: &App) -> f64 {
    app.state().document().spec(0).noise.sigma()
}

pub(super) fn press(app: &mut App, modifiers: Modifiers, key: Key) {
    app.harness.key_press_modifiers(modifiers, key);
    app.harness.run_steps(3);
}

/// Takes ten steps at a time by Shift →.
pub(super) fn take_tens(app: &mut App, tens: u64) {
    for _ in 0..tens {
        let [_, last] = steps(app);
        press(app, Modifiers::SHIFT, Key::ArrowRight);
        app.until("ten steps", |app| steps(app) == [last + 10, last + 10]);
    }
}

/// Runs to step 40, with a change of σ from 1 to 2 at step 20.
pub(super) fn with_a_change() -> App {
    let mut app = App::plain();
    take_tens(&mut app, 2);
    app.set_slider("Noise σ", 2.0);
    take_tens(&mut app, 2);
    app
}

pub(super) fn seek(app: &mut App, step: u64) {
    app.set_slider("Timeline", step as f64);
    app.until("the sought step", |app| steps(app)[0] == step);
}

fn click(app: &mut App, at: Pos2) {
    app.harness.hover_at(at);
    for pressed in [true, false] {
        let (button, modifiers) = (PointerButton::Primary, Modifiers::NONE);
        app.harness.event(egui::Event::PointerButton { pos: at, button, pressed, modifiers });
        app.harness.run_steps(2);
    }
}

#[test]
fn a_click_within_one_frame_shows_its_step() {
    let mut app = App::plain();
    take_tens(&mut app, 4);
    let at = app.slider("Timeline").rect().center();
    app.harness.hover_at(at);
    app.harness.run_steps(2);
    for pressed in [true, false] {
        let (button, modifiers) = (PointerButton::Primary, Modifiers::NONE);
        app.harness.input_mut().events.push(egui::Event::PointerButton { pos: at, button, pressed, modifiers });
    }
    app.harness.step();
    let [_, last] = steps(&app);
    app.until("an earlier step", |app| steps(app)[0] < last);
    assert_eq!(steps(&app)[1], 40);
}

#[test]
fn keys_move_by_one_step_by_ten_and_to_the_ends() {
    let mut app = App::plain();
    take_tens(&mut app, 2);
    let back = [
        (Modifiers::NONE, Key::ArrowLeft, 19),
        (Modifiers::NONE, Key::ArrowLeft, 18),
        (Modifiers::SHIFT, Key::ArrowLeft, 8),
        (Modifiers::NONE, Key::ArrowRight, 9),
        (Modifiers::SHIFT, Key::ArrowRight, 19),
        (Modifiers::NONE, Key::Home, 0),
        (Modifiers::NONE, Key::ArrowLeft, 0),
        (Modifiers::NONE, Key::End, 20),
    ];
    for (modifiers, key, expected) in back {
        press(&mut app, modifiers, key);
        app.until("the step of the key", |app| steps(app) == [expected, 20]);
    }
    press(&mut app, Modifiers::NONE, Key::ArrowRight);
    app.until("a new step", |app| steps(app) == [21, 21]);
}

#[test]
fn presses_in_one_frame_all_count() {
    let mut app = App::plain();
    take_tens(&mut app, 5);
    for _ in 0..3 {
        let (key, modifiers) = (Key::ArrowLeft, Modifiers::SHIFT);
        app.harness.event(egui::Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers });
    }
    app.until("three times ten steps back", |app| steps(app) == [20, 50]);
}

#[test]
fn keys_of_time_are_letters_while_typing_and_values_on_another_slider() {
    let mut app = App::plain();
    take_tens(&mut app, 1);
    app.harness.get_by_role_and_label(Role::TextInput, "0: name").focus();
    app.harness.run_steps(2);
    for key in [Key::ArrowLeft, Key::Home, Key::End] {
        press(&mut app, Modifiers::NONE, key);
    }
    assert_eq!(steps(&app), [10, 10]);
    app.slider("Noise σ").focus();
    app.harness.run_steps(2);
    press(&mut app, Modifiers::NONE, Key::ArrowLeft);
    app.settle();
    assert_eq!(steps(&app), [10, 10]);
    assert!(noise(&app) < 1.0);
}

#[test]
fn the_focused_timeline_takes_the_same_keys() {
    let mut app = App::plain();
    take_tens(&mut app, 2);
    app.slider("Timeline").focus();
    app.harness.run_steps(2);
    for (modifiers, key, expected) in [
        (Modifiers::SHIFT, Key::ArrowLeft, 10),
        (Modifiers::NONE, Key::ArrowLeft, 9),
        (Modifiers::NONE, Key::Home, 0),
        (Modifiers::NONE, Key::End, 20),
    ] {
        press(&mut app, modifiers, key);
        app.until("the step of the key", |app| steps(app) == [expected, 20]);
    }
    press(&mut app, Modifiers::NONE, Key::Space);
    app.until("playing", |app| app.state().live().is_playing());
}

#[test]
fn a_presentation_has_the_timeline_and_its_keys() {
    let mut app = App::plain();
    take_tens(&mut app, 1);
    press(&mut app, Modifiers::NONE, Key::F11);
    app.settle();
    press(&mut app, Modifiers::NONE, Key::ArrowLeft);
    app.until("a step back", |app| steps(app) == [9, 10]);
    seek(&mut app, 4);
    press(&mut app, Modifiers::NONE, Key::End);
    app.until("the end", |app| steps(app) == [10, 10]);
}

#[test]
fn a_drag_pauses_a_playing_run_at_the_sought_step() {
    let mut app = App::begin(Begin { play: true, ..Begin::default() });
    app.until("some steps", |app| steps(app)[1] > 30);
    seek(&mut app, 5);
    assert!(!app.state().live().is_playing());
    let [step, last] = steps(&app);
    assert_eq!(step, 5);
    assert!(app.shows(&format!("of {last}")));
    press(&mut app, Modifiers::NONE, Key::Space);
    app.until("new steps", |app| steps(app)[1] > last);
    assert!(app.state().live().is_playing());
}

#[test]
fn the_pointer_drags_the_timeline_to_any_step() {
    let mut app = App::plain();
    take_tens(&mut app, 2);
    let rail = app.slider("Timeline").rect();
    click(&mut app, rail.center());
    app.until("the middle", |app| steps(app) == [10, 20]);
    click(&mut app, pos2(rail.left() + 1.0, rail.center().y));
    app.until("the start", |app| steps(app) == [0, 20]);
    click(&mut app, pos2(rail.right() - 1.0, rail.center().y));
    app.until("the last step", |app| steps(app) == [20, 20]);
}

#[test]
fn controls_show_the_settings_of_the_shown_step() {
    let mut app = with_a_change();
    seek(&mut app, 10);
    app.until("the noise of that step", |app| noise(app) == 1.0);
    seek(&mut app, 30);
    app.until("the noise after the change", |app| noise(app) == 2.0);
    assert_eq!(steps(&app), [30, 40], "looking back has changed nothing");
}

#[test]
fn a_changed_setting_has_a_mark_that_leads_there() {
    let mut app = with_a_change();
    app.press("Step 20: σ 1 → 2");
    app.until("the step of the mark", |app| steps(app) == [20, 40]);
    assert_eq!(noise(&app), 2.0, "the change is in force from this step on");
}

/// Moves the pointer over the plot of the loss until a mark shows `words`. Returns the pointer's place.
pub(super) fn point_at_mark(app: &mut App, words: &str) -> Pos2 {
    let plot = app.harness.get_by_label("Plot of loss L").rect();
    let xs = (plot.left() as usize..plot.right() as usize).step_by(3);
    let mut places = xs.map(|x| pos2(x as f32, plot.center().y));
    let found = places.find(|&place| {
        app.harness.hover_at(place);
        app.harness.run_steps(3);
        app.shows(words)
    });
    found.expect("the pointer meets the mark")
}

#[test]
fn plots_have_the_marks_too() {
    let mut app = with_a_change();
    let mark = point_at_mark(&mut app, "Click to go there.");
    assert!(app.shows("Step 20: σ 1 → 2"));
    click(&mut app, mark);
    app.until("the step of the mark", |app| steps(app) == [20, 40]);
}

#[test]
fn a_change_at_an_earlier_step_begins_a_new_future() {
    let mut app = with_a_change();
    seek(&mut app, 5);
    app.until("the noise of that step", |app| noise(app) == 1.0);
    app.set_slider("Noise σ", 3.0);
    app.until("the later steps are gone", |app| steps(app) == [5, 5]);
    take_tens(&mut app, 1);
    assert!(app.shows("Step 5: σ 1 → 3"));
    assert!(!app.shows("Step 20: σ 1 → 2"));
    assert_eq!(noise(&app), 3.0);
}

#[test]
fn a_restart_takes_the_settings_of_the_shown_step_and_drops_the_marks() {
    let mut app = with_a_change();
    seek(&mut app, 30);
    press(&mut app, Modifiers::NONE, Key::R);
    app.until("a new run", |app| steps(app) == [0, 0]);
    app.settle();
    assert_eq!(noise(&app), 2.0);
    assert!(!app.shows("σ 1 → 2"));
    assert!(app.slider("Timeline").accesskit_node().is_disabled(), "there is no other step yet");
}

fn undo(app: &mut App) {
    app.settle();
    press(app, Modifiers::COMMAND, Key::Z);
}

#[test]
fn undo_while_looking_back_returns_to_the_step_of_the_change() {
    for shown in [30, 10] {
        let mut app = with_a_change();
        seek(&mut app, shown);
        undo(&mut app);
        app.until("the step of the change, without its future", |app| steps(app) == [20, 20]);
        assert_eq!(noise(&app), 1.0, "the settings before the change, seen from step {shown}");
        app.settle();
        assert!(!app.shows("Step 20: σ 1 → 2"), "the mark of the change is still there");
        undo(&mut app);
        assert_ne!(noise(&app), 2.0, "the change is undone once");
    }
}

#[test]
fn looking_back_is_no_change_to_undo() {
    let mut app = with_a_change();
    seek(&mut app, 10);
    app.until("the noise of that step", |app| noise(app) == 1.0);
    app.settle();
    press(&mut app, Modifiers::NONE, Key::End);
    app.until("the noise at the end", |app| noise(app) == 2.0);
    undo(&mut app);
    assert_eq!(noise(&app), 1.0, "the change is undone, not the way back");
}

#[test]
fn undo_of_a_change_in_the_past_restores_the_settings_of_that_step() {
    let mut app = with_a_change();
    seek(&mut app, 5);
    app.until("the noise of that step", |app| noise(app) == 1.0);
    app.set_slider("Noise σ", 3.0);
    app.until("the later steps are gone", |app| steps(app) == [5, 5]);
    undo(&mut app);
    app.settle();
    assert_eq!((noise(&app), steps(&app)), (1.0, [5, 5]));
    undo(&mut app);
    assert_ne!(noise(&app), 2.0, "the later setting is gone with its steps");
}
