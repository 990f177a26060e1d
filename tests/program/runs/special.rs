//! Links, FIFOs and folders in the place of a run's files: nothing is written through them, and none blocks a reader.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use valleyscope_experiments::run::RunConfig;
use valleyscope_runs::{
    LockState, Notes, RunCommand, RunFolder, RunReader, RunSession, Timestamp, WorkerProgram, check_removable, send,
};

use super::worker::new_run;
use crate::sandbox::make_fifo;

/// Functions that replace a file by something else.
const WAYS: [fn(&Path, &Path); 4] = [
    |path, victim| std::os::unix::fs::symlink(victim, path).unwrap(),
    |path, _| std::os::unix::fs::symlink("/nowhere/at/all", path).unwrap(),
    |path, _| make_fifo(path),
    |path, _| fs::create_dir(path).unwrap(),
];

/// Returns the result of `work`; panics if it seems to hang.
fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, outcome) = mpsc::channel();
    std::thread::spawn(move || done.send(work()));
    outcome.recv_timeout(Duration::from_secs(120)).expect("it hangs, or it panicked")
}

/// Runs `work` on a run in which each of these files in turn is replaced in each way, and returns the outcomes.
fn with_special<T: Send + 'static>(
    file: fn(&RunFolder) -> PathBuf,
    work: impl Fn(&RunFolder) -> T + Clone + Send + 'static,
) -> Vec<T> {
    let outcomes = WAYS.map(|put| {
        let sandbox = tempfile::tempdir().unwrap();
        let run = new_run(sandbox.path());
        drop(RunSession::begin(&run).unwrap());
        let victim = sandbox.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        let _ = fs::remove_file(file(&run));
        put(&file(&run), &victim);
        let kind = file(&run).symlink_metadata().unwrap().file_type();
        let (run, work) = (run.clone(), work.clone());
        let (outcome, run) = in_time(move || (work(&run), run));
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        assert!(!Path::new("/nowhere").exists());
        assert_eq!(file(&run).symlink_metadata().unwrap().file_type(), kind, "it is as it was");
        outcome
    });
    outcomes.into()
}

#[test]
fn a_session_writes_plain_files_only() {
    let files: [fn(&RunFolder) -> PathBuf; 4] =
        [RunFolder::lock, RunFolder::heartbeat, RunFolder::events, RunFolder::reserve];
    for file in files {
        for outcome in with_special(file, |run| RunSession::begin(run).map(drop).map_err(|error| error.to_string())) {
            let said = outcome.unwrap_err();
            assert!(said.contains("expected a plain file, found a"), "{said}");
        }
    }
}

#[test]
fn commands_are_sent_and_received_in_plain_files_only() {
    for outcome in with_special(RunFolder::commands, |run| send(run, RunCommand::Save)) {
        outcome.unwrap_err();
    }
    let hear = |run: &RunFolder| match RunSession::begin(run) {
        Ok(mut session) => session.commands().map(drop).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    for outcome in with_special(RunFolder::commands, hear) {
        let said = outcome.unwrap_err();
        assert!(said.contains("commands.jsonl") && said.contains("expected a plain file"), "{said}");
    }
}

#[test]
fn notes_and_logs_are_plain_files() {
    let write = |run: &RunFolder| Notes { title: "Mine".into(), ..Notes::default() }.write(run);
    for outcome in with_special(RunFolder::notes, move |run| (Notes::read(run), write(run))) {
        outcome.0.unwrap_err();
        outcome.1.unwrap_err();
    }
    let start = |run: &RunFolder| {
        let worker = WorkerProgram::find(Some(Path::new("/bin/sh"))).unwrap();
        worker.start(run, false, None).map(drop).map_err(|error| error.to_string())
    };
    for outcome in with_special(RunFolder::log, start) {
        let said = outcome.unwrap_err();
        assert!(said.contains("log.txt") && said.contains("expected a plain file"), "{said}");
    }
}

#[test]
fn special_files_do_not_block_watchers() {
    let files: [fn(&RunFolder) -> PathBuf; 3] = [RunFolder::lock, RunFolder::heartbeat, RunFolder::config];
    for file in files {
        let look = |run: &RunFolder| {
            let lock_state = LockState::of(run);
            let status = RunReader::new(run.clone()).status(Timestamp::now()).unwrap();
            let _ = (check_removable(run), RunConfig::read(run), run.made());
            (lock_state, status.word())
        };
        assert_eq!(with_special(file, look).len(), WAYS.len());
    }
    for outcome in with_special(RunFolder::lock, LockState::of) {
        assert_eq!(outcome, LockState::Unknown);
    }
    for outcome in with_special(RunFolder::config, |run| RunConfig::read(run).map_err(|error| error.to_string())) {
        let said = outcome.unwrap_err();
        assert!(said.contains("config.ron") && said.contains("expected a plain file"), "{said}");
    }
}
