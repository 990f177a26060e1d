//! The list of the branches below the timeline: their names, and buttons to hide, continue and remove them.

use egui::{Color32, ProgressBar, RichText, Sense, Stroke, TextWrapMode, Ui, vec2};

use super::document::Document;
use super::icons::{Icon, icon_button};
use super::live::{Live, Requests};
use crate::player::PlayerCommand;

/// The side of the buttons, in points.
const SIDE: f32 = 20.0;
/// The width of a sample of a pale line, in points.
const SAMPLE: f32 = 16.0;
/// The width of the progress of a session that is being computed, in points.
const PROGRESS: f32 = 60.0;

/// Shows an entry for each branch of the session; nothing without any.
pub(super) fn show(ui: &mut Ui, document: &Document, live: &mut Live, requests: &mut Requests) {
    if live.branches.of(live.chosen).next().is_none() {
        return;
    }
    let mut toggled = None;
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(3.0, 2.0);
        for branch in live.branches.of(live.chosen) {
            let label = branch.label(&live.marks, &document.spec);
            let is_hidden = live.branches.is_hidden(branch.id);
            let most = ui.max_rect().width();
            // An entry stays together: its width is that of the text with the sample and three buttons.
            let text = RichText::new(&label).small();
            let text = if is_hidden { text.weak() } else { text };
            let galley = egui::WidgetText::from(text).into_galley(
                ui,
                Some(TextWrapMode::Truncate),
                (most - 4.0 * SIDE - SAMPLE - PROGRESS).max(60.0),
                egui::TextStyle::Small,
            );
            let progress = if branch.progress.is_some() { PROGRESS + 6.0 } else { 0.0 };
            let width = galley.size().x + SAMPLE + 3.0 * SIDE + progress + 30.0;
            ui.allocate_ui_with_layout(vec2(width, SIDE), egui::Layout::left_to_right(egui::Align::Center), |ui| {
                sample(ui, is_hidden);
                ui.label(galley).on_hover_text(&label);
                if let Some(progress) = branch.progress {
                    let bar = ProgressBar::new(progress).desired_width(PROGRESS).desired_height(8.0);
                    ui.add(bar).accessible_name(format!("Computing: {label}"));
                }
                let (icon, verb) = if is_hidden { (Icon::EyeClosed, "Show") } else { (Icon::Eye, "Hide") };
                let hint = format!("{verb} this pale run in the landscape and in the plots");
                if icon_button(ui, icon, SIDE, &format!("{verb}: {label}"), &hint).clicked() {
                    toggled = Some(branch.id);
                }
                let hint = "Go on with this pale run. The present run stays as an old future.";
                if icon_button(ui, Icon::Back, SIDE, &format!("Go back to: {label}"), hint).clicked() {
                    requests.commands.push(PlayerCommand::GoBackTo(branch.id));
                }
                if icon_button(ui, Icon::Close, SIDE, &format!("Remove: {label}"), "Remove this pale run").clicked() {
                    requests.commands.push(PlayerCommand::Remove(branch.id));
                }
                ui.add_space(12.0);
            });
        }
    });
    if let Some(id) = toggled {
        live.branches.toggle(id);
    }
}

/// Draws a pale line, as the branch has in the plots.
fn sample(ui: &mut Ui, is_hidden: bool) {
    let (area, _) = ui.allocate_exact_size(vec2(SAMPLE, SIDE), Sense::hover());
    let color = if is_hidden { Color32::TRANSPARENT } else { pale(ui) };
    ui.painter().hline(area.shrink(2.0).x_range(), area.center().y, Stroke::new(2.0, color));
}

/// Returns the colour of a branch where it stands for all its optimizers.
pub(super) fn pale(ui: &Ui) -> Color32 {
    ui.visuals().text_color().gamma_multiply(super::branches::PALE)
}
