//! Sessions of a worker: the lock, the heartbeat, the file of events, the clock.

use std::fs;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use valleyscope_runs::{
    Event, LockState, MetricId, MetricValues, RunCommand, RunFolder, RunReader, RunSession, SessionError, Started,
    Timestamp, send,
};

use super::worker::{new_run, wait_until};

fn train(loss: f64) -> Event {
    Event::Train(MetricValues::from([(MetricId::LOSS, loss)]))
}

#[test]
fn only_one_worker_holds_a_run() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    let session = RunSession::begin(&run).unwrap();
    match RunSession::begin(&run) {
        Err(error @ SessionError::Held { .. }) => {
            let said = error.to_string();
            assert!(said.contains(&format!("process {}", std::process::id())), "{said}");
            assert!(said.contains(" on "), "{said}");
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("two hold it"),
    }
    drop(session);
    RunSession::begin(&run).unwrap();
}

#[test]
fn readers_do_not_lock_out_a_worker() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    drop(RunSession::begin(&run).unwrap());
    let enough = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !enough.load(Ordering::Relaxed) {
                LockState::of(&run);
            }
        });
        for _ in 0..50 {
            RunSession::begin(&run).map(drop).unwrap();
        }
        enough.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_folder_without_a_run_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    fs::write(run.events(), "").unwrap();
    fs::remove_file(run.config()).unwrap();
    assert!(matches!(RunSession::begin(&run), Err(SessionError::NoRun(_))));
}

#[test]
fn the_heartbeat_begins_at_the_start() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    let before = Timestamp::now();
    let _session = RunSession::begin(&run).unwrap();
    let beat: Timestamp = fs::read_to_string(run.heartbeat()).unwrap().trim().parse().unwrap();
    assert!(before <= beat && beat <= Timestamp::now());
}

#[test]
fn curves_are_written_periodically() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    let mut session = RunSession::begin(&run).unwrap();
    session.record(0, Event::Started(Started::default())).unwrap();
    session.record(1, train(1.0)).unwrap();
    let mut reader = RunReader::new(run);
    wait_until("the point to be written", || reader.poll().unwrap() && reader.history().step() == 1);
}

#[test]
fn other_events_are_written_immediately_and_in_order() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    let mut session = RunSession::begin(&run).unwrap();
    session.record(0, Event::Started(Started { steps: 9, ..Started::default() })).unwrap();
    for step in 1..=5 {
        session.record(step, train(step as f64)).unwrap();
    }
    session.record(5, Event::Warning { message: "look".into() }).unwrap();
    let text = fs::read_to_string(run.events()).unwrap();
    let names: Vec<&str> = text.lines().map(|line| line.split('"').nth(3).unwrap()).collect();
    assert_eq!(names, ["started", "train", "train", "train", "train", "train", "warning"]);
}

#[test]
fn a_line_that_was_cut_is_removed() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
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
}

#[test]
fn a_run_whose_first_line_is_damaged_is_resumed_and_its_other_lines_stay() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
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
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    send(&run, RunCommand::Stop).unwrap();
    fs::write(run.path().join("checkpoint-00000010.ron"), "()").unwrap();
    let mut session = RunSession::begin(&run).unwrap();
    assert!(!session.is_new());
    session.resume(10, 5.0).unwrap();
    assert!(session.commands().unwrap().is_empty(), "the command to stop is one of before");
}

#[test]
fn a_very_long_cut_line_is_removed_too() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    fs::write(run.events(), format!("whole\n{{{}", "x".repeat(300_000))).unwrap();
    drop(RunSession::begin(&run).unwrap());
    assert_eq!(fs::read_to_string(run.events()).unwrap(), "whole\n");
    fs::write(run.events(), format!("{{{}", "x".repeat(300_000))).unwrap();
    drop(RunSession::begin(&run).unwrap());
    assert_eq!(fs::read_to_string(run.events()).unwrap(), "");
}

#[test]
fn the_clock_counts_only_training_across_sessions() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
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

/// A listener that records events until it has enough.
#[derive(Clone, Default)]
struct Listener {
    heard: Arc<Mutex<Vec<u8>>>,
    gone: Arc<AtomicBool>,
}

impl Write for Listener {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.gone.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.heard.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn listeners_receive_the_same_events_and_may_leave() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    let listener = Listener::default();
    let mut session = RunSession::begin(&run).unwrap();
    session.echo_to(listener.clone());
    session.record(0, Event::Started(Started::default())).unwrap();
    session.record(1, Event::Sample { text: "so far".into() }).unwrap();
    let heard = String::from_utf8(listener.heard.lock().unwrap().clone()).unwrap();
    assert_eq!(heard, fs::read_to_string(run.events()).unwrap());
    listener.gone.store(true, Ordering::Relaxed);
    session.record(2, Event::Sample { text: "to nobody".into() }).unwrap();
    assert_eq!(super::worker::lines(run.events()), 3);
}

#[test]
fn a_session_that_ends_leaves_nothing_behind() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
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
