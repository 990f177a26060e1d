//! Writing a run's folder as its worker.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::checkpoint::orphans;
use super::command::RunCommand;
use super::command_queue::CommandQueue;
use super::event::{Event, EventRecord};
use super::events_file::{EventsFile, is_full};
use super::folder::RunFolder;
use super::history::RunHistory;
use super::lock::{self, Lock, LockOwner, LockRefusal};
use super::reader::RunReader;
use super::status::now;

/// The interval between two checks for lines to be written.
const FLUSH: Duration = Duration::from_secs(1);

/// Why a worker cannot begin or continue to write a run.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("{} is already being trained{}; stop that first, or wait until it ends", run.display(), by(owner.as_ref()))]
    Held { run: PathBuf, owner: Option<LockOwner> },
    #[error(
        "the lock of {} was removed, and another worker trains the run since{}; this one ends, so that they do not mix",
        run.display(), by(owner.as_ref())
    )]
    Taken { run: PathBuf, owner: Option<LockOwner> },
    #[error("there is no run in {}: it has no {}", .0.display(), RunFolder::CONFIG)]
    NoRun(PathBuf),
    #[error(
        "the disk is full: cannot write {} ({source}); make room and resume the run, which goes on from its last checkpoint",
        path.display()
    )]
    Full { path: PathBuf, source: io::Error },
    #[error(
        "the run's folder {} was deleted while it was being written; what was trained since the last copy of it is lost",
        .0.display()
    )]
    Deleted(PathBuf),
    #[error("cannot write {}: {source}; a run's folder must be writable", path.display())]
    File { path: PathBuf, source: io::Error },
}

fn by(owner: Option<&LockOwner>) -> String {
    owner.map_or_else(String::new, |LockOwner { host, pid, started, .. }| {
        format!(" by process {pid} on {host}, since {}", started.strftime("%Y-%m-%d %H:%M:%S UTC"))
    })
}

/// The session of a run's only writer, from taking the lock until it is dropped.
///
/// ```text
/// let mut session = RunSession::begin(&run)?;
/// if session.is_new() { session.record(0, Event::Started(…))? } else { session.resume(from_step, wall_s)? }
/// session.begin_training();
/// for step in … {
///     session.record(step, Event::Train(…))?;
///     for (id, command) in session.commands()? { … session.answer(&id, true, "saved")?; }
/// }
/// session.record(step, Event::Finished)?;
/// ```
///
/// Training curves are written at least once a second, all other events at once. Written events survive the death of
/// the process, and after [`RunSession::sync`] a power cut too.
pub struct RunSession {
    run: RunFolder,
    events: Arc<Mutex<EventsFile>>,
    clock: Clock,
    /// The step of the last event.
    step: u64,
    new: bool,
    /// The history of earlier sessions, with only the newest point of their curves.
    before: RunHistory,
    queue: CommandQueue,
    echo: Option<Box<dyn Write + Send>>,
    /// Ends the thread when dropped.
    keeper: Option<(Sender<()>, JoinHandle<()>)>,
    /// Released last.
    lock: Lock,
}

impl RunSession {
    /// Takes the lock of a run, removes a partial last line of its events, and keeps the heartbeat.
    ///
    /// # Errors
    ///
    /// Fails if another worker holds the run, if there is no run, and if the folder cannot be written.
    pub fn begin(run: &RunFolder) -> Result<RunSession, SessionError> {
        if !run.config().is_file() {
            return Err(SessionError::NoRun(run.path().to_owned()));
        }
        let refused = |path: PathBuf| {
            |refusal| match refusal {
                LockRefusal::Held(owner) => SessionError::Held { run: run.path().to_owned(), owner },
                LockRefusal::File(source) => failure(run, path, source),
            }
        };
        let mut lock = Lock::take(run).map_err(refused(run.lock()))?;
        let mut events = EventsFile::open(run).map_err(refused(run.events()))?;
        lock::beat(run).map_err(|source| failure(run, run.heartbeat(), source))?;
        events.remove_partial_line().map_err(|source| failure(run, run.events(), source))?;
        events.put_reserve_by().map_err(|source| failure(run, run.reserve(), source))?;
        let mut reader = RunReader::brief(run.clone());
        reader.poll().map_err(|source| failure(run, run.events(), source))?;
        let before = reader.into_history();
        lock.sign(before.lines()).map_err(|source| failure(run, run.lock(), source))?;
        let checkpoints = run.checkpoints().map_err(|source| failure(run, run.path().to_owned(), source))?;
        // Tensors without a description.
        let lone = orphans(run).map_err(|source| failure(run, run.path().to_owned(), source))?;
        let events = Arc::new(Mutex::new(events));
        let mut session = RunSession {
            run: run.clone(),
            clock: Clock { before: before.wall_s(), running_since: None },
            step: before.step(),
            new: !before.is_begun() && checkpoints.is_empty() && lone.is_empty(),
            queue: CommandQueue::new(before.answers().iter().map(|answer| answer.id.clone())),
            before,
            echo: None,
            keeper: Some(keep(run.clone(), Arc::clone(&events))),
            events,
            lock,
        };
        session.refuse_old_commands()?;
        Ok(session)
    }

    /// Refuses the commands that an earlier session left unanswered: a resumed run should not stop at once because of
    /// an old command.
    fn refuse_old_commands(&mut self) -> Result<(), SessionError> {
        if self.new {
            return Ok(());
        }
        let unanswered = self.queue.pass_over(&self.run);
        for id in unanswered.map_err(|source| failure(&self.run, self.run.commands(), source))? {
            self.answer(&id, false, "it was sent before this session began; send it again if it is still wanted")?;
        }
        Ok(())
    }

    /// Returns whether no session has trained the run: there are neither events of a training nor checkpoints, nor
    /// lines that cannot be read.
    pub fn is_new(&self) -> bool {
        self.new
    }

    /// Returns the history of earlier sessions, as far as it is readable, with only the newest point of their curves.
    pub fn before(&self) -> &RunHistory {
        &self.before
    }

    pub fn run(&self) -> &RunFolder {
        &self.run
    }

    /// Returns the number of steps at the last event.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Writes every event also to a listener, one per line. A closed listener is not an error.
    pub fn echo_to(&mut self, listener: impl Write + Send + 'static) {
        self.echo = Some(Box::new(listener));
    }

    /// Records that the run resumes from `from_step` after `wall_s` seconds of training.
    pub fn resume(&mut self, from_step: u64, wall_s: f64) -> Result<(), SessionError> {
        self.clock = Clock { before: wall_s, running_since: None };
        self.record(from_step, Event::Resumed { from_step })
    }

    /// Starts the clock of training. Evaluations and checkpoints are part of training.
    pub fn begin_training(&mut self) {
        self.clock.running_since.get_or_insert_with(Instant::now);
    }

    /// Stops the clock of training.
    pub fn pause(&mut self) {
        self.clock = Clock { before: self.clock.seconds(), running_since: None };
    }

    /// Seconds of training so far, in all sessions.
    pub fn wall_s(&self) -> f64 {
        self.clock.seconds()
    }

    /// Writes an event that happened after `step` steps.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written. On a full disk ([`SessionError::Full`]) there is just enough space left to record
    /// [`Event::Failed`].
    pub fn record(&mut self, step: u64, event: Event) -> Result<(), SessionError> {
        let record = EventRecord { step, time: now(), wall_s: self.wall_s(), event };
        self.step = step;
        if !matches!(record.event, Event::Train(_)) {
            self.keep_place()?;
        }
        let line = record.to_line();
        let outcome = {
            let mut events = self.events();
            events.push(&line);
            let written = match record.event {
                // The heartbeat thread writes them soon.
                Event::Train(_) => events.flush_if_many(),
                Event::Checkpoint { .. } => events.sync(),
                _ => events.flush(),
            };
            match (events.trouble.take(), &record.event) {
                // The failure was already reported, and recording it is all that matters.
                (_, Event::Failed { .. }) if events.is_written() => Ok(()),
                (Some(earlier), _) => Err(earlier),
                (None, _) => written,
            }
        };
        if let Some(listener) = &mut self.echo
            && listener.write_all((line + "\n").as_bytes()).and_then(|()| listener.flush()).is_err()
        {
            self.echo = None;
        }
        outcome.map_err(|source| failure(&self.run, self.run.events(), source))
    }

    /// Blocks until all events so far would survive a power cut. Called before a checkpoint gets its name, so that a
    /// run never resumes from a later step than its curve reaches.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be written, and if another worker has taken the run.
    pub fn sync(&mut self) -> Result<(), SessionError> {
        self.keep_place()?;
        let outcome = self.events().sync();
        outcome.map_err(|source| failure(&self.run, self.run.events(), source))
    }

    /// Fails if the file of events at its path is not the one being written, or another worker holds the lock.
    fn keep_place(&mut self) -> Result<(), SessionError> {
        let place = self.events().check_place();
        place.map_err(|source| failure(&self.run, self.run.events(), source))?;
        self.lock.keep(&self.run).map_err(|refusal| match refusal {
            LockRefusal::Held(owner) => SessionError::Taken { run: self.run.path().to_owned(), owner },
            LockRefusal::File(source) => failure(&self.run, self.run.lock(), source),
        })
    }

    /// Returns new commands with their ids, to be answered one by one. Cheap enough for a call after every step.
    ///
    /// Invalid lines are refused here, once all earlier commands have been answered.
    pub fn commands(&mut self) -> Result<Vec<(String, RunCommand)>, SessionError> {
        let looked = self.queue.look(&self.run);
        looked.map_err(|source| failure(&self.run, self.run.commands(), source))?;
        while let Some((id, wrong)) = self.queue.next_refused() {
            self.answer(&id, false, &wrong)?;
        }
        Ok(self.queue.next_commands())
    }

    /// Answers a command.
    pub fn answer(&mut self, id: &str, ok: bool, message: &str) -> Result<(), SessionError> {
        self.reply(id, ok, message.to_owned(), None)
    }

    /// Answers a successful [`RunCommand::SetSteps`].
    pub fn answer_steps(&mut self, id: &str, steps: u64) -> Result<(), SessionError> {
        self.reply(id, true, format!("the run ends with step {steps}"), Some(steps))
    }

    fn reply(&mut self, id: &str, ok: bool, message: String, steps: Option<u64>) -> Result<(), SessionError> {
        self.queue.answered();
        self.record(self.step, Event::Command { id: id.to_owned(), ok, message, steps })
    }

    /// Wraps the error of a file in the run's folder, such as a checkpoint, that could not be written.
    pub fn failure(&self, path: PathBuf, source: io::Error) -> SessionError {
        failure(&self.run, path, source)
    }

    fn events(&self) -> MutexGuard<'_, EventsFile> {
        // Lines are added and written whole, so a panic leaves no part of one.
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RunSession {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.keeper.take() {
            drop(stop);
            // The thread does not panic.
            let _ = thread.join();
        }
    }
}

/// Renews the heartbeat and writes waiting lines in a thread, until the sender is dropped.
fn keep(run: RunFolder, events: Arc<Mutex<EventsFile>>) -> (Sender<()>, JoinHandle<()>) {
    let (stop, stopped) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let mut beaten = Instant::now();
        while stopped.recv_timeout(FLUSH) == Err(RecvTimeoutError::Timeout) {
            let mut events = events.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = events.flush() {
                // Recording the next event reports it.
                events.trouble = Some(error);
            }
            drop(events);
            if beaten.elapsed() >= lock::BEAT {
                beaten = Instant::now();
                // A failed heartbeat is no reason to end a training.
                let _ = lock::beat(&run);
            }
        }
    });
    (stop, thread)
}

fn failure(run: &RunFolder, path: PathBuf, source: io::Error) -> SessionError {
    if is_full(&source) {
        SessionError::Full { path, source }
    } else if !run.path().exists() {
        SessionError::Deleted(run.path().to_owned())
    } else {
        SessionError::File { path, source }
    }
}

/// Clock of the seconds of training.
#[derive(Debug, Default)]
struct Clock {
    before: f64,
    running_since: Option<Instant>,
}

impl Clock {
    fn seconds(&self) -> f64 {
        self.before + self.running_since.map_or(0.0, |since| since.elapsed().as_secs_f64())
    }
}
