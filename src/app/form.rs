//! Lines of a form, with names at the left and aligned controls, and small buttons.

use egui::{Align, Button, Label, Layout, RichText, Ui, vec2};

/// A line with a name and something to change.
pub(super) fn line(ui: &mut Ui, name_width: f32, name: &str, help: &str, add: impl FnOnce(&mut Ui)) {
    ui.horizontal_wrapped(|ui| {
        let size = vec2(name_width, ui.spacing().interact_size.y);
        ui.allocate_ui_with_layout(size, Layout::left_to_right(Align::Center), |ui| {
            ui.set_min_width(name_width);
            ui.add(Label::new(name).truncate()).on_hover_text(help);
        });
        add(ui);
    });
}

/// The heading above some lines.
pub(super) fn heading(ui: &mut Ui, above: f32, text: &str) {
    ui.add_space(above);
    ui.label(RichText::new(text).strong());
}

/// The accessible name of a control of an optimizer.
pub(super) fn owned(owner: &str, name: &str) -> String {
    if owner.is_empty() { name.to_owned() } else { format!("{owner}: {name}") }
}

/// A button that is as wide as its text needs.
pub(super) fn small_button(ui: &mut Ui, enabled: bool, text: &str, name: &str, help: &str) -> bool {
    let button = ui.add_enabled(enabled, Button::new(RichText::new(text).small()));
    button.on_hover_text(help).on_disabled_hover_text(help).accessible_name(name).clicked()
}
