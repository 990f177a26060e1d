//! The tabs without results of the user: examples, and what to begin with.

use std::io::Cursor;
use std::path::Path;

use egui::accesskit::Role;
use egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};
use valleyscope::app::WorkerState;
use valleyscope::sweep::result::SweepResult;
use valleyscope_engine::sweep::{Backend, SweepJob, SweepWork};
use valleyscope_experiments::preset::{Preset, built_ins};

use super::harness::{App, Begin};
use super::keyboard::copied;
use super::phase::{SMALL, computed};
use super::training::{finished, listed, open_tab};
use super::worker::ready;

const EXAMPLE: &str = "Shipped example";
const SHIPPED: &[u8] = include_bytes!("../../../assets/examples/fig2a.npz");

fn first_start(diagrams: &Path) -> App {
    let mut app = App::begin(Begin { diagrams: Some(diagrams), ..Begin::default() });
    app.keys(Modifiers::COMMAND, Key::Num2);
    app
}

fn has_button(app: &App, name: &str) -> bool {
    app.harness.query_by_role_and_label(Role::Button, name).is_some()
}

/// Lists what a folder of diagrams holds, without the limits of the library.
fn kept(diagrams: &Path) -> usize {
    std::fs::read_dir(diagrams).map_or(0, |files| files.filter(|file| file.as_ref().unwrap().path().is_dir()).count())
}

#[test]
fn a_first_start_shows_the_shipped_diagram_with_its_pixels() {
    let diagrams = tempfile::tempdir().expect("a temporary folder can be made");
    let mut app = first_start(diagrams.path());
    assert!(app.shows(EXAMPLE) && app.shows("valleyscope sweep fig2a --grid 24x25"));
    let present = app.state().phase().present();
    assert!(present.is_example && present.diagram.is_complete());
    assert!(!app.state().phase().is_running(), "nothing is computed that nobody asked for");
    assert!(app.shows("0 of 9600 pixels") && !app.shows("Still shows"));
    app.until("the picture", |app| app.state().phase().seen().is_some());
    app.focus(Role::Canvas, "Diagram");
    app.key(Key::ArrowUp);
    assert!(app.shows("wins, "));
    app.choose("What the map shows", "Triangle: signal, noise, oscillation");
    assert!(!app.shows("Measuring Adam"), "it is shipped, too");
    app.focus(Role::Canvas, "Diagram");
    app.key(Key::Enter);
    let spec = app.state().document().spec(0);
    assert_eq!(spec.optimizers.len(), 3, "the pixel's landscape is shown");
}

#[test]
fn the_shipped_diagram_leaves_with_the_first_own_run_and_is_never_saved() {
    let diagrams = tempfile::tempdir().expect("a temporary folder can be made");
    let mut app = first_start(diagrams.path());
    app.button("Compute your own diagram");
    assert!(!app.state().phase().present().is_example && !app.shows(EXAMPLE));
    assert_eq!(app.state().phase().present().diagram.spec().shape(), [96, 100]);
    app.button("Pause").button("Cancel").settle();
    assert!(!app.shows(EXAMPLE) && has_button(&app, "Compute this diagram"));
    assert!(app.shows("Nothing is computed yet") && app.shows("9600 pixels"));
    drop(app);
    let again = first_start(diagrams.path());
    assert!(again.state().phase().present().is_example, "the user has no diagram yet");
    drop(again);
    assert_eq!(kept(diagrams.path()), 0);
}

#[test]
fn the_shipped_diagram_is_not_offered_to_those_who_have_their_own() {
    let own = computed(SMALL);
    let diagrams = own.folder.path().join("diagrams");
    let App { harness, folder } = own;
    drop(harness);
    assert_eq!(kept(&diagrams), 1);
    let app = first_start(&diagrams);
    assert!(!app.shows(EXAMPLE) && has_button(&app, "Compute this diagram"));
    drop(folder);
}

#[test]
fn a_change_of_a_setting_replaces_the_shipped_diagram_by_an_own_one() {
    let diagrams = tempfile::tempdir().expect("a temporary folder can be made");
    let mut app = first_start(diagrams.path());
    app.type_into("Rows: how many", "3");
    assert!(!app.state().phase().present().is_example && !app.shows(EXAMPLE));
    app.until("the own diagram", |app| app.state().phase().present().diagram.spec().shape() == [3, 100]);
}

#[test]
fn without_runs_the_tab_shows_an_example_and_how_to_get_own_ones() {
    let (mut app, ()) = open_tab(|_| ());
    app.until("the search for the worker", |app| matches!(app.state().training().worker(), WorkerState::Missing(_)));
    app.until("the list of runs", |app| app.shows("Watch your own training"));
    app.settle();
    assert!(app.shows("What runs look like"));
    for name in ["Adam", "Signum", "FOCUS"] {
        let curve = format!("Curve of {name}");
        assert!(app.harness.query_by_label(&curve).is_some(), "{curve}");
    }
    let plot = app.harness.get_by_label("Plot of Test accuracy");
    assert!(plot.accesskit_node().value().is_some_and(|values| values.contains("Signum")));
    assert!(app.harness.query_by_role_and_label(Role::Button, "Start the training").is_none(), "there is no worker");
    app.harness.get_by_role_and_label(Role::Button, "Copy the lines of Python").click_accesskit();
    let text = (0..4).find_map(|_| {
        app.harness.step();
        copied(&app)
    });
    let text = text.expect("it is copied");
    assert_eq!(text.lines().count(), 4);
    let book = include_str!("../../../docs/src/own-runs.md");
    assert!(book.contains(&format!("```python\n{text}\n```")), "the book has the same lines");
    app.button("Follow a folder with own trainings");
    assert!(app.harness.query_by_role_and_label(Role::TextInput, "Path of the folder").is_some());
}

#[test]
fn the_large_start_trains_and_the_example_leaves_with_the_first_run() {
    let runs = tempfile::tempdir().expect("a temporary folder can be made");
    let mut app = ready(Begin { runs: Some(runs.path()), ..Begin::default() });
    app.button("Start the training");
    app.until("the run", |app| app.state().training().runs().len() == 1);
    app.settle();
    assert!(!app.shows("What runs look like") && !app.shows("Watch your own training"));
    let (mut app, _) = open_tab(|runs| finished(runs, "First", 1, |step| 1.0 / step as f64));
    listed(&mut app, 1);
    assert!(!app.shows("What runs look like"));
}

/// Rounds a number to 15 bits after the leading one, as `make_diagram.py` does.
fn rounded(number: f64) -> f64 {
    const CUT: u32 = f64::MANTISSA_DIGITS - 1 - 15;
    let bits = number.to_bits();
    let half = (1 << (CUT - 1)) - 1 + ((bits >> CUT) & 1);
    if number.is_finite() { f64::from_bits((bits + half) >> CUT << CUT) } else { number }
}

fn shipped() -> SweepResult {
    SweepResult::read_arrays(Cursor::new(SHIPPED), "the shipped diagram").expect("it can be read")
}

#[test]
fn the_shipped_diagram_is_that_of_its_command() {
    let fig2a = built_ins().iter().find(|built_in| built_in.name == "fig2a").expect("it is built in");
    let Preset::Sweep(preset) = &fig2a.preset else { panic!("it is a sweep") };
    let mut spec = preset.sweep.quick();
    spec.optimizers.iter_mut().for_each(|of| of.learning_rates.count = "7".parse().expect("it is a count"));
    let result = shipped();
    assert_eq!(**result.diagram.spec(), spec);
    assert!(result.diagram.is_complete() && result.diagram.has_shares());
    assert!(SHIPPED.len() <= 300_000, "{} bytes", SHIPPED.len());
}

#[test]
fn pixels_of_the_shipped_diagram_are_those_of_the_engine() {
    let SweepResult { diagram, precision, .. } = shipped();
    for pixel in [[0, 0], [7, 20], [12, 11], [23, 24]] {
        let known = |other| other != pixel;
        let backend = Backend::new(precision);
        let job = SweepJob { known: &known, ..SweepJob::new(diagram.spec().clone(), backend) };
        let mut computed = Vec::new();
        SweepWork::new(job).run(|finished| {
            computed.push(finished);
            true
        });
        let [finished] = &computed[..] else { panic!("one pixel is computed") };
        let shipped = diagram.cell(pixel).expect("it is complete");
        let bits = |tables: [&Vec<Vec<[f64; 3]>>; 2]| -> Vec<u64> {
            tables.into_iter().flatten().flatten().flatten().map(|number| rounded(*number).to_bits()).collect()
        };
        let cell = &finished.cell;
        let [own, others] = [shipped, cell].map(|cell| bits([&cell.averages, &cell.deviations]));
        assert_eq!(own, others, "{pixel:?}");
        assert_eq!((&shipped.diverged, shipped.replicates), (&cell.diverged, cell.replicates));
        let winners = [shipped, cell].map(|cell| cell.comparisons.each_ref().map(|comparison| comparison.winner));
        assert_eq!(winners[0], winners[1], "{pixel:?}");
    }
}
