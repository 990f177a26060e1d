//! The figure of a preset's trainings, drawn by the real program from existing runs.

use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::process::Output;
use std::sync::Arc;

use resvg::usvg::roxmltree::Document;
use valleyscope::draw::{Figure, Format, Options, PAGE_MM, RunPlots, Trajectories};
use valleyscope::sweep::result::SweepResult;
use valleyscope_engine::optimizer::RuleKind;
use valleyscope_engine::quantity::{PointCount, Replicates};
use valleyscope_engine::sweep::{Cell, Diagram, Metrics, Precision, Runs, SweepSpec};
use valleyscope_experiments::preset::{Preset, built_ins};
use valleyscope_experiments::run::RunConfig;
use valleyscope_experiments::view::{Background, Band, DiagnosticMetric, Pen};
use valleyscope_runs::{Event, MetricId, MetricValues, RunFolder, RunSession, SettingChange, Started};

use super::grids::{frames, height_of, near, paths, texts};
use crate::doctor::{Sandbox, expect_code, expect_error};

fn trainings(name: &str) -> Vec<Preset> {
    built_ins().iter().find(|built_in| built_in.name == name).expect("it is built in").preset.trainings()
}

/// Returns a run of a training with these validation losses at these steps.
fn write(folder: &Path, training: &Preset, data: &str, losses: &[(u64, f64)]) -> RunFolder {
    let run = RunFolder::create(folder, "run", &training.to_ron()).expect("a run can be made");
    let mut session = RunSession::begin(&run).expect("a session can begin");
    let started = RunConfig::read(&run).expect("a config").started();
    let started = Started { data: data.to_owned(), fingerprint: data.to_owned(), ..started };
    session.record(0, Event::Started(started)).expect("it can be written");
    for (step, loss) in losses {
        let evaluation =
            [(MetricId::TRAIN_LOSS, 0.5 * loss), (MetricId::VAL_LOSS, *loss), (MetricId::TEST_LOSS, *loss)];
        session.record(*step, Event::Eval(MetricValues::from(evaluation))).expect("it can be written");
    }
    run
}

fn figure(sandbox: &Sandbox, name: &str, more: &[&str]) -> Output {
    sandbox.run(&[&["figure", name, "--out", "f.svg"], more].concat())
}

/// Returns the messages and the drawing.
#[track_caller]
fn drawn(sandbox: &Sandbox, name: &str) -> (String, String) {
    let output = figure(sandbox, name, &["--runs", "."]);
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(0), "{said}");
    (said, fs::read_to_string(sandbox.join("f.svg")).expect("a figure"))
}

fn ink(rule: &str, number: usize) -> String {
    let color = RuleKind::named(rule).expect("a rule").info().color;
    let [red, green, blue] = Pen::new(color, number).color_on(Background::Light);
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Returns the curves of a colour.
fn curves(document: &Document<'_>, rule: &str, number: usize) -> Vec<Vec<[f64; 2]>> {
    paths(document, &ink(rule, number), "1.1")
}

/// Returns the place of a fraction of the way from the first point to the last: the axis extends beyond both by a
/// fiftieth.
fn place_across(part: f64, [left, right]: [f64; 2]) -> f64 {
    left + (part + 0.02) / 1.04 * (right - left)
}

#[test]
fn the_furthest_run_of_each_training_is_drawn_and_missing_ones_named() {
    let sandbox = Sandbox::new();
    let [adam, signum, focus] = &trainings("fig3-cpu")[..] else { panic!("there are three") };
    let losses = [(0, 4.0), (500, 1.0), (1000, 0.4)];
    let furthest = write(sandbox.path(), adam, "a text", &losses);
    let elsewhere = adam.with("data", "Folder(\"/elsewhere\")").and_then(|it| it.with("device", "Cpu"));
    let renamed = elsewhere.and_then(|it| it.with("title", "Mine")).expect("a preset");
    write(sandbox.path(), &renamed, "a text", &[(0, 3.0), (500, 2.0)]);
    write(sandbox.path(), &adam.with("seed", "7").expect("a preset"), "a text", &[(0, 3.0), (5000, 2.0)]);
    write(sandbox.path(), signum, "a text", &[(0, 4.0), (200, 2.0), (400, f64::NAN)]);
    // The config with which a run began counts, not the current file.
    fs::write(furthest.config(), signum.to_ron()).expect("written");
    let broken = RunFolder::create(sandbox.path(), "broken", "Mnist(").expect("a run can be made");
    let (said, svg) = drawn(&sandbox, "fig3-cpu");
    for words in [
        format!("{} is skipped: ", broken.name()),
        format!("run 1 of 3, Adam, β₂ 0.95, ω 0.1, is {}, step 1\u{2009}000 of 1\u{2009}000", furthest.name()),
        "run 3 of 3, FOCUS, ω 0.2, was not found in .; `valleyscope train fig3-cpu --runs .` trains all 3".to_owned(),
    ] {
        assert!(said.contains(&words), "no {words:?} in: {said}");
    }
    assert!(!said.contains("warning"), "{said}");
    let document = Document::parse(&svg).expect("well-formed XML");
    let [left, _, right, _] = frames(&document)[0];
    let height = height_of(&document, frames(&document)[0], true);
    let shown = texts(&document);
    for label in ["Adam, β₂ 0.95, ω 0.1", "Signum, ω 0.2", "validation loss", "steps"] {
        assert!(shown.iter().any(|(text, ..)| *text == label), "no {label} in {shown:?}");
    }
    assert!(!shown.iter().any(|(text, ..)| text.contains("FOCUS")));
    let lines = curves(&document, "Adam", 0);
    assert_eq!((lines.len(), lines[0].len()), (1, 3), "{lines:?}");
    for ([x, y], (step, loss)) in lines[0].iter().zip(losses) {
        near(*x, place_across(step as f64 / 1000.0, [left, right]));
        near(*y, height(loss));
    }
    let lines = curves(&document, "Signum", 0);
    assert_eq!((lines.len(), lines[0].len(), lines[1].len()), (2, 2, 4), "a line and a cross: {lines:?}");
    let [x, y] = lines[0][1];
    near(lines[1].iter().map(|point| point[0]).sum::<f64>() / 4.0, x);
    near(lines[1].iter().map(|point| point[1]).sum::<f64>() / 4.0, y);
    near(y, height(2.0));

    let early = write(sandbox.path(), focus, "another text", &[]);
    let (said, svg) = drawn(&sandbox, "fig3-cpu");
    assert!(said.contains(&format!("FOCUS, ω 0.2, is {}, step 0 of", early.name())), "{said}");
    assert!(said.contains("was not evaluated so far") && !svg.contains(">FOCUS"), "{said}");
    write(sandbox.path(), focus, "another text", &[(100, 3.0)]);
    let (said, svg) = drawn(&sandbox, "fig3-cpu");
    let each = "Adam, β₂ 0.95, ω 0.1 from a text; Signum, ω 0.2 from a text; FOCUS, ω 0.2 from another text";
    assert!(said.contains(&format!("different data: {each}")), "{said}");
    assert!(svg.contains(">FOCUS, ω 0.2<"));
}

#[test]
fn a_diverged_run_does_not_flatten_the_others_and_is_marked_where_it_leaves_the_plot() {
    let sandbox = Sandbox::new();
    let [adam, signum, _] = &trainings("fig3-cpu")[..] else { panic!("there are three") };
    write(sandbox.path(), adam, "a text", &[(0, 4.0), (500, 1.0), (1000, 0.4)]);
    write(sandbox.path(), signum, "a text", &[(0, 4.0), (200, 1e12), (400, 1e20)]);
    let (_, svg) = drawn(&sandbox, "fig3-cpu");
    let document = Document::parse(&svg).expect("well-formed XML");
    let [_, top, _, bottom] = frames(&document)[0];
    let adam = &curves(&document, "Adam", 0)[0];
    let share = (adam[2][1] - adam[0][1]) / (bottom - top);
    assert!((0.85..0.95).contains(&share), "the curve takes {share} of the plot's height");
    let ink = ink("Signum", 0);
    let filled = document.descendants().filter(|node| node.attribute("fill") == Some(&ink));
    assert_eq!(filled.count(), 1, "an arrow at the upper edge");
}

#[test]
fn several_runs_of_a_rule_are_distinguished_whichever_exist() {
    let sandbox = Sandbox::new();
    let [_, slow, focus] = &trainings("fig3a")[..] else { panic!("there are three") };
    write(sandbox.path(), slow, "OpenWebText", &[(0, 10.0), (1000, 4.0)]);
    write(sandbox.path(), focus, "OpenWebText", &[(0, 10.0), (1000, 3.0)]);
    let (said, svg) = drawn(&sandbox, "fig3a");
    assert!(said.contains("run 1 of 3, Signum, η 6e-4, was not found in ."), "{said}");
    let document = Document::parse(&svg).expect("well-formed XML");
    let count = |rule: &str, number| curves(&document, rule, number).len();
    assert_eq!([count("Signum", 0), count("Signum", 1), count("FOCUS", 0)], [0, 1, 1]);
    assert!(texts(&document).iter().any(|(text, ..)| *text == "Signum, η 1e-4"));
}

#[test]
fn a_run_whose_settings_were_changed_while_it_ran_is_left_out() {
    let sandbox = Sandbox::new();
    let [_, slow, focus] = &trainings("fig3a")[..] else { panic!("there are three") };
    write(sandbox.path(), slow, "OpenWebText", &[(0, 10.0), (1000, 4.0)]);
    let changed = write(sandbox.path(), focus, "OpenWebText", &[(0, 10.0), (1000, 3.0)]);
    let mut session = RunSession::begin(&changed).expect("a session can begin");
    let change = SettingChange { name: "learning_rate".into(), label: "η".into(), before: 6e-4, now: 6e-3 };
    session.record(1000, Event::Changed { changes: vec![change] }).expect("it can be written");
    session.record(2000, Event::Eval(MetricValues::from([(MetricId::VAL_LOSS, 2.0)]))).expect("it can be written");
    drop(session);
    let (said, svg) = drawn(&sandbox, "fig3a");
    let left_out = format!(
        "{} is left out, as its settings were changed while it ran: η 0.0006 → 0.006 after step 1000",
        changed.name()
    );
    assert!(said.contains(&left_out), "{said}");
    let document = Document::parse(&svg).expect("well-formed XML");
    assert_eq!(curves(&document, "FOCUS", 0).len(), 0);
}

#[test]
fn equal_names_are_distinguished_in_a_users_preset() {
    let sandbox = Sandbox::new();
    let text = "Mnist(version: 1, title: \"Two rates\", runs: [(optimizer: Adam(), learning_rate: 0.01), \
                (optimizer: Adam(), learning_rate: 0.001)])";
    fs::write(sandbox.join("two.ron"), text).expect("written");
    for training in Preset::parse(text, "two.ron").expect("a preset").trainings() {
        let run = write(sandbox.path(), &training, "digits", &[(100, 1.0), (200, 0.1)]);
        let events = fs::read_to_string(run.events()).expect("events");
        assert!(events.contains("test_loss"), "{events}");
    }
    let (_, svg) = drawn(&sandbox, "two.ron");
    for label in ["Adam, η 0.01", "Adam, η 0.001", "test loss"] {
        assert!(svg.contains(&format!(">{label}<")), "no {label}");
    }
}

#[test]
fn walltime_is_drawn_over_the_time_of_training() {
    let sandbox = Sandbox::new();
    let [adam, focus] = &trainings("walltime")[..] else { panic!("there are two") };
    for (training, hours) in [(adam, [0.0, 5.0, 10.0]), (focus, [0.0, 2.5, 7.5])] {
        let run = RunFolder::create(sandbox.path(), "walltime", &training.to_ron()).expect("a run can be made");
        let line = |(index, hours): (usize, &f64)| {
            let (step, seconds, loss) = (1000 * index, 3600.0 * hours, 8.0 / (1 << index) as f64);
            let when = format!("\"step\":{step},\"time\":\"2026-03-01T12:00:00Z\",\"wall_s\":{seconds}");
            format!("{{\"event\":\"eval\",{when},\"val_loss\":{loss}}}\n")
        };
        let lines: String = hours.iter().enumerate().map(line).collect();
        fs::write(run.events(), lines).expect("written");
    }
    let (_, svg) = drawn(&sandbox, "walltime");
    let document = Document::parse(&svg).expect("well-formed XML");
    assert!(texts(&document).iter().any(|(text, ..)| *text == "training time (h)"));
    let [left, _, right, _] = frames(&document)[0];
    for (rule, parts) in [("Adam", [0.0, 0.5, 1.0]), ("FOCUS", [0.0, 0.25, 0.75])] {
        let line = &curves(&document, rule, 0)[0];
        parts.iter().zip(line).for_each(|(part, [x, _])| near(*x, place_across(*part, [left, right])));
    }
}

#[test]
fn synthetic_digits_or_text_are_named() {
    let sandbox = Sandbox::new();
    let training = &trainings("fig3-cpu")[0];
    let run = RunFolder::create(sandbox.path(), "run", &training.to_ron()).expect("a run can be made");
    let started = RunConfig::read(&run).expect("a config").started();
    let mut session = RunSession::begin(&run).expect("a session can begin");
    let started = Started { data: "text made up".to_owned(), synthetic: true, ..started };
    session.record(0, Event::Started(started)).expect("it can be written");
    session.record(0, Event::Eval([(MetricId::VAL_LOSS, 4.0)].into())).expect("it can be written");
    assert!(drawn(&sandbox, "fig3-cpu").1.contains(">text made up<"));
}

#[test]
fn undrawable_trainings_are_refused() {
    let sandbox = Sandbox::new();
    let none =
        ["no run of fig3-cpu was found in ., with all settings of the preset", "`valleyscope train fig3-cpu --runs .`"];
    expect_error(&figure(&sandbox, "fig3-cpu", &["--runs", "."]), 2, &none);
    expect_error(&figure(&sandbox, "fig3-cpu", &[]), 2, &["no run of fig3-cpu", "`valleyscope train fig3-cpu`"]);
    expect_error(&figure(&sandbox, "fig3-cpu", &["--runs", "gone"]), 2, &["--runs must be a folder", "gone"]);
    expect_error(&figure(&sandbox, "fig3-cpu", &["--quick"]), 2, &["--quick", "runs that are there"]);
    expect_error(&figure(&sandbox, "fig3-gpu", &["--runs", "."]), 2, &["fig3-gpu", "fig3-cpu"]);
    for other in ["fig2a", "pairs"] {
        expect_error(&figure(&sandbox, other, &["--runs", "."]), 2, &["--runs is for a preset of trainings", other]);
    }
    write(sandbox.path(), &trainings("fig3-cpu")[0], "a text", &[]);
    expect_error(&figure(&sandbox, "fig3-cpu", &["--runs", "."]), 2, &["no run of fig3-cpu in . was evaluated so far"]);
    expect_error(&figure(&sandbox, "fig3-cpu", &["--runs", ".", "--certainty"]), 2, &["no run of fig3-cpu in ."]);
    assert!(!sandbox.join("f.svg").exists());
}

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

fn plot_drawn(plots: &RunPlots) -> String {
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
    let svg = plot_drawn(&plots());
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
    assert_eq!(svg, plot_drawn(&plots()), "another time it is drawn otherwise");
}

#[test]
fn the_axis_of_steps_can_be_logarithmic() {
    let svg = plot_drawn(&RunPlots { log_steps: true, metrics: vec![DiagnosticMetric::Loss], ..plots() });
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
    expect_error(&refused, 2, &["expected plots among loss, u, abs-v, effective-step, free-energy, noise", "depth"]);
    let of_sweep = sandbox.run(&["figure", "fig2a", "--plots", "loss", "--out", "x.svg"]);
    expect_error(&of_sweep, 2, &["--plots is for landscapes", "fig2a"]);
    sandbox.write("rosenbrock.ron", &SESSION.replace("noise: 1,", "landscape: Rosenbrock(), noise: 1,"));
    let lacking = sandbox.run(&["figure", "rosenbrock.ron", "--plots", "loss,u", "--out", "x.svg"]);
    expect_error(
        &lacking,
        2,
        &["the landscape Rosenbrock has, which are loss, effective-step, free-energy, noise,", "oscillation, found u"],
    );
    assert!(!sandbox.join("x.svg").exists(), "a figure was written");
}

pub const ROWS: usize = 3;
pub const COLUMNS: usize = 4;
pub const RATES: usize = 5;
pub const REPLICATES: usize = 6;
/// The special cells of [`result`].
pub const TIE: [usize; 2] = [1, 1];
pub const UNKNOWN: [usize; 2] = [2, 3];
pub const DIVERGED: [usize; 2] = [0, 2];

/// Returns a built-in sweep on a small grid.
pub fn spec(preset: &str) -> SweepSpec {
    let found = built_ins().iter().find(|built_in| built_in.name == preset).expect("a built-in preset");
    let Preset::Sweep(found) = &found.preset else { panic!("{preset} is a sweep") };
    let mut spec = found.sweep.clone();
    spec.rows.count = PointCount::clamped(ROWS as u64);
    spec.columns.count = PointCount::clamped(COLUMNS as u64);
    spec.replicates = Replicates::clamped(REPLICATES as u64);
    for optimizer in &mut spec.optimizers {
        optimizer.learning_rates.count = PointCount::clamped(RATES as u64);
    }
    spec
}

/// Returns the final loss of a run that was made up: each its own, and the learning rate in the middle best.
pub fn final_loss([row, column]: [usize; 2], optimizer: usize, rate: usize, replicate: usize) -> f64 {
    let ahead = (optimizer + row + column) % 3;
    let place = (row * COLUMNS + column) as f64;
    -1.0 - place - ahead as f64 + 0.25 * (rate as f64 - 2.0).abs() + 0.01 * replicate as f64
}

/// Returns the runs of all optimizers at a pixel.
pub fn runs(spec: &SweepSpec, pixel: [usize; 2]) -> Vec<Runs> {
    let rates = spec.candidate_counts();
    let of = |optimizer: usize| {
        let each = (0..rates[optimizer]).flat_map(|rate| (0..REPLICATES).map(move |replicate| (rate, replicate)));
        let metrics = each.map(|(rate, replicate)| {
            let loss = match pixel {
                TIE => 1.5,
                DIVERGED if optimizer == 0 => f64::NAN,
                _ => final_loss(pixel, optimizer, rate, replicate),
            };
            Metrics { final_loss: loss, smallest_loss: loss - 0.5, depth: 2.0 - loss }
        });
        Runs { replicates: REPLICATES, metrics: metrics.collect() }
    };
    (0..spec.optimizers.len()).map(of).collect()
}

/// Returns a diagram of all pixels but [`UNKNOWN`].
pub fn result_of(spec: SweepSpec) -> SweepResult {
    let mut diagram = Diagram::new(Arc::new(spec));
    let spec = Arc::clone(diagram.spec());
    for pixel in (0..ROWS).flat_map(|row| (0..COLUMNS).map(move |column| [row, column])) {
        if pixel != UNKNOWN {
            diagram.insert(pixel, Cell::new(&runs(&spec, pixel), spec.average, spec.common_random_numbers));
        }
    }
    SweepResult {
        title: "Peaks & \"valleys\" <σ>".to_owned(),
        description: "Made up.".to_owned(),
        diagram,
        precision: Precision::Single,
    }
}

pub fn result() -> SweepResult {
    result_of(spec("fig2a"))
}

pub fn arrays(result: &SweepResult) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    result.write_arrays(&mut file).expect("memory takes all that is written");
    file.into_inner()
}
