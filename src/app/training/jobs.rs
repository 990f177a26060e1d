//! The background jobs of the tab, each on a separate thread: querying the worker's devices, starting, resuming,
//! deleting.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, sync_channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use valleyscope_engine::terminal_escape::visible_path;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::run::{CapacityReport, Fork, RunConfig};
use valleyscope_runs::{
    CheckpointChoice, Handshake, Queue, RunFolder, SavedModel, TextRequest, WorkerProgram, check_removable, remove,
};

use super::editor::ForkPoint;
use super::queue::{QueueChange, QueueWork};
use super::watcher::{self, Outbox, Update, WatcherCommand};
use super::worker::{TrainingPaths, WorkerState};
use crate::app::shell::actions::Action;
use crate::app::shell::jobs::Wake;
use crate::runs::import::{Follower, Outcome as ImportOutcome, import_runs};

const MOST_UPDATES: usize = 64;

/// The handle of the background threads, which end when it is dropped.
pub(super) struct TrainingJobs {
    paths: TrainingPaths,
    outbox: Outbox,
    updates: Receiver<Update>,
    commands: Sender<WatcherCommand>,
    /// A token that lives as long as the window.
    window: Arc<()>,
}

impl TrainingJobs {
    pub(super) fn open(paths: TrainingPaths, wake: Wake) -> TrainingJobs {
        let (sender, updates) = sync_channel(MOST_UPDATES);
        let outbox = Outbox { updates: sender, wake };
        let commands = watcher::start(paths.clone(), outbox.clone());
        let jobs = TrainingJobs { paths, outbox, updates, commands, window: Arc::new(()) };
        if let Some(mut work) = QueueWork::new(&jobs.paths, Arc::downgrade(&jobs.window), jobs.outbox.clone()) {
            std::thread::spawn(move || work.run());
        }
        jobs
    }

    pub(super) fn next(&self) -> Option<Update> {
        self.updates.try_recv().ok()
    }

    pub(super) fn send(&self, command: WatcherCommand) {
        // The thread lives as long as this value.
        let _ = self.commands.send(command);
    }

    pub(super) fn find_worker(&self) {
        let named = self.paths.worker.clone();
        self.in_background(move |outbox| {
            let worker = WorkerProgram::find(named.as_deref()).and_then(|worker| worker.handshake());
            let state = worker.map_or_else(|error| WorkerState::of(&error), WorkerState::Ready);
            outbox.send(Update::Worker(Box::new(state)));
            Ok(())
        });
    }

    pub(super) fn cancel_install(&self) {
        let Some(folder) = self.paths.worker_folder.clone() else { return };
        self.in_background(move |_| {
            let path = folder.path().display();
            let failed = |error| format!("The set-up cannot be cancelled: {path} cannot be written: {error}.");
            folder.cancel().map_err(failed)
        });
    }

    /// Trains a preset of one run, from its beginning or from a checkpoint.
    pub(super) fn train(&self, mut training: Preset, stem: String, fork: Option<ForkPoint>) {
        let (named, folder) = (self.paths.worker.clone(), self.paths.runs.clone());
        self.in_background(move |outbox| {
            let parent = folder.ok_or(NO_FOLDER)?;
            complete(&mut training)?;
            let (worker, has) = worker_for(named.as_deref(), outbox)?;
            check_capacity(&training, &has, &parent)?;
            let run = match &fork {
                None => RunFolder::create(&parent, &stem, &training.to_ron()).map_err(|error| error.to_string()),
                Some(point) => point.fork(&parent, &stem, &training),
            };
            begin(&worker, &run?, fork, outbox)
        });
    }

    /// Adds these presets to the queue.
    pub(super) fn train_all(&self, mut trainings: Vec<Preset>, stem: String, worker: Handshake) {
        let folder = self.paths.runs.clone();
        self.in_background(move |_| {
            let queue = Queue::of(folder.as_deref().ok_or(NO_FOLDER)?);
            trainings.iter_mut().try_for_each(|training| {
                complete(training)?;
                check_capacity(training, &worker, queue.runs())
            })?;
            let added = queue.add(&stem, trainings.iter().map(Preset::to_ron));
            added.map(drop).map_err(|error| error.to_string())
        });
    }

    pub(super) fn change_queue(&self, change: QueueChange) {
        let Some(queue) = self.paths.runs.as_deref().map(Queue::of) else { return };
        self.in_background(move |_| change.apply(&queue).map_err(|error| error.to_string()));
    }

    pub(super) fn resume(&self, run: RunFolder) {
        let named = self.paths.worker.clone();
        self.in_background(move |outbox| {
            let same = RunConfig::check_run(&run).map_err(|error| error.to_string());
            let begun = same.and_then(|()| worker_for(named.as_deref(), outbox)).and_then(|(worker, _)| {
                let launched = worker
                    .start(&run, true, None)
                    .and_then(|launched| launched.wait_until_at_work(WorkerProgram::START_TIMEOUT));
                launched.map_err(|error| error.to_string())
            });
            begun.map_err(|error| format!("{} was not resumed: {error}", run.name()))?;
            outbox.send(Update::notice(format!("{} was resumed.", run.name())));
            Ok(())
        });
    }

    /// Generates a text with the newest checkpoint of each of some runs.
    pub(super) fn write_texts(&self, runs: Vec<RunFolder>, request: TextRequest) {
        let named = self.paths.worker.clone();
        self.in_background(move |outbox| {
            let worker = worker_for(named.as_deref(), outbox);
            for run in runs {
                let text = worker.as_ref().map_err(String::clone).and_then(|(worker, _)| {
                    let checkpoint = CheckpointChoice::Newest.find(&run).map_err(|error| error.to_string())?;
                    let model = SavedModel { run: run.clone(), step: checkpoint.step };
                    let text = model.sample(worker, &request, &[]).map_err(|error| error.to_string())?;
                    Ok((checkpoint.step, text))
                });
                outbox.send(Update::Text(run, text));
            }
            Ok(())
        });
    }

    pub(super) fn trash(&self, runs: Vec<RunFolder>) {
        self.in_background(move |outbox| {
            let (mut refused, mut reason) = (Vec::new(), String::new());
            let deleted = delete(runs, outbox, |run| {
                check_removable(&run).map_err(|error| error.to_string())?;
                Ok(match trash::delete(run.path()) {
                    Ok(()) => Some(run),
                    Err(error) => {
                        reason = error.to_string();
                        refused.push(run);
                        None
                    }
                })
            });
            if !refused.is_empty() {
                outbox.send(Update::NotTrashed { runs: refused, reason });
            }
            deleted
        });
    }

    pub(super) fn remove(&self, runs: Vec<RunFolder>) {
        self.in_background(move |outbox| {
            delete(runs, outbox, |run| remove(&run).map(|()| Some(run)).map_err(|error| error.to_string()))
        });
    }

    pub(super) fn import(&self, from: PathBuf) {
        let folder = self.paths.runs.clone();
        self.in_background(move |outbox| {
            let folder = folder.ok_or(NO_FOLDER)?;
            let (mut made, mut lines) = (0, Vec::new());
            let outcome = import_runs(&folder, &from, |imported| {
                made += usize::from(matches!(imported.outcome, ImportOutcome::Made { .. }));
                lines.extend(imported.lines());
            });
            outcome.map_err(|error| format!("Nothing was imported: {error}."))?;
            let title = match made {
                0 => "No run was imported".to_owned(),
                1 => "1 run was imported".to_owned(),
                made => format!("{made} runs were imported"),
            };
            outbox.send(Update::Message(Action::Report { title, text: lines.join("\n") }));
            Ok(())
        });
    }

    /// Follows the runs in a folder as long as they are `wanted`.
    pub(super) fn follow(&self, from: PathBuf, wanted: Weak<()>) {
        let folder = self.paths.runs.clone();
        self.in_background(move |outbox| {
            let folder = folder.ok_or(NO_FOLDER)?;
            let mut follower = Follower::new(&folder, &from);
            while wanted.upgrade().is_some() {
                let mut lines = Vec::new();
                let polled = follower.poll(|imported| lines.extend(imported.lines()));
                polled.map_err(|error| format!("{} is no longer followed: {error}.", visible_path(&from)))?;
                match &lines[..] {
                    [] => {}
                    [line] => outbox.send(Update::notice(line.clone())),
                    lines => outbox.send(Update::notice(format!("{} (and {} more)", lines[0], lines.len() - 1))),
                }
                std::thread::sleep(Duration::from_millis(200));
            }
            Ok(())
        });
    }

    /// Works in a thread of its own, and reports its failure to the window.
    fn in_background(&self, work: impl FnOnce(&Outbox) -> Result<(), String> + Send + 'static) {
        let outbox = self.outbox.clone();
        std::thread::spawn(move || work(&outbox).unwrap_or_else(|error| outbox.send(Update::Failed(error))));
    }
}

/// Deletes runs by `delete`, which returns those that are gone.
///
/// # Errors
///
/// Fails with the reasons why some were not deleted.
fn delete(
    runs: Vec<RunFolder>,
    outbox: &Outbox,
    delete: impl FnMut(RunFolder) -> Result<Option<RunFolder>, String>,
) -> Result<(), String> {
    let (mut gone, mut failures) = (Vec::new(), Vec::new());
    for outcome in runs.into_iter().map(delete) {
        match outcome {
            Ok(run) => gone.extend(run),
            Err(reason) => failures.push(reason),
        }
    }
    if !gone.is_empty() {
        outbox.send(Update::Removed(gone));
    }
    match failures.len() {
        0 => Ok(()),
        1 => Err(format!("A run was not deleted: {}", failures[0])),
        _ => Err(format!("Some runs were not deleted: {}", failures.join("\n"))),
    }
}

const NO_FOLDER: &str = "This system has no folder for data, so runs cannot be stored.";

/// Sets what is left to the data. Those with a fault leave no run.
fn complete(training: &mut Preset) -> Result<(), String> {
    let workload = training.workload_mut().ok_or("Expected a preset of a training.")?;
    workload.complete().map_err(|error| error.to_string())
}

/// Refuses a training that would not fit, before a run is created.
pub(super) fn check_capacity(training: &Preset, has: &Handshake, runs: &Path) -> Result<(), String> {
    CapacityReport::of(training, has, runs).and_then(|report| report.lacks).map_or(Ok(()), Err)
}

/// Finds the worker and queries it again, as it may have been replaced. Sends the window an update if it cannot be
/// used.
pub(super) fn worker_for(named: Option<&Path>, outbox: &Outbox) -> Result<(WorkerProgram, Handshake), String> {
    let asked = WorkerProgram::find(named).and_then(|worker| {
        let has = worker.handshake()?;
        Ok((worker, has))
    });
    asked.map_err(|error| {
        outbox.send(Update::Worker(Box::new(WorkerState::of(&error))));
        error.to_string()
    })
}

impl ForkPoint {
    fn fork(&self, parent: &Path, stem: &str, training: &Preset) -> Result<RunFolder, String> {
        let run = RunFolder::open(&self.run).map_err(|error| format!("It cannot be forked: {error}."))?;
        let created = Fork { run, step: Some(self.step) }.create(parent, stem, training);
        created.map(|(run, _)| run).map_err(|error| error.to_string())
    }
}

fn begin(worker: &WorkerProgram, run: &RunFolder, fork: Option<ForkPoint>, outbox: &Outbox) -> Result<(), String> {
    let is_fork = fork.is_some();
    outbox.send(Update::Made(run.clone(), fork));
    let begun =
        worker.start(run, is_fork, None).and_then(|launched| launched.wait_until_at_work(WorkerProgram::START_TIMEOUT));
    begun.map_err(|error| format!("{} did not begin: {error}", run.name()))
}
