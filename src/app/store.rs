//! The file that keeps the session for the next start.
//!
//! After a panic the program is restarted with the session, as the event loop cannot be reused. A program that panics
//! within 20 s of its start sets the session aside, as it may be the cause.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use valleyscope_runs::atomic_file::{Overwrite, write_file};

use super::session;

/// The key of the reason why the last session was set aside.
const SET_ASIDE_KEY: &str = "valleyscope.session.set_aside";

/// The file that eframe reads at the start and writes while the window is open: a map of texts.
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

    /// Checks that the last session can be read and the next one written. Sets a damaged file aside. Returns a message
    /// to the user: a title and a text.
    pub fn check(&self) -> Option<(String, String)> {
        if let Err(error) = self.check_writable() {
            let text = format!(
                "cannot write to the folder of {}: {error}\n\nThe next start cannot restore this session: work that \
                 is not saved as a preset elsewhere is lost when the window closes. Make the folder writable, or \
                 make room on its \
                 disk, and start Valleyscope again. `valleyscope doctor` shows how to move the folder.",
                self.path.display()
            );
            return Some(("The session can't be saved".to_owned(), text));
        }
        let text = match self.read() {
            Ok(mut values) => {
                let text = values.remove(SET_ASIDE_KEY)?;
                // The next start repeats the message if this fails.
                let _ = self.write(&values);
                text
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                let fate = match self.rename("unreadable") {
                    Ok(aside) => format!("It was set aside as {}.", aside.display()),
                    Err(error) => format!("It could not be set aside: {error}."),
                };
                let path = self.path.display();
                format!("{path} is damaged: {error}\n\n{fate} Valleyscope starts with a built-in preset.")
            }
            Err(error) => format!("cannot read {}: {error}", self.path.display()),
        };
        Some(("The last session was not restored".to_owned(), text))
    }

    /// Stores a session for the next start.
    pub fn keep(&self, session: String) -> io::Result<()> {
        let mut values = self.read().unwrap_or_default();
        values.insert(session::KEY.to_owned(), session);
        self.write(&values)
    }

    /// Moves the session to a file beside this one, as it may have caused the failure `reason`. [`Store::check`]
    /// reports it at the next start. Returns `None` without a session.
    pub fn set_aside(&self, reason: &str) -> io::Result<Option<PathBuf>> {
        let aside = match self.rename("stopped") {
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
        let _ = self.write(&HashMap::from([(SET_ASIDE_KEY.to_owned(), text)]));
        Ok(Some(aside))
    }

    /// Reads the stored values. Damaged ones give an error of the kind [`io::ErrorKind::InvalidData`].
    fn read(&self) -> io::Result<HashMap<String, String>> {
        ron::from_str(&std::fs::read_to_string(&self.path)?)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    fn write(&self, values: &HashMap<String, String>) -> io::Result<()> {
        let text = ron::ser::to_string(values).map_err(io::Error::other)?;
        write_file(&self.path, Overwrite::Yes, text.as_bytes())
    }

    /// Renames the file to an unused name; files set aside before stay.
    fn rename(&self, word: &str) -> io::Result<PathBuf> {
        let names =
            std::iter::once(format!("{word}.ron")).chain((2_u32..).map(|number| format!("{word}-{number}.ron")));
        let mut free = names.map(|name| self.path.with_extension(name)).filter(|aside| !aside.exists());
        let aside = free.next().expect("there are endless names");
        std::fs::rename(&self.path, &aside)?;
        Ok(aside)
    }

    /// Creates the folder if it is missing, and writes to it.
    fn check_writable(&self) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        tempfile::tempfile_in(folder)?.write_all(b"Valleyscope")
    }
}
