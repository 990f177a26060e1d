//! The paper's raw arrays.

use npyz::NpyFile;
use valleyscope::sweep::result::RawFormat;
use valleyscope_engine::landscape::{LandscapeKind, LandscapeParameterName, LandscapeSpec};
use valleyscope_engine::sweep::{Quantity, Runs, SweepSpec};
use valleyscope_runs::atomic_file::Overwrite;

use super::data::{COLUMNS, RATES, REPLICATES, final_loss, runs, spec};

const ROW: usize = 2;

fn written(spec: &SweepSpec) -> (String, Vec<u64>, Vec<f64>) {
    let folder = tempfile::tempdir().expect("a folder");
    let format = RawFormat::of(spec).expect("a sweep of the paper");
    let pixels: Vec<Vec<Runs>> = (0..COLUMNS).map(|column| runs(spec, [ROW, column])).collect();
    let path = format.write_row(folder.path(), Overwrite::No, spec, ROW, &pixels).expect("written");
    let file = NpyFile::new(std::fs::File::open(&path).expect("the file")).expect("an array");
    let name = path.file_name().expect("a name").to_string_lossy().into_owned();
    (name, file.shape().to_vec(), file.into_vec().expect("numbers"))
}

/// Returns the index of a run by optimizer, column, learning rate and replicate.
fn at(optimizer: usize, column: usize, rate: usize, replicate: usize) -> usize {
    ((optimizer * COLUMNS + column) * RATES + rate) * REPLICATES + replicate
}

#[test]
fn rows_of_sharpness_hold_final_losses() {
    let (name, shape, values) = written(&spec("fig2a"));
    assert_eq!(name, "syn-exp-7-2.npy");
    assert_eq!(shape, [3, COLUMNS as u64, RATES as u64, REPLICATES as u64]);
    assert_eq!(values[at(1, 2, 4, 3)], final_loss([ROW, 2], 1, 4, 3));
}

#[test]
fn rows_of_weight_decay_hold_three_metrics() {
    let (name, shape, values) = written(&spec("fig2b"));
    assert_eq!(name, "syn-exp-6-2.npy");
    assert_eq!(shape, [3, COLUMNS as u64, RATES as u64, REPLICATES as u64, 3]);
    let loss = final_loss([ROW, 1], 2, 0, 5);
    assert_eq!(values[3 * at(2, 1, 0, 5)..][..3], [loss, loss - 0.5, 2.0 - loss]);
}

#[test]
fn optimizers_are_in_the_papers_order() {
    let mut spec = spec("fig2a");
    spec.optimizers.reverse();
    let (_, _, values) = written(&spec);
    assert_eq!(values[at(0, 0, 1, 1)], final_loss([ROW, 0], 2, 1, 1), "Adam, which is last in the spec");
}

#[test]
fn other_sweeps_have_no_raw_arrays() {
    let refusal = |change: fn(&mut SweepSpec)| {
        let mut spec = spec("fig2a");
        change(&mut spec);
        RawFormat::of(&spec).expect_err("refused").to_string()
    };
    let two = refusal(|spec| spec.optimizers.truncate(2));
    assert!(two.contains("Adam, FOCUS and Signum") && two.contains("found Adam, FOCUS"), "{two}");
    assert!(
        refusal(|spec| spec.columns.of = Quantity::Landscape(LandscapeParameterName::SLOPE)).contains("found slope")
    );
    let river = refusal(|spec| spec.landscape = LandscapeSpec::new(LandscapeKind::River));
    assert!(river.contains("the paper's valley") && river.contains("found River"), "{river}");
    assert!(refusal(|spec| spec.rows.of = Quantity::Steps).contains("found steps"));
    let rates =
        refusal(|spec| spec.optimizers[0].learning_rates.count = valleyscope_engine::quantity::PointCount::clamped(2));
    assert!(rates.contains("same learning rates"), "{rates}");
}
