//! The file that stores the session, the state of the app that the next start restores.
//!
//! The file is replaced as a whole: a program that is killed, or a full disk, leaves the last good one. The session
//! with which the program started stays in a second file, in case the first is damaged otherwise.
//!
//! A program that panics within 20 s of its start sets the session aside, as it may be the cause.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use egui::Context;
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite, write_file};
use valleyscope_runs::plain_file;
use valleyscope_runs::plain_file::Links;

use super::jobs::Job;

/// The key of the session in eframe's storage.
pub(crate) const KEY: &str = "valleyscope.session";

/// The key of the reason why the last session was set aside.
const SET_ASIDE_KEY: &str = "valleyscope.session.set_aside";
/// The largest size of the file, in bytes.
const LARGEST: u64 = 64 << 20;
/// The time between two sessions that are written.
const INTERVAL: Duration = Duration::from_secs(2);

pub(crate) const UNSAVED: &str = "The session can't be saved";

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

    fn previous(&self) -> PathBuf {
        self.path.with_extension("previous.ron")
    }

    /// The path of the file in which eframe stores the window's size and position. eframe empties it before writing, so
    /// it cannot hold the session.
    pub(crate) fn window(&self) -> PathBuf {
        self.path.with_file_name("window.ron")
    }

    /// Reads the last session, or the previous one if the file is damaged. Sets a damaged file aside, and copies an
    /// undamaged one to the second file. Reports why a session was set aside.
    pub fn restore(&self) -> (SessionTexts, Option<Report>) {
        // Left by a killed program. If it cannot be removed, it stays.
        let _ = self.path.parent().map(AtomicFile::clear);
        let report = |text| ("The last session was not restored".to_owned(), text);
        let error = match read(&self.path) {
            Ok(mut texts) => {
                let set_aside = texts.remove(SET_ASIDE_KEY);
                // The next start repeats the message if this fails.
                let to = if set_aside.is_some() { self.path.clone() } else { self.previous() };
                let _ = write(&to, &texts);
                return (texts, set_aside.map(report));
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
        (previous.unwrap_or_default(), Some(report(text)))
    }

    /// Stores a session for the next start.
    pub fn keep(&self, session: &SessionTexts) -> io::Result<()> {
        std::fs::create_dir_all(self.path.parent().unwrap_or(Path::new(".")))?;
        write(&self.path, session)
    }

    /// Moves a session that cannot be used to another file of this folder.
    pub(crate) fn set_unreadable_aside(&self) {
        if let Err(error) = rename_aside(&self.path, "unreadable") {
            log::warn!("{} cannot be set aside: {error}", self.path.display());
        }
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

/// Saves the session in the background if it has changed.
pub(crate) struct Saver {
    store: Store,
    /// The last session that was written.
    written: SessionTexts,
    saving: Option<Job<(SessionTexts, io::Result<()>)>>,
    /// The time of the last call of [`Saver::save`].
    called: Option<Instant>,
    /// The reason why the last session could not be written.
    trouble: Option<String>,
}

impl Saver {
    pub(crate) fn new(ctx: &Context, store: Store, restored: SessionTexts) -> Saver {
        #[cfg(unix)]
        if let Err(error) = signals::wake(ctx.clone()) {
            log::warn!("no signal saves the session: {error}");
        }
        Saver { store, written: restored, saving: None, called: None, trouble: None }
    }

    /// The time until another session should be saved.
    pub(crate) fn wait(&self) -> Duration {
        #[cfg(unix)]
        if signals::received().is_some() {
            return Duration::ZERO;
        }
        self.called.map_or(Duration::ZERO, |called| INTERVAL.saturating_sub(called.elapsed()))
    }

    /// Saves a changed session in the background. Returns the reason why the last one could not be saved, once for each
    /// reason. After a signal that ends the process it saves at once and ends the process.
    pub(crate) fn save(&mut self, ctx: &Context, session: SessionTexts) -> Option<String> {
        #[cfg(unix)]
        if let Some(signal) = signals::received() {
            self.saving.iter_mut().for_each(Job::end);
            // Nobody is left to read an error.
            let _ = self.store.keep(&session);
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
        self.called = Some(Instant::now());
        let ended = Job::take(&mut self.saving);
        let last = ended.map(|ended| match ended {
            Ok((written, Ok(()))) => {
                self.written = written;
                None
            }
            Ok((_, Err(error))) => Some(format!("cannot write {}: {error}", self.store.path().display())),
            Err(failed) => Some(failed.to_string()),
        });
        if self.saving.is_none() && session != self.written {
            let store = self.store.clone();
            self.saving = Some(Job::start(ctx, move |_| {
                let saved = store.keep(&session);
                (session, saved)
            }));
        }
        let last = last.filter(|trouble| *trouble != self.trouble)?;
        self.trouble.clone_from(&last);
        last
    }

    /// Saves the last session.
    pub(crate) fn finish(mut self, session: &SessionTexts) -> io::Result<()> {
        #[cfg(unix)]
        signals::ignore();
        self.saving.iter_mut().for_each(Job::end);
        self.store.keep(session)
    }
}

/// Signals that end the process (hang-up, interrupt, termination), which first save the session.
#[cfg(unix)]
mod signals {
    use std::io;
    use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
    use std::sync::{Arc, Mutex, PoisonError};
    use std::thread;
    use std::time::Duration;

    use egui::Context;
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::flag;
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    /// The time that a window has to save its session after a signal.
    const PATIENCE: Duration = Duration::from_secs(3);

    static RECEIVED: AtomicI32 = AtomicI32::new(0);
    /// The open window.
    static WINDOW: Mutex<Option<Context>> = Mutex::new(None);

    /// The signal that was received while a window was open.
    pub(super) fn received() -> Option<i32> {
        Some(RECEIVED.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
    }

    /// Lets signals end the process at once, as without a window.
    pub(super) fn ignore() {
        *WINDOW.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Makes the first signal wake this window, which saves its session. A second signal ends the process at once.
    ///
    /// Signals that the process was started to ignore, as by `nohup`, stay ignored on Linux.
    pub(super) fn wake(ctx: Context) -> io::Result<()> {
        static HANDLED: AtomicBool = AtomicBool::new(false);
        *WINDOW.lock().unwrap_or_else(PoisonError::into_inner) = Some(ctx);
        if HANDLED.swap(true, Ordering::SeqCst) {
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
                let window = WINDOW.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if let Some(window) = window {
                    RECEIVED.store(signal, Ordering::SeqCst);
                    window.request_repaint();
                    // A window that draws no frame must not keep the process alive.
                    thread::sleep(PATIENCE);
                }
                let _ = emulate_default_handler(signal);
            }
        })?;
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Command;
    use std::thread;

    use super::*;

    fn session(text: &str) -> SessionTexts {
        SessionTexts::from([(KEY.to_owned(), text.to_owned())])
    }

    #[test]
    fn a_signal_saves_the_session_and_ends_the_process() {
        for moment in ["open", "closed", "reopened"] {
            let folder = tempfile::tempdir().expect("a temporary folder can be made");
            let path = folder.path().join("app.ron");
            let mut child = Command::new(std::env::current_exe().expect("the test program has a path"));
            let name = format!("{}::ended_by_a_signal", module_path!().split_once("::").expect("it is in a crate").1);
            child.args(["--exact", &name, "--ignored"]);
            let output = child.env("MOMENT", moment).env("STORE", &path).output().expect("it starts");
            assert_eq!(output.status.signal(), Some(signal_hook::consts::SIGTERM), "{moment}: {output:?}");
            assert_eq!(read(&path).expect("it is saved"), session(moment));
        }
    }

    #[test]
    #[ignore = "the test above starts it in a process of its own"]
    fn ended_by_a_signal() {
        let [moment, path] = ["MOMENT", "STORE"].map(|name| std::env::var(name).expect("the test above sets it"));
        let ctx = Context::default();
        let open = || Saver::new(&ctx, Store::new((&path).into()), SessionTexts::new());
        let mut saver = Some(open());
        if moment != "open" {
            saver.take().expect("it is open").finish(&session("closed")).expect("it can be written");
        }
        if moment == "reopened" {
            saver = Some(open());
        }
        signal_hook::low_level::raise(signal_hook::consts::SIGTERM).expect("it can be raised");
        for _ in 0..600 {
            thread::sleep(Duration::from_millis(100));
            // As in a frame of the window.
            if let Some(saver) = saver.as_mut().filter(|saver| saver.wait().is_zero()) {
                saver.save(&ctx, session(&moment));
            }
        }
    }
}
