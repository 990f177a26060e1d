//! Undo of an opened preset restores its file and its saved state.

use std::path::{Path, PathBuf};

use egui::accesskit::Role;
use egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable;
use valleyscope_experiments::preset::{Preset, built_ins};

use super::harness::App;
use super::phase::{SMALL, computed};

fn press(app: &mut App, key: Key) {
    app.harness.key_press_modifiers(Modifiers::COMMAND, key);
    app.settle();
}

/// Saves, and confirms that the file may be replaced.
fn save(app: &mut App, path: &Path) {
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::S);
    app.until("the question or the notice", |app| app.shows("Replace ") || app.shows("Saved "));
    assert!(app.shows(&format!("Replace {}?", path.file_name().expect("a file").to_string_lossy())));
    app.button("Replace");
    app.until("the notice", |app| app.shows(&format!("Saved {}", canonical(path).display())));
    app.settle();
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().expect("the file is there")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("the file can be read")
}

#[test]
fn a_sweep_restored_by_undo_is_saved_in_its_own_file() {
    let mut app = computed(SMALL);
    let title = |app: &App| app.state().phase().preset().title.clone();
    let texts = ["First", "Second"].map(|title| SMALL.replace("Small", title));
    let first = app.write("first.ron", &texts[0]);
    let second = app.write("second.ron", &texts[1].replace("steps: 30", "steps: 40"));
    let second_before = read(&second);
    for (path, name) in [(&first, "First"), (&second, "Second")] {
        app.open(path);
        app.until("the preset", |app| title(app) == name);
        app.settle();
    }
    press(&mut app, Key::Z);
    assert_eq!(title(&app), "First");
    assert!(!app.state().phase().is_dirty(), "it is as in its file");
    app.harness.get_by_role_and_label(Role::SpinButton, "Slope c").set_value_accesskit(0.5);
    app.settle();
    save(&mut app, &first);
    assert!(!app.state().phase().is_dirty());
    assert_eq!(read(&second), second_before, "the other file is left alone");
    assert!(read(&first).contains("slope: 0.5"));
    // Before the first file was opened there was none: Save asks for the path.
    for _ in 0..10 {
        if title(&app) == "Small" {
            break;
        }
        press(&mut app, Key::Z);
    }
    assert_eq!(title(&app), "Small");
    press(&mut app, Key::S);
    assert!(app.shows("Save preset"));
    app.harness.key_press(Key::Escape);
    app.settle();
    // Redo restores the first file.
    for _ in 0..10 {
        if title(&app) == "First" {
            break;
        }
        app.harness.key_press_modifiers(Modifiers::COMMAND | Modifiers::SHIFT, Key::Z);
        app.settle();
    }
    assert_eq!(title(&app), "First");
}

#[test]
fn a_training_restored_by_undo_is_saved_in_its_own_file() {
    let mut app = App::plain();
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::Num3);
    app.settle();
    let mnist = built_ins().iter().find(|built_in| built_in.name == "mnist").expect("it is built in");
    let text = |title: &str, steps: &str| {
        let preset = mnist.preset.with("title", &format!("\"{title}\"")).expect("a title can be set");
        preset.with("steps", steps).expect("steps can be set").to_ron()
    };
    let title = |app: &App| app.state().training().preset().title().to_owned();
    let first = app.write("first.ron", &text("First", "50"));
    let second = app.write("second.ron", &text("Second", "60"));
    let second_before = read(&second);
    for (path, name) in [(&first, "First"), (&second, "Second")] {
        app.open(path);
        app.until("the preset", |app| title(app) == name);
        app.settle();
    }
    press(&mut app, Key::Z);
    assert_eq!(title(&app), "First");
    assert!(!app.state().training().is_dirty(), "it is as in its file");
    app.type_into("Batch size", "32");
    app.settle();
    save(&mut app, &first);
    assert_eq!(read(&second), second_before, "the other file is left alone");
    let Ok(Preset::Mnist(saved)) = Preset::read(&first) else { panic!("a training was saved") };
    assert_eq!((saved.title.as_str(), saved.runs[0].batch_size.get()), ("First", 32));
    assert!(!app.state().training().is_dirty());
}
