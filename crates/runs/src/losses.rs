//! Descriptions of the losses of a run's events, used as warnings in the events themselves.
//!
//! Lost lines cannot be recovered. So a loss is on record once a warning reports it, written by the worker that resumed
//! the run or when its folder was mended; after that it is not reported as new.

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

    /// Whether a warning reports a loss.
    pub(super) fn tells_of(&self, loss: &str) -> bool {
        self.warnings().iter().any(|warning| warning.message == loss)
    }

    /// The losses that warnings report, without the file's name, with the steps of the warnings; oldest first.
    pub(super) fn told_losses(&self) -> impl DoubleEndedIterator<Item = (u64, &str)> {
        let losses = self.warnings().iter().filter(|warning| warning.message.starts_with(RunFolder::EVENTS));
        losses.map(|warning| (warning.step, without_name(&warning.message)))
    }
}

/// A loss without the name of the file.
pub(super) fn without_name(loss: &str) -> &str {
    loss.strip_prefix(RunFolder::EVENTS).unwrap_or(loss).trim_start()
}
