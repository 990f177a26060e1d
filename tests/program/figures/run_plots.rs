//! The figure of a run's plots.

use resvg::usvg::roxmltree::Document;
use valleyscope::figure::{Figure, Format, Options, PAGE_MM, RunPlots, Trajectories};
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::view::{Band, DiagnosticMetric};

use super::scan_pictures::{frames, texts};
use crate::sandbox::{Sandbox, expect_code, expect_error};

/// A session of four particles in which the noise is raised at step 40.
const SESSION: &str = "Landscape(version: 1, title: \"Session\", simulations: [(\
        changes: [(step: 40, set: Noise(2))], spec: (noise: 1, steps: 100, particles: 4, \
        optimizers: [(id: 0, rule: Adam(learning_rate: 0.01)), (id: 1, rule: Signum(learning_rate: 0.01))]))])";

fn plots() -> RunPlots {
    RunPlots {
        metrics: vec![DiagnosticMetric::EffectiveStep, DiagnosticMetric::AbsV],
        log: [DiagnosticMetric::AbsV].into(),
        log_steps: false,
        band: Band::Deviation,
        whole_range: false,
    }
}

fn drawn(plots: &RunPlots) -> String {
    let Preset::Landscape(preset) = Preset::parse(SESSION, "test").expect("it is valid") else { panic!("a landscape") };
    let mut trajectories = Trajectories::new(&preset).expect("there are optimizers").until(80);
    while !trajectories.is_complete() {
        trajectories.advance();
    }
    let options = Options { width_mm: PAGE_MM, ..Options::default() };
    Figure::run_plots(&trajectories, plots).render(&options).expect("rendered").to_string()
}

#[test]
fn plots_have_axes_a_legend_and_marks_of_changed_settings() {
    let svg = drawn(&plots());
    let document = Document::parse(&svg).expect("well-formed XML");
    let texts = texts(&document);
    let has = |wanted: &str| texts.iter().any(|(text, ..)| *text == wanted);
    for text in ["effective step size", "spread |v|", "steps", "Adam", "Signum", "1: step 40, σ 1 → 2"] {
        assert!(has(text), "{text} is not among {texts:?}");
    }
    assert!(has("means of 4 particles, ± 1 standard deviation"), "{texts:?}");
    assert!(has("10⁻²"), "the spread's axis has powers of ten: {texts:?}");
    assert!(!svg.contains("<image"), "all is drawn as vectors");
    // The mark is in the middle of each axis, which ends at step 80.
    let frames = frames(&document);
    assert_eq!(frames.len(), 2);
    for [left, top, right, _] in frames {
        let above =
            |(text, x, y): &&(&str, f64, f64)| *text == "1" && *y < top + 1.0 && (x - 0.5 * (left + right)).abs() < 1.0;
        assert!(texts.iter().any(|text| above(&text)), "a mark above the middle of {left} to {right}: {texts:?}");
    }
    assert_eq!(svg, drawn(&plots()), "another time it is drawn otherwise");
}

#[test]
fn the_axis_of_steps_can_be_logarithmic() {
    let svg = drawn(&RunPlots { log_steps: true, metrics: vec![DiagnosticMetric::Loss], ..plots() });
    let document = Document::parse(&svg).expect("well-formed XML");
    let texts = texts(&document);
    let place = |label: &str| texts.iter().find(|(text, ..)| *text == label).expect("a label").1;
    let [left, _, right, _] = frames(&document)[0];
    assert!((place("1") - left).abs() < 1.0 && place("10") < right, "{texts:?}");
}

#[test]
fn the_command_draws_plots_in_every_format_and_refuses_others() {
    let sandbox = Sandbox::new();
    sandbox.write("session.ron", SESSION);
    for format in Format::ALL {
        let out = format!("plots.{}", format.extension());
        expect_code(&sandbox.run(&["figure", "session.ron", "--plots", "effective-step,loss", "--out", &out]), 0);
        assert!(sandbox.join(&out).metadata().unwrap().len() > 1000, "{out}");
    }
    let svg = std::fs::read_to_string(sandbox.join("plots.svg")).unwrap();
    assert!(svg.contains(">effective step size<") && svg.contains(">loss L<") && svg.contains("σ 1 → 2"));
    let refused = sandbox.run(&["figure", "session.ron", "--plots", "depth", "--out", "x.svg"]);
    expect_error(&refused, 2, &["expected plots among loss, u, abs-v, effective-step, free-energy", "depth"]);
    let of_sweep = sandbox.run(&["figure", "fig2a", "--plots", "loss", "--out", "x.svg"]);
    expect_error(&of_sweep, 2, &["--plots is for landscapes", "fig2a"]);
    sandbox.write("rosenbrock.ron", &SESSION.replace("noise: 1,", "landscape: Rosenbrock(), noise: 1,"));
    let lacking = sandbox.run(&["figure", "rosenbrock.ron", "--plots", "loss,u", "--out", "x.svg"]);
    expect_error(&lacking, 2, &["the landscape Rosenbrock has, which are loss, effective-step, free-energy, found u"]);
    assert!(!sandbox.join("x.svg").exists(), "a figure was written");
}
