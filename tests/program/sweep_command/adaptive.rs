//! Adaptive sampling on the command line: the same bytes in parts and after a kill, and files that open again.

use std::fs;

use valleyscope::result::SweepResult;

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
    assert!(sandbox.join("killed/checkpoint.bin").exists(), "it was killed before the end");
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
