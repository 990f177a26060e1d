//! Rows of a form with names at the left and aligned controls, buttons, check boxes and lists.

use std::cell::Cell;
use std::fmt;
use std::hash::Hash;

use egui::accesskit::{Action, ActionData};
use egui::emath::Numeric;
use egui::style::ScrollStyle;
use egui::{
    Align, Button, Checkbox, ComboBox, DragValue, IntoAtoms, Label, Layout, RadioButton, Response, RichText,
    ScrollArea, Ui, Widget, vec2,
};
use valleyscope_engine::setting::Spacing;
use valleyscope_experiments::view::AxisScale;

use super::{number, theme};

/// The width of the column of names, in points.
pub(crate) const NAME_WIDTH: f32 = 104.0;
/// The width below which a row has no room for a column of names, in points.
pub(crate) const ONE_LINE_WIDTH: f32 = 268.0;

/// The largest height of the list of a menu, and the room of the window above and below one, in points.
const TALLEST_LIST: f32 = 480.0;
const LIST_MARGIN: f32 = 60.0;

/// Shows a row with a name and a control.
pub(crate) fn line(ui: &mut Ui, name: &str, help: &str, add: impl FnOnce(&mut Ui)) {
    ui.horizontal_wrapped(|ui| {
        cell(ui, NAME_WIDTH, |ui| ui.add(Label::new(name).wrap()).on_hover_text(help));
        add(ui);
    });
}

/// Shows the name of a list's field at the beginning of a row.
pub(crate) fn name_of_list(ui: &mut Ui, name: &str) -> Response {
    match ui.available_width() < ONE_LINE_WIDTH {
        true => ui.label(name),
        false => cell(ui, NAME_WIDTH, |ui| ui.label(name)),
    }
}

/// Shows a named field with a list of choices; leaves `reserve` points of the row free.
pub(crate) fn list_field(
    ui: &mut Ui,
    name: &str,
    id: impl Hash + fmt::Debug,
    chosen: &str,
    reserve: f32,
    choices: impl FnOnce(&mut Ui),
) {
    let label = name_of_list(ui, name);
    let width = ui.available_width() - reserve - 8.0;
    let combo = ComboBox::from_id_salt(id).selected_text(chosen).width(width).truncate().height(f32::INFINITY);
    // A combo box cuts its text only at the end of the room that it has.
    let shown = ui.scope(|ui| {
        ui.set_max_width(width);
        combo.show_ui(ui, choices)
    });
    shown.inner.response.labelled_by(label.id);
}

/// Gives scrolled areas of a part of the window a bar that is always visible and has room of its own.
pub(crate) fn visible_scroll_bar(ui: &mut Ui) {
    ui.spacing_mut().scroll = ScrollStyle { foreground_color: true, ..ScrollStyle::solid() };
}

/// Shows the entries of a long menu. Where they do not fit, they scroll beside a bar that is always visible.
pub(crate) fn scrolled_list<R>(ui: &mut Ui, add: impl FnOnce(&mut Ui) -> R) -> R {
    visible_scroll_bar(ui);
    let height = (ui.ctx().content_rect().height() - 2.0 * LIST_MARGIN).clamp(LIST_MARGIN, TALLEST_LIST);
    ScrollArea::vertical().max_height(height).show(ui, add).inner
}

/// Shows a part of a row, of this width in points.
pub(crate) fn cell<R>(ui: &mut Ui, width: f32, add: impl FnOnce(&mut Ui) -> R) -> R {
    let size = vec2(width, ui.spacing().interact_size.y);
    let add = |ui: &mut Ui| {
        ui.set_min_width(width);
        add(ui)
    };
    ui.allocate_ui_with_layout(size, Layout::left_to_right(Align::Center), add).inner
}

/// Makes a field for a number, dragged or typed; other text leaves the old value.
pub(crate) fn drag<N: Numeric>(value: &mut N) -> DragValue<'_> {
    let decimals = if N::INTEGRAL { 0 } else { 6 };
    let value = DragValue::new(value).max_decimals(decimals);
    let value = if N::INTEGRAL { value } else { value.custom_formatter(|value, _| number::text(value)) };
    value.update_while_editing(false).custom_parser(number::parse)
}

/// Shows a field for a number whose drag has equal steps in its spacing: from 0.9 to 0.99 as far as from 0.99 to 0.999.
/// A typed number is taken as it is.
pub(crate) fn spaced_drag(ui: &mut Ui, value: &mut f64, spacing: Spacing) -> Response {
    /// The position of numbers without a logarithm, below those of all others.
    const LOWEST: f64 = -20.0;
    let scale = AxisScale::from(spacing);
    let place = |value: f64| Some(scale.position(value)).filter(|place| place.is_finite()).unwrap_or(LOWEST);
    let (before, shown, typed) = (*value, number::text(*value), Cell::new(None));
    let get_set = |set: Option<f64>| {
        if let Some(set) = set.filter(|set| *set != place(*value)) {
            *value = typed.take().unwrap_or_else(|| rounded(scale.value(set), spacing));
        }
        place(*value)
    };
    let parser = |text: &str| {
        let number = number::parse(text).filter(|_| text != shown)?;
        typed.set(Some(number));
        Some(place(number))
    };
    let field = DragValue::from_get_set(get_set).speed(0.01).update_while_editing(false);
    let mut response = ui.add(field.custom_formatter(|_, _| shown.clone()).custom_parser(parser));
    if let Some(requested) = requested(ui, &response) {
        *value = requested;
    }
    if *value != before {
        response.mark_changed();
    }
    ui.ctx().accesskit_node_builder(response.id, |node| node.set_numeric_value(*value));
    response
}

/// Returns a number of a logarithmic spacing with three significant digits, or as many of its complement.
pub(crate) fn rounded(value: f64, spacing: Spacing) -> f64 {
    match spacing {
        // The subtraction leaves a remainder, as in 1 − 0.7.
        Spacing::LogComplement => number::rounded(1.0 - number::rounded(1.0 - value, 3), 12),
        Spacing::Linear | Spacing::Log => number::rounded(value, 3),
    }
}

/// Returns the number that a screen reader sets.
pub(crate) fn requested(ui: &Ui, control: &Response) -> Option<f64> {
    ui.input(|input| {
        let mut requests = input.accesskit_action_requests(control.id, Action::SetValue);
        requests.find_map(|request| match request.data {
            Some(ActionData::NumericValue(value)) => Some(value),
            _ => None,
        })
    })
}

/// Shows the heading of a group of rows.
pub(crate) fn heading(ui: &mut Ui, above: f32, text: &str) {
    ui.add_space(above);
    ui.label(RichText::new(text).strong());
}

pub(crate) fn owned(owner: &str, name: &str) -> String {
    if owner.is_empty() { name.to_owned() } else { format!("{owner}: {name}") }
}

/// Shows a button as wide as its text; returns whether it was pressed.
pub(crate) fn small_button(ui: &mut Ui, enabled: bool, text: &str, name: &str, help: &str) -> bool {
    let button = ui.add_enabled(enabled, Button::new(RichText::new(text).small()));
    button.on_hover_text(help).on_disabled_hover_text(help).accessible_name(name).clicked()
}

/// A check box or a radio button with an outline, which egui's style gives to every button or to none.
pub(crate) struct Outlined<W>(pub W);

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
pub(crate) fn check_box<'a>(ui: &mut Ui, is_checked: &'a mut bool, text: impl IntoAtoms<'a>) -> Response {
    ui.add(Outlined(Checkbox::new(is_checked, text)))
}

/// Shows a radio button that sets `current` to a value.
pub(crate) fn radio_button<'a, V: PartialEq>(
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

#[cfg(test)]
mod tests {
    use super::{TALLEST_LIST, scrolled_list};

    #[test]
    fn a_list_that_scrolls_has_a_bar_that_is_always_visible() {
        egui::__run_test_ui(|ui| {
            let list = ui.scope(|ui| {
                scrolled_list(ui, |ui| {
                    assert!(!ui.spacing().scroll.floating, "the bar has room of its own");
                    (0..100).for_each(|number| drop(ui.label(number.to_string())));
                });
            });
            assert!(list.response.rect.height() <= TALLEST_LIST);
        });
    }
}
