//! Simulations side by side, as their user adds, sets, compares and saves them.

use egui::accesskit::Role;
use egui::{Key, Modifiers, Rect};
use egui_kittest::kittest::{NodeT, Queryable};
use valleyscope_experiments::preset::Preset;

use super::harness::{App, Begin, PLAIN};

/// Returns the noises of the simulations under the controls.
fn noises(app: &App) -> Vec<f64> {
    app.state().document().specs().map(|spec| spec.noise.sigma()).collect()
}

/// Returns the noises in force in the running simulations.
fn running(app: &App) -> Vec<f64> {
    app.state().live().sessions().iter().map(|session| session.spec.noise.sigma()).collect()
}

fn steps(app: &App) -> Vec<u64> {
    app.state().live().sessions().iter().map(|session| session.step).collect()
}

/// Adds a simulation with the settings of the chosen one.
fn add(app: &mut App) {
    app.button("+ Side by side");
    app.press("again, to change some");
    app.settle();
}

/// Shows σ = 1 beside σ = 2.
fn side_by_side(begin: Begin<'_>) -> App {
    let mut app = App::begin(begin);
    add(&mut app);
    app.set_slider("Noise σ", 2.0);
    app.until("both simulations", |app| running(app) == [1.0, 2.0]);
    app.settle();
    app
}

/// Returns the description of a canvas for screen readers.
fn canvas_text(app: &App, name: &str) -> String {
    app.harness.get_by_role_and_label(Role::Canvas, name).value().unwrap_or_default()
}

fn canvas(app: &App, name: &str) -> Rect {
    app.harness.get_by_role_and_label(Role::Canvas, name).rect()
}

#[test]
fn a_second_simulation_is_added_set_and_run_on_the_same_clock() {
    let mut app = side_by_side(Begin::default());
    assert_eq!(noises(&app), [1.0, 2.0]);
    let [first, second] = [canvas(&app, "Landscape A: σ = 1"), canvas(&app, "Landscape B: σ = 2")];
    assert_eq!(first.size(), second.size());
    let is_beside = first.right() < second.left() && first.top() == second.top();
    let is_above = first.bottom() < second.top() && first.left() == second.left();
    assert!(is_beside || is_above, "{first} {second}");
    app.harness.key_press_modifiers(Modifiers::SHIFT, Key::ArrowRight);
    app.until("ten steps of both", |app| steps(app) == [10, 10]);
    app.settle();
    // One legend, with the values of both.
    let entries: Vec<String> = app
        .harness
        .get_all_by_role(Role::CheckBox)
        .filter(|node| node.accesskit_node().label().is_some_and(|label| label == "Show Adam"))
        .filter_map(|node| node.value())
        .collect();
    assert_eq!(entries.len(), 1);
    assert!(entries[0].contains(" | "), "{entries:?}");
    let plot = app.harness.get_by_label("Plot of loss L").value().unwrap_or_default();
    assert!(["Adam (A)", "Adam (B)", "FOCUS (B)"].iter().all(|name| plot.contains(name)), "{plot}");
    app.press("Settings of A");
    assert_eq!(app.slider("Noise σ").accesskit_node().numeric_value(), Some(1.0));
    app.set_slider("Noise σ", 0.5);
    assert_eq!(noises(&app), [0.5, 2.0]);
    app.until("the change of the first one", |app| running(app) == [0.5, 2.0]);
    assert!(app.shows("A: σ = 0.5"), "the title follows");
}

#[test]
fn up_to_four_are_shown_and_undo_and_remove_take_them_away() {
    let mut app = side_by_side(Begin::default());
    add(&mut app);
    add(&mut app);
    app.until("four simulations", |app| steps(app).len() == 4);
    app.settle();
    let rects: Vec<Rect> = ["A", "B", "C", "D"]
        .iter()
        .zip([1, 2, 2, 2])
        .map(|(letter, noise)| canvas(&app, &format!("Landscape {letter}: σ = {noise}")))
        .collect();
    assert!(rects[2].top() > rects[0].bottom() && rects[2].left() == rects[0].left(), "two rows: {rects:?}");
    assert!(app.harness.get_by_label("+ Side by side").accesskit_node().is_disabled());
    app.button("Remove D");
    app.settle();
    assert_eq!(noises(&app), [1.0, 2.0, 2.0]);
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    app.settle();
    assert_eq!(noises(&app).len(), 4);
    for _ in 0..3 {
        app.press("Settings of B");
        app.button("Remove B");
        app.settle();
    }
    app.until("a single simulation", |app| running(app) == [1.0]);
    app.settle();
    canvas(&app, "Landscape");
}

#[test]
fn a_change_in_the_past_of_one_simulation_leaves_its_old_future_pale() {
    const OLD: &str = "Old future from step 10 · σ stays 2";
    let mut app = side_by_side(Begin::default());
    for _ in 0..2 {
        app.harness.key_press_modifiers(Modifiers::SHIFT, Key::ArrowRight);
        app.settle();
    }
    app.until("twenty steps", |app| steps(app) == [20, 20]);
    app.harness.key_press_modifiers(Modifiers::SHIFT, Key::ArrowLeft);
    app.until("ten steps", |app| steps(app) == [10, 10]);
    app.settle();
    app.set_slider("Noise σ", 3.0);
    app.until("the old future", |app| {
        app.state().live().snapshot.as_ref().is_some_and(|snapshot| snapshot.branches_of(1).count() == 1)
    });
    app.settle();
    assert!(app.shows(&format!("Remove: {OLD}")), "it is listed below the timeline");
    assert!(canvas_text(&app, "Landscape B: σ = 3").contains(OLD));
    assert!(!canvas_text(&app, "Landscape A: σ = 1").contains(OLD));
    app.press("Settings of A");
    app.settle();
    assert!(!app.shows(&format!("Remove: {OLD}")), "it is none of the first simulation");
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    app.until("the noise as before", |app| running(app) == [1.0, 2.0]);
    assert_eq!(noises(&app), [1.0, 2.0]);
}

#[test]
fn another_preset_is_shown_beside_by_its_title() {
    let mut app = App::plain();
    app.button("+ Side by side");
    app.button("Where Adam and FOCUS come to rest");
    app.settle();
    app.until("both", |app| steps(app).len() == 2);
    assert!(app.shows("B: Where Adam and FOCUS come to rest"));
    assert_eq!(app.state().document().spec(1).seed, app.state().document().spec(0).seed);
}

#[test]
fn views_move_together_unless_they_are_unlinked() {
    let mut app = side_by_side(Begin::default());
    let names = ["Landscape A: σ = 1", "Landscape B: σ = 2"];
    let views = |app: &App| {
        names.map(|name| {
            let text = app.harness.get_by_role_and_label(Role::Canvas, name).value().unwrap_or_default();
            // With axes of their own, the canvases are lower.
            text.split(", y").next().unwrap_or_default().to_owned()
        })
    };
    let zoom = |app: &mut App| {
        app.harness.get_by_role_and_label(Role::Canvas, names[1]).focus();
        app.settle();
        app.harness.key_press(Key::Plus);
        app.settle();
    };
    let before = views(&app);
    assert_eq!(before[0], before[1]);
    zoom(&mut app);
    let closer = views(&app);
    assert_eq!(closer[0], closer[1]);
    assert_ne!(closer[0], before[0]);
    app.button("Link views");
    zoom(&mut app);
    let own = views(&app);
    assert_eq!(own[0], closer[0]);
    assert_ne!(own[1], closer[1]);
    app.button("Link views");
    app.settle();
    let again = views(&app);
    assert_eq!(again, [own[0].clone(), own[0].clone()], "all have the first one's view again");
}

#[test]
fn they_are_saved_in_presets_and_restored_with_the_session() {
    let mut app = side_by_side(Begin::default());
    let document = app.state().document().clone();
    let path = app.folder.path().join("both.ron");
    app.menu("File", "Save as…");
    app.button("Save as a file…");
    app.type_path(&path);
    app.until("the file", |_| path.exists());
    let Preset::Landscape(saved) = Preset::read(&path).expect("it can be read") else { panic!("a landscape") };
    assert_eq!(saved.resolved_simulations().expect("they fit")[1].spec, *document.spec(1));
    assert!(saved.simulations[1].spec.is_none(), "only the setting that differs is written");
    let storage = app.state().session();
    let mut again = App::begin(Begin { preset: None, storage: Some(&storage), ..Begin::default() });
    again.until("both simulations", |app| running(app) == [1.0, 2.0]);
    assert_eq!(*again.state().document(), document);
}

#[test]
fn a_lesson_step_shows_two_and_the_next_one_again() {
    let lesson = r#"lesson: [
        (text: "One.", set: [Noise(0.5)]),
        (text: "Two.", set: [Noise(1.0)], compared: [[Noise(3.0)]]),
        (text: "One again."),
    ],
)"#;
    let text = format!("{}{lesson}", PLAIN.trim_end().trim_end_matches(')'));
    let mut app = App::with(&text);
    app.button("Next step of the lesson");
    app.until("both simulations", |app| running(app) == [1.0, 3.0]);
    app.settle();
    assert!(app.shows("B: σ = 3"));
    app.harness.key_press(Key::F11);
    app.harness.run_steps(4);
    app.settle();
    canvas(&app, "Landscape B: σ = 3");
    app.harness.key_press(Key::F11);
    app.settle();
    app.button("Next step of the lesson");
    app.until("one simulation", |app| running(app) == [1.0]);
    app.button("Previous step of the lesson");
    app.until("both again", |app| running(app) == [1.0, 3.0]);
}

#[test]
fn a_click_into_a_landscape_chooses_its_settings_and_its_particle() {
    let mut app = side_by_side(Begin::default());
    app.press("Settings of A");
    assert_eq!(app.state().live().chosen, 0);
    app.harness.get_by_role_and_label(Role::Canvas, "Landscape B: σ = 2").click();
    app.settle();
    assert_eq!(app.state().live().chosen, 1);
    assert_eq!(app.slider("Noise σ").accesskit_node().numeric_value(), Some(2.0));
}

#[test]
fn panes_have_room_in_windows_of_every_size() {
    for size in [[900.0, 600.0], [1280.0, 720.0], [1920.0, 1080.0]] {
        let app = side_by_side(Begin { size, ..Begin::default() });
        for name in ["Landscape A: σ = 1", "Landscape B: σ = 2"] {
            let canvas = canvas(&app, name);
            assert!(canvas.width() >= 120.0 && canvas.height() >= 120.0, "{name} is {canvas} in {size:?}");
        }
    }
}
