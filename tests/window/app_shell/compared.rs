//! Simulations side by side, as their user adds, sets, compares and saves them.

use egui::accesskit::Role;
use egui::{Event, Key, Modifiers, PointerButton, Rect, vec2};
use egui_kittest::kittest::{NodeT, Queryable};
use valleyscope_experiments::preset::Preset;

use super::exports::{export, open_sheet};
use super::harness::{App, Begin, PLAIN};
use super::library::{begun, ended, finished, is_complete, set_slope};
use super::training::{compare, listed, open_tab, select, trained};

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
    app.press("again, to change some").settle();
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
    assert!(entries[0].lines().count() == 2, "{entries:?}");
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
    app.button("Remove D").settle();
    assert_eq!(noises(&app), [1.0, 2.0, 2.0]);
    app.undo();
    assert_eq!(noises(&app).len(), 4);
    for _ in 0..3 {
        app.press("Settings of B");
        app.button("Remove B").settle();
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
        app.keys(Modifiers::SHIFT, Key::ArrowRight);
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
    app.press("Settings of A").settle();
    assert!(!app.shows(&format!("Remove: {OLD}")), "it is none of the first simulation");
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    app.until("the noise as before", |app| running(app) == [1.0, 2.0]);
    assert_eq!(noises(&app), [1.0, 2.0]);
}

#[test]
fn another_preset_is_shown_beside_by_its_title() {
    let mut app = App::plain();
    app.button("+ Side by side");
    app.button("Where Adam and FOCUS come to rest").settle();
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
        app.key(Key::Plus);
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
    app.button("Link views").settle();
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
    app.key(Key::F11);
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

fn is_enabled(app: &App, button: &str) -> bool {
    !app.harness.get_by_role_and_label(Role::Button, button).accesskit_node().is_disabled()
}

#[test]
fn the_settings_in_which_chosen_runs_differ_are_listed() {
    let (mut app, runs) = open_tab(|runs| {
        let settings = [("optimizer.weight_decay", "0.1"), ("title", "One")];
        [trained(runs, &settings), trained(runs, &[("optimizer.weight_decay", "0.01"), ("title", "Two")])]
    });
    listed(&mut app, 2);
    select(&mut app, "One");
    assert!(!is_enabled(&app, "Differences"), "a run does not differ from itself");
    compare(&mut app, "Two");
    app.until("both curves", |app| app.state().training().drawn().len() == 2);
    app.settle();
    app.button("Differences");
    app.until("the table", |app| app.shows("settings are equal."));
    for text in ["Weight decay ω", "0.1", "0.01", &runs[0].name(), &runs[1].name()] {
        assert!(app.harness.query_all_by_label(text).next().is_some(), "{text}");
    }
    app.button("Copy the differences");
    app.key(Key::Escape);
    assert!(!app.shows("settings are equal."));
}

#[test]
fn presets_and_the_settings_under_the_controls_are_compared() {
    let mut app = App::plain();
    app.set_slider("Noise σ", 2.0);
    app.menu("Presets", "Compare presets…");
    app.settle();
    assert!(!is_enabled(&app, "Show differences"), "only the settings under the controls are chosen");
    app.click(Role::CheckBox, "Adam starves where Signum goes on (Fig. 1c) (fig1c)");
    app.button("Show differences");
    app.until("the table", |app| app.shows("settings are equal."));
    for text in ["Adam starves where Signum goes on (Fig. 1c)", "Plain, changed: σ = 2", "FOCUS / Signum: Rule"] {
        assert!(app.shows(text), "{text}");
    }
}

/// Starts an app with three diagrams, of which two are beside the last one.
fn three() -> (App, tempfile::TempDir) {
    let (diagrams, mut app) = finished();
    set_slope(&mut app, 0.5);
    set_slope(&mut app, 0.6);
    for title in ["Small", "Small, changed: c = 0.5"] {
        app.click(Role::CheckBox, &format!("Compare {title}"));
    }
    app.until("the maps", |app| app.harness.query_by_label("Diagram beside, 2").is_some());
    app.settle();
    (app, diagrams)
}

fn slope(app: &App) -> f64 {
    app.state().phase().present().diagram.spec().landscape.get("slope").expect("a valley has a slope")
}

/// Presses a button of the pointer in the lower left pixel of a map.
fn press(app: &mut App, name: &str, button: PointerButton) {
    let pos = canvas(app, name).left_bottom() + vec2(6.0, -6.0);
    app.harness.event(Event::PointerMoved(pos));
    app.harness.step();
    for pressed in [true, false] {
        app.harness.event(Event::PointerButton { pos, button, pressed, modifiers: Modifiers::NONE });
        app.harness.step();
    }
    app.settle();
}

#[test]
fn a_pixel_of_a_diagram_beside_is_kept_read_out_and_played() {
    let (mut app, _diagrams) = three();
    app.set(Role::SpinButton, "Column of the pixel", 2.0);
    press(&mut app, "Diagram beside", PointerButton::Secondary);
    app.harness.event(Event::PointerGone);
    app.settle();
    let side = |app: &App, name| app.harness.get_by_role_and_label(Role::SpinButton, name).value();
    assert_eq!(side(&app, "Column of the pixel").as_deref(), Some("0"));
    // The readout is that of the diagram beside: its title is there, above its map, and on its card.
    assert_eq!(app.harness.query_all_by_label("c = 0.1").count(), 3);
    press(&mut app, "Diagram beside", PointerButton::Primary);
    let spec = app.state().document().spec(0);
    let found = ["slope", "sharpness"].map(|key| spec.landscape.get(key).unwrap());
    assert_eq!((found, spec.noise.sigma()), ([0.1, 1.0], 0.0));
}

#[test]
fn showing_another_diagram_keeps_the_comparison_and_its_order() {
    let (mut app, _diagrams) = three();
    let places = |app: &App| {
        let mut places: Vec<f32> = ["Diagram", "Diagram beside", "Diagram beside, 2"]
            .map(|name| canvas(app, name).left() + 10_000.0 * canvas(app, name).top())
            .to_vec();
        places.iter_mut().for_each(|place| *place = place.round());
        places
    };
    let before = places(&app);
    app.button("Open Small, changed: c = 0.5");
    app.until("the other", |app| is_complete(app) && slope(app) == 0.5);
    app.settle();
    let after = places(&app);
    assert_eq!(after, [before[2], before[0], before[1]], "each diagram stays at its place");
}

#[test]
fn diagrams_side_by_side_are_shown_again_after_a_restart() {
    let (app, diagrams) = three();
    let storage = ended(app);
    let mut again = begun(diagrams.path(), None, Some(&storage));
    again.until("the last diagram", is_complete);
    again.until("the maps", |app| app.harness.query_by_label("Diagram beside, 2").is_some());
    for title in ["c = 0.6", "c = 0.5", "c = 0.1"] {
        assert!(again.harness.query_all_by_label(title).next().is_some(), "{title}");
    }
}

/// Exports a file of a kind and a format; returns its text.
fn exported(app: &mut App, kind: &str, format: &str, name: &str) -> String {
    String::from_utf8(export(app, kind, &[format], name)).expect("it is text")
}

#[test]
fn scores_of_diagrams_side_by_side_are_one_table() {
    let (mut app, _diagrams) = three();
    let table = exported(&mut app, "Data", "CSV", "scores.csv");
    let mut lines = table.lines();
    assert!(lines.next().expect("a header").starts_with("diagram,sharpness,noise,winner,"));
    let titles: Vec<&str> = lines.filter_map(|line| line.split(',').next()).collect();
    assert_eq!(titles.len(), 60);
    assert_eq!([titles[0], titles[20], titles[40]], ["c = 0.6", "c = 0.1", "c = 0.5"]);
}

#[test]
fn a_given_name_is_used_above_the_map_in_the_readout_and_in_the_table() {
    let (mut app, _diagrams) = three();
    app.button("More about Small, changed: c = 0.5");
    app.type_into("Name of Small, changed: c = 0.5", "Steep");
    app.key(Key::Escape);
    press(&mut app, "Diagram beside, 2", PointerButton::Secondary);
    // Its card, the title of its map, and the readout.
    assert_eq!(app.harness.query_all_by_label("Steep").count(), 3);
    app.button("More about Steep");
    app.focus(Role::TextInput, "Name of Steep");
    app.harness.get_by_role_and_label(Role::TextInput, "Name of Steep").type_text("er");
    app.harness.run_steps(2);
    app.key(Key::Escape);
    assert!(app.shows("Open Steep"), "Escape gives up the change of a name");
    let table = exported(&mut app, "Data", "CSV", "named.csv");
    assert!(table.contains("\nSteep,"), "{}", &table[..200]);
    // The title above a figure, which its metadata hold too.
    let svg = exported(&mut app, "Figure", "SVG", "named.svg");
    let title = svg.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>")).expect("a title").0;
    assert_eq!(title, "Small, changed: c = 0.6; Small; Steep");
}

#[test]
fn compared_diagrams_are_exported_as_one_figure_with_one_legend() {
    let (diagrams, mut app) = finished();
    set_slope(&mut app, 0.5);
    set_slope(&mut app, 0.6);
    let storage = ended(app);
    let mut again = begun(diagrams.path(), None, Some(&storage));
    again.until("the last diagram", is_complete);
    for title in ["Small", "Small, changed: c = 0.5"] {
        again.click(Role::CheckBox, &format!("Compare {title}"));
    }
    again.until("the maps", |app| app.harness.query_by_label("Diagram beside, 2").is_some());
    again.click(Role::CheckBox, "Letters");
    again.until("the letters", |app| app.shows("A = Adam") && app.shows("S = Signum"));
    open_sheet(&mut again, "Figure");
    assert!(again.shows("The diagrams side by side"));
    again.key(Key::Escape);
    let svg = exported(&mut again, "Figure", "SVG", "three.svg");
    for (text, count) in [(">c = 0.6<", 1), (">c = 0.5<", 1), (">c = 0.1<", 1), (">A = Adam<", 1)] {
        assert_eq!(svg.matches(text).count(), count, "{text}");
    }
    assert_eq!(svg.matches("<image").count(), 3);
}
