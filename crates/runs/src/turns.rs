//! Turns in the course of a run, which are marked on its curves: changed settings, forks and resumes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use valleyscope_engine::quantity::number_text;

use super::history::RunHistory;

/// A setting that was changed while the run was trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SettingChange {
    /// The path of the setting in the run's config, such as `optimizer.gamma`.
    pub name: String,
    /// A short name for people, such as `γ`.
    pub label: String,
    pub before: f64,
    pub now: f64,
}

impl SettingChange {
    /// The name of the number of steps of the run.
    pub const STEPS: &str = "steps";

    /// Returns a change of the number of steps of the run.
    pub fn of_steps(before: u64, now: f64) -> SettingChange {
        let name = SettingChange::STEPS.to_owned();
        SettingChange { label: name.clone(), name, before: before as f64, now }
    }

    /// Returns whether the number of samples of a step is proportional to the setting.
    pub fn is_of_batch(&self) -> bool {
        matches!(self.name.as_str(), "batch_size" | "accumulation")
    }

    /// Describes the change, such as `γ 0.2 → 0.4`.
    pub fn words(&self) -> String {
        format!("{} {} → {}", self.label, number_text(self.before), number_text(self.now))
    }

    /// Describes several changes.
    pub fn list(changes: &[SettingChange]) -> String {
        changes.iter().map(SettingChange::words).collect::<Vec<_>>().join(", ")
    }
}

/// A mark on the curves of a run, after a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunMark {
    pub step: u64,
    pub kind: MarkKind,
    /// A description, such as `γ 0.2 → 0.4`.
    pub words: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkKind {
    Forked,
    Resumed,
    Changed,
}

/// The turns of a run so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Turns {
    /// The marks before a fork, which are the other run's.
    pub shared: Vec<RunMark>,
    /// The steps from which the run was resumed.
    pub resumed: Vec<u64>,
    /// The changes of settings, with the steps after which they were made.
    changes: Vec<(u64, SettingChange)>,
}

impl Turns {
    /// Adds changes of settings; returns the new number of steps of the run, if that is among them.
    pub(super) fn change(&mut self, step: u64, changes: &[SettingChange]) -> Option<u64> {
        self.changes.extend(changes.iter().map(|change| (step, change.clone())));
        let steps = changes.iter().rfind(|change| change.name == SettingChange::STEPS);
        steps.map(|change| change.now as u64)
    }

    /// Removes the turns after a step; returns the number of steps of the run before them, if they have changed it.
    pub(super) fn forget_after(&mut self, step: u64) -> Option<u64> {
        self.resumed.retain(|from_step| *from_step <= step);
        let (kept, void): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.changes).into_iter().partition(|(at, _)| *at <= step);
        self.changes = kept;
        let steps = void.iter().find(|(_, change)| change.name == SettingChange::STEPS);
        steps.map(|(_, change)| change.before as u64)
    }
}

impl RunHistory {
    /// Lists the changes of settings by commands to this run, with the steps after which they were made.
    pub fn changes(&self) -> &[(u64, SettingChange)] {
        &self.turns.changes
    }

    /// Describes the changes of settings, such as `γ 0.2 → 0.4 after step 100`; empty without changes.
    pub fn changes_in_words(&self) -> String {
        let changes = self.changes().iter().map(|(step, change)| format!("{} after step {step}", change.words()));
        changes.collect::<Vec<_>>().join(", ")
    }

    /// Returns the settings that commands to this run have changed, by their names, with the values now in force.
    pub fn changed_settings(&self) -> BTreeMap<String, f64> {
        self.changes().iter().map(|(_, change)| (change.name.clone(), change.now)).collect()
    }

    /// Returns the history up to a step, as after resuming from it.
    pub fn until(&self, step: u64) -> RunHistory {
        let mut history = self.clone();
        history.forget_after(step);
        history
    }

    /// Lists the marks on the run's curves in the order of steps.
    pub fn marks(&self) -> Vec<RunMark> {
        let mark = |step: u64, kind: MarkKind, words: String| RunMark { step, kind, words };
        let forked = self.forked().map(|forked| mark(forked.from_step, MarkKind::Forked, forked.sentence()));
        // The first session of a fork resumes from its checkpoint.
        let is_own = |step: &&u64| self.forked().is_none_or(|forked| forked.from_step != **step);
        let resumed = self.turns.resumed.iter().filter(is_own);
        let resumed = resumed.map(|&step| mark(step, MarkKind::Resumed, format!("resumed from step {step}")));
        let changed = self.changes().iter().map(|(step, change)| mark(*step, MarkKind::Changed, change.words()));
        let mut marks: Vec<RunMark> =
            self.turns.shared.iter().cloned().chain(forked).chain(resumed).chain(changed).collect();
        marks.sort_by_key(|mark| mark.step);
        marks
    }
}
