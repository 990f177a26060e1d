//! The history of a fork, as a reader shows it.

use std::fs;

use valleyscope_runs::{
    Event, EventRecord, Forked, MetricId, MetricValues, RunFolder, RunHistory, RunReader, Status, Timestamp,
};

use super::worker::new_run;

fn line(step: u64, event: Event) -> String {
    EventRecord { step, time: Timestamp::from_second(1_800_000_000).unwrap(), wall_s: step as f64, event }.to_line()
        + "\n"
}

fn train(steps: std::ops::RangeInclusive<u64>, loss: f64) -> String {
    let point = |step| line(step, Event::Train(MetricValues::from([(MetricId::LOSS, loss)])));
    steps.map(point).collect()
}

fn forked(from: &RunFolder, step: u64) -> String {
    let (from_run, folder) = (from.name(), from.path().display().to_string());
    line(step, Event::Forked(Forked { from_run, from_step: step, folder, ..Forked::default() }))
}

fn read(mut reader: RunReader) -> RunHistory {
    reader.poll().unwrap();
    reader.history().clone()
}

fn losses(run: &RunFolder) -> Vec<(u64, f64)> {
    let history = read(RunReader::new(run.clone()));
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
    fs::write(first.events(), train(1..=9, 1.0)).unwrap();
    let [second, third] = ["second", "third"].map(|stem| RunFolder::create(place.path(), stem, "Mnist()").unwrap());
    fs::write(second.events(), forked(&first, 5) + &train(6..=8, 2.0)).unwrap();
    fs::write(third.events(), forked(&second, 7)).unwrap();
    assert_eq!(losses(&second), expected(&[(1..=5, 1.0), (6..=8, 2.0)]));
    assert_eq!(losses(&third), expected(&[(1..=5, 1.0), (6..=7, 2.0)]));
    // A reader that has shown the other run's curve continues without it.
    let mut reader = RunReader::new(third.clone());
    reader.poll().unwrap();
    fs::remove_dir_all(first.path()).unwrap();
    fs::write(third.events(), forked(&second, 7) + &train(8..=9, 3.0)).unwrap();
    assert!(reader.poll().unwrap());
    assert_eq!(reader.history().curve(MetricId::LOSS).len(), 9);
    assert_eq!(reader.history().missing(), None);
    assert_eq!(losses(&third), expected(&[(6..=7, 2.0), (8..=9, 3.0)]));
    let history = read(RunReader::new(third.clone()));
    assert!(history.missing().is_some_and(|missing| missing.contains(&first.name()) && missing.contains("step 5")));
    // A brief reader, such as the worker's, has only the run's own points.
    let brief = read(RunReader::brief(third));
    assert_eq!((brief.curve(MetricId::LOSS).step, brief.step()), (&[9][..], 9));
}

#[test]
fn runs_that_claim_to_be_forks_of_each_other_are_read_in_finite_time() {
    let place = tempfile::tempdir().unwrap();
    let first = new_run(place.path());
    let second = RunFolder::create(place.path(), "second", "Mnist()").unwrap();
    fs::write(first.events(), forked(&second, 3) + &train(4..=5, 1.0)).unwrap();
    fs::write(second.events(), forked(&first, 4) + &train(5..=6, 2.0)).unwrap();
    let steps: Vec<u64> = losses(&first).iter().map(|(step, _)| *step).collect();
    assert!(steps.ends_with(&[4, 5]) && steps.is_sorted(), "{steps:?}");
    let itself = RunFolder::create(place.path(), "itself", "Mnist()").unwrap();
    fs::write(itself.events(), forked(&itself, 2) + &train(3..=4, 1.0)).unwrap();
    assert_eq!(losses(&itself), expected(&[(3..=4, 1.0)]));
}

#[test]
fn a_late_fork_event_does_not_replace_own_points() {
    let place = tempfile::tempdir().unwrap();
    let first = new_run(place.path());
    fs::write(first.events(), train(1..=9, 1.0)).unwrap();
    let late = RunFolder::create(place.path(), "late", "Mnist()").unwrap();
    fs::write(late.events(), train(1..=2, 2.0) + &forked(&first, 5)).unwrap();
    assert_eq!(losses(&late), expected(&[(1..=2, 2.0)]));
    assert_eq!(read(RunReader::new(late)).forked(), None);
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
