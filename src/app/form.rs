//! Rows of a form, with names at the left and aligned controls, and small buttons.

use std::cell::Cell;
use std::fmt;
use std::hash::Hash;

use egui::accesskit::{Action, ActionData};
use egui::emath::Numeric;
use egui::style::ScrollStyle;
use egui::{Align, Button, ComboBox, DragValue, Label, Layout, Response, RichText, ScrollArea, Ui, vec2};

use valleyscope_engine::spacing::Spacing;
use valleyscope_experiments::view::AxisScale;

use super::number;

/// The width of the column of names, in points.
pub(super) const NAME_WIDTH: f32 = 104.0;
/// The width below which a row has no room for a column of names, in points.
pub(super) const ONE_LINE_WIDTH: f32 = 268.0;

/// The largest height of the list of a menu, and the room of the window above and below one, in points.
const TALLEST_LIST: f32 = 480.0;
const LIST_MARGIN: f32 = 60.0;

/// Shows a row with a name and a control.
pub(super) fn line(ui: &mut Ui, name: &str, help: &str, add: impl FnOnce(&mut Ui)) {
    ui.horizontal_wrapped(|ui| {
        cell(ui, NAME_WIDTH, |ui| ui.add(Label::new(name).wrap()).on_hover_text(help));
        add(ui);
    });
}

/// Shows the name of a list's field at the beginning of a row.
pub(super) fn name_of_list(ui: &mut Ui, name: &str) -> Response {
    match ui.available_width() < ONE_LINE_WIDTH {
        true => ui.label(name),
        false => cell(ui, NAME_WIDTH, |ui| ui.label(name)),
    }
}

/// Shows a named field with a list of choices; leaves `reserve` points of the row free.
pub(super) fn list_field(
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
pub(super) fn visible_scroll_bar(ui: &mut Ui) {
    ui.spacing_mut().scroll = ScrollStyle { foreground_color: true, ..ScrollStyle::solid() };
}

/// Shows the entries of a long menu. Where they do not fit, they scroll beside a bar that is always visible.
pub(super) fn scrolled_list<R>(ui: &mut Ui, add: impl FnOnce(&mut Ui) -> R) -> R {
    visible_scroll_bar(ui);
    let height = (ui.ctx().content_rect().height() - 2.0 * LIST_MARGIN).clamp(LIST_MARGIN, TALLEST_LIST);
    ScrollArea::vertical().max_height(height).show(ui, add).inner
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
    let decimals = if N::INTEGRAL { 0 } else { 6 };
    let value = DragValue::new(value).max_decimals(decimals);
    let value = if N::INTEGRAL { value } else { value.custom_formatter(|value, _| number::text(value)) };
    value.update_while_editing(false).custom_parser(number::parse)
}

/// Shows a field for a number whose drag has equal steps in its spacing: from 0.9 to 0.99 as far as from 0.99 to 0.999.
/// A typed number is taken as it is.
pub(super) fn spaced_drag(ui: &mut Ui, value: &mut f64, spacing: Spacing) -> Response {
    /// The place of numbers without a logarithm, below those of all others.
    const LOWEST: f64 = -20.0;
    let scale = AxisScale::from(spacing);
    let place = |value: f64| Some(scale.place(value)).filter(|place| place.is_finite()).unwrap_or(LOWEST);
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
pub(super) fn rounded(value: f64, spacing: Spacing) -> f64 {
    match spacing {
        // The subtraction leaves a remainder, as in 1 − 0.7.
        Spacing::LogComplement => number::rounded(1.0 - number::rounded(1.0 - value, 3), 12),
        Spacing::Linear | Spacing::Log => number::rounded(value, 3),
    }
}

/// Returns the number that a screen reader sets.
pub(super) fn requested(ui: &Ui, control: &Response) -> Option<f64> {
    ui.input(|input| {
        let mut requests = input.accesskit_action_requests(control.id, Action::SetValue);
        requests.find_map(|request| match request.data {
            Some(ActionData::NumericValue(value)) => Some(value),
            _ => None,
        })
    })
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
