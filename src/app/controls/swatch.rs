//! The button by which the colour of a curve is chosen.

use egui::Ui;

/// Shows the colour in use and opens a colour picker; `usual` is the colour where none is chosen, and a menu at the
/// other button of the pointer goes back to it.
pub(in crate::app) fn color_swatch(ui: &mut Ui, color: &mut Option<[u8; 3]>, usual: [u8; 3], help: &str, name: &str) {
    let mut rgb = color.unwrap_or(usual);
    let swatch = ui.color_edit_button_srgb(&mut rgb).on_hover_text(help).accessible_name(name);
    if swatch.changed() {
        *color = Some(rgb).filter(|rgb| *rgb != usual);
    }
    swatch.context_menu(|ui| {
        if ui.add_enabled(color.is_some(), egui::Button::new("Usual colour")).clicked() {
            *color = None;
            ui.close();
        }
    });
}
