//! The file that holds the session between two starts, with damaged files and bad sessions.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use valleyscope::app::store::Store;

const KEY: &str = "valleyscope.session";

fn store(folder: &TempDir) -> Store {
    Store::new(folder.path().join("app.ron"))
}

fn stored(path: PathBuf) -> std::collections::HashMap<String, String> {
    ron::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn a_missing_store_is_not_reported() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path().join("not/yet/app.ron"));
    assert_eq!(store.check(), None);
    store.keep("mine".to_owned()).unwrap();
    assert_eq!(store.check(), None);
    assert_eq!(stored(store.path().to_owned())[KEY], "mine");
}

#[test]
fn storing_a_session_preserves_other_values() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("app.ron"), r#"{"window": "large", "valleyscope.session": "old"}"#).unwrap();
    store(&folder).keep("new".to_owned()).unwrap();
    let values = stored(folder.path().join("app.ron"));
    assert_eq!((&values["window"][..], &values[KEY][..]), ("large", "new"));
}

#[test]
fn a_session_that_crashed_the_window_is_set_aside_and_reported_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    store.keep("bad".to_owned()).unwrap();
    let aside = store.set_aside("index out of bounds").unwrap().unwrap();
    assert_eq!(stored(aside.clone())[KEY], "bad");
    assert!(!stored(store.path().to_owned()).contains_key(KEY), "the next start does not find it");
    let (title, text) = store.check().unwrap();
    assert_eq!(title, "The last session was not restored");
    assert!(text.contains("index out of bounds") && text.contains(&*aside.to_string_lossy()), "{text}");
    assert_eq!(store.check(), None);

    fs::rename(aside, store.path()).unwrap();
    assert_eq!(store.check(), None);
    assert_eq!(stored(store.path().to_owned())[KEY], "bad", "it can be tried again");
}

#[test]
fn files_set_aside_before_stay() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let asides = ["first", "second", "third"].map(|session| {
        store.keep(session.to_owned()).unwrap();
        store.set_aside("again").unwrap().unwrap()
    });
    assert_eq!(asides.map(|aside| stored(aside)[KEY].clone()), ["first", "second", "third"]);
    fs::remove_file(store.path()).unwrap();
    assert_eq!(store.set_aside("again").unwrap(), None, "there is none");
}

#[test]
fn a_damaged_store_is_kept_aside() {
    for damaged in [&b"{\"valleyscope.session\": \"cut"[..], b"\xff\xfe\x00"] {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        fs::write(store.path(), damaged).unwrap();
        let (_, text) = store.check().unwrap();
        assert!(text.contains("is damaged") && text.contains("app.unreadable.ron"), "{text}");
        assert_eq!(fs::read(folder.path().join("app.unreadable.ron")).unwrap(), damaged);
        assert_eq!(store.check(), None);
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let (title, text) = Store::new(folder.path().join("file/app.ron")).check().unwrap();
    assert_eq!(title, "The session can't be saved");
    assert!(text.contains("cannot write to the folder of"), "{text}");
}
