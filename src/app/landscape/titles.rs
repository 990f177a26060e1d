//! The titles of landscapes side by side.

use egui::{Align2, Button, Rect, RichText, Stroke, Ui, UiBuilder};
use valleyscope_experiments::view::Dash;

use crate::app::Live;
use crate::app::plot::dash_sample;

/// The length of the sample of a line, and the distance of the title from it, in points.
const SAMPLE: f32 = 22.0;
const GAP: f32 = 6.0;

/// Draws the title of the landscape at this place, after a line dashed as its curves in the plots. Where the title can be
/// clicked, a click chooses the landscape's settings for the controls.
pub(super) fn draw(ui: &mut Ui, area: Rect, title: &str, place: usize, can_be_clicked: bool, live: &mut Live) {
    let (sample, area) = area.split_left_right_at_x((area.left() + SAMPLE).min(area.right()));
    let area = area.with_min_x((area.left() + GAP).min(area.right()));
    let stroke = Stroke::new(1.6, ui.visuals().text_color());
    dash_sample(ui.painter(), [sample.left_center(), sample.right_center()], Dash::SIDE_BY_SIDE[place], stroke);
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
