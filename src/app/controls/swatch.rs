//! The choice of a curve's colour: by a button, or by a right click on an entry of a legend.

use egui::color_picker::{Alpha, color_picker_color32};
use egui::{Button, Color32, Popup, PopupCloseBehavior, Response, Ui};

/// Shows the colour and opens a colour picker; `usual` is the default colour, which a secondary click restores.
pub(in crate::app) fn color_swatch(ui: &mut Ui, color: &mut Option<[u8; 3]>, usual: [u8; 3], help: &str, name: &str) {
    let mut rgb = color.unwrap_or(usual);
    let help = format!("{help}\nRight-click to restore the usual colour.");
    let swatch = ui.color_edit_button_srgb(&mut rgb).on_hover_text(help).accessible_name(name);
    if swatch.secondary_clicked() {
        *color = None;
    } else if swatch.changed() {
        *color = Some(rgb).filter(|rgb| *rgb != usual);
    }
}

/// Shows a colour picker after a right click on the entry of a legend with this colour. Returns the choice, if one is
/// made; `None` in it restores the usual colour. `is_chosen` is true for a colour other than the usual one.
pub(in crate::app) fn color_menu(
    entry: &Response,
    name: &str,
    [red, green, blue]: [u8; 3],
    is_chosen: bool,
) -> Option<Option<[u8; 3]>> {
    let mut choice = None;
    let menu = Popup::context_menu(entry).close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    menu.show(|ui| {
        ui.strong(format!("Colour of {name}"));
        let mut color = Color32::from_rgb(red, green, blue);
        if color_picker_color32(ui, &mut color, Alpha::Opaque) {
            choice = Some(Some([color.r(), color.g(), color.b()]));
        }
        if ui.add_enabled(is_chosen, Button::new("Usual colour")).clicked() {
            choice = Some(None);
            ui.close();
        }
    });
    choice
}

/// The hint of entries whose colour a right click chooses.
pub(in crate::app) const COLOR_HINT: &str = "Right-click to choose the colour.";
