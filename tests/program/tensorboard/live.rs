//! Event files that follow a run while it is trained.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use valleyscope::runs::tensorboard::{Entry, LiveEvents, event_files, read_entries};
use valleyscope_runs::{Event, MetricId, MetricValues, RunFolder, RunReader, RunSession, Started};

use crate::doctor::{Sandbox, expect, wait_until};

fn train(session: &mut RunSession, steps: std::ops::RangeInclusive<u64>, scale: f64) {
    for step in steps {
        let loss = [(MetricId::LOSS, scale / step as f64)];
        session.record(step, Event::Train(MetricValues::from(loss))).expect("it can be written");
    }
    session.sync().expect("it can be written");
}

fn begun(sandbox: &Sandbox) -> RunSession {
    let run = RunFolder::create(&sandbox.runs(), "live", "Mnist()").expect("a new folder");
    let mut session = RunSession::begin(&run).expect("a new run");
    session.record(0, Event::Started(Started { steps: 40, ..Started::default() })).expect("it can be written");
    session
}

fn again(run: &RunFolder, from_step: u64) -> RunSession {
    let mut session = RunSession::begin(run).expect("a session can begin");
    session.resume(from_step, 1.0).expect("it can be written");
    session
}

/// Reads the losses of a folder's event files by their steps. A restart makes those from its step on void.
fn losses(folder: &Path) -> io::Result<BTreeMap<i64, f64>> {
    let mut losses = BTreeMap::new();
    for file in event_files(folder)? {
        read_entries(&file, |entry| {
            match entry {
                Entry::Scalar { tag, step, value, .. } if tag == "loss" => drop(losses.insert(step, value)),
                Entry::Scalar { .. } => {}
                Entry::Restart { step } => losses.retain(|&before, _| before < step),
                other => return Err(io::Error::other(format!("expected numbers, found {other:?}"))),
            }
            Ok(())
        })?;
    }
    Ok(losses)
}

/// Expects the event file to show the points of the run, to single precision, each once, and to name the loss so often:
/// in each record, and where points begin also as the title.
#[track_caller]
fn equal(folder: &Path, run: &RunFolder, names: usize) {
    let mut reader = RunReader::new(run.clone());
    reader.poll().expect("it can be read");
    let curve = reader.history().curve(MetricId::LOSS);
    let expected: Vec<(i64, f64)> =
        curve.step.iter().map(|&step| step as i64).zip(curve.value.iter().map(|&it| f64::from(it as f32))).collect();
    let folder = folder.join(run.name());
    let found: Vec<(i64, f64)> = losses(&folder).expect("it can be read").into_iter().collect();
    assert_eq!(found, expected);
    let [file] = &fs::read_dir(&folder).expect("it is there").collect::<Vec<_>>()[..] else { panic!("one file") };
    let bytes = fs::read(file.as_ref().expect("it is there").path()).expect("it can be read");
    assert_eq!(bytes.windows(4).filter(|window| window == b"loss").count(), names);
}

#[test]
fn an_event_file_follows_a_run_and_its_resumes_without_repeats() {
    let sandbox = Sandbox::new();
    let logs = sandbox.join("logs");
    let mut session = begun(&sandbox);
    let run = session.run().clone();
    train(&mut session, 1..=20, 1.0);
    let mut live = LiveEvents::new(run.clone(), &logs);
    live.poll().expect("it can be written");
    equal(&logs, &run, 21);
    train(&mut session, 21..=25, 1.0);
    live.poll().expect("it can be written");
    equal(&logs, &run, 26);
    // The five steps after the tenth are taken again, the others not yet: all fifteen are written again.
    drop(session);
    let mut session = again(&run, 10);
    train(&mut session, 11..=15, 2.0);
    live.poll().expect("it can be written");
    equal(&logs, &run, 42);
    let other = LiveEvents::new(run.clone(), &logs).poll().expect_err("it is being written");
    assert!(other.to_string().contains("another command is writing it"), "{other}");
    drop(live);
    // A killed command leaves a part of a record, and misses a resume.
    let name = fs::read_dir(logs.join(run.name())).expect("it is there").next().expect("there is one");
    let path = name.expect("it is there").path();
    OpenOptions::new().append(true).open(path).and_then(|mut file| file.write_all(&[7; 9])).expect("it can be written");
    drop(session);
    let mut session = again(&run, 12);
    train(&mut session, 13..=30, 3.0);
    let mut live = LiveEvents::new(run.clone(), &logs);
    live.poll().expect("it can be written");
    equal(&logs, &run, 73);
    live.poll().expect("it can be written");
    equal(&logs, &run, 73);
}

#[test]
fn watch_writes_the_points_of_a_run_and_export_replaces_its_file() {
    let sandbox = Sandbox::new();
    let mut session = begun(&sandbox);
    let run = session.run().clone();
    let mut watch = sandbox.command(&["runs", "watch", "last", "--tensorboard", "logs"]).spawn().expect("it is there");
    train(&mut session, 1..=5, 1.0);
    let folder = sandbox.join("logs").join(run.name());
    wait_until("the points", || losses(&folder).is_ok_and(|losses| losses.len() == 5));
    train(&mut session, 6..=9, 1.0);
    session.record(9, Event::Finished).expect("it can be written");
    drop(session);
    assert!(watch.wait().expect("it ends").success());
    equal(&sandbox.join("logs"), &run, 10);
    expect(&sandbox.run(&["runs", "export", "last", "--tensorboard", "logs"]), 0, &["9 points"]);
    equal(&sandbox.join("logs"), &run, 10);
}
