//! The question before closing the window drops computed results.

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

/// Asks whether to drop these results, which were not exported; returns the answer, once there is one. Escape stays.
pub(super) fn ask(ctx: &Context, unsaved_results: &UnsavedResults) -> Option<QuitAnswer> {
    let mut answer = None;
    let UnsavedResults { name: [one, several], lines } = unsaved_results;
    let (heading, text, export) = match lines.len() {
        1 => (format!("Quit and drop {one}?"), "It was computed and not exported:", "Export…"),
        count => {
            let text = "They were computed and not exported:";
            (format!("Quit and drop {count} {several}?"), text, "Export the first…")
        }
    };
    let is_closed = dialog::show(ctx, "quit", &heading, |ui| {
        ui.label(text);
        for line in lines {
            ui.add(Label::new(line).truncate());
        }
        ui.add_space(6.0);
        ui.horizontal(|ui| {
            let help = "The whole result as NPZ, which opens here again";
            let buttons = [(export, QuitAnswer::Export), ("Quit", QuitAnswer::Quit), ("Cancel", QuitAnswer::Stay)];
            for (label, of) in buttons {
                let button = ui.button(label);
                let button = if of == QuitAnswer::Export { button.on_hover_text(help) } else { button };
                if button.clicked() {
                    answer = Some(of);
                }
            }
        });
    });
    answer.or(is_closed.then_some(QuitAnswer::Stay))
}
