//! The folder of a run, and the folder of all runs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::checkpoint::Checkpoint;
use crate::atomic_file::{Overwrite, write_file};
use crate::plain_file::{self, Links};

/// A folder that holds a run, by its path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunFolder {
    path: PathBuf,
}

/// Why a run cannot be created or found.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("cannot make a folder for the run in {}: {source}", parent.display())]
    Create { parent: PathBuf, source: io::Error },
    #[error("cannot look into {}: {source}", path.display())]
    Look { path: PathBuf, source: io::Error },
    #[error("there is no folder {}", .0.display())]
    Missing(PathBuf),
    #[error("{} is not the folder of a run: it has neither {} nor {}", .0.display(), RunFolder::CONFIG, RunFolder::EVENTS)]
    Foreign(PathBuf),
}

/// The user's folder for the program's data, if the system knows of one.
pub fn data_folder() -> Option<PathBuf> {
    directories::ProjectDirs::from("", "", "valleyscope").map(|project| project.data_dir().to_owned())
}

/// The default folder of runs.
pub fn runs_folder() -> Option<PathBuf> {
    Some(data_folder()?.join("runs"))
}

impl RunFolder {
    pub const CONFIG: &str = "config.ron";
    pub const LOG: &str = "log.txt";
    pub const EVENTS: &str = "events.jsonl";
    pub const COMMANDS: &str = "commands.jsonl";
    pub const LOCK: &str = "lock";
    pub const HEARTBEAT: &str = "heartbeat";
    pub const NOTES: &str = "notes.ron";
    pub const RESERVE: &str = "reserve";

    /// Creates the folder `<stem>-<UTC time>` in `parent`, which is created too where it is missing, with a
    /// `config.ron` of this text. Where the name is taken, a number follows it.
    pub fn create(parent: &Path, stem: &str, config: &str) -> Result<RunFolder, FolderError> {
        RunFolder::make(parent, stem, |run| {
            let written = write_file(&run.config(), Overwrite::No, config.as_bytes());
            written.map_err(|source| FolderError::Create { parent: parent.to_owned(), source })
        })
    }

    /// The same with the contents that `fill` adds. Where that fails, nothing is left.
    pub fn make<E: From<FolderError>>(
        parent: &Path,
        stem: &str,
        fill: impl FnOnce(&RunFolder) -> Result<(), E>,
    ) -> Result<RunFolder, E> {
        let run = RunFolder::empty(parent, stem)?;
        fill(&run).inspect_err(|_| {
            // It was made just now, and what cannot be removed is no run.
            let _ = fs::remove_dir_all(&run.path);
        })?;
        Ok(run)
    }

    fn empty(parent: &Path, stem: &str) -> Result<RunFolder, FolderError> {
        let failed = |source| FolderError::Create { parent: parent.to_owned(), source };
        fs::create_dir_all(parent).map_err(failed)?;
        // Absolute, as the worker may work in another folder.
        let parent = parent.canonicalize().map_err(failed)?;
        let name = format!("{}-{}", portable(stem), Timestamp::now().strftime("%Y%m%dT%H%M%SZ"));
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

    /// The run in an existing folder.
    pub fn open(path: &Path) -> Result<RunFolder, FolderError> {
        let path = match path.canonicalize() {
            Ok(path) => path,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(FolderError::Missing(path.to_owned())),
            Err(source) => return Err(FolderError::Look { path: path.to_owned(), source }),
        };
        let run = RunFolder { path };
        if run.looks_like_one() { Ok(run) } else { Err(FolderError::Foreign(run.path)) }
    }

    /// Whether a path looks like the folder of a run.
    pub fn is_at(path: &Path) -> bool {
        RunFolder { path: path.to_owned() }.looks_like_one()
    }

    /// All runs in a folder, by name. A missing folder has none.
    pub fn list(parent: &Path) -> Result<Vec<RunFolder>, FolderError> {
        let failed = |source| FolderError::Look { path: parent.to_owned(), source };
        let entries = match fs::read_dir(parent) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(failed(source)),
        };
        let mut runs = Vec::new();
        for entry in entries {
            let run = RunFolder { path: entry.map_err(failed)?.path() };
            if run.looks_like_one() {
                runs.push(run);
            }
        }
        runs.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(runs)
    }

    fn looks_like_one(&self) -> bool {
        self.config().is_file() || self.events().is_file()
    }

    /// The time at which the folder was created, if known.
    pub fn made(&self) -> Option<Timestamp> {
        Timestamp::try_from(self.config().metadata().ok()?.modified().ok()?).ok()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder's own name.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned()
    }

    /// The name without the time, as [`RunFolder::create`] was given it.
    pub fn stem(&self) -> String {
        let is_time = |part: &&str| part.len() == "20260301T120000Z".len() && part.ends_with('Z');
        self.name().split('-').take_while(|part| !is_time(part)).collect::<Vec<_>>().join("-")
    }

    pub fn config(&self) -> PathBuf {
        self.path.join(Self::CONFIG)
    }

    /// The text of the config.
    pub fn config_text(&self) -> io::Result<String> {
        const MOST: u64 = 64 << 20;
        plain_file::read_text(&self.config(), Links::Refused, MOST)
    }

    pub fn log(&self) -> PathBuf {
        self.path.join(Self::LOG)
    }

    /// The log of one of several processes that train it; that of rank 0 is [`RunFolder::log`].
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

    /// The step of the newest checkpoint that has its tensors beside it. It may be damaged.
    pub fn newest_checkpoint(&self) -> io::Result<Option<u64>> {
        let has_tensors = |step: &u64| Checkpoint::tensors_path(self, *step).symlink_metadata().is_ok();
        Ok(self.checkpoints()?.into_iter().rev().find(has_tensors))
    }

    /// The steps of the complete checkpoints, in order: those that have a `checkpoint-*.ron`.
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

/// The name with only characters that all systems allow in file names.
fn portable(stem: &str) -> String {
    const LONGEST: usize = 80;
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name: String = stem.chars().take(LONGEST).map(|c| if fits(c) { c } else { '-' }).collect();
    let name = name.trim_start_matches(['.', '-']);
    if name.is_empty() { "run".to_owned() } else { name.to_owned() }
}
