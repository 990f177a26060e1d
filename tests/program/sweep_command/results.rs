//! The files of a sweep.

use std::fs;

use valleyscope::sweep::result::SweepResult;
use valleyscope_experiments::preset::Preset;

use super::{SMALL, with};
use crate::sandbox::{Sandbox, expect_error};

#[test]
fn a_folder_of_results_is_written_and_summed_up() {
    let sandbox = Sandbox::new();
    let said = sandbox.good(&with(&["sweep", "fig2a", "--out", "new/out", "--threads", "2"], &SMALL));
    let names: Vec<String> = sandbox.files("new/out").into_keys().collect();
    assert_eq!(names, ["phase.csv", "phase.npz", "phase.png", "phase.svg", "spec.ron"]);
    let summary = said.lines().last().unwrap();
    // 20 pixels × 3 optimizers × 3 learning rates × 4 replicates × 20 steps.
    for words in ["20 pixels", "0.0 million steps in", "million steps a second", "2 threads", "f32", "new/out"] {
        assert!(summary.contains(words), "no {words:?} in: {summary}");
    }
    let result = SweepResult::open(&sandbox.join("new/out")).unwrap();
    assert!(result.diagram.is_complete());
    assert_eq!(result.diagram.spec().shape(), [4, 5]);
    let said = result.title.strip_prefix("Phase diagram: sharpness and noise (Fig. 2a), changed: ");
    assert!(said.is_some_and(|said| said.starts_with("4 × 5 pixels, 20 steps")), "{}", result.title);
}

#[test]
fn a_smaller_grid_keeps_ranges_and_spacing() {
    let sandbox = Sandbox::new();
    sandbox.good(&with(&["sweep", "fig2a", "--out", "out", "--seed", "9"], &SMALL));
    let result = SweepResult::open(&sandbox.join("out")).unwrap();
    let (rows, columns) = (result.diagram.rows(), result.diagram.columns());
    assert_eq!([rows[0], rows[3]], [0.1, 1000.0]);
    assert!((rows[1] / rows[0] / (rows[3] / rows[2]) - 1.0).abs() < 1e-12, "{rows:?}");
    assert_eq!(columns, [0.0, 0.75, 1.5, 2.25, 3.0]);
    let spec = result.diagram.spec();
    assert_eq!((spec.seed, spec.steps.get(), spec.replicates.get()), (9, 20, 4));
    assert_eq!(result.diagram.learning_rates()[2].len(), 3);
}

#[test]
fn the_spec_repeats_the_sweep() {
    let sandbox = Sandbox::new();
    sandbox.good(&with(&["sweep", "fig2b", "--out", "first"], &SMALL));
    Preset::read(&sandbox.join("first/spec.ron")).unwrap();
    sandbox.good(&["sweep", "first/spec.ron", "--out", "second"]);
    assert_eq!(sandbox.files("first"), sandbox.files("second"));
}

#[test]
fn threads_do_not_matter_and_precision_does() {
    let sandbox = Sandbox::new();
    for (folder, more) in [("one", ["--threads", "1"]), ("two", ["--threads", "2"]), ("fine", ["--precision", "f64"])] {
        sandbox.good(&with(&with(&["sweep", "fig2a", "--raw", "--out", folder], &SMALL), &more));
    }
    let one = sandbox.files("one");
    assert_eq!(one.len(), 5 + 4);
    assert!(one.contains_key("syn-exp-7-3.npy"));
    assert_eq!(one, sandbox.files("two"));
    assert_ne!(one["phase.npz"], sandbox.files("fine")["phase.npz"]);
}

#[test]
fn results_are_not_overwritten() {
    let sandbox = Sandbox::new();
    let args = with(&["sweep", "fig2a", "--out", "out"], &SMALL);
    sandbox.good(&args);
    let before = sandbox.files("out");
    expect_error(&sandbox.run(&args), 2, &["results", "out", "nothing is overwritten"]);
    expect_error(
        &sandbox.run(&with(&args, &["--seed", "3", "--resume"])),
        2,
        &["another sweep", "nothing is overwritten"],
    );
    assert!(sandbox.good(&with(&args, &["--resume"])).contains("complete"));
    assert_eq!(sandbox.files("out"), before);

    fs::create_dir(sandbox.join("mine")).unwrap();
    fs::write(sandbox.join("mine/phase.csv"), "my own").unwrap();
    expect_error(&sandbox.run(&with(&["sweep", "fig2a", "--out", "mine"], &SMALL)), 2, &["phase.csv"]);
    assert_eq!(sandbox.files("mine").len(), 1);
}
