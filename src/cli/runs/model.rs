//! `valleyscope runs evaluate` and `sample`, and the part of `export` that writes models.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_runs::{SavedModel, TextRequest, WorkerProgram};

use super::find::{CheckpointName, RunsLocation};
use crate::cli::output::print;
use crate::cli::train::{data, device, find_worker};
use crate::cli::{Failure, say};

/// The device and the data of an evaluation.
#[derive(clap::Args)]
pub(super) struct Evaluation {
    /// Device: cpu, cuda, or cuda:1 and so on [default: the device of the training]
    #[arg(long, value_name = "DEVICE", value_parser = device)]
    device: Option<String>,
    /// Folder of the data [default: the run's]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// Writes the model of a checkpoint into a new or empty folder.
pub(super) fn export(
    place: &RunsLocation,
    name: &CheckpointName,
    folder: &Path,
    worker: Option<&Path>,
) -> Result<(), Failure> {
    check_empty(folder)?;
    let (model, worker) = open(place, name, worker)?;
    model.export(&worker, folder).map_err(anyhow::Error::from)?;
    say(format_args!("the model of {} at step {} is in {}", model.run.shown_name(), model.step, folder.display()));
    Ok(())
}

/// The text to be written.
#[derive(clap::Args)]
pub(super) struct Text {
    /// The beginning of the text [default: a line feed]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    prompt: Option<String>,
    /// Number of tokens to write
    #[arg(long, value_name = "N", default_value_t = 200)]
    tokens: u32,
    /// Temperature of the probabilities; 0 takes the most likely token each time
    #[arg(long, value_name = "T", default_value_t = 0.8)]
    temperature: f64,
    /// Number of the most likely tokens to draw from
    #[arg(long, value_name = "K", default_value_t = 200)]
    top_k: u32,
    /// Device: cpu, cuda, or cuda:1 and so on [default: the device of the training]
    #[arg(long, value_name = "DEVICE", value_parser = device)]
    device: Option<String>,
}

/// Prints a text by each of some checkpoints, below its name if there are several.
pub(super) fn sample(
    place: &RunsLocation,
    names: &[CheckpointName],
    text: &Text,
    worker: Option<&Path>,
) -> Result<(), Failure> {
    let settings: Vec<_> = text.device.iter().map(|device| ("device".to_owned(), device.clone())).collect();
    let Text { prompt, tokens, temperature, top_k, .. } = text;
    let request = TextRequest {
        prompt: prompt.clone().unwrap_or_else(|| "\n".to_owned()),
        tokens: *tokens,
        temperature: *temperature,
        top_k: Some(*top_k),
    };
    for name in names {
        let (model, worker) = open(place, name, worker)?;
        let written = model.sample(&worker, &request, &settings).map_err(anyhow::Error::from)?;
        if names.len() > 1 {
            print(&format!("{} at step {}\n", model.run.shown_name(), model.step))?;
        }
        print(&format!("{}\n", written.trim_end_matches('\n')))?;
    }
    Ok(())
}

/// Prints the loss of a checkpoint over all held-out data.
pub(super) fn evaluate(
    place: &RunsLocation,
    name: &CheckpointName,
    how: &Evaluation,
    worker: Option<&Path>,
) -> Result<(), Failure> {
    let folder = how.data.as_deref().map(data).transpose()?;
    let settings = [("device", how.device.clone()), ("data", folder)];
    let settings = settings.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    let settings: Vec<_> = settings.collect();
    let (model, worker) = open(place, name, worker)?;
    let loss = model.evaluate(&worker, &settings).map_err(anyhow::Error::from)?;
    say(format_args!("{} at step {}, {}, on {}", model.run.shown_name(), model.step, loss.data, loss.device));
    if !loss.is_of_run {
        say(format_args!("warning: the run has learned from other data than these"));
    }
    print(&format!("{} over {} {}\n", loss.words(), grouped(loss.count), loss.unit))
}

/// Returns the named checkpoint, and a worker that can export or evaluate it.
fn open(
    place: &RunsLocation,
    name: &CheckpointName,
    worker: Option<&Path>,
) -> Result<(SavedModel, WorkerProgram), Failure> {
    let run = place.find(&name.run)?;
    let step = name.step(&run)?;
    let worker = find_worker(worker)?;
    worker.handshake().map_err(anyhow::Error::from)?;
    Ok((SavedModel { run, step }, worker))
}

/// Refuses a folder that holds anything.
fn check_empty(folder: &Path) -> Result<(), Failure> {
    let is_empty = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
        Err(error) => {
            let error = anyhow::Error::from(error).context(format!("cannot look into {}", folder.display()));
            return Err(Failure::BadInput(error));
        }
    };
    if is_empty {
        return Ok(());
    }
    Err(Failure::BadInput(anyhow!(
        "--model must be a new or an empty folder, and {} holds files; name another",
        folder.display()
    )))
}
