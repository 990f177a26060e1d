//! Updates from the background threads, and requests to them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use valleyscope_machine::SetUpState;
use valleyscope_runs::RunFolder;

use super::TrainingPanel;
use crate::app::live::{Action, Requests};
use crate::app::training::dialogs::Dialog;
use crate::app::training::install::Installation;
use crate::app::training::plotter::CurveRequest;
use crate::app::training::summary::Summary;
use crate::app::training::update::{ListedRuns, Update, WorkerState};
use crate::app::training::watcher::WatcherCommand;

impl TrainingPanel {
    /// Takes the updates of the threads, even while the panel is not shown.
    pub(super) fn take_updates(&mut self, is_shown: bool, requests: &mut Requests) {
        self.wake.show(is_shown);
        self.exports.poll(requests);
        if std::mem::take(&mut self.has_queue) {
            self.threads();
        }
        let Some(threads) = &self.threads else { return };
        if let Some((curve_request, drawn)) = threads.plotter.take()
            && curve_request.groups == self.curve_request.groups
        {
            self.drawn = drawn;
        }
        let updates: Vec<Update> = std::iter::from_fn(|| threads.jobs.next()).collect();
        for update in updates {
            self.handle_update(update, requests);
        }
    }

    fn handle_update(&mut self, update: Update, requests: &mut Requests) {
        match update {
            Update::Runs(listed) => self.list_runs(listed),
            Update::Detail(run, detail) => {
                if self.focus.as_ref() == Some(&run) {
                    self.detail = Some((run, *detail));
                }
            }
            Update::Text(run, outcome) => self.shown.texts.set(&run, outcome),
            Update::Worker(state) => {
                self.worker = *state;
                self.outlook.check_again();
            }
            Update::Outlook(training, found) => self.outlook.set(*training, found),
            Update::SetUp(installation) => self.follow_set_up(*installation),
            Update::InstallBegun(outcome) => {
                self.worker_card.begins = false;
                self.worker_card.refused = outcome.err();
                self.threads().jobs.send(WatcherCommand::Refresh);
            }
            Update::Made(run, fork) => {
                // The next start begins at step 0 again.
                if let Some(fork) = fork {
                    self.editor.fork_begun(&fork);
                    self.forks = false;
                }
                // An earlier search would hide the new run.
                self.list.search_mut().clear();
                self.threads().jobs.send(WatcherCommand::Refresh);
                // Shown runs stay shown.
                self.selected.push(run);
                self.sync_selection();
            }
            Update::Notice(text) => {
                self.threads().jobs.send(WatcherCommand::Refresh);
                requests.actions.push(Action::Notify(text));
            }
            Update::Failed(text) => {
                self.forks = false;
                self.threads().jobs.send(WatcherCommand::Refresh);
                requests.actions.push(Action::Report { title: "The operation failed".to_owned(), text });
            }
            Update::NotTrashed { runs, reason } => self.dialog = Some(Dialog::RemoveForGood { runs, reason }),
            Update::Removed(runs) => {
                let text = match &runs[..] {
                    [run] => format!("{} was deleted.", run.name()),
                    runs => format!("{} runs were deleted.", runs.len()),
                };
                requests.actions.push(Action::Notify(text));
                self.selected.retain(|selected| !runs.contains(selected));
                self.sync_selection();
                self.threads().jobs.send(WatcherCommand::Refresh);
            }
            Update::Imported { made, report } => {
                self.threads().jobs.send(WatcherCommand::Refresh);
                let title = match made {
                    0 => "No run was imported".to_owned(),
                    1 => "1 run was imported".to_owned(),
                    made => format!("{made} runs were imported"),
                };
                requests.actions.push(Action::Report { title, text: report });
            }
        }
    }

    /// Looks for the worker after a successful set-up.
    fn follow_set_up(&mut self, installation: Installation) {
        let before = self.worker_card.installation.replace(installation);
        let now = self.worker_card.installation.as_ref();
        let is_new = before.is_some_and(|before| Some(&before.status) != now.map(|now| &now.status));
        if is_new && now.and_then(Installation::state) == Some(SetUpState::Done) {
            self.worker_card.refused = None;
            self.look_for_worker();
        }
    }

    pub(super) fn look_for_worker(&mut self) {
        self.worker = WorkerState::Asked;
        self.threads().jobs.find_worker();
    }

    fn list_runs(&mut self, ListedRuns { runs, columns, trouble, aliases }: ListedRuns) {
        let places = places(&runs);
        // Runs that are gone are recalled when they are back, such as those of a folder that is not mounted. Runs that
        // were never listed are still to be found.
        let is_gone = |run: &RunFolder| !places.contains_key(run.path()) && self.run_places.contains_key(run.path());
        let (gone, selected): (Vec<RunFolder>, Vec<RunFolder>) =
            std::mem::take(&mut self.selected).into_iter().partition(is_gone);
        self.recalled.extend(gone.iter().map(|run| run.path().to_owned()));
        let (found, missing): (Vec<PathBuf>, Vec<PathBuf>) =
            std::mem::take(&mut self.recalled).into_iter().partition(|path| places.contains_key(path));
        let found = found.iter().map(|path| runs[places[path]].run.clone());
        // They were chosen before the currently selected ones.
        let found = found.filter(|run| !selected.contains(run));
        self.selected = found.chain(selected.iter().cloned()).collect();
        self.recalled = missing;
        (self.runs, self.columns, self.trouble, self.run_places) = (runs, columns, trouble, places);
        self.aliases = aliases;
        self.generation += 1;
        self.sync_selection();
    }

    /// Shows these runs, and no others.
    pub(super) fn select_only(&mut self, runs: Vec<RunFolder>) {
        self.selected = runs;
        self.recalled.clear();
        self.charts.reset_view();
        self.sync_selection();
    }

    pub(super) fn toggle(&mut self, run: RunFolder) {
        match self.selected.iter().position(|selected| *selected == run) {
            Some(index) => drop(self.selected.remove(index)),
            None => self.selected.push(run),
        }
        self.sync_selection();
    }

    /// Returns the run that is read in detail.
    pub(super) fn focus(&self) -> Option<&Summary> {
        let last = self.selected.last()?;
        self.summary(last)
    }

    /// Requests the shown runs from the threads.
    pub(super) fn sync_selection(&mut self) {
        let focus = self.selected.last().cloned();
        if focus != self.focus {
            self.detail = None;
            self.focus.clone_from(&focus);
            self.threads().jobs.send(WatcherCommand::Focus(focus));
        }
        let shown = self.selected.iter().filter_map(|run| self.runs.get(*self.run_places.get(run.path())?));
        self.pens.assign_distinct(&shown.map(|run| &**run).collect::<Vec<_>>());
        self.sync_curves();
    }

    /// Returns the selected runs. Where the search hides curves, they are those that match it, and those without a
    /// summary yet.
    pub(super) fn plotted(&self) -> Vec<RunFolder> {
        if !self.charts.choices.only_found {
            return self.selected.clone();
        }
        let search = self.list.search();
        let is_found = |run: &&RunFolder| self.summary(run).is_none_or(|summary| search.finds(summary));
        self.selected.iter().filter(is_found).cloned().collect()
    }

    pub(super) fn sync_curves(&mut self) {
        let mut groups: Vec<Vec<RunFolder>> = Vec::new();
        let mut known: HashMap<&String, usize> = HashMap::new();
        let plotted = self.plotted();
        for run in &plotted {
            let summary = self.summary(run);
            let config = summary.and_then(|summary| summary.config.as_ref()).filter(|_| self.charts.choices.grouped);
            let place = config.map_or(groups.len(), |config| *known.entry(config).or_insert(groups.len()));
            if place == groups.len() {
                groups.push(Vec::new());
            }
            groups[place].push(run.clone());
        }
        let curve_request =
            CurveRequest { groups, smoothing: self.charts.choices.smoothing, aliases: Arc::clone(&self.aliases) };
        if curve_request != self.curve_request {
            self.drawn.retain(|drawn| curve_request.groups.contains(&drawn.runs));
            self.curve_request = curve_request.clone();
            self.threads().plotter.ask(curve_request);
        }
    }
}

/// Returns the places of runs in their list, by their folders.
fn places(runs: &[Arc<Summary>]) -> HashMap<PathBuf, usize> {
    runs.iter().enumerate().map(|(place, run)| (run.run.path().to_owned(), place)).collect()
}
