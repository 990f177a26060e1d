//! Descriptions of lost lines of a run's events, recorded as warnings in the events themselves.
//!
//! Lost lines cannot be recovered. The worker that resumes the run, or a check that repairs its folder, records a
//! warning; a loss with a warning is not reported as new.

use super::damage::Damage;
use super::folder::RunFolder;
use super::history::RunHistory;

/// Describes unreadable and missing lines.
pub(super) fn damaged_lines(damage: &Damage) -> String {
    format!("{} is damaged: {damage}; what was recorded there is lost", RunFolder::EVENTS)
}

/// Describes a lost end of the events, which a checkpoint of a later step reveals.
pub(super) fn missing_end(reached: u64, checkpoint: u64) -> String {
    let events = RunFolder::EVENTS;
    format!(
        "{events} ends after step {reached}, and the newest checkpoint is of step {checkpoint}; what was recorded \
         between them is lost"
    )
}

/// Describes a file without any lines, in a run that was trained until a step.
pub(super) fn all_lines(step: u64) -> String {
    format!("{} was gone or empty; what was recorded until step {step} is lost", RunFolder::EVENTS)
}

/// Describes a removed end of the file that was no whole line.
pub(super) fn cut_line(kept: &str) -> String {
    format!(
        "{} ended with an incomplete line, which was removed; a copy of the file from before is {kept}",
        RunFolder::EVENTS
    )
}

impl RunHistory {
    /// Returns whether nothing is left of the events of a run with such checkpoints.
    pub fn is_gone(&self, checkpoints: &[u64]) -> bool {
        self.lines() == 0 && !checkpoints.is_empty()
    }

    /// Returns whether a warning reports the loss.
    pub(super) fn is_reported(&self, loss: &str) -> bool {
        self.warnings().iter().any(|warning| warning.message == loss)
    }

    /// Lists the losses that warnings report, without the file's name, with the steps of the warnings; oldest first.
    pub(super) fn reported_losses(&self) -> impl DoubleEndedIterator<Item = (u64, &str)> {
        let losses = self.warnings().iter().filter(|warning| warning.message.starts_with(RunFolder::EVENTS));
        losses.map(|warning| (warning.step, without_file_name(&warning.message)))
    }
}

/// Strips the file's name from a loss.
pub(super) fn without_file_name(loss: &str) -> &str {
    loss.strip_prefix(RunFolder::EVENTS).unwrap_or(loss).trim_start()
}
