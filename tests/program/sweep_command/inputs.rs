//! Input that cannot be used.

use std::fs;

use valleyscope::export::NpzReader;
use valleyscope::sweep::result::SweepResult;

use super::{SMALL, with};
use crate::doctor::{Sandbox, expect_error, signal};

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
        ("from: 0.1, to: 1.0, count: 3, spacing: Log", "(id: 0, rule: Adam())", ["2 to 32", "found 1"]),
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

const SWEEP: [&str; 9] = ["sweep", "fig2a", "--grid", "5x6", "--lrs", "4", "--steps", "40", "--adaptive"];

#[test]
fn parts_and_threads_have_the_bytes_of_the_whole() {
    let sandbox = Sandbox::new();
    sandbox.good(&with(&SWEEP, &["--out", "whole", "--threads", "2"]));
    sandbox.good(&with(&SWEEP, &["--out", "one", "--threads", "1"]));
    for part in ["2/3", "1/3", "3/3"] {
        sandbox.good(&with(&SWEEP, &["--out", "parts", "--part", part]));
    }
    sandbox.good(&["sweep", "--merge", "parts", "--out", "merged"]);
    assert!(sandbox.files("whole") == sandbox.files("one"), "one thread");
    assert!(sandbox.files("whole") == sandbox.files("merged"), "merged parts");
}

#[test]
fn a_killed_sweep_resumes_to_the_same_bytes() {
    let sandbox = Sandbox::new();
    let sweep =
        ["sweep", "fig2a", "--grid", "24x25", "--lrs", "5", "--steps", "3000", "--threads", "1", "--adaptive=2"];
    let mut child = sandbox.start_and_wait(&with(&sweep, &["--out", "killed"]), "killed");
    signal("KILL", child.id());
    child.wait().unwrap();
    assert!(sandbox.join("killed/pixels.bin").exists(), "it was killed before the end");
    sandbox.good(&with(&sweep, &["--out", "killed", "--resume"]));
    sandbox.good(&with(&sweep, &["--out", "whole"]));
    assert!(sandbox.files("killed") == sandbox.files("whole"));
}

#[test]
fn the_other_sampling_is_named_where_it_is_found() {
    let sandbox = Sandbox::new();
    let sweep = ["sweep", "fig2a", "--grid", "24x25", "--lrs", "5", "--steps", "3000", "--threads", "1"];
    let adaptive = with(&sweep, &["--adaptive"]);
    for (begun, asked) in [(&adaptive[..], &sweep[..]), (&sweep, &adaptive)] {
        let mut child = sandbox.start_and_wait(&with(begun, &["--out", "begun"]), "begun");
        signal("KILL", child.id());
        child.wait().unwrap();
        let output = sandbox.run(&with(asked, &["--out", "begun", "--resume"]));
        expect_error(&output, 2, &["is of another sweep: its `sampling` is "]);
        fs::remove_dir_all(sandbox.join("begun")).unwrap();
    }
    let uniform = &SWEEP[..SWEEP.len() - 1];
    sandbox.good(&with(uniform, &["--out", "mixed", "--part", "1/2"]));
    sandbox.good(&with(&SWEEP, &["--out", "mixed", "--part", "2/2"]));
    expect_error(&sandbox.run(&["sweep", "--merge", "mixed", "--out", "merged"]), 2, &["its sampling is Adaptive"]);
}

#[test]
fn results_open_again_and_say_what_was_spent() {
    let sandbox = Sandbox::new();
    let message = sandbox.good(&with(&SWEEP, &["--out", "out"]));
    assert!(message.contains("decided with 95 % certainty"), "{message}");
    let path = sandbox.join("out/phase.npz");
    let result = SweepResult::open(&path).unwrap();
    let mut again = std::io::Cursor::new(Vec::new());
    result.write_arrays(&mut again).unwrap();
    assert!(again.into_inner() == fs::read(&path).unwrap(), "written again, the archive has the same bytes");
    let spec = result.diagram.spec();
    let sure = |pixel| result.diagram.cell(pixel).unwrap().comparison(spec.metric).certainty() >= Some(0.95);
    let decided = spec.pixels().filter(|pixel| sure(*pixel)).count();
    assert!(message.contains(&format!("{decided} of 30 pixels are decided")), "{decided}: {message}");
    sandbox.good(&["figure", "./out", "--spent", "--out", "spent.svg"]);
    assert!(fs::read_to_string(sandbox.join("spent.svg")).unwrap().contains("runs spent"));
}

/// The rival in the readout and the gap in the table are those of the next best score in the sweep's own arrays.
#[test]
fn the_reported_rival_has_the_next_best_score() {
    const SHAPE: [usize; 2] = [12, 13];
    let sandbox = Sandbox::new();
    let sweep = ["sweep", "fig2a", "--grid", "12x13", "--lrs", "6", "--steps", "100", "--adaptive", "--out", "out"];
    sandbox.good(&sweep);
    let archive = fs::File::open(sandbox.join("out/phase.npz")).unwrap();
    let mut archive = NpzReader::new(archive).unwrap();
    let [rows, columns] = SHAPE;
    let winners: Vec<i32> = archive.array("winner", &SHAPE).unwrap();
    let scores: Vec<f64> = archive.array("score", &[3, rows, columns]).unwrap();
    let gaps: Vec<f64> = archive.array("gap", &[3, 3, rows, columns]).unwrap();
    let error_probabilities: Vec<f64> = archive.array("doubt", &[3, rows, columns]).unwrap();
    let certainties: Vec<f64> = archive.array("certainty", &SHAPE).unwrap();
    let result = SweepResult::open(&sandbox.join("out")).unwrap();
    let table = fs::read_to_string(sandbox.join("out/phase.csv")).unwrap();
    let (mut by_doubt, mut pixels) = (0, 0);
    for (index, row) in table.lines().skip(1).enumerate() {
        let at = |optimizer: usize| optimizer * rows * columns + index;
        let Ok(winner) = usize::try_from(winners[index]) else { continue };
        let others = || (0..3).filter(|other| *other != winner);
        let closest = others().min_by(|a, b| scores[at(*a)].total_cmp(&scores[at(*b)])).unwrap();
        let metric = result.diagram.spec().metric;
        let comparison = result.diagram.cell([index / columns, index % columns]).unwrap().comparison(metric);
        let (rival, certainty) = comparison.rival().unwrap();
        assert_eq!((rival, certainty), (closest, 1.0 - error_probabilities[at(closest)]), "pixel {index}");
        let [gap, _, of_winner] = [3, 4, 5].map(|column| row.split(',').nth(column).unwrap().parse::<f64>().unwrap());
        assert_eq!(gap, gaps[at(closest)], "pixel {index}");
        assert!((gap - (scores[at(closest)] - scores[at(winner)])).abs() <= 1e-12 * gap.abs() || gap.is_infinite());
        let doubt = others().map(|other| error_probabilities[at(other)]).fold(0.0, f64::max);
        assert_eq!([of_winner, certainties[index]], [1.0 - doubt; 2], "the certainty is over all others");
        pixels += 1;
        by_doubt += usize::from(
            others().max_by(|a, b| error_probabilities[at(*a)].total_cmp(&error_probabilities[at(*b)]))
                != Some(closest),
        );
    }
    assert!(pixels > 100 && by_doubt > 20, "{by_doubt} of {pixels} pixels, too few to tell doubt from distance");
}

#[test]
fn what_adaptive_sampling_lacks_is_refused() {
    let sandbox = Sandbox::new();
    let refused = |more: &[&str], expected: &str| {
        expect_error(&sandbox.run(&with(&with(&SWEEP, &["--out", "out"]), more)), 2, &[expected]);
    };
    refused(&["--raw"], "`sampling: Uniform` was expected");
    refused(&["--set", "average=Median"], "choose `average: Mean` or Uniform");
    let sweep = ["sweep", "fig2a", "--adaptive=0", "--out", "out"];
    expect_error(&sandbox.run(&sweep), 2, &["budget must be a number from 0.01 to 10000, found 0"]);
}
