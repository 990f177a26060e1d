//! Exports of the landscape as a figure for a paper.

use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT as _, Queryable};
use valleyscope::figure::{Figure, Options, PAGE_MM, Trajectories};
use valleyscope_experiments::preset::{LandscapePreset, Preset};

use super::harness::App;

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

#[test]
fn an_animation_replays_changes_by_default() {
    let mut app = App::plain();
    let step = |app: &App| app.state().live().snapshot.as_ref().map_or(0, |snapshot| snapshot.step);
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
    assert!(app.shows("as they are now") && choices(&app) == [None; 2], "a change before the first step is no choice");
    app.button("Cancel");
    app.button("Single step");
    app.until("a step", |app| step(app) == 1);
    app.set_slider("Noise σ", 2.0);
    app.menu("File", "Export animation…");
    app.until("the session", |app| app.shows("as the session went, with its change"));
    assert_eq!(choices(&app), [Some(true), Some(false)]);
    app.click(Role::RadioButton, "as they are now, from step 0 on");
    assert_eq!(choices(&app), [Some(false), Some(true)]);
}
