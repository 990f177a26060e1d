//! Checkpoints as files: their descriptions, and checks of their integrity. The worker reads the tensors' values.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::event::Forked;
use super::folder::RunFolder;
use super::plain_file::{self, Links};

/// The identity of a training: a run resumes only from its own checkpoints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckpointOrigin {
    /// The data's fingerprint.
    pub data: String,
    /// SHA-256 of the config that the run was begun with.
    pub config: String,
    /// The resolved config that computes the same, in full.
    pub preset: String,
}

impl CheckpointOrigin {
    /// Whether a checkpoint has this config: by the hash, or, as comments may have been edited since, by
    /// `compute_the_same`, which compares the texts of two configs.
    pub fn has_config_of(&self, checkpoint: &Checkpoint, compute_the_same: impl Fn(&str, &str) -> bool) -> bool {
        checkpoint.config == self.config || compute_the_same(&checkpoint.preset, &self.preset)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OptimizerProgress {
    /// Steps of the optimizer: fewer than the training's after a fork with another optimizer, and if steps in float16
    /// were skipped.
    pub steps: u64,
    /// [`BiasCorrection::powers`](valleyscope_engine::optimizer::BiasCorrection::powers): products of the decay rates
    /// over these steps, by the keys of the hyperparameters, and sums of the steps' weights.
    pub powers: BTreeMap<String, f64>,
}

/// The description of a checkpoint's tensors, with the progress of the training. It is written after the tensors, so a
/// checkpoint with a description is complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    pub version: u32,
    pub step: u64,
    /// Seconds of training up to this step.
    pub wall_s: f64,
    /// [`OptimizerProgress::steps`]
    pub optimizer_steps: u64,
    /// [`OptimizerProgress::powers`]
    pub powers: BTreeMap<String, f64>,
    /// The smallest loss of an evaluation so far, and its step.
    pub best: Option<(u64, f64)>,
    /// [`CheckpointOrigin::data`]
    pub data: String,
    /// [`CheckpointOrigin::config`]
    pub config: String,
    /// [`CheckpointOrigin::preset`]
    pub preset: String,
    /// The settings that commands have changed since the run began, with the values that were in force up to this
    /// step, by their paths in the config.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, f64>,
    /// The steps since the last point of the training curve, if any: their number, the sum of their losses, and the
    /// seconds of training when they began.
    pub since: Option<(u64, f64, f64)>,
    /// Length of the tensors' file.
    pub bytes: u64,
    /// The checksum of this text with 0 as its own value.
    pub text_sum: u32,
    /// Checksum of the tensors' file followed by this text with both checksums set to 0.
    pub crc32: u32,
}

impl Checkpoint {
    pub const VERSION: u32 = 1;
    /// An upper limit of the bytes of the text.
    pub const LONGEST_TEXT: u64 = 1 << 20;
    /// An upper limit of the bytes of the names, types and shapes of tensors in their file.
    pub const LONGEST_HEADER: u64 = 1 << 20;

    pub fn new(
        step: u64,
        wall_s: f64,
        progress: OptimizerProgress,
        best: Option<(u64, f64)>,
        origin: CheckpointOrigin,
    ) -> Checkpoint {
        let OptimizerProgress { steps: optimizer_steps, powers } = progress;
        let CheckpointOrigin { data, config, preset } = origin;
        Checkpoint {
            version: Checkpoint::VERSION,
            step,
            wall_s,
            optimizer_steps,
            powers,
            best,
            data,
            config,
            preset,
            settings: BTreeMap::new(),
            since: None,
            bytes: 0,
            text_sum: 0,
            crc32: 0,
        }
    }

    pub fn parse(text: &str) -> Result<Checkpoint, String> {
        #[derive(Deserialize)]
        struct Head {
            version: u32,
        }
        // Another version may have other fields.
        let Head { version } = ron::from_str(text).map_err(|error| error.to_string())?;
        if version != Self::VERSION {
            let expected = Self::VERSION;
            return Err(format!(
                "expected version {expected} of the format, found {version}: go on with the Valleyscope that wrote it"
            ));
        }
        let checkpoint: Checkpoint = ron::from_str(text).map_err(|error| error.to_string())?;
        let Checkpoint { step, optimizer_steps, text_sum, .. } = checkpoint;
        if optimizer_steps > step {
            return Err(format!("expected at most {step} as `optimizer_steps`, found {optimizer_steps}"));
        }
        if crc32fast::hash(with_sum(text, TEXT_SUM, text_sum, 0).as_bytes()) != text_sum {
            return Err("the checksum is wrong: bytes have changed".to_owned());
        }
        Ok(checkpoint)
    }

    /// Reads the description of the checkpoint of a step, and its text.
    ///
    /// # Errors
    ///
    /// Fails with a description of the fault.
    pub fn read(run: &RunFolder, step: u64) -> Result<(Checkpoint, String), String> {
        let path = run.checkpoint_tensors(step).with_extension("ron");
        let text = plain_file::read_text(&path, Links::Refused, Self::LONGEST_TEXT);
        let text = text.map_err(|error| format!("its text cannot be read: {error}"))?;
        let checkpoint = Self::parse(&text).map_err(|error| format!("its text cannot be read: {error}"))?;
        if checkpoint.step != step {
            return Err(format!("expected step {step}, found step {}: it was copied or renamed", checkpoint.step));
        }
        Ok((checkpoint, text))
    }

    pub fn progress(&self) -> OptimizerProgress {
        OptimizerProgress { steps: self.optimizer_steps, powers: self.powers.clone() }
    }

    pub fn set_progress(&mut self, progress: OptimizerProgress) {
        (self.optimizer_steps, self.powers) = (progress.steps, progress.powers);
    }

    /// Whether a fork starts from this checkpoint, as opposed to having saved it.
    pub fn is_origin_of(&self, forked: &Forked) -> bool {
        (forked.from_step, forked.checkpoint_crc32) == (self.step, self.crc32)
    }

    /// The part of the text that the checksum covers.
    fn covered(&self, text: &str) -> String {
        with_sum(&with_sum(text, CRC32, self.crc32, 0), TEXT_SUM, self.text_sum, 0)
    }

    /// Checks that the two files of a checkpoint agree: the step, the length, the checksum, and the tensors' offsets.
    /// Takes little memory.
    ///
    /// # Errors
    ///
    /// Fails with a description of the fault.
    pub fn examine(run: &RunFolder, step: u64) -> Result<Checkpoint, String> {
        let (checkpoint, text) = Checkpoint::read(run, step)?;
        checkpoint.read_tensors(run, &text, |_, _| Ok(()))?;
        Ok(checkpoint)
    }

    /// Reads the tensors' file of the checkpoint with this text once, and checks that the two files agree. `take` gets
    /// the tensors in the order of their bytes, and these bytes, of which it may leave the last ones.
    ///
    /// # Errors
    ///
    /// Fails with a description of the fault. Changed bytes are reported before any error that they may have caused.
    pub fn read_tensors<V>(
        &self,
        run: &RunFolder,
        text: &str,
        take: impl FnOnce(Vec<(String, TensorEntry)>, &mut dyn Read) -> Result<V, String>,
    ) -> Result<V, String> {
        let unread = |error: io::Error| format!("its tensors cannot be read: {error}");
        let file = plain_file::open(&run.checkpoint_tensors(self.step), Links::Refused).map_err(unread)?;
        let length = file.metadata().map_err(unread)?.len();
        if length != self.bytes {
            return Err(format!("expected tensors of {} bytes, found {length}", self.bytes));
        }
        let mut file = Summed { file, sum: crc32fast::Hasher::new() };
        let header = file.header().map_err(unread)?;
        let taken = tensors_of_header(&header, length).and_then(|tensors| take(tensors, &mut file));
        let mut piece = vec![0; Summed::PIECE];
        while file.read(&mut piece).map_err(unread)? > 0 {}
        file.sum.update(self.covered(text).as_bytes());
        if file.sum.finalize() != self.crc32 {
            return Err("the checksum is wrong: bytes have changed".to_owned());
        }
        taken
    }
}

/// Lists the tensors' files in a run's folder that have no description, as a worker was killed while it saved them.
pub fn orphans(run: &RunFolder) -> io::Result<Vec<PathBuf>> {
    let mut orphans = Vec::new();
    for entry in std::fs::read_dir(run.path())? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_tensors = name.starts_with("checkpoint-") && name.ends_with(".safetensors");
        if is_tensors && path.with_extension("ron").symlink_metadata().is_err() {
            orphans.push(path);
        }
    }
    Ok(orphans)
}

pub const CRC32: &str = "crc32";
pub const TEXT_SUM: &str = "text_sum";

/// Replaces the number in a checksum's field of a text. Users' texts precede that field.
pub fn with_sum(text: &str, field: &str, from: u32, to: u32) -> String {
    match text.rsplit_once(&format!("{field}: {from}")) {
        Some((before, after)) => format!("{before}{field}: {to}{after}"),
        None => text.to_owned(),
    }
}

/// A file, with the checksum of the bytes read so far.
struct Summed {
    file: File,
    sum: crc32fast::Hasher,
}

impl Summed {
    /// The number of bytes read at a time, few enough to stay in the cache until they are summed.
    const PIECE: usize = 1 << 18;

    /// Reads the length of the header and, if it is plausible, the header.
    fn header(&mut self) -> io::Result<Vec<u8>> {
        let mut header = Vec::new();
        self.take(8).read_to_end(&mut header)?;
        if let Ok(size) = <[u8; 8]>::try_from(&header[..]) {
            let size = u64::from_le_bytes(size).min(Checkpoint::LONGEST_HEADER);
            self.take(size).read_to_end(&mut header)?;
        }
        Ok(header)
    }
}

impl Read for Summed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(Self::PIECE);
        let read = self.file.read(&mut buffer[..most])?;
        self.sum.update(&buffer[..read]);
        Ok(read)
    }
}

#[derive(Debug, Deserialize)]
pub struct TensorEntry {
    /// `F32` or `F64`
    pub dtype: String,
    pub shape: Vec<u64>,
    /// The range of its bytes, relative to the end of the header.
    pub data_offsets: [u64; 2],
}

/// Parses the names and byte ranges of the tensors in the header of a safetensors file of `length` bytes, in the order
/// of their bytes. They must fill the file without a gap.
fn tensors_of_header(beginning: &[u8], length: u64) -> Result<Vec<(String, TensorEntry)>, String> {
    let wrong = |what: &str| Err(format!("its header of tensors is invalid: {what}"));
    let Some((bytes, rest)) = beginning.split_first_chunk::<8>() else { return wrong("there is no header") };
    let size = u64::from_le_bytes(*bytes);
    let Some(header) = usize::try_from(size).ok().and_then(|size| rest.get(..size)) else {
        return wrong("the header is longer than the file or than 1 MiB");
    };
    let entries: BTreeMap<String, serde_json::Value> = match serde_json::from_slice(header) {
        Ok(entries) => entries,
        Err(error) => return wrong(&error.to_string()),
    };
    let mut tensors = Vec::new();
    for (name, entry) in entries.into_iter().filter(|(name, _)| name != "__metadata__") {
        let Ok(entry) = serde_json::from_value::<TensorEntry>(entry) else {
            return wrong(&format!("`{name}` lacks a type, a shape or offsets"));
        };
        let TensorEntry { dtype, shape, data_offsets: [start, end] } = &entry;
        let size = match &**dtype {
            "F32" => 4,
            "F64" => 8,
            other => return wrong(&format!("expected `{name}` of F32 or F64, found {other}")),
        };
        let bytes = shape.iter().try_fold(size, |bytes: u64, length| bytes.checked_mul(*length));
        if bytes.is_none() || bytes != end.checked_sub(*start) {
            return wrong(&format!("the offsets of `{name}` do not fit its shape {shape:?}"));
        }
        tensors.push((name, entry));
    }
    tensors.sort_unstable_by_key(|(_, entry)| entry.data_offsets);
    let mut reached = 0;
    for (_, TensorEntry { data_offsets: [start, end], .. }) in &tensors {
        if *start != reached {
            return wrong(&format!("the tensors have a gap or overlap at byte {reached}"));
        }
        reached = *end;
    }
    if 8 + size + reached == length { Ok(tensors) } else { wrong("the tensors do not end with the file") }
}

/// A choice among the checkpoints of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CheckpointChoice {
    /// The newest usable checkpoint.
    #[default]
    Newest,
    /// The checkpoint with the smallest loss of an evaluation.
    Best,
    Step(u64),
}

#[derive(Debug, thiserror::Error)]
pub enum ChoiceError {
    #[error("cannot look into {}: {source}", path.display())]
    ReadFolder { path: PathBuf, source: io::Error },
    #[error("the run {0} has no checkpoint: a training has one once it has saved it, unless `checkpoint_every` is 0")]
    NoCheckpoint(String),
    #[error("the run {run} has no checkpoint of step {step}; it has {}", list(there))]
    NoStep { run: String, step: u64, there: Vec<u64> },
    #[error("the checkpoint of step {step} of the run {run} cannot be used: {reason}; it has {} besides", list(there))]
    Unusable { run: String, step: u64, reason: String, there: Vec<u64> },
    #[error(
        "the run {run} has no best checkpoint: it was not evaluated before its newest one, or the best one is gone; it has {}",
        list(there)
    )]
    NoBest { run: String, there: Vec<u64> },
}

fn list(steps: &[u64]) -> String {
    match steps {
        [] => "none".to_owned(),
        [only] => format!("one of step {only}"),
        steps => format!("those of steps {}", steps.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    }
}

impl CheckpointChoice {
    /// Finds the chosen checkpoint after reading and comparing both its files ([`Checkpoint::examine`]).
    ///
    /// # Errors
    ///
    /// Fails if the run has no such checkpoint, or it is damaged; the error lists the existing ones.
    pub fn find(self, run: &RunFolder) -> Result<Checkpoint, ChoiceError> {
        let find = |step| first_usable(run, step, |step| Checkpoint::examine(run, step));
        match self {
            CheckpointChoice::Newest => find(None),
            CheckpointChoice::Step(step) => find(Some(step)),
            CheckpointChoice::Best => match find(None)?.best {
                // A fork may begin with a checkpoint whose best one is the other run's.
                Some((step, _)) if steps(run)?.contains(&step) => find(Some(step)),
                _ => Err(ChoiceError::NoBest { run: run.name(), there: steps(run)? }),
            },
        }
    }
}

fn steps(run: &RunFolder) -> Result<Vec<u64>, ChoiceError> {
    run.checkpoints().map_err(|source| ChoiceError::ReadFolder { path: run.path().to_owned(), source })
}

/// Opens the checkpoint of a step, or without one the newest that `open` accepts. Fails with a description of a step's
/// fault if it cannot be opened. The worker that trains the run may remove a checkpoint at any moment.
pub fn first_usable<C>(
    run: &RunFolder,
    step: Option<u64>,
    mut open: impl FnMut(u64) -> Result<C, String>,
) -> Result<C, ChoiceError> {
    let name = || run.name();
    if let Some(step) = step {
        let there = steps(run)?;
        if !there.contains(&step) {
            return Err(ChoiceError::NoStep { run: name(), step, there });
        }
        return open(step).or_else(|reason| match steps(run)? {
            mut there if there.contains(&step) => {
                there.retain(|other| *other != step);
                Err(ChoiceError::Unusable { run: name(), step, reason, there })
            }
            there => Err(ChoiceError::NoStep { run: name(), step, there }),
        });
    }
    let mut tried = BTreeMap::new();
    loop {
        let there = steps(run)?;
        let Some(&step) = there.iter().rev().find(|step| !tried.contains_key(*step)) else {
            return Err(match tried.pop_last() {
                Some((step, reason)) => ChoiceError::Unusable { run: name(), step, reason, there: Vec::new() },
                None => ChoiceError::NoCheckpoint(name()),
            });
        };
        match open(step) {
            Ok(checkpoint) => return Ok(checkpoint),
            Err(reason) => tried.insert(step, reason),
        };
    }
}

/// Links or copies a run's checkpoint into another folder and checks it there, where no worker removes it. Fails with
/// the reason why it cannot be used, and then removes what it has linked.
pub fn link_checkpoint(run: &RunFolder, step: u64, folder: &RunFolder) -> Result<Checkpoint, String> {
    // The description, which marks the checkpoint as complete, is linked last, as the worker removes it first.
    let paths = |run: &RunFolder| [run.checkpoint_tensors(step), run.checkpoint_tensors(step).with_extension("ron")];
    let targets = paths(folder);
    let mut linked = paths(run)
        .into_iter()
        .zip(&targets)
        .map(|(path, target)| link_or_copy(&path, target).map_err(|error| format!("{}: {error}", path.display())));
    let examined = linked.try_for_each(|linked| linked).and_then(|()| Checkpoint::examine(folder, step));
    examined.inspect_err(|_| {
        for target in targets {
            // A file that remains is harmless: the caller removes the folder, or takes another checkpoint.
            let _ = fs::remove_file(target);
        }
    })
}

fn link_or_copy(path: &Path, target: &Path) -> io::Result<()> {
    plain_file::check(path)?;
    // Checkpoints are replaced as a whole and never written to, so a link keeps its content.
    match fs::hard_link(path, target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
        Err(_) => {
            let mut copy = File::create_new(target)?;
            io::copy(&mut plain_file::open(path, Links::Refused)?, &mut copy)?;
            copy.sync_all()
        }
        Ok(()) => Ok(()),
    }
}
