//! `spec.ron`, `phase.npz` and `phase.csv`.

use std::fs;
use std::io::{Cursor, Write};

use npyz::{DType, Deserialize, NpyFile};
use valleyscope::sweep::result::SweepResult;
use valleyscope_engine::optimizer::HyperparameterName;
use valleyscope_engine::quantity::PointCount;
use valleyscope_engine::sweep::{Metric, Precision, Quantity, Spacing};
use valleyscope_experiments::preset::Preset;
use valleyscope_runs::atomic_file::Overwrite;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::data::{
    COLUMNS, DIVERGED, RATES, REPLICATES, ROWS, TIE, UNKNOWN, arrays, final_loss, result, result_of, spec,
};
#[cfg(unix)]
use crate::sandbox::make_fifo;

/// Returns an array's shape, type and elements.
pub fn array<T: Deserialize>(bytes: &[u8], name: &str) -> (Vec<u64>, String, Vec<T>) {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).expect("an archive");
    let file = archive.by_name(&format!("{name}.npy")).unwrap_or_else(|error| panic!("{name}: {error}"));
    let file = NpyFile::new(file).expect("an array");
    let shape = file.shape().to_vec();
    let DType::Plain(kind) = file.dtype() else { panic!("{name} has a plain type") };
    (shape, kind.to_string().trim_matches('\'').to_owned(), file.into_vec().expect("the elements"))
}

/// Returns a text or texts.
pub fn texts(bytes: &[u8], name: &str) -> (Vec<u64>, Vec<String>) {
    let (shape, _, texts) = array(bytes, name);
    (shape, texts)
}

fn index([row, column]: [usize; 2], optimizer: usize) -> usize {
    (optimizer * ROWS + row) * COLUMNS + column
}

#[test]
fn arrays_have_the_documented_names_shapes_types_and_values() {
    let result = result();
    let bytes = arrays(&result);
    let [o, r, c, l] = [3, ROWS as u64, COLUMNS as u64, RATES as u64];
    for (name, shape) in [
        ("rows", vec![r]),
        ("cols", vec![c]),
        ("lrs", vec![l]),
        ("score", vec![o, r, c]),
        ("score_std", vec![o, r, c]),
        ("min_loss", vec![o, r, c]),
        ("depth", vec![o, r, c]),
        ("mean", vec![o, r, c, l]),
        ("std", vec![o, r, c, l]),
        ("depth_mean", vec![o, r, c, l]),
        ("gap", vec![3, o, r, c]),
    ] {
        let (found, kind, _) = array::<f64>(&bytes, name);
        assert_eq!((found, kind.as_str()), (shape, "<f8"), "{name}");
    }
    for (name, shape) in
        [("best_lr", vec![o, r, c]), ("diverged", vec![o, r, c]), ("winner", vec![r, c]), ("replicates", vec![r, c])]
    {
        let (found, kind, _) = array::<i32>(&bytes, name);
        assert_eq!((found, kind.as_str()), (shape, "<i4"), "{name}");
    }
    assert_eq!(texts(&bytes, "optimizers"), (vec![3], ["Adam", "FOCUS", "Signum"].map(str::to_owned).to_vec()));
    for (name, text) in [("row_name", "sharpness"), ("col_name", "noise"), ("metric", "final_loss")] {
        assert_eq!(texts(&bytes, name), (vec![], vec![text.to_owned()]), "{name}");
    }
    assert_eq!(texts(&bytes, "spec").1[0], result.preset().to_ron());
    let program = &texts(&bytes, "program").1[0];
    assert!(program.contains(env!("CARGO_PKG_VERSION")) && program.contains("f32") && program.contains("seed 0"));

    // This is an ordinary pixel: the learning rate in the middle is best, the replicates' mean is that of 0 to 5.
    let pixel = [2, 1];
    let score = final_loss(pixel, 1, 2, 0) + 0.01 * 2.5;
    assert!((array::<f64>(&bytes, "score").2[index(pixel, 1)] - score).abs() < 1e-12);
    assert!((array::<f64>(&bytes, "depth").2[index(pixel, 1)] - (2.0 - score)).abs() < 1e-12);
    assert_eq!(array::<i32>(&bytes, "best_lr").2[index(pixel, 1)], 2);
    let deviation = 0.01 * (35.0_f64 / 12.0).sqrt();
    assert!((array::<f64>(&bytes, "score_std").2[index(pixel, 1)] - deviation).abs() < 1e-12);
    let winner = array::<i32>(&bytes, "winner").2;
    let at = |[row, column]: [usize; 2]| row * COLUMNS + column;
    assert_eq!((winner[at(pixel)], winner[at(TIE)], winner[at(UNKNOWN)]), (2, -1, -1));
    assert_eq!(array::<i32>(&bytes, "diverged").2[index(DIVERGED, 0)], (RATES * REPLICATES) as i32);
    assert_eq!(array::<f64>(&bytes, "score").2[index(DIVERGED, 0)], f64::INFINITY);
    assert!(array::<f64>(&bytes, "score").2[index(UNKNOWN, 0)].is_nan());
    assert_eq!(array::<i32>(&bytes, "replicates").2[at(UNKNOWN)], 0);
}

#[test]
fn grids_of_learning_rates_that_differ_are_padded() {
    let mut spec = spec("fig2a");
    spec.optimizers[1].learning_rates.count = PointCount::clamped(2);
    spec.rows.of = Quantity::Of(HyperparameterName::LEARNING_RATE, vec![2]);
    (spec.rows.from, spec.rows.to, spec.rows.spacing) = (0.001, 0.1, Spacing::Log);
    let result = result_of(spec);
    let bytes = arrays(&result);
    let (shape, _, rates) = array::<f64>(&bytes, "lrs");
    assert_eq!(shape, [3, RATES as u64]);
    assert_eq!(rates[RATES..RATES + 2], [0.001, 1.0]);
    assert!(rates[RATES + 2..].iter().all(|rate| rate.is_nan()));
    let read = SweepResult::read_arrays(Cursor::new(&bytes), "here").expect("what was written");
    assert_eq!(arrays(&read), bytes);
}

#[test]
fn a_folder_of_results_opens_again_as_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut written = result();
    written.precision = Precision::Double;
    written.write(folder.path(), Overwrite::No).expect("written");
    for path in [folder.path().to_owned(), folder.path().join("phase.npz")] {
        let read = SweepResult::open(&path).expect("opened");
        assert_eq!((read.precision, &read.title), (Precision::Double, &written.title));
        assert_eq!(read.diagram.spec(), written.diagram.spec());
        assert_eq!(arrays(&read), fs::read(folder.path().join("phase.npz")).expect("the file"));
        let cell = |result: &SweepResult, pixel| result.diagram.cell(pixel).cloned();
        assert!(cell(&read, UNKNOWN).is_none() && cell(&read, TIE).is_some());
        for metric in Metric::ALL {
            let certainty =
                |result: &SweepResult| cell(result, [0, 1]).and_then(|cell| cell.comparison(metric).certainty());
            assert!(certainty(&written).is_some());
            assert_eq!(certainty(&read), certainty(&written));
        }
    }
    let preset = Preset::read(&folder.path().join("spec.ron")).expect("a preset");
    assert_eq!(preset, written.preset());
    let again = written.write(folder.path(), Overwrite::No).expect_err("the files exist");
    assert_eq!(again.kind(), std::io::ErrorKind::AlreadyExists);
}

#[test]
fn the_table_has_a_row_for_each_pixel() {
    let mut table = Vec::new();
    valleyscope::sweep::result::write_table(&mut table, &result().diagram).expect("memory takes all that is written");
    let table = String::from_utf8(table).expect("text");
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    let names =
        "sharpness,noise,winner,gap,gap_se,certainty,adam_score,adam_std,adam_best_lr,adam_diverged,focus_score";
    assert!(table.starts_with(names), "{table}");
    assert_eq!(rows.len(), 1 + ROWS * COLUMNS);
    let row = |[row, column]: [usize; 2]| &rows[1 + row * COLUMNS + column];
    let number = |text: &str| text.parse::<f64>().expect("a number");
    let plain = row([2, 1]);
    assert_eq!((number(plain[0]), number(plain[1]), plain[2]), (1000.0, 1.0, "Signum"));
    // The gap is that to the nearer of the two others, which is the least certain.
    assert!((number(plain[3]) - 1.0).abs() < 1e-9, "{plain:?}");
    assert!(number(plain[4]) > 0.0);
    assert!((number(plain[8]) - 10_f64.powf(-1.5)).abs() < 1e-12, "the learning rate itself");
    let known = result().diagram.cell([2, 1]).and_then(|cell| cell.comparison(Metric::FinalLoss).certainty());
    assert_eq!(Some(number(plain[5])), known);
    assert_eq!((row(TIE)[2], row(TIE)[3], row(TIE)[5]), ("", "NaN", "NaN"));
    assert_eq!((row(UNKNOWN)[2], row(UNKNOWN)[6], row(UNKNOWN)[9]), ("", "NaN", ""));
    assert_eq!((row(DIVERGED)[6], row(DIVERGED)[9]), ("inf", "30"));
}

#[test]
fn incomplete_results_are_refused_with_the_reason() {
    let bytes = arrays(&result());
    let refusal =
        |bytes: &[u8]| SweepResult::read_arrays(Cursor::new(bytes), "phase.npz").expect_err("refused").to_string();
    assert!(refusal(b"").contains("no NPZ archive"));
    assert!(refusal(b"\x89PNG and so on, long enough to be something").contains("no NPZ archive"));
    for length in [10, 1000, bytes.len() / 2, bytes.len() - 1] {
        assert!(refusal(&bytes[..length]).contains("cut short"), "{length}");
    }
    // A byte of the last array's elements.
    let mut damaged = bytes.clone();
    let last = bytes.windows(4).position(|window| window == b"PK\x01\x02").expect("the list of arrays") - 1;
    damaged[last] ^= 1;
    assert!(refusal(&damaged).contains("`gap_freedom.npy` is damaged"), "{}", refusal(&damaged));
    let mut other = Cursor::new(Vec::new());
    let mut npz = valleyscope::export::NpzWriter::new(&mut other);
    npz.array("loss", &[1], [1.0]).expect("written");
    npz.finish().expect("written");
    assert!(refusal(other.get_ref()).contains("no `spec.npy`"));
    let folder = tempfile::tempdir().expect("a folder");
    let error = SweepResult::open(folder.path()).expect_err("an empty folder").to_string();
    assert!(error.contains("phase.npz") && error.contains(&folder.path().display().to_string()), "{error}");
}

/// Returns the files of an archive in another one.
fn packed_anew(bytes: &[u8], options: SimpleFileOptions) -> Vec<u8> {
    let mut from = ZipArchive::new(Cursor::new(bytes)).expect("an archive");
    let mut to = ZipWriter::new(Cursor::new(Vec::new()));
    for index in 0..from.len() {
        let mut file = from.by_index(index).expect("a file");
        to.start_file(file.name().expect("a name").into_owned(), options).expect("begun");
        std::io::copy(&mut file, &mut to).expect("copied");
    }
    to.finish().expect("ended").into_inner()
}

#[test]
fn compressed_arrays_are_read_too() {
    let bytes = arrays(&result());
    let compressed = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    let compressed = packed_anew(&bytes, compressed);
    assert!(compressed.len() < bytes.len());
    let read = SweepResult::read_arrays(Cursor::new(&compressed), "here").expect("read");
    assert!(arrays(&read) == bytes);
}

#[test]
fn a_compressed_array_longer_than_declared_is_not_unpacked() {
    let mut to = ZipWriter::new(Cursor::new(Vec::new()));
    let compressed = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    to.start_file("spec.npy", compressed).expect("begun");
    to.write_all(&vec![0; 1 << 24]).expect("written");
    let mut bytes = to.finish().expect("ended").into_inner();
    let list = bytes.windows(4).position(|window| window == b"PK\x01\x02").expect("the list of arrays");
    bytes[list + 24..list + 28].copy_from_slice(&1000_u32.to_le_bytes());
    let error = SweepResult::read_arrays(Cursor::new(&bytes), "here").expect_err("refused").to_string();
    assert!(error.contains("`spec.npy` is damaged"), "{error}");
}

#[test]
fn a_list_of_arrays_that_is_too_long_is_not_read() {
    let mut to = ZipWriter::new(Cursor::new(Vec::new()));
    for index in 0..60_000 {
        to.start_file(format!("{index}.npy"), SimpleFileOptions::default()).expect("begun");
    }
    let bytes = to.finish().expect("ended").into_inner();
    let error = SweepResult::read_arrays(Cursor::new(&bytes), "here").expect_err("refused").to_string();
    assert!(error.contains("list of arrays is longer than 2 MiB"), "{error}");
}

#[test]
fn arrays_that_do_not_fit_the_spec_are_refused() {
    let result = result();
    let mut file = Cursor::new(Vec::new());
    let mut npz = valleyscope::export::NpzWriter::new(&mut file);
    npz.text("spec", &result.preset().to_ron()).expect("written");
    npz.text("program", &result.program()).expect("written");
    npz.array("mean", &[2, 2], [1.0; 4]).expect("written");
    npz.finish().expect("written");
    let error = SweepResult::read_arrays(Cursor::new(file.get_ref()), "here").expect_err("refused").to_string();
    assert!(error.contains("(3, 3, 4, 5)") && error.contains("(2, 2)"), "{error}");
}

#[test]
fn a_text_that_is_longer_than_any_spec_is_not_read() {
    let mut file = Cursor::new(Vec::new());
    let mut npz = valleyscope::export::NpzWriter::new(&mut file);
    npz.text("spec", &"x".repeat(2 << 20)).expect("written");
    npz.finish().expect("written");
    let error = SweepResult::read_arrays(Cursor::new(file.get_ref()), "here").expect_err("refused").to_string();
    assert!(error.contains("`spec.npy` has 8388") && error.contains("at most 4259849 were expected"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_fifo_in_the_place_of_results_is_refused_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    make_fifo(folder.path().join("phase.npz"));
    let error = SweepResult::open(folder.path()).expect_err("refused").to_string();
    assert!(error.contains("expected a plain file, found a FIFO"), "{error}");
}
