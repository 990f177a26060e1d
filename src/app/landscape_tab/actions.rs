//! Carries out the requests of the tab's panels.

use std::path::PathBuf;

use egui::Context;
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_experiments::preset::LandscapePreset;

use super::LandscapeTab;
use crate::app::controls::{Highlight, controls_set_by};
use crate::app::document::Document;
use crate::app::live::{Action, LandscapeAction, Requests};
use crate::player::PlayerCommand;

impl LandscapeTab {
    /// Sends commands to the player.
    pub(in crate::app) fn command(&mut self, commands: Vec<PlayerCommand>) {
        for command in commands {
            self.player.send(command);
        }
    }

    pub(in crate::app) fn act(&mut self, ctx: &Context, action: LandscapeAction, requests: &mut Requests) {
        match action {
            LandscapeAction::Set(spec) => self.editor.draft.document.spec = *spec,
            LandscapeAction::Play => {
                // An animation has the player for itself.
                if !self.animation.is_recording() {
                    self.player.send(PlayerCommand::Play);
                }
            }
            LandscapeAction::TogglePlay => self.player.toggle_play(self.live.playback()),
            LandscapeAction::Step(steps @ ..0) => self.player.send(PlayerCommand::Back(steps.unsigned_abs())),
            LandscapeAction::Step(steps) => self.player.send(PlayerCommand::Advance(steps.unsigned_abs())),
            LandscapeAction::Seek(step) => self.player.send(PlayerCommand::Seek(step)),
            LandscapeAction::Restart => self.player.send(PlayerCommand::Restart),
            LandscapeAction::GoToStep(step) => self.go_to_lesson_step(ctx, step, requests),
            LandscapeAction::SaveSession => self.recording = Some(self.player.record()),
            LandscapeAction::OpenPictureExport => self.picture_export.open(),
            LandscapeAction::OpenFigureExport => self.figure_export.open(),
            LandscapeAction::OpenAnimationExport => self.animation.open(&self.live, || self.player.record()),
        }
    }

    pub(super) fn open_landscape(&mut self, preset: LandscapePreset, file: Option<PathBuf>, requests: &mut Requests) {
        let title = preset.title.clone();
        if self.animation.is_recording() {
            requests.actions.push(Action::Report {
                title: format!("“{title}” was not opened"),
                text: "An animation is being exported. Open the preset when it is done, or cancel the export."
                    .to_owned(),
            });
            return;
        }
        // What is beside the preset fits it, as it was checked when the preset was read.
        let records = preset.records().ok().filter(|records| records.iter().any(|record| !record.changes.is_empty()));
        self.editor.open_preset(preset, file);
        // Hidden and selected items belong to the previous document.
        self.live.hidden.clear();
        self.live.chosen = 0;
        self.landscape.reset_view();
        self.diagnostics.reset_view();
        let notice = match records {
            Some(records) => {
                self.player.replay(&mut self.editor.draft.document, records);
                format!("Opened “{title}”. Its recorded changes are repeated.")
            }
            None => {
                self.player.load(&self.editor.draft.document);
                self.play_lesson_step();
                format!("Opened “{title}”. Undo goes back.")
            }
        };
        requests.actions.push(Action::Notify(notice));
    }

    /// Shows a lesson step. Its settings take effect from the start of a run, so that one begins; a step that only sets
    /// a later pause continues the previous run.
    fn go_to_lesson_step(&mut self, ctx: &Context, index: usize, requests: &mut Requests) {
        let (index_before, document) = (self.editor.lesson_step(), &self.editor.draft.document);
        let (before, beside_before) = (document.spec.clone(), document.beside.clone());
        if let Err(error) = self.editor.go_to_step(index) {
            let text = format!(
                "Step {} of the lesson can't be shown: {error}. Undo restores the settings that the lesson needs.",
                index + 1
            );
            requests.actions.push(Action::Report { title: "The lesson does not fit".to_owned(), text });
            return;
        }
        let Some(step) = self.editor.lesson().and_then(|(_, lesson)| lesson.get(index).cloned()) else { return };
        let Document { spec, beside, .. } = &self.editor.draft.document;
        let is_same = |now: &SimulationSpec, before: &SimulationSpec| {
            SimulationSpec { steps: before.steps, ..now.clone() } == *before
        };
        let is_same_beside = beside.len() == beside_before.len()
            && beside.iter().zip(&beside_before).all(|(now, before)| is_same(&now.spec, &before.spec));
        let is_same_run = is_same_beside && is_same(spec, &before);
        let goes_on = step.goes_on() && index == index_before + 1 && is_same_run && !self.is_finished_by(spec.steps);
        let controls = controls_set_by(&step.set, &before, spec);
        let is_changed = *spec != before || *beside != beside_before || !step.set.is_empty();
        if !goes_on && is_changed {
            self.begin_document();
        }
        self.play_lesson_step();
        Highlight::set(ctx, controls);
    }

    /// Plays the run if the lesson step asks for it, unless an animation has the player for itself.
    pub(super) fn play_lesson_step(&mut self) {
        let plays = self.editor.lesson().is_some_and(|(index, lesson)| lesson[index].play);
        if plays && !self.animation.is_recording() {
            // A later pause has to be in force before the run plays on.
            self.player.follow(&self.editor.draft.document, self.pace);
            self.player.send(PlayerCommand::Play);
        }
    }

    /// Returns whether the run has reached the step where it would pause.
    fn is_finished_by(&self, steps: Option<u64>) -> bool {
        let step = self.live.snapshot.as_ref().map_or(0, |snapshot| snapshot.step);
        steps.is_some_and(|steps| step >= steps)
    }

    /// Starts the document's run, unless an animation has the player for itself.
    pub(super) fn begin_document(&mut self) {
        if !self.animation.is_recording() {
            self.player.load(&self.editor.draft.document);
        }
    }
}
