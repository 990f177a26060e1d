//! The status of a worker that is not ready, and its installation.

use egui::{
    Button, CollapsingHeader, Context, Label, ProgressBar, RichText, ScrollArea, Spinner, TextEdit, TextStyle, Ui,
};
use valleyscope_machine::{SetUpState, SetUpStatus};
use valleyscope_runs::SETUP;

use super::install::Installation;
use super::jobs::TrainingPaths;
use super::update::WorkerState;
use crate::app::live::{Action, Requests};
use crate::app::question::Question;
use crate::app::theme;

/// An action on the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkerAction {
    LookAgain,
    Cancel,
}

/// The worker's card in the panel.
#[derive(Default)]
pub(super) struct WorkerCard {
    pub installation: Option<Installation>,
    /// True while the command that installs it is starting.
    pub begins: bool,
    /// The reason why the installation did not begin.
    pub refused: Option<String>,
    /// True while the user is asked to confirm the installation.
    asking: bool,
}

impl WorkerCard {
    /// Shows the state of the worker.
    pub(super) fn ui(
        &mut self,
        ui: &mut Ui,
        worker: &WorkerState,
        places: &TrainingPaths,
        requests: &mut Requests,
    ) -> Option<WorkerAction> {
        if let Some(installation) = self.installation.as_ref().filter(|installation| installation.is_at_work()) {
            return at_work(ui, installation, requests);
        }
        let can_be_set_up = places.can_be_set_up();
        let (heading, reason) = match worker {
            WorkerState::Ready(handshake) => {
                if let Some(problem) = &handshake.problem {
                    let color = ui.visuals().warn_fg_color;
                    ui.add(Label::new(RichText::new(problem).small().color(color)).wrap());
                }
                return None;
            }
            WorkerState::Asked => {
                ui.horizontal(|ui| {
                    ui.add(Spinner::new().size(14.0));
                    ui.label(RichText::new("Asking the training worker what it can use…").small().weak());
                });
                return None;
            }
            WorkerState::Missing(_) if can_be_set_up => ("The training worker is not installed", None),
            WorkerState::Missing(reason) => ("The training worker is not installed", Some(reason)),
            WorkerState::Unusable(reason) => ("The training worker can't be used", Some(reason)),
        };
        let mut wanted = None;
        let style = ui.style().clone();
        theme::card(&style).show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.label(RichText::new(heading).strong());
            self.last_outcome(ui);
            if let Some(reason) = reason {
                ui.add(Label::new(RichText::new(reason).small()).selectable(true).wrap());
            }
            let help = "Training needs a second program, the worker, and PyTorch's libraries. Existing runs can be \
                        viewed without them.";
            ui.add(Label::new(RichText::new(help).small().weak()).wrap());
            if can_be_set_up && places.install.is_some() {
                self.button(ui);
            }
            ui.add(Label::new(RichText::new(manual_instructions(places)).small().weak()).wrap());
            wanted = command(ui, requests);
            if let Some(installation) = &self.installation {
                log(ui, installation, requests);
            }
        });
        wanted
    }

    fn button(&mut self, ui: &mut Ui) {
        ui.horizontal(|ui| {
            let text = RichText::new("Install…").strong();
            let install = ui.add_enabled(!self.begins, Button::new(text));
            self.asking |= install.accessible_name("Install the training worker").clicked();
            if self.begins {
                ui.label(RichText::new("Starting the set-up…").small().weak());
            }
        });
    }

    /// Shows the outcome of the last set-up, if it did not provide a worker.
    fn last_outcome(&self, ui: &mut Ui) {
        let visuals = ui.visuals();
        let (error, weak) = (visuals.error_fg_color, visuals.warn_fg_color);
        let mut said = Vec::new();
        if let Some(SetUpStatus { state, message, .. }) = self.installation.as_ref().and_then(|it| it.status.as_ref()) {
            match state {
                SetUpState::Failed => said.push((error, format!("The set-up failed: {message}"))),
                SetUpState::Interrupted => {
                    said.push((error, format!("The set-up was interrupted. Its last message: {message}")));
                }
                SetUpState::Cancelled | SetUpState::Declined => said.push((weak, message.clone())),
                SetUpState::Working | SetUpState::Done => {}
            }
        }
        said.extend(self.refused.clone().map(|refused| (error, refused)));
        ScrollArea::vertical().max_height(110.0).id_salt("end of the set-up").show(ui, |ui| {
            for (color, text) in said {
                ui.add(Label::new(RichText::new(text).small().color(color)).selectable(true).wrap());
            }
        });
    }

    /// Asks before a large download; returns true when the set-up is to start.
    pub(super) fn confirms_install(&mut self, ctx: &Context, places: &TrainingPaths) -> bool {
        let (true, Some(installation), Some(folder)) = (self.asking, &self.installation, &places.worker_folder) else {
            return false;
        };
        let bytes = installation.bytes;
        let text = format!(
            "The set-up looks for PyTorch 2.11 on this machine. Where it finds none that fits, it downloads one: about \
             {:.1} GB, which take about {:.1} GB in\n{}\n\nThen it builds the worker, which takes some minutes. All of \
             that is done in the background, can be cancelled here, and goes on when the window is closed.",
            bytes.download as f64 / 1e9,
            bytes.disk as f64 / 1e9,
            folder.path().display()
        );
        let question = Question {
            id: "install the worker",
            heading: "Install the training worker?",
            text: &text,
            yes: "Install",
            no: "Not now",
        };
        let answer = question.ask(ctx);
        self.asking = answer.is_none();
        answer == Some(true)
    }
}

/// Explains why and where the command is typed.
fn manual_instructions(places: &TrainingPaths) -> String {
    match &places.install {
        _ if !places.can_be_set_up() => {
            "Another worker is in use. This command installs one in Valleyscope's source folder:".to_owned()
        }
        Some(install) => format!("Or run this command in {}:", install.folder.display()),
        None => "This program does not find its source folder, so it cannot install the worker itself. Run this \
                 command in a copy of Valleyscope's source folder; it first shows how much it will download:"
            .to_owned(),
    }
}

fn command(ui: &mut Ui, requests: &mut Requests) -> Option<WorkerAction> {
    let mut again = false;
    ui.horizontal_wrapped(|ui| {
        ui.add(Label::new(RichText::new(SETUP).monospace().strong()).selectable(true));
        if ui.add(Button::new("Copy")).accessible_name("Copy the command that installs the worker").clicked() {
            ui.ctx().copy_text(SETUP.to_owned());
            requests.actions.push(Action::Notify(format!("Copied `{SETUP}`.")));
        }
        again = ui.add(Button::new("Look again")).accessible_name("Look for the worker again").clicked();
    });
    again.then_some(WorkerAction::LookAgain)
}

fn at_work(ui: &mut Ui, installation: &Installation, requests: &mut Requests) -> Option<WorkerAction> {
    let status = installation.status.as_ref()?;
    let style = ui.style().clone();
    let mut cancelled = false;
    theme::card(&style).show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.label(RichText::new("The training worker is being set up").strong());
        let (step, steps) = status.step;
        let text = format!("Step {step} of {steps}: {}", status.message);
        ui.add(Label::new(RichText::new(text).small()).wrap());
        if let Some(percent) = status.percent {
            let bar = ProgressBar::new(f32::from(percent) / 100.0).desired_height(14.0);
            let bar = bar.text(RichText::new(format!("{percent} %")).small());
            ui.add(bar).accessible_name("Progress of the step");
        }
        ui.horizontal_wrapped(|ui| {
            cancelled = ui.add(Button::new("Cancel")).accessible_name("Cancel the set-up of the worker").clicked();
            ui.label(RichText::new("It continues when the window is closed.").small().weak());
        });
        log(ui, installation, requests);
    });
    cancelled.then_some(WorkerAction::Cancel)
}

/// Shows the end of the set-up's log.
fn log(ui: &mut Ui, installation: &Installation, requests: &mut Requests) {
    if installation.log.is_empty() {
        return;
    }
    CollapsingHeader::new(RichText::new("Log").small()).id_salt("log of the set-up").show(ui, |ui| {
        ScrollArea::both().max_height(130.0).stick_to_bottom(true).id_salt("log of the set-up").show(ui, |ui| {
            let mut text = installation.log.as_str();
            let field = TextEdit::multiline(&mut text).font(TextStyle::Small).desired_width(f32::INFINITY);
            ui.add(field.frame(egui::Frame::NONE)).accessible_name("Log of the set-up");
        });
        ui.horizontal_wrapped(|ui| {
            if ui.add(Button::new("Copy").small()).accessible_name("Copy the log of the set-up").clicked() {
                ui.ctx().copy_text(installation.log.clone());
                requests.actions.push(Action::Notify("Copied the end of the log.".to_owned()));
            }
            let path = RichText::new(installation.log_file.display().to_string()).small().weak();
            ui.add(Label::new(path).selectable(true).wrap());
        });
    });
}
