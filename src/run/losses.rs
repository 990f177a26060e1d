//! What is lost of a run's events, in the words of the warnings that tell of it in the events themselves.
//!
//! Lines that are lost stay lost. So a loss is on record once a warning tells of it, by the worker that went on with the
//! run or by whoever mended its folder; nobody needs to be told as of something new after that.

use super::damage::Damage;
use super::folder::RunFolder;
use super::history::RunHistory;

/// Lines cannot be read, or are missing.
pub(super) fn of_lines(damage: &Damage) -> String {
    format!("{} is damaged: {damage}; what was recorded there is lost", RunFolder::EVENTS)
}

/// The last lines are gone, as a checkpoint of a later step shows.
pub(super) fn of_end(reached: u64, checkpoint: u64) -> String {
    let events = RunFolder::EVENTS;
    format!(
        "{events} ends after step {reached}, and the newest checkpoint is of step {checkpoint}; what was recorded \
         between them is lost"
    )
}

/// There are no lines at all, and the run was trained until a step.
pub(super) fn of_all(step: u64) -> String {
    format!("{} was gone or empty; what was recorded until step {step} is lost", RunFolder::EVENTS)
}

/// The file did not end with a line, and its end was removed.
pub(super) fn of_rest(kept: &str) -> String {
    format!("{} ended with what is no line, which was removed; as it was it is kept in {kept}", RunFolder::EVENTS)
}

impl RunHistory {
    /// Whether nothing is left of the events of a run that has such checkpoints.
    pub fn is_gone(&self, checkpoints: &[u64]) -> bool {
        self.lines() == 0 && !checkpoints.is_empty()
    }

    /// Whether a warning tells of a loss.
    pub(super) fn tells_of(&self, loss: &str) -> bool {
        self.warnings().iter().any(|(_, told)| told == loss)
    }

    /// The losses that warnings tell of, without the file's name, after the steps at which they do; oldest first.
    pub(super) fn told_losses(&self) -> impl DoubleEndedIterator<Item = (u64, &str)> {
        let losses = self.warnings().iter().filter(|(_, told)| told.starts_with(RunFolder::EVENTS));
        losses.map(|(step, told)| (*step, without_name(told)))
    }
}

/// A loss for whoever knows which file is meant.
pub(super) fn without_name(loss: &str) -> &str {
    loss.strip_prefix(RunFolder::EVENTS).unwrap_or(loss).trim_start()
}
