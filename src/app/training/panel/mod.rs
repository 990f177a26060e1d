//! The panel as a whole.

mod intake;
mod view;

use std::path::{Path, PathBuf};
use std::time::Duration;

use egui::{Context, Rect};

use super::charts::Charts;
use super::detail::Shown;
use super::dialogs::Dialog;
use super::draft::{Draft, Origin, TrainingMemory};
use super::export::Exports;
use super::list::List;
use super::office::{Office, Places, WorkerState};
use super::outlook::OutlookWatch;
use super::pens::Pens;
use super::plotter::{Drawn, Plotter, Wish};
use super::queue::Queue;
use super::summary::Summary;
use super::watcher::Order;
use super::words::Detail;
use super::worker::WorkerCard;
use crate::app::history::History;
use crate::app::origins::WithOrigin;
use crate::app::paper::Paper;
use crate::app::session::stored_preset;
use crate::app::wake::Wake;
use crate::export::Overwrite;
use crate::machine::SetUpStatus;
use crate::preset::Preset;
use crate::run::RunFolder;
use crate::workload::DataChoice;

/// The threads of the room; they begin when it is first looked at.
struct Threads {
    office: Office,
    plotter: Plotter,
}

/// Between news and their drawing, while the room is shown and while it is not.
const SEEN: Duration = Duration::from_millis(50);
const UNSEEN: Duration = Duration::from_secs(5);

/// The state of the real workloads' part of the window.
pub struct TrainingPanel {
    wake: Wake,
    places: Places,
    threads: Option<Threads>,
    /// Whether an earlier window has left a queue, so that the threads begin at once.
    has_queue: bool,
    worker: WorkerState,
    worker_card: WorkerCard,
    draft: Draft,
    /// The preset that was shown when the controls were drawn last, as a number of the draft's.
    scrolled: usize,
    outlook: OutlookWatch,
    history: History<WithOrigin<Preset>>,
    runs: Vec<Summary>,
    /// Why the folder of runs cannot be read, if it cannot.
    trouble: Option<String>,
    list: List,
    pens: Pens,
    /// The runs that are shown, the newest choice last.
    selected: Vec<RunFolder>,
    /// Of the last session: selected as soon as they are found.
    recalled: Vec<PathBuf>,
    /// The run that is read in detail.
    focus: Option<RunFolder>,
    detail: Option<(RunFolder, Detail)>,
    shown: Shown,
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
    pub fn new(context: Context, places: Places) -> TrainingPanel {
        TrainingPanel {
            has_queue: places.runs.as_deref().is_some_and(Queue::is_in),
            wake: Wake::new(context, SEEN, UNSEEN),
            places,
            threads: None,
            worker: WorkerState::Asked,
            worker_card: WorkerCard::default(),
            draft: Draft::first(Preset::WORKLOADS[0]),
            scrolled: 0,
            outlook: OutlookWatch::default(),
            history: History::default(),
            runs: Vec::new(),
            trouble: None,
            list: List::default(),
            pens: Pens::default(),
            selected: Vec::new(),
            recalled: Vec::new(),
            focus: None,
            detail: None,
            shown: Shown::default(),
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
        self.history.mark(&self.draft.point());
        self.draft.open(preset, file);
        self.history.mark(&self.draft.point());
    }

    /// Shows a run, wherever its folder is.
    pub fn open_run(&mut self, run: RunFolder) {
        self.threads().office.order(Order::Include(run.clone()));
        self.select_only(run);
    }

    /// What was there in the last session.
    pub fn recall(&mut self, memory: TrainingMemory) -> Result<(), String> {
        let TrainingMemory { preset, clean, kept_data, data, file, fork, selected, choices, pens } = memory;
        (self.recalled, self.charts.choices) = (selected, choices);
        self.pens = Pens::recall(pens);
        let training = |preset| Some(preset).filter(|preset: &Preset| preset.workload().is_some());
        let stored = |text: &str, what: &str| stored_preset(text, what, "training", training);
        let preset = stored(&preset, "the training of the last session")?;
        let clean = clean.map(|text| stored(&text, "the preset of the last session's training")).transpose()?;
        let clean = clean.unwrap_or_else(|| preset.clone());
        self.draft = Draft::recalled(preset, Origin { kept_data, fork, ..Origin::opened(clean, file) }, data);
        self.history = History::default();
        Ok(())
    }

    /// What the next session finds again.
    pub fn memory(&self) -> TrainingMemory {
        let Origin { clean, kept_data, file, fork, .. } = self.draft.origin();
        let preset = if self.draft.fault().is_none() { &self.draft.preset } else { clean };
        let selected = self.selected.iter().map(|run| run.path().to_owned());
        TrainingMemory {
            preset: preset.to_ron(),
            clean: Some(clean.to_ron()),
            kept_data: kept_data.clone(),
            data: self.draft.chosen_data(),
            file: file.as_ref().map(|(file, _)| file.clone()),
            fork: fork.clone(),
            selected: selected.chain(self.recalled.clone()).collect(),
            choices: self.charts.choices.clone(),
            pens: self.pens.memory(|path| self.runs.iter().any(|run| run.run.path() == path)),
        }
    }

    pub fn preset(&self) -> &Preset {
        &self.draft.preset
    }

    /// The preset as it would be saved.
    pub fn draft(&self) -> WithOrigin<Preset> {
        self.draft.point()
    }

    /// The preset's file, and whether it may be replaced without a question.
    pub fn file(&self) -> Option<(&Path, Overwrite)> {
        let (file, written_here) = self.draft.origin().file.as_ref()?;
        Some((file, if *written_here { Overwrite::Yes } else { Overwrite::No }))
    }

    /// Takes note that a preset was written to a file.
    pub fn saved(&mut self, saved: WithOrigin<Preset>, path: &Path) {
        self.draft.saved(saved, path);
    }

    pub fn is_dirty(&self) -> bool {
        self.draft.is_changed()
    }

    pub fn can_undo(&self) -> bool {
        self.history.can_undo(&self.draft.point())
    }

    pub fn can_redo(&self) -> bool {
        self.history.can_redo(&self.draft.point())
    }

    pub fn undo(&mut self) {
        if let Some(earlier) = self.history.undo(&self.draft.point()) {
            self.draft.go_to(earlier);
        }
    }

    pub fn redo(&mut self) {
        if let Some(later) = self.history.redo(&self.draft.point()) {
            self.draft.go_to(later);
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

    /// How the worker's set-up stands that is at work or was the last.
    pub fn set_up(&self) -> Option<&SetUpStatus> {
        self.worker_card.installation.as_ref()?.status.as_ref()
    }

    /// Takes the data of what is under the controls from a folder.
    pub fn use_data_in(&mut self, folder: &Path) {
        self.history.mark(&self.draft.point());
        self.draft.set_data(&DataChoice::Folder(folder.display().to_string()));
        self.history.mark(&self.draft.point());
    }

    /// Where the plots were drawn last.
    pub fn area(&self) -> Option<Rect> {
        self.area
    }

    fn threads(&mut self) -> &Threads {
        self.threads.get_or_insert_with(|| {
            let office = Office::open(self.places.clone(), self.wake.clone());
            office.shake_hands();
            for path in &self.recalled {
                office.order(Order::Find(path.clone()));
            }
            Threads { office, plotter: Plotter::start(self.wake.clone()) }
        })
    }
}
