//! Kept phase diagrams: over a restart, by undo, beside each other, and within their limits.

use std::fs;
use std::path::Path;
use std::time::Duration;

use egui::accesskit::Role;
use egui::{Key, Modifiers, ViewportCommand};
use egui_kittest::kittest::{NodeT as _, Queryable};
use valleyscope::sweep::result::{SweepResult, check_sweep};
use valleyscope_runs::atomic_file::Overwrite;

use super::harness::{App, Begin, SessionTexts};
use super::phase::SMALL;

/// Starts an app whose diagrams are in a folder, all of them worth a question.
pub fn begun(diagrams: &Path, preset: Option<&str>, storage: Option<&SessionTexts>) -> App {
    let worth_asking = Some(Duration::ZERO);
    App::begin(Begin { preset, storage, diagrams: Some(diagrams), worth_asking, ..Begin::default() })
}

pub fn is_complete(app: &App) -> bool {
    app.state().phase().present().diagram.is_complete() && !app.state().phase().is_running()
}

/// Waits until the shown diagram is complete and kept.
pub fn finish(app: &mut App) {
    app.until("the diagram", is_complete);
    app.until("its place among the kept ones", |app| {
        let title = format!("Open {}", app.state().phase().present().title());
        app.harness.query_by_role_and_label(Role::Button, &title).is_some()
    });
    app.settle();
}

/// Sets the slope, which begins another diagram.
pub fn set_slope(app: &mut App, slope: f64) {
    app.harness.get_by_role_and_label(Role::Slider, "Slope c").set_value_accesskit(slope);
    app.until("the other diagram", |app| {
        app.state().phase().present().diagram.spec().landscape.get("slope") == Some(slope)
    });
    finish(app);
}

/// Ends an app; returns its session.
pub fn ended(app: App) -> SessionTexts {
    app.state().session()
}

fn folders(diagrams: &Path) -> Vec<String> {
    let entries = fs::read_dir(diagrams).expect("the folder of diagrams can be read");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| name != "limits.ron");
    names.sort();
    names
}

pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder can be made")
}

/// Starts an app whose diagram [`SMALL`] is complete and kept in the folder.
pub fn finished() -> (tempfile::TempDir, App) {
    let diagrams = folder();
    let mut app = begun(diagrams.path(), Some(SMALL), None);
    finish(&mut app);
    (diagrams, app)
}

#[test]
fn diagrams_are_kept_over_a_restart_and_shown_without_computing() {
    let (diagrams, mut app) = finished();
    set_slope(&mut app, 0.5);
    let storage = ended(app);
    assert_eq!(folders(diagrams.path()), ["small", "small-changed-c-0-5"]);
    let mut again = begun(diagrams.path(), None, Some(&storage));
    again.until("the last diagram", is_complete);
    again.settle();
    assert!(again.shows("20 of 20 pixels, complete") && again.shows("2 of 40"));
    // The other one comes back with its settings, read and not computed.
    set_slope(&mut again, 0.1);
    assert!(again.state().phase().present().progress.is_none(), "it was computed again");
    again.button("Open Small, changed: c = 0.5");
    again.until("the first again", |app| {
        is_complete(app) && app.state().phase().preset().sweep.landscape.get("slope") == Some(0.5)
    });
    assert!(again.state().phase().present().progress.is_none());
}

#[test]
fn an_unfinished_diagram_goes_on_after_a_restart_to_the_same_bytes() {
    let slow = SMALL.replace("steps: 30", "steps: 200000");
    let diagrams = folder();
    let mut app = begun(diagrams.path(), Some(&slow), None);
    app.until("a pixel", |app| app.state().phase().present().diagram.complete() > 0);
    app.button("Pause");
    let before = app.state().phase().present().diagram.complete();
    assert!(before > 0 && before < 20, "{before} pixels");
    let storage = ended(app);
    assert!(diagrams.path().join("small/pixels.bin").exists());
    let mut again = begun(diagrams.path(), None, Some(&storage));
    again.until("the pixels of before", |app| app.state().phase().present().diagram.complete() == before);
    again.settle();
    assert!(!again.state().phase().is_running(), "it was paused");
    again.button("Run the sweep");
    assert!(again.state().phase().is_running());
    // It was running, so it goes on by itself.
    let storage = ended(again);
    let mut last = begun(diagrams.path(), None, Some(&storage));
    last.until("the whole diagram", is_complete);
    drop(last);
    let there = folders(&diagrams.path().join("small"));
    assert_eq!(there, ["kept.ron", "phase.npz", "spec.ron", "thumbnail.png"]);
    let whole = folder();
    let mut app = begun(whole.path(), Some(&slow), None);
    app.until("the whole diagram", is_complete);
    drop(app);
    let bytes = |root: &Path| fs::read(root.join("small/phase.npz")).expect("the results can be read");
    assert!(bytes(diagrams.path()) == bytes(whole.path()), "the same sweep has other bytes");
}

/// Returns a sweep by adaptive sampling whose first pixel takes a while to be decided.
fn undecided() -> String {
    let sampled = "steps: 100000, sampling: Adaptive(certainty: 0.999, budget: 1.0),";
    SMALL.replace("steps: 30,", sampled).replace("Noise, from: 0.0", "Noise, from: 1.0")
}

#[test]
fn adaptive_sampling_is_kept_before_a_pixel_is_decided_and_goes_on_to_the_same_bytes() {
    let slow = undecided();
    let diagrams = folder();
    let mut app = begun(diagrams.path(), Some(&slow), None);
    app.until("its folder", |_| diagrams.path().join("small/races.bin").exists());
    let diagram = &app.state().phase().present().diagram;
    assert_eq!(diagram.complete(), 0, "a pixel was decided before the diagram was kept");
    assert!(app.harness.query_by_role_and_label(Role::Button, "Open Small").is_some());
    // As after a crash: what is on the disk now, and not what the end of the window adds.
    let crashed = folder();
    copy(&diagrams.path().join("small"), &crashed.path().join("small"));
    app.button("Pause");
    assert!(!app.close().contains(&ViewportCommand::CancelClose), "nothing is lost");
    let storage = ended(app);
    let mut runs = Vec::new();
    for root in [&diagrams, &crashed] {
        let mut again = begun(root.path(), None, Some(&storage));
        again.until("the races", |app| app.state().phase().present().diagram.runs() > 0);
        runs.push(again.state().phase().present().diagram.runs());
        again.button("Run the sweep");
        again.until("the whole diagram", is_complete);
    }
    assert!(runs[1] <= runs[0], "{runs:?}");
    let whole = folder();
    let mut app = begun(whole.path(), Some(&slow), None);
    app.until("the whole diagram", is_complete);
    drop(app);
    assert_eq!(folders(&diagrams.path().join("small")), ["kept.ron", "phase.npz", "spec.ron", "thumbnail.png"]);
    let bytes = |root: &Path| fs::read(root.join("small/phase.npz")).expect("the results can be read");
    for root in [&diagrams, &crashed] {
        assert!(bytes(root.path()) == bytes(whole.path()), "the same sweep has other bytes");
    }
}

#[test]
fn damaged_races_are_reported_and_computed_anew() {
    let slow = undecided();
    let diagrams = folder();
    let mut app = begun(diagrams.path(), Some(&slow), None);
    app.until("its folder", |_| diagrams.path().join("small/races.bin").exists());
    app.button("Pause");
    let storage = ended(app);
    let races = diagrams.path().join("small/races.bin");
    let mut bytes = fs::read(&races).expect("the races can be read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&races, bytes).expect("the test's folder can be written");
    let mut again = begun(diagrams.path(), None, Some(&storage));
    again.until("the failure", |app| app.shows("A part of a kept diagram can't be read"));
    assert!(again.shows("races.bin: it is damaged") && again.shows("computed anew"));
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the test's folder can be written");
    for name in folders(from) {
        fs::copy(from.join(&name), to.join(&name)).expect("the test's folder can be written");
    }
}

#[test]
fn limits_and_sizes_that_cannot_be_drop_no_diagram() {
    let (diagrams, app) = finished();
    let storage = ended(app);
    (2..5).for_each(|copied| copy(&diagrams.path().join("small"), &diagrams.path().join(format!("small-{copied}"))));
    let all = folders(diagrams.path());
    let limits = diagrams.path().join("limits.ron");
    let stays = |what: &str, text: &str| {
        fs::write(&limits, text).expect("the test's folder can be written");
        // Nothing is worth a question, so that whatever exceeds the limits is dropped at once.
        let mut again = App::begin(Begin {
            storage: Some(&storage),
            diagrams: Some(diagrams.path()),
            worth_asking: Some(Duration::from_secs(1000)),
            ..Begin::default()
        });
        again.settle();
        assert_eq!(folders(diagrams.path()), all, "{what}");
        let is_refused = again.shows("no diagram makes room for others until you set the limits");
        drop(again);
        assert_eq!(fs::read_to_string(&limits).expect("it can be read"), text, "{what}");
        is_refused
    };
    for text in ["(diagrams:40,megabytes:18446744073710)", "(diagrams:0,megabytes:0)", "(diagrams:40,mega"] {
        assert!(stays(text, text), "{text} is not named");
    }
    // A sparse file of any length takes no room, and a file of somebody else's is not the diagram's.
    for name in ["pixels.bin", "film.mp4"] {
        let file = fs::File::create(diagrams.path().join("small-2").join(name)).expect("the folder can be written");
        file.set_len(1 << 40).expect("the disk takes sparse files");
        assert!(!stays(name, "(diagrams:40,megabytes:1000)"));
    }
}

#[test]
fn undo_brings_a_kept_diagram_back_also_without_live() {
    let (_diagrams, mut app) = finished();
    set_slope(&mut app, 0.5);
    app.click(Role::CheckBox, "Live");
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    app.until("the diagram of before", |app| is_complete(app) && app.state().phase().present().title() == "Small");
    app.until("its settings", |app| !app.shows("Still shows"));
}

#[test]
fn a_dear_diagram_is_dropped_only_after_a_question() {
    let (diagrams, mut app) = finished();
    app.button("Limits of kept diagrams");
    app.harness.get_by_role_and_label(Role::SpinButton, "Most kept diagrams").set_value_accesskit(1.0);
    app.key(Key::Escape);
    set_slope(&mut app, 0.5);
    app.until("the question", |app| app.shows("Drop the oldest kept diagram?"));
    app.button("Keep it, and raise the limits").settle();
    assert!(!app.shows("Drop the oldest") && app.shows("2 of 2"));
    set_slope(&mut app, 0.6);
    app.until("the question", |app| app.shows("Drop the oldest kept diagram?"));
    assert!(app.shows("“Small”, 5 × 4 pixels"));
    app.button("Drop it");
    // The third may not be written yet when the question is answered.
    app.until("its removal", |_| folders(diagrams.path()) == ["small-changed-c-0-5", "small-changed-c-0-6"]);
}

#[test]
fn a_cheap_diagram_makes_room_by_itself_and_a_pinned_one_stays() {
    let diagrams = folder();
    let begin = Begin { preset: Some(SMALL), diagrams: Some(diagrams.path()), ..Begin::default() };
    let mut app = App::begin(begin);
    finish(&mut app);
    app.button("Pin Small");
    app.button("Limits of kept diagrams");
    app.harness.get_by_role_and_label(Role::SpinButton, "Most kept diagrams").set_value_accesskit(2.0);
    app.key(Key::Escape);
    set_slope(&mut app, 0.5);
    set_slope(&mut app, 0.6);
    app.until("the removal of the second", |_| folders(diagrams.path()) == ["small", "small-changed-c-0-6"]);
    assert!(!app.shows("Drop the oldest"));
}

#[test]
fn a_kept_diagram_is_renamed_and_removed() {
    let (diagrams, mut app) = finished();
    set_slope(&mut app, 0.5);
    app.button("More about Small");
    app.type_into("Name of Small", "The first one");
    app.key(Key::Escape);
    let storage = ended(app);
    let kept = diagrams.path().join("small");
    let findings = check_sweep(&kept, false).expect("nothing is repaired");
    assert!(findings.is_intact(), "{:?}", findings.list());
    // What a repair has added or kept goes with the diagram.
    for name in [SweepResult::TABLE, "spec.ron.kept-1"] {
        fs::write(kept.join(name), "of a repair").expect("the test's folder can be written");
    }
    let mut again = begun(diagrams.path(), None, Some(&storage));
    again.until("the last diagram", is_complete);
    again.button("More about The first one");
    again.button("Remove");
    assert!(again.shows("Remove this diagram?"));
    again.harness.get_by_role_and_label(Role::Button, "Keep").click_accesskit();
    again.settle();
    again.button("More about The first one");
    again.button("Remove");
    again.button("Remove");
    again.until("its removal", |_| folders(diagrams.path()) == ["small-changed-c-0-5"]);
    assert!(!again.shows("The first one"));
}

#[test]
fn damaged_and_foreign_folders_are_named_and_left_alone() {
    let (diagrams, app) = finished();
    let storage = ended(app);
    let arrays = diagrams.path().join("small/phase.npz");
    fs::write(&arrays, "no arrays").expect("the test's folder can be written");
    fs::create_dir(diagrams.path().join("holiday")).expect("the test's folder can be written");
    fs::write(diagrams.path().join("holiday/photo.png"), "a photo").expect("the test's folder can be written");
    let mut again = begun(diagrams.path(), None, Some(&storage));
    assert!(again.shows("Some kept diagrams can't be used") && again.shows("holiday"));
    again.until("the failure", |app| app.shows("A kept diagram can't be read"));
    again.button("Compute this diagram");
    again.until("the diagram", is_complete);
    drop(again);
    assert_eq!(fs::read_to_string(&arrays).expect("it can be read"), "no arrays");
    assert_eq!(folders(diagrams.path()), ["holiday", "small", "small-2"]);
}

#[test]
fn a_diagram_whose_results_cannot_be_read_is_computed_anew_each_time_it_is_chosen() {
    let (diagrams, mut app) = finished();
    set_slope(&mut app, 0.5);
    let storage = ended(app);
    fs::write(diagrams.path().join("small/phase.npz"), "no arrays").expect("the test's folder can be written");
    let mut again = begun(diagrams.path(), None, Some(&storage));
    again.until("the last diagram", is_complete);
    again.click(Role::CheckBox, "Live");
    again.button("Open Small");
    again.until("the failure", |app| app.shows("A kept diagram can't be read"));
    again.button("Open Small, changed: c = 0.5");
    again.until("the other diagram", is_complete);
    again.button("Open Small").settle();
    assert!(!again.shows("reading the kept diagram"));
    again.button("Compute this diagram");
    again.until("the diagram", is_complete);
}

#[test]
fn a_diagram_that_claims_more_than_is_on_the_disk_is_written_again() {
    let (diagrams, app) = finished();
    let storage = ended(app);
    let arrays = diagrams.path().join("small/phase.npz");
    fs::remove_file(&arrays).expect("it was written");
    let mut again = begun(diagrams.path(), None, Some(&storage));
    again.until("the end of reading", |app| app.shows("Compute this diagram"));
    again.button("Compute this diagram");
    again.until("the diagram", is_complete);
    drop(again);
    assert!(SweepResult::open(&arrays).expect("it is written again").diagram.is_complete());
}

#[test]
fn a_removed_diagram_stops_and_is_kept_again_once_it_goes_on() {
    let slow = SMALL.replace("steps: 30", "steps: 200000");
    let diagrams = folder();
    let mut app = begun(diagrams.path(), Some(&slow), None);
    app.until("a pixel", |app| app.harness.query_by_role_and_label(Role::Button, "Open Small").is_some());
    app.button("More about Small");
    app.button("Remove").settle();
    app.button("Remove");
    app.until("its removal", |_| folders(diagrams.path()).is_empty());
    assert!(!app.state().phase().is_running(), "what is kept no more is computed no more");
    app.button("Run the sweep");
    app.until("its card", |app| app.harness.query_by_role_and_label(Role::Button, "Open Small").is_some());
}

#[test]
fn limits_are_stored_beside_the_diagrams_and_not_with_the_session() {
    let (diagrams, mut app) = finished();
    app.button("Limits of kept diagrams");
    app.set(Role::SpinButton, "Most kept diagrams", 60.0);
    drop(app);
    let mut again = begun(diagrams.path(), Some(SMALL), None);
    finish(&mut again);
    assert!(again.shows("1 of 60"));
}

#[test]
fn an_opened_result_takes_over_the_folder_and_the_computing_time_of_its_sweep() {
    let (diagrams, app) = finished();
    let result = app.state().phase().present().result();
    drop(app);
    let description = || fs::read_to_string(diagrams.path().join("small/kept.ron")).expect("it can be read");
    let before = description();
    let longer = before.lines().map(|line| match line.trim_start().starts_with("worked_secs") {
        true => "    worked_secs: 7200.0,\n".to_owned(),
        false => format!("{line}\n"),
    });
    let longer: String = longer.collect();
    fs::write(diagrams.path().join("small/kept.ron"), longer).expect("the test's folder can be written");
    let mut again = begun(diagrams.path(), None, None);
    result.write(again.folder.path(), Overwrite::No).expect("the test's folder can be written");
    let path = again.folder.path().join("phase.npz");
    again.open(&path);
    again.until("the result", |app| is_complete(app) && app.state().phase().present().title() == "Small");
    finish(&mut again);
    drop(again);
    assert_eq!(folders(diagrams.path()), ["small"]);
    assert!(description().contains("worked_secs: 7200.0"), "{}", description());
}

#[test]
fn the_margin_of_any_two_optimizers_can_be_chosen() {
    let mut app = App::with(SMALL);
    app.until("the diagram", is_complete);
    app.choose("What the map shows", "Margin between two optimizers");
    let shown = |app: &App| app.harness.get_by_role_and_label(Role::ComboBox, "What the map shows").value();
    assert_eq!(shown(&app).as_deref(), Some("Adam over Signum: advantage in final loss"));
    app.choose("Optimizer ahead", "Signum");
    assert_eq!(shown(&app).as_deref(), Some("Signum over Adam: advantage in final loss"));
}

#[test]
fn kept_diagrams_are_results_that_the_command_line_opens() {
    let (diagrams, app) = finished();
    drop(app);
    let result = SweepResult::open(&diagrams.path().join("small")).expect("it is a result");
    assert!(result.diagram.is_complete() && result.title == "Small");
}

#[test]
fn the_strip_is_within_the_window_and_leaves_room_for_the_map() {
    for size in [[900.0, 600.0], [1280.0, 720.0], [1920.0, 1080.0]] {
        let mut app = App::begin(Begin { preset: Some(SMALL), size, ..Begin::default() });
        finish(&mut app);
        let window = app.harness.ctx.content_rect();
        let picture = app.harness.get_by_role_and_label(Role::Button, "Open Small").rect();
        let compare = app.harness.get_by_role_and_label(Role::CheckBox, "Compare Small");
        assert!(window.contains_rect(picture.union(compare.rect())), "{picture} in {size:?}");
        assert!(compare.accesskit_node().is_disabled(), "it is shown already");
        let map = app.harness.get_by_role_and_label(Role::Canvas, "Diagram").rect();
        assert!(map.height() >= 0.5 * size[1] && map.bottom() <= picture.top(), "{map} in {size:?}");
    }
}
