//! Exports of trainings in the training tab.

use std::path::PathBuf;

use egui::accesskit::Role;
use egui_kittest::kittest::Queryable;
use valleyscope::figure::{Figure, Options};
use valleyscope::sweep::result::scan::ScanResult;
use valleyscope_engine::optimizer::RuleKind;
use valleyscope_experiments::view::{Background, Pen};
use valleyscope_runs::MetricId;

use super::harness::{App, Begin};
use super::training::{begun_scan, choose, finished, listed, open_tab, select, trained};

/// Exports by these menu entries to files of these names in a new folder, which is returned.
fn export(app: &mut App, files: &[(&str, &str)]) -> PathBuf {
    let folder = app.folder.path().join("exported");
    std::fs::create_dir(&folder).expect("a folder can be made");
    for (entry, name) in files {
        let path = folder.join(name);
        app.menu("Export", entry);
        app.until("the question where it goes", |app| {
            app.harness.query_by_role_and_label(Role::TextInput, "Path of the file").is_some()
        });
        app.type_path(&path);
        app.until("the file", |_| path.exists());
        app.settle();
    }
    folder
}

#[test]
fn a_scan_is_exported_as_figure_scores_and_arrays() {
    let (mut app, run) = open_tab(begun_scan);
    listed(&mut app, 1);
    choose(&mut app, "Scan");
    app.until("the scan's picture", |app| app.shows("3 of 4 grid points"));
    app.settle();
    let files = [
        ("Figure as PNG…", "scan.png"),
        ("Figure as SVG…", "scan.svg"),
        ("Figure as PDF…", "scan.pdf"),
        ("Scores as CSV…", "scan.csv"),
        ("All numbers as NPZ…", "scan.npz"),
    ];
    let folder = export(&mut app, &files);
    let scan = ScanResult::open(&run).expect("a scan");
    let mut table = Vec::new();
    scan.write_table(&mut table).expect("memory takes all that is written");
    let written = |name: &str| std::fs::read(folder.join(name)).expect("it was written");
    assert_eq!(written("scan.csv"), table);
    let svg = Figure::scan(&scan).render(&Options::default()).expect("rendered").to_string();
    assert!(written("scan.svg") == svg.into_bytes());
    assert!(written("scan.png").starts_with(b"\x89PNG") && written("scan.pdf").starts_with(b"%PDF"));
    assert!(written("scan.npz").starts_with(b"PK"));
}

#[test]
fn curves_have_the_colours_of_their_optimizers() {
    let runs = [("Adam", "0"), ("Signum", "0"), ("Focus", "0"), ("Focus", "1")];
    let (mut app, _) =
        open_tab(|folder| runs.map(|(rule, seed)| trained(folder, &[("optimizer", rule), ("seed", seed)])));
    listed(&mut app, 4);
    for run in app.state().training().runs().to_vec() {
        app.click(Role::CheckBox, &format!("Compare {}", run.in_full()));
    }
    app.until("all curves", |app| {
        let drawn = app.state().training().drawn();
        drawn.len() == 4 && drawn.iter().all(|drawn| drawn.tracks.contains_key(&MetricId::LOSS))
    });
    app.settle();
    let folder = export(&mut app, &[("Figure as SVG…", "curves.svg")]);
    let svg = std::fs::read_to_string(folder.join("curves.svg")).expect("it was written");
    let line = |rule: &str, number: usize| {
        let rule = RuleKind::named(rule).expect("there is such a rule").info();
        let [red, green, blue] = Pen::new(rule.color, number).color_on(Background::Light);
        format!("stroke=\"#{red:02x}{green:02x}{blue:02x}\"")
    };
    for (rule, number, is_drawn) in
        [("Adam", 0, true), ("Signum", 0, true), ("FOCUS", 0, true), ("FOCUS", 1, true), ("Adam", 1, false)]
    {
        let line = line(rule, number);
        assert_eq!(svg.contains(&line), is_drawn, "{rule}, pen {number}: {line}");
    }
    // The paper's colours, where they are visible on white.
    assert!(svg.contains("stroke=\"#f46f43\"") && svg.contains("stroke=\"#80a6e2\""));
}

#[test]
fn a_colour_that_is_chosen_for_a_run_is_that_of_its_curve_and_kept_with_the_session() {
    let (mut app, ()) = open_tab(|runs| {
        finished(runs, "Alone", 1, |step| 1.0 / step as f64);
    });
    listed(&mut app, 1);
    select(&mut app, "Alone");
    let swatch = format!("Colour of {}", app.state().training().runs()[0].in_full());
    app.set_color(&swatch, "G", 20);
    let [red, _, blue] = RuleKind::named("Focus").expect("there is such a rule").info().color;
    let own = app.state().training().runs()[0].color;
    assert_eq!([red, blue], [own[0], own[2]]);
    let memory = app.state().training().memory();
    let chosen = *memory.colors.values().next().expect("it was chosen");
    assert!(memory.colors.len() == 1 && chosen[0].abs_diff(red) <= 1 && chosen[1].abs_diff(20) <= 1, "{chosen:?}");
    let folder = export(&mut app, &[("Figure as SVG…", "curves.svg")]);
    let svg = std::fs::read_to_string(folder.join("curves.svg")).expect("it was written");
    let [red, green, blue] = Pen::new(chosen, 0).color_on(Background::Light);
    assert!(svg.contains(&format!("stroke=\"#{red:02x}{green:02x}{blue:02x}\"")), "no {chosen:?}");
    let storage = app.state().session();
    let runs = app.folder.path().join("runs");
    let begin = Begin { preset: None, storage: Some(&storage), runs: Some(&runs), ..Begin::default() };
    let mut again = App::begin(begin);
    listed(&mut again, 1);
    assert_eq!(again.state().training().memory().colors, memory.colors);
    again.take_usual_color(&swatch);
    assert!(again.state().training().memory().colors.is_empty());
}

#[test]
fn curves_are_exported_as_figures_and_points() {
    let (mut app, ()) = open_tab(|runs| {
        finished(runs, "Alone", 1, |step| 1.0 / step as f64);
    });
    listed(&mut app, 1);
    select(&mut app, "Alone");
    let files = [
        ("Figure as PNG…", "curves.png"),
        ("Figure as SVG…", "curves.svg"),
        ("Figure as PDF…", "curves.pdf"),
        ("All points as CSV…", "curves.csv"),
    ];
    let folder = export(&mut app, &files);
    let written = |name: &str| std::fs::read(folder.join(name)).expect("it was written");
    let svg = String::from_utf8(written("curves.svg")).expect("it is text");
    for said in [">FOCUS, γ 0.2<", ">train loss<", ">test accuracy (%)<", ">steps<", "Mnist("] {
        assert!(svg.contains(said), "no {said} in the figure");
    }
    assert!(written("curves.png").starts_with(b"\x89PNG") && written("curves.pdf").starts_with(b"%PDF"));
    assert!(written("curves.csv").starts_with(b"step,time,wall_s,loss,"));
}
