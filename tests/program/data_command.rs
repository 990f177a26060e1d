//! `valleyscope data mnist`: its files, messages and exit codes.

use std::fs;
use std::process::Output;

use valleyscope_experiments::dataset::mnist::{Digits, Mnist, MnistSource, PIXELS, read_folder, write_folder};

use crate::sandbox::{Sandbox, expect};

/// Runs `valleyscope data mnist`.
fn run(sandbox: &Sandbox, args: &[&str]) -> Output {
    sandbox.run(&[&["data", "mnist"], args].concat())
}

fn with_small_set() -> Sandbox {
    let sandbox = Sandbox::new();
    let digits = Digits { images: vec![9; 3 * PIXELS], labels: vec![1, 2, 3] };
    let mnist = Mnist { train: digits.clone(), test: digits, source: MnistSource::Synthetic };
    write_folder(&mnist, &sandbox.join("some")).unwrap();
    sandbox
}

#[test]
fn files_are_taken_from_a_folder_into_the_cache_and_checked_there() {
    let sandbox = with_small_set();
    expect(&run(&sandbox, &["--check"]), 1, &["missing", "there is no folder"]);
    expect(&run(&sandbox, &["--from", "some"]), 0, &["now in", "3 images to learn from"]);
    let checked = run(&sandbox, &["--check"]);
    let said = ["not the official file", "3 images to learn from and 3 to test with", "fingerprint"];
    expect(&checked, 1, &said);
    assert!(String::from_utf8_lossy(&checked.stdout).contains("fingerprint"), "results go to stdout");
    expect(&run(&sandbox, &["--from", "some"]), 2, &["is there already", "--dir"]);
    expect(&run(&sandbox, &["--from", "some", "--dir", "other"]), 0, &["now in other"]);
}

#[test]
fn a_damaged_or_missing_file_is_bad_input_and_nothing_is_written() {
    let sandbox = with_small_set();
    let labels = sandbox.join("some/t10k-labels-idx1-ubyte");
    fs::write(&labels, "no labels").unwrap();
    expect(&run(&sandbox, &["--from", "some", "--dir", "other"]), 2, &["t10k-labels", "expected", "found"]);
    expect(&run(&sandbox, &["--check", "--dir", "some"]), 1, &["t10k-labels", "expected", "found"]);
    fs::remove_file(&labels).unwrap();
    expect(&run(&sandbox, &["--from", "some", "--dir", "other"]), 2, &["t10k-labels"]);
    expect(&run(&sandbox, &["--from", "nowhere", "--dir", "other"]), 2, &["there is no folder nowhere"]);
    assert!(!sandbox.join("other").exists());
}

#[test]
fn synthetic_digits_are_written_only_on_request_and_labelled() {
    let sandbox = Sandbox::new();
    expect(&run(&sandbox, &["--synthetic"]), 2, &["--dir"]);
    expect(&run(&sandbox, &["--synthetic", "--dir", "drawn"]), 0, &["not MNIST", "60000 images"]);
    assert_eq!(read_folder(&sandbox.join("drawn")).unwrap().source, MnistSource::Synthetic);
    expect(&run(&sandbox, &["--check", "--dir", "drawn"]), 1, &["not MNIST", "not the official file"]);
    expect(&run(&sandbox, &["--synthetic", "--dir", "drawn"]), 2, &["is there already"]);
}

#[test]
fn without_network_the_error_of_each_mirror_is_reported() {
    let sandbox = Sandbox::new();
    let output = run(&sandbox, &["--dir", "new"]);
    expect(&output, 1, &["no mirror gave train-images-idx3-ubyte.gz", "ossci-datasets", "cvdf-datasets", "try again"]);
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_no_half_file() {
    let sandbox = with_small_set();
    let output = sandbox.run_limited(1, &["data", "mnist", "--from", "some", "--dir", "other"]);
    expect(&output, 1, &["cannot use", "train-images", "too large"]);
    assert_eq!(fs::read_dir(sandbox.join("other")).unwrap().count(), 0);
}
