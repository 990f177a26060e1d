//! Draws the tab in a presentation: the lesson's text, the landscape, plots, sliders and the state of the run.

use egui::{Align, Layout, Panel, Ui, vec2};
use valleyscope_engine::simulation::SimulationSpec;

use super::LandscapeTab;
use super::draw::{ROOM_FOR_PLOTS, chosen};
use crate::app::controls::SliderId;
use crate::app::lesson_stage::LessonStage;
use crate::app::live::Requests;
use crate::app::transport;
use crate::app::window_layout::WindowLayout;

/// The share of the width that the plots take.
const PLOTS: f32 = 0.38;
/// The largest width of a slider with its name and number, in points.
const WIDEST_SLIDER: f32 = 440.0;

impl LandscapeTab {
    /// Draws everything below the lesson's text.
    pub(super) fn draw_presentation(&mut self, ui: &mut Ui, layout: &WindowLayout, requests: &mut Requests) {
        Panel::bottom("presentation bar").show(ui, |ui| {
            ui.add_space(2.0);
            let (document, live) = (&mut self.editor.draft.document, &mut self.live);
            live.chosen = live.chosen.min(document.count() - 1);
            chosen(document, live, |document, live| self.timeline.ui(ui, document, live, requests));
            self.bar(ui, requests);
            ui.add_space(1.0);
        });
        let has_room = ui.available_width() >= ROOM_FOR_PLOTS;
        let staged = self.staged();
        let landscape = &self.editor.draft.document.spec.landscape;
        let has_plots = self.diagnostics.is_presented(landscape, layout.plots);
        if has_room && (has_plots || staged.is_some()) {
            let width = PLOTS * ui.available_width();
            let (document, live) = (&mut self.editor.draft.document, &mut self.live);
            Panel::right("presented plots").resizable(false).exact_size(width).show(ui, |ui| {
                match &staged {
                    Some(step) if has_plots => {
                        let height = LessonStage::presented_height(ui, step, &document.spec, ui.available_height());
                        let panel = Panel::top("presented stage").resizable(false).exact_size(height);
                        panel.show(ui, |ui| self.stage.ui(ui, step, &document.spec, true));
                    }
                    Some(step) => self.stage.ui(ui, step, &document.spec, true),
                    None => {}
                }
                if has_plots {
                    self.diagnostics.presentation(ui, document, live, requests);
                }
            });
        }
        self.draw_landscape(ui, true, requests);
    }

    /// Shows the state of the run and the sliders: those of the lesson's step and the pinned ones. A single slider is in
    /// the row of the state.
    fn bar(&mut self, ui: &mut Ui, requests: &mut Requests) {
        let of_lesson = self.editor.lesson_sliders();
        let place = self.live.chosen;
        let Some(spec) = self.editor.draft.document.specs_mut().nth(place) else { return };
        let sliders = self.controls.pins.sliders(of_lesson, spec);
        if let [slider] = sliders.as_slice() {
            ui.horizontal(|ui| {
                transport::state(ui, &self.live, requests);
                let room = ui.available_width();
                ui.add_space((room - WIDEST_SLIDER).max(2.0 * ui.spacing().item_spacing.x));
                slider_of_width(ui, ui.available_width(), slider, spec);
            });
            return;
        }
        ui.horizontal(|ui| {
            let count = sliders.len().max(1) as f32;
            let gap = ui.spacing().item_spacing.x;
            let width = ((ui.available_width() - 2.0 * gap * (count - 1.0)) / count).min(WIDEST_SLIDER);
            for (index, slider) in sliders.iter().enumerate() {
                if index > 0 {
                    ui.add_space(gap);
                }
                slider_of_width(ui, width, slider, spec);
            }
        });
        ui.horizontal(|ui| transport::state(ui, &self.live, requests));
    }
}

fn slider_of_width(ui: &mut Ui, width: f32, slider: &SliderId, spec: &mut SimulationSpec) {
    let size = vec2(width, ui.spacing().interact_size.y);
    ui.allocate_ui_with_layout(size, Layout::top_down(Align::Min), |ui| {
        ui.set_width(width);
        slider.show(ui, spec);
    });
}
