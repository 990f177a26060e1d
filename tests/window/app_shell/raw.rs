//! Raw arrays of a diagram in the window.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT, Queryable};
use valleyscope::sweep::result::RawFormat;
use valleyscope_engine::sweep::{Backend, Precision, SweepSpec, pixel_runs};
use valleyscope_runs::atomic_file::Overwrite;

use super::harness::App;
use super::phase::{SMALL, computed};

const ENTRY: &str = "Raw arrays of all runs as NPY…";

/// Returns a sweep like the paper's that takes some milliseconds.
fn paper() -> String {
    let focus = "(id: 2, rule: Focus(), learning_rates: (from: 0.001, to: 1.0, count: 3)),\n        ],";
    SMALL.replace("        ],", &format!("            {focus}"))
}

/// Returns a sweep like the paper's that is too long to finish.
fn long() -> String {
    paper().replace("count: 5", "count: 1000").replace("count: 4", "count: 2").replace("steps: 30", "steps: 10000")
}

fn export_to(app: &mut App, folder: &Path) {
    app.menu("Export", ENTRY);
    app.type_over("Path of the folder", folder);
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("it can be read"));
    let read = |entry: std::fs::DirEntry| {
        (entry.file_name().into_string().expect("a name"), std::fs::read(entry.path()).expect("it can be read"))
    };
    entries.map(read).collect()
}

/// Returns the files of the first rows, from runs that are computed one by one.
fn expected(spec: &SweepSpec, rows: usize) -> BTreeMap<String, Vec<u8>> {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let format = RawFormat::of(spec).expect("a sweep like the paper's");
    let runs = |pixel| {
        let replicates = 0..spec.replicates.get();
        pixel_runs(Backend::new(Precision::Single), spec, pixel, replicates, &AtomicBool::new(false))
            .expect("not cancelled")
    };
    for row in 0..rows {
        let pixels: Vec<_> = (0..spec.shape()[1]).map(|column| runs([row, column])).collect();
        format.write_row(folder.path(), Overwrite::No, spec, row, &pixels).expect("written");
    }
    files(folder.path())
}

#[test]
fn raw_arrays_hold_the_diagrams_runs() {
    let mut app = computed(&paper());
    let folder = app.folder.path().join("not there yet").join("raw");
    export_to(&mut app, &folder);
    app.until("the notice", |app| app.shows("5 of 5 rows are complete"));
    let spec = app.state().phase().present().diagram.spec().clone();
    assert!(files(&folder) == expected(&spec, 5), "other bytes");
    assert!(files(&folder).contains_key("syn-exp-7-4.npy"));
    assert!(!app.shows("Cancel the raw arrays"), "it is over");
}

#[test]
fn another_set_of_optimizers_has_no_raw_arrays_and_the_menu_says_why() {
    let mut app = computed(SMALL);
    app.button("Export");
    let entry = app.harness.get_by_role_and_label(Role::Button, ENTRY);
    assert!(entry.accesskit_node().is_disabled());
    entry.hover();
    app.until("the reason", |app| app.shows("exactly Adam, FOCUS and Signum was expected, found Adam, Signum"));
}

#[test]
fn files_that_are_there_are_replaced_only_after_a_question() {
    let mut app = computed(&paper());
    let folder = app.folder.path().join("raw");
    std::fs::create_dir(&folder).expect("the test's folder can be written");
    std::fs::write(folder.join("syn-exp-7-3.npy"), "mine").expect("the test's folder can be written");
    export_to(&mut app, &folder);
    app.until("the question", |app| app.shows("Replace the raw arrays?"));
    app.button("Keep the old files");
    app.settle();
    assert_eq!(files(&folder).into_iter().collect::<Vec<_>>(), [("syn-exp-7-3.npy".to_owned(), b"mine".to_vec())]);
    export_to(&mut app, &folder);
    app.until("the question", |app| app.shows("Replace the raw arrays?"));
    app.button("Replace");
    app.until("the notice", |app| app.shows("5 of 5 rows are complete"));
    let spec = app.state().phase().present().diagram.spec().clone();
    assert!(files(&folder) == expected(&spec, 5), "other bytes");
}

#[test]
fn raw_arrays_wait_for_the_diagram_and_cancelled_ones_leave_whole_rows() {
    let mut app = App::with(&long());
    let folder = app.folder.path().join("raw");
    export_to(&mut app, &folder);
    app.until("the export to wait", |app| app.shows("rows, waiting for the diagram"));
    app.button("Pause");
    app.until("some rows", |app| app.shows("Raw arrays: ") && !app.shows("Raw arrays: 0 of"));
    app.button("Cancel the raw arrays");
    app.until("the end", |app| app.shows("complete in"));
    let found = files(&folder);
    assert!(found.len() < 1000, "it was cancelled");
    let spec = app.state().phase().present().diagram.spec().clone();
    assert!(found == expected(&spec, found.len()), "rows are whole, and nothing else is there");
    assert!(app.shows(&format!("{} of {} rows", found.len(), spec.shape()[0])), "the report counts them");
}

#[test]
fn a_folder_that_cannot_be_written_is_told_at_once() {
    let mut app = computed(&paper());
    let file = app.write("file", "not a folder");
    export_to(&mut app, &file);
    app.until("the report", |app| app.shows("Not all raw arrays were exported"));
    assert!(app.shows("cannot use the folder"));
}
