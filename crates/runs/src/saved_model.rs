//! Exporting and evaluating a saved model of a run, and writing text by it, by the worker.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::folder::RunFolder;
use super::launch::{LaunchError, WorkerProgram};
use super::metric::MetricId;
use super::number;

/// A checkpoint of a run whose model a worker exports, evaluates or lets write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedModel {
    pub run: RunFolder,
    pub step: u64,
}

/// A request for a text by a saved model.
#[derive(Clone, Debug, PartialEq)]
pub struct TextRequest {
    pub prompt: String,
    pub tokens: u32,
    /// The temperature of the probabilities; 0 takes the most likely token each time.
    pub temperature: f64,
    /// The number of the most likely tokens to draw from.
    pub top_k: Option<u32>,
}

/// The loss of a model over all held-out data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WholeLoss {
    /// Name of the metric, such as `val_loss`.
    pub metric: String,
    #[serde(with = "number")]
    pub loss: f64,
    /// The number of averaged values, and their kind: `tokens`, `images`.
    pub count: u64,
    pub unit: String,
    /// The name of the data.
    pub data: String,
    /// Whether these are the run's data, as far as it records them.
    pub is_of_run: bool,
    /// The device of the computation.
    pub device: String,
}

impl WholeLoss {
    /// Describes the loss, such as `validation loss 1.9061`.
    pub fn words(&self) -> String {
        MetricId::named(&self.metric).unwrap_or(MetricId::LOSS).info().words(self.loss)
    }
}

impl SavedModel {
    /// Writes the model into a folder in a format that other programs read, by a worker. Creates the folder if needed.
    ///
    /// # Errors
    ///
    /// Fails with [`LaunchError::Refused`] and the worker's reason, and if the worker cannot be started.
    pub fn export(&self, worker: &WorkerProgram, folder: &Path) -> Result<(), LaunchError> {
        self.ask(worker, "export", ["--out".into(), folder.into()])
    }

    /// Computes the loss over all held-out data, by a worker. `settings` change fields of the run's config, as `--set`
    /// does.
    ///
    /// # Errors
    ///
    /// Fails as [`SavedModel::export`] does.
    pub fn evaluate(&self, worker: &WorkerProgram, settings: &[(String, String)]) -> Result<WholeLoss, LaunchError> {
        let settings = settings.iter().flat_map(|(key, value)| ["--set".into(), format!("{key}={value}").into()]);
        self.ask(worker, "evaluate", settings)
    }

    /// Writes a text that follows a prompt, by a worker. `settings` change fields of the run's config, as `--set` does.
    ///
    /// # Errors
    ///
    /// Fails as [`SavedModel::export`] does.
    pub fn sample(
        &self,
        worker: &WorkerProgram,
        text: &TextRequest,
        settings: &[(String, String)],
    ) -> Result<String, LaunchError> {
        let TextRequest { prompt, tokens, temperature, top_k } = text;
        let top_k = top_k.map(|top_k| format!("--top-k={top_k}"));
        let request =
            [format!("--prompt={prompt}"), format!("--tokens={tokens}"), format!("--temperature={temperature}")];
        let settings = settings.iter().map(|(key, value)| format!("--set={key}={value}"));
        self.ask(worker, "sample", request.into_iter().chain(top_k).chain(settings).map(OsString::from))
    }

    /// Runs the worker and parses its answer, a line of JSON. Its other output goes to this program's standard error.
    fn ask<A: DeserializeOwned>(
        &self,
        worker: &WorkerProgram,
        what: &str,
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<A, LaunchError> {
        let mut command = Command::new(worker.path());
        command.arg(what).arg(self.run.path()).arg("--step").arg(self.step.to_string()).args(arguments);
        let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let path = worker.path().to_owned();
        let output = output.map_err(|source| LaunchError::Spawn { path: path.clone(), source })?;
        let text = String::from_utf8_lossy(&output.stdout);
        // Libraries may print something before this line.
        match text.lines().rev().find_map(|line| serde_json::from_str::<Result<A, String>>(line).ok()) {
            Some(answer) => answer.map_err(LaunchError::Refused),
            None => Err(LaunchError::Broken { path, status: output.status, said: String::new() }),
        }
    }
}
