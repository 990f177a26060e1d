//! Writing and reading the tensors of checkpoints as safetensors.

use std::borrow::Cow;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Context;
use safetensors::tensor::{Dtype, View};
use tch::{Device, Kind, Tensor};
use valleyscope_engine::terminal_escape::visible;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::run::{RunConfig, compute_the_same};
use valleyscope_runs::atomic_file::{AtomicFile, write_plain_file};
use valleyscope_runs::checkpoint::{
    CRC32, Checkpoint, CheckpointOrigin, OptimizerProgress, TEXT_SUM, TensorEntry, orphans, with_sum,
};
use valleyscope_runs::{Forked, RunFolder, RunReader};

use super::error::{CheckpointError, TrainError, damaged};

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
            let (kind, shape) = (dtype(tensor), tensor.size().into_iter().map(|size| size as usize).collect());
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
    let text = with_checksums(&text, &file);
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

/// Reads the checkpoint of a step from which a run continues, its own or the one that it was forked from, and its
/// tensors by name.
///
/// Only tensors that the training expects are read into memory: those with the names, types and shapes of `expected`,
/// whose values do not matter. The training's own tensors stay unchanged: damage may show only at the end of the file.
///
/// An optimizer with another rule than before the fork starts with the states and the progress of `expected`, which are
/// those before its first step. The best evaluation before a fork counts if it is this checkpoint's and the fork
/// evaluates in the same way: earlier ones are not in the fork's folder.
///
/// # Errors
///
/// Fails if the checkpoint cannot be read, is damaged, is of another origin, or has tensors or decay rates of another
/// training.
pub fn load(
    run: &RunFolder,
    step: u64,
    forked: Option<&Forked>,
    origin: &CheckpointOrigin,
    expected: &TrainingState<'_>,
) -> Result<(Checkpoint, OwnedTensors), CheckpointError> {
    let (about, mut checkpoint, text) = description(run, step)?;
    let forked = forked.filter(|forked| checkpoint.is_origin_of(forked));
    if forked.is_none() {
        check_origin(&checkpoint, &about, origin)?;
    }
    let begins_anew = forked.is_some_and(|forked| !forked.keeps_optimizer);
    let is_fresh = |name: &str| begins_anew && name.starts_with(OPTIMIZER);
    let (fresh, stored): (NamedTensors<'_>, NamedTensors<'_>) =
        expected.tensors.iter().cloned().partition(|(name, _)| is_fresh(name));
    let mut tensors = read(run, &checkpoint, &text, &stored, is_fresh)?;
    tensors.extend(fresh.into_iter().map(|(name, tensor)| (name, tensor.shallow_clone())));
    match begins_anew {
        true => checkpoint.set_progress(expected.progress.clone()),
        false => check_powers(&checkpoint, &about, &expected.progress)?,
    }
    if forked.is_some() {
        // The fork's config has them.
        checkpoint.settings.clear();
        checkpoint.best = checkpoint.best.filter(|(best, _)| *best == step && evaluate_the_same(&checkpoint, origin));
    }
    Ok((checkpoint, tensors))
}

/// Reads the description of the checkpoint of a step; returns also its path and its text.
fn description(run: &RunFolder, step: u64) -> Result<(PathBuf, Checkpoint, String), CheckpointError> {
    let about = run.checkpoint_tensors(step).with_extension("ron");
    let (checkpoint, text) = Checkpoint::read(run, step).map_err(|reason| damaged(&about, reason))?;
    Ok((about, checkpoint, text))
}

/// Checks that a checkpoint has a product of each of an optimizer's decay rates.
fn check_powers(checkpoint: &Checkpoint, about: &Path, of: &OptimizerProgress) -> Result<(), CheckpointError> {
    let Some(missing) = of.powers.keys().find(|key| !checkpoint.powers.contains_key(*key)) else { return Ok(()) };
    let found: Vec<&str> = checkpoint.powers.keys().map(String::as_str).collect();
    let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
    Err(damaged(about, format!("expected `{missing}` among `powers`, found {}", visible(&found))))
}

/// Reads the tensors of a checkpoint that have the names, types and shapes of `wanted`. A tensor of another name is
/// refused, unless it is `passed_over`.
fn read(
    run: &RunFolder,
    checkpoint: &Checkpoint,
    text: &str,
    wanted: &NamedTensors<'_>,
    is_passed_over: impl Fn(&str) -> bool,
) -> Result<OwnedTensors, CheckpointError> {
    let failed = |error: io::Error| error.to_string();
    let tensors = checkpoint.read_tensors(run, text, |entries, bytes| {
        check_tensors(&entries, wanted, is_passed_over)?;
        let mut tensors = Vec::new();
        for (name, TensorEntry { data_offsets: [start, end], .. }) in entries {
            let Some((_, like)) = wanted.iter().find(|(wanted, _)| *wanted == name) else {
                io::copy(&mut Read::take(&mut *bytes, end - start), &mut io::sink()).map_err(failed)?;
                continue;
            };
            let tensor = Tensor::f_empty(like.size(), (like.kind(), Device::Cpu));
            let mut tensor = tensor.map_err(|error| TrainError::from(error).to_string())?;
            bytes.read_exact(bytes_mut(&mut tensor)).map_err(failed)?;
            tensors.push((name, tensor));
        }
        Ok(tensors)
    });
    tensors.map_err(|reason| damaged(&run.checkpoint_tensors(checkpoint.step), reason))
}

/// Checks that these are the expected tensors, and no others than allowed.
fn check_tensors(
    entries: &[(String, TensorEntry)],
    wanted: &NamedTensors<'_>,
    is_passed_over: impl Fn(&str) -> bool,
) -> Result<(), String> {
    for (name, tensor) in wanted {
        let entry = entries.iter().find(|(found, _)| found == name).map(|(_, entry)| entry);
        let dtype = format!("{:?}", dtype(tensor));
        let shape: Vec<u64> = tensor.size().into_iter().map(|size| size as u64).collect();
        let fits = |entry: &TensorEntry| entry.dtype == dtype && entry.shape == shape;
        if !entry.is_some_and(fits) {
            let found =
                entry.map_or_else(|| "nothing".to_owned(), |entry| format!("{} {:?}", entry.dtype, entry.shape));
            return Err(format!("expected `{name}` of {dtype} {shape:?}, found {found}"));
        }
    }
    let is_wanted = |name: &str| wanted.iter().any(|(other, _)| other == name);
    let others = entries.iter().filter(|(name, _)| !is_wanted(name) && !is_passed_over(name)).count();
    if others > 0 {
        let expected = wanted.len();
        return Err(format!("expected {expected} tensors, found {}", expected + others));
    }
    Ok(())
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

/// Removes checkpoints up to a step except the last two of them and those that `is_kept` accepts. Later ones are
/// unusable, as they date from before the training went back.
pub fn tidy(run: &RunFolder, at: u64, is_kept: impl Fn(u64) -> bool) -> Result<(), CheckpointError> {
    let steps = steps(run)?;
    for &step in steps.iter().rev().filter(|&&step| step <= at).skip(2) {
        if !is_kept(step) {
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

fn foreign(about: &Path, with: &str, expected: &str, found: &str) -> CheckpointError {
    let found = visible(found);
    damaged(about, format!("of another run: it was trained {with} than this one ({found}, and not {expected})"))
}

/// Fills both checksums into a checkpoint's text, which has 0 instead of them.
fn with_checksums(text: &str, tensors: &[u8]) -> String {
    let mut sum = crc32fast::Hasher::new();
    sum.update(tensors);
    sum.update(text.as_bytes());
    let text = with_sum(text, CRC32, 0, sum.finalize());
    with_sum(&text, TEXT_SUM, 0, crc32fast::hash(text.as_bytes()))
}

fn bytes_mut(tensor: &mut Tensor) -> &mut [u8] {
    // SAFETY: it is contiguous and in the processor's memory, nothing else refers to it, and it lives as long as the
    // slice.
    unsafe { std::slice::from_raw_parts_mut(tensor.data_ptr().cast(), bytes_of(tensor)) }
}

/// The prefix of the names of the optimizer's tensors (`Training::tensors`).
pub(super) const OPTIMIZER: &str = "optimizer.";

/// The tensors of a training by name.
pub(crate) type NamedTensors<'a> = Vec<(String, &'a Tensor)>;

pub(super) type OwnedTensors = Vec<(String, Tensor)>;

/// The part of a training that a checkpoint stores.
pub struct TrainingState<'a> {
    pub tensors: NamedTensors<'a>,
    /// [`FlatOptimizer::progress`](super::FlatOptimizer::progress)
    pub progress: OptimizerProgress,
}

/// Copies a checkpoint's tensors into those of a training.
///
/// # Errors
///
/// Fails if one is missing or of another shape: the checkpoint is of another training.
pub(crate) fn restore_tensors(tensors: &NamedTensors<'_>, saved: &[(String, Tensor)]) -> Result<(), TrainError> {
    for (name, tensor) in tensors {
        let Some((_, found)) = saved.iter().find(|(other, found)| other == name && found.size() == tensor.size())
        else {
            let shape = tensor.size();
            return Err(TrainError::Refused(format!("expected `{name}` of {shape:?} among a checkpoint's tensors")));
        };
        tensor.shallow_clone().f_copy_(found)?;
    }
    Ok(())
}

fn dtype(tensor: &Tensor) -> Dtype {
    if tensor.kind() == Kind::Double { Dtype::F64 } else { Dtype::F32 }
}

fn bytes_of(tensor: &Tensor) -> usize {
    tensor.numel() * tensor.kind().elt_size_in_bytes()
}

/// Whether evaluations before a checkpoint are comparable with those of a run that continues from it.
fn evaluate_the_same(checkpoint: &Checkpoint, origin: &CheckpointOrigin) -> bool {
    let evaluation = |config: &str| Preset::parse(config, RunFolder::CONFIG).ok()?.workload()?.evaluation();
    let [before, now] = [&checkpoint.preset, &origin.preset].map(|config| evaluation(config));
    checkpoint.data == origin.data && now.is_some() && before == now
}

// A run and one of its checkpoints, opened to export or evaluate the saved model.
//
// Only the model's tensors are read from a checkpoint, whatever the state of its optimizer, and nothing is written
// into the run.

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
        let (identity, text) = (config.identity(history), config.preset.to_ron());
        let origin = CheckpointOrigin { data, config: identity, preset: text };
        let settings = settings.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let preset = config.preset.with_all(settings)?;
        let forked = history.forked().cloned();
        Ok(SavedRun { run, step, preset, origin, forked })
    }

    /// Sets tensors to those of the same names in the checkpoint, which may be the one that the run was forked from.
    ///
    /// # Errors
    ///
    /// Fails if the checkpoint cannot be read, is damaged, is of another run, or lacks one of these tensors.
    pub(crate) fn restore(&self, tensors: &NamedTensors<'_>) -> Result<(), TrainError> {
        let saved = description(&self.run, self.step).and_then(|(about, found, text)| {
            if !self.forked.as_ref().is_some_and(|forked| found.is_origin_of(forked)) {
                check_config(&found, &about, &self.origin)?;
            }
            read(&self.run, &found, &text, tensors, |_| true)
        });
        let saved = saved.map_err(|error| TrainError::Refused(error.to_string()))?;
        restore_tensors(tensors, &saved)
    }
}
