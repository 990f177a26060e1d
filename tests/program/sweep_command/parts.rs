//! Sweeps in parts, and the parts together.

use std::fs;
use std::process::{Output, Stdio};

use super::{SMALL, with};
use crate::doctor::{Sandbox, expect_error, signal};
use crate::says::says;

/// Returns the arguments of a sweep, for its part `part` in a folder.
fn part<'a>(sweep: &[&'a str], part: &'a str, folder: &'a str) -> Vec<&'a str> {
    with(sweep, &["--part", part, "--out", folder])
}

const SWEEP: [&str; 2] = ["sweep", "fig2a"];

fn small<'a>(of: &'a str, folder: &'a str) -> Vec<&'a str> {
    part(&with(&SWEEP, &SMALL), of, folder)
}

#[test]
fn merged_parts_have_the_bytes_of_the_whole() {
    let sandbox = Sandbox::new();
    let steps = [
        "--set",
        "rows=(of: Steps, from: 5, to: 60, count: 4, spacing: Linear)",
        "--grid",
        "4x5",
        "--lrs",
        "3",
        "--replicates",
        "4",
    ];
    let common = with(&SMALL, &["--set", "common_random_numbers=true", "--seed", "7", "--precision", "f64"]);
    for (name, settings) in [("kept", with(&SMALL, &["--raw"])), ("steps", steps.to_vec()), ("common", common)] {
        let sweep = with(&SWEEP, &settings);
        let whole = format!("{name}-whole");
        sandbox.good(&with(&sweep, &["--out", &whole]));
        for count in [1, 3, 7] {
            let [parts, merged] = ["parts", "merged"].map(|what| format!("{name}-{count}-{what}"));
            // Parts are computed in any order, on any number of threads.
            for number in (1..=count).rev() {
                let of = format!("{number}/{count}");
                sandbox.good(&with(&part(&sweep, &of, &parts), &["--threads", if number == 1 { "1" } else { "2" }]));
            }
            sandbox.good(&["sweep", "--merge", &parts, "--out", &merged]);
            assert!(sandbox.files(&whole) == sandbox.files(&merged), "{name} in {count} parts");
        }
    }
}

#[test]
fn a_killed_part_resumes() {
    let sandbox = Sandbox::new();
    let long = ["--grid", "40x50", "--lrs", "5", "--replicates", "10", "--steps", "12000", "--threads", "1"];
    let sweep = with(&SWEEP, &long);
    let file = "parts/part-2-of-2/pixels.bin";
    let mut child = sandbox.start_and_wait_for(&part(&sweep, "2/2", "parts"), file);
    // However slow this test is, the part is not finished.
    signal("STOP", child.id());
    // What is there so far is no whole, and a picture.
    let merge = ["sweep", "--merge", "parts", "--out", "merged"];
    expect_error(
        &sandbox.run(&merge),
        1,
        &["part-2-of-2 is being computed", "missing of 2 parts: 1", "not finished: 2/2 ("],
    );
    expect_error(&sandbox.run(&part(&sweep, "2/2", "parts")), 1, &["another process is at work"]);
    child.kill().unwrap();
    child.wait().unwrap();
    // A record that was cut is computed again.
    let bytes = fs::read(sandbox.join(file)).unwrap();
    fs::write(sandbox.join(file), &bytes[..bytes.len() - 100]).unwrap();
    says(sandbox.good(&part(&sweep, "2/2", "parts")), &["resuming with", "of the 1000 pixels of part 2/2"]);
    assert!(sandbox.good(&part(&sweep, "2/2", "parts")).contains("part 2/2 is complete"));
    expect_error(
        &sandbox.run(&merge),
        1,
        &["1000 of 2000 pixels are there; missing of 2 parts: 1;", "phase-so-far.png"],
    );
    assert_eq!(sandbox.files("merged").keys().collect::<Vec<_>>(), ["phase-so-far.png", "pixels.bin"]);
    // An incomplete merge continues with the missing part, or like any sweep.
    fs::create_dir(sandbox.join("other")).unwrap();
    fs::copy(sandbox.join("merged/pixels.bin"), sandbox.join("other/pixels.bin")).unwrap();
    sandbox.good(&part(&sweep, "1/2", "more"));
    sandbox.good(&["sweep", "--merge", "parts", "more", "--out", "merged"]);
    sandbox.good(&with(&sweep, &["--out", "other", "--resume"]));
    assert!(sandbox.files("merged") == sandbox.files("other"), "the results differ");
    assert!(sandbox.good(&["sweep", "--merge", "parts", "more", "--out", "merged"]).contains("complete"));
}

#[test]
fn parts_started_at_once_in_one_folder_do_not_disturb_each_other() {
    let sandbox = Sandbox::new();
    let parts = ["1/4", "2/4", "3/4", "4/4", "4/4"];
    let children = parts.map(|of| sandbox.command(&small(of, "parts")).spawn().unwrap());
    let ended = children.map(|child| child.wait_with_output().unwrap().status.code());
    // Of two processes that compute the same part, one may find the other running.
    assert!(ended[..3].iter().all(|code| *code == Some(0)) && ended[3..].contains(&Some(0)), "{ended:?}");
    sandbox.good(&["sweep", "--merge", "parts", "--out", "merged"]);
    sandbox.good(&with(&with(&SWEEP, &SMALL), &["--out", "whole"]));
    assert!(sandbox.files("merged") == sandbox.files("whole"));
}

#[test]
fn simultaneous_merges_into_one_folder_give_the_whole() {
    let sandbox = Sandbox::new();
    sandbox.good(&small("1/2", "parts"));
    sandbox.good(&small("2/2", "parts"));
    sandbox.good(&with(&with(&SWEEP, &SMALL), &["--out", "whole"]));
    for merged in ["first", "second", "third"] {
        let merge = ["sweep", "--merge", "parts", "--out", merged];
        let children = [0; 6].map(|_| sandbox.command(&merge).stderr(Stdio::piped()).spawn().unwrap());
        let outputs = children.map(|child| child.wait_with_output().unwrap());
        assert!(outputs.iter().any(|output| output.status.success()));
        // A merge that has waited for a second reports why it ended.
        for output in outputs.iter().filter(|output| !output.status.success()) {
            expect_error(output, 1, &["another process is at work", "wait until it has ended"]);
        }
        assert!(sandbox.files(merged) == sandbox.files("whole"), "the results in {merged} differ");
    }
}

#[test]
fn a_merge_that_waited_for_another_finds_its_results() {
    let sandbox = Sandbox::new();
    sandbox.good(&small("1/1", "parts"));
    sandbox.good(&with(&with(&SWEEP, &SMALL), &["--out", "whole"]));
    // A merge waits for a second only, and the other process may take longer where the processor is busy.
    let has_waited_in_vain =
        |output: &Output| String::from_utf8_lossy(&output.stderr).contains("another process is at work");
    let mut attempts = (0..10).map(|_| merge_while_another_ends(&sandbox));
    let output = attempts.find(|output| !has_waited_in_vain(output)).expect("another process ends in a second");
    expect_error(&output, 0, &["this sweep is complete"]);
    assert!(sandbox.files("merged") == sandbox.files("whole"));
}

/// Merges `parts` into `merged`, where another process ends meanwhile, with the results that are in `whole`.
fn merge_while_another_ends(sandbox: &Sandbox) -> Output {
    let _ = fs::remove_dir_all(sandbox.join("merged"));
    fs::create_dir(sandbox.join("merged")).unwrap();
    let checkpoint = sandbox.join("merged/pixels.bin");
    let lock = fs::File::create(&checkpoint).unwrap();
    lock.lock().unwrap();
    let merge = ["sweep", "--merge", "parts", "--out", "merged"];
    let waiting = sandbox.command(&merge).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    for (name, bytes) in sandbox.files("whole") {
        fs::write(sandbox.join("merged").join(name), bytes).unwrap();
    }
    fs::remove_file(&checkpoint).unwrap();
    drop(lock);
    waiting.wait_with_output().unwrap()
}

#[test]
fn missing_repeated_foreign_and_damaged_parts_are_named() {
    let sandbox = Sandbox::new();
    for of in ["2/8", "3/8", "4/8", "8/8"] {
        sandbox.good(&small(of, "parts"));
    }
    let merge = |more: &[&str]| sandbox.run(&with(&["sweep", "--merge", "parts", "--out", "merged"], more));
    expect_error(&merge(&[]), 1, &["of 20 pixels are there; missing of 8 parts: 1,5-7; run these again"]);
    // This part is computed twice.
    sandbox.good(&small("3/8", "again"));
    let output = sandbox.run(&["sweep", "--merge", "parts", "again", "--out", "merged"]);
    expect_error(
        &output,
        1,
        &["part 3/8 is there 2 times, with the same numbers: again/part-3-of-8, parts/part-3-of-8"],
    );
    // These parts are of another sweep, other grids, or another division.
    for (more, words) in [
        (&["--seed", "5"][..], "its seed is 0, and not 5"),
        (&["--raw"], "its raw is false, and not true"),
        (&["--precision", "f64"], "its precision is f32, and not f64"),
        (&["--set", "title=Another"], "its title is"),
    ] {
        let _ = fs::remove_dir_all(sandbox.join("foreign"));
        sandbox.good(&with(&small("5/8", "foreign"), more));
        let output = sandbox.run(&["sweep", "--merge", "parts", "foreign", "--out", "merged"]);
        expect_error(&output, 2, &["is of another sweep than foreign/part-5-of-8: its"]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    sandbox.good(&small("1/2", "halves"));
    let output = sandbox.run(&["sweep", "--merge", "parts", "halves", "--out", "merged"]);
    expect_error(&output, 2, &["number of parts is", "merge only parts of one sweep"]);
    // This folder holds another part than its name says.
    fs::create_dir_all(sandbox.join("renamed/part-1-of-8")).unwrap();
    let renamed = sandbox.join("renamed/part-1-of-8/pixels.bin");
    fs::copy(sandbox.join("parts/part-3-of-8/pixels.bin"), renamed).unwrap();
    expect_error(&sandbox.run(&small("1/8", "renamed")), 2, &["its `part` is 3/8, and 1/8 is asked for"]);
    // This record's bytes have changed.
    let path = sandbox.join("parts/part-2-of-8/pixels.bin");
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 30;
    // A zero would end the record.
    bytes[last] = bytes[last].wrapping_add(1).max(1);
    fs::write(&path, &bytes).unwrap();
    fs::remove_dir_all(sandbox.join("merged")).unwrap();
    expect_error(&merge(&[]), 1, &["part-2-of-8 has 1 damaged records", "not finished: 2/8 (2 of 3 pixels)"]);
    fs::write(sandbox.join("parts/part-4-of-8/pixels.bin"), "holiday pictures").unwrap();
    expect_error(&merge(&[]), 2, &["expected the records of a sweep in parts/part-4-of-8/pixels.bin"]);
    expect_error(&sandbox.run(&["sweep", "--merge", "again", "nowhere", "--out", "x"]), 1, &["nowhere"]);
    fs::create_dir(sandbox.join("empty")).unwrap();
    expect_error(
        &sandbox.run(&["sweep", "--merge", "empty", "--out", "x"]),
        2,
        &["expected parts of a sweep", "found none"],
    );
}

#[test]
fn invalid_parts_are_refused_with_the_expected_form() {
    let sandbox = Sandbox::new();
    for (of, words) in [
        ("0/8", "expected a part from 1 to 8, found 0; parts are counted from 1: for SLURM that is --array=1-8"),
        ("9/8", "expected a part from 1 to 8, found 9"),
        ("/8", "expected a number before the slash"),
        ("3", "expected a part and the number of parts, such as 3/8"),
        ("1/0", "expected from 1 to 1000000 parts, found 0"),
        ("1/21", "expected at most 20 parts, one for each pixel, found 21"),
    ] {
        expect_error(&sandbox.run(&small(of, "out")), 2, &[words]);
    }
    let both = ["sweep", "fig2a", "--merge", "parts", "--out", "x"];
    expect_error(&sandbox.run(&both), 2, &["--merge"]);
    expect_error(&sandbox.run(&["sweep", "--merge", "parts", "--out", "x", "--seed", "3"]), 2, &["--seed"]);
}
