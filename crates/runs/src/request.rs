//! A sent command and its outcome.

use std::io;
use std::time::{Duration, Instant};

use super::command::{RunCommand, send};
use super::folder::RunFolder;
use super::history::RunHistory;
use super::process::ask_to_end;
use super::status::Status;

/// The time after which a worker that has not answered a command to stop gets a signal.
const PATIENCE: Duration = Duration::from_secs(30);

/// A sent command that may be answered.
#[derive(Debug)]
pub struct CommandRequest {
    run: RunFolder,
    id: String,
    stop: bool,
    sent: Instant,
    /// Whether sending a signal was tried.
    signalled: bool,
}

/// The outcome of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The worker has not answered yet.
    Waiting,
    /// The worker did not answer for a long time, and was now sent a signal to end.
    Signalled,
    /// The worker did not answer for a long time, and cannot be sent a signal, for this reason.
    NotSignalled(String),
    Answered {
        ok: bool,
        message: String,
    },
    /// The worker has ended without an answer.
    Gone,
}

impl CommandRequest {
    pub fn send(run: &RunFolder, command: RunCommand) -> io::Result<CommandRequest> {
        let stop = command == RunCommand::Stop;
        Ok(CommandRequest { run: run.clone(), id: send(run, command)?, stop, sent: Instant::now(), signalled: false })
    }

    /// Returns the outcome so far, according to the run's reader. To be called repeatedly.
    ///
    /// A worker on this machine that does not answer [`RunCommand::Stop`] within 30 seconds is sent a signal, once, if
    /// the process that the lock names is verified to be the worker.
    pub fn poll(&mut self, history: &RunHistory, status: &Status, now: Instant) -> Reply {
        if let Some(answer) = history.answers().iter().rev().find(|answer| answer.id == self.id) {
            return Reply::Answered { ok: answer.ok, message: answer.message.clone() };
        }
        match status {
            Status::Running(owner) if self.stop && !self.signalled && now - self.sent >= PATIENCE => {
                self.signalled = true;
                ask_to_end(&self.run, owner.as_ref()).map_or_else(Reply::NotSignalled, |()| Reply::Signalled)
            }
            _ if status.is_open() => Reply::Waiting,
            _ => Reply::Gone,
        }
    }
}
