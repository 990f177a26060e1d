//! Drawing: the panels, and what appears above them.

use egui::{CentralPanel, Context, Panel, ScrollArea, Ui};
use valleyscope_runs::atomic_file::Overwrite;

use super::Valleyscope;
use crate::app::live::Requests;
use crate::app::save_preset::{Destination, SaveDecision};
use crate::app::side_panel::{Edge, PanelSizes, SidePanel};
use crate::app::window_layout::Tab;
use crate::app::{lesson, menu, transport};

/// Narrower windows do not show the plots, in points.
const ROOM_FOR_PLOTS: f32 = 760.0;
/// The part of a presentation's width that the plots of a lesson take.
const PRESENTED_PLOTS: f32 = 0.34;
/// The smallest heights of the formulas, and of the part below them.
const LEAST_FORMULAS: f32 = 140.0;
const LEAST_PLOTS: f32 = 250.0;

impl Valleyscope {
    pub(super) fn panels(&mut self, ui: &mut Ui, requests: &mut Requests) {
        let presenting = self.layout.presenting;
        if !presenting {
            Panel::top("menu").show(ui, |ui| {
                let (status, view) = (self.editor_status(), &mut self.editor.draft.document.view);
                menu::bar(ui, &status, &mut self.catalog, view, &mut self.layout, requests);
            });
        }
        if self.layout.tab == Tab::Phase {
            self.panels.phase.ui(ui, &mut self.layout, &mut self.editor.draft.document, requests);
            return;
        }
        if self.layout.tab == Tab::Training {
            self.panels.training.ui(ui, &mut self.layout, &self.catalog, requests);
            return;
        }
        self.landscape_tab(ui, requests);
    }

    fn landscape_tab(&mut self, ui: &mut Ui, requests: &mut Requests) {
        let pointed_at = self.editor.lesson().map_or(&[][..], |(step, lesson)| &lesson[step].show);
        self.panels.diagnostics.point_at(pointed_at);
        let points_at_plots = !pointed_at.is_empty();
        if let Some((step, lesson)) = self.editor.lesson() {
            let frame = egui::Frame::side_top_panel(ui.style()).inner_margin(egui::Margin::symmetric(12, 6));
            Panel::top("lesson")
                .frame(frame)
                .show(ui, |ui| lesson::strip(ui, step, lesson.len(), &lesson[step].text, requests));
        }
        if !self.layout.presenting {
            let (document, live) = (&mut self.editor.draft.document, &mut self.live);
            Panel::bottom("transport").show(ui, |ui| {
                ui.add_space(2.0);
                transport::bar(ui, document, live, &mut self.pace, requests);
                ui.add_space(2.0);
            });
            self.beside_landscape(ui, requests);
        } else {
            Panel::bottom("run").show(ui, |ui| transport::state(ui, &self.live));
            if points_at_plots && ui.available_width() >= ROOM_FOR_PLOTS {
                let width = PRESENTED_PLOTS * ui.available_width();
                let (document, live) = (&mut self.editor.draft.document, &mut self.live);
                Panel::right("presented plots").resizable(false).exact_size(width).show(ui, |ui| {
                    self.panels.diagnostics.presentation(ui, document, live, requests);
                });
            }
        }
        // What is recorded is seen with the settings that it has.
        let recorded = self.live.snapshot.as_ref().filter(|_| self.dialogs.animation.is_recording());
        let mut recorded = recorded.map(|snapshot| self.editor.draft.document.in_force(&snapshot.spec));
        CentralPanel::default().frame(egui::Frame::NONE.fill(ui.visuals().extreme_bg_color)).show(ui, |ui| {
            self.panels.landscape_area = Some(ui.available_rect_before_wrap());
            let document = recorded.as_mut().unwrap_or(&mut self.editor.draft.document);
            self.panels.landscape.ui(ui, document, &mut self.live, requests);
        });
    }

    /// The controls at the left and the plots at the right. However small the window, the landscape keeps the largest
    /// part of it.
    fn beside_landscape(&mut self, ui: &mut Ui, requests: &mut Requests) {
        let (document, live) = (&mut self.editor.draft.document, &mut self.live);
        let width = ui.available_width();
        let most = (0.28 * width).clamp(220.0, 520.0);
        let (name, edge, range) = ("controls", Edge::Left, 220.0..=most);
        let left = SidePanel { name, edge, usual: 350.0, range, frame: None };
        left.show_collapsible(ui, &mut self.layout.sizes.controls, &mut self.layout.controls, |ui| {
            self.panels.controls.ui(ui, document, live, requests);
        });
        let most = (ui.available_width() - (0.42 * width).max(300.0)).max(200.0);
        // In a window too narrow for both, the landscape comes first.
        self.layout.room_for_plots = width >= ROOM_FOR_PLOTS;
        let mut shown = self.layout.plots && self.layout.room_for_plots;
        let (name, edge, range) = ("plots", Edge::Right, 200.0..=most);
        let right = SidePanel { name, edge, usual: 0.28 * width, range, frame: None };
        let PanelSizes { plots, formulas, .. } = &mut self.layout.sizes;
        right.show_collapsible(ui, plots, &mut shown, |ui| {
            if live.selected.is_some() {
                let height = ui.available_height();
                let most = (height - LEAST_PLOTS).max(LEAST_FORMULAS);
                let (name, edge, range) = ("formulas", Edge::Top, LEAST_FORMULAS..=most);
                let top = SidePanel { name, edge, usual: 0.5 * height, range, frame: None };
                top.show(ui, formulas, |ui| {
                    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
                        self.panels.formula.ui(ui, document, live, requests);
                    });
                });
            } else {
                // Also without a pointer a particle can be chosen.
                Panel::top("particle").show(ui, |ui| {
                    self.panels.formula.ui(ui, document, live, requests);
                    ui.add_space(4.0);
                });
            }
            self.panels.diagnostics.ui(ui, document, live, requests);
        });
        if self.layout.room_for_plots {
            self.layout.plots = shown;
        }
    }

    pub(super) fn dialogs(&mut self, ctx: &Context) {
        self.dialogs.help.show(ctx);
        self.dialogs.files.show(ctx);
        self.show_save_preset(ctx);
        self.show_drop_target(ctx);
        self.dialogs.pictures.tick(ctx);
        self.show_picture_export(ctx);
        self.show_figure_export(ctx);
        let free = match self.layout.tab {
            Tab::Landscape => self.panels.landscape_area,
            Tab::Phase => self.panels.phase.area(),
            Tab::Training => self.panels.training.area(),
        };
        self.dialogs.messages.show(ctx, free);
        self.show_quit_question(ctx);
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

    fn show_picture_export(&mut self, ctx: &Context) {
        let (panel, document) = (&mut self.panels.landscape, &mut self.editor.draft.document);
        match self.dialogs.picture_export.ui(ctx, panel, document, &mut self.live) {
            None => {}
            Some(Ok(picture)) => self.dialogs.files.ask_save(picture, "landscape.png".to_owned()),
            Some(Err(reason)) => {
                let text = format!("The landscape cannot be drawn: {reason}.");
                self.dialogs.messages.report("The picture was not saved", text);
            }
        }
    }

    fn show_figure_export(&mut self, ctx: &Context) {
        if !self.dialogs.figure_export.is_open() {
            return;
        }
        let preset = self.landscape_draft().preset;
        if let Some(action) = self.dialogs.figure_export.ui(ctx, &preset) {
            self.act(ctx, action);
        }
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
                    "{} is neither a preset nor a result nor the folder of a run: its name ends neither in .ron nor in .npz.",
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
