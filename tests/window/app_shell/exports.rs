//! Exports of the landscape and its plots: figures for a paper, pictures and animations.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use egui::accesskit::Role;
use egui::{Key, Modifiers, ViewportCommand};
use egui_kittest::kittest::{NodeT, Queryable};
use valleyscope::draw::{Figure, Options, PAGE_MM, Trajectories};
use valleyscope::export::NpzReader;
use valleyscope::sweep::result::RawFormat;
use valleyscope_engine::simulation::Simulation;
use valleyscope_engine::sweep::{Backend, Precision, SweepSpec, pixel_runs};
use valleyscope_experiments::preset::{LandscapePreset, Preset};
use valleyscope_runs::atomic_file::Overwrite;

use super::harness::{App, Begin, PLAIN};
use super::phase::{SMALL, computed};
use super::timeline::{noise, press, seek, steps, take_tens};

/// Draws the figure of the preset within a figure.
fn drawn_again(svg: &str) -> String {
    let text = svg.split_once("<dc:description>").and_then(|(_, rest)| rest.split_once("</dc:description>"));
    let text = text.expect("the preset").0.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">");
    let preset = Preset::parse(&text.replace("&amp;", "&"), "the figure").expect("a preset");
    let Preset::Landscape(preset) = preset else { panic!("a landscape") };
    let mut trajectories = Trajectories::new(&preset).expect("there are optimizers");
    while !trajectories.is_complete() {
        trajectories.advance();
    }
    let options = Options { width_mm: PAGE_MM, ..Options::default() };
    Figure::landscape(&trajectories).render(&options).expect("rendered").to_string()
}

fn built_in(app: &mut App, name: &str) -> LandscapePreset {
    let found = valleyscope_experiments::preset::built_ins().iter().find(|built_in| built_in.name == name);
    let Preset::Landscape(preset) = &found.expect("a built-in preset").preset else { panic!("a landscape") };
    app.menu("Presets", &preset.title);
    app.settle();
    preset.clone()
}

/// Opens the sheet of exports with a kind.
pub fn open_sheet(app: &mut App, kind: &str) {
    app.menu("File", "Export…");
    app.button(kind);
}

/// Waits until the sheet shows the file of its present options.
fn preview(app: &mut App) {
    app.until("the preview", |app| !app.shows("Drawing the preview") && !app.shows("Making the file"));
}

/// Exports the file of the open sheet; returns its bytes.
pub fn export_as(app: &mut App, name: &str) -> Vec<u8> {
    app.button("Export the file");
    let path = app.folder.path().join(name);
    app.type_path(&path);
    app.until("the file", |app| path.exists() && app.shows("Saved "));
    assert!(!app.shows("Export the file"), "the sheet is closed");
    app.settle();
    std::fs::read(path).expect("it was written")
}

/// Exports the file of a kind and of the formats or contents with these names.
pub fn export(app: &mut App, kind: &str, choices: &[&str], name: &str) -> Vec<u8> {
    open_sheet(app, kind);
    for choice in choices {
        app.click(Role::RadioButton, choice);
    }
    export_as(app, name)
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("it is text")
}

#[test]
fn the_landscape_is_exported_as_the_figure_of_its_preset() {
    let mut app = App::plain();
    let preset = built_in(&mut app, "fig1c");
    let svg = text(export(&mut app, "Figure", &["SVG"], "figure.svg"));
    assert!(svg.contains(&preset.title) && svg.contains("width=\"180.000mm\""));
    assert!(svg == drawn_again(&svg), "another figure than that of the preset within");
}

#[test]
fn a_figure_has_the_chosen_title_and_size_of_type() {
    let mut app = App::plain();
    open_sheet(&mut app, "Figure");
    app.click(Role::RadioButton, "SVG");
    app.click(Role::CheckBox, "Title above");
    app.replace("Title of the file", Role::TextInput, "A valley of ours");
    set_number(&mut app, "Size of type", 11.0);
    set_number(&mut app, "Width of figures", 120.0);
    preview(&mut app);
    assert!(app.harness.query_by_role_and_label(Role::Image, "Preview").is_some() && app.shows("SVG · 120 × "));
    let svg = text(export_as(&mut app, "figure.svg"));
    assert!(svg.contains(">A valley of ours</text>") && svg.contains("<title>A valley of ours</title>"));
    assert!(svg.contains("width=\"120.000mm\"") && svg.contains("font-size=\"11"), "{}", &svg[..2000]);
}

fn step(app: &App) -> u64 {
    app.state().live().snapshot.as_ref().map_or(0, |snapshot| snapshot.step)
}

#[test]
fn an_animation_replays_changes_by_default() {
    let mut app = App::plain();
    // Returns for each of the two choices whether it is present and chosen.
    let choices = |app: &App| {
        ["As it went, with its change", "With the present settings"].map(|name| {
            let button = app.harness.query_by_role_and_label(Role::RadioButton, name)?;
            Some(button.accesskit_node().toggled() == Some(egui::accesskit::Toggled::True))
        })
    };
    app.set_slider("Noise σ", 0.5);
    open_sheet(&mut app, "Animation");
    app.settle();
    assert_eq!(choices(&app), [None; 2], "a change before the first step is no choice");
    app.button("Cancel");
    app.button("Single step");
    app.until("a step", |app| step(app) == 1);
    app.set_slider("Noise σ", 2.0);
    app.until("the change", |app| {
        app.state().live().snapshot.as_ref().is_some_and(|it| !it.sessions[0].record.changes.is_empty())
    });
    open_sheet(&mut app, "Animation");
    assert_eq!(choices(&app), [Some(true), Some(false)]);
    app.click(Role::RadioButton, "With the present settings");
    assert_eq!(choices(&app), [Some(false), Some(true)]);
}

#[test]
fn the_plots_of_the_session_are_exported_with_marks_of_its_changes() {
    let mut app = App::plain();
    app.button("Single step");
    app.until("a step", |app| step(app) == 1);
    app.set_slider("Noise σ", 2.0);
    for _ in 0..9 {
        app.button("Single step");
    }
    app.until("ten steps", |app| step(app) == 10);
    let svg = text(export(&mut app, "Figure", &["Plots", "SVG"], "plots.svg"));
    for text in ["effective step size", "loss L", "spread |v|", "steps", "Adam", "FOCUS", "1: step 1, σ 1 → 2"] {
        assert!(svg.contains(&format!(">{text}<")), "{text} is in the figure");
    }
    assert!(!svg.contains("<image"), "all is drawn as vectors");
}

fn drawing(play: bool) -> App {
    App::begin(Begin { preset: Some(PLAIN), draws: true, play, ..Begin::default() })
}

fn set_number(app: &mut App, name: &str, value: f64) {
    app.harness.get_by_role_and_label(Role::SpinButton, name).set_value_accesskit(value);
    app.harness.run_steps(2);
}

fn begin_long_export(app: &mut App) {
    open_sheet(app, "Animation");
    set_number(app, "Last step", 100000.0);
    set_number(app, "Steps a frame", 10.0);
    preview(app);
    app.button("Export the file");
    let path = app.folder.path().join("run.gif");
    app.type_path(&path);
    app.until("the progress", |app| app.shows("Exporting run.gif"));
}

#[test]
fn an_animation_is_exported_in_the_background_while_the_run_goes_on() {
    let mut app = drawing(true);
    app.until("some steps", |app| step(app) > 20);
    open_sheet(&mut app, "Animation");
    set_number(&mut app, "Last step", 30.0);
    set_number(&mut app, "Steps a frame", 10.0);
    preview(&mut app);
    assert!(app.shows("GIF · 4 frames, 0.2 seconds"));
    app.button("Export the file");
    let path = app.folder.path().join("run.gif");
    app.type_path(&path);
    app.until("the progress", |app| app.shows("Exporting run.gif"));
    let begun = step(&app);
    app.until("the file", |app| app.shows("Saved 4 frames to"));
    assert!(step(&app) > begun && app.state().live().is_playing(), "the run goes on");
    assert!(path.exists() && !app.shows("Exporting run.gif"));
}

#[test]
fn an_export_is_cancelled_by_its_button() {
    let mut app = drawing(false);
    begin_long_export(&mut app);
    app.button("Cancel the export of run.gif");
    app.until("its end", |app| !app.shows("Exporting run.gif"));
    assert!(!app.folder.path().join("run.gif").exists() && step(&app) == 0);
}

#[test]
fn quitting_asks_before_it_stops_an_export() {
    let mut app = drawing(false);
    begin_long_export(&mut app);
    assert!(app.close().contains(&ViewportCommand::CancelClose));
    app.harness.run_steps(3);
    assert!(app.shows("Quit and stop exports?") && app.shows("nothing of it will be kept"));
    app.harness.key_press(Key::Escape);
    app.harness.run_steps(3);
    assert!(!app.shows("Quit and stop") && app.shows("Exporting run.gif"));
    app.close();
    app.harness.run_steps(3);
    app.button("Quit");
    assert!(!app.close().contains(&ViewportCommand::CancelClose), "it was answered");
}

#[test]
fn a_cancelled_export_needs_no_question() {
    let mut app = drawing(false);
    begin_long_export(&mut app);
    app.button("Cancel the export of run.gif");
    assert!(!app.close().contains(&ViewportCommand::CancelClose));
}

#[test]
fn an_animation_replaces_a_file_only_after_a_question() {
    let mut app = drawing(false);
    let there = app.write("there.gif", "an older one");
    for (answer, is_kept) in [("Keep what is there", true), ("Replace", false)] {
        open_sheet(&mut app, "Animation");
        set_number(&mut app, "Last step", 10.0);
        set_number(&mut app, "Steps a frame", 10.0);
        app.button("Export the file");
        app.type_path(&there);
        app.until("the question", |app| app.shows("Replace there.gif?"));
        app.button(answer);
        app.until("the end", |app| is_kept || app.shows("Saved 2 frames to"));
        assert_eq!(std::fs::read(&there).expect("it is there").starts_with(b"an older"), is_kept);
    }
}

#[test]
fn a_picture_is_saved_with_the_chosen_parts() {
    let mut app = drawing(false);
    app.button("Single step");
    app.until("a step", |app| step(app) == 1);
    open_sheet(&mut app, "Picture");
    app.click(Role::RadioButton, "Plots");
    app.click(Role::CheckBox, "Title above");
    set_number(&mut app, "Width in pixels", 500.0);
    preview(&mut app);
    assert!(app.harness.query_by_role_and_label(Role::Image, "Preview").is_some());
    assert!(app.shows("PNG · 500 × 600 pixels · "));
    let png = export_as(&mut app, "plots.png");
    let picture = image::load_from_memory(&png).expect("a picture");
    assert_eq!((picture.width(), picture.height()), (500, 600));
}

#[test]
fn without_a_graphics_driver_a_picture_is_refused_with_the_reason() {
    let mut app = App::plain();
    open_sheet(&mut app, "Picture");
    app.until("the reason", |app| app.shows("no graphics adapter was found"));
    let export = app.harness.get_by_role_and_label(Role::Button, "Export the file");
    assert!(export.accesskit_node().is_disabled());
}

#[test]
fn the_sheet_offers_the_kinds_of_each_tab_and_escape_closes_it() {
    let mut app = App::plain();
    let kinds = ["Picture", "Figure", "Animation", "Web page", "Data"];
    let offered =
        |app: &App| kinds.map(|kind| app.harness.query_by_role_and_label(Role::Button, kind).is_some()).to_vec();
    for (tab, expected) in [
        (Key::Num1, [true; 5]),
        (Key::Num2, [false, true, false, false, true]),
        (Key::Num3, [false, true, false, false, true]),
    ] {
        press(&mut app, Modifiers::COMMAND, tab);
        press(&mut app, Modifiers::COMMAND, Key::E);
        app.until("the sheet", |app| app.shows("Export the file"));
        assert_eq!(offered(&app), expected, "{tab:?}");
        app.harness.check_accessibility();
        app.key(Key::Escape);
        assert!(!app.shows("Export the file"), "Escape closes the sheet");
    }
}

#[test]
fn a_lesson_is_exported_as_a_web_page_and_another_preset_says_why_it_is_not() {
    let mut app = App::plain();
    app.menu("File", "Export web page…");
    app.until("the reason", |app| app.shows("this preset has none"));
    assert!(!app.shows("Speaker notes"));
    app.button("Cancel");
    let lesson = PLAIN.replace(
        "    simulations",
        "    lesson: [(text: \"Look at the walls.\", notes: \"Say it.\", set: [Steps(40)])],\n    simulations",
    );
    let mut app = App::with(&lesson);
    app.menu("File", "Export web page…");
    preview(&mut app);
    assert!(app.shows("HTML · 1 step · ") && app.shows("Look at the walls.") && !app.shows("Say it."));
    let page = text(export_as(&mut app, "page.html"));
    assert!(page.contains("Look at the walls.") && page.contains("<title>Plain</title>"));
    app.menu("File", "Export web page…");
    app.click(Role::RadioButton, "Speaker notes");
    preview(&mut app);
    assert!(app.shows("what to say to each") && app.shows("Say it.") && !app.shows("plays the lesson"));
    let notes = text(export_as(&mut app, "notes.html"));
    assert!(notes.contains("<title>Notes: Plain</title>"));
}

#[test]
fn the_table_of_the_plots_holds_what_is_shown() {
    let second = "(id: 1, rule: Adam(learning_rate: 0.02))";
    let mut app = App::with(&PLAIN.replace("(id: 1, rule: Focus(learning_rate: 0.01))", second));
    take_tens(&mut app, 2);
    app.button("Export the plots");
    preview(&mut app);
    assert!(app.shows("CSV · ") && app.shows(" rows · "));
    let csv = text(export_as(&mut app, "plots.csv"));
    let lines = csv.lines().filter(|line| line.contains(",Adam,loss,")).count();
    assert_eq!(lines as u64, step(&app) + 1, "every step has a row");
    assert!(csv.contains(",Adam (2),loss,") && !csv.contains('"'), "names have no settings");
    assert!(!csv.contains("free_energy"), "a plot that is off is not shown");
}

#[test]
fn a_run_is_exported_as_arrays_and_as_a_preset_that_repeats_it() {
    let mut app = App::plain();
    take_tens(&mut app, 2);
    let npz = export(&mut app, "Data", &["NPZ"], "run.npz");
    let mut arrays = NpzReader::new(std::io::Cursor::new(npz)).expect("arrays");
    let (_, shape) = arrays.type_and_shape("positions").expect("positions");
    assert_eq!(shape[1] as u64, step(&app) + 1);
    let preset = text(export(&mut app, "Data", &["RON"], "run.ron"));
    let Preset::Landscape(preset) = Preset::parse(&preset, "test").expect("a preset") else { panic!("a landscape") };
    assert_eq!(preset.spec(), app.state().document().spec(0));
}

#[test]
fn presets_have_small_pictures_that_are_made_in_the_background() {
    let mut app = App::plain();
    app.button("Presets");
    let pictures = |app: &App| app.harness.query_all_by_label_contains("Picture of ").count();
    app.until("the first pictures", |app| pictures(app) >= 3);
}

const ENTRY: &str = "NPY";

/// Returns a sweep like the paper's that takes some milliseconds.
fn paper() -> String {
    let focus = "(id: 2, rule: Focus(), learning_rates: (from: 0.001, to: 1.0, count: 3)),\n        ],";
    SMALL.replace("        ],", &format!("            {focus}"))
}

/// Returns a sweep like the paper's that is too long to finish.
fn long() -> String {
    paper().replace("count: 5", "count: 1000").replace("count: 4", "count: 2").replace("steps: 30", "steps: 10000")
}

fn export_to(app: &mut App, folder: &Path) {
    open_sheet(app, "Data");
    app.click(Role::RadioButton, ENTRY);
    app.button("Export the file");
    app.type_over("Path of the folder", folder);
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("it can be read"));
    let read = |entry: std::fs::DirEntry| {
        (entry.file_name().into_string().expect("a name"), std::fs::read(entry.path()).expect("it can be read"))
    };
    entries.map(read).collect()
}

/// Returns the files of the first rows, from runs that are computed one by one.
fn expected(spec: &SweepSpec, rows: usize) -> BTreeMap<String, Vec<u8>> {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let format = RawFormat::of(spec).expect("a sweep like the paper's");
    let runs = |pixel| {
        let replicates = 0..spec.replicates.get();
        pixel_runs(Backend::new(Precision::Single), spec, pixel, replicates, &AtomicBool::new(false))
            .expect("not cancelled")
    };
    for row in 0..rows {
        let pixels: Vec<_> = (0..spec.shape()[1]).map(|column| runs([row, column])).collect();
        format.write_row(folder.path(), Overwrite::No, spec, row, &pixels).expect("written");
    }
    files(folder.path())
}

#[test]
fn raw_arrays_hold_the_diagrams_runs() {
    let mut app = computed(&paper());
    let folder = app.folder.path().join("not there yet").join("raw");
    export_to(&mut app, &folder);
    app.until("the notice", |app| app.shows("5 of 5 rows are complete"));
    let spec = app.state().phase().present().diagram.spec().clone();
    assert!(files(&folder) == expected(&spec, 5), "other bytes");
    assert!(files(&folder).contains_key("syn-exp-7-4.npy"));
    assert!(!app.shows("Cancel the raw arrays"), "it is over");
}

#[test]
fn another_set_of_optimizers_has_no_raw_arrays_and_the_sheet_says_why() {
    let mut app = computed(SMALL);
    open_sheet(&mut app, "Data");
    app.click(Role::RadioButton, ENTRY);
    app.until("the reason", |app| app.shows("exactly Adam, FOCUS and Signum was expected, found Adam, Signum"));
}

#[test]
fn files_that_are_there_are_replaced_only_after_a_question() {
    let mut app = computed(&paper());
    let folder = app.folder.path().join("raw");
    std::fs::create_dir(&folder).expect("the test's folder can be written");
    std::fs::write(folder.join("syn-exp-7-3.npy"), "mine").expect("the test's folder can be written");
    export_to(&mut app, &folder);
    app.until("the question", |app| app.shows("Replace the raw arrays?"));
    app.button("Keep what is there").settle();
    assert_eq!(files(&folder).into_iter().collect::<Vec<_>>(), [("syn-exp-7-3.npy".to_owned(), b"mine".to_vec())]);
    export_to(&mut app, &folder);
    app.until("the question", |app| app.shows("Replace the raw arrays?"));
    app.button("Replace");
    app.until("the notice", |app| app.shows("5 of 5 rows are complete"));
    let spec = app.state().phase().present().diagram.spec().clone();
    assert!(files(&folder) == expected(&spec, 5), "other bytes");
}

#[test]
fn raw_arrays_wait_for_the_diagram_and_cancelled_ones_leave_whole_rows() {
    let mut app = App::with(&long());
    let folder = app.folder.path().join("raw");
    export_to(&mut app, &folder);
    app.until("the export to wait", |app| app.shows("rows, waiting for the diagram"));
    app.button("Pause");
    app.until("some rows", |app| app.shows("Raw arrays: ") && !app.shows("Raw arrays: 0 of"));
    app.button("Cancel the raw arrays");
    app.until("the end", |app| app.shows("complete in"));
    let found = files(&folder);
    assert!(found.len() < 1000, "it was cancelled");
    let spec = app.state().phase().present().diagram.spec().clone();
    assert!(found == expected(&spec, found.len()), "rows are whole, and nothing else is there");
    assert!(app.shows(&format!("{} of {} rows", found.len(), spec.shape()[0])), "the report counts them");
}

#[test]
fn a_folder_that_cannot_be_written_is_told_at_once() {
    let mut app = computed(&paper());
    let file = app.write("file", "not a folder");
    export_to(&mut app, &file);
    app.until("the report", |app| app.shows("Not all raw arrays were exported"));
    assert!(app.shows("cannot use the folder"));
}

/// Begins to move σ from 1 to 2 in five seconds.
fn moving() -> App {
    let mut app = App::plain();
    begin_moving(&mut app);
    app
}

fn begin_moving(app: &mut App) {
    begin_animating(app, "Noise σ");
}

/// Begins to move σ from 1 to 2 in five seconds. `name` is the setting's name in the window of animations.
fn begin_animating(app: &mut App, name: &str) {
    app.menu("View", "Animate settings…");
    app.choose("Setting to animate", "Noise σ");
    app.type_into(&format!("{name}: animate to"), "2");
    app.type_into(&format!("{name}: seconds of the animation"), "5");
    app.button(&format!("Start animating {name}"));
}

fn changes(app: &App) -> usize {
    app.state().live().snapshot.as_ref().map_or(0, |snapshot| snapshot.sessions[0].record.changes.len())
}

#[test]
fn a_setting_moves_while_the_run_plays_and_undo_takes_it_back_as_one_step() {
    let mut app = moving();
    app.settle();
    assert!(app.shows("waits for the run to play"));
    assert_eq!(noise(&app), 1.0);
    // Back and forth at first, so that it moves until it has made several changes.
    app.click(Role::CheckBox, "Noise σ: back and forth");
    press(&mut app, Modifiers::NONE, Key::Space);
    app.until("changes of the session", |app| changes(app) > 1);
    app.click(Role::CheckBox, "Noise σ: back and forth");
    app.until("the last value", |app| noise(app) == 2.0);
    app.until("all changes", |app| {
        let snapshot = app.state().live().snapshot.as_ref().expect("there is one");
        snapshot.sessions[0].spec.noise.sigma() == 2.0
    });
    press(&mut app, Modifiers::NONE, Key::Space);
    app.until("a pause", |app| !app.state().live().is_playing());
    app.settle();
    let snapshot = app.state().live().snapshot.clone().expect("there is one");
    let mut again = Simulation::replay((*snapshot.sessions[0].record).clone());
    while again.step() < snapshot.last_step {
        again.advance();
    }
    let sample = |loss: f64| loss.to_bits();
    let replayed = again.ensembles().iter().map(|ensemble| sample(ensemble.sample().loss.mean));
    let shown = snapshot.sessions[0].ensembles.iter().map(|view| sample(view.sample.loss.mean));
    assert!(replayed.eq(shown), "a replay repeats it");
    press(&mut app, Modifiers::COMMAND, Key::Z);
    app.settle();
    assert_eq!(noise(&app), 1.0);
}

#[test]
fn a_drag_of_the_slider_ends_the_motion() {
    let mut app = moving();
    app.click(Role::CheckBox, "Noise σ: back and forth");
    press(&mut app, Modifiers::NONE, Key::Space);
    app.until("a value on the way", |app| noise(app) > 1.0);
    app.set_slider("Noise σ", 0.5);
    let steps_then = steps(&app)[0];
    app.until("more steps", |app| steps(app)[0] > steps_then + 5);
    assert_eq!(noise(&app), 0.5);
    assert!(app.harness.query_by_role_and_label(Role::Button, "Start animating Noise σ").is_some());
}

#[test]
fn the_past_is_repeated_without_motion() {
    let mut app = App::plain();
    take_tens(&mut app, 3);
    begin_moving(&mut app);
    seek(&mut app, 5);
    press(&mut app, Modifiers::NONE, Key::Space);
    app.until("a later step of the past", |app| steps(app)[0] > 8);
    let [step, last] = steps(&app);
    assert!(step > 30 || (noise(&app) == 1.0 && last == 30), "it would begin a new future");
    app.until("the motion at new steps", |app| noise(app) > 1.0);
    assert!(steps(&app)[1] >= 30);
}

#[test]
fn a_setting_of_the_simulation_beside_the_first_moves_alone() {
    let mut app = App::plain();
    app.button("+ Side by side");
    app.button("The settings of A again, to change some").settle();
    begin_animating(&mut app, "B: Noise σ");
    press(&mut app, Modifiers::NONE, Key::Space);
    let noise_of_b = |app: &App| app.state().live().session(1).expect("B is there").spec.noise.sigma();
    app.until("a value on the way", |app| noise_of_b(app) > 1.0);
    assert_eq!(app.state().live().session(0).expect("A is there").spec.noise.sigma(), 1.0);
}

#[test]
fn a_setting_rests_while_another_tab_holds_the_run() {
    let mut app = moving();
    app.click(Role::CheckBox, "Noise σ: back and forth");
    press(&mut app, Modifiers::NONE, Key::Space);
    app.until("a value on the way", |app| noise(app) > 1.0);
    press(&mut app, Modifiers::COMMAND, Key::Num2);
    app.harness.run_steps(10);
    let held = noise(&app);
    app.harness.run_steps(30);
    assert_eq!(noise(&app), held, "a held run takes no steps at which a setting could move");
}

#[test]
fn a_right_click_on_a_slider_offers_its_animation() {
    let mut app = App::plain();
    let at = app.slider("Noise σ").rect().center();
    app.harness.hover_at(at);
    for pressed in [true, false] {
        let (button, modifiers) = (egui::PointerButton::Secondary, Modifiers::NONE);
        app.harness.event(egui::Event::PointerButton { pos: at, button, pressed, modifiers });
        app.harness.run_steps(2);
    }
    app.button("Animate… Noise σ").settle();
    assert!(app.harness.query_by_role_and_label(Role::TextInput, "Noise σ: animate to").is_some());
    app.button("Remove the animation of Noise σ");
    assert!(app.harness.query_by_role_and_label(Role::TextInput, "Noise σ: animate to").is_none());
}
