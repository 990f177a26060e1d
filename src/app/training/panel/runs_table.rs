//! The table of runs in the panel, and what it asks for.

use egui::Ui;
use valleyscope_runs::{NotesEdit, RunCommand, RunFolder};

use super::TrainingPanel;
use super::view::silent_worker_warning;
use crate::app::live::{Action, Requests};
use crate::app::training::dialogs::Dialog;
use crate::app::training::export::export_table;
use crate::app::training::list::ListInput;
use crate::app::training::summary::Summary;
use crate::app::training::table::TableAction;
use crate::app::training::watcher::WatcherCommand;

impl TrainingPanel {
    /// Shows the table of runs.
    pub(super) fn runs_table(&mut self, ui: &mut Ui, requests: &mut Requests) {
        let input = ListInput {
            runs: &self.runs,
            columns: &self.columns,
            generation: self.generation,
            selected: &self.selected,
            pens: &self.pens,
        };
        let Some(action) = self.table.ui(ui, self.list.search_mut(), &input) else { return };
        match action {
            TableAction::Show(runs, is_shown) => self.show_together(runs, is_shown),
            TableAction::Open(run) => {
                self.table.choices.is_open = false;
                self.select_only(vec![run]);
            }
            TableAction::Color(run, color) => {
                self.pens.choose(&run, color);
                self.sync_selection();
            }
            TableAction::ShowCurves => self.table.choices.is_open = false,
            TableAction::Stop(runs) => {
                self.threads().jobs.send(WatcherCommand::Send(runs, RunCommand::Stop));
            }
            TableAction::Compare(runs) => self.show_differences(ui.ctx(), runs),
            TableAction::Delete(runs) => self.ask_to_delete(&runs),
            TableAction::Tag(runs, tag, is_added) => self.tag(&runs, &tag, is_added),
            TableAction::ExportPoints(runs) => self.exports.begin(ui.ctx(), move || export_table(&runs)),
            TableAction::ExportTable(bytes) => {
                let suggested_name = "table-of-runs.csv".to_owned();
                requests.actions.push(Action::SaveBytes { bytes, suggested_name });
            }
            TableAction::Import => requests.actions.push(Action::ChooseRunsFolder),
        }
    }

    /// Shows the curves of runs with those of others, or hides them.
    fn show_together(&mut self, runs: Vec<RunFolder>, is_shown: bool) {
        self.selected.retain(|selected| !runs.contains(selected));
        if is_shown {
            self.selected.extend(runs);
        }
        self.sync_selection();
    }

    /// Asks once whether to delete runs. Those that are trained stay.
    fn ask_to_delete(&mut self, runs: &[RunFolder]) {
        if runs.is_empty() {
            return;
        }
        let known: Vec<&Summary> = runs.iter().filter_map(|run| self.summary(run)).collect();
        let (deleted, kept): (Vec<&Summary>, Vec<&Summary>) =
            known.into_iter().partition(|run| !run.is_open() || run.status.is_lost());
        let name = |runs: &[&Summary]| runs.iter().map(|run| run.in_full()).collect::<Vec<_>>().join("\n");
        let stays =
            (!kept.is_empty()).then(|| format!("Those that are trained stay; stop them first:\n{}", name(&kept)));
        let lost = deleted.iter().find_map(|run| silent_worker_warning(run));
        let warnings = stays.into_iter().chain(lost).collect();
        let names = name(&deleted);
        let runs = deleted.iter().map(|run| run.run.clone()).collect();
        self.dialog = Some(Dialog::DeleteSeveral { runs, names, warnings });
    }

    /// Adds a tag to runs, or removes it.
    fn tag(&mut self, runs: &[RunFolder], tag: &str, is_added: bool) {
        let edit = if is_added { NotesEdit::Tag(tag.to_owned()) } else { NotesEdit::Untag(tag.to_owned()) };
        for run in runs {
            self.threads().jobs.send(WatcherCommand::Edit(run.clone(), vec![edit.clone()]));
        }
        self.threads().jobs.send(WatcherCommand::Refresh);
    }
}
