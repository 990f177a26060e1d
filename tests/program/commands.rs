//! The commands as a user meets them: the real program, its output, its exit codes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use skrifa::{FontRef, MetadataProvider};
use syn::Lit;
use valleyscope_engine::optimizer::{Marker, RuleInfo, RuleKind, RuleSpec, TypedRule, colors, markers};
use valleyscope_engine::terminal_escape::visible;
use valleyscope_experiments::preset::{Preset, built_ins};
use valleyscope_experiments::view::{
    Background, ColorUse, Pen, Vision, assigned_colors, color_difference, simulation_colors, sweep_colors,
};
#[cfg(target_os = "linux")]
use valleyscope_machine::Detection;

use crate::says::says;

use super::doctor;
use super::doctor::{Sandbox, expect_code, stderr, stdout};

/// Expects an error, and nothing on the output for results.
#[track_caller]
fn expect_error(output: &Output, code: i32, words: &[&str]) {
    doctor::expect_error(output, code, words);
    assert_eq!(stdout(output), "");
}

const SMALL: &str = "Landscape(version: 1, title: \"Small\", simulations: [(spec: (noise: 1, steps: 5, particles: 3,
    optimizers: [(id: 0, rule: Adam(learning_rate: 0.01)), (id: 1, name: \"a, b\", rule: Signum(learning_rate: 0.01))]))])";

#[test]
fn optimizers_are_listed_and_shown_with_all_settings() {
    let sandbox = Sandbox::new();
    let list = sandbox.run(&["optimizers", "list"]);
    expect_code(&list, 0);
    for kind in RuleKind::ALL {
        let RuleInfo { name, source, hyperparameters, states, .. } = kind.info();
        assert!(stdout(&list).lines().any(|line| line.starts_with(name) && line.ends_with(source)), "{name}");
        let shown = sandbox.run(&["optimizers", "show", name]);
        expect_code(&shown, 0);
        let parts = states.iter().map(|part| part.meaning);
        let hyperparameters = hyperparameters.iter().flat_map(|of| [of.key, of.help]);
        let choices = kind.info().hyperparameters.iter().flat_map(|of| of.choices()).map(|choice| choice.key);
        for word in [*source, "θ ←"].into_iter().chain(parts).chain(hyperparameters).chain(choices) {
            assert!(stdout(&shown).contains(word), "{name} without {word:?}: {}", stdout(&shown));
        }
        assert!(!stdout(&shown).contains("NaN"), "{}", stdout(&shown));
        let shown_text = stdout(&shown);
        let formulas = shown_text.split("Kept for each").next().unwrap();
        // Muon's second state is for parameters that are not matrices, which the plane does not have.
        for part in states.iter().filter(|part| (*kind, part.symbol) != (RuleKind::Muon, "s")) {
            assert!(formulas.contains(&format!("{} ←", part.symbol)), "{name} without {}: {formulas}", part.symbol);
        }
        for heading in formulas.split("\n\n").filter(|part| part.contains(" = ") && !part.starts_with(*name)) {
            assert!(heading.trim_end().lines().count() > 1, "{name}: nothing below {heading:?}");
        }
        assert_eq!(shown.stdout, sandbox.run(&["optimizers", "show", &kind.key().to_lowercase()]).stdout);
        assert_eq!(shown.stdout, sandbox.run(&["optimizers", "show", &format!("Cautious {name}")]).stdout);
    }
    let adam = sandbox.run(&["optimizers", "show", "adam"]);
    for line in ["m ← β₁ m + (1 − β₁) g", "d = m̂ / (√ŝ + ε)", "θ ← θ − η (d + ω θ)"] {
        assert!(stdout(&adam).contains(line), "{}", stdout(&adam));
    }
    let unknown = sandbox.run(&["optimizers", "show", "Adan"]);
    expect_error(&unknown, 2, &["\"Adan\"", "no preset of this name", "Adam, Signum, FOCUS"]);
    let unread = sandbox.command(&["optimizers", "list"]).stdout(Stdio::null()).output().unwrap();
    expect_code(&unread, 0);
}

#[test]
fn shells_complete_commands() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = sandbox.run(&["completions", shell]);
        expect_code(&script, 0);
        says(stdout(&script), &["valleyscope", "simulate", "best-over"]);
    }
    expect_error(&sandbox.run(&["completions", "sh"]), 2, &["bash"]);
}

#[test]
fn typed_optimizers_and_landscapes_of_a_preset_are_shown() {
    let sandbox = Sandbox::new();
    let own = sandbox.run(&["optimizers", "show", "own-rule"]);
    expect_code(&own, 0);
    for word in ["in presets Typed", "Its text:", "m = beta1*m + (1 - beta1)*g", "Kept for each", "on the plane"] {
        assert!(stdout(&own).contains(word), "without {word:?}: {}", stdout(&own));
    }
    assert!(!stdout(&own).contains("Signum, in presets Signum"), "the typed ones are enough: {}", stdout(&own));
    sandbox.write("mine.ron", stdout(&sandbox.run(&["presets", "show", "own-landscape"])));
    let shown = sandbox.run(&["landscapes", "show", "mine.ron"]);
    expect_code(&shown, 0);
    says(stdout(&shown), &["in presets Formula", "The loss, as it is typed", "L = ", "L_x = ", "rotation_degrees"]);
    sandbox.write("small.ron", SMALL);
    let all = stdout(&sandbox.run(&["optimizers", "show", "small.ron"])).to_owned();
    assert!(all.contains("Adam, in presets Adam\n") && all.contains("\nSignum, in presets Signum\n"), "{all}");
    let named = sandbox.run(&["landscapes", "show", "narrowing valley"]);
    assert_eq!(stdout(&named), stdout(&sandbox.run(&["landscapes", "show", "small.ron"])));
    let refused = sandbox.run(&["landscapes", "show", "mnist"]);
    expect_error(&refused, 2, &["expected a preset with a landscape", "`mnist` is a Mnist"]);
    expect_error(&sandbox.run(&["landscapes", "show", "nowhere.ron"]), 2, &["nowhere.ron"]);
}

#[test]
fn optimizers_are_printed_as_code() {
    let sandbox = Sandbox::new();
    let shown = |of: &str, notation: &str, set: &[&str]| {
        let sets = set.iter().flat_map(|set| ["--set", set]);
        sandbox.run(&["optimizers", "show", of, "--as", notation].into_iter().chain(sets).collect::<Vec<_>>())
    };
    let focus = shown("focus", "pytorch", &[]);
    expect_code(&focus, 0);
    assert_eq!(stdout(&focus), include_str!("../../crates/engine/src/optimizer/notation/goldens/focus.py"));
    let other = shown("FOCUS", "pytorch", &["gamma=-0.3", "lr=0.02", "decay=parameters"]);
    says(stdout(&other), &["lr=0.02", "gamma=-0.3", "1 - lr * weight_decay"]);
    let cautious = shown("Cautious Lion", "latex", &[]);
    says(stdout(&cautious), &["\\begin{aligned}", "\\varphi", "\\operatorname{sign}"]);
    for id in ["1", "Signum", "signum"] {
        let text = shown(&format!("fig1c:{id}"), "text", &[]);
        expect_code(&text, 0);
        says(stdout(&text), &["state m", "d = sign(m)"]);
        let class = shown(&format!("fig1c:{id}"), "pytorch", &[]);
        says(stdout(&class), &["class Signum(Optimizer)", "lr=0.002"]);
    }
    let typed = shown("own-rule:1", "pytorch", &[]);
    says(stdout(&typed), &["class AgreeingSignum(Optimizer)", "agrees = (m * grad > 0).to(grad.dtype)"]);
    expect_error(&shown("fig1c", "pytorch", &[]), 2, &["`fig1c:0` (Adam)", "`fig1c:1` (Signum)"]);
    expect_error(&shown("fig1c:7", "pytorch", &[]), 2, &["`fig1c:1` (Signum)"]);
    expect_error(&shown("Muon", "text", &[]), 2, &["the language lacks"]);
    expect_error(&shown("Adam", "latex", &["gamma=1"]), 2, &["--set gamma=1", "beta1, beta2, eps"]);
    expect_error(&shown("Adam", "latex", &["mask=On"]), 2, &["expected one of Off, Cautious"]);
    expect_error(&shown("Adam", "latex", &["beta1=2"]), 2, &["beta1"]);
    expect_error(&sandbox.run(&["optimizers", "show", "Adam", "--set", "beta1=0.5"]), 2, &["--as"]);
}

#[test]
fn a_resumed_run_with_other_settings_is_refused_and_fork_is_named() {
    let sandbox = Sandbox::new();
    for (option, value) in [("--set", "learning_rate=0.1"), ("--device", "cpu"), ("--data", "folder")] {
        let output = sandbox.run(&["train", "--resume", "last", option, value]);
        let fork = format!("`valleyscope train --fork last {option} ");
        expect_error(&output, 2, &["a resumed run keeps its settings", &fork, "`valleyscope runs set last KEY=VALUE`"]);
    }
}

#[test]
fn presets_are_compared_in_a_table() {
    let sandbox = Sandbox::new();
    sandbox.write("mine.ron", &SMALL.replace("noise: 1", "noise: 2").replace("particles: 3", "particles: 4"));
    sandbox.write("other.ron", SMALL);
    let diff = sandbox.run(&["presets", "diff", "mine.ron", "other.ron"]);
    expect_code(&diff, 0);
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let lines: Vec<Vec<String>> = stdout(&diff).lines().map(words).collect();
    assert_eq!(lines[0], ["SETTING", "KEY", "mine.ron", "other.ron"]);
    assert_eq!(lines[1], ["Noise", "σ", "noise", "2", "1"]);
    assert_eq!(lines[2], ["Particles", "particles", "4", "3"]);
    assert_eq!(lines[3], Vec::<String>::new());
    assert_eq!(lines[4][1..], ["settings", "are", "equal"]);
    let same = sandbox.run(&["presets", "diff", "fig1c", "fig1c"]);
    expect_code(&same, 0);
    assert!(
        stdout(&same).ends_with(" settings are equal\n") && stdout(&same).lines().count() == 1,
        "{}",
        stdout(&same)
    );
    expect_error(&sandbox.run(&["presets", "diff", "fig1c"]), 2, &["2 values"]);
    expect_error(&sandbox.run(&["presets", "diff", "fig1c", "fig1d"]), 2, &["fig1d"]);
}

#[test]
fn help_and_version_are_given() {
    let sandbox = Sandbox::new();
    for args in [&["--help"][..], &["simulate", "--help"], &["presets", "--help"], &["app", "--help"]] {
        let output = sandbox.run(args);
        expect_code(&output, 0);
        assert!(stdout(&output).contains("Usage: valleyscope"), "{}", stdout(&output));
    }
    assert_eq!(stdout(&sandbox.run(&["--version"])), concat!("valleyscope ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn wrong_usage_exits_with_2() {
    let sandbox = Sandbox::new();
    for args in [
        &["swim"][..],
        &["presets"],
        &["presets", "check"],
        &["presets", "show"],
        &["simulate"],
        &["simulate", "fig1c", "--steps", "-1"],
        &["simulate", "fig1c", "--steps", "1.5"],
        &["simulate", "fig1c", "--every", "0"],
        &["simulate", "fig1c", "--particles", "0"],
        &["simulate", "fig1c", "--particles", "10001"],
        &["simulate", "fig1c", "--seed", "18446744073709551616"],
        &["simulate", "fig1c", "--out"],
        &["--preset", "fig1c", "--open", "x.ron"],
    ] {
        expect_error(&sandbox.run(args), 2, &["--help"]);
    }
}

#[test]
fn a_wrong_number_is_refused_with_expected_and_found_value() {
    let sandbox = Sandbox::new();
    for (option, value, expected) in [
        ("--steps", "-3", "expected a whole number from 0 to 18446744073709551615, found -3"),
        ("--particles", "few", "particles must be a whole number from 1 to 10000, found few"),
        ("--seed", "-1", "expected a whole number from 0 to 18446744073709551615, found -1"),
        ("--seed", "18446744073709551616", "from 0 to 18446744073709551615, found 18446744073709551616"),
        ("--every", "0", "expected a whole number from 1 to 18446744073709551615, found 0"),
    ] {
        expect_error(&sandbox.run(&["simulate", "fig1c", option, value]), 2, &[option, expected]);
    }
}

#[test]
fn a_training_without_a_preset_is_refused_before_searching_for_a_worker() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["train", "nothing", "--worker", "/nowhere/worker"]);
    expect_error(&output, 2, &["there is no preset named `nothing`"]);
    let output = sandbox.run(&["train", "mnist", "--worker", "/nowhere/worker"]);
    expect_error(&output, 2, &["--worker names /nowhere/worker", "omit it"]);
}

#[test]
fn presets_are_listed_with_a_sentence_each() {
    let sandbox = Sandbox::new();
    sandbox.write("valleyscope/presets/mine.ron", SMALL);
    sandbox.write("valleyscope/presets/torn.ron", "Landscape(");
    let output = sandbox.run(&["presets", "list"]);
    expect_code(&output, 0);
    let lines: Vec<&str> = stdout(&output).lines().collect();
    assert_eq!(lines[0].split_whitespace().next(), Some("lesson"));
    assert!(lines.iter().any(|line| line.starts_with("fig1c ") && line.ends_with('.')));
    assert!(lines.iter().any(|line| line.starts_with("mine ") && line.ends_with("(yours) Small")));
    assert!(lines.iter().any(|line| line.starts_with("torn ") && line.contains("broken")));
}

#[test]
fn a_preset_is_printed_as_it_is_written() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["presets", "show", "saturation"]);
    expect_code(&output, 0);
    assert_eq!(stdout(&output), include_str!("../../presets/saturation.ron"));
    sandbox.write("small.ron", SMALL);
    assert_eq!(stdout(&sandbox.run(&["presets", "show", "small.ron"])), SMALL);
    expect_error(&sandbox.run(&["presets", "show", "fig1d"]), 2, &["fig1d", "did you mean `fig1c`"]);
    expect_error(&sandbox.run(&["presets", "show", "none.ron"]), 2, &["none.ron"]);
}

#[test]
fn presets_are_checked_one_by_one() {
    let sandbox = Sandbox::new();
    sandbox.write("good.ron", SMALL);
    sandbox.write("bad.ron", &SMALL.replace("noise: 1", "noise: 1000"));
    let output = sandbox.run(&["presets", "check", "good.ron"]);
    expect_code(&output, 0);
    assert!(stdout(&output).starts_with("good.ron: good"));
    let output = sandbox.run(&["presets", "check", "bad.ron", "good.ron", "none.ron"]);
    expect_code(&output, 2);
    assert!(stdout(&output).contains("good.ron: good"));
    says(stderr(&output), &["bad.ron:1:68: noise must be", "^^^^", "none.ron", "2 of 3"]);
}

#[test]
fn a_bad_preset_stops_the_app_before_a_window_opens() {
    let sandbox = Sandbox::new();
    sandbox.write("bad.ron", "Landscape(version: 1)");
    expect_error(&sandbox.run(&["--preset", "nope"]), 2, &["nope"]);
    expect_error(&sandbox.run(&["app", "--open", "bad.ron"]), 2, &["bad.ron:1:"]);
    expect_error(&sandbox.run(&["--open", "none.ron"]), 2, &["none.ron"]);
}

// A full disk is an error, a closed pipe is not.

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_exits_with_1() {
    let sandbox = Sandbox::new();
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for args in [&["presets", "list"][..], &["presets", "show", "lesson"], &["simulate", "fig1c"]] {
        let output = sandbox.command(args).stdout(full()).output().unwrap();
        expect_code(&output, 1);
        assert!(stderr(&output).contains("No space left"), "{}", stderr(&output));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_export_on_a_full_disk_fails_and_keeps_the_file_of_before() {
    let sandbox = Sandbox::new();
    sandbox.write("small.ron", SMALL);
    let mut exports = vec![
        vec!["figure", "small.ron", "--out", "a.png"],
        vec!["figure", "small.ron", "--out", "a.svg"],
        vec!["figure", "small.ron", "--out", "a.pdf"],
        vec!["simulate", "small.ron", "--steps", "200", "--out", "a.csv"],
        vec!["simulate", "small.ron", "--steps", "200", "--out", "a.npz"],
        vec!["lesson", "lesson", "--replace", "--html", "a.html"],
    ];
    let animations: &[&str] = match cfg!(feature = "app") {
        true if Detection::Program("ffmpeg").finds() => &["a.gif", "a.apng", "a.webm", "a.mp4"],
        true => &["a.gif", "a.apng"],
        false => &[],
    };
    exports.extend(animations.iter().map(|out| vec!["animate", "small.ron", "--size", "200x150", "--out", out]));
    for args in exports {
        let out = args[args.len() - 1];
        sandbox.write(out, "good");
        doctor::expect_error(&sandbox.run_limited(1, &args), 1, &[out]);
        assert_eq!(std::fs::read_to_string(sandbox.join(out)).unwrap(), "good");
        let left = std::fs::read_dir(sandbox.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(left.into_iter().all(|name| !name.to_string_lossy().ends_with(".tmp")), "{args:?}");
        expect_code(&sandbox.run(&args), 0);
        assert!(std::fs::metadata(sandbox.join(out)).unwrap().len() > 1024, "{args:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_exits_with_0() {
    let sandbox = Sandbox::new();
    for args in [&["presets", "list"][..], &["simulate", "fig1c"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = sandbox.command(args).stdout(writer).output().unwrap();
        expect_code(&output, 0);
        assert!(!stderr(&output).contains("panic"), "{}", stderr(&output));
    }
    // Neither is a closed stderr.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = sandbox.command(&["presets", "show", "nope"]).stderr(Stdio::from(writer)).status().unwrap();
    assert_eq!(status.code(), Some(2));
}

// Optimizers that are shown together can be told apart by their colours, and where a reader sees two of them alike, by
// their marks or dashes.
//
// The least differences are those of [`ColorUse::least`]: twice "two different colours" (CIEDE2000 5) for usual vision,
// 5 under protanopia and deuteranopia, and 5 and 3.5 in the half pale cells of diagrams.

/// The optimizers that a preset shows together: their colours and marks, or their curves.
enum Together {
    Optimizers(Vec<[u8; 3]>, Vec<Marker>),
    Curves(Vec<Pen>),
}

impl Together {
    fn of(preset: &Preset) -> Together {
        match preset {
            Preset::Landscape(preset) => {
                let optimizers = &preset.spec().optimizers;
                let marks = markers(optimizers.iter().map(|optimizer| optimizer.rule.rule.marker()));
                Together::Optimizers(simulation_colors(optimizers), marks)
            }
            Preset::Sweep(preset) => {
                let optimizers = &preset.sweep.optimizers;
                let marks = markers(optimizers.iter().map(|optimizer| optimizer.rule.marker()));
                Together::Optimizers(sweep_colors(optimizers), marks)
            }
            Preset::Grid(_) => {
                let rules = preset.trainings().into_iter().filter_map(|training| Some(*training.training()?.rule));
                let mut distinct: Vec<RuleSpec> = Vec::new();
                for rule in rules {
                    if !distinct.contains(&rule) {
                        distinct.push(rule);
                    }
                }
                let own = distinct.iter().map(|rule| (None, rule.rgb()));
                Together::Optimizers(assigned_colors(own), markers(distinct.iter().map(RuleSpec::marker)))
            }
            _ => {
                let trainings = preset.trainings();
                let rules = trainings.iter().filter_map(|training| Some(training.training()?.rule.rgb()));
                Together::Curves(Pen::side_by_side(&rules.collect::<Vec<_>>()))
            }
        }
    }
}

fn pairs(count: usize) -> impl Iterator<Item = [usize; 2]> {
    (0..count).flat_map(|one| (0..one).map(move |other| [other, one]))
}

/// Returns the smallest difference of colours as they are drawn, with the pair that has it.
fn smallest(colors: &[[u8; 3]], of: ColorUse, vision: Vision) -> Option<(f64, [usize; 2])> {
    let drawn: Vec<[u8; 3]> = colors.iter().map(|color| of.drawn(*color)).collect();
    let apart = |[one, other]: [usize; 2]| (color_difference(drawn[one], drawn[other], vision), [one, other]);
    pairs(colors.len()).map(apart).min_by(|(a, _), (b, _)| a.total_cmp(b))
}

#[test]
fn the_optimizers_of_each_built_in_preset_can_be_told_apart() {
    for built_in in built_ins() {
        match Together::of(&built_in.preset) {
            Together::Optimizers(colors, marks) => {
                for (of, vision) in ColorUse::ALL.into_iter().flat_map(|of| Vision::ALL.map(|vision| (of, vision))) {
                    let Some((apart, [one, other])) = smallest(&colors, of, vision) else { continue };
                    assert!(
                        apart >= of.least(vision),
                        "{}: optimizers {one} and {other}, {:?} and {:?}, are {apart:.1} apart as {of:?} for {vision:?}",
                        built_in.name,
                        colors[one],
                        colors[other]
                    );
                }
                // The marks on the landscape and in legends do not depend on colours at all.
                assert!(pairs(marks.len()).all(|[one, other]| marks[one] != marks[other]), "{}", built_in.name);
            }
            Together::Curves(pens) => curves_can_be_told_apart(built_in.name, &pens),
        }
    }
}

/// Asserts that curves differ by their colours for usual vision, and for others by colours or dashes.
fn curves_can_be_told_apart(preset: &str, pens: &[Pen]) {
    for [one, other] in pairs(pens.len()) {
        for (background, vision) in
            [Background::Light, Background::Dark].into_iter().flat_map(|on| Vision::ALL.map(|vision| (on, vision)))
        {
            let [a, b] = [one, other].map(|index| pens[index].color_on(background));
            let apart = color_difference(a, b, vision);
            let is_dashed = vision != Vision::Usual && pens[one].dash != pens[other].dash;
            assert!(
                is_dashed || apart >= ColorUse::Line(background).least(vision),
                "{preset}: curves {one} and {other}, {a:?} and {b:?}, are {apart:.1} apart on {background:?} for {vision:?}"
            );
        }
    }
}

/// All sixteen rules, and a typed one. What is reached is limited by the paper's colours of Adam and Signum, which are
/// 5.2 apart as lines on a light background under deuteranopia.
#[test]
fn all_rules_can_be_told_apart_by_their_colours_and_by_their_marks() {
    let (names, homes): (Vec<&str>, Vec<[u8; 3]>) = colors().into_iter().unzip();
    let together = assigned_colors(homes.iter().map(|home| (None, *home)));
    let is_kept = |(color, home): (&[u8; 3], &[u8; 3])| color == home || *home == TypedRule::COLOR;
    assert!(together.iter().zip(&homes).all(is_kept), "each rule keeps its colour: {together:?}");
    let reached = [(Vision::Usual, [15.0, 9.5]), (Vision::Protanopia, [5.1, 4.0]), (Vision::Deuteranopia, [5.1, 4.0])];
    for (vision, [full, pale]) in reached {
        for of in ColorUse::ALL {
            let bound = if of == ColorUse::FaintArea { pale } else { full };
            let (apart, [one, other]) = smallest(&together, of, vision).expect("there are several");
            assert!(apart >= bound, "{} and {}: {apart:.2} as {of:?} for {vision:?}", names[one], names[other]);
        }
    }
}

const FONT: &[u8] = include_bytes!("../../assets/fonts/ValleyscopeSans.otf");

#[test]
fn every_character_shown_has_a_glyph() {
    let font = FontRef::new(FONT).expect("the bundled font is a font");
    let charmap = font.charmap();
    // The byte order mark is taken off texts that are read; control characters are shown as escapes.
    let invisible = |c: char| c == '\u{feff}' || visible(&c.to_string()) != c.to_string();
    let has_glyph = |c: char| invisible(c) || charmap.map(c).is_some_and(|glyph| glyph.to_u32() != 0);

    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    let crates = fs::read_dir(root.join("crates")).expect("there are crates");
    let packages = crates.map(|package| package.expect("a crate's folder").path()).chain([root.to_owned()]);
    packages.for_each(|package| collect(&package.join("src"), "rs", &mut files));
    collect(&root.join("presets"), "ron", &mut files);
    let mut characters = 0;
    let mut missing = Vec::new();
    for file in &files {
        let name = file.strip_prefix(root).unwrap_or(file).display();
        let source = fs::read_to_string(file).expect("a text file").parse();
        for text in literals(source.unwrap_or_else(|error| panic!("{name}: {error}"))) {
            characters += text.chars().count();
            let without = text.chars().filter(|c| !has_glyph(*c));
            missing.extend(without.map(|c| format!("{name}: {c:?} (U+{:04X}) in {text:?}", u32::from(c))));
        }
    }
    assert!(characters > 1000, "only {characters} characters found in {} files", files.len());
    assert!(missing.is_empty(), "no glyph for\n{}", missing.join("\n"));
}

#[test]
fn digits_have_equal_widths() {
    let font = FontRef::new(FONT).expect("the bundled font is a font");
    let metrics = font.glyph_metrics(skrifa::instance::Size::unscaled(), skrifa::instance::LocationRef::default());
    let width = |c| metrics.advance_width(font.charmap().map(c).expect("a glyph")).expect("a width");
    for digit in '1'..='9' {
        assert_eq!(width(digit), width('0'), "{digit}");
    }
}

#[test]
fn literals_are_found_and_comments_left_out() {
    let text = |source: &str| literals(source.parse().expect("a source")).concat();
    assert_eq!(text("// \"no\" é\n/// \"no\" é\nstruct A;"), "");
    assert_eq!(text("/* a /* b */ \"no\" */ \"yes\""), "yes");
    assert_eq!(text(r#"f("a\"b", 'c', '\'', "d")"#), "a\"bc'd");
    assert_eq!(text(r##"r#"raw "quoted" \u"# + "é""##), "raw \"quoted\" \\ué");
    assert_eq!(text(r#"fn f<'a>(x: &'a str) { g("β", '\u{2207}') }"#), "β∇");
    assert_eq!(text("\"one // two\""), "one // two");
}

fn collect(folder: &Path, extension: &str, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            collect(&path, extension, files);
        } else if path.extension().is_some_and(|it| it == extension) {
            files.push(path);
        }
    }
}

/// Returns the texts of all string and character literals of a Rust or RON source.
fn literals(source: TokenStream) -> Vec<String> {
    let texts = source.into_iter().map(|token| match token {
        TokenTree::Group(group) if !is_doc(&group) => literals(group.stream()),
        TokenTree::Literal(literal) => match Lit::new(literal) {
            Lit::Str(text) => vec![text.value()],
            Lit::Char(c) => vec![c.value().to_string()],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    });
    texts.flatten().collect()
}

/// Returns whether it is a comment of documentation, which is read as the attribute `[doc = "…"]`.
fn is_doc(group: &Group) -> bool {
    let first = group.stream().into_iter().next();
    group.delimiter() == Delimiter::Bracket && first.is_some_and(|first| first.to_string() == "doc")
}
