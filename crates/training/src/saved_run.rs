//! A run and one of its checkpoints, opened to export or evaluate the saved model.
//!
//! Only the model's tensors are read from a checkpoint, whatever the state of its optimizer, and nothing is written
//! into the run.

use std::path::Path;

use anyhow::Context;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::run::RunConfig;
use valleyscope_runs::{CheckpointOrigin, Forked, RunFolder, RunReader};

use super::checkpoint::load_model;
use super::error::TrainError;
use super::named_tensors::{NamedTensors, restore_tensors};

/// A run and one of its checkpoints.
#[derive(Debug)]
pub(crate) struct SavedRun {
    run: RunFolder,
    pub(super) step: u64,
    /// The preset of the run's config, with the changed fields.
    pub(super) preset: Preset,
    pub(super) origin: CheckpointOrigin,
    forked: Option<Forked>,
}

impl SavedRun {
    /// Opens the run in a folder, with some fields of its config changed.
    ///
    /// # Errors
    ///
    /// Fails if there is no run, or its config is not the one that it was begun with.
    pub(crate) fn open(folder: &Path, step: u64, settings: &[(String, String)]) -> anyhow::Result<SavedRun> {
        let run = RunFolder::open(folder)?;
        let mut reader = RunReader::brief(run.clone());
        reader.poll().with_context(|| format!("cannot read {}", run.events().display()))?;
        let history = reader.history();
        let config = RunConfig::read(&run)?;
        config.check(history)?;
        let data = history.started().map(|started| started.fingerprint.clone()).unwrap_or_default();
        let origin = CheckpointOrigin { data, config: config.identity(history), preset: config.preset.to_ron() };
        let settings = settings.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let preset = config.preset.with_all(settings)?;
        let forked = history.forked().cloned();
        Ok(SavedRun { run, step, preset, origin, forked })
    }

    /// Sets tensors to those of the same names in the checkpoint.
    ///
    /// # Errors
    ///
    /// Fails if the checkpoint cannot be read, is damaged, is of another run, or lacks one of these tensors.
    pub(crate) fn restore(&self, tensors: &NamedTensors<'_>) -> Result<(), TrainError> {
        let saved = load_model(&self.run, self.step, &self.origin, self.forked.as_ref(), tensors);
        let saved = saved.map_err(|error| TrainError::Refused(error.to_string()))?;
        restore_tensors(tensors, &saved)
    }
}
