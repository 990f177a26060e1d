//! The range of steps that is played over and over.

use egui::{Rect, Response, Sense, Stroke, Ui, WidgetInfo};
use valleyscope_experiments::view::ticks::grouped;

use super::{MARKS, Rail, TimelineBar};
use crate::app::live::Requests;
use crate::player::{PlayerCommand, Snapshot};

/// Formats a range of steps, as in "Loop over steps 100 to 200".
pub(super) fn words(ends: [u64; 2]) -> String {
    let [first, last] = sorted(ends);
    format!("Loop over steps {} to {}", grouped(first), grouped(last))
}

/// Requests to play these steps over and over.
pub(super) fn play(ends: [u64; 2], requests: &mut Requests) {
    let ends = sorted(ends);
    let commands = [PlayerCommand::Loop(Some(ends)), PlayerCommand::Seek(ends[0]), PlayerCommand::Play];
    requests.commands.extend(commands.into_iter().filter(|_| ends[0] < ends[1]));
}

fn sorted([one, other]: [u64; 2]) -> [u64; 2] {
    [one.min(other), one.max(other)]
}

impl TimelineBar {
    /// Chooses the range of the loop by a drag with Shift; returns whether that is going on.
    pub(super) fn choose_loop(&mut self, ui: &Ui, slider: &Response, rail: Rail, requests: &mut Requests) -> bool {
        let pointer = slider.interact_pointer_pos().map(|at| rail.step(at.x));
        if slider.drag_started() && ui.input(|input| input.modifiers.shift) {
            // A drag is noticed after some points.
            let begin = ui.input(|input| input.pointer.press_origin()).map(|at| rail.step(at.x)).or(pointer);
            self.chosen = begin.map(|step| [step; 2]);
        }
        let Some(chosen) = &mut self.chosen else { return false };
        chosen[1] = pointer.unwrap_or(chosen[1]);
        if !slider.dragged() {
            play(*chosen, requests);
            self.chosen = None;
        }
        true
    }

    /// Draws the range of the loop. A click above the slider ends it.
    pub(super) fn loop_band(&self, ui: &mut Ui, rail: Rail, snapshot: &Snapshot, requests: &mut Requests) {
        let Some([first, last]) = self.chosen.map(sorted).or(snapshot.looped) else { return };
        let [from, to] = [first, last].map(|step| rail.x(step.min(rail.end)));
        let strip = rail.slider.top() - MARKS + 1.0..=rail.slider.top() + 1.0;
        let response = ui.interact(
            Rect::from_x_y_ranges(from..=to, strip),
            ui.scope_id().with("loop"),
            Sense::CLICK | Sense::HOVER,
        );
        let text = words([first, last]);
        response.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, format!("{text}: end")));
        let color = ui.visuals().hyperlink_color;
        let band = Rect::from_x_y_ranges(from..=to, response.rect.top()..=rail.slider.bottom());
        ui.painter().rect_filled(band, 2.0, color.gamma_multiply(if response.hovered() { 0.4 } else { 0.25 }));
        for x in [from, to] {
            ui.painter().vline(x, band.y_range(), Stroke::new(1.5, color));
        }
        if response.clicked() {
            requests.commands.push(PlayerCommand::Loop(None));
        }
        response.on_hover_text(format!("{text}. Click or Esc to end it."));
    }
}
