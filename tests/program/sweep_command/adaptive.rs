//! Adaptive sampling on the command line: the same bytes in parts and after a kill, and files that open again.

use std::fs;

use valleyscope::export::NpzReader;
use valleyscope::sweep::result::SweepResult;

use super::with;
use crate::sandbox::{Sandbox, expect_error, signal};

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
    let doubts: Vec<f64> = archive.array("doubt", &[3, rows, columns]).unwrap();
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
        assert_eq!((rival, certainty), (closest, 1.0 - doubts[at(closest)]), "pixel {index}");
        let [gap, _, of_winner] = [3, 4, 5].map(|column| row.split(',').nth(column).unwrap().parse::<f64>().unwrap());
        assert_eq!(gap, gaps[at(closest)], "pixel {index}");
        assert!((gap - (scores[at(closest)] - scores[at(winner)])).abs() <= 1e-12 * gap.abs() || gap.is_infinite());
        let doubt = others().map(|other| doubts[at(other)]).fold(0.0, f64::max);
        assert_eq!([of_winner, certainties[index]], [1.0 - doubt; 2], "the certainty is over all others");
        pixels += 1;
        by_doubt += usize::from(others().max_by(|a, b| doubts[at(*a)].total_cmp(&doubts[at(*b)])) != Some(closest));
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
