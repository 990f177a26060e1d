//! The opening of a first start, motion of the camera, and the playing of whatever is opened.

use egui::accesskit::Role;
use egui::{Event, Key, Modifiers, pos2};
use egui_kittest::kittest::Queryable;
use valleyscope::player::Playback;
use valleyscope_experiments::preset::{Preset, built_ins};

use super::harness::{App, Begin, PLAIN};
use super::presets::run_of;

/// Starts the app for the first time.
fn first_start(moves: bool) -> App {
    App::begin(Begin { preset: None, play: true, opening: true, moves, ..Begin::default() })
}

fn is_opening(app: &App) -> bool {
    let has_next = app.harness.query_by_role_and_label(Role::Button, "Next").is_some();
    let has_controls = app.harness.query_by_role_and_label(Role::Slider, "Sharpness a").is_some();
    assert!(has_next != has_controls, "either the opening or the whole window");
    has_next
}

/// The direction from which the surface in space is seen, in words; `None` on the plane.
fn direction(app: &App) -> Option<String> {
    let seen = app.harness.get_by_role_and_label(Role::Canvas, "Landscape").value()?;
    let (_, direction) = seen.split_once("A surface in space, seen from ")?;
    direction.split(" Step ").next().map(str::to_owned)
}

/// Returns whether the camera moves within two seconds.
fn flies(app: &mut App) -> bool {
    let before = direction(app);
    app.harness.run_steps(120);
    direction(app) != before
}

#[test]
fn a_first_start_shows_the_opening_which_plays() {
    let mut app = first_start(true);
    assert!(is_opening(&app) && direction(&app).is_some());
    assert!(app.shows("Who wins in a narrowing valley?"));
    app.until("a step", |app| run_of(app).1 > 0);
    app.until("a leader", |app| app.shows("leads"));
    assert!(app.slider("Noise σ").rect().width() > 300.0, "it is large");
    app.button("Next");
    assert!(!is_opening(&app) && app.shows("Step 1 / 7, contents of the lesson"));
    app.until("the lesson", |app| matches!(run_of(app), (_, 1.., Playback::Playing)));
}

#[test]
fn input_ends_the_flight_of_the_camera() {
    let pressed = |app: &mut App| {
        app.harness.event(Event::PointerButton {
            pos: pos2(700.0, 300.0),
            button: egui::PointerButton::Primary,
            pressed: true,
            modifiers: Modifiers::NONE,
        });
    };
    let inputs: [&dyn Fn(&mut App); 3] = [&|app| app.harness.key_press(Key::Space), &pressed, &|app| {
        app.set_slider("Noise σ", 2.0);
    }];
    for input in inputs {
        let mut app = first_start(true);
        assert!(flies(&mut app));
        app.harness.event(Event::PointerMoved(pos2(700.0, 300.0)));
        assert!(flies(&mut app), "moving the pointer does not end it");
        input(&mut app);
        app.harness.run_steps(2);
        assert!(!flies(&mut app) && is_opening(&app));
    }
}

#[test]
fn with_reduced_motion_the_camera_does_not_fly() {
    let mut app = first_start(false);
    assert!(is_opening(&app) && !flies(&mut app));
    let mut app = App::begin(Begin { moves: true, ..Begin::default() });
    assert!(!app.state().session()["valleyscope.session"].contains("reduced_motion:true"));
    app.button("View");
    app.click(Role::CheckBox, "Reduced motion");
    app.key(Key::Escape);
    assert!(app.state().session()["valleyscope.session"].contains("reduced_motion:true"), "it is remembered");
    app.key(Key::Num3);
    assert!(direction(&app).is_some_and(|seen| seen.starts_with("40°")), "the view changes at once");
}

#[test]
fn the_opening_is_shown_once_unless_asked_for() {
    let storage = first_start(false).state().session();
    let mut again = App::begin(Begin { preset: None, storage: Some(&storage), opening: true, ..Begin::default() });
    assert!(!is_opening(&again));
    assert!(!is_opening(&App::begin(Begin { opening: true, ..Begin::default() })), "a preset is asked for");
    again.keys(Modifiers::COMMAND, Key::Num2);
    again.menu("Help", "Show the opening");
    again.settle();
    assert!(is_opening(&again) && again.shows("Who wins in a narrowing valley?"));
}

#[test]
fn escape_tabs_and_menus_leave_the_opening() {
    let leave: [&dyn Fn(&mut App); 5] = [
        &|app| app.key(Key::Escape),
        &|app| {
            app.button("All controls");
        },
        &|app| {
            app.button("File");
        },
        &|app| {
            app.keys(Modifiers::COMMAND, Key::Num2);
            app.keys(Modifiers::COMMAND, Key::Num1);
        },
        &|app| app.key(Key::PageDown),
    ];
    for leave in leave {
        let mut app = first_start(false);
        assert!(is_opening(&app));
        leave(&mut app);
        app.settle();
        assert!(!is_opening(&app));
    }
}

#[test]
fn another_noise_begins_another_race() {
    let mut app = first_start(false);
    app.until("some steps", |app| run_of(app).1 > 20);
    let run = run_of(&app).0;
    app.set_slider("Noise σ", 3.0);
    app.until("another race", |app| matches!(run_of(app), (now, _, Playback::Playing) if now > run));
    assert_eq!(app.state().document().spec(0).noise.sigma(), 3.0);
    app.until("a leader", |app| app.shows("leads"));
}

#[test]
fn the_camera_turns_between_the_plane_and_space() {
    let mut app = App::begin(Begin { moves: true, ..Begin::default() });
    let elevation = |app: &App| -> Option<u32> { direction(app)?.split('°').next()?.parse().ok() };
    app.harness.key_press(Key::Num3);
    app.harness.run_steps(10);
    let early = elevation(&app).expect("it is in space");
    app.harness.run_steps(5);
    let later = elevation(&app).expect("it is in space");
    assert!(early > later && later > 40, "from straight above: {early}°, {later}°");
    app.harness.run_steps(30);
    assert_eq!(elevation(&app), Some(40));
    app.harness.key_press(Key::Num3);
    app.harness.run_steps(12);
    assert!(elevation(&app).is_some_and(|elevation| elevation > 40), "back again");
    assert!(!app.state().document().view.is_in_space(), "the setting has changed");
    app.harness.run_steps(30);
    assert_eq!(elevation(&app), None);
}

/// Pauses the run, if it plays.
fn pause(app: &mut App) {
    app.until("a step", |app| run_of(app).1 > 0);
    if app.state().live().is_playing() {
        app.button("Pause");
    }
    app.until("the pause", |app| run_of(app).2 == Playback::Paused);
}

#[test]
fn whatever_is_opened_plays_at_the_usual_speed() {
    let mut app = App::begin(Begin { play: true, ..Begin::default() });
    let speed = |app: &App| app.harness.get_by_label("Speed, steps a second").value();
    let path = app.write("mine.ron", &PLAIN.replace("Plain", "Mine"));
    let Preset::Landscape(lesson) = &built_ins()[0].preset else { panic!("a lesson") };
    let open: [&dyn Fn(&mut App); 5] = [
        &|app| app.menu("Presets", &lesson.title),
        &|app| app.open(&path),
        &|app| app.drop(&path),
        &|app| {
            app.button("File");
            app.press("Recent files").press("mine.ron");
        },
        &|app| app.harness.event(Event::Paste(PLAIN.replace("Plain", "Pasted"))),
    ];
    for open in open {
        pause(&mut app);
        app.type_into("Speed, steps a second", "17");
        app.settle();
        assert_eq!(speed(&app).as_deref(), Some("17"));
        let run = run_of(&app).0;
        open(&mut app);
        app.until("another run", |app| matches!(run_of(app), (now, 1.., Playback::Playing) if now > run));
        assert_eq!(speed(&app).as_deref(), Some("60"));
    }
}

#[test]
fn a_restart_after_the_end_of_a_run_plays() {
    let mut app = App::with(&PLAIN.replace("noise: 1.0,", "noise: 1.0,\n        steps: 5,"));
    app.button("Play");
    app.until("the end", |app| run_of(app).2 == Playback::Finished);
    let run = run_of(&app).0;
    app.type_into("Seed", "77");
    app.until("the end of another", |app| matches!(run_of(app), (now, 5, Playback::Finished) if now > run));
}

#[test]
fn presentations_show_the_speed() {
    let mut app = App::plain();
    app.key(Key::F11);
    assert!(app.shows("paused · 60 steps/s"));
    app.keys(Modifiers::ALT, Key::Num9);
    assert!(app.shows("paused · full speed"));
}
