//! Checkpoints: tensors as safetensors, and beside them a small file that says what they are.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, SafeTensors, View};
use serde::{Deserialize, Serialize};
use tch::{Device, Kind, Tensor};

use super::error::TrainError;
use crate::export::{Aside, write_plain_file};
use crate::optimizer::Clock;
use crate::plain_file::{self, Links};
use crate::run::RunFolder;
use crate::visible::visible;

/// What a training is of: a run goes on from its own checkpoints only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The data's fingerprint.
    pub data: String,
    /// SHA-256 of the config that the run was begun with.
    pub config: String,
}

/// What a checkpoint's tensors are, and how far the training had come. It is written after the tensors, so a
/// checkpoint that has it is complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    version: u32,
    /// Steps taken.
    pub step: u64,
    /// Seconds of training until then.
    pub wall_s: f64,
    /// Products of the optimizer's decay rates.
    beta1_power: f64,
    beta2_power: f64,
    /// The smallest loss of an evaluation so far, and its step.
    pub best: Option<(u64, f64)>,
    /// [`Origin::data`].
    data: String,
    /// [`Origin::config`]; empty in checkpoints of versions before 3.
    #[serde(default)]
    config: String,
    /// Of the steps since the last point of the training curve, where there are any: how many, the sum of their
    /// losses, and the seconds of training when they began.
    #[serde(default)]
    pub since: Option<(u64, f64, f64)>,
    /// Length of the tensors' file.
    bytes: u64,
    /// Check sum of the tensors' file followed by the text of this one with 0 in this place.
    crc32: u32,
}

/// Why a checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error("{}: {reason}", path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error("{} is of another run: it was trained {with} than this one ({found}, and not {expected})", path.display())]
    Foreign { path: PathBuf, with: &'static str, expected: String, found: String },
    #[error(transparent)]
    Tensors(#[from] TrainError),
}

const VERSION: u32 = 3;
/// More bytes than the text has.
const LONGEST_TEXT: u64 = 1 << 16;
/// More bytes than the names, types and shapes of tensors take in their file.
const LONGEST_HEADER: u64 = 1 << 20;

/// The tensors of a training by name.
pub type Named<'a> = Vec<(String, &'a Tensor)>;

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

impl Checkpoint {
    pub fn new(step: u64, wall_s: f64, clock: Clock, best: Option<(u64, f64)>, origin: Origin) -> Checkpoint {
        let Clock { beta1_power, beta2_power, .. } = clock;
        let Origin { data, config } = origin;
        Checkpoint {
            version: VERSION,
            step,
            wall_s,
            beta1_power,
            beta2_power,
            best,
            data,
            config,
            since: None,
            bytes: 0,
            crc32: 0,
        }
    }

    /// The optimizer's clock at that time.
    pub fn clock(&self) -> Clock {
        Clock { steps: self.step, beta1_power: self.beta1_power, beta2_power: self.beta2_power }
    }

    /// Writes the tensors, then this; returns the name of the tensors' file.
    pub fn save(mut self, run: &RunFolder, tensors: Named<'_>) -> Result<String, CheckpointError> {
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
        self.bytes = file.len() as u64;
        let text = ron::ser::to_string_pretty(&self, ron::ser::PrettyConfig::new().new_line("\n"))
            .expect("a checkpoint holds nothing that RON cannot express");
        let text = text.replacen(&sum_field(0), &sum_field(check_sum(&file, &text)), 1);
        let path = tensors_path(run, self.step);
        let write = |path: PathBuf, content: &[u8]| {
            write_plain_file(&path, content).map_err(|source| CheckpointError::File { path, source })
        };
        write(path.clone(), &file)?;
        write(path.with_extension("ron"), text.as_bytes())?;
        Ok(file_name(self.step))
    }

    /// The steps of the complete checkpoints in a run's folder, in order.
    pub fn steps(run: &RunFolder) -> Result<Vec<u64>, CheckpointError> {
        run.checkpoints().map_err(|source| CheckpointError::File { path: run.path().to_owned(), source })
    }

    /// The checkpoint of a step, and its tensors by name.
    ///
    /// Nothing of the tensors is taken into memory but what the training expects: the names, types and shapes of
    /// `expected`.
    ///
    /// # Errors
    ///
    /// Where it cannot be read, is damaged, of another origin, or of another training's tensors.
    pub fn load(
        run: &RunFolder,
        step: u64,
        origin: &Origin,
        expected: &Named<'_>,
    ) -> Result<(Checkpoint, Vec<(String, Tensor)>), CheckpointError> {
        let path = tensors_path(run, step);
        let about = path.with_extension("ron");
        let text = read(&about, |path| plain_file::read_text(path, Links::Refused, LONGEST_TEXT))?;
        let checkpoint = Checkpoint::parse(&text).map_err(|reason| damaged(&about, reason))?;
        if checkpoint.step != step {
            let reason = format!("expected step {step}, found step {}: it was copied or renamed", checkpoint.step);
            return Err(damaged(&about, reason));
        }
        checkpoint.check_origin(&about, origin)?;
        let numbers: u64 = expected.iter().map(|(_, tensor)| bytes_of(tensor) as u64).sum();
        let file = read(&path, |path| plain_file::read(path, Links::Refused, numbers + LONGEST_HEADER))?;
        if file.len() as u64 != checkpoint.bytes {
            let reason = format!("expected {} bytes, found {}", checkpoint.bytes, file.len());
            return Err(damaged(&path, reason));
        }
        if check_sum(&file, &checkpoint.covered(&text)) != checkpoint.crc32 {
            let reason = format!("the check sum is wrong: bytes have changed, here or in {}", about.display());
            return Err(damaged(&path, reason));
        }
        Ok((checkpoint, tensors_in(&file, &path, expected)?))
    }

    fn parse(text: &str) -> Result<Checkpoint, String> {
        #[derive(Deserialize)]
        struct Head {
            version: u32,
        }
        // A newer version may have other fields.
        let Head { version } = ron::from_str(text).map_err(|error| error.to_string())?;
        if !(1..=VERSION).contains(&version) {
            return Err(format!(
                "expected version {VERSION}, found {version}, of a newer Valleyscope: update this one"
            ));
        }
        ron::from_str(text).map_err(|error| error.to_string())
    }

    /// The part of the text that the check sum is of.
    fn covered(&self, text: &str) -> String {
        // In the first version it was of the tensors alone.
        if self.version == 1 { String::new() } else { text.replacen(&sum_field(self.crc32), &sum_field(0), 1) }
    }

    fn check_origin(&self, about: &Path, origin: &Origin) -> Result<(), CheckpointError> {
        let compare = |with, found: &String, expected: &String| {
            if found == expected {
                return Ok(());
            }
            let (expected, found) = (expected.clone(), visible(found).into_owned());
            Err(CheckpointError::Foreign { path: about.to_owned(), with, expected, found })
        };
        compare("on other data", &self.data, &origin.data)?;
        // Versions before do not say it.
        if self.config.is_empty() { Ok(()) } else { compare("with another config", &self.config, &origin.config) }
    }

    /// Removes checkpoints up to a step but the last two of them, the best, and those at multiples of `keep_every`.
    /// Those after it are from before the training went back, as they could not be used.
    pub fn tidy(run: &RunFolder, at: u64, best: Option<u64>, keep_every: Option<u64>) -> Result<(), CheckpointError> {
        let steps = Self::steps(run)?;
        for &step in steps.iter().rev().filter(|&&step| step <= at).skip(2) {
            let kept = best == Some(step) || keep_every.is_some_and(|every| step.is_multiple_of(every));
            if !kept {
                let path = tensors_path(run, step);
                // First what makes it complete.
                for path in [path.with_extension("ron"), path] {
                    match fs::remove_file(&path) {
                        // Somebody else needed the room.
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

    /// Removes what a worker that was killed while it saved has left: tensors without the file that makes them a
    /// checkpoint, and files that have no name of their own yet.
    pub fn sweep(run: &RunFolder) {
        let Ok(entries) = fs::read_dir(run.path()) else { return };
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let orphan = name.starts_with("checkpoint-")
                && name.ends_with(".safetensors")
                && path.with_extension("ron").symlink_metadata().is_err();
            if orphan || Aside::is_name(name) {
                // It only takes room.
                let _ = fs::remove_file(&path);
            }
        }
    }
}

/// The tensors in a file, which must be those that are expected.
fn tensors_in(file: &[u8], path: &Path, expected: &Named<'_>) -> Result<Vec<(String, Tensor)>, CheckpointError> {
    let found = SafeTensors::deserialize(file).map_err(|error| damaged(path, error.to_string()))?;
    let mut tensors = Vec::new();
    for (name, tensor) in expected {
        let view = found.tensor(name).ok();
        let fits = view.as_ref().filter(|view| {
            view.dtype() == dtype(tensor) && view.shape() == shape(tensor) && view.data().len() == bytes_of(tensor)
        });
        let Some(fit) = fits else {
            let found =
                view.map_or_else(|| "nothing".to_owned(), |view| format!("{:?} {:?}", view.dtype(), view.shape()));
            let reason = format!("expected `{name}` of {:?} {:?}, found {found}", dtype(tensor), shape(tensor));
            return Err(damaged(path, reason));
        };
        let copy = Tensor::f_from_data_size(fit.data(), &tensor.size(), tensor.kind()).map_err(TrainError::from)?;
        tensors.push((name.clone(), copy));
    }
    if found.len() > expected.len() {
        let reason = format!("expected {} tensors, found {}", expected.len(), found.len());
        return Err(damaged(path, reason));
    }
    Ok(tensors)
}

fn dtype(tensor: &Tensor) -> Dtype {
    if tensor.kind() == Kind::Double { Dtype::F64 } else { Dtype::F32 }
}

fn shape(tensor: &Tensor) -> Vec<usize> {
    tensor.size().into_iter().map(|size| size as usize).collect()
}

fn bytes_of(tensor: &Tensor) -> usize {
    tensor.numel() * tensor.kind().elt_size_in_bytes()
}

fn damaged(path: &Path, reason: String) -> CheckpointError {
    CheckpointError::Damaged { path: path.to_owned(), reason }
}

fn check_sum(file: &[u8], text: &str) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(file);
    sum.update(text.as_bytes());
    sum.finalize()
}

/// As in the text.
fn sum_field(sum: u32) -> String {
    format!("crc32: {sum}")
}

fn file_name(step: u64) -> String {
    format!("checkpoint-{step:08}.safetensors")
}

fn tensors_path(run: &RunFolder, step: u64) -> PathBuf {
    run.path().join(file_name(step))
}

fn read<T>(path: &Path, read: impl FnOnce(&Path) -> std::io::Result<T>) -> Result<T, CheckpointError> {
    read(path).map_err(|source| CheckpointError::File { path: path.to_owned(), source })
}
