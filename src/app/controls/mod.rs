//! The controls panel: landscape, noise and start, and a card for each optimizer.

mod beside;
mod highlight;
mod landscape_choice;
mod motion;
mod optimizers;
mod parameter;
mod schedule;
mod settings;
mod simulation;
mod slider;
mod swatch;

pub(super) use highlight::Highlight;
pub(super) use landscape_choice::{LandscapeChange, landscape_choice, landscape_editor};
pub(super) use motion::Motion;
pub(super) use parameter::{Adjustable, Control};
pub(super) use schedule::schedule;
pub(super) use settings::{controls_set_by, sliders_set_by};
pub(super) use simulation::noise_choice;
pub(super) use slider::{Pins, SliderId};
pub(super) use swatch::{COLOR_HINT, color_button, color_menu, color_picker, color_swatch};

use egui::{ScrollArea, Ui};

use super::document::Document;
use super::live::{Live, Requests};

/// The time for which a reopened panel keeps its scroll position, in seconds. A window that leaves full screen gets its
/// size in several frames, and a larger one may not scroll as far.
const HELD_SECS: f64 = 0.5;

/// The controls panel and its scroll position.
#[derive(Default)]
pub(super) struct ControlsPanel {
    pub pins: Pins,
    offset: f32,
    /// The frame, by egui's count, in which it was last drawn.
    last_frame: u64,
    held_until: Option<f64>,
}

impl ControlsPanel {
    pub(super) fn ui(&mut self, ui: &mut Ui, document: &mut Document, live: &mut Live, requests: &mut Requests) {
        beside::switch(ui, document, &mut live.chosen);
        let place = live.chosen;
        document.with_session(place, |document| {
            live.with_session(place, |live| self.settings(ui, document, live, requests));
        });
    }

    /// Shows the settings of a simulation.
    fn settings(&mut self, ui: &mut Ui, document: &mut Document, live: &Live, requests: &mut Requests) {
        let (now, frame) = (ui.ctx().time(), ui.ctx().cumulative_frame_nr());
        if self.last_frame + 1 < frame && self.last_frame > 0 {
            self.held_until = Some(now + HELD_SECS);
        }
        self.last_frame = frame;
        let touched = ui.input(|input| input.pointer.any_pressed() || input.smooth_scroll_delta.y != 0.0);
        self.held_until = self.held_until.filter(|until| now < *until && !touched);
        let mut area = ScrollArea::vertical().auto_shrink(false);
        if self.held_until.is_some() {
            area = area.vertical_scroll_offset(self.offset);
        }
        let shown = area.show(ui, |ui| {
            ui.add_space(2.0);
            simulation::landscape_card(ui, document, &mut self.pins, requests);
            simulation::start_card(ui, document, &mut self.pins);
            optimizers::cards(ui, &mut document.spec, &mut self.pins, live, requests);
            ui.add_space(8.0);
        });
        if self.held_until.is_none() {
            self.offset = shown.state.unclamped_offset().y;
        }
    }
}
