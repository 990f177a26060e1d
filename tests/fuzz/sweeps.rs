//! Results of sweeps: `phase.npz`, and the records of a sweep that goes on.

use std::fs;
use std::io::Cursor;
use std::sync::Arc;

use valleyscope::sweep::pool::{Pool, Sweep};
use valleyscope::sweep::result::{SweepHeader, SweepRecords, SweepResult, SweepStore};
use valleyscope_engine::quantity::{PointCount, Replicates, StepCount};
use valleyscope_engine::sweep::{Backend, Diagram, Finished, Precision, SweepJob, SweepSpec};
use valleyscope_experiments::preset::{FormatVersion, Preset, SweepPreset, built_ins};

use crate::driver::{Target, fuzz};

const WORDS: &str = "PK\x03\x04 PK\x01\x02 PK\x05\x06 \u{93}NUMPY '<f8' '<U9' () (2,2)";

/// A small sweep, all of its pixels.
fn small() -> (SweepSpec, Vec<Finished>) {
    let preset = &built_ins().iter().find(|built_in| built_in.name == "fig2a").expect("it is built in").preset;
    let Preset::Sweep(preset) = preset else { panic!("fig2a is no sweep") };
    let mut spec = preset.sweep.clone();
    (spec.rows.count, spec.columns.count) = (PointCount::clamped(2), PointCount::clamped(2));
    (spec.steps, spec.replicates) = (StepCount::clamped(5), Replicates::clamped(4));
    spec.optimizers.iter_mut().for_each(|optimizer| optimizer.learning_rates.count = PointCount::clamped(2));
    let pool = Pool::new(1).expect("a thread");
    let job = SweepJob { keep_runs: true, ..SweepJob::new(Arc::new(spec.clone()), Backend::new(Precision::Single)) };
    let sweep = Sweep::start(&pool, job, || {});
    let pixels = sweep.finished().iter().collect();
    (spec, pixels)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?) as usize)
}

fn put(bytes: &mut [u8], at: usize, number: u32) {
    if let Some(place) = bytes.get_mut(at..at.saturating_add(4)) {
        place.copy_from_slice(&number.to_le_bytes());
    }
}

/// Makes the checksums in an archive right, so that more than them is tried.
fn repair_archive(bytes: &mut [u8]) {
    let heads: Vec<usize> =
        bytes.windows(4).enumerate().filter(|(_, b)| *b == b"PK\x01\x02").map(|(at, _)| at).collect();
    for head in heads {
        let (Some(size), Some(local)) = (u32_at(bytes, head + 24), u32_at(bytes, head + 42)) else { continue };
        let Some(name) = bytes.get(local + 26..local + 28) else { continue };
        let start = local + 30 + usize::from(u16::from_le_bytes([name[0], name[1]]));
        if let Some(contents) = start.checked_add(size).and_then(|end| bytes.get(start..end)) {
            let sum = crc32fast::hash(contents);
            put(bytes, head + 16, sum);
        }
    }
}

#[test]
fn npz() {
    let (spec, pixels) = small();
    let mut diagram = Diagram::new(Arc::new(spec));
    pixels.into_iter().for_each(|finished| diagram.insert(finished.pixel, finished.cell));
    let result =
        SweepResult { title: "Small".to_owned(), description: String::new(), diagram, precision: Precision::Single };
    let written = |result: &SweepResult| {
        let mut bytes = Cursor::new(Vec::new());
        result.write_arrays(&mut bytes).expect("memory takes all");
        bytes.into_inner()
    };
    let target = Target { name: "npz", seeds: vec![written(&result)], words: WORDS, memory: 64 << 20, cases: 2000 };
    let mut turn = 0_u32;
    fuzz(&target, |input| {
        let mut input = input.to_vec();
        turn += 1;
        if !turn.is_multiple_of(4) {
            repair_archive(&mut input);
        }
        if let Ok(read) = SweepResult::read_arrays(Cursor::new(&input), "input") {
            let bytes = written(&read);
            let again = SweepResult::read_arrays(Cursor::new(&bytes), "again").expect("what is written can be read");
            assert_eq!(written(&again), bytes);
        }
    });
}

/// Makes the checksums in the frames of records right, so that more than them is tried.
fn repair_records(bytes: &[u8]) -> Vec<u8> {
    const MAGIC: usize = 8;
    let Some((magic, frames)) = bytes.split_at_checked(MAGIC) else { return bytes.to_vec() };
    let mut repaired = magic.to_vec();
    for frame in frames.split_inclusive(|byte| *byte == 0) {
        let content = frame.strip_suffix(&[0]).and_then(|frame| cobs::decode_vec(frame).ok());
        match content.filter(|content| content.len() >= 4) {
            Some(content) => {
                let content = &content[..content.len() - 4];
                let checked = [content, &crc32fast::hash(content).to_le_bytes()].concat();
                repaired.extend(cobs::encode_vec(&checked));
                repaired.push(0);
            }
            None => repaired.extend(frame),
        }
    }
    repaired
}

#[test]
fn sweep_records() {
    let (spec, pixels) = small();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(SweepRecords::FILE);
    let preset = SweepPreset {
        version: FormatVersion,
        title: "Small".to_owned(),
        description: String::new(),
        sweep: spec.clone(),
    };
    let header = SweepHeader { preset: Arc::new(preset), precision: Precision::Single, keeps_runs: true, part: None };
    let open = || SweepStore::open(folder.path(), &header).map(|(store, _)| store);
    let mut store = open().expect("a new one");
    pixels.iter().for_each(|pixel| store.add(pixel));
    store.save().expect("there is room");
    drop(store);
    let seed = fs::read(&path).expect("it is there");
    let target = Target { name: "sweep_records", seeds: vec![seed], words: "", memory: 32 << 20, cases: 500 };
    let mut turn = 0_u32;
    fuzz(&target, |input| {
        turn += 1;
        let input = if turn.is_multiple_of(4) { input.to_vec() } else { repair_records(input) };
        fs::write(&path, &input).expect("there is room");
        let Ok(store) = open() else { return };
        let cells = |store: &SweepStore| -> Vec<String> {
            let all = spec.pixels().map(|pixel| store.read(pixel).expect("it has just been read"));
            all.map(|finished| format!("{finished:?}")).collect()
        };
        let read = cells(&store);
        drop(store);
        let again = open().expect("what was good is good");
        assert_eq!(cells(&again), read);
    });
}
