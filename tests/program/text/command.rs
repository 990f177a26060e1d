//! `valleyscope data text`: its messages and exit codes.

use std::fs;
use std::process::{Command, Output};

use super::{TEXT, put, results};
use crate::sandbox::{Sandbox, expect_error, stdout};

pub fn command(sandbox: &Sandbox, args: &[&str]) -> Command {
    sandbox.command(&[&["data", "text"], args].concat())
}

/// Expects an exit code, words on the error output, and nothing on the other.
#[track_caller]
pub fn expect(output: &Output, code: i32, words: &[&str]) {
    expect_error(output, code, words);
    assert_eq!(stdout(output), "");
}

#[test]
fn makes_tokens_and_reports_their_number() {
    let sandbox = Sandbox::new();
    put(sandbox.path(), "text.txt", &TEXT[..50_000]);
    let run = |args: &[&str]| command(&sandbox, args).output().unwrap();
    let output = run(&["text.txt", "--out", "char", "--tokenizer", "char", "--val-fraction", "0.2"]);
    expect(&output, 0, &["are in char: 40000 for training and 10000 for validation", "tokens a second"]);
    expect(&run(&["text.txt", "--out", "gpt2"]), 0, &["are in gpt2", "a vocabulary of 50257"]);
    let before = results(&sandbox.join("gpt2"));
    expect(&run(&["text.txt", "--out", "gpt2"]), 0, &["are in gpt2"]);
    expect(&run(&["text.txt", "--out", "gpt2", "--val-fraction", "0.3"]), 2, &["is there already", "--force"]);
    assert!(results(&sandbox.join("gpt2")) == before);
    expect(&run(&["text.txt", "--out", "gpt2", "--val-fraction", "0.3", "--force"]), 0, &["are in gpt2"]);
    assert!(results(&sandbox.join("gpt2")) != before);
}

#[test]
fn says_that_a_byte_order_mark_is_dropped() {
    let sandbox = Sandbox::new();
    put(sandbox.path(), "marked.txt", format!("\u{feff}{}", &TEXT[..5_000]));
    let output = command(&sandbox, &["marked.txt", "--out", "char", "--tokenizer", "char"]).output().unwrap();
    expect(&output, 0, &["marked.txt begins with a byte-order mark", "4500 for training and 500 for validation"]);
}

#[test]
fn wrong_usage_and_bad_text_exit_with_2_and_unusable_files_with_1() {
    let sandbox = Sandbox::new();
    put(sandbox.path(), "text.txt", &TEXT[..5_000]);
    put(sandbox.path(), "bad\u{1b}[31m.txt", b"Latin-1: \xe9");
    put(sandbox.path(), "file", "no folder");
    let run = |args: &[&str]| command(&sandbox, args).output().unwrap();
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
    assert!(!sandbox.join("out").exists());
    for out in ["file", "file/below"] {
        let said = format!("expected a folder for the tokens, or nothing, at {out}, found a file there or in its path");
        expect(&run(&["text.txt", "--out", out]), 2, &[&said]);
    }
    fs::create_dir(sandbox.join("empty")).unwrap();
    expect(&run(&["empty", "--out", "out"]), 2, &["expected files ending in .txt in empty, found none"]);
}

#[test]
fn text_that_is_too_short_for_both_parts_is_refused() {
    let sandbox = Sandbox::new();
    let run = |args: &[&str]| command(&sandbox, args).output().unwrap();
    let least = "expected text of at least 65 characters for training and as many for validation";
    for (length, found) in [(0, "found 0 and 0 in text.txt"), (2, "found 1 and 1"), (640, "found 576 and 64")] {
        put(sandbox.path(), "text.txt", &TEXT[..length]);
        for tokenizer in ["gpt2", "char"] {
            expect(&run(&["text.txt", "--out", "out", "--tokenizer", tokenizer]), 2, &[least, found]);
        }
        assert!(!sandbox.join("out").exists());
    }
    expect(&run(&["text.txt", "--out", "out", "--val-fraction", "0.11"]), 0, &["are in out"]);
}

#[cfg(unix)]
#[test]
fn a_full_disk_stops_the_work_and_the_same_command_resumes() {
    let sandbox = Sandbox::new();
    put(sandbox.path(), "text.txt", TEXT.as_str());
    let output = sandbox.run_limited(32, &["data", "text", "text.txt", "--out", "out"]);
    expect(&output, 1, &["cannot use", "train.bin", "too large"]);
    assert!(!sandbox.join("out/train.bin").exists());
    expect(&command(&sandbox, &["text.txt", "--out", "out"]).output().unwrap(), 0, &["are in out"]);
}
