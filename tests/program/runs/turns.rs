//! Changes of settings, and marks on curves.

use std::collections::BTreeMap;

use valleyscope_runs::{
    Event, MarkKind, RunCommand, RunFolder, RunHistory, RunReader, RunSession, SettingChange, send,
};

use super::worker::new_run;

fn change(name: &str, label: &str, before: f64, now: f64) -> SettingChange {
    SettingChange { name: name.to_owned(), label: label.to_owned(), before, now }
}

fn history(run: &RunFolder) -> RunHistory {
    let mut reader = RunReader::new(run.clone());
    reader.poll().unwrap();
    reader.history().clone()
}

#[test]
fn changes_are_in_force_until_the_run_goes_back_before_them() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    let mut session = RunSession::begin(&run).unwrap();
    session.answer_steps("a", 100).unwrap();
    let gamma = change("optimizer.gamma", "γ", 0.2, 0.4);
    session.record(10, Event::Changed { changes: vec![gamma.clone()] }).unwrap();
    let both = vec![change("optimizer.gamma", "γ", 0.4, 0.1 + 0.2), change("steps", "steps", 100.0, 150.0)];
    session.record(20, Event::Changed { changes: both.clone() }).unwrap();
    let whole = history(&run);
    assert_eq!(whole.steps(), Some(150));
    let expected = BTreeMap::from([("optimizer.gamma".to_owned(), 0.1 + 0.2), ("steps".to_owned(), 150.0)]);
    assert_eq!(whole.changed_settings(), expected, "with all bits");
    assert_eq!(whole.changes().len(), 3);
    let words: Vec<String> = whole.marks().into_iter().map(|mark| format!("{} {}", mark.step, mark.words)).collect();
    assert_eq!(words, ["10 γ 0.2 → 0.4", "20 γ 0.4 → 0.3", "20 steps 100 → 150"]);
    assert_eq!(whole.until(20), whole);
    drop(session);
    RunSession::begin(&run).unwrap().resume(15, 1.0).unwrap();
    let back = history(&run);
    assert_eq!((back.steps(), back.changes()), (Some(100), &[(10, gamma)][..]));
    let marks: Vec<_> = back.marks().into_iter().map(|mark| (mark.step, mark.kind)).collect();
    assert_eq!(marks, [(10, MarkKind::Changed), (15, MarkKind::Resumed)]);
}

#[test]
fn a_command_to_change_settings_arrives_with_all_bits() {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    let mut session = RunSession::begin(&run).unwrap();
    let settings = BTreeMap::from([("learning_rate".to_owned(), 0.1 + 0.2), ("batch_size".to_owned(), 64.0)]);
    send(&run, RunCommand::Set { settings: settings.clone() }).unwrap();
    let received = session.commands().unwrap();
    assert_eq!(received.into_iter().map(|(_, command)| command).collect::<Vec<_>>(), [RunCommand::Set { settings }]);
}
