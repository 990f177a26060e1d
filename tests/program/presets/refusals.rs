//! Errors of presets, with their positions.

use proptest::prelude::*;
use valleyscope_engine::optimizer::{Decay, RuleKind, Schedule};
use valleyscope_engine::quantity::{DecaySteps, FinalShare, WarmupSteps};
use valleyscope_experiments::preset::{Fault, Preset, PresetError, built_ins};

use crate::doctor::make_fifo;
#[cfg(unix)]
use crate::says::says;

/// A good preset; the bad ones below replace a part of it.
pub const GOOD: &str = r#"// A comment.
Landscape(
    version: 1,
    title: "Good",
    simulations: [
        (spec: (
            noise: 1.0,
            particles: 10,
            steps: 100,
            optimizers: [
                (id: 3, rule: Adam(learning_rate: 0.1)),
                (id: 5, rule: Focus(learning_rate: 0.1, gamma: 0.2)), // " ( [ "
            ],
        ), changes: [(step: 9, set: Noise(1.0)), (step: 9, set: Noise(2.0))]),
    ],
    view: (camera: (center: (0.0, 1.0), width: 2.0), orbit: (azimuth: -30.0, elevation: 40.0)),
    lesson: [(text: "See.", set: [Noise(0.0)])],
)
"#;

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
fn a_lesson_names_only_metrics_that_its_landscape_has() {
    let lesson = r#"[(text: "See.", set: [Noise(0.0)])]"#;
    let lacks = "which the landscape Beale lacks; it has `Loss`, `EffectiveStep`, `FreeEnergy`";
    let shown = r#"[(text: "See.", set: [Landscape(Beale())], show: [Loss, Depth])]"#;
    refused(lesson, shown, "Depth", &["`lesson[0].show[1]` is `Depth`", lacks]);
    let claim = r#"[(text: "See."), (text: "So.", set: [Landscape(Beale())], claims: [(words: "1", metric: AbsV, optimizer: 3, step: 5)])]"#;
    refused(lesson, claim, "AbsV", &["`lesson[1].claims[0].metric` is `AbsV`", lacks]);
    // The claim is about the run of the first step, which is on the valley.
    let of_valley = claim.replace("metric: AbsV,", "metric: AbsV, run_of: 1,");
    Preset::parse(&GOOD.replace(lesson, &of_valley), "good.ron").unwrap();
}

#[test]
fn quantities_out_of_range_are_refused_with_their_position() {
    refused("noise: 1.0", "noise: -0.5", "-0.5", &["noise", "from 0 to 100", "-0.5"]);
    refused("noise: 1.0", "noise:   1e3 // much", "1e3", &["noise", "1000"]);
    refused("noise: 1.0", "noise: NaN", "NaN", &["noise", "NaN"]);
    refused("noise: 1.0", "noise: inf", "inf", &["noise", "inf"]);
    refused("noise: 1.0", "noise: -inf", "-inf", &["noise", "-inf"]);
    refused("noise: 1.0", "noise: 1e999", "1e999", &["noise", "inf"]);
    refused("gamma: 0.2", "gamma: 11", "11", &["gamma", "from -10 to 10", "11"]);
    refused("Adam(learning_rate: 0.1)", "Adam(learning_rate: 0)", "0)", &["learning_rate", "found 0"]);
    refused("Noise(0.0)", "Noise(101)", "101", &["noise", "101"]);
    refused(
        "(step: 9, set: Noise(1.0))",
        "(step: 9, set: Rule(optimizer: 3, rule: Adam(learning_rate: 99)))",
        "99",
        &["99"],
    );
    refused("particles: 10,", "particles: 0,", "0", &["particles", "1 to 10000", "found 0"]);
    refused("particles: 10,", "particles: 10001,", "10001", &["particles", "1 to 10000", "10001"]);
}

#[test]
fn invalid_schedules_are_refused_with_their_position() {
    let schedule = |schedule: &str| format!("Adam(learning_rate: 0.1, schedule: {schedule})");
    let refused = |wrong: &str, mark: &str, words: &[&str]| {
        refused("Adam(learning_rate: 0.1)", &schedule(wrong), mark, words);
    };
    refused("(warmup: -1)", "-1", &["warmup", "whole number", "-1"]);
    refused("(warm_up: 1)", "warm_up", &["`warm_up`", "`warmup`", "`decay`"]);
    refused("(decay: Linear)", "Linear", &["`Constant`, `Cosine`, `InverseRoot`", "`Linear`"]);
    refused("(decay: Cosine(to: 1.5))", "1.5", &["final share of the learning rate", "from 0 to 1", "1.5"]);
    refused("(), schedule: (), beta1: 0.9", " beta1: 0.9", &["`schedule` is given twice"]);
    refused("(decay: Cosine(steps: 0))", "0)))", &["steps of the decay", "whole number from 1", "found 0"]);
    refused("(decay: Cosine(steps: 5000000000))", "5000000000", &["steps of the decay", "found 5000000000"]);
    // In a run without an end, and in the session of a window that has one, the learning rate stays.
    let endless = GOOD.replace("steps: 100,", "").replace("Adam(learning_rate: 0.1)", &schedule("(decay: Cosine())"));
    let preset = Preset::parse(&endless, "without an end").unwrap();
    assert_eq!(Preset::parse(&preset.to_ron(), "written").unwrap(), preset);
}

#[test]
fn values_of_another_type_are_refused_with_their_position() {
    refused("noise: 1.0", "noise: \"1.0\"", "\"1.0\"", &["expected a number", "found a text"]);
    refused("noise: 1.0", "noise: loud", "loud", &["expected a number", "`loud`"]);
    refused("title: \"Good\"", "title: 5", "5", &["expected a text", "`5`"]);
    refused("steps: 100", "steps: -5", "-5", &["spec.steps", "whole number", "-5"]);
    refused("steps: 100", "steps: 2.5", "2.5", &["whole number", "2.5"]);
    refused("steps: 100", "steps: 1e3", "1e3", &["whole number", "1e3"]);
    refused("steps: 100", "steps: 99999999999999999999", "99999999999999999999", &["spec.steps", "too large"]);
    refused("id: 3", "id: 4294967296", "4294967296", &["id", "too large"]);
    refused("id: 3", "id: 3, color: (1, 256, 2)", "256", &["color", "256"]);
    refused("id: 3", "id: 3, enabled: yes", "yes", &["`true` or `false`", "`yes`"]);
    refused("center: (0.0, 1.0)", "center: (0.0)", ")", &["2", "1"]);
    refused("set: [Noise(0.0)]", "set: Noise(0.0)", "Noise", &["expected a list", "`Noise`"]);
    refused("set: [Noise(0.0)]", "set: [Noise]", "]", &["expected `(`"]);
}

#[test]
fn unknown_names_are_refused_with_the_known_ones() {
    refused("noise: 1.0", "nose: 1.0", "nose", &["`simulations[0].spec`", "no field `nose`", "`noise`"]);
    refused("version: 1,", "version: 1, x: 2,", "x", &["the preset", "no field `x`", "`title`"]);
    refused("gamma: 0.2", "gama: 0.2", "gama", &["spec.optimizers[1].rule", "`gama`", "`gamma`"]);
    let built_in = RuleKind::ALL.iter().map(|kind| kind.info().name);
    let names: Vec<String> = built_in.chain(["Typed"]).map(|name| format!("`{name}`")).collect();
    refused("Adam(", "Adamm(", "Adamm", &[&format!("one of {}, found `Adamm`", names.join(", "))]);
    refused("set: [Noise(0.0)]", "set: [Nose(0.0)]", "Nose", &["`Noise`", "`Nose`"]);
    refused("noise: 1.0,", "noise: 1.0, noise: 2.0,", "noise: 2", &["`noise`", "twice", "`simulations[0].spec`"]);
    refused("Adam(learning_rate: 0.1)", "Adam(beta1: 0.5)", ")", &["`learning_rate`", "missing", "optimizers[0].rule"]);
}

#[test]
fn broken_syntax_is_refused_with_its_position() {
    refused(
        "noise: 1.0,\n            particles",
        "noise: 1.0\n            particles",
        "particles",
        &["`,`", "`particles`"],
    );
    refused("\"See.\"", "\"See.", "\"", &["quotation mark"]);
    refused("// A comment.", "/* A comment.", "/*", &["comment"]);
    refused("\"See.\"", "\"\\q\"", "\\q", &["backslash"]);
}

#[test]
fn a_file_that_ends_too_early_is_refused_at_its_end() {
    let (head, _) = GOOD.split_at(GOOD.find("    view:").unwrap());
    let fault = fault_of(head);
    assert_eq!((fault.line, fault.column), (16, 1), "{fault}");
    assert!(fault.message.contains("ends too early"), "{fault}");
    for empty in ["", "  \n \n", "// nothing\n"] {
        let fault = fault_of(empty);
        assert!(fault.message.contains("Landscape(version: 1"), "{fault}");
    }
    let missing = fault_of("Landscape(version: 1, simulations: [(spec: (noise: 1, optimizers: []))])");
    assert!(missing.message.contains("`title`"), "{missing}");
    let trailing = fault_of(&format!("{GOOD}Landscape()"));
    assert_eq!((trailing.line, trailing.column), (19, 1), "{trailing}");
}

#[test]
fn another_version_is_refused_before_anything_else() {
    refused("version: 1,", "version: 2, dimensions: 3,", "2,", &["newer Valleyscope", "version is 2", "update"]);
    refused("version: 1,", "version: 0,", "0", &["version 0", "version 1"]);
    refused("version: 1,", "version: \"1\",", "\"1\"", &["whole number"]);
    refused("Landscape(\n    version: 1,", "Landscape(", "Landscape", &["`version: 1`"]);
}

#[test]
fn another_kind_of_preset_is_refused_by_name() {
    refused("Landscape(", "Gpt3(", "Gpt3", &["`Gpt2`", "`Landscape(version: 1, …)`", "found `Gpt3`"]);
    refused("Landscape(", "Landscap(", "Landscap", &["`Landscape(version: 1, …)`", "`Landscap`"]);
}

#[test]
fn errors_between_fields_name_both() {
    refused("id: 5", "id: 3", "3", &["spec.optimizers[1].id", "spec.optimizers[0].id"]);
    refused("step: 9, set: Noise(2.0)", "step: 8, set: Noise(2.0)", "8", &["changes[1].step", "changes[0].step", "9"]);
    let other = "(step: 9, set: Rule(optimizer: 5, rule: Adam(learning_rate: 1)))";
    refused(
        "(step: 9, set: Noise(1.0))",
        other,
        "Rule",
        &["changes[0].set", "simulation's optimizers", "FOCUS", "Adam"],
    );
    let unknown = "Rule(optimizer: 4, rule: Adam(learning_rate: 1))";
    refused("Noise(0.0)", unknown, "Rule", &["lesson[0].set[0]", "simulation's optimizers", "4"]);
    let linear = "view: (scale: (linear: 2.0, max: 1.0), ";
    refused("view: (", linear, "1.0", &["view.scale.max", "view.scale.linear"]);
    let text = GOOD.replace("(id: 3,", "(id: 3, enabled: false,").replace("(id: 5,", "(id: 5, enabled: false,");
    let fault = fault_of(&text);
    assert_eq!((fault.line, fault.column), (10, 25), "{fault}");
    assert!(fault.message.contains("enabled: true"), "{fault}");
}

#[test]
fn impossible_steps_of_a_lesson_are_refused() {
    let lesson = "lesson: [(text: \"See.\", set: [Noise(0.0)])]";
    let with = |step: &str| lesson.replace(")])]", &format!(")]), {step}]"));
    let on = |steps: &str| with(&format!("(text: \"On.\", set: [Steps({steps})], play: true, show: [Loss, AbsV])"));
    for steps in ["101", "None"] {
        Preset::parse(&GOOD.replace(lesson, &on(steps)), "good.ron").unwrap();
    }
    let words =
        ["`lesson[1].set`", "`lesson[0]`", "pauses at step 100", "later", "`Steps(100)`", "begins the run again"];
    refused(lesson, &on("100"), "[Steps", &words);
    let twice = with("(text: \"Look.\", show: [Loss, Depth, Loss])");
    refused(lesson, &twice, "Loss])", &["`lesson[1].show[2]`", "twice"]);
    let unknown = with("(text: \"Look.\", show: [Speed])");
    refused(lesson, &unknown, "Speed", &["`Loss`", "`EffectiveStep`", "`Speed`"]);
    refused(lesson, &with("(text: \"Go.\", play: yes)"), "yes", &["`true` or `false`"]);
    refused(lesson, &with("(section: \"\", text: \"Go.\")"), "\"\"", &["`lesson[1].section`", "empty"]);
    let more = |fields: &str| with(&format!("(text: \"Look.\", {fields})"));
    let good = "notes: \"Say this.\", marks: [(step: 60, text: \"here\")], formula: 3, term: \"∇L(θ)\", \
                figure: (name: \"fig2a\", point: (1.0, 10.0)), view: (projection: Space)";
    Preset::parse(&GOOD.replace(lesson, &more(good)), "good.ron").unwrap();
    refused(lesson, &more("marks: [(step: 9, text: \"\")]"), "\"\"", &["`lesson[1].marks[0].text`", "empty"]);
    let words = ["`lesson[1].marks[0].step`", "101", "after the pause at step 100"];
    refused(lesson, &more("marks: [(step: 101, text: \"late\")]"), "101", &words);
    refused(
        lesson,
        &more("formula: 4"),
        "4",
        &["`lesson[1].formula`", "id of an optimizer that is enabled", "found 4"],
    );
    let words = ["`lesson[1].term`", "must be left out", "`formula`"];
    refused(lesson, &more("term: \"g\""), "\"g\"", &words);
    let words = ["`lesson[1].term`", "a part of one of the lines", "∇L(θ)", "found `√x`"];
    refused(lesson, &more("formula: 3, term: \"√x\""), "\"√x\"", &words);
    let long = format!("(text: \"{}\")", "a".repeat(161));
    refused(lesson, &with(&long), "\"a", &["`lesson[1].text`", "at most 160", "161", "`notes`"]);
    let names = ["`lesson[1].figure.name`", "fig1c, saturation, fig2a", "`fig9`"];
    refused(lesson, &more("figure: (name: \"fig9\")"), "\"fig9\"", &names);
    let words = ["`lesson[1].figure.point`", "left out", "fig1c has no such axes", "fig2a"];
    refused(lesson, &more("figure: (name: \"fig1c\", point: (1.0, 2.0))"), "(1.0, 2.0)", &words);
    let words = ["`lesson[1].view.trail_width`", "0 to 100"];
    refused(lesson, &more("view: (trail_width: 200.0)"), "200.0", &words);
    let claim = |fields: &str| {
        with(&format!("(text: \"Go.\", claims: [(words: \"Go\", metric: Loss, optimizer: 3, step: 9, {fields})])"))
    };
    Preset::parse(&GOOD.replace(lesson, &claim("from: 9, is: Below(0.5), run_of: 1")), "good.ron").unwrap();
    refused(lesson, &claim("from: 10"), "10", &["`lesson[1].claims[0].from`", "at most `step`", "9", "10"]);
    refused(lesson, &claim("is: Below(inf)"), "Below", &["`lesson[1].claims[0].is`", "finite", "inf"]);
    refused(lesson, &claim("is: Near(1)"), "Near", &["`Above`", "`BelowOptimizer`", "`Near`"]);
}

#[test]
fn names_texts_and_views_are_limited() {
    refused("\"Good\"", "\"\"", "\"\"", &["`title`", "empty"]);
    refused("\"Good\"", "\"two\\nlines\"", "\"", &["`title`", "single line"]);
    let long = format!("\"{}\"", "long ".repeat(30));
    refused("\"Good\"", &long, "\"", &["`title`", "1 to 100", "150"]);
    refused("id: 3,", "id: 3, name: \" \",", "\" \"", &["spec.optimizers[0].name", "empty"]);
    let hidden = ["spec.optimizers[0].name", "visible character", "\\u{200b}"];
    refused("id: 3,", "id: 3, name: \"\u{200b}\",", "\"\u{200b}\"", &hidden);
    refused("id: 3,", "id: 3, name: \"Ad\u{200b}am\",", "\"Ad", &hidden);
    refused("\"See.\"", "\"\"", "\"\"", &["lesson[0].text", "empty"]);
    refused("width: 2.0", "width: 0.0", "0.0", &["view.camera.width", "from 1e-12 to 1e12", "found 0"]);
    refused("width: 2.0", "width: inf", "inf", &["view.camera.width", "inf"]);
    refused("azimuth: -30.0", "azimuth: NaN", "NaN", &["view.orbit.azimuth", "from -360 to 360", "NaN"]);
    refused("elevation: 40.0", "elevation: 3.5", "3.5", &["view.orbit.elevation", "from 5 to 90", "found 3.5"]);
    refused("center: (0.0, 1.0)", "center: (0.0, NaN)", "(0.0", &["view.camera.center", "NaN"]);
    refused("view: (", "view: (trail_width: -1, ", "-1", &["view.trail_width", "from 0 to 100", "-1"]);
    let many: String = (10..26).map(|id| format!("(id: {id}, rule: Adam(learning_rate: 1)), ")).collect();
    refused("optimizers: [", &format!("optimizers: [{many}"), "[", &["spec.optimizers", "1 to 16", "18"]);
}

#[test]
fn brackets_without_end_are_refused() {
    for bracket in ["(", "[", "{", "Some("] {
        let text = GOOD.replace("title: \"Good\"", &format!("title: {}", bracket.repeat(100_000)));
        fault_of(&text);
        fault_of(&bracket.repeat(100_000));
        fault_of(&format!("Landscape{}", bracket.repeat(100_000)));
    }
}

#[test]
fn a_fault_is_shown_with_its_line_and_a_mark() {
    let shown = fault_of(&GOOD.replace("gamma: 0.2", "gamma: 20")).to_string();
    let expected = "\
bad.ron:12:64: gamma must be a number from -10 to 10, found 20
   |
12 |              (id: 5, rule: Focus(learning_rate: 0.1, gamma: 20)), // \" ( [ \"
   |                                                             ^^";
    assert_eq!(shown, expected);
    // A long line is shown in part, a tab and an escape sequence as one character each.
    let long = fault_of(&format!("Landscape(version: 1,\t\u{1b}{} nose: 3)", " ".repeat(500)));
    assert!(long.to_string().lines().all(|line| line.chars().count() < 140), "{long}");
    assert!(!long.to_string().contains('\u{1b}'), "{long}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_damage_to_a_file_panics(cut in 0..4000_usize, length in 0..60_usize, junk in r#"[ -~\n"'()\[\]/*#βr]{0,20}"#) {
        let mut characters: Vec<char> = built_ins()[0].text.chars().collect();
        let from = cut.min(characters.len());
        let to = (from + length).min(characters.len());
        characters.splice(from..to, junk.chars());
        let text: String = characters.into_iter().collect();
        if let Err(error) = Preset::parse(&text, "damaged") {
            prop_assert!(error.to_string().starts_with("damaged:"), "{}", error);
        }
    }
}

#[test]
fn bidirectional_control_characters_are_escaped() {
    for text in [GOOD.replace("version: 1", "ver\u{202e}sion: 1"), "Land\u{2066}scape(version: 1)".to_owned()] {
        assert!(text.contains(['\u{202e}', '\u{2066}']));
        let fault = fault_of(&text);
        assert!(!fault.to_string().contains(['\u{202e}', '\u{2066}']), "{fault}");
    }
    let title = "title: \"a\u{202e}b\u{1b}c\", title: \"d\"";
    let fault = fault_of(&format!("Landscape(version: 1, {title})"));
    assert!(!fault.to_string().contains('\u{202e}') && fault.to_string().contains('□'), "{fault}");
}

#[test]
fn excessive_lengths_are_refused_with_their_position() {
    let name = "a".repeat(30_000);
    let list = format!("{name}: [{}], noise: 1.0", "0, ".repeat(65_000));
    refused("noise: 1.0", &list, "aaa", &["a name of at most 100 bytes", "30000"]);
    let digits = format!("noise: {}", "1".repeat(2000));
    refused("noise: 1.0", &digits, "111", &["a number of at most 1000 bytes", "2000"]);
    let text = format!("\"{}\"", "x".repeat(70_000));
    refused("\"Good\"", &text, "\"x", &["a text of at most 65536 bytes", "70002"]);
    let deep = format!("noise: {}", "[".repeat(100));
    let fault = fault_of(&GOOD.replace("noise: 1.0", &deep));
    // Four brackets are open before them.
    assert_eq!((fault.line, fault.column), (7, 20 + 60), "{fault}");
    assert!(fault.message.contains("nested deeper") && fault.message.contains("64"), "{fault}");
    let line = fault_of(&format!("Landscape(version: 1,{}\n)", " ".repeat(2 << 20)));
    assert!(line.message.contains("a line of at most 1048576 bytes"), "{line}");
}

#[test]
fn the_length_of_lists_is_limited_except_for_recorded_changes() {
    let ids = format!("Of(LearningRate, [{}])", "0, ".repeat(10_001));
    let fig2a = built_ins().iter().find(|built_in| built_in.name == "fig2a").unwrap().preset.to_ron();
    let fault = fault_of(&fig2a.replacen("of: Landscape(Sharpness)", &format!("of: {ids}"), 1));
    assert!(fault.message.contains("`sweep.rows.of") && fault.message.contains("10000 elements"), "{fault}");
    let change = "(step: 9, set: Noise(1.0)),\n";
    let text = GOOD.replace("changes: [", &format!("changes: [\n{}", change.repeat(20_000)));
    let Preset::Landscape(preset) = Preset::parse(&text, "long").unwrap() else { panic!("a simulation") };
    assert_eq!(preset.record().changes.len(), 20_002);
}

#[test]
fn the_longest_numbers_that_are_written_are_read() {
    let text = GOOD.replace("width: 2.0", &format!("width: {:.400}", 2.5_f64)).replace("10,", "0000010,");
    assert!(Preset::parse(&text, "long").is_ok());
}

#[test]
fn invalid_utf8_is_refused_with_line_and_column() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("latin1.ron");
    std::fs::write(&path, b"Landscape(\n    // \xce\xb2 \xe9").unwrap();
    let error = Preset::read(&path).unwrap_err();
    assert!(matches!(error, PresetError::NotText { .. }));
    assert!(error.to_string().contains("0xe9 in line 2, column 10"), "{error}");
}

#[test]
fn messages_name_what_is_in_the_file() {
    refused("(id: 3,", "ut(id: 3,", "ut", &["expected `(`, found `ut`"]);
    refused("optimizers: [", "optimizers: {", "{", &["expected a list"]);
    refused("center: (0.0, 1.0)", "center: [0.0]", "[", &["expected `(`"]);
    refused("noise: 1.0", "noise: 1_0._5", "_5", &["expected a number, found `_5`"]);
    refused("// A comment.", "#![enable(magic)]", ")", &["expected the preset itself, or an attribute"]);
}

#[test]
fn setting_a_path_that_does_not_exist_is_refused() {
    let mnist = &built_ins().iter().find(|built_in| built_in.name == "mnist").unwrap().preset;
    let refused = |path: &str, value: &str, words: &[&str]| {
        let error = mnist.with(path, value).unwrap_err().to_string();
        says(&error, words);
    };
    refused("runs[99].steps", "5", &["runs[99].steps=5", "the preset has no `runs[99]`"]);
    refused("runs[99]", "5", &["the preset has no `runs[99]`"]);
    refused("runs[x].steps", "5", &["the preset has no `runs[x]`"]);
    refused("optimizer.decay.target", "5", &["`runs[0].optimizer.decay` has no fields"]);
    refused("optimizer.delay.target", "5", &["the preset has no `runs[0].optimizer.delay`"]);
    refused("steps.more", "5", &["`runs[0].steps` has no fields"]);
    refused("steps", "5, seed: 7", &["expected a single value for `runs[0].steps`"]);
    refused("steps", "5), (optimizer: Adam(), learning_rate: 0.1", &["expected a single value"]);
    refused("nose", "5", &["`runs[0]` has no field `nose`"]);

    let set = |path: &str, value: &str| match mnist.with(path, value).unwrap() {
        Preset::Mnist(preset) => preset,
        other => panic!("expected trainings, found {other:?}"),
    };
    assert_eq!(set("runs[0].steps", "5").runs[0].steps.get(), 5);
    assert_eq!(set("steps", "5").runs[0].steps.get(), 5);
    assert_eq!(set("title", "Two words, and a comma").title, "Two words, and a comma");
    assert_eq!(set("name", "a \"b\" (c").runs[0].name.as_deref(), Some("a \"b\" (c"));
    assert_eq!(set("optimizer", "SGD").runs[0].optimizer.name(), "SGD");
}

/// A schedule's paths can be set also in a preset without one.
#[test]
fn a_schedule_is_set_by_its_path() {
    let built_in = |name: &str| &built_ins().iter().find(|built_in| built_in.name == name).unwrap().preset;
    let schedule = Schedule {
        warmup: WarmupSteps::clamped(20),
        decay: Decay::Cosine { to: FinalShare::clamped(0.1), steps: Some(DecaySteps::clamped(500)) },
    };
    let values = [("warmup", "20"), ("decay", "cosine(to: 0.1)"), ("decay.steps", "500")];
    let set = |name: &str, at: &str| {
        let paths = values.map(|(field, value)| (format!("{at}.schedule.{field}"), value));
        built_in(name).with_all(paths.iter().map(|(path, value)| (path.as_str(), *value))).unwrap()
    };
    let Preset::Sweep(preset) = set("fig2a", "optimizers[1]") else { panic!("it is a sweep") };
    assert_eq!(
        preset.sweep.optimizers.iter().map(|it| it.schedule).collect::<Vec<_>>(),
        [Schedule::default(), schedule, Schedule::default()]
    );
    let Preset::Landscape(preset) = set("four-optimizers", "simulations[0].spec.optimizers[0].rule") else {
        panic!("it is a landscape")
    };
    assert_eq!(preset.spec().optimizers[0].rule.schedule, schedule);
    assert_eq!(preset.spec().optimizers[1].rule.schedule, Schedule::default());
}

#[test]
fn a_choice_may_be_spelled_as_on_a_command_line() {
    let built_in = |name: &str| &built_ins().iter().find(|built_in| built_in.name == name).unwrap().preset;
    for (name, path, exact, others) in [
        ("gpt2-shakespeare", "precision", "BFloat16", &["bfloat16", "BFLOAT16", "b_float16"][..]),
        ("gpt2-shakespeare", "device", "Cuda(1)", &["cuda(1)"]),
        ("fig3-cpu", "optimizer", "Focus(decay: Parameters)", &["focus(decay: parameters)"]),
        ("mnist", "optimizer", "Sgd", &["sgd", "sGd"]),
        ("mnist", "not_finite", "GoOn", &["go_on", "go-on", "goon"]),
        ("mnist", "data", "Synthetic", &["synthetic"]),
    ] {
        let exact = built_in(name).with(path, exact).unwrap();
        for other in others {
            assert_eq!(built_in(name).with(path, other).unwrap(), exact, "{path}={other}");
        }
    }
    let error = built_in("mnist").with("precision", "float16").unwrap_err().to_string();
    assert!(error.starts_with("precision=float16: expected one of `Float32`, `Float64`, found `float16`"), "{error}");
    assert_eq!(built_in("mnist").with("title", "go-on").unwrap().title(), "go-on");
}

#[test]
fn texts_are_set_without_quotes_and_other_values_as_in_a_file() {
    let built_in = |name: &str| &built_ins().iter().find(|built_in| built_in.name == name).unwrap().preset;
    let name = |value: &str| match built_in("mnist").with("name", value).unwrap() {
        Preset::Mnist(preset) => preset.runs[0].name.clone(),
        other => panic!("expected trainings, found {other:?}"),
    };
    for text in ["Adam", "5", "true", "(a, b)", "[1]", "x: y", " \"half", "Sgd()", "a, b: 3)", "go-on", "β = 0.9", "//"]
    {
        assert_eq!(name(text).as_deref(), Some(text));
    }
    assert_eq!(name("\"in quotation marks\"").as_deref(), Some("in quotation marks"));
    assert_eq!(name("None"), None);
    assert_eq!(built_in("mnist").with("title", "None").unwrap().title(), "None");
    let nested = built_in("fig1c").with("simulations[0].spec.optimizers[1].name", "Adam, slow").unwrap();
    assert!(nested.to_ron().contains("name: \"Adam, slow\""));
    for (path, value, words) in [
        ("optimizer", "5", ["`5`", "found"]),
        ("optimizer", "focus(gama: 1)", ["has no field `gama`", "`gamma`"]),
        ("optimizer", "focus(gamma: much)", ["expected a number", "found `much`"]),
        ("optimizer", "fokus", ["expected one of", "found `fokus`"]),
        ("data", "Folder(empty)", ["expected a text in quotation marks", "found `empty`"]),
    ] {
        let error = built_in("mnist").with(path, value).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{path}={value}: ")), "{error}");
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    }
}

#[test]
fn a_refused_setting_is_named_without_a_position() {
    let mnist = &built_ins().iter().find(|built_in| built_in.name == "mnist").unwrap().preset;
    for (path, value, words) in [
        ("optimizer.beta1", "2", "found 2"),
        ("steps", "many", "expected a whole number"),
        ("nose", "5", "`runs[0]` has no field `nose`"),
        ("title", "", "title"),
    ] {
        let error = mnist.with(path, value).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{path}={value}: ")) && error.contains(words), "{error}");
        assert!(error.lines().count() == 1 && !error.contains(" | "), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn files_that_are_not_regular_are_no_presets_of_a_user() {
    use valleyscope_experiments::preset::Library;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    make_fifo(at("pipe.ron"));
    std::os::unix::fs::symlink("/dev/zero", at("zeros.ron")).unwrap();
    std::fs::write(at("good.txt"), GOOD).unwrap();
    std::os::unix::fs::symlink("good.txt", at("linked.ron")).unwrap();
    let library = Library::in_folder(folder.path());
    let found = library.user_presets().unwrap();
    let said = |name: &str| match &found.iter().find(|preset| preset.name == name).unwrap().preset {
        Ok(preset) => preset.title().to_owned(),
        Err(error) => error.to_string(),
    };
    assert!(said("pipe").ends_with("expected a plain file, found a FIFO"), "{}", said("pipe"));
    assert!(said("zeros").ends_with("expected a plain file, found a device"), "{}", said("zeros"));
    assert_eq!(said("linked"), "Good");
    assert!(library.load("pipe".as_ref()).is_err());
    assert_eq!(library.load("linked".as_ref()).unwrap().preset.title(), "Good");
    // A named device is read up to the largest length of a preset.
    let error = Library::load_file(std::path::Path::new("/dev/zero")).unwrap_err();
    assert!(error.to_string().contains("longer than 64 MiB"), "{error}");
}

pub fn fault_of(text: &str) -> Fault {
    match Preset::parse(text, "bad.ron") {
        Err(PresetError::Content(fault)) => *fault,
        other => panic!("expected a fault in the text, found {other:?} for\n{text}"),
    }
}

/// Replaces `part` of a good preset and expects the fault at the place of `mark` in the replacement.
#[track_caller]
pub fn refused_in(good: &str, part: &str, replacement: &str, mark: &str, words: &[&str]) {
    assert_eq!(good.matches(part).count(), 1, "{part}");
    let text = good.replace(part, replacement);
    let at = good.find(part).unwrap() + replacement.find(mark).expect("the mark is in the replacement");
    let line = text[..at].matches('\n').count() + 1;
    let column = text[..at].chars().rev().take_while(|&c| c != '\n').count() + 1;
    let fault = fault_of(&text);
    assert_eq!((fault.line, fault.column), (line, column), "{fault}");
    says(&fault.message, words);
}
