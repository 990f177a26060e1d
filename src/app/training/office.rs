//! What takes time, done on threads of their own: asking the worker, starting, resuming, deleting.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, SyncSender, sync_channel};
use std::time::Duration;

use egui::Context;

use super::install::{InstallCommand, Installation};
use super::watcher::{self, Detail, Order, Summary};
use crate::machine::WorkerFolder;
use crate::preset::Preset;
use crate::run::{
    Handshake, LaunchError, RunFolder, RunReader, Timestamp, WorkerProgram, check_removable, remove, runs_folder,
};

/// The worker has this long to begin.
const AT_WORK: Duration = Duration::from_secs(120);
/// News that wait to be taken.
const MOST_NEWS: usize = 64;

/// What the threads tell the window.
pub enum News {
    /// All runs there are, and why the folder cannot be read, if it cannot.
    Runs(Vec<Summary>, Option<String>),
    Detail(RunFolder, Box<Detail>),
    Worker(Box<WorkerState>),
    /// How it stands with the worker's set-up.
    SetUp(Box<Installation>),
    /// The worker's set-up has begun, or why it has not.
    InstallBegun(Result<(), String>),
    /// A run was made, and its worker is being started.
    Made(RunFolder),
    /// Something that is worth a notice.
    Said(String),
    Failed(String),
    /// The desktop's trash does not take it.
    NotTrashed {
        run: RunFolder,
        reason: String,
    },
    Removed(RunFolder),
}

/// What is known of the worker.
#[derive(Clone, Debug)]
pub enum WorkerState {
    Asked,
    Ready(Handshake),
    /// It is not installed.
    Missing(String),
    /// It is there and cannot be used.
    Unusable(String),
}

impl WorkerState {
    fn of(error: &LaunchError) -> WorkerState {
        match error {
            LaunchError::Missing | LaunchError::NoFile { .. } => WorkerState::Missing(error.to_string()),
            _ => WorkerState::Unusable(error.to_string()),
        }
    }
}

/// Where things are, and how they are got.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Where runs are kept.
    pub runs: Option<PathBuf>,
    /// The worker, in place of the one that is found.
    pub worker: Option<PathBuf>,
    /// Where the worker's set-up puts it.
    pub worker_folder: Option<WorkerFolder>,
    /// What begins that set-up, where it can be begun from here.
    pub install: Option<InstallCommand>,
}

impl Places {
    pub fn of_user() -> Places {
        Places {
            runs: runs_folder(),
            worker: None,
            worker_folder: WorkerFolder::of_user(),
            install: InstallCommand::of_project(),
        }
    }

    /// Whether a set-up brings the worker that is looked for: it does not where another is named.
    pub fn can_be_set_up(&self) -> bool {
        let named = WorkerProgram::named(self.worker.as_deref());
        named.is_none_or(|(_, path)| self.worker_folder.as_ref().is_some_and(|folder| folder.program() == path))
    }
}

/// The threads, as seen from the window. They begin with it.
pub struct Office {
    places: Places,
    context: Context,
    outbox: SyncSender<News>,
    news: Receiver<News>,
    orders: Sender<Order>,
}

impl Office {
    pub fn open(places: Places, context: Context) -> Office {
        let (outbox, news) = sync_channel(MOST_NEWS);
        let orders = watcher::start(places.runs.clone(), places.worker_folder.clone(), outbox.clone(), context.clone());
        Office { places, context, outbox, news, orders }
    }

    pub fn next(&self) -> Option<News> {
        self.news.try_recv().ok()
    }

    pub fn order(&self, order: Order) {
        // The thread lives as long as this.
        let _ = self.orders.send(order);
    }

    /// Finds the worker and asks what it can use.
    pub fn shake_hands(&self) {
        let named = self.places.worker.clone();
        self.in_background(move |tell| {
            let worker = WorkerProgram::find(named.as_deref()).and_then(|worker| worker.handshake());
            let state = worker.map_or_else(|error| WorkerState::of(&error), WorkerState::Ready);
            tell(News::Worker(Box::new(state)));
        });
    }

    /// Begins the set-up of the worker, which goes on in a process of its own.
    pub fn install(&self) {
        let Places { worker_folder: Some(folder), install: Some(command), .. } = self.places.clone() else { return };
        self.in_background(move |tell| tell(News::InstallBegun(command.begin(&folder))));
    }

    /// Asks the set-up of the worker to end.
    pub fn cancel_install(&self) {
        let Some(folder) = self.places.worker_folder.clone() else { return };
        self.in_background(move |tell| {
            if let Err(error) = folder.cancel() {
                let path = folder.path().display();
                tell(News::Failed(format!("The set-up cannot be cancelled: {path} cannot be written: {error}.")));
            }
        });
    }

    /// Trains these presets, one after another.
    pub fn train(&self, trainings: Vec<Preset>, stem: String) {
        let (named, folder) = (self.places.worker.clone(), self.places.runs.clone());
        self.in_background(move |tell| {
            let Some(parent) = folder else {
                let text = "This system knows no folder for data, so there is no place for runs.";
                return tell(News::Failed(text.to_owned()));
            };
            let worker = match WorkerProgram::find(named.as_deref()) {
                Ok(worker) => worker,
                Err(error) => {
                    tell(News::Worker(Box::new(WorkerState::of(&error))));
                    return tell(News::Failed(error.to_string()));
                }
            };
            let several = trainings.len() > 1;
            for training in trainings {
                let run = match RunFolder::create(&parent, &stem, &training.to_ron()) {
                    Ok(run) => run,
                    Err(error) => return tell(News::Failed(error.to_string())),
                };
                tell(News::Made(run.clone()));
                let begun = worker.start(&run, false).and_then(|launched| launched.wait_until_at_work(AT_WORK));
                if let Err(error) = begun {
                    return tell(News::Failed(format!("{} did not begin: {error}", run.name())));
                }
                if several {
                    wait_for(&run);
                }
            }
        });
    }

    /// Goes on with a run.
    pub fn resume(&self, run: RunFolder) {
        let named = self.places.worker.clone();
        self.in_background(move |tell| {
            let worker = WorkerProgram::find(named.as_deref());
            let begun = worker.and_then(|worker| worker.start(&run, true)?.wait_until_at_work(AT_WORK));
            match begun {
                Ok(()) => tell(News::Said(format!("{} goes on.", run.name()))),
                Err(error) => tell(News::Failed(format!("{} was not resumed: {error}", run.name()))),
            }
        });
    }

    /// Moves a run to the desktop's trash.
    pub fn trash(&self, run: RunFolder) {
        self.in_background(move |tell| {
            if let Err(error) = check_removable(&run) {
                return tell(News::Failed(format!("The run was not deleted: {error}")));
            }
            match trash::delete(run.path()) {
                Ok(()) => tell(News::Removed(run)),
                Err(error) => tell(News::NotTrashed { run, reason: error.to_string() }),
            }
        });
    }

    /// Removes a run for ever.
    pub fn remove(&self, run: RunFolder) {
        self.in_background(move |tell| match remove(&run) {
            Ok(()) => tell(News::Removed(run)),
            Err(error) => tell(News::Failed(format!("The run was not deleted: {error}"))),
        });
    }

    fn in_background(&self, work: impl FnOnce(&dyn Fn(News)) + Send + 'static) {
        let (outbox, context) = (self.outbox.clone(), self.context.clone());
        std::thread::spawn(move || {
            work(&|news| {
                // Nobody listens any more once the window is closed.
                let _ = outbox.send(news);
                context.request_repaint();
            });
        });
    }
}

/// Returns when a run has ended.
fn wait_for(run: &RunFolder) {
    let mut reader = RunReader::brief(run.clone());
    while reader.status(Timestamp::now()).is_ok_and(|status| status.is_open()) {
        std::thread::sleep(Duration::from_millis(500));
    }
}
