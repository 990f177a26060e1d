//! What the threads say, and what they are asked for.

use super::TrainingPanel;
use crate::app::live::{Action, Requests};
use crate::app::training::dialogs::Dialog;
use crate::app::training::install::Installation;
use crate::app::training::office::{News, WorkerState};
use crate::app::training::plotter::Wish;
use crate::app::training::summary::Summary;
use crate::app::training::watcher::Order;
use crate::machine::SetUpState;
use crate::run::RunFolder;

impl TrainingPanel {
    /// Takes what the threads have to say, also while the panel is not shown.
    pub fn tick(&mut self, is_shown: bool, requests: &mut Requests) {
        self.wake.show(is_shown);
        self.exports.poll(requests);
        if std::mem::take(&mut self.has_queue) {
            self.threads();
        }
        let Some(threads) = &self.threads else { return };
        if let Some((wish, drawn)) = threads.plotter.take()
            && wish.groups == self.wish.groups
        {
            self.drawn = drawn;
        }
        let news: Vec<News> = std::iter::from_fn(|| threads.office.next()).collect();
        for news in news {
            self.hear(news, requests);
        }
    }

    fn hear(&mut self, news: News, requests: &mut Requests) {
        match news {
            News::Runs(runs, trouble) => self.list_runs(runs, trouble),
            News::Detail(run, detail) => {
                if self.focus.as_ref() == Some(&run) {
                    self.detail = Some((run, *detail));
                }
            }
            News::Worker(state) => {
                self.worker = *state;
                self.outlook.look_anew();
            }
            News::Outlook(training, found) => self.outlook.hear(*training, found),
            News::SetUp(installation) => self.follow_set_up(*installation),
            News::InstallBegun(outcome) => {
                self.worker_card.begins = false;
                self.worker_card.refused = outcome.err();
                self.threads().office.order(Order::Look);
            }
            News::Made(run) => {
                self.threads().office.order(Order::Look);
                // What is shown stays so.
                self.selected.push(run);
                self.settle_selection();
            }
            News::Said(text) => {
                self.threads().office.order(Order::Look);
                requests.actions.push(Action::Notify(text));
            }
            News::Failed(text) => {
                self.threads().office.order(Order::Look);
                requests.actions.push(Action::Report { title: "That did not work", text });
            }
            News::NotTrashed { run, reason } => self.dialog = Some(Dialog::RemoveForGood { run, reason }),
            News::Removed(run) => {
                requests.actions.push(Action::Notify(format!("{} was deleted.", run.name())));
                self.selected.retain(|selected| *selected != run);
                self.settle_selection();
                self.threads().office.order(Order::Look);
            }
        }
    }

    /// A set-up that has ended well has brought a worker, which is looked for.
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
        self.threads().office.shake_hands();
    }

    fn list_runs(&mut self, runs: Vec<Summary>, trouble: Option<String>) {
        let is_there = |run: &RunFolder| runs.iter().any(|known| known.run == *run);
        let before = self.selected.clone();
        let known = |run: &RunFolder| self.runs.iter().any(|known| known.run == *run);
        // One that was there is gone; one that never was is still to be found.
        self.selected.retain(|run| is_there(run) || !known(run));
        let recalled = std::mem::take(&mut self.recalled).into_iter();
        let found =
            recalled.filter_map(|path| runs.iter().find(|run| run.run.path() == path).map(|run| run.run.clone()));
        // They were chosen before what is selected by now.
        self.selected.splice(..0, found.filter(|run| !before.contains(run)));
        (self.runs, self.trouble) = (runs, trouble);
        self.settle_selection();
    }

    pub(super) fn select_only(&mut self, run: RunFolder) {
        self.selected = vec![run];
        self.recalled.clear();
        self.charts.look_anew();
        self.settle_selection();
    }

    pub(super) fn toggle(&mut self, run: RunFolder) {
        match self.selected.iter().position(|selected| *selected == run) {
            Some(index) => drop(self.selected.remove(index)),
            None => self.selected.push(run),
        }
        self.settle_selection();
    }

    /// The run that is shown in words.
    pub(super) fn focus(&self) -> Option<&Summary> {
        let last = self.selected.last()?;
        self.runs.iter().find(|run| run.run == *last)
    }

    /// Asks the threads for what is shown now.
    pub(super) fn settle_selection(&mut self) {
        let focus = self.selected.last().cloned();
        if focus != self.focus {
            self.detail = None;
            self.focus.clone_from(&focus);
            self.threads().office.order(Order::Focus(focus));
        }
        let shown = self.selected.iter().filter_map(|run| self.runs.iter().find(|known| known.run == *run));
        self.pens.tell_apart(&shown.collect::<Vec<_>>());
        self.settle_wish();
    }

    pub(super) fn settle_wish(&mut self) {
        let mut groups: Vec<(Option<&String>, Vec<RunFolder>)> = Vec::new();
        for run in &self.selected {
            let summary = self.runs.iter().find(|known| known.run == *run);
            let config = summary.and_then(|summary| summary.config.as_ref()).filter(|_| self.charts.choices.grouped);
            match groups.iter_mut().find(|(other, _)| config.is_some() && *other == config) {
                Some((_, group)) => group.push(run.clone()),
                None => groups.push((config, vec![run.clone()])),
            }
        }
        let groups = groups.into_iter().map(|(_, group)| group).collect();
        let wish = Wish { groups, smoothing: self.charts.choices.smoothing };
        if wish != self.wish {
            self.drawn.retain(|drawn| wish.groups.contains(&drawn.runs));
            self.wish = wish.clone();
            self.threads().plotter.ask(wish);
        }
    }
}
