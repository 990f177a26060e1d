//! Rows of a form, with names at the left and aligned controls, and small buttons.

use egui::{Align, Button, Label, Layout, RichText, Ui, vec2};

/// The width of the column of names, in points.
const NAME_WIDTH: f32 = 108.0;

/// Shows a row with a name and a control.
pub(super) fn line(ui: &mut Ui, name: &str, help: &str, add: impl FnOnce(&mut Ui)) {
    ui.horizontal_wrapped(|ui| {
        let size = vec2(NAME_WIDTH, ui.spacing().interact_size.y);
        ui.allocate_ui_with_layout(size, Layout::left_to_right(Align::Center), |ui| {
            ui.set_min_width(NAME_WIDTH);
            ui.add(Label::new(name).truncate()).on_hover_text(help);
        });
        add(ui);
    });
}

/// Shows the heading of a group of rows.
pub(super) fn heading(ui: &mut Ui, above: f32, text: &str) {
    ui.add_space(above);
    ui.label(RichText::new(text).strong());
}

/// Returns the accessible name of an optimizer's control.
pub(super) fn owned(owner: &str, name: &str) -> String {
    if owner.is_empty() { name.to_owned() } else { format!("{owner}: {name}") }
}

/// Shows a button as wide as its text; returns whether it was pressed.
pub(super) fn small_button(ui: &mut Ui, enabled: bool, text: &str, name: &str, help: &str) -> bool {
    let button = ui.add_enabled(enabled, Button::new(RichText::new(text).small()));
    button.on_hover_text(help).on_disabled_hover_text(help).accessible_name(name).clicked()
}
