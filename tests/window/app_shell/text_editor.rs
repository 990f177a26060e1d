//! Typed landscapes in the window.

use egui::Key;
use egui::accesskit::Role;
use egui_kittest::kittest::Queryable;
use valleyscope_engine::landscape::{LandscapeFormula, LandscapeKind, LandscapeSpec};
use valleyscope_engine::optimizer::RuleSpec;
use valleyscope_engine::sweep::{Metric, Quantity};
use valleyscope_experiments::preset::{LandscapePreset, Preset, built_ins};
use valleyscope_experiments::view::Camera;

use super::harness::App;
use super::phase::{SMALL, computed};

const BOWL: &str = "param k = 2 in 0.5..8\nL = k*x^2 + y^2";

fn landscape(app: &App) -> LandscapeSpec {
    app.state().document().spec(0).landscape
}

fn text(landscape: &LandscapeSpec) -> &'static str {
    landscape.kind().formula().expect("it is typed").text()
}

/// Converts the landscape to a typed one.
fn convert(app: &mut App) {
    app.button("Landscape: text").button("Convert").settle();
}

#[test]
fn a_built_in_landscape_is_converted_only_after_its_text_was_shown() {
    let mut app = App::plain();
    app.settle();
    let before = landscape(&app);
    app.button("Landscape: text").settle();
    assert!(app.shows("param sharpness = ") && app.shows("A typed landscape with the same losses"));
    assert_eq!(landscape(&app), before, "the text is a preview");
    app.key(Key::Escape);
    assert!(!app.shows("A typed landscape with the same losses") && landscape(&app) == before);
    app.button("Landscape: text").button("Cancel").settle();
    assert_eq!(landscape(&app), before);
    convert(&mut app);
    assert!(text(&landscape(&app)).contains("param sharpness = "));
}

fn begin_own(app: &mut App) {
    app.click(Role::ComboBox, "Landscape L");
    app.press("A formula of your own…");
    app.key(Key::Escape);
}

#[test]
fn a_typed_formula_runs_from_the_next_step_and_a_mistake_leaves_it_running() {
    let mut app = App::plain();
    begin_own(&mut app);
    let own = landscape(&app);
    assert!(own.kind().name().starts_with("My landscape"), "{own:?}");
    assert!(app.shows("The landscape is valid. Changes take effect in the next step."));
    let field = format!("{}: text of the landscape", own.kind().name());
    app.replace(&field, Role::MultilineTextInput, BOWL);
    assert_eq!(text(&landscape(&app)), BOWL);
    app.until("the player to have it", |app| {
        app.state()
            .live()
            .snapshot
            .as_ref()
            .is_some_and(|snapshot| snapshot.sessions[0].spec.landscape == landscape(app))
    });
    app.settle();
    app.set_slider("k", 3.0);
    let in_force = landscape(&app);
    assert_eq!(in_force.get("k"), Some(3.0));

    app.replace(&field, Role::MultilineTextInput, &BOWL.replace("y^2", "norm(y)"));
    assert!(app.shows("In line 2, column 13: expected one of the functions"));
    assert!(app.shows("The last valid landscape is in use."));
    assert_eq!(landscape(&app), in_force);
    app.replace(&field, Role::MultilineTextInput, &BOWL.replace("y^2", "3*y^2"));
    assert!(app.shows("The landscape is valid."));
    assert_eq!(landscape(&app).get("k"), Some(3.0), "a new text keeps the values of parameters");

    app.click(Role::DisclosureTriangle, "Gradient").settle();
    assert!(app.shows("∂L/∂x = ") && app.shows("∂L/∂y = "));
}

#[test]
fn a_name_that_was_replaced_or_not_entered_is_not_offered() {
    let mut app = App::plain();
    begin_own(&mut app);
    let field = |app: &App| format!("{}: name of the landscape", landscape(app).kind().name());
    app.replace(&field(&app), Role::TextInput, "Half a na");
    app.key(Key::Enter);
    assert_eq!(landscape(&app).kind().name(), "Half a na");
    app.replace(&field(&app), Role::TextInput, "Whole name");
    app.key(Key::Enter);
    app.replace(&field(&app), Role::TextInput, "Given up");
    app.key(Key::Escape);
    assert_eq!(landscape(&app).kind().name(), "Whole name");
    let names: Vec<&str> = LandscapeFormula::latest().iter().map(|formula| formula.name()).collect();
    assert!(names.contains(&"Whole name") && !names.contains(&"Half a na"), "{names:?}");
}

#[test]
fn each_built_in_landscape_opens_as_text_with_the_same_losses_view_and_start() {
    let mut app = App::plain();
    for &kind in LandscapeKind::ALL {
        if landscape(&app).kind() != kind {
            app.choose("Landscape L", kind.name());
        }
        app.set_slider("Rotation φ (°)", 20.0).settle();
        let (built_in, start) = (landscape(&app), app.state().document().spec(0).start);
        assert_eq!((built_in.kind(), built_in.rotation_degrees()), (kind, 20.0));
        convert(&mut app);
        let copy = landscape(&app);
        assert!(copy.kind().name().starts_with(&format!("{} as text", kind.name())), "{copy:?}");
        for (of, value) in built_in.parameters() {
            assert_eq!(copy.get(of.key), Some(value), "{}", of.key);
        }
        let losses = [built_in, copy].map(|spec| spec.landscape());
        for at in [[0.3, -0.7], [1.5, 0.5], [-1.2, 0.4]] {
            let [expected, found] = losses.each_ref().map(|landscape| landscape.loss::<f64>(at));
            assert!((expected - found).abs() <= 1e-12 * expected.abs().max(1.0), "{kind:?} {at:?}: {expected} {found}");
        }
        assert_eq!(app.state().document().spec(0).start, start);
        assert_eq!(app.state().document().view.camera, Some(Camera::home(&built_in)));
    }
}

#[test]
fn undo_takes_back_a_copy_as_text() {
    let mut app = App::plain();
    app.settle();
    let before = app.state().document().clone();
    convert(&mut app);
    assert!(landscape(&app).kind().formula().is_some());
    app.undo();
    assert_eq!(*app.state().document(), before);
}

#[test]
fn a_saved_preset_keeps_a_typed_landscape() {
    let mut app = App::plain();
    begin_own(&mut app);
    let name = landscape(&app).kind().name();
    let field = format!("{name}: text of the landscape");
    app.replace(&field, Role::MultilineTextInput, "param depth = 0.5 in 0..2\nL = x^4 - depth*x^2 + y^2");
    app.settle();
    app.set_slider("depth", 1.25).settle();
    app.menu("File", "Save");
    app.button("Save to my presets");
    let presets = app.folder.path().join("presets");
    let file = || {
        let mut paths = std::fs::read_dir(&presets).ok()?.map(|entry| entry.expect("an entry").path());
        paths.find(|path| path.extension().is_some_and(|extension| extension == "ron"))
    };
    app.until("the file", |_| file().is_some());
    let path = file().expect("it is there");
    let Preset::Landscape(saved) = Preset::read(&path).expect("the saved preset can be read") else {
        panic!("a simulation")
    };
    assert_eq!(saved.spec(), app.state().document().spec(0));
    assert_eq!(saved.spec().landscape.get("depth"), Some(1.25));
    assert_eq!(saved.spec().landscape.kind().name(), name);
}

#[test]
fn a_sweep_runs_on_typed_landscapes() {
    let mut app = computed(SMALL);
    let wanted = |app: &App| app.state().phase().preset().sweep.clone();
    let is_computed = |app: &App| {
        let diagram = &app.state().phase().present().diagram;
        diagram.is_complete() && diagram.spec().landscape == wanted(app).landscape
    };
    let axes = |app: &App| [wanted(app).rows.of, wanted(app).columns.of];
    let before = axes(&app);
    convert(&mut app);
    assert!(text(&wanted(&app).landscape).contains("param sharpness = 10 in 0.1..1000"));
    assert_eq!(axes(&app), before, "the copy has the parameters of the axes");
    app.until("the diagram of the copy", is_computed);

    begin_own(&mut app);
    assert!(wanted(&app).landscape.kind().name().starts_with("My landscape"));
    let [Quantity::Landscape(row), Quantity::Noise] = axes(&app) else { panic!("{:?}", axes(&app)) };
    assert_eq!(row, "a", "a parameter of the new landscape in place of one that it lacks");
    app.until("the diagram of the formula", is_computed);
}

#[test]
fn a_copy_as_text_is_swept_from_the_start_of_the_landscape() {
    let mut app = computed(SMALL);
    app.choose("Landscape L", "Rosenbrock");
    let sweep = |app: &App| app.state().phase().preset().sweep.clone();
    let start = sweep(&app).start();
    assert!((sweep(&app).start.is_none(), start) == (true, LandscapeSpec::new(LandscapeKind::Rosenbrock).start()));
    convert(&mut app);
    assert!(sweep(&app).landscape.kind().formula().is_some());
    assert_eq!(sweep(&app).start(), start);
}

#[test]
fn a_refused_name_is_shown_like_a_mistake() {
    let mut app = App::plain();
    begin_own(&mut app);
    let owner = landscape(&app).kind().name();
    let field = format!("{owner}: name of the landscape");
    let rename = |app: &mut App, name: &str| {
        app.replace(&field, Role::TextInput, name);
        app.harness.key_press(Key::Enter);
        app.harness.run_steps(3);
    };
    rename(&mut app, "Beale");
    assert!(app.shows("the name `Beale` is that of another landscape"));
    assert_eq!(landscape(&app).kind().name(), owner);
    let has_mistake = |app: &mut App| {
        app.harness.get_by_label("Landscape: text").hover();
        app.harness.run_steps(60);
        app.shows("The name or the text has a mistake; the last valid landscape is in use")
    };
    assert!(has_mistake(&mut app));
    // The field is named after the landscape in force.
    rename(&mut app, "Bowl");
    app.settle();
    assert_eq!(landscape(&app).kind().name(), "Bowl");
    assert!(!has_mistake(&mut app));
}

#[test]
fn a_sweep_is_compared_by_metrics_of_its_landscape_and_its_noise_has_axes() {
    let mut app = computed(SMALL);
    let sweep = |app: &App| app.state().phase().draft().sweep;
    app.button("depth");
    assert_eq!(sweep(&app).metric, Metric::Depth);
    app.choose("Landscape L", "Rosenbrock");
    assert!(app.harness.query_by_role_and_label(Role::Button, "depth").is_none(), "Rosenbrock has no depth");
    assert_eq!(sweep(&app).metric, Metric::FinalLoss);
    assert_eq!(sweep(&app).check(), Ok(()));

    app.choose("Noise", "Heavy-tailed");
    app.choose("Columns: what varies", "degrees of freedom ν");
    let Quantity::NoiseParameter(name) = sweep(&app).columns.of else { panic!("{:?}", sweep(&app).columns) };
    assert_eq!(name, "degrees_of_freedom");
    assert!(app.harness.query_by_role_and_label(Role::Slider, "Degrees of freedom ν").is_none());
    app.choose("Noise", "Additive");
    assert!(matches!(sweep(&app).columns.of, Quantity::Landscape(_) | Quantity::Noise), "additive noise has no ν");
    assert_eq!(sweep(&app).check(), Ok(()));
}

#[test]
fn long_names_of_controls_are_whole() {
    let mut app = App::plain();
    app.choose("Landscape L", "Two valleys");
    app.choose("Noise", "Heavy-tailed");
    let height = |app: &App, name: &str| app.harness.get_by_role_and_label(Role::Label, name).rect().height();
    let line = height(&app, "Slope c");
    for name in ["Sharpness ratio r", "Degrees of freedom ν"] {
        assert!(height(&app, name) > 1.5 * line, "{name} has two lines");
    }
}

#[test]
fn a_landscape_chosen_before_the_first_step_begins_the_plots_anew() {
    let mut app = App::plain();
    let first_loss = |app: &App| {
        let snapshot = app.state().live().snapshot.as_ref()?;
        snapshot.sessions[0].ensembles[0].plot.first().map(|bucket| bucket.loss.mean)
    };
    let before = first_loss(&app);
    app.choose("Landscape L", "Himmelblau");
    app.until("the player to have it", |app| first_loss(app) != before);
    assert!((first_loss(&app).unwrap() - 170.0).abs() < 1.0, "{:?}", first_loss(&app));
}

const SIGN: &str = "param pull = 0.5 in 0..2\ntheta = theta - eta*(sign(g) + pull*theta)";

fn rule(app: &App, index: usize) -> RuleSpec {
    app.state().document().spec(0).optimizers[index].rule.rule
}

#[test]
fn a_built_in_rule_is_copied_as_text_and_changed_while_it_runs() {
    let mut app = App::plain();
    let before = app.state().document().spec(0).optimizers.len();
    app.button("Adam: text").settle();
    let copy = rule(&app, before);
    assert_eq!(copy.name(), "Adam as text");
    assert!(copy.kind().typed().unwrap().text().contains("m = beta1*m + (1.0 - beta1)*g"), "{copy:?}");
    let field = "Adam as text: text of the rule";
    app.replace(field, Role::MultilineTextInput, &SIGN.replace("sign(", "sing("));
    assert!(app.shows("line 2, column 22: expected one of the functions sign, abs, sqrt,"));
    assert_eq!(rule(&app, before), copy, "the last rule without a mistake runs");
    app.replace(field, Role::MultilineTextInput, SIGN);
    assert_eq!(rule(&app, before).kind().typed().unwrap().text(), SIGN);
    assert!(app.shows("The rule is valid."));
    app.until("a step of it", |app| {
        let snapshot = app.state().live().snapshot.as_ref().unwrap();
        snapshot.sessions[0].ensembles.len() == before + 1
    });
    app.settle();
    assert!(app.harness.query_by_role_and_label(Role::Slider, "Adam as text: pull").is_some(), "it has its slider");
    // A mark of two bytes, and a character before it.
    app.replace(field, Role::MultilineTextInput, "β");
    app.harness.key_press(egui::Key::Home);
    app.harness.run_steps(2);
    app.harness.get_by_role_and_label(Role::MultilineTextInput, field).type_text("a");
    app.harness.run_steps(3);
    assert!(app.shows("line 1, column 2: expected `=`, found `β`"));
    app.replace(field, Role::MultilineTextInput, SIGN);
    // Leaving the field applies the name.
    app.replace("Adam as text: name of the rule", Role::TextInput, "Sign with a pull");
    app.key(egui::Key::Enter);
    assert_eq!(rule(&app, before).name(), "Sign with a pull");
}

#[test]
fn a_rule_of_ones_own_is_added() {
    let mut app = App::plain();
    app.button("+ Add optimizer");
    app.press("A rule of your own…").settle();
    let own = app.state().document().spec(0).optimizers.last().unwrap().rule.rule;
    assert!(own.name().starts_with("My rule"), "{}", own.name());
    assert!(app.shows("The rule is valid."));
}

/// Checks that a text with a mistake, which no preset can hold, is restored with its mistake.
#[test]
fn a_text_with_a_mistake_outlasts_a_restart() {
    // Another rule than that of the test above, as the whole process shares the names of typed rules.
    let mut app = App::plain();
    let before = app.state().document().spec(0).optimizers.len();
    app.button("FOCUS: text").settle();
    let wrong = SIGN.replace("sign(", "sing(");
    app.replace("FOCUS as text: text of the rule", Role::MultilineTextInput, &wrong);
    let memory = app.harness.ctx.memory(|memory| ron::to_string(memory).unwrap());
    let preset = Preset::Landscape(LandscapePreset::new("again", app.state().document().spec(0).clone())).to_ron();

    let mut again = App::with(&preset);
    let memory = ron::from_str(&memory).unwrap();
    again.harness.ctx.memory_mut(|known| *known = memory);
    again.settle();
    let field = again.harness.get_by_role_and_label(Role::MultilineTextInput, "FOCUS as text: text of the rule");
    assert_eq!(field.value().as_deref(), Some(wrong.as_str()));
    assert!(again.shows("expected one of the functions"));
    assert_eq!(rule(&again, before), rule(&app, before));
    again.replace("FOCUS as text: text of the rule", Role::MultilineTextInput, SIGN);
    again.settle();
    assert_eq!(rule(&again, before).kind().typed().unwrap().text(), SIGN);
}

#[test]
fn what_the_language_cannot_say_is_explained() {
    let zoo = built_ins().iter().find(|built_in| built_in.name == "zoo").unwrap();
    // The preset has room for one more optimizer.
    let text = zoo.text.replace("(id: 15, rule: ScheduleFree(learning_rate: 0.02)),", "");
    let mut app = App::with(&text);
    let before = app.state().document().spec(0).optimizers.len();
    app.button("Muon: text").settle();
    assert!(app.shows("Muon cannot be written as text: the language lacks"));
    assert_eq!(app.state().document().spec(0).optimizers.len(), before);
}
