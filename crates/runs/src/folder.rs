//! The folder of a run, the folder of all runs, and the user's notes.

use std::path::{Path, PathBuf};
use std::{fs, io};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use valleyscope_engine::terminal_escape::{visible, visible_path};
use valleyscope_machine::data_folder;

use super::atomic_file::{Overwrite, write_file, write_plain_file};
use super::event::now;
use super::plain_file::{self, Links};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunFolder {
    path: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("cannot make a folder for the run in {}: {source}", visible_path(parent))]
    Create { parent: PathBuf, source: io::Error },
    #[error("cannot look into {}: {source}", visible_path(path))]
    ReadFolder { path: PathBuf, source: io::Error },
    #[error("there is no folder {}", visible_path(.0))]
    Missing(PathBuf),
    #[error("{} is not the folder of a run: it has neither {} nor {}", visible_path(.0), RunFolder::CONFIG, RunFolder::EVENTS)]
    Foreign(PathBuf),
}

/// The environment variable that names the folder of all runs.
pub const RUNS_VARIABLE: &str = "VALLEYSCOPE_RUNS";

/// The folder of all runs: the one that `VALLEYSCOPE_RUNS` names, else `runs` in the user's folder for data.
pub fn runs_folder() -> Option<PathBuf> {
    let named = std::env::var_os(RUNS_VARIABLE).and_then(|folder| std::path::absolute(folder).ok());
    named.or_else(|| Some(data_folder()?.join("runs")))
}

impl RunFolder {
    pub const CONFIG: &str = "config.ron";
    /// The settings of a run that another program has trained, instead of [`RunFolder::CONFIG`].
    pub const OTHER_CONFIG: &str = "config.json";
    const LOG: &str = "log.txt";
    pub const EVENTS: &str = "events.jsonl";
    pub const COMMANDS: &str = "commands.jsonl";
    pub const LOCK: &str = "lock";
    pub const HEARTBEAT: &str = "heartbeat";
    pub(super) const NOTES: &str = "notes.ron";
    pub const RESERVE: &str = "reserve";
    /// The largest length of a config in bytes.
    const MOST_CONFIG: u64 = 64 << 20;

    /// Creates the folder `<stem>-<UTC time>` in `parent`, with a `config.ron` of this text. Creates `parent` if it is
    /// missing, and appends a number if the name is taken.
    pub fn create(parent: &Path, stem: &str, config: &str) -> Result<RunFolder, FolderError> {
        RunFolder::make(parent, stem, |run| {
            let written = write_file(&run.config(), Overwrite::No, config.as_bytes());
            written.map_err(|source| FolderError::Create { parent: parent.to_owned(), source })
        })
    }

    /// Creates a folder like [`RunFolder::create`] and fills it by `fill`. If that fails, the folder is removed.
    pub fn make<E: From<FolderError>>(
        parent: &Path,
        stem: &str,
        fill: impl FnOnce(&RunFolder) -> Result<(), E>,
    ) -> Result<RunFolder, E> {
        let run = RunFolder::empty(parent, stem)?;
        fill(&run).inspect_err(|_| {
            // The folder is new, and if it cannot be removed, it holds no run.
            let _ = fs::remove_dir_all(&run.path);
        })?;
        Ok(run)
    }

    fn empty(parent: &Path, stem: &str) -> Result<RunFolder, FolderError> {
        let failed = |source| FolderError::Create { parent: parent.to_owned(), source };
        fs::create_dir_all(parent).map_err(failed)?;
        // Absolute, as the worker may have another working directory.
        let parent = parent.canonicalize().map_err(failed)?;
        let name = RunFolder::new_name(stem);
        for number in 1.. {
            let name = if number == 1 { name.clone() } else { format!("{name}-{number}") };
            let path = parent.join(name);
            match fs::create_dir(&path) {
                Ok(()) => return Ok(RunFolder { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(failed(source)),
            }
        }
        unreachable!("some number is free")
    }

    /// The name `<stem>-<UTC time>` of a new run.
    pub(super) fn new_name(stem: &str) -> String {
        format!("{}-{}", portable(stem), now().strftime("%Y%m%dT%H%M%SZ"))
    }

    /// Creates the folder of this name in `parent`, with a `config.ron` of this text, or as much of them as is missing.
    pub(super) fn create_named(parent: &Path, name: &str, config: &str) -> Result<RunFolder, FolderError> {
        let failed = |source| FolderError::Create { parent: parent.to_owned(), source };
        fs::create_dir_all(parent.join(name)).map_err(failed)?;
        // Absolute, as the worker may have another working directory.
        let run = RunFolder { path: parent.canonicalize().map_err(failed)?.join(name) };
        match write_file(&run.config(), Overwrite::No, config.as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(failed(error)),
            _ => Ok(run),
        }
    }

    pub fn open(path: &Path) -> Result<RunFolder, FolderError> {
        let path = match path.canonicalize() {
            Ok(path) => path,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(FolderError::Missing(path.to_owned())),
            Err(source) => return Err(FolderError::ReadFolder { path: path.to_owned(), source }),
        };
        let run = RunFolder { path };
        if run.has_files_of_run() { Ok(run) } else { Err(FolderError::Foreign(run.path)) }
    }

    pub fn is_at(path: &Path) -> bool {
        RunFolder { path: path.to_owned() }.has_files_of_run()
    }

    /// Lists all runs in a folder, by name. A missing folder has none.
    pub fn list(parent: &Path) -> Result<Vec<RunFolder>, FolderError> {
        let failed = |source| FolderError::ReadFolder { path: parent.to_owned(), source };
        let entries = match fs::read_dir(parent) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(failed(source)),
        };
        let mut runs = Vec::new();
        for entry in entries {
            let run = RunFolder { path: entry.map_err(failed)?.path() };
            if run.has_files_of_run() {
                runs.push(run);
            }
        }
        runs.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(runs)
    }

    fn has_files_of_run(&self) -> bool {
        self.config().is_file() || self.events().is_file()
    }

    /// The time of the folder's creation, if its name or the system records it.
    pub fn made(&self) -> Option<Timestamp> {
        let data = self.config().metadata().or_else(|_| self.other_config().metadata()).ok()?;
        Timestamp::try_from(data.modified().ok()?).ok()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned()
    }

    /// The name for messages, in one line: a file system allows any character in it.
    pub fn shown_name(&self) -> String {
        visible(&self.name()).into_owned()
    }

    /// The name without the time: the `stem` of [`RunFolder::create`].
    pub fn stem(&self) -> String {
        let is_time = |part: &&str| part.len() == "20260301T120000Z".len() && part.ends_with('Z');
        self.name().split('-').take_while(|part| !is_time(part)).collect::<Vec<_>>().join("-")
    }

    pub fn config(&self) -> PathBuf {
        self.path.join(Self::CONFIG)
    }

    pub fn other_config(&self) -> PathBuf {
        self.path.join(Self::OTHER_CONFIG)
    }

    /// Reads the settings of a run that another program has trained, the keys of nested ones joined by dots; `None` for
    /// a run of this program.
    ///
    /// # Errors
    ///
    /// Fails if the file is not a JSON object.
    pub fn other_settings(&self) -> io::Result<Option<Vec<(String, Value)>>> {
        if self.config().exists() || !self.other_config().exists() {
            return Ok(None);
        }
        let text = plain_file::read_text(&self.other_config(), Links::Refused, Self::MOST_CONFIG)?;
        let object: Map<String, Value> = serde_json::from_str(&text)?;
        let mut settings = Vec::new();
        flatten("", object, &mut settings);
        Ok(Some(settings))
    }

    pub fn config_text(&self) -> io::Result<String> {
        plain_file::read_text(&self.config(), Links::Refused, Self::MOST_CONFIG)
    }

    pub fn log(&self) -> PathBuf {
        self.path.join(Self::LOG)
    }

    /// The log of one of several processes that train the run; that of rank 0 is [`RunFolder::log`].
    pub fn rank_log(&self, rank: usize) -> PathBuf {
        self.path.join(format!("log-rank-{rank}.txt"))
    }

    pub fn events(&self) -> PathBuf {
        self.path.join(Self::EVENTS)
    }

    pub fn commands(&self) -> PathBuf {
        self.path.join(Self::COMMANDS)
    }

    pub fn lock(&self) -> PathBuf {
        self.path.join(Self::LOCK)
    }

    pub fn heartbeat(&self) -> PathBuf {
        self.path.join(Self::HEARTBEAT)
    }

    pub fn notes(&self) -> PathBuf {
        self.path.join(Self::NOTES)
    }

    pub fn reserve(&self) -> PathBuf {
        self.path.join(Self::RESERVE)
    }

    /// The name of the file of a checkpoint's tensors. The checkpoint's description has the same name with the
    /// extension `ron`.
    pub fn checkpoint_name(step: u64) -> String {
        format!("checkpoint-{step:08}.safetensors")
    }

    pub fn checkpoint_tensors(&self, step: u64) -> PathBuf {
        self.path.join(Self::checkpoint_name(step))
    }

    /// Finds the step of the newest checkpoint with tensors. It may be damaged.
    pub fn newest_checkpoint(&self) -> io::Result<Option<u64>> {
        let has_tensors = |step: &u64| self.checkpoint_tensors(*step).symlink_metadata().is_ok();
        Ok(self.checkpoints()?.into_iter().rev().find(has_tensors))
    }

    /// Lists the steps of the complete checkpoints, which have a `checkpoint-*.ron`, in order.
    pub fn checkpoints(&self) -> io::Result<Vec<u64>> {
        let mut steps = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let name = entry?.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix("checkpoint-")?.strip_suffix(".ron"));
            steps.extend(number.and_then(|number| number.parse::<u64>().ok()));
        }
        steps.sort_unstable();
        Ok(steps)
    }
}

/// Adds the values of an object, with the keys of nested ones joined by dots.
fn flatten(above: &str, object: Map<String, Value>, settings: &mut Vec<(String, Value)>) {
    for (key, value) in object {
        match value {
            Value::Object(inner) => flatten(&format!("{above}{key}."), inner, settings),
            value => settings.push((format!("{above}{key}"), value)),
        }
    }
}

/// Replaces the characters that some system does not allow in file names.
fn portable(stem: &str) -> String {
    const LONGEST: usize = 80;
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name: String = stem.chars().take(LONGEST).map(|c| if fits(c) { c } else { '-' }).collect();
    let name = name.trim_start_matches(['.', '-']);
    if name.is_empty() { "run".to_owned() } else { name.to_owned() }
}

/// The largest size of a run's notes in bytes.
const MOST: u64 = 1 << 20;

/// A user's title and note of a run, in `notes.ron`. The worker never uses them, so they can be written while it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Notes {
    /// The title that replaces the preset's, or empty.
    pub title: String,
    pub note: String,
    /// The user's labels for groups of runs, in order, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotesEdit {
    Title(String),
    Note(String),
    Tag(String),
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Notes, NotesEdit};
    use crate::RunFolder;

    #[test]
    fn an_edit_keeps_the_other_parts_and_leaves_unreadable_notes_alone() {
        let parent = tempfile::tempdir().expect("a temporary folder can be made");
        let run = RunFolder::create(parent.path(), "run", "Mnist(").expect("a run can be made");
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
