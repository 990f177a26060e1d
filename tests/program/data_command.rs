//! `valleyscope data mnist`: what it writes, what it says, and its exit codes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;
use valleyscope::dataset::mnist::{Digits, Mnist, MnistSource, PIXELS, read_folder, write_folder};

use crate::data_folder::data_folder;

/// Runs `valleyscope data mnist` in a folder that is also its home, with no network.
fn run(home: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_valleyscope"));
    command.args(["data", "mnist"]).args(args).current_dir(home).env("HOME", home).env_remove("XDG_CACHE_HOME");
    // A proxy that nobody runs.
    command.env("ALL_PROXY", "http://127.0.0.1:9").output().unwrap()
}

fn expect(output: &Output, code: i32, parts: &[&str]) {
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    let said = String::from_utf8_lossy(&said);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for part in parts {
        assert!(said.contains(part), "expected {part:?} in {said:?}");
    }
}

fn with_small_set() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let digits = Digits { images: vec![9; 3 * PIXELS], labels: vec![1, 2, 3] };
    let mnist = Mnist { train: digits.clone(), test: digits, source: MnistSource::Synthetic };
    write_folder(&mnist, &home.path().join("some")).unwrap();
    home
}

#[test]
fn files_are_taken_from_a_folder_into_the_cache_and_checked_there() {
    let home = with_small_set();
    expect(&run(home.path(), &["--check"]), 1, &["missing", "there is no folder"]);
    expect(&run(home.path(), &["--from", "some"]), 0, &["now in", "3 images to learn from"]);
    let checked = run(home.path(), &["--check"]);
    let said = ["not the official file", "3 images to learn from and 3 to test with", "fingerprint"];
    expect(&checked, 1, &said);
    assert!(String::from_utf8_lossy(&checked.stdout).contains("fingerprint"), "results go to stdout");
    expect(&run(home.path(), &["--from", "some"]), 2, &["is there already", "--dir"]);
    expect(&run(home.path(), &["--from", "some", "--dir", "other"]), 0, &["now in other"]);
}

#[test]
fn a_damaged_or_missing_file_is_bad_input_and_nothing_is_written() {
    let home = with_small_set();
    let labels = home.path().join("some/t10k-labels-idx1-ubyte");
    fs::write(&labels, "no labels").unwrap();
    expect(&run(home.path(), &["--from", "some", "--dir", "other"]), 2, &["t10k-labels", "expected", "found"]);
    expect(&run(home.path(), &["--check", "--dir", "some"]), 1, &["t10k-labels", "expected", "found"]);
    fs::remove_file(&labels).unwrap();
    expect(&run(home.path(), &["--from", "some", "--dir", "other"]), 2, &["t10k-labels"]);
    expect(&run(home.path(), &["--from", "nowhere", "--dir", "other"]), 2, &["there is no folder nowhere"]);
    assert!(!home.path().join("other").exists());
}

#[test]
fn synthetic_digits_are_written_only_where_one_says_and_are_labelled() {
    let home = tempfile::tempdir().unwrap();
    expect(&run(home.path(), &["--stand-in"]), 2, &["--dir"]);
    expect(&run(home.path(), &["--stand-in", "--dir", "drawn"]), 0, &["not MNIST", "60000 images"]);
    assert_eq!(read_folder(&home.path().join("drawn")).unwrap().source, MnistSource::Synthetic);
    expect(&run(home.path(), &["--check", "--dir", "drawn"]), 1, &["not MNIST", "not the official file"]);
    expect(&run(home.path(), &["--stand-in", "--dir", "drawn"]), 2, &["is there already"]);
}

#[test]
fn with_no_network_it_says_what_each_mirror_did() {
    let home = tempfile::tempdir().unwrap();
    let output = run(home.path(), &["--dir", "new"]);
    expect(&output, 1, &["no mirror gave train-images-idx3-ubyte.gz", "ossci-datasets", "cvdf-datasets", "try again"]);
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_no_half_file() {
    let home = with_small_set();
    // A limit on the size of files stands in for a full disk.
    let script = "trap '' XFSZ; ulimit -f 2; exec \"$@\" data mnist --from some --dir other";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh", env!("CARGO_BIN_EXE_valleyscope")]).current_dir(home.path());
    expect(&shell.output().unwrap(), 1, &["cannot use", "train-images", "too large"]);
    assert_eq!(fs::read_dir(home.path().join("other")).unwrap().count(), 0);
}

#[test]
fn the_real_files_are_compared_with_the_official_sums() {
    let Some(folder) = data_folder("the_real_files_are_compared_with_the_official_sums") else { return };
    let home = tempfile::tempdir().unwrap();
    let output = run(home.path(), &["--check", "--dir", folder.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("60000 images to learn from and 10000 to test with"), "{said}");
    let labels = said.lines().find(|line| line.starts_with("t10k-labels-idx1-ubyte")).unwrap();
    assert!(labels.ends_with("the official file"), "{said}");
}
