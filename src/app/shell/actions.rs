//! Carries out the requests of the panels.

use std::path::Path;
use std::sync::Arc;

use egui::{Context, ViewportCommand};

use super::Valleyscope;
use crate::app::editor::{EditorStatus, HistoryStep};
use crate::app::files::FileContent;
use crate::app::live::{Action, Requests};
use crate::app::opened::OpenedContent;
use crate::app::presentation::Presentation;
use crate::app::save_preset::SavePreset;
use crate::app::tab::TabInfo;
use crate::app::tabs::TabName;
use crate::app::timeline;

impl Valleyscope {
    pub(super) fn carry_out(&mut self, ctx: &Context, requests: Requests) {
        self.tabs.landscape.command(requests.commands);
        for action in requests.actions {
            self.act(ctx, action);
        }
    }

    fn act(&mut self, ctx: &Context, action: Action) {
        match action {
            Action::Notify(text) => self.dialogs.messages.notify(text),
            Action::Report { title, text } => self.dialogs.messages.report(title, text),
            Action::SavePicture { area, suggested_name } => self.dialogs.screenshots.ask(area, suggested_name),
            Action::SaveText { text, suggested_name } => {
                self.dialogs.files.ask_save(FileContent::Text(text), suggested_name);
            }
            Action::SaveBytes { bytes, suggested_name } => {
                self.dialogs.files.ask_save(FileContent::Bytes(Arc::new(bytes)), suggested_name);
            }
            Action::SaveImage { image, suggested_name } => {
                self.dialogs.files.ask_save(FileContent::Picture(image), suggested_name);
            }
            Action::CopyImage(image) => {
                ctx.copy_image(Arc::unwrap_or_clone(image));
                self.dialogs.messages.notify("The figure is on the clipboard.");
            }
            Action::SaveDiagram { bytes, suggested_name, exported } => {
                self.dialogs.files.ask_save(FileContent::Diagram(Arc::new(bytes), exported), suggested_name);
            }
            Action::SaveRaw(plan) => self.dialogs.files.ask_raw_folder(plan),
            Action::ChooseDataFolder(begin) => self.dialogs.files.ask_data_folder(begin),
            Action::ChooseRunsFolder => self.dialogs.files.ask_runs_folder(),
            Action::Landscape(action) => {
                let mut requests = Requests::default();
                self.tabs.landscape.act(ctx, action, &mut requests);
                self.carry_out(ctx, requests);
            }
            Action::Undo => self.tabs.shown_mut().undo_or_redo(HistoryStep::Undo),
            Action::Redo => self.tabs.shown_mut().undo_or_redo(HistoryStep::Redo),
            Action::CopyPreset => self.copy_preset(ctx),
            Action::PastePreset => self.ask_paste(ctx),
            Action::OpenPreset => self.dialogs.files.ask_open(),
            Action::Open(preset) => self.open(ctx, OpenedContent::Preset(preset), None),
            Action::OpenFile(path) => self.dialogs.files.open(path),
            Action::Save => self.save_preset(),
            Action::SaveAs => self.dialogs.save_preset = Some(SavePreset::new(self.tabs.shown().to_save())),
            Action::AskToSave(draft) => self.dialogs.save_preset = Some(SavePreset::new(*draft)),
            Action::TogglePresentation => self.toggle_presentation(ctx),
            Action::ShowKeys => self.dialogs.help.keys = !self.dialogs.help.keys,
            Action::ShowOptimizer(kind) => self.dialogs.help.optimizer = Some(kind),
            Action::ShowAbout => self.dialogs.help.about = true,
            Action::ShowDifferences(table) => self.dialogs.differences.open(*table),
            Action::ComparePresets => self.dialogs.compare_presets.open(),
            Action::Quit => ctx.send_viewport_cmd(ViewportCommand::Close),
        }
    }

    /// Opens a preset, a result or a run in the tab for it.
    pub(super) fn open(&mut self, ctx: &Context, content: OpenedContent, file: Option<&Path>) {
        let mut requests = Requests::default();
        self.tabs.open(content, file, &mut requests);
        self.carry_out(ctx, requests);
    }

    /// Saves to the preset's own file, or asks for the path, or shows a warning about parts that would be left out.
    fn save_preset(&mut self) {
        let dialog = SavePreset::new(self.tabs.shown().to_save());
        match self.tabs.shown().editor().target() {
            Some((file, overwrite)) if !dialog.warns() => {
                self.dialogs.files.save(file.to_owned(), dialog.content(), overwrite);
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
                let space = if keys.contains(&timeline::PLAY) { "Space plays, " } else { "" };
                self.dialogs.messages.notify(format!("Esc leaves the presentation. {space}? shows all keys."));
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
        let mut requests = Requests::default();
        for &tab in TabName::ALL {
            let is_shown = self.tabs.is_shown(tab);
            self.tabs.get_mut(tab).end_frame(ctx, is_shown, &mut requests);
        }
        self.carry_out(ctx, requests);
        let EditorStatus { title: name, is_dirty, .. } = self.tabs.shown().status();
        let mark = if is_dirty { " •" } else { "" };
        let title = format!("Valleyscope — {name}{mark}");
        if title != self.title {
            ctx.send_viewport_cmd(ViewportCommand::Title(title.clone()));
            self.title = title;
        }
    }
}
