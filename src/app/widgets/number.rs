//! Numbers and other typed values: formatting, parsing, and fields that are typed into or dragged.

use egui::accesskit::{Action, ActionData};
use egui::emath::Numeric;
use egui::{Align2, DragValue, FontId, Id, Key, Label, Margin, Response, RichText, TextEdit, TextStyle, Tooltip, Ui};
use valleyscope_engine::setting::Spacing;

use super::theme::text_width;

pub(crate) use valleyscope_engine::quantity::{number_text as text, rounded};

/// The state of a field between frames.
#[derive(Clone, Default)]
struct Typing {
    editing: bool,
    text: String,
    /// The reason for refusing the last entry, and the value displayed then.
    refusal: Option<(String, String)>,
}

/// The margin between a field's frame and its text.
const FIELD_MARGIN: Margin = Margin::symmetric(4, 3);

/// The width that a widened field leaves for a button after it, in points.
const BEHIND: f32 = 36.0;
/// The smallest legible text size, in points.
const SMALLEST_FIELD: f32 = 7.0;

/// A field for a value of any type.
pub(crate) struct TypedField<'a> {
    /// The accessible name; unique among the fields of a window.
    pub name: &'a str,
    /// The usual width in points; the field grows where a number needs more and there is room.
    pub width: f32,
}

/// The outcome of one frame of a field.
pub(crate) struct Typed<T> {
    pub response: Response,
    /// The value that was entered and accepted in this frame.
    pub entered: Option<T>,
    /// The reason why the text cannot be accepted as it is now, while it is being typed.
    pub fault: Option<String>,
}

impl TypedField<'_> {
    /// Shows the field with `shown` as its text. `read` parses an entry, or returns the reason for its refusal, which
    /// is shown until the next click.
    pub(crate) fn show<T>(self, ui: &mut Ui, shown: &str, read: impl FnOnce(&str) -> Result<T, String>) -> Typed<T> {
        let (font, width) = self.font_and_width(ui, shown);
        self.show_in(ui, shown, read, font, (width, Align2::RIGHT_CENTER))
    }

    /// Shows the field with a text, whose beginning is visible where it is too long.
    pub(crate) fn show_text<T>(
        self,
        ui: &mut Ui,
        shown: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Typed<T> {
        let (font, width) = (TextStyle::Small.resolve(ui.style()), self.width);
        self.show_in(ui, shown, read, font, (width, Align2::LEFT_CENTER))
    }

    fn show_in<T>(
        self,
        ui: &mut Ui,
        shown: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
        font: FontId,
        (width, align): (f32, Align2),
    ) -> Typed<T> {
        let id = ui.make_persistent_id(("typed", self.name));
        let mut typing: Typing = ui.data_mut(|data| data.get_temp(id)).unwrap_or_default();
        let mut text = if typing.editing { typing.text.clone() } else { shown.to_owned() };
        let edit = TextEdit::singleline(&mut text).id(id).desired_width(width).margin(FIELD_MARGIN);
        let edit = edit.font(font).align(align).clip_text(true);
        let response = ui.add(edit).accessible_name(self.name);
        let (mut entered, mut fault) = (None, None);
        if response.gained_focus() {
            typing = Typing { editing: true, text, refusal: None };
            select_all(ui, id, shown);
        } else if response.lost_focus() {
            let given_up = ui.input(|input| input.key_pressed(Key::Escape));
            if typing.editing && !given_up && text != shown {
                match read(&text) {
                    Ok(value) => entered = Some(value),
                    Err(reason) => typing.refusal = Some((reason, shown.to_owned())),
                }
            }
            typing.editing = false;
        } else if response.has_focus() {
            typing.editing = true;
            fault = Some(&text).filter(|text| *text != shown).and_then(|text| read(text).err());
            typing.text = text;
        } else {
            typing.editing = false;
            let looked_elsewhere = ui.input(|input| input.pointer.any_pressed() || input.key_pressed(Key::Escape));
            typing.refusal = typing.refusal.filter(|(_, value)| value == shown && !looked_elsewhere);
        }
        if let Some((reason, _)) = &typing.refusal {
            show_refusal(ui, &response, reason);
        }
        ui.data_mut(|data| data.insert_temp(id, typing));
        Typed { response, entered, fault }
    }

    /// Chooses font and width such that no digit is cut off: smaller text first, then a wider field, then still smaller
    /// text.
    fn font_and_width(&self, ui: &Ui, shown: &str) -> (FontId, f32) {
        let text = |font: &FontId| text_width(ui, font, shown).ceil() + 1.0;
        let margin = FIELD_MARGIN.sum().x;
        let body = TextStyle::Body.resolve(ui.style());
        if text(&body) + margin <= self.width {
            return (body, self.width);
        }
        let mut font = TextStyle::Small.resolve(ui.style());
        let row = if ui.layout().main_wrap() { ui.max_rect().width() } else { ui.available_width() - BEHIND };
        let wanted = text(&font);
        let width = (wanted + margin).min(row).max(self.width);
        font.size = (font.size * ((width - margin) / wanted).min(1.0)).max(SMALLEST_FIELD);
        (font, width)
    }
}

fn select_all(ui: &Ui, id: Id, text: &str) {
    let mut state = TextEdit::load_state(ui.ctx(), id).unwrap_or_default();
    state.cursor.set_char_range(Some(egui::text::CCursorRange::select_all_str(text)));
    state.store(ui.ctx(), id);
}

/// Shows why an entry was refused in an overlay below the field, so that nothing moves.
pub(crate) fn show_refusal(ui: &Ui, field: &Response, reason: &str) {
    if !ui.is_rect_visible(field.rect) {
        return;
    }
    Tooltip::always_open(ui.ctx().clone(), field.layer_id, field.id, field.rect).gap(2.0).show(|ui| {
        let color = ui.visuals().error_fg_color;
        ui.add(Label::new(RichText::new(reason).color(color)).wrap());
    });
}

/// Makes a field for a number, dragged or typed; other text leaves the old value.
pub(crate) fn drag<N: Numeric>(value: &mut N) -> DragValue<'_> {
    let decimals = if N::INTEGRAL { 0 } else { 6 };
    let value = DragValue::new(value).max_decimals(decimals);
    let value = if N::INTEGRAL { value } else { value.custom_formatter(|value, _| text(value)) };
    value.update_while_editing(false).custom_parser(|typed| read(typed).ok())
}

/// Returns a number of a logarithmic spacing with three significant digits, or as many of its complement.
pub(crate) fn rounded_in(value: f64, spacing: Spacing) -> f64 {
    match spacing {
        // The subtraction leaves a remainder, as in 1 − 0.7.
        Spacing::LogComplement => rounded(1.0 - rounded(1.0 - value, 3), 12),
        Spacing::Linear | Spacing::Log => rounded(value, 3),
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

/// Formats a rate with a unit prefix: `950`, `12.3 k`, `31.0 M`.
pub(crate) fn rate(value: f64) -> String {
    match value {
        v if !v.is_finite() || v < 0.0 => "—".to_owned(),
        v if v < 10.0 => format!("{v:.1}"),
        v if v < 10_000.0 => format!("{v:.0}"),
        v if v < 1e6 => format!("{:.1} k", v / 1e3),
        v if v < 1e9 => format!("{:.1} M", v / 1e6),
        v => format!("{:.1} G", v / 1e9),
    }
}

/// Parses a typed number, with a decimal comma, a typographic minus or spaces.
pub(crate) fn read(typed: &str) -> Result<f64, String> {
    let plain: String = typed
        .chars()
        .filter(|c| !c.is_whitespace() && *c != '_')
        .map(|c| match c {
            '−' => '-',
            ',' => '.',
            other => other,
        })
        .collect();
    match plain.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(format!("expected a number such as 0.01 or 1e-3, found “{}”", typed.trim())),
    }
}

/// Parses a whole number.
pub(crate) fn read_whole(typed: &str) -> Result<u64, String> {
    let plain: String = typed.chars().filter(|c| !c.is_whitespace() && *c != '_').collect();
    plain.parse::<u64>().map_err(|_| format!("expected a whole number, 0 or more, found “{}”", typed.trim()))
}
