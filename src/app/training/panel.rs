//! The state of the training tab, the part of it that a session stores, and the updates from its background threads.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use egui::{Context, Rect, Ui, vec2};
use valleyscope_experiments::dataset::DataChoice;
use valleyscope_experiments::preset::Preset;
use valleyscope_machine::{SetUpState, SetUpStatus};
use valleyscope_runs::atomic_file::Overwrite;
use valleyscope_runs::{Queue, RunFolder};

use super::charts::Charts;
use super::detail::{DetailView, RunDetail};
use super::dialogs::{Dialog, RunDecision, RunQuestion};
use super::editor::{DataWatch, SavedTraining, TrainingEditor, TrainingMemory, take_data};
use super::empty::Example;
use super::jobs::TrainingJobs;
use super::list::List;
use super::names::{CurveFacts, Name, Pens, distinct};
use super::plots::TrainingExport;
use super::plotter::{CurveRequest, Plotter, RunCurves};
use super::queue::QueueState;
use super::results::ResultsView;
use super::summary::{ListedRuns, Summary};
use super::table::{RunTable, TableChoices};
use super::watcher::{Update, WatcherCommand};
use super::worker::{Installation, TrainingPaths, WorkerCard, WorkerState};
use crate::app::shell::actions::{Action, Requests};
use crate::app::shell::editor::{EditorStatus, HistoryStep, PresetDraft};
use crate::app::shell::export::{ExportKind, ExportSource};
use crate::app::shell::files::OpenedContent;
use crate::app::shell::jobs::{Job, Wake};
use crate::app::shell::tab::{Memory, RegisteredTab, Start, Tab, TabFrame, TabInfo, TabWindow, stored_preset};
use crate::app::widgets::setting::Pins;
use crate::runs::REPLICATES;

pub(super) struct Threads {
    pub(super) jobs: TrainingJobs,
    pub(super) plotter: Plotter,
}

/// The delay from an update to its drawing while the tab is shown.
const SEEN: Duration = Duration::from_millis(50);
/// The delay from an update to its drawing while the tab is hidden.
const UNSEEN: Duration = Duration::from_secs(5);

/// The state of the training tab.
#[derive(Default)]
pub struct TrainingPanel {
    pub(super) wake: Wake,
    pub(super) paths: TrainingPaths,
    pub(super) threads: Option<Threads>,
    /// True if there is a queue at the start, so that the threads start at once.
    pub(super) has_queue: bool,
    pub(super) queue: QueueState,
    pub(super) worker: WorkerState,
    pub(super) worker_card: WorkerCard,
    pub(super) editor: TrainingEditor,
    pub(super) pins: Pins,
    pub(super) data_status: DataWatch,
    pub(super) listed: ListedRuns,
    pub(super) list: List,
    pub(super) table: RunTable,
    pub(super) pens: Pens,
    /// The folders of the chosen runs, the last chosen one at the end. A run that is not listed, such as one in a folder
    /// that is not mounted, is shown as soon as it is.
    pub(super) chosen: Vec<PathBuf>,
    pub(super) focus: Option<RunFolder>,
    pub(super) detail: Option<(RunFolder, RunDetail)>,
    pub(super) shown: DetailView,
    pub(super) drawn: Vec<RunCurves>,
    /// The names of the drawn curves.
    pub(super) curve_names: Arc<[Name]>,
    pub(super) curve_request: CurveRequest,
    pub(super) charts: Charts,
    pub(super) results: ResultsView,
    /// Curves of an example, if they were shown.
    pub(super) example: Option<Example>,
    /// The comparison of runs in progress, which reads their settings.
    pub(super) comparing: Option<Job<Action>>,
    /// The chosen runs of the table, which the sheet of exports shows next.
    pub(super) table_export: Option<TrainingExport>,
    pub(super) dialog: Option<Dialog>,
    /// True while a fork was started whose run is not yet made.
    pub(super) forks: bool,
    pub(super) area: Option<Rect>,
}

impl TrainingPanel {
    pub fn new(context: Context, paths: TrainingPaths) -> TrainingPanel {
        TrainingPanel {
            has_queue: paths
                .runs
                .as_deref()
                .is_some_and(|runs| Queue::of(runs).entries().is_ok_and(|it| !it.is_empty())),
            wake: Wake::new(context, SEEN, UNSEEN),
            paths,
            ..TrainingPanel::default()
        }
    }

    pub fn open_run(&mut self, run: RunFolder) {
        self.threads().jobs.send(WatcherCommand::Include(run.path().to_owned()));
        self.select_only(vec![run]);
    }

    fn restore_memory(&mut self, memory: TrainingMemory) -> Result<(), String> {
        let TrainingMemory { preset, clean, inherited_data, data, file, selected, choices, table, .. } = memory;
        self.list.search.text.clone_from(&table.filter);
        self.table.choices = table;
        (self.chosen, self.charts.choices) = (selected, choices);
        if let Some(runs) = self.paths.runs.as_ref().filter(|_| self.paths.are_runs_named) {
            self.chosen.retain(|run| run.starts_with(runs));
        }
        (self.pens, self.pins) = (memory.pens, memory.pins);
        let training = |preset| Some(preset).filter(|preset: &Preset| preset.workload().is_some());
        let stored = |text: &str, what: &str| stored_preset(text, what, "training", training);
        let preset = stored(&preset, "the training of the last session")?;
        let clean = stored(&clean, "the preset of the last session's training")?;
        let saved = SavedTraining { inherited_data, ..SavedTraining::opened(clean, file.as_deref()) };
        self.editor = TrainingEditor::restored(preset, saved, file, data);
        Ok(())
    }

    pub fn memory(&self) -> TrainingMemory {
        let SavedTraining { clean, inherited_data, .. } = self.editor.presets.saved_state();
        let preset = if self.editor.fault().is_none() { self.preset() } else { clean };
        // A folder that is temporarily unreadable, such as a mounted one, may be back in the next session.
        let is_known = |path: &Path| path.exists() || !path.parent().is_some_and(Path::exists);
        TrainingMemory {
            preset: preset.to_ron(),
            clean: clean.to_ron(),
            inherited_data: inherited_data.clone(),
            data: self.editor.chosen_data(),
            file: self.editor.presets.file().map(Path::to_owned),
            selected: self.chosen.iter().filter(|path| is_known(path)).cloned().collect(),
            choices: self.charts.choices.clone(),
            pens: self.pens.of_runs(is_known),
            pins: self.pins.clone(),
            table: TableChoices { filter: self.list.search.text.clone(), ..self.table.choices.clone() },
        }
    }

    pub fn preset(&self) -> &Preset {
        self.editor.preset()
    }

    pub fn draft(&self) -> PresetDraft {
        self.editor.draft()
    }

    pub fn is_dirty(&self) -> bool {
        self.editor.presets.is_dirty()
    }

    pub fn runs(&self) -> &[Arc<Summary>] {
        &self.listed.runs
    }

    /// Lists the chosen runs that are found.
    pub fn selected(&self) -> Vec<RunFolder> {
        self.found().map(|run| run.run.clone()).collect()
    }

    pub(super) fn found(&self) -> impl DoubleEndedIterator<Item = &Summary> {
        self.chosen.iter().filter_map(|path| self.listed.find(path))
    }

    pub fn drawn(&self) -> &[RunCurves] {
        &self.drawn
    }

    pub fn worker(&self) -> &WorkerState {
        &self.worker
    }

    pub fn set_up(&self) -> Option<&SetUpStatus> {
        self.worker_card.installation.as_ref()?.status.as_ref()
    }

    /// Sets the source of the data of the training under the controls to a folder.
    pub fn use_data_in(&mut self, folder: &Path) {
        let data = DataChoice::Folder(folder.display().to_string());
        self.editor.presets.change(|presets| take_data(&mut presets.draft, &data));
    }

    pub(in crate::app) fn import_runs(&mut self, folder: PathBuf) {
        self.threads().jobs.import(folder);
    }

    /// Imports the runs in a folder, and what is added to them, until the window is closed or the user ends it.
    pub(in crate::app) fn follow_runs(&mut self, folder: PathBuf) {
        let wanted = Arc::new(());
        self.threads().jobs.follow(folder.clone(), Arc::downgrade(&wanted));
        self.table.followed.insert(folder, wanted);
    }

    pub(super) fn threads(&mut self) -> &Threads {
        self.threads.get_or_insert_with(|| {
            let jobs = TrainingJobs::open(self.paths.clone(), self.wake.clone());
            jobs.find_worker();
            for path in &self.chosen {
                jobs.send(WatcherCommand::Include(path.clone()));
            }
            Threads { jobs, plotter: Plotter::start(self.wake.clone()) }
        })
    }
}

impl RegisteredTab for TrainingPanel {
    const INFO: TabInfo = TabInfo {
        title: "Real workloads",
        preset_kinds: Preset::TRAININGS,
        presets_heading: "Real workloads",
        keys: &[],
        exports: &[ExportKind::Figure, ExportKind::Data],
        has_plots: false,
        presented_size: vec2(1120.0, 630.0),
    };

    fn begin(start: &mut Start<'_>) -> TrainingPanel {
        let mut panel = TrainingPanel::new(start.cc.egui_ctx.clone(), start.options.training.clone());
        start.restore_memory("The last training's preset was not restored", |memory| panel.restore_memory(memory));
        panel
    }
}

impl Tab for TrainingPanel {
    fn target(&self) -> Option<(&Path, Overwrite)> {
        self.editor.presets.target()
    }

    fn saved(&mut self, written: PresetDraft, file: &Path) {
        self.editor.presets.saved(written, file);
    }

    fn undo_or_redo(&mut self, step: HistoryStep) {
        self.editor.presets.undo_or_redo(step);
    }

    fn status(&self) -> EditorStatus {
        let named = self.editor.named();
        self.editor.presets.status(named.title(), named.description())
    }

    fn to_save(&self) -> PresetDraft {
        self.draft()
    }

    fn open(
        &mut self,
        content: OpenedContent,
        file: Option<&Path>,
        _requests: &mut Requests,
    ) -> Result<(), OpenedContent> {
        match content {
            OpenedContent::Run(run) => self.open_run(run),
            OpenedContent::Preset(preset) if preset.workload().is_some() => {
                self.editor.open(*preset, file.map(Path::to_owned));
            }
            other => return Err(other),
        }
        Ok(())
    }

    fn to_memory(&self) -> Memory {
        Memory::new(&self.memory())
    }

    fn export_source(&mut self) -> Arc<dyn ExportSource> {
        Arc::new(self.table_export.take().unwrap_or_else(|| self.to_export()))
    }

    fn logic(&mut self, frame: TabFrame, requests: &mut Requests) {
        self.take_updates(frame.is_shown, requests);
    }

    fn ui(&mut self, ui: &mut Ui, window: TabWindow<'_>, requests: &mut Requests) {
        self.draw(ui, window.layout, window.catalog, requests);
    }

    fn area(&self) -> Option<Rect> {
        self.area
    }
}

impl TrainingPanel {
    /// Takes the updates of the threads, even while the panel is not shown.
    pub(super) fn take_updates(&mut self, is_shown: bool, requests: &mut Requests) {
        self.wake.show(is_shown);
        requests.actions.extend(Job::take(&mut self.comparing).into_iter().flatten());
        if std::mem::take(&mut self.has_queue) {
            self.threads();
        }
        let Some(threads) = &self.threads else { return };
        if let Some((curve_request, drawn)) = threads.plotter.take()
            && curve_request.groups == self.curve_request.groups
        {
            self.drawn = drawn;
            self.name_curves();
        }
        let Some(threads) = &self.threads else { return };
        let updates: Vec<Update> = std::iter::from_fn(|| threads.jobs.next()).collect();
        for update in updates {
            self.handle_update(update, requests);
        }
    }

    fn handle_update(&mut self, update: Update, requests: &mut Requests) {
        if matches!(update, Update::Made(..) | Update::Message(_) | Update::Failed(_) | Update::Removed(_)) {
            self.threads().jobs.send(WatcherCommand::Refresh);
        }
        match update {
            Update::Runs(listed) => self.list_runs(listed),
            Update::Queue(queue) => self.queue = queue,
            Update::Detail(run, detail) => {
                if self.focus.as_ref() == Some(&run) {
                    self.detail = Some((run, *detail));
                }
            }
            Update::Text(run, outcome) => self.shown.texts.set(&run, outcome),
            Update::Worker(state) => {
                self.worker = *state;
                self.data_status.check_again();
            }
            Update::SetUp(installation) => self.follow_set_up(*installation),
            Update::Made(run, fork) => {
                // The next start begins at step 0 again.
                if let Some(fork) = fork {
                    self.editor.fork_begun(&fork);
                    self.forks = false;
                }
                // An earlier search would hide the new run.
                self.list.search.text.clear();
                // Shown runs stay shown.
                self.chosen.push(run.path().to_owned());
                self.sync_selection();
            }
            Update::Message(action) => requests.actions.push(action),
            Update::Failed(text) => {
                self.forks = false;
                requests.actions.push(Action::Report { title: "The operation failed".to_owned(), text });
            }
            Update::NotTrashed { runs, reason } => {
                let paths = runs.iter().map(|run| run.path().display().to_string()).collect::<Vec<_>>().join("\n");
                self.dialog = Some(Dialog::Ask(RunQuestion {
                    heading: "Delete for good?",
                    text: format!("{paths}\ncould not be moved to the trash: {reason}\nDeleting can't be undone."),
                    warnings: Vec::new(),
                    answers: ["Delete for good", "Keep"],
                    decision: RunDecision::Remove(runs),
                }));
            }
            Update::Removed(runs) => {
                let text = match &runs[..] {
                    [run] => format!("{} was deleted.", run.name()),
                    runs => format!("{} runs were deleted.", runs.len()),
                };
                requests.actions.push(Action::Notify(text));
                self.chosen.retain(|path| runs.iter().all(|run| run.path() != path));
                self.sync_selection();
            }
        }
    }

    /// Searches for the worker after a successful set-up.
    fn follow_set_up(&mut self, installation: Installation) {
        let before = self.worker_card.installation.replace(installation);
        let now = self.worker_card.installation.as_ref();
        let is_new = before.is_some_and(|before| Some(&before.status) != now.map(|now| &now.status));
        if is_new && now.and_then(Installation::state) == Some(SetUpState::Done) {
            self.worker_card.refused = None;
            self.check_worker();
        }
    }

    pub(super) fn check_worker(&mut self) {
        self.worker = WorkerState::Asked;
        self.threads().jobs.find_worker();
    }

    fn list_runs(&mut self, listed: ListedRuns) {
        self.listed = listed;
        self.name_curves();
        self.sync_selection();
    }

    fn name_curves(&mut self) {
        let facts: Vec<CurveFacts> = self.drawn.iter().map(|drawn| self.curve_facts(drawn)).collect();
        self.curve_names = distinct(&facts).into();
    }

    fn curve_facts(&self, drawn: &RunCurves) -> CurveFacts {
        let (first, runs) = (&drawn.runs[0], drawn.runs.len());
        match self.summary(first) {
            Some(summary) => CurveFacts { runs, ..summary.naming.clone() },
            None => CurveFacts { title: first.name(), folder: first.name(), runs, ..CurveFacts::default() },
        }
    }

    pub(super) fn select_only(&mut self, runs: Vec<RunFolder>) {
        self.chosen = runs.iter().map(|run| run.path().to_owned()).collect();
        self.charts.reset_view();
        self.sync_selection();
    }

    pub(super) fn focus(&self) -> Option<&Summary> {
        self.found().next_back()
    }

    pub(super) fn summary(&self, run: &RunFolder) -> Option<&Summary> {
        self.listed.find(run.path())
    }

    pub(super) fn sync_selection(&mut self) {
        let focus = self.focus().map(|focus| focus.run.clone());
        if focus != self.focus {
            self.detail = None;
            self.focus.clone_from(&focus);
            self.threads().jobs.send(WatcherCommand::Focus(focus));
        }
        let shown = self.chosen.iter().filter_map(|path| self.listed.find(path));
        self.pens.assign_distinct(&shown.collect::<Vec<&Summary>>());
        self.sync_curves();
    }

    /// Lists the selected runs. If the search hides curves, these are the runs that match it.
    pub(super) fn plotted(&self) -> Vec<RunFolder> {
        let shows = |run: &Summary| !self.charts.choices.only_found || self.list.search.finds(run);
        self.found().filter(|run| shows(run)).map(|run| run.run.clone()).collect()
    }

    pub(super) fn sync_curves(&mut self) {
        let mut groups: Vec<Vec<RunFolder>> = Vec::new();
        let mut known: HashMap<Cow<'_, str>, usize> = HashMap::new();
        // Curves of thousands of runs are not read while only their results are shown.
        let is_read = !self.results.is_open || self.found().count() < 2;
        let plotted = if is_read { self.plotted() } else { Vec::new() };
        for run in &plotted {
            let summary = self.summary(run);
            let key = summary.and_then(|summary| summary.facts.text(REPLICATES));
            let key = key.filter(|_| self.charts.choices.grouped);
            let index = key.map_or(groups.len(), |key| *known.entry(key).or_insert(groups.len()));
            if index == groups.len() {
                groups.push(Vec::new());
            }
            groups[index].push(run.clone());
        }
        let curve_request = CurveRequest {
            groups,
            smoothing: self.charts.choices.smoothing,
            aliases: Arc::clone(&self.listed.aliases),
        };
        if curve_request != self.curve_request {
            self.drawn.retain(|drawn| curve_request.groups.contains(&drawn.runs));
            self.name_curves();
            self.curve_request = curve_request.clone();
            self.threads().plotter.ask(curve_request);
        }
    }
}
