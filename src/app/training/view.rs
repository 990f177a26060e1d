//! Draws the training panel.

use egui::{Button, CentralPanel, Context, Frame, Label, Margin, RichText, ScrollArea, Sides, Ui};
use valleyscope_experiments::difference::DifferenceTable;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::run::CapacityReport;
use valleyscope_experiments::view::Pen;
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_experiments::workload::{DataStatus, DeviceChoice};
use valleyscope_runs::{Notes, NotesEdit, RunCommand, RunFolder};

use super::detail::RunAction;
use super::dialogs::{Dialog, RunDecision, RunQuestion, training_after};
use super::editor::{Feasibility, ForkPoint, GRID, TrainingFault};
use super::list::{ListInput, RunsAction, line_with_name};
use super::panel::TrainingPanel;
use super::plots::TrainingExport;
use super::plotter::RunCurves;
use super::summary::Summary;
use super::watcher::WatcherCommand;
use super::worker::{WorkerAction, WorkerState};
use super::{controls, detail, list, queue};
use crate::app::shell::actions::{Action, Requests};
use crate::app::shell::export::ExportKind;
use crate::app::shell::files::Purpose;
use crate::app::shell::jobs::Job;
use crate::app::shell::presets::PresetCatalog;
use crate::app::shell::window::WindowLayout;
use crate::app::shell::window::{Edge, PanelSizes, SidePanel};
use crate::app::widgets::form::{small_button, with_quotes};
use crate::app::widgets::theme::large_primary_button;
use crate::runs::run_column;

pub(super) const NOT_READY: &str = "The training worker is not ready";

impl TrainingPanel {
    pub(super) fn draw(
        &mut self,
        ui: &mut Ui,
        window: &mut WindowLayout,
        catalog: &PresetCatalog,
        requests: &mut Requests,
    ) {
        self.threads();
        self.list.search.update(&self.listed);
        self.charts.is_presented = window.is_presenting();
        let is_table = self.table.choices.is_open && !window.is_presenting();
        let width = ui.available_width();
        if !window.is_presenting() {
            let left = SidePanel::controls(width);
            left.show_collapsible(ui, &mut window.sizes, &mut window.controls, |ui, sizes| {
                self.left(ui, sizes, catalog, requests);
            });
            if let Some(run) = self.focus().cloned().filter(|_| !is_table) {
                let most = (0.6 * ui.available_height()).max(110.0);
                let (name, edge, range) = ("run in words", Edge::Bottom, 84.0..=most);
                let bottom = SidePanel { name, edge, usual: 190.0, range, frame: None };
                bottom.show(ui, &mut window.sizes, |ui, _| self.run_details(ui, &run, requests));
            }
        }
        CentralPanel::default().show(ui, |ui| {
            self.area = Some(ui.available_rect_before_wrap());
            if is_table {
                self.runs_table(ui, requests);
            }
            if self.has_no_runs() {
                self.no_runs(ui, requests);
            } else if !is_table {
                self.plots(ui, requests);
            }
        });
        self.sync_curves();
        self.show_dialog(ui.ctx());
        self.editor.presets.record_for_undo(ui.ctx(), |_| ());
    }

    fn left(&mut self, ui: &mut Ui, sizes: &mut PanelSizes, catalog: &PresetCatalog, requests: &mut Requests) {
        let height = ui.available_height();
        let most = (height - 130.0).max(120.0);
        let frame = Some(Frame::NONE.inner_margin(Margin { top: 4, ..Margin::ZERO }));
        let (name, edge, range) = ("list of runs", Edge::Bottom, 110.0..=most);
        let bottom =
            SidePanel { name, edge, usual: list::height(self.listed.runs.len()).min(0.45 * height), range, frame };
        if !self.queue.is_empty() {
            let usual = queue::HEIGHT.min(0.25 * height);
            let top = SidePanel { name: "queue", edge: Edge::Bottom, usual, range: 60.0..=0.5 * most, frame };
            top.show(ui, sizes, |ui, _| self.queue_list(ui));
        }
        // The table has the same runs.
        if !self.table.choices.is_open {
            bottom.show(ui, sizes, |ui, _| self.runs_list(ui, requests));
        }
        self.settings(ui, catalog, requests);
    }

    fn queue_list(&mut self, ui: &mut Ui) {
        let Some(runs) = &self.paths.runs else { return };
        if let Some(change) = self.queue.ui(ui, &self.listed, runs) {
            self.threads().jobs.change_queue(change);
        }
    }

    fn runs_list(&mut self, ui: &mut Ui, requests: &mut Requests) {
        if let Some(read_error) = &self.listed.read_error {
            let color = ui.visuals().error_fg_color;
            ui.add(Label::new(RichText::new(read_error).color(color)).selectable(true).wrap());
        }
        let selected = self.selected();
        let input = ListInput { listed: &self.listed, selected: &selected, pens: &self.pens };
        let (sort, hides_curves) = (&mut self.table.choices.sort, &mut self.charts.choices.only_found);
        let action = self.list.ui(ui, input, sort, hides_curves);
        self.handle(ui.ctx(), action, requests);
    }

    fn settings(&mut self, ui: &mut Ui, catalog: &PresetCatalog, requests: &mut Requests) {
        let training = self.training();
        self.data_status.update(ui.ctx(), training.as_ref(), self.worker.handshake(), self.paths.runs.as_deref());
        let fault = self.fault();
        let has_nothing_above = self.has_no_runs() && self.worker.handshake().is_none() && fault.is_none();
        if !has_nothing_above {
            self.start_bar(ui, fault.as_ref(), requests);
            ui.separator();
        }
        // Each preset has its own scroll position.
        let id = ("training controls", self.editor.presets.saved_state_number());
        ScrollArea::vertical().auto_shrink(false).id_salt(id).show(ui, |ui| {
            // Without runs, the card that starts a training has it.
            if !self.has_no_runs() {
                self.worker_card(ui, requests);
            }
            let found = self.data_status.of(training.as_ref());
            let known = controls::SetupStatus { worker: &self.worker, fault: fault.as_ref(), found };
            controls::show(ui, &mut self.editor, &mut self.pins, known, catalog, requests);
        });
    }

    pub(super) fn worker_card(&mut self, ui: &mut Ui, requests: &mut Requests) {
        match self.worker_card.ui(ui, &self.worker, &self.paths, requests) {
            Some(WorkerAction::CheckAgain) => self.check_worker(),
            Some(WorkerAction::Cancel) => self.threads().jobs.cancel_install(),
            None => {}
        }
    }

    fn training(&self) -> Option<Preset> {
        self.editor.preset().base().trainings().into_iter().nth(self.editor.chosen())
    }

    pub(super) fn fault(&self) -> Option<TrainingFault> {
        let training = self.training();
        let device = || missing_device(training.as_ref()?, &self.worker);
        let device = || Some(TrainingFault { path: "device".to_owned(), message: device()? });
        self.editor.fault().or_else(device).or_else(|| self.data_status.fault(training.as_ref()))
    }

    fn start_bar(&mut self, ui: &mut Ui, fault: Option<&TrainingFault>, requests: &mut Requests) {
        ui.add_space(4.0);
        ui.horizontal_wrapped(|ui| {
            // Without runs, the large buttons are the only ones.
            if !self.has_no_runs() {
                self.start_buttons(ui, false, requests);
            }
            if let Some(handshake) = self.worker.handshake() {
                let cuda = handshake.cuda.as_ref().map_or_else(|| "no CUDA".to_owned(), |cuda| format!("CUDA {cuda}"));
                let text = format!("libtorch {}, {cuda}", handshake.libtorch);
                ui.add(Label::new(RichText::new(text).small().weak()).truncate());
            }
        });
        self.fork_line(ui);
        if let Some(fault) = fault.filter(|fault| !fault.is_at(GRID)) {
            // The fault is shown below its field, if that is visible.
            let text = match self.editor.field_name(fault).filter(|name| !name.is_empty()) {
                Some(name) => format!("“{name}” can't be used as it is; see below."),
                None => with_quotes(&fault.message),
            };
            ui.add(Label::new(RichText::new(text).color(ui.visuals().error_fg_color)).wrap());
        }
    }

    /// Shows the buttons that start the chosen training, or all of a preset of several.
    pub(super) fn start_buttons(&mut self, ui: &mut Ui, are_large: bool, requests: &mut Requests) {
        let trainings = self.editor.preset().base().trainings();
        let grid = if let Preset::Grid(grid) = self.editor.preset() { Some(grid.count()) } else { None };
        let (has_worker, is_sound) = (self.worker.handshake().is_some(), self.fault().is_none());
        let button = |ui: &Ui, text: &str| match are_large {
            true => large_primary_button(ui, text),
            false => Button::new(RichText::new(text).strong()),
        };
        if grid.is_none() {
            let button = button(ui, "Start");
            let start = ui.add_enabled(self.can_start(is_sound), button);
            let start = start.on_disabled_hover_text(if has_worker { "See the controls" } else { NOT_READY });
            if start.accessible_name("Start the training").clicked() {
                self.start();
            }
        }
        if grid.is_some() || trainings.len() > 1 {
            let text = format!("Start all {}", grouped(grid.unwrap_or(trainings.len()) as u64));
            let button = if grid.is_some() { button(ui, &text) } else { Button::new(text) };
            self.start_all(ui, button, &trainings, is_sound, requests);
        }
    }

    fn can_start(&self, is_sound: bool) -> bool {
        self.worker.handshake().is_some() && is_sound && !self.forks
    }

    /// Starts the chosen training of the preset.
    fn start(&mut self) {
        let trainings = self.editor.named_trainings().unwrap_or_default();
        let Some(one) = trainings.into_iter().nth(self.editor.chosen()) else { return };
        let saved = self.editor.presets.saved_state();
        let (stem, fork) = (saved.stem.clone(), saved.fork.clone());
        self.forks = fork.is_some();
        self.threads().jobs.train(one, stem, fork);
    }

    fn start_all(
        &self,
        ui: &mut Ui,
        button: Button<'_>,
        trainings: &[Preset],
        is_sound: bool,
        requests: &mut Requests,
    ) {
        let has_worker = self.worker.handshake().is_some();
        let faults = trainings.iter().map(|one| missing_device(one, &self.worker));
        let fault_of_one = faults.zip(1..).find_map(|(fault, number)| Some(format!("Run {number}: {}", fault?)));
        let all = ui.add_enabled(has_worker && is_sound && fault_of_one.is_none(), button);
        let help = "Add the trainings to the queue, which trains them one after another. It goes on with the next start \
                    of the window, or with `valleyscope queue run`.";
        let mut all = all.on_hover_text(help);
        if let Some(why) = fault_of_one.as_deref().or((!has_worker).then_some(NOT_READY)) {
            all = all.on_disabled_hover_text(why);
        }
        if all.accessible_name("Start all trainings of the preset").clicked() {
            self.queue_all(requests);
        }
    }

    /// Adds all trainings of the preset to the queue.
    fn queue_all(&self, requests: &mut Requests) {
        let (Some(threads), Some(worker)) = (&self.threads, self.worker.handshake()) else { return };
        match self.editor.named_trainings() {
            Ok(all) => {
                let stem = self.editor.presets.saved_state().stem.clone();
                threads.jobs.train_all(all, stem, worker.clone());
            }
            Err(text) => {
                let title = "The grid cannot be trained".to_owned();
                requests.actions.push(Action::Report { title, text });
            }
        }
    }

    fn fork_line(&mut self, ui: &mut Ui) {
        let Some(ForkPoint { run, step }) = &self.editor.presets.saved_state().fork else { return };
        let name = run.file_name().unwrap_or(run.as_os_str()).to_string_lossy();
        let step = format!(" at step {}", grouped(*step));
        let label = |ui: &mut Ui| {
            let parts = ["Forks ", &name, &step];
            let shown = line_with_name(ui, ui.visuals().text_color(), parts);
            shown.on_hover_text(format!("{}\n{}", parts.concat(), run.display()));
        };
        let cross = |ui: &mut Ui| small_button(ui, true, "×", "Do not fork", "Start the run at step 0 instead");
        let ((), is_undone) = Sides::new().shrink_left().show(ui, label, cross);
        if is_undone {
            self.editor.forget_fork();
        }
    }

    fn run_details(&mut self, ui: &mut Ui, run: &Summary, requests: &mut Requests) {
        ui.add_space(4.0);
        let detail = self.detail.as_ref().filter(|(of, _)| *of == run.run).map(|(_, detail)| detail);
        let chosen = self.chosen.iter().filter_map(|path| self.listed.find(path));
        let writers: Vec<&Summary> = chosen.filter(|run| run.writes_text).collect();
        let pen = self.pens.of(run);
        let curves: Vec<(&RunCurves, Pen)> = self.drawn.iter().map(|drawn| (drawn, self.pen(&drawn.runs[0]))).collect();
        let Some(action) = detail::show(ui, &mut self.shown, run, pen, detail, &curves, writers.len()) else { return };
        let folder = run.run.clone();
        match action {
            RunAction::Stop => self.threads().jobs.send(WatcherCommand::Send(vec![folder], RunCommand::Stop)),
            RunAction::WriteText => {
                let command = self.shown.texts.command();
                self.threads().jobs.send(WatcherCommand::Send(vec![folder], command));
            }
            RunAction::WriteSaved => {
                self.shown.texts.begin(&writers);
                let runs = writers.iter().map(|run| run.run.clone()).collect();
                let request = self.shown.texts.request();
                self.threads().jobs.write_texts(runs, request);
            }
            RunAction::Change => {
                let command = RunCommand::Set { settings: self.shown.change.settings() };
                self.threads().jobs.send(WatcherCommand::Send(vec![folder], command));
            }
            RunAction::Resume => match silent_worker_warning(run) {
                Some(lost) => {
                    self.dialog = Some(Dialog::Ask(RunQuestion {
                        heading: "Resume this run here?",
                        text: format!("{}\n{}", run.in_full(), folder.path().display()),
                        warnings: vec![lost],
                        answers: ["Resume it here", "Leave it"],
                        decision: RunDecision::Resume(folder),
                    }));
                }
                None => self.threads().jobs.resume(folder),
            },
            RunAction::Fork => {
                let found = detail.and_then(|detail| {
                    let training = Box::new(detail.begun.clone()?);
                    Some((training, detail.changes.clone(), detail.checkpoints.clone()))
                });
                let Some((training, changes, steps)) = found else {
                    let text = format!("The settings of {} cannot be read.", run.title);
                    return requests
                        .actions
                        .push(Action::Report { title: "The run cannot be forked".to_owned(), text });
                };
                let chosen = steps.len() - 1;
                let title = run.in_full();
                self.dialog = Some(Dialog::Fork { run: folder, title, training, changes, steps, chosen });
            }
            RunAction::Describe => {
                let (notes, title) = (run.notes.clone(), run.title.clone());
                self.dialog = Some(Dialog::Describe { run: folder, notes, title, focused: false });
            }
            RunAction::Delete => self.ask_to_delete(&[folder]),
            RunAction::CopyPath => {
                let path = folder.path().display().to_string();
                ui.ctx().copy_text(path.clone());
                requests.actions.push(Action::Notify(format!("Copied {path}")));
            }
        }
    }

    fn show_dialog(&mut self, ctx: &Context) {
        self.worker_card.confirm_install(ctx, &self.paths);
        let Some(is_agreed) = self.dialog.as_mut().and_then(|dialog| dialog.show(ctx)) else { return };
        let Some(dialog) = self.dialog.take().filter(|_| is_agreed) else { return };
        let jobs = &self.threads().jobs;
        match dialog {
            Dialog::Describe { run, notes: Notes { title, note, .. }, .. } => {
                let edits = vec![NotesEdit::Title(title), NotesEdit::Note(note)];
                jobs.send(WatcherCommand::Edit(vec![run], edits));
            }
            Dialog::Fork { run, training, changes, steps, chosen, .. } => {
                let step = steps[chosen];
                let training = training_after(&training, &changes, step).unwrap_or(*training);
                self.editor.fork(training, run.stem(), ForkPoint { run: run.path().to_owned(), step });
            }
            Dialog::Ask(RunQuestion { decision, .. }) => match decision {
                RunDecision::Trash(runs) => jobs.trash(runs),
                RunDecision::Resume(run) => jobs.resume(run),
                RunDecision::Remove(runs) => jobs.remove(runs),
            },
        }
    }
}

pub(super) fn show_found(ui: &mut Ui, Feasibility { data, capacity }: &Feasibility) {
    let visuals = ui.visuals();
    let [usual, warning] = [visuals.weak_text_color(), visuals.warn_fg_color];
    let show = |ui: &mut Ui, text: String, color| {
        ui.add(Label::new(RichText::new(with_quotes(&text)).small().color(color)).wrap())
    };
    if let Ok(DataStatus { data, is_fallback, warnings }) = data {
        let line = show(ui, format!("Data: {data}"), if *is_fallback { warning } else { usual });
        if !warnings.is_empty() {
            line.on_hover_text(with_quotes(&warnings.join("\n")));
        }
    }
    if let Some(CapacityReport { needs, lacks: None, warning: found, .. }) = capacity {
        show(ui, format!("The training {needs}."), usual);
        if let Some(text) = found {
            show(ui, format!("Warning: {text}."), warning);
        }
    }
}

/// Explains why a training cannot have the device that it names, if it cannot.
fn missing_device(training: &Preset, worker: &WorkerState) -> Option<String> {
    let DeviceChoice::Cuda(number) = training.device()? else { return None };
    worker.handshake()?.lacks_cuda(number).map(|complaint| format!("Device: {complaint}."))
}

/// Makes the warning for a run whose worker is on another machine and whose heartbeat is old.
pub(super) fn silent_worker_warning(run: &Summary) -> Option<String> {
    run.status.is_lost().then(|| {
        format!(
            "It was {}. Its worker may still be running on another machine, and would then continue to write into \
             this folder.",
            run.status
        )
    })
}

impl TrainingPanel {
    pub(super) fn runs_table(&mut self, ui: &mut Ui, requests: &mut Requests) {
        let selected = self.selected();
        let input = ListInput { listed: &self.listed, selected: &selected, pens: &self.pens };
        let action = self.table.ui(ui, &mut self.list.search, &input);
        self.handle(ui.ctx(), action, requests);
    }

    fn handle(&mut self, ctx: &Context, action: Option<RunsAction>, requests: &mut Requests) {
        match action {
            None => {}
            Some(RunsAction::Show(runs, is_shown)) => self.show_together(runs, is_shown),
            Some(RunsAction::Open(runs)) => {
                self.table.choices.is_open = false;
                self.select_only(runs);
            }
            Some(RunsAction::Results(runs)) => {
                self.results.is_open = true;
                self.table.choices.is_open = false;
                self.select_only(runs);
            }
            Some(RunsAction::ShowTable(is_open)) => self.table.choices.is_open = is_open,
            Some(RunsAction::Color(run, color)) => {
                self.pens.choose(&run, color);
                self.sync_selection();
            }
            Some(RunsAction::Stop(runs)) => {
                self.threads().jobs.send(WatcherCommand::Send(runs, RunCommand::Stop));
            }
            Some(RunsAction::Compare(runs)) => self.show_differences(ctx, runs),
            Some(RunsAction::Delete(runs)) => self.ask_to_delete(&runs),
            Some(RunsAction::Tag(runs, tag, is_added)) => self.tag(&runs, &tag, is_added),
            Some(RunsAction::Export(runs, lines)) => {
                self.table_export = Some(TrainingExport::Runs(runs, lines));
                requests.actions.push(Action::Export(Some(ExportKind::Data)));
            }
            Some(RunsAction::Import { follows }) => {
                requests.actions.push(Action::Choose(Box::new(Purpose::Runs { follows })));
            }
            Some(RunsAction::Unfollow(folder)) => drop(self.table.followed.remove(&folder)),
        }
    }

    fn show_together(&mut self, runs: Vec<RunFolder>, is_shown: bool) {
        self.chosen.retain(|path| runs.iter().all(|run| run.path() != path));
        if is_shown {
            self.chosen.extend(runs.iter().map(|run| run.path().to_owned()));
        }
        self.sync_selection();
    }

    /// Asks once whether to delete runs. Those in training stay.
    fn ask_to_delete(&mut self, runs: &[RunFolder]) {
        if runs.is_empty() {
            return;
        }
        let known: Vec<&Summary> = runs.iter().filter_map(|run| self.summary(run)).collect();
        let (deleted, staying): (Vec<&Summary>, Vec<&Summary>) =
            known.into_iter().partition(|run| !run.is_open() || run.status.is_lost());
        let names = |runs: &[&Summary]| runs.iter().map(|run| run.in_full()).collect::<Vec<_>>().join("\n");
        let stays = (!staying.is_empty())
            .then(|| format!("Those that are trained stay; stop them first:\n{}", names(&staying)));
        let lost = deleted.iter().find_map(|run| silent_worker_warning(run));
        let (heading, answers, text) = match (&deleted[..], &stays) {
            ([run], None) => (
                "Move this run to the trash?",
                ["Move to trash", "Keep the run"],
                format!("{}\n{}\nIts curves and checkpoints go with it.", run.in_full(), run.run.path().display()),
            ),
            (runs, _) => (
                "Move these runs to the trash?",
                ["Move to trash", "Keep the runs"],
                format!("{} runs, with their curves and checkpoints:\n{}", runs.len(), names(runs)),
            ),
        };
        let decision = RunDecision::Trash(deleted.iter().map(|run| run.run.clone()).collect());
        let warnings = stays.into_iter().chain(lost).collect();
        self.dialog = Some(Dialog::Ask(RunQuestion { heading, text, warnings, answers, decision }));
    }

    fn tag(&mut self, runs: &[RunFolder], tag: &str, is_added: bool) {
        let edit = if is_added { NotesEdit::Tag(tag.to_owned()) } else { NotesEdit::Untag(tag.to_owned()) };
        self.threads().jobs.send(WatcherCommand::Edit(runs.to_vec(), vec![edit]));
    }
}

impl TrainingPanel {
    /// Reads the settings of two or more runs in the background, and then shows a window with the table of those that
    /// differ.
    pub(super) fn show_differences(&mut self, ctx: &Context, runs: Vec<RunFolder>) {
        let name = |run: &RunFolder| self.summary(run).map_or_else(|| run.name(), |run| run.heading()[0].clone());
        let runs: Vec<(String, RunFolder)> = runs.into_iter().map(|run| (name(&run), run)).collect();
        let columns = move || runs.into_iter().map(|(name, run)| run_column(&run, name)).collect::<Result<Vec<_>, _>>();
        self.comparing = Some(Job::start(ctx, move |_| match columns() {
            Ok(columns) => Action::ShowDifferences(Box::new(DifferenceTable::of(&columns))),
            Err(text) => Action::Report { title: "The runs were not compared".to_owned(), text },
        }));
    }
}
