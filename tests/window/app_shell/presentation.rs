//! Presentations: their parts on every screen, their sliders, and their keys.

use egui::accesskit::Role;
use egui::{Event, Key, PointerButton, Rect, Shape, pos2};
use egui_kittest::kittest::Queryable;
use valleyscope::player::Playback;

use super::harness::{App, Begin};

const LESSON: &str = r#"Landscape(
    version: 1,
    title: "A lesson",
    simulations: [(spec: (
        noise: 0.5,
        optimizers: [
            (id: 0, rule: Adam(learning_rate: 0.01)),
            (id: 1, rule: Signum(learning_rate: 0.01)),
            (id: 2, rule: Focus(learning_rate: 0.01, gamma: 0.0)),
        ],
    ))],
    lesson: [
        (text: "It begins as it is."),
        (
            text: "Now there is more noise, which is the only thing that has changed, and the plots show what it does.",
            set: [Noise(1.0), Steps(20)],
            play: true,
            show: [EffectiveStep, Depth],
        ),
        (text: "It goes on for a while.", set: [Steps(100000)], play: true, show: [Depth]),
        (
            text: "FOCUS is attracted to its average.",
            set: [Rule(optimizer: 2, rule: Focus(learning_rate: 0.02, gamma: 0.2))],
        ),
    ],
)"#;

/// Starts a presentation of the lesson at a step, from 0.
fn presenting(size: [f32; 2], pixels_per_point: f32, step: usize) -> App {
    let mut app = App::begin(Begin { preset: Some(LESSON), size, pixels_per_point, ..Begin::default() });
    press(&mut app, Key::F11);
    for _ in 0..step {
        press(&mut app, Key::PageDown);
    }
    app
}

fn press(app: &mut App, key: Key) {
    app.harness.key_press(key);
    app.settle();
}

/// Returns the names of the sliders of settings.
fn sliders(app: &App) -> Vec<String> {
    let sliders = app.harness.query_all_by_role(Role::Slider);
    let names = sliders.filter_map(|slider| egui_kittest::kittest::NodeT::accesskit_node(&slider).label());
    names.filter(|name| name != "Timeline").collect()
}

#[test]
fn a_presentation_fills_every_screen_with_all_its_parts() {
    for (size, pixels_per_point) in [
        ([900.0, 600.0], 1.0),
        ([1280.0, 720.0], 1.0),
        ([1920.0, 1080.0], 1.0),
        ([3840.0, 2160.0], 1.0),
        ([1920.0, 1080.0], 2.0),
    ] {
        let mut app = presenting(size, pixels_per_point, 1);
        app.until("the player's noise of the step", |app| {
            app.state().live().snapshot.as_ref().is_some_and(|snapshot| snapshot.sessions[0].spec.noise.sigma() == 1.0)
        });
        let screen = app.harness.ctx.content_rect();
        let enlargement = app.harness.ctx.zoom_factor();
        let expected = (size[0] / 900.0).min(size[1] / 506.0);
        assert!((enlargement - expected).abs() < 0.01 * expected, "{size:?} is enlarged by {enlargement}");
        let node = |role, name: &str| app.harness.get_by_role_and_label(role, name).rect();
        let mut parts: Vec<Rect> =
            ["effective step size", "depth u"].map(|name| node(Role::Figure, &format!("Plot of {name}"))).to_vec();
        parts.push(app.harness.get_by_label_contains("Now there is more noise").rect());
        parts.push(app.harness.get_by_label_contains("· σ = 1 ·").rect());
        parts.push(node(Role::Slider, "Timeline"));
        parts.extend([
            node(Role::Canvas, "Landscape"),
            node(Role::Slider, "Noise σ"),
            node(Role::CheckBox, "Show Adam"),
        ]);
        for (index, part) in parts.iter().enumerate() {
            assert!(screen.contains_rect(*part), "{part} is not within {screen} in {size:?}");
            for other in &parts[..index] {
                assert!(!part.shrink(1.0).intersects(*other), "{part} covers {other} in {size:?}");
            }
        }
        let landscape = node(Role::Canvas, "Landscape");
        assert!(landscape.width() > 0.4 * screen.width() && landscape.height() > 0.4 * screen.height(), "{landscape}");
    }
}

#[test]
fn the_end_of_a_presentation_restores_the_size_of_the_interface() {
    let mut app = App::begin(Begin { preset: Some(LESSON), size: [1920.0, 1080.0], ..Begin::default() });
    app.harness.ctx.set_zoom_factor(1.1);
    app.settle();
    press(&mut app, Key::F5);
    assert!(app.harness.ctx.zoom_factor() > 2.0, "a clicker's key begins it");
    let filled = app.harness.ctx.zoom_factor();
    app.harness.key_press_modifiers(egui::Modifiers::COMMAND, Key::Minus);
    app.settle();
    assert!(app.harness.ctx.zoom_factor() < filled, "the user can choose smaller type");
    let storage = app.state().session();
    press(&mut app, Key::Escape);
    assert_eq!(app.harness.ctx.zoom_factor(), 1.1);
    let again = App::begin(Begin { preset: None, storage: Some(&storage), ..Begin::default() });
    assert_eq!(again.harness.ctx.zoom_factor(), 1.1, "a window closed in a presentation begins as before it");
}

#[test]
fn a_presentation_has_the_sliders_that_the_lesson_sets() {
    let mut app = presenting([1280.0, 720.0], 1.0, 0);
    assert_eq!(sliders(&app), ["Noise σ"], "without any, that of the noise");
    press(&mut app, Key::PageDown);
    assert_eq!(sliders(&app), ["Noise σ"]);
    press(&mut app, Key::PageDown);
    assert_eq!(sliders(&app), ["Noise σ"], "a step that goes on keeps those of the step before");
    press(&mut app, Key::PageDown);
    assert_eq!(sliders(&app), ["FOCUS: Learning rate η", "FOCUS: Attraction γ"]);
    app.set_slider("FOCUS: Attraction γ", 0.5);
    let rule = app.state().document().spec(0).optimizers[2].rule.rule;
    assert_eq!(rule.get("gamma"), Some(0.5));
}

#[test]
fn pinned_sliders_are_in_presentations_and_the_next_session() {
    let mut app = App::begin(Begin { preset: Some(LESSON), ..Begin::default() });
    for name in ["Sharpness a", "Adam: Momentum β₁", "Start x"] {
        app.button(&format!("Pin {name}"));
    }
    app.button("Pin Start x");
    app.button("Pin Particles");
    let storage = app.state().session();
    let mut app = App::begin(Begin { preset: None, storage: Some(&storage), ..Begin::default() });
    press(&mut app, Key::F11);
    assert_eq!(sliders(&app), ["Sharpness a", "Adam: Momentum β₁", "Particles"]);
    app.set_slider("Sharpness a", 50.0);
    assert_eq!(app.state().document().spec(0).landscape.get("sharpness"), Some(50.0));
    press(&mut app, Key::PageDown);
    assert_eq!(sliders(&app), ["Noise σ", "Sharpness a", "Adam: Momentum β₁"], "the lesson's come first");
}

#[test]
fn a_black_screen_holds_the_run_until_a_key_gives_it_back() {
    let mut app = presenting([1280.0, 720.0], 1.0, 2);
    let step = |app: &App| app.state().live().snapshot.as_ref().map_or(0, |snapshot| snapshot.step);
    app.until("some steps", |app| step(app) > 5);
    for (begin, end) in [(Key::B, Key::B), (Key::Period, Key::PageDown)] {
        press(&mut app, begin);
        let is_black = app.harness.query_by_label("Black screen").is_some();
        assert!(is_black, "{begin:?} blackens the screen");
        // A snapshot from before the hold may still arrive.
        std::thread::sleep(std::time::Duration::from_millis(300));
        app.settle();
        let held = step(&app);
        std::thread::sleep(std::time::Duration::from_millis(300));
        app.settle();
        assert_eq!(step(&app), held, "nothing is missed");
        press(&mut app, end);
        assert!(app.harness.query_by_label("Black screen").is_none(), "{end:?} gives it back");
        assert!(app.shows("3 / 4"), "the key does nothing else");
        app.until("more steps", |app| step(app) > held);
        assert_eq!(app.state().live().playback(), Playback::Playing);
    }
    press(&mut app, Key::B);
    let at = pos2(300.0, 200.0);
    for pressed in [true, false] {
        let modifiers = egui::Modifiers::NONE;
        app.harness.event(Event::PointerMoved(at));
        app.harness.event(Event::PointerButton { pos: at, button: PointerButton::Primary, pressed, modifiers });
        app.harness.step();
    }
    app.settle();
    assert!(app.harness.query_by_label("Black screen").is_none(), "so does a click");
    press(&mut app, Key::F11);
    press(&mut app, Key::B);
    assert!(app.harness.query_by_label("Black screen").is_none(), "only a presentation is blackened");
}

#[test]
fn a_ring_shows_the_pointer() {
    let mut app = presenting([1280.0, 720.0], 1.0, 0);
    let at = pos2(300.0, 200.0);
    app.harness.event(Event::PointerMoved(at));
    let rings = |app: &App| {
        let shapes = app.harness.output().shapes.iter();
        shapes
            .filter(|clipped| matches!(&clipped.shape, Shape::Circle(ring) if ring.center == at && ring.radius > 15.0))
            .count()
    };
    app.settle();
    assert_eq!(rings(&app), 0);
    press(&mut app, Key::P);
    assert!(rings(&app) > 0);
    press(&mut app, Key::P);
    assert_eq!(rings(&app), 0);
}

#[test]
fn page_keys_go_through_a_lesson_also_from_a_slider() {
    let mut app = presenting([1280.0, 720.0], 1.0, 0);
    app.slider("Noise σ").focus();
    app.harness.run_steps(2);
    press(&mut app, Key::PageDown);
    assert!(app.shows("2 / 4"));
    press(&mut app, Key::PageUp);
    assert!(app.shows("1 / 4"));
}
