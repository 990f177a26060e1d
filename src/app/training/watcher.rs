//! The thread that watches the folder of runs and sends what changes in it.
//!
//! It looks twice a second. It reads the new events of each run that is being trained, without keeping curves. Of
//! runs whose worker has ended it compares sizes and times of files, of a tenth of them at each look, and reads those
//! that have changed; it lists the folder again where that has changed. So thousands of finished runs cost next to
//! nothing, and a resumed one is noticed within five seconds. Updates are sent only when something has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::time::{Duration, Instant, SystemTime};

use valleyscope_machine::{PyTorchBytes, SetUpState, WorkerFolder, has_nvidia_gpu};
use valleyscope_runs::{CommandRequest, Notes, Reply, RunCommand, RunFolder, Timestamp};

use super::install::Installation;
use super::names::word_settings;
use super::summary::Summary;
use super::update::Update;
use super::watched::Watched;
use super::words::{RunDetail, shown_log};
use crate::app::wake::Wake;

/// Between two looks at the folder.
const BETWEEN: Duration = Duration::from_millis(500);
/// The number of looks in which each run at rest has its turn.
const TURNS: usize = 10;
/// The folder is listed again after this time, and while its last change is no older than `FRESH`: a run's folder may be
/// filled some time after it was made.
const RELIST: Duration = Duration::from_secs(10);
const FRESH: Duration = Duration::from_secs(5);
/// The number of bytes of the end of the set-up's log that are shown.
const SET_UP_TAIL: u64 = 16 * 1024;

/// A command of the window to the thread.
pub(super) enum WatcherCommand {
    /// A run that need not be in the folder of runs.
    Include(RunFolder),
    /// The same, by the path of a run that may no longer exist.
    Find(PathBuf),
    /// The run that is read in detail.
    Focus(Option<RunFolder>),
    Send(RunFolder, RunCommand),
    Write(RunFolder, Notes),
    /// Look at once.
    Look,
}

/// Starts the thread, which watches a folder of runs and the folder of the worker; it ends when the sender is dropped.
pub(super) fn start(
    folder: Option<PathBuf>,
    worker: Option<WorkerFolder>,
    outbox: SyncSender<Update>,
    wake: Wake,
) -> Sender<WatcherCommand> {
    let (commands, inbox) = channel();
    let watcher = Watcher::new(folder, worker, outbox, wake);
    std::thread::spawn(move || {
        // Libraries are looked for on the disk.
        let bytes = PyTorchBytes::for_machine(has_nvidia_gpu());
        watcher.run(bytes, &inbox);
    });
    commands
}

struct Watcher {
    folder: Option<PathBuf>,
    worker: Option<WorkerFolder>,
    /// The last sent state of its set-up.
    installation: Option<Installation>,
    outbox: SyncSender<Update>,
    wake: Wake,
    included: Vec<RunFolder>,
    known: BTreeMap<PathBuf, Watched>,
    listing: Option<Listing>,
    /// Whether the runs are to be listed at the next look.
    must_list: bool,
    turns: Turns,
    focus: Option<RunFolder>,
    requests: Vec<(RunFolder, CommandRequest)>,
    detail: Option<(RunFolder, RunDetail)>,
}

/// The state of the folder of runs when its runs were listed last.
struct Listing {
    /// Why they cannot be listed.
    trouble: Option<String>,
    time: Instant,
    /// When the folder was changed.
    modified: Option<SystemTime>,
}

impl Listing {
    /// Lists the runs in a folder, if there is one for them.
    fn of(folder: Option<&Path>) -> (Listing, Vec<RunFolder>) {
        let (time, modified) = (Instant::now(), folder.and_then(modified));
        let (runs, trouble) = match folder.map_or(Ok(Vec::new()), RunFolder::list) {
            Ok(runs) => (runs, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        (Listing { trouble, time, modified }, runs)
    }

    /// Whether the folder may hold other runs by now.
    fn is_outdated(&self, folder: &Path) -> bool {
        let now = modified(folder);
        let is_fresh = || now.is_some_and(|time| time.elapsed().is_ok_and(|since| since < FRESH));
        self.trouble.is_some() || now != self.modified || self.time.elapsed() >= RELIST || is_fresh()
    }
}

fn modified(folder: &Path) -> Option<SystemTime> {
    folder.metadata().ok()?.modified().ok()
}

/// The turns of runs at rest, of which only a part is looked at each time.
#[derive(Default)]
struct Turns {
    next: usize,
    /// All have their turn at the next look.
    all: bool,
}

impl Turns {
    /// The indices of those whose turn it is, among so many.
    fn take(&mut self, count: usize) -> Range<usize> {
        if std::mem::take(&mut self.all) {
            return 0..count;
        }
        let start = if self.next < count { self.next } else { 0 };
        self.next = (start + count.div_ceil(TURNS)).min(count);
        start..self.next
    }
}

/// The window is closed: there is no receiver any more.
struct Closed;

impl Watcher {
    fn new(folder: Option<PathBuf>, worker: Option<WorkerFolder>, outbox: SyncSender<Update>, wake: Wake) -> Watcher {
        Watcher {
            folder,
            worker,
            installation: None,
            outbox,
            wake,
            included: Vec::new(),
            known: BTreeMap::new(),
            listing: None,
            must_list: false,
            turns: Turns::default(),
            focus: None,
            requests: Vec::new(),
            detail: None,
        }
    }

    fn run(mut self, bytes: PyTorchBytes, inbox: &Receiver<WatcherCommand>) {
        let mut next = Instant::now();
        loop {
            match inbox.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(command) => {
                    if self.handle_command(command).is_err() {
                        return;
                    }
                    // Commands that came together are followed by one look.
                    next = next.min(Instant::now() + Duration::from_millis(5));
                }
                Err(RecvTimeoutError::Timeout) => {
                    if self.look_at_set_up(bytes).and_then(|()| self.look()).is_err() {
                        return;
                    }
                    next = Instant::now() + BETWEEN;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn send(&self, update: Update) -> Result<(), Closed> {
        let is_seen_here_only = matches!(update, Update::Runs(..) | Update::Detail(..) | Update::SetUp(_));
        self.outbox.send(update).map_err(|_| Closed)?;
        if is_seen_here_only {
            self.wake.soon();
        } else {
            self.wake.now();
        }
        Ok(())
    }

    fn handle_command(&mut self, command: WatcherCommand) -> Result<(), Closed> {
        match command {
            WatcherCommand::Include(run) => {
                if !self.included.contains(&run) {
                    self.included.push(run);
                    self.must_list = true;
                }
            }
            WatcherCommand::Find(path) => {
                if let Ok(run) = RunFolder::open(&path) {
                    return self.handle_command(WatcherCommand::Include(run));
                }
            }
            WatcherCommand::Focus(run) => {
                self.focus = run;
                self.detail = None;
            }
            WatcherCommand::Send(run, command) => {
                let what = if command == RunCommand::Stop { "to stop with a checkpoint" } else { "for a text" };
                match CommandRequest::send(&run, command) {
                    Ok(request) => {
                        self.send(Update::Said(format!("{} is asked {what}.", run.name())))?;
                        self.requests.push((run, request));
                    }
                    Err(error) => self.failed(format!("cannot write {}: {error}", run.commands().display()))?,
                }
            }
            WatcherCommand::Write(run, notes) => {
                if let Err(error) = notes.write(&run) {
                    self.failed(format!("cannot write {}: {error}", run.notes().display()))?;
                }
            }
            WatcherCommand::Look => {
                self.must_list = true;
                self.turns.all = true;
            }
        }
        Ok(())
    }

    fn failed(&self, reason: String) -> Result<(), Closed> {
        self.send(Update::Failed(reason))
    }

    /// Reads the status of the worker's set-up, which is another process.
    fn look_at_set_up(&mut self, bytes: PyTorchBytes) -> Result<(), Closed> {
        let Some(worker) = &self.worker else { return Ok(()) };
        let status = worker.status();
        let has_log = status.as_ref().is_some_and(|status| status.state != SetUpState::Done);
        let log = if has_log { shown_log(&worker.log(), SET_UP_TAIL) } else { String::new() };
        let now = Installation { status, log, log_file: worker.log(), bytes };
        if self.installation.as_ref() != Some(&now) {
            self.installation = Some(now.clone());
            self.send(Update::SetUp(Box::new(now)))?;
        }
        Ok(())
    }

    fn look(&mut self) -> Result<(), Closed> {
        let mut is_new = self.list();
        let now = Timestamp::now();
        for watched in self.due() {
            is_new |= watched.look(now);
        }
        self.follow_requests()?;
        if is_new {
            let mut summaries: Vec<Summary> = self.known.values().filter_map(Watched::summary).cloned().collect();
            word_settings(&mut summaries);
            let trouble = self.listing.as_ref().and_then(|listing| listing.trouble.clone());
            self.send(Update::Runs(summaries, trouble))?;
        }
        self.look_closely()
    }

    /// Finds the runs there are, and returns whether these, or the reason why they cannot be listed, are others than
    /// before.
    fn list(&mut self) -> bool {
        let included = self.included.len();
        self.included.retain(|run| run.path().is_dir());
        self.must_list |= self.included.len() < included;
        // In the form of the paths of new runs.
        let folder = self.folder.as_ref().map(|folder| folder.canonicalize().unwrap_or_else(|_| folder.clone()));
        let is_listed = |listing: &Listing| folder.as_deref().is_none_or(|folder| !listing.is_outdated(folder));
        if !std::mem::take(&mut self.must_list) && self.listing.as_ref().is_some_and(is_listed) {
            return false;
        }
        let (now, mut runs) = Listing::of(folder.as_deref());
        let mut is_new = self.listing.as_ref().is_none_or(|before| before.trouble != now.trouble);
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

    /// The runs to look at now: those that are trained, or shown in detail, and of those at rest the ones whose turn it
    /// is.
    fn due(&mut self) -> Vec<&mut Watched> {
        let asked = self.requests.iter().map(|(run, _)| run);
        let wanted: Vec<&RunFolder> = self.focus.iter().chain(asked).collect();
        let is_due = |watched: &&mut Watched| !watched.is_at_rest() || wanted.contains(&watched.run());
        let (mut due, resting): (Vec<_>, Vec<_>) = self.known.values_mut().partition(is_due);
        let turn = self.turns.take(resting.len());
        due.extend(resting.into_iter().skip(turn.start).take(turn.len()));
        due
    }

    fn follow_requests(&mut self) -> Result<(), Closed> {
        let mut updates = Vec::new();
        let known = &self.known;
        self.requests.retain_mut(|(run, request)| {
            let Some(watched) = known.get(run.path()) else { return false };
            let Some(summary) = watched.summary() else { return true };
            match request.poll(watched.history(), &summary.status, Instant::now()) {
                Reply::Waiting => true,
                Reply::Signalled => {
                    updates.push(Update::Said(format!(
                        "{} does not answer; its process was asked to end.",
                        summary.title
                    )));
                    true
                }
                Reply::NotSignalled(reason) => {
                    let title = &summary.title;
                    updates.push(Update::Failed(format!(
                        "{title} does not answer, and its process is left alone: {reason}."
                    )));
                    true
                }
                Reply::Answered { ok: true, message } => {
                    updates.push(Update::Said(format!("{}: {message}.", summary.title)));
                    false
                }
                Reply::Answered { ok: false, message } => {
                    updates.push(Update::Failed(format!("{} refuses: {message}.", summary.title)));
                    false
                }
                Reply::Gone => false,
            }
        });
        updates.into_iter().try_for_each(|update| self.send(update))
    }

    fn look_closely(&mut self) -> Result<(), Closed> {
        let Some(run) = self.focus.clone() else { return Ok(()) };
        let Some(watched) = self.known.get(run.path()) else { return Ok(()) };
        let detail = RunDetail::of(&run, watched.history());
        let now = Some((run, detail));
        if self.detail != now {
            self.detail.clone_from(&now);
            if let Some((run, detail)) = now {
                self.send(Update::Detail(run, Box::new(detail)))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

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

    /// A watcher of a folder that has looked once.
    fn watcher(folder: &Path) -> (Watcher, Receiver<Update>) {
        let (outbox, updates) = sync_channel(64);
        let wake = Wake::new(egui::Context::default(), Duration::ZERO, Duration::ZERO);
        let mut watcher = Watcher::new(Some(folder.to_owned()), None, outbox, wake);
        look(&mut watcher);
        (watcher, updates)
    }

    fn look(watcher: &mut Watcher) {
        assert!(watcher.look().is_ok(), "the receiver is there");
    }

    fn status<'w>(watcher: &'w Watcher, run: &RunFolder) -> &'w Status {
        &watcher.known[run.path()].summary().expect("it was looked at").status
    }

    #[test]
    fn of_runs_at_rest_a_tenth_is_looked_at_each_time_and_of_others_all() {
        let place = tempfile::tempdir().expect("a temporary folder can be made");
        let finished: Vec<RunFolder> = (0..45).map(|_| finished(place.path())).collect();
        let open = [begun(place.path()), begun(place.path())];
        let (mut watcher, _updates) = watcher(place.path());
        let mut counts = BTreeMap::<PathBuf, usize>::new();
        for _ in 0..2 * TURNS {
            let due = watcher.due();
            assert!(due.len() <= 5 + open.len(), "{} are looked at", due.len());
            due.iter().for_each(|watched| *counts.entry(watched.run().path().to_owned()).or_default() += 1);
        }
        assert!(finished.iter().all(|run| (2..=3).contains(&counts[run.path()])), "{counts:?}");
        assert!(open.iter().all(|session| counts[session.run().path()] == 2 * TURNS), "{counts:?}");
        watcher.focus = Some(finished[44].clone());
        assert!((0..2 * TURNS).all(|_| watcher.due().iter().any(|watched| *watched.run() == finished[44])));
    }

    #[test]
    fn nothing_is_sent_while_nothing_changes_and_a_resumed_run_is_noticed_within_its_turns() {
        let place = tempfile::tempdir().expect("a temporary folder can be made");
        let runs: Vec<RunFolder> = (0..25).map(|_| finished(place.path())).collect();
        let (mut watcher, updates) = watcher(place.path());
        assert!(matches!(&updates.try_iter().collect::<Vec<_>>()[..], [Update::Runs(runs, None)] if runs.len() == 25));
        (0..2 * TURNS).for_each(|_| look(&mut watcher));
        assert!(updates.try_recv().is_err(), "nothing has changed");
        let mut session = RunSession::begin(&runs[17]).expect("a session can begin");
        (0..TURNS).for_each(|_| look(&mut watcher));
        assert!(matches!(status(&watcher, &runs[17]), Status::Running(_)));
        session.record(9, Event::Stopped).expect("it can be written");
        drop(session);
        // It is looked at each time now.
        look(&mut watcher);
        assert_eq!(*status(&watcher, &runs[17]), Status::Stopped);
        Notes { title: "Mine".to_owned(), note: String::new() }.write(&runs[3]).expect("it can be written");
        (0..TURNS).for_each(|_| look(&mut watcher));
        assert_eq!(watcher.known[runs[3].path()].summary().map(|it| it.title.as_str()), Some("Mine"));
        std::fs::remove_dir_all(runs[0].path()).expect("it can be removed");
        look(&mut watcher);
        assert_eq!(watcher.known.len(), 24);
    }
}
