//! Undo while an earlier step of the run is shown.
//!
//! Looking back shows the settings of an earlier step, which is no change of the document. So the undo
//! history holds only the settings at the last step of the run.

use egui::Context;
use valleyscope_engine::simulation::{Record, SimulationSpec};

use super::LandscapeTab;
use super::editor::LandscapeDraft;
use crate::app::editor::{AnyEditor, HistoryStep};

impl LandscapeTab {
    /// Undoes or redoes. A change of settings is undone at the step at which it was made.
    pub(super) fn undo_or_redo_in_time(&mut self, step: HistoryStep) {
        let Some(latest) = self.latest_settings() else { return self.editor.undo_or_redo(step) };
        let document = &mut self.editor.draft.document;
        let shown: Vec<SimulationSpec> = document.specs().cloned().collect();
        document.set_specs(latest.iter().cloned());
        self.editor.undo_or_redo(step);
        let document = &mut self.editor.draft.document;
        if document.specs().eq(&latest) {
            document.set_specs(shown);
            return;
        }
        if let Some((step, in_force)) = self.undone_at() {
            let in_force = self.editor.draft.document.with_settings(&in_force);
            self.player.seek_change(step, in_force.specs().cloned().collect());
        }
        // At once, so that this is not taken for a change that the user makes at the shown step.
        self.player.follow(&self.editor.draft.document, self.pace);
    }

    /// Returns the step of the last change before which one of the sessions had the settings of the document, and the
    /// settings of all sessions at that step, after it; `None` without such a change.
    fn undone_at(&self) -> Option<(u64, Vec<SimulationSpec>)> {
        let document = &self.editor.draft.document;
        let records: Vec<&Record> =
            (0..document.count()).map_while(|place| Some(&*self.live.snapshot_of(place)?.record)).collect();
        let last = |record: &Record| in_force_until(record, u64::MAX);
        let mut changed = records.iter().zip(document.specs()).filter(|(record, spec)| !is_at(&last(record), spec));
        let step = changed.find_map(|(record, spec)| undone_at(record, spec))?;
        Some((step, records.iter().map(|record| in_force_until(record, step)).collect()))
    }

    /// Records the document for undo, with the settings at the last step of the run.
    pub(super) fn record_for_undo(&mut self, ctx: &Context) {
        let latest = self.latest_settings();
        self.editor.record_for_undo(ctx, |draft| {
            if let Some(latest) = latest {
                draft.document.set_specs(latest);
            }
            self.animated.undo_state(&mut draft.document);
        });
    }

    /// Makes undo forget the later settings once a setting is changed at an earlier step. Call before the player gets
    /// the change.
    pub(super) fn begin_future(&mut self) {
        let Some(latest) = self.latest_settings() else { return };
        let LandscapeDraft { document, .. } = &self.editor.draft;
        let shown = document.with_settings(self.player.specs());
        if document.specs().eq(shown.specs()) {
            return;
        }
        let with = |specs: Vec<SimulationSpec>| {
            let mut draft = self.editor.draft.clone();
            draft.document.set_specs(specs);
            draft
        };
        let (shown, latest) = (with(shown.specs().cloned().collect()), with(latest));
        self.editor.continue_from(shown, latest);
    }

    /// Returns the settings at the last step of the run while an earlier one is shown, in the order of the simulations'
    /// places.
    fn latest_settings(&self) -> Option<Vec<SimulationSpec>> {
        let shown = self.live.snapshot.as_ref().filter(|snapshot| self.player.is_current(snapshot))?;
        if shown.step >= shown.last_step {
            return None;
        }
        let document = &self.editor.draft.document;
        let latest = (0..document.count()).map_while(|place| self.live.marks_of(place).latest());
        Some(document.with_settings(latest).specs().cloned().collect())
    }
}

fn is_at(spec: &SimulationSpec, target: &SimulationSpec) -> bool {
    spec.settings_to(target).is_some_and(|settings| settings.is_empty())
}

/// Returns the settings of a session in force after the changes up to a step.
fn in_force_until(record: &Record, step: u64) -> SimulationSpec {
    let mut in_force = record.spec.clone();
    for change in record.changes.iter().take_while(|change| change.step <= step) {
        // The session was made with the change, so it fits.
        let _ = in_force.apply(&change.set);
    }
    in_force
}

/// Returns the step of the last change before which the settings were those of `target`; `None` without such a change.
fn undone_at(record: &Record, target: &SimulationSpec) -> Option<u64> {
    let (mut spec, mut step) = (record.spec.clone(), None);
    for change in &record.changes {
        if is_at(&spec, target) {
            step = Some(change.step);
        }
        // The session was made with the change, so it fits.
        let _ = spec.apply(&change.set);
    }
    step
}
