//! The status of a run, from evidence only.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use valleyscope_runs::{
    Event, EventRecord, RunCommand, RunFolder, RunReader, RunSession, Started, Status, Timestamp, last_words, send,
    span,
};

use super::worker::{self, new_run, wait_until};

fn status(run: &RunFolder) -> Status {
    status_at(run, Timestamp::now())
}

fn status_at(run: &RunFolder, now: Timestamp) -> Status {
    RunReader::new(run.clone()).status(now).unwrap()
}

fn copy(run: &RunFolder, to: &Path) -> RunFolder {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(run.path()).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
    RunFolder::open(to).unwrap()
}

#[test]
fn a_run_without_events_is_starting_or_never_began() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    assert_eq!(status(&run), Status::Starting);
    let config = File::options().write(true).open(run.config()).unwrap();
    config.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
    assert!(matches!(status(&run), Status::Failed(message) if message.contains("never began")));
    fs::write(run.log(), "libtorch_cpu.so: cannot open\n").unwrap();
    assert!(matches!(status(&run), Status::Failed(message) if message.contains("libtorch_cpu.so")));
}

#[test]
fn the_lock_determines_the_status_and_then_the_last_event() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    for (goodbye, ended) in [
        (Event::Stopped, Status::Stopped),
        (Event::Failed { message: "no memory".into() }, Status::Failed("no memory".into())),
        (Event::Finished, Status::Finished),
    ] {
        let mut session = RunSession::begin(&run).unwrap();
        match status(&run) {
            Status::Running(Some(owner)) => assert_eq!(owner.pid, std::process::id()),
            other => panic!("{other}"),
        }
        if session.is_new() {
            session.record(0, Event::Started(Started::default())).unwrap();
        } else {
            session.resume(0, 0.0).unwrap();
        }
        session.record(1, goodbye).unwrap();
        assert!(matches!(status(&run), Status::Running(_)), "it has not ended yet");
        drop(session);
        assert_eq!(status(&run), ended);
    }
}

#[test]
fn a_killed_worker_has_crashed_with_its_last_log_lines() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    let mut worker = worker::start(&run, u64::MAX, "slow");
    wait_until("the worker", || worker::lines(run.events()) > 0);
    assert!(matches!(status(&run), Status::Running(Some(owner)) if owner.pid == worker.id()));
    fs::write(run.log(), "one\nCUDA error: an illegal memory access\n").unwrap();
    worker.kill().unwrap();
    worker.wait().unwrap();
    match status(&run) {
        Status::Crashed { last_words } => assert_eq!(last_words, "one\nCUDA error: an illegal memory access"),
        other => panic!("{other}"),
    }
}

#[test]
fn a_worker_killed_while_resuming_has_crashed() {
    let place = tempfile::tempdir().unwrap();
    for (goodbye, is_true_still) in
        [(Event::Stopped, false), (Event::Failed { message: "no memory".into() }, false), (Event::Finished, true)]
    {
        let run = new_run(place.path());
        let mut session = RunSession::begin(&run).unwrap();
        session.record(0, Event::Started(Started::default())).unwrap();
        session.record(1, goodbye).unwrap();
        drop(session);
        // An old command is answered before the session records that it resumes.
        send(&run, RunCommand::Save).unwrap();
        let session = RunSession::begin(&run).unwrap();
        assert!(matches!(status(&run), Status::Running(_)));
        drop(session);
        match status(&run) {
            Status::Crashed { .. } => assert!(!is_true_still),
            other => assert_eq!((other, is_true_still), (Status::Finished, true)),
        }
        let mut session = RunSession::begin(&run).unwrap();
        session.resume(1, 0.0).unwrap();
        session.record(1, Event::Stopped).unwrap();
        drop(session);
        assert_eq!(status(&run), Status::Stopped);
    }
}

#[test]
fn a_crash_is_detected_even_if_clocks_were_set_back() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    let mut session = RunSession::begin(&run).unwrap();
    session.record(0, Event::Started(Started::default())).unwrap();
    drop(session);
    // The worker's clock was an hour ahead.
    let time = Timestamp::now() + Duration::from_secs(3600);
    let goodbye = EventRecord { step: 0, time, wall_s: 0.0, event: Event::Stopped }.to_line() + "\n";
    fs::write(run.events(), fs::read_to_string(run.events()).unwrap() + &goodbye).unwrap();
    assert_eq!(status(&run), Status::Stopped);
    drop(RunSession::begin(&run).unwrap());
    assert!(matches!(status(&run), Status::Crashed { .. }));
}

#[test]
fn a_copy_is_inactive_here_and_trained_by_the_same_worker_elsewhere() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    let mut session = RunSession::begin(&run).unwrap();
    session.record(0, Event::Started(Started::default())).unwrap();
    let copy = copy(&run, &place.path().join("copy"));
    assert!(matches!(status(&run), Status::Running(_)));
    assert!(matches!(status(&copy), Status::Crashed { .. }), "nobody holds the copied lock: {}", status(&copy));
    // The copy looks like a mirror on another machine.
    let lock = fs::read_to_string(copy.lock()).unwrap();
    let mut owner: serde_json::Value = serde_json::from_str(&lock).unwrap();
    owner["host"] = "far-away".into();
    fs::write(copy.lock(), owner.to_string()).unwrap();
    let heard = |status: Status| match status {
        Status::Silent { host: Some(host), seconds } if host == "far-away" => seconds,
        other => panic!("{other}"),
    };
    assert!(heard(status(&copy)) < 60);
    let later = Timestamp::now() + Duration::from_secs(600);
    assert!((599..700).contains(&heard(status_at(&copy, later))));
    assert!(status_at(&copy, later).word().starts_with("last seen 10 min ago"), "{}", status_at(&copy, later));
    session.record(1, Event::Finished).unwrap();
    fs::copy(run.events(), copy.events()).unwrap();
    assert_eq!(status(&copy), Status::Finished);
}

#[test]
fn another_machines_heartbeat_is_reported_as_it_is() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    let mut session = RunSession::begin(&run).unwrap();
    session.record(0, Event::Started(Started::default())).unwrap();
    drop(session);
    assert!(matches!(status(&run), Status::Crashed { .. }), "it said no goodbye");
    fs::write(run.lock(), r#"{"host":"far-away","pid":1,"started":"2026-03-01T12:00:00Z","lines":0}"#).unwrap();
    let now = Timestamp::now() + Duration::from_secs(1000);
    let beat = now - Duration::from_secs(42);
    fs::write(run.heartbeat(), format!("{beat}\n")).unwrap();
    assert_eq!(status_at(&run, now), Status::Silent { host: Some("far-away".into()), seconds: 42 });
    // The other machine's clock is ahead of this one.
    fs::write(run.heartbeat(), format!("{}\n", now + Duration::from_secs(99))).unwrap();
    assert_eq!(status_at(&run, now), Status::Silent { host: Some("far-away".into()), seconds: 0 });
    // After ten minutes the worker counts as lost.
    for (seconds, lost) in [(599, false), (600, true)] {
        fs::write(run.heartbeat(), format!("{}\n", now - Duration::from_secs(seconds))).unwrap();
        assert_eq!(status_at(&run, now).is_lost(), lost);
    }
    // A mirror may omit some files.
    fs::remove_file(run.lock()).unwrap();
    fs::remove_file(run.heartbeat()).unwrap();
    assert!(matches!(status_at(&run, now), Status::Silent { host: None, seconds: 999.. }));
}

#[test]
fn last_log_lines_are_complete() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    assert_eq!(last_words(&run), "");
    let lines: String = (0..1000).map(|line| format!("line {line} θ\n")).collect();
    fs::write(run.log(), lines).unwrap();
    let words = last_words(&run);
    assert!(words.starts_with("line ") && words.ends_with("line 999 θ"), "{words}");
    assert!((1000..2001).contains(&words.len()));
    fs::write(run.log(), [b'x'; 5000]).unwrap();
    assert_eq!(last_words(&run).len(), 2000);
}

#[test]
fn durations_are_short() {
    let said = [0, 119, 120, 7199, 7200, 172_799, 172_800].map(span);
    assert_eq!(said, ["0 s", "119 s", "2 min", "119 min", "2 h", "47 h", "2 days"]);
}
