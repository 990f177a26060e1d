//! The timeline: looking back at earlier steps by keys and pointer, and the marks of changed settings.

use std::path::{Path, PathBuf};

use egui::accesskit::Role;
use egui::{Key, Modifiers, PointerButton, Pos2, pos2, vec2};
use egui_kittest::kittest::{NodeT, Queryable};
use valleyscope::player::BranchView;
use valleyscope_experiments::preset::{Preset, built_ins};

use super::harness::{App, Begin};
use super::phase::{SMALL, computed};

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

fn click(app: &mut App, at: Pos2, button: PointerButton) {
    app.harness.hover_at(at);
    app.harness.run_steps(1);
    for pressed in [true, false] {
        app.harness.event(egui::Event::PointerButton { pos: at, button, pressed, modifiers: Modifiers::NONE });
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
    app.focus(Role::TextInput, "0: name");
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
    click(&mut app, rail.center(), PointerButton::Primary);
    app.until("the middle", |app| steps(app) == [10, 20]);
    click(&mut app, pos2(rail.left() + 1.0, rail.center().y), PointerButton::Primary);
    app.until("the start", |app| steps(app) == [0, 20]);
    click(&mut app, pos2(rail.right() - 1.0, rail.center().y), PointerButton::Primary);
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
    click(&mut app, mark, PointerButton::Primary);
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
fn undo_returns_to_the_step_of_the_change_from_earlier_later_and_the_last_step() {
    for shown in [30, 10, 40] {
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

const OLD: &str = "Old future from step 10 · σ 1 → 2 at step 20";
const WITHOUT: &str = "Without σ 1 → 2 at step 20";

fn shown(app: &App) -> &[BranchView] {
    app.state().live().snapshot.as_ref().map_or(&[], |snapshot| &snapshot.branches)
}

fn plot(app: &App) -> String {
    app.harness.get_by_label("Plot of loss L").value().expect("a summary")
}

/// Changes σ to 3 at step 10 of a run of 40 steps.
fn branched() -> App {
    let mut app = with_a_change();
    seek(&mut app, 10);
    app.until("the noise of that step", |app| noise(app) == 1.0);
    app.set_slider("Noise σ", 3.0);
    app.until("the old future", |app| shown(app).len() == 1);
    app.settle();
    app
}

/// Presses the first button with Shift, or releases it.
fn press_with_shift(app: &mut App, at: Pos2, pressed: bool) {
    let (button, modifiers) = (PointerButton::Primary, Modifiers::SHIFT);
    app.harness.hover_at(at);
    app.harness.event_modifiers(egui::Event::PointerButton { pos: at, button, pressed, modifiers }, modifiers);
    app.harness.run_steps(2);
}

fn right_click_mark(app: &mut App, name: &str) {
    let mark = app.harness.get_by_label(name).rect().center();
    click(app, mark, PointerButton::Secondary);
}

#[test]
fn an_old_future_is_listed_plotted_hidden_and_removed() {
    let mut app = branched();
    let old = &shown(&app)[0];
    assert_eq!((old.of, old.since, old.removed.as_slice()), (0, 10, &[][..]));
    assert!(plot(&app).contains(OLD), "{}", plot(&app));
    let landscape = app.harness.get_by_role_and_label(Role::Canvas, "Landscape").value().expect("a summary");
    assert!(landscape.contains(&format!("Pale: {OLD}, mean loss Adam ")), "{landscape}");
    app.press(&format!("Hide: {OLD}")).settle();
    assert!(!plot(&app).contains(OLD));
    app.press(&format!("Show: {OLD}")).settle();
    assert!(plot(&app).contains(OLD));
    take_tens(&mut app, 1);
    assert_eq!(shown(&app)[0].session.step, 20, "it goes on with the run");
    app.press(&format!("Remove: {OLD}"));
    app.until("it is gone", |app| shown(app).is_empty());
    app.settle();
    assert!(!app.shows(OLD) && !plot(&app).contains(OLD));
}

#[test]
fn an_old_future_becomes_the_run_again() {
    let mut app = branched();
    app.press(&format!("Go back to: {OLD}"));
    app.until("the steps of the old future", |app| steps(app) == [10, 40]);
    app.until("the noise of its step", |app| noise(app) == 1.0);
    app.settle();
    assert!(app.shows("Step 20: σ 1 → 2"), "its mark is back");
    assert!(app.shows("Old future from step 10 · σ 1 → 3 at step 10"));
    seek(&mut app, 30);
    app.until("the noise of that step", |app| noise(app) == 2.0);
}

#[test]
fn a_right_click_on_a_mark_shows_the_run_without_it() {
    let mut app = with_a_change();
    right_click_mark(&mut app, "Step 20: σ 1 → 2");
    app.button("What if not");
    app.until("the session without the change", |app| shown(app).len() == 1 && shown(app)[0].session.step == 40);
    app.settle();
    assert_eq!((shown(&app)[0].session.spec.noise.sigma(), noise(&app)), (1.0, 2.0));
    assert!(app.shows("Step 20: σ 1 → 2, muted"));
    assert!(plot(&app).contains(WITHOUT), "{}", plot(&app));
    right_click_mark(&mut app, "Step 20: σ 1 → 2, muted");
    app.button("What if not");
    app.until("it is removed", |app| shown(app).is_empty());
    app.settle();
    assert!(!app.shows("muted"));
    right_click_mark(&mut app, "Step 20: σ 1 → 2");
    app.button("Go there");
    app.until("the step of the mark", |app| steps(app) == [20, 40]);
}

#[test]
fn plots_offer_what_if_not_and_show_the_pale_values() {
    let mut app = with_a_change();
    let mark = point_at_mark(&mut app, "Right click: what if not.");
    click(&mut app, mark, PointerButton::Secondary);
    app.button("What if not");
    app.until("the session without the change", |app| shown(app).len() == 1 && shown(app)[0].session.step == 40);
    let count = |app: &App| app.harness.query_all_by_label_contains(WITHOUT).count();
    let before = count(&app);
    app.harness.hover_at(mark + vec2(30.0, 0.0));
    app.harness.run_steps(4);
    assert!(count(&app) > before, "the readout at the pointer has its values");
}

#[test]
fn the_menu_of_the_timeline_offers_what_if_not_without_a_pointer() {
    let mut app = with_a_change();
    app.button("Timeline menu");
    app.button("Step 20: σ 1 → 2: what if not");
    app.until("the session without the change", |app| shown(app).len() == 1);
}

#[test]
fn a_drag_with_shift_plays_a_range_over_and_over_until_escape() {
    let mut app = with_a_change();
    let rail = app.slider("Timeline").rect();
    let at = |share: f32| pos2(rail.left() + share * rail.width(), rail.center().y);
    press_with_shift(&mut app, at(0.25), true);
    app.harness.hover_at(at(0.4));
    app.harness.run_steps(2);
    app.harness.hover_at(at(0.5));
    app.harness.run_steps(2);
    press_with_shift(&mut app, at(0.5), false);
    let looped = |app: &App| app.state().live().snapshot.as_ref().and_then(|snapshot| snapshot.looped);
    app.until("the loop", |app| looped(app).is_some());
    let [first, last] = looped(&app).expect("there is one");
    assert!((9..=11).contains(&first) && last == 20, "{first} to {last}");
    app.until("the start again", |app| steps(app)[0] + 2 > last);
    app.until("the start again", |app| steps(app)[0] < first + 3);
    assert!(app.state().live().is_playing());
    assert_eq!(steps(&app)[1], 40);
    press(&mut app, Modifiers::NONE, Key::Escape);
    app.until("no loop", |app| looped(app).is_none());
    app.until("the steps after it", |app| steps(app)[0] > last + 1);
}

#[test]
fn a_loop_by_numbers_ends_by_a_click_on_it() {
    let mut app = with_a_change();
    app.button("Timeline menu");
    app.type_into("First step of the loop", "5");
    app.type_into("Last step of the loop", "15");
    app.button("Play the loop");
    let looped = |app: &App| app.state().live().snapshot.as_ref().and_then(|snapshot| snapshot.looped);
    app.until("the loop", |app| looped(app) == Some([5, 15]) && app.state().live().is_playing());
    press(&mut app, Modifiers::NONE, Key::Space);
    app.until("a pause", |app| !app.state().live().is_playing());
    app.click(Role::Button, "Loop over steps 5 to 15: end");
    app.until("no loop", |app| looped(app).is_none());
}

#[test]
fn digits_with_alt_and_the_angle_brackets_choose_speeds() {
    let mut app = App::plain();
    press(&mut app, Modifiers::ALT, Key::Num3);
    assert!(app.shows("Speed: 5 steps a second"));
    assert!(!app.state().document().view.is_in_space(), "3 without Alt shows the landscape in space");
    app.harness.event(egui::Event::Text(">".to_owned()));
    app.harness.run_steps(2);
    assert!(app.shows("Speed: 10 steps a second"));
    assert!(!app.shows("Speed: 5 steps a second"), "a newer notice replaces the older");
    app.harness.event(egui::Event::Text("<".to_owned()));
    app.harness.run_steps(2);
    app.harness.event(egui::Event::Text("<".to_owned()));
    app.harness.run_steps(2);
    assert!(app.shows("Speed: 2 steps a second"));
    take_tens(&mut app, 1);
    app.slider("Timeline").focus();
    app.harness.run_steps(2);
    press(&mut app, Modifiers::NONE, Key::Num9);
    assert!(app.shows("Speed: as fast as it goes"));
    press(&mut app, Modifiers::NONE, Key::Num3);
    assert!(!app.state().document().view.is_in_space());
}

fn press_shortcut(app: &mut App, key: Key) {
    app.keys(Modifiers::COMMAND, key);
}

/// Saves, and confirms that the file may be replaced.
fn save(app: &mut App, path: &Path) {
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::S);
    app.until("the question or the notice", |app| app.shows("Replace ") || app.shows("Saved "));
    assert!(app.shows(&format!("Replace {}?", path.file_name().expect("a file").to_string_lossy())));
    app.button("Replace");
    app.until("the notice", |app| app.shows(&format!("Saved {}", canonical(path).display())));
    app.settle();
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().expect("the file is there")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("the file can be read")
}

#[test]
fn a_sweep_restored_by_undo_is_saved_in_its_own_file() {
    let mut app = computed(SMALL);
    let title = |app: &App| app.state().phase().preset().title.clone();
    let texts = ["First", "Second"].map(|title| SMALL.replace("Small", title));
    let first = app.write("first.ron", &texts[0]);
    let second = app.write("second.ron", &texts[1].replace("steps: 30", "steps: 40"));
    let second_before = read(&second);
    for (path, name) in [(&first, "First"), (&second, "Second")] {
        app.open(path);
        app.until("the preset", |app| title(app) == name);
        app.settle();
    }
    press_shortcut(&mut app, Key::Z);
    assert_eq!(title(&app), "First");
    assert!(!app.state().phase().is_dirty(), "it is as in its file");
    app.set(Role::Slider, "Slope c", 0.5);
    save(&mut app, &first);
    assert!(!app.state().phase().is_dirty());
    assert_eq!(read(&second), second_before, "the other file is left alone");
    assert!(read(&first).contains("slope: 0.5"));
    // Before the first file was opened there was none: Save asks for the path.
    for _ in 0..10 {
        if title(&app) == "Small" {
            break;
        }
        press_shortcut(&mut app, Key::Z);
    }
    assert_eq!(title(&app), "Small");
    press_shortcut(&mut app, Key::S);
    assert!(app.shows("Save preset"));
    app.key(Key::Escape);
    // Redo restores the first file.
    for _ in 0..10 {
        if title(&app) == "First" {
            break;
        }
        app.keys(Modifiers::COMMAND | Modifiers::SHIFT, Key::Z);
    }
    assert_eq!(title(&app), "First");
}

#[test]
fn a_training_restored_by_undo_is_saved_in_its_own_file() {
    let mut app = App::plain();
    app.keys(Modifiers::COMMAND, Key::Num3);
    let mnist = built_ins().iter().find(|built_in| built_in.name == "mnist").expect("it is built in");
    let text = |title: &str, steps: &str| {
        let preset = mnist.preset.with("title", &format!("\"{title}\"")).expect("a title can be set");
        preset.with("steps", steps).expect("steps can be set").to_ron()
    };
    let title = |app: &App| app.state().training().preset().title().to_owned();
    let first = app.write("first.ron", &text("First", "50"));
    let second = app.write("second.ron", &text("Second", "60"));
    let second_before = read(&second);
    for (path, name) in [(&first, "First"), (&second, "Second")] {
        app.open(path);
        app.until("the preset", |app| title(app) == name);
        app.settle();
    }
    press_shortcut(&mut app, Key::Z);
    assert_eq!(title(&app), "First");
    assert!(!app.state().training().is_dirty(), "it is as in its file");
    app.type_into("Batch size, number", "32");
    app.settle();
    save(&mut app, &first);
    assert_eq!(read(&second), second_before, "the other file is left alone");
    let Ok(Preset::Mnist(saved)) = Preset::read(&first) else { panic!("a training was saved") };
    assert_eq!((saved.title.as_str(), saved.runs[0].batch_size.get()), ("First", 32));
    assert!(!app.state().training().is_dirty());
}
