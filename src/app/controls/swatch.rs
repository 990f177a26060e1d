//! The button that chooses a curve's colour.

use egui::Ui;

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
