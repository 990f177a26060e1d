//! The files of a sweep.

use std::fs;
use std::process::Stdio;

use valleyscope::sweep::result::SweepResult;
use valleyscope_experiments::preset::Preset;

use super::{SMALL, with};
use crate::doctor::{Sandbox, expect_error, signal, wait_until};
use crate::figures::{array, texts};
use crate::says::says;

#[test]
fn a_folder_of_results_is_written_and_summed_up() {
    let sandbox = Sandbox::new();
    let said = sandbox.good(&with(&["sweep", "fig2a", "--out", "new/out", "--threads", "2"], &SMALL));
    let names: Vec<String> = sandbox.files("new/out").into_keys().collect();
    assert_eq!(names, ["phase.csv", "phase.npz", "phase.png", "phase.svg", "spec.ron"]);
    let summary = said.lines().last().unwrap();
    // 20 pixels × 3 optimizers × 3 learning rates × 4 replicates × 20 steps.
    says(summary, &["20 pixels", "0.0 million steps in", "million steps a second", "2 threads", "f32", "new/out"]);
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

#[test]
fn results_are_drawn_without_computing() {
    let sandbox = Sandbox::new();
    sandbox.good(&with(&["sweep", "fig2a", "--out", "out"], &SMALL));
    for (out, start) in [("f.png", &b"\x89PNG"[..]), ("f.svg", b"<svg"), ("f.pdf", b"%PDF")] {
        for name in ["out", "out/phase.npz"] {
            says(sandbox.good(&["figure", name, "--out", out]), &["85 ×", out]);
            assert!(fs::read(sandbox.join(out)).unwrap().starts_with(start), "{out}");
        }
    }
    sandbox.good(&["figure", "out", "--out", "again.svg"]);
    assert_eq!(fs::read(sandbox.join("f.svg")).unwrap(), fs::read(sandbox.join("again.svg")).unwrap());
    assert_eq!(fs::read(sandbox.join("f.svg")).unwrap(), fs::read(sandbox.join("out/phase.svg")).unwrap());
}

#[test]
fn certainty_is_shown_where_it_is_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.good(&with(&["sweep", "fig2a", "--out", "out"], &SMALL));
    sandbox.good(&["figure", "out", "--certainty", "--out", "sure.svg"]);
    let [plain, sure] = ["out/phase.svg", "sure.svg"].map(|name| fs::read_to_string(sandbox.join(name)).unwrap());
    let note = "less certain, to 50 %";
    assert!(sure.contains(note) && !plain.contains(note));
    let map = |svg: &str| svg.split_once("data:image/png;base64,").unwrap().1.split('"').next().unwrap().to_owned();
    assert!(map(&sure) != map(&plain), "no pixel is paler");
    sandbox.good(&with(&["sweep", "fig2a", "--out", "few"], &SMALL.map(|word| if word == "4" { "3" } else { word })));
    sandbox.good(&["figure", "few", "--certainty", "--out", "few.svg"]);
    assert!(fs::read_to_string(sandbox.join("few.svg")).unwrap().contains("too few replicates to be certain"));
}

#[test]
fn diagrams_are_drawn_side_by_side_with_one_legend() {
    let sandbox = Sandbox::new();
    sandbox.good(&with(&["sweep", "fig2a", "--out", "one"], &SMALL));
    sandbox.good(&with(&["sweep", "fig2a", "--out", "other", "--set", "landscape=Valley(slope: 0.5)"], &SMALL));
    let figure = |more: &[&str]| sandbox.good(&with(&["figure", "one", "--beside", "other/phase.npz"], more));
    assert!(figure(&["--letters", "--out", "f.svg"]).contains("180 ×"), "a page's width");
    let svg = fs::read_to_string(sandbox.join("f.svg")).unwrap();
    assert_eq!(svg.matches("<image").count(), 2);
    for text in ["A = Adam", "S = Signum", "F = FOCUS"] {
        assert_eq!(svg.matches(text).count(), 1, "{text}");
    }
    figure(&["--margin", "FOCUS,Adam", "--out", "margin.svg"]);
    let svg = fs::read_to_string(sandbox.join("margin.svg")).unwrap();
    assert_eq!(svg.matches("advantage in final loss").count(), 1, "one colour bar");
    assert_eq!(svg.matches("FOCUS over Adam").count(), 2);
    for (more, words) in [
        (
            &["--margin", "FOCUS,Lion"][..],
            &["expected two different optimizers", "0 = Adam; 1 = FOCUS; 2 = Signum"][..],
        ),
        (&["--margin", "FOCUS"], &["expected two different optimizers", "found FOCUS"]),
        (&["--beside", "fig1c"], &["--beside fig1c", "`fig1c` is a Landscape"]),
        (&["--beside", "seed=x"], &["--beside seed=x"]),
        (&["--beside=seed=1"; 9], &["at most 9 diagrams", "found 10"]),
    ] {
        expect_error(&sandbox.run(&with(&["figure", "one", "--out", "f.svg"], more)), 2, words);
    }
    let by_depth = ["figure", "one", "--beside", "metric=Depth", "--out", "f.svg"];
    expect_error(&sandbox.run(&with(&by_depth, &["--margin", "0,1"])), 2, &["found final loss and depth"]);
    expect_error(
        &sandbox.run(&["figure", "fig1c", "--letters", "--out", "f.svg"]),
        2,
        &["--letters is for the winners", "fig1c shows none"],
    );
}

/// Two optimizers of one rule, whose names in the diagram hold commas or are equal without their settings.
const TWINS: [&str; 2] = ["--set", "optimizers[2].rule=Focus(gamma: 0.5)"];

#[test]
fn optimizers_of_a_margin_are_given_by_names_with_commas_or_by_ids() {
    let sandbox = Sandbox::new();
    sandbox.good(&[&["sweep", "fig2a", "--out", "twins"][..], &SMALL, &TWINS].concat());
    let draw = |pair: &str| sandbox.run(&["figure", "twins", "--out", "f.svg", "--margin", pair]);
    for pair in ["2,0", "FOCUS, γ 0.5,Adam", "2, Adam"] {
        crate::doctor::expect_code(&draw(pair), 0);
        let svg = fs::read_to_string(sandbox.join("f.svg")).unwrap();
        assert!(svg.contains("FOCUS, γ 0.5 over Adam"), "{pair}");
    }
    expect_error(
        &draw("FOCUS,Adam"),
        2,
        &["by a name that no other has or by its id", "2 = FOCUS, γ 0.5", "found FOCUS,Adam"],
    );
}

/// The example of the book on diagrams side by side.
#[test]
fn diagrams_over_the_decay_rate_are_computed_side_by_side_with_short_titles() {
    let sandbox = Sandbox::new();
    let said = sandbox.good(&[
        "figure",
        "fig2a",
        "--set",
        "optimizers=[(id: 0, rule: Adam()), (id: 2, rule: Signum())]",
        "--set",
        "rows=(of: Of(Beta2, [0]), from: 0.0, to: 0.999, count: 3, spacing: LogComplement)",
        "--set",
        "columns=(of: Noise, from: 0.0, to: 3.0, count: 2, spacing: Linear)",
        "--set",
        "replicates=2",
        "--beside",
        "optimizers[0].rule=Focus()",
        "--beside",
        "optimizers[0].rule=NAdam()",
        "--letters",
        "--out",
        "three.svg",
    ]);
    assert!(said.contains("three.svg"), "{said}");
    let svg = fs::read_to_string(sandbox.join("three.svg")).unwrap();
    for title in ["Adam, Signum", "FOCUS, Signum", "NAdam, Signum"] {
        assert!(svg.contains(&format!(">{title}<")), "{title}");
    }
    expect_error(
        &sandbox.run(&["figure", "pairs", "--set", "noise=2", "--out", "f.svg"]),
        2,
        &["--set", "made of two presets"],
    );
}

#[test]
fn a_landscape_is_drawn_in_space_where_it_is_asked_for() {
    let sandbox = Sandbox::new();
    let draw = |view: &[&str], out: &str| {
        sandbox.good(&with(&["figure", "fig1c", "--quick", "--out", out], view));
        fs::read(sandbox.join(out)).unwrap()
    };
    let usual = draw(&[], "usual.svg");
    assert!(draw(&["--view", "2d"], "flat.svg") == usual);
    let space = draw(&["--view", "3d"], "space.svg");
    assert!(space != usual && draw(&["--view", "3d"], "again.svg") == space);
    assert!(draw(&["--view", "3d"], "space.pdf").starts_with(b"%PDF"));
    assert!(draw(&["--view", "3d"], "space.png").starts_with(b"\x89PNG"));
    let refused = sandbox.run(&["figure", "fig2a", "--view", "3d", "--out", "f.svg"]);
    expect_error(&refused, 2, &["--view", "landscapes", "fig2a"]);
}

#[test]
fn a_preset_is_computed_first() {
    let sandbox = Sandbox::new();
    sandbox.good(&with(&["sweep", "fig2b", "--out", "out"], &SMALL));
    let said = sandbox.good(&["figure", "out/spec.ron", "--out", "computed.svg", "--width-mm", "120"]);
    assert!(said.contains("20 pixels") && said.contains("120 ×"), "{said}");
    sandbox.good(&["figure", "out", "--out", "drawn.svg", "--width-mm", "120"]);
    assert_eq!(fs::read(sandbox.join("computed.svg")).unwrap(), fs::read(sandbox.join("drawn.svg")).unwrap());
}

#[test]
fn wrong_figures_are_refused_before_anything_is_computed() {
    let sandbox = Sandbox::new();
    for (args, words) in [
        (&["fig2a", "--out", "f.jpg"][..], [".png, .svg or .pdf", "f.jpg"]),
        (&["fig2a", "--out", "f.png", "--width-mm", "0"], ["--width-mm must be", "found 0"]),
        (&["fig2a", "--out", "f.png", "--width-mm", "NaN"], ["--width-mm must be", "found NaN"]),
        (&["fig2a", "--out", "f.png", "--dpi", "-5"], ["--dpi must be", "found -5"]),
        (&["pairs", "--out", "f.svg", "--width-mm", "21"], ["too narrow", "21"]),
        (&["fig9", "--out", "f.svg"], ["no preset named `fig9`", "fig1c, saturation, fig2a, fig2b, pairs"]),
        (
            &["fig2cd", "--out", "f.svg"],
            ["none of the 2880 trainings of fig2cd was found", "`valleyscope train fig2cd`"],
        ),
        (&["fig1c", "--certainty", "--out", "f.svg"], ["--certainty is for the winners of", "fig1c shows none"]),
        (&["fig1c", "--out", "f.svg", "--width-mm", "21"], ["too narrow", "21"]),
        (&["moretoy", "--out", "f.svg", "--width-mm", "21"], ["too narrow", "21"]),
        (&["moretoy", "--runs", ".", "--out", "f.svg"], ["--runs is for a preset of trainings", "moretoy is none"]),
        (&["fig2a"], ["--out", "required"]),
        (&["--out", "f.svg"], ["NAME", "required"]),
        (&["--all"], ["--out", "required"]),
        (&["--all", "--out", "f.svg"], ["--out must be a folder", "f.svg"]),
        (&["--all", "--out", "all", "--width-mm", "21"], ["too narrow", "21"]),
        (&["--all", "--out", "all", "--format", "jpg"], ["possible values: png, svg, pdf", "jpg"]),
        (&["fig2a", "--all", "--out", "all"], ["--all", "cannot be used with"]),
        (&["fig2a", "--format", "svg", "--out", "f.svg"], ["--format is for --all", "leave it out"]),
        (&["./none", "--out", "f.svg"], ["there is no ./none", "folder of results"]),
        (&["gone/phase.npz", "--out", "f.svg"], ["cannot read", "gone/phase.npz"]),
        (&["pairs", "--certainty", "--out", "f.svg"], ["--certainty is for the winners of", "pairs shows none"]),
    ] {
        expect_error(&sandbox.run(&with(&["figure"], args)), 2, &words);
    }
    expect_error(&sandbox.run(&["figure", "fig2a", "--out", "gone/f.svg"]), 1, &["cannot write", "gone"]);
    fs::create_dir(sandbox.join("empty")).unwrap();
    expect_error(&sandbox.run(&["figure", "empty", "--out", "f.svg"]), 2, &["empty", "phase.npz"]);
    assert_eq!(fs::read_dir(sandbox.join("")).unwrap().count(), 1, "no figure, and nothing half-written");
}

#[test]
fn a_reason_is_said_once() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["figure", "gone/phase.npz", "--out", "f.svg"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.matches("No such file").count(), 1, "{said}");
}

#[test]
fn a_landscape_is_simulated_and_drawn() {
    let sandbox = Sandbox::new();
    for name in ["fig1c", "saturation"] {
        for (out, start) in [("f.png", &b"\x89PNG"[..]), ("f.svg", b"<svg"), ("f.pdf", b"%PDF")] {
            says(sandbox.good(&["figure", name, "--quick", "--out", out, "--width-mm", "120"]), &["120 ×", out]);
            assert!(fs::read(sandbox.join(out)).unwrap().starts_with(start), "{out}");
        }
        let svg = fs::read_to_string(sandbox.join("f.svg")).unwrap();
        assert!(svg.contains("particles: 10,") && svg.contains("means of 10 particles"), "the coarse picture");
    }
    sandbox.good(&["figure", "fig1c", "--out", "whole.svg"]);
    let svg = fs::read_to_string(sandbox.join("whole.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.contains("width=\"180.000mm\"") && svg.contains("means of 100 particles"));
}

#[test]
fn a_landscape_without_an_optimizer_is_refused() {
    let sandbox = Sandbox::new();
    let preset = r#"Landscape(version: 1, title: "None", simulations: [(spec: (noise: 1.0, optimizers: [
        (id: 0, enabled: false, rule: Adam(learning_rate: 0.1)),
    ]))])"#;
    fs::write(sandbox.join("none.ron"), preset).unwrap();
    let words = ["none.ron:1:", "at least one optimizer with `enabled: true`"];
    expect_error(&sandbox.run(&["figure", "none.ron", "--out", "f.svg"]), 2, &words);
}

#[cfg(unix)]
#[test]
fn what_is_drawn_of_all_figures_stays_when_one_fails_and_the_rest_is_interrupted() {
    let sandbox = Sandbox::new();
    // A folder where a file should go.
    fs::create_dir_all(sandbox.join("all/fig1c.svg")).unwrap();
    let args = ["figure", "--all", "--format", "svg", "--out", "all"];
    let child = sandbox.command(&args).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("a figure", || sandbox.join("all/saturation.svg").exists());
    // The next one is a sweep, which takes far longer than this.
    signal("INT", child.id());
    let output = child.wait_with_output().unwrap();
    let words = [
        "figure 1 of 8, fig1c",
        "fig1c was not drawn: cannot write all/fig1c.svg",
        "drawn into all: saturation; not drawn: fig1c, fig2a, fig2b, pairs, fig2b-unrotated, fig2b-100d, moretoy",
        "interrupted",
    ];
    expect_error(&output, 130, &words);
    assert!(fs::read(sandbox.join("all/saturation.svg")).unwrap().ends_with(b"</svg>\n"));
    assert_eq!(fs::read_dir(sandbox.join("all")).unwrap().count(), 2, "nothing half-written");
}

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

#[test]
fn a_measured_sweep_holds_the_shares_and_draws_the_triangle() {
    let sandbox = Sandbox::new();
    sandbox.good(&with(&["sweep", "fig2a", "--measured", "--out", "one", "--threads", "1"], &SMALL));
    sandbox.good(&with(&["sweep", "fig2a", "--measured", "--out", "two", "--threads", "2"], &SMALL));
    assert_eq!(sandbox.files("one"), sandbox.files("two"));
    let result = SweepResult::open(&sandbox.join("one")).unwrap();
    for pixel in result.diagram.spec().pixels() {
        let sigma = result.diagram.columns()[pixel[1]];
        let noise = result.diagram.shares(pixel).expect("Adam is there").noise;
        assert!((noise - sigma * sigma / (1.0 + sigma * sigma)).abs() < 1e-12, "{noise} at σ = {sigma}");
    }
    let table = fs::read_to_string(sandbox.join("one/phase.csv")).unwrap();
    assert!(table.lines().next().unwrap().ends_with(",adam_signal,adam_noise,adam_oscillation"), "{table}");
    // Drawn from the stored shares, and from those that are computed when they are missing.
    sandbox.good(&["figure", "./one", "--map", "triangle", "--out", "stored.svg"]);
    sandbox.good(&with(&["sweep", "fig2a", "--out", "plain"], &SMALL));
    sandbox.good(&["figure", "./plain", "--map", "triangle", "--out", "computed.svg"]);
    let [stored, computed] = ["stored.svg", "computed.svg"].map(|file| fs::read_to_string(sandbox.join(file)).unwrap());
    assert_eq!(stored, computed);
    assert!(stored.matches("<circle").count() >= 20 && stored.contains("oscillation"), "{stored}");
}

#[test]
fn parts_are_measured_when_they_are_merged() {
    let sandbox = Sandbox::new();
    let refused = sandbox.run(&with(&["sweep", "fig2a", "--measured", "--part", "1/2", "--out", "parts"], &SMALL));
    expect_error(&refused, 2, &["--measured", "--part"]);
    for part in ["1/2", "2/2"] {
        sandbox.good(&with(&["sweep", "fig2a", "--part", part, "--out", "parts"], &SMALL));
    }
    sandbox.good(&["sweep", "--merge", "parts", "--measured", "--out", "merged"]);
    sandbox.good(&with(&["sweep", "fig2a", "--measured", "--out", "whole"], &SMALL));
    assert_eq!(sandbox.files("merged"), sandbox.files("whole"));
}

#[test]
fn a_triangle_needs_adam_and_one_diagram() {
    let sandbox = Sandbox::new();
    let refused = |args: &[&str], words: &[&str]| expect_error(&sandbox.run(args), 2, words);
    let without = "optimizers=[(id: 1, rule: Focus()), (id: 2, rule: Signum())]";
    refused(
        &["figure", "fig2a", "--quick", "--set", without, "--map", "triangle", "--out", "a.png"],
        &["Adam", "none"],
    );
    refused(&["sweep", "fig2a", "--set", without, "--measured", "--out", "out"], &["--measured", "Adam", "none"]);
    let beside = ["figure", "fig2a", "--quick", "--beside", "steps=30", "--map", "triangle", "--out", "a.png"];
    refused(&beside, &["one phase diagram", "found several"]);
    refused(&["figure", "fig1c", "--map", "triangle", "--out", "a.png"], &["--map is for phase diagrams"]);
}
