//! The cards of the settings that all optimizers share.

use egui::Ui;
use valleyscope_engine::parameter;
use valleyscope_engine::quantity::{Noise, Temperature};
use valleyscope_engine::simulation::{LandscapeSpec, StartSpec, defaults};

use super::parameter::Control;
use crate::app::document::Document;
use crate::app::theme;

/// The initial Θ when it is first set by hand.
const FIRST_TEMPERATURE: f64 = 0.01;

/// Shows a card with a heading that folds it.
pub(super) fn card(ui: &mut Ui, title: &str, contents: impl FnOnce(&mut Ui)) {
    let style = ui.style().clone();
    theme::card(&style).show(ui, |ui| {
        ui.set_width(ui.available_width());
        egui::CollapsingHeader::new(egui::RichText::new(title).strong())
            .default_open(true)
            .show_unindented(ui, contents);
    });
}

/// Shows the settings of the valley and of the noise on its gradient.
pub(super) fn landscape_card(ui: &mut Ui, document: &mut Document) {
    card(ui, "Landscape", |ui| {
        let defaults = LandscapeSpec::default();
        let spec = &mut document.spec;
        let landscape = &mut spec.landscape;
        Control(&parameter::SHARPNESS).show(ui, "", &mut landscape.sharpness, defaults.sharpness);
        Control(&parameter::SLOPE).show(ui, "", &mut landscape.slope, defaults.slope);
        Control(&parameter::ROTATION).show(ui, "", &mut landscape.rotation_degrees, defaults.rotation_degrees);
        Control(&parameter::NOISE).show(ui, "", &mut spec.noise, Noise::clamped(1.0));
    });
}

/// Shows the number of particles, their start, and the temperature of the plots.
pub(super) fn start_card(ui: &mut Ui, document: &mut Document) {
    card(ui, "Particles and start", |ui| {
        let spec = &mut document.spec;
        Control(&parameter::PARTICLES).show(ui, "", &mut spec.particles, defaults::particles());
        let defaults = StartSpec::default();
        Control(&parameter::START_X).show(ui, "", &mut spec.start.x, defaults.x);
        Control(&parameter::START_Y).show(ui, "", &mut spec.start.y, defaults.y);
        Control(&parameter::START_SPREAD).show(ui, "", &mut spec.start.spread, defaults.spread);
        temperature(ui, &mut spec.temperature);
    });
}

fn temperature(ui: &mut Ui, temperature: &mut Option<Temperature>) {
    let mut follows = temperature.is_none();
    let toggle = ui.checkbox(&mut follows, "Temperature Θ = learning rate η").on_hover_text(
        "The free energy F = E − ΘS weighs the entropy with Θ. Each optimizer's learning rate is a natural choice.",
    );
    if toggle.changed() {
        *temperature = (!follows).then(|| Temperature::clamped(FIRST_TEMPERATURE));
    }
    if let Some(temperature) = temperature {
        Control(&parameter::TEMPERATURE).show(ui, "", temperature, Temperature::clamped(FIRST_TEMPERATURE));
    }
}
