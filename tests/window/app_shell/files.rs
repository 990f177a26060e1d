//! Opening and saving presets as files.

use std::time::{Duration, Instant};

use egui::accesskit::Role;
use egui::{Key, Modifiers, ViewportId};
use egui_kittest::kittest::Queryable;
use valleyscope::app::shell::session::Store;
use valleyscope::player::Playback;
use valleyscope_experiments::preset::Preset;

use super::harness::{App, Begin, PLAIN, SessionTexts};

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
    app.button("Dismiss").settle();
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
    app.until("the recording", |app| app.shows("The recorded changes of"));
    app.keys(Modifiers::COMMAND, Key::S);
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
    app.button("Save to my presets").settle();
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
    let text = format!("// My own comment.\n{}", PLAIN.replace("Plain", "Mine"));
    let path = app.write("mine.ron", &text);
    app.open(&path);
    app.until("the preset", |app| app.shows("Mine"));
    app.set_slider("Noise σ", 2.5);
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::S);
    app.until("the question", |app| app.shows("Replace mine.ron?"));
    app.button("Keep what is there").settle();
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

const KEY: &str = "valleyscope.session";

fn stored(app: &App) -> SessionTexts {
    app.state().session()
}

fn restarted(storage: &SessionTexts) -> App {
    App::begin(Begin { preset: None, storage: Some(storage), ..Begin::default() })
}

/// Starts an app whose folder has the file of a session.
fn restarted_from_file(storage: &SessionTexts) -> App {
    let begin = Begin { preset: None, storage: Some(storage), keeps_session: true, ..Begin::default() };
    let text = ron::to_string(storage).expect("texts can be written as RON");
    App::prepared(begin, |folder| std::fs::write(folder.join("app.ron"), &text).expect("the folder can be written"))
}

/// Reads the session that was set aside as unusable.
fn set_aside(app: &App) -> SessionTexts {
    let text = std::fs::read_to_string(app.folder.path().join("app.unreadable.ron")).expect("it was set aside");
    ron::from_str(&text).expect("it is unchanged")
}

#[test]
fn the_session_comes_back() {
    let mut app = App::plain();
    let path = app.write("mine.ron", &PLAIN.replace("Plain", "Mine"));
    app.open(&path);
    app.until("the preset", |app| app.shows("Mine"));
    app.set_slider("Sharpness a", 123.0);
    app.button("Adam: duplicate");
    app.type_into("Speed, steps a second", "17");
    app.button("View");
    app.button("Light");
    let document = app.state().document().clone();
    let storage = stored(&app);

    let mut again = restarted(&storage);
    assert_eq!(*again.state().document(), document);
    assert!(again.shows("Mine"), "with the preset it came from");
    assert!(again.shows("changed"), "which was changed");
    assert_eq!(
        again.harness.get_by_label("Speed, steps a second").value().as_deref(),
        Some("17"),
        "the speed comes back"
    );
    again.button("File");
    again.press("Recent files");
    assert!(again.shows("mine.ron"));
    assert!(storage[KEY].contains("theme:Light"), "the theme is stored");
}

#[test]
fn what_was_looked_at_comes_back() {
    let mut app = App::plain();
    app.button("Adam: duplicate");
    app.click(Role::CheckBox, "Show FOCUS");
    app.button("Show");
    app.button("Follow");
    app.button("Fit");
    app.button("Plots");
    app.press("Free energy");
    app.keys(Modifiers::NONE, Key::Escape);
    app.button("3-D");
    app.harness.get_by_role_and_label(Role::Canvas, "Landscape").focus();
    app.settle();
    app.keys(Modifiers::NONE, Key::ArrowLeft);
    let camera = |app: &App| app.harness.get_by_role_and_label(Role::Canvas, "Landscape").value();
    let view = |app: &App| camera(app).unwrap_or_default().split(" Step ").next().map(str::to_owned);
    let (selected, seen) = (app.state().live().selected, view(&app));
    assert!(selected.is_some());
    let storage = stored(&app);
    let mut again = restarted(&storage);
    again.settle();
    assert_eq!(again.state().live().selected, selected);
    assert_eq!(again.state().live().hidden, app.state().live().hidden);
    assert!(again.state().document().view.is_in_space());
    assert!(seen.as_ref().is_some_and(|seen| seen.contains("azimuth -143°")), "turned by 5°: {seen:?}");
    assert_eq!(view(&again), seen);
    let again = stored(&again);
    assert!(storage[KEY].contains("FreeEnergy") && again[KEY].contains("FreeEnergy"), "the choice of plots too");
}

#[test]
fn a_session_whose_run_had_ended_comes_back_playing() {
    let mut app = App::with(&PLAIN.replace("noise: 1.0,", "noise: 1.0,\n        steps: 5,"));
    app.button("Play");
    app.until("the end", |app| app.state().live().playback() == Playback::Finished);
    let storage = stored(&app);
    let mut again = App::begin(Begin { preset: None, storage: Some(&storage), play: true, ..Begin::default() });
    again.until("the end", |again| again.state().live().playback() == Playback::Finished);
}

#[test]
fn a_session_comes_back_paused_or_playing_as_it_was_left() {
    for playing in [false, true] {
        let mut app = App::plain();
        if playing {
            app.button("Play");
            app.until("playing", |app| app.state().live().is_playing());
        }
        let storage = stored(&app);
        let mut again = App::begin(Begin { preset: None, storage: Some(&storage), play: true, ..Begin::default() });
        if playing {
            again.until("playing", |again| again.state().live().is_playing());
        }
        for _ in 0..20 {
            again.harness.step();
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        assert_eq!(again.state().live().is_playing(), playing);
    }
}

#[test]
fn a_run_stands_still_while_another_tab_is_shown_and_then_goes_on() {
    let mut app = App::begin(Begin { play: true, ..Begin::default() });
    let step = |app: &App| app.state().live().snapshot.as_ref().map_or(0, |snapshot| snapshot.step);
    // The steps of a run at 60 a second in 0.2 seconds.
    let taken = |app: &mut App| {
        let before = step(app);
        for _ in 0..40 {
            app.harness.step();
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        step(app) - before
    };
    for key in [egui::Key::Num2, egui::Key::Num3] {
        let here = step(&app);
        app.until("the run", |app| step(app) > here);
        app.harness.key_press_modifiers(egui::Modifiers::COMMAND, key);
        // The first of them may end with a snapshot that was already sent.
        taken(&mut app);
        assert_eq!(taken(&mut app), 0, "behind another tab");
        assert!(app.state().live().is_playing(), "it would play");
        let storage = stored(&app);
        assert!(storage[KEY].contains("playing:true"), "the session says so too");
        app.harness.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::Num1);
    }
    let here = step(&app);
    app.until("the run", |app| step(app) > here);
    app.harness.key_press(egui::Key::Space);
    app.until("the pause", |app| !app.state().live().is_playing());
    for key in [egui::Key::Num2, egui::Key::Num1] {
        app.harness.key_press_modifiers(egui::Modifiers::COMMAND, key);
        taken(&mut app);
        assert!(!app.state().live().is_playing(), "a paused run stays paused");
    }
}

#[test]
fn a_lesson_comes_back_at_its_step() {
    let lesson = PLAIN.replace(
        "    simulations: [",
        "    lesson: [(text: \"One.\"), (text: \"Two.\", set: [Noise(2.0)])],\n    simulations: [",
    );
    let mut app = App::with(&lesson);
    app.button("Next step of the lesson");
    let storage = stored(&app);
    let again = restarted(&storage);
    assert!(again.shows("2 / 2") && again.shows("Two."));
}

#[test]
fn a_session_comes_back_whose_lesson_lost_its_optimizer() {
    let lesson = PLAIN.replace(
        "    simulations: [",
        "    lesson: [(text: \"One.\", set: [Rule(optimizer: 1, rule: Focus(learning_rate: 0.1))])],\n    simulations: [",
    );
    let mut app = App::with(&lesson);
    app.button("FOCUS: remove");
    let document = app.state().document().clone();
    let storage = stored(&app);
    let again = restarted(&storage);
    assert_eq!(*again.state().document(), document);
    assert!(!again.shows("The last session was not restored"));
}

#[test]
fn a_preset_that_is_asked_for_comes_before_the_session() {
    let mut app = App::plain();
    app.set_slider("Noise σ", 2.5);
    let storage = stored(&app);
    let asked = PLAIN.replace("noise: 1.0", "noise: 0.125");
    let again = App::begin(Begin { preset: Some(&asked), storage: Some(&storage), ..Begin::default() });
    assert_eq!(again.state().document().spec(0).noise.sigma(), 0.125);
}

#[test]
fn a_session_that_cannot_be_read_is_reported_ignored_and_kept_aside() {
    let app = App::plain();
    let good = stored(&app)[KEY].clone();
    let broken = [
        "not a session".to_owned(),
        good[..good.len() / 2].to_owned(),
        good.replacen("version:1", "version:999", 1),
        good.replace("noise: 1.0", "noise: -1.0"),
        good.replace("learning_rate: 0.01", "learning_rate: 1e9"),
    ];
    for text in broken {
        assert_ne!(text, good, "the session is really broken");
        let mut storage = SessionTexts::default();
        storage.insert(KEY.to_owned(), text.clone());
        let mut again = restarted_from_file(&storage);
        assert!(again.shows("The last session was not restored"), "{text}");
        again.settle();
        assert_eq!(set_aside(&again), storage);
        assert_ne!(stored(&again)[KEY], text, "and the new session is stored");
    }
}

#[test]
fn a_tab_whose_state_is_broken_is_reported_and_the_others_are_restored() {
    let mut app = App::plain();
    app.set_slider("Noise σ", 2.5);
    let mut storage = stored(&app);
    let broken = storage[KEY].replace("Phase:(preset:\"", "Phase:(preset:\"?");
    assert_ne!(broken, storage[KEY], "the state of the phase diagrams is broken");
    storage.insert(KEY.to_owned(), broken);
    let again = restarted_from_file(&storage);
    assert!(again.shows("The last phase diagram's preset was not restored"));
    assert_eq!(again.state().document().spec(0).noise.sigma(), 2.5, "the landscape is restored");
    assert_eq!(set_aside(&again), storage);
}

#[test]
fn a_change_is_saved_though_nothing_more_is_drawn() {
    let mut app = App::begin(Begin { keeps_session: true, ..Begin::default() });
    app.settle();
    app.set_slider("Noise σ", 2.5);
    let delay = app.harness.output().viewport_output[&ViewportId::ROOT].repaint_delay;
    assert!(delay <= Duration::from_secs(2), "a frame follows that saves the session: {delay:?}");
    std::thread::sleep(Duration::from_millis(2100));
    app.harness.step();
    // No frame from now on.
    let file = app.folder.path().join("app.ron");
    let is_saved = || std::fs::read_to_string(&file).is_ok_and(|text| text.contains("noise: 2.5"));
    let changed = Instant::now();
    while !is_saved() {
        assert!(changed.elapsed() < Duration::from_secs(60), "waited in vain for the session");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(app.harness);
    let (session, report) = Store::new(file).restore();
    assert_eq!(report, None);
    assert_eq!(restarted(&session).state().document().spec(0).noise.sigma(), 2.5);
}

#[test]
fn a_session_that_cannot_be_saved_is_reported_and_saved_later() {
    let mut app = App::prepared(Begin { keeps_session: true, ..Begin::default() }, |folder| {
        std::fs::create_dir(folder.join("app.ron")).expect("a folder in place of the file");
    });
    let file = app.folder.path().join("app.ron");
    app.until("the report", |app| app.shows("The session can't be saved"));
    assert!(app.shows("app.ron"));
    std::fs::remove_dir(&file).expect("it is empty");
    app.set_slider("Noise σ", 2.5);
    app.until("the session", |_| std::fs::read_to_string(&file).is_ok_and(|text| text.contains("noise: 2.5")));
}
