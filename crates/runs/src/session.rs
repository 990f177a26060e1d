//! Writing a run's folder as its worker.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::checkpoint::orphans;
use super::command::{CommandQueue, RunCommand};
use super::event::{Event, EventRecord, now};
use super::folder::RunFolder;
use super::history::RunHistory;
use super::lock::{self, Lock, LockOwner, LockRefusal};
use super::plain_file::{self, Links};
use super::reader::RunReader;

/// The interval between two checks for lines to be written.
const FLUSH: Duration = Duration::from_secs(1);

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
    echo: Option<Listener>,
    /// The thread of the heartbeat, which ends when the sender is dropped.
    heartbeat: Option<(Sender<()>, JoinHandle<()>)>,
    /// Released last.
    lock: Lock,
}

/// Takes the lines of events.
type Listener = Box<dyn FnMut(&str) -> io::Result<()> + Send>;

impl RunSession {
    /// Takes the lock of a run, removes a partial last line of its events, and starts the heartbeat.
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
        events.write_reserve().map_err(|source| failure(run, run.reserve(), source))?;
        let mut reader = RunReader::brief(run.clone());
        reader.poll().map_err(|source| failure(run, run.events(), source))?;
        let before = reader.into_history();
        lock.record_holder(before.lines()).map_err(|source| failure(run, run.lock(), source))?;
        let checkpoints = run.checkpoints().map_err(|source| failure(run, run.path().to_owned(), source))?;
        // Tensors without a description.
        let lone = orphans(run).map_err(|source| failure(run, run.path().to_owned(), source))?;
        let events = Arc::new(Mutex::new(events));
        let mut session = RunSession {
            run: run.clone(),
            clock: Clock { before: before.wall_s(), running_since: None },
            step: before.step(),
            new: !before.is_begun() && checkpoints.is_empty() && lone.is_empty(),
            queue: CommandQueue::new(run, before.answers().iter().map(|answer| answer.id.clone())),
            before,
            echo: None,
            heartbeat: Some(keep_alive(run.clone(), Arc::clone(&events))),
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
        let unanswered = self.queue.pass_over();
        for id in unanswered.map_err(|source| failure(&self.run, self.run.commands(), source))? {
            self.answer(&id, false, "it was sent before this session began; send it again if it is still wanted")?;
        }
        Ok(())
    }

    /// Whether no session has trained the run: there are neither events of a training nor checkpoints, nor unreadable
    /// lines.
    pub fn is_new(&self) -> bool {
        self.new
    }

    /// The history of earlier sessions, as far as it is readable, with only the newest point of their curves.
    pub fn before(&self) -> &RunHistory {
        &self.before
    }

    pub fn run(&self) -> &RunFolder {
        &self.run
    }

    pub fn step(&self) -> u64 {
        self.step
    }

    /// Passes the line of every event also to a listener, until that fails.
    pub fn echo_to(&mut self, listener: impl FnMut(&str) -> io::Result<()> + Send + 'static) {
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
            self.check_ownership()?;
        }
        let line = record.to_line();
        let outcome = {
            let mut events = self.events();
            events.push(&line);
            let written = match record.event {
                // The heartbeat thread writes them soon.
                Event::Train(_) if events.waiting.len() < RESERVE / 4 => Ok(()),
                Event::Checkpoint { .. } => events.sync(),
                _ => events.flush(),
            };
            match (events.pending_error.take(), &record.event) {
                // The failure was already reported, and recording it is all that matters.
                (_, Event::Failed { .. }) if events.is_written() => Ok(()),
                (Some(earlier), _) => Err(earlier),
                (None, _) => written,
            }
        };
        if let Some(listener) = &mut self.echo
            && listener(&(line + "\n")).is_err()
        {
            self.echo = None;
        }
        outcome.map_err(|source| failure(&self.run, self.run.events(), source))
    }

    /// Blocks until all events so far would survive a power cut. Called before a checkpoint is renamed to its name, so
    /// that a run never resumes from a later step than its curve reaches.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be written, and if another worker has taken the run.
    pub fn sync(&mut self) -> Result<(), SessionError> {
        self.check_ownership()?;
        let outcome = self.events().sync();
        outcome.map_err(|source| failure(&self.run, self.run.events(), source))
    }

    /// Fails if the file of events at its path is not the one being written, or another worker holds the lock.
    fn check_ownership(&mut self) -> Result<(), SessionError> {
        let current = self.events().check_is_current();
        current.map_err(|source| failure(&self.run, self.run.events(), source))?;
        self.lock.keep(&self.run).map_err(|refusal| match refusal {
            LockRefusal::Held(owner) => SessionError::Taken { run: self.run.path().to_owned(), owner },
            LockRefusal::File(source) => failure(&self.run, self.run.lock(), source),
        })
    }

    /// Takes new commands with their ids, to be answered one by one. Cheap enough for a call after every step.
    ///
    /// Invalid lines are refused here, once all earlier commands have been answered.
    pub fn commands(&mut self) -> Result<Vec<(String, RunCommand)>, SessionError> {
        let polled = self.queue.poll();
        polled.map_err(|source| failure(&self.run, self.run.commands(), source))?;
        while let Some((id, wrong)) = self.queue.next_refused() {
            self.answer(&id, false, &wrong)?;
        }
        Ok(self.queue.next_commands())
    }

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
        if let Some((stop, thread)) = self.heartbeat.take() {
            drop(stop);
            // The thread does not panic.
            let _ = thread.join();
        }
    }
}

/// Renews the heartbeat and writes waiting lines in a thread, until the sender is dropped.
fn keep_alive(run: RunFolder, events: Arc<Mutex<EventsFile>>) -> (Sender<()>, JoinHandle<()>) {
    let (stop, stopped) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let mut beaten = Instant::now();
        while stopped.recv_timeout(FLUSH) == Err(RecvTimeoutError::Timeout) {
            let mut events = events.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = events.flush() {
                // The next event that is recorded reports it.
                events.pending_error = Some(error);
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

// The file to which a worker appends its events.
//
// Lines are collected in memory and written together. The file holds only whole lines: if a write fails, the written
// part is removed again, and the lines stay buffered for the next attempt.

/// Bytes reserved for the last event on a full disk.
const RESERVE: usize = 1 << 18;

#[derive(Debug)]
pub(super) struct EventsFile {
    file: File,
    path: PathBuf,
    reserve: PathBuf,
    has_reserve: bool,
    /// Length of the file, up to its last whole line.
    end: u64,
    /// Whole lines that are not in the file yet.
    waiting: Vec<u8>,
    /// The error of a write in the background, reported by the next call.
    pub pending_error: Option<io::Error>,
}

impl EventsFile {
    /// Opens or creates the file. Locks it on systems where a locked file can still be read, so that removing the file
    /// `lock` does not admit a second worker.
    pub(super) fn open(run: &RunFolder) -> Result<EventsFile, LockRefusal> {
        let path = run.events();
        let file = plain_file::open_to_append(&path).map_err(LockRefusal::File)?;
        if cfg!(unix) {
            file.try_lock().map_err(|error| match error {
                // An unknown worker holds it, whose lock was removed.
                TryLockError::WouldBlock => LockRefusal::Held(None),
                TryLockError::Error(source) => LockRefusal::File(source),
            })?;
        }
        let reserve = run.reserve();
        let (waiting, pending_error) = (Vec::new(), None);
        Ok(EventsFile { file, path, reserve, has_reserve: false, end: 0, waiting, pending_error })
    }

    /// Removes the bytes after the last whole line, as a killed worker leaves them.
    pub(super) fn remove_partial_line(&mut self) -> io::Result<()> {
        self.end = end_of_lines(&mut self.file)?;
        if self.file.metadata()?.len() > self.end { self.file.set_len(self.end) } else { Ok(()) }
    }

    pub(super) fn write_reserve(&mut self) -> io::Result<()> {
        write_reserve_file(&self.reserve)?;
        self.has_reserve = true;
        Ok(())
    }

    /// Adds a line, without its newline, to those that wait to be written.
    pub(super) fn push(&mut self, line: &str) {
        self.waiting.extend(line.as_bytes());
        self.waiting.push(b'\n');
    }

    /// Writes the waiting lines. On a full disk this uses up the reserve, and still fails, as there is little space
    /// left.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.is_written() {
            return Ok(());
        }
        self.check_is_current()?;
        match self.write() {
            Err(full) if is_full(&full) && self.has_reserve && self.reserve.exists() => {
                self.has_reserve = false;
                std::fs::remove_file(&self.reserve)?;
                self.write()?;
                Err(full)
            }
            outcome => outcome,
        }
    }

    fn write(&mut self) -> io::Result<()> {
        if let Err(error) = self.file.write_all(&self.waiting) {
            self.file.set_len(self.end)?;
            return Err(error);
        }
        self.end += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }

    pub(super) fn is_written(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Blocks until all lines have reached the disk.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.check_is_current()?;
        self.flush()?;
        self.file.sync_data()
    }

    /// Fails if written lines would be lost, as the file was removed or replaced.
    pub(super) fn check_is_current(&self) -> io::Result<()> {
        if plain_file::is_at(&self.file, &self.path)? {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::NotFound, "the file has been deleted or replaced"))
    }
}

impl Drop for EventsFile {
    fn drop(&mut self) {
        // `flush`, which precedes the end of every session, has reported errors.
        let _ = self.flush();
        // If another worker has taken the run, the reserve is that worker's.
        if self.has_reserve && self.check_is_current().is_ok() {
            let _ = std::fs::remove_file(&self.reserve);
        }
        // Unlocked explicitly, like the lock of a run.
        let _ = self.file.unlock();
    }
}

pub(super) fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// Counts the bytes after the last whole line of a run's events.
pub(super) fn bytes_after_lines(run: &RunFolder) -> io::Result<u64> {
    match plain_file::open(&run.events(), Links::Refused) {
        // A worker may be adding lines.
        Ok(mut file) => Ok(file.metadata()?.len().saturating_sub(end_of_lines(&mut file)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

fn end_of_lines(file: &mut File) -> io::Result<u64> {
    const PIECE: u64 = 1 << 16;
    let mut end = file.metadata()?.len();
    let mut piece = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(PIECE);
        file.seek(SeekFrom::Start(start))?;
        piece.clear();
        (&mut *file).take(end - start).read_to_end(&mut piece)?;
        if let Some(newline) = piece.iter().rposition(|&byte| byte == b'\n') {
            return Ok(start + newline as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// Writes the reserve, of bytes that a file system cannot compress.
fn write_reserve_file(path: &Path) -> io::Result<()> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let bytes: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    })
    .take(RESERVE / 8)
    .flatten()
    .collect();
    let mut file = plain_file::open_to_write(path)?;
    let put = file.set_len(0).and_then(|()| file.write_all(&bytes)).and_then(|()| file.sync_data());
    put.inspect_err(|_| {
        // An incomplete reserve would be useless.
        let _ = std::fs::remove_file(path);
    })
}
