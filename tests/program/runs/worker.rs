//! A worker in a process of its own, which trains nothing but does all else that a worker does: it records events,
//! saves checkpoints, receives commands and signals, and resumes.
//!
//! It is this test program itself, told by an environment variable to be the worker.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use valleyscope_runs::{
    Event, Handshake, MetricId, MetricValues, PROTOCOL, RunCommand, RunFolder, RunSession, SessionError, Started,
    StopRequest,
};

pub use crate::sandbox::wait_until;

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
    session.echo_to(std::io::stdout());
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

/// Returns a run that no worker has begun.
pub fn new_run(parent: &Path) -> RunFolder {
    RunFolder::create(parent, "nothing", "Nothing()").unwrap()
}

pub fn lines(path: impl AsRef<OsStr>) -> usize {
    fs::read(Path::new(path.as_ref())).map_or(0, |bytes| bytes.iter().filter(|&&byte| byte == b'\n').count())
}
