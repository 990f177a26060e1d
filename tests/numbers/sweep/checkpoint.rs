//! The checkpoint file, byte by byte.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::sync::Arc;

use valleyscope::sweep_checkpoint::{SweepCheckpoint, SweepCheckpointError};
use valleyscope::sweep_pool::{Pool, Sweep};
use valleyscope_engine::quantity::{PointCount, Replicates, StepCount};
use valleyscope_engine::sweep::{Backend, Finished, Precision, SweepJob, SweepSpec};
use valleyscope_experiments::preset::{Preset, built_ins};

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

fn open(path: &Path, spec: &SweepSpec) -> Result<SweepCheckpoint, SweepCheckpointError> {
    SweepCheckpoint::open(path, spec, Precision::Single, true)
}

fn write(path: &Path, spec: &SweepSpec, pixels: &[Finished]) -> Vec<u8> {
    let mut checkpoint = open(path, spec).unwrap();
    pixels.iter().for_each(|pixel| checkpoint.add(pixel));
    checkpoint.save().unwrap();
    fs::read(path).unwrap()
}

/// Returns a pixel as text, in which NaN equals itself and −0 does not equal 0.
fn text(finished: &Finished) -> String {
    format!("{finished:?}")
}

/// Checks that each known pixel is as it was written.
#[track_caller]
fn expect_true(checkpoint: &mut SweepCheckpoint, pixels: &[Finished]) {
    for pixel in pixels {
        if let Some(found) = checkpoint.read(pixel.pixel).unwrap() {
            assert_eq!(text(&found), text(pixel));
        }
    }
}

#[test]
fn pixels_are_read_back_as_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint.bin");
    let (spec, mut pixels) = (spec(), pixels(&spec()));
    pixels[1].cell.averages[0][0][0] = f64::INFINITY;
    pixels[1].cell.deviations[0][0][0] = f64::NAN;
    pixels[1].runs.as_mut().unwrap()[0].metrics[0].final_loss = -0.0;
    write(&path, &spec, &pixels[..2]);
    write(&path, &spec, &pixels[2..]);
    let mut checkpoint = open(&path, &spec).unwrap();
    assert_eq!(checkpoint.known(), 4);
    for pixel in &pixels {
        assert_eq!(text(&checkpoint.read(pixel.pixel).unwrap().unwrap()), text(pixel));
    }
}

#[test]
fn a_file_cut_anywhere_keeps_its_complete_records() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint.bin");
    let (spec, pixels) = (spec(), pixels(&spec()));
    let empty = write(&path, &spec, &[]).len();
    let bytes = write(&path, &spec, &pixels);
    let record = (bytes.len() - empty) / pixels.len();
    for length in (0..=bytes.len()).step_by(7).chain([empty - 1, empty, empty + 1, bytes.len() - 1]) {
        fs::write(&path, &bytes[..length]).unwrap();
        let mut checkpoint = open(&path, &spec).unwrap();
        assert_eq!(checkpoint.known(), length.saturating_sub(empty) / record, "cut at {length}");
        expect_true(&mut checkpoint, &pixels);
        for pixel in &pixels {
            if checkpoint.read(pixel.pixel).unwrap().is_none() {
                checkpoint.add(pixel);
            }
        }
        checkpoint.save().unwrap();
        assert_eq!(fs::read(&path).unwrap(), bytes, "repaired after a cut at {length}");
    }
}

#[test]
fn a_flipped_bit_loses_one_record_or_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint.bin");
    let (spec, pixels) = (spec(), pixels(&spec()));
    let empty = write(&path, &spec, &[]).len();
    let bytes = write(&path, &spec, &pixels);
    for place in (0..bytes.len()).step_by(5) {
        let mut flipped = bytes.clone();
        flipped[place] ^= 1 << (place % 8);
        fs::write(&path, &flipped).unwrap();
        match open(&path, &spec) {
            Ok(mut checkpoint) => {
                assert!(place >= empty, "a flipped bit at {place} in the header went unseen");
                assert_eq!(checkpoint.known(), pixels.len() - 1);
                expect_true(&mut checkpoint, &pixels);
            }
            Err(
                SweepCheckpointError::Foreign(_)
                | SweepCheckpointError::Version { .. }
                | SweepCheckpointError::Damaged(_),
            ) => {
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
    let path = folder.path().join("checkpoint.bin");
    let (spec, pixels) = (spec(), pixels(&spec()));
    let bytes = write(&path, &spec, &pixels);
    let other = SweepSpec { seed: 77, ..spec.clone() };
    let Err(SweepCheckpointError::Different { field, found, expected, .. }) = open(&path, &other) else {
        panic!("a checkpoint of another seed was taken")
    };
    assert_eq!([field.as_str(), &found, &expected], ["seed", "0", "77"]);
    assert!(matches!(
        SweepCheckpoint::open(&path, &spec, Precision::Double, true),
        Err(SweepCheckpointError::Different { field, .. }) if field == "precision"
    ));
    let mut newer = bytes.clone();
    newer[8] = 9;
    fs::write(&path, newer).unwrap();
    assert!(matches!(open(&path, &spec), Err(SweepCheckpointError::Version { found: 9, .. })));
    fs::write(&path, vec![0; 100_000]).unwrap();
    assert!(matches!(open(&path, &spec), Err(SweepCheckpointError::Foreign(_))));
}

#[test]
fn a_checkpoint_belongs_to_one_process_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint.bin");
    let first = open(&path, &spec()).unwrap();
    assert!(matches!(open(&path, &spec()), Err(SweepCheckpointError::Busy(_))));
    drop(first);
    open(&path, &spec()).unwrap().remove().unwrap();
    assert!(OpenOptions::new().read(true).open(&path).is_err());
}

#[test]
fn a_checkpoint_removed_by_its_owner_during_the_wait_is_created_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint.bin");
    let (spec, pixels) = (spec(), pixels(&spec()));
    let second = (0..10).find_map(|_| opened_while_another_removes_it(&path, &spec, &pixels));
    let mut second = second.expect("the owner removes it in a second");
    assert!(second.is_new() && second.is_in_place());
    assert_eq!((second.known(), second.saved()), (0, 0));
    second.add(&pixels[0]);
    assert_eq!((second.known(), second.saved()), (1, 0));
    second.save().unwrap();
    assert_eq!(second.saved(), 1);
}

/// Opens a checkpoint that another owner holds, and removes meanwhile. `None` if this took longer than the second of
/// the lock's time limit, as on a busy processor.
fn opened_while_another_removes_it(path: &Path, spec: &SweepSpec, pixels: &[Finished]) -> Option<SweepCheckpoint> {
    write(path, spec, pixels);
    let first = open(path, spec).unwrap();
    assert!(!first.is_new());
    let waiting = {
        let (path, spec) = (path.to_owned(), spec.clone());
        std::thread::spawn(move || open(&path, &spec))
    };
    std::thread::sleep(std::time::Duration::from_millis(200));
    first.remove().unwrap();
    match waiting.join().unwrap() {
        Err(SweepCheckpointError::Busy(_)) => None,
        second => Some(second.unwrap()),
    }
}
