//! Sessions of a worker: the lock, the heartbeat, the file of events, the clock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{fs, io};

use valleyscope_runs::{
    Event, EventRecord, Forked, LockState, MetricId, MetricValues, RunCommand, RunFolder, RunHistory, RunReader,
    RunSession, SessionError, Started, Status, Timestamp, send,
};

use super::worker;
use super::worker::{EVERY, fresh_run, lines, loss, new_run, wait_until};
use crate::left_out::left_out;
#[cfg(target_os = "linux")]
use crate::says::says;

pub fn train(loss: f64) -> Event {
    Event::Train(MetricValues::from([(MetricId::LOSS, loss)]))
}

#[test]
fn readers_do_not_lock_out_a_worker() {
    let (_place, run) = fresh_run();
    drop(RunSession::begin(&run).unwrap());
    let enough = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !enough.load(Ordering::Relaxed) {
                LockState::of(&run);
            }
        });
        (0..50).for_each(|_| RunSession::begin(&run).map(drop).unwrap());
        enough.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_folder_without_a_run_is_refused() {
    let (_place, run) = fresh_run();
    fs::write(run.events(), "").unwrap();
    fs::remove_file(run.config()).unwrap();
    assert!(matches!(RunSession::begin(&run), Err(SessionError::NoRun(_))));
}

#[test]
fn the_heartbeat_begins_at_the_start() {
    let (_place, run) = fresh_run();
    let before = Timestamp::now();
    let _session = RunSession::begin(&run).unwrap();
    let beat: Timestamp = fs::read_to_string(run.heartbeat()).unwrap().trim().parse().unwrap();
    assert!(before <= beat && beat <= Timestamp::now());
}

#[test]
fn curves_are_written_periodically() {
    let (_place, run) = fresh_run();
    let mut session = RunSession::begin(&run).unwrap();
    session.record(0, Event::Started(Started::default())).unwrap();
    session.record(1, train(1.0)).unwrap();
    let mut reader = RunReader::new(run);
    wait_until("the point to be written", || reader.poll().unwrap() && reader.history().step() == 1);
}

#[test]
fn other_events_are_written_immediately_and_in_order() {
    let (_place, run) = fresh_run();
    let mut session = RunSession::begin(&run).unwrap();
    session.record(0, Event::Started(Started { steps: 9, ..Started::default() })).unwrap();
    (1..=5).for_each(|step| session.record(step, train(step as f64)).unwrap());
    session.record(5, Event::Warning { message: "look".into() }).unwrap();
    let text = fs::read_to_string(run.events()).unwrap();
    let names: Vec<&str> = text.lines().map(|line| line.split('"').nth(3).unwrap()).collect();
    assert_eq!(names, ["started", "train", "train", "train", "train", "train", "warning"]);
}

#[test]
fn a_line_that_was_cut_is_removed() {
    let (_place, run) = fresh_run();
    let mut session = RunSession::begin(&run).unwrap();
    session.record(0, Event::Started(Started::default())).unwrap();
    session.record(1, train(1.0)).unwrap();
    drop(session);
    let whole = fs::read_to_string(run.events()).unwrap();
    for cut in [1, 10, 60, whole.len() - 1] {
        fs::write(run.events(), &whole[..whole.len() - cut]).unwrap();
        drop(RunSession::begin(&run).unwrap());
        let kept = fs::read_to_string(run.events()).unwrap();
        assert!(whole.starts_with(&kept) && (kept.is_empty() || kept.ends_with('\n')), "cut by {cut}: {kept:?}");
        assert_eq!(kept.lines().count(), whole[..whole.len() - cut].matches('\n').count());
    }
    for before in ["whole\n", ""] {
        fs::write(run.events(), format!("{before}{{{}", "x".repeat(300_000))).unwrap();
        drop(RunSession::begin(&run).unwrap());
        assert_eq!(fs::read_to_string(run.events()).unwrap(), before);
    }
}

#[test]
fn a_run_whose_first_line_is_damaged_is_resumed_and_its_other_lines_stay() {
    let (_place, run) = fresh_run();
    let mut session = RunSession::begin(&run).unwrap();
    session.record(0, Event::Started(Started::default())).unwrap();
    session.record(1, train(1.0)).unwrap();
    drop(session);
    let damaged = [b"\xef\xbb\xbf", &fs::read(run.events()).unwrap()[..]].concat();
    fs::write(run.events(), &damaged).unwrap();
    let mut session = RunSession::begin(&run).unwrap();
    assert!(!session.is_new() && session.before().started().is_none());
    session.resume(1, 5.0).unwrap();
    session.record(1, Event::Started(Started { steps: 99, ..Started::default() })).unwrap();
    drop(session);
    assert!(fs::read(run.events()).unwrap().starts_with(&damaged));
    let mut reader = RunReader::new(run);
    reader.poll().unwrap();
    let history = reader.history();
    assert_eq!((history.skipped(), history.sessions(), history.steps()), (1, 1, Some(99)));
    assert_eq!(history.curve(MetricId::LOSS).len(), 1);
}

#[test]
fn a_run_with_checkpoints_is_not_new_even_without_events() {
    let (_place, run) = fresh_run();
    send(&run, RunCommand::Stop).unwrap();
    fs::write(run.path().join("checkpoint-00000010.ron"), "()").unwrap();
    let mut session = RunSession::begin(&run).unwrap();
    assert!(!session.is_new());
    session.resume(10, 5.0).unwrap();
    assert!(session.commands().unwrap().is_empty(), "the command to stop is one of before");
}

#[test]
fn the_clock_counts_only_training_across_sessions() {
    let (_place, run) = fresh_run();
    let mut session = RunSession::begin(&run).unwrap();
    assert!(session.is_new());
    session.record(0, Event::Started(Started::default())).unwrap();
    assert_eq!(session.wall_s(), 0.0, "training has not begun");
    session.begin_training();
    wait_until("the clock", || session.wall_s() > 0.0);
    session.pause();
    let paused = session.wall_s();
    session.record(1, Event::Checkpoint { file: "c".into() }).unwrap();
    assert_eq!(session.wall_s(), paused);
    drop(session);
    let mut session = RunSession::begin(&run).unwrap();
    assert!(!session.is_new());
    assert_eq!(session.wall_s(), paused, "what is recorded before resuming does not jump back");
    session.resume(1, 1000.5).unwrap();
    assert_eq!(session.wall_s(), 1000.5);
    session.begin_training();
    session.begin_training();
    wait_until("the clock", || session.wall_s() > 1000.5);
    assert!(session.wall_s() < 1300.0);
    let mut reader = RunReader::new(run);
    reader.poll().unwrap();
    assert_eq!(reader.history().sessions(), 2);
}

#[test]
fn listeners_receive_the_same_events_and_may_leave() {
    let (_place, run) = fresh_run();
    let (heard, is_gone) = (Arc::new(Mutex::new(String::new())), Arc::new(AtomicBool::new(false)));
    let mut session = RunSession::begin(&run).unwrap();
    session.echo_to({
        let (heard, is_gone) = (Arc::clone(&heard), Arc::clone(&is_gone));
        move |line| {
            heard.lock().unwrap().push_str(line);
            if is_gone.load(Ordering::Relaxed) { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
        }
    });
    session.record(0, Event::Started(Started::default())).unwrap();
    session.record(1, Event::Sample { text: "so far".into() }).unwrap();
    assert_eq!(*heard.lock().unwrap(), fs::read_to_string(run.events()).unwrap());
    is_gone.store(true, Ordering::Relaxed);
    session.record(2, Event::Sample { text: "to nobody".into() }).unwrap();
    assert_eq!(super::worker::lines(run.events()), 3);
}

#[test]
fn a_session_that_ends_leaves_nothing_behind() {
    let (_place, run) = fresh_run();
    let names = |run: &RunFolder| {
        let mut names: Vec<String> =
            fs::read_dir(run.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let session = RunSession::begin(&run).unwrap();
    assert!(names(&run).contains(&RunFolder::RESERVE.to_owned()));
    drop(session);
    assert_eq!(names(&run), ["config.ron", "events.jsonl", "heartbeat", "lock"]);
}

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
    let (_place, run) = fresh_run();
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
fn a_second_worker_is_refused_and_the_first_continues() {
    let (_place, run) = fresh_run();
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
    let (_place, run) = fresh_run();
    let first = worker::start(&run, u64::MAX, "slow");
    wait_until("the first", || lines(run.events()) > 0);
    fs::remove_file(run.lock()).unwrap();
    let second = worker::start(&run, u64::MAX, "").wait_with_output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    says(String::from_utf8(second.stderr).unwrap(), &["already being trained"]);
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
        let (place, run) = fresh_run();
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
    let (_place, run) = fresh_run();
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
        left_out("program::runs::session", "the tests of full and read-only disks may not mount one");
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
    let (place, run) = fresh_run();
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
    let (_place, run) = fresh_run();
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

fn line(step: u64, event: Event) -> String {
    EventRecord { step, time: Timestamp::from_second(1_800_000_000).unwrap(), wall_s: step as f64, event }.to_line()
        + "\n"
}

fn train_lines(steps: std::ops::RangeInclusive<u64>, loss: f64) -> String {
    steps.map(|step| line(step, train(loss))).collect()
}

fn forked(from: &RunFolder, step: u64) -> String {
    let (from_run, folder) = (from.name(), from.path().display().to_string());
    line(step, Event::Forked(Forked { from_run, from_step: step, folder, ..Forked::default() }))
}

fn history_of(mut reader: RunReader) -> RunHistory {
    reader.poll().unwrap();
    reader.history().clone()
}

fn losses(run: &RunFolder) -> Vec<(u64, f64)> {
    let history = history_of(RunReader::new(run.clone()));
    let curve = history.curve(MetricId::LOSS);
    curve.step.iter().copied().zip(curve.value.iter().copied()).collect()
}

fn expected(parts: &[(std::ops::RangeInclusive<u64>, f64)]) -> Vec<(u64, f64)> {
    parts.iter().flat_map(|(steps, loss)| steps.clone().map(|step| (step, *loss))).collect()
}

#[test]
fn the_curve_before_a_fork_is_the_other_runs_whatever_happens_to_it_later() {
    let place = tempfile::tempdir().unwrap();
    let first = new_run(place.path());
    fs::write(first.events(), train_lines(1..=9, 1.0)).unwrap();
    let [second, third] = ["second", "third"].map(|stem| RunFolder::create(place.path(), stem, "Mnist()").unwrap());
    fs::write(second.events(), forked(&first, 5) + &train_lines(6..=8, 2.0)).unwrap();
    fs::write(third.events(), forked(&second, 7)).unwrap();
    assert_eq!(losses(&second), expected(&[(1..=5, 1.0), (6..=8, 2.0)]));
    assert_eq!(losses(&third), expected(&[(1..=5, 1.0), (6..=7, 2.0)]));
    // A reader that has shown the other run's curve continues without it.
    let mut reader = RunReader::new(third.clone());
    reader.poll().unwrap();
    fs::remove_dir_all(first.path()).unwrap();
    fs::write(third.events(), forked(&second, 7) + &train_lines(8..=9, 3.0)).unwrap();
    assert!(reader.poll().unwrap());
    assert_eq!(reader.history().curve(MetricId::LOSS).len(), 9);
    assert_eq!(reader.history().missing(), None);
    assert_eq!(losses(&third), expected(&[(6..=7, 2.0), (8..=9, 3.0)]));
    let history = history_of(RunReader::new(third.clone()));
    assert!(history.missing().is_some_and(|missing| missing.contains(&first.name()) && missing.contains("step 5")));
    // A brief reader, such as the worker's, has only the run's own points.
    let brief = history_of(RunReader::brief(third));
    assert_eq!((brief.curve(MetricId::LOSS).step, brief.step()), (&[9][..], 9));
}

#[test]
fn runs_that_claim_to_be_forks_of_each_other_are_read_in_finite_time() {
    let place = tempfile::tempdir().unwrap();
    let first = new_run(place.path());
    let second = RunFolder::create(place.path(), "second", "Mnist()").unwrap();
    fs::write(first.events(), forked(&second, 3) + &train_lines(4..=5, 1.0)).unwrap();
    fs::write(second.events(), forked(&first, 4) + &train_lines(5..=6, 2.0)).unwrap();
    let steps: Vec<u64> = losses(&first).iter().map(|(step, _)| *step).collect();
    assert!(steps.ends_with(&[4, 5]) && steps.is_sorted(), "{steps:?}");
    let itself = RunFolder::create(place.path(), "itself", "Mnist()").unwrap();
    fs::write(itself.events(), forked(&itself, 2) + &train_lines(3..=4, 1.0)).unwrap();
    assert_eq!(losses(&itself), expected(&[(3..=4, 1.0)]));
}

#[test]
fn a_late_fork_event_does_not_replace_own_points() {
    let place = tempfile::tempdir().unwrap();
    let first = new_run(place.path());
    fs::write(first.events(), train_lines(1..=9, 1.0)).unwrap();
    let late = RunFolder::create(place.path(), "late", "Mnist()").unwrap();
    fs::write(late.events(), train_lines(1..=2, 2.0) + &forked(&first, 5)).unwrap();
    assert_eq!(losses(&late), expected(&[(1..=2, 2.0)]));
    assert_eq!(history_of(RunReader::new(late)).forked(), None);
}

#[test]
fn a_fork_without_a_worker_is_starting() {
    let place = tempfile::tempdir().unwrap();
    let first = new_run(place.path());
    let fork = RunFolder::create(place.path(), "fork", "Mnist()").unwrap();
    fs::write(fork.events(), forked(&first, 5)).unwrap();
    let at =
        |seconds| RunReader::brief(fork.clone()).status(Timestamp::now() + std::time::Duration::from_secs(seconds));
    assert_eq!(at(0).unwrap(), Status::Starting);
    assert!(matches!(at(600).unwrap(), Status::Failed(why) if why.contains("never began")));
}
