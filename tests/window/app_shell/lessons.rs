//! Writing a lesson in the window: its steps, and what they set, show and mark.

use egui::accesskit::Role;
use egui::{Event, Key, Modifiers, PointerButton, Rect, Shape, pos2};
use egui_kittest::kittest::{NodeT, Queryable};
use valleyscope::player::Playback;
use valleyscope_engine::simulation::Setting;
use valleyscope_experiments::preset::{LandscapePreset, LessonStep, Preset, built_ins};

use super::harness::{App, Begin, PLAIN};
use super::timeline::noise;

/// A lesson of two steps, the second of which has more noise.
const LESSON: &str = r#"Landscape(
    version: 1,
    title: "A lesson",
    simulations: [(spec: (
        noise: 0.5,
        optimizers: [(id: 0, rule: Adam(learning_rate: 0.01)), (id: 1, rule: Signum(learning_rate: 0.01))],
    ))],
    lesson: [
        (text: "It begins as it is.", set: [Steps(40)]),
        (text: "Now there is more noise.", set: [Noise(1.0), Steps(40)], show: [EffectiveStep]),
    ],
)"#;

const TEXT: (&str, Role) = ("Text of the step", Role::MultilineTextInput);

/// Opens the editor of [`LESSON`].
fn editing() -> App {
    let mut app = App::with(LESSON);
    app.menu("Edit", "Edit the lesson…");
    app.settle();
    app
}

/// Saves the preset under its title and returns it as it is read again.
fn saved(app: &mut App, name: &str) -> LandscapePreset {
    app.settle();
    app.menu("File", "Save as…");
    app.button("Save to my presets");
    let path = app.folder.path().join("presets").join(name);
    app.until("the file", |_| path.exists());
    let Ok(Preset::Landscape(preset)) = Preset::read(&path) else { panic!("a landscape was saved") };
    preset
}

#[test]
fn a_lesson_is_begun_on_any_preset_and_saved_with_it() {
    let mut app = App::with(PLAIN);
    app.menu("Edit", "Begin a lesson…");
    app.settle();
    assert!(app.shows("1 / 1"), "the lesson has one step");
    app.replace(TEXT.0, TEXT.1, "Look at Adam.");
    assert!(app.harness.query_all_by_label("Look at Adam.").count() >= 1, "the bar shows the text at once");
    app.replace("Section of the step", Role::TextInput, "Noise");
    app.button("Add a step");
    assert!(app.shows("2 / 2"));
    app.set_slider("Noise σ", 2.0).settle();
    assert!(app.shows("The present settings are others."));
    app.button("Take over the present settings");
    assert!(!app.shows("The present settings are others."));
    assert!(app.shows("σ 1 → 2"), "what the step sets");
    app.settle();
    let preset = saved(&mut app, "plain.ron");
    assert_eq!((preset.lesson.len(), preset.spec().noise.sigma()), (2, 1.0), "the lesson begins without the change");
    assert_eq!((preset.lesson[0].text.as_str(), preset.lesson[0].section.as_deref()), ("Look at Adam.", Some("Noise")));
    assert!(matches!(preset.lesson[1].set[..], [Setting::Noise(noise)] if noise.sigma() == 2.0));
}

#[test]
fn the_text_of_a_step_says_which_settings_it_describes_once_these_are_others() {
    let mut app = App::with(LESSON);
    app.settle();
    assert!(!app.shows("Settings changed"));
    app.set_slider("Noise σ", 2.0).settle();
    assert!(app.shows("Settings changed: this text describes σ = 0.5."));
    app.undo();
    app.settle();
    assert!(!app.shows("Settings changed"));
}

#[test]
fn steps_are_added_moved_and_removed_and_each_edit_can_be_undone() {
    let mut app = editing();
    app.button("Copy the step");
    assert!(app.shows("2 / 3"));
    app.button("Edit step 3").settle();
    assert_eq!(noise(&app), 1.0, "the list shows a step like the class bar");
    app.button("Move the step up");
    app.button("Move the step up").settle();
    assert!(app.shows("1 / 3"));
    assert!(app.harness.query_all_by_label_contains("Now there is more noise.").count() >= 1);
    app.button("Remove the step").settle();
    assert!(app.shows("1 / 2"));
    assert_eq!(noise(&app), 0.5);
    app.undo();
    assert!(app.shows("1 / 3"), "the removed step is back");
    assert_eq!(noise(&app), 1.0);
    (0..4).for_each(|_| app.undo());
    assert!(app.shows("1 / 2"));
    assert!(!app.shows("changed"), "everything is undone");
}

#[test]
fn errors_are_shown_where_they_are() {
    let mut app = editing();
    app.focus(TEXT.1, TEXT.0);
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
    app.harness.run_steps(2);
    app.key(Key::Delete);
    assert!(app.shows("`lesson[0].text` must not be empty"));
    assert!(app.shows("Edit step 1, which has an error"));
    app.menu("File", "Save");
    assert!(app.shows("Without the lesson, which could not be opened again"));
}

#[test]
fn a_step_continues_a_run_or_begins_one_and_pauses() {
    let mut app = editing();
    app.button("Edit step 2").settle();
    let begins =
        |app: &App| app.harness.get_by_role_and_label(Role::CheckBox, "Begins anew").accesskit_node().is_disabled();
    assert!(begins(&app), "other noise begins a run in any case");
    app.button("Take out σ 0.5 → 1").settle();
    assert_eq!(noise(&app), 0.5);
    assert!(app.shows("goes on with the run of `lesson[0]`, which pauses at step 40"), "a continued run pauses later");
    app.set(Role::SpinButton, "Step at which the run pauses", 90.0);
    assert!(!app.shows("goes on with the run"));
    assert_eq!(app.state().document().spec(0).steps, Some(90));
    app.click(Role::CheckBox, "Plays when shown");
    let preset = saved(&mut app, "a-lesson.ron");
    assert_eq!(preset.lesson[1].set, [Setting::Steps(Some(90))]);
    assert!(preset.lesson[1].play);
}

#[test]
fn notes_plots_views_formulas_and_figures_are_chosen() {
    let mut app = editing();
    app.replace("Notes of the step", Role::MultilineTextInput, "Ask why.");
    app.button("The step names Spread |v|");
    app.choose("Update rule that the step shows", "Signum");
    assert!(app.shows("A step of Signum"), "the rule stands beside the landscape");
    app.replace("Highlighted part of the rule", Role::TextInput, "sign(s)");
    assert!(app.shows("`lesson[0].term` must be a part of one of the lines"));
    app.replace("Highlighted part of the rule", Role::TextInput, "sign(m)");
    assert!(!app.shows("`lesson[0].term`"));
    app.choose("Figure that the step shows", "fig2a");
    app.click(Role::CheckBox, "Point");
    app.until("the picture", |app| app.shows("Figure fig2a, with a marked point"));
    app.key(Key::Num3);
    app.button("Take over the present view").settle();
    let space = |app: &App| app.state().document().view.is_in_space();
    assert!(space(&app));
    app.button("Next step of the lesson").settle();
    assert!(space(&app), "the view stays");
    let preset = saved(&mut app, "a-lesson.ron");
    let step = &preset.lesson[0];
    assert_eq!((step.show.len(), step.formula), (1, Some(1)));
    assert_eq!((step.term.as_deref(), step.notes.as_str()), (Some("sign(m)"), "Ask why."));
    assert_eq!(step.figure.as_ref().and_then(|figure| figure.point), Some([0.5, 10.0]), "σ and a of the lesson");
    assert!(step.view.as_ref().is_some_and(|view| view.is_in_space()));
    assert!(preset.view.is_none_or(|view| !view.is_in_space()), "the preset's own view is as before");
}

#[test]
fn what_is_beside_is_taken_over_and_taken_out() {
    let mut app = editing();
    app.button("+ Side by side");
    app.press("again, to change some").settle();
    app.set_slider("Noise σ", 2.0).settle();
    assert!(app.shows("The present settings are others."));
    app.button("Take over the present settings").settle();
    assert!(!app.shows("The present settings are others."));
    assert!(app.shows("Take out B: σ = 2"));
    let noises = |app: &App| app.state().document().specs().map(|spec| spec.noise.sigma()).collect::<Vec<_>>();
    app.button("Edit step 2").settle();
    assert_eq!(noises(&app), [1.0], "the next step shows one alone");
    app.button("Edit step 1").settle();
    assert_eq!(noises(&app), [0.5, 2.0]);
    let preset = saved(&mut app, "a-lesson.ron");
    assert!(matches!(&preset.lesson[0].compared[..], [set] if matches!(set[..], [Setting::Noise(_)])));
    assert!(preset.simulations.len() == 1 && preset.lesson[1].compared.is_empty());
    app.settle();
    app.button("Take out B: σ = 2").settle();
    assert_eq!(noises(&app), [0.5]);
    assert!(!app.shows("Take out B") && !app.shows("The present settings are others."));
}

#[test]
fn a_mark_is_shown_on_the_timeline_and_leads_to_its_step() {
    let mut app = editing();
    for _ in 0..2 {
        app.harness.key_press_modifiers(Modifiers::SHIFT, Key::ArrowRight);
        app.harness.run_steps(3);
    }
    let step = |app: &App| app.state().live().snapshot.as_ref().map(|snapshot| [snapshot.step, snapshot.last_step]);
    app.until("20 steps", |app| step(app) == Some([20, 20]));
    app.settle();
    app.button("Mark step 20");
    app.replace("Words of mark 1", Role::TextInput, "Adam starves");
    app.key(Key::Escape);
    app.harness.key_press(Key::Home);
    app.until("the start", |app| step(app) == Some([0, 20]));
    app.press("Step 20: Adam starves");
    app.until("the step of the mark", |app| step(app) == Some([20, 20]));
    app.press("Step 40: pause");
    app.until("the step of the pause", |app| step(app) == Some([40, 40]));
    let plot = app.harness.get_by_label("Plot of loss L").rect();
    let mut xs = (plot.left() as usize..plot.right() as usize).step_by(3);
    let is_marked = |app: &mut App, x: usize| {
        app.harness.hover_at(egui::pos2(x as f32, plot.center().y));
        app.harness.run_steps(3);
        app.harness.query_all_by_label_contains("Step 20: Adam starves\nClick to go there.").next().is_some()
    };
    assert!(xs.any(|x| is_marked(&mut app, x)), "the plots have the mark, too");
}

#[test]
fn an_unfinished_lesson_comes_back_with_the_session() {
    let mut app = editing();
    app.button("Add a step");
    app.replace(TEXT.0, TEXT.1, " ");
    app.settle();
    let storage = app.state().session();
    let app = App::begin(Begin { preset: None, storage: Some(&storage), ..Begin::default() });
    assert!(app.shows("2 / 3"), "the added step is shown");
    assert!(app.shows("changed"));
}

#[test]
fn keys_of_a_clicker_work_while_a_number_is_typed() {
    let mut app = App::with(LESSON);
    app.focus(Role::TextInput, "Noise σ, number");
    app.harness.get_by_role_and_label(Role::TextInput, "Noise σ, number").type_text("7");
    app.harness.run_steps(2);
    app.key(Key::PageDown);
    assert!(app.shows("2 / 2"));
    assert_eq!(noise(&app), 1.0, "the step's own noise is in force");
    app.key(Key::PageUp);
    assert!(app.shows("1 / 2"));
    assert_eq!(noise(&app), 0.5);
}

const PRESENTED_LESSON: &str = r#"Landscape(
    version: 1,
    title: "A lesson",
    simulations: [(spec: (
        noise: 0.5,
        optimizers: [
            (id: 0, rule: Adam(learning_rate: 0.01)),
            (id: 1, rule: Signum(learning_rate: 0.01)),
            (id: 2, rule: Focus(learning_rate: 0.01, gamma: 0.0)),
        ],
    ))],
    lesson: [
        (text: "It begins as it is."),
        (
            text: "Now there is more noise, which is the only thing that has changed, and the plots show what it does.",
            set: [Noise(1.0), Steps(20)],
            play: true,
            show: [EffectiveStep, Depth],
        ),
        (text: "It goes on for a while.", set: [Steps(100000)], play: true, show: [Depth]),
        (
            text: "FOCUS is attracted to its average.",
            set: [Rule(optimizer: 2, rule: Focus(learning_rate: 0.02, gamma: 0.2))],
        ),
    ],
)"#;

#[test]
fn the_rows_of_the_editor_stay_where_they_are() {
    let mut app = editing();
    app.button("Edit step 2").settle();
    let rows = |app: &App| {
        let fields = [
            (Role::CheckBox, "Begins anew"),
            (Role::Button, "Take over the present view"),
            (Role::Button, "Take over the present settings"),
            (Role::ComboBox, "Update rule that the step shows"),
            (Role::ComboBox, "Figure that the step shows"),
        ];
        fields.map(|(role, name)| app.harness.get_by_role_and_label(role, name).rect())
    };
    let mark = |app: &App| app.harness.get_by_label_contains("Mark step").rect();
    let (before, button) = (rows(&app), mark(&app));
    app.set_slider("Noise σ", 2.0).settle();
    assert!(app.shows("The present settings are others."));
    assert_eq!(rows(&app), before, "a warning appears");
    app.set_slider("Sharpness a", 30.0).settle();
    app.button("Take over the present settings").settle();
    assert_eq!(rows(&app), before, "the list of settings grows");
    for _ in 0..2 {
        app.press("Mark step").settle();
    }
    assert_eq!((rows(&app), mark(&app)), (before, button), "the list of marks grows");
}

/// Starts a presentation of the lesson at a step, from 0.
fn presenting(size: [f32; 2], pixels_per_point: f32, step: usize) -> App {
    let mut app = App::begin(Begin { preset: Some(PRESENTED_LESSON), size, pixels_per_point, ..Begin::default() });
    app.key(Key::F11);
    (0..step).for_each(|_| app.key(Key::PageDown));
    app
}

/// Returns the names of the sliders of settings.
fn sliders(app: &App) -> Vec<String> {
    let sliders = app.harness.query_all_by_role(Role::Slider);
    let names = sliders.filter_map(|slider| egui_kittest::kittest::NodeT::accesskit_node(&slider).label());
    names.filter(|name| name != "Timeline").collect()
}

#[test]
fn a_presentation_fills_every_screen_with_all_its_parts() {
    for (size, pixels_per_point) in [
        ([900.0, 600.0], 1.0),
        ([1280.0, 720.0], 1.0),
        ([1920.0, 1080.0], 1.0),
        ([3840.0, 2160.0], 1.0),
        ([1920.0, 1080.0], 2.0),
    ] {
        let mut app = presenting(size, pixels_per_point, 1);
        app.until("the player's noise of the step", |app| {
            app.state().live().snapshot.as_ref().is_some_and(|snapshot| snapshot.sessions[0].spec.noise.sigma() == 1.0)
        });
        let screen = app.harness.ctx.content_rect();
        let enlargement = app.harness.ctx.zoom_factor();
        let expected = (size[0] / 900.0).min(size[1] / 506.0);
        assert!((enlargement - expected).abs() < 0.01 * expected, "{size:?} is enlarged by {enlargement}");
        let node = |role, name: &str| app.harness.get_by_role_and_label(role, name).rect();
        let mut parts: Vec<Rect> =
            ["effective step size", "depth u"].map(|name| node(Role::Figure, &format!("Plot of {name}"))).to_vec();
        parts.push(app.harness.get_by_label_contains("Now there is more noise").rect());
        parts.push(app.harness.get_by_label_contains("· σ = 1 ·").rect());
        parts.push(node(Role::Slider, "Timeline"));
        parts.extend([
            node(Role::Canvas, "Landscape"),
            node(Role::Slider, "Noise σ"),
            node(Role::CheckBox, "Show Adam"),
        ]);
        for (index, part) in parts.iter().enumerate() {
            assert!(screen.contains_rect(*part), "{part} is not within {screen} in {size:?}");
            for other in &parts[..index] {
                assert!(!part.shrink(1.0).intersects(*other), "{part} covers {other} in {size:?}");
            }
        }
        let landscape = node(Role::Canvas, "Landscape");
        assert!(landscape.width() > 0.4 * screen.width() && landscape.height() > 0.4 * screen.height(), "{landscape}");
    }
}

#[test]
fn the_end_of_a_presentation_restores_the_size_of_the_interface() {
    let mut app = App::begin(Begin { preset: Some(PRESENTED_LESSON), size: [1920.0, 1080.0], ..Begin::default() });
    app.harness.ctx.set_zoom_factor(1.1);
    app.settle();
    app.key(Key::F5);
    assert!(app.harness.ctx.zoom_factor() > 2.0, "a clicker's key begins it");
    let filled = app.harness.ctx.zoom_factor();
    app.keys(egui::Modifiers::COMMAND, Key::Minus);
    assert!(app.harness.ctx.zoom_factor() < filled, "the user can choose smaller type");
    let storage = app.state().session();
    app.key(Key::Escape);
    assert_eq!(app.harness.ctx.zoom_factor(), 1.1);
    let again = App::begin(Begin { preset: None, storage: Some(&storage), ..Begin::default() });
    assert_eq!(again.harness.ctx.zoom_factor(), 1.1, "a window closed in a presentation begins as before it");
}

#[test]
fn a_presentation_has_the_sliders_that_the_lesson_sets() {
    let mut app = presenting([1280.0, 720.0], 1.0, 0);
    assert_eq!(sliders(&app), ["Noise σ"], "without any, that of the noise");
    app.key(Key::PageDown);
    assert_eq!(sliders(&app), ["Noise σ"]);
    app.key(Key::PageDown);
    assert_eq!(sliders(&app), ["Noise σ"], "a step that goes on keeps those of the step before");
    app.key(Key::PageDown);
    assert_eq!(sliders(&app), ["FOCUS: Learning rate η", "FOCUS: Attraction γ"]);
    app.set_slider("FOCUS: Attraction γ", 0.5);
    let rule = app.state().document().spec(0).optimizers[2].rule.rule;
    assert_eq!(rule.get("gamma"), Some(0.5));
}

#[test]
fn pinned_sliders_are_in_presentations_and_the_next_session() {
    let mut app = App::begin(Begin { preset: Some(PRESENTED_LESSON), ..Begin::default() });
    for name in ["Sharpness a", "Adam: Momentum β₁", "Start x"] {
        app.pin(name);
    }
    app.pin("Start x");
    app.pin("Particles");
    let storage = app.state().session();
    let mut app = App::begin(Begin { preset: None, storage: Some(&storage), ..Begin::default() });
    app.key(Key::F11);
    assert_eq!(sliders(&app), ["Sharpness a", "Adam: Momentum β₁", "Particles"]);
    app.set_slider("Sharpness a", 50.0);
    assert_eq!(app.state().document().spec(0).landscape.get("sharpness"), Some(50.0));
    app.key(Key::PageDown);
    assert_eq!(sliders(&app), ["Noise σ", "Sharpness a", "Adam: Momentum β₁"], "the lesson's come first");
}

#[test]
fn a_black_screen_holds_the_run_until_a_key_gives_it_back() {
    let mut app = presenting([1280.0, 720.0], 1.0, 2);
    let step = |app: &App| app.state().live().snapshot.as_ref().map_or(0, |snapshot| snapshot.step);
    app.until("some steps", |app| step(app) > 5);
    for (begin, end) in [(Key::B, Key::B), (Key::Period, Key::PageDown)] {
        app.key(begin);
        let is_black = app.harness.query_by_label("Black screen").is_some();
        assert!(is_black, "{begin:?} blackens the screen");
        // A snapshot from before the hold may still arrive.
        std::thread::sleep(std::time::Duration::from_millis(300));
        app.settle();
        let held = step(&app);
        std::thread::sleep(std::time::Duration::from_millis(300));
        app.settle();
        assert_eq!(step(&app), held, "nothing is missed");
        app.key(end);
        assert!(app.harness.query_by_label("Black screen").is_none(), "{end:?} gives it back");
        assert!(app.shows("3 / 4"), "the key does nothing else");
        app.until("more steps", |app| step(app) > held);
        assert_eq!(app.state().live().playback(), Playback::Playing);
    }
    app.key(Key::B);
    let at = pos2(300.0, 200.0);
    for pressed in [true, false] {
        let modifiers = egui::Modifiers::NONE;
        app.harness.event(Event::PointerMoved(at));
        app.harness.event(Event::PointerButton { pos: at, button: PointerButton::Primary, pressed, modifiers });
        app.harness.step();
    }
    app.settle();
    assert!(app.harness.query_by_label("Black screen").is_none(), "so does a click");
    app.key(Key::F11);
    app.key(Key::B);
    assert!(app.harness.query_by_label("Black screen").is_none(), "only a presentation is blackened");
}

#[test]
fn a_ring_shows_the_pointer() {
    let mut app = presenting([1280.0, 720.0], 1.0, 0);
    let at = pos2(300.0, 200.0);
    app.harness.event(Event::PointerMoved(at));
    let rings = |app: &App| {
        let shapes = app.harness.output().shapes.iter();
        shapes
            .filter(|clipped| matches!(&clipped.shape, Shape::Circle(ring) if ring.center == at && ring.radius > 15.0))
            .count()
    };
    app.settle();
    assert_eq!(rings(&app), 0);
    app.key(Key::P);
    assert!(rings(&app) > 0);
    app.key(Key::P);
    assert_eq!(rings(&app), 0);
}

#[test]
fn page_keys_go_through_a_lesson_also_from_a_slider() {
    let mut app = presenting([1280.0, 720.0], 1.0, 0);
    app.slider("Noise σ").focus();
    app.harness.run_steps(2);
    app.key(Key::PageDown);
    assert!(app.shows("2 / 4"));
    app.key(Key::PageUp);
    assert!(app.shows("1 / 4"));
}

/// Starts a presentation of a built-in lesson, which does not play.
fn presenting_built_in(name: &str, size: [f32; 2]) -> App {
    let built_in = built_ins().iter().find(|built_in| built_in.name == name).expect("it is built in");
    let mut app = App::begin(Begin { preset: Some(built_in.text), size, ..Begin::default() });
    app.key(Key::F11);
    app
}

#[test]
fn every_step_of_every_lesson_has_two_lines_a_whole_rule_and_room_for_the_pictures() {
    for size in [[1280.0, 720.0], [1440.0, 900.0], [1920.0, 1080.0]] {
        for built_in in built_ins() {
            let Preset::Landscape(preset) = &built_in.preset else { continue };
            if preset.lesson.is_empty() {
                continue;
            }
            let mut app = presenting_built_in(built_in.name, size);
            let screen = app.harness.ctx.content_rect();
            for (index, step) in preset.lesson.iter().enumerate() {
                let of = format!("{} {} at {size:?}", built_in.name, index + 1);
                let text = app.harness.get_by_role_and_label(Role::Label, &shown_text(&preset.lesson, index)).rect();
                assert!(text.height() <= 2.0 * 17.0 * 1.3, "{of}: the text is {} high", text.height());
                let timeline = app.harness.get_by_role_and_label(Role::Slider, "Timeline").rect();
                // Between the bar, in which the text is centred, and the marks of the timeline.
                let pictures = timeline.top() - 9.0 - (text.center().y + 28.0);
                assert!(pictures >= screen.height() * 2.0 / 3.0, "{of}: {pictures} of {}", screen.height());
                let plots: Vec<Rect> = app.harness.query_all_by_role(Role::Figure).map(|plot| plot.rect()).collect();
                let fits = |plot: &Rect| plot.bottom() <= timeline.top() && screen.contains_rect(*plot);
                assert!(!plots.is_empty() && plots.iter().all(fits), "{of}: {plots:?}");
                if step.formula.is_some() {
                    app.until("numbers of a particle", |app| index == 0 || app.shows("particle 1, step"));
                    let rule = app.harness.get_by_label_contains("A step of ");
                    let node = rule.accesskit_node();
                    let name: String = [node.label(), node.value()].into_iter().flatten().collect();
                    for (line, _) in step.rule_lines(&preset.spec_at(index).expect("it fits")) {
                        assert!(name.contains(&line), "{of}: {line}");
                    }
                    let (rule, lines) = (rule.rect(), name.lines().count() as f32);
                    assert!(rule.height() <= lines * 16.0 * 1.35, "{of}: lines of the rule are broken");
                    let column =
                        Rect::from_x_y_ranges(0.62 * screen.width()..=screen.right(), text.bottom()..=timeline.top());
                    assert!(column.contains_rect(rule), "{of}: {rule} is not within {column}");
                    assert!(plots.iter().all(|plot| plot.top() > rule.bottom()), "{of}: the rule meets a plot");
                }
                for slider in app.harness.query_all_by_role(Role::Slider) {
                    assert!(slider.rect().width() >= 120.0, "{of}: {:?}", slider.accesskit_node().label());
                }
                app.key(Key::PageDown);
            }
        }
    }
}

/// Returns the text of a step as it is shown, after the name of its section.
fn shown_text(lesson: &[LessonStep], index: usize) -> String {
    let section = lesson[..=index].iter().rev().find_map(|step| step.section.as_ref()).expect("it has sections");
    format!("{section} · {}", lesson[index].text)
}

#[test]
fn notes_are_shown_and_hidden() {
    let mut app = presenting_built_in("lesson-focus", [1280.0, 720.0]);
    let notes = "FOCUS adds the attraction to where it was";
    assert!(!app.shows(notes), "the class does not see them");
    app.key(Key::N);
    assert!(app.shows(notes));
    app.key(Key::PageDown);
    assert!(app.shows("at step 300 both are at u = 1.9"));
    app.button("Hide the speaker notes");
    assert!(!app.shows("at step 300 both are at u = 1.9"));
}

#[test]
fn the_notes_are_as_high_as_their_text_in_the_window_and_in_a_presentation() {
    let built_in = built_ins().iter().find(|built_in| built_in.name == "lesson").expect("it is built in");
    let mut app = App::begin(Begin { preset: Some(built_in.text), size: [1280.0, 720.0], ..Begin::default() });
    let screen = app.harness.ctx.content_rect();
    for (key, heading, notes) in [
        (Key::N, "Speaker notes 1 / 7", "Its floor slopes down"),
        (Key::F11, "Speaker notes 1 / 7", "Its floor slopes down"),
        (Key::PageDown, "Speaker notes 2 / 7", "Watch the run from its start"),
    ] {
        app.key(key);
        let heading = app.harness.get_by_label(heading).rect();
        let notes = app.harness.get_by_label_contains(notes).rect();
        let canvas = app.harness.get_by_role_and_label(Role::Canvas, "Landscape").rect();
        let timeline = app.harness.get_by_role_and_label(Role::Slider, "Timeline").rect();
        let fills = app.harness.output().shapes.iter().filter_map(|clipped| match &clipped.shape {
            Shape::Rect(fill) if fill.rect.contains_rect(canvas) => Some(fill.rect),
            _ => None,
        });
        let landscape = fills.filter(|fill| fill.height() < 0.9 * screen.height()).map(|fill| fill.bottom());
        let landscape = landscape.reduce(f32::max).expect("the background of the landscape");
        assert!(landscape <= heading.top(), "{key:?}: the landscape ends at {landscape}, and {heading} begins");
        assert!(heading.bottom() <= notes.top() && notes.bottom() <= timeline.top(), "{key:?}: {notes}, {timeline}");
        assert!(timeline.top() - notes.bottom() < 40.0, "{key:?}: {notes}, {timeline}");
    }
}

#[test]
fn the_end_lists_what_was_seen_and_opens_the_next_lesson() {
    let mut app = presenting_built_in("lesson", [1280.0, 720.0]);
    (0..6).for_each(|_| app.key(Key::PageDown));
    assert!(app.shows("7 / 7") && !app.shows("What was seen"));
    app.key(Key::PageDown);
    assert!(app.shows("What was seen in “A walk into the narrowing valley”"));
    let screen = app.harness.ctx.content_rect();
    for sentence in [
        "A valley slopes",
        "slides down the middle, and Signum",
        "Noise starves Adam",
        "Without weight decay all three get deeper",
    ] {
        let entry = app
            .harness
            .get_all_by_role(Role::Button)
            .find(|entry| entry.accesskit_node().label().is_some_and(|label| label.contains(sentence)));
        assert!(screen.contains_rect(entry.expect(sentence).rect()), "{sentence}");
    }
    for key in [Key::PageUp, Key::Escape] {
        app.key(key);
        assert!(app.shows("7 / 7") && !app.shows("What was seen"));
        assert!(app.harness.query_by_label("View").is_none(), "{key:?} does not end the presentation");
        app.button("End of the lesson").settle();
        assert!(app.shows("What was seen"));
    }
    app.button("Next lesson: Why noise starves Adam").settle();
    assert!(app.shows("1 / 9") && app.shows("Adam divides the average gradient"));
    assert!(!app.shows("What was seen"));
}

#[test]
fn values_under_the_pointer_are_shown_on_request() {
    let mut app = presenting([1280.0, 720.0], 1.0, 1);
    let is_shown = |app: &App| {
        let is_it = |shape: &Shape| matches!(shape, Shape::Text(text) if text.galley.text() == "∂L/∂x");
        app.harness.output().shapes.iter().any(|clipped| is_it(&clipped.shape))
    };
    let canvas = app.harness.get_by_role_and_label(Role::Canvas, "Landscape").rect();
    app.harness.event(Event::PointerMoved(canvas.center() + egui::vec2(20.0, 30.0)));
    app.settle();
    assert!(!is_shown(&app));
    app.key(Key::P);
    assert!(is_shown(&app), "the ring brings them");
    app.key(Key::P);
    assert!(!is_shown(&app));
    app.key(Key::Escape);
    let canvas = app.harness.get_by_role_and_label(Role::Canvas, "Landscape").rect();
    app.harness.event(Event::PointerMoved(canvas.center() + egui::vec2(20.0, 30.0)));
    app.settle();
    assert!(is_shown(&app), "outside of a presentation they are always shown");
}
