//! The folder through which the set-up of the training worker reports its progress.

use std::fs;

use valleyscope_machine::{SetUp, SetUpRefusal, SetUpState, WorkerFolder};

#[test]
fn the_status_of_a_set_up_is_readable_during_and_after_it() {
    let base = tempfile::tempdir().unwrap();
    let folder = WorkerFolder::at(&base.path().join("valleyscope/worker"));
    assert_eq!(folder.status(), None);
    assert!(!folder.is_being_set_up());

    let session = SetUp::begin(&folder).unwrap();
    session.report(SetUpState::Working, "Building", (2, 3), Some(40));
    assert!(folder.is_being_set_up());
    let status = folder.status().expect("a status");
    assert_eq!((status.state, status.message.as_str()), (SetUpState::Working, "Building"));
    assert_eq!((status.step, status.percent, status.pid), ((2, 3), Some(40), std::process::id()));

    session.report(SetUpState::Done, "It works", (3, 3), None);
    drop(session);
    assert!(!folder.is_being_set_up());
    assert_eq!(folder.status().map(|status| status.state), Some(SetUpState::Done));
}

#[test]
fn a_set_up_without_an_outcome_was_interrupted() {
    let base = tempfile::tempdir().unwrap();
    let folder = WorkerFolder::at(base.path());
    let session = SetUp::begin(&folder).unwrap();
    session.report(SetUpState::Working, "Building", (2, 3), None);
    drop(session);
    assert_eq!(folder.status().map(|status| status.state), Some(SetUpState::Interrupted));
}

#[test]
fn there_is_one_set_up_at_a_time() {
    let base = tempfile::tempdir().unwrap();
    let folder = WorkerFolder::at(base.path());
    let first = SetUp::begin(&folder).unwrap();
    assert!(matches!(SetUp::begin(&folder), Err(SetUpRefusal::Held)));
    drop(first);
    assert!(SetUp::begin(&folder).is_ok());
}

#[test]
fn a_cancellation_affects_only_the_running_set_up() {
    let base = tempfile::tempdir().unwrap();
    let folder = WorkerFolder::at(base.path());
    let first = SetUp::begin(&folder).unwrap();
    assert!(!first.is_cancelled());
    folder.cancel().unwrap();
    assert!(first.is_cancelled());
    drop(first);
    // A request without a running set-up is dropped too.
    folder.cancel().unwrap();
    assert!(!SetUp::begin(&folder).unwrap().is_cancelled());
}

#[test]
fn a_folder_that_cannot_be_made_is_refused() {
    let base = tempfile::tempdir().unwrap();
    fs::write(base.path().join("file"), "").unwrap();
    let folder = WorkerFolder::at(&base.path().join("file/worker"));
    assert!(matches!(SetUp::begin(&folder), Err(SetUpRefusal::Folder(_))));
    assert_eq!(folder.status(), None);
}
