//! The thread that watches the folder of runs and sends its changes.
//!
//! It polls twice a second. In each poll it reads the new events of the runs in training, without storing curves. For a
//! tenth of the other runs it compares sizes and times of files, and reads those that have changed; it lists the folder
//! again if that has changed. Thousands of finished runs cost next to nothing, and a resumed one is noticed within five
//! seconds. Updates are sent only when something has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::time::{Duration, Instant, SystemTime};

use rayon::prelude::*;
use valleyscope_machine::{PyTorchVariant, SetUpState, has_nvidia_gpu};
use valleyscope_runs::{CommandRequest, Notes, NotesEdit, Reply, RunCommand, RunFolder, now};

use super::detail::{RunDetail, log_tail};
use super::editor::ForkPoint;
use super::names::{CurveFacts, distinct_settings};
use super::queue::QueueState;
use super::summary::{ListedRuns, Summary, Watched};
use super::worker::{Installation, TrainingPaths, WorkerState};
use crate::app::shell::actions::Action;
use crate::app::shell::jobs::Wake;
use crate::runs::{Columns, MetricAliases, RunFacts};

const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The number of bytes of the end of the set-up's log that are shown.
const SET_UP_TAIL: u64 = 16 * 1024;

pub(super) enum WatcherCommand {
    /// Watches the run at a path, if there is one, which need not be in the folder of runs.
    Include(PathBuf),
    /// Sends the details of a run and their changes.
    Focus(Option<RunFolder>),
    Send(Vec<RunFolder>, RunCommand),
    Edit(Vec<RunFolder>, Vec<NotesEdit>),
    Alias(String, Option<String>),
    /// Polls all runs at once.
    Refresh,
}

pub(super) enum Update {
    Runs(ListedRuns),
    Detail(RunFolder, Box<RunDetail>),
    /// A text generated with a run's newest checkpoint and its step, or the reason why there is none.
    Text(RunFolder, Result<(u64, String), String>),
    Queue(QueueState),
    Worker(Box<WorkerState>),
    SetUp(Box<Installation>),
    /// A run was made, and its worker is being started; with the checkpoint of a fork.
    Made(RunFolder, Option<ForkPoint>),
    /// A notice or a report about a finished operation.
    Message(Action),
    Failed(String),
    /// The desktop's trash has refused runs.
    NotTrashed {
        runs: Vec<RunFolder>,
        reason: String,
    },
    Removed(Vec<RunFolder>),
}

impl Update {
    pub(super) fn notice(text: String) -> Update {
        Update::Message(Action::Notify(text))
    }
}

/// Sends updates to the window's thread.
#[derive(Clone)]
pub(super) struct Outbox {
    pub updates: SyncSender<Update>,
    pub wake: Wake,
}

impl Outbox {
    pub(super) fn send(&self, update: Update) {
        let is_seen_here_only =
            matches!(update, Update::Runs(..) | Update::Detail(..) | Update::Queue(_) | Update::SetUp(_));
        // The window may be closed.
        let _ = self.updates.send(update);
        if is_seen_here_only {
            self.wake.soon();
        } else {
            self.wake.now();
        }
    }
}

/// Starts the thread, which watches a folder of runs and the folder of the worker. It ends when the sender is dropped.
pub(super) fn start(paths: TrainingPaths, outbox: Outbox) -> Sender<WatcherCommand> {
    let (commands, inbox) = channel();
    std::thread::spawn(move || {
        let mut watcher = Watcher::new(paths, outbox);
        match watcher.read_aliases() {
            Ok(aliases) => watcher.aliases = Arc::new(aliases),
            Err(error) => watcher.outbox.send(Update::Failed(error)),
        }
        // This searches the disk for libraries.
        watcher.run(PyTorchVariant::for_machine(has_nvidia_gpu()), &inbox);
    });
    commands
}

struct Watcher {
    paths: TrainingPaths,
    installation: Option<Installation>,
    outbox: Outbox,
    included: Vec<RunFolder>,
    known: BTreeMap<PathBuf, Watched>,
    listing: Option<Listing>,
    /// Makes the next poll list the runs.
    must_list: bool,
    /// The number of polls so far.
    polls: usize,
    /// Makes the next poll check all runs.
    checks_all: bool,
    focus: Option<RunFolder>,
    requests: Vec<Request>,
    detail: Option<(RunFolder, RunDetail)>,
    generation: u64,
    columns: Arc<Columns>,
    /// The names under which metrics are shown.
    aliases: Arc<MetricAliases>,
    has_new_aliases: bool,
}

struct Request {
    run: RunFolder,
    request: CommandRequest,
    /// Whether other runs were sent the same command. Lists show the outcome, so only a failure is reported.
    is_one_of_several: bool,
}

impl Watcher {
    fn new(paths: TrainingPaths, outbox: Outbox) -> Watcher {
        Watcher {
            paths,
            installation: None,
            outbox,
            included: Vec::new(),
            known: BTreeMap::new(),
            listing: None,
            must_list: false,
            polls: 0,
            checks_all: false,
            focus: None,
            requests: Vec::new(),
            detail: None,
            generation: 0,
            columns: Arc::default(),
            aliases: Arc::default(),
            has_new_aliases: false,
        }
    }

    fn run(mut self, bytes: PyTorchVariant, inbox: &Receiver<WatcherCommand>) {
        let mut next = Instant::now();
        loop {
            match inbox.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(command) => {
                    self.handle_command(command);
                    // One poll handles commands that arrive together.
                    next = next.min(Instant::now() + Duration::from_millis(5));
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.poll_set_up(bytes);
                    self.poll();
                    next = Instant::now() + POLL_INTERVAL;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn handle_command(&mut self, command: WatcherCommand) {
        match command {
            WatcherCommand::Include(path) => {
                if let Ok(run) = RunFolder::open(&path)
                    && !self.included.contains(&run)
                {
                    self.included.push(run);
                    self.must_list = true;
                }
            }
            WatcherCommand::Focus(run) => {
                self.focus = run;
                self.detail = None;
            }
            WatcherCommand::Send(runs, command) => self.send_command(&runs, &command),
            WatcherCommand::Edit(runs, edits) => {
                for run in runs {
                    if let Err(error) = Notes::edit(&run, &edits) {
                        let reason = format!("cannot change {}: {error}", run.notes().display());
                        self.outbox.send(Update::Failed(reason));
                    }
                }
                self.handle_command(WatcherCommand::Refresh);
            }
            WatcherCommand::Alias(name, shown) => match self.with_alias(&name, shown.as_deref()) {
                Ok(aliases) => (self.aliases, self.has_new_aliases) = (Arc::new(aliases), true),
                Err(error) => self.outbox.send(Update::Failed(error)),
            },
            WatcherCommand::Refresh => {
                self.must_list = true;
                self.checks_all = true;
            }
        }
    }

    fn read_aliases(&self) -> Result<MetricAliases, String> {
        self.paths.aliases.as_deref().map_or_else(|| Ok((*self.aliases).clone()), MetricAliases::read)
    }

    /// Shows a metric under another name or, without one, under its own again; writes the names to their file.
    fn with_alias(&self, name: &str, shown: Option<&str>) -> Result<MetricAliases, String> {
        // Another window or the user may have changed the file.
        let mut aliases = self.read_aliases()?;
        match shown {
            Some(shown) => aliases.set(name, shown)?,
            None => aliases.remove(name),
        }
        if let Some(file) = &self.paths.aliases {
            aliases.write(file).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        }
        Ok(aliases)
    }

    fn send_command(&mut self, runs: &[RunFolder], command: &RunCommand) {
        let what = match command {
            RunCommand::Stop => Some("to stop with a checkpoint"),
            // The form of the settings shows that they are requested, until the worker answers.
            RunCommand::Set { .. } => None,
            _ => Some("for a text"),
        };
        let mut sent = Vec::new();
        for run in runs {
            match CommandRequest::send(run, command.clone()) {
                Ok(request) => {
                    sent.push(Request { run: run.clone(), request, is_one_of_several: runs.len() > 1 });
                }
                Err(error) => {
                    self.outbox.send(Update::Failed(format!("cannot write {}: {error}", run.commands().display())));
                }
            }
        }
        match (&sent[..], what) {
            ([], _) | (_, None) => {}
            ([only], Some(what)) => {
                let known = self.known.get(only.run.path());
                let name = known.map_or_else(|| only.run.name(), Watched::shown_name);
                self.outbox.send(Update::notice(format!("{name} is asked {what}.")));
            }
            (several, Some(what)) => {
                self.outbox.send(Update::notice(format!("{} runs are asked {what}.", several.len())));
            }
        }
        self.requests.extend(sent);
    }

    /// Reads the status of the worker's set-up, which is another process.
    fn poll_set_up(&mut self, bytes: PyTorchVariant) {
        let Some(worker) = &self.paths.worker_folder else { return };
        let status = worker.status();
        let has_log = status.as_ref().is_some_and(|status| status.state != SetUpState::Done);
        let log = if has_log { log_tail(&worker.log(), SET_UP_TAIL) } else { String::new() };
        let now = Installation { status, log, log_file: worker.log(), bytes };
        if self.installation.as_ref() != Some(&now) {
            self.installation = Some(now.clone());
            self.outbox.send(Update::SetUp(Box::new(now)));
        }
    }

    fn poll(&mut self) {
        let (is_listed, time) = (self.list() | std::mem::take(&mut self.has_new_aliases), now());
        // Checks many runs in several threads.
        let due = self.due().into_par_iter().with_min_len(32);
        let is_new = due.map(|watched| watched.poll(time)).reduce(|| is_listed, |a, b| a | b);
        self.follow_requests();
        if is_new {
            let listed = self.listed();
            self.outbox.send(Update::Runs(listed));
        }
        self.send_detail();
    }

    /// Lists all runs. Unchanged summaries are shared with earlier lists.
    fn listed(&mut self) -> ListedRuns {
        let known = self.known.values().filter_map(Watched::summary);
        let settings = distinct_settings(&known.map(|run| &run.naming).collect::<Vec<&CurveFacts>>());
        let watched = self.known.values_mut().filter(|watched| watched.summary().is_some());
        let runs: Vec<Arc<Summary>> =
            watched.zip(settings).filter_map(|(run, settings)| run.listed(settings)).collect();
        let columns = Columns::of(&runs.iter().map(|run| &run.facts).collect::<Vec<&RunFacts>>(), true);
        if *self.columns != columns {
            self.columns = Arc::new(columns);
        }
        let read_error = self.listing.as_ref().and_then(|listing| listing.read_error.clone());
        self.generation += 1;
        ListedRuns {
            generation: self.generation,
            indices: runs.iter().enumerate().map(|(index, run)| (run.run.path().to_owned(), index)).collect(),
            runs,
            columns: Arc::clone(&self.columns),
            read_error,
            aliases: Arc::clone(&self.aliases),
        }
    }

    /// Lists the runs; returns whether they, or the reason why the folder cannot be read, have changed.
    fn list(&mut self) -> bool {
        let included = self.included.len();
        self.included.retain(|run| run.path().is_dir());
        self.must_list |= self.included.len() < included;
        // The paths of new runs are canonical too.
        let folder = self.paths.runs.as_ref().map(|folder| folder.canonicalize().unwrap_or_else(|_| folder.clone()));
        let is_listed = |listing: &Listing| folder.as_deref().is_none_or(|folder| !listing.is_outdated(folder));
        if !std::mem::take(&mut self.must_list) && self.listing.as_ref().is_some_and(is_listed) {
            return false;
        }
        let (now, mut runs) = Listing::of(folder.as_deref());
        let mut is_new = self.listing.as_ref().is_none_or(|before| before.read_error != now.read_error);
        self.listing = Some(now);
        runs.extend(self.included.iter().cloned());
        let paths: BTreeSet<&Path> = runs.iter().map(RunFolder::path).collect();
        let before = self.known.len();
        self.known.retain(|path, _| paths.contains(path.as_path()));
        is_new |= self.known.len() < before;
        for run in runs {
            if !self.known.contains_key(run.path()) {
                self.known.insert(run.path().to_owned(), Watched::new(run));
                is_new = true;
            }
        }
        is_new
    }

    /// Selects the runs to check now: those in training or shown in detail, and a part of those at rest.
    fn due(&mut self) -> Vec<&mut Watched> {
        let asked = self.requests.iter().map(|request| &request.run);
        let wanted: Vec<&RunFolder> = self.focus.iter().chain(asked).collect();
        let checks_all = std::mem::take(&mut self.checks_all);
        self.polls += 1;
        let turn = self.polls % ROUND;
        let is_due = |(index, watched): &(usize, &mut Watched)| {
            checks_all || index % ROUND == turn || !watched.is_at_rest() || wanted.contains(&watched.run())
        };
        self.known.values_mut().enumerate().filter(is_due).map(|(_, watched)| watched).collect()
    }

    fn follow_requests(&mut self) {
        let mut updates = Vec::new();
        let known = &self.known;
        self.requests.retain_mut(|Request { run, request, is_one_of_several }| {
            let Some(watched) = known.get(run.path()) else { return false };
            let Some(summary) = watched.summary() else { return true };
            let name = watched.shown_name();
            match request.poll(watched.history(), &summary.status, Instant::now()) {
                Reply::Waiting => true,
                Reply::Signalled => {
                    updates.push(Update::notice(format!("{name} does not respond; its process was asked to end.")));
                    true
                }
                Reply::NotSignalled(reason) => {
                    updates.push(Update::Failed(format!(
                        "{name} does not respond, and its process was not asked to end: {reason}."
                    )));
                    true
                }
                Reply::Answered { ok: true, .. } if *is_one_of_several => false,
                Reply::Answered { ok: true, message } => {
                    updates.push(Update::notice(format!("{name}: {message}.")));
                    false
                }
                Reply::Answered { ok: false, message } => {
                    updates.push(Update::Failed(format!("{name} refuses: {message}.")));
                    false
                }
                Reply::Gone => false,
            }
        });
        updates.into_iter().for_each(|update| self.outbox.send(update));
    }

    fn send_detail(&mut self) {
        let Some(run) = &self.focus else { return };
        let Some(watched) = self.known.get(run.path()) else { return };
        let now = (run.clone(), RunDetail::of(run, watched.history()));
        if self.detail.as_ref() != Some(&now) {
            self.detail = Some(now.clone());
            self.outbox.send(Update::Detail(now.0, Box::new(now.1)));
        }
    }
}

/// The number of polls in which each run at rest is checked once.
const ROUND: usize = 10;
/// The age of a listing from which the folder is listed again.
const RELIST: Duration = Duration::from_secs(10);
/// The age of the folder's last change up to which each poll lists it again: a run's folder may be filled some time
/// after it was made.
const FRESH: Duration = Duration::from_secs(5);

/// The state of the folder of runs when it was last listed.
struct Listing {
    /// The reason why the folder cannot be read, if it cannot.
    read_error: Option<String>,
    time: Instant,
    modified: Option<SystemTime>,
}

impl Listing {
    /// Lists the runs in a folder; without a folder there are none.
    fn of(folder: Option<&Path>) -> (Listing, Vec<RunFolder>) {
        let (time, modified) = (Instant::now(), folder.and_then(modified));
        let (runs, read_error) = match folder.map_or(Ok(Vec::new()), RunFolder::list) {
            Ok(runs) => (runs, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        (Listing { read_error, time, modified }, runs)
    }

    fn is_outdated(&self, folder: &Path) -> bool {
        let now = modified(folder);
        let is_fresh = || now.is_some_and(|time| time.elapsed().is_ok_and(|since| since < FRESH));
        self.read_error.is_some() || now != self.modified || self.time.elapsed() >= RELIST || is_fresh()
    }
}

fn modified(folder: &Path) -> Option<SystemTime> {
    folder.metadata().ok()?.modified().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::ROUND;
    use super::*;
    use valleyscope_runs::{Event, MetricId, MetricValues, RunSession, Started, Status};

    fn begun(folder: &Path) -> RunSession {
        let run = RunFolder::create(folder, "run", "Mnist(").expect("a run can be made");
        let mut session = RunSession::begin(&run).expect("a session can begin");
        session.record(0, Event::Started(Started { steps: 9, ..Started::default() })).expect("it can be written");
        session.record(1, Event::Train(MetricValues::from([(MetricId::LOSS, 1.0)]))).expect("it can be written");
        session
    }

    fn finished(folder: &Path) -> RunFolder {
        let mut session = begun(folder);
        session.record(9, Event::Finished).expect("it can be written");
        session.run().clone()
    }

    fn watcher(folder: &Path) -> (Watcher, Receiver<Update>) {
        let (outbox, updates) = sync_channel(64);
        let wake = Wake::new(egui::Context::default(), Duration::ZERO, Duration::ZERO);
        let paths = TrainingPaths { runs: Some(folder.to_owned()), ..TrainingPaths::default() };
        let mut watcher = Watcher::new(paths, Outbox { updates: outbox, wake });
        watcher.poll();
        (watcher, updates)
    }

    fn status<'w>(watcher: &'w Watcher, run: &RunFolder) -> &'w Status {
        &watcher.known[run.path()].summary().expect("it was polled").status
    }

    #[test]
    fn each_poll_checks_a_tenth_of_the_runs_at_rest_and_all_others() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let finished: Vec<RunFolder> = (0..45).map(|_| finished(folder.path())).collect();
        let open = [begun(folder.path()), begun(folder.path())];
        let (mut watcher, _updates) = watcher(folder.path());
        let mut counts = BTreeMap::<PathBuf, usize>::new();
        for _ in 0..2 * ROUND {
            let due = watcher.due();
            assert!(due.len() <= 5 + open.len(), "{} are checked", due.len());
            due.iter().for_each(|watched| *counts.entry(watched.run().path().to_owned()).or_default() += 1);
        }
        assert!(finished.iter().all(|run| (2..=3).contains(&counts[run.path()])), "{counts:?}");
        assert!(open.iter().all(|session| counts[session.run().path()] == 2 * ROUND), "{counts:?}");
        watcher.focus = Some(finished[44].clone());
        assert!((0..2 * ROUND).all(|_| watcher.due().iter().any(|watched| *watched.run() == finished[44])));
    }

    #[test]
    fn only_changes_are_sent_and_a_resumed_run_is_noticed_within_a_round() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let runs: Vec<RunFolder> = (0..25).map(|_| finished(folder.path())).collect();
        let (mut watcher, updates) = watcher(folder.path());
        assert!(
            matches!(&updates.try_iter().collect::<Vec<_>>()[..], [Update::Runs(listed)] if listed.runs.len() == 25)
        );
        (0..2 * ROUND).for_each(|_| watcher.poll());
        assert!(updates.try_recv().is_err(), "nothing has changed");
        let mut session = RunSession::begin(&runs[17]).expect("a session can begin");
        (0..ROUND).for_each(|_| watcher.poll());
        assert!(matches!(status(&watcher, &runs[17]), Status::Running(_)));
        session.record(9, Event::Stopped).expect("it can be written");
        drop(session);
        // Each poll now checks it.
        watcher.poll();
        assert_eq!(*status(&watcher, &runs[17]), Status::Stopped);
        Notes { title: "Mine".to_owned(), ..Notes::default() }.write(&runs[3]).expect("it can be written");
        (0..ROUND).for_each(|_| watcher.poll());
        assert_eq!(watcher.known[runs[3].path()].summary().map(|it| it.title.as_str()), Some("Mine"));
        std::fs::remove_dir_all(runs[0].path()).expect("it can be removed");
        watcher.poll();
        assert_eq!(watcher.known.len(), 24);
    }
}
