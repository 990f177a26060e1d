//! Rows of a form, with names at the left and aligned controls, and small buttons.

use egui::emath::Numeric;
use egui::{Align, Button, DragValue, Label, Layout, RichText, Ui, vec2};

use super::number;

/// The width of the column of names, in points.
const NAME_WIDTH: f32 = 108.0;

/// Shows a row with a name and a control.
pub(super) fn line(ui: &mut Ui, name: &str, help: &str, add: impl FnOnce(&mut Ui)) {
    ui.horizontal_wrapped(|ui| {
        cell(ui, NAME_WIDTH, |ui| ui.add(Label::new(name).truncate()).on_hover_text(help));
        add(ui);
    });
}

/// Shows a part of a row, of this width in points.
pub(super) fn cell<R>(ui: &mut Ui, width: f32, add: impl FnOnce(&mut Ui) -> R) -> R {
    let size = vec2(width, ui.spacing().interact_size.y);
    let add = |ui: &mut Ui| {
        ui.set_min_width(width);
        add(ui)
    };
    ui.allocate_ui_with_layout(size, Layout::left_to_right(Align::Center), add).inner
}

/// Makes a field for a number, dragged or typed; other text leaves the old value.
pub(super) fn drag<N: Numeric>(value: &mut N) -> DragValue<'_> {
    DragValue::new(value).max_decimals(6).update_while_editing(false).custom_parser(number::parse)
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
