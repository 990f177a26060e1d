//! Opening built-in presets and lessons.

use egui::accesskit::Role;
use egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable;
use valleyscope::player::Playback;
use valleyscope_experiments::preset::{Preset, built_ins};

use super::harness::{App, Begin, PLAIN};

const LESSON: &str = r#"Landscape(
    version: 1,
    title: "A lesson",
    simulations: [(spec: (noise: 0.5, optimizers: [(id: 3, rule: Signum(learning_rate: 0.01))]))],
    lesson: [
        (text: "It begins without noise.", set: [Noise(0.0)]),
        (text: "Now there is noise.", set: [Noise(2.0)]),
        (text: "And larger steps.", set: [Rule(optimizer: 3, rule: Signum(learning_rate: 0.1))]),
    ],
)"#;

#[test]
fn each_built_in_preset_opens_from_the_menu() {
    let mut app = App::plain();
    for built_in in built_ins() {
        let Preset::Landscape(preset) = &built_in.preset else { continue };
        app.menu("Presets", &preset.title);
        let expected = preset.spec_at(0).expect("the preset's lesson fits");
        assert_eq!(*app.state().document().spec(0), expected, "{}", built_in.name);
        app.until("the player to run the preset", |app| {
            app.state().live().snapshot.as_ref().is_some_and(|snapshot| *snapshot.sessions[0].spec == expected)
        });
        app.settle();
    }
}

#[test]
fn an_opened_preset_plays_after_a_pause_and_after_a_finished_run() {
    let mut app = App::plain();
    let short = app.write("short.ron", &PLAIN.replace("noise: 1.0,", "noise: 1.0,\n        steps: 5,"));
    let mut presets = built_ins().iter().filter_map(|built_in| match &built_in.preset {
        Preset::Landscape(preset) if preset.lesson.is_empty() => Some(preset.title.clone()),
        _ => None,
    });
    let mut open_next = |app: &mut App| {
        let (run, _, _) = run_of(app);
        app.menu("Presets", &presets.next().expect("there are several"));
        app.until("the run", |app| matches!(run_of(app), (now, 1.., Playback::Playing) if now > run));
    };
    assert_eq!(run_of(&app).2, Playback::Paused);
    open_next(&mut app);
    app.harness.key_press(Key::Space);
    app.until("the pause", |app| run_of(app).2 == Playback::Paused);
    open_next(&mut app);
    app.open(&short);
    app.until("the end", |app| run_of(app).2 == Playback::Finished);
    open_next(&mut app);
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    app.until("the preset before", |app| app.state().document().spec(0).steps == Some(5));
}

#[test]
fn undo_restores_the_previous_preset() {
    let mut app = App::plain();
    app.settle();
    let before = app.state().document().clone();
    let Preset::Landscape(preset) = &built_ins()[1].preset else { panic!("a simulation") };
    app.menu("Presets", &preset.title);
    app.settle();
    assert_ne!(*app.state().document(), before);
    app.undo();
    assert_eq!(*app.state().document(), before);
    assert!(app.shows("Plain"), "its title comes back too");
}

#[test]
fn an_opened_preset_is_followed_unless_its_view_turns_following_off() {
    let mut app = App::plain();
    let follows = |app: &App| app.state().document().view.follow;
    for (view, expected) in [("", true), ("view: (follow: false),", false), ("view: (contours: false),", true)] {
        app.harness.run_steps(2);
        if follows(&app) {
            app.harness.key_press(Key::F);
            app.harness.run_steps(2);
        }
        assert!(!follows(&app));
        let title = format!("With “{view}”");
        let text = super::harness::PLAIN.replace("title: \"Plain\",", &format!("title: \"{title}\", {view}"));
        let path = app.write("other.ron", &text);
        app.open(&path);
        app.until("it is open", |app| app.shows(&title));
        assert_eq!(follows(&app), expected, "{view}");
    }
}

#[test]
fn a_lesson_goes_forward_and_back() {
    let mut app = App::with(LESSON);
    let noise = |app: &App| app.state().document().spec(0).noise.sigma();
    let rate = |app: &App| app.state().document().spec(0).optimizers[0].rule.learning_rate.get();
    assert!(app.shows("1 / 3") && app.shows("It begins without noise."));
    assert_eq!((noise(&app), rate(&app)), (0.0, 0.01), "the first step's settings are in force");
    app.button("Next step of the lesson");
    assert!(app.shows("2 / 3") && app.shows("Now there is noise."));
    assert_eq!((noise(&app), rate(&app)), (2.0, 0.01));
    app.key(Key::PageDown);
    assert!(app.shows("3 / 3"));
    assert_eq!((noise(&app), rate(&app)), (2.0, 0.1));
    app.button("Previous step of the lesson");
    assert_eq!((noise(&app), rate(&app)), (2.0, 0.01), "going back undoes what the step has set");
    app.undo();
    assert!(app.shows("3 / 3"), "undo leads back to the step before");
    assert_eq!(rate(&app), 0.1);
}

#[test]
fn a_lesson_step_that_sets_something_restarts_the_run() {
    let text = LESSON.replace("    ],\n)", "        (text: \"Look.\"),\n    ],\n)");
    let mut app = App::with(&text);
    let at = |app: &App| app.state().live().snapshot.as_ref().map_or((0, 0), |snapshot| (snapshot.run, snapshot.step));
    for (button, begins) in [("Next", true), ("Next", true), ("Next", false), ("Previous", true)] {
        app.harness.key_press(Key::ArrowRight);
        let before = at(&app);
        app.until("a step", |app| at(app).1 > before.1 || at(app).0 > before.0);
        let run = at(&app).0;
        app.button(&format!("{button} step of the lesson")).settle();
        if begins {
            app.until("the run to begin again", |app| at(app).0 > run && at(app).1 == 0);
        } else {
            assert_eq!(at(&app).0, run, "{button}: a step that sets nothing leaves the run alone");
        }
    }
}

/// A lesson whose runs pause: two steps of one run, then one of another.
const PAUSING: &str = r#"Landscape(
    version: 1,
    title: "A lesson that pauses",
    simulations: [(spec: (noise: 0.5, optimizers: [(id: 3, rule: Signum(learning_rate: 0.01))]))],
    lesson: [
        (text: "See."),
        (text: "To the first pause.", set: [Noise(2.0), Steps(20)], play: true, show: [EffectiveStep, Depth]),
        (text: "And on.", set: [Steps(40)], play: true, show: [EffectiveStep]),
        (text: "Without noise.", set: [Noise(0.0), Steps(30)], play: true),
    ],
)"#;

pub fn run_of(app: &App) -> (u64, u64, Playback) {
    let snapshot = app.state().live().snapshot.as_ref().expect("there is one");
    (snapshot.run, snapshot.step, snapshot.playback)
}

/// Runs frames until a run with this number or a later one has ended at a step; returns its number.
fn ended_at(app: &mut App, step: u64, least: u64) -> u64 {
    app.until("the end of the run", |app| {
        let (run, at, playback) = run_of(app);
        (at, playback) == (step, Playback::Finished) && run >= least
    });
    run_of(app).0
}

#[test]
fn a_lesson_step_plays_to_its_pause_and_the_next_continues_from_there() {
    let mut app = App::with(PAUSING);
    assert_eq!(run_of(&app).2, Playback::Paused);
    app.button("Next step of the lesson");
    let first = ended_at(&mut app, 20, 0);
    app.button("Next step of the lesson");
    assert_eq!(ended_at(&mut app, 40, first), first, "a step that only pauses later goes on with the run");
    // The run restarts, with the same end.
    app.button("Again");
    let again = ended_at(&mut app, 40, first + 1);
    // A step that sets something else starts another run, and so does the way back.
    app.button("Next step of the lesson");
    let other = ended_at(&mut app, 30, again + 1);
    app.button("Previous step of the lesson");
    ended_at(&mut app, 40, other + 1);
    assert_eq!(app.state().document().spec(0).noise.sigma(), 2.0);
}

#[test]
fn the_next_step_of_a_lesson_plays_also_after_a_pause() {
    let text = PAUSING.replace("Steps(20)", "Steps(100000)").replace("Steps(40)", "Steps(200000)");
    let mut app = App::with(&text);
    for (begins, key) in [(true, Key::PageDown), (false, Key::PageDown)] {
        let before = run_of(&app);
        app.harness.key_press(key);
        app.until("it plays", |app| {
            let now = run_of(app);
            now.2 == Playback::Playing && (now.0 > before.0) == begins && (begins || now.1 > before.1)
        });
        app.harness.key_press(Key::Space);
        app.until("the pause", |app| run_of(app).2 == Playback::Paused);
    }
}

#[test]
fn the_contents_of_a_lesson_go_to_any_step() {
    let text = PAUSING.replace("(text: \"See.\"", "(section: \"First part\", text: \"See.\"");
    let text = text.replace("(text: \"Without", "(section: \"Second part\", text: \"Without");
    let mut app = App::with(&text);
    assert!(app.shows("First part · See.") && !app.shows("Second part"));
    app.button("Step 1 / 4, contents of the lesson");
    assert!(app.shows("First part") && app.shows("Second part"), "the sections are listed");
    assert!(app.shows("Go to step 2: To the first pause."));
    app.press("Go to step 4: Without noise.").settle();
    assert!(app.shows("Step 4 / 4") && app.shows("Second part · Without noise."));
    assert!(!app.shows("Go to step"), "the list closes");
    assert_eq!(app.state().document().spec(0).noise.sigma(), 0.0);
    let run = ended_at(&mut app, 30, 0);
    // A step that goes on with a run begins it where it is jumped to.
    app.button("Step 4 / 4, contents of the lesson");
    app.press("Go to step 3: And on.");
    ended_at(&mut app, 40, run + 1);
    assert!(app.shows("First part · And on."), "a section lasts until the next");
    assert_eq!(app.state().document().spec(0).noise.sigma(), 2.0);
}

#[test]
fn an_opened_lesson_plays_whether_or_not_its_first_step_does() {
    let mut app = App::plain();
    app.settle();
    for plays in [false, true] {
        let title = format!("Plays: {plays}");
        let text = PAUSING.replace("A lesson that pauses", &title);
        let step = format!("(text: \"See.\", set: [Steps(20)], play: {plays})");
        let path = app.write("playing.ron", &text.replace("(text: \"See.\")", &step));
        app.open(&path);
        app.until("it is open", |app| app.shows(&title));
        app.until("the end", |app| run_of(app).2 == Playback::Finished);
    }
}

#[test]
fn a_lesson_from_the_command_line_plays() {
    for plays in [false, true] {
        let step = format!("(text: \"See.\", set: [Steps(20)], play: {plays})");
        let preset = PAUSING.replace("(text: \"See.\")", &step);
        let mut app = App::begin(Begin { preset: Some(&preset), play: true, ..Begin::default() });
        app.until("the end", |app| run_of(app).2 == Playback::Finished);
    }
}

#[test]
fn the_contents_of_each_lesson_fit_into_a_small_window() {
    for built_in in built_ins() {
        let Preset::Landscape(preset) = &built_in.preset else { continue };
        if preset.lesson.is_empty() {
            continue;
        }
        let mut app = App::begin(Begin { preset: Some(built_in.text), size: [900.0, 600.0], ..Begin::default() });
        app.button(&format!("Step 1 / {}, contents of the lesson", preset.lesson.len()));
        app.settle();
        let screen = egui::Rect::from_min_size(egui::Pos2::ZERO, egui::vec2(900.0, 600.0));
        for number in 1..=preset.lesson.len() {
            let entry = app.harness.get_by_label_contains(&format!("Go to step {number}:")).rect();
            assert!(screen.contains_rect(entry), "{}, step {number}: {entry}", built_in.name);
        }
    }
}

#[test]
fn a_presentation_keeps_the_plots_of_the_lesson_and_the_state_of_the_run() {
    let mut app = App::with(PAUSING);
    let plots = |app: &App| -> Vec<bool> {
        let has = |name| app.harness.query_by_label(name).is_some();
        ["Plot of effective step size", "Plot of depth u", "Plot of loss L"].map(has).to_vec()
    };
    assert_eq!(plots(&app), [true, true, true], "in the window all are shown that are chosen");
    app.key(Key::F11);
    assert_eq!(plots(&app), [true, true, true], "a step that names none leaves the chosen ones");
    assert!(app.shows("Step 0 · σ = 0.5 · paused"));
    app.key(Key::PageDown);
    assert_eq!(plots(&app), [true, true, false]);
    ended_at(&mut app, 20, 0);
    app.settle();
    assert!(app.shows("Step 20 · σ = 2 · finished"));
    app.key(Key::PageDown);
    assert_eq!(plots(&app), [true, false, false]);
    app.key(Key::F11);
    assert_eq!(plots(&app), [true, true, true], "the choice of plots is as it was");
}

#[test]
fn the_plots_of_a_lesson_come_first_and_can_be_hidden() {
    let mut app = App::begin(Begin { preset: Some(PAUSING), size: [900.0, 600.0], ..Begin::default() });
    let plot = |app: &App| app.harness.query_by_label("Plot of effective step size").map(|plot| plot.rect());
    let screen = egui::Rect::from_min_size(egui::Pos2::ZERO, egui::vec2(900.0, 600.0));
    app.button("Next step of the lesson").settle();
    let first = plot(&app).expect("the plot is shown");
    let loss = app.harness.get_by_label("Plot of loss L").rect();
    assert!(screen.contains_rect(first) && first.top() < loss.top(), "{first} {loss}");
    if app.harness.query_by_role_and_label(Role::Button, "Plots").is_some() {
        app.button("Plots");
    }
    app.button("Effective step").settle();
    assert!(plot(&app).is_none(), "who hides it does not see it");
}

#[test]
fn going_through_a_lesson_leaves_the_preset_unchanged() {
    let mut app = App::with(LESSON);
    for _ in 0..2 {
        app.button("Next step of the lesson");
        assert!(!app.shows("changed"));
    }
    app.set_slider("Noise σ", 1.5);
    assert!(app.shows("changed"), "what the lesson sets can be edited too");
    app.button("Again");
    assert!(!app.shows("changed"));
    app.set_slider("Sharpness a", 100.0);
    app.button("Previous step of the lesson");
    assert!(app.shows("changed"), "an edit is one at every step");
}

#[test]
fn a_lesson_step_scrolls_to_the_control_that_it_sets() {
    let Preset::Landscape(lesson) = &built_ins().iter().find(|b| b.name == "lesson").expect("there is one").preset
    else {
        panic!("a simulation")
    };
    let mut app = App::begin(Begin { size: [1280.0, 640.0], ..Begin::default() });
    app.menu("Presets", &lesson.title);
    app.settle();
    let visible = |app: &App| {
        let screen = egui::Rect::from_min_size(egui::Pos2::ZERO, egui::vec2(1280.0, 560.0));
        screen.contains_rect(app.slider("FOCUS: Attraction γ").rect())
    };
    assert!(!visible(&app), "in this window it is below the edge at first");
    for _ in 0..4 {
        app.button("Next step of the lesson");
    }
    app.settle();
    app.settle();
    assert!(visible(&app), "{:?}", app.slider("FOCUS: Attraction γ").rect());
}

#[test]
fn a_lesson_keeps_settings_that_it_does_not_set() {
    let mut app = App::with(LESSON);
    app.set_slider("Sharpness a", 100.0);
    app.set_slider("Noise σ", 1.5);
    app.button("Again");
    assert_eq!(app.state().document().spec(0).noise.sigma(), 0.0, "the step's own setting is in force again");
    assert_eq!(app.state().document().spec(0).landscape.get("sharpness").unwrap(), 100.0);
}

#[test]
fn a_lesson_without_its_optimizer_is_reported() {
    let mut app = App::with(LESSON);
    app.button("+ Add optimizer");
    app.button("Adam");
    app.button("Signum: remove");
    app.button("Next step of the lesson").settle();
    assert!(app.shows("The lesson does not fit"));
    assert!(app.shows("1 / 3"), "the step that does not fit is not gone to");
}

#[test]
fn a_preset_is_saved_without_a_lesson_whose_optimizer_is_gone() {
    let mut app = App::with(LESSON);
    app.button("+ Add optimizer");
    app.button("Adam");
    app.button("Signum: remove").settle();
    app.menu("File", "Save");
    assert!(app.shows("Without the lesson"));
    app.button("Save to my presets");
    let path = app.folder.path().join("presets").join("a-lesson-changed-adam.ron");
    app.until("the file", |_| path.exists());
    let Preset::Landscape(saved) = Preset::read(&path).expect("the saved preset can be read") else {
        panic!("a simulation")
    };
    assert!(saved.lesson.is_empty());
    assert_eq!(saved.spec(), app.state().document().spec(0));
}

#[test]
fn a_lesson_is_readable_in_a_presentation() {
    let mut app = App::with(LESSON);
    app.key(Key::F11);
    assert!(app.harness.query_by_role_and_label(Role::Slider, "Sharpness a").is_none(), "the panels are away");
    assert!(app.harness.query_by_role_and_label(Role::Button, "File").is_none());
    assert!(app.shows("It begins without noise."));
    app.key(Key::PageDown);
    assert!(app.shows("Now there is noise."));
    app.key(Key::Escape);
    assert!(app.harness.query_by_role_and_label(Role::Slider, "Sharpness a").is_some(), "the panels are back");
}

#[test]
fn a_recorded_session_is_repeated_and_shows_in_the_controls() {
    let recorded = r#"Landscape(
        version: 1,
        title: "Recorded",
        simulations: [(spec: (noise: 1.0, optimizers: [(id: 0, rule: Adam(learning_rate: 0.01))]), changes: [(step: 3, set: Noise(2.0)), (step: 6, set: Noise(0.5))])],
    )"#;
    let mut app = App::with(recorded);
    assert_eq!(app.state().document().spec(0).noise.sigma(), 1.0);
    let shown = |app: &App| app.state().document().spec(0).noise.sigma();
    for (steps, noise) in [(5, 2.0), (5, 0.5)] {
        (0..steps).for_each(|_| app.harness.key_press(Key::ArrowRight));
        app.until("the recorded change", |app| shown(app) == noise);
    }
}

#[test]
fn a_start_without_a_session_shows_a_built_in_preset() {
    let app = App::begin(Begin { preset: None, ..Begin::default() });
    let Preset::Landscape(first) = &built_ins()[0].preset else { panic!("a simulation") };
    assert!(app.shows(&first.title));
}

#[test]
fn own_presets_are_visible_without_scrolling() {
    let begin = Begin { size: [900.0, 600.0], ..Begin::default() };
    let mut app = App::prepared(begin, |folder| {
        let folder = folder.join("presets");
        std::fs::create_dir(&folder).expect("the test's folder can be written");
        for number in 1..=30 {
            let preset = PLAIN.replace("Plain", &format!("Mine {number:02}"));
            std::fs::write(folder.join(format!("mine-{number:02}.ron")), preset).expect("it can be written");
        }
    });
    app.button("Presets");
    app.until("the list", |app| app.shows("Your own (30)"));
    app.settle();
    let screen = egui::Rect::from_min_size(egui::Pos2::ZERO, egui::vec2(900.0, 600.0));
    let entry = app.harness.get_by_label_contains("Your own").rect();
    assert!(screen.contains_rect(entry), "{entry}");
    app.press("Your own").settle();
    let first = app.harness.get_by_label("Mine 01").rect();
    assert!(screen.contains_rect(first), "{first}");
    app.press("Mine 02");
    app.until("the preset", |app| app.shows("Mine 02") && !app.shows("Mine 01"));
}
