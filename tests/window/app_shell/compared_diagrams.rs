//! Phase diagrams side by side: pointed at, shown, exported, and over a restart.

use std::fs;

use egui::accesskit::Role;
use egui::{Event, Key, Modifiers, PointerButton, Rect, vec2};
use egui_kittest::kittest::Queryable;

use super::harness::App;
use super::kept_diagrams::{begun, ended, finish, folder, is_complete, set_slope};
use super::phase::SMALL;

/// Starts an app with three diagrams, of which two are beside the last one.
fn three() -> (App, tempfile::TempDir) {
    let diagrams = folder();
    let mut app = begun(diagrams.path(), Some(SMALL), None);
    finish(&mut app);
    set_slope(&mut app, 0.5);
    set_slope(&mut app, 0.6);
    for title in ["Small", "Small, changed: c = 0.5"] {
        app.click(Role::CheckBox, &format!("Compare {title}"));
    }
    app.until("the maps", |app| app.harness.query_by_label("Diagram beside, 2").is_some());
    app.settle();
    (app, diagrams)
}

fn map(app: &App, name: &str) -> Rect {
    app.harness.get_by_role_and_label(Role::Canvas, name).rect()
}

fn slope(app: &App) -> f64 {
    app.state().phase().present().diagram.spec().landscape.get("slope").expect("a valley has a slope")
}

/// Presses a button of the pointer in the lower left pixel of a map.
fn press(app: &mut App, name: &str, button: PointerButton) {
    let pos = map(app, name).left_bottom() + vec2(6.0, -6.0);
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
    app.harness.get_by_role_and_label(Role::SpinButton, "Column of the pixel").set_value_accesskit(2.0);
    app.settle();
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
            .map(|name| map(app, name).left() + 10_000.0 * map(app, name).top())
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

/// Writes an export of the menu into a file; returns its text.
fn exported(app: &mut App, entry: &str, name: &str) -> String {
    app.button("Export");
    app.button(entry);
    app.until("the path", |app| app.harness.query_by_role_and_label(Role::TextInput, "Path of the file").is_some());
    let path = app.folder.path().join(name);
    app.type_path(&path);
    app.until("the file", |app| app.shows("Saved ") && path.exists());
    fs::read_to_string(&path).expect("the file can be read")
}

#[test]
fn scores_of_diagrams_side_by_side_are_one_table() {
    let (mut app, _diagrams) = three();
    let table = exported(&mut app, "Scores as CSV…", "scores.csv");
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
    app.harness.key_press(Key::Escape);
    app.settle();
    press(&mut app, "Diagram beside, 2", PointerButton::Secondary);
    // Its card, the title of its map, and the readout.
    assert_eq!(app.harness.query_all_by_label("Steep").count(), 3);
    app.button("More about Steep");
    app.harness.get_by_role_and_label(Role::TextInput, "Name of Steep").focus();
    app.harness.run_steps(2);
    app.harness.get_by_role_and_label(Role::TextInput, "Name of Steep").type_text("er");
    app.harness.run_steps(2);
    app.harness.key_press(Key::Escape);
    app.settle();
    assert!(app.shows("Open Steep"), "Escape gives up the change of a name");
    let table = exported(&mut app, "Scores as CSV…", "named.csv");
    assert!(table.contains("\nSteep,"), "{}", &table[..200]);
    // The title above a figure, which its metadata hold too.
    let svg = exported(&mut app, "Figure as SVG…", "named.svg");
    let title = svg.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>")).expect("a title").0;
    assert_eq!(title, "Small, changed: c = 0.6; Small; Steep");
}

#[test]
fn compared_diagrams_are_exported_as_one_figure_with_one_legend() {
    let diagrams = folder();
    let mut app = begun(diagrams.path(), Some(SMALL), None);
    finish(&mut app);
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
    again.button("Export");
    assert!(again.shows("Figures and scores are those of the 3 diagrams side by side."));
    again.harness.key_press(Key::Escape);
    again.settle();
    let svg = exported(&mut again, "Figure as SVG…", "three.svg");
    for (text, count) in [(">c = 0.6<", 1), (">c = 0.5<", 1), (">c = 0.1<", 1), (">A = Adam<", 1)] {
        assert_eq!(svg.matches(text).count(), count, "{text}");
    }
    assert_eq!(svg.matches("<image").count(), 3);
}
