//! Forks: new runs that start from a checkpoint of another.
//!
//! The fork's folder holds that checkpoint itself, as hard links of its files, or as copies where the file system has
//! no links. So a fork takes no time and no space, and stays valid when the other run continues and removes the
//! checkpoint, or is deleted. Only the curve before the fork is the other run's: it is read from that run's folder, as
//! long as that is found.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::checkpoint::Checkpoint;
use super::choice::{ChoiceError, first_usable};
use super::config::{ConfigError, RunConfig};
use super::event::{Event, EventRecord};
use super::folder::{FolderError, RunFolder};
use super::history::RunHistory;
use super::reader::RunReader;
use super::seal::seal;
use crate::export::{Overwrite, write_file};
use crate::plain_file::{self, Links};
use crate::preset::Preset;
use crate::workload::Workload;

/// The origin of a fork, as recorded in the first event of its run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forked {
    /// Name of the other run's folder.
    pub from_run: String,
    /// The step of its checkpoint from which the fork starts.
    pub from_step: u64,
    /// Path of its folder when the fork was made.
    pub folder: String,
    /// SHA-256 of the config that the other run was begun with, which identifies it.
    pub config_sha256: String,
    /// Checksum of the checkpoint, which distinguishes it from those that the fork saves.
    pub checkpoint_crc32: u32,
    /// Whether the optimizer keeps its state, as its rule is the same. Else its state is fresh.
    pub keeps_optimizer: bool,
}

/// A checkpoint of a run from which another run is to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    pub run: RunFolder,
    /// The step of the checkpoint; `None` is the newest usable one.
    pub step: Option<u64>,
}

/// Why a run cannot be forked.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("the run {run} cannot be forked: {source}")]
    Config { run: String, source: ConfigError },
    #[error("cannot read or write {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    #[error(
        "the run {run} is of the kind {expected}, and the settings are of the kind {found}; a fork goes on with the same model"
    )]
    Kind { run: String, expected: &'static str, found: &'static str },
    #[error(
        "the model of the run {run} has {expected}, and the settings ask for {found}; a fork goes on with the same model"
    )]
    Model { run: String, expected: String, found: String },
    #[error(
        "`steps` is {steps}, and the checkpoint of the run {run} is of step {step}, from which the fork counts on, so that \
         there is nothing left to train; set `steps` to more than {step}"
    )]
    Steps { run: String, step: u64, steps: u64 },
}

impl Fork {
    /// The training of the run itself, for a fork without changes.
    pub fn training(&self) -> Result<Preset, ForkError> {
        self.config().map(|(config, _)| config.preset)
    }

    /// The config that the run was begun with, and its hash.
    fn config(&self) -> Result<(RunConfig, String), ForkError> {
        let mut reader = RunReader::brief(self.run.clone());
        reader.poll().map_err(|source| ForkError::File { path: self.run.events(), source })?;
        let history = reader.history();
        let config = RunConfig::begun(&self.run, history)
            .map_err(|source| ForkError::Config { run: self.run.name(), source })?;
        let identity = config.identity(history);
        Ok((config, identity))
    }

    /// Creates the folder of a run that continues a training from the checkpoint. A worker starts it like a resumed
    /// run.
    ///
    /// The tensors are read only where they may have changed since they were saved; the worker reads them in any case.
    ///
    /// # Errors
    ///
    /// Where there is no such checkpoint, it is damaged, or is not of the training's model, and where the folder cannot
    /// be written. Then nothing of it is left. The other run is never changed.
    pub fn create(&self, parent: &Path, stem: &str, training: &Preset) -> Result<(RunFolder, Forked), ForkError> {
        let (_, config_sha256) = self.config()?;
        let mut forked = Forked::default();
        let run = RunFolder::make(parent, stem, |folder| {
            // A worker may be training the run and remove a checkpoint at any moment.
            let checkpoint = first_usable(&self.run, self.step, |step| bring(&self.run, step, folder))?;
            forked = Forked {
                from_run: self.run.name(),
                from_step: checkpoint.step,
                folder: self.run.path().display().to_string(),
                config_sha256,
                checkpoint_crc32: checkpoint.crc32,
                keeps_optimizer: self.check(training, &checkpoint)?,
            };
            let event = Event::Forked(forked.clone());
            let record =
                EventRecord { step: checkpoint.step, time: Timestamp::now(), wall_s: checkpoint.wall_s, event };
            write(&folder.config(), &training.to_ron())?;
            write(&folder.events(), &(seal(&record.to_line(), 1) + "\n"))
        })?;
        Ok((run, forked))
    }

    /// Checks that a training can continue from the checkpoint; returns whether it has the same update rule.
    fn check(&self, training: &Preset, checkpoint: &Checkpoint) -> Result<bool, ForkError> {
        let (run, step) = (self.run.name(), checkpoint.step);
        // The run may be a fork itself, with other settings than those that the checkpoint was trained with.
        let before = Preset::parse(&checkpoint.preset, &Checkpoint::file_name(step));
        let before = before.map_err(|error| ForkError::Config { run: run.clone(), source: error.into() })?;
        let [old, new] = [&before, training].map(|preset| preset.workload().and_then(Workload::training));
        let (Some(old), Some(new), true) = (old, new, before.kind() == training.kind()) else {
            return Err(ForkError::Kind { run, expected: before.kind(), found: training.kind() });
        };
        let [expected, found] = [&before, training].map(|preset| preset.workload().and_then(Workload::model));
        if expected != found {
            let [expected, found] = [expected, found].map(Option::unwrap_or_default);
            return Err(ForkError::Model { run, expected, found });
        }
        let steps = new.course.steps;
        if steps <= step {
            return Err(ForkError::Steps { run, step, steps });
        }
        Ok(old.rule.kind() == new.rule.kind())
    }
}

fn write(path: &Path, text: &str) -> Result<(), ForkError> {
    let written = write_file(path, Overwrite::No, text.as_bytes());
    written.map_err(|source| ForkError::File { path: path.to_owned(), source })
}

/// Links or copies a run's checkpoint into another folder and examines it there, where nobody removes it. An error is
/// the reason in words why it cannot be used; then nothing of it is in the folder.
fn bring(run: &RunFolder, step: u64, folder: &RunFolder) -> Result<Checkpoint, String> {
    // The description, which marks it as complete, comes last, as the worker removes it first.
    let paths = |run| [Checkpoint::tensors_path(run, step), Checkpoint::tensors_path(run, step).with_extension("ron")];
    let targets = paths(folder);
    let brought = paths(run).iter().zip(&targets).try_fold(true, |linked, (path, target)| {
        let is_link = link_or_copy(path, target).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(linked && is_link)
    });
    let examined = brought.and_then(|linked| {
        let files = Checkpoint::open(folder, step)?;
        // The time of a copy proves nothing. Nor do links where the worker has replaced both files between one and the
        // other.
        if linked && files.is_as_written(run) { files.look_over() } else { files.examine() }
    });
    examined.inspect_err(|_| {
        for target in targets {
            // The folder is removed, or another checkpoint taken beside this one, which then would not be used.
            let _ = fs::remove_file(target);
        }
    })
}

/// Links or copies a file, and returns whether it is a link.
fn link_or_copy(path: &Path, target: &Path) -> io::Result<bool> {
    plain_file::check(path)?;
    // Checkpoints are replaced as a whole and never written to, so a link stays as it is.
    match fs::hard_link(path, target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
        Err(_) => {
            let mut copy = File::create_new(target)?;
            io::copy(&mut plain_file::open(path, Links::Refused)?, &mut copy)?;
            copy.sync_all().map(|()| false)
        }
        Ok(()) => Ok(true),
    }
}

impl Forked {
    /// The possible places of the other run: beside the fork, also after all runs were moved, and its old place.
    fn places(&self, fork: &RunFolder) -> impl Iterator<Item = RunFolder> {
        let name = Path::new(&self.from_run).file_name();
        let beside = fork.path().parent().zip(name).map(|(parent, name)| parent.join(name));
        let places = beside.into_iter().chain([PathBuf::from(&self.folder)]);
        places.filter_map(|place| RunFolder::open(&place).ok())
    }

    /// Whether a checkpoint is the one from which the fork starts, and not one that it has saved.
    pub(crate) fn is_checkpoint(&self, checkpoint: &Checkpoint) -> bool {
        (self.from_step, self.checkpoint_crc32) == (checkpoint.step, checkpoint.crc32)
    }

    /// The other run, if its folder is found.
    pub fn other_run(&self, fork: &RunFolder) -> Option<RunFolder> {
        self.places(fork).find(|run| {
            let mut reader = RunReader::brief(run.clone());
            reader.poll().is_ok() && self.is_of(reader.history())
        })
    }

    /// Whether a run with this history may be the other run: another may have its name by now. A run that has not
    /// begun, such as a fork before its first step, cannot be told apart.
    fn is_of(&self, history: &RunHistory) -> bool {
        let sum = history.started().map(|started| &started.config_sha256).filter(|sum| !sum.is_empty());
        sum.is_none_or(|sum| *sum == self.config_sha256)
    }

    /// The history of the other run, if it is found, followed through at most `forks` further forks.
    pub(super) fn history(&self, fork: &RunFolder, forks: u32) -> Option<RunHistory> {
        self.places(fork).find_map(|run| {
            let mut reader = RunReader::of_fork(run, forks);
            reader.poll().ok()?;
            Some(reader.into_history()).filter(|history| self.is_of(history))
        })
    }

    /// The origin in words, such as `forked from mnist-1 at step 100, with its optimizer's state`.
    pub fn sentence(&self) -> String {
        self.sentence_parts().concat()
    }

    /// The sentence in three parts, of which the second is the name of the other run.
    pub fn sentence_parts(&self) -> [String; 3] {
        let Forked { from_run, from_step, .. } = self;
        let state = if self.keeps_optimizer { "with its optimizer's state" } else { "with a fresh optimizer" };
        ["forked from ".to_owned(), from_run.clone(), format!(" at step {from_step}, {state}")]
    }

    /// The message for a fork without a usable checkpoint; with the fault of its newest one, if it has any.
    pub fn lost(&self, newest: Option<&String>) -> String {
        let Forked { from_run, from_step, .. } = self;
        let newest = newest.map_or("the run has no checkpoint", String::as_str);
        format!(
            "{newest}; a fork without a checkpoint of its own begins with that of step {from_step} of {from_run}: put it back, or \
             fork that run again, from another checkpoint if need be"
        )
    }

    /// The message where the other run's history is not found.
    pub fn missing(&self) -> String {
        let Forked { from_run, from_step, .. } = self;
        format!("the run {from_run} is not found, so the curve begins at step {from_step}, where it was forked")
    }
}
