//! Doing what the panels have asked for.

use std::path::PathBuf;
use std::sync::Arc;

use egui::{Context, ViewportCommand};
use valleyscope_engine::simulation::{EngineCommand, ParticleId, SimulationSpec};
use valleyscope_experiments::preset::{Preset, built_ins};
use valleyscope_runs::RunFolder;

use super::Valleyscope;
use crate::app::controls::{Highlight, set_controls};
use crate::app::editor::{Editor, EditorStatus, PresetDraft};
use crate::app::files::FileContent;
use crate::app::landscape_editor::{LandscapeDraft, LandscapeEditor};
use crate::app::live::{Action, Requests};
use crate::app::save_preset::SavePreset;
use crate::app::tab_draft::TabDraft;
use crate::app::theme;
use crate::app::window_layout::Tab;
use crate::result::SweepResult;

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
            Action::SaveDiagram { bytes, suggested_name, exported } => {
                self.dialogs.files.ask_save(FileContent::Diagram(Arc::new(bytes), exported), suggested_name);
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
            Action::OpenAnimationExport => self.dialogs.animation.open(&self.live, || self.engine.record()),
            Action::TogglePlay => self.engine.toggle_play(self.live.playback()),
            Action::SingleStep => self.engine.send(EngineCommand::Advance(1)),
            Action::Restart => self.engine.restart(),
            Action::Undo => match self.layout.tab {
                Tab::Landscape => self.go_in_history(Editor::undo),
                Tab::Phase => self.panels.phase.undo(),
                Tab::Training => self.panels.training.editor_mut().undo(),
            },
            Action::Redo => match self.layout.tab {
                Tab::Landscape => self.go_in_history(Editor::redo),
                Tab::Phase => self.panels.phase.redo(),
                Tab::Training => self.panels.training.editor_mut().redo(),
            },
            Action::OpenPreset => self.dialogs.files.ask_open(),
            Action::OpenBuiltIn(name) => {
                if let Some(built_in) = built_ins().iter().find(|built_in| built_in.name == name) {
                    self.open_preset(built_in.preset.clone(), None);
                }
            }
            Action::OpenFile(path) => self.dialogs.files.open(path),
            Action::Save => self.save_preset(),
            Action::SaveAs => self.dialogs.save_preset = Some(self.save_dialog()),
            Action::SaveSession => self.dialogs.recording = Some(self.engine.record()),
            Action::GoToStep(step) => self.go_to_lesson_step(ctx, step),
            Action::TogglePresentation => self.toggle_presentation(ctx),
            Action::ShowKeys => self.dialogs.help.keys = !self.dialogs.help.keys,
            Action::ShowOptimizer(kind) => self.dialogs.help.optimizer = Some(kind),
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

    /// Shows a step of the lesson. What it sets is to be seen from the start of a run, so that one begins; a step that only
    /// sets a later pause goes on with the run of the step before.
    fn go_to_lesson_step(&mut self, ctx: &Context, index: usize) {
        let (index_before, before) = (self.editor.lesson_step(), self.editor.draft.document.spec.clone());
        if let Err(error) = self.editor.go_to_step(index) {
            let text = format!(
                "Step {} of the lesson can't be shown: {error}. Undo brings back the settings that the lesson goes on from.",
                index + 1
            );
            self.dialogs.messages.report("The lesson does not fit", text);
            return;
        }
        let Some(step) = self.editor.lesson().and_then(|(_, lesson)| lesson.get(index).cloned()) else { return };
        let spec = &self.editor.draft.document.spec;
        let is_same_run = SimulationSpec { steps: before.steps, ..spec.clone() } == before;
        let goes_on = step.goes_on() && index == index_before + 1 && is_same_run && !self.is_finished_by(spec.steps);
        let controls = set_controls(&step.set, &before, spec);
        if !goes_on && (*spec != before || !step.set.is_empty()) {
            self.begin_document();
        }
        self.play_lesson_step();
        Highlight::on(ctx, controls);
    }

    /// Plays the run where the lesson's step asks for it, unless an animation has the engine for itself.
    fn play_lesson_step(&mut self) {
        let plays = self.editor.lesson().is_some_and(|(index, lesson)| lesson[index].play);
        if plays && !self.dialogs.animation.is_recording() {
            // A later pause has to be in force before the run plays on.
            self.engine.follow(&self.editor.draft.document, self.pace);
            self.engine.send(EngineCommand::Play);
        }
    }

    /// Whether the run has reached the step where it would pause.
    fn is_finished_by(&self, steps: Option<u64>) -> bool {
        let step = self.live.snapshot.as_ref().map_or(0, |snapshot| snapshot.step);
        steps.is_some_and(|steps| step >= steps)
    }

    /// Begins the document's run, unless an animation has the engine for itself.
    fn begin_document(&mut self) {
        if !self.dialogs.animation.is_recording() {
            self.engine.load(&self.editor.draft.document);
        }
    }

    /// Undoes or redoes. A step of a lesson that is come back to begins its run as when it was gone to.
    fn go_in_history(&mut self, go: impl FnOnce(&mut LandscapeEditor)) {
        let step_before = self.editor.lesson_step();
        go(&mut self.editor);
        if self.editor.lesson_step() != step_before {
            self.begin_document();
            self.play_lesson_step();
        }
    }

    /// The landscape as a preset. Its view is kept while it does not follow the particles.
    pub(super) fn landscape_draft(&self) -> PresetDraft<LandscapeDraft> {
        let mut draft = self.editor.document_draft();
        if let Some(view) = draft.preset.view.as_mut().filter(|view| !view.follow) {
            view.camera = Some(self.panels.landscape.camera());
        }
        draft
    }

    /// The landscape as a preset to save: outside of the user's own file, with a title that is made from what was changed.
    fn titled_landscape_draft(&self) -> PresetDraft<LandscapeDraft> {
        let mut draft = self.landscape_draft();
        if self.editor.file().is_none() && self.editor.is_dirty() {
            let mut before = self.editor.saved_state().preset.clone();
            // What the lesson has set by its present step is no change.
            before.simulation = before.simulation_at(self.editor.lesson_step()).unwrap_or(before.simulation);
            let titled = Preset::Landscape(draft.preset.clone()).as_changed_from(&Preset::Landscape(before));
            draft.preset.title = titled.title().to_owned();
            draft.preset.description = titled.description().to_owned();
        }
        draft
    }

    /// The settings under the controls of the shown tab, as a preset.
    fn draft(&self) -> TabDraft {
        match self.layout.tab {
            Tab::Landscape => TabDraft::Landscape(Box::new(self.titled_landscape_draft())),
            Tab::Phase => TabDraft::Phase(Box::new(self.panels.phase.titled_draft())),
            Tab::Training => TabDraft::Training(Box::new(self.panels.training.draft())),
        }
    }

    fn save_dialog(&self) -> SavePreset {
        let drops_changes = self.layout.tab == Tab::Landscape && !self.editor.saved_state().preset.changes.is_empty();
        SavePreset::new(self.draft(), drops_changes)
    }

    /// Saves to the preset's own file, or asks where, or what to do about what would be left out.
    pub(super) fn save_preset(&mut self) {
        let dialog = self.save_dialog();
        let target = match self.layout.tab {
            Tab::Landscape => self.editor.target(),
            Tab::Phase => self.panels.phase.editor().target(),
            Tab::Training => self.panels.training.editor().target(),
        };
        match target {
            Some((file, overwrite)) if !dialog.warns() => {
                self.dialogs.files.save(file.to_owned(), dialog.content(), overwrite);
            }
            _ => self.dialogs.save_preset = Some(dialog),
        }
    }

    /// The status of the shown tab's editor.
    pub(super) fn editor_status(&self) -> EditorStatus {
        match self.layout.tab {
            Tab::Landscape => {
                let preset = &self.editor.saved_state().preset;
                self.editor.status(&preset.title, &preset.description)
            }
            Tab::Phase => self.panels.phase.status(),
            Tab::Training => self.panels.training.status(),
        }
    }

    pub(super) fn toggle_presentation(&mut self, ctx: &Context) {
        self.layout.presenting = !self.layout.presenting;
        let presenting = self.layout.presenting;
        theme::set_text_scale(ctx, if presenting { theme::PRESENTATION_SCALE } else { 1.0 });
        ctx.send_viewport_cmd(ViewportCommand::Fullscreen(presenting));
        if presenting {
            self.dialogs.messages.notify("Esc leaves the presentation. Space plays, ? shows all keys.");
        }
    }

    /// Brings engine, history, selection and title in line with the document.
    pub(super) fn sync(&mut self, ctx: &Context) {
        self.landscape_wake.show(self.shows_landscape());
        if !self.dialogs.animation.is_recording() {
            let begun_by = self.engine.follow(&self.editor.draft.document, self.pace);
            let under_way = self.live.snapshot.as_ref().is_some_and(|snapshot| snapshot.step > 0);
            if let Some(reason) = begun_by.filter(|_| under_way) {
                self.dialogs.messages.notify(format!("Started again at step 0: {reason}."));
            }
        }
        let spec = &self.editor.draft.document.spec;
        let is_simulated = |selected: ParticleId| {
            selected.particle < spec.particles.get()
                && spec.optimizers.iter().any(|optimizer| optimizer.id == selected.optimizer && optimizer.enabled)
        };
        if self.live.selected.is_some_and(|selected| !is_simulated(selected)) {
            self.live.selected = None;
            self.engine.send(EngineCommand::Select(None));
        }
        self.editor.remember(ctx);
        let EditorStatus { title: name, is_dirty, .. } = self.editor_status();
        let mark = if is_dirty { " •" } else { "" };
        let title = format!("Valleyscope — {name}{mark}");
        if title != self.title {
            ctx.send_viewport_cmd(ViewportCommand::Title(title.clone()));
            self.title = title;
        }
    }
}
