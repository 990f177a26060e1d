//! Branches of a session: old futures, what if not, and the range of steps that is played over and over.

use egui::accesskit::Role;
use egui::{Key, Modifiers, PointerButton, Pos2, pos2, vec2};
use egui_kittest::kittest::Queryable;
use valleyscope::player::{BranchKind, BranchView};

use super::harness::App;
use super::timeline::{noise, point_at_mark, press, seek, steps, take_tens, with_a_change};

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

fn right_click(app: &mut App, at: Pos2) {
    app.harness.hover_at(at);
    app.harness.run_steps(1);
    for pressed in [true, false] {
        let (button, modifiers) = (PointerButton::Secondary, Modifiers::NONE);
        app.harness.event(egui::Event::PointerButton { pos: at, button, pressed, modifiers });
        app.harness.run_steps(1);
    }
    app.harness.run_steps(2);
}

fn right_click_mark(app: &mut App, name: &str) {
    let mark = app.harness.get_by_label(name).rect().center();
    right_click(app, mark);
}

#[test]
fn an_old_future_is_listed_plotted_hidden_and_removed() {
    let mut app = branched();
    assert_eq!(shown(&app)[0].kind, BranchKind::OldFuture { of: 0, since: 10 });
    assert!(plot(&app).contains(OLD), "{}", plot(&app));
    let landscape = app.harness.get_by_role_and_label(Role::Canvas, "Landscape").value().expect("a summary");
    assert!(landscape.contains(&format!("Pale: {OLD}, mean loss Adam ")), "{landscape}");
    app.press(&format!("Hide: {OLD}"));
    app.settle();
    assert!(!plot(&app).contains(OLD));
    app.press(&format!("Show: {OLD}"));
    app.settle();
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
    right_click(&mut app, mark);
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
    assert!(!app.state().document().view.space, "3 without Alt shows the landscape in space");
    app.harness.event(egui::Event::Text(">".to_owned()));
    app.harness.run_steps(2);
    assert!(app.shows("Speed: 10 steps a second"));
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
    assert!(!app.state().document().view.space);
}
