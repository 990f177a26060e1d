//! Folders of runs: made, found, annotated, removed.

use std::fs;
use std::time::Duration;

use valleyscope_runs::{FolderError, Notes, RemoveError, RunFolder, RunSession, Timestamp, check_removable, remove};

use super::worker::new_run;

#[test]
fn a_run_gets_a_folder_of_its_own() {
    let place = tempfile::tempdir().unwrap();
    let parent = place.path().join("not/yet/there");
    let runs: Vec<RunFolder> = (0..3).map(|_| RunFolder::create(&parent, "mnist", "Mnist()").unwrap()).collect();
    for run in &runs {
        assert_eq!(fs::read_to_string(run.config()).unwrap(), "Mnist()");
        let name = run.name();
        let time = name.strip_prefix("mnist-").unwrap();
        assert!(time.len() >= 16 && time.as_bytes()[8] == b'T' && time.contains('Z'), "{name}");
        assert!(run.path().is_absolute());
    }
    let mut listed = RunFolder::list(&parent).unwrap();
    listed.sort_by_key(RunFolder::name);
    let mut made = runs.clone();
    made.sort_by_key(RunFolder::name);
    assert_eq!(
        listed.iter().map(RunFolder::name).collect::<Vec<_>>(),
        made.iter().map(RunFolder::name).collect::<Vec<_>>()
    );
    assert_eq!(made.windows(2).filter(|pair| pair[0] == pair[1]).count(), 0);
}

#[test]
fn names_suit_every_system() {
    let place = tempfile::tempdir().unwrap();
    for (stem, begins) in
        [("a b/c:d", "a-b-c-d-"), ("../up", "up-"), ("", "run-"), ("γ = 0.2", "0.2-"), (".hidden", "hidden-")]
    {
        let run = RunFolder::create(place.path(), stem, "").unwrap();
        assert!(run.name().starts_with(begins), "{stem:?} gave {}", run.name());
        assert_eq!(run.path().parent().unwrap(), place.path().canonicalize().unwrap());
    }
    let long = RunFolder::create(place.path(), &"x".repeat(1000), "").unwrap();
    assert!(long.name().len() < 120);
}

#[test]
fn only_runs_are_listed_and_opened() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    fs::create_dir(place.path().join("pictures")).unwrap();
    fs::write(place.path().join("config.ron"), "").unwrap();
    assert_eq!(RunFolder::list(place.path()).unwrap().len(), 1);
    assert!(RunFolder::list(&place.path().join("nowhere")).unwrap().is_empty());
    assert_eq!(RunFolder::open(run.path()).unwrap(), run);
    assert!(matches!(RunFolder::open(&place.path().join("pictures")), Err(FolderError::Foreign(_))));
    assert!(matches!(RunFolder::open(&place.path().join("nowhere")), Err(FolderError::Missing(_))));
}

#[test]
fn a_file_in_the_place_of_a_folder_is_named() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    let error = RunFolder::create(&file, "mnist", "").unwrap_err().to_string();
    assert!(error.contains(&file.display().to_string()), "{error}");
}

#[test]
fn notes_are_stored_beside_the_run() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    assert_eq!(Notes::read(&run).unwrap(), Notes::default());
    let notes = Notes { title: "The good one".into(), note: "two\nlines, \"quoted\"".into(), ..Notes::default() };
    notes.write(&run).unwrap();
    assert_eq!(Notes::read(&run).unwrap(), notes);
    fs::write(run.notes(), "(title: 3)").unwrap();
    let error = Notes::read(&run).unwrap_err().to_string();
    assert!(error.contains("notes.ron") && error.contains("title"), "{error}");
}

#[test]
fn a_living_run_is_not_removed() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    assert!(matches!(check_removable(&run), Err(RemoveError::Alive(_))), "it may be starting");
    let mut session = RunSession::begin(&run).unwrap();
    assert!(matches!(remove(&run), Err(RemoveError::Alive(_))));
    session.record(0, valleyscope_runs::Event::Stopped).unwrap();
    drop(session);
    check_removable(&run).unwrap();
    remove(&run).unwrap();
    assert!(!run.path().exists());
}

#[test]
fn a_run_on_another_machine_is_removed_only_after_a_long_silence() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    fs::write(run.lock(), r#"{"host":"far-away","pid":1,"started":"2026-03-01T12:00:00Z","lines":0}"#).unwrap();
    let heard = |seconds| {
        let beat = Timestamp::now() - Duration::from_secs(seconds);
        fs::write(run.heartbeat(), format!("{beat}\n")).unwrap();
    };
    heard(300);
    match remove(&run) {
        Err(error @ RemoveError::MayLive { .. }) => assert!(error.to_string().contains("on far-away"), "{error}"),
        other => panic!("{other:?}"),
    }
    heard(600);
    remove(&run).unwrap();
    assert!(!run.path().exists());
}
