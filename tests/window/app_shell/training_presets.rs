//! Presets of trainings in the window, and their restoration.

use std::path::Path;

use egui::accesskit::Role;
use egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};
use valleyscope_engine::quantity::SequenceCount;
use valleyscope_experiments::dataset::DataChoice;
use valleyscope_experiments::preset::{Preset, built_ins};
use valleyscope_experiments::workload::Gpt2Shape;
use valleyscope_runs::RunFolder;

use super::harness::{App, Begin};
use super::training::{config, finished, listed, open_tab, select};
use super::worker::ready;

#[test]
fn settings_and_the_selection_are_restored_at_the_next_start() {
    let (mut app, run) = open_tab(|runs| finished(runs, "Kept", 0, |_| 1.0));
    listed(&mut app, 1);
    select(&mut app, "Kept");
    app.type_into("Batch size, number", "64");
    app.settle();
    let storage = app.state().session();
    let runs = run.path().parent().expect("it is in a folder").to_owned();
    let begin = Begin { preset: None, storage: Some(&storage), runs: Some(&runs), ..Begin::default() };
    let mut again = App::begin(begin);
    again.until("the selection", |app| app.state().training().drawn().iter().any(|drawn| !drawn.tracks.is_empty()));
    let Preset::Mnist(preset) = again.state().training().preset() else { panic!("a run is under the controls") };
    assert_eq!(preset.runs[0].batch_size.get(), 64);
    assert!(again.state().training().is_dirty(), "it is known to be changed");
    again.type_into("Batch size, number", "128");
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
    app.type_into("Batch size, number", "1");
    assert!(app.shows("Batch size must be a number from 2 to 60000, found 1"));
    app.type_into("Batch size, number", "32");
    app.settle();
    assert_eq!(field(&app, "Batch size, number").as_deref(), Some("32"));
    app.undo();
    assert_eq!(field(&app, "Batch size, number").as_deref(), Some("128"));
}

#[test]
fn the_folder_of_the_dataset_is_chosen_and_can_be_undone() {
    let (mut app, ()) = open_tab(|_| ());
    let data = |app: &App| {
        let Preset::Mnist(preset) = app.state().training().preset() else { panic!("a run is under the controls") };
        preset.runs[0].data.clone()
    };
    let before = data(&app);
    let folder = app.folder.path().join("images");
    app.button("Choose the folder of the dataset").settle();
    app.type_over("Path of the folder", &folder);
    let chosen = DataChoice::Folder(folder.display().to_string());
    app.until("the folder", |app| data(app) == chosen);
    app.settle();
    app.undo();
    assert_eq!(data(&app), before);
}

#[test]
fn the_choice_of_the_dataset_is_kept_when_the_experiment_changes() {
    let (mut app, ()) = open_tab(|_| ());
    let data = |app: &App| app.state().training().preset().base().trainings()[0].data().cloned();
    let folder = app.folder.path().join("images");
    let chosen = Some(DataChoice::Folder(folder.display().to_string()));
    app.button("Choose the folder of the dataset").settle();
    app.type_over("Path of the folder", &folder);
    app.until("the folder", |app| data(app) == chosen);
    app.click(Role::ComboBox, "Training preset");
    let entry = "MNIST: batch sizes and optimizers (Fig. 2c, d) (fig2cd)";
    app.until("the list", |app| app.harness.query_by_label_contains(entry).is_some());
    app.press(entry);
    app.harness.key_press(Key::Escape);
    app.until("the grid", |app| matches!(app.state().training().preset(), Preset::Grid(_)));
    let combo = app.harness.get_by_role_and_label(Role::ComboBox, "Workload").value();
    assert_eq!(combo.as_deref(), Some("MNIST classifier"), "a grid is listed under its workload");
    app.settle();
    assert!(app.shows("2\u{2009}880 trainings"));
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
    // A preset that names its data keeps them.
    several.runs.truncate(1);
    several.runs[0].data = DataChoice::Synthetic;
    let path = app.write("digits.ron", &Preset::Mnist(several).to_ron());
    app.open(&path);
    app.until("its data", |app| data(app) == Some(DataChoice::Synthetic));
    // Synthetic digits that the preset requests do not replace the user's choice.
    let path = app.write("automatic.ron", &config(0));
    app.open(&path);
    app.until("the choice", |app| data(app) == chosen);
}

#[test]
fn each_dataset_has_a_folder_that_is_restored_at_the_next_start() {
    let (mut app, ()) = open_tab(|_| ());
    let data = |app: &App| app.state().training().preset().trainings()[0].data().cloned();
    let take = |app: &mut App, workload: &str| {
        app.click(Role::ComboBox, "Workload");
        app.button(workload);
        app.key(Key::Escape);
    };
    let folder = |app: &App, name: &str| app.folder.path().join(name);
    let chosen = |path: &Path| Some(DataChoice::Folder(path.display().to_string()));
    let [images, text] = ["images", "text"].map(|name| folder(&app, name));
    for (workload, path) in [("MNIST classifier", &images), ("GPT-2, pre-training", &text)] {
        if workload.starts_with("GPT") {
            take(&mut app, workload);
            assert_eq!(data(&app), Some(DataChoice::Automatic), "it is another dataset");
        }
        app.button("Choose the folder of the dataset").settle();
        app.type_over("Path of the folder", path);
        app.until("the folder", |app| data(app) == chosen(path));
    }
    take(&mut app, "MNIST classifier");
    assert_eq!(data(&app), chosen(&images));
    let storage = app.state().session();
    let mut again = App::begin(Begin { preset: None, storage: Some(&storage), ..Begin::default() });
    again.settle();
    assert_eq!(data(&again), chosen(&images));
    take(&mut again, "GPT-2, pre-training");
    assert_eq!(data(&again), chosen(&text));
}

#[test]
fn a_fault_that_prevents_a_training_is_shown_at_its_field() {
    let preset = built_ins().iter().find(|built_in| built_in.name == "gpt2-shakespeare").expect("it is built in");
    // High enough that all controls are in view.
    let mut app = App::begin(Begin { preset: Some(preset.text), size: [1400.0, 1800.0], ..Begin::default() });
    app.settle();
    app.until("the data", |app| app.shows("Data: "));
    assert!(app.shows("804\u{2009}096 parameters, 768 tokens a step"));
    app.press("Size of the model");
    app.type_into("Heads, number", "3");
    app.settle();
    assert!(app.shows("shape.width is 128, which heads, 3, does not divide"));
    assert!(app.shows("“Width” can't be used as it is; see below."));
    app.type_into("Heads, number", "4");
    app.settle();
    assert!(!app.shows("can't be used as it is"));
    // Data that cannot be used are refused before a run is made.
    let empty = app.folder.path().join("empty");
    std::fs::create_dir(&empty).expect("a folder can be made");
    app.button("Choose the folder of the dataset").settle();
    app.type_over("Path of the folder", &empty);
    app.until("the refusal", |app| app.shows("expected train.bin and val.bin, or files ending in .txt"));
    assert!(app.shows("“Dataset” can't be used as it is; see below."));
    std::fs::write(empty.join("text.txt"), "To be, or not to be. ".repeat(100)).expect("it can be written");
    app.until("the data, which are looked at again", |app| app.shows("Data: text in "));
    assert!(!app.shows("can't be used as it is"));
}

#[test]
fn a_new_rule_keeps_common_settings_and_reports_new_ones() {
    let preset = built_ins().iter().find(|built_in| built_in.name == "gpt2-shakespeare").expect("it is built in");
    let mut app = App::begin(Begin { preset: Some(preset.text), size: [1400.0, 1800.0], ..Begin::default() });
    app.settle();
    let value = |app: &App, key: &str| {
        let Preset::Gpt2(preset) = app.state().training().preset() else { panic!("a GPT-2 is under the controls") };
        preset.runs[0].optimizer.get(key)
    };
    assert_eq!([value(&app, "weight_decay"), value(&app, "beta2")], [Some(0.1), Some(0.99)]);
    app.choose("Optimizer", "RMSProp");
    assert_eq!([value(&app, "weight_decay"), value(&app, "beta2")], [Some(0.1), Some(0.99)], "α has its default");
    let note = "RMSProp in place of Adam; new: α 0.99, μ 0, divided by root mean square, weight decay of the parameters; \
                without: β₁, β₂; kept: η, ε 1e-8, ω 0.1";
    assert!(app.shows(note));
    app.choose("Optimizer", "FOCUS");
    assert_eq!(value(&app, "weight_decay"), Some(0.1));
    assert_eq!(value(&app, "gamma"), Some(0.2));
    let note =
        "FOCUS in place of RMSProp; new: β₁ 0.9, β₂ 0.99, γ 0.2, average decays; without: α, μ, ε; kept: η, ω 0.1";
    assert!(app.shows(note));
    // The rule's own values are offered.
    app.button("Optimizer: Use FOCUS's own values").settle();
    assert_eq!(value(&app, "weight_decay"), Some(0.01));
    let before = app.state().training().preset().clone();
    app.choose("Optimizer", "Adam");
    app.undo();
    assert_eq!(*app.state().training().preset(), before, "a change of the rule is one undo step");
}

#[test]
fn a_changed_preset_is_named_by_its_settings() {
    let preset = built_ins().iter().find(|built_in| built_in.name == "mnist").expect("it is built in");
    let mut app = App::begin(Begin { preset: Some(preset.text), size: [1400.0, 1800.0], ..Begin::default() });
    app.settle();
    let combo = |app: &App, name: &str| app.harness.get_by_role_and_label(Role::ComboBox, name).value();
    assert_eq!(combo(&app, "Workload").as_deref(), Some("MNIST classifier"));
    assert_eq!(combo(&app, "Training preset").as_deref(), Some("FOCUS on MNIST, one run"));
    app.choose("Optimizer", "Adam");
    app.type_into("Batch size, number", "64");
    app.settle();
    let changed = "MNIST classifier · FOCUS → Adam, batch 64";
    assert_eq!(combo(&app, "Training preset"), Some(changed.to_owned()));
    let Preset::Mnist(draft) = &app.state().training().draft().preset else { panic!("it is a run") };
    assert_eq!(draft.title, changed);
    assert_eq!(draft.description, "“FOCUS on MNIST, one run”, changed: FOCUS → Adam; batch 64.");
    // The saved preset has the settings under the controls.
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::S);
    app.harness.run_steps(3);
    app.button("Save to my presets");
    app.until("the notice", |app| app.shows("Saved "));
    app.settle();
    assert!(!app.state().training().is_dirty());
    assert_eq!(app.state().training().preset().title(), changed);
    // A title that describes the settings follows them, also in the user's own file.
    app.type_into("Batch size, number", "32");
    app.settle();
    assert_eq!(app.state().training().draft().preset.title(), "MNIST classifier · Adam, batch 32");
}

#[test]
fn a_run_loses_a_name_made_of_other_settings() {
    let preset = built_ins().iter().find(|built_in| built_in.name == "fig3a").expect("it is built in");
    let mut app = App::begin(Begin { preset: Some(preset.text), size: [1400.0, 1800.0], ..Begin::default() });
    app.settle();
    let labels = |app: &App| app.state().training().draft().preset.workload().expect("trainings").labels();
    assert_eq!(labels(&app), ["Signum, η 6e-4", "Signum, η 1e-4", "FOCUS, η 6e-4"]);
    app.choose("Optimizer", "Adam");
    assert_eq!(labels(&app), ["Adam", "Signum, η 1e-4", "FOCUS, η 6e-4"]);
    let title = app.state().training().draft().preset.title().to_owned();
    assert_eq!(title, "GPT-2, pre-training · run 1: Signum → Adam");
    app.undo();
    assert_eq!(labels(&app), ["Signum, η 6e-4", "Signum, η 1e-4", "FOCUS, η 6e-4"]);
}

pub fn can_start(app: &App) -> bool {
    !app.harness.get_by_role_and_label(Role::Button, "Start the training").accesskit_node().is_disabled()
}

#[test]
fn requirements_are_shown_below_start_and_excessive_ones_are_refused() {
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    let text = config(0);
    let mut app = ready(Begin { preset: Some(&text), runs: Some(place.path()), ..Begin::default() });
    app.until("what it needs", |app| app.shows("The training needs about "));
    assert!(can_start(&app));
    // More than any machine has.
    let gpt2 = built_ins().iter().find(|built_in| built_in.name == "gpt2-shakespeare").expect("it is built in");
    let Preset::Gpt2(mut large) = gpt2.preset.clone() else { panic!("it is a run") };
    let spec = &mut large.runs[0];
    spec.shape = Gpt2Shape { layers: 24, width: 8192, ..spec.shape };
    spec.batch_size = SequenceCount::clamped(4096);
    let text = Preset::Gpt2(large).to_ron();
    let mut app = ready(Begin { preset: Some(&text), runs: Some(place.path()), ..Begin::default() });
    app.until("the refusal", |app| app.shows("; take a smaller model, or another device"));
    assert!(app.shows("the training needs about "));
    assert!(!can_start(&app));
    assert!(RunFolder::list(place.path()).expect("it can be read").is_empty());
}

#[test]
fn settings_are_varied_from_the_controls() {
    let preset = built_ins().iter().find(|built_in| built_in.name == "mnist").expect("it is built in");
    let mut app = App::begin(Begin { preset: Some(preset.text), size: [1400.0, 2400.0], ..Begin::default() });
    app.settle();
    let before = app.state().training().preset().clone();
    let varied = |app: &App| match app.state().training().preset() {
        Preset::Grid(grid) => grid.vary.iter().map(ToString::to_string).collect::<Vec<_>>(),
        _ => Vec::new(),
    };
    app.button("Vary…");
    app.button("Learning rate η");
    app.settle();
    assert_eq!(varied(&app), ["learning_rate=0.0001..0.01:5:log"]);
    assert!(app.shows("5 trainings"));
    app.type_into("Values of learning_rate", "0.1, 0.2");
    app.settle();
    assert_eq!(varied(&app), ["learning_rate=0.1, 0.2"]);
    app.type_into("Number of seeds", "3");
    app.settle();
    assert!(app.shows("6 trainings"));
    let trainings = app.state().training().preset().trainings();
    let found: Vec<(f64, u64)> = trainings
        .iter()
        .map(|training| match training {
            Preset::Mnist(preset) => (preset.runs[0].learning_rate.get(), preset.runs[0].seed),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(found, [(0.1, 0), (0.1, 1), (0.1, 2), (0.2, 0), (0.2, 1), (0.2, 2)]);
    app.type_into("Number of seeds", "1");
    app.button("Do not vary learning_rate").settle();
    assert_eq!(*app.state().training().preset(), before, "nothing varies any more");
}
