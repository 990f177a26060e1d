//! Numbers and other typed values in controls: formatting, parsing, text and drag fields, and the slider of a quantity.

use std::cell::Cell;
use std::sync::Arc;

use egui::accesskit::{Action, ActionData};
use egui::emath::Numeric;
use egui::{
    Align2, Button, Context, DragValue, FontId, Id, Key, Label, Margin, Rangef, Rect, RectAlign, Response, RichText,
    Sense, Slider, SliderClamping, TextEdit, TextStyle, Tooltip, Ui, vec2,
};
use serde::{Deserialize, Serialize};
use valleyscope_engine::quantity::OutOfRange;
use valleyscope_engine::setting::{Extent, NOISE, SettingInfo, SettingPath, Spacing};
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_experiments::view::AxisScale;

use super::form;
use super::form::Highlight;
use super::icons::{Icon, icon_button};
use super::theme::text_width;

pub(crate) use valleyscope_engine::quantity::{number_text as text, rounded};

/// The control of a setting that is a number: its name, a slider and a field.
pub(crate) struct Control<'p> {
    pub of: &'p SettingInfo,
    pub default: f64,
}

/// The style of a control.
pub(crate) enum SliderStyle<'a> {
    Plain,
    /// The control has a button that pins it for presentations.
    Pinnable(&'a mut Pins, SettingPath),
    /// The control is outside of its owner's card and has the owner's name before its own.
    Named(SettingPath),
}

impl SliderStyle<'_> {
    fn setting(&self) -> Option<&SettingPath> {
        match self {
            SliderStyle::Plain => None,
            SliderStyle::Pinnable(_, setting) | SliderStyle::Named(setting) => Some(setting),
        }
    }
}

/// The width below which a control with its owner's name has this name above its slider, in points.
const NAMED_WIDTH: f32 = 500.0;

const FIELD_WIDTH: f32 = 72.0;
/// The side of the button that pins a slider, in points.
const PIN_SIDE: f32 = 20.0;

impl Control<'_> {
    /// Shows the control. `owner` is the setting's owner, for screen readers; empty for the simulation as a whole.
    pub(crate) fn show(&self, ui: &mut Ui, owner: &str, value: &mut f64) {
        self.show_as(ui, owner, value, SliderStyle::Plain);
    }

    /// Shows the control in one of its styles.
    pub(crate) fn show_as(&self, ui: &mut Ui, owner: &str, value: &mut f64, style: SliderStyle<'_>) {
        let name = form::owned(owner, self.of.label);
        let label = if matches!(style, SliderStyle::Named(_)) { &name } else { self.of.label };
        let animated = style.setting().cloned().filter(|setting| !setting.restarts());
        let motion = animated.as_ref().and_then(|setting| Motion::of(ui.ctx(), setting));
        let help = SliderHelp { text: self.help(animated.is_some(), motion.as_ref()), beside: ui.max_rect().x_range() };
        let least = if matches!(style, SliderStyle::Named(_)) { NAMED_WIDTH } else { form::ONE_LINE_WIDTH };
        let shown = ui.scope(|ui| {
            if ui.available_width() < least {
                self.label_cell(ui, Label::new(label).wrap(), ui.available_width(), &help, value);
                ui.horizontal(|ui| self.inputs(ui, &name, &help, value, style));
            } else {
                ui.horizontal(|ui| {
                    let (label, width) = match style {
                        SliderStyle::Named(_) => {
                            let font = TextStyle::Body.resolve(ui.style());
                            (Label::new(label), text_width(ui, &font, label))
                        }
                        _ => (Label::new(label).wrap(), form::NAME_WIDTH),
                    };
                    self.label_cell(ui, label, width, &help, value);
                    self.inputs(ui, &name, &help, value, style);
                });
            }
        });
        Highlight::mark(ui, shown.response.rect, &name);
        if let Some(setting) = animated {
            shown.response.container_context_menu(|ui| {
                if ui.button("Animate…").on_hover_text("Move the slider while the run plays").clicked() {
                    Motion::request(ui.ctx(), setting);
                }
            });
        }
    }

    /// Returns the explanation of the setting and of its motion.
    fn help(&self, is_live: bool, motion: Option<&Motion>) -> String {
        let text = self.of.explanation();
        match motion {
            Some(Motion(description)) => format!("{text}\n\n{description} Drag the slider to stop it."),
            None if is_live => format!("{text}\n\nRight click: animate it."),
            None => text,
        }
    }

    /// Explains why a number was refused, with the control's label, as in "Rotation φ must be a number from −360 to
    /// 360°, found 999".
    fn refusal(&self, refused: &OutOfRange) -> String {
        let SettingInfo { label, unit, .. } = self.of;
        let name = label.split_once(" (").map_or(*label, |(name, _)| name);
        let number = |text: &str| text.replace('-', "−");
        format!("{name} must be {}{unit}, found {}", number(&refused.expected), number(&refused.found))
    }

    fn inputs(&self, ui: &mut Ui, name: &str, help: &SliderHelp, value: &mut f64, style: SliderStyle<'_>) {
        let gap = ui.spacing().item_spacing.x;
        let reset_width = ui.spacing().interact_size.y;
        let pin_width = if matches!(style, SliderStyle::Pinnable(..)) { PIN_SIDE + gap } else { 0.0 };
        let left = ui.available_width() - FIELD_WIDTH - reset_width - pin_width - 3.0 * gap;
        ui.spacing_mut().slider_width = left.max(40.0);
        let is_moving = style.setting().is_some_and(|setting| Motion::of(ui.ctx(), setting).is_some());
        let slider = ui.scope(|ui| {
            if is_moving {
                let color = ui.visuals().hyperlink_color;
                let widgets = &mut ui.visuals_mut().widgets;
                for style in [&mut widgets.inactive, &mut widgets.hovered, &mut widgets.active] {
                    style.bg_fill = color;
                    style.fg_stroke.color = color;
                }
            }
            self.slider(ui, value).accessible_name(name)
        });
        let slider = slider.inner;
        help.explain(&slider);
        let field = TypedField { name: &format!("{name}, number"), width: FIELD_WIDTH };
        let check = |text: &str| self.of.checked(read(text)?).map_err(|refused| self.refusal(&refused));
        let typed = field.show(ui, &text(*value), check);
        help.explain(&typed.response);
        if let Some(entered) = typed.entered {
            *value = entered;
        }
        if reset_button(ui, name, *value != self.default, &text(self.default)) {
            *value = self.default;
        }
        if let SliderStyle::Pinnable(pins, setting) = style {
            pin_button(ui, name, pins, setting);
        }
    }

    fn slider(&self, ui: &mut Ui, value: &mut f64) -> Response {
        let Extent { low, high, spacing } = self.of.slider;
        if spacing == Spacing::LogComplement {
            return self.complement_slider(ui, value);
        }
        let is_logarithmic = spacing == Spacing::Log;
        let digits = if is_logarithmic { 3 } else { 4 };
        let slider = Slider::from_get_set(low..=high, |set| {
            if let Some(set) = set {
                *value = self.of.nearest(rounded(set, digits));
            }
            *value
        });
        ui.add(slider.logarithmic(is_logarithmic).clamping(SliderClamping::Edits).show_value(false))
    }

    /// Shows a slider that is logarithmic in the complement: 0, 0.9, 0.99 and 0.999 are equally far apart.
    fn complement_slider(&self, ui: &mut Ui, value: &mut f64) -> Response {
        let Extent { low, high, .. } = self.of.slider;
        let nearest = |set: f64| self.of.nearest(rounded_in(set, Spacing::LogComplement));
        let slider = Slider::from_get_set(1.0 - low..=1.0 - high, |set| {
            if let Some(complement) = set {
                *value = nearest(1.0 - complement);
            }
            1.0 - *value
        });
        let response = ui.add(slider.logarithmic(true).clamping(SliderClamping::Edits).show_value(false));
        if let Some(requested) = requested(ui, &response) {
            *value = nearest(requested);
        }
        ui.ctx().accesskit_node_builder(response.id, |node| {
            node.set_numeric_value(*value);
            node.set_min_numeric_value(low);
            node.set_max_numeric_value(high);
        });
        response
    }

    /// Shows the name of the control; a double click restores the default.
    fn label_cell(&self, ui: &mut Ui, label: Label, width: f32, help: &SliderHelp, value: &mut f64) {
        form::cell(ui, width, |ui| {
            let response = ui.add(label.sense(Sense::CLICK));
            help.explain(&response);
            if response.double_clicked() {
                *value = self.default;
            }
        });
    }
}

/// The sliders that a presentation shows, whatever its lesson's step sets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Pins(Vec<SettingPath>);

impl Pins {
    /// The largest number of sliders in a presentation.
    pub(crate) const MOST: usize = 3;

    pub(crate) fn has(&self, slider: &SettingPath) -> bool {
        self.0.contains(slider)
    }

    /// Pins a slider or unpins it. The oldest pin gives way to one more than fit.
    pub(crate) fn toggle(&mut self, slider: SettingPath) {
        if self.has(&slider) {
            self.0.retain(|other| *other != slider);
        } else {
            self.0.push(slider);
            self.0.drain(..self.0.len().saturating_sub(Pins::MOST));
        }
    }

    /// Returns the sliders of a presentation: those of the lesson, then the pinned ones, as far as the simulation has
    /// them; without any, that of the noise.
    pub(crate) fn sliders(&self, of_lesson: Vec<SettingPath>, spec: &SimulationSpec) -> Vec<SettingPath> {
        let mut shown: Vec<SettingPath> = Vec::new();
        for slider in of_lesson.into_iter().chain(self.0.iter().cloned()) {
            let is_slider = spec.setting(&slider).is_some_and(|it| it.info.is_axis());
            if is_slider && !shown.contains(&slider) {
                shown.push(slider);
            }
        }
        if shown.is_empty() {
            shown.push(SettingPath::new(NOISE.key));
        }
        shown.truncate(Pins::MOST);
        shown
    }
}

/// Shows the button that pins a slider for presentations.
fn pin_button(ui: &mut Ui, name: &str, pins: &mut Pins, setting: SettingPath) {
    let (icon, hint) = match pins.has(&setting) {
        true => (Icon::Pinned, "Shown in presentations. Click to take it away."),
        false => (Icon::Pin, "Show it in presentations. At most three are shown; one more replaces the first."),
    };
    if icon_button(ui, icon, PIN_SIDE, &format!("Pin {name}"), hint).clicked() {
        pins.toggle(setting);
    }
}

/// The help of a control, shown beside it so that the next control stays visible.
struct SliderHelp {
    text: String,
    /// The vertical range of the control.
    beside: Rangef,
}

impl SliderHelp {
    /// Shows the help while the pointer is on a part of the control.
    fn explain(&self, part: &Response) {
        let mut tooltip = Tooltip::for_enabled(part);
        let control = Rect::from_x_y_ranges(self.beside, part.rect.y_range());
        tooltip.popup = tooltip.popup.anchor(control).align(RectAlign::RIGHT_START);
        tooltip.show(|ui| ui.label(&self.text));
    }
}

/// Shows the small button at the end of a control; returns true when it was pressed.
pub(crate) fn reset_button(ui: &mut Ui, name: &str, changed: bool, default: &str) -> bool {
    let side = ui.spacing().interact_size.y;
    let button = Button::new(RichText::new("↺").small()).frame(false).min_size(vec2(side, side));
    ui.add_enabled(changed, button)
        .on_hover_text(format!("Back to {default}"))
        .accessible_name(format!("Reset {name}"))
        .clicked()
}

/// The description of a slider's motion, as in "Moves from 1 to 2 in 10 s."
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Motion(pub String);

impl Motion {
    /// Sets the motions of all sliders, for the controls of this frame.
    pub(crate) fn set_all(ctx: &Context, all: Vec<(SettingPath, Motion)>) {
        ctx.data_mut(|data| data.insert_temp(Id::unique("motions of sliders"), Arc::new(all)));
    }

    /// Returns the motion of a slider, if it moves.
    pub(crate) fn of(ctx: &Context, setting: &SettingPath) -> Option<Motion> {
        let all: Arc<Vec<(SettingPath, Motion)>> = ctx.data(|data| data.get_temp(Id::unique("motions of sliders")))?;
        all.iter().find(|(other, _)| other == setting).map(|(_, motion)| motion.clone())
    }

    /// Requests to animate a slider.
    pub(crate) fn request(ctx: &Context, setting: SettingPath) {
        ctx.data_mut(|data| data.insert_temp(Id::unique("slider to animate"), Some(setting)));
    }

    /// Takes the slider that was requested last.
    pub(crate) fn take_request(ctx: &Context) -> Option<SettingPath> {
        ctx.data_mut(|data| data.remove_temp::<Option<SettingPath>>(Id::unique("slider to animate"))).flatten()
    }
}

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
        let id = ui.make_persistent_id(("typed", self.name));
        let mut typing: Typing = ui.data_mut(|data| data.get_temp(id)).unwrap_or_default();
        let mut text = if typing.editing { typing.text.clone() } else { shown.to_owned() };
        let (font, width) = self.font_and_width(ui, shown);
        let edit = TextEdit::singleline(&mut text).id(id).desired_width(width).margin(FIELD_MARGIN);
        let edit = edit.font(font).align(Align2::RIGHT_CENTER).clip_text(true);
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
    value.update_while_editing(false).custom_parser(parse)
}

/// Shows a field for a number whose drag has equal steps in its spacing: from 0.9 to 0.99 as far as from 0.99 to 0.999.
/// A typed number is taken as it is.
pub(crate) fn spaced_drag(ui: &mut Ui, value: &mut f64, spacing: Spacing) -> Response {
    /// The position of numbers without a logarithm, below those of all others.
    const LOWEST: f64 = -20.0;
    let scale = AxisScale::from(spacing);
    let place = |value: f64| Some(scale.position(value)).filter(|place| place.is_finite()).unwrap_or(LOWEST);
    let (before, shown, typed) = (*value, text(*value), Cell::new(None));
    let get_set = |set: Option<f64>| {
        if let Some(set) = set.filter(|set| *set != place(*value)) {
            *value = typed.take().unwrap_or_else(|| rounded_in(scale.value(set), spacing));
        }
        place(*value)
    };
    let parser = |text: &str| {
        let number = parse(text).filter(|_| text != shown)?;
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
pub(crate) fn rounded_in(value: f64, spacing: Spacing) -> f64 {
    match spacing {
        // The subtraction leaves a remainder, as in 1 − 0.7.
        Spacing::LogComplement => rounded(1.0 - rounded(1.0 - value, 3), 12),
        Spacing::Linear | Spacing::Log => rounded(value, 3),
    }
}

/// Returns the number that a screen reader sets.
fn requested(ui: &Ui, control: &Response) -> Option<f64> {
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

/// Parses a number typed into a drag field; returns `None` for other text, so that the old value stays.
pub(crate) fn parse(typed: &str) -> Option<f64> {
    read(typed).ok()
}

/// Parses a whole number.
pub(crate) fn read_whole(typed: &str) -> Result<u64, String> {
    let plain: String = typed.chars().filter(|c| !c.is_whitespace() && *c != '_').collect();
    plain.parse::<u64>().map_err(|_| format!("expected a whole number, 0 or more, found “{}”", typed.trim()))
}
