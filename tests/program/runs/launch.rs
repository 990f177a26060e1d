//! Workers: found, queried, and started in a session of their own.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use valleyscope_experiments::preset::built_ins;
use valleyscope_experiments::run::Capacity;
use valleyscope_experiments::workload::DeviceChoice;
use valleyscope_runs::{Handshake, LaunchError, PROTOCOL, RunReader, Status, Timestamp, WorkerProgram, last_words};

use super::worker::{self, new_run, wait_until};
use crate::put_program::put_program;
use crate::sandbox::signal;

const PATIENCE: Duration = Duration::from_secs(120);

/// Returns a program that runs a shell script.
fn program(sandbox: &TempDir, script: &str) -> WorkerProgram {
    let path = sandbox.path().join("worker");
    put_program(&path, &format!("#!/bin/sh\n{script}"));
    WorkerProgram::find(Some(&path)).unwrap()
}

/// Returns a worker that takes commands as the real one does.
fn real(sandbox: &TempDir, steps: u64, manner: &str) -> WorkerProgram {
    let work = worker::script(steps, manner);
    let greet = worker::script(0, "handshake");
    program(sandbox, &format!("if [ \"$1\" = --handshake ]; then exec env {greet}; fi\nshift\nexec env {work}"))
}

/// Returns the sizes in a sentence, in bytes.
fn sizes(sentence: &str) -> Vec<f64> {
    let words: Vec<&str> = sentence.split(|letter: char| letter.is_whitespace() || letter == ',').collect();
    let size = |pair: &[&str]| match pair[1] {
        "MiB" => Some(pair[0].parse::<f64>().unwrap() * f64::from(1 << 20)),
        "GiB" => Some(pair[0].parse::<f64>().unwrap() * f64::from(1 << 30)),
        _ => None,
    };
    words.windows(2).filter_map(size).collect()
}

#[test]
fn stated_sizes_agree_with_the_conclusion() {
    let preset = &built_ins().iter().find(|built_in| built_in.name == "mnist").unwrap().preset;
    let mut needs = preset.workload().unwrap().needs(0).unwrap();
    let mut capacity = Capacity::look(DeviceChoice::Cpu, &Handshake::default(), Path::new("."));
    capacity.memory = None;
    for needed in [1_500_000, 2 << 20, 90 << 20, 1_048_000_000, 1_600_000_000, 40_000_000_000] {
        for free in [needed - needed / 1000, needed - 1, needed, needed + 1, needed + needed / 1000] {
            (needs.disk, capacity.disk) = (needed, Some(free));
            let lacks = capacity.lacks(&needs, None);
            assert_eq!(lacks.is_some(), free < needed);
            if let Some(complaint) = lacks {
                let [said, there] = sizes(&complaint).try_into().unwrap();
                assert!(there <= free as f64 && free < needed && needed as f64 <= said, "{complaint}");
            } else {
                let words = capacity.words(&needs);
                let [_, said, there] = sizes(&words).try_into().unwrap();
                assert!(needed as f64 <= said && said <= there, "{words}");
            }
        }
    }
}

#[test]
fn a_missing_worker_is_named() {
    let error = WorkerProgram::find(Some(Path::new("/nowhere/worker"))).unwrap_err().to_string();
    assert!(
        error.contains("--worker") && error.contains("/nowhere/worker") && error.contains("cargo xtask setup"),
        "{error}"
    );
    let missing = LaunchError::Missing.to_string();
    assert!(missing.contains("cargo xtask setup") && missing.contains("VALLEYSCOPE_TRAIN"), "{missing}");
}

#[test]
fn a_handshake_describes_the_worker() {
    let sandbox = tempfile::tempdir().unwrap();
    let handshake = real(&sandbox, 0, "").handshake().unwrap();
    assert_eq!((handshake.protocol, &*handshake.version), (PROTOCOL, "0.1.0"));
    let line = r#"{"version":"9","protocol":PROTOCOL,"libtorch":"2.11.0","cuda":"13.0","devices":[{"name":"cpu","kind":"CPU","memory":null},{"name":"cuda:0","kind":"H200","memory":150000000000}],"problem":null,"more":1}"#;
    let line = line.replace("PROTOCOL", &PROTOCOL.to_string());
    let handshake = program(&sandbox, &format!("echo '{line}'; echo goodbye")).handshake().unwrap();
    assert_eq!(handshake.devices[1].memory, Some(150_000_000_000));
    assert_eq!(handshake.cuda.as_deref(), Some("13.0"));
}

#[test]
fn another_protocol_is_refused() {
    let sandbox = tempfile::tempdir().unwrap();
    let error = program(&sandbox, "echo '{\"protocol\": 99, \"devices\": 3}'").handshake().unwrap_err();
    assert!(matches!(error, LaunchError::Protocol { found: 99, .. }));
    let said = error.to_string();
    assert!(said.contains("protocol 99") && said.contains("cargo xtask setup"), "{said}");
}

#[test]
fn a_worker_that_cannot_start_reports_the_reason() {
    let sandbox = tempfile::tempdir().unwrap();
    let broken = program(&sandbox, "echo 'libtorch.so: cannot open shared object file' >&2; exit 127");
    let said = broken.handshake().unwrap_err().to_string();
    assert!(said.contains("127") && said.contains("libtorch.so") && said.contains("cargo xtask setup"), "{said}");
    fs::write(sandbox.path().join("worker"), "not a program").unwrap();
    assert!(matches!(broken.handshake(), Err(LaunchError::Spawn { .. })));
}

#[test]
fn a_worker_trains_and_is_resumed() {
    let sandbox = tempfile::tempdir().unwrap();
    let run = new_run(sandbox.path());
    let launched = real(&sandbox, 300, "").start(&run, false, None).unwrap();
    launched.wait_until_at_work(PATIENCE).unwrap();
    wait_until("the end", || launched.exit().is_some());
    let mut reader = RunReader::new(run.clone());
    assert_eq!(reader.status(Timestamp::now()).unwrap(), Status::Finished, "{}", last_words(&run));
    real(&sandbox, 500, "").start(&run, true, None).unwrap().wait_until_at_work(PATIENCE).unwrap();
    wait_until("the second end", || {
        reader.status(Timestamp::now()).unwrap() == Status::Finished && reader.history().step() == 500
    });
}

/// The clock of the process that writes the lock may be behind.
#[cfg(target_os = "linux")]
#[test]
fn a_worker_counts_as_running_whatever_its_clock() {
    let sandbox = tempfile::tempdir().unwrap();
    let run = new_run(sandbox.path());
    drop(valleyscope_runs::RunSession::begin(&run).unwrap());
    let owner = r#"{"host":"here","pid":1,"started":"2026-03-01T12:00:00Z","lines":0}"#;
    let script =
        format!("exec 9> \"$2/lock\"\nflock 9\necho '{owner}' >&9\nwhile [ -e \"$2/go-on\" ]; do sleep 0.05; done");
    let going_on = run.path().join("go-on");
    fs::write(&going_on, "").unwrap();
    let launched = program(&sandbox, &script).start(&run, true, None).unwrap();
    launched.wait_until_at_work(PATIENCE).unwrap();
    assert!(launched.exit().is_none());
    fs::remove_file(going_on).unwrap();
    wait_until("the end", || launched.exit().is_some());
}

#[test]
fn an_early_crash_is_reported_with_the_last_log_lines() {
    let sandbox = tempfile::tempdir().unwrap();
    let run = new_run(sandbox.path());
    let launched = real(&sandbox, 300, "dies at once").start(&run, false, None).unwrap();
    match launched.wait_until_at_work(PATIENCE) {
        Err(error @ LaunchError::Died { .. }) => assert!(error.to_string().contains("no device is left"), "{error}"),
        other => panic!("{other:?}"),
    }
}

/// A worker that began and failed between two polls has begun: the run's events describe the outcome.
#[cfg(target_os = "linux")]
#[test]
fn a_worker_that_has_held_the_run_and_failed_has_begun() {
    let sandbox = tempfile::tempdir().unwrap();
    let run = new_run(sandbox.path());
    drop(valleyscope_runs::RunSession::begin(&run).unwrap());
    let owner = r#"{\"host\":\"$(uname -n)\",\"pid\":1,\"started\":\"2026-03-01T12:00:00Z\",\"lines\":0}"#;
    let script = format!("echo \"{owner}\" > \"$2/lock\"\necho 'the loss is not finite' >&2\nexit 1");
    let launched = program(&sandbox, &script).start(&run, true, None).unwrap();
    wait_until("the end", || launched.exit().is_some());
    launched.wait_until_at_work(PATIENCE).unwrap();
}

#[test]
fn a_refused_worker_reports_the_owner_of_the_run() {
    let sandbox = tempfile::tempdir().unwrap();
    let run = new_run(sandbox.path());
    let _session = valleyscope_runs::RunSession::begin(&run).unwrap();
    let launched = real(&sandbox, 300, "").start(&run, false, None).unwrap();
    match launched.wait_until_at_work(PATIENCE) {
        Err(error @ LaunchError::Died { .. }) => {
            assert!(error.to_string().contains("already being trained"), "{error}")
        }
        other => panic!("{other:?}"),
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_worker_has_a_session_of_its_own_and_leaves_no_trace() {
    let sandbox = tempfile::tempdir().unwrap();
    let run = new_run(sandbox.path());
    let launched = real(&sandbox, u64::MAX, "slow").start(&run, false, None).unwrap();
    launched.wait_until_at_work(PATIENCE).unwrap();
    let process = PathBuf::from(format!("/proc/{}", launched.pid()));
    let stat = fs::read_to_string(process.join("stat")).unwrap();
    let session: u32 = stat.rsplit(')').next().unwrap().split_whitespace().nth(3).unwrap().parse().unwrap();
    assert_eq!(session, launched.pid());
    // The end of the terminal does not end the worker, but a request to end does.
    signal("HUP", launched.pid());
    signal("PIPE", launched.pid());
    let before = worker::lines(run.events());
    wait_until("more events", || worker::lines(run.events()) > before);
    assert!(launched.exit().is_none());
    signal("TERM", launched.pid());
    wait_until("the end", || launched.exit().is_some());
    assert!(!process.exists(), "it was waited for");
    assert_eq!(RunReader::new(run).status(Timestamp::now()).unwrap(), Status::Stopped);
}
