//! The control of Θ beside the free energy's title.

use egui::{DragValue, TextStyle, Ui};
use valleyscope_engine::quantity::Temperature;

use crate::app::Document;

/// Shows the choice of the free energy's Θ: each optimizer's learning rate, or a number.
pub(super) fn temperature_control(ui: &mut Ui, document: &mut Document) {
    let mut own = document.spec.temperature.is_none();
    let text = egui::RichText::new("Θ = η").text_style(TextStyle::Small);
    let response = ui
        .toggle_value(&mut own, text)
        .on_hover_text(
            "On: the temperature Θ is each optimizer's learning rate. Off: the number beside it.\n\
             A change counts from the next step on.",
        )
        .accessible_name("Temperature is the learning rate");
    if response.changed() {
        let first = document.spec.optimizers.iter().find(|spec| spec.enabled);
        let rate = first.map_or(0.01, |spec| spec.rule.learning_rate.get());
        document.spec.temperature = (!own).then(|| Temperature::clamped(rate));
    }
    if let Some(temperature) = &mut document.spec.temperature {
        let mut value = temperature.get();
        let speed = (0.01 * value).max(1e-5);
        let drag = DragValue::new(&mut value).prefix("Θ ").speed(speed).range(Temperature::MIN..=Temperature::MAX);
        if ui.add(drag.max_decimals(6)).accessible_name("Temperature Θ").changed() {
            *temperature = Temperature::clamped(value);
        }
    }
}
