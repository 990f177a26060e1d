//! The export of raw arrays, computed again in the background, row by row.

use std::path::PathBuf;
use std::time::Duration;

use egui::{Button, Context, ProgressBar, RichText, Ui};
use valleyscope_runs::atomic_file::Overwrite;

use super::diagram_store::DiagramStore;
use crate::app::live::{Action, Requests};
use crate::app::question::Question;
use crate::result::{RawExport, RawFailure, RawPlan, RawProgress};

/// The interval between updates of the progress.
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);

/// The export of raw arrays, at most one at a time.
#[derive(Default)]
pub(super) struct RawExports {
    running: Option<Running>,
    /// A plan that would replace existing files, and the name of one of these.
    replace: Option<(RawPlan, PathBuf, String)>,
}

struct Running {
    plan: RawPlan,
    folder: PathBuf,
    export: RawExport,
}

impl RawExports {
    /// Reports the end of an export. The export pauses while a diagram `is_computing`.
    pub(super) fn poll(&mut self, is_computing: bool, requests: &mut Requests) {
        let Some(running) = &self.running else { return };
        running.export.hold(is_computing);
        let Some(outcome) = running.export.outcome() else { return };
        let action = match outcome {
            Ok(()) => Action::Notify(format!("{}.", rows(running))),
            Err(RawFailure::Exists(name)) => {
                self.replace = self.running.take().map(|Running { plan, folder, .. }| (plan, folder, name));
                return;
            }
            Err(RawFailure::Cancelled) => {
                let title = "The export of raw arrays was cancelled";
                Action::Report { title: title.to_owned(), text: format!("{}.", rows(running)) }
            }
            Err(failure) => {
                let title = "Not all raw arrays were exported";
                Action::Report { title: title.to_owned(), text: format!("{failure}.\n\n{}.", rows(running)) }
            }
        };
        requests.actions.push(action);
        self.running = None;
    }

    /// Computes the runs of a diagram again and writes them into a folder.
    pub(super) fn begin(&mut self, diagrams: &DiagramStore, plan: RawPlan, folder: PathBuf, overwrite: Overwrite) {
        let export = diagrams.export_raw(plan.clone(), folder.clone(), overwrite);
        self.running = Some(Running { plan, folder, export });
    }

    /// Shows the menu's entry.
    pub(super) fn entry(&self, ui: &mut Ui, diagrams: &DiagramStore, requests: &mut Requests) {
        let present = &diagrams.present;
        let plan = RawPlan::of(present.diagram.spec(), present.precision).map_err(|refused| refused.to_string());
        let plan = match self.running {
            Some(_) => Err("Raw arrays are being exported already".to_owned()),
            None => plan,
        };
        let entry = ui.add_enabled(plan.is_ok(), Button::new("Raw arrays of all runs as NPY…"));
        match plan {
            Ok(plan) => {
                let help = "The final metrics of every run, one file a row, as the paper's authors keep them. All runs \
                            are done once more for this.";
                if entry.on_hover_text(help).clicked() {
                    requests.actions.push(Action::SaveRaw(plan));
                    ui.close();
                }
            }
            Err(reason) => {
                entry.on_disabled_hover_text(reason);
            }
        }
    }

    /// Shows the progress of the export, and the question about existing files.
    pub(super) fn bar(&mut self, ui: &mut Ui, diagrams: &DiagramStore) {
        self.ask_to_replace(ui.ctx(), diagrams);
        let Some(Running { plan, export, .. }) = &self.running else { return };
        let RawProgress { rows, pixels, all_pixels } = export.progress();
        ui.horizontal(|ui| {
            let waiting = if diagrams.is_running() { ", waiting for the diagram" } else { "" };
            let text = format!("Raw arrays: {rows} of {} rows{waiting}", plan.rows());
            if ui.button("Cancel").accessible_name("Cancel the raw arrays").clicked() {
                export.cancel();
            }
            ui.add(egui::Label::new(RichText::new(text).small().weak()).truncate());
        });
        ui.add(ProgressBar::new(pixels as f32 / all_pixels as f32).desired_height(6.0));
        ui.ctx().request_repaint_after(UPDATE_INTERVAL);
    }

    fn ask_to_replace(&mut self, ctx: &Context, diagrams: &DiagramStore) {
        let Some((_, folder, name)) = &self.replace else { return };
        let question = Question {
            id: "replace raw arrays",
            heading: "Replace the raw arrays?",
            text: &format!(
                "{} holds raw arrays already, such as {name}. Replacing them can't be undone.",
                folder.display()
            ),
            yes: "Replace",
            no: "Keep the old files",
        };
        match (question.ask(ctx), self.replace.take()) {
            (Some(true), Some((plan, folder, _))) => self.begin(diagrams, plan, folder, Overwrite::Yes),
            (None, unanswered) => self.replace = unanswered,
            _ => {}
        }
    }
}

/// Formats the complete rows and their folder.
fn rows(Running { plan, folder, export }: &Running) -> String {
    let (all, folder) = (plan.rows(), folder.display());
    match export.progress().rows {
        0 => format!("None of the {all} rows is complete in {folder}"),
        1 => format!("1 of {all} rows is complete in {folder}: {}", plan.file_name(0)),
        rows => {
            let (first, last) = (plan.file_name(0), plan.file_name(rows - 1));
            format!("{rows} of {all} rows are complete in {folder}: {first} to {last}")
        }
    }
}
