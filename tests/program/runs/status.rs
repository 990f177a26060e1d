//! The status of a run, from evidence only.

use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use valleyscope::export::write_csv;
use valleyscope_runs::{
    Concern, ConcernKind, Event, EventRecord, MarkKind, MetricId, MetricValues, RunCommand, RunFolder, RunHistory,
    RunReader, RunSession, SettingChange, Started, Status, Timestamp, last_output, send, span,
};

use super::reader::read;
use super::session::train;
use super::worker;
use super::worker::{fresh_run, new_run, wait_until};

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
    let (_place, run) = fresh_run();
    assert_eq!(status(&run), Status::Starting);
    let config = File::options().write(true).open(run.config()).unwrap();
    config.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
    assert!(matches!(status(&run), Status::Failed(message) if message.contains("never began")));
    fs::write(run.log(), "libtorch_cpu.so: cannot open\n").unwrap();
    assert!(matches!(status(&run), Status::Failed(message) if message.contains("libtorch_cpu.so")));
}

#[test]
fn the_lock_determines_the_status_and_then_the_last_event() {
    let (_place, run) = fresh_run();
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
    let (_place, run) = fresh_run();
    let mut worker = worker::start(&run, u64::MAX, "slow");
    wait_until("the worker", || worker::lines(run.events()) > 0);
    assert!(matches!(status(&run), Status::Running(Some(owner)) if owner.pid == worker.id()));
    fs::write(run.log(), "one\nCUDA error: an illegal memory access\n").unwrap();
    worker.kill().unwrap();
    worker.wait().unwrap();
    match status(&run) {
        Status::Crashed { last_output } => assert_eq!(last_output, "one\nCUDA error: an illegal memory access"),
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
    let (_place, run) = fresh_run();
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
    let (place, run) = fresh_run();
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
    assert!(status_at(&copy, later).label().starts_with("last seen 10 min ago"), "{}", status_at(&copy, later));
    session.record(1, Event::Finished).unwrap();
    fs::copy(run.events(), copy.events()).unwrap();
    assert_eq!(status(&copy), Status::Finished);
}

#[test]
fn another_machines_heartbeat_is_reported_as_it_is() {
    let (_place, run) = fresh_run();
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
    let (_place, run) = fresh_run();
    assert_eq!(last_output(&run), "");
    let lines: String = (0..1000).map(|line| format!("line {line} θ\n")).collect();
    fs::write(run.log(), lines).unwrap();
    let words = last_output(&run);
    assert!(words.starts_with("line ") && words.ends_with("line 999 θ"), "{words}");
    assert!((1000..2001).contains(&words.len()));
    fs::write(run.log(), [b'x'; 5000]).unwrap();
    assert_eq!(last_output(&run).len(), 2000);
}

#[test]
fn durations_are_short() {
    let said = [0, 119, 120, 7199, 7200, 172_799, 172_800].map(span);
    assert_eq!(said, ["0 s", "119 s", "2 min", "119 min", "2 h", "47 h", "2 days"]);
}

fn begin() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

/// Returns the history of events, each with its step and the second in which it happened.
fn history(events: Vec<(u64, u64, Event)>) -> RunHistory {
    let mut history = RunHistory::default();
    for (step, second, event) in events {
        let time = begin() + Duration::from_secs(second);
        history.apply(EventRecord { step, time, wall_s: second as f64, event });
    }
    history
}

fn warning(message: &str) -> Event {
    Event::Warning { message: message.to_owned() }
}

fn started() -> (u64, u64, Event) {
    (0, 0, Event::Started(Started::default()))
}

/// Returns the concerns about a run at this second after its beginning.
fn concerns(status: &Status, history: &RunHistory, second: u64) -> Vec<(ConcernKind, String)> {
    let found = Concern::of(status, history, begin() + Duration::from_secs(second));
    found.into_iter().map(|concern| (concern.kind, concern.description)).collect()
}

#[test]
fn a_loss_that_is_not_finite_is_grave_while_it_is_the_newest() {
    let mut events = vec![started(), (1, 1, train(2.0)), (2, 2, train(f64::NAN))];
    let running = Status::Running(None);
    let expected = [(ConcernKind::Diverged, "train loss NaN at step 2".to_owned())];
    assert_eq!(concerns(&running, &history(events.clone()), 3), expected);
    assert!(ConcernKind::Diverged.is_grave());
    events.push((3, 3, train(2.0)));
    assert_eq!(concerns(&running, &history(events), 4), []);
}

#[test]
fn a_worker_that_is_silent_far_longer_than_before_is_stalled() {
    let steps = |every: u64| {
        let steps = (1..=9).map(|step| (step, every * step, train(2.0)));
        history(std::iter::once(started()).chain(steps).collect())
    };
    let running = Status::Running(None);
    let quick = steps(10);
    assert_eq!(concerns(&running, &quick, 90 + 600), []);
    let words = "its worker is alive, but has recorded nothing for 12 min; before, no pause was longer than 10 s";
    assert_eq!(concerns(&running, &quick, 90 + 720), [(ConcernKind::Stalled, words.to_owned())]);
    let slow = steps(100);
    assert_eq!(concerns(&running, &slow, 900 + 1900), [], "its steps take long");
    assert_eq!(concerns(&running, &slow, 900 + 2100).len(), 1);
    // On another machine the heartbeat shows whether the worker lives; a worker that has ended raises no concern.
    let silent = |seconds| Status::Silent { host: None, seconds };
    assert_eq!(concerns(&silent(5), &quick, 90 + 720).len(), 1);
    assert_eq!(concerns(&silent(720), &quick, 90 + 720), []);
    assert_eq!(concerns(&Status::Finished, &quick, 90 + 720), []);
    assert_eq!(concerns(&running, &history(vec![started()]), 7200), [], "it may be reading its data");
}

#[test]
fn warnings_of_a_training_are_shown_until_they_are_void() {
    let data = "the data are made up";
    let mut events = vec![started(), (0, 0, warning(data)), (1, 1, train(2.0)), (2, 2, train(9.0))];
    assert_eq!(concerns(&Status::Stopped, &history(events.clone()), 3), [], "it was so from the beginning");
    events.push((2, 2, warning("the training loss has jumped")));
    let expected = [(ConcernKind::Warned, "step 2: the training loss has jumped".to_owned())];
    assert_eq!(concerns(&Status::Stopped, &history(events.clone()), 3), expected);
    events.push((2, 3, Event::Resumed { from_step: 2 }));
    assert_eq!(concerns(&Status::Stopped, &history(events.clone()), 3), expected);
    events.push((1, 4, Event::Resumed { from_step: 1 }));
    assert_eq!(concerns(&Status::Stopped, &history(events), 4), [], "it goes on from before");
}

#[test]
fn a_full_disk_is_a_concern_and_lists_show_what_the_status_does_not() {
    let (_place, run) = fresh_run();
    let mut session = RunSession::begin(&run).unwrap();
    session.record(0, Event::Started(Started::default())).unwrap();
    session.record(1, train(f64::INFINITY)).unwrap();
    session.record(1, warning("the training loss is inf")).unwrap();
    session.record(1, warning("no sample")).unwrap();
    session.record(1, Event::Failed { message: "the disk is full: cannot write x".to_owned() }).unwrap();
    drop(session);
    let mut reader = RunReader::brief(run);
    let status = reader.status(Timestamp::now()).unwrap();
    let found = Concern::of(&status, reader.history(), Timestamp::now());
    assert_eq!(found[0].kind, ConcernKind::Ended);
    assert_eq!(found[0].description, "failed: the disk is full: cannot write x");
    assert_eq!(Concern::summary(&found), "diverged, warned");
}

fn change(name: &str, label: &str, before: f64, now: f64) -> SettingChange {
    SettingChange { name: name.to_owned(), label: label.to_owned(), before, now }
}

#[test]
fn changes_are_in_force_until_the_run_goes_back_before_them() {
    let (_place, run) = fresh_run();
    let mut session = RunSession::begin(&run).unwrap();
    session.answer_steps("a", 100).unwrap();
    let gamma = change("optimizer.gamma", "γ", 0.2, 0.4);
    session.record(10, Event::Changed { changes: vec![gamma.clone()] }).unwrap();
    let both = vec![change("optimizer.gamma", "γ", 0.4, 0.1 + 0.2), change("steps", "steps", 100.0, 150.0)];
    session.record(20, Event::Changed { changes: both.clone() }).unwrap();
    let whole = read(&run);
    assert_eq!(whole.steps(), Some(150));
    let expected = BTreeMap::from([("optimizer.gamma".to_owned(), 0.1 + 0.2), ("steps".to_owned(), 150.0)]);
    assert_eq!(whole.changed_settings(), expected, "with all bits");
    assert_eq!(whole.changes().len(), 3);
    let words: Vec<String> = whole.marks().into_iter().map(|mark| format!("{} {}", mark.step, mark.label)).collect();
    assert_eq!(words, ["10 γ 0.2 → 0.4", "20 γ 0.4 → 0.3", "20 steps 100 → 150"]);
    assert_eq!(whole.until(20), whole);
    drop(session);
    RunSession::begin(&run).unwrap().resume(15, 1.0).unwrap();
    let back = read(&run);
    assert_eq!((back.steps(), back.changes()), (Some(100), &[(10, gamma)][..]));
    let marks: Vec<_> = back.marks().into_iter().map(|mark| (mark.step, mark.kind)).collect();
    assert_eq!(marks, [(10, MarkKind::Changed), (15, MarkKind::Resumed)]);
}

#[test]
fn a_command_to_change_settings_arrives_with_all_bits() {
    let (_place, run) = fresh_run();
    let mut session = RunSession::begin(&run).unwrap();
    let settings = BTreeMap::from([("learning_rate".to_owned(), 0.1 + 0.2), ("batch_size".to_owned(), 64.0)]);
    send(&run, RunCommand::Set { settings: settings.clone() }).unwrap();
    let received = session.commands().unwrap();
    assert_eq!(received.into_iter().map(|(_, command)| command).collect::<Vec<_>>(), [RunCommand::Set { settings }]);
}

fn table_history(events: Vec<(u64, Event)>) -> RunHistory {
    let mut history = RunHistory::default();
    for (index, (step, event)) in events.into_iter().enumerate() {
        let time = Timestamp::from_millisecond(1_772_366_400_000 + 250 * index as i64).unwrap();
        history.apply(EventRecord { step, time, wall_s: 0.5 * index as f64, event });
    }
    history
}

fn csv(history: &RunHistory) -> (u64, String) {
    let mut bytes = Vec::new();
    let rows = write_csv(history, &mut bytes).unwrap();
    (rows, String::from_utf8(bytes).unwrap())
}

#[test]
fn curves_share_a_table() {
    let train = |loss| {
        Event::Train(MetricValues::from([
            (MetricId::LOSS, loss),
            (MetricId::LEARNING_RATE, 0.1),
            (MetricId::GRAD_NORM, 2.0),
            (MetricId::TOKENS_PER_S, 5.0),
        ]))
    };
    let eval = Event::Eval(MetricValues::from([(MetricId::TEST_LOSS, 0.75), (MetricId::TEST_ACCURACY, 0.5)]));
    let history = table_history(vec![
        (0, Event::Started(Started::default())),
        (1, train(f64::NAN)),
        (2, train(1.5)),
        (2, eval),
        (3, train(f64::INFINITY)),
    ]);
    let expected = "\
step,time,wall_s,loss,tokens_per_s,lr,grad_norm,test_loss,test_accuracy
1,2026-03-01T12:00:00.25Z,0.5,NaN,5,0.1,2,,
2,2026-03-01T12:00:00.5Z,1,1.5,5,0.1,2,,
2,2026-03-01T12:00:00.75Z,1.5,,,,,0.75,0.5
3,2026-03-01T12:00:01Z,2,inf,5,0.1,2,,
";
    assert_eq!(csv(&history), (4, expected.to_owned()));
}

#[test]
fn any_metric_has_a_column_even_if_some_events_lack_it() {
    let [loss, scale, ratio] = ["loss", "loss_scale", "update_ratio"].map(|name| MetricId::named(name).unwrap());
    let train = |values: Vec<(MetricId, f64)>| Event::Train(values.into_iter().collect());
    let history = table_history(vec![
        (1, train(vec![(loss, 3.0), (scale, 8.0)])),
        (2, train(vec![(loss, 2.0), (ratio, 0.5), (scale, 4.0)])),
        (3, train(vec![(loss, 1.0)])),
    ]);
    let expected = "\
step,time,wall_s,loss,loss_scale,update_ratio
1,2026-03-01T12:00:00Z,0,3,8,
2,2026-03-01T12:00:00.25Z,0.5,2,4,0.5
3,2026-03-01T12:00:00.5Z,1,1,,
";
    assert_eq!(csv(&history), (3, expected.to_owned()));
    assert_eq!(history.curve(scale).step, [1, 2]);
}
