//! Draws the panels, and the dialogs above them.

use egui::{Context, Panel, Ui};
use valleyscope_runs::atomic_file::Overwrite;

use super::Valleyscope;
use crate::app::live::Requests;
use crate::app::menu;
use crate::app::save_preset::{Destination, SaveDecision};
use crate::app::tab::TabWindow;
use crate::app::tabs::TabName;

impl Valleyscope {
    pub(super) fn panels(&mut self, ui: &mut Ui, requests: &mut Requests) {
        if !self.layout.is_presenting() {
            Panel::top("menu").show(ui, |ui| {
                menu::bar(ui, &mut self.tabs, &mut self.catalog, &mut self.layout, requests);
            });
        }
        let simulation = self.tabs.landscape.document().spec.clone();
        let window = TabWindow { layout: &mut self.layout, catalog: &self.catalog, simulation: &simulation };
        self.tabs.shown_mut().ui(ui, window, requests);
    }

    pub(super) fn dialogs(&mut self, ctx: &Context, requests: &mut Requests) {
        self.dialogs.help.show(ctx);
        let draft = || self.tabs.shown().to_save().preset;
        self.dialogs.compare_presets.show(ctx, self.tabs.shown_name(), draft, &self.catalog, requests);
        self.dialogs.differences.show(ctx);
        self.dialogs.files.show(ctx);
        self.show_save_preset(ctx);
        self.show_drop_target(ctx);
        self.dialogs.screenshots.request_when_due(ctx);
        for &tab in TabName::ALL {
            self.tabs.get_mut(tab).dialogs(ctx, requests);
        }
        let free = self.tabs.shown().area();
        let is_landscape = self.tabs.is_shown(TabName::Landscape);
        self.dialogs.messages.show(ctx, free, !is_landscape);
        self.show_quit_question(ctx);
        if let Some(presentation) = &mut self.layout.presentation {
            presentation.draw(ctx);
        }
    }

    pub(super) fn show_save_preset(&mut self, ctx: &Context) {
        let Some(dialog) = &mut self.dialogs.save_preset else { return };
        match dialog.show(ctx) {
            SaveDecision::None => return,
            SaveDecision::Cancelled => {}
            SaveDecision::Save(content, Destination::File(name)) => self.dialogs.files.ask_save(content, name),
            SaveDecision::Save(content, Destination::Library(name)) => match self.catalog.folder() {
                Some(folder) => self.dialogs.files.save(folder.join(name), content, Overwrite::No),
                None => self.dialogs.files.ask_save(content, name),
            },
        }
        self.dialogs.save_preset = None;
    }

    /// Accepts presets that are dropped on the window, and shows where to drop them.
    pub(super) fn show_drop_target(&mut self, ctx: &Context) {
        for file in ctx.input(|input| input.raw.dropped_files.clone()) {
            let path = file.path().to_owned();
            let is_known =
                |extension: &std::ffi::OsStr| ["ron", "npz"].iter().any(|known| extension.eq_ignore_ascii_case(known));
            if path.is_dir() || path.extension().is_some_and(is_known) {
                self.dialogs.files.open(path);
            } else {
                let text = format!(
                    "{} is not a preset, a result or the folder of a run: a file's name must end in .ron or .npz.",
                    path.display()
                );
                self.dialogs.messages.report("The dropped file was not opened", text);
            }
        }
        if ctx.input(|input| input.raw.hovered_files.is_empty()) {
            return;
        }
        let screen = ctx.content_rect();
        let layer = egui::LayerId::new(egui::Order::Tooltip, egui::Id::unique("drop target"));
        let painter = ctx.layer_painter(layer);
        let visuals = &ctx.global_style().visuals;
        painter.rect_filled(screen, 0.0, visuals.extreme_bg_color.gamma_multiply(0.8));
        let frame = egui::Stroke::new(3.0, visuals.hyperlink_color);
        painter.rect_stroke(screen.shrink(12.0), 12.0, frame, egui::StrokeKind::Inside);
        let font = egui::TextStyle::Heading.resolve(&ctx.global_style());
        let text = "Drop a preset (.ron), a result (.npz) or a run's folder to open it";
        painter.text(screen.center(), egui::Align2::CENTER_CENTER, text, font, visuals.strong_text_color());
    }
}
