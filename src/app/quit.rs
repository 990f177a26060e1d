//! The question before closing the window drops computed results or stops exports.

use egui::{Context, Label};

use super::dialog;
use super::tab::UnsavedResults;

/// The state of closing the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Quitting {
    #[default]
    No,
    /// The question is shown.
    Asked,
    /// The window closes, whatever is lost.
    Decided,
}

/// The answer to the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QuitAnswer {
    /// Stays and saves the first result as a file.
    Export,
    Quit,
    Stay,
}

/// The results and exports that are lost when the window closes.
pub(super) struct Losses {
    pub results: UnsavedResults,
    /// The names of exports in progress.
    pub exports: Vec<String>,
}

impl Losses {
    pub(super) fn is_empty(&self) -> bool {
        self.results.lines.is_empty() && self.exports.is_empty()
    }
}

/// Asks whether to drop results that were not exported, and to stop exports; returns the answer, once there is one.
/// Escape stays.
pub(super) fn ask(ctx: &Context, losses: &Losses) -> Option<QuitAnswer> {
    let mut answer = None;
    let Losses { results: UnsavedResults { name: [one, several], lines }, exports } = losses;
    let heading = match (lines.len(), exports.len()) {
        (0, 1) => "Quit and stop an export?".to_owned(),
        (0, count) => format!("Quit and stop {count} exports?"),
        (1, _) => format!("Quit and drop {one}?"),
        (count, _) => format!("Quit and drop {count} {several}?"),
    };
    let is_closed = dialog::show(ctx, "quit", &heading, |ui| {
        let of_results = ["It was computed and not exported:", "They were computed and not exported:"];
        let of_exports = [
            "This export is not finished, and nothing of it will be kept:",
            "These exports are not \
            finished, and nothing of them will be kept:",
        ];
        for (texts, lines) in [(of_results, lines), (of_exports, exports)] {
            if !lines.is_empty() {
                ui.label(texts[usize::from(lines.len() > 1)]);
            }
            for line in lines {
                ui.add(Label::new(line).truncate());
            }
        }
        ui.add_space(6.0);
        ui.horizontal(|ui| {
            let export = match lines.len() {
                0 => None,
                1 => Some("Export…"),
                _ => Some("Export the first…"),
            };
            let help = "The whole result as NPZ, which opens here again";
            if export.is_some_and(|export| ui.button(export).on_hover_text(help).clicked()) {
                answer = Some(QuitAnswer::Export);
            }
            for (label, of) in [("Quit", QuitAnswer::Quit), ("Cancel", QuitAnswer::Stay)] {
                if ui.button(label).clicked() {
                    answer = Some(of);
                }
            }
        });
    });
    answer.or(is_closed.then_some(QuitAnswer::Stay))
}
