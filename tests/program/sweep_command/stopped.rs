//! Sweeps that are stopped and resumed.

use std::fs;

use super::{SMALL, with};
use crate::doctor::{Sandbox, expect_code, expect_error, signal};
use crate::says::says;

/// Arguments of a sweep of many small pixels that takes several times the two seconds between saves, so that it can be
/// stopped in between also on a fast machine.
const LONG: [&str; 10] = ["--grid", "60x50", "--lrs", "5", "--replicates", "10", "--steps", "8000", "--threads", "1"];

fn long<'a>(folder: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    with(&with(&["sweep", "fig2a", "--out", folder], &LONG), more)
}

#[test]
fn a_killed_sweep_resumes_to_the_same_bytes() {
    let sandbox = Sandbox::new();
    for more in [&[][..], &["--raw"]] {
        let mut child = sandbox.start_and_wait(&long("stopped", more), "stopped");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(sandbox.files("stopped").len(), 1, "only the records are there");
        expect_error(&sandbox.run(&long("stopped", more)), 2, &["unfinished sweep", "--resume"]);
        says(sandbox.good(&long("stopped", &with(more, &["--resume"]))), &["pixels known"]);
        sandbox.good(&long("whole", more));
        assert!(sandbox.files("stopped") == sandbox.files("whole"), "the results differ");
        fs::remove_dir_all(sandbox.join("stopped")).unwrap();
        fs::remove_dir_all(sandbox.join("whole")).unwrap();
    }
}

#[test]
fn ctrl_c_exits_with_130_and_explains_how_to_resume() {
    let sandbox = Sandbox::new();
    let child = sandbox.start_and_wait(&long("out", &[]), "out");
    signal("INT", child.id());
    let output = child.wait_with_output().unwrap();
    expect_error(&output, 130, &["pixels", "--resume", "interrupted"]);
    expect_code(&sandbox.run(&long("out", &["--resume"])), 0);
    assert!(!sandbox.join("out/pixels.bin").exists());
}

#[test]
fn two_sweeps_do_not_work_in_one_folder() {
    let sandbox = Sandbox::new();
    // This sweep runs long enough for the other to find it running, and is then killed.
    let sweep =
        long("out", &[]).into_iter().map(|word| if word == "8000" { "40000" } else { word }).collect::<Vec<_>>();
    let mut child = sandbox.start_and_wait(&sweep, "out");
    expect_error(&sandbox.run(&with(&sweep, &["--resume"])), 1, &["another process"]);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_checkpoint_of_another_sweep_is_refused_with_the_difference() {
    let sandbox = Sandbox::new();
    let mut child = sandbox.start_and_wait(&long("out", &[]), "out");
    child.kill().unwrap();
    child.wait().unwrap();
    let before = sandbox.files("out");
    for (more, words) in [
        (&["--seed", "5"][..], ["`seed` is 0", "5 is asked for"]),
        (&["--precision", "f64"], ["`precision` is f32", "f64 is asked for"]),
        (&["--raw"], ["`raw` is false", "true is asked for"]),
    ] {
        expect_error(&sandbox.run(&long("out", &with(more, &["--resume"]))), 2, &words);
    }
    let other = with(&with(&["sweep", "fig2b", "--out", "out", "--resume"], &LONG), &[]);
    expect_error(&sandbox.run(&other), 2, &["another sweep", "`rows` is"]);
    assert_eq!(sandbox.files("out"), before);
}

#[test]
fn other_files_in_the_checkpoints_place_are_not_changed() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.join("out")).unwrap();
    fs::write(sandbox.join("out/pixels.bin"), "holiday pictures").unwrap();
    let args = with(&["sweep", "fig2a", "--out", "out", "--resume"], &SMALL);
    expect_error(&sandbox.run(&args), 2, &["expected the records of a sweep", "pixels.bin"]);
    assert_eq!(fs::read(sandbox.join("out/pixels.bin")).unwrap(), b"holiday pictures");
}

/// Returns a file of the temporary kind that a program which was killed has left; one that is being written is locked.
fn leave(sandbox: &Sandbox, name: &str) -> fs::File {
    let path = sandbox.join(name);
    fs::write(&path, "half of a picture").unwrap();
    fs::File::open(path).unwrap()
}

#[test]
fn files_left_by_a_killed_sweep_are_removed_at_the_next_start() {
    let sandbox = Sandbox::new();
    let mut child = sandbox.start_and_wait(&long("out", &[]), "out");
    child.kill().unwrap();
    child.wait().unwrap();
    leave(&sandbox, "out/.valleyscope-aB3dE5.tmp");
    let at_work = leave(&sandbox, "out/.valleyscope-locked.tmp");
    at_work.lock().unwrap();
    leave(&sandbox, "out/.valleyscope-notes.txt");
    sandbox.good(&long("out", &["--resume"]));
    let files = sandbox.files("out");
    assert!(!files.contains_key(".valleyscope-aB3dE5.tmp"), "{:?}", files.keys());
    assert!(files.contains_key(".valleyscope-locked.tmp") && files.contains_key(".valleyscope-notes.txt"));
}

#[test]
fn an_empty_checkpoint_lets_nothing_be_overwritten() {
    let sandbox = Sandbox::new();
    let sweep = with(&["sweep", "fig2a", "--out", "out"], &SMALL);
    sandbox.good(&sweep);
    let before = sandbox.files("out");
    let checkpoint = sandbox.join("out/pixels.bin");
    for more in [&["--seed", "3"][..], &["--seed", "3", "--resume"], &[]] {
        fs::write(&checkpoint, "").unwrap();
        expect_error(&sandbox.run(&with(&sweep, more)), 2, &["results", "nothing is overwritten"]);
        assert!(sandbox.files("out") == before, "it is removed, as it belongs to no sweep");
    }
    fs::write(&checkpoint, "").unwrap();
    assert!(sandbox.good(&with(&sweep, &["--resume"])).contains("complete"));
    assert!(sandbox.files("out") == before);
    // The owner of a locked checkpoint may be writing its results.
    let lock = fs::File::create(&checkpoint).unwrap();
    lock.lock().unwrap();
    fs::remove_file(sandbox.join("out/phase.png")).unwrap();
    expect_error(&sandbox.run(&with(&sweep, &["--resume"])), 1, &["another process is at work"]);
    fs::write(sandbox.join("out/phase.png"), &before["phase.png"]).unwrap();
    drop(lock);
    // A checkpoint without pixels of the other sweep does not allow overwriting either.
    fs::create_dir(sandbox.join("other")).unwrap();
    let other = with(&with(&["sweep", "fig2a", "--out", "other"], &LONG), &["--seed", "3"]);
    let mut child = sandbox.start_and_wait(&other, "other");
    child.kill().unwrap();
    child.wait().unwrap();
    fs::copy(sandbox.join("other/pixels.bin"), sandbox.join("out/pixels.bin")).unwrap();
    let before = sandbox.files("out");
    let other = with(&with(&["sweep", "fig2a", "--out", "out"], &LONG), &["--seed", "3", "--resume"]);
    expect_error(&sandbox.run(&other), 2, &["results", "nothing is overwritten"]);
    let mut after = sandbox.files("out");
    // A pixel that the killed sweep had only begun to write is cut off.
    let [kept, whole] = [&after, &before].map(|files| files["pixels.bin"].clone());
    assert!(whole.starts_with(&kept) && kept.len() >= 4096, "{} of {} bytes", kept.len(), whole.len());
    after.insert("pixels.bin".to_owned(), whole);
    assert!(after == before);
}

#[test]
fn a_sweep_that_was_killed_between_its_results_and_the_end_writes_them_again() {
    let sandbox = Sandbox::new();
    let mut child = sandbox.start_and_wait(&long("out", &[]), "out");
    // The results appear together, and the checkpoint is removed last.
    while !sandbox.join("out/spec.ron").exists() {
        assert!(child.try_wait().unwrap().is_none(), "the sweep ended without results");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    if sandbox.join("out/pixels.bin").exists() {
        expect_error(&sandbox.run(&long("out", &[])), 2, &["unfinished sweep", "3000 of 3000", "--resume"]);
    }
    sandbox.good(&long("out", &["--resume"]));
    sandbox.good(&long("whole", &[]));
    assert!(sandbox.files("out") == sandbox.files("whole"), "the results differ");
}

#[cfg(unix)]
#[test]
fn a_folder_that_is_removed_or_moved_while_a_sweep_runs_is_told() {
    let sandbox = Sandbox::new();
    let sweep =
        long("out", &[]).into_iter().map(|word| if word == "8000" { "40000" } else { word }).collect::<Vec<_>>();
    let child = sandbox.start_and_wait(&sweep, "out");
    fs::remove_dir_all(sandbox.join("out")).unwrap();
    let removed = child.wait_with_output().unwrap();
    expect_error(&removed, 1, &["pixels.bin", "removed", "what was computed is lost"]);
    let said = String::from_utf8_lossy(&removed.stderr);
    assert!(!said.contains("what was saved"), "{said}");

    let child = sandbox.start_and_wait(&sweep, "out");
    fs::rename(sandbox.join("out"), sandbox.join("moved")).unwrap();
    expect_error(&child.wait_with_output().unwrap(), 1, &["pixels.bin", "moved", "--resume"]);
    assert!(fs::metadata(sandbox.join("moved/pixels.bin")).unwrap().len() > 4096);
}

#[test]
fn resuming_where_nothing_is_begins() {
    let sandbox = Sandbox::new();
    sandbox.good(&with(&["sweep", "fig2a", "--out", "out", "--resume"], &SMALL));
    sandbox.good(&with(&["sweep", "fig2a", "--out", "plain"], &SMALL));
    assert_eq!(sandbox.files("out"), sandbox.files("plain"));
}

#[cfg(target_os = "linux")]
#[test]
fn results_that_do_not_fit_name_their_own_file() {
    let sandbox = Sandbox::new();
    // The checkpoint fits, and some result does not.
    let sweep = with(&["sweep", "fig2a", "--out", "out"], &SMALL);
    let output = sandbox.run_limited(16, &sweep);
    expect_error(&output, 1, &["cannot write", "File too large", "20 of 20 pixels", "--resume"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains(".tmp"), "{said}");
    assert!(sandbox.files("out").keys().all(|name| !name.ends_with(".tmp")), "{:?}", sandbox.files("out").keys());
    sandbox.good(&with(&sweep, &["--resume"]));
    sandbox.good(&with(&["sweep", "fig2a", "--out", "whole"], &SMALL));
    assert!(sandbox.files("out") == sandbox.files("whole"), "the results differ");
}

/// Returns the number before some words in a message.
#[cfg(target_os = "linux")]
#[track_caller]
fn number_before(words: &str, said: &str) -> usize {
    let before = said.split(words).next().unwrap().rsplit(' ').next().unwrap();
    before.parse().unwrap_or_else(|_| panic!("no number before {words:?} in: {said}"))
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_counts_the_pixels_that_it_holds() {
    let sandbox = Sandbox::new();
    let sweep = with(&["sweep", "fig2a"], &SMALL);
    let part = ["--part", "1/1"];
    for (more, all, folder) in [(&[][..], " of 20 pixels", "whole"), (&part[..], " of the 20 pixels", "parts")] {
        let sweep = with(&with(&sweep, more), &["--out", folder]);
        // All pixels are computed, and the first few fit.
        let output = sandbox.run_limited(4, &sweep);
        expect_error(&output, 1, &["cannot write", "File too large", "are saved in", "repeat the command"]);
        let saved = number_before(all, &String::from_utf8_lossy(&output.stderr));
        assert!((1..20).contains(&saved), "{saved}");
        let resume: &[&str] = if more.is_empty() { &["--resume"] } else { &[] };
        let said = sandbox.good(&with(&sweep, resume));
        assert_eq!(number_before(all, said.split("resuming with").nth(1).unwrap()), saved, "{said}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported_and_costs_nothing_else() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.join("out")).unwrap();
    // Files of more than 64 KiB fail as on a full disk.
    expect_error(&sandbox.run_limited(64, &long("out", &[])), 1, &["cannot write", "pixels.bin", "--resume"]);
    says(sandbox.good(&long("out", &["--resume"])), &["pixels known"]);
    sandbox.good(&long("whole", &[]));
    assert!(sandbox.files("out") == sandbox.files("whole"), "the results differ");
}

#[test]
fn going_on_where_nothing_is_says_that_it_begins() {
    let sandbox = Sandbox::new();
    let said = sandbox.good(&with(&["sweep", "fig2a", "--out", "out", "--resume"], &SMALL));
    assert!(said.contains("no pixel of this sweep is known in out"), "{said}");
}
