//! Exporting and evaluating a saved model of a run.
//!
//! The worker does this, as `valleyscope` has no libtorch: `valleyscope-train export` and `evaluate` print a line of
//! JSON. Only the model's tensors are read from a checkpoint, whatever the state of its optimizer, and nothing is
//! written into the run.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::Serialize;
use valleyscope_engine::terminal_escape::visible_lines;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::run::RunConfig;
use valleyscope_runs::{CheckpointOrigin, Forked, RunFolder, RunReader, WholeLoss};

use super::checkpoint::{NamedTensors, OPTIMIZER};
use super::device::Devices;
use super::error::TrainError;
use super::thread_spin::ThreadSpin;
use super::training::{MeanLoss, Obtained, TrainedSpec, Training, restore_tensors, trained};

/// A run and one of its checkpoints.
#[derive(Debug)]
pub struct SavedRun {
    run: RunFolder,
    step: u64,
    preset: Preset,
    origin: CheckpointOrigin,
    forked: Option<Forked>,
}

impl SavedRun {
    /// Opens the run in a folder, with some fields of its config changed.
    ///
    /// # Errors
    ///
    /// Fails if there is no run, or its config is not the one that it was begun with.
    pub fn open(folder: &Path, step: u64, settings: &[(String, String)]) -> anyhow::Result<SavedRun> {
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
    pub fn restore(&self, tensors: &NamedTensors<'_>) -> Result<(), TrainError> {
        let saved = super::checkpoint::load_model(&self.run, self.step, &self.origin, self.forked.as_ref(), tensors);
        let saved = saved.map_err(|error| TrainError::Refused(error.to_string()))?;
        restore_tensors(tensors, &saved)
    }

    /// Computes the loss of the model over all held-out data.
    pub fn evaluate<S: TrainedSpec>(&self, spec: &S, devices: &Devices) -> anyhow::Result<WholeLoss> {
        let device = devices.open(spec.common().device, 0)?;
        let obtained = spec.obtain(&mut say, &|| false).map_err(anyhow::Error::from_boxed)?;
        let Obtained { data, source, fingerprint, warnings, .. } =
            obtained.context("obtaining the data was cancelled")?;
        warnings.iter().for_each(|warning| say(&format!("warning: {warning}")));
        let mut training = spec.begin(data, device)?;
        let mut tensors = training.tensors();
        tensors.retain(|(name, _)| !name.starts_with(OPTIMIZER));
        self.restore(&tensors)?;
        let MeanLoss { metric, loss, count, unit } = training.evaluate_all(&mut progress())?;
        Ok(WholeLoss {
            metric: metric.to_string(),
            loss,
            count,
            unit: unit.to_owned(),
            data: source,
            is_of_run: self.origin.data.is_empty() || self.origin.data == fingerprint,
            device: devices.describe(device),
        })
    }
}

/// Writes the model of a run's checkpoint into a folder, and prints the outcome.
pub(super) fn export(run: &Path, step: u64, folder: &Path) -> ExitCode {
    answer(SavedRun::open(run, step, &[]).and_then(|saved| trained(&saved.preset)?.export(&saved, folder)))
}

/// Prints the loss of a run's checkpoint over all held-out data.
pub(super) fn evaluate(run: &Path, step: u64, settings: &[(String, String)], devices: &Devices) -> ExitCode {
    let _spin = ThreadSpin::adapt();
    answer(SavedRun::open(run, step, settings).and_then(|saved| trained(&saved.preset)?.evaluate(&saved, devices)))
}

/// Prints the outcome for the calling program as a line of JSON.
fn answer(outcome: anyhow::Result<impl Serialize>) -> ExitCode {
    let outcome = outcome.map_err(|error| format!("{error:#}"));
    println!("{}", serde_json::to_string(&outcome).expect("an answer holds nothing that JSON cannot express"));
    if outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn say(line: &str) {
    eprintln!("{}", visible_lines(line));
}

/// Prints the progress of an evaluation from time to time.
fn progress() -> impl FnMut(u64, u64) {
    const INTERVAL: Duration = Duration::from_secs(10);
    let mut said = Instant::now();
    move |done, of| {
        if said.elapsed() >= INTERVAL {
            said = Instant::now();
            say(&format!("{done} of {of} evaluated"));
        }
    }
}
