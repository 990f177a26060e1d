//! The layout of the app at common window sizes.

use egui::accesskit::Role;
use egui::{Event, Key, Modifiers, PointerButton, Rect, Shape, pos2, vec2};
use egui_kittest::kittest::{NodeT as _, Queryable};

use super::harness::{App, Begin, PLAIN};
use super::phase::SMALL;
use super::training;

#[test]
fn controls_fit_windows_of_all_sizes_and_scales() {
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
fn a_small_window_shows_plots_below_a_particles_formulas() {
    for size in [[900.0, 600.0], [1280.0, 800.0]] {
        let mut app = App::begin(Begin { size, ..Begin::default() });
        app.button("Show");
        app.button("Single step");
        app.until("its step is taken apart", |app| app.state().live().step_trace(0).is_some());
        app.settle();
        let screen = egui::Rect::from_min_size(egui::Pos2::ZERO, size.into());
        let plots = app.harness.query_all_by_role(Role::Figure);
        let seen = plots.filter(|plot| screen.contains_rect(plot.rect()) && plot.rect().height() > 40.0).count();
        assert!(seen >= 1, "no plot is seen in {size:?}");
    }
}

#[test]
fn panels_are_hidden_and_shown_again() {
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
fn a_narrow_window_explains_missing_plots() {
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
    assert_eq!(view.scale.map(|scale| (scale.min, scale.max)), Some((-10.0, 50.0)));
    app.click(Role::CheckBox, "Colours for losses below 0");
    assert_eq!(app.state().document().view.scale.map(|scale| (scale.min, scale.max)), Some((0.0, 50.0)));
    app.click(Role::CheckBox, "Colours for losses below 0");
    app.set_slider("Depth below 0", 2.0);
    assert_eq!(app.state().document().view.scale.map(|scale| (scale.min, scale.max)), Some((-2.0, 50.0)));
}

#[test]
fn the_usual_plots_are_seen_without_scrolling_in_a_small_window() {
    let mut app = App::begin(Begin { size: [900.0, 600.0], ..Begin::default() });
    app.settle();
    let end = app.harness.get_by_role_and_label(Role::Button, "Play").rect().top();
    for plot in ["loss L", "depth u", "spread |v|", "effective step size"] {
        let rect = app.harness.get_by_label(&format!("Plot of {plot}")).rect();
        assert!(rect.bottom() <= end, "the plot of {plot} at {rect} ends below {end}");
        assert!(rect.height() > 50.0, "{rect}");
    }
    let dash = app.harness.output().shapes.iter().any(|clipped| match &clipped.shape {
        Shape::Text(text) => text.galley.text() == "—",
        _ => false,
    });
    assert!(!dash, "an empty plot says why it is");
}

#[test]
fn the_usual_plots_are_seen_below_the_text_of_a_lesson_in_a_small_window() {
    // The text takes four lines.
    let text = "A sentence about what is to be seen, long enough for half a line. ".repeat(5);
    let lesson = PLAIN.replace("    simulation:", &format!("    lesson: [(text: \"{text}\")],\n    simulation:"));
    let mut app = App::begin(Begin { preset: Some(&lesson), size: [900.0, 600.0], ..Begin::default() });
    app.settle();
    let end = app.harness.get_by_role_and_label(Role::Button, "Play").rect().top();
    for plot in ["loss L", "depth u", "spread |v|", "effective step size"] {
        let rect = app.harness.get_by_label(&format!("Plot of {plot}")).rect();
        assert!(rect.bottom() <= end && rect.height() > 40.0, "the plot of {plot} at {rect}, above {end}");
    }
}

#[test]
fn a_legend_of_long_names_does_not_cover_the_valley() {
    let adam = "(id: 0, rule: Adam(learning_rate: 0.01)),";
    let scheduled = "(id: 2, rule: Adam(learning_rate: 0.005, beta1: 0.95, weight_decay: 0.25, \
        schedule: (warmup: 100, decay: Cosine(to: 0.1, steps: 2000)))),";
    let preset = PLAIN.replace(adam, &format!("{adam} {scheduled}"));
    for size in [[1400.0, 900.0], [900.0, 600.0]] {
        let mut app = App::begin(Begin { preset: Some(&preset), size, ..Begin::default() });
        app.settle();
        let canvas = app.harness.get_by_role_and_label(Role::Canvas, "Landscape").rect();
        let row = app.harness.get_by_label_contains("Show Adam (cosine)");
        let name = row.accesskit_node().label().unwrap_or_default();
        assert!(name.contains("over 2000 steps"), "{name} is not the whole name");
        assert!(row.rect().left() > canvas.left() + 0.3 * canvas.width(), "{} covers {canvas}", row.rect());
        let is_elided = app.harness.output().shapes.iter().any(|clipped| match &clipped.shape {
            Shape::Text(text) => text.galley.text().starts_with("Adam (cosine)") && text.galley.text().ends_with(", …"),
            _ => false,
        });
        assert!(is_elided, "{name} is drawn with all settings in {size:?}");
    }
}

#[test]
fn the_names_of_axes_are_below_their_numbers_also_in_a_presentation() {
    let mut app = App::begin(Begin { size: [1920.0, 1060.0], ..Begin::default() });
    app.harness.key_press(Key::F11);
    for (key, picture, name) in [(Key::Num1, "Landscape", "x"), (Key::Num2, "Diagram", "noise σ")] {
        app.harness.key_press_modifiers(Modifiers::COMMAND, key);
        app.settle();
        let texts = app.harness.output().shapes.iter().filter_map(|clipped| match &clipped.shape {
            Shape::Text(text) => Some((text.galley.text(), text.galley.rect.translate(text.pos.to_vec2()))),
            _ => None,
        });
        let texts: Vec<(&str, Rect)> = texts.collect();
        let canvas = app.harness.get_by_role_and_label(Role::Canvas, picture).rect();
        let bottom = canvas.bottom();
        let (_, name) = texts.iter().find(|(text, _)| *text == name).expect("the axis has a name");
        // Numbers of plots and of sliders are beside and further below.
        let of_axis = Rect::from_x_y_ranges(canvas.x_range(), bottom..=bottom + 15.0);
        let numbers =
            texts.iter().filter(|(text, rect)| of_axis.contains(rect.center_top()) && text.parse::<f64>().is_ok());
        let lowest = numbers.map(|(_, rect)| rect.bottom()).fold(f32::NAN, f32::max);
        assert!(name.top() >= lowest - 1.0, "{name} is not below {lowest}");
    }
}

#[test]
fn notices_disappear_after_some_seconds() {
    let mut app = App::plain();
    app.button("Adam: remove");
    assert!(app.shows("Removed Adam"));
    // Each frame of the harness takes a quarter of a second.
    app.harness.run_steps(30);
    assert!(!app.shows("Removed Adam"));
}

/// Returns the right end of the panel at the left.
fn left_edge(app: &App) -> f32 {
    let splitters = app.harness.query_all_by_role(Role::Splitter).map(|splitter| splitter.rect());
    let upright = splitters.filter(|rect| rect.height() > rect.width());
    upright.map(|rect| rect.center().x).fold(f32::INFINITY, f32::min)
}

/// Drags horizontally from one position to another.
fn drag(app: &mut App, from: f32, to: f32) {
    let at = |x: f32| pos2(x, 400.0);
    let button = |x, pressed| Event::PointerButton {
        pos: at(x),
        button: PointerButton::Primary,
        pressed,
        modifiers: Modifiers::NONE,
    };
    for event in [
        Event::PointerMoved(at(from)),
        button(from, true),
        Event::PointerMoved(at((from + to) / 2.0)),
        Event::PointerMoved(at(to)),
        button(to, false),
        Event::PointerGone,
    ] {
        app.harness.event(event);
        app.harness.step();
    }
    app.settle();
}

#[test]
fn panels_regain_their_width_when_the_window_grows() {
    for (key, wide) in [(Key::Num1, 300.0), (Key::Num2, 350.0), (Key::Num3, 380.0)] {
        let mut app = App::begin(Begin { preset: Some(SMALL), ..Begin::default() });
        let in_tab = |app: &mut App| {
            app.harness.key_press_modifiers(Modifiers::COMMAND, key);
            app.settle();
        };
        let resize = |app: &mut App, width: f32| {
            app.harness.set_size(vec2(width, 900.0));
            app.settle();
        };
        in_tab(&mut app);
        let usual = left_edge(&app);
        resize(&mut app, 700.0);
        assert!(left_edge(&app) < usual - 50.0, "a narrow window has narrow panels");
        resize(&mut app, 1400.0);
        assert!((left_edge(&app) - usual).abs() < 1.0, "{} and {usual}", left_edge(&app));
        // A few points off the edge it can still be grabbed.
        drag(&mut app, usual - 5.0, wide);
        assert!((left_edge(&app) - wide).abs() < 2.0, "{} and {wide}", left_edge(&app));
        resize(&mut app, 700.0);
        let storage = app.state().session();
        let mut again = App::begin(Begin { preset: None, storage: Some(&storage), ..Begin::default() });
        in_tab(&mut again);
        assert!((left_edge(&again) - wide).abs() < 2.0, "{} and {wide} after a restart", left_edge(&again));
    }
}

/// Returns the edges between panels above and below each other.
fn level_edges(app: &App) -> Vec<f32> {
    let splitters = app.harness.query_all_by_role(Role::Splitter).map(|splitter| splitter.rect());
    let mut edges: Vec<f32> =
        splitters.filter(|rect| rect.width() > rect.height()).map(|rect| rect.center().y).collect();
    edges.sort_by(f32::total_cmp);
    edges
}

#[test]
fn panels_regain_their_height_when_the_window_grows() {
    let mut landscape = App::plain();
    landscape.button("Show");
    let (mut training, ()) = training::open_tab(|runs| {
        training::finished(runs, "Run", 0, |_| 1.0);
    });
    training::listed(&mut training, 1);
    training::select(&mut training, "Run");
    for (app, count) in [(&mut landscape, 1), (&mut training, 2)] {
        let resize = |app: &mut App, height: f32| {
            app.harness.set_size(vec2(1400.0, height));
            app.settle();
        };
        resize(app, 1200.0);
        let usual = level_edges(app);
        assert_eq!(usual.len(), count);
        resize(app, 420.0);
        assert!(level_edges(app)[0] < usual[0], "a low window has low panels");
        resize(app, 1200.0);
        assert_eq!(level_edges(app), usual);
    }
}
