//! The records of a sweep, byte by byte.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::sync::Arc;

use valleyscope::sweep::pool::{Pool, Sweep};
use valleyscope::sweep::result::{StoreError, SweepHeader, SweepRecords, SweepStore};
use valleyscope_engine::quantity::{Certainty, PointCount, Replicates, StepCount};
use valleyscope_engine::sweep::{
    Adaptive, Backend, Diagram, Finished, PixelOrder, Precision, Sampling, SweepJob, SweepSpec, SweepWork,
};
use valleyscope_experiments::preset::{FormatVersion, Preset, SweepPreset, built_ins};

fn spec() -> SweepSpec {
    let preset = &built_ins().iter().find(|built_in| built_in.name == "fig2a").unwrap().preset;
    let Preset::Sweep(preset) = preset else { panic!("fig2a is no sweep") };
    let mut spec = preset.sweep.clone();
    (spec.rows.count, spec.columns.count) = (PointCount::clamped(2), PointCount::clamped(2));
    (spec.steps, spec.replicates) = (StepCount::clamped(5), Replicates::clamped(2));
    spec.optimizers.iter_mut().for_each(|optimizer| optimizer.learning_rates.count = PointCount::clamped(2));
    spec
}

fn pixels(spec: &SweepSpec) -> Vec<Finished> {
    let pool = Pool::new(1).unwrap();
    let job = SweepJob { keep_runs: true, ..SweepJob::new(Arc::new(spec.clone()), Backend::new(Precision::Single)) };
    let sweep = Sweep::start(&pool, job, || {});
    sweep.finished().iter().collect()
}

fn header(spec: &SweepSpec) -> SweepHeader {
    let (title, sweep) = ("Small".to_owned(), spec.clone());
    let preset = Arc::new(SweepPreset { version: FormatVersion, title, description: String::new(), sweep });
    SweepHeader { preset, precision: Precision::Single, keeps_runs: true, part: None }
}

fn open(folder: &Path, spec: &SweepSpec) -> Result<SweepStore, StoreError> {
    SweepStore::open(folder, &header(spec)).map(|(store, _)| store)
}

fn write(folder: &Path, spec: &SweepSpec, pixels: &[Finished]) -> Vec<u8> {
    let mut store = open(folder, spec).unwrap();
    pixels.iter().for_each(|pixel| store.add(pixel));
    store.save().unwrap();
    fs::read(folder.join(SweepRecords::FILE)).unwrap()
}

/// Returns a pixel as text, in which NaN equals itself and −0 does not equal 0.
fn text(finished: &Finished) -> String {
    format!("{finished:?}")
}

/// Checks that each known pixel is as it was written.
#[track_caller]
fn expect_true(store: &SweepStore, pixels: &[Finished]) {
    for pixel in pixels {
        if let Some(found) = store.read(pixel.pixel).unwrap() {
            assert_eq!(text(&found), text(pixel));
        }
    }
}

#[test]
fn pixels_are_read_back_as_written() {
    let folder = tempfile::tempdir().unwrap();
    let (spec, mut pixels) = (spec(), pixels(&spec()));
    pixels[1].cell.averages[0][0][0] = f64::INFINITY;
    pixels[1].cell.deviations[0][0][0] = f64::NAN;
    pixels[1].runs.as_mut().unwrap()[0].metrics[0].final_loss = -0.0;
    write(folder.path(), &spec, &pixels[..2]);
    write(folder.path(), &spec, &pixels[2..]);
    let store = open(folder.path(), &spec).unwrap();
    assert_eq!(store.known(), 4);
    for pixel in &pixels {
        assert_eq!(text(&store.read(pixel.pixel).unwrap().unwrap()), text(pixel));
    }
}

#[test]
fn a_file_cut_anywhere_keeps_its_complete_records() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(SweepRecords::FILE);
    let (spec, pixels) = (spec(), pixels(&spec()));
    let empty = write(folder.path(), &spec, &[]).len();
    let bytes = write(folder.path(), &spec, &pixels);
    let ends: Vec<usize> = (empty..bytes.len()).filter(|at| bytes[*at] == 0).map(|at| at + 1).collect();
    assert_eq!(ends.len(), pixels.len());
    for length in (0..=bytes.len()).step_by(7).chain([empty - 1, empty, empty + 1, bytes.len() - 1]) {
        fs::write(&path, &bytes[..length]).unwrap();
        let mut store = open(folder.path(), &spec).unwrap();
        assert_eq!(store.known(), ends.iter().filter(|end| **end <= length).count(), "cut at {length}");
        expect_true(&store, &pixels);
        for pixel in &pixels {
            if store.read(pixel.pixel).unwrap().is_none() {
                store.add(pixel);
            }
        }
        store.save().unwrap();
        assert_eq!(fs::read(&path).unwrap(), bytes, "repaired after a cut at {length}");
    }
}

#[test]
fn a_flipped_bit_loses_one_record_or_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(SweepRecords::FILE);
    let (spec, pixels) = (spec(), pixels(&spec()));
    let empty = write(folder.path(), &spec, &[]).len();
    let bytes = write(folder.path(), &spec, &pixels);
    for place in (0..bytes.len()).step_by(5) {
        let mut flipped = bytes.clone();
        flipped[place] ^= 1 << (place % 8);
        fs::write(&path, &flipped).unwrap();
        match open(folder.path(), &spec) {
            Ok(store) => {
                assert!(place >= empty, "a flipped bit at {place} in the header went unseen");
                // Two records without the zero between them are one that is damaged.
                assert!((pixels.len() - 2..pixels.len()).contains(&store.known()), "{} at {place}", store.known());
                expect_true(&store, &pixels);
            }
            Err(StoreError::Foreign(_) | StoreError::Version { .. } | StoreError::Damaged(_)) => {
                assert!(place < empty, "a flipped bit at {place} spoiled all");
                assert_eq!(fs::read(&path).unwrap(), flipped, "what is refused stays as it is");
            }
            Err(other) => panic!("a flipped bit at {place}: {other}"),
        }
    }
}

#[test]
fn other_sweeps_and_foreign_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(SweepRecords::FILE);
    let (spec, pixels) = (spec(), pixels(&spec()));
    write(folder.path(), &spec, &pixels);
    let other = SweepSpec { seed: 77, ..spec.clone() };
    let Err(StoreError::Different { field, found, expected, .. }) = open(folder.path(), &other) else {
        panic!("records of another seed were taken")
    };
    assert_eq!([field.as_str(), &found, &expected], ["seed", "0", "77"]);
    let double = SweepHeader { precision: Precision::Double, ..header(&spec) };
    assert!(matches!(
        SweepStore::open(folder.path(), &double),
        Err(StoreError::Different { field, .. }) if field == "precision"
    ));
    fs::write(&path, vec![0; 100_000]).unwrap();
    assert!(matches!(open(folder.path(), &spec), Err(StoreError::Foreign(_))));
}

#[test]
fn a_checkpoint_belongs_to_one_process_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(SweepRecords::FILE);
    let first = open(folder.path(), &spec()).unwrap();
    assert!(matches!(open(folder.path(), &spec()), Err(StoreError::Busy(_))));
    drop(first);
    open(folder.path(), &spec()).unwrap().remove().unwrap();
    assert!(OpenOptions::new().read(true).open(&path).is_err());
}

#[test]
fn a_checkpoint_removed_by_its_owner_during_the_wait_is_created_again() {
    let folder = tempfile::tempdir().unwrap();
    let (spec, pixels) = (spec(), pixels(&spec()));
    let second = (0..10).find_map(|_| opened_while_another_removes_it(folder.path(), &spec, &pixels));
    let mut second = second.expect("the owner removes it in a second");
    assert!(second.is_new() && second.is_at_path());
    assert_eq!((second.known(), second.saved()), (0, 0));
    second.add(&pixels[0]);
    assert_eq!((second.known(), second.saved()), (1, 0));
    second.save().unwrap();
    assert_eq!(second.saved(), 1);
}

/// Opens records that another owner holds, and removes meanwhile. `None` if this took longer than the second of
/// the lock's time limit, as on a busy processor.
fn opened_while_another_removes_it(folder: &Path, spec: &SweepSpec, pixels: &[Finished]) -> Option<SweepStore> {
    write(folder, spec, pixels);
    let first = open(folder, spec).unwrap();
    assert!(!first.is_new());
    let waiting = {
        let (folder, spec) = (folder.to_owned(), spec.clone());
        std::thread::spawn(move || open(&folder, &spec))
    };
    std::thread::sleep(std::time::Duration::from_millis(200));
    first.remove().unwrap();
    match waiting.join().unwrap() {
        Err(StoreError::Busy(_)) => None,
        second => Some(second.unwrap()),
    }
}

/// Returns an adaptive sweep and its diagram after the first runs of all pixels, whose races are not over.
fn begun() -> (SweepSpec, Diagram) {
    let adaptive = Adaptive { certainty: Certainty::clamped(0.999_999), ..Adaptive::default() };
    let spec = SweepSpec { replicates: Replicates::clamped(50), sampling: Sampling::Adaptive(adaptive), ..spec() };
    let mut diagram = Diagram::new(Arc::new(spec.clone()));
    let job = SweepJob::new(Arc::clone(diagram.spec()), Backend::new(Precision::Single));
    let (mut left, all) = (spec.shape().iter().product::<usize>(), PixelOrder::CoarseToFine);
    SweepWork::new(SweepJob { order: all, ..job }).run(|finished| {
        diagram.insert(finished.pixel, finished.cell);
        left -= 1;
        left > 0
    });
    (spec, diagram)
}

#[test]
fn races_are_read_back_and_damaged_or_foreign_ones_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (spec, diagram) = begun();
    let races = |diagram: &Diagram| -> Vec<_> { spec.pixels().map(|pixel| diagram.race(pixel).cloned()).collect() };
    assert!(races(&diagram).iter().any(Option::is_some), "all races are over");
    let open = |folder: &Path, seed| {
        let sweep = SweepSpec { seed, ..spec.clone() };
        SweepStore::open(folder, &SweepHeader { keeps_runs: false, ..header(&sweep) }).unwrap()
    };
    let (store, mut read) = open(folder.path(), 0);
    store.read_races(&mut read).expect("there are none");
    store.save_races(&diagram).unwrap();
    store.read_races(&mut read).unwrap();
    assert_eq!(races(&read), races(&diagram));
    let path = folder.path().join(SweepStore::RACES);
    let bytes = fs::read(&path).unwrap();
    for damaged in [&bytes[..bytes.len() - 1], &[&bytes[..], b"\x02\x02"].concat()] {
        fs::write(&path, damaged).unwrap();
        let reason = store.read_races(&mut Diagram::new(Arc::clone(diagram.spec()))).unwrap_err();
        assert!(reason.contains("races.bin: it is damaged"), "{reason}");
    }
    let other = tempfile::tempdir().unwrap();
    let (other_store, mut other_diagram) = open(other.path(), 7);
    fs::write(other.path().join(SweepStore::RACES), &bytes).unwrap();
    let reason = other_store.read_races(&mut other_diagram).unwrap_err();
    assert!(reason.contains("it is of another sweep"), "{reason}");
    store.remove().unwrap();
    assert!(!path.exists());
}
