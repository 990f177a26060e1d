//! `valleyscope data mnist`: its files, messages and exit codes.

#![cfg(unix)]

use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Output;

use tempfile::TempDir;
use valleyscope_experiments::dataset::mnist::{Digits, Mnist, MnistSource, PIXELS, read_folder, write_folder};
use valleyscope_runs::plain_file::{Links, open, open_to_append, open_to_write, read, read_text};

use super::doctor::{Sandbox, expect, make_fifo};

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

fn folder() -> TempDir {
    tempfile::tempdir().expect("there is room for a folder")
}

fn refusal<T>(outcome: std::io::Result<T>) -> String {
    let error = outcome.err().expect("it is refused");
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    error.to_string()
}

#[test]
fn a_link_is_refused_and_its_target_unchanged() {
    let folder = folder();
    let (target, link) = (folder.path().join("target"), folder.path().join("link"));
    fs::write(&target, "precious").unwrap();
    symlink(&target, &link).unwrap();
    let expected = "expected a plain file, found a symbolic link";
    assert_eq!(refusal(open(&link, Links::Refused)), expected);
    assert_eq!(refusal(open_to_write(&link)), expected);
    assert_eq!(refusal(open_to_append(&link)), expected);
    assert_eq!(read_text(&link, Links::Followed, 100).unwrap(), "precious");
    // A dangling link does not create its target.
    let nowhere = folder.path().join("nowhere");
    symlink(folder.path().join("not-there"), &nowhere).unwrap();
    assert_eq!(refusal(open_to_write(&nowhere)), expected);
    assert!(!folder.path().join("not-there").exists());
}

#[test]
fn a_fifo_a_socket_a_device_and_a_folder_are_refused_at_once() {
    let folder = folder();
    let pipe = folder.path().join("fifo");
    make_fifo(&pipe);
    let socket = folder.path().join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    for links in [Links::Refused, Links::Followed] {
        assert_eq!(refusal(open(&pipe, links)), "expected a plain file, found a FIFO");
        assert_eq!(refusal(open(&socket, links)), "expected a plain file, found a socket");
        assert_eq!(refusal(open(Path::new("/dev/zero"), links)), "expected a plain file, found a device");
        assert_eq!(refusal(open(folder.path(), links)), "expected a plain file, found a folder");
    }
    assert_eq!(refusal(open_to_write(&pipe)), "expected a plain file, found a FIFO");
    assert_eq!(refusal(open_to_append(&pipe)), "expected a plain file, found a FIFO");
}

#[test]
fn plain_files_are_made_and_appended_to_and_read_up_to_a_limit() {
    let folder = folder();
    let path = folder.path().join("file");
    assert_eq!(open(&path, Links::Refused).unwrap_err().kind(), ErrorKind::NotFound);
    open_to_write(&path).unwrap().write_all(b"one ").unwrap();
    open_to_append(&path).unwrap().write_all(b"two").unwrap();
    assert_eq!(read_text(&path, Links::Refused, 7).unwrap(), "one two");
    assert_eq!(read(&path, Links::Refused, 6).unwrap_err().kind(), ErrorKind::FileTooLarge);
    fs::write(&path, b"ab\xff").unwrap();
    let error = read_text(&path, Links::Refused, 100).unwrap_err();
    assert_eq!(error.to_string(), "expected UTF-8, found other bytes after 2 bytes");
}
