//! Each control changes the document, and the player runs the document's simulation.

use egui::accesskit::Role;
use egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};
use valleyscope_engine::noise::NoiseKind;
use valleyscope_engine::optimizer::{Decay, RatedRule, RuleKind, RuleSpec, Schedule};
use valleyscope_engine::quantity::{DecaySteps, FinalShare, WarmupSteps};
use valleyscope_engine::simulation::{OptimizerSpec, SimulationSpec};
use valleyscope_experiments::preset::{LandscapePreset, Preset};
use valleyscope_experiments::view::simulation_colors;

use super::harness::{App, PLAIN};
use super::training::{finished, listed, open_tab, select};

fn spec(app: &App) -> &SimulationSpec {
    app.state().document().spec(0)
}

/// Waits until the player runs exactly the document's simulation.
fn engine_follows(app: &mut App) {
    app.until("the player to follow the document", |app| {
        let snapshot = app.state().live().snapshot.as_ref();
        snapshot.is_some_and(|snapshot| snapshot.sessions[0].spec.as_ref() == spec(app))
    });
}

#[test]
fn sliders_of_the_simulation_reach_the_engine() {
    let mut app = App::plain();
    app.set_slider("Sharpness a", 250.0);
    app.set_slider("Slope c", 0.5);
    app.set_slider("Rotation φ (°)", -45.0);
    app.set_slider("Noise σ", 2.5);
    app.set_slider("Particles", 20.0);
    app.set_slider("Start x", 0.5);
    app.set_slider("Start y", -0.25);
    app.set_slider("Start spread", 0.01);
    let spec = spec(&app);
    assert_eq!(spec.landscape.get("sharpness").unwrap(), 250.0);
    assert_eq!(spec.landscape.get("slope").unwrap(), 0.5);
    assert_eq!(spec.landscape.get("rotation_degrees").unwrap(), -45.0);
    assert_eq!(spec.noise.sigma(), 2.5);
    assert_eq!(spec.particles.get(), 20);
    assert_eq!((spec.start.x.get(), spec.start.y.get(), spec.start.spread.get()), (0.5, -0.25, 0.01));
    engine_follows(&mut app);
}

#[test]
fn another_kind_of_noise_keeps_sigma_and_reaches_the_engine() {
    let mut app = App::plain();
    app.set_slider("Noise σ", 0.5);
    assert!(app.harness.query_by_role_and_label(Role::Slider, "Degrees of freedom ν").is_none());
    app.choose("Noise", "Heavy-tailed");
    app.set_slider("Degrees of freedom ν", 5.0);
    let noise = spec(&app).noise;
    assert_eq!((noise.kind(), noise.sigma()), (NoiseKind::HeavyTailed, 0.5));
    assert_eq!(noise.get("degrees_of_freedom"), Some(5.0));
    engine_follows(&mut app);
    app.keys(Modifiers::COMMAND, Key::Num2);
    app.choose("Noise", "Additive");
    assert_eq!(app.state().phase().preset().sweep.noise.kind(), NoiseKind::Additive);
    assert_eq!(spec(&app).noise, noise, "the sweep has a noise of its own");
}

#[test]
fn each_rules_parameters_reach_the_engine() {
    let mut app = App::plain();
    app.set_slider("Adam: Learning rate η", 0.1);
    app.set_slider("Adam: Momentum β₁", 0.5);
    app.set_slider("Adam: Squares β₂", 0.9);
    app.set_slider("Adam: Weight decay ω", 0.25);
    app.set_slider("FOCUS: Learning rate η", 0.002);
    app.set_slider("FOCUS: Average β₂", 0.5);
    app.set_slider("FOCUS: Attraction γ", -0.5);
    app.button("FOCUS: decay of the average of θ");
    let RatedRule { rule, learning_rate, .. } = spec(&app).optimizers[0].rule;
    assert_eq!((rule.kind(), learning_rate.get()), (RuleKind::Adam, 0.1));
    assert_eq!(["beta1", "beta2", "weight_decay"].map(|key| rule.get(key).unwrap()), [0.5, 0.9, 0.25]);
    let RatedRule { rule, learning_rate, .. } = spec(&app).optimizers[1].rule;
    assert_eq!((rule.kind(), learning_rate.get()), (RuleKind::Focus, 0.002));
    assert_eq!(["beta2", "gamma"].map(|key| rule.get(key).unwrap()), [0.5, -0.5]);
    assert_eq!(rule.choice("decay").map(|choice| choice.key), Some("Average"));
    engine_follows(&mut app);
}

#[test]
fn the_schedule_of_a_learning_rate_reaches_the_engine() {
    let mut app = App::plain();
    app.button("Adam: schedule cosine");
    assert_eq!(
        spec(&app).optimizers[0].rule.schedule.decay,
        Decay::Cosine { to: Decay::nothing(), steps: Some(DecaySteps::clamped(1000)) }
    );
    app.set_slider("Adam (cosine): Falls to", 0.25);
    app.type_into("Adam (cosine): end of the decay", "300");
    app.set_slider("Adam (cosine): Warm-up", 40.0);
    app.button("FOCUS: schedule 1/√t");
    let schedules: Vec<Schedule> = spec(&app).optimizers.iter().map(|it| it.rule.schedule).collect();
    let cosine = Decay::Cosine { to: FinalShare::clamped(0.25), steps: Some(DecaySteps::clamped(300)) };
    assert_eq!(schedules[0], Schedule { warmup: WarmupSteps::clamped(40), decay: cosine });
    assert_eq!(schedules[1], Schedule { decay: Decay::InverseRoot, ..Schedule::default() });
    assert!(schedules[2..].iter().all(Schedule::is_constant));
    assert_eq!(spec(&app).optimizers[0].label(), "Adam (cosine)");
    engine_follows(&mut app);
}

#[test]
fn a_setting_acts_on_the_running_simulation_and_a_new_start_restarts_it() {
    let mut app = App::plain();
    app.button("Single step");
    app.until("a step", |app| app.state().live().snapshot.as_ref().is_some_and(|snapshot| snapshot.step == 1));
    let run = |app: &App| app.state().live().snapshot.as_ref().map(|snapshot| (snapshot.run, snapshot.step));
    let before = run(&app);
    app.set_slider("Noise σ", 0.5);
    engine_follows(&mut app);
    assert_eq!(run(&app), before, "a setting does not begin the run again");
    app.type_into("Seed", "77");
    assert_eq!(spec(&app).seed, 77);
    engine_follows(&mut app);
    let after = run(&app);
    assert!(after > before && after.is_some_and(|(_, step)| step == 0), "another seed begins the run again");
}

#[test]
fn a_new_start_keeps_playing() {
    let mut app = App::plain();
    app.button("Play");
    app.until("playing", |app| app.state().live().is_playing());
    app.set_slider("Particles", 7.0);
    app.until("the new ensemble to move", |app| {
        let snapshot = app.state().live().snapshot.as_ref();
        snapshot
            .is_some_and(|s| s.sessions[0].ensembles[0].particles == 7 && s.step > 0 && app.state().live().is_playing())
    });
}

#[test]
fn typed_numbers_go_beyond_the_slider_and_nonsense_is_refused_visibly() {
    let mut app = App::plain();
    app.type_into("Sharpness a, number", "50000");
    assert_eq!(
        spec(&app).landscape.get("sharpness").unwrap(),
        50_000.0,
        "beyond the slider, within the quantity's range"
    );
    app.type_into("Sharpness a, number", "1e9");
    assert_eq!(spec(&app).landscape.get("sharpness").unwrap(), 50_000.0);
    assert!(
        app.shows("Sharpness a must be a number from 0.000001 to 1000000, found 1000000000"),
        "the refusal says what was expected"
    );
    app.type_into("Sharpness a, number", "steep");
    assert_eq!(spec(&app).landscape.get("sharpness").unwrap(), 50_000.0);
    assert!(app.shows("expected a number such as 0.01"));
    app.type_into("Sharpness a, number", "2,5");
    assert_eq!(spec(&app).landscape.get("sharpness").unwrap(), 2.5, "a decimal comma is understood");
    assert!(!app.shows("expected a number such as 0.01"), "an accepted number takes the refusal away");
    app.type_into("Particles, number", "12.5");
    assert!(app.shows("Particles must be a whole number from 1 to 10000, found 12.5"));
    app.type_into("Seed", "-1");
    assert!(app.shows("expected a whole number, 0 or more, found “-1”"));
    assert_eq!(spec(&app).seed, 0);
}

#[test]
fn a_refusal_names_the_control_and_moves_nothing() {
    let mut app = App::plain();
    let below = app.slider("Particles").rect();
    app.type_into("Rotation φ (°), number", "999");
    assert!(app.shows("Rotation φ must be a number from −360 to 360°, found 999"));
    assert_eq!(app.slider("Particles").rect(), below, "what is below keeps its place");
    app.settle();
    app.harness.drag_at(egui::pos2(700.0, 300.0));
    app.harness.drop_at(egui::pos2(700.0, 300.0));
    app.settle();
    assert!(!app.shows("must be a number"), "a click elsewhere takes it away");
}

#[test]
fn an_automatic_restart_reports_its_reason() {
    let mut app = App::plain();
    for (press, reason) in [
        ("FOCUS: duplicate", "an optimizer was added"),
        ("FOCUS (2): remove", "an optimizer was removed"),
        ("New seed", "the seed has changed"),
    ] {
        app.harness.key_press(egui::Key::ArrowRight);
        app.until("a step", |app| app.state().live().snapshot.as_ref().is_some_and(|s| s.step == 1));
        app.button(press);
        assert!(app.shows(&format!("Restarted at step 0: {reason}.")), "{press}");
        app.until("step 0", |app| app.state().live().snapshot.as_ref().is_some_and(|s| s.step == 0));
    }
    app.set_slider("Particles", 7.0);
    assert!(!app.shows("the number of particles"), "nothing was under way");
}

#[test]
fn escape_leaves_a_field_as_it_was() {
    let mut app = App::plain();
    app.focus(Role::TextInput, "Noise σ, number");
    app.harness.get_by_role_and_label(Role::TextInput, "Noise σ, number").type_text("2");
    app.harness.run_steps(1);
    app.key(egui::Key::Escape);
    assert_eq!(spec(&app).noise.sigma(), 1.0);
    assert_eq!(
        app.harness.get_by_role_and_label(Role::TextInput, "Noise σ, number").value().as_deref(),
        Some("1"),
        "the field shows the value again"
    );
}

#[test]
fn reset_restores_the_default() {
    let mut app = App::plain();
    app.set_slider("Sharpness a", 500.0);
    app.button("Reset Sharpness a");
    assert_eq!(spec(&app).landscape.get("sharpness").unwrap(), 10.0);
    app.set_slider("FOCUS: Attraction γ", 0.9);
    app.button("Reset FOCUS: Attraction γ");
    assert_eq!(spec(&app).optimizers[1].rule.rule.get("gamma"), Some(0.2));
}

#[test]
fn a_slider_moves_by_the_arrow_keys() {
    let mut app = App::plain();
    app.slider("Noise σ").focus();
    app.harness.run_steps(2);
    app.harness.key_press(egui::Key::ArrowRight);
    app.harness.run_steps(2);
    assert!(spec(&app).noise.sigma() > 1.0);
    assert_eq!(app.state().live().snapshot.as_ref().map(|snapshot| snapshot.step), Some(0), "no step was taken");
}

#[test]
fn the_slider_of_a_decay_rate_has_equal_steps_between_its_nines() {
    let mut app = App::plain();
    let mut step = |from: f64| {
        app.set_slider("Adam: Squares β₂", from);
        assert_eq!(spec(&app).optimizers[0].rule.rule.get("beta2"), Some(from));
        app.slider("Adam: Squares β₂").focus();
        app.harness.run_steps(2);
        app.harness.key_press(egui::Key::ArrowRight);
        app.harness.run_steps(2);
        (1.0 - from) / (1.0 - spec(&app).optimizers[0].rule.rule.get("beta2").unwrap())
    };
    let [early, late] = [0.9, 0.999].map(&mut step);
    assert!(early > 1.0 && (early / late - 1.0).abs() < 0.05, "{early} {late}");
    app.set_slider("Adam: Squares β₂", 0.0);
    assert_eq!(spec(&app).optimizers[0].rule.rule.get("beta2"), Some(0.0));
}

#[test]
fn a_new_rule_on_a_card_keeps_common_settings() {
    let mut app = App::plain();
    app.set_slider("Adam: Weight decay ω", 0.25);
    app.set_slider("Adam: Learning rate η", 0.02);
    app.choose("Adam: rule", "Lion");
    let RatedRule { rule, learning_rate, .. } = spec(&app).optimizers[0].rule;
    assert_eq!((rule.kind(), learning_rate.get(), rule.get("weight_decay")), (RuleKind::Lion, 0.02, Some(0.25)));
    let note = "Lion in place of Adam; changed: Momentum β₁ 0.9 → Mixing β₁ 0.9, Squares β₂ 0.999 → Momentum β₂ 0.99; \
                without: ε; kept: η, ω 0.25";
    assert!(app.shows(note));
    assert_eq!(shown_in_legend_and_plots(&mut app), ["Lion, η 0.02, ω 0.25", "FOCUS, η 0.01, ω 0.1"]);
    engine_follows(&mut app);
    // A rule with the colour of another one gets its own.
    app.choose("Lion: rule", "FOCUS");
    let optimizers = &spec(&app).optimizers;
    assert_eq!(optimizers[0].rule.rule.kind(), RuleKind::Focus);
    let colors = simulation_colors(optimizers);
    assert_ne!(colors[0], colors[1]);
    engine_follows(&mut app);
}

#[test]
fn the_values_of_a_new_rule_are_taken_on_request_and_a_change_of_rule_is_one_undo_step() {
    let mut app = App::plain();
    app.set_slider("Adam: Weight decay ω", 0.25).settle();
    let before = spec(&app).optimizers[0].clone();
    app.choose("Adam: rule", "Signum");
    assert!(app.shows("Signum in place of Adam; without: β₂, ε; kept: η, β₁ 0.9, ω 0.25"));
    app.undo();
    assert_eq!(spec(&app).optimizers[0], before);
    assert!(!app.shows("in place of"), "the note is about a change that was undone");
    app.choose("Adam: rule", "Signum");
    app.button("Signum: rule: Use Signum's own values").settle();
    assert_eq!(spec(&app).optimizers[0].rule.rule, RuleSpec::on_plane(RuleKind::Signum));
    assert_eq!(spec(&app).optimizers[0].rule.learning_rate, before.rule.learning_rate);
    assert!(app.harness.query_by_label("Signum: rule: Use Signum's own values").is_none(), "it has them");
    app.button("Signum: rule: dismiss the note about the rule").settle();
    assert!(!app.shows("in place of"));
}

#[test]
fn a_name_that_states_a_value_is_removed_with_a_change_of_that_value() {
    let mut app = App::with(&PLAIN.replace("id: 1, ", "id: 1, name: \"FOCUS, γ 0.2\", "));
    assert_eq!(shown_in_legend_and_plots(&mut app)[1], "FOCUS, γ 0.2");
    app.set_slider("FOCUS, γ 0.2: Momentum β₁", 0.5).settle();
    assert_eq!(spec(&app).optimizers[1].name.as_deref(), Some("FOCUS, γ 0.2"));
    app.set_slider("FOCUS, γ 0.2: Attraction γ", 0.4).settle();
    assert_eq!(spec(&app).optimizers[1].name, None);
}

#[test]
fn optimizers_are_added_duplicated_disabled_and_removed() {
    let mut app = App::plain();
    app.button("+ Add optimizer");
    app.button("SGD");
    app.button("FOCUS: duplicate");
    let optimizers = &spec(&app).optimizers;
    let kinds: Vec<&str> = optimizers.iter().map(|optimizer| optimizer.rule.name()).collect();
    assert_eq!(kinds, ["Adam", "FOCUS", "SGD", "FOCUS"]);
    let ids: Vec<u32> = optimizers.iter().map(|optimizer| optimizer.id).collect();
    assert_eq!(ids, [0, 1, 2, 3], "each has an id of its own");
    let colors = simulation_colors(optimizers);
    assert_ne!(colors[1], colors[3], "a copy has another colour");
    assert_eq!(optimizers[3].label(), "FOCUS (2)");
    engine_follows(&mut app);
    app.click(Role::CheckBox, "Adam: enabled");
    engine_follows(&mut app);
    let simulated = app.state().live().snapshot.as_ref().map(|snapshot| snapshot.sessions[0].ensembles.len());
    assert_eq!(simulated, Some(3), "a disabled optimizer is not simulated");
    app.button("SGD: remove");
    assert_eq!(spec(&app).optimizers.len(), 3);
    assert!(app.shows("Removed SGD"));
    engine_follows(&mut app);
}

#[test]
fn optimizers_of_one_name_are_distinguished_everywhere() {
    let mut app = App::plain();
    app.button("+ Add optimizer");
    app.button("Adam");
    app.button("Adam: duplicate");
    app.button("Adam (2): duplicate");
    app.button("FOCUS: duplicate");
    let labels: Vec<&str> = spec(&app).optimizers.iter().map(|optimizer| optimizer.label()).collect();
    assert_eq!(labels, ["Adam", "FOCUS", "Adam (2)", "Adam (3)", "Adam (4)", "FOCUS (2)"]);
    assert_eq!(shown_in_legend_and_plots(&mut app), spec(&app).shown_names());

    // A preset or a user may give the same name twice.
    let twins = super::harness::PLAIN.replace("Focus", "Adam");
    let mut app = App::with(&twins);
    app.button("Adam: duplicate");
    assert_eq!(shown_in_legend_and_plots(&mut app), ["Adam", "Adam (2)", "Adam (3)"]);
    app.type_into("0: name", "Adam (3)");
    assert_eq!(shown_in_legend_and_plots(&mut app), ["Adam (3)", "Adam", "Adam (2)"]);
}

/// Returns the names in the landscape's legend, each of which must be in every plot too.
fn shown_in_legend_and_plots(app: &mut App) -> Vec<String> {
    let count = spec(app).optimizers.len();
    app.until("all are simulated", |app| {
        app.state().live().snapshot.as_ref().is_some_and(|snapshot| snapshot.sessions[0].ensembles.len() == count)
    });
    app.harness.run_steps(3);
    let rows = app.harness.query_all_by_label_contains("Show ");
    let labels = rows.filter_map(|row| row.accesskit_node().label());
    let names: Vec<String> = labels.filter_map(|label| Some(label.strip_prefix("Show ")?.to_owned())).collect();
    let plots: Vec<String> =
        app.harness.query_all_by_role(Role::Figure).filter_map(|plot| plot.accesskit_node().value()).collect();
    assert!(!plots.is_empty());
    for plot in plots {
        let mut rest = plot.as_str();
        for name in &names {
            let after = rest.strip_prefix(&format!("{name} ")).unwrap_or_else(|| panic!("no {name:?} in {plot}"));
            rest = after.split_once(", ").map_or("", |(_, others)| others);
        }
        assert_eq!(rest, "", "in {plot}");
    }
    names
}

#[test]
fn help_on_a_control_does_not_cover_the_next_one() {
    let mut app = App::plain();
    for part in [Role::Slider, Role::TextInput] {
        let name = if part == Role::Slider { "Sharpness a" } else { "Sharpness a, number" };
        let at = app.harness.get_by_role_and_label(part, name).rect().center();
        app.harness.hover_at(at);
        app.harness.run_steps(8);
        let said = app.harness.get_by_label_contains("How steep the valley's walls are").rect();
        for next in ["Slope c", "Rotation φ (°)", "Noise σ"] {
            let slider = app.slider(next).rect();
            assert!(!said.intersects(slider), "{said:?} covers {next} at {slider:?}");
        }
        app.harness.hover_at(egui::pos2(700.0, 500.0));
        app.harness.run_steps(8);
    }
}

#[test]
fn the_last_enabled_optimizer_stays() {
    let mut app = App::plain();
    app.click(Role::CheckBox, "Adam: enabled");
    app.harness.get_by_role_and_label(Role::CheckBox, "FOCUS: enabled").click_accesskit();
    app.harness.get_by_role_and_label(Role::Button, "FOCUS: remove").click_accesskit();
    app.settle();
    assert!(spec(&app).optimizers[1].enabled);
    assert_eq!(spec(&app).optimizers.len(), 2);
}

#[test]
fn the_number_of_optimizers_is_limited() {
    let mut app = App::plain();
    for _ in spec(&app).optimizers.len()..SimulationSpec::MAX_OPTIMIZERS {
        app.button("Adam: duplicate");
    }
    assert_eq!(spec(&app).optimizers.len(), SimulationSpec::MAX_OPTIMIZERS);
    app.button("Adam: duplicate");
    assert_eq!(spec(&app).optimizers.len(), SimulationSpec::MAX_OPTIMIZERS, "there is no room for another");
    engine_follows(&mut app);
}

#[test]
fn an_optimizers_name_is_shown_everywhere() {
    let mut app = App::plain();
    app.type_into("0: name", "Adam of old");
    assert_eq!(spec(&app).optimizers[0].label(), "Adam of old");
    app.set_slider("Adam of old: Learning rate η", 0.5);
    assert_eq!(spec(&app).optimizers[0].rule.learning_rate.get(), 0.5);
}

#[test]
fn temperature_follows_the_learning_rate_or_is_set() {
    let mut app = App::plain();
    assert_eq!(spec(&app).temperature, None);
    app.click(Role::CheckBox, "Temperature Θ = learning rate η");
    app.set_slider("Temperature Θ", 0.25);
    assert_eq!(spec(&app).temperature.map(valleyscope_engine::quantity::Temperature::get), Some(0.25));
    engine_follows(&mut app);
}

#[test]
fn a_run_stops_at_its_number_of_steps_and_play_begins_it_again() {
    let mut app = App::plain();
    app.click(Role::CheckBox, "Stop at step");
    app.type_into("Number of steps", "5");
    app.button("As fast as it goes");
    app.button("Play");
    app.until("the end", |app| app.shows("finished"));
    assert_eq!(app.state().live().snapshot.as_ref().map(|snapshot| snapshot.step), Some(5));
    let run = app.state().live().snapshot.as_ref().map(|snapshot| snapshot.run);
    app.button("Play");
    app.until("another run to its end", |app| {
        let snapshot = app.state().live().snapshot.as_ref();
        snapshot.map(|snapshot| snapshot.run) > run && snapshot.is_some_and(|snapshot| snapshot.step == 5)
    });
}

#[test]
fn extreme_values_keep_the_app_running() {
    let mut app = App::plain();
    app.set_slider("Sharpness a", 1000.0);
    app.set_slider("Adam: Learning rate η", 1.0);
    app.set_slider("FOCUS: Learning rate η", 1.0);
    app.set_slider("Noise σ", 3.0);
    app.button("As fast as it goes");
    app.button("Play");
    app.until("many steps", |app| app.state().live().snapshot.as_ref().is_some_and(|snapshot| snapshot.step > 500));
    for (field, largest) in [
        ("Sharpness a, number", "1e6"),
        ("Noise σ, number", "100"),
        ("Start x, number", "1e6"),
        ("Start spread, number", "100"),
        ("Adam: Learning rate η, number", "10"),
        ("FOCUS: Learning rate η, number", "10"),
        ("FOCUS: Attraction γ, number", "-10"),
        ("Adam: Weight decay ω, number", "10"),
    ] {
        app.type_into(field, largest);
    }
    app.until("diverged particles to be noticed", |app| app.shows("diverged"));
    app.settle();
}

/// Opens the menu of a legend's entry, and sets red there.
fn set_red_in_menu(app: &mut App, role: Role, entry: &str, value: u8) {
    app.harness.get_by_role_and_label(role, entry).click_secondary();
    app.harness.run_steps(3);
    app.harness.get_by_role_and_label(Role::SpinButton, "R").set_value_accesskit(f64::from(value));
    app.harness.run_steps(3);
    app.key(egui::Key::Escape);
}

fn restore_in_menu(app: &mut App, role: Role, entry: &str) {
    app.harness.get_by_role_and_label(role, entry).click_secondary();
    app.harness.run_steps(3);
    app.button("Usual colour").settle();
}

/// Returns the name of the first node whose name contains a text.
fn named(app: &App, part: &str) -> String {
    let mut nodes = app.harness.query_all_by_label_contains(part);
    nodes.next().and_then(|node| node.accesskit_node().label()).expect("it is shown")
}

fn optimizers(app: &App) -> &[OptimizerSpec] {
    &app.state().document().spec(0).optimizers
}

#[test]
fn the_legend_on_the_landscape_chooses_a_colour_that_the_preset_keeps() {
    let mut app = App::plain();
    app.settle();
    let entry = named(&app, "Show Adam");
    let before = simulation_colors(optimizers(&app));
    set_red_in_menu(&mut app, Role::CheckBox, &entry, 20);
    let chosen = optimizers(&app)[0].color.expect("a colour was chosen");
    assert!(chosen[0].abs_diff(20) <= 1 && chosen[1].abs_diff(before[0][1]) <= 1, "{chosen:?}");
    let draft = LandscapePreset::new("saved", app.state().document().spec(0).clone());
    let Ok(Preset::Landscape(saved)) = Preset::parse(&Preset::Landscape(draft).to_ron(), "saved") else {
        panic!("a landscape")
    };
    assert_eq!(saved.spec().optimizers[0].color, Some(chosen));
    restore_in_menu(&mut app, Role::CheckBox, &entry);
    assert_eq!(optimizers(&app)[0].color, None);
}

#[test]
fn the_legend_of_the_curves_chooses_a_colour_that_the_session_keeps() {
    let (mut app, run) = open_tab(|runs| finished(runs, "Alone", 1, |_| 1.0));
    listed(&mut app, 1);
    select(&mut app, "Alone");
    app.until("its curve", |app| app.harness.query_all_by_label_contains("Curve of ").next().is_some());
    let entry = named(&app, "Curve of ");
    set_red_in_menu(&mut app, Role::Image, &entry, 20);
    let chosen = app.state().training().memory().pens.colors[run.path()];
    assert!(chosen[0].abs_diff(20) <= 1, "{chosen:?}");
    restore_in_menu(&mut app, Role::Image, &entry);
    assert!(app.state().training().memory().pens.colors.is_empty());
}
