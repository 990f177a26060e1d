//! The commands as a user meets them: the real program, its output, its exit codes.

use std::process::{Output, Stdio};

use valleyscope_engine::optimizer::{RuleInfo, RuleKind};
#[cfg(target_os = "linux")]
use valleyscope_machine::Look;

use crate::sandbox::{self, Sandbox, expect_code, stderr, stdout};

/// Expects an error, and nothing on the output for results.
#[track_caller]
fn expect_error(output: &Output, code: i32, words: &[&str]) {
    sandbox::expect_error(output, code, words);
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
    for word in ["in presets Formula", "The loss, as it is typed", "L = ", "L_x = ", "rotation_degrees"] {
        assert!(stdout(&shown).contains(word), "without {word:?}: {}", stdout(&shown));
    }
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
    for word in ["bad.ron:1:68: noise must be", "^^^^", "none.ron", "2 of 3"] {
        assert!(stderr(&output).contains(word), "no {word:?} in: {}", stderr(&output));
    }
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
        true if Look::Program("ffmpeg").finds() => &["a.gif", "a.apng", "a.webm", "a.mp4"],
        true => &["a.gif", "a.apng"],
        false => &[],
    };
    exports.extend(animations.iter().map(|out| vec!["animate", "small.ron", "--size", "200x150", "--out", out]));
    for args in exports {
        let out = args[args.len() - 1];
        sandbox.write(out, "good");
        sandbox::expect_error(&sandbox.run_limited(1, &args), 1, &[out]);
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
