//! Opening and saving presets as files.

use egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable as _;
use valleyscope_experiments::preset::Preset;

use super::harness::{App, PLAIN};

fn read(path: &std::path::Path) -> valleyscope_experiments::preset::LandscapePreset {
    let Preset::Landscape(preset) = Preset::read(path).expect("the saved preset can be read") else {
        panic!("a simulation")
    };
    preset
}

#[test]
fn a_file_is_opened_and_remembered() {
    let mut app = App::plain();
    let path = app.write("mine.ron", &PLAIN.replace("Plain", "Mine").replace("noise: 1.0", "noise: 2.25"));
    app.open(&path);
    app.until("the preset", |app| app.state().document().spec(0).noise.sigma() == 2.25);
    app.set_slider("Noise σ", 0.5);
    app.button("File");
    app.press("Recent files");
    app.press("mine.ron");
    app.until("the preset once more", |app| app.state().document().spec(0).noise.sigma() == 2.25);
}

#[test]
fn a_bad_preset_is_reported_with_place_and_reason_and_changes_nothing() {
    let mut app = App::plain();
    app.set_slider("Noise σ", 0.25);
    let before = app.state().document().clone();
    let path = app.write("bad.ron", &PLAIN.replace("noise: 1.0", "noise: -1.0"));
    app.open(&path);
    app.until("the report", |app| app.shows("bad.ron was not opened"));
    assert!(app.shows("bad.ron:5:"), "the place is named");
    assert!(app.shows("noise must be a number from 0 to 100, found -1"), "and the reason");
    assert!(app.shows("^^^^"), "and it is marked");
    assert_eq!(*app.state().document(), before);
    app.button("Dismiss");
    app.settle();
    assert!(!app.shows("bad.ron was not opened"));
}

#[test]
fn reports_stack_and_a_missing_file_is_reported() {
    let mut app = App::plain();
    let bad = app.write("bad.ron", "Landscape(");
    let missing = app.folder.path().join("missing.ron");
    app.open(&bad);
    app.until("the first report", |app| app.shows("bad.ron was not opened"));
    app.open(&missing);
    app.until("the second report", |app| app.shows("missing.ron was not opened"));
    assert!(app.shows("bad.ron was not opened"), "the first is still there");
}

#[test]
fn a_dropped_preset_is_opened_and_anything_else_refused() {
    let mut app = App::plain();
    let preset = app.write("dropped.ron", &PLAIN.replace("noise: 1.0", "noise: 2.75"));
    app.drop(&preset);
    app.until("the dropped preset", |app| app.state().document().spec(0).noise.sigma() == 2.75);
    let other = app.write("notes.txt", "no preset");
    app.drop(&other);
    app.until("a refusal", |app| app.shows("The dropped file was not opened"));
}

#[test]
fn a_preset_is_saved_to_the_users_own_and_listed() {
    let mut app = App::plain();
    app.set_slider("Noise σ", 2.5);
    app.menu("File", "Save");
    app.button("Save to my presets");
    let path = app.folder.path().join("presets").join("plain-changed-σ-2-5.ron");
    app.until("the file", |_| path.exists());
    let saved = read(&path);
    assert_eq!(saved.title, "Plain, changed: σ = 2.5");
    assert_eq!(saved.description, "“Plain”, changed: σ = 2.5.");
    assert_eq!(saved.spec(), app.state().document().spec(0));
    assert_eq!(saved.view.as_ref(), Some(&app.state().document().view), "while following, the view is the preset's");
    app.until("the notice", |app| app.shows("Saved "));
    app.button("Presets");
    app.until("the list", |app| app.shows("Your own"));
}

#[test]
fn the_view_is_saved_unless_it_follows() {
    let mut app = App::plain();
    app.button("Follow");
    app.button("Single step");
    app.until("the step", |app| app.state().live().snapshot.as_ref().is_some_and(|snapshot| snapshot.step == 1));
    app.button("Fit");
    app.menu("File", "Save");
    app.button("Save to my presets");
    let path = app.folder.path().join("presets").join("plain.ron");
    app.until("the notice", |app| app.shows("Saved "));
    let camera = read(&path).view.and_then(|view| view.camera).expect("the camera is saved");
    assert!(camera.width < 1.0, "it is the one that fits the start: {camera:?}");
    app.settle();
    assert!(!app.shows("changed"), "what was saved is clean");
}

#[test]
fn saving_an_opened_recording_warns_that_its_changes_are_left_out() {
    let mut app = App::plain();
    let text = PLAIN.replace("[(spec: (", "[(changes: [(step: 3, set: Noise(2.0))], spec: (");
    let path = app.write("recorded.ron", &text);
    app.open(&path);
    app.until("the recording", |app| app.shows("Its recorded changes are repeated"));
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::S);
    app.settle();
    assert!(app.shows("Without the recorded changes"));
    assert_eq!(read(&path).simulations[0].changes.len(), 1, "nothing is written before that was read");
}

#[test]
fn the_title_can_be_typed_at_once() {
    let mut app = App::plain();
    app.menu("File", "Save");
    app.settle();
    assert!(app.harness.get_by_role_and_label(egui::accesskit::Role::TextInput, "Title").is_focused());
}

#[test]
fn a_name_that_a_built_in_preset_has_is_refused() {
    let mut app = App::with(&PLAIN.replace("Plain", "fig1c"));
    app.menu("File", "Save");
    assert!(app.shows("a built-in preset has this name"));
    app.button("Save to my presets");
    app.settle();
    assert!(app.shows("a built-in preset has this name"), "the button does nothing");
    assert!(!app.folder.path().join("presets").exists());
}

#[test]
fn a_save_counts_for_the_preset_that_was_saved() {
    let mut app = App::plain();
    app.menu("File", "Save");
    // Another preset is opened while the dialog is open.
    let other = app.write("other.ron", &PLAIN.replace("Plain", "Other").replace("noise: 1.0", "noise: 2.75"));
    app.drop(&other);
    app.until("the other preset", |app| app.state().document().spec(0).noise.sigma() == 2.75);
    app.button("Save to my presets");
    app.until("the notice", |app| app.shows("Saved "));
    let saved = read(&app.folder.path().join("presets").join("plain.ron"));
    assert_eq!(saved.spec().noise.sigma(), 1.0);
    app.settle();
    assert!(!app.shows("changed"), "the other preset is as it was opened");
}

#[test]
fn a_file_of_the_user_is_replaced_only_after_a_question() {
    let mut app = App::plain();
    let text = format!("// My own comment.\n{PLAIN}");
    let path = app.write("mine.ron", &text);
    app.open(&path);
    app.until("the preset", |app| app.shows("Opened “Plain”"));
    app.set_slider("Noise σ", 2.5);
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::S);
    app.until("the question", |app| app.shows("Replace mine.ron?"));
    app.button("Keep the old file");
    app.settle();
    assert_eq!(std::fs::read_to_string(&path).expect("the file is there"), text);
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::S);
    app.until("the question again", |app| app.shows("Replace mine.ron?"));
    app.button("Replace");
    app.until("the new file", |_| read(&path).spec().noise.sigma() == 2.5);
    app.until("the notice", |app| app.shows("Saved "));
    app.set_slider("Noise σ", 0.75);
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::S);
    app.until("the next save, without a question", |_| read(&path).spec().noise.sigma() == 0.75);
}

#[test]
fn a_folder_that_cannot_be_written_is_named_and_nothing_is_lost() {
    let mut app = App::plain();
    app.set_slider("Noise σ", 2.5);
    app.menu("File", "Save as…");
    app.button("Save as a file…");
    // A file is in the place of the folder.
    let blocker = app.write("blocked", "");
    app.type_path(&blocker.join("mine.ron"));
    app.until("the report", |app| app.shows("mine.ron was not saved"));
    assert!(app.shows("cannot write"));
    assert_eq!(app.state().document().spec(0).noise.sigma(), 2.5);
}

#[test]
fn a_session_is_saved_with_its_changes() {
    let mut app = App::plain();
    app.button("Single step");
    app.until("a step", |app| app.state().live().snapshot.as_ref().is_some_and(|snapshot| snapshot.step == 1));
    app.set_slider("Noise σ", 2.5);
    app.menu("File", "Save session for replay…");
    app.until("the dialog", |app| app.shows("With one change of settings"));
    app.button("Save to my presets");
    let path = app.folder.path().join("presets").join("plain.ron");
    app.until("the file", |_| path.exists());
    let saved = read(&path);
    assert_eq!(saved.spec().noise.sigma(), 1.0, "it begins as the session began");
    assert_eq!(saved.simulations[0].changes.len(), 1);
    assert_eq!(saved.simulations[0].changes[0].step, 1);
}
