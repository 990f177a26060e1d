//! Faults while a worker trains.

use std::fs;
use std::time::{Duration, Instant};

use valleyscope_runs::{EventRecord, MetricId, RunCommand, RunFolder, RunHistory, RunReader, Status, Timestamp, send};

use super::worker::{self, EVERY, lines, loss, new_run, wait_until};
#[cfg(target_os = "linux")]
use crate::left_out::left_out;

fn read(run: &RunFolder) -> (RunHistory, Status) {
    let mut reader = RunReader::new(run.clone());
    let status = reader.status(Timestamp::now()).unwrap();
    (reader.history().clone(), status)
}

/// Checks that each step occurs once, with its own value, on a clock that never goes back.
#[track_caller]
fn expect_whole_curve(history: &RunHistory, steps: u64) {
    let curve = history.curve(MetricId::LOSS);
    assert_eq!(curve.step, (1..=steps).collect::<Vec<_>>());
    assert!(curve.value.iter().zip(1..).all(|(value, step)| value.to_bits() == loss(step).to_bits()));
    assert!(curve.wall_s.is_sorted());
    let evaluated = history.curve(MetricId::TEST_LOSS);
    assert_eq!(evaluated.step, (1..=steps / EVERY).map(|n| n * EVERY).collect::<Vec<_>>());
    assert_eq!(history.skipped(), 0);
}

#[test]
fn a_worker_that_is_killed_is_resumed_without_gap_repeat_or_jump() {
    const STEPS: u64 = 4000;
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    let mut alive = Duration::ZERO;
    // The worker is killed once the files have grown by this much, at a random moment.
    for more in [1, 300, 5, 700, 200] {
        let begun = Instant::now();
        let before = lines(run.events());
        // The worker must not finish before it is killed.
        let mut worker = worker::start(&run, u64::MAX, "slow");
        wait_until("events", || lines(run.events()) >= before + more);
        worker.kill().unwrap();
        worker.wait().unwrap();
        alive += begun.elapsed();
        let (history, status) = read(&run);
        assert!(matches!(status, Status::Crashed { .. }), "{status}");
        let reached = history.curve(MetricId::LOSS).len() as u64;
        let saved = history.checkpoints().last().map_or(0, |checkpoint| checkpoint.0);
        assert!(reached >= saved, "the curve reaches {reached}, and a checkpoint {saved}");
        // Time between sessions does not count as training.
        std::thread::sleep(Duration::from_millis(100));
    }
    let begun = Instant::now();
    assert!(worker::start(&run, STEPS, "slow").wait().unwrap().success());
    alive += begun.elapsed();
    let (history, status) = read(&run);
    assert_eq!(status, Status::Finished);
    assert_eq!(history.sessions(), 6);
    expect_whole_curve(&history, STEPS);
    assert!(history.wall_s() <= alive.as_secs_f64(), "{} s of training in {alive:?}", history.wall_s());
}

#[test]
fn a_cut_last_line_loses_only_itself() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    let mut worker = worker::start(&run, u64::MAX, "slow");
    wait_until("events", || lines(run.events()) > 300);
    worker.kill().unwrap();
    worker.wait().unwrap();
    // A power cut may lose unsynced data, but none from before a checkpoint.
    let saved = fs::read_to_string(run.path().join("checkpoint")).unwrap();
    let evaluated = format!("{{\"event\":\"eval\",\"step\":{},", saved.split(' ').next().unwrap());
    let text = fs::read_to_string(run.events()).unwrap();
    let start = text.find(&evaluated).unwrap();
    let end = start + text[start..].find('\n').unwrap() + 1;
    fs::write(run.events(), format!("{}{{\"event\":\"check", &text[..end])).unwrap();
    assert!(worker::start(&run, 4000, "").wait().unwrap().success());
    expect_whole_curve(&read(&run).0, 4000);
}

#[test]
fn a_second_worker_is_refused_and_the_first_continues() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    let first = worker::start(&run, u64::MAX, "slow");
    wait_until("the first", || lines(run.events()) > 0);
    let second = worker::start(&run, u64::MAX, "").wait_with_output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(said.contains("already being trained") && said.contains(&format!("process {}", first.id())), "{said}");
    send(&run, RunCommand::Stop).unwrap();
    assert!(first.wait_with_output().unwrap().status.success());
    let (history, status) = read(&run);
    assert_eq!(status, Status::Stopped);
    expect_whole_curve(&history, history.step());
}

#[cfg(unix)]
#[test]
fn a_second_worker_is_refused_even_if_the_lock_was_removed() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    let first = worker::start(&run, u64::MAX, "slow");
    wait_until("the first", || lines(run.events()) > 0);
    fs::remove_file(run.lock()).unwrap();
    let second = worker::start(&run, u64::MAX, "").wait_with_output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(said.contains("already being trained"), "{said}");
    // The first worker restores its lock before it saves the next time.
    wait_until("the lock", || matches!(read(&run).1, Status::Running(Some(owner)) if owner.pid == first.id()));
    send(&run, RunCommand::Stop).unwrap();
    assert!(first.wait_with_output().unwrap().status.success());
    let (history, status) = read(&run);
    assert_eq!((status, history.sessions()), (Status::Stopped, 1));
    expect_whole_curve(&history, history.step());
}

#[cfg(unix)]
#[test]
fn a_worker_whose_files_were_replaced_ends_before_it_saves() {
    for files in [&[RunFolder::EVENTS][..], &[RunFolder::LOCK, RunFolder::EVENTS]] {
        let place = tempfile::tempdir().unwrap();
        let run = new_run(place.path());
        let first = worker::start(&run, u64::MAX, "slow");
        wait_until("the first", || run.path().join("checkpoint").exists());
        for file in files {
            fs::rename(run.path().join(file), place.path().join(file)).unwrap();
        }
        let second = (files.len() == 2).then(|| worker::start(&run, u64::MAX, "slow"));
        let first = first.wait_with_output().unwrap();
        let said = String::from_utf8(first.stderr).unwrap();
        assert_eq!(first.status.code(), Some(1), "{said}");
        assert!(said.contains("deleted or replaced"), "{said}");
        if let Some(second) = second {
            wait_until("the second", || lines(run.events()) > 300);
            send(&run, RunCommand::Stop).unwrap();
            assert!(second.wait_with_output().unwrap().status.success());
            let (history, status) = read(&run);
            assert_eq!(status, Status::Stopped);
            assert_eq!(history.skipped(), 0);
        }
    }
}

#[test]
fn a_worker_whose_folder_is_deleted_ends_with_an_error() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    let worker = worker::start(&run, u64::MAX, "slow");
    wait_until("events", || lines(run.events()) > 100);
    // The worker may make a new file just between the removal of the others and that of the folder.
    wait_until("the folder to go", || fs::remove_dir_all(run.path()).is_ok() || !run.path().exists());
    let output = worker.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("deleted") || said.contains("cannot write"), "{said}");
}

/// Runs a script in its own namespace with the right to mount; none where that is not allowed.
#[cfg(target_os = "linux")]
fn apart(script: &str, run: &RunFolder) -> Option<String> {
    let ways = [&["-m"][..], &["-rm"]];
    let way = ways.iter().find(|way| {
        let tried =
            std::process::Command::new("unshare").args(**way).args(["mount", "-t", "tmpfs", "none", "/mnt"]).output();
        tried.is_ok_and(|tried| tried.status.success())
    });
    let Some(way) = way else {
        left_out("program::runs::faults", "the tests of full and read-only disks may not mount one");
        return None;
    };
    let output = std::process::Command::new("unshare")
        .args(*way)
        .args(["sh", "-c", &format!("set -e; {script}"), "sh"])
        .arg(run.path())
        .output()
        .unwrap();
    let [said, heard] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success(), "{said}\n{heard}");
    Some(said + &heard)
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_recorded_in_the_run_and_loses_nothing() {
    const STEPS: u64 = 60_000;
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    let saved = place.path().join("saved");
    fs::create_dir(&saved).unwrap();
    let worker = worker::script(STEPS, "");
    // A disk of 1.5 MiB, of which half is taken by something else until the worker has failed; what is in it at
    // either time is kept.
    let script = format!(
        "mount -t tmpfs -o size=16m none \"$1\"; cp {config} \"$1/config.ron\"; \
         mount -o remount,size=1536k \"$1\"; head -c 600000 /dev/zero > \"$1/filler\"; \
         if env {worker} > /dev/null; then echo no failure; fi; cp \"$1/events.jsonl\" '{saved}/full'; \
         rm \"$1/filler\"; mount -o remount,size=64m \"$1\"; env {worker} > /dev/null; \
         cp \"$1/events.jsonl\" '{saved}/whole'",
        config = "/dev/null",
        saved = saved.display(),
    );
    let Some(said) = apart(&script, &run) else { return };
    assert!(!said.contains("no failure"), "{said}");
    assert!(said.contains("the disk is full") && said.contains("resume"), "{said}");
    let full = fs::read_to_string(saved.join("full")).unwrap();
    assert!(full.ends_with('\n'), "a line was cut");
    let last = EventRecord::parse(full.lines().last().unwrap().as_bytes()).unwrap();
    assert!(last.event.sentence().starts_with("failed: the disk is full"), "{}", last.event.sentence());
    fs::copy(saved.join("whole"), run.events()).unwrap();
    let mut reader = RunReader::new(run);
    reader.poll().unwrap();
    assert_eq!(reader.history().sessions(), 2);
    expect_whole_curve(reader.history(), STEPS);
}

#[cfg(target_os = "linux")]
#[test]
fn a_read_only_folder_is_refused_but_can_be_watched() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    assert!(worker::start(&run, 300, "").wait().unwrap().success());
    let worker = worker::script(600, "");
    let script = format!(
        "mount --bind \"$1\" \"$1\"; mount -o remount,ro,bind \"$1\"; \
         if env {worker} > /dev/null; then echo no failure; fi"
    );
    let Some(said) = apart(&script, &run) else { return };
    assert!(said.contains("cannot write") && said.contains("writable") && said.contains("lock"), "{said}");
    assert!(!said.contains("no failure"), "{said}");
    let (history, status) = read(&run);
    assert_eq!(status, Status::Finished);
    expect_whole_curve(&history, 300);
}
