//! The thread that watches the folder of runs and sends what changes in it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::time::{Duration, Instant, SystemTime};

use super::install::Installation;
use super::names::{unusual, word_settings};
use super::pens::NEUTRAL;
use super::summary::Summary;
use super::update::Update;
use super::words::{RunDetail, shown_log};
use crate::app::wake::Wake;
use crate::machine::{PyTorchBytes, SetUpState, WorkerFolder, has_nvidia_gpu};
use crate::optimizer::RuleKind;
use crate::preset::Preset;
use crate::run::{
    CommandRequest, Concern, Forked, MetricId, MetricInfo, Notes, Ranks, Reply, RunCommand, RunConfig, RunFolder,
    RunHistory, RunReader, Status, Timestamp,
};
use crate::visible::{visible, visible_lines};
use crate::workload::Common;

/// Between two looks at the folder.
const BETWEEN: Duration = Duration::from_millis(500);
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
    let watcher = Watcher {
        folder,
        worker,
        installation: None,
        outbox,
        wake,
        included: Vec::new(),
        known: BTreeMap::new(),
        focus: None,
        requests: Vec::new(),
        sent: None,
        detail: None,
    };
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
    focus: Option<RunFolder>,
    requests: Vec<(RunFolder, CommandRequest)>,
    /// The last sent state: the runs, and why their folder cannot be read.
    sent: Option<(Vec<Summary>, Option<String>)>,
    detail: Option<(RunFolder, RunDetail)>,
}

/// The window is closed: there is no receiver any more.
struct Closed;

impl Watcher {
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
            WatcherCommand::Look => {}
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
        // In the form of the paths of new runs.
        let folder = self.folder.as_ref().map(|folder| folder.canonicalize().unwrap_or_else(|_| folder.clone()));
        let listed = folder.as_deref().map_or(Ok(Vec::new()), RunFolder::list);
        let (mut runs, trouble) = match listed {
            Ok(runs) => (runs, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        self.included.retain(|run| run.path().is_dir());
        runs.extend(self.included.iter().filter(|run| !runs.contains(run)).cloned().collect::<Vec<_>>());
        self.known.retain(|path, _| runs.iter().any(|run| run.path() == path));
        let now = Timestamp::now();
        let mut summaries = Vec::new();
        for run in runs {
            let watched = self.known.entry(run.path().to_owned()).or_insert_with(|| Watched::new(run));
            summaries.push(watched.look(now));
        }
        word_settings(&mut summaries);
        self.follow_requests(&summaries)?;
        let now = (summaries, trouble);
        if self.sent.as_ref() != Some(&now) {
            self.sent = Some(now.clone());
            self.send(Update::Runs(now.0, now.1))?;
        }
        self.look_closely()
    }

    fn follow_requests(&mut self, summaries: &[Summary]) -> Result<(), Closed> {
        let mut updates = Vec::new();
        let known = &self.known;
        self.requests.retain_mut(|(run, request)| {
            let Some(watched) = known.get(run.path()) else { return false };
            let Some(summary) = summaries.iter().find(|summary| summary.run == *run) else { return false };
            match request.poll(watched.reader.history(), &summary.status, Instant::now()) {
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
        let detail = RunDetail::of(&run, watched.reader.history());
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

/// A run that is watched.
struct Watched {
    reader: RunReader,
    notes: Notes,
    /// When the notes were changed.
    noted: Option<SystemTime>,
    config: Option<Preset>,
    key: Option<String>,
}

impl Watched {
    fn new(run: RunFolder) -> Watched {
        let config = RunConfig::read(&run).ok().map(|config| config.preset);
        let key = config.as_ref().and_then(|config| config.workload()?.replicate_key());
        Watched { reader: RunReader::brief(run), notes: Notes::default(), noted: None, config, key }
    }

    /// The training's common fields, unless it is a scan or cannot be read.
    fn training(&self) -> Option<Common<'_>> {
        self.config.as_ref()?.workload()?.training()
    }

    /// The key that replicates share: their settings, their data, which may be in several places, and the step at which
    /// they were forked.
    fn replicates(&self, history: &RunHistory) -> Option<String> {
        let data = history.started().map_or("", |started| &started.fingerprint);
        let fork = history.forked().map(|Forked { from_run, from_step, .. }| format!("{from_run}@{from_step}"));
        self.key.as_ref().map(|key| format!("{key}{data}{}", fork.unwrap_or_default()))
    }

    fn look(&mut self, now: Timestamp) -> Summary {
        let run = self.reader.run().clone();
        let noted = run.notes().metadata().and_then(|data| data.modified()).ok();
        if noted != self.noted {
            self.noted = noted;
            self.notes = Notes::read(&run).unwrap_or_default();
        }
        let (status, trouble) = match self.reader.status(now) {
            Ok(status) => (status, None),
            Err(error) => (
                Status::Failed(format!("cannot read {}: {error}", run.events().display())),
                Some(format!("cannot read {}: {error}", run.events().display())),
            ),
        };
        let history = self.reader.history();
        let started = history.started();
        let preset = || self.config.as_ref().map(|config| config.title().to_owned());
        let title = started.map(|started| started.title.clone()).filter(|title| !title.is_empty()).or_else(preset);
        let title =
            if self.notes.title.is_empty() { title.unwrap_or_else(|| run.name()) } else { self.notes.title.clone() };
        let open = status.is_open();
        let spec = self.training();
        // Only the events of a scan name its optimizers.
        let optimizer = spec.as_ref().map(|spec| spec.label().to_owned());
        let optimizer = started.map(|started| started.optimizer.clone()).or(optimizer).unwrap_or_default();
        let workload = self.config.as_ref().and_then(Preset::workload);
        let is_scan =
            workload.is_some_and(|it| !it.scanned().is_empty()) || started.is_some_and(|it| it.scan.is_some());
        let rule = spec.map(|spec| spec.rule.kind()).or_else(|| RuleKind::shown_as(&optimizer));
        let concerns = Concern::of(&status, history, now).into_iter();
        Summary {
            concerns: concerns.map(|it| Concern { words: visible_lines(&it.words).into_owned(), ..it }).collect(),
            title: visible(&title).into_owned(),
            notes: self.notes.clone(),
            optimizer: visible(&optimizer).into_owned(),
            // A name says it already.
            unusual: spec.filter(|spec| spec.name.is_none()).map_or_else(Vec::new, |spec| unusual(spec.rule)),
            family: workload.map(|workload| workload.family()),
            settings: String::new(),
            color: rule.filter(|_| !is_scan).map_or(NEUTRAL, |rule| rule.info().color),
            learning_rate: started.and_then(|it| it.learning_rate).or(spec.map(|spec| spec.learning_rate.get())),
            batch_size: started.and_then(|it| it.batch_size).or(spec.map(|spec| spec.batch_size)),
            seed: started.and_then(|it| it.seed).or(spec.map(|spec| spec.seed)),
            step: history.step(),
            steps: history.steps(),
            steps_per_s: history.steps_per_s(),
            seconds_left: history.seconds_left().filter(|_| open),
            ranks: Ranks::of(history),
            loss: history.latest(MetricId::LOSS),
            evaluated: evaluated(history),
            began: history.began().or_else(|| run.made()),
            is_scan,
            writes_text: started.is_some_and(|started| started.tokens_per_step.is_some()),
            synthetic: started
                .filter(|started| started.learns_from_synthetic_data())
                .map(|started| visible(&started.data).into_owned()),
            config: self.replicates(history),
            forked: history.forked().cloned(),
            status,
            trouble,
            run,
        }
    }
}

fn evaluated(history: &RunHistory) -> Vec<(MetricInfo, f64)> {
    let infos = history.evaluated().into_iter();
    infos.filter_map(|info| Some((history.latest(info.metric()?)?, info))).map(|(value, info)| (info, value)).collect()
}
