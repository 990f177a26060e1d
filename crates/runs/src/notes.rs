//! A user's notes about a run, and the removal of runs.

use std::fs;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::folder::RunFolder;
use super::reader::RunReader;
use super::status::{Status, now};
use crate::atomic_file::write_plain_file;
use crate::plain_file::{self, Links};

/// The largest size of a run's notes in bytes.
const MOST: u64 = 1 << 20;

/// A user's title and note of a run, in `notes.ron`. The worker never uses them, so they can be written while it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Notes {
    /// The title that replaces the preset's, or empty.
    pub title: String,
    pub note: String,
    /// Words by which the user groups runs, in order, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// A change of one part of the notes of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotesEdit {
    Title(String),
    Note(String),
    /// Adds a tag.
    Tag(String),
    /// Removes a tag.
    Untag(String),
}

impl Notes {
    /// Reads the notes of a run; they are empty if the file is missing.
    pub fn read(run: &RunFolder) -> io::Result<Notes> {
        let text = match plain_file::read_text(&run.notes(), Links::Refused, MOST) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Notes::default()),
            Err(error) => return Err(error),
        };
        ron::from_str(&text).map_err(|error| {
            let expected = "expected (title: \"…\", note: \"…\", tags: [\"…\"])";
            io::Error::new(io::ErrorKind::InvalidData, format!("{}: {expected}: {error}", run.notes().display()))
        })
    }

    /// Changes the notes of a run as they are in its folder now.
    ///
    /// # Errors
    ///
    /// Fails without a change if the notes cannot be read.
    pub fn edit(run: &RunFolder, edits: &[NotesEdit]) -> io::Result<()> {
        let before = Notes::read(run)?;
        let mut notes = before.clone();
        edits.iter().for_each(|edit| notes.apply(edit));
        if notes == before { Ok(()) } else { notes.write(run) }
    }

    fn apply(&mut self, edit: &NotesEdit) {
        match edit {
            NotesEdit::Title(title) => self.title.clone_from(title),
            NotesEdit::Note(note) => self.note.clone_from(note),
            NotesEdit::Tag(tag) if self.tags.contains(tag) => {}
            NotesEdit::Tag(tag) => {
                self.tags.push(tag.clone());
                self.tags.sort();
            }
            NotesEdit::Untag(tag) => self.tags.retain(|other| other != tag),
        }
    }

    pub fn write(&self, run: &RunFolder) -> io::Result<()> {
        let text = ron::ser::to_string_pretty(self, ron::ser::PrettyConfig::new().new_line("\n"))
            .expect("they hold nothing that RON cannot express");
        write_plain_file(&run.notes(), (text + "\n").as_bytes())
    }
}

/// Why a run cannot be removed.
#[derive(Debug, thiserror::Error)]
pub enum RemoveError {
    #[error("{} is being trained; stop it first", .0.display())]
    Alive(PathBuf),
    #[error("{} may still be trained, on another machine: {status}", run.display())]
    MayLive { run: PathBuf, status: Status },
    #[error("cannot remove {}: {source}", run.display())]
    File { run: PathBuf, source: io::Error },
}

/// Checks that a run can be removed: no worker trains it, or may train it without being lost ([`Status::is_lost`]).
pub fn check_removable(run: &RunFolder) -> Result<(), RemoveError> {
    let path = run.path().to_owned();
    let status = RunReader::brief(run.clone()).status(now());
    match status.map_err(|source| RemoveError::File { run: path.clone(), source })? {
        Status::Running(_) | Status::Starting => Err(RemoveError::Alive(path)),
        status @ Status::Silent { .. } if !status.is_lost() => Err(RemoveError::MayLive { run: path, status }),
        _ => Ok(()),
    }
}

/// Removes a run permanently.
pub fn remove(run: &RunFolder) -> Result<(), RemoveError> {
    check_removable(run)?;
    let failed = |source| RemoveError::File { run: run.path().to_owned(), source };
    // Holding the lock, so that no worker begins in the meantime.
    let lock = plain_file::open(&run.lock(), Links::Refused).ok();
    if lock.as_ref().is_some_and(|lock| lock.try_lock().is_err()) {
        return Err(RemoveError::Alive(run.path().to_owned()));
    }
    fs::remove_dir_all(run.path()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Notes, NotesEdit};
    use crate::RunFolder;

    #[test]
    fn an_edit_keeps_the_other_parts_and_leaves_unreadable_notes_alone() {
        let place = tempfile::tempdir().expect("a temporary folder can be made");
        let run = RunFolder::create(place.path(), "run", "Mnist(").expect("a run can be made");
        Notes { title: "Mine".to_owned(), ..Notes::default() }.write(&run).expect("it can be written");
        let tags = ["b", "a", "b"].map(|tag| NotesEdit::Tag(tag.to_owned()));
        Notes::edit(&run, &tags).expect("it can be changed");
        Notes::edit(&run, &[NotesEdit::Note("good".to_owned())]).expect("it can be changed");
        let expected = Notes { title: "Mine".to_owned(), note: "good".to_owned(), tags: vec!["a".into(), "b".into()] };
        assert_eq!(Notes::read(&run).expect("it can be read"), expected);
        fs::write(run.notes(), "(title: \"Mine\"").expect("it can be written");
        Notes::edit(&run, &tags).expect_err("they cannot be read");
        assert_eq!(fs::read_to_string(run.notes()).expect("it can be read"), "(title: \"Mine\"");
    }
}
