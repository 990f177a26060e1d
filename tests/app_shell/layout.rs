//! The app at the sizes people have.

use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT as _, Queryable};

use crate::harness::{App, Begin};

#[test]
fn it_works_small_large_and_fine() {
    for (size, pixels_per_point) in
        [([900.0, 600.0], 1.0), ([640.0, 420.0], 1.0), ([2560.0, 1440.0], 1.0), ([1280.0, 800.0], 3.0)]
    {
        let mut app = App::begin(Begin { size, pixels_per_point, ..Begin::default() });
        app.settle();
        let screen = egui::Rect::from_min_size(egui::Pos2::ZERO, size.into());
        for name in ["File", "Play", "Restart", "New seed"] {
            let rect = app.harness.get_by_role_and_label(Role::Button, name).rect();
            assert!(screen.contains_rect(rect), "{name} at {rect:?} is not within {size:?}");
        }
        let slider = app.slider("Sharpness a").rect();
        let landscape = app.harness.get_by_role_and_label(Role::Canvas, "Landscape").rect();
        assert!(landscape.width() > 0.2 * size[0], "the landscape has {landscape:?} of {size:?}");
        assert!(slider.width() >= 40.0 && screen.contains_rect(slider), "{slider:?} is too small in {size:?}");
    }
}

#[test]
fn panels_go_away_and_come_back() {
    let mut app = App::plain();
    app.button("View");
    app.click(Role::CheckBox, "Controls");
    app.settle();
    assert!(app.harness.query_by_role_and_label(Role::Slider, "Noise σ").is_none());
    app.click(Role::CheckBox, "Controls");
    app.settle();
    assert!(app.harness.query_by_role_and_label(Role::Slider, "Noise σ").is_some());
}

#[test]
fn a_narrow_window_says_that_it_has_no_room_for_the_plots() {
    let mut app = App::begin(Begin { size: [700.0, 600.0], ..Begin::default() });
    app.settle();
    app.button("View");
    assert!(app.harness.get_by_role_and_label(Role::CheckBox, "Plots").accesskit_node().is_disabled());
    let mut app = App::plain();
    app.button("View");
    assert!(!app.harness.get_by_role_and_label(Role::CheckBox, "Plots").accesskit_node().is_disabled());
}

#[test]
fn the_controls_stay_where_they_were_scrolled_to_through_a_presentation() {
    let mut app = App::begin(Begin { size: [1280.0, 600.0], ..Begin::default() });
    app.harness.get_by_role_and_label(Role::Slider, "FOCUS: Attraction γ").scroll_to_me();
    app.settle();
    let before = app.slider("FOCUS: Attraction γ").rect();
    app.harness.key_press(egui::Key::F11);
    app.harness.run_steps(2);
    app.harness.set_size(egui::vec2(1280.0, 1500.0));
    app.harness.run_steps(3);
    app.harness.key_press(egui::Key::F11);
    app.harness.run_steps(1);
    app.harness.set_size(egui::vec2(1280.0, 600.0));
    app.settle();
    assert_eq!(app.slider("FOCUS: Attraction γ").rect(), before);
}

#[test]
fn the_view_menu_changes_how_the_landscape_is_drawn() {
    let mut app = App::plain();
    let before = app.state().document().view.clone();
    app.button("View");
    app.click(Role::CheckBox, "Contour lines");
    app.click(Role::CheckBox, "Frame of u and v");
    app.click(Role::CheckBox, "Colour scale follows the view");
    app.set_slider("Trail (steps)", 123.0);
    app.set_slider("Largest loss", 50.0);
    let view = &app.state().document().view;
    assert_eq!((view.contours, view.uv_frame), (!before.contours, !before.uv_frame));
    assert_eq!(view.trail_steps, 123);
    assert_eq!(view.scale.map(|scale| scale.max), Some(50.0));
}

#[test]
fn notices_pass_by_themselves() {
    let mut app = App::plain();
    app.button("Adam: remove");
    assert!(app.shows("Removed Adam"));
    // Each frame of the harness takes a quarter of a second.
    app.harness.run_steps(30);
    assert!(!app.shows("Removed Adam"));
}
