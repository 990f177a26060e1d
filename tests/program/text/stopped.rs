//! Work that is killed, and goes on.

use std::fs;
use std::process::{Child, Stdio};

use super::command::{command, expect};
use super::{TEXT, put, results};
use crate::place::{Place, signal, wait_until};

/// A text that one thread needs many times the two seconds for that lie between savings.
const COPIES: usize = 150;

/// Starts the work on one thread, and waits until more of it is saved than was before.
fn start_and_wait(place: &Place, args: &[&str]) -> Child {
    let state = place.join("out/unfinished.json");
    let read = || fs::read_to_string(&state).unwrap_or_default();
    let before = read();
    let mut child = command(place, args).env("RAYON_NUM_THREADS", "1").stderr(Stdio::piped()).spawn().unwrap();
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
fn work_that_is_killed_or_interrupted_goes_on_to_the_same_bytes() {
    let place = Place::new();
    put(place.path(), "text.txt", TEXT.repeat(COPIES));
    let args = ["text.txt", "--out", "out"];
    let mut child = start_and_wait(&place, &args);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!place.join("out/train.bin").exists());

    let child = start_and_wait(&place, &args);
    signal("INT", child.id());
    expect(&child.wait_with_output().unwrap(), 130, &["what is done is kept in out", "interrupted"]);

    expect(&command(&place, &args).output().unwrap(), 0, &["now in out"]);
    let whole = ["text.txt", "--out", "whole"];
    expect(&command(&place, &whole).output().unwrap(), 0, &["now in whole"]);
    assert!(results(&place.join("out")) == results(&place.join("whole")), "the results differ");
}
