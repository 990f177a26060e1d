//! `valleyscope data text`: what it says, and its exit codes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::{TEXT, put, results};

pub fn command(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_valleyscope"));
    command.args(["data", "text"]).args(args).current_dir(home).env("HOME", home);
    command
}

#[track_caller]
pub fn expect(output: &Output, code: i32, parts: &[&str]) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(output.stdout.is_empty() && !said.contains("panicked"), "{said}");
    for part in parts {
        assert!(said.contains(part), "expected {part:?} in {said:?}");
    }
}

#[test]
fn it_makes_tokens_and_says_how_many() {
    let home = tempfile::tempdir().unwrap();
    put(home.path(), "text.txt", &TEXT[..50_000]);
    let run = |args: &[&str]| command(home.path(), args).output().unwrap();
    let output = run(&["text.txt", "--out", "char", "--tokenizer", "char", "--val-fraction", "0.2"]);
    expect(&output, 0, &["now in char: 40000 to learn from and 10000 to validate with", "tokens a second"]);
    expect(&run(&["text.txt", "--out", "gpt2"]), 0, &["now in gpt2", "a vocabulary of 50257"]);
    let before = results(&home.path().join("gpt2"));
    expect(&run(&["text.txt", "--out", "gpt2"]), 0, &["now in gpt2"]);
    expect(&run(&["text.txt", "--out", "gpt2", "--val-fraction", "0.3"]), 2, &["is there already", "--force"]);
    assert!(results(&home.path().join("gpt2")) == before);
    expect(&run(&["text.txt", "--out", "gpt2", "--val-fraction", "0.3", "--force"]), 0, &["now in gpt2"]);
    assert!(results(&home.path().join("gpt2")) != before);
}

#[test]
fn wrong_usage_and_bad_text_end_with_2_and_files_that_cannot_be_used_with_1() {
    let home = tempfile::tempdir().unwrap();
    put(home.path(), "text.txt", &TEXT[..5_000]);
    put(home.path(), "bad\u{1b}[31m.txt", b"Latin-1: \xe9");
    put(home.path(), "file", "no folder");
    let run = |args: &[&str]| command(home.path(), args).output().unwrap();
    expect(&run(&["--out", "out"]), 2, &["FILES"]);
    expect(&run(&["text.txt"]), 2, &["--out"]);
    expect(&run(&["text.txt", "--out", "out", "--tokenizer", "bpe"]), 2, &["possible values: gpt2, char"]);
    for fraction in ["0", "-1", "1", "NaN"] {
        let said = ["val_fraction must be a number from 0.0001 to 0.9", fraction];
        expect(&run(&["text.txt", "--out", "out", "--val-fraction", fraction]), 2, &said);
    }
    expect(&run(&["nowhere", "--out", "out"]), 2, &["there is nothing at nowhere"]);
    let output = run(&["bad\u{1b}[31m.txt", "--out", "out"]);
    expect(&output, 2, &["bad\\u{1b}[31m.txt", "expected UTF-8", "at byte 9"]);
    assert!(!home.path().join("out").exists());
    for out in ["file", "file/below"] {
        let said = format!("expected a folder for the tokens, or nothing, at {out}, found a file there or in its path");
        expect(&run(&["text.txt", "--out", out]), 2, &[&said]);
    }
    fs::create_dir(home.path().join("empty")).unwrap();
    expect(&run(&["empty", "--out", "out"]), 2, &["expected files ending in .txt in empty, found none"]);
}

#[test]
fn text_that_is_too_short_for_both_parts_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| command(home.path(), args).output().unwrap();
    let least = "expected text of at least 65 characters to learn from and as many to validate with";
    for (length, found) in [(0, "found 0 and 0 in text.txt"), (2, "found 1 and 1"), (640, "found 576 and 64")] {
        put(home.path(), "text.txt", &TEXT[..length]);
        for tokenizer in ["gpt2", "char"] {
            expect(&run(&["text.txt", "--out", "out", "--tokenizer", tokenizer]), 2, &[least, found]);
        }
        assert!(!home.path().join("out").exists());
    }
    expect(&run(&["text.txt", "--out", "out", "--val-fraction", "0.11"]), 0, &["now in out"]);
}

#[cfg(unix)]
#[test]
fn a_full_disk_ends_it_and_the_same_command_goes_on() {
    let home = tempfile::tempdir().unwrap();
    put(home.path(), "text.txt", TEXT.as_str());
    // A limit on the size of files stands in for a full disk.
    let script = "trap '' XFSZ; ulimit -f 64; exec \"$@\" data text text.txt --out out";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh", env!("CARGO_BIN_EXE_valleyscope")]).current_dir(home.path());
    expect(&shell.output().unwrap(), 1, &["cannot use", "train.bin", "too large"]);
    assert!(!home.path().join("out/train.bin").exists());
    expect(&command(home.path(), &["text.txt", "--out", "out"]).output().unwrap(), 0, &["now in out"]);
}
