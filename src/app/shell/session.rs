//! The session: the state of the app that the next start restores, and the file and the thread that store it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{io, thread};

use egui::ThemePreference;
use serde::{Deserialize, Serialize};
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite, write_file};
use valleyscope_runs::plain_file;
use valleyscope_runs::plain_file::Links;

use super::tabs::{Memory, TabName};
use super::window::WindowLayout;

/// The key of the session in eframe's storage.
pub(crate) const KEY: &str = "valleyscope.session";
/// The key of an unreadable session that was set aside.
pub(crate) const UNREADABLE_KEY: &str = "valleyscope.session.unreadable";

const VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Session {
    version: u32,
    pub window: WindowState,
    pub tabs: BTreeMap<TabName, Memory>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct WindowState {
    pub tab: TabName,
    pub layout: WindowLayout,
    pub recent: Vec<PathBuf>,
    pub theme: ThemePreference,
    pub zoom: f32,
}

impl Session {
    pub(crate) fn new(window: WindowState, tabs: BTreeMap<TabName, Memory>) -> Session {
        Session { version: VERSION, window, tabs }
    }

    pub(crate) fn to_text(&self) -> String {
        ron::ser::to_string(self).expect("a session holds no value that RON cannot express")
    }

    /// Parses a stored session, or returns why it cannot be used.
    pub(crate) fn restore(text: &str) -> Result<Session, String> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let unreadable = |error: ron::error::SpannedError| format!("the stored text is damaged: {error}");
        let found: Versioned = ron::from_str(text).map_err(unreadable)?;
        if found.version != VERSION {
            return Err(format!("expected a session of version {VERSION}, found version {}", found.version));
        }
        let session: Session = ron::from_str(text).map_err(unreadable)?;
        Ok(Session { window: session.window.clamped(), ..session })
    }
}

impl WindowState {
    /// Clamps the state to values that are valid for a window.
    fn clamped(mut self) -> WindowState {
        self.layout.sizes = std::mem::take(&mut self.layout.sizes).clamped();
        self.zoom = if self.zoom.is_finite() { self.zoom.clamp(0.5, 3.0) } else { 1.0 };
        self
    }
}

// The file that stores the session for the next start, and the thread that writes it while the window is open.
//
// The file is replaced as a whole: a program that is killed, or a full disk, leaves the last good one. The session of
// the previous start stays in a second file, in case the first is damaged otherwise.
//
// After a panic the program is restarted with the session, as the event loop cannot be reused. A program that panics
// within 20 s of its start sets the session aside, as it may be the cause.

/// The key of the reason why the last session was set aside.
const SET_ASIDE_KEY: &str = "valleyscope.session.set_aside";
/// The largest size of the file, in bytes.
const LARGEST: u64 = 64 << 20;
/// The time without further changes after which a changed session is written.
const QUIET: Duration = Duration::from_secs(2);
/// The interval at which a session that changes all the time is written.
const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// The time between two sessions that the window passes to be written.
const INTERVAL: Duration = Duration::from_millis(500);

/// The title of a message.
pub(crate) const UNSAVED: &str = "The session can't be saved";

pub type SessionTexts = BTreeMap<String, String>;

/// A message to the user: a title and a text.
type Report = (String, String);

/// The file of the session: a map of texts.
#[derive(Clone, Debug)]
pub struct Store {
    path: PathBuf,
    /// True once this value has stored a session.
    has_stored: bool,
}

impl Store {
    pub fn new(path: PathBuf) -> Store {
        Store { path, has_stored: false }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn previous(&self) -> PathBuf {
        self.path.with_extension("previous.ron")
    }

    /// The path of the file in which eframe stores the window's size and position. eframe empties it before writing, so
    /// it cannot hold the session.
    pub(crate) fn window(&self) -> PathBuf {
        self.path.with_file_name("window.ron")
    }

    /// Reads the last session, or the previous one if the file is damaged, and checks that the next one can be written.
    /// Sets a damaged file aside.
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
        // Left by a killed program. If it cannot be removed, it stays.
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

    /// Reads the last session, or the previous one if the file cannot be read; with the reason if it was set aside.
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
        let outcome = match rename_aside(&self.path, "unreadable") {
            Ok(aside) => format!("It was set aside as {}.", aside.display()),
            Err(error) => format!("It could not be set aside: {error}."),
        };
        let previous = read(&self.previous());
        let begin = match &previous {
            Ok(_) => format!("the session of the start before, {}", self.previous().display()),
            Err(_) => "a built-in preset".to_owned(),
        };
        let text =
            format!("{} cannot be read: {error}\n\n{outcome} Valleyscope starts with {begin}.", self.path.display());
        (previous.unwrap_or_default(), Some(text))
    }

    /// Stores a session for the next start. The first one that this value stores replaces that of the previous start,
    /// which moves to the second file. An unreadable one that was set aside stays.
    pub fn keep(&mut self, session: &SessionTexts) -> io::Result<()> {
        let mut texts = session.clone();
        if let Ok(last) = read(&self.path) {
            if let Some(unreadable) = last.get(UNREADABLE_KEY) {
                texts.entry(UNREADABLE_KEY.to_owned()).or_insert_with(|| unreadable.clone());
            }
            if last == texts {
                return Ok(());
            }
            if !self.has_stored && last.contains_key(KEY) {
                write(&self.previous(), &last)?;
            }
        }
        write(&self.path, &texts)?;
        self.has_stored = true;
        Ok(())
    }

    /// Moves the session to another file of this folder, as it may have caused the failure `reason`. [`Store::restore`]
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

/// Renames a file to an unused name; files that were set aside earlier stay.
fn rename_aside(path: &Path, stem: &str) -> io::Result<PathBuf> {
    let names = std::iter::once(format!("{stem}.ron")).chain((2_u32..).map(|number| format!("{stem}-{number}.ron")));
    let mut free = names.map(|name| path.with_extension(name)).filter(|aside| aside.symlink_metadata().is_err());
    let aside = free.next().expect("there are endless names");
    std::fs::rename(path, &aside)?;
    Ok(aside)
}

enum Message {
    Session(SessionTexts),
    /// Writes the session at once, and then drops the sender, as a signal is about to end the process.
    #[cfg(unix)]
    Write(Sender<()>),
    /// Writes the session at once, and ends the thread.
    Finish,
}

/// Writes the session in the background: two seconds after a change, and when a signal ends the process.
pub(crate) struct Saver {
    messages: Sender<Message>,
    thread: JoinHandle<io::Result<()>>,
    /// The reason why the session could not be written, until it is taken.
    write_error: Arc<Mutex<Option<String>>>,
    /// The time at which a session was last set.
    set: Option<Instant>,
}

impl Saver {
    /// Starts the thread. It calls `wake` when the session could not be written.
    pub(crate) fn start(mut store: Store, wake: impl Fn() + Send + 'static) -> io::Result<Saver> {
        let (messages, inbox) = channel();
        let write_error = Arc::<Mutex<Option<String>>>::default();
        let of_thread = Arc::clone(&write_error);
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
        if let Err(error) = write_at_signals(messages.clone()) {
            log::warn!("no signal saves the session: {error}");
        }
        Ok(Saver { messages, thread, write_error, set: None })
    }

    /// The time until another session should be set.
    pub(crate) fn wait(&self) -> Duration {
        self.set.map_or(Duration::ZERO, |set| INTERVAL.saturating_sub(set.elapsed()))
    }

    pub(crate) fn set(&mut self, session: SessionTexts) {
        self.set = Some(Instant::now());
        // The thread ends before this value only by a panic, which `finish` reports.
        let _ = self.messages.send(Message::Session(session));
    }

    /// Takes the reason why the session could not be written, once for each reason.
    pub(crate) fn take_error(&self) -> Option<String> {
        self.write_error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Writes the last session, and ends the thread.
    pub(crate) fn finish(mut self, session: SessionTexts) -> io::Result<()> {
        self.set(session);
        let _ = self.messages.send(Message::Finish);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that writes it has failed")))
    }
}

/// Makes a signal that ends the process write the session first, with the thread of the newest [`Saver`]. A second
/// signal ends the process at once, as does the first one after that thread's end.
///
/// Signals that the process was started to ignore, as by `nohup`, stay ignored on Linux. Elsewhere they end the
/// process.
#[cfg(unix)]
fn write_at_signals(messages: Sender<Message>) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::flag;
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    static NEWEST: Mutex<Option<Sender<Message>>> = Mutex::new(None);
    let newest = || NEWEST.lock().unwrap_or_else(PoisonError::into_inner);
    if newest().replace(messages).is_some() {
        // The handlers are installed for the whole life of the process.
        return Ok(());
    }
    // Only Linux has this file.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = |line: &str| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok();
    let ignored = status.lines().find_map(mask).unwrap_or_default();
    let mut numbers = vec![SIGHUP, SIGINT, SIGTERM];
    numbers.retain(|number| ignored >> (number - 1) & 1 == 0);
    let raised = Arc::<AtomicBool>::default();
    for &number in &numbers {
        // This handler is registered first, so that the first signal finds the flag lowered.
        flag::register_conditional_default(number, Arc::clone(&raised))?;
        flag::register(number, Arc::clone(&raised))?;
    }
    let mut signals = Signals::new(numbers)?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            let (writing, written) = channel();
            let messages = newest().clone();
            // A message that is not received is dropped, with its sender.
            let _ = messages.map(|messages| messages.send(Message::Write(writing)));
            let _ = written.recv();
            let _ = emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

/// The session that the file has, and the one that it should have.
struct Sessions<S> {
    save: S,
    written: SessionTexts,
    pending: Option<Pending>,
}

struct Pending {
    session: SessionTexts,
    /// The time of the first change since the last write, or of that write if it failed.
    since: Instant,
    /// The time of the last change, or of the last write if that failed.
    changed: Instant,
}

impl<S: FnMut(&SessionTexts) -> io::Result<()>> Sessions<S> {
    fn set(&mut self, session: SessionTexts) {
        let now = Instant::now();
        match &mut self.pending {
            _ if session == self.written => self.pending = None,
            Some(pending) if pending.session == session => {}
            Some(pending) => (pending.session, pending.changed) = (session, now),
            None => self.pending = Some(Pending { session, since: now, changed: now }),
        }
    }

    /// Writes the pending session. One that cannot be written stays pending.
    fn write(&mut self) -> io::Result<()> {
        let Some(mut pending) = self.pending.take() else { return Ok(()) };
        let saved = (self.save)(&pending.session);
        if saved.is_ok() {
            self.written = pending.session;
        } else {
            (pending.since, pending.changed) = (Instant::now(), Instant::now());
            self.pending = Some(pending);
        }
        saved
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

/// Writes the sessions that arrive until it is requested to finish. Returns the outcome of the last write.
fn write_sessions(inbox: &Receiver<Message>, save: impl FnMut(&SessionTexts) -> io::Result<()>) -> io::Result<()> {
    let mut sessions = Sessions { save, written: SessionTexts::new(), pending: None };
    loop {
        match sessions.receive(inbox) {
            Ok(Message::Session(session)) => sessions.set(session),
            // A failed write is reported by `save`.
            #[cfg(unix)]
            Ok(Message::Write(writing)) => {
                let _ = sessions.write();
                drop(writing);
            }
            Err(RecvTimeoutError::Timeout) => drop(sessions.write()),
            Ok(Message::Finish) | Err(RecvTimeoutError::Disconnected) => return sessions.write(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(text: &str) -> SessionTexts {
        SessionTexts::from([(KEY.to_owned(), text.to_owned())])
    }

    /// Starts the thread's function, of which the first writes fail with `failures`. Passes the messages to it, and the
    /// sessions that it tries to write, to `test`. Returns the sessions written afterwards, and the last outcome.
    fn written(
        failures: usize,
        test: impl FnOnce(&Sender<Message>, &Receiver<SessionTexts>),
    ) -> (Vec<SessionTexts>, io::Result<()>) {
        let (messages, inbox) = channel();
        let (write, writes) = channel();
        let mut outcomes = (0..failures).map(|_| Err(io::Error::other("the disk is full")));
        let thread = thread::spawn(move || {
            write_sessions(&inbox, |session| {
                write.send(session.clone()).expect("the test receives it");
                outcomes.next().unwrap_or(Ok(()))
            })
        });
        test(&messages, &writes);
        messages.send(Message::Finish).expect("the thread runs");
        (writes.iter().collect(), thread.join().expect("the thread does not panic"))
    }

    fn set(messages: &Sender<Message>, text: &str) {
        messages.send(Message::Session(session(text))).expect("the thread runs");
    }

    #[test]
    fn a_change_is_saved_after_two_quiet_seconds_and_the_last_one_at_the_end() {
        let (last, outcome) = written(0, |messages, writes| {
            let begin = Instant::now();
            ["first", "second", "second"].iter().for_each(|text| set(messages, text));
            assert_eq!(writes.recv(), Ok(session("second")));
            assert!(begin.elapsed() >= QUIET);
            set(messages, "last");
        });
        assert_eq!(last, [session("last")]);
        outcome.expect("nothing fails");
    }

    #[test]
    fn a_session_that_could_not_be_saved_is_tried_again() {
        let (last, outcome) = written(2, |messages, writes| {
            set(messages, "mine");
            for _ in 0..3 {
                assert_eq!(writes.recv_timeout(LONGEST_WAIT), Ok(session("mine")));
            }
        });
        assert_eq!(last, [], "it is written once");
        outcome.expect("the last write succeeds");
        let (last, outcome) = written(1, |messages, _| set(messages, "mine"));
        assert_eq!(last, [session("mine")]);
        assert!(outcome.is_err(), "there is no later write");
    }

    #[cfg(unix)]
    #[test]
    fn a_signal_saves_at_once() {
        let (later, outcome) = written(0, |messages, writes| {
            set(messages, "mine");
            let (writing, is_written) = channel();
            messages.send(Message::Write(writing)).expect("the thread runs");
            assert!(is_written.recv().is_err(), "it is dropped");
            assert_eq!(writes.try_recv(), Ok(session("mine")));
        });
        assert!(later.is_empty() && outcome.is_ok(), "{later:?} {outcome:?}");
    }

    #[cfg(unix)]
    #[test]
    fn a_signal_ends_the_process_after_the_session_is_saved_and_when_the_window_is_closed() {
        use std::os::unix::process::ExitStatusExt as _;
        for moment in ["open", "closed", "reopened"] {
            let folder = tempfile::tempdir().expect("a temporary folder can be made");
            let path = folder.path().join("app.ron");
            let mut child = std::process::Command::new(std::env::current_exe().expect("the test program has a path"));
            child.args(["--exact", "app::shell::session::tests::ended_by_a_signal", "--ignored"]);
            let output = child.env("MOMENT", moment).env("STORE", &path).output().expect("it starts");
            assert_eq!(output.status.signal(), Some(signal_hook::consts::SIGTERM), "{moment}: {output:?}");
            assert_eq!(read(&path).expect("it is saved"), session(moment));
        }
    }

    #[cfg(unix)]
    #[test]
    #[ignore = "the test above starts it in a process of its own"]
    fn ended_by_a_signal() {
        let [moment, path] = ["MOMENT", "STORE"].map(|name| std::env::var(name).expect("the test above sets it"));
        let start = || Saver::start(Store::new((&path).into()), || ()).expect("the thread starts");
        let mut saver = start();
        if moment == "open" {
            saver.set(session("open"));
        } else {
            saver.finish(session("closed")).expect("it can be written");
            if moment == "reopened" {
                start().set(session("reopened"));
            }
        }
        signal_hook::low_level::raise(signal_hook::consts::SIGTERM).expect("it can be raised");
        thread::sleep(Duration::from_secs(60));
    }
}
