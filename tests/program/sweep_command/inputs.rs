//! Input that cannot be used.

use std::fs;

use super::{SMALL, with};
use crate::sandbox::{Sandbox, expect_error};

#[test]
fn wrong_options_say_what_was_expected_and_found() {
    let sandbox = Sandbox::new();
    for (option, value, expected) in [
        ("--grid", "5", "expected rows and columns, such as 24x25, found 5"),
        ("--grid", "5x", "found 5x"),
        ("--grid", "-1x5", "found -1x5"),
        ("--grid", "0x5", "expected"),
        ("--grid", "100000x100000", "from 1 to 10000, found 100000"),
        (
            "--grid",
            "5x99999999999999999999",
            "each side of a grid must be a whole number from 1 to 10000, found 5x9999",
        ),
        ("--grid", "10000x10000", "100000000 pixels, more than 1000000"),
        ("--lrs", "0", "found 0"),
        ("--lrs", "many", "found many"),
        ("--replicates", "0", "found 0"),
        ("--steps", "0", "found 0"),
        ("--steps", "NaN", "found NaN"),
        ("--seed", "-1", "expected a whole number from 0"),
        ("--threads", "0", "found 0"),
        ("--threads", "100000", "from 1 to 1024"),
        ("--set", "noise=-1", "--set noise=-1: noise must be a number from 0 to 100, found -1"),
        ("--set", "optimizers[9].schedule.warmup=3", "the preset has no `sweep.optimizers[9].schedule`"),
        ("--precision", "f16", "possible values: f32, f64"),
    ] {
        let output = sandbox.run(&["sweep", "fig2a", "--out", "out", option, value]);
        let word = if expected == "expected" { "0" } else { expected };
        expect_error(&output, 2, &[word]);
        assert!(!sandbox.join("out").exists(), "{option} {value} left a folder");
    }
}

#[test]
fn broken_sweeps_are_refused_with_their_place() {
    let sandbox = Sandbox::new();
    let preset = |rows: &str, optimizers: &str| {
        format!(
            "Sweep(version: 1, title: \"x\", sweep: (noise: 1.0, rows: (of: Landscape(Sharpness), {rows}), \
             columns: (of: Noise, from: 0.0, to: 3.0, count: 3, spacing: Linear), optimizers: [{optimizers}]))"
        )
    };
    let two = "(id: 0, rule: Adam()), (id: 1, rule: Focus())";
    for (rows, optimizers, words) in [
        ("from: 1.0, to: 1.0, count: 3, spacing: Linear", two, ["rows.to", "empty"]),
        ("from: 0.0, to: 1.0, count: 3, spacing: Log", two, ["rows.from", "logarithmic"]),
        ("from: NaN, to: 1.0, count: 3, spacing: Linear", two, ["rows.from", "NaN"]),
        ("from: 0.1, to: 1.0, count: 0, spacing: Log", two, ["count", "found 0"]),
        ("from: 0.1, to: 1.0, count: 3, spacing: Log", "(id: 0, rule: Adam())", ["2 to 16", "found 1"]),
    ] {
        fs::write(sandbox.join("p.ron"), preset(rows, optimizers)).unwrap();
        expect_error(&sandbox.run(&["sweep", "p.ron", "--out", "out"]), 2, &words);
        expect_error(&sandbox.run(&["presets", "check", "p.ron"]), 2, &words);
    }
    fs::write(sandbox.join("p.ron"), preset("from: 0.1, to: 1.0, count: 3, spacing: Log", two)).unwrap();
    sandbox.good(&with(&["sweep", "p.ron", "--out", "out"], &SMALL));
    expect_error(
        &sandbox.run(&["sweep", "p.ron", "--out", "raw", "--raw"]),
        2,
        &["raw arrays", "Adam, FOCUS and Signum"],
    );
}

#[test]
fn options_without_effect_are_refused() {
    let sandbox = Sandbox::new();
    let preset = "Sweep(version: 1, title: \"x\", sweep: (noise: 1.0,
        rows: (of: Steps, from: 10.0, to: 20.0, count: 2, spacing: Linear),
        columns: (of: Of(LearningRate, [0, 1]), from: 0.001, to: 1.0, count: 3, spacing: Log),
        optimizers: [(id: 0, rule: Adam()), (id: 1, rule: Focus())]))";
    fs::write(sandbox.join("p.ron"), preset).unwrap();
    for option in ["--steps", "--lrs"] {
        expect_error(&sandbox.run(&["sweep", "p.ron", "--out", "out", option, "5"]), 2, &[option, "no effect"]);
    }
    sandbox.good(&["sweep", "p.ron", "--out", "out", "--replicates", "3"]);
}

#[test]
fn each_kind_has_its_command() {
    let sandbox = Sandbox::new();
    expect_error(&sandbox.run(&["sweep", "fig1c", "--out", "out"]), 2, &["Landscape", "valleyscope simulate fig1c"]);
    expect_error(&sandbox.run(&["simulate", "fig2a"]), 2, &["Sweep", "valleyscope sweep fig2a --out"]);
    expect_error(&sandbox.run(&["sweep", "fig2", "--out", "out"]), 2, &["fig2a"]);
    let list = sandbox.run(&["presets", "list"]);
    let list = String::from_utf8(list.stdout).unwrap();
    let kind = |name: &str| {
        let line = list.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().to_owned()
    };
    assert_eq!([kind("fig2a"), kind("fig1c")], ["Sweep", "Landscape"]);
}

#[test]
fn a_folder_that_cannot_be_is_refused() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.join("file"), "").unwrap();
    let sweep = |out| sandbox.run(&with(&["sweep", "fig2a", "--out", out], &SMALL));
    expect_error(&sweep("file"), 2, &["must be a folder", "file"]);
    expect_error(&sweep("file/inside"), 1, &["cannot make the folder", "file/inside"]);
    expect_error(&sandbox.run(&["sweep", "fig2a"]), 2, &["--out"]);
}
