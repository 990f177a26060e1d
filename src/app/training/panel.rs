//! The panel as a whole.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use egui::{Button, CentralPanel, Context, Label, Panel, Rect, RichText, ScrollArea, Ui};

use super::charts::{Asked, Charts, Named};
use super::colors::Colors;
use super::detail::{self, Deed, Tab};
use super::dialogs::{Decision, Dialog};
use super::draft::{Draft, TrainingMemory, Workload};
use super::export::Exports;
use super::list::{Chosen, List};
use super::office::{News, Office, WorkerState};
use super::plotter::{Drawn, Plotter, Wish};
use super::watcher::{Detail, Order, Summary};
use super::{scan_view, setup, worker};
use crate::app::history::History;
use crate::app::live::{Action, Requests};
use crate::app::paper::Paper;
use crate::app::shelf::Shelf;
use crate::app::shell::Layout;
use crate::export::Overwrite;
use crate::preset::Preset;
use crate::run::RunFolder;

/// The threads of the room; they begin when it is first looked at.
struct Threads {
    office: Office,
    plotter: Plotter,
}

/// The state of the real workloads' part of the window.
pub struct TrainingPanel {
    context: Context,
    folder: Option<PathBuf>,
    worker_path: Option<PathBuf>,
    threads: Option<Threads>,
    worker: WorkerState,
    draft: Draft,
    history: History<Preset>,
    runs: Vec<Summary>,
    /// Why the folder of runs cannot be read, if it cannot.
    trouble: Option<String>,
    list: List,
    colors: Colors,
    /// The runs that are shown, the newest choice last.
    selected: Vec<RunFolder>,
    /// Of the last session: selected as soon as they are found.
    recalled: Vec<PathBuf>,
    /// The run that is read in detail.
    focus: Option<RunFolder>,
    detail: Option<(RunFolder, Detail)>,
    tab: Tab,
    drawn: Vec<Drawn>,
    wish: Wish,
    charts: Charts,
    exports: Exports,
    /// How figures of scans are exported.
    paper: Paper,
    dialog: Option<Dialog>,
    /// Where the plots were drawn last.
    area: Option<Rect>,
}

impl TrainingPanel {
    /// `folder` is where runs are kept, and `worker` is named in place of the one that is found.
    pub fn new(context: Context, folder: Option<PathBuf>, worker: Option<PathBuf>) -> TrainingPanel {
        let (preset, name) = Workload::Mnist.first();
        TrainingPanel {
            context,
            folder,
            worker_path: worker,
            threads: None,
            worker: WorkerState::Asked,
            draft: Draft::new(preset, name, None),
            history: History::default(),
            runs: Vec::new(),
            trouble: None,
            list: List::default(),
            colors: Colors::default(),
            selected: Vec::new(),
            recalled: Vec::new(),
            focus: None,
            detail: None,
            tab: Tab::default(),
            drawn: Vec::new(),
            wish: Wish::default(),
            charts: Charts::default(),
            exports: Exports::default(),
            paper: Paper::default(),
            dialog: None,
            area: None,
        }
    }

    /// Puts a preset under the controls. Undo brings the one before back.
    pub fn open(&mut self, preset: Preset, file: Option<PathBuf>) {
        self.history.mark(&self.draft.preset);
        self.draft = Draft::opened(preset, file);
        self.history.mark(&self.draft.preset);
    }

    /// Shows a run, wherever its folder is.
    pub fn open_run(&mut self, run: RunFolder) {
        self.threads().office.order(Order::Include(run.clone()));
        self.select_only(run);
    }

    /// What was there in the last session.
    pub fn recall(&mut self, memory: TrainingMemory) -> Result<(), String> {
        let TrainingMemory { preset, file, selected, choices } = memory;
        (self.recalled, self.charts.choices) = (selected, choices);
        let preset = Preset::parse(&preset, "the training of the last session").map_err(|error| error.to_string())?;
        if Workload::of(&preset).is_none() {
            return Err("The training of the last session is none.".to_owned());
        }
        self.draft = Draft::opened(preset, file);
        self.history = History::default();
        Ok(())
    }

    /// What the next session finds again.
    pub fn memory(&self) -> TrainingMemory {
        let preset = if self.draft.fault().is_none() { &self.draft.preset } else { &self.draft.clean };
        let selected = self.selected.iter().map(|run| run.path().to_owned());
        TrainingMemory {
            preset: preset.to_ron(),
            file: self.draft.file.as_ref().map(|(file, _)| file.clone()),
            selected: selected.chain(self.recalled.clone()).collect(),
            choices: self.charts.choices.clone(),
        }
    }

    pub fn preset(&self) -> &Preset {
        &self.draft.preset
    }

    /// The preset's file, and whether it may be replaced without a question.
    pub fn file(&self) -> Option<(&Path, Overwrite)> {
        let (file, written_here) = self.draft.file.as_ref()?;
        Some((file, if *written_here { Overwrite::Yes } else { Overwrite::No }))
    }

    /// Takes note that the preset was written to a file.
    pub fn saved(&mut self, preset: Preset, path: &Path) {
        self.draft = Draft::opened(preset, Some(path.to_owned()));
        self.draft.file = Some((path.to_owned(), true));
    }

    pub fn is_dirty(&self) -> bool {
        self.draft.preset != self.draft.clean
    }

    pub fn can_undo(&self) -> bool {
        self.history.can_undo(&self.draft.preset)
    }

    pub fn can_redo(&self) -> bool {
        self.history.can_redo(&self.draft.preset)
    }

    pub fn undo(&mut self) {
        if let Some(preset) = self.history.undo(&self.draft.preset) {
            self.draft.preset = preset;
        }
    }

    pub fn redo(&mut self) {
        if let Some(preset) = self.history.redo(&self.draft.preset) {
            self.draft.preset = preset;
        }
    }

    /// The runs there are, as far as they are known.
    pub fn runs(&self) -> &[Summary] {
        &self.runs
    }

    /// The runs that are shown.
    pub fn selected(&self) -> &[RunFolder] {
        &self.selected
    }

    /// The curves of the runs that are shown.
    pub fn drawn(&self) -> &[Drawn] {
        &self.drawn
    }

    /// What is known of the worker.
    pub fn worker(&self) -> &WorkerState {
        &self.worker
    }

    /// Where the plots were drawn last.
    pub fn area(&self) -> Option<Rect> {
        self.area
    }

    fn threads(&mut self) -> &Threads {
        self.threads.get_or_insert_with(|| {
            let office = Office::open(self.folder.clone(), self.worker_path.clone(), self.context.clone());
            office.shake_hands();
            for path in &self.recalled {
                office.order(Order::Find(path.clone()));
            }
            Threads { office, plotter: Plotter::start(self.context.clone()) }
        })
    }

    /// Takes what the threads have to say, also while the panel is not shown.
    pub fn tick(&mut self, requests: &mut Requests) {
        self.exports.poll(requests);
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
            News::Worker(state) => self.worker = *state,
            News::Made(run) => {
                self.threads().office.order(Order::Look);
                self.select_only(run);
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

    fn list_runs(&mut self, runs: Vec<Summary>, trouble: Option<String>) {
        let mut paths: Vec<&Path> = runs.iter().map(|run| run.run.path()).collect();
        paths.sort();
        self.colors.give(paths);
        let is_there = |run: &RunFolder| runs.iter().any(|known| known.run == *run);
        let before = self.selected.clone();
        let known = |run: &RunFolder| self.runs.iter().any(|known| known.run == *run);
        // One that was there is gone; one that never was is still to be found.
        self.selected.retain(|run| is_there(run) || !known(run));
        for path in std::mem::take(&mut self.recalled) {
            let found = runs.iter().find(|run| run.run.path() == path).map(|run| run.run.clone());
            self.selected.extend(found.filter(|run| !before.contains(run)));
        }
        (self.runs, self.trouble) = (runs, trouble);
        self.settle_selection();
    }

    fn select_only(&mut self, run: RunFolder) {
        self.selected = vec![run];
        self.recalled.clear();
        self.charts.look_anew();
        self.settle_selection();
    }

    fn toggle(&mut self, run: RunFolder) {
        match self.selected.iter().position(|selected| *selected == run) {
            Some(index) => drop(self.selected.remove(index)),
            None => self.selected.push(run),
        }
        self.settle_selection();
    }

    /// What a run is called.
    fn title(&self, run: &RunFolder) -> String {
        let known = self.runs.iter().find(|known| known.run == *run);
        known.map_or_else(|| run.name(), |known| known.title.clone())
    }

    /// The run that is shown in words.
    fn focus(&self) -> Option<&Summary> {
        let last = self.selected.last()?;
        self.runs.iter().find(|run| run.run == *last)
    }

    /// Asks the threads for what is shown now.
    fn settle_selection(&mut self) {
        let focus = self.selected.last().cloned();
        if focus != self.focus {
            self.detail = None;
            self.focus.clone_from(&focus);
            self.threads().office.order(Order::Focus(focus));
        }
        self.settle_wish();
    }

    fn settle_wish(&mut self) {
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

    /// Shows the panel.
    pub fn ui(&mut self, ui: &mut Ui, window: &mut Layout, shelf: &Shelf, requests: &mut Requests) {
        self.threads();
        let width = ui.available_width();
        if !window.presenting {
            let most = (0.36 * width).clamp(250.0, 460.0);
            let left = Panel::left("training controls").default_size(340.0_f32.min(most)).size_range(240.0..=most);
            left.show_collapsible(ui, &mut window.controls, |ui| self.left(ui, shelf, requests));
            if let Some(run) = self.focus().cloned() {
                let most = (0.6 * ui.available_height()).max(110.0);
                let bottom = Panel::bottom("run in words").resizable(true).default_size(190.0_f32.min(most));
                bottom.size_range(84.0..=most).show(ui, |ui| self.words(ui, &run, requests));
            }
        }
        CentralPanel::default().show(ui, |ui| {
            self.area = Some(ui.available_rect_before_wrap());
            self.plots(ui, requests);
        });
        self.settle_wish();
        self.show_dialog(ui.ctx());
        self.history.feed(ui.ctx().time(), &self.draft.preset);
        if self.history.is_in_flux() {
            ui.ctx().request_repaint_after(std::time::Duration::from_millis(600));
        }
    }

    fn left(&mut self, ui: &mut Ui, shelf: &Shelf, requests: &mut Requests) {
        let most = (ui.available_height() - 130.0).max(120.0);
        let bottom = Panel::bottom("list of runs").resizable(true).default_size(0.45 * ui.available_height());
        bottom.size_range(110.0..=most).show(ui, |ui| {
            if let Some(trouble) = &self.trouble {
                let color = ui.visuals().error_fg_color;
                ui.add(Label::new(RichText::new(trouble).color(color)).selectable(true).wrap());
            }
            match self.list.ui(ui, &self.runs, &self.selected, &self.colors) {
                Some(Chosen::Only(run)) => self.select_only(run),
                Some(Chosen::Toggled(run)) => self.toggle(run),
                None => {}
            }
        });
        self.start_bar(ui);
        if worker::show(ui, &self.worker, requests) {
            self.worker = WorkerState::Asked;
            self.threads().office.shake_hands();
        }
        ui.separator();
        ScrollArea::vertical().auto_shrink(false).id_salt("training controls").show(ui, |ui| {
            setup::show(ui, &mut self.draft, &self.worker, shelf, requests);
        });
    }

    fn start_bar(&mut self, ui: &mut Ui) {
        ui.add_space(4.0);
        let fault = self.draft.fault();
        let ready = matches!(self.worker, WorkerState::Ready(_)) && fault.is_none();
        let trainings = self.draft.preset.trainings();
        ui.horizontal_wrapped(|ui| {
            let start = ui.add_enabled(ready, Button::new(RichText::new("Start").strong()));
            let start = start.on_disabled_hover_text("The training worker is not ready, or a setting can't be used");
            if start.accessible_name("Start the training").clicked() {
                let one = trainings.get(self.draft.chosen).cloned();
                let stem = self.draft.stem.clone();
                self.threads().office.train(one.into_iter().collect(), stem);
            }
            if trainings.len() > 1 {
                let text = format!("Start all {}", trainings.len());
                let all = ui.add_enabled(ready, Button::new(text));
                let help = "One after another, as long as Valleyscope is open";
                if all.on_hover_text(help).accessible_name("Start all trainings of the preset").clicked() {
                    let stem = self.draft.stem.clone();
                    self.threads().office.train(trainings, stem);
                }
            }
            if let WorkerState::Ready(handshake) = &self.worker {
                let cuda = handshake.cuda.as_ref().map_or_else(|| "no CUDA".to_owned(), |cuda| format!("CUDA {cuda}"));
                let text = format!("libtorch {}, {cuda}", handshake.libtorch);
                ui.add(Label::new(RichText::new(text).small().weak()).truncate());
            }
        });
        if let Some(fault) = fault {
            ui.add(Label::new(RichText::new(fault).color(ui.visuals().error_fg_color)).wrap());
        }
    }

    fn words(&mut self, ui: &mut Ui, run: &Summary, requests: &mut Requests) {
        ui.add_space(4.0);
        let detail = self.detail.as_ref().filter(|(of, _)| *of == run.run).map(|(_, detail)| detail);
        let Some(deed) = detail::show(ui, &mut self.tab, run, detail) else { return };
        let folder = run.run.clone();
        match deed {
            Deed::Stop => self.threads().office.order(Order::Stop(folder)),
            Deed::Resume => self.threads().office.resume(folder),
            Deed::Describe => {
                self.dialog = Some(Dialog::Describe { run: folder, notes: run.notes.clone(), focused: false });
            }
            Deed::Delete => self.dialog = Some(Dialog::Delete { run: folder, title: run.title.clone() }),
            Deed::CopyPath => {
                let path = folder.path().display().to_string();
                ui.ctx().copy_text(path.clone());
                requests.actions.push(Action::Notify(format!("Copied {path}")));
            }
        }
    }

    fn show_dialog(&mut self, ctx: &Context) {
        let Some(decision) = self.dialog.as_mut().and_then(|dialog| dialog.show(ctx)) else { return };
        self.dialog = None;
        let office = &self.threads().office;
        match decision {
            Decision::Write(run, notes) => {
                office.order(Order::Write(run, notes));
                office.order(Order::Look);
            }
            Decision::Trash(run) => office.trash(run),
            Decision::Remove(run) => office.remove(run),
            Decision::Cancelled => {}
        }
    }

    fn plots(&mut self, ui: &mut Ui, requests: &mut Requests) {
        if self.selected.is_empty() {
            let text = if self.runs.is_empty() {
                "Curves appear here once a run has begun."
            } else {
                "Choose a run in the list, or several with their boxes, to see their curves."
            };
            ui.centered_and_justified(|ui| ui.weak(text));
            return;
        }
        let groups: Vec<Named<'_>> = self
            .drawn
            .iter()
            .map(|drawn| {
                let first = &drawn.runs[0];
                let title = self.title(first);
                let alike = self.drawn.iter().filter(|other| self.title(&other.runs[0]) == title).count();
                let name = match drawn.runs.len() {
                    1 if alike > 1 => format!("{title} ({})", first.name()),
                    1 => title,
                    count => format!("{title} (mean of {count})"),
                };
                Named { name, color: self.colors.of(ui, first.path()), drawn }
            })
            .collect();
        // The scan that was chosen last hides the curves, of which it has none.
        let scan = groups.iter().rev().find(|group| group.drawn.scan.is_some());
        let focus = self.selected.last();
        let scan = scan.filter(|group| group.drawn.runs.last() == focus);
        if let Some((group, scan)) = scan.and_then(|group| Some((group, group.drawn.scan.as_ref()?))) {
            if let Some(file) = scan_view::show(ui, scan, &group.name, &mut self.paper) {
                self.exports.begin_scan(ui.ctx(), Arc::clone(scan), file, self.paper);
            }
            return;
        }
        match self.charts.ui(ui, &groups) {
            Some(Asked::Table) => self.exports.begin(ui.ctx(), self.selected.clone()),
            Some(Asked::Picture) => {
                if let Some(area) = self.charts.area {
                    let suggested_name = "training.png".to_owned();
                    requests.actions.push(Action::SavePicture { area, suggested_name });
                }
            }
            None => {}
        }
    }
}
