//! Settings that move by themselves while the run plays.

use egui::accesskit::Role;
use egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable;
use valleyscope_engine::simulation::Simulation;

use super::harness::App;
use super::timeline::{noise, press, seek, steps, take_tens};

/// Begins to move σ from 1 to 2 in five seconds.
fn moving() -> App {
    let mut app = App::plain();
    begin_moving(&mut app);
    app
}

fn begin_moving(app: &mut App) {
    begin_animating(app, "Noise σ");
}

/// Begins to move σ from 1 to 2 in five seconds. `name` is the setting's name in the window of animations.
fn begin_animating(app: &mut App, name: &str) {
    app.menu("View", "Animate settings…");
    app.choose("Setting to animate", "Noise σ");
    app.type_into(&format!("{name}: animate to"), "2");
    app.type_into(&format!("{name}: seconds of the animation"), "5");
    app.button(&format!("Start animating {name}"));
}

fn changes(app: &App) -> usize {
    app.state().live().snapshot.as_ref().map_or(0, |snapshot| snapshot.sessions[0].record.changes.len())
}

#[test]
fn a_setting_moves_while_the_run_plays_and_undo_takes_it_back_as_one_step() {
    let mut app = moving();
    app.settle();
    assert!(app.shows("waits for the run to play"));
    assert_eq!(noise(&app), 1.0);
    // Back and forth at first, so that it moves until it has made several changes.
    app.click(Role::CheckBox, "Noise σ: back and forth");
    press(&mut app, Modifiers::NONE, Key::Space);
    app.until("changes of the session", |app| changes(app) > 1);
    app.click(Role::CheckBox, "Noise σ: back and forth");
    app.until("the last value", |app| noise(app) == 2.0);
    app.until("all changes", |app| {
        let snapshot = app.state().live().snapshot.as_ref().expect("there is one");
        snapshot.sessions[0].spec.noise.sigma() == 2.0
    });
    press(&mut app, Modifiers::NONE, Key::Space);
    app.until("a pause", |app| !app.state().live().is_playing());
    app.settle();
    let snapshot = app.state().live().snapshot.clone().expect("there is one");
    let mut again = Simulation::replay((*snapshot.sessions[0].record).clone());
    while again.step() < snapshot.last_step {
        again.advance();
    }
    let sample = |loss: f64| loss.to_bits();
    let replayed = again.ensembles().iter().map(|ensemble| sample(ensemble.sample().loss.mean));
    let shown = snapshot.sessions[0].ensembles.iter().map(|view| sample(view.sample.loss.mean));
    assert!(replayed.eq(shown), "a replay repeats it");
    press(&mut app, Modifiers::COMMAND, Key::Z);
    app.settle();
    assert_eq!(noise(&app), 1.0);
}

#[test]
fn a_drag_of_the_slider_ends_the_motion() {
    let mut app = moving();
    app.click(Role::CheckBox, "Noise σ: back and forth");
    press(&mut app, Modifiers::NONE, Key::Space);
    app.until("a value on the way", |app| noise(app) > 1.0);
    app.set_slider("Noise σ", 0.5);
    let steps_then = steps(&app)[0];
    app.until("more steps", |app| steps(app)[0] > steps_then + 5);
    assert_eq!(noise(&app), 0.5);
    assert!(app.harness.query_by_role_and_label(Role::Button, "Start animating Noise σ").is_some());
}

#[test]
fn the_past_is_repeated_without_motion() {
    let mut app = App::plain();
    take_tens(&mut app, 3);
    begin_moving(&mut app);
    seek(&mut app, 5);
    press(&mut app, Modifiers::NONE, Key::Space);
    app.until("a later step of the past", |app| steps(app)[0] > 8);
    let [step, last] = steps(&app);
    assert!(step > 30 || (noise(&app) == 1.0 && last == 30), "it would begin a new future");
    app.until("the motion at new steps", |app| noise(app) > 1.0);
    assert!(steps(&app)[1] >= 30);
}

#[test]
fn a_setting_of_the_simulation_beside_the_first_moves_alone() {
    let mut app = App::plain();
    app.button("+ Side by side");
    app.button("The settings of A again, to change some");
    app.settle();
    begin_animating(&mut app, "B: Noise σ");
    press(&mut app, Modifiers::NONE, Key::Space);
    let noise_of_b = |app: &App| app.state().live().session(1).expect("B is there").spec.noise.sigma();
    app.until("a value on the way", |app| noise_of_b(app) > 1.0);
    assert_eq!(app.state().live().session(0).expect("A is there").spec.noise.sigma(), 1.0);
}

#[test]
fn a_setting_rests_while_another_tab_holds_the_run() {
    let mut app = moving();
    app.click(Role::CheckBox, "Noise σ: back and forth");
    press(&mut app, Modifiers::NONE, Key::Space);
    app.until("a value on the way", |app| noise(app) > 1.0);
    press(&mut app, Modifiers::COMMAND, Key::Num2);
    app.harness.run_steps(10);
    let held = noise(&app);
    app.harness.run_steps(30);
    assert_eq!(noise(&app), held, "a held run takes no steps at which a setting could move");
}

#[test]
fn a_right_click_on_a_slider_offers_its_animation() {
    let mut app = App::plain();
    let at = app.slider("Noise σ").rect().center();
    app.harness.hover_at(at);
    for pressed in [true, false] {
        let (button, modifiers) = (egui::PointerButton::Secondary, Modifiers::NONE);
        app.harness.event(egui::Event::PointerButton { pos: at, button, pressed, modifiers });
        app.harness.run_steps(2);
    }
    app.button("Animate…");
    app.settle();
    assert!(app.harness.query_by_role_and_label(Role::TextInput, "Noise σ: animate to").is_some());
    app.button("Remove the animation of Noise σ");
    assert!(app.harness.query_by_role_and_label(Role::TextInput, "Noise σ: animate to").is_none());
}
