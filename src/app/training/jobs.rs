//! The background jobs of the tab, each on a separate thread: querying the worker's devices, starting, resuming,
//! deleting.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::time::Duration;
use std::{fs, io};

use serde::{Deserialize, Serialize};
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::run::{CapacityReport, Fork, RunConfig};
use valleyscope_experiments::workload::DataStatus;
use valleyscope_runs::atomic_file::write_plain_file;
use valleyscope_runs::plain_file::Links;
use valleyscope_runs::{
    CheckpointChoice, Handshake, RunFolder, RunReader, SavedModel, Status, TextRequest, WorkerProgram, check_removable,
    now, plain_file, remove,
};

use super::editor::{Feasibility, ForkPoint};
use super::watcher::{self, Update, WatcherCommand};
use super::worker::{TrainingPaths, WorkerState};
use crate::app::shell::jobs::Wake;
use crate::runs::import::{Outcome as ImportOutcome, import_runs};

const START_TIMEOUT: Duration = Duration::from_secs(120);
const MOST_UPDATES: usize = 64;

/// The handle of the background threads, which end when it is dropped.
pub(super) struct TrainingJobs {
    paths: TrainingPaths,
    wake: Wake,
    outbox: SyncSender<Update>,
    updates: Receiver<Update>,
    commands: Sender<WatcherCommand>,
    /// A token that lives as long as the window.
    window: Arc<()>,
}

impl TrainingJobs {
    pub(super) fn open(paths: TrainingPaths, wake: Wake) -> TrainingJobs {
        let (outbox, updates) = sync_channel(MOST_UPDATES);
        let commands = watcher::start(paths.clone(), outbox.clone(), wake.clone());
        let jobs = TrainingJobs { paths, wake, outbox, updates, commands, window: Arc::new(()) };
        jobs.take_over_queue();
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
        self.in_background(move |send| {
            let worker = WorkerProgram::find(named.as_deref()).and_then(|worker| worker.handshake());
            let state = worker.map_or_else(|error| WorkerState::of(&error), WorkerState::Ready);
            send(Update::Worker(Box::new(state)));
        });
    }

    pub(super) fn install(&self) {
        let TrainingPaths { worker_folder: Some(folder), install: Some(command), .. } = self.paths.clone() else {
            return;
        };
        self.in_background(move |send| send(Update::InstallBegun(command.begin(&folder))));
    }

    pub(super) fn cancel_install(&self) {
        let Some(folder) = self.paths.worker_folder.clone() else { return };
        self.in_background(move |send| {
            if let Err(error) = folder.cancel() {
                let path = folder.path().display();
                send(Update::Failed(format!("The set-up cannot be cancelled: {path} cannot be written: {error}.")));
            }
        });
    }

    /// Determines the data of a training, and whether it fits, if the worker's devices are known.
    pub(super) fn check_feasibility(&self, training: Preset, worker: Option<Handshake>) {
        let folder = self.paths.runs.clone();
        self.in_background(move |send| {
            let data = data_status_of(&training);
            let capacity = worker.zip(folder).and_then(|(has, runs)| CapacityReport::of(&training, &has, &runs));
            send(Update::DataStatus(Box::new(training), Feasibility { data, capacity }));
        });
    }

    /// Trains a preset of one run, from its beginning or from a checkpoint.
    pub(super) fn train(&self, training: Preset, stem: String, fork: Option<ForkPoint>) {
        let (named, folder) = (self.paths.worker.clone(), self.paths.runs.clone());
        self.in_background(move |send| {
            let Some(parent) = folder else { return send(Update::Failed(NO_FOLDER.to_owned())) };
            // Data with a detected fault leave no run.
            let data = data_status_of(&training);
            let begun = data.and_then(|_| worker_for(named.as_deref(), send)).and_then(|(worker, has)| {
                check_capacity(&training, &has, &parent)?;
                let run = match &fork {
                    None => RunFolder::create(&parent, &stem, &training.to_ron()).map_err(|error| error.to_string()),
                    Some(point) => point.fork(&parent, &stem, &training),
                };
                begin(&worker, &run?, fork, send)
            });
            if let Err(error) = begun {
                send(Update::Failed(error));
            }
        });
    }

    /// Trains these presets, one after another, in a queue that outlives the window.
    pub(super) fn train_all(&self, trainings: Vec<Preset>, stem: String, worker: Handshake) {
        let folder = self.paths.runs.clone();
        self.queue_in_background(move || {
            let folder = folder.ok_or(NO_FOLDER)?;
            trainings.iter().try_for_each(|training| {
                data_status_of(training)?;
                check_capacity(training, &worker, &folder)
            })?;
            let queue = Queue::begin(&folder, stem, &trainings);
            queue.map(Some).map_err(|error| format!("The runs cannot be queued in {}: {error}.", folder.display()))
        });
    }

    fn take_over_queue(&self) {
        let Some(folder) = self.paths.runs.clone().filter(|folder| Queue::is_in(folder)) else { return };
        self.queue_in_background(move || {
            let queue = Queue::take_over(&folder);
            queue.map_err(|error| format!("The queue in {} cannot be read: {error}.", folder.display()))
        });
    }

    fn queue_in_background(&self, queue: impl FnOnce() -> Result<Option<Queue>, String> + Send + 'static) {
        let (named, window) = (self.paths.worker.clone(), Arc::downgrade(&self.window));
        self.in_background(move |send| {
            let mut queue = match queue() {
                Ok(Some(queue)) => queue,
                Ok(None) => return,
                Err(error) => return send(Update::Failed(error)),
            };
            let outcome = train_queue(&mut queue, named.as_deref(), &window, send);
            let rest = match queue.count() {
                0 => "",
                1 => " The run that waited for it will not be started.",
                _ => " The runs that waited for it will not be started.",
            };
            match outcome {
                Ok(Outcome::WindowClosed) => return,
                Ok(Outcome::Finished) => {}
                Ok(Outcome::Stopped(name)) => send(Update::Notice(format!("{name} was stopped.{rest}"))),
                Err(error) => send(Update::Failed(error + rest)),
            }
            if let Err(error) = queue.end() {
                send(Update::Failed(format!("The queue cannot be removed: {error}.")));
            }
        });
    }

    pub(super) fn resume(&self, run: RunFolder) {
        let named = self.paths.worker.clone();
        self.in_background(move |send| {
            let same = RunConfig::check_run(&run).map_err(|error| error.to_string());
            let begun = same.and_then(|()| worker_for(named.as_deref(), send)).and_then(|(worker, _)| {
                let launched =
                    worker.start(&run, true, None).and_then(|launched| launched.wait_until_at_work(START_TIMEOUT));
                launched.map_err(|error| error.to_string())
            });
            match begun {
                Ok(()) => send(Update::Notice(format!("{} was resumed.", run.name()))),
                Err(error) => send(Update::Failed(format!("{} was not resumed: {error}", run.name()))),
            }
        });
    }

    /// Generates a text with the newest checkpoint of each of some runs.
    pub(super) fn write_texts(&self, runs: Vec<RunFolder>, request: TextRequest) {
        let named = self.paths.worker.clone();
        self.in_background(move |send| {
            let worker = worker_for(named.as_deref(), send);
            for run in runs {
                let text = worker.as_ref().map_err(String::clone).and_then(|(worker, _)| {
                    let checkpoint = CheckpointChoice::Newest.find(&run).map_err(|error| error.to_string())?;
                    let model = SavedModel { run: run.clone(), step: checkpoint.step };
                    let text = model.sample(worker, &request, &[]).map_err(|error| error.to_string())?;
                    Ok((checkpoint.step, text))
                });
                send(Update::Text(run, text));
            }
        });
    }

    pub(super) fn trash(&self, runs: Vec<RunFolder>) {
        self.in_background(move |send| {
            let (mut refused, mut reason) = (Vec::new(), String::new());
            delete(runs, send, |run| {
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
                send(Update::NotTrashed { runs: refused, reason });
            }
        });
    }

    pub(super) fn remove(&self, runs: Vec<RunFolder>) {
        self.in_background(move |send| {
            delete(runs, send, |run| remove(&run).map(|()| Some(run)).map_err(|error| error.to_string()));
        });
    }

    pub(super) fn import(&self, from: PathBuf) {
        let folder = self.paths.runs.clone();
        self.in_background(move |send| {
            let Some(folder) = folder else { return send(Update::Failed(NO_FOLDER.to_owned())) };
            let (mut made, mut lines) = (0, Vec::new());
            let outcome = import_runs(&folder, &from, |imported| {
                made += usize::from(matches!(imported.outcome, ImportOutcome::Made { .. }));
                lines.extend(imported.lines());
            });
            match outcome {
                Ok(()) => send(Update::Imported { made, report: lines.join("\n") }),
                Err(error) => send(Update::Failed(format!("Nothing was imported: {error}."))),
            }
        });
    }

    fn in_background(&self, work: impl FnOnce(&dyn Fn(Update)) + Send + 'static) {
        let (outbox, wake) = (self.outbox.clone(), self.wake.clone());
        std::thread::spawn(move || {
            work(&|update| {
                // The window may be closed.
                let _ = outbox.send(update);
                wake.now();
            });
        });
    }
}

/// Deletes runs by `delete`, which returns those that are gone, and reports the outcome of each to the window.
fn delete(
    runs: Vec<RunFolder>,
    send: &dyn Fn(Update),
    delete: impl FnMut(RunFolder) -> Result<Option<RunFolder>, String>,
) {
    let (mut gone, mut failures) = (Vec::new(), Vec::new());
    for outcome in runs.into_iter().map(delete) {
        match outcome {
            Ok(run) => gone.extend(run),
            Err(reason) => failures.push(reason),
        }
    }
    if !gone.is_empty() {
        send(Update::Removed(gone));
    }
    if !failures.is_empty() {
        let what = if failures.len() == 1 { "A run was" } else { "Some runs were" };
        send(Update::Failed(format!("{what} not deleted: {}", failures.join("\n"))));
    }
}

const NO_FOLDER: &str = "This system has no folder for data, so runs cannot be stored.";

fn data_status_of(training: &Preset) -> Result<DataStatus, String> {
    let workload = training.workload().ok_or("Expected a preset of a training.")?;
    workload.data_status().map_err(|error| error.to_string())
}

/// Refuses a training that would not fit, before a run is created.
fn check_capacity(training: &Preset, has: &Handshake, runs: &Path) -> Result<(), String> {
    CapacityReport::of(training, has, runs).and_then(|report| report.lacks).map_or(Ok(()), Err)
}

/// Finds the worker and queries it again, as it may have been replaced. Sends the window an update if it cannot be
/// used.
fn worker_for(named: Option<&Path>, send: &dyn Fn(Update)) -> Result<(WorkerProgram, Handshake), String> {
    let worker = WorkerProgram::find(named).and_then(|worker| Ok((worker.handshake()?, worker)));
    let worker = worker.map(|(has, worker)| (worker, has));
    worker.map_err(|error| {
        send(Update::Worker(Box::new(WorkerState::of(&error))));
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

fn begin(
    worker: &WorkerProgram,
    run: &RunFolder,
    fork: Option<ForkPoint>,
    send: &dyn Fn(Update),
) -> Result<(), String> {
    let is_fork = fork.is_some();
    send(Update::Made(run.clone(), fork));
    let begun = worker.start(run, is_fork, None).and_then(|launched| launched.wait_until_at_work(START_TIMEOUT));
    begun.map_err(|error| format!("{} did not begin: {error}", run.name()))
}

enum Outcome {
    Finished,
    Stopped(String),
    /// The window was closed; the next one continues the queue.
    WindowClosed,
}

/// Trains the runs of the queue, each after the previous one has finished. An error is the reason why the rest is not
/// trained.
fn train_queue(
    queue: &mut Queue,
    named: Option<&Path>,
    window: &Weak<()>,
    send: &dyn Fn(Update),
) -> Result<Outcome, String> {
    loop {
        if let Some(path) = queue.current() {
            let run = RunFolder::open(path).map_err(|error| format!("The queue ends: {error}."))?;
            let name = run.name();
            match wait_for(&run, window) {
                Wait::Ended(Status::Stopped) => return Ok(Outcome::Stopped(name)),
                Wait::Ended(Status::Finished) => {}
                Wait::Ended(status) => return Err(format!("The queue ends, as {name} has not finished: {status}.")),
                Wait::Gone => return Err(format!("The queue ends, as {name} is gone.")),
                Wait::WindowClosed => return Ok(Outcome::WindowClosed),
            }
        }
        let Some((stem, config)) = queue.first() else { return Ok(Outcome::Finished) };
        let (worker, has) = worker_for(named, send)?;
        if let Ok(training) = Preset::parse(config, RunFolder::CONFIG) {
            check_capacity(&training, &has, queue.folder())?;
        }
        let run = RunFolder::create(queue.folder(), stem, config).map_err(|error| error.to_string())?;
        queue.advance(&run).map_err(|error| format!("The queue cannot be written: {error}."))?;
        begin(&worker, &run, None, send)?;
    }
}

enum Wait {
    Ended(Status),
    Gone,
    WindowClosed,
}

/// Blocks until a run has ended, or the window is closed.
fn wait_for(run: &RunFolder, window: &Weak<()>) -> Wait {
    let mut reader = RunReader::brief(run.clone());
    while window.upgrade().is_some() {
        // A folder that is temporarily unreadable may be on another machine.
        let status = reader.status(now());
        if !run.path().is_dir() {
            return Wait::Gone;
        }
        if let Ok(status) = status
            && !status.is_open()
        {
            return Wait::Ended(status);
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    Wait::WindowClosed
}

// The queue of waiting trainings, in a file so that it outlives the window.
//
// The file holds the current run and the waiting configs. A lock marks the window that manages it; the next window
// takes over the queue of a closed one.

const FILE: &str = "queue.json";
/// The size limit of the file in bytes, more than any valid queue has.
const MOST: u64 = 64 << 20;
const LOCK: &str = "queue.lock";

#[derive(Debug, Serialize, Deserialize)]
struct Waiting {
    /// The stem of the names of the runs' folders.
    stem: String,
    current: Option<PathBuf>,
    configs: Vec<String>,
}

/// A queue that this window manages.
#[derive(Debug)]
pub(super) struct Queue {
    folder: PathBuf,
    waiting: Waiting,
    _lock: File,
}

impl Queue {
    /// Whether a folder has a queue, of an earlier window or of another one.
    pub(super) fn is_in(folder: &Path) -> bool {
        folder.join(FILE).is_file()
    }

    /// Creates a queue of these trainings.
    ///
    /// # Errors
    ///
    /// Fails if there is a queue already, or it cannot be written.
    pub(super) fn begin(folder: &Path, stem: String, trainings: &[Preset]) -> io::Result<Queue> {
        fs::create_dir_all(folder)?;
        let lock = lock(folder)?.ok_or_else(|| {
            io::Error::other("there is a queue already; it ends after its last run, or when its run is stopped")
        })?;
        let configs = trainings.iter().map(Preset::to_ron).collect();
        let waiting = Waiting { stem, current: None, configs };
        let queue = Queue { folder: folder.to_owned(), waiting, _lock: lock };
        queue.write()?;
        Ok(queue)
    }

    /// Takes over the queue of an earlier window, unless another window manages it.
    pub(super) fn take_over(folder: &Path) -> io::Result<Option<Queue>> {
        if !Queue::is_in(folder) {
            return Ok(None);
        }
        let Some(lock) = lock(folder)? else { return Ok(None) };
        let text = match plain_file::read_text(&folder.join(FILE), Links::Refused, MOST) {
            Ok(text) => text,
            // Another window has just finished it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let waiting = serde_json::from_str(&text)?;
        Ok(Some(Queue { folder: folder.to_owned(), waiting, _lock: lock }))
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn current(&self) -> Option<&Path> {
        self.waiting.current.as_deref()
    }

    pub(super) fn count(&self) -> usize {
        self.waiting.configs.len()
    }

    pub(super) fn first(&self) -> Option<(&str, &str)> {
        Some((&self.waiting.stem, self.waiting.configs.first()?))
    }

    pub(super) fn advance(&mut self, run: &RunFolder) -> io::Result<()> {
        self.waiting.configs.remove(0);
        self.waiting.current = Some(run.path().to_owned());
        self.write()
    }

    pub(super) fn end(self) -> io::Result<()> {
        match fs::remove_file(self.folder.join(FILE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn write(&self) -> io::Result<()> {
        let text = serde_json::to_string_pretty(&self.waiting).expect("it holds nothing that JSON cannot express");
        write_plain_file(&self.folder.join(FILE), (text + "\n").as_bytes())
    }
}

/// Locks the queue; `None` if another window holds the lock.
fn lock(folder: &Path) -> io::Result<Option<File>> {
    let file = plain_file::open_to_write(&folder.join(LOCK))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}
