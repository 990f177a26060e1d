//! Concerns about runs.

use std::time::Duration;

use valleyscope_runs::{
    Concern, ConcernKind, Event, EventRecord, MetricId, MetricValues, RunHistory, RunReader, RunSession, Started,
    Status, Timestamp,
};

use super::worker::new_run;

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

fn train(loss: f64) -> Event {
    Event::Train(MetricValues::from([(MetricId::LOSS, loss)]))
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
    found.into_iter().map(|concern| (concern.kind, concern.words)).collect()
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
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
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
    assert_eq!(found[0].words, "failed: the disk is full: cannot write x");
    assert_eq!(Concern::summary(&found), "diverged, warned");
}
