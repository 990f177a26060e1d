//! The choice of a curve's colour: by a button, or by a right click on an entry of a legend.

use egui::color_picker::{Alpha, color_picker_color32};
use egui::{Button, Color32, Label, Popup, PopupCloseBehavior, Response, RichText, Role, Sense, Ui, WidgetInfo};

/// The width of the picker, in points.
const PICKER: f32 = 180.0;
/// The largest width of the picker's heading, in points.
const HEADING: f32 = 260.0;

/// Shows the colour and opens a colour picker; `usual` is the default colour, which a secondary click restores.
pub(in crate::app) fn color_swatch(ui: &mut Ui, color: &mut Option<[u8; 3]>, usual: [u8; 3], help: &str, name: &str) {
    let choice = color_button(ui, color.unwrap_or(usual), color.is_some(), help, name);
    *color = choice.map_or(*color, |choice| choice.filter(|rgb| *rgb != usual));
}

/// Shows a button with this colour, which opens a colour picker. Returns the choice, if one is made; `None` in it
/// restores the usual colour, as does a secondary click. `is_chosen` is true for a colour other than the usual one.
pub(in crate::app) fn color_button(
    ui: &mut Ui,
    rgb: [u8; 3],
    is_chosen: bool,
    help: &str,
    name: &str,
) -> Option<Option<[u8; 3]>> {
    let (rect, button) = ui.allocate_exact_size(ui.spacing().interact_size, Sense::click());
    button.widget_info(|| WidgetInfo::labeled(Role::Button, true, name));
    let visuals = ui.style().interact(&button);
    let [red, green, blue] = rgb;
    let color = Color32::from_rgb(red, green, blue);
    ui.painter().rect_filled(rect.expand(visuals.expansion), visuals.corner_radius, color);
    let button = button.on_hover_text(format!("{help}\nRight-click to restore the usual colour."));
    if button.secondary_clicked() {
        return Some(None);
    }
    let menu = Popup::menu(&button).close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    menu.show(|ui| color_picker(ui, name, rgb, is_chosen)).and_then(|shown| shown.inner)
}

/// Shows a colour picker after a right click on the entry of a legend with this colour. Returns the choice, if one is
/// made; `None` in it restores the usual colour. `is_chosen` is true for a colour other than the usual one.
pub(in crate::app) fn color_menu(
    entry: &Response,
    name: &str,
    rgb: [u8; 3],
    is_chosen: bool,
) -> Option<Option<[u8; 3]>> {
    let menu = Popup::context_menu(entry).close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    let shown = menu.show(|ui| color_picker(ui, &format!("Colour of {name}"), rgb, is_chosen));
    shown.and_then(|shown| shown.inner)
}

/// Shows the colour picker of all menus under a title. Returns the choice, if one is made; `None` in it restores the
/// usual colour.
pub(in crate::app) fn color_picker(
    ui: &mut Ui,
    title: &str,
    [red, green, blue]: [u8; 3],
    is_chosen: bool,
) -> Option<Option<[u8; 3]>> {
    ui.set_max_width(HEADING);
    ui.spacing_mut().slider_width = PICKER;
    let mut choice = None;
    ui.add(Label::new(RichText::new(title).strong()).truncate());
    let mut color = Color32::from_rgb(red, green, blue);
    if color_picker_color32(ui, &mut color, Alpha::Opaque) {
        choice = Some(Some([color.r(), color.g(), color.b()]));
    }
    if ui.add_enabled(is_chosen, Button::new("Usual colour")).clicked() {
        choice = Some(None);
        ui.close();
    }
    choice
}

/// The hint of entries whose colour a right click chooses.
pub(in crate::app) const COLOR_HINT: &str = "Right-click to choose the colour.";
