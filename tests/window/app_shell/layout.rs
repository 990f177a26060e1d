//! The layout of the app at common window sizes.

use egui::accesskit::Role;
use egui::{Event, Key, MissingGlyphPolicy, Modifiers, Order, PointerButton, Rect, Shape, pos2, vec2};
use egui_kittest::kittest::{NodeT as _, Queryable};
use valleyscope_experiments::dataset::mnist::{Digits, Mnist, MnistSource, PIXELS, write_folder};

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
    app.click(Role::CheckBox, "Controls").settle();
    assert!(app.harness.query_by_role_and_label(Role::Slider, "Noise σ").is_none());
    app.click(Role::CheckBox, "Controls").settle();
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
fn another_preset_is_shown_from_its_first_control() {
    let mut app = App::begin(Begin { size: [1280.0, 600.0], ..Begin::default() });
    let before = app.slider("Sharpness a").rect();
    app.harness.get_by_role_and_label(Role::Slider, "FOCUS: Attraction γ").scroll_to_me();
    app.settle();
    assert!(app.slider("Sharpness a").rect().top() < 0.0);
    app.menu("Presets", "Where FOCUS wins");
    app.settle();
    assert_eq!(app.slider("Sharpness a").rect().top(), before.top());
}

#[test]
fn the_view_menu_changes_how_the_landscape_is_drawn() {
    let mut app = App::plain();
    let before = app.state().document().view.clone();
    app.button("View");
    app.click(Role::CheckBox, "Contour lines");
    app.click(Role::CheckBox, "Frame of u and v");
    app.click(Role::CheckBox, "Automatic colour scale");
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
        assert!(rect.height() > 45.0, "{rect}");
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
        let is_drawn = |start: &str, end: &str| {
            app.harness.output().shapes.iter().any(|clipped| match &clipped.shape {
                Shape::Text(text) => text.galley.text().starts_with(start) && text.galley.text().ends_with(end),
                _ => false,
            })
        };
        assert!(is_drawn("Adam (", "…"), "{name} is drawn with all settings in {size:?}");
        assert!(is_drawn("mean L", ""), "a long name leaves room for the values");
    }
}

#[test]
fn the_names_of_axes_are_below_their_numbers_also_in_a_presentation() {
    let mut app = App::begin(Begin { size: [1920.0, 1060.0], ..Begin::default() });
    app.harness.key_press(Key::F11);
    for (key, picture, name) in [(Key::Num1, "Landscape", "x"), (Key::Num2, "Diagram", "noise σ")] {
        app.keys(Modifiers::COMMAND, key);
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
            app.keys(Modifiers::COMMAND, key);
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

/// Splits composite shapes into single ones.
fn single(shapes: &mut dyn Iterator<Item = &Shape>) -> Vec<Shape> {
    shapes
        .flat_map(|shape| match shape {
            Shape::Vec(inner) => single(&mut inner.iter()),
            other => vec![other.clone()],
        })
        .collect()
}

fn drawn(app: &App) -> Vec<(Shape, Rect)> {
    let shapes = app.harness.output().shapes.iter();
    let pairs = shapes.flat_map(|clipped| {
        let inner = single(&mut std::iter::once(&clipped.shape));
        inner.into_iter().map(|shape| (shape, clipped.clip_rect))
    });
    pairs.collect()
}

/// Returns all texts in the window, with their rectangles and clip rectangles.
fn clipped_texts(app: &App) -> Vec<(String, Rect, Rect)> {
    let text = |(shape, clip)| match shape {
        Shape::Text(text) => {
            let rows = text.galley.rows.iter().map(|row| row.rect_without_leading_space());
            let rect = rows.reduce(Rect::union).unwrap_or(Rect::NOTHING);
            Some((text.galley.text().to_owned(), rect.translate(text.pos.to_vec2()), clip))
        }
        _ => None,
    };
    drawn(app).into_iter().filter_map(text).collect()
}

fn texts(app: &App) -> Vec<(String, Rect)> {
    clipped_texts(app).into_iter().map(|(text, rect, _)| (text, rect)).collect()
}

fn seen_texts(app: &App) -> Vec<(String, Rect)> {
    let seen = clipped_texts(app).into_iter().map(|(text, rect, clip)| (text, rect.intersect(clip)));
    seen.filter(|(_, rect)| rect.is_positive()).collect()
}

fn upright_lines(app: &App) -> Vec<Rect> {
    let line = |(shape, clip): (Shape, Rect)| match shape {
        Shape::LineSegment { points: [a, b], .. } if a.x == b.x => Some(Rect::from_two_pos(a, b).intersect(clip)),
        _ => None,
    };
    drawn(app).into_iter().filter_map(line).collect()
}

/// Returns where a field's number is drawn; `None` if the field is scrolled out of view.
fn drawn_number(app: &App, number: &str, field: Rect) -> Option<Rect> {
    texts(app).into_iter().find(|(text, rect)| text == number && rect.intersects(field)).map(|(_, rect)| rect)
}

/// Returns the fields that are narrower than their numbers.
fn cut_fields(app: &App) -> Vec<String> {
    let fields =
        app.harness.query_all_by_role(Role::TextInput).filter_map(|field| Some((field.value()?, field.rect())));
    let numbers = fields.filter(|(text, _)| text.parse::<f64>().is_ok());
    let drawn = numbers.filter_map(|(text, field)| Some((drawn_number(app, &text, field)?, text, field)));
    let cut = drawn.filter(|(number, _, field)| number.left() < field.left() || number.right() > field.right());
    cut.map(|(number, text, field)| format!("{text} at {number} in {field}")).collect()
}

/// Types the longest number into a field, and expects all of its digits.
fn expect_all_digits(app: &mut App, field: &str) {
    const LONG: &str = "18446744073709551615";
    app.type_into(field, LONG);
    // The form is longer than the window, by the data that the machine has.
    app.harness.get_by_role_and_label(Role::TextInput, field).scroll_to_me();
    app.settle();
    let seed = app.harness.get_by_role_and_label(Role::TextInput, field);
    assert_eq!(seed.value().as_deref(), Some(LONG), "{field}");
    assert!(drawn_number(app, LONG, seed.rect()).is_some(), "{field} is in view");
    assert_eq!(cut_fields(app), [""; 0], "{field}");
}

#[test]
fn number_boxes_show_all_digits() {
    for size in [[900.0, 600.0], [1440.0, 960.0]] {
        let mut app = App::begin(Begin { preset: Some(SMALL), size, ..Begin::default() });
        for (key, field) in [(Key::Num1, "Seed"), (Key::Num2, "Seed of the sweep")] {
            app.keys(Modifiers::COMMAND, key);
            expect_all_digits(&mut app, field);
        }
        assert_eq!(app.state().phase().preset().sweep.seed, u64::MAX, "to the last digit");
    }
}

#[test]
fn number_boxes_of_the_training_form_show_all_digits_with_and_without_data() {
    for (size, has_data) in [[900.0, 600.0], [1440.0, 960.0]].into_iter().flat_map(|size| [(size, false), (size, true)])
    {
        let mut app = App::begin(Begin { size, ..Begin::default() });
        app.harness.key_press_modifiers(Modifiers::COMMAND, Key::Num3);
        app.until("the data", |app| app.shows("Data: MNIST, which is downloaded first"));
        // The line has moved what is below it.
        app.settle();
        if has_data {
            let folder = app.folder.path().join("images");
            let digits = Digits { images: vec![9; 3 * PIXELS], labels: vec![1, 2, 3] };
            let mnist = Mnist { train: digits.clone(), test: digits, source: MnistSource::Synthetic };
            write_folder(&mnist, &folder).expect("it can be written");
            app.button("Choose the folder of the dataset").settle();
            app.type_over("Path of the folder", &folder);
            app.until("the data", |app| app.shows("Data: files in"));
        }
        app.settle();
        expect_all_digits(&mut app, "Seed of the training");
    }
}

#[test]
fn the_name_of_the_colour_bar_and_the_dividers_of_the_transport_bar_cross_no_text() {
    for size in [[900.0, 600.0], [1280.0, 800.0]] {
        let mut app = App::begin(Begin { size, ..Begin::default() });
        for steps in [0, 1, 30] {
            for _ in 0..steps {
                app.button("Single step");
            }
            app.settle();
            let texts = seen_texts(&app);
            let (_, name) = texts.iter().find(|(text, _)| text == "loss L").expect("the colour bar has its name");
            for (text, rect) in texts.iter().filter(|(text, _)| text != "loss L") {
                assert!(!rect.shrink(0.5).intersects(*name), "“{text}” at {rect} meets “loss L” at {name} in {size:?}");
            }
            let bar = app.harness.get_by_role_and_label(Role::Button, "Play").rect().top();
            for line in upright_lines(&app).into_iter().filter(|line| line.top() > bar - 4.0) {
                let met = texts.iter().find(|(_, rect)| rect.shrink(0.5).intersects(line));
                assert!(met.is_none(), "the line {line} goes through {met:?} in {size:?}");
            }
        }
    }
}

#[test]
fn help_on_a_control_is_beside_the_controls() {
    let mut app = App::begin(Begin { size: [1280.0, 800.0], ..Begin::default() });
    app.settle();
    let knob = app.slider("Slope c").rect();
    app.harness.hover_at(knob.center());
    app.settle();
    let help = app.harness.get_by_label_contains("In the paper").rect();
    for slider in app.harness.query_all_by_role(Role::Slider) {
        assert!(!help.intersects(slider.rect()), "{help} covers {}", slider.rect());
    }
    assert!((help.top() - knob.top()).abs() < 20.0, "{help} is not beside {knob}");
}

#[test]
fn the_menu_of_presets_is_as_high_as_the_window_allows_and_counts_what_can_be_read() {
    let mut app = App::prepared(Begin { size: [1440.0, 900.0], ..Begin::default() }, |folder| {
        let folder = folder.join("presets");
        std::fs::create_dir(&folder).expect("the test's folder can be written");
        std::fs::write(folder.join("mine.ron"), PLAIN.replace("Plain", "Mine")).expect("it can be written");
        std::fs::write(folder.join("broken.ron"), "Landscape(").expect("it can be written");
    });
    app.button("Presets");
    app.until("the list", |app| app.shows("Your own (1, and 1 unreadable)"));
    app.settle();
    let heights = app.harness.ctx.memory(|memory| {
        let areas = memory.areas().visible_layer_ids();
        let menus = areas.into_iter().filter(|layer| layer.order == Order::Foreground);
        menus.filter_map(|layer| Some(memory.area_rect(layer.id)?.height())).collect::<Vec<_>>()
    });
    assert!(heights.iter().any(|height| *height > 700.0), "{heights:?}");
}

#[test]
fn quantities_of_axes_have_no_fixed_value() {
    let mut app = super::phase::computed(SMALL);
    let has = |app: &App, name| app.harness.query_by_role_and_label(Role::Slider, name).is_some();
    for (name, expected) in [("Sharpness a", false), ("Noise σ", false), ("Slope c", true), ("Steps", true)] {
        assert_eq!(has(&app, name), expected, "{name}");
    }
    app.click(Role::ComboBox, "Rows: what varies");
    assert!(app.harness.query_by_role_and_label(Role::Button, "noise σ").is_none(), "it is that of the columns");
    app.button("steps").settle();
    for (name, expected) in [("Sharpness a", true), ("Noise σ", false), ("Slope c", true), ("Steps", false)] {
        assert_eq!(has(&app, name), expected, "{name}");
    }
}

#[test]
fn the_counts_of_diverged_runs_are_not_cut() {
    let text = SMALL
        .replace("replicates: 10", "replicates: 50")
        .replace(
            "Signum(), learning_rates: (from: 0.001, to: 1.0, count: 3)",
            "Sgd(), learning_rates: (from: 1.0, to: 10.0, count: 20)",
        )
        .replace("steps: 30", "steps: 1000");
    let mut app = App::begin(Begin { preset: Some(&text), size: [1440.0, 900.0], ..Begin::default() });
    app.until("the diagram", |app| app.state().phase().present().diagram.is_complete());
    let map = app.harness.get_by_role_and_label(Role::Canvas, "Diagram").rect();
    app.harness.event(egui::Event::PointerMoved(map.right_top() + vec2(-10.0, 10.0)));
    app.settle();
    let counts: Vec<Rect> = app.harness.query_all_by_label_contains("/1000").map(|count| count.rect()).collect();
    assert!(!counts.is_empty(), "runs have diverged");
    assert!(counts.iter().all(|count| count.right() <= 1432.0), "{counts:?}");
}

#[test]
fn few_runs_leave_the_column_to_the_settings() {
    let (mut app, ()) = super::training::open_tab(|runs| {
        super::training::finished(runs, "Alone", 0, |_| 1.0);
    });
    super::training::listed(&mut app, 1);
    let list = app.harness.get_by_role_and_label(Role::TextInput, "Search the runs").rect();
    assert!(list.top() > 0.8 * 900.0, "the list of a single run begins at {}", list.top());
    assert!(app.harness.ctx.content_rect().contains(pos2(list.left(), list.bottom() + 60.0)), "the run has room");
}

#[test]
fn the_scores_are_not_cut_in_a_presentation() {
    let long = SMALL
        .replace("rule: Signum()", "name: \"Signum of a name that is much too long for a column\", rule: Signum()");
    for size in [[1440.0, 900.0], [1920.0, 1060.0]] {
        let mut app = App::begin(Begin { preset: Some(&long), size, ..Begin::default() });
        app.until("the diagram", |app| app.state().phase().present().diagram.is_complete());
        // The end of the sweep moves the field, which would miss its value.
        app.settle();
        app.harness.get_by_role_and_label(Role::SpinButton, "Row of the pixel").set_value_accesskit(4.0);
        for presenting in [false, true] {
            if presenting {
                app.harness.key_press(Key::F11);
            }
            app.settle();
            let texts = clipped_texts(&app);
            let headings = texts.iter().filter(|(text, ..)| text == "± error" || text == "best η");
            let cut: Vec<_> =
                headings.clone().filter(|(_, rect, clip)| !clip.expand(1.0).contains_rect(*rect)).collect();
            assert!(headings.count() >= 2 && cut.is_empty(), "{size:?}, presenting {presenting}: {cut:?}");
        }
    }
}

#[test]
fn characters_that_no_font_has_are_named_in_a_message() {
    let mut app = App::plain();
    // The tests' default is to panic.
    app.harness.ctx.set_missing_glyph_policy(MissingGlyphPolicy::Tofu);
    app.harness.run_steps(2);
    app.harness.event(Event::Paste(PLAIN.replace("Plain", "Named \u{10fffd}")));
    app.until("the message", |app| app.shows("no font on this machine has") && app.shows("U+10FFFD"));
}
