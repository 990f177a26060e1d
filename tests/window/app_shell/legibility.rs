//! Digits, labels, lines, menus and tooltips fit into their space.

use egui::accesskit::Role;

use egui::{Event, Key, MissingGlyphPolicy, Modifiers, Order, Rect, Shape, pos2, vec2};
use egui_kittest::kittest::Queryable;
use valleyscope_experiments::dataset::mnist::{Digits, Mnist, MnistSource, PIXELS, write_folder};

use super::harness::{App, Begin, PLAIN};
use super::phase::SMALL;

/// Splits composite shapes into single ones.
fn single(shapes: &mut dyn Iterator<Item = &Shape>) -> Vec<Shape> {
    shapes
        .flat_map(|shape| match shape {
            Shape::Vec(inner) => single(&mut inner.iter()),
            other => vec![other.clone()],
        })
        .collect()
}

/// Returns all drawn shapes with their clip rectangles.
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

/// Returns all texts with their visible parts.
fn seen_texts(app: &App) -> Vec<(String, Rect)> {
    let seen = clipped_texts(app).into_iter().map(|(text, rect, clip)| (text, rect.intersect(clip)));
    seen.filter(|(_, rect)| rect.is_positive()).collect()
}

/// Returns all vertical lines in the window.
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
            app.harness.key_press_modifiers(Modifiers::COMMAND, key);
            app.settle();
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
        if has_data {
            let folder = app.folder.path().join("images");
            let digits = Digits { images: vec![9; 3 * PIXELS], labels: vec![1, 2, 3] };
            let mnist = Mnist { train: digits.clone(), test: digits, source: MnistSource::Synthetic };
            write_folder(&mnist, &folder).expect("it can be written");
            app.button("Choose the folder of the dataset");
            app.settle();
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
    let has = |app: &App, name| app.harness.query_by_role_and_label(Role::SpinButton, name).is_some();
    for (name, expected) in [("Sharpness a", false), ("Noise σ", false), ("Slope c", true), ("Steps", true)] {
        assert_eq!(has(&app, name), expected, "{name}");
    }
    app.click(Role::ComboBox, "Rows: what varies");
    assert!(app.harness.query_by_role_and_label(Role::Button, "noise σ").is_none(), "it is that of the columns");
    app.button("steps");
    app.settle();
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
