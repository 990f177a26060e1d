//! Exports of the landscape and its plots: figures for a paper, pictures and animations.

use egui::accesskit::Role;
use egui::{Key, ViewportCommand};
use egui_kittest::kittest::{NodeT as _, Queryable};
use valleyscope::figure::{Figure, Options, PAGE_MM, Trajectories};
use valleyscope_experiments::preset::{LandscapePreset, Preset};

use super::harness::{App, Begin, PLAIN};

/// Draws the figure of the preset within a figure.
fn drawn_again(svg: &str) -> String {
    let text = svg.split_once("<dc:description>").and_then(|(_, rest)| rest.split_once("</dc:description>"));
    let text = text.expect("the preset").0.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">");
    let preset = Preset::parse(&text.replace("&amp;", "&"), "the figure").expect("a preset");
    let Preset::Landscape(preset) = preset else { panic!("a landscape") };
    let mut trajectories = Trajectories::new(&preset).expect("there are optimizers");
    while !trajectories.is_complete() {
        trajectories.advance();
    }
    let options = Options { width_mm: PAGE_MM, ..Options::default() };
    Figure::landscape(&trajectories).render(&options).expect("rendered").to_string()
}

fn built_in(app: &mut App, name: &str) -> LandscapePreset {
    let found = valleyscope_experiments::preset::built_ins().iter().find(|built_in| built_in.name == name);
    let Preset::Landscape(preset) = &found.expect("a built-in preset").preset else { panic!("a landscape") };
    app.menu("Presets", &preset.title);
    app.settle();
    preset.clone()
}

#[test]
fn the_landscape_is_exported_as_the_figure_of_its_preset() {
    let mut app = App::plain();
    let preset = built_in(&mut app, "fig1c");
    app.menu("File", "Export figure…");
    app.click(Role::RadioButton, "SVG");
    app.button("Save…");
    app.until("the question where it goes", |app| {
        app.harness.query_by_role_and_label(Role::TextInput, "Path of the file").is_some()
    });
    let path = app.folder.path().join("figure.svg");
    app.type_path(&path);
    app.until("the file", |_| path.exists());
    let svg = std::fs::read_to_string(&path).expect("it was written");
    assert!(svg.contains(&preset.title) && svg.contains("width=\"180.000mm\""));
    assert!(svg == drawn_again(&svg), "another figure than that of the preset within");
}

fn step(app: &App) -> u64 {
    app.state().live().snapshot.as_ref().map_or(0, |snapshot| snapshot.step)
}

#[test]
fn an_animation_replays_changes_by_default() {
    let mut app = App::plain();
    // Returns for each of the two choices whether it is present and chosen.
    let choices = |app: &App| {
        ["as the session went, with its change", "as they are now, from step 0 on"].map(|name| {
            let button = app.harness.query_by_role_and_label(Role::RadioButton, name)?;
            Some(button.accesskit_node().toggled() == Some(egui::accesskit::Toggled::True))
        })
    };
    app.set_slider("Noise σ", 0.5);
    app.menu("File", "Export animation…");
    app.settle();
    assert!(
        app.shows("with the settings as they are now") && choices(&app) == [None; 2],
        "a change before the first step is no choice"
    );
    app.button("Cancel");
    app.button("Single step");
    app.until("a step", |app| step(app) == 1);
    app.set_slider("Noise σ", 2.0);
    app.until("the change", |app| {
        app.state().live().snapshot.as_ref().is_some_and(|it| !it.sessions[0].record.changes.is_empty())
    });
    app.menu("File", "Export animation…");
    assert_eq!(choices(&app), [Some(true), Some(false)]);
    app.click(Role::RadioButton, "as they are now, from step 0 on");
    assert_eq!(choices(&app), [Some(false), Some(true)]);
}

#[test]
fn the_plots_of_the_session_are_exported_with_marks_of_its_changes() {
    let mut app = App::plain();
    app.button("Single step");
    app.until("a step", |app| step(app) == 1);
    app.set_slider("Noise σ", 2.0);
    for _ in 0..9 {
        app.button("Single step");
    }
    app.until("ten steps", |app| step(app) == 10);
    app.menu("File", "Export figure…");
    app.click(Role::RadioButton, "Plots");
    app.click(Role::RadioButton, "SVG");
    app.button("Save…");
    app.until("the question where it goes", |app| {
        app.harness.query_by_role_and_label(Role::TextInput, "Path of the file").is_some()
    });
    let path = app.folder.path().join("plots.svg");
    app.type_path(&path);
    app.until("the file", |_| path.exists());
    let svg = std::fs::read_to_string(&path).expect("it was written");
    for text in ["effective step size", "loss L", "spread |v|", "steps", "Adam", "FOCUS", "1: step 1, σ 1 → 2"] {
        assert!(svg.contains(&format!(">{text}<")), "{text} is in the figure");
    }
    assert!(!svg.contains("<image"), "all is drawn as vectors");
}

fn drawing(play: bool) -> App {
    App::begin(Begin { preset: Some(PLAIN), draws: true, play, ..Begin::default() })
}

fn set_number(app: &mut App, name: &str, value: f64) {
    app.harness.get_by_role_and_label(Role::SpinButton, name).set_value_accesskit(value);
    app.harness.run_steps(2);
}

fn type_target(app: &mut App, path: &std::path::Path) {
    app.replace("To", Role::TextInput, path.to_str().expect("a path in UTF-8"));
}

/// Begins the export of the dialog as soon as its settings are checked.
fn begin_export(app: &mut App) {
    const BUTTON: &str = "Export animation";
    let is_enabled =
        |app: &App| !app.harness.get_by_role_and_label(Role::Button, BUTTON).accesskit_node().is_disabled();
    app.until("the check of the settings", is_enabled);
    app.button(BUTTON);
}

/// Begins an export that takes long.
fn begin_long_export(app: &mut App) {
    app.menu("File", "Export animation…");
    let path = app.folder.path().join("run.gif");
    set_number(app, "to", 100000.0);
    set_number(app, "Steps a frame", 10.0);
    type_target(app, &path);
    begin_export(app);
}

#[test]
fn an_animation_is_exported_in_the_background_while_the_run_goes_on() {
    let mut app = drawing(true);
    app.until("some steps", |app| step(app) > 20);
    app.menu("File", "Export animation…");
    let path = app.folder.path().join("run.gif");
    set_number(&mut app, "to", 30.0);
    set_number(&mut app, "Steps a frame", 10.0);
    type_target(&mut app, &path);
    begin_export(&mut app);
    assert!(app.shows("Exporting run.gif"));
    let begun = step(&app);
    app.until("the file", |app| app.shows("Saved 4 frames to"));
    assert!(step(&app) > begun && app.state().live().is_playing(), "the run goes on");
    assert!(path.exists() && !app.shows("Exporting run.gif"));
}

#[test]
fn an_export_is_cancelled_by_its_button() {
    let mut app = drawing(false);
    begin_long_export(&mut app);
    app.button("Cancel the export of run.gif");
    app.until("its end", |app| !app.shows("Exporting run.gif"));
    assert!(!app.folder.path().join("run.gif").exists() && step(&app) == 0);
}

#[test]
fn quitting_asks_before_it_stops_an_export() {
    let mut app = drawing(false);
    begin_long_export(&mut app);
    assert!(app.close().contains(&ViewportCommand::CancelClose));
    app.harness.run_steps(3);
    assert!(app.shows("Quit and stop an export?") && app.shows("nothing of it will be kept"));
    assert!(!app.shows("Export…"), "a running export cannot be exported");
    app.harness.key_press(Key::Escape);
    app.harness.run_steps(3);
    assert!(!app.shows("Quit and stop") && app.shows("Exporting run.gif"));
    app.close();
    app.harness.run_steps(3);
    app.button("Quit");
    assert!(!app.close().contains(&ViewportCommand::CancelClose), "it was answered");
}

#[test]
fn a_cancelled_export_needs_no_question() {
    let mut app = drawing(false);
    begin_long_export(&mut app);
    app.button("Cancel the export of run.gif");
    assert!(!app.close().contains(&ViewportCommand::CancelClose));
}

#[test]
fn the_dialog_of_animations_reports_what_is_wrong_with_the_path() {
    let mut app = App::plain();
    app.menu("File", "Export animation…");
    let nowhere = app.folder.path().join("nowhere").join("run.gif");
    type_target(&mut app, &nowhere);
    app.until("the check", |app| app.shows("There is no folder"));
    let there = app.write("there.gif", "an older one");
    type_target(&mut app, &there);
    app.until("the check", |app| app.shows("Replace the file and export") && !app.shows("There is no folder"));
}

#[test]
fn a_picture_is_saved_with_the_chosen_parts() {
    let mut app = drawing(false);
    app.button("Single step");
    app.until("a step", |app| step(app) == 1);
    app.menu("File", "Export picture…");
    app.click(Role::RadioButton, "Plots");
    app.click(Role::CheckBox, "Title");
    set_number(&mut app, "Width in pixels", 500.0);
    app.button("Save…");
    app.until("the question where it goes", |app| {
        app.harness.query_by_role_and_label(Role::TextInput, "Path of the file").is_some()
    });
    let path = app.folder.path().join("plots.png");
    app.type_path(&path);
    app.until("the file", |_| path.exists());
    let picture = image::open(&path).expect("a picture");
    assert_eq!((picture.width(), picture.height()), (500, 600));
}

#[test]
fn without_a_graphics_driver_the_export_is_refused_with_the_reason() {
    let mut app = App::plain();
    app.menu("File", "Export picture…");
    app.button("Save…");
    assert!(app.shows("no graphics adapter was found"));
}
