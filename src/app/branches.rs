//! The branches of a session: its old futures, and the sessions without some of its changes.

use std::collections::BTreeSet;

use valleyscope_engine::simulation::{Change, SimulationSpec};
use valleyscope_experiments::view::ticks::grouped;

use crate::player::{SessionKind, SessionView, Snapshot};
use crate::setting_marks::{SettingMark, SettingMarks, text, text_before};

/// The opacity of a branch's particles and mean paths on the landscape.
pub(super) const PALE: f32 = 0.45;

/// Returns the opacity of a branch's curves in plots, with which all colours stand out from the background.
pub(super) fn pale_opacity(visuals: &egui::Visuals) -> f32 {
    if visuals.dark_mode { 0.6 } else { 0.75 }
}

/// A branch of a session.
pub(super) struct Branch {
    /// The id of its session.
    pub id: u64,
    /// The place of the session to which it belongs.
    place: usize,
    /// The step from which on it differs from the session to which it belongs.
    pub since: u64,
    /// The last step that it has reached.
    pub last_step: u64,
    /// The share of its steps that are computed, until it has reached the shown step.
    pub progress: Option<f32>,
    /// The changes that it leaves out; none of an old future.
    removed: Vec<Change>,
    marks: SettingMarks,
}

/// The branches of the sessions side by side, and which of them are hidden.
#[derive(Default)]
pub(super) struct Branches {
    all: Vec<Branch>,
    hidden: BTreeSet<u64>,
}

impl Branches {
    /// Takes the branches of a snapshot.
    pub(super) fn update(&mut self, snapshot: &Snapshot) {
        let mut before = std::mem::take(&mut self.all);
        for view in &snapshot.others {
            let Some((place, since)) = view.kind.branch() else { continue };
            let removed = match &view.kind {
                SessionKind::Without { removed, .. } => removed.clone(),
                _ => Vec::new(),
            };
            let known = before.iter().position(|branch| branch.id == view.id).map(|index| before.swap_remove(index));
            let mut marks = known.map(|branch| branch.marks).unwrap_or_default();
            marks.update(&view.record);
            let progress = progress(view, since, snapshot.step);
            self.all.push(Branch { id: view.id, place, since, last_step: view.last_step, progress, removed, marks });
        }
        let all = &self.all;
        self.hidden.retain(|id| all.iter().any(|branch| branch.id == *id));
    }

    /// Returns the branches of the session at a place.
    pub(super) fn of(&self, place: usize) -> impl Iterator<Item = &Branch> {
        self.all.iter().filter(move |branch| branch.place == place)
    }

    /// Returns the branch with this id, unless it is hidden.
    pub(super) fn shown(&self, id: u64) -> Option<&Branch> {
        self.all.iter().find(|branch| branch.id == id && !self.is_hidden(id))
    }

    pub(super) fn is_hidden(&self, id: u64) -> bool {
        self.hidden.contains(&id)
    }

    /// Hides a branch, or shows it again.
    pub(super) fn toggle(&mut self, id: u64) {
        let _ = self.hidden.remove(&id) || self.hidden.insert(id);
    }

    /// Returns the id of the session at a place without all these changes, if there is one.
    pub(super) fn without(&self, place: usize, changes: &[Change]) -> Option<u64> {
        let leaves_out = |branch: &&Branch| changes.iter().all(|change| change.is_among(&branch.removed));
        self.of(place).filter(|branch| !branch.removed.is_empty()).find(leaves_out).map(|branch| branch.id)
    }

    /// Returns the last step of the branches of the session at a place.
    pub(super) fn last_step(&self, place: usize) -> u64 {
        self.of(place).map(|branch| branch.last_step).max().unwrap_or_default()
    }
}

/// Returns the computed share of the steps of a session from `since` on, or `None` if it has reached this step.
fn progress(view: &SessionView, since: u64, step: u64) -> Option<f32> {
    let all = step.saturating_sub(since).max(1) as f32;
    (view.step < step).then(|| (view.step.saturating_sub(since) as f32 / all).min(1.0))
}

impl Branch {
    /// Formats what distinguishes the branch from the session with these marks, as in "Old future from step 120 · σ
    /// stays 1" and "Without σ 1 → 2 at step 500".
    pub(super) fn label(&self, session: &SettingMarks, spec: &SimulationSpec) -> String {
        let difference = self.difference(session, spec);
        if !self.removed.is_empty() {
            return difference;
        }
        let from = format!("Old future from step {}", grouped(self.since));
        if difference.is_empty() { from } else { format!("{from} · {difference}") }
    }

    /// Formats the same in few words, with the difference first, as in "σ stays 1, from step 120".
    pub(super) fn short_label(&self, session: &SettingMarks, spec: &SimulationSpec) -> String {
        let difference = self.difference(session, spec);
        match difference.is_empty() {
            true => format!("From step {}", grouped(self.since)),
            false if self.removed.is_empty() => format!("{difference}, from step {}", grouped(self.since)),
            false => difference,
        }
    }

    /// Formats the settings that distinguish the branch from the session with these marks; empty if there are none.
    fn difference(&self, session: &SettingMarks, spec: &SimulationSpec) -> String {
        let name_of = |id| spec.name_of(id);
        let in_line = |text: String| text.replace('\n', ", ");
        let at = |marks: &[SettingMark]| marks.first().map_or(0, |mark| mark.step);
        if !self.removed.is_empty() {
            let marks = session.of_changes(&self.removed);
            return format!("Without {} at step {}", in_line(text(&marks, name_of)), grouped(at(&marks)));
        }
        match (self.marks.first_from(self.since), session.first_from(self.since)) {
            ([], others) => in_line(text_before(others, name_of)),
            (own, _) => format!("{} at step {}", in_line(text(own, name_of)), grouped(at(own))),
        }
    }
}
