//! Writing and reading the tensors of checkpoints as safetensors.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, View};
use tch::{Device, Tensor};
use valleyscope_engine::terminal_escape::visible;
use valleyscope_experiments::run::compute_the_same;
use valleyscope_runs::atomic_file::{AtomicFile, write_plain_file};
use valleyscope_runs::checkpoint::{
    CRC32, Checkpoint, CheckpointOrigin, OptimizerProgress, TEXT_SUM, orphans, with_sum,
};
use valleyscope_runs::plain_file::{self, Links};
use valleyscope_runs::{Forked, RunFolder};

use super::checkpoint_reader::ExpectedTensors;
use super::error::{CheckpointError, TrainError, damaged};
use super::named_tensors::{NamedTensors, OwnedTensors, TrainingState, bytes_of, bytes_of_all, dtype, most_bytes};

/// A tensor's numbers as bytes.
struct Bytes {
    kind: Dtype,
    shape: Vec<usize>,
    tensor: Tensor,
}

impl View for &Bytes {
    fn dtype(&self) -> Dtype {
        self.kind
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        // SAFETY: the tensor is contiguous and in the processor's memory; it lives as long as `self`.
        Cow::Borrowed(unsafe { std::slice::from_raw_parts(self.tensor.data_ptr().cast(), self.data_len()) })
    }

    fn data_len(&self) -> usize {
        bytes_of(&self.tensor)
    }
}

/// Writes the tensors, then the checkpoint that describes them; returns the name of the tensors' file.
pub fn save(mut checkpoint: Checkpoint, run: &RunFolder, tensors: NamedTensors<'_>) -> Result<String, CheckpointError> {
    let bytes = tensors
        .into_iter()
        .map(|(name, tensor)| {
            let (kind, shape) = (dtype(tensor), shape(tensor));
            let tensor = tensor.f_to_device(Device::Cpu)?.f_contiguous()?;
            Ok((name, Bytes { kind, shape, tensor }))
        })
        .collect::<Result<Vec<_>, tch::TchError>>()
        .map_err(TrainError::from)?;
    let views = bytes.iter().map(|(name, bytes)| (name.as_str(), bytes));
    let file = safetensors::serialize(views, None).expect("floats have a whole number of bytes");
    checkpoint.bytes = file.len() as u64;
    let text = ron::ser::to_string_pretty(&checkpoint, ron::ser::PrettyConfig::new().new_line("\n"))
        .expect("a checkpoint holds nothing that RON cannot express");
    let text = sealed(&text, &file);
    let path = run.checkpoint_tensors(checkpoint.step);
    let write = |path: PathBuf, content: &[u8]| {
        write_plain_file(&path, content).map_err(|source| CheckpointError::File { path, source })
    };
    write(path.clone(), &file)?;
    write(path.with_extension("ron"), text.as_bytes())?;
    Ok(RunFolder::checkpoint_name(checkpoint.step))
}

/// Lists the steps of the complete checkpoints in a run's folder, in order.
pub fn steps(run: &RunFolder) -> Result<Vec<u64>, CheckpointError> {
    run.checkpoints().map_err(|source| CheckpointError::File { path: run.path().to_owned(), source })
}

/// Reads the checkpoint of a step, and its tensors by name.
///
/// Only tensors that the training expects are read into memory: those with the names, types and shapes of `expected`,
/// whose values do not matter.
///
/// # Errors
///
/// Fails if the checkpoint cannot be read, is damaged, is of another origin, or has tensors or decay rates of another
/// training.
pub fn load(
    run: &RunFolder,
    step: u64,
    origin: &CheckpointOrigin,
    expected: &TrainingState<'_>,
) -> Result<(Checkpoint, OwnedTensors), CheckpointError> {
    let check = |about: &Path, checkpoint: &Checkpoint| check_origin(checkpoint, about, origin);
    let tensors = &expected.tensors;
    let wanted = ExpectedTensors { tensors, most: bytes_of_all(tensors), passes_over: &|_| false };
    let (checkpoint, tensors) = read(run, step, &wanted, check)?;
    check_powers(&checkpoint, run, &expected.progress)?;
    Ok((checkpoint, tensors))
}

/// Checks that a checkpoint has a product of each of an optimizer's decay rates.
pub(super) fn check_powers(
    checkpoint: &Checkpoint,
    run: &RunFolder,
    of: &OptimizerProgress,
) -> Result<(), CheckpointError> {
    let Some(missing) = of.powers.keys().find(|key| !checkpoint.powers.contains_key(*key)) else { return Ok(()) };
    let found: Vec<&str> = checkpoint.powers.keys().map(String::as_str).collect();
    let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
    let about = run.checkpoint_tensors(checkpoint.step).with_extension("ron");
    Err(damaged(&about, format!("expected `{missing}` among `powers`, found {}", visible(&found))))
}

/// Reads the model's tensors of a step's checkpoint, regardless of the optimizer's state and the data.
///
/// # Errors
///
/// Fails as [`load`] does, except on other data. The checkpoint that a run was forked from is accepted.
pub fn load_model(
    run: &RunFolder,
    step: u64,
    origin: &CheckpointOrigin,
    forked: Option<&Forked>,
    expected: &NamedTensors<'_>,
) -> Result<OwnedTensors, CheckpointError> {
    let most = most_bytes(expected);
    let wanted = ExpectedTensors { tensors: expected, most, passes_over: &|_| true };
    let (_, tensors) = read(run, step, &wanted, |about, found| {
        let is_of_fork = forked.is_some_and(|forked| found.is_origin_of(forked));
        if is_of_fork { Ok(()) } else { check_config(found, about, origin) }
    })?;
    Ok(tensors)
}

/// Reads the checkpoint of a step, if `check` accepts it, and its tensors by name.
pub(super) fn read(
    run: &RunFolder,
    step: u64,
    wanted: &ExpectedTensors<'_>,
    check: impl FnOnce(&Path, &Checkpoint) -> Result<(), CheckpointError>,
) -> Result<(Checkpoint, OwnedTensors), CheckpointError> {
    let path = run.checkpoint_tensors(step);
    let about = path.with_extension("ron");
    let text = plain_file::read_text(&about, Links::Refused, Checkpoint::LONGEST_TEXT);
    let text = text.map_err(|source| CheckpointError::File { path: about.clone(), source })?;
    let checkpoint = Checkpoint::parse(&text).map_err(|reason| damaged(&about, reason))?;
    if checkpoint.step != step {
        let reason = format!("expected step {step}, found step {}: it was copied or renamed", checkpoint.step);
        return Err(damaged(&about, reason));
    }
    check(&about, &checkpoint)?;
    let tensors = wanted.read(&path, &checkpoint, &text)?;
    Ok((checkpoint, tensors))
}

fn check_origin(checkpoint: &Checkpoint, about: &Path, origin: &CheckpointOrigin) -> Result<(), CheckpointError> {
    if checkpoint.data != origin.data {
        return Err(foreign(about, "on other data", &origin.data, &checkpoint.data));
    }
    check_config(checkpoint, about, origin)
}

fn check_config(checkpoint: &Checkpoint, about: &Path, origin: &CheckpointOrigin) -> Result<(), CheckpointError> {
    if origin.has_config_of(checkpoint, compute_the_same) {
        return Ok(());
    }
    Err(foreign(about, "with another config", &origin.config, &checkpoint.config))
}

/// Removes checkpoints up to a step except the last two of them, the best, and those at multiples of `keep_every`.
/// Later ones are unusable, as they date from before the training went back.
pub fn tidy(run: &RunFolder, at: u64, best: Option<u64>, keep_every: Option<u64>) -> Result<(), CheckpointError> {
    let steps = steps(run)?;
    for &step in steps.iter().rev().filter(|&&step| step <= at).skip(2) {
        let kept = best == Some(step) || keep_every.is_some_and(|every| step.is_multiple_of(every));
        if !kept {
            let path = run.checkpoint_tensors(step);
            // The description first: it marks the checkpoint as complete.
            for path in [path.with_extension("ron"), path] {
                match fs::remove_file(&path) {
                    // Another program may have removed it.
                    Err(source) if source.kind() != io::ErrorKind::NotFound => {
                        return Err(CheckpointError::File { path, source });
                    }
                    _ => {}
                }
            }
        }
    }
    Ok(())
}

/// Removes the files of a worker that was killed while it saved: tensors without a description, and temporary files.
pub fn clear(run: &RunFolder) {
    // Files that cannot be removed only take up space.
    let _ = AtomicFile::clear(run.path());
    for path in orphans(run).unwrap_or_default() {
        let _ = fs::remove_file(&path);
    }
}

fn shape(tensor: &Tensor) -> Vec<usize> {
    tensor.size().into_iter().map(|size| size as usize).collect()
}

fn foreign(about: &Path, with: &'static str, expected: &str, found: &str) -> CheckpointError {
    let (expected, found) = (expected.to_owned(), visible(found).into_owned());
    CheckpointError::Foreign { path: about.to_owned(), with, expected, found }
}

/// Fills both checksums into a checkpoint's text, which has 0 in their places.
fn sealed(text: &str, tensors: &[u8]) -> String {
    let mut sum = crc32fast::Hasher::new();
    sum.update(tensors);
    sum.update(text.as_bytes());
    let text = with_sum(text, CRC32, 0, sum.finalize());
    with_sum(&text, TEXT_SUM, 0, crc32fast::hash(text.as_bytes()))
}
