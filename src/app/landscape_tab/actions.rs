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
            LandscapeAction::Play => self.player.send(PlayerCommand::Play),
            LandscapeAction::TogglePlay => self.player.toggle_play(self.live.playback()),
            LandscapeAction::Step(steps @ ..0) => self.player.send(PlayerCommand::Back(steps.unsigned_abs())),
            LandscapeAction::Step(steps) => self.player.send(PlayerCommand::Advance(steps.unsigned_abs())),
            LandscapeAction::Seek(step) => self.player.send(PlayerCommand::Seek(step)),
            LandscapeAction::Restart => self.player.send(PlayerCommand::Restart),
            LandscapeAction::GoToStep(step) => self.go_to_lesson_step(ctx, step, requests),
            LandscapeAction::EditLesson => self.edit_lesson(),
            LandscapeAction::SaveSession => self.recording = Some(self.player.record()),
            LandscapeAction::OpenPictureExport => self.picture_export.open(),
            LandscapeAction::OpenFigureExport => self.figure_export.open(),
            LandscapeAction::OpenAnimationExport => self.open_animation_export(),
        }
    }

    pub(super) fn open_landscape(&mut self, preset: LandscapePreset, file: Option<PathBuf>, requests: &mut Requests) {
        let title = preset.title.clone();
        // What is beside the preset fits it, as it was checked when the preset was read.
        let records = preset.records().ok().filter(|records| records.iter().any(|record| !record.changes.is_empty()));
        self.editor.open_preset(preset, file);
        // Hidden and selected items belong to the previous document.
        self.live.hidden.clear();
        self.live.chosen = 0;
        self.animated.clear();
        self.landscape.reset_view();
        self.diagnostics.reset_view();
        let notice = match records {
            Some(records) => {
                self.player.replay(&mut self.editor.draft.document, records);
                format!("Opened “{title}”. Its recorded changes are repeated.")
            }
            None => {
                self.player.load(&self.editor.draft.document);
                format!("Opened “{title}”. Undo goes back.")
            }
        };
        // It plays, whatever the run before did. The text of a lesson's first step that does not play is about the start.
        let plays = self.editor.lesson().is_none_or(|(index, lesson)| lesson[index].play);
        self.player.send(if plays { PlayerCommand::Play } else { PlayerCommand::Pause });
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
        let Document { spec, beside, .. } = self.editor.draft.document.clone();
        let is_same = |now: &SimulationSpec, before: &SimulationSpec| {
            SimulationSpec { steps: before.steps, ..now.clone() } == *before
        };
        let is_same_beside = beside.len() == beside_before.len()
            && beside.iter().zip(&beside_before).all(|(now, before)| is_same(&now.spec, &before.spec));
        let is_same_run = is_same_beside && is_same(&spec, &before);
        let goes_on = step.goes_on() && index == index_before + 1 && is_same_run && !self.is_finished_by(spec.steps);
        let controls = controls_set_by(&step.set, &before, &spec);
        self.look_as_lesson();
        let is_changed = spec != before || beside != beside_before || !step.set.is_empty();
        if !goes_on && is_changed {
            self.begin_document();
        }
        self.play_lesson_step();
        Highlight::set(ctx, controls);
    }

    /// Shows the editor of the lesson, or hides it. A document without a lesson gets one.
    fn edit_lesson(&mut self) {
        if self.editor.lesson().is_none() {
            self.editor.begin_lesson();
            self.lesson_editor.is_open = true;
        } else {
            self.lesson_editor.is_open = !self.lesson_editor.is_open;
        }
    }

    /// Takes the camera of the lesson's view, if it has one.
    fn look_as_lesson(&mut self) {
        let Some(view) = self.editor.draft.lesson.view_at(self.editor.lesson_step()) else { return };
        if view.camera.is_some() || view.orbit.is_some() {
            let camera = view.camera.unwrap_or_else(|| self.landscape.camera());
            let orbit = view.orbit.unwrap_or_else(|| self.landscape.orbit());
            self.landscape.restore_view(&self.editor.draft.document, camera, orbit);
        }
    }

    /// Plays the run if the lesson step asks for it.
    pub(super) fn play_lesson_step(&mut self) {
        let plays = self.editor.lesson().is_some_and(|(index, lesson)| lesson[index].play);
        if plays {
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

    /// Starts the document's run.
    pub(super) fn begin_document(&mut self) {
        self.player.load(&self.editor.draft.document);
    }
}
