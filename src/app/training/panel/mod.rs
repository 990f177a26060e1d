//! The training panel: its state, and the memory of the session.

mod differences;
mod plots;
mod runs_table;
mod tab;
mod updates;
mod view;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use egui::{Context, Rect};
use valleyscope_experiments::dataset::DataChoice;
use valleyscope_experiments::preset::Preset;
use valleyscope_machine::SetUpStatus;
use valleyscope_runs::RunFolder;

use self::plots::KnownNames;
use super::charts::Charts;
use super::detail::DetailView;
use super::dialogs::Dialog;
use super::editor::{SavedTraining, TrainingEditor, TrainingMemory, take_data};
use super::jobs::{TrainingJobs, TrainingPaths};
use super::list::List;
use super::outlook::OutlookWatch;
use super::pens::Pens;
use super::plotter::{CurveRequest, Plotter, RunCurves};
use super::queue::Queue;
use super::run_detail::RunDetail;
use super::summary::Summary;
use super::table::{RunTable, TableChoices};
use super::update::WorkerState;
use super::watcher::WatcherCommand;
use super::worker::WorkerCard;
use crate::app::editor::PresetDraft;
use crate::app::figure_layout::FigureLayout;
use crate::app::pending_exports::PendingExports;
use crate::app::tab::stored_preset;
use crate::app::wake::Wake;
use crate::run_table::{Columns, MetricAliases};

/// The background threads of the tab, started when it is first shown.
struct Threads {
    jobs: TrainingJobs,
    plotter: Plotter,
}

/// The delay from an update to its drawing while the tab is shown.
const SEEN: Duration = Duration::from_millis(50);
/// The delay from an update to its drawing while the tab is hidden.
const UNSEEN: Duration = Duration::from_secs(5);

/// The state of the training tab.
pub struct TrainingPanel {
    wake: Wake,
    places: TrainingPaths,
    threads: Option<Threads>,
    /// True if an earlier window has left a queue, so that the threads start at once.
    has_queue: bool,
    worker: WorkerState,
    worker_card: WorkerCard,
    editor: TrainingEditor,
    /// The editor's number of the preset for which the controls were last drawn.
    scrolled: usize,
    outlook: OutlookWatch,
    runs: Vec<Arc<Summary>>,
    /// The places of the runs in this list, by their folders.
    run_places: HashMap<PathBuf, usize>,
    /// The columns of the table of these runs.
    columns: Arc<Columns>,
    /// The names under which metrics are shown.
    aliases: Arc<MetricAliases>,
    /// A number that changes with the runs.
    generation: u64,
    /// The reason why the folder of runs cannot be read, if it cannot.
    trouble: Option<String>,
    list: List,
    table: RunTable,
    pens: Pens,
    /// The shown runs, the last chosen one at the end.
    selected: Vec<RunFolder>,
    /// The shown runs of the last session, and those that are gone: they are selected as soon as they are found.
    recalled: Vec<PathBuf>,
    /// The run that is read in detail.
    focus: Option<RunFolder>,
    detail: Option<(RunFolder, RunDetail)>,
    shown: DetailView,
    drawn: Vec<RunCurves>,
    curve_names: Option<KnownNames>,
    curve_request: CurveRequest,
    charts: Charts,
    exports: PendingExports,
    /// The layout of exported figures of scans.
    figure_layout: FigureLayout,
    dialog: Option<Dialog>,
    /// True while a fork was started whose run is not made yet.
    forks: bool,
    /// The area in which the plots were last drawn.
    area: Option<Rect>,
}

impl TrainingPanel {
    pub fn new(context: Context, places: TrainingPaths) -> TrainingPanel {
        TrainingPanel {
            has_queue: places.runs.as_deref().is_some_and(Queue::is_in),
            wake: Wake::new(context, SEEN, UNSEEN),
            places,
            threads: None,
            worker: WorkerState::Asked,
            worker_card: WorkerCard::default(),
            editor: TrainingEditor::first(Preset::WORKLOADS[0]),
            scrolled: 0,
            outlook: OutlookWatch::default(),
            runs: Vec::new(),
            run_places: HashMap::new(),
            columns: Arc::default(),
            aliases: Arc::default(),
            generation: 0,
            trouble: None,
            list: List::default(),
            table: RunTable::default(),
            pens: Pens::default(),
            selected: Vec::new(),
            recalled: Vec::new(),
            focus: None,
            detail: None,
            shown: DetailView::default(),
            drawn: Vec::new(),
            curve_names: None,
            curve_request: CurveRequest::default(),
            charts: Charts::default(),
            exports: PendingExports::default(),
            figure_layout: FigureLayout::default(),
            dialog: None,
            forks: false,
            area: None,
        }
    }

    /// Shows a run in any folder.
    pub fn open_run(&mut self, run: RunFolder) {
        self.threads().jobs.send(WatcherCommand::Include(run.clone()));
        self.select_only(vec![run]);
    }

    /// Restores the state of the last session.
    fn restore_memory(&mut self, memory: TrainingMemory) -> Result<(), String> {
        let TrainingMemory { preset, clean, kept_data, data, file, selected, choices, table, .. } = memory;
        self.list.search_mut().restore(table.filter.clone());
        self.table.choices = table;
        (self.recalled, self.charts.choices) = (selected, choices);
        self.pens = Pens::restore(memory.pens, memory.colors, memory.scan_colors);
        let training = |preset| Some(preset).filter(|preset: &Preset| preset.workload().is_some());
        let stored = |text: &str, what: &str| stored_preset(text, what, "training", training);
        let preset = stored(&preset, "the training of the last session")?;
        let clean = stored(&clean, "the preset of the last session's training")?;
        let saved = SavedTraining { kept_data, ..SavedTraining::opened(clean, file.as_deref()) };
        self.editor = TrainingEditor::restored(preset, saved, file, data);
        Ok(())
    }

    /// Returns the state to restore in the next session.
    pub fn memory(&self) -> TrainingMemory {
        let SavedTraining { clean, kept_data, .. } = self.editor.presets.saved_state();
        let preset = if self.editor.fault().is_none() { self.preset() } else { clean };
        let selected = self.selected.iter().map(|run| run.path().to_owned());
        // A folder that cannot be read now, such as a mounted one, may be back in the next session.
        let is_known = |path: &Path| path.exists() || !path.parent().is_some_and(Path::exists);
        TrainingMemory {
            preset: preset.to_ron(),
            clean: clean.to_ron(),
            kept_data: kept_data.clone(),
            data: self.editor.chosen_data(),
            file: self.editor.presets.file().map(Path::to_owned),
            selected: selected.chain(self.recalled.iter().filter(|path| is_known(path)).cloned()).collect(),
            choices: self.charts.choices.clone(),
            pens: self.pens.numbers(is_known),
            colors: self.pens.colors(is_known),
            scan_colors: self.pens.scans(is_known),
            table: TableChoices { filter: self.list.search().text().to_owned(), ..self.table.choices.clone() },
        }
    }

    pub fn preset(&self) -> &Preset {
        self.editor.preset()
    }

    /// Returns the preset to save.
    pub fn draft(&self) -> PresetDraft {
        self.editor.draft()
    }

    pub fn is_dirty(&self) -> bool {
        self.editor.presets.is_dirty()
    }

    /// Returns the known runs.
    pub fn runs(&self) -> &[Arc<Summary>] {
        &self.runs
    }

    /// Returns the shown runs.
    pub fn selected(&self) -> &[RunFolder] {
        &self.selected
    }

    /// Returns the curves of the shown runs.
    pub fn drawn(&self) -> &[RunCurves] {
        &self.drawn
    }

    /// Returns the state of the worker.
    pub fn worker(&self) -> &WorkerState {
        &self.worker
    }

    /// Returns the status of the worker's running or last set-up.
    pub fn set_up(&self) -> Option<&SetUpStatus> {
        self.worker_card.installation.as_ref()?.status.as_ref()
    }

    /// Sets the source of the data of the training under the controls to a folder.
    pub fn use_data_in(&mut self, folder: &Path) {
        let data = DataChoice::Folder(folder.display().to_string());
        self.editor.presets.change(|presets| take_data(&mut presets.draft, &data));
    }

    /// Imports the runs in a folder from elsewhere, in the background.
    pub(in crate::app) fn import_runs(&mut self, folder: PathBuf) {
        self.threads().jobs.import(folder);
    }

    fn threads(&mut self) -> &Threads {
        self.threads.get_or_insert_with(|| {
            let jobs = TrainingJobs::open(self.places.clone(), self.wake.clone());
            jobs.find_worker();
            for path in &self.recalled {
                jobs.send(WatcherCommand::IncludePath(path.clone()));
            }
            Threads { jobs, plotter: Plotter::start(self.wake.clone()) }
        })
    }
}
