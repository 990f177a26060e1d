//! Presets of trainings in the window, and what comes back of them.

use eframe::App as _;
use egui::accesskit::Role;
use egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable;
use valleyscope::preset::{Preset, built_ins};
use valleyscope::workload::DataChoice;

use crate::harness::{App, Begin, MemoryStorage};
use crate::training::{config, finished, listed, room, select};

#[test]
fn settings_and_the_selection_come_back_at_the_next_start() {
    let (mut app, run) = room(|runs| finished(runs, "Kept", 0, |_| 1.0));
    listed(&mut app, 1);
    select(&mut app, "Kept");
    app.type_into("Batch size", "64");
    app.settle();
    let mut storage = MemoryStorage::default();
    app.harness.state_mut().save(&mut storage);
    let runs = run.path().parent().expect("it is in a folder").to_owned();
    let begin = Begin { preset: None, storage: Some(&storage), runs: Some(&runs), ..Begin::default() };
    let mut again = App::begin(begin);
    again.until("the selection", |app| app.state().training().drawn().iter().any(|drawn| !drawn.tracks.is_empty()));
    let Preset::Mnist(preset) = again.state().training().preset() else { panic!("a run is under the controls") };
    assert_eq!(preset.runs[0].batch_size.get(), 64);
    assert!(again.state().training().is_dirty(), "it is known to be changed");
    again.type_into("Batch size", "128");
    assert!(!again.state().training().is_dirty(), "and to be as it was opened");
}

#[test]
fn a_preset_of_a_training_opens_under_the_controls_and_a_bad_value_is_refused() {
    // High enough that all controls are in view.
    let preset = config(7);
    let mut app = App::begin(Begin { preset: Some(&preset), size: [1400.0, 1500.0], ..Begin::default() });
    app.settle();
    let field = |app: &App, name: &str| app.harness.get_by_role_and_label(Role::TextInput, name).value();
    assert_eq!(field(&app, "Seed of the training").as_deref(), Some("7"));
    app.type_into("Batch size", "1");
    assert!(app.shows("batch_size must be a whole number from 2 to 60000, found 1"));
    app.type_into("Batch size", "32");
    app.settle();
    assert_eq!(field(&app, "Batch size").as_deref(), Some("32"));
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    app.settle();
    assert_eq!(field(&app, "Batch size").as_deref(), Some("128"));
}

#[test]
fn the_folder_of_the_dataset_is_chosen_and_can_be_undone() {
    let (mut app, ()) = room(|_| ());
    let data = |app: &App| {
        let Preset::Mnist(preset) = app.state().training().preset() else { panic!("a run is under the controls") };
        preset.runs[0].data.clone()
    };
    let before = data(&app);
    let folder = app.folder.path().join("images");
    app.button("Choose the folder of the dataset");
    app.settle();
    app.type_over("Path of the folder", &folder);
    let chosen = DataChoice::Folder(folder.display().to_string());
    app.until("the folder", |app| data(app) == chosen);
    app.settle();
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    app.settle();
    assert_eq!(data(&app), before);
}

#[test]
fn the_choice_of_the_dataset_is_kept_when_the_experiment_changes() {
    let (mut app, ()) = room(|_| ());
    let data = |app: &App| app.state().training().preset().trainings()[0].data().cloned();
    let folder = app.folder.path().join("images");
    let chosen = Some(DataChoice::Folder(folder.display().to_string()));
    app.button("Choose the folder of the dataset");
    app.settle();
    app.type_over("Path of the folder", &folder);
    app.until("the folder", |app| data(app) == chosen);
    app.click(Role::ComboBox, "Workload");
    app.press("MNIST classifier, scan over batch sizes");
    app.harness.key_press(Key::Escape);
    app.settle();
    assert!(matches!(app.state().training().preset(), Preset::MnistScan(_)));
    assert_eq!(data(&app), chosen);
    assert!(!app.state().training().is_dirty(), "it was chosen for another experiment");
    // A preset of several runs, which learn from the same data.
    let mnist = built_ins().iter().find(|built_in| built_in.name == "mnist").expect("it is built in");
    let Preset::Mnist(mut several) = mnist.preset.clone() else { panic!("it is a run") };
    several.runs.push(several.runs[0].clone());
    let path = app.write("several.ron", &Preset::Mnist(several.clone()).to_ron());
    app.open(&path);
    app.until("its runs", |app| app.state().training().preset().trainings().len() == 2);
    assert!(app.state().training().preset().trainings().iter().all(|training| training.data().cloned() == chosen));
    assert!(!app.state().training().is_dirty());
    // One that names its data keeps them.
    several.runs.truncate(1);
    several.runs[0].data = DataChoice::StandIn;
    let path = app.write("digits.ron", &Preset::Mnist(several).to_ron());
    app.open(&path);
    app.until("its data", |app| data(app) == Some(DataChoice::StandIn));
    // Digits that nobody has chosen by hand are not trained on in its place.
    let path = app.write("automatic.ron", &config(0));
    app.open(&path);
    app.until("the usual data", |app| data(app) == Some(DataChoice::Automatic));
}
