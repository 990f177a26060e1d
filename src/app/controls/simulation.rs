//! The cards of the settings that all optimizers share.

use egui::Ui;
use valleyscope_engine::landscape::{LandscapeSpec, StartPlace};
use valleyscope_engine::noise::{NoiseInfo, NoiseKind, NoiseSpec};
use valleyscope_engine::parameter::{self, BoundedParameter};
use valleyscope_engine::quantity::Temperature;
use valleyscope_engine::simulation::{SimulationSpec, StartSpec, defaults};
use valleyscope_experiments::view::Camera;

use super::landscape_choice::{LandscapeChange, landscape_choice, landscape_editor};
use super::parameter::{BoundedValue, Control, Look};
use super::slider::{Pins, SliderId};
use crate::app::boxes::check_box;
use crate::app::document::Document;
use crate::app::form;
use crate::app::live::Requests;
use crate::app::text_editor::TextTab;
use crate::app::theme;

/// The label of the choice of the noise.
pub(crate) const NOISE: &str = "Noise";
/// The tab of the landscape's editor.
const TAB: TextTab = TextTab::Simulation;
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

/// Shows the landscape, its parameters and the noise on its gradient.
pub(super) fn landscape_card(ui: &mut Ui, document: &mut Document, pins: &mut Pins, requests: &mut Requests) {
    card(ui, "Landscape", |ui| {
        let Document { spec, view, .. } = document;
        let before = spec.landscape;
        match landscape_choice(ui, TAB, &mut spec.landscape, requests) {
            // The view of a document belongs to its landscape.
            Some(LandscapeChange::Chosen) => {
                view.camera = None;
                move_start(&mut spec.start, &before, &spec.landscape);
            }
            Some(LandscapeChange::Copied) => view.camera = view.camera.or(Some(Camera::home(&before))),
            None => {}
        }
        for (of, value) in spec.landscape.parameters() {
            let look = Look::Pinnable(pins, SliderId::Landscape(of.key().into()));
            landscape_parameter(ui, &mut spec.landscape, of, value, look);
        }
        noise_choice(ui, TAB, &mut spec.noise);
        for (index, (of, value)) in spec.noise.parameters().enumerate() {
            let look = Look::Pinnable(pins, SliderId::Noise(of.parameter.key.into()));
            noise_parameter(ui, &mut spec.noise, index, of, value, look);
        }
    });
    landscape_editor(ui.ctx(), TAB, &mut document.spec.landscape);
}

/// Shows the control of a landscape's parameter with this value.
pub(super) fn landscape_parameter(
    ui: &mut Ui,
    landscape: &mut LandscapeSpec,
    of: &'static BoundedParameter,
    value: f64,
    look: Look<'_>,
) {
    if let Some(value) = bounded_parameter(ui, of, value, look) {
        landscape.set(of.key(), value).expect("the control keeps to the range");
    }
}

/// Shows the control of the noise's parameter with this index and value.
pub(super) fn noise_parameter(
    ui: &mut Ui,
    noise: &mut NoiseSpec,
    index: usize,
    of: &'static BoundedParameter,
    value: f64,
    look: Look<'_>,
) {
    if let Some(value) = bounded_parameter(ui, of, value, look) {
        noise.set(index, value).expect("the control keeps to the range");
    }
}

/// Shows the control of a parameter with this value; returns a new value within the range.
fn bounded_parameter(ui: &mut Ui, of: &'static BoundedParameter, value: f64, look: Look<'_>) -> Option<f64> {
    let mut own = BoundedValue { of, value };
    Control(&of.parameter).show_as(ui, "", &mut own, BoundedValue { of, value: of.default }, look);
    (own.value != value).then_some(own.value)
}

/// Moves the start to that of another landscape, unless the user has moved it.
fn move_start(start: &mut StartSpec, before: &LandscapeSpec, after: &LandscapeSpec) {
    if (StartPlace { x: start.x, y: start.y }) == before.start() {
        StartPlace { x: start.x, y: start.y } = after.start();
    }
}

/// Shows the choice of the noise. Another one keeps the parameters that both have.
pub(crate) fn noise_choice(ui: &mut Ui, tab: TextTab, noise: &mut NoiseSpec) {
    ui.horizontal(|ui| {
        form::list_field(ui, NOISE, ("noise", tab.key()), noise.info().name, 0.0, |ui| {
            for &kind in NoiseKind::ALL {
                let NoiseInfo { name, formula, about, source, .. } = kind.info();
                let help = format!("{about}\n\nThe noisy gradient: {formula}\n\nSource: {source}.");
                let is_chosen = kind == noise.kind();
                if ui.selectable_label(is_chosen, *name).on_hover_text(help).clicked() && !is_chosen {
                    *noise = NoiseSpec::new(kind).in_place_of(noise);
                }
            }
        });
    });
}

/// Shows the number of particles, their start, and the temperature of the plots.
pub(super) fn start_card(ui: &mut Ui, document: &mut Document, pins: &mut Pins) {
    card(ui, "Particles and start", |ui| {
        let spec = &mut document.spec;
        particles(ui, spec, Look::Pinnable(pins, SliderId::Particles));
        start_x(ui, spec, Look::Pinnable(pins, SliderId::StartX));
        start_y(ui, spec, Look::Pinnable(pins, SliderId::StartY));
        start_spread(ui, spec, Look::Pinnable(pins, SliderId::StartSpread));
        temperature_choice(ui, &mut spec.temperature);
        temperature(ui, spec, Look::Pinnable(pins, SliderId::Temperature));
    });
}

pub(super) fn particles(ui: &mut Ui, spec: &mut SimulationSpec, look: Look<'_>) {
    Control(&parameter::PARTICLES).show_as(ui, "", &mut spec.particles, defaults::particles(), look);
}

pub(super) fn start_x(ui: &mut Ui, spec: &mut SimulationSpec, look: Look<'_>) {
    Control(&parameter::START_X).show_as(ui, "", &mut spec.start.x, spec.landscape.start().x, look);
}

pub(super) fn start_y(ui: &mut Ui, spec: &mut SimulationSpec, look: Look<'_>) {
    Control(&parameter::START_Y).show_as(ui, "", &mut spec.start.y, spec.landscape.start().y, look);
}

pub(super) fn start_spread(ui: &mut Ui, spec: &mut SimulationSpec, look: Look<'_>) {
    Control(&parameter::START_SPREAD).show_as(ui, "", &mut spec.start.spread, StartSpec::default().spread, look);
}

fn temperature_choice(ui: &mut Ui, temperature: &mut Option<Temperature>) {
    let mut follows = temperature.is_none();
    let toggle = check_box(ui, &mut follows, "Temperature Θ = learning rate η").on_hover_text(
        "The free energy F = E − ΘS weighs the entropy with Θ. Each optimizer's learning rate is a natural choice.",
    );
    if toggle.changed() {
        *temperature = (!follows).then(|| Temperature::clamped(FIRST_TEMPERATURE));
    }
}

/// Shows the temperature of the plots, if it has a value of its own.
pub(super) fn temperature(ui: &mut Ui, spec: &mut SimulationSpec, look: Look<'_>) {
    if let Some(temperature) = &mut spec.temperature {
        Control(&parameter::TEMPERATURE).show_as(ui, "", temperature, Temperature::clamped(FIRST_TEMPERATURE), look);
    }
}
