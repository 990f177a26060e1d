//! Check boxes and radio buttons: empty with an outline until they are marked.

use egui::{Checkbox, IntoAtoms, RadioButton, Response, Ui, Widget};

use super::theme;

/// A check box or a radio button with an outline, which egui's style gives to every button or to none.
pub(super) struct Outlined<W>(pub W);

impl<W: Widget> Widget for Outlined<W> {
    fn ui(self, ui: &mut Ui) -> Response {
        let style = ui.style().clone();
        theme::outline_boxes(ui);
        let response = ui.add(self.0);
        ui.set_style(style);
        response
    }
}

/// Shows a check box.
pub(super) fn check_box<'a>(ui: &mut Ui, is_checked: &'a mut bool, text: impl IntoAtoms<'a>) -> Response {
    ui.add(Outlined(Checkbox::new(is_checked, text)))
}

/// Shows a radio button that sets `current` to a value.
pub(super) fn radio_button<'a, V: PartialEq>(
    ui: &mut Ui,
    current: &mut V,
    value: V,
    text: impl IntoAtoms<'a>,
) -> Response {
    let is_chosen = *current == value;
    let mut response = ui.add(Outlined(RadioButton::new(is_chosen, text)));
    if response.clicked() && !is_chosen {
        *current = value;
        response.mark_changed();
    }
    response
}
