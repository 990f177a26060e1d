//! Errors of typed landscapes and rules in presets, with their positions.

use valleyscope_experiments::preset::{Preset, built_ins};

use super::fault::{fault_of, refused_in};

/// A good preset; the bad ones below replace a part of it.
const GOOD: &str = r##"Landscape(
    version: 1,
    title: "Good",
    simulations: [(spec: (
        landscape: Formula(name: "Bowl", text: "param k = 2 in 0.5..8 # \u{3b2}, \"k\"\nL = k*x^2 + y^2", k: 3.0),
        noise: 1.0,
        particles: 10,
        steps: 100,
        optimizers: [
            (id: 3, rule: Typed(name: "Plain", text: r#"
param pull = 0.5 in 0..1
theta = theta - eta*g*pull
"#, learning_rate: 0.1, pull: 0.25)),
        ],
    ))],
)
"##;

/// Calls [`refused_in`] with the good preset.
#[track_caller]
fn refused(part: &str, replacement: &str, mark: &str, words: &[&str]) {
    refused_in(GOOD, part, replacement, mark, words);
}

#[test]
fn the_good_preset_is_good() {
    Preset::parse(GOOD, "good.ron").unwrap();
}

#[test]
fn a_mistake_in_a_typed_text_is_marked_where_it_stands_in_the_file() {
    let unknown = &["the landscape's text, line 2, column 13", "expected one of the functions", "`norm`"];
    refused("k*x^2 + y^2", "k*x^2 + norm(y)", "norm", unknown);
    let early = &["the landscape's text, line 1, column 21", "expected a number, found `x`"];
    refused("in 0.5..8 # ", "in 0.5..x # ", "x", early);
    let of_rule = &["the rule's text, line 3, column 21", "expected a number, a function or one of", "`h`"];
    refused("eta*g*pull", "eta*h*pull", "h", of_rule);
    let mark = fault_of(&GOOD.replace("k*x^2 + y^2", "k*x^2 + norm(y)")).to_string();
    assert!(mark.ends_with("^^^^"), "the whole word is marked:\n{mark}");
}

#[test]
fn a_refused_name_is_marked() {
    refused("\"Bowl\"", "\"Beale\"", "\"Beale\"", &["`Beale` is that of another landscape"]);
    refused("\"Plain\"", "\"\"", "\"\"", &["a typed rule has a name of 1 to 60 characters, found 0"]);
}

#[test]
fn unknown_fields_and_wrong_values_of_typed_ones_are_named_and_marked() {
    let fields =
        "`simulations[0].spec.landscape` has no field `kk`; its fields are `name`, `text`, `k`, `rotation_degrees`";
    refused("k: 3.0", "kk: 3.0", "kk", &[fields]);
    refused("k: 3.0", "kk: \"a text\"", "kk", &[fields]);
    refused("k: 3.0", "k: \"a text\"", "\"a text\"", &["the parameter `k` must be a number"]);
    refused("k: 3.0", "k: 9.0", "9.0", &["k must be a number from 0.5 to 8, found 9"]);
    refused("k: 3.0),", "k: 3.0, k: 3.0),", "),", &["the field `k` is given twice"]);
    let fields = "has no field `push`; its fields are `name`, `text`, `learning_rate`, `schedule`, `pull`";
    refused("pull: 0.25", "push: Some(true)", "push", &[fields]);
    refused("pull: 0.25", "pull: 2", "2", &["pull must be a number from 0 to 1, found 2"]);
}

#[test]
fn a_fault_of_several_settings_is_named_after_those_that_cause_it() {
    let preset = |name: &str| &built_ins().iter().find(|built_in| built_in.name == name).unwrap().preset;
    let refused = |name: &str, settings: &[(&str, &str)]| {
        preset(name).with_all(settings.iter().copied()).unwrap_err().to_string()
    };
    let error = refused("fig2a", &[("seed", "3"), ("rows.to", "0.1"), ("steps", "50")]);
    assert!(error.starts_with("rows.to=0.1: `sweep.rows.to`"), "{error}");
    let error = refused("fig2a", &[("rows.count", "10000"), ("seed", "3"), ("columns.count", "10000")]);
    assert!(error.starts_with("rows.count=10000, columns.count=10000: `sweep.rows.count`"), "{error}");
    let error = refused("fig2a", &[("seed", "3"), ("rows.of", "Beta2")]);
    assert!(error.starts_with("rows.of=Beta2: expected one of"), "{error}");
}
