//! The titles of landscapes side by side.

use egui::{Align2, Button, Rect, RichText, Ui, UiBuilder};

use crate::app::Live;

/// Draws the title of the landscape at this place. Where it can be clicked, a click chooses the landscape's settings for
/// the controls.
pub(super) fn draw(ui: &mut Ui, area: Rect, title: &str, place: usize, can_be_clicked: bool, live: &mut Live) {
    if !can_be_clicked {
        let font = egui::TextStyle::Body.resolve(ui.style());
        let painter = ui.painter().with_clip_rect(area);
        painter.text(area.left_center(), Align2::LEFT_CENTER, title, font, ui.visuals().strong_text_color());
        return;
    }
    ui.scope_builder(UiBuilder::new().id_salt(("title", place)).max_rect(area), |ui| {
        ui.set_clip_rect(area.intersect(ui.clip_rect()));
        ui.spacing_mut().button_padding.y = 0.0;
        let button = Button::selectable(live.chosen == place, RichText::new(title).strong()).truncate();
        if ui.add(button).on_hover_text(format!("{title}\nClick to show its settings in the controls.")).clicked() {
            live.chosen = place;
        }
    });
}
