//! Changes of a sweep in the window: during drags, in titles, and in comparisons.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use egui::accesskit::Role;
use egui::{Color32, ColorImage, Event, Key, Modifiers, PointerButton, Pos2, Shape, vec2};
use egui_kittest::kittest::Queryable;
use valleyscope::draw::Map;
use valleyscope::sweep::pool::{Pool, Sweep};
use valleyscope_engine::optimizer::WEIGHT_DECAY;
use valleyscope_engine::sweep::{Backend, Cell, Diagram, Metric, PixelOrder, Precision, Quantity, SweepJob, SweepSpec};
use valleyscope_experiments::preset::built_ins;

use super::exports::open_sheet;
use super::harness::{App, Begin, Uploads};
use super::phase::{SMALL, computed};

/// Returns a sweep of many pixels, whose first picture is a small part of the work.
fn large(replicates: u32) -> String {
    let rows_and_columns = SMALL.replace("count: 5", "count: 24").replace("count: 4", "count: 26");
    rows_and_columns.replace("steps: 30", "steps: 100").replace("replicates: 10", &format!("replicates: {replicates}"))
}

pub fn press(app: &mut App, pos: Pos2, pressed: bool) {
    let button = PointerButton::Primary;
    app.harness.event(Event::PointerButton { pos, button, pressed, modifiers: Modifiers::NONE });
    app.harness.step();
}

pub fn move_to(app: &mut App, pos: Pos2) {
    app.harness.event(Event::PointerMoved(pos));
    app.harness.step();
}

pub fn wanted(app: &App) -> SweepSpec {
    app.state().phase().preset().sweep.clone()
}

/// Returns whether the shown diagram has the settings under the controls.
fn is_followed(app: &App) -> bool {
    **app.state().phase().present().diagram.spec() == wanted(app)
}

#[test]
fn coarse_pictures_follow_a_drag_and_stale_ones_are_marked() {
    let mut app = computed(&large(20));
    let first = wanted(&app);
    assert!(!app.shows("Still shows"));
    let knob = app.harness.get_by_role_and_label(Role::Slider, "Rotation φ (°)").rect().center();
    move_to(&mut app, knob);
    press(&mut app, knob, true);
    for moved in 1..=3 {
        let before = wanted(&app);
        move_to(&mut app, knob + vec2(20.0 * moved as f32, 0.0));
        assert_ne!(wanted(&app), before, "the control is dragged");
        assert!(app.shows("Still shows φ = "), "what is seen is that of before");
        app.until("the picture of the new settings", |app| is_followed(app) && !app.shows("Still shows"));
    }
    // At rest, it becomes finer.
    app.until("a pixel with all replicates", |app| app.state().phase().present().diagram.complete() > 0);
    press(&mut app, knob + vec2(60.0, 0.0), false);
    app.until("the whole diagram", |app| app.state().phase().present().diagram.is_complete());
    assert!(is_followed(&app));
    app.settle();
    let kept = app.harness.query_all_by_label_contains("Compare Small");
    assert_eq!(kept.count(), 2, "what the drag went through is not kept");
    // The rest of a drag is an undo point.
    let mut undone = 0;
    while wanted(&app) != first && undone < 10 {
        app.undo();
        undone += 1;
    }
    assert_eq!(wanted(&app), first);
    assert!(app.state().phase().present().diagram.is_complete(), "what was there before the drag is");
}

/// Uses a sweep that would take days.
#[test]
fn a_drag_of_a_large_sweep_updates_the_diagram() {
    let mut app = App::with(&large(100_000));
    app.until("a picture", |app| app.state().phase().present().diagram.has_first_picture());
    let knob = app.harness.get_by_role_and_label(Role::Slider, "Slope c").rect().center();
    move_to(&mut app, knob);
    press(&mut app, knob, true);
    move_to(&mut app, knob + vec2(30.0, 0.0));
    assert!(app.shows("Still shows c = 0.1"));
    app.until("the new picture", |app| is_followed(app) && !app.shows("Still shows"));
    let diagram = &app.state().phase().present().diagram;
    let mut cells = diagram.spec().pixels().filter_map(|pixel| diagram.cell(pixel));
    assert!(diagram.has_coarse_picture() && cells.any(|cell| cell.replicates == 8), "it is a coarse one");
    assert!(app.state().phase().is_running());
    press(&mut app, knob + vec2(30.0, 0.0), false);
    app.settle();
    assert!(app.state().phase().is_running() && is_followed(&app));
    app.button("Pause");
}

#[test]
fn without_live_a_change_waits_for_run() {
    let mut app = computed(SMALL);
    app.click(Role::CheckBox, "Live");
    app.harness.get_by_label("Common random numbers").click_accesskit();
    app.settle();
    assert!(app.shows("Still shows independent random numbers"));
    assert!(!app.state().phase().is_running());
    app.button("Run the sweep");
    app.until("the new diagram", |app| is_followed(app) && app.state().phase().present().diagram.is_complete());
    app.until("its picture", |app| !app.shows("Still shows"));
}

#[test]
fn progress_is_shown_even_while_a_setting_is_invalid() {
    let mut app = App::with(&SMALL.replace("steps: 30", "steps: 10000000"));
    app.type_into("Rows from", "0.0");
    assert!(app.shows("A setting below can't be used") && app.shows("of 20 pixels"));
    app.button("Pause");
    assert!(!app.state().phase().is_running());
}

#[test]
fn a_new_rule_joins_the_axes_of_all_rules_and_no_others() {
    let rows = "rows: (of: Of(WeightDecay, [0, 1]), from: 0.0, to: 0.5, count: 5, spacing: Linear)";
    let columns = "columns: (of: Of(Beta1, [0]), from: 0.5, to: 0.9, count: 4, spacing: Linear)";
    let text = SMALL
        .replace("rows: (of: Landscape(Sharpness), from: 1.0, to: 100.0, count: 5, spacing: Log)", rows)
        .replace("columns: (of: Noise, from: 0.0, to: 3.0, count: 4, spacing: Linear)", columns);
    let mut app = computed(&text);
    assert!(app.shows("Signum keeps its own."));
    app.button("+ Add optimizer");
    app.button("SGD").settle();
    let sweep = wanted(&app);
    assert_eq!(sweep.rows.of, Quantity::Of(WEIGHT_DECAY, vec![0, 1, 2]));
    assert_eq!(sweep.columns.of, Quantity::Of("beta1", vec![0]));
    let rows = app.harness.get_by_role_and_label(Role::ComboBox, "Rows: what varies");
    assert_eq!(rows.value().as_deref(), Some("weight decay ω"));
    assert!(app.shows("Signum and SGD keep their own."), "what is left out of an axis is said");
    app.until("the diagram of three", |app| app.state().phase().present().diagram.is_complete() && is_followed(app));
}

#[test]
fn a_new_rule_keeps_common_settings_and_leaves_axes_that_it_lacks() {
    let rows = "rows: (of: Of(Beta2, [0]), from: 0.5, to: 0.9, count: 5, spacing: Linear)";
    let text = SMALL.replace("rows: (of: Landscape(Sharpness), from: 1.0, to: 100.0, count: 5, spacing: Log)", rows);
    let mut app = computed(&text.replace("Adam()", "Adam(weight_decay: 0.2)"));
    app.choose("Adam: rule", "SGD");
    let sweep = wanted(&app);
    assert_eq!(sweep.optimizers[0].label(), "SGD");
    assert_eq!(sweep.optimizers[0].rule.get("weight_decay"), Some(0.2));
    assert_eq!(sweep.rows.of, Quantity::Of("beta2", vec![]));
    let note = "SGD in place of Adam; new: τ 0, momentum heavy ball, weight decay of the parameters; without: β₂, ε; kept: η, \
                β₁ 0.9, ω 0.2";
    assert!(app.shows(note));
    assert!(app.shows("A setting below can't be used"), "an axis varies nothing");
}

#[test]
fn as_many_rows_can_be_asked_for_as_in_a_preset() {
    let mut app = computed(SMALL);
    app.click(Role::CheckBox, "Live");
    app.type_into("Rows: how many", "10000");
    assert_eq!(wanted(&app).shape(), [10_000, 4]);
    assert!(wanted(&app).check().is_ok());
}

#[test]
fn titles_include_changes_and_keep_them_after_a_restart() {
    let mut app = computed(SMALL);
    let title = |app: &App| app.state().phase().present().result().title;
    assert_eq!(title(&app), "Small");
    app.harness.get_by_role_and_label(Role::Slider, "Slope c").set_value_accesskit(0.5);
    // A diagram that is being computed would go on after the restart.
    app.until("the other diagram", |app| is_followed(app) && !app.state().phase().is_running());
    assert_eq!(title(&app), "Small, changed: c = 0.5");
    assert!(!app.shows("· changed"), "the title has the change");
    let storage = app.state().session();
    let mut again = App::begin(Begin { preset: None, storage: Some(&storage), ..Begin::default() });
    again.settle();
    assert!(again.state().phase().is_dirty() && again.shows("Small, changed: c = 0.5"));
    let compute = "Compute this diagram";
    again.until(compute, |app| app.harness.query_by_role_and_label(Role::Button, compute).is_some());
    again.button(compute);
    again.until("the diagram", |app| app.state().phase().present().diagram.is_complete());
    assert_eq!(title(&again), "Small, changed: c = 0.5");
    // The proposed title is kept.
    again.harness.key_press_modifiers(Modifiers::COMMAND, Key::S);
    again.harness.run_steps(3);
    again.button("Save to my presets");
    again.until("the notice", |app| app.shows("Saved "));
    again.settle();
    assert_eq!(title(&again), "Small, changed: c = 0.5");
    assert!(!again.state().phase().is_dirty() && !again.shows("· changed"));
}

#[test]
fn another_axis_gives_the_preset_another_title_description_and_file_name() {
    let mut app = computed(SMALL);
    app.choose("Rows: what varies", "slope c");
    app.until("the other diagram", is_followed);
    app.settle();
    assert!(app.shows("Phase diagram: slope c and noise σ · changed"), "beside the controls");
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::S);
    app.harness.run_steps(3);
    let field = |app: &App, name: &str| app.harness.get_by_role_and_label(Role::TextInput, name).value();
    assert_eq!(field(&app, "Title").as_deref(), Some("Phase diagram: slope c and noise σ"));
    app.button("Save to my presets");
    app.until("the notice", |app| app.shows("phase-diagram-slope-c-and-noise-σ.ron"));
    app.settle();
    let saved = app.state().phase().preset();
    assert_eq!(saved.title, "Phase diagram: slope c and noise σ");
    let axes = "Adam, Signum over slope c from 0.01 to 1 and noise σ from 0 to 3.";
    assert_eq!(saved.description, axes);
    // In the file of this preset, a title that describes its axes follows them, too.
    app.choose("Rows: what varies", "sharpness a");
    app.until("the diagram of the sharpness", is_followed);
    app.settle();
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::S);
    app.until("the title of the file", |app| {
        app.state().phase().preset().title == "Phase diagram: sharpness a and noise σ"
    });
}

#[test]
fn a_built_in_diagram_with_another_range_is_not_called_by_its_figure() {
    let fig2a = built_ins().iter().find(|built_in| built_in.name == "fig2a").expect("it is built in");
    let small = fig2a.text.replace("count: 96", "count: 4").replace("count: 100", "count: 3");
    let mut app = App::with(&small);
    app.settle();
    app.type_into("Rows to", "10.0");
    app.settle();
    let title = "Phase diagram: sharpness a from 0.1 to 10 and noise σ";
    app.until("the title of the window", |app| app.shows(title));
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::S);
    let field = |app: &App| app.harness.query_by_role_and_label(Role::TextInput, "Title").and_then(|it| it.value());
    app.until("the field of the title", |app| field(app).is_some());
    assert_eq!(field(&app).as_deref(), Some(title));
    app.until("the diagram of the range", is_followed);
    let result = app.state().phase().present().result();
    assert!(!format!("{} {}", result.title, result.description).contains("Fig. 2a"), "{result:?}");
}

#[test]
fn an_export_is_named_by_the_title() {
    let mut app = computed(SMALL);
    app.choose("Rows: what varies", "slope c");
    app.until("the other diagram", |app| is_followed(app) && app.state().phase().present().diagram.is_complete());
    app.settle();
    open_sheet(&mut app, "Data");
    app.click(Role::RadioButton, "NPZ");
    app.button("Export the file");
    app.until("the path", |app| app.harness.query_by_role_and_label(Role::TextInput, "Path of the file").is_some());
    let path = app.harness.get_by_role_and_label(Role::TextInput, "Path of the file").value().unwrap_or_default();
    assert!(path.ends_with("phase-diagram-slope-c-and-noise-σ.npz"), "{path}");
}

#[test]
fn diagrams_side_by_side_are_told_apart_by_a_table_of_their_settings() {
    let mut app = computed(SMALL);
    app.harness.get_by_role_and_label(Role::Slider, "Slope c").set_value_accesskit(0.5);
    app.until("the other diagram", |app| is_followed(app) && app.state().phase().present().diagram.is_complete());
    app.settle();
    app.click(Role::CheckBox, "Compare Small").settle();
    app.button("Differences").settle();
    for text in ["Slope c", "c = 0.5", "settings are equal."] {
        assert!(app.shows(text), "{text}");
    }
    assert!(!app.shows("Replicates 2"), "equal settings are counted only");
    app.key(Key::Escape);
    assert!(!app.shows("settings are equal."));
}

#[test]
fn a_diagram_restored_by_undo_has_the_title_of_its_own_preset() {
    let mut app = computed(SMALL);
    let title = |app: &App| app.state().phase().present().result().title;
    let first = wanted(&app);
    let path = app.write("other.ron", &SMALL.replace("Small", "Other").replace("steps: 30", "steps: 40"));
    app.open(&path);
    app.until("the other diagram", |app| title(app) == "Other" && app.state().phase().present().diagram.is_complete());
    app.settle();
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    app.until("the diagram before", |app| wanted(app) == first && is_followed(app));
    assert_eq!(title(&app), "Small");
    assert!(app.state().phase().present().diagram.is_complete(), "it was kept");
}

#[test]
fn compared_diagrams_have_the_same_size_and_lie_side_by_side() {
    for size in [[900.0, 600.0], [1280.0, 800.0], [1440.0, 900.0]] {
        let mut app = App::begin(Begin { preset: Some(SMALL), size, ..Begin::default() });
        app.until("the diagram", |app| app.state().phase().present().diagram.is_complete());
        let knob = app.harness.get_by_role_and_label(Role::Slider, "Slope c");
        knob.set_value_accesskit(0.5);
        app.until("the other", |app| is_followed(app) && app.state().phase().present().diagram.is_complete());
        app.settle();
        app.click(Role::CheckBox, "Compare Small").settle();
        let map = |name| app.harness.get_by_role_and_label(Role::Canvas, name).rect();
        let [present, beside] = ["Diagram", "Diagram beside"].map(map);
        assert!((present.size() - beside.size()).length() < 1.0, "{present} and {beside} in {size:?}");
        let is_aligned = (present.top() - beside.top()).abs() < 0.5 || (present.left() - beside.left()).abs() < 0.5;
        assert!(is_aligned && !present.intersects(beside), "{present} and {beside} in {size:?}");
        for title in ["c = 0.5", "c = 0.1"] {
            // The diagram's card in the strip below has the same words.
            let rects = app.harness.query_all_by_label(title).map(|node| node.rect());
            let title = rects.min_by(|one, other| one.top().total_cmp(&other.top())).expect("it is shown");
            assert!(title.bottom() <= present.top().max(beside.top()), "{title} lies on a map in {size:?}");
        }
    }
}

#[test]
fn a_setting_is_tuned_beside_the_learning_rate() {
    let mut app = computed(&SMALL.replace("Signum()", "Focus()"));
    app.row_menu("FOCUS: Attraction γ", "Vary at each pixel");
    let gamma = "gamma";
    let tuned = wanted(&app).optimizers[1].tune[0];
    assert_eq!((tuned.of, tuned.from, tuned.to, tuned.count.get()), (gamma, -1.0, 1.0, 5));
    app.type_into("FOCUS: Attraction γ from", "-0.5");
    assert_eq!(wanted(&app).optimizers[1].tune[0].from, -0.5);
    app.until("the tuned diagram", |app| app.state().phase().present().diagram.is_complete() && is_followed(app));
    app.choose("What the map shows", "FOCUS, γ -0.5…1: best γ");
    app.set(Role::SpinButton, "Row of the pixel", 4.0);
    assert!(app.shows("Best settings: FOCUS: γ "));
    app.choose("Setting over which scores are plotted", "γ");
    assert!(app.shows("Plot of Mean final loss over γ"));
    let diagram = app.state().phase().present().diagram.clone();
    let best = diagram.cell([4, 0]).unwrap().score(1, Metric::FinalLoss).best;
    app.button("Show this landscape").settle();
    let rule = app.state().document().spec(0).optimizers[1].rule.rule;
    assert_eq!(rule.get("gamma"), Some(diagram.tuned_value(1, 0, best)));
}

#[test]
fn a_tuned_setting_that_becomes_an_axis_is_a_fault_until_it_is_turned_off() {
    let tune = "Signum(), tune: [(of: WeightDecay, from: 0.0, to: 0.5, count: 2, spacing: Linear)]";
    let mut app = computed(&SMALL.replace("Signum()", tune));
    app.choose("Rows: what varies", "weight decay ω");
    app.settle();
    assert!(app.shows("A setting below can't be used"));
    app.button("Signum: Weight decay ω: one value").settle();
    assert!(!app.shows("A setting below can't be used"));
    assert!(wanted(&app).optimizers[1].tune.is_empty());
}

fn sweep(sampling: &str) -> String {
    let sampling = format!("replicates: 8, sampling: {sampling}");
    let text = SMALL.replace("count: 5", "count: 24").replace("count: 4", "count: 26");
    text.replace("replicates: 10", &sampling)
}

/// A picture that was handed to the graphics driver, and the sweep that the window says it shows.
struct Picture {
    of: SweepSpec,
    image: Arc<ColorImage>,
}

/// Returns the picture that the last frame has uploaded, if any.
fn picture(app: &App, uploads: &Uploads) -> Option<Picture> {
    let image = uploads.take().into_iter().rfind(|image| image.size == [26, 24])?;
    let phase = app.state().phase();
    assert!(phase.seen_blocks().is_some(), "a picture without all blocks of the coarsest one");
    Some(Picture { of: phase.seen().expect("there is a picture").clone(), image })
}

/// Returns the numbers of pixels, in the order of their first results, that complete the pictures from coarse to fine.
fn levels(spec: &Arc<SweepSpec>, order: &[[usize; 2]], cells: &HashMap<[usize; 2], Vec<Cell>>) -> Vec<usize> {
    let (mut diagram, mut finest, mut levels) = (Diagram::new(Arc::clone(spec)), None, Vec::new());
    for (before, pixel) in order.iter().enumerate() {
        diagram.insert(*pixel, cells[pixel][0].clone());
        if diagram.finest_blocks() != finest {
            finest = diagram.finest_blocks();
            levels.push(before + 1);
        }
    }
    levels
}

/// Returns the pictures that a sweep makes from coarse to fine, pass after pass.
fn expected(spec: &SweepSpec) -> Vec<Vec<Color32>> {
    let spec = Arc::new(spec.clone());
    let job = SweepJob {
        order: PixelOrder::CoarseToFine,
        ..SweepJob::new(Arc::clone(&spec), Backend::new(Precision::Single))
    };
    let sweep = Sweep::start(&Pool::new(1).expect("a thread"), job, || ());
    let mut order = Vec::new();
    let mut cells: HashMap<[usize; 2], Vec<Cell>> = HashMap::new();
    for finished in sweep.finished().iter() {
        let of_pixel = cells.entry(finished.pixel).or_default();
        if of_pixel.is_empty() {
            order.push(finished.pixel);
        }
        of_pixel.push(finished.cell);
    }
    let passes = cells.values().map(Vec::len).max().expect("there are pixels");
    let levels = levels(&spec, &order, &cells);
    assert_eq!((levels.len(), levels.last()), (4, Some(&order.len())), "blocks of 8, 4, 2 and 1 pixels a side");
    let states = (0..passes).flat_map(|pass| levels.iter().map(move |pixels| (pass, *pixels)));
    let picture = |(pass, pixels): (usize, usize)| {
        let mut diagram = Diagram::new(Arc::clone(&spec));
        for pixel in &order[..pixels] {
            let of_pixel = &cells[pixel];
            diagram.insert(*pixel, of_pixel[pass.min(of_pixel.len() - 1)].clone());
        }
        let image = Map::Winner { certainty: true }.image(&diagram.filled(), spec.metric);
        image.rgba.chunks_exact(4).map(|rgba| Color32::from_rgb(rgba[0], rgba[1], rgba[2])).collect()
    };
    states.map(picture).collect()
}

/// Returns whether each pixel of a picture has the colour that it has in one of others.
fn is_of(image: &ColorImage, pictures: &[Vec<Color32>]) -> bool {
    image.pixels.iter().enumerate().all(|(index, color)| pictures.iter().any(|picture| picture[index] == *color))
}

/// Drags a setting to a new value before each frame.
fn pictures_follow_without_a_stale_pixel(sampling: &str) {
    let uploads = Uploads::default();
    let text = sweep(sampling);
    let mut app = App::begin(Begin { preset: Some(&text), uploads: Some(uploads.clone()), ..Begin::default() });
    app.until("the whole picture", |app| app.state().phase().seen_blocks() == Some(1));
    app.until("the end", |app| !app.state().phase().is_running());
    app.settle();
    let knob = app.harness.get_by_role_and_label(Role::Slider, "Rotation φ (°)").rect().center();
    move_to(&mut app, knob);
    press(&mut app, knob, true);
    uploads.take();
    let (mut settings, mut pictures) = (vec![wanted(&app)], Vec::<Picture>::new());
    let (begun, mut moved) = (Instant::now(), 0.0);
    let distinct = |pictures: &[Picture]| pictures.chunk_by(|one, other| one.of == other.of).count();
    while distinct(&pictures) < 4 {
        assert!(begun.elapsed() < Duration::from_secs(120), "{} pictures in a drag", distinct(&pictures));
        moved += 1.0;
        move_to(&mut app, knob + vec2(moved, 0.0));
        settings.push(wanted(&app));
        pictures.extend(picture(&app, &uploads));
        std::thread::sleep(Duration::from_millis(5));
    }
    press(&mut app, knob + vec2(moved, 0.0), false);
    let last = wanted(&app);
    while app.state().phase().seen() != Some(&last) || app.state().phase().seen_blocks() != Some(1) {
        assert!(begun.elapsed() < Duration::from_secs(240), "the last settings have no whole picture");
        app.harness.step();
        pictures.extend(picture(&app, &uploads));
        std::thread::sleep(Duration::from_millis(5));
    }
    // What is seen was set, in that order.
    let places: Vec<_> = pictures
        .iter()
        .map(|picture| settings.iter().rposition(|set| *set == picture.of).expect("it was set"))
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!(pictures.last().map(|picture| &picture.of), Some(&last));
    for of_setting in pictures.chunk_by(|one, other| one.of == other.of) {
        let expected = expected(&of_setting[0].of);
        assert!(of_setting.iter().all(|picture| is_of(&picture.image, &expected)), "a pixel of other settings");
    }
    let first = expected(&settings[0]);
    assert!(!is_of(&pictures[pictures.len() - 1].image, &first), "stale pixels can be told by their colours");
}

#[test]
fn pictures_follow_a_drag_without_a_stale_pixel() {
    pictures_follow_without_a_stale_pixel("Uniform");
}

#[test]
fn pictures_of_adaptive_sampling_follow_a_drag_without_a_stale_pixel() {
    pictures_follow_without_a_stale_pixel("Adaptive()");
}

/// Restarted with every frame, the sweep would never have a picture.
#[test]
fn a_drag_without_a_pause_has_pictures() {
    let mut app = App::with(&sweep("Uniform").replace("steps: 30", "steps: 3000"));
    app.until("a picture", |app| app.state().phase().seen_blocks().is_some());
    let knob = app.harness.get_by_role_and_label(Role::Slider, "Slope c").rect().center();
    move_to(&mut app, knob);
    press(&mut app, knob, true);
    let (begun, mut moved, mut seen) = (Instant::now(), 0.0, Vec::new());
    while seen.len() < 4 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{} pictures in a drag", seen.len());
        moved += 1.0;
        move_to(&mut app, knob + vec2(moved, 0.0));
        let now = app.state().phase().seen().cloned();
        if seen.last() != now.as_ref() {
            seen.extend(now);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn axes_are_those_of_the_visible_picture() {
    let mut app = computed(SMALL);
    let map = app.harness.get_by_role_and_label(Role::Canvas, "Diagram").rect();
    let top_label = |app: &App| {
        let texts = app.harness.output().shapes.iter().filter_map(|clipped| match &clipped.shape {
            Shape::Text(text) => Some((text.galley.text().to_owned(), text.visual_bounding_rect())),
            _ => None,
        });
        let beside = texts.filter(|(_, rect)| (map.left() - 20.0..map.left()).contains(&rect.right()));
        beside.min_by(|one, other| one.1.top().total_cmp(&other.1.top())).map(|(text, _)| text)
    };
    let seen_end = |app: &App| app.state().phase().seen().expect("there is a picture").rows.to;
    assert_eq!(top_label(&app).as_deref(), Some("10²"));
    app.type_into("Rows to", "1000");
    while seen_end(&app) == 100.0 {
        assert_eq!(top_label(&app).as_deref(), Some("10²"));
        app.harness.step();
        std::thread::sleep(Duration::from_millis(2));
    }
    assert_eq!((seen_end(&app), top_label(&app).as_deref()), (1000.0, Some("10³")));
}
