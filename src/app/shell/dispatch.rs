//! How the app carries out the requests of the panels.

use std::path::Path;
use std::sync::Arc;

use egui::{Context, Event, ViewportCommand};
use valleyscope_experiments::preset::Preset;

use super::Valleyscope;
use super::actions::{Action, Requests};
use super::editor::{EditorStatus, HistoryStep};
use super::files::OpenedContent;

use super::presets::SavePreset;
use super::tab::TabInfo;
use super::tabs::{TabName, Tabs};
use super::window::Presentation;
use crate::app::landscape::timeline;
use crate::app::widgets::form::needs_keys;

impl Valleyscope {
    pub(super) fn carry_out(&mut self, ctx: &Context, requests: Requests) {
        self.tabs.landscape.command(requests.commands);
        for action in requests.actions {
            self.act(ctx, action);
        }
    }

    /// Carries out what tabs request.
    pub(super) fn requested(&mut self, ctx: &Context, of_tabs: impl FnOnce(&mut Tabs, &mut Requests)) {
        let mut requests = Requests::default();
        of_tabs(&mut self.tabs, &mut requests);
        self.carry_out(ctx, requests);
    }

    pub(super) fn act(&mut self, ctx: &Context, action: Action) {
        match action {
            Action::Notify(text) => self.dialogs.messages.notify(text),
            Action::Report { title, text } => self.dialogs.messages.report(title, text),
            Action::CopyImage(image) => {
                ctx.copy_image(Arc::unwrap_or_clone(image));
                self.dialogs.messages.notify("The picture is on the clipboard.");
            }
            Action::Export(kind) => {
                let source = self.tabs.shown_mut().export_source();
                self.dialogs.export.open(ctx, self.tabs.shown_name(), kind, source);
            }
            Action::Choose(purpose) => self.dialogs.files.ask(*purpose),
            Action::Landscape(action) => {
                self.requested(ctx, |tabs, requests| tabs.landscape.act(ctx, action, requests));
            }
            Action::Undo => self.tabs.shown_mut().undo_or_redo(HistoryStep::Undo),
            Action::Redo => self.tabs.shown_mut().undo_or_redo(HistoryStep::Redo),
            Action::CopyPreset => self.copy_preset(ctx),
            Action::PastePreset => self.ask_paste(ctx),
            Action::Open(preset) => self.open(ctx, OpenedContent::Preset(preset), None),
            Action::OpenFile(path) => self.dialogs.files.open(path),
            Action::Save => self.save_preset(),
            Action::SaveAs => self.dialogs.save_preset = Some(SavePreset::new(self.tabs.shown().to_save())),
            Action::AskToSave(draft) => self.dialogs.save_preset = Some(SavePreset::new(*draft)),
            Action::TogglePresentation => self.toggle_presentation(ctx),
            Action::ShowKeys => self.dialogs.help.keys = !self.dialogs.help.keys,
            Action::ShowOptimizer(kind) => self.dialogs.help.optimizer = Some(kind),
            Action::ShowAbout => self.dialogs.help.about = true,
            Action::ShowOpening => {
                self.tabs.show(TabName::Landscape);
                self.requested(ctx, |tabs, requests| tabs.landscape.show_opening(requests));
            }
            Action::ShowDifferences(table) => self.dialogs.differences = Some(*table),
            Action::ComparePresets => self.dialogs.compare_presets.open(),
            Action::Quit => ctx.send_viewport_cmd(ViewportCommand::Close),
        }
    }

    /// Opens a preset, a result or a run in the tab for it.
    pub(super) fn open(&mut self, ctx: &Context, content: OpenedContent, file: Option<&Path>) {
        let is_presenting = self.layout.is_presenting();
        self.requested(ctx, |tabs, requests| {
            tabs.open(content, file, requests);
            requests.actions.retain(|action| !(is_presenting && matches!(action, Action::Notify(_))));
        });
    }

    /// Saves to the preset's own file, or asks for the path, or shows a warning about parts that would be left out.
    fn save_preset(&mut self) {
        let dialog = SavePreset::new(self.tabs.shown().to_save());
        match self.tabs.shown().target() {
            Some((file, overwrite)) if !dialog.warns() => {
                self.dialogs.files.save(file.to_owned(), dialog.into_content(), overwrite);
            }
            _ => self.dialogs.save_preset = Some(dialog),
        }
    }

    fn toggle_presentation(&mut self, ctx: &Context) {
        match self.layout.presentation.take() {
            Some(presentation) => presentation.end(ctx),
            None => {
                let TabInfo { presented_size, keys, .. } = self.tabs.shown_name().info();
                self.layout.presentation = Some(Presentation::begin(ctx, *presented_size));
                let clicker = self.tabs.shown_landscape().map_or("", |tab| tab.clicker_hint());
                let space = if keys.contains(&timeline::PLAY) { "Space: play. " } else { "" };
                self.dialogs.messages.notify(format!("{clicker}{space}Esc: leave. ?: all keys."));
            }
        }
        ctx.send_viewport_cmd(ViewportCommand::Fullscreen(self.layout.is_presenting()));
    }

    /// Updates the tabs' computations and the window's title from the drafts.
    pub(super) fn end_frame(&mut self, ctx: &Context) {
        self.fonts.update(ctx);
        if let Some(warning) = self.fonts.take_warning() {
            self.dialogs.messages.notify(warning);
        }
        self.requested(ctx, |tabs, requests| {
            let is_shown = tabs.is_shown(TabName::Landscape);
            tabs.landscape.end_frame(ctx, is_shown, requests);
        });
        let EditorStatus { title: name, is_dirty, .. } = self.tabs.shown().status();
        let mark = if is_dirty { " •" } else { "" };
        let title = format!("Valleyscope — {name}{mark}");
        if title != self.title {
            ctx.send_viewport_cmd(ViewportCommand::Title(title.clone()));
            self.title = title;
        }
    }
}

/// The time within which the clipboard answers, in seconds.
const PATIENCE_SECS: f64 = 1.0;
const NO_PRESET: &str = "The clipboard holds no preset";

impl Valleyscope {
    pub(super) fn copy_preset(&mut self, ctx: &Context) {
        let preset = self.tabs.shown().to_save().preset;
        ctx.copy_text(preset.to_ron());
        self.dialogs.messages.notify(format!("“{}” is on the clipboard, as text.", preset.title()));
    }

    /// Requests the clipboard's text, which arrives in a later frame.
    pub(super) fn ask_paste(&mut self, ctx: &Context) {
        ctx.send_viewport_cmd(ViewportCommand::RequestPaste);
        ctx.request_repaint();
        self.paste_asked = Some(ctx.time());
    }

    /// Opens the preset whose text is pasted, unless a field, a dialog or a menu takes the text.
    pub(super) fn take_paste(&mut self, ctx: &Context) {
        if self.paste_asked.is_none() && needs_keys(ctx) {
            return;
        }
        let pasted = ctx.input_mut(|input| {
            let index = input.events.iter().position(|event| matches!(event, Event::Paste(_)))?;
            Some(input.events.remove(index))
        });
        match (pasted, self.paste_asked) {
            (Some(Event::Paste(text)), _) => {
                self.paste_asked = None;
                self.paste(ctx, &text);
            }
            (_, Some(asked)) if ctx.time() - asked > PATIENCE_SECS => {
                self.paste_asked = None;
                self.dialogs.messages.report(NO_PRESET, "There is no text on it. Copy the text of a preset first.");
            }
            (_, Some(_)) => ctx.request_repaint(),
            (_, None) => {}
        }
    }

    fn paste(&mut self, ctx: &Context, text: &str) {
        match Preset::parse(text, "the clipboard") {
            Ok(preset) => self.open(ctx, OpenedContent::Preset(Box::new(preset)), None),
            Err(error) => self.dialogs.messages.report(
                NO_PRESET,
                format!(
                    "{error}\n\nThe text of a preset begins with its kind, such as “Landscape(version: 1, …”. Edit, Copy \
                     preset puts that of the shown preset on the clipboard."
                ),
            ),
        }
    }
}
