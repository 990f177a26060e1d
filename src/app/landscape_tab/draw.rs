//! Draws the tab: the landscape, and the panels around it.

use egui::{CentralPanel, Context, Panel, ScrollArea, Ui};
use valleyscope_experiments::preset::LessonStep;

use super::LandscapeTab;
use crate::app::document::Document;
use crate::app::lesson_stage::LessonStage;
use crate::app::live::{Live, Requests};
use crate::app::run_marks::run_marks;
use crate::app::side_panel::{Edge, SidePanel};
use crate::app::window_layout::WindowLayout;
use crate::app::{lesson, transport};

/// The width of a window, in points, below which it does not show the plots.
pub(super) const ROOM_FOR_PLOTS: f32 = 760.0;
/// The smallest heights of the formulas, and of the part below them, in points.
const LEAST_FORMULAS: f32 = 140.0;
const LEAST_PLOTS: f32 = 250.0;
/// The least height of what a lesson's step shows above the plots, in points.
const LEAST_STAGE: f32 = 120.0;

impl LandscapeTab {
    pub(super) fn draw(&mut self, ui: &mut Ui, layout: &mut WindowLayout, requests: &mut Requests) {
        let pointed_at = self.editor.lesson().map_or(&[][..], |(step, lesson)| &lesson[step].show);
        self.diagnostics.point_at(pointed_at);
        self.prepare_lesson(ui.ctx());
        if let Some((step, lesson)) = self.editor.lesson() {
            let frame = egui::Frame::side_top_panel(ui.style()).inner_margin(egui::Margin::symmetric(12, 6));
            Panel::top("lesson").frame(frame).show(ui, |ui| lesson::strip(ui, step, lesson, requests));
        }
        self.animated.window(ui.ctx(), &self.editor.draft.document, &self.live);
        if layout.is_presenting() {
            return self.draw_presentation(ui, layout, requests);
        }
        let (document, live) = (&mut self.editor.draft.document, &mut self.live);
        live.chosen = live.chosen.min(document.count() - 1);
        Panel::bottom("transport").show(ui, |ui| {
            ui.add_space(2.0);
            chosen(document, live, |document, live| self.timeline.ui(ui, document, live, requests));
            // All simulations share the clock. They share the seed, too, so that their noise is the same.
            let shared = (document.spec.steps, document.spec.seed);
            transport::bar(ui, document, live, &mut self.pace, requests);
            document.share_changed(shared);
            ui.add_space(2.0);
        });
        self.show_lesson_editor(ui, layout, requests);
        self.beside_landscape(ui, layout, requests);
        self.draw_landscape(ui, false, requests);
    }

    /// Prepares the figures and the marks of the lesson's step.
    fn prepare_lesson(&mut self, ctx: &Context) {
        let (draft, step) = (&self.editor.draft, self.editor.lesson_step());
        self.stage.prepare(ctx, &draft.lesson.steps, step);
        self.live.run_marks = run_marks(&draft.lesson, step, draft.document.spec.steps);
    }

    /// Returns the lesson's step if it shows anything beside the landscape.
    pub(super) fn staged(&self) -> Option<LessonStep> {
        let (step, lesson) = self.editor.lesson()?;
        Some(&lesson[step]).filter(|step| LessonStage::is_needed(step)).cloned()
    }

    /// Draws the landscape into the rest of the window.
    pub(super) fn draw_landscape(&mut self, ui: &mut Ui, is_presented: bool, requests: &mut Requests) {
        CentralPanel::default().frame(egui::Frame::NONE.fill(ui.visuals().extreme_bg_color)).show(ui, |ui| {
            self.area = Some(ui.available_rect_before_wrap());
            let document = &mut self.editor.draft.document;
            match is_presented {
                true => self.landscape.presentation(ui, document, &mut self.live, requests),
                false => self.landscape.ui(ui, document, &mut self.live, requests),
            }
        });
    }

    /// Shows the controls at the left and the plots at the right. However small the window, the landscape keeps the
    /// largest part of it.
    fn beside_landscape(&mut self, ui: &mut Ui, layout: &mut WindowLayout, requests: &mut Requests) {
        let staged = self.staged();
        let (document, live) = (&mut self.editor.draft.document, &mut self.live);
        let width = ui.available_width();
        let most = (0.28 * width).clamp(220.0, 520.0);
        let (name, edge, range) = ("controls", Edge::Left, 220.0..=most);
        let left = SidePanel { name, edge, usual: 350.0, range, frame: None };
        left.show_collapsible(ui, &mut layout.sizes, &mut layout.controls, |ui, _| {
            self.controls.ui(ui, document, live, requests);
        });
        let most = (ui.available_width() - (0.42 * width).max(300.0)).max(200.0);
        // In a window too narrow for both, the landscape has priority.
        layout.room_for_plots = width >= ROOM_FOR_PLOTS;
        let mut shown = layout.plots && layout.room_for_plots;
        let (name, edge, range) = ("plots", Edge::Right, 200.0..=most);
        let right = SidePanel { name, edge, usual: 0.28 * width, range, frame: None };
        right.show_collapsible(ui, &mut layout.sizes, &mut shown, |ui, sizes| {
            // In a low window, the parts may need more than the panel has.
            ui.shrink_clip_rect(ui.max_rect().expand(4.0));
            if let Some(step) = &staged {
                let height = ui.available_height();
                let (name, edge, range) = ("lesson stage", Edge::Top, LEAST_STAGE..=(0.7 * height).max(LEAST_STAGE));
                let top = SidePanel { name, edge, usual: LessonStage::share(step) * height, range, frame: None };
                top.show(ui, sizes, |ui, _| self.stage.ui(ui, step, &document.spec, false));
            }
            if live.selected.is_some() {
                let height = ui.available_height();
                let most = (height - LEAST_PLOTS).max(LEAST_FORMULAS);
                let (name, edge, range) = ("formulas", Edge::Top, LEAST_FORMULAS..=most);
                let top = SidePanel { name, edge, usual: 0.5 * height, range, frame: None };
                top.show(ui, sizes, |ui, _| {
                    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
                        chosen(document, live, |document, live| self.formula.ui(ui, document, live, requests));
                    });
                });
            } else {
                // Allows choosing a particle without a pointer.
                Panel::top("particle").show(ui, |ui| {
                    chosen(document, live, |document, live| self.formula.ui(ui, document, live, requests));
                    ui.add_space(4.0);
                });
            }
            self.diagnostics.ui(ui, document, live, requests);
        });
        if layout.room_for_plots {
            layout.plots = shown;
        }
    }
}

/// Calls `show` with the simulation that the controls set in the place of the first one.
pub(super) fn chosen<T>(
    document: &mut Document,
    live: &mut Live,
    show: impl FnOnce(&mut Document, &mut Live) -> T,
) -> T {
    let place = live.chosen;
    document.with_session(place, |document| live.with_session(place, |live| show(document, live)))
}
