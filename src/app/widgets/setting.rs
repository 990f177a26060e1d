//! The rows of settings in all tabs: slider, field, reset and menu; pinned settings; the values along an axis.

use std::sync::Arc;

use egui::{
    Context, Id, Label, Popup, Rangef, Rect, RectAlign, Response, Sense, Slider, SliderClamping, TextStyle, Tooltip, Ui,
};
use serde::{Deserialize, Serialize};
use valleyscope_engine::quantity::{Number as _, OutOfRange, PointCount};
use valleyscope_engine::setting::{Extent, NOISE, SettingInfo, SettingPath, SettingValue, Spacing};
use valleyscope_engine::simulation::SimulationSpec;

use super::form;
use super::form::Highlight;
use super::icons::{Icon, icon_button};
use super::number::{TypedField, read, requested, rounded, rounded_in, text};
use super::theme::text_width;

/// The control of a setting that is a number: its name, a slider, a field, and buttons.
pub(crate) struct Control<'p> {
    pub of: &'p SettingInfo,
    pub default: f64,
}

/// The style of a control.
pub(crate) enum SliderStyle<'a> {
    Plain,
    /// A row of a tab's controls, with a menu. The row of a pinned setting has the owner's name before its own.
    Row {
        pins: &'a mut Pins,
        path: SettingPath,
        actions: &'a [RowAction],
    },
    /// The control of a presentation, with the owner's name before its own and without help.
    Named(SettingPath),
}

/// The width below which a control with its owner's name has this name above its slider, in points.
const NAMED_WIDTH: f32 = 500.0;
/// The height in which a slider is drawn, which determines the size of its knob, in points.
const SLIDER_HEIGHT: f32 = 18.0;

impl Control<'_> {
    /// Shows the control. `owner` is the setting's owner, for screen readers; empty for the simulation as a whole.
    pub(crate) fn show(&self, ui: &mut Ui, owner: &str, value: &mut f64) {
        self.show_as(ui, owner, value, SliderStyle::Plain);
    }

    /// Shows the control in one of its styles: in one line, or in two where the slider would be too short.
    pub(crate) fn show_as(&self, ui: &mut Ui, owner: &str, value: &mut f64, mut style: SliderStyle<'_>) {
        let name = form::owned(owner, self.of.label);
        let (setting, is_named) = match &style {
            SliderStyle::Plain => (None, false),
            SliderStyle::Row { pins, path, .. } => (Some(path), pins.has(path)),
            SliderStyle::Named(path) => (Some(path), true),
        };
        let label = if is_named { &name } else { self.of.label };
        let motion = setting.and_then(|setting| motion_of(ui.ctx(), setting));
        // In a presentation, the help would cover the run.
        let text = match style {
            SliderStyle::Named(_) => String::new(),
            _ => self.help(motion.as_deref()),
        };
        let help = SliderHelp { text, beside: ui.max_rect().x_range() };
        let (buttons, least) = match style {
            SliderStyle::Named(_) => (1.0, NAMED_WIDTH),
            _ => (2.0, form::ONE_LINE_WIDTH),
        };
        let buttons = ui.spacing().item_spacing.x + buttons * form::BUTTON_SIDE;
        let shown = ui.scope(|ui| {
            if ui.available_width() < least {
                ui.horizontal(|ui| {
                    let width = ui.available_width() - buttons;
                    self.label_cell(ui, Label::new(label).wrap(), width, &help, value);
                    self.buttons(ui, &name, value, &mut style);
                });
                ui.horizontal(|ui| self.inputs(ui, &name, &help, value, (0.0, motion.is_some())));
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
                    self.inputs(ui, &name, &help, value, (buttons, motion.is_some()));
                    self.buttons(ui, &name, value, &mut style);
                });
            }
        });
        Highlight::mark(ui, shown.response.rect, &name);
        if let SliderStyle::Row { pins, path, actions } = style {
            shown.response.container_context_menu(|ui| row_menu(ui, &name, pins, path, actions));
        }
    }

    /// Returns the explanation of the setting and of its motion.
    fn help(&self, motion: Option<&str>) -> String {
        let text = self.of.explanation();
        match motion {
            Some(motion) => format!("{text}\n\n{motion} Drag the slider to stop it."),
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

    fn text(&self, value: f64) -> String {
        if self.of.is_whole() { value.to_string() } else { text(value) }
    }

    /// Shows the slider and the field, with room for buttons after them.
    fn inputs(&self, ui: &mut Ui, name: &str, help: &SliderHelp, value: &mut f64, (buttons, is_moving): (f32, bool)) {
        let left = ui.available_width() - form::FIELD_WIDTH - ui.spacing().item_spacing.x - buttons;
        let slider = ui.scope(|ui| {
            ui.spacing_mut().slider_width = left.max(40.0);
            ui.spacing_mut().interact_size.y = SLIDER_HEIGHT;
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
        help.explain(&slider.inner);
        let field = TypedField { name: &format!("{name}, number"), width: form::FIELD_WIDTH };
        let check = |text: &str| self.of.checked(read(text)?).map_err(|refused| self.refusal(&refused));
        let typed = field.show(ui, &self.text(*value), check);
        help.explain(&typed.response);
        if let Some(entered) = typed.entered {
            *value = entered;
        }
    }

    /// Shows the button that restores the default, if the value is another, and that of the row's menu.
    fn buttons(&self, ui: &mut Ui, name: &str, value: &mut f64, style: &mut SliderStyle<'_>) {
        ui.spacing_mut().item_spacing.x = 0.0;
        let hint = format!("Back to {}", self.text(self.default));
        if *value == self.default {
            ui.add_space(form::BUTTON_SIDE);
        } else if icon_button(ui, Icon::Back, form::BUTTON_SIDE, &format!("Reset {name}"), &hint).clicked() {
            *value = self.default;
        }
        if let SliderStyle::Row { pins, path, actions } = style {
            let icon = if pins.has(path) { Icon::Pinned } else { Icon::More };
            let hint = if actions.is_empty() { "Pin" } else { "Pin, vary" };
            let button = icon_button(ui, icon, form::BUTTON_SIDE, &format!("{name}: menu"), hint);
            Popup::menu(&button).show(|ui| row_menu(ui, name, pins, path.clone(), actions));
        }
    }

    /// Shows the slider. One that is logarithmic in the complement has 0, 0.9, 0.99 and 0.999 equally far apart.
    fn slider(&self, ui: &mut Ui, value: &mut f64) -> Response {
        let Extent { low, high, spacing } = self.of.slider;
        let is_complement = spacing == Spacing::LogComplement;
        let place = |value: f64| if is_complement { 1.0 - value } else { value };
        let nearest = |set: f64| match spacing {
            Spacing::Linear => self.of.nearest(rounded(set, 4)),
            _ => self.of.nearest(rounded_in(set, spacing)),
        };
        let slider = Slider::from_get_set(place(low)..=place(high), |set| {
            *value = set.map_or(*value, |set| nearest(place(set)));
            place(*value)
        });
        let is_logarithmic = spacing != Spacing::Linear;
        let slider = slider.logarithmic(is_logarithmic).clamping(SliderClamping::Edits).show_value(false);
        let response = ui.add(slider);
        if is_complement {
            *value = requested(ui, &response).map_or(*value, nearest);
            ui.ctx().accesskit_node_builder(response.id, |node| {
                node.set_numeric_value(*value);
                node.set_min_numeric_value(low);
                node.set_max_numeric_value(high);
            });
        }
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

/// The settings at the top of a tab's controls, which presentations show too, whatever the lesson's step sets.
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

/// An action of a setting's menu, which the setting's tab carries out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RowAction {
    Animate,
    /// Opens a phase diagram along whose columns the setting varies.
    Vary,
    VaryAlongRows,
    VaryAlongColumns,
    /// Tries several values of the setting at each pixel.
    Tune,
    /// Trains with several values of the setting.
    VaryTraining,
}

impl RowAction {
    const fn label_and_help(self) -> (&'static str, &'static str) {
        match self {
            RowAction::Animate => ("Animate…", "Move the slider while the run plays"),
            RowAction::Vary => ("Vary…", "Open a phase diagram along whose columns the setting varies"),
            RowAction::VaryAlongRows => ("Vary along the rows", "Make the setting the vertical axis of the diagram"),
            RowAction::VaryAlongColumns => {
                ("Vary along the columns", "Make the setting the horizontal axis of the diagram")
            }
            RowAction::VaryTraining => ("Vary…", "Train with several values of the setting"),
            RowAction::Tune => (
                "Vary at each pixel",
                "Try several values. At each pixel the best counts, together with the best learning rate.",
            ),
        }
    }

    fn id(self) -> Id {
        Id::unique(("requested of a setting", self))
    }

    /// Takes the setting for which this action was chosen last.
    pub(crate) fn take(self, ctx: &Context) -> Option<SettingPath> {
        ctx.data_mut(|data| data.remove_temp::<Option<SettingPath>>(self.id())).flatten()
    }
}

/// Shows the entries of a setting's menu.
fn row_menu(ui: &mut Ui, name: &str, pins: &mut Pins, path: SettingPath, actions: &[RowAction]) {
    let mut is_pinned = pins.has(&path);
    let help =
        "Keep it at the top of the controls, and show it in presentations. One more than three replaces the first.";
    let pin = form::check_box(ui, &mut is_pinned, "Pinned").on_hover_text(help);
    if pin.accessible_name(format!("Pin {name}")).changed() {
        pins.toggle(path.clone());
        ui.close();
    }
    for action in actions {
        let (label, help) = action.label_and_help();
        let entry = ui.button(label).on_hover_text(help);
        if entry.accessible_name(format!("{label} {name}")).clicked() {
            ui.ctx().data_mut(|data| data.insert_temp(action.id(), Some(path.clone())));
            ui.close();
        }
    }
}

/// Shows a card of the pinned ones among the settings of a tab, each with its owner. `set` takes changed values.
pub(crate) fn pinned_card(
    ui: &mut Ui,
    pins: &mut Pins,
    settings: Vec<(String, SettingValue)>,
    actions: impl Fn(&SettingValue) -> Vec<RowAction>,
    mut set: impl FnMut(&SettingPath, f64),
) {
    let pinned: Vec<_> = settings.into_iter().filter(|(_, it)| pins.has(&it.path)).collect();
    if pinned.is_empty() {
        // The widgets below keep their ids.
        ui.skip_ahead_auto_ids(1);
        return;
    }
    let contents = |ui: &mut Ui| {
        for (owner, it) in pinned {
            let (path, actions) = (it.path.clone(), actions(&it));
            let style = SliderStyle::Row { pins, path: path.clone(), actions: &actions };
            if let Some(value) = setting_row(ui, &owner, it.info, [it.value, it.default], style) {
                set(&path, value);
            }
        }
    };
    // A setting that is unpinned is also drawn in its own card in the same frame.
    ui.push_id("pinned", |ui| form::card(ui, "Pinned", contents));
}

/// Shows the row of a setting unless it is in the card of the pinned ones. Returns a new value within the range.
pub(crate) fn unpinned_row(
    ui: &mut Ui,
    owner: &str,
    it: &SettingValue,
    pins: &mut Pins,
    actions: &[RowAction],
) -> Option<f64> {
    let path = it.path.clone();
    if pins.has(&path) {
        // The widgets below keep their ids.
        ui.skip_ahead_auto_ids(1);
        return None;
    }
    let style = SliderStyle::Row { pins, path, actions };
    setting_row(ui, owner, it.info, [it.value, it.default], style)
}

/// Shows the row of a setting with its value and its default: a slider with a number, or choices. Returns a new value
/// within the range.
pub(crate) fn setting_row(
    ui: &mut Ui,
    owner: &str,
    of: &SettingInfo,
    [before, default]: [f64; 2],
    style: SliderStyle<'_>,
) -> Option<f64> {
    let mut value = before;
    match of.choices() {
        [] => Control { of, default }.show_as(ui, owner, &mut value, style),
        choices => {
            let shown = ui.scope(|ui| {
                form::line(ui, of.label, of.help, |ui| {
                    for (index, choice) in choices.iter().enumerate() {
                        let response = ui.selectable_value(&mut value, index as f64, choice.label);
                        let name = form::owned(owner, &format!("{} {}", of.label.to_lowercase(), choice.label));
                        response.on_hover_text(choice.help).accessible_name(name);
                    }
                });
            });
            Highlight::mark(ui, shown.response.rect, &form::owned(owner, of.label));
        }
    }
    (value != before).then_some(value)
}

/// The ends, the number and the spacing of the values that a setting takes.
pub(crate) struct Values<'a> {
    pub ends: [&'a mut f64; 2],
    pub count: &'a mut PointCount,
    /// The spacing, which is chosen if the setting has `usual`.
    pub spacing: &'a mut Spacing,
    pub usual: Option<Spacing>,
}

impl Values<'_> {
    /// Shows the rows of the values. `name` is their accessible name. If the setting `may_be_one` value, returns whether
    /// the button for that was pressed.
    pub(crate) fn show(self, ui: &mut Ui, label: &str, help: &str, name: &str, may_be_one: bool) -> bool {
        let Values { ends: [from, to], count, spacing, usual } = self;
        let number = |ui: &mut Ui, what: &str, value: &mut f64| {
            let field = TypedField { name: &format!("{name}{what}"), width: form::FIELD_WIDTH };
            *value = field.show(ui, &text(*value), read).entered.unwrap_or(*value);
        };
        form::line(ui, label, help, |ui| {
            ui.label("from");
            number(ui, " from", from);
            ui.label("to");
            number(ui, " to", to);
        });
        form::line(ui, "", "", |ui| {
            let mut values = count.value();
            ui.label("in");
            number(ui, ": how many", &mut values);
            *count = PointCount::clamped(values as u64);
            ui.label("values");
            if let Some(usual) = usual {
                log_switch(ui, spacing, usual, &format!("{name}: logarithmic"));
            }
            let close = |ui: &mut Ui| {
                icon_button(ui, Icon::Close, form::BUTTON_SIDE, &format!("{name}: one value"), "One value")
            };
            may_be_one && close(ui).clicked()
        })
    }
}

/// Shows the switch between linear and logarithmic spacing; `usual` is that of the quantity.
fn log_switch(ui: &mut Ui, spacing: &mut Spacing, usual: Spacing, name: &str) {
    let mut log = *spacing != Spacing::Linear;
    let (logarithmic, help) = match usual {
        Spacing::LogComplement => (usual, "Logarithmic in 1 − x: 0, 0.9, 0.99 and 0.999 are equally far apart."),
        _ => (Spacing::Log, "Logarithmic: equal ratios rather than equal differences."),
    };
    if form::check_box(ui, &mut log, "log").on_hover_text(help).accessible_name(name).changed() {
        *spacing = if log { logarithmic } else { Spacing::Linear };
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
        if self.text.is_empty() {
            return;
        }
        let mut tooltip = Tooltip::for_enabled(part);
        let control = Rect::from_x_y_ranges(self.beside, part.rect.y_range());
        tooltip.popup = tooltip.popup.anchor(control).align(RectAlign::RIGHT_START);
        tooltip.show(|ui| ui.label(&self.text));
    }
}

/// The motions of sliders in words, as in "Moves from 1 to 2 in 10 s."
type Motions = Arc<Vec<(SettingPath, String)>>;

fn motions_id() -> Id {
    Id::unique("motions of sliders")
}

/// Sets the motions of all sliders, for the controls of this frame.
pub(crate) fn set_motions(ctx: &Context, all: Vec<(SettingPath, String)>) {
    ctx.data_mut(|data| data.insert_temp::<Motions>(motions_id(), Arc::new(all)));
}

/// Returns the motion of a slider, if it moves.
fn motion_of(ctx: &Context, setting: &SettingPath) -> Option<String> {
    let all: Motions = ctx.data(|data| data.get_temp(motions_id()))?;
    all.iter().find(|(other, _)| other == setting).map(|(_, motion)| motion.clone())
}
