//! The landscape as a figure for a paper.

use egui::accesskit::Role;
use egui_kittest::kittest::Queryable;
use valleyscope::figure::{Figure, Options, PAGE_MM, Trajectories};
use valleyscope::preset::{LandscapePreset, Preset};

use crate::harness::App;

/// The preset within a figure, and the figure that it has.
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
    let found = valleyscope::preset::built_ins().iter().find(|built_in| built_in.name == name);
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
