//! What is said of the worker where it is not ready.

use egui::{Button, Label, RichText, Spinner, Ui};

use super::office::WorkerState;
use crate::app::live::{Action, Requests};
use crate::app::theme;

/// The one command that builds and installs the worker.
pub const SETUP: &str = "cargo xtask setup";

/// Shows how it stands with the worker; true when it is to be looked for again.
pub fn show(ui: &mut Ui, worker: &WorkerState, requests: &mut Requests) -> bool {
    let (heading, reason) = match worker {
        WorkerState::Ready(handshake) => {
            if let Some(problem) = &handshake.problem {
                let color = ui.visuals().warn_fg_color;
                ui.add(Label::new(RichText::new(problem).small().color(color)).wrap());
            }
            return false;
        }
        WorkerState::Asked => {
            ui.horizontal(|ui| {
                ui.add(Spinner::new().size(14.0));
                ui.label(RichText::new("Asking the training worker what it can use…").small().weak());
            });
            return false;
        }
        WorkerState::Missing(reason) => ("The training worker is not installed", reason),
        WorkerState::Unusable(reason) => ("The training worker can't be used", reason),
    };
    let mut again = false;
    let style = ui.style().clone();
    theme::card(&style).show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.label(RichText::new(heading).strong());
        ui.add(Label::new(RichText::new(reason).small()).selectable(true).wrap());
        let help = "Training needs a second program, the worker, and PyTorch's libraries. This command, run in \
                    Valleyscope's source folder, installs both, and says first how much it will download. Runs that are \
                    here already can be looked at without it.";
        ui.add(Label::new(RichText::new(help).small().weak()).wrap());
        ui.horizontal_wrapped(|ui| {
            ui.add(Label::new(RichText::new(SETUP).monospace().strong()).selectable(true));
            if ui.add(Button::new("Copy")).accessible_name("Copy the command that installs the worker").clicked() {
                ui.ctx().copy_text(SETUP.to_owned());
                requests.actions.push(Action::Notify(format!("Copied `{SETUP}`.")));
            }
            again = ui.add(Button::new("Look again")).accessible_name("Look for the worker again").clicked();
        });
    });
    again
}
