//! `valleyscope runs check`, on the folders of sweeps.

use std::fs::{self, OpenOptions};

use super::check::{expect, files, spoil};
use crate::sandbox::{Sandbox, said};

#[test]
fn sweeps_are_checked_against_themselves() {
    const SWEEP: [&str; 12] =
        ["sweep", "fig2a", "--out", "out", "--grid", "4x5", "--lrs", "3", "--replicates", "4", "--steps", "20"];
    let sandbox = Sandbox::new();
    assert!(sandbox.run(&SWEEP).status.success());
    let out = sandbox.join("out");
    let whole = [
        ("intact", "phase.npz", "20 pixels"),
        ("intact", "spec.ron", "repeats phase.npz"),
        ("intact", "phase.csv", "what phase.npz says"),
    ];
    expect(&sandbox.run(&["runs", "check", "out"]), 0, &whole);
    let before = files(&out);
    let other = String::from_utf8(before["spec.ron"].clone()).unwrap().replacen("seed: 0", "seed: 1", 1);
    assert_ne!(other.as_bytes(), before["spec.ron"]);
    fs::write(out.join("spec.ron"), &other).unwrap();
    spoil(&out.join("phase.csv"), before["phase.csv"].len() - 3);
    fs::write(out.join(".valleyscope-aB3dE5.tmp"), "half").unwrap();
    let repairable = [("spec.ron", "not the spec"), ("phase.csv", "other than")];
    let with = |condition: &'static str, left: &'static str| {
        let left = (left, ".valleyscope-aB3dE5.tmp", "killed");
        repairable.map(|(part, words)| (condition, part, words)).into_iter().chain([left]).collect::<Vec<_>>()
    };
    expect(&sandbox.run(&["runs", "check", "out"]), 1, &with("repairable", "note"));
    expect(&sandbox.run(&["runs", "check", "out", "--repair"]), 0, &with("repaired", "repaired"));
    let mut after = files(&out);
    assert_eq!(after.remove("spec.ron.kept-1").unwrap(), other.as_bytes());
    assert!(after.remove("phase.csv.kept-1").is_some());
    assert!(after == before);
    let array = before["phase.npz"].windows(6).rposition(|bytes| bytes == b"\x93NUMPY").unwrap();
    spoil(&out.join("phase.npz"), array + 20);
    expect(&sandbox.run(&["runs", "check", "out"]), 1, &[("damaged", "phase.npz", "phase.npz")]);
}

#[test]
fn raw_arrays_and_pictures_are_read() {
    const SWEEP: &str = "sweep fig2b --out out --grid 2x3 --lrs 2 --replicates 4 --steps 20 --raw";
    let sandbox = Sandbox::new();
    assert!(sandbox.run(&SWEEP.split(' ').collect::<Vec<_>>()).status.success());
    let out = sandbox.join("out");
    let check = || sandbox.run(&["runs", "check", "out"]);
    let whole = [("intact", "raw", "2 of 2 rows"), ("intact", "phase.png", "shows"), ("intact", "phase.svg", "shows")];
    expect(&check(), 0, &whole);
    let row = |row: usize| format!("syn-exp-6-{row}.npy");
    let before = files(&out);
    spoil(&out.join(row(1)), before[&row(1)].len() - 2);
    expect(&check(), 1, &[("damaged", &row(1), "expected an average depth"), ("intact", "raw", "1 of 2 rows")]);
    fs::write(out.join(row(1)), &before[&row(1)][..300]).unwrap();
    expect(&check(), 1, &[("damaged", &row(1), "ends early")]);
    fs::remove_file(out.join(row(1))).unwrap();
    expect(&check(), 0, &[("note", "raw", "rows that are not there: 1")]);
    spoil(&out.join("phase.png"), before["phase.png"].len() / 2);
    fs::write(out.join("phase.svg"), &before["phase.svg"][..before["phase.svg"].len() / 2]).unwrap();
    expect(&check(), 1, &[("damaged", "phase.png", "draws it again"), ("damaged", "phase.svg", "draws it again")]);
    // This picture is another one, and intact.
    let args = ["figure", "./out", "--out", "out/phase.png", "--dpi", "100"];
    assert!(sandbox.run(&args).status.success());
    expect(&check(), 1, &[("note", "phase.png", "not what this version draws")]);
}

#[cfg(target_os = "linux")]
#[test]
fn the_checkpoint_of_a_sweep_is_read_record_by_record() {
    let sandbox = Sandbox::new();
    // Files of more than 64 KiB fail as on a full disk, so that the sweep ends early.
    let sweep = ["sweep", "fig2a", "--out", "out", "--grid", "60x50", "--lrs", "5", "--replicates", "10"];
    let output = sandbox.run_limited(64, &[&sweep[..], &["--steps", "200", "--threads", "1"]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let path = sandbox.join("out/pixels.bin");
    let length = fs::metadata(&path).unwrap().len() as usize;
    expect(&sandbox.run(&["runs", "check", "out"]), 0, &[("intact", "pixels.bin", "of 3000 pixels")]);
    let own = fs::read(&path).unwrap();
    fs::write(&path, of_another_version(&own)).unwrap();
    let told = ("damaged", "pixels.bin", "which alone can go on with it, and this is version");
    let missing = ("damaged", "phase.npz", "missing");
    expect(&sandbox.run(&["runs", "check", "out"]), 1, &[told, missing]);
    fs::write(&path, own).unwrap();
    spoil(&path, length / 2);
    let before = files(&sandbox.join("out"));
    let output = sandbox.run(&["runs", "check", "out", "--repair"]);
    expect(&output, 1, &[("damaged", "pixels.bin", "records that have changed, and are computed again: 1")]);
    spoil(&path, 20);
    let output = sandbox.run(&["runs", "check", "out"]);
    expect(&output, 1, &[("damaged", "pixels.bin", "beginning"), ("damaged", "phase.npz", "missing")]);
    spoil(&path, 20);
    assert!(files(&sandbox.join("out")) == before);
    let held = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    held.lock().unwrap();
    expect(&sandbox.run(&["runs", "check", "out"]), 0, &[("note", "pixels.bin", "at work")]);
    assert_eq!(sandbox.run(&["runs", "check", "out", "--repair"]).status.code(), Some(1));
}

/// Returns the records with a header that names another version.
fn of_another_version(records: &[u8]) -> Vec<u8> {
    const MAGIC: usize = 8;
    let end = MAGIC + records[MAGIC..].iter().position(|byte| *byte == 0).unwrap();
    let mut header = cobs::decode_vec(&records[MAGIC..end]).unwrap();
    header.truncate(header.len() - 4);
    // The length of the version, and the version.
    header[env!("CARGO_PKG_VERSION").len()] = b'~';
    let checked = [&header[..], &crc32fast::hash(&header).to_le_bytes()].concat();
    [&records[..MAGIC], &cobs::encode_vec(&checked), &records[end..]].concat()
}
