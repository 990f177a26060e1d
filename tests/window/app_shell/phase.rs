//! Phase diagrams in the window.

use std::time::Duration;

use egui::accesskit::Role;
use egui::{Key, Modifiers, ViewportCommand};
use egui_kittest::kittest::{NodeT, Queryable};
use valleyscope::player::Playback;
use valleyscope_engine::sweep::Metric;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::view::{Vision, color_difference, simulation_colors, sweep_colors};
use valleyscope_runs::atomic_file::Overwrite;

use super::harness::{App, Begin};

pub const SMALL: &str = r#"Sweep(
    version: 1,
    title: "Small",
    sweep: (
        noise: 1.0,
        steps: 30,
        replicates: 10,
        rows: (of: Landscape(Sharpness), from: 1.0, to: 100.0, count: 5, spacing: Log),
        columns: (of: Noise, from: 0.0, to: 3.0, count: 4, spacing: Linear),
        optimizers: [
            (id: 0, rule: Adam(), learning_rates: (from: 0.001, to: 1.0, count: 3)),
            (id: 1, rule: Signum(), learning_rates: (from: 0.001, to: 1.0, count: 3)),
        ],
    ),
)"#;

pub fn computed(preset: &str) -> App {
    let mut app = App::with(preset);
    app.until("the diagram to be complete", |app| app.state().phase().present().diagram.is_complete());
    app.until("the sweep to end", |app| !app.state().phase().is_running());
    app.settle();
    app
}

#[test]
fn a_sweep_opens_with_its_diagram_and_is_computed_at_once() {
    let app = computed(SMALL);
    assert!(app.shows("20 of 20 pixels"));
    for (axis, quantity) in [("Rows: what varies", "sharpness a"), ("Columns: what varies", "noise σ")] {
        let combo = app.harness.get_by_role_and_label(Role::ComboBox, axis);
        assert_eq!(combo.value().as_deref(), Some(quantity));
    }
    assert_eq!(app.state().phase().preset().title, "Small");
}

#[test]
fn keys_and_tabs_show_the_landscape_and_the_diagram() {
    let mut app = App::plain();
    assert!(app.harness.query_by_label("Phase diagram").is_some());
    app.keys(Modifiers::COMMAND, Key::Num2);
    assert!(app.shows("Common random numbers"));
    app.keys(Modifiers::COMMAND, Key::Num1);
    assert!(!app.shows("Common random numbers"));
}

#[test]
fn a_change_begins_another_diagram_and_the_complete_one_is_kept() {
    let mut app = computed(SMALL);
    app.harness.get_by_label("Common random numbers").click_accesskit();
    app.harness.run_steps(3);
    app.until("the other diagram", |app| {
        let present = app.state().phase().present();
        present.diagram.spec().common_random_numbers && present.diagram.is_complete()
    });
    app.settle();
    app.click(Role::CheckBox, "Compare Small").settle();
    assert!(app.shows("independent random numbers"));
    assert!(app.harness.query_by_role_and_label(Role::Canvas, "Diagram beside").is_some());
}

#[test]
fn undo_takes_back_a_change_of_the_sweep_and_finds_its_diagram_again() {
    let mut app = computed(SMALL);
    let landscape = app.state().document().clone();
    let before = app.state().phase().present().diagram.spec().clone();
    app.harness.get_by_label("Common random numbers").click_accesskit();
    app.harness.run_steps(3);
    app.until("the other diagram", |app| *app.state().phase().present().diagram.spec() != before);
    app.settle();
    app.undo();
    assert_eq!(*app.state().phase().present().diagram.spec(), before);
    assert!(app.state().phase().present().diagram.is_complete(), "it is not computed again");
    assert_eq!(*app.state().document(), landscape, "nothing that is not seen is undone");
}

#[test]
fn a_sweep_is_saved_as_a_preset_of_the_user_and_opens_again() {
    let mut app = computed(SMALL);
    app.harness.get_by_label("Common random numbers").click_accesskit();
    app.harness.run_steps(3);
    app.button("smallest loss");
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::S);
    app.harness.run_steps(3);
    app.button("Save to my presets");
    app.until("the notice", |app| app.shows("Saved "));
    let mut files = std::fs::read_dir(app.folder.path().join("presets")).expect("it is there");
    let path = files.next().expect("a preset is saved").expect("it can be read").path();
    let Ok(Preset::Sweep(saved)) = Preset::read(&path) else { panic!("a sweep is saved") };
    assert_eq!(saved.title, "Small, changed: common random numbers, by smallest loss");
    assert!(saved.sweep.common_random_numbers);
    assert_eq!(saved.sweep.metric, Metric::SmallestLoss);
    assert!(!app.state().phase().is_dirty(), "what is shown is what is saved");
}

#[test]
fn the_sweep_and_its_tab_are_restored_at_the_next_start() {
    let mut app = computed(SMALL);
    app.harness.get_by_label("Common random numbers").click_accesskit();
    app.settle();
    app.until("the sweep to end", |app| !app.state().phase().is_running());
    let storage = app.state().session();
    let mut again = App::begin(Begin { preset: None, storage: Some(&storage), ..Begin::default() });
    again.settle();
    assert_eq!(again.state().phase().preset().sweep, app.state().phase().preset().sweep);
    assert!(!again.state().phase().is_running(), "nothing is computed that nobody asked for");
    again.button("Compute this diagram");
    again.until("the diagram", |app| app.state().phase().present().diagram.is_complete());
}

#[test]
fn keys_choose_a_pixel_and_show_its_landscape() {
    let mut app = computed(SMALL);
    app.focus(Role::Canvas, "Diagram");
    for key in [Key::ArrowUp, Key::ArrowUp, Key::ArrowUp, Key::ArrowRight] {
        app.harness.key_press(key);
        app.harness.run_steps(2);
    }
    let side = |name| app.harness.get_by_role_and_label(Role::SpinButton, name).value();
    assert_eq!(side("Row of the pixel").as_deref(), Some("4"));
    assert_eq!(side("Column of the pixel").as_deref(), Some("3"));
    app.key(Key::Enter);
    let spec = app.state().document().spec(0);
    assert_eq!((spec.landscape.get("sharpness").unwrap(), spec.noise.sigma()), (100.0, 3.0));
}

#[test]
fn a_chosen_pixel_keeps_its_values_in_a_smaller_diagram() {
    let mut app = computed(&SMALL.replace("count: 5", "count: 30").replace("count: 4", "count: 30"));
    let map = app.harness.get_by_role_and_label(Role::Canvas, "Diagram");
    let corner = map.rect().right_top() + egui::vec2(-5.0, 5.0);
    map.focus();
    app.harness.run_steps(2);
    for key in [Key::ArrowUp, Key::ArrowRight].repeat(20) {
        app.harness.key_press(key);
        app.harness.step();
    }
    // The pointer still rests on a pixel that the smaller diagram does not have.
    app.harness.event(egui::Event::PointerMoved(corner));
    app.harness.run_steps(2);
    app.button("Quick version");
    app.until("the smaller diagram", |app| {
        let diagram = &app.state().phase().present().diagram;
        diagram.spec().shape() == [24, 25] && diagram.is_complete()
    });
    app.harness.event(egui::Event::PointerGone);
    app.settle();
    let side = |name| app.harness.get_by_role_and_label(Role::SpinButton, name).value();
    assert_eq!([side("Row of the pixel"), side("Column of the pixel")].map(Option::unwrap), ["23", "24"]);
}

fn drag(app: &mut App, from: egui::Pos2, to: egui::Pos2) {
    let button = |pos, pressed| egui::Event::PointerButton {
        pos,
        button: egui::PointerButton::Primary,
        pressed,
        modifiers: Modifiers::NONE,
    };
    app.harness.event(egui::Event::PointerMoved(from));
    app.harness.step();
    app.harness.event(button(from, true));
    app.harness.step();
    if to != from {
        for part in 1..=4 {
            app.harness.event(egui::Event::PointerMoved(from.lerp(to, part as f32 / 4.0)));
            app.harness.step();
        }
    }
    app.harness.event(button(to, false));
    app.harness.run_steps(3);
}

#[test]
fn a_click_plays_the_pixels_landscape() {
    let mut app = computed(SMALL);
    let map = app.harness.get_by_role_and_label(Role::Canvas, "Diagram").rect();
    let corner = map.right_top() + egui::vec2(-10.0, 10.0);
    drag(&mut app, corner, corner);
    app.settle();
    let spec = app.state().document().spec(0);
    assert_eq!((spec.landscape.get("sharpness").unwrap(), spec.noise.sigma()), (100.0, 3.0));
    assert!(!app.shows("Common random numbers"), "the landscape is shown");
}

#[test]
fn a_pixels_landscape_starts_where_the_sweep_does() {
    let rosenbrock = SMALL.replace("noise: 1.0,", "noise: 1.0, landscape: Rosenbrock(),");
    let rosenbrock = rosenbrock.replace("Landscape(Sharpness)", "Landscape(B)");
    let typed = SMALL.replace("noise: 1.0,", "noise: 1.0, start: (x: 0.4, y: -0.3), start_spread: 0.02,");
    for (preset, start, spread) in [(typed, [0.4, -0.3], Some(0.02)), (rosenbrock, [-1.2, 1.0], None)] {
        let mut app = computed(&preset);
        let map = app.harness.get_by_role_and_label(Role::Canvas, "Diagram").rect();
        let corner = map.left_bottom() + egui::vec2(10.0, -10.0);
        drag(&mut app, corner, corner);
        app.settle();
        let found = &app.state().document().spec(0).start;
        assert_eq!([found.x.get(), found.y.get()], start);
        assert!(spread.is_none_or(|spread| found.spread.get() == spread), "{found:?}");
    }
}

#[test]
fn a_pixel_in_which_every_run_diverged_is_named_so() {
    assert!(!computed(SMALL).shows("diverged"));
    let steep = SMALL.replace("from: 1.0, to: 100.0", "from: 1e5, to: 1e6");
    let steep = steep.replace("noise: 1.0,", "noise: 1.0, start: (x: 1.0, y: 1.0),");
    let steep = steep.replace("(from: 0.001, to: 1.0, count: 3)", "(from: 5.0, to: 10.0, count: 3)");
    let mut app = computed(&steep.replace("Adam()", "Sgd()").replace("Signum()", "Sgd()"));
    app.until("the legend of the map", |app| app.shows("diverged"));
    app.harness.get_by_role_and_label(Role::SpinButton, "Row of the pixel").set_value_accesskit(4.0);
    app.until("the results of the pixel", |app| app.shows("No winner: every optimizer diverged."));
}

#[test]
fn the_marker_is_dragged_to_other_settings_of_the_landscape() {
    let mut app = computed(SMALL);
    let map = app.harness.get_by_role_and_label(Role::Canvas, "Diagram").rect();
    let landscape = app.state().document().spec(0);
    // Columns from 0 to 3 in 4, rows from 1 to 100 in 5, whose values are in their middles.
    let along = [landscape.noise.sigma() / 3.0, landscape.landscape.get("sharpness").unwrap().log10() / 2.0];
    let place = |[noise, sharpness]: [f64; 2]| {
        let [x, y] = [(0.5 + 3.0 * noise) / 4.0, (0.5 + 4.0 * sharpness) / 5.0].map(|part| part as f32);
        egui::pos2(map.left() + x * map.width(), map.bottom() - y * map.height())
    };
    drag(&mut app, place(along), place([1.0, 1.0]));
    let spec = app.state().document().spec(0);
    assert!(
        (spec.landscape.get("sharpness").unwrap() / 100.0 - 1.0).abs() < 0.02,
        "{}",
        spec.landscape.get("sharpness").unwrap()
    );
    assert!((spec.noise.sigma() - 3.0).abs() < 0.02, "{}", spec.noise.sigma());
    let before = app.state().document().clone();
    drag(&mut app, map.left_bottom() + egui::vec2(20.0, -20.0), map.center());
    assert_eq!(*app.state().document(), before, "elsewhere nothing is dragged");
}

#[test]
fn an_invalid_axis_is_named_and_the_diagram_stays() {
    let mut app = computed(SMALL);
    let before = app.state().phase().present().diagram.spec().clone();
    app.type_into("Rows from", "0.0");
    assert!(app.shows("Rows: from is 0, and a logarithmic axis has only positive values"));
    let run = app.harness.get_by_role_and_label(Role::Button, "Run the sweep");
    assert!(run.accesskit_node().is_disabled());
    assert_eq!(*app.state().phase().present().diagram.spec(), before);
}

#[test]
fn a_pixel_opens_as_a_landscape() {
    let mut app = computed(SMALL);
    app.harness.get_by_role_and_label(Role::SpinButton, "Row of the pixel").set_value_accesskit(4.0);
    app.harness.run_steps(3);
    app.set(Role::SpinButton, "Column of the pixel", 3.0);
    let diagram = app.state().phase().present().diagram.clone();
    let cell = diagram.cell([4, 3]).expect("all pixels are computed");
    assert!(app.shows("wins") || app.shows("is ahead"));
    app.button("Show this landscape").settle();
    let spec = app.state().document().spec(0);
    assert_eq!((spec.landscape.get("sharpness").unwrap(), spec.noise.sigma()), (100.0, 3.0));
    for (index, optimizer) in spec.optimizers.iter().enumerate() {
        let best = diagram.learning_rate([4, 3], index, cell.score(index, Metric::FinalLoss).best);
        assert_eq!(optimizer.rule.learning_rate.get(), best);
    }
    // It plays to its end, and so does another after it.
    let is_finished = |app: &App, sharpness: f64| {
        let spec = app.state().document().spec(0);
        spec.landscape.get("sharpness") == Some(sharpness)
            && app.state().live().snapshot.as_ref().is_some_and(|snapshot| {
                *snapshot.sessions[0].spec == *spec && snapshot.step == 30 && snapshot.playback == Playback::Finished
            })
    };
    app.until("its end", |app| is_finished(app, 100.0));
    app.keys(Modifiers::COMMAND, Key::Num2);
    app.set(Role::SpinButton, "Row of the pixel", 0.0);
    app.button("Show this landscape");
    let first = diagram.rows()[0];
    app.until("the end of the other", |app| is_finished(app, first));
}

#[test]
fn a_result_opens_again_and_a_foreign_file_is_refused() {
    let app = computed(SMALL);
    let result = app.state().phase().present().result();
    let mut other = App::begin(Begin::default());
    result.write(other.folder.path(), Overwrite::No).expect("the test's folder can be written");
    let path = other.folder.path().join("phase.npz");
    other.open(&path);
    other.until("the result", |app| app.state().phase().present().title() == "Small");
    assert!(other.state().phase().present().diagram.is_complete());
    other.settle();
    let cut = other.folder.path().join("cut.npz");
    let bytes = std::fs::read(&path).expect("the result can be read");
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).expect("the test's folder can be written");
    other.open(&cut);
    other.until("the refusal", |app| app.shows("cut.npz was not opened"));
}

#[test]
fn a_sweep_can_be_paused_and_goes_on() {
    // Longer than the test waits.
    let mut app = App::with(&SMALL.replace("steps: 30", "steps: 10000000"));
    app.button("Pause");
    app.until("the pause", |app| !app.state().phase().is_running());
    let before = app.state().phase().present().diagram.complete();
    app.settle();
    assert_eq!(app.state().phase().present().diagram.complete(), before);
    app.button("Compute this diagram");
    app.until("the rest to begin", |app| app.state().phase().is_running());
}

#[test]
fn a_small_diagram_has_no_quick_version() {
    let mut app = computed(&SMALL.replace("replicates: 10", "replicates: 12"));
    app.button("Quick version");
    app.until("the quick version", |app| app.state().phase().preset().sweep.replicates.get() == 10);
    app.settle();
    let quick = app.harness.get_by_role_and_label(Role::Button, "Quick version");
    assert!(quick.accesskit_node().is_disabled());
}

#[test]
fn landscape_actions_are_disabled_beside_a_diagram() {
    let mut app = computed(SMALL);
    let is_disabled = |app: &App, name| app.harness.get_by_label(name).accesskit_node().is_disabled();
    app.button("View");
    for name in ["Contour lines", "Colour map", "Plots"] {
        assert!(is_disabled(&app, name), "{name}");
    }
    assert!(!is_disabled(&app, "Controls"), "the diagram has controls too");
    app.key(Key::Escape);
    app.keys(Modifiers::COMMAND, Key::Num1);
    app.button("View");
    assert!(!is_disabled(&app, "Contour lines"));
}

#[test]
fn invalid_numbers_leave_the_old_value() {
    let mut app = computed(SMALL);
    let before = app.state().phase().preset().sweep.clone();
    for field in ["Slope c, number", "Rows from", "Columns: how many"] {
        for text in ["nan", "inf", "x"] {
            type_number(&mut app, field, text);
            assert_eq!(app.state().phase().preset().sweep, before, "{text} into {field}");
        }
    }
    app.type_into("Seed of the sweep", "nan");
    assert!(app.shows("expected a whole number"));
    assert_eq!(app.state().phase().preset().sweep, before);
    type_number(&mut app, "Slope c, number", "7");
    assert_eq!(app.state().phase().preset().sweep.landscape.get("slope").unwrap(), 7.0);
}

fn type_number(app: &mut App, field: &str, text: &str) {
    app.focus(Role::TextInput, field);
    app.harness.event(egui::Event::Text(text.to_owned()));
    app.harness.run_steps(2);
    app.key(Key::Enter);
}

/// Returns a sweep of FOCUS with two values of γ.
fn twice() -> String {
    SMALL.replace("(id: 1, rule: Signum()", "(id: 2, name: \"Third\", rule: Focus()").replace(
        "(id: 0, rule: Adam()",
        "(id: 1, name: \"FOCUS, γ = −0.9\", rule: Focus(gamma: -0.9), learning_rates: (from: 0.1, to: 0.2, count: 2)), \
         (id: 0, rule: Focus()",
    )
}

#[test]
fn repeated_rules_have_distinct_colours_and_a_chosen_one_needs_no_new_computation() {
    let mut app = computed(&twice());
    let number = app.state().phase().present().number;
    let colors = |app: &App| sweep_colors(&app.state().phase().preset().sweep.optimizers);
    let before = colors(&app);
    for (index, color) in before.iter().enumerate() {
        let is_unlike = |other: &[u8; 3]| color_difference(*other, *color, Vision::Usual) > 10.0;
        assert!(before[..index].iter().all(is_unlike), "{before:?}");
    }
    app.set_color("FOCUS, γ = −0.9: colour", "R", 250);
    let chosen = app.state().phase().preset().sweep.optimizers[0].color.expect("it was chosen");
    assert!(chosen[0].abs_diff(250) <= 1 && chosen[1].abs_diff(before[0][1]) <= 1, "{chosen:?}");
    let seen = |app: &App| app.state().phase().seen().map(|seen| sweep_colors(&seen.optimizers)[0]);
    app.until("the picture", |app| seen(app) == Some(chosen));
    let present = app.state().phase().present();
    assert!(present.number == number && present.diagram.is_complete(), "nothing is computed again");
    assert_eq!(present.result().title, "Small", "the results are the same");
    assert!(!app.state().phase().is_running() && app.state().phase().is_dirty() && !app.shows("Still shows"));
    let saved = Preset::parse(&Preset::Sweep(app.state().phase().draft()).to_ron(), "draft");
    let Ok(Preset::Sweep(saved)) = saved else { panic!("it is a sweep") };
    assert_eq!(saved.sweep.optimizers[0].color, Some(chosen), "it is saved with the preset");
    app.take_usual_color("FOCUS, γ = −0.9: colour");
    assert_eq!(colors(&app), before);
    assert!(!app.state().phase().is_dirty());
}

#[test]
fn a_landscape_of_a_pixel_has_the_colours_of_its_diagram() {
    let mut app = computed(&twice());
    let colors = sweep_colors(&app.state().phase().preset().sweep.optimizers);
    app.set(Role::SpinButton, "Row of the pixel", 4.0);
    app.button("Show this landscape").settle();
    assert_eq!(simulation_colors(&app.state().document().spec(0).optimizers), colors);
}

/// Starts an app that cannot keep diagrams, as its folder for them is in the returned file.
fn computed_and_dear(preset: &str) -> (App, tempfile::NamedTempFile) {
    let file = tempfile::NamedTempFile::new().expect("a temporary file can be made");
    let folder = file.path().join("diagrams");
    let begin =
        Begin { preset: Some(preset), worth_asking: Some(Duration::ZERO), diagrams: Some(&folder), ..Begin::default() };
    let mut app = App::begin(begin);
    app.until("the diagram", |app| app.state().phase().present().diagram.is_complete());
    app.until("the sweep to end", |app| !app.state().phase().is_running());
    app.until("the failure to keep it", |app| app.shows("A diagram is not kept on the disk"));
    app.settle();
    (app, file)
}

#[test]
fn quitting_asks_before_it_drops_a_diagram_that_took_long() {
    let (mut app, _file) = computed_and_dear(SMALL);
    assert!(app.close().contains(&ViewportCommand::CancelClose));
    app.settle();
    assert!(app.shows("Quit and drop phase diagrams?") && app.shows("5 × 4 pixels, 1 s: Small"));
    app.key(Key::Escape);
    assert!(!app.shows("Quit and drop"));
    // Another diagram moves the first to the earlier ones.
    app.harness.get_by_label("Common random numbers").click_accesskit();
    app.until("the other diagram", |app| {
        let present = app.state().phase().present();
        present.diagram.spec().common_random_numbers && present.diagram.is_complete()
    });
    app.until("the sweep to end", |app| !app.state().phase().is_running());
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::Q);
    app.harness.step();
    assert!(app.close().contains(&ViewportCommand::CancelClose));
    app.settle();
    assert!(app.shows("Quit and drop phase diagrams?"));
    app.button("Quit");
    assert!(!app.close().contains(&ViewportCommand::CancelClose), "it was answered");
}

#[test]
fn a_quickly_computed_diagram_is_dropped_without_a_question() {
    let mut app = computed(SMALL);
    assert!(!app.close().contains(&ViewportCommand::CancelClose));
}

#[test]
fn the_triangle_and_the_map_mark_the_same_pixel() {
    const TRIANGLE: &str = "Triangle of signal, noise and oscillation";
    let mut app = computed(SMALL);
    assert!(app.harness.query_by_role_and_label(Role::Canvas, TRIANGLE).is_none());
    app.choose("What the map shows", "Triangle: signal, noise, oscillation");
    app.until("the shares", |app| app.state().phase().present().diagram.has_shares());
    app.settle();
    let triangle = app.harness.get_by_role_and_label(Role::Canvas, TRIANGLE).rect();
    let map = app.harness.get_by_role_and_label(Role::Canvas, "Diagram").rect();
    assert!(map.right() <= triangle.left() && triangle.height() > 100.0, "{map:?} {triangle:?}");
    // A pixel that is chosen on the map has its shares in the readout.
    app.focus(Role::Canvas, "Diagram");
    app.key(Key::ArrowUp);
    assert!(app.harness.query_by_label_contains("Adam: signal").is_some());
    // The pixels with σ = 3 have a noise share of 0.9, near the right corner: the readout is of the pointed pixel.
    let near_corner =
        (0..100).map(|index| egui::vec2(0.3 + 0.02 * (index % 10) as f32, 0.1 + 0.04 * (index / 10) as f32));
    let found = near_corner.into_iter().any(|offset| {
        app.harness.event(egui::Event::PointerMoved(triangle.center() + offset * triangle.size()));
        app.harness.run_steps(2);
        app.harness.query_by_label("noise σ: 3").is_some()
    });
    assert!(found, "no pixel with σ = 3 at the right corner of {triangle:?}");
}
