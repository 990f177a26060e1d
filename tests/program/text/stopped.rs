//! Making tokens: killed and resumed.

use std::fs;
use std::process::{Child, Stdio};

use super::command::{command, expect};
use super::{TEXT, put, results};
use crate::sandbox::{Sandbox, signal, wait_until};

/// The number of copies that make a text which takes one thread many times the two seconds between saves.
const COPIES: usize = 150;

/// Starts the work on one thread, and waits until more of it is saved than was before.
fn start_and_wait(sandbox: &Sandbox, args: &[&str]) -> Child {
    let state = sandbox.join("out/unfinished.json");
    let read = || fs::read_to_string(&state).unwrap_or_default();
    let before = read();
    let mut child = command(sandbox, args).env("RAYON_NUM_THREADS", "1").stderr(Stdio::piped()).spawn().unwrap();
    wait_until("what is saved", || {
        let has_ended = child.try_wait().unwrap().is_some();
        let now = read();
        let is_saved = !now.is_empty() && now != before && !now.contains("\"tokens\":[0,0]");
        assert!(is_saved || !has_ended, "the work ended before it could be stopped");
        is_saved
    });
    child
}

#[cfg(unix)]
#[test]
fn killed_or_interrupted_work_resumes_to_the_same_bytes() {
    let sandbox = Sandbox::new();
    put(sandbox.path(), "text.txt", TEXT.repeat(COPIES));
    let args = ["text.txt", "--out", "out"];
    let mut child = start_and_wait(&sandbox, &args);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!sandbox.join("out/train.bin").exists());

    let child = start_and_wait(&sandbox, &args);
    signal("INT", child.id());
    expect(&child.wait_with_output().unwrap(), 130, &["the finished part is kept in out", "interrupted"]);

    expect(&command(&sandbox, &args).output().unwrap(), 0, &["are in out"]);
    let whole = ["text.txt", "--out", "whole"];
    expect(&command(&sandbox, &whole).output().unwrap(), 0, &["are in whole"]);
    assert!(results(&sandbox.join("out")) == results(&sandbox.join("whole")), "the results differ");
}
