//! `valleyscope runs stop`: asks a worker to save a checkpoint and end.

use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use valleyscope_engine::terminal_escape::visible_path;
use valleyscope_runs::{CommandRequest, Reply, RunCommand, RunFolder, RunReader, Status, now};

use crate::cli::{Failure, say};

const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The time limit for the end of a worker, after which the command gives up.
const PATIENCE: Duration = Duration::from_secs(120);

pub(super) fn run(run: RunFolder) -> Result<(), Failure> {
    let name = run.shown_name();
    let mut reader = RunReader::brief(run.clone());
    let look = |reader: &mut RunReader| -> Result<Status, Failure> {
        let status = reader.status(now());
        Ok(status.with_context(|| format!("cannot read {}", visible_path(&run.events())))?)
    };
    let status = look(&mut reader)?;
    if !status.is_open() {
        say(format_args!("{name} is not running: {status}"));
        return Ok(());
    }
    let request = CommandRequest::send(&run, RunCommand::Stop);
    let mut request = request.with_context(|| format!("cannot write {}", visible_path(&run.commands())))?;
    let asked = Instant::now();
    let mut answered = false;
    loop {
        let status = look(&mut reader)?;
        let step = reader.history().step();
        match request.poll(reader.history(), &status, Instant::now()) {
            Reply::Answered { ok: false, message } => {
                return Err(Failure::Failed(anyhow!("{name} refuses to stop: {message}")));
            }
            Reply::Answered { ok: true, message } if !answered => {
                answered = true;
                say(format_args!("{name}: {message}"));
            }
            Reply::Signalled => say(format_args!("{name} has not answered for long; its process was asked to end")),
            Reply::NotSignalled(reason) => {
                say(format_args!("{name} has not answered for long, and its process is not ended: {reason}"));
            }
            Reply::Answered { .. } | Reply::Waiting | Reply::Gone => {}
        }
        if !status.is_open() {
            say(format_args!("{name} has ended at step {step}: {status}"));
            return match status {
                Status::Stopped | Status::Finished => Ok(()),
                other => Err(Failure::Failed(anyhow!("it did not stop as requested: {}", other.word()))),
            };
        }
        if asked.elapsed() >= PATIENCE {
            return Err(Failure::Failed(anyhow!("{}", not_yet(&name, &status, answered))));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Returns advice for a worker that has not ended.
fn not_yet(name: &str, status: &Status, answered: bool) -> String {
    let waited = PATIENCE.as_secs();
    match status {
        Status::Silent { .. } if !answered => format!(
            "{name} has not answered within {waited} s ({status}); the command stays in {}, which must reach the machine that \
             trains",
            RunFolder::COMMANDS
        ),
        _ => format!("{name} has not ended within {waited} s ({status}); the command to stop stands"),
    }
}
