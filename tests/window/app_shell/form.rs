//! The form of which the controls of all tabs are made.

use egui::accesskit::Role;
use egui::{Key, Modifiers, Rect};
use egui_kittest::kittest::Queryable;
use valleyscope_engine::sweep::Quantity;
use valleyscope_experiments::preset::Preset;

use super::harness::{App, Begin, PLAIN};
use super::phase::{SMALL, computed};

/// The keys of the tabs, each with two settings of its form.
const TABS: [(Key, [&str; 2]); 3] = [
    (Key::Num1, ["Sharpness a", "FOCUS: Attraction γ"]),
    (Key::Num2, ["Slope c", "Signum: Weight decay ω"]),
    (Key::Num3, ["Batch size", "Weight decay ω"]),
];

/// Starts the app with the landscape and the diagram of the tests.
fn begun(size: [f32; 2]) -> App {
    let mut app = App::begin(Begin { preset: Some(PLAIN), size, ..Begin::default() });
    let small = app.write("small.ron", SMALL);
    app.open(&small);
    app.until("the diagram", |app| app.state().phase().present().diagram.is_complete());
    app.settle();
    app
}

/// Returns the areas of the label, the slider and the field of a setting.
fn row(app: &App, setting: &str) -> [Rect; 3] {
    let slider = app.slider(setting).rect();
    let field = app.harness.get_by_role_and_label(Role::TextInput, &format!("{setting}, number")).rect();
    let label = setting.rsplit(": ").next().expect("there is a part");
    let labels = app.harness.query_all_by_role(Role::Label).filter(|it| it.value().as_deref() == Some(label));
    let nearest = |rect: &Rect| (rect.center().y - slider.center().y).abs();
    let labels = labels.map(|it| it.rect()).filter(|rect| rect.right() <= slider.left() + 1.0);
    let label = labels.min_by(|one, other| nearest(one).total_cmp(&nearest(other))).expect("it has a label");
    [label, slider, field]
}

#[test]
fn rows_of_all_tabs_have_the_same_columns_and_sliders_of_at_least_120_points() {
    for size in [[1280.0, 720.0], [1440.0, 900.0], [1920.0, 1080.0]] {
        let mut app = begun(size);
        let mut rows = Vec::new();
        for (key, settings) in TABS {
            app.keys(Modifiers::COMMAND, key);
            rows.extend(settings.map(|setting| (setting, row(&app, setting))));
        }
        let [first_label, first_slider, first_field] = rows[0].1;
        for (setting, [label, slider, field]) in rows {
            assert!(slider.width() >= 120.0, "{setting}: {slider} in {size:?}");
            // The knob's diameter is 0.8 of the slider's height.
            assert!(0.8 * slider.height() <= field.height(), "{setting}: {slider} and {field}");
            let is_aligned = |one: f32, other: f32| (one - other).abs() < 1.0;
            assert!(is_aligned(label.left(), first_label.left()), "{setting}: {label} and {first_label}");
            assert!(is_aligned(slider.left(), first_slider.left()), "{setting}: {slider} and {first_slider}");
            assert!(is_aligned(field.right(), first_field.right()), "{setting}: {field} and {first_field}");
            assert!((slider.center().y - field.center().y).abs() < 2.0, "{setting}: {slider} and {field}");
        }
    }
}

#[test]
fn sliders_keep_their_length_in_the_narrowest_panel() {
    let mut app = begun([760.0, 700.0]);
    for (key, settings) in TABS {
        app.keys(Modifiers::COMMAND, key);
        for setting in settings {
            let slider = app.slider(setting).rect();
            assert!(slider.width() >= 120.0, "{setting}: {slider}");
        }
    }
}

#[test]
fn each_tab_resets_a_changed_setting() {
    let mut app = begun([1440.0, 900.0]);
    for (key, [setting, _]) in TABS {
        app.keys(Modifiers::COMMAND, key);
        let field = format!("{setting}, number");
        let value = |app: &App| app.harness.get_by_role_and_label(Role::TextInput, &field).value();
        let before = value(&app);
        assert!(app.harness.query_by_label(&format!("Reset {setting}")).is_none(), "{setting} is as it was");
        app.type_into(&field, "7");
        assert_eq!(value(&app).as_deref(), Some("7"));
        app.button(&format!("Reset {setting}")).settle();
        assert_eq!(value(&app), before);
    }
}

#[test]
fn pinned_settings_are_at_the_top_of_each_tab_and_in_the_next_session() {
    let mut app = begun([1440.0, 900.0]);
    for (key, settings) in TABS {
        app.keys(Modifiers::COMMAND, key);
        assert!(!app.shows("Pinned"));
        settings.iter().for_each(|setting| app.pin(setting));
    }
    let storage = app.state().session();
    let mut app =
        App::begin(Begin { preset: None, storage: Some(&storage), size: [1440.0, 900.0], ..Begin::default() });
    for (key, settings) in TABS {
        app.keys(Modifiers::COMMAND, key);
        let heading = app.harness.get_by_label("Pinned").rect();
        for setting in settings {
            let slider = app.slider(setting).rect();
            assert!((0.0..120.0).contains(&(slider.top() - heading.bottom())), "{setting}: {slider} and {heading}");
        }
        app.set_slider(settings[1], 0.5);
        settings.iter().for_each(|setting| app.pin(setting));
        assert!(!app.shows("Pinned"));
        let field = format!("{}, number", settings[1]);
        let value = app.harness.get_by_role_and_label(Role::TextInput, &field).value();
        assert_eq!(value.as_deref(), Some("0.5"), "the pinned row sets it");
    }
}

#[test]
fn a_setting_of_a_landscape_varies_in_a_diagram_of_its_optimizers() {
    let mut app = App::plain();
    app.row_menu("FOCUS: Attraction γ", "Vary…");
    let varied = |app: &App| app.state().phase().preset().sweep.columns.of == Quantity::Of("gamma", vec![1]);
    app.until("the diagram", varied);
    let sweep = &app.state().phase().preset().sweep;
    assert_eq!(sweep.rows.of, Quantity::Noise);
    assert_eq!(sweep.optimizers.iter().map(|it| it.label()).collect::<Vec<_>>(), ["Adam", "FOCUS"]);
    assert!(app.shows("varies along the columns"));
    let preset = Preset::Sweep(app.state().phase().draft());
    assert_eq!(Preset::parse(&preset.to_ron(), "varied").expect("it is valid"), preset);
}

#[test]
fn a_setting_of_a_diagram_becomes_an_axis_from_its_menu() {
    let mut app = computed(SMALL);
    app.row_menu("Slope c", "Vary along the rows");
    app.row_menu("Signum: Weight decay ω", "Vary along the columns");
    let sweep = app.state().phase().preset().sweep.clone();
    assert_eq!(
        (sweep.rows.of, sweep.columns.of),
        (Quantity::Landscape("slope"), Quantity::Of("weight_decay", vec![1]))
    );
    assert!(app.harness.query_by_role_and_label(Role::Slider, "Slope c").is_none(), "its values are those of the axis");
    assert!(app.shows("varies along the rows"));
    app.slider("Sharpness a");
}
