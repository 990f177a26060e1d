//! A sent command, and its outcome.

use std::io;
use std::time::{Duration, Instant};

use super::command::{RunCommand, send};
use super::folder::RunFolder;
use super::history::RunHistory;
use super::process::ask_to_end;
use super::status::Status;

/// The time after which a worker that has not answered a command to stop is sent a signal.
const PATIENCE: Duration = Duration::from_secs(30);

/// A command that was sent and may be answered.
#[derive(Debug)]
pub struct CommandRequest {
    run: RunFolder,
    id: String,
    stop: bool,
    sent: Instant,
    /// Whether a signal was sent, or tried.
    signalled: bool,
}

/// The outcome of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// There is no answer yet.
    Waiting,
    /// There was no answer for a long time, and the worker has now been asked to end by a signal.
    Signalled,
    /// There was no answer for a long time, and a signal cannot be sent, for this reason.
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

    /// The outcome so far, according to the run's reader. To be called repeatedly.
    ///
    /// A worker on this machine that does not answer [`RunCommand::Stop`] within 30 seconds is sent a signal, once,
    /// where the process that the lock names is verified to be it.
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
