//! Colours that are chosen in legends, and where they are kept.

use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT, Queryable};
use valleyscope_engine::simulation::OptimizerSpec;
use valleyscope_experiments::preset::{LandscapePreset, Preset};
use valleyscope_experiments::view::simulation_colors;

use super::harness::App;
use super::training::{begun_scan, choose, finished, listed, open_tab, select};

/// Opens the menu of a legend's entry, and sets red there.
fn set_red_in_menu(app: &mut App, role: Role, entry: &str, value: u8) {
    app.harness.get_by_role_and_label(role, entry).click_secondary();
    app.harness.run_steps(3);
    app.harness.get_by_role_and_label(Role::SpinButton, "R").set_value_accesskit(f64::from(value));
    app.harness.run_steps(3);
    app.harness.key_press(egui::Key::Escape);
    app.settle();
}

fn restore_in_menu(app: &mut App, role: Role, entry: &str) {
    app.harness.get_by_role_and_label(role, entry).click_secondary();
    app.harness.run_steps(3);
    app.button("Usual colour");
    app.settle();
}

/// Returns the name of the first node whose name contains a text.
fn named(app: &App, part: &str) -> String {
    let mut nodes = app.harness.query_all_by_label_contains(part);
    nodes.next().and_then(|node| node.accesskit_node().label()).expect("it is shown")
}

fn optimizers(app: &App) -> &[OptimizerSpec] {
    &app.state().document().spec(0).optimizers
}

#[test]
fn the_legend_on_the_landscape_chooses_a_colour_that_the_preset_keeps() {
    let mut app = App::plain();
    app.settle();
    let entry = named(&app, "Show Adam");
    let before = simulation_colors(optimizers(&app));
    set_red_in_menu(&mut app, Role::CheckBox, &entry, 20);
    let chosen = optimizers(&app)[0].color.expect("a colour was chosen");
    assert!(chosen[0].abs_diff(20) <= 1 && chosen[1].abs_diff(before[0][1]) <= 1, "{chosen:?}");
    let draft = LandscapePreset::new("saved", app.state().document().spec(0).clone());
    let Ok(Preset::Landscape(saved)) = Preset::parse(&Preset::Landscape(draft).to_ron(), "saved") else {
        panic!("a landscape")
    };
    assert_eq!(saved.spec().optimizers[0].color, Some(chosen));
    restore_in_menu(&mut app, Role::CheckBox, &entry);
    assert_eq!(optimizers(&app)[0].color, None);
}

#[test]
fn the_legend_of_the_curves_chooses_a_colour_that_the_session_keeps() {
    let (mut app, run) = open_tab(|runs| finished(runs, "Alone", 1, |_| 1.0));
    listed(&mut app, 1);
    select(&mut app, "Alone");
    app.until("its curve", |app| app.harness.query_all_by_label_contains("Curve of ").next().is_some());
    let entry = named(&app, "Curve of ");
    set_red_in_menu(&mut app, Role::Image, &entry, 20);
    let chosen = app.state().training().memory().colors[run.path()];
    assert!(chosen[0].abs_diff(20) <= 1, "{chosen:?}");
    restore_in_menu(&mut app, Role::Image, &entry);
    assert!(app.state().training().memory().colors.is_empty());
}

#[test]
fn the_colours_of_a_scan_are_chosen_beside_its_plots_and_kept_with_the_session() {
    let (mut app, run) = open_tab(begun_scan);
    listed(&mut app, 1);
    choose(&mut app, "Scan");
    app.until("the scan's picture", |app| app.shows("3 of 4 grid points"));
    app.set_color("Colour of Signum", "R", 20);
    let chosen = app.state().training().memory().scan_colors[run.path()]["Signum"];
    assert!(chosen[0].abs_diff(20) <= 1, "{chosen:?}");
    app.take_usual_color("Colour of Signum");
    assert!(app.state().training().memory().scan_colors[run.path()].is_empty());
}
