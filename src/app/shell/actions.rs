//! Doing what the panels have asked for.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use egui::{Context, ViewportCommand};

use super::{Tab, Valleyscope};
use crate::app::controls::{Highlight, set_controls};
use crate::app::document_editor::{DocumentEditor, PresetDraft};
use crate::app::files::FileContent;
use crate::app::live::{Action, Requests};
use crate::app::save_preset::SavePreset;
use crate::app::theme;
use crate::export::Overwrite;
use crate::preset::{Preset, built_ins};
use crate::result::SweepResult;
use crate::run::RunFolder;
use crate::simulation::{EngineCommand, ParticleId};

/// How much larger text is in a presentation.
const PRESENTATION_SCALE: f32 = 1.5;

impl Valleyscope {
    pub(super) fn carry_out(&mut self, ctx: &Context, requests: Requests) {
        for command in requests.commands {
            self.engine.send(command);
        }
        for action in requests.actions {
            self.act(ctx, action);
        }
    }

    pub(super) fn act(&mut self, ctx: &Context, action: Action) {
        match action {
            Action::Notify(text) => self.dialogs.messages.notify(text),
            Action::Report { title, text } => self.dialogs.messages.report(title, text),
            Action::SavePicture { area, suggested_name } => self.dialogs.pictures.ask(area, suggested_name),
            Action::SaveText { text, suggested_name } => {
                self.dialogs.files.ask_save(FileContent::Text(text), suggested_name);
            }
            Action::SaveBytes { bytes, suggested_name } => {
                self.dialogs.files.ask_save(FileContent::Bytes(Arc::new(bytes)), suggested_name);
            }
            Action::SaveRaw(plan) => self.dialogs.files.ask_raw_folder(plan),
            Action::ChooseDataFolder(begin) => self.dialogs.files.ask_data_folder(begin),
            Action::ShowLandscape(preset) => {
                self.layout.tab = Tab::Landscape;
                self.open(*preset, None);
                self.engine.send(EngineCommand::Play);
            }
            Action::GoTo(tab) => self.layout.tab = tab,
            Action::OpenPictureExport => self.dialogs.picture_export.open(),
            Action::OpenFigureExport => self.dialogs.figure_export.open(),
            Action::OpenAnimationExport => self.dialogs.animation.open(&self.live),
            Action::TogglePlay => self.engine.toggle_play(self.live.playback()),
            Action::SingleStep => self.engine.send(EngineCommand::Advance(1)),
            Action::Restart => self.engine.restart(),
            Action::Undo if self.layout.tab == Tab::Phase => self.panels.phase.undo(),
            Action::Redo if self.layout.tab == Tab::Phase => self.panels.phase.redo(),
            Action::Undo if self.layout.tab == Tab::Training => self.panels.training.undo(),
            Action::Redo if self.layout.tab == Tab::Training => self.panels.training.redo(),
            Action::Undo => self.go_in_history(DocumentEditor::undo),
            Action::Redo => self.go_in_history(DocumentEditor::redo),
            Action::OpenPreset => self.dialogs.files.ask_open(),
            Action::OpenBuiltIn(name) => {
                if let Some(built_in) = built_ins().iter().find(|built_in| built_in.name == name) {
                    self.open_preset(built_in.preset.clone(), None);
                }
            }
            Action::OpenFile(path) => self.dialogs.files.open(path),
            Action::Save if self.layout.tab == Tab::Phase => self.save_sweep(),
            Action::SaveAs if self.layout.tab == Tab::Phase => {
                self.dialogs.save_preset = Some(SavePreset::of_sweep(self.panels.phase.draft()));
            }
            Action::Save if self.layout.tab == Tab::Training => self.save_training(),
            Action::SaveAs if self.layout.tab == Tab::Training => {
                self.dialogs.save_preset = Some(SavePreset::of_training(self.panels.training.draft()));
            }
            Action::Save => self.save_document(),
            Action::SaveAs => {
                self.dialogs.save_preset = Some(SavePreset::new(self.draft()).instead_of(self.editor.saved_state()))
            }
            Action::SaveSession => self.dialogs.recording = Some(self.engine.record()),
            Action::GoToStep(step) => self.go_to_lesson_step(ctx, step),
            Action::TogglePresentation => self.toggle_presentation(ctx),
            Action::ShowKeys => self.dialogs.help.keys = !self.dialogs.help.keys,
            Action::ShowAbout => self.dialogs.help.about = true,
            Action::Quit => ctx.send_viewport_cmd(ViewportCommand::Close),
        }
    }

    /// Shows a preset where it belongs.
    pub(super) fn open_preset(&mut self, preset: Preset, file: Option<PathBuf>) {
        match preset {
            Preset::Landscape(preset) => {
                self.layout.tab = Tab::Landscape;
                self.open(preset, file);
            }
            Preset::Sweep(preset) => {
                self.layout.tab = Tab::Phase;
                self.panels.phase.open(preset, file);
            }
            preset => {
                self.layout.tab = Tab::Training;
                self.panels.training.open(preset, file);
            }
        }
    }

    /// Shows a sweep's result.
    pub(super) fn open_result(&mut self, result: SweepResult) {
        self.layout.tab = Tab::Phase;
        self.panels.phase.open_result(result);
    }

    /// Shows a run and its curves.
    pub(super) fn open_run(&mut self, run: RunFolder) {
        self.layout.tab = Tab::Training;
        self.panels.training.open_run(run);
    }

    /// Shows a step of the lesson. What it sets is to be seen from the start of a run, so that one begins.
    fn go_to_lesson_step(&mut self, ctx: &Context, step: usize) {
        let before = self.editor.document.spec.clone();
        if let Err(error) = self.editor.go_to_step(step) {
            let text = format!("Step {} of the lesson can't be shown: {error}.", step + 1);
            self.dialogs.messages.report("The lesson does not fit", text);
            return;
        }
        let set = self.editor.lesson().map_or_else(Vec::new, |(step, lesson)| lesson[step].set.clone());
        if self.editor.document.spec != before || !set.is_empty() {
            self.begin_document();
        }
        Highlight::on(ctx, set_controls(&set, &before, &self.editor.document.spec));
    }

    /// Begins the document's run, unless an animation has the engine for itself.
    fn begin_document(&mut self) {
        if !self.dialogs.animation.is_recording() {
            self.engine.load(&self.editor.document);
        }
    }

    /// Undoes or redoes. A step of a lesson that is come back to begins its run as when it was gone to.
    fn go_in_history(&mut self, go: impl FnOnce(&mut DocumentEditor)) {
        let step_before = self.editor.lesson_step();
        go(&mut self.editor);
        if self.editor.lesson_step() != step_before {
            self.begin_document();
        }
    }

    /// The document as a preset. While the view is not following it is kept too.
    pub(super) fn draft(&self) -> PresetDraft {
        let mut draft = self.editor.draft();
        if let Some(view) = draft.preset.view.as_mut().filter(|view| !view.follow) {
            view.camera = Some(self.panels.landscape.camera());
        }
        draft
    }

    pub(super) fn save_document(&mut self) {
        let saved_state = self.editor.saved_state();
        let draft = self.draft();
        match &saved_state.file {
            // With a lesson that does not fit, or a recording's changes, there is something to say first.
            Some(file) if draft.preset.lesson_misfit().is_none() && saved_state.preset.changes.is_empty() => {
                // The first time, the file is someone's work, perhaps with comments: ask before replacing it.
                let overwrite = if saved_state.written_here { Overwrite::Yes } else { Overwrite::No };
                let content = FileContent::Preset(Box::new(draft));
                self.dialogs.files.save(file.clone(), content, overwrite);
            }
            _ => self.dialogs.save_preset = Some(SavePreset::new(draft).instead_of(saved_state)),
        }
    }

    fn save_sweep(&mut self) {
        let draft = self.panels.phase.draft();
        match self.panels.phase.file() {
            Some((file, overwrite)) => {
                self.dialogs.files.save(file.to_owned(), FileContent::Sweep(Box::new(draft)), overwrite);
            }
            None => self.dialogs.save_preset = Some(SavePreset::of_sweep(draft)),
        }
    }

    fn save_training(&mut self) {
        let draft = self.panels.training.draft();
        match self.panels.training.file() {
            Some((file, overwrite)) => {
                self.dialogs.files.save(file.to_owned(), FileContent::Training(Box::new(draft)), overwrite);
            }
            None => self.dialogs.save_preset = Some(SavePreset::of_training(draft)),
        }
    }

    pub(super) fn toggle_presentation(&mut self, ctx: &Context) {
        self.layout.presenting = !self.layout.presenting;
        let presenting = self.layout.presenting;
        theme::set_text_scale(ctx, if presenting { PRESENTATION_SCALE } else { 1.0 });
        ctx.send_viewport_cmd(ViewportCommand::Fullscreen(presenting));
        if presenting {
            self.dialogs.messages.notify("Esc leaves the presentation. Space plays, ? shows all keys.");
        }
    }

    /// Brings engine, history, selection and title in line with the document.
    pub(super) fn sync(&mut self, ctx: &Context) {
        let shown = self.layout.tab == Tab::Landscape || self.dialogs.animation.is_recording();
        self.landscape_wake.show(shown);
        if !self.dialogs.animation.is_recording() {
            let begun_by = self.engine.follow(&self.editor.document, self.pace);
            let under_way = self.live.snapshot.as_ref().is_some_and(|snapshot| snapshot.step > 0);
            if let Some(reason) = begun_by.filter(|_| under_way) {
                self.dialogs.messages.notify(format!("Started again at step 0: {reason}."));
            }
        }
        let spec = &self.editor.document.spec;
        let is_simulated = |selected: ParticleId| {
            selected.particle < spec.particles.get()
                && spec.optimizers.iter().any(|optimizer| optimizer.id == selected.optimizer && optimizer.enabled)
        };
        if self.live.selected.is_some_and(|selected| !is_simulated(selected)) {
            self.live.selected = None;
            self.engine.send(EngineCommand::Select(None));
        }
        if self.editor.remember(ctx.time()) {
            ctx.request_repaint_after(Duration::from_millis(600));
        }
        let (name, is_dirty) = match self.layout.tab {
            Tab::Landscape => (self.editor.saved_state().preset.title.as_str(), self.editor.is_dirty()),
            Tab::Phase => (self.panels.phase.preset().title.as_str(), self.panels.phase.is_dirty()),
            Tab::Training => (self.panels.training.preset().title(), self.panels.training.is_dirty()),
        };
        let mark = if is_dirty { " •" } else { "" };
        let title = format!("Valleyscope — {name}{mark}");
        if title != self.title {
            ctx.send_viewport_cmd(ViewportCommand::Title(title.clone()));
            self.title = title;
        }
    }
}
