//! Undo while an earlier step of the run is shown.
//!
//! Looking back shows the settings of an earlier step, which is no change of the document. So undo knows only the
//! settings at the last step of the run.

use egui::Context;
use valleyscope_engine::simulation::{Record, SimulationSpec};

use super::LandscapeTab;
use super::editor::LandscapeDraft;
use crate::app::document::Document;
use crate::app::editor::{AnyEditor, HistoryStep};

impl LandscapeTab {
    /// Undoes or redoes. A change of settings is undone at the step at which it was made.
    pub(super) fn undo_or_redo_in_time(&mut self, step: HistoryStep) {
        let Some(latest) = self.latest_settings() else { return self.editor.undo_or_redo(step) };
        let shown = std::mem::replace(&mut self.editor.draft.document.spec, latest.clone());
        self.editor.undo_or_redo(step);
        let document = &mut self.editor.draft.document;
        if document.spec == latest {
            document.spec = shown;
            return;
        }
        let undone = self.live.snapshot.as_ref().and_then(|snapshot| undone_at(&snapshot.record, &document.spec));
        if let Some((step, in_force)) = undone {
            self.player.seek_change(step, document.in_force(&in_force).spec);
        }
        // At once, so that this is not taken for a change that the user makes at the shown step.
        self.player.follow(&self.editor.draft.document, self.pace);
    }

    /// Records the document for undo, with the settings at the last step of the run.
    pub(super) fn record_for_undo(&mut self, ctx: &Context) {
        let Some(latest) = self.latest_settings() else { return self.editor.record_for_undo(ctx) };
        let shown = std::mem::replace(&mut self.editor.draft.document.spec, latest);
        self.editor.record_for_undo(ctx);
        self.editor.draft.document.spec = shown;
    }

    /// Makes undo forget the later settings once a setting is changed at an earlier step. Call before the player gets
    /// the change.
    pub(super) fn begin_future(&mut self) {
        let Some(latest) = self.latest_settings() else { return };
        let LandscapeDraft { document, .. } = &self.editor.draft;
        if document.spec == document.in_force(self.player.spec()).spec {
            return;
        }
        let with = |spec: SimulationSpec| {
            let mut draft = self.editor.draft.clone();
            draft.document.spec = spec;
            draft
        };
        let (shown, latest) = (with(document.in_force(self.player.spec()).spec), with(latest));
        self.editor.continue_from(shown, latest);
    }

    /// Returns the settings at the last step of the run while an earlier one is shown.
    fn latest_settings(&self) -> Option<SimulationSpec> {
        let shown = self.live.snapshot.as_ref().filter(|snapshot| self.player.is_current(snapshot))?;
        if shown.step >= shown.last_step || self.animation.is_recording() {
            return None;
        }
        let Document { spec, .. } = self.editor.draft.document.in_force(self.live.marks.latest()?);
        Some(spec)
    }
}

/// Returns the step of the last change before which the settings were those of `target`, and the settings at that step,
/// after it; `None` without such a change.
fn undone_at(record: &Record, target: &SimulationSpec) -> Option<(u64, SimulationSpec)> {
    let is_target = |spec: &SimulationSpec| spec.settings_to(target).is_some_and(|settings| settings.is_empty());
    let (mut spec, mut step) = (record.spec.clone(), None);
    for change in &record.changes {
        if is_target(&spec) {
            step = Some(change.step);
        }
        // The session was made with the change, so it fits.
        let _ = spec.apply(&change.set);
    }
    let step = step?;
    let mut in_force = record.spec.clone();
    for change in record.changes.iter().take_while(|change| change.step <= step) {
        let _ = in_force.apply(&change.set);
    }
    Some((step, in_force))
}
