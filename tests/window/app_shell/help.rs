//! The help on the optimizers.

use egui::accesskit::Role;
use egui::{Key, Modifiers, Rect};
use egui_kittest::kittest::Queryable;
use valleyscope_engine::optimizer::RuleKind;

use super::harness::App;

fn rect(app: &App, text: &str) -> Rect {
    app.harness.get_by_label(text).rect()
}

#[test]
fn the_link_on_a_card_explains_its_optimizer() {
    let mut app = App::plain();
    app.click(Role::Link, "Adam: explain");
    app.harness.run_steps(4);
    let [first, last] = ["m ← β₁ m + (1 − β₁) g", "θ ← θ − η (d + ω θ)"].map(|line| rect(&app, line));
    assert!(first.left() == last.left() && first.bottom() < last.top(), "{first} and {last} are lines");
    assert!(first.height() < 30.0 && last.height() < 30.0, "{first} and {last} are not broken");
    assert!(app.shows("Source: arXiv:1412.6980"));
    app.harness.key_press_modifiers(Modifiers::NONE, Key::Escape);
    app.harness.run_steps(4);
    assert!(!app.shows("Source: arXiv:1412.6980"));
}

#[test]
fn every_optimizer_is_explained() {
    let mut app = App::plain();
    app.menu("Help", "Optimizers");
    app.harness.run_steps(4);
    for kind in RuleKind::ALL {
        let listed = app.harness.get_all_by_label(kind.info().name).last().expect("it is in the list");
        listed.click_accesskit();
        app.harness.run_steps(4);
        assert!(app.shows(kind.info().source), "{}", kind.info().name);
    }
}
