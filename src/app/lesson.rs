//! The bar with a lesson's sentence and its navigation.

use egui::{Align, Button, Label, Layout, RichText, Ui};

use super::live::{Action, LandscapeAction, Requests};

/// Shows the step `index` of `count`, with its sentence and the buttons of the lesson.
pub(super) fn strip(ui: &mut Ui, index: usize, count: usize, text: &str, requests: &mut Requests) {
    ui.horizontal(|ui| {
        ui.label(RichText::new(format!("{} / {count}", index + 1)).heading().strong());
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let last = index + 1 >= count;
            let next = ui.add_enabled(!last, Button::new("Next")).on_hover_text("Page Down");
            if next.accessible_name("Next step of the lesson").clicked() {
                requests.actions.push(Action::Landscape(LandscapeAction::GoToStep(index + 1)));
            }
            let back = ui.add_enabled(index > 0, Button::new("Back")).on_hover_text("Page Up");
            if back.accessible_name("Previous step of the lesson").clicked() {
                requests.actions.push(Action::Landscape(LandscapeAction::GoToStep(index - 1)));
            }
            if ui.button("Again").on_hover_text("Apply this step's settings again and restart the run").clicked() {
                requests.actions.push(Action::Landscape(LandscapeAction::GoToStep(index)));
            }
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                ui.add(Label::new(RichText::new(text).heading()).wrap());
            });
        });
    });
}
