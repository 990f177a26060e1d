//! Tuned settings on the command line: the same bytes in parts, arrays and tables of the best values, and their maps.

use std::fs;

use valleyscope::sweep::result::SweepResult;

use super::with;
use crate::figures::{array, texts};
use crate::sandbox::{Sandbox, expect_error};

const SWEEP: [&str; 8] = ["sweep", "fig2a", "--grid", "4x5", "--lrs", "3", "--steps", "40"];
const GAMMA: &str = "optimizers[1].tune=[(of: Gamma, from: -0.8, to: 0.8, count: 3, spacing: Linear)]";
const BETA2: &str = "optimizers[0].tune=[(of: Beta2, from: 0.9, to: 0.999, count: 2, spacing: LogComplement)]";

fn tuned() -> Vec<&'static str> {
    with(&SWEEP, &["--set", GAMMA, "--set", BETA2])
}

#[test]
fn parts_and_threads_have_the_bytes_of_the_whole() {
    for sampling in [&["--replicates", "6"][..], &["--adaptive"]] {
        let sandbox = Sandbox::new();
        let sweep = with(&tuned(), sampling);
        sandbox.good(&with(&sweep, &["--out", "whole", "--threads", "2"]));
        sandbox.good(&with(&sweep, &["--out", "one", "--threads", "1"]));
        for part in ["2/2", "1/2"] {
            sandbox.good(&with(&sweep, &["--out", "parts", "--part", part]));
        }
        sandbox.good(&["sweep", "--merge", "parts", "--out", "merged"]);
        assert!(sandbox.files("whole") == sandbox.files("one"), "one thread");
        assert!(sandbox.files("whole") == sandbox.files("merged"), "merged parts");
        let path = sandbox.join("whole/phase.npz");
        let mut again = std::io::Cursor::new(Vec::new());
        SweepResult::open(&path).unwrap().write_arrays(&mut again).unwrap();
        assert!(again.into_inner() == fs::read(&path).unwrap(), "written again, the archive has the same bytes");
    }
}

#[test]
fn results_have_the_best_values_of_each_pixel() {
    let sandbox = Sandbox::new();
    sandbox.good(&with(&tuned(), &["--replicates", "6", "--out", "out"]));
    let bytes = fs::read(sandbox.join("out/phase.npz")).unwrap();
    assert_eq!(texts(&bytes, "tuned").1, ["beta2", "gamma"]);
    let (shape, _, means) = array::<f64>(&bytes, "mean");
    assert_eq!(shape, [3, 4, 5, 9]);
    assert_eq!(array::<f64>(&bytes, "lrs").0, [3]);
    let (shape, _, candidates) = array::<f64>(&bytes, "candidates");
    assert_eq!(shape, [3, 9, 2]);
    let (shape, _, best) = array::<f64>(&bytes, "best");
    assert_eq!(shape, [3, 4, 5, 2]);
    let best_rate = array::<i32>(&bytes, "best_lr").2;
    let mut seen = Vec::new();
    for pixel in 0..3 * 20 {
        let optimizer = pixel / 20;
        let of_pixel = &means[9 * pixel..][..9];
        let known = of_pixel.iter().copied().enumerate().filter(|(_, mean)| mean.is_finite());
        let first = known.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap().0;
        assert_eq!(best_rate[pixel], (first % 3) as i32);
        for setting in 0..2 {
            let expected = candidates[(optimizer * 9 + first) * 2 + setting];
            assert_eq!(best[pixel * 2 + setting].to_bits(), expected.to_bits(), "pixel {pixel}");
        }
        seen.push(best[pixel * 2 + 1]);
    }
    assert!(seen[..20].iter().chain(&seen[40..]).all(|gamma| gamma.is_nan()), "γ is FOCUS's alone");
    assert!(seen[20..40].iter().all(|gamma| [-0.8, 0.0, 0.8].contains(gamma)), "{seen:?}");
    let table = fs::read_to_string(sandbox.join("out/phase.csv")).unwrap();
    let columns: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    let place = columns.iter().position(|column| *column == "focus_best_gamma").expect("a column of γ");
    assert!(columns.contains(&"adam_best_beta2") && !columns.contains(&"signum_best_gamma"));
    let of_table = table.lines().skip(1).map(|line| line.split(',').nth(place).unwrap().parse::<f64>().unwrap());
    assert_eq!(of_table.collect::<Vec<_>>(), seen[20..40]);
}

#[test]
fn figures_show_the_best_values() {
    let sandbox = Sandbox::new();
    sandbox.good(&with(&tuned(), &["--replicates", "2", "--out", "out"]));
    for (asked, expected) in [
        ("FOCUS.gamma", "best γ"),
        ("1.gamma", "best γ"),
        ("Adam.beta2", "best β₂"),
        ("Signum.learning_rate", "best learning rate η"),
    ] {
        sandbox.good(&["figure", "./out", "--best", asked, "--out", "best.svg"]);
        let figure = fs::read_to_string(sandbox.join("best.svg")).unwrap();
        assert!(figure.contains(expected), "{asked}");
    }
    let refused = sandbox.run(&["figure", "./out", "--best", "Signum.gamma", "--out", "no.svg"]);
    let known = "Adam.learning_rate, Adam.beta2, FOCUS.learning_rate, FOCUS.gamma, Signum.learning_rate";
    expect_error(&refused, 2, &["--best", known, "found Signum.gamma"]);
    expect_error(&sandbox.run(&with(&tuned(), &["--raw", "--out", "raw"])), 2, &["no tuned settings", "some of Adam"]);
}
