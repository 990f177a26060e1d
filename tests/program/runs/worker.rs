//! A worker in a process of its own, which trains nothing but does all else that a worker does: it records events,
//! saves checkpoints, receives commands and signals, and resumes.
//!
//! It is this test program itself, told by an environment variable to be the worker.

#![cfg(unix)]

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use tempfile::TempDir;
use valleyscope_experiments::preset::built_ins;
use valleyscope_experiments::run::Capacity;
use valleyscope_experiments::workload::DeviceChoice;
use valleyscope_runs::{
    Event, Handshake, LaunchError, MetricId, MetricValues, PROTOCOL, RunCommand, RunFolder, RunReader, RunSession,
    SessionError, Started, Status, StopRequest, Timestamp, WorkerProgram, last_output,
};

use crate::doctor::signal;
use crate::put_program::put_program;
use crate::says::says;

pub use crate::doctor::wait_until;

const RUN: &str = "VALLEYSCOPE_TEST_RUN";
const STEPS: &str = "VALLEYSCOPE_TEST_STEPS";
const MANNER: &str = "VALLEYSCOPE_TEST_MANNER";
const TEST: [&str; 4] = ["runs::worker::acts_as_worker_when_requested", "--exact", "--ignored", "--nocapture"];

/// The number of steps between two checkpoints.
pub const EVERY: u64 = 97;

/// Returns the invented loss after a step.
pub fn loss(step: u64) -> f64 {
    if step.is_multiple_of(50) { f64::NAN } else { 1.0 / (step as f64 + 0.3) }
}

#[test]
#[ignore = "the worker of the other tests"]
fn acts_as_worker_when_requested() {
    let Some(folder) = std::env::var_os(RUN) else { return };
    let manner = std::env::var(MANNER).unwrap_or_default();
    if manner.contains("handshake") {
        let handshake = Handshake { version: "0.1.0".into(), protocol: PROTOCOL, ..Handshake::default() };
        println!("\nsomething that a library says\n{}", handshake.to_line());
        std::process::exit(0);
    }
    let steps = std::env::var(STEPS).map_or(300, |steps| steps.parse().unwrap());
    let code = match work(Path::new(&folder), steps, &manner) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("error: {error}");
            1
        }
    };
    std::process::exit(code);
}

fn work(folder: &Path, steps: u64, manner: &str) -> Result<(), Box<dyn std::error::Error>> {
    let stop = StopRequest::listen()?;
    if manner.contains("dies at once") {
        return Err("no device is left".into());
    }
    let run = RunFolder::open(folder)?;
    let mut session = RunSession::begin(&run)?;
    session.echo_to(|line| std::io::stdout().write_all(line.as_bytes()));
    match train(&mut session, steps, manner, &stop) {
        Err(error) => {
            let step = 0;
            let _ = session.record(step, Event::Failed { message: error.to_string() });
            Err(error.into())
        }
        Ok(()) => Ok(()),
    }
}

fn train(session: &mut RunSession, mut steps: u64, manner: &str, stop: &StopRequest) -> Result<(), SessionError> {
    let mut step = 0;
    if session.is_new() {
        let started = Started { title: "Nothing".into(), kind: "Mnist".into(), steps, ..Started::default() };
        session.record(0, Event::Started(started))?;
    } else {
        let saved = fs::read_to_string(session.run().path().join("checkpoint")).unwrap_or_else(|_| "0 0".into());
        let (at, wall_s) = saved.split_once(' ').unwrap();
        step = at.parse().unwrap();
        session.resume(step, wall_s.parse().unwrap())?;
    }
    session.begin_training();
    while step < steps {
        if manner.contains("slow") {
            thread::sleep(Duration::from_micros(300));
        }
        step += 1;
        let train = MetricValues::from([
            (MetricId::LOSS, loss(step)),
            (MetricId::LEARNING_RATE, 0.1),
            (MetricId::GRAD_NORM, 2.0),
            (MetricId::SAMPLES_PER_S, 3.0),
        ]);
        session.record(step, Event::Train(train))?;
        if step.is_multiple_of(EVERY) {
            session.record(step, Event::Eval(MetricValues::from([(MetricId::TEST_LOSS, loss(step))])))?;
            save(session, step)?;
        }
        let mut asked = stop.is_raised();
        if !manner.contains("deaf") {
            for (id, command) in session.commands()? {
                match command {
                    RunCommand::Stop => {
                        asked = true;
                        session.answer(&id, true, "stopping")?;
                    }
                    RunCommand::SetSteps { n } => {
                        steps = n;
                        session.answer_steps(&id, n)?;
                    }
                    _ => session.answer(&id, false, "not here")?,
                }
            }
        }
        if asked {
            save(session, step)?;
            return session.record(step, Event::Stopped);
        }
    }
    save(session, step)?;
    session.record(step, Event::Finished)
}

fn save(session: &mut RunSession, step: u64) -> Result<(), SessionError> {
    session.sync()?;
    let path = session.run().path().join("checkpoint");
    let aside = path.with_extension("tmp");
    let failed = |source| session.failure(path.clone(), source);
    fs::write(&aside, format!("{step} {}", session.wall_s())).map_err(failed)?;
    fs::rename(&aside, &path).map_err(failed)?;
    session.record(step, Event::Checkpoint { file: "checkpoint".to_owned() })
}

/// Returns the command that makes this program the worker of a run.
pub fn command(run: &RunFolder, steps: u64, manner: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(TEST).env(RUN, run.path()).env(STEPS, steps.to_string()).env(MANNER, manner);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Returns the shell script that makes this program the worker of the run in the folder `$1`.
pub fn script(steps: u64, manner: &str) -> String {
    let program = std::env::current_exe().unwrap();
    let program = program.display();
    format!("{RUN}=\"$1\" {STEPS}={steps} {MANNER}='{manner}' '{program}' {}", TEST.join(" "))
}

pub fn start(run: &RunFolder, steps: u64, manner: &str) -> Child {
    command(run, steps, manner).spawn().unwrap()
}

pub fn new_run(parent: &Path) -> RunFolder {
    RunFolder::create(parent, "nothing", "Nothing()").unwrap()
}

/// Returns a run that no worker has begun, and the folder that holds it.
pub fn fresh_run() -> (TempDir, RunFolder) {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    (place, run)
}

pub fn lines(path: impl AsRef<OsStr>) -> usize {
    fs::read(Path::new(path.as_ref())).map_or(0, |bytes| bytes.iter().filter(|&&byte| byte == b'\n').count())
}

const PATIENCE: Duration = Duration::from_secs(120);

/// Returns a program that runs a shell script.
fn program(sandbox: &TempDir, script: &str) -> WorkerProgram {
    let path = sandbox.path().join("worker");
    put_program(&path, &format!("#!/bin/sh\n{script}"));
    WorkerProgram::find(Some(&path)).unwrap()
}

/// Returns a worker that takes commands as the real one does.
fn real(sandbox: &TempDir, steps: u64, manner: &str) -> WorkerProgram {
    let work = script(steps, manner);
    let greet = script(0, "handshake");
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
    let mut capacity = Capacity::measure(DeviceChoice::Cpu, &Handshake::default(), Path::new("."));
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
                let words = capacity.text(&needs);
                let [_, said, there] = sizes(&words).try_into().unwrap();
                assert!(needed as f64 <= said && said <= there, "{words}");
            }
        }
    }
}

#[test]
fn a_missing_worker_is_named() {
    let error = WorkerProgram::find(Some(Path::new("/nowhere/worker"))).unwrap_err().to_string();
    says(&error, &["--worker", "/nowhere/worker", "cargo xtask setup"]);
    says(LaunchError::Missing.to_string(), &["cargo xtask setup", "VALLEYSCOPE_TRAIN"]);
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
    says(error.to_string(), &["protocol 99", "cargo xtask setup"]);
}

#[test]
fn a_worker_that_cannot_start_reports_the_reason() {
    let sandbox = tempfile::tempdir().unwrap();
    let broken = program(&sandbox, "echo 'libtorch.so: cannot open shared object file' >&2; exit 127");
    says(broken.handshake().unwrap_err(), &["127", "libtorch.so", "cargo xtask setup"]);
    fs::write(sandbox.path().join("worker"), "not a program").unwrap();
    assert!(matches!(broken.handshake(), Err(LaunchError::Spawn { .. })));
}

#[test]
fn a_worker_trains_and_is_resumed() {
    let (sandbox, run) = fresh_run();
    let launched = real(&sandbox, 300, "").start(&run, false, None).unwrap();
    launched.wait_until_at_work(PATIENCE).unwrap();
    wait_until("the end", || launched.exit().is_some());
    let mut reader = RunReader::new(run.clone());
    assert_eq!(reader.status(Timestamp::now()).unwrap(), Status::Finished, "{}", last_output(&run));
    real(&sandbox, 500, "").start(&run, true, None).unwrap().wait_until_at_work(PATIENCE).unwrap();
    wait_until("the second end", || {
        reader.status(Timestamp::now()).unwrap() == Status::Finished && reader.history().step() == 500
    });
}

/// The clock of the process that writes the lock may be behind.
#[cfg(target_os = "linux")]
#[test]
fn a_worker_counts_as_running_whatever_its_clock() {
    let (sandbox, run) = fresh_run();
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
    let (sandbox, run) = fresh_run();
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
    let (sandbox, run) = fresh_run();
    drop(valleyscope_runs::RunSession::begin(&run).unwrap());
    let owner = r#"{\"host\":\"$(uname -n)\",\"pid\":1,\"started\":\"2026-03-01T12:00:00Z\",\"lines\":0}"#;
    let script = format!("echo \"{owner}\" > \"$2/lock\"\necho 'the loss is not finite' >&2\nexit 1");
    let launched = program(&sandbox, &script).start(&run, true, None).unwrap();
    wait_until("the end", || launched.exit().is_some());
    launched.wait_until_at_work(PATIENCE).unwrap();
}

#[test]
fn a_refused_worker_reports_the_owner_of_the_run() {
    let (sandbox, run) = fresh_run();
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
    let (sandbox, run) = fresh_run();
    let launched = real(&sandbox, u64::MAX, "slow").start(&run, false, None).unwrap();
    launched.wait_until_at_work(PATIENCE).unwrap();
    let process = PathBuf::from(format!("/proc/{}", launched.pid()));
    let stat = fs::read_to_string(process.join("stat")).unwrap();
    let session: u32 = stat.rsplit(')').next().unwrap().split_whitespace().nth(3).unwrap().parse().unwrap();
    assert_eq!(session, launched.pid());
    // The end of the terminal does not end the worker, but a request to end does.
    signal("HUP", launched.pid());
    signal("PIPE", launched.pid());
    let before = lines(run.events());
    wait_until("more events", || lines(run.events()) > before);
    assert!(launched.exit().is_none());
    signal("TERM", launched.pid());
    wait_until("the end", || launched.exit().is_some());
    assert!(!process.exists(), "it was waited for");
    assert_eq!(RunReader::new(run).status(Timestamp::now()).unwrap(), Status::Stopped);
}
