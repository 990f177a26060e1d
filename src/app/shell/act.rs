//! Doing what the panels have asked for.

use std::time::Duration;

use egui::{Context, ViewportCommand};

use super::Valleyscope;
use crate::app::files::Content;
use crate::app::live::{Action, Requests};
use crate::app::save_preset::SavePreset;
use crate::app::theme;
use crate::export::Overwrite;
use crate::preset::{Preset, built_ins};
use crate::simulation::{Command, ParticleId};

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
            Action::Report(text) => self.dialogs.messages.report("Something went wrong", text),
            Action::SavePicture { area, suggested_name } => self.dialogs.pictures.ask(area, suggested_name),
            Action::SaveText { text, suggested_name } => {
                self.dialogs.files.ask_save(Content::Text(text), suggested_name);
            }
            Action::OpenAnimationExport { area } => self.dialogs.animation.open(area, &self.live),
            Action::TogglePlay => self.engine.toggle_play(self.live.playback()),
            Action::SingleStep => self.engine.send(Command::Advance(1)),
            Action::Restart => self.engine.restart(),
            Action::Undo => self.desk.undo(),
            Action::Redo => self.desk.redo(),
            Action::OpenPreset => self.dialogs.files.ask_open(),
            Action::OpenBuiltIn(name) => {
                if let Some(built_in) = built_ins().iter().find(|built_in| built_in.name == name) {
                    let Preset::Landscape(preset) = built_in.preset.clone();
                    self.open(preset, None);
                }
            }
            Action::OpenFile(path) => {
                if !path.exists() {
                    self.shelf.forget(&path);
                }
                self.dialogs.files.open(path);
            }
            Action::Save => self.save_document(),
            Action::SaveAs => self.dialogs.save_preset = Some(SavePreset::new(self.desk.draft())),
            Action::SaveSession => self.dialogs.recording = Some(self.engine.record()),
            Action::GoToStep(step) => {
                if let Err(error) = self.desk.go_to_step(step) {
                    let text = format!("Step {} of the lesson can't be shown: {error}.", step + 1);
                    self.dialogs.messages.report("The lesson does not fit", text);
                }
            }
            Action::TogglePresentation => self.toggle_presentation(ctx),
            Action::ShowKeys => self.dialogs.help.keys = !self.dialogs.help.keys,
            Action::ShowAbout => self.dialogs.help.about = true,
            Action::Quit => ctx.send_viewport_cmd(ViewportCommand::Close),
        }
    }

    pub(super) fn save_document(&mut self) {
        let origin = self.desk.origin();
        let draft = self.desk.draft();
        match &origin.file {
            // With a lesson that does not fit there is something to say first.
            Some(file) if draft.preset.lesson_misfit().is_none() => {
                // The first time, the file is someone's work, perhaps with comments: ask before replacing it.
                let overwrite = if origin.written_here { Overwrite::Yes } else { Overwrite::No };
                let content = Content::Preset(Box::new(draft));
                self.dialogs.files.save(file.clone(), content, overwrite);
            }
            _ => self.dialogs.save_preset = Some(SavePreset::new(draft)),
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
    pub(super) fn settle(&mut self, ctx: &Context) {
        if !self.dialogs.animation.is_recording() {
            self.engine.follow(&self.desk.document, self.pace);
        }
        let spec = &self.desk.document.spec;
        let is_simulated = |selected: ParticleId| {
            selected.particle < spec.particles.get()
                && spec.optimizers.iter().any(|optimizer| optimizer.id == selected.optimizer && optimizer.enabled)
        };
        if self.live.selected.is_some_and(|selected| !is_simulated(selected)) {
            self.live.selected = None;
            self.engine.send(Command::Select(None));
        }
        if self.desk.remember(ctx.time()) {
            ctx.request_repaint_after(Duration::from_millis(600));
        }
        let mark = if self.desk.is_dirty() { " •" } else { "" };
        let title = format!("Valleyscope — {}{mark}", self.desk.origin().preset.title);
        if title != self.title {
            ctx.send_viewport_cmd(ViewportCommand::Title(title.clone()));
            self.title = title;
        }
    }
}
