//! Work that is killed, and goes on.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::command::{command, expect};
use super::{TEXT, put, results};

/// A text that one thread needs many times the two seconds for that lie between savings.
const COPIES: usize = 150;

/// Starts the work on one thread, and waits until more of it is saved than was before.
fn start_and_wait(home: &Path, args: &[&str]) -> Child {
    let state = home.join("out/unfinished.json");
    let read = || fs::read_to_string(&state).unwrap_or_default();
    let before = read();
    let mut child = command(home, args).env("RAYON_NUM_THREADS", "1").stderr(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    loop {
        let now = read();
        if !now.is_empty() && now != before && !now.contains("\"tokens\":[0,0]") {
            return child;
        }
        assert!(child.try_wait().unwrap().is_none(), "the work ended before it could be stopped");
        assert!(started.elapsed() < Duration::from_secs(120), "nothing was saved in two minutes");
        thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(unix)]
#[test]
fn work_that_is_killed_or_interrupted_goes_on_to_the_same_bytes() {
    let home = tempfile::tempdir().unwrap();
    put(home.path(), "text.txt", TEXT.repeat(COPIES));
    let args = ["text.txt", "--out", "out"];
    let mut child = start_and_wait(home.path(), &args);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!home.path().join("out/train.bin").exists());

    let child = start_and_wait(home.path(), &args);
    assert!(Command::new("kill").args(["-2", &child.id().to_string()]).status().unwrap().success());
    expect(&child.wait_with_output().unwrap(), 130, &["what is done is kept in out", "interrupted"]);

    expect(&command(home.path(), &args).output().unwrap(), 0, &["now in out"]);
    let whole = ["text.txt", "--out", "whole"];
    expect(&command(home.path(), &whole).output().unwrap(), 0, &["now in whole"]);
    assert!(results(&home.path().join("out")) == results(&home.path().join("whole")), "the results differ");
}
