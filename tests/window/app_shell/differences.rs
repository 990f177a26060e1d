//! Tables of the settings in which runs and presets differ.

use egui::Key;
use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT, Queryable};

use super::harness::App;
use super::training::{compare, listed, open_tab, select, trained};

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
    app.harness.key_press(Key::Escape);
    app.settle();
    assert!(!app.shows("settings are equal."));
}

#[test]
fn presets_and_the_settings_under_the_controls_are_compared() {
    let mut app = App::plain();
    app.set_slider("Noise σ", 2.0);
    app.menu("Presets", "Differences…");
    app.settle();
    assert!(!is_enabled(&app, "Show differences"), "only the settings under the controls are chosen");
    app.click(Role::CheckBox, "Adam starves where Signum goes on (Fig. 1c) (fig1c)");
    app.button("Show differences");
    app.until("the table", |app| app.shows("settings are equal."));
    for text in ["fig1c", "Plain, changed: σ = 2", "FOCUS / Signum: Rule"] {
        assert!(app.shows(text), "{text}");
    }
}
