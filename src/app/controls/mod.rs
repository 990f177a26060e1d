//! The panel of controls: landscape, noise and start, and a card for each optimizer.

mod knobs;
mod optimizers;
mod quantity;
mod simulation;

pub use knobs::TRAIL;
pub use quantity::{Adjustable, Knob};

use egui::{ScrollArea, Ui};

use super::document::Document;
use super::live::{Live, Requests};

/// Shows the panel.
pub fn panel(ui: &mut Ui, document: &mut Document, live: &Live, requests: &mut Requests) {
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        ui.add_space(2.0);
        simulation::landscape_card(ui, document);
        simulation::start_card(ui, document);
        optimizers::cards(ui, &mut document.spec, live, requests);
        ui.add_space(8.0);
    });
}
