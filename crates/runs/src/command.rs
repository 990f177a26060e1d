//! Commands to a worker.
//!
//! Anyone may append a line to `commands.jsonl`; the worker answers each with an event. By hand:
//!
//! ```sh
//! echo '{"id": "1", "command": "Save"}' >> commands.jsonl
//! ```

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::time::{Duration, Instant};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use valleyscope_engine::quantity::{OutOfRange, SampleTemperature, SampleTokens, TopK, TrainingSteps};

use super::folder::RunFolder;
use super::history::RunHistory;
use super::lock::send_stop_signal;
use super::plain_file;
use super::status::Status;
use super::tail::{Piece, Tail};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum RunCommand {
    /// Saves a checkpoint and ends the session; the run can be resumed.
    Stop,
    /// Saves a checkpoint now.
    Save,
    /// Generates a text with the model.
    Sample(TextRequest),
    /// Ends the run with `n` steps in all, more than were taken, and no more than a preset may have.
    SetSteps { n: u64 },
    /// Saves a checkpoint, and continues with other values of settings, by their paths in the config.
    Set { settings: BTreeMap<String, f64> },
}

/// A request for a text by the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextRequest {
    pub prompt: String,
    pub tokens: u32,
    /// The temperature of the probabilities; 0 takes the most likely token each time.
    pub temperature: f64,
    /// The number of the most likely tokens to draw from.
    #[serde(default)]
    pub top_k: Option<u32>,
}

impl TextRequest {
    /// Checks the request against the limits of a preset: a training waits while the text is generated.
    pub fn check(&self) -> Result<(), OutOfRange> {
        SampleTokens::new(u64::from(self.tokens))?;
        SampleTemperature::new(self.temperature)?;
        self.top_k.map(|top_k| TopK::new(u64::from(top_k))).transpose().map(drop)
    }
}

impl RunCommand {
    fn in_range(self) -> Result<RunCommand, String> {
        if let RunCommand::SetSteps { n } = self {
            let refused =
                |OutOfRange { expected, found, .. }| format!("expected {expected} as the steps `n`, found {found}");
            TrainingSteps::new(n).map_err(refused)?;
        }
        Ok(self)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(deserialize_with = "word_or_number")]
    id: String,
    command: RunCommand,
}

/// The largest length of an id in bytes: every answer repeats it.
const LONGEST_ID: usize = 100;

fn word_or_number<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Id {
        Text(String),
        Number(u64),
    }
    match Id::deserialize(deserializer)? {
        Id::Text(id) if id.len() > LONGEST_ID => Err(serde::de::Error::custom("the id is too long")),
        Id::Text(id) => Ok(id),
        Id::Number(id) => Ok(id.to_string()),
    }
}

/// Appends a command for the run's worker, and returns its id, by which the answer refers to it.
/// [`CommandRequest`](super::CommandRequest) follows its outcome.
pub fn send(run: &RunFolder, command: RunCommand) -> io::Result<String> {
    let id = format!("{:016x}", rand::random::<u64>());
    let line = Line { id, command };
    let mut text = serde_json::to_string(&line).expect("commands hold nothing that JSON cannot express");
    text.push('\n');
    let mut file = plain_file::open_to_append(&run.commands())?;
    if !ends_with_newline(&mut file)? {
        text.insert(0, '\n');
    }
    // One write, so that no other program's command lands inside.
    file.write_all(text.as_bytes())?;
    Ok(line.id)
}

fn ends_with_newline(file: &mut File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// A line read from `commands.jsonl`.
#[derive(Debug, PartialEq)]
pub struct ReceivedCommand {
    pub id: String,
    /// The command, or the fault of the line.
    pub command: Result<RunCommand, String>,
}

/// The largest length of a line in bytes.
const LONGEST_LINE: usize = 1 << 20;

/// Reads the lines of `commands.jsonl`, each of them once.
#[derive(Debug)]
pub(super) struct Inbox {
    tail: Tail,
    lines: u64,
}

impl Inbox {
    pub(super) fn new(run: &RunFolder) -> Inbox {
        Inbox { tail: Tail::new(run.commands(), LONGEST_LINE), lines: 0 }
    }

    /// Reads the lines completed since the last read. A line that is too long is refused before its end is there.
    pub(super) fn read_new(&mut self) -> io::Result<Vec<ReceivedCommand>> {
        let Inbox { tail, lines } = self;
        let mut received = Vec::new();
        tail.read(|piece| match piece {
            Piece::Again => *lines = 0,
            Piece::TooLong => {
                *lines += 1;
                received.push(ReceivedCommand::too_long(*lines));
            }
            Piece::Lines(text) => {
                for line in text.split_inclusive(|&byte| byte == b'\n') {
                    *lines += 1;
                    if !line.trim_ascii().is_empty() {
                        received.push(ReceivedCommand::read(line, *lines));
                    }
                }
            }
        })?;
        Ok(received)
    }
}

impl ReceivedCommand {
    fn too_long(number: u64) -> ReceivedCommand {
        let name = RunFolder::COMMANDS;
        let wrong = format!("line {number} of {name}: expected at most {LONGEST_LINE} bytes, found more");
        ReceivedCommand { id: format!("line {number}"), command: Err(wrong) }
    }

    /// Parses the line of this number, counted from 1, with or without its newline.
    pub fn read(line: &[u8], number: u64) -> ReceivedCommand {
        match object::<Line>(line) {
            Some(Line { id, command }) => {
                let name = RunFolder::COMMANDS;
                let command = command.in_range().map_err(|error| format!("line {number} of {name}: {error}"));
                ReceivedCommand { id, command }
            }
            None => {
                let id = id_in(line);
                let wrong = format!("line {number} of {}: {}", RunFolder::COMMANDS, refusal(line, id.is_some()));
                ReceivedCommand { id: id.unwrap_or_else(|| format!("line {number}")), command: Err(wrong) }
            }
        }
    }
}

/// Describes the fault of a line that is not a command: what was expected, and what was found.
fn refusal(line: &[u8], has_id: bool) -> String {
    const LONGEST: usize = 200;
    const COMMANDS: &str = r#""Stop", "Save", {"SetSteps": {"n": 1000}}, {"Set": {"settings": {"learning_rate": 0.001}}} or {"Sample": {"prompt": "To be", "tokens": 50, "temperature": 0.8}}"#;
    let expected = if object::<IgnoredAny>(line).is_none() {
        r#"a JSON object such as {"id": "1", "command": "Stop"}"#.to_owned()
    } else if !has_id {
        format!(r#"an "id", which is a text of at most {LONGEST_ID} bytes or a whole number, and a "command""#)
    } else {
        format!(r#"an "id", a "command" of the form {COMMANDS}, and nothing else"#)
    };
    let line = String::from_utf8_lossy(line);
    let line = line.trim();
    let end = if line.chars().nth(LONGEST).is_some() { "…" } else { "" };
    format!("expected {expected}, found {}{end}", line.chars().take(LONGEST).collect::<String>())
}

/// The id in a line that is not a command.
fn id_in(line: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Id {
        #[serde(deserialize_with = "word_or_number")]
        id: String,
    }
    object::<Id>(line).map(|line| line.id)
}

/// Parses a line as an object. By itself, `serde_json` would also accept a list of the values.
fn object<'l, T: Deserialize<'l>>(line: &'l [u8]) -> Option<T> {
    if line.trim_ascii_start().starts_with(b"{") { serde_json::from_slice(line).ok() } else { None }
}

/// The interval between two reads of commands.
const POLL: Duration = Duration::from_millis(100);

/// A queue of the lines of `commands.jsonl`. They are answered in the order in which they were sent.
#[derive(Debug)]
pub(super) struct CommandQueue {
    inbox: Inbox,
    polled: Option<Instant>,
    waiting: VecDeque<ReceivedCommand>,
    /// The number of returned commands that are not yet answered.
    unanswered: usize,
    /// Ids of the commands read so far, and of those that earlier sessions answered.
    known: HashSet<String>,
}

impl CommandQueue {
    pub(super) fn new(run: &RunFolder, answered: impl Iterator<Item = String>) -> CommandQueue {
        let (inbox, waiting) = (Inbox::new(run), VecDeque::new());
        CommandQueue { inbox, polled: None, waiting, unanswered: 0, known: answered.collect() }
    }

    /// Skips all commands so far; returns the ids of the unanswered ones.
    pub(super) fn pass_over(&mut self) -> io::Result<Vec<String>> {
        let mut ids: Vec<String> = self.inbox.read_new()?.into_iter().map(|received| received.id).collect();
        ids.retain(|id| self.known.insert(id.clone()));
        Ok(ids)
    }

    /// Reads new commands, unless read ones are unanswered or the last read was less than [`POLL`] ago.
    pub(super) fn poll(&mut self) -> io::Result<()> {
        if !self.waiting.is_empty() || self.polled.is_some_and(|polled| polled.elapsed() < POLL) {
            return Ok(());
        }
        self.polled = Some(Instant::now());
        for ReceivedCommand { id, command } in self.inbox.read_new()? {
            let is_new = self.known.insert(id.clone());
            let known = || Err("a command with this id was sent before; take another id".to_owned());
            self.waiting.push_back(ReceivedCommand { id, command: if is_new { command } else { known() } });
        }
        Ok(())
    }

    /// Takes the id and the fault of the next line if it is refused and all earlier commands are answered.
    pub(super) fn next_refused(&mut self) -> Option<(String, String)> {
        if self.unanswered > 0 {
            return None;
        }
        let received = self.waiting.pop_front_if(|received| received.command.is_err())?;
        Some((received.id, received.command.err()?))
    }

    /// Takes the commands before the next refused line.
    pub(super) fn next_commands(&mut self) -> Vec<(String, RunCommand)> {
        let next = || self.waiting.pop_front_if(|received| received.command.is_ok());
        let commands = std::iter::from_fn(next).filter_map(|received| Some((received.id, received.command.ok()?)));
        let commands: Vec<(String, RunCommand)> = commands.collect();
        self.unanswered += commands.len();
        commands
    }

    /// Counts an answer, to a command or to a refused line.
    pub(super) fn answered(&mut self) {
        self.unanswered = self.unanswered.saturating_sub(1);
    }
}

/// The time after which a worker that has not answered a command to stop is sent a signal.
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

    /// Determines the outcome so far from the run's history and status. To be called repeatedly.
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
                send_stop_signal(&self.run, owner.as_ref()).map_or_else(Reply::NotSignalled, |()| Reply::Signalled)
            }
            _ if status.is_open() => Reply::Waiting,
            _ => Reply::Gone,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Inbox, LONGEST_LINE, RunCommand, send};
    use crate::RunFolder;

    #[test]
    fn a_command_after_a_line_that_is_far_too_long_is_read_at_once() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let run = RunFolder::create(folder.path(), "run", "Mnist(").expect("a run can be made");
        let long = vec![b'x'; 7 * LONGEST_LINE];
        fs::write(run.commands(), [&long[..], b"\n"].concat()).expect("it can be written");
        send(&run, RunCommand::Stop).expect("it can be sent");
        let mut inbox = Inbox::new(&run);
        let received = inbox.read_new().expect("it can be read");
        let [refused, stop] = &received[..] else { panic!("{} lines", received.len()) };
        assert!(refused.command.as_ref().is_err_and(|why| why.contains("line 1 of commands.jsonl: expected at most")));
        assert_eq!(stop.command, Ok(RunCommand::Stop));
        // A line that has no end yet is refused once.
        fs::write(run.commands(), &long).expect("it can be written");
        let mut inbox = Inbox::new(&run);
        assert_eq!(inbox.read_new().expect("it can be read").len(), 1);
        send(&run, RunCommand::Save).expect("it can be sent");
        assert_eq!(inbox.read_new().expect("it can be read")[0].command, Ok(RunCommand::Save));
        assert!(inbox.read_new().expect("it can be read").is_empty());
    }
}
