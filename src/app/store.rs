//! The file that keeps the session for the next start, and the thread that writes it while the window is open.
//!
//! The file is replaced as a whole: a program that is killed, or a full disk, leaves the last good one. The session
//! before it is kept beside it, for the case that the file is damaged by something else.
//!
//! After a panic the program is restarted with the session, as the event loop cannot be reused. A program that panics
//! within 20 s of its start sets the session aside, as it may be the cause.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use valleyscope_runs::atomic_file::{AtomicFile, Overwrite, write_file};
use valleyscope_runs::plain_file::{self, Links};

use super::session;

/// The key of the reason why the last session was set aside.
const SET_ASIDE_KEY: &str = "valleyscope.session.set_aside";
/// The largest size of the file, in bytes.
const LARGEST: u64 = 64 << 20;
/// A changed session is written after it has been the same for this long.
const QUIET: Duration = Duration::from_secs(2);
/// A session that changes all the time is written this often.
const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// The time between two sessions that the window passes to be written.
const INTERVAL: Duration = Duration::from_millis(500);

/// The title of a message.
pub(super) const UNSAVED: &str = "The session can't be saved";

/// The texts of the session, by their keys.
pub type SessionTexts = BTreeMap<String, String>;

/// A message to the user: a title and a text.
type Report = (String, String);

/// The file of the session: a map of texts.
#[derive(Clone, Debug)]
pub struct Store {
    path: PathBuf,
}

impl Store {
    pub fn new(path: PathBuf) -> Store {
        Store { path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the session before the last one.
    fn previous(&self) -> PathBuf {
        self.path.with_extension("previous.ron")
    }

    /// Returns the path of the file in which eframe keeps the window's size and position. eframe empties it before it
    /// writes it, so that the session cannot be in it.
    pub(super) fn window(&self) -> PathBuf {
        self.path.with_file_name("window.ron")
    }

    /// Reads the last session, or the one before where the file is damaged, and checks that the next one can be
    /// written. Sets a damaged file aside.
    pub fn restore(&self) -> (SessionTexts, Option<Report>) {
        let unwritable = self.check_writable().err().map(|error| {
            let text = format!(
                "cannot write to the folder of {}: {error}\n\nThe next start cannot restore this session: work that \
                 is not saved as a preset elsewhere is lost when the window closes. Make the folder writable, or \
                 make room on its \
                 disk, and start Valleyscope again. `valleyscope doctor` shows how to move the folder.",
                self.path.display()
            );
            (UNSAVED.to_owned(), text)
        });
        // What a killed program left. If it cannot be removed, it stays.
        let _ = self.path.parent().map(AtomicFile::clear);
        if let Err(error) = plain_file::open(&self.window(), Links::Followed)
            && error.kind() != io::ErrorKind::NotFound
        {
            log::warn!("{}: {error}", self.window().display());
            let _ = rename_aside(&self.window(), "unreadable");
        }
        let (texts, unread) = self.read_or_previous();
        (texts, unwritable.or(unread.map(|text| ("The last session was not restored".to_owned(), text))))
    }

    /// Reads the last session, or the one before where the file cannot be read; with the reason if it was set aside.
    fn read_or_previous(&self) -> (SessionTexts, Option<String>) {
        let error = match read(&self.path) {
            Ok(mut texts) => {
                let text = texts.remove(SET_ASIDE_KEY);
                if text.is_some() {
                    // The next start repeats the message if this fails.
                    let _ = write(&self.path, &texts);
                }
                return (texts, text);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Default::default(),
            Err(error) => error,
        };
        let fate = match rename_aside(&self.path, "unreadable") {
            Ok(aside) => format!("It was set aside as {}.", aside.display()),
            Err(error) => format!("It could not be set aside: {error}."),
        };
        let previous = read(&self.previous());
        let begin = match &previous {
            Ok(_) => format!("the session saved before it, {}", self.previous().display()),
            Err(_) => "a built-in preset".to_owned(),
        };
        let text =
            format!("{} cannot be read: {error}\n\n{fate} Valleyscope starts with {begin}.", self.path.display());
        (previous.unwrap_or_default(), Some(text))
    }

    /// Stores a session for the next start, and keeps the last one as the session before it. An unreadable one that was
    /// set aside stays.
    pub fn keep(&self, session: &SessionTexts) -> io::Result<()> {
        let mut texts = session.clone();
        if let Ok(last) = read(&self.path) {
            if let Some(unreadable) = last.get(session::UNREADABLE_KEY) {
                texts.entry(session::UNREADABLE_KEY.to_owned()).or_insert_with(|| unreadable.clone());
            }
            if last == texts {
                return Ok(());
            }
            write(&self.previous(), &last)?;
        }
        write(&self.path, &texts)
    }

    /// Moves the session to a file beside this one, as it may have caused the failure `reason`. [`Store::restore`]
    /// reports it at the next start. Returns `None` without a session.
    pub fn set_aside(&self, reason: &str) -> io::Result<Option<PathBuf>> {
        let aside = match rename_aside(&self.path, "stopped") {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            renamed => renamed?,
        };
        let text = format!(
            "Valleyscope stopped soon after its start: {reason}\n\nThe session may be the cause, so it was set aside \
             as {}, and Valleyscope starts with a built-in preset. To try the session again, close the window and \
             rename that file to {}. This is a bug of Valleyscope: please report it.",
            aside.display(),
            self.path.display()
        );
        // If this fails, the next start reports less.
        let _ = write(&self.path, &BTreeMap::from([(SET_ASIDE_KEY.to_owned(), text)]));
        Ok(Some(aside))
    }

    /// Creates the folder if it is missing, and writes to it.
    fn check_writable(&self) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        tempfile::tempfile_in(folder)?.write_all(b"Valleyscope")
    }
}

fn read(path: &Path) -> io::Result<SessionTexts> {
    ron::from_str(&plain_file::read_text(path, Links::Followed, LARGEST)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

fn write(path: &Path, texts: &SessionTexts) -> io::Result<()> {
    let text = ron::ser::to_string(texts).map_err(io::Error::other)?;
    write_file(path, Overwrite::Yes, text.as_bytes())
}

/// Renames a file to an unused name; files set aside before stay.
fn rename_aside(path: &Path, word: &str) -> io::Result<PathBuf> {
    let names = std::iter::once(format!("{word}.ron")).chain((2_u32..).map(|number| format!("{word}-{number}.ron")));
    let mut free = names.map(|name| path.with_extension(name)).filter(|aside| aside.symlink_metadata().is_err());
    let aside = free.next().expect("there are endless names");
    std::fs::rename(path, &aside)?;
    Ok(aside)
}

enum Message {
    Session(SessionTexts),
    /// The process is asked to end by this signal.
    #[cfg(unix)]
    End(i32),
}

/// Writes the session in the background: two seconds after a change, and when a signal ends the process.
pub(super) struct Saver {
    messages: Option<Sender<Message>>,
    thread: Option<JoinHandle<io::Result<()>>>,
    /// Why the session could not be written, until it is taken.
    trouble: Arc<Mutex<Option<String>>>,
    /// When a session was set last.
    set: Option<Instant>,
    #[cfg(unix)]
    signals: Option<signal_hook::iterator::Handle>,
}

impl Saver {
    /// Starts the thread. It calls `wake` when the session could not be written.
    pub(super) fn start(store: Store, wake: impl Fn() + Send + 'static) -> io::Result<Saver> {
        let (messages, inbox) = channel();
        let trouble = Arc::<Mutex<Option<String>>>::default();
        let of_thread = Arc::clone(&trouble);
        let mut reported = None;
        let save = move |session: &SessionTexts| {
            let saved = store.keep(session);
            let reason = saved.as_ref().err().map(|error| format!("cannot write {}: {error}", store.path().display()));
            if reason.is_some() && reason != reported {
                of_thread.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&reason);
                wake();
            }
            reported = reason;
            saved
        };
        let thread = thread::Builder::new().name("session".to_owned()).spawn(move || write_sessions(&inbox, save))?;
        #[cfg(unix)]
        let signals = listen(messages.clone()).inspect_err(|error| log::warn!("no signal saves the session: {error}"));
        Ok(Saver {
            messages: Some(messages),
            thread: Some(thread),
            trouble,
            set: None,
            #[cfg(unix)]
            signals: signals.ok(),
        })
    }

    /// Returns the time until another session should be set.
    pub(super) fn wait(&self) -> Duration {
        self.set.map_or(Duration::ZERO, |set| INTERVAL.saturating_sub(set.elapsed()))
    }

    /// Sets the session to write.
    pub(super) fn set(&mut self, session: SessionTexts) {
        self.set = Some(Instant::now());
        if let Some(messages) = &self.messages {
            // The thread ends only with this value.
            let _ = messages.send(Message::Session(session));
        }
    }

    /// Returns why the session could not be written, once for each reason.
    pub(super) fn take_trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Writes the last session, and ends the thread.
    pub(super) fn finish(mut self, session: SessionTexts) -> io::Result<()> {
        self.set(session);
        #[cfg(unix)]
        if let Some(signals) = self.signals.take() {
            signals.close();
        }
        self.messages = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(saved)) => saved,
            _ => Err(io::Error::other("the thread that writes it has failed")),
        }
    }
}

/// Sends a message at each signal that ends a process, except for those that the process was started to ignore, as by
/// `nohup`.
#[cfg(unix)]
fn listen(messages: Sender<Message>) -> io::Result<signal_hook::iterator::Handle> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    // Only Linux has this file.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = |line: &str| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok();
    let ignored = status.lines().find_map(mask).unwrap_or_default();
    let is_heard = |signal: &i32| ignored >> (signal - 1) & 1 == 0;
    let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM].into_iter().filter(is_heard))?;
    let handle = signals.handle();
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            if messages.send(Message::End(signal)).is_err() {
                break;
            }
        }
    })?;
    Ok(handle)
}

/// The session that the file has, and the one that it should have.
struct Sessions<S> {
    save: S,
    written: SessionTexts,
    pending: Option<Pending>,
    /// The outcome of the last write.
    outcome: io::Result<()>,
}

/// A session that is not written yet.
struct Pending {
    session: SessionTexts,
    /// The time of the first change since the last one was written.
    since: Instant,
    /// The time of the last change.
    changed: Instant,
}

impl<S: FnMut(&SessionTexts) -> io::Result<()>> Sessions<S> {
    fn set(&mut self, session: SessionTexts) {
        let now = Instant::now();
        match &mut self.pending {
            _ if session == self.written => (self.pending, self.outcome) = (None, Ok(())),
            Some(pending) if pending.session == session => {}
            Some(pending) => (pending.session, pending.changed) = (session, now),
            None => self.pending = Some(Pending { session, since: now, changed: now }),
        }
    }

    fn write(&mut self) {
        let Some(Pending { session, .. }) = self.pending.take() else { return };
        self.outcome = (self.save)(&session);
        if self.outcome.is_ok() {
            self.written = session;
        }
    }

    /// Waits for a message until the pending session is due.
    fn receive(&self, inbox: &Receiver<Message>) -> Result<Message, RecvTimeoutError> {
        match &self.pending {
            Some(Pending { since, changed, .. }) => {
                let due = (*changed + QUIET).min(*since + LONGEST_WAIT);
                inbox.recv_timeout(due.saturating_duration_since(Instant::now()))
            }
            None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
        }
    }
}

/// Writes the sessions that arrive until the senders are gone. Returns the outcome of the last write.
fn write_sessions(inbox: &Receiver<Message>, save: impl FnMut(&SessionTexts) -> io::Result<()>) -> io::Result<()> {
    let mut sessions = Sessions { save, written: SessionTexts::new(), pending: None, outcome: Ok(()) };
    loop {
        match sessions.receive(inbox) {
            Ok(Message::Session(session)) => sessions.set(session),
            #[cfg(unix)]
            Ok(Message::End(signal)) => {
                sessions.write();
                // Ends the process as the signal would.
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
            Err(RecvTimeoutError::Timeout) => sessions.write(),
            Err(RecvTimeoutError::Disconnected) => {
                sessions.write();
                return sessions.outcome;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(text: &str) -> SessionTexts {
        SessionTexts::from([("key".to_owned(), text.to_owned())])
    }

    /// Sends messages to the thread's function, and returns the sessions that it saves, with the times since the start.
    fn saved(send: impl FnOnce(&Sender<Message>)) -> Vec<(SessionTexts, Duration)> {
        let (begin, mut saved) = (Instant::now(), Vec::new());
        let (messages, inbox) = channel();
        thread::scope(|scope| {
            let saved = &mut saved;
            scope.spawn(move || {
                write_sessions(&inbox, |session| {
                    saved.push((session.clone(), begin.elapsed()));
                    Ok(())
                })
            });
            send(&messages);
            drop(messages);
        });
        saved
    }

    #[test]
    fn a_change_is_saved_after_two_quiet_seconds_and_the_last_one_at_the_end() {
        let saved = saved(|messages| {
            for text in ["first", "second", "second"] {
                messages.send(Message::Session(session(text))).expect("it listens");
            }
            thread::sleep(QUIET + Duration::from_millis(500));
            messages.send(Message::Session(session("last"))).expect("it listens");
        });
        let [(second, after), (last, _)] = &saved[..] else { panic!("{saved:?}") };
        assert_eq!([second, last], [&session("second"), &session("last")]);
        assert!(*after >= QUIET, "{after:?}");
    }

    #[cfg(unix)]
    #[test]
    fn a_signal_saves_at_once() {
        let saved = saved(|messages| {
            messages.send(Message::Session(session("mine"))).expect("it listens");
            // The default of this signal is to do nothing.
            messages.send(Message::End(signal_hook::consts::SIGWINCH)).expect("it listens");
            thread::sleep(Duration::from_millis(500));
            messages.send(Message::Session(session("later"))).expect("it listens");
        });
        let [(mine, after), _] = &saved[..] else { panic!("{saved:?}") };
        assert!(*mine == session("mine") && *after < QUIET, "{after:?}");
    }
}
