//! The queue of commands that a worker has not answered yet.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::time::{Duration, Instant};

use super::command::{Inbox, ReceivedCommand, RunCommand};
use super::folder::RunFolder;

/// The interval between two reads of commands.
const LOOK: Duration = Duration::from_millis(100);

/// A queue of the lines of `commands.jsonl`. They are answered in the order in which they were sent.
#[derive(Debug)]
pub(super) struct CommandQueue {
    inbox: Inbox,
    looked: Option<Instant>,
    waiting: VecDeque<ReceivedCommand>,
    /// The number of returned commands that are not answered yet.
    unanswered: usize,
    /// Ids of the commands read so far, and of those that earlier sessions answered.
    known: HashSet<String>,
}

impl CommandQueue {
    pub(super) fn new(answered: impl Iterator<Item = String>) -> CommandQueue {
        let (inbox, waiting) = (Inbox::default(), VecDeque::new());
        CommandQueue { inbox, looked: None, waiting, unanswered: 0, known: answered.collect() }
    }

    /// Skips all commands so far, and returns the ids of the unanswered ones.
    pub(super) fn pass_over(&mut self, run: &RunFolder) -> io::Result<Vec<String>> {
        let mut ids: Vec<String> = self.inbox.look_to_end(run)?.into_iter().map(|asked| asked.id).collect();
        ids.retain(|id| self.known.insert(id.clone()));
        Ok(ids)
    }

    /// Reads new commands, unless read ones are unanswered or the last read was less than [`LOOK`] ago.
    pub(super) fn look(&mut self, run: &RunFolder) -> io::Result<()> {
        if !self.waiting.is_empty() || self.looked.is_some_and(|looked| looked.elapsed() < LOOK) {
            return Ok(());
        }
        self.looked = Some(Instant::now());
        for ReceivedCommand { id, command } in self.inbox.look(run)? {
            let is_new = self.known.insert(id.clone());
            let known = || Err("a command with this id was sent before; take another id".to_owned());
            self.waiting.push_back(ReceivedCommand { id, command: if is_new { command } else { known() } });
        }
        Ok(())
    }

    /// Returns the id and the fault of the next line if it is refused and all earlier commands are answered.
    pub(super) fn next_refused(&mut self) -> Option<(String, String)> {
        if self.unanswered > 0 {
            return None;
        }
        let asked = self.waiting.pop_front_if(|asked| asked.command.is_err())?;
        Some((asked.id, asked.command.err()?))
    }

    /// Returns the commands before the next refused line.
    pub(super) fn next_commands(&mut self) -> Vec<(String, RunCommand)> {
        let next = || self.waiting.pop_front_if(|asked| asked.command.is_ok());
        let commands = std::iter::from_fn(next).filter_map(|asked| Some((asked.id, asked.command.ok()?)));
        let commands: Vec<(String, RunCommand)> = commands.collect();
        self.unanswered += commands.len();
        commands
    }

    /// Counts an answer, to a command or to a refused line.
    pub(super) fn answered(&mut self) {
        self.unanswered = self.unanswered.saturating_sub(1);
    }
}
