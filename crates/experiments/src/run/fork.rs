//! Forks: new runs that start from a checkpoint of another.
//!
//! The fork's folder holds that checkpoint itself, as hard links of its files, or as copies where the file system has
//! no links. So a fork takes no time and no space, and stays valid when the other run continues and removes the
//! checkpoint, or is deleted. Only the curve before the fork is the other run's: it is read from that run's folder, as
//! long as that is found.

use std::io;
use std::path::{Path, PathBuf};

use valleyscope_runs::atomic_file::{Overwrite, write_file};
use valleyscope_runs::{
    Checkpoint, CheckpointChoice, ChoiceError, Event, EventRecord, FolderError, Forked, RunFolder, RunHistory,
    RunReader, first_usable, link_checkpoint, now,
};

use super::config::{ConfigError, RunConfig};
use crate::preset::Preset;
use crate::workload::Workload;

/// A checkpoint of a run from which another run is to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    pub run: RunFolder,
    /// The step of the checkpoint; `None` is the newest usable one.
    pub step: Option<u64>,
}

/// The reason why a run cannot be forked.
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
    /// Returns the training of the run itself, for a fork without changes, with the settings in force after the
    /// checkpoint's step.
    pub fn training(&self) -> Result<Preset, ForkError> {
        let reader = self.read()?;
        let history = reader.history();
        let config = self.config(history)?;
        if history.changes().is_empty() {
            return Ok(config.preset);
        }
        let step = match self.step {
            Some(step) => step,
            None => CheckpointChoice::Newest.find_briefly(&self.run)?.step,
        };
        let training = config.with_changed_settings(&history.until(step));
        training.map_err(|source| ForkError::Config { run: self.run.name(), source })
    }

    /// Reads the events of the run.
    fn read(&self) -> Result<RunReader, ForkError> {
        let mut reader = RunReader::brief(self.run.clone());
        reader.poll().map_err(|source| ForkError::File { path: self.run.events(), source })?;
        Ok(reader)
    }

    /// Returns the config with which a run with this history began.
    fn config(&self, history: &RunHistory) -> Result<RunConfig, ForkError> {
        RunConfig::begun(&self.run, history).map_err(|source| ForkError::Config { run: self.run.name(), source })
    }

    /// Creates the folder of a run that continues a training from the checkpoint. A worker starts it like a resumed
    /// run.
    ///
    /// The tensors are read only where they may have changed since they were saved; the worker reads them in any case.
    ///
    /// # Errors
    ///
    /// Returns an error where there is no such checkpoint, it is damaged, or is not of the training's model, and where
    /// the folder cannot be written. Then nothing of it is left. The other run is never changed.
    pub fn create(&self, parent: &Path, stem: &str, training: &Preset) -> Result<(RunFolder, Forked), ForkError> {
        let reader = self.read()?;
        let config_sha256 = self.config(reader.history())?.identity(reader.history());
        let mut forked = Forked::default();
        let run = RunFolder::make(parent, stem, |folder| {
            // A worker may be training the run and remove a checkpoint at any moment.
            let checkpoint = first_usable(&self.run, self.step, |step| link_checkpoint(&self.run, step, folder))?;
            forked = Forked {
                from_run: self.run.name(),
                from_step: checkpoint.step,
                folder: self.run.path().display().to_string(),
                config_sha256,
                checkpoint_crc32: checkpoint.crc32,
                keeps_optimizer: self.check(training, &checkpoint)?,
            };
            let event = Event::Forked(forked.clone());
            let record = EventRecord { step: checkpoint.step, time: now(), wall_s: checkpoint.wall_s, event };
            write(&folder.config(), &training.to_ron())?;
            write(&folder.events(), &(record.to_line() + "\n"))
        })?;
        Ok((run, forked))
    }

    /// Checks that a training can continue from the checkpoint; returns whether it has the same update rule.
    fn check(&self, training: &Preset, checkpoint: &Checkpoint) -> Result<bool, ForkError> {
        let (run, step) = (self.run.name(), checkpoint.step);
        // The run may be a fork itself, with other settings than those that the checkpoint was trained with.
        let before = Preset::parse(&checkpoint.preset, &RunFolder::checkpoint_name(step));
        let before = before.map_err(|error| ForkError::Config { run: run.clone(), source: error.into() })?;
        let [old, new] = [&before, training].map(Preset::training);
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
