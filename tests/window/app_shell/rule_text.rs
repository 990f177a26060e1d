//! Typed rules in the window.

use egui::accesskit::Role;
use egui_kittest::kittest::Queryable;
use valleyscope_engine::optimizer::RuleSpec;
use valleyscope_experiments::preset::{LandscapePreset, Preset, built_ins};

use super::harness::App;

const SIGN: &str = "param pull = 0.5 in 0..2\ntheta = theta - eta*(sign(g) + pull*theta)";

fn rule(app: &App, index: usize) -> RuleSpec {
    app.state().document().spec(0).optimizers[index].rule.rule
}

#[test]
fn a_built_in_rule_is_copied_as_text_and_changed_while_it_runs() {
    let mut app = App::plain();
    let before = app.state().document().spec(0).optimizers.len();
    app.button("Adam: text");
    app.settle();
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
    app.harness.key_press(egui::Key::Enter);
    app.settle();
    assert_eq!(rule(&app, before).name(), "Sign with a pull");
}

#[test]
fn a_rule_of_ones_own_is_added() {
    let mut app = App::plain();
    app.button("+ Add optimizer");
    app.press("A rule of your own…");
    app.settle();
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
    app.button("FOCUS: text");
    app.settle();
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
    app.button("Muon: text");
    app.settle();
    assert!(app.shows("Muon cannot be written as text: the language lacks"));
    assert_eq!(app.state().document().spec(0).optimizers.len(), before);
}
