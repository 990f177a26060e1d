//! The other processes of a training: their work, and the state that they receive from rank 0.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use serde::{Deserialize, Serialize};
use tch::{Device, Tensor};
use valleyscope_engine::terminal_escape::visible;
use valleyscope_experiments::preset::Preset;
use valleyscope_runs::{OptimizerProgress, RunFolder, StopRequest, now, plain_file};

use super::checkpoint::{OPTIMIZER, OwnedTensors, TrainingState};
use super::device::Devices;
use super::error::TrainError;
use super::group::{Group, Order};
use super::layout::narrow;
use super::training::{Ended, LiveSettings, TrainedSpec, Training};

pub(crate) struct Follower<'a> {
    pub group: Arc<Group>,
    pub devices: &'a Devices,
    /// The number of this process among those of its machine.
    pub local_rank: usize,
    pub stop: StopRequest,
    pub log: RankLog,
}

/// The log of a following process, in the run's folder if this machine has it, and on standard error.
pub(crate) struct RankLog {
    file: Option<File>,
}

impl RankLog {
    pub(crate) fn open(folder: &Path, rank: usize) -> RankLog {
        // On another machine there may be no such folder.
        let run = RunFolder::open(folder).ok();
        RankLog { file: run.and_then(|run| plain_file::open_to_append(&run.rank_log(rank)).ok()) }
    }

    pub(crate) fn say(&self, message: &str) {
        let line = format!("{} {}\n", now().strftime("%Y-%m-%dT%H:%M:%SZ"), visible(message));
        match &self.file {
            // Failing to write the log does not end a training.
            Some(file) => drop((&*file).write_all(line.as_bytes())),
            None => eprint!("{line}"),
        }
    }
}

/// The text that replaces the data's fingerprint if the run is stopped before it has begun.
pub(super) const STOPPED: &str = "";

impl Follower<'_> {
    pub(super) fn preset(&self) -> anyhow::Result<Preset> {
        let text = self.group.share_text("")?;
        Ok(Preset::parse(&text, "the config of rank 0")?)
    }

    /// Takes part in the training of a spec, which rank 0 leads, until it ends.
    pub(super) fn run<S: TrainedSpec>(&self, spec: &S) -> anyhow::Result<Ended> {
        let device = self.devices.open(spec.common().device, self.local_rank)?;
        let backend = self.group.meet_on_devices(device)?;
        // Rank 0 has downloaded and prepared the data.
        let expected = self.group.share_text("")?;
        if expected == STOPPED {
            self.group.wait_at_end();
            return Ok(Ended::Stopped);
        }
        let obtained = spec.obtain(&mut |line| self.log.say(line), &|| self.stop.is_raised());
        let obtained = obtained.map_err(anyhow::Error::from_boxed)?.ok_or(TrainError::Interrupted)?;
        if obtained.fingerprint != expected {
            let (source, found) = (obtained.source, obtained.fingerprint);
            bail!(
                "this process has other data than rank 0: expected the fingerprint {expected}, found {found} in {source}; \
                 give all machines the same data"
            );
        }
        let mut training = spec.begin(obtained.data, device)?;
        training.join(Arc::clone(&self.group))?;
        let mut live = LiveSettings::new(spec.clone());
        let settings = share_state(&self.group, &mut training, None, &BTreeMap::new())?;
        live.adopt(&mut training, settings)?;
        self.log.say(&format!(
            "training on {} from step {}, over {}",
            self.devices.describe(device),
            training.step(),
            backend.name()
        ));
        let mut never = || Ok(());
        let ended = loop {
            match self.group.order(Order::Step, self.stop.is_raised())?.0 {
                Order::Step => drop(training.advance(&mut never)?),
                Order::Evaluate => drop(training.evaluate(&mut never)?),
                Order::Gather => send_parts(&self.group, &training)?,
                Order::Change => live.receive(&self.group, &mut training)?,
                Order::End => break Ended::Finished,
                Order::Fail => break Ended::NotFinite,
            }
        };
        self.log.say(&format!("ended after step {}", training.step()));
        Ok(ended)
    }
}

// The state of a training by several processes: shared at the start, and gathered for checkpoints.
//
// After a step, each rank sends its part of the parameters to the others, in place, as Gloo's all-gather makes a copy
// of the whole. Gradients are all-reduced whole: each rank needs the norm of all, and Gloo's reduce-scatter is an
// all-reduce of a copy. Checkpoints are whole, and gathered by rank 0 alone.

/// The steps and the optimizer's progress of a training, as shared by rank 0.
#[derive(Serialize, Deserialize)]
struct Progress {
    step: u64,
    optimizer: OptimizerProgress,
    /// Whether the optimizer's states are those of a checkpoint.
    resumes: bool,
    /// The settings that commands have changed.
    settings: BTreeMap<String, f64>,
}

/// Whether each process has only a part of this tensor.
fn is_divided(group: &Group, name: &str) -> bool {
    group.divides_optimizer() && name.starts_with(OPTIMIZER)
}

fn own_part(group: &Group, whole: &Tensor) -> Result<Tensor, TrainError> {
    Ok(narrow(whole, &group.optimized(whole.numel()))?)
}

/// Allocates the whole of a divided tensor in the processor's memory, with arbitrary values.
fn empty_whole(training: &impl Training, part: &Tensor) -> Result<Tensor, TrainError> {
    Ok(Tensor::f_empty(training.optimized().0.size(), (part.kind(), Device::Cpu))?)
}

/// Converts the tensors of a checkpoint to the form that this process stores.
pub(super) fn own_parts(group: &Group, whole: &OwnedTensors) -> Result<OwnedTensors, TrainError> {
    let own = whole.iter().map(|(name, tensor)| {
        let own = if is_divided(group, name) { own_part(group, tensor)? } else { tensor.shallow_clone() };
        Ok((name.clone(), own))
    });
    own.collect()
}

/// Allocates tensors of a checkpoint's types and shapes. The values of divided ones are arbitrary.
pub(super) fn like_whole(group: &Group, training: &impl Training) -> Result<OwnedTensors, TrainError> {
    let like = training.tensors().into_iter().map(|(name, tensor)| {
        let whole = is_divided(group, &name).then(|| empty_whole(training, tensor)).transpose()?;
        Ok((name, whole.unwrap_or_else(|| tensor.shallow_clone())))
    });
    like.collect()
}

/// Creates the state of a training for a checkpoint, with these tensors.
pub(super) fn state_with<'a>(training: &impl Training, tensors: &'a OwnedTensors) -> TrainingState<'a> {
    let tensors = tensors.iter().map(|(name, tensor)| (name.clone(), tensor)).collect();
    TrainingState { tensors, progress: training.optimized().2.progress() }
}

/// Sets the training of each process to the state of that of rank 0. The optimizer's states are those of `restored`,
/// the tensors of the checkpoint from which rank 0 resumes; without one, the initial states stay. Returns the settings
/// that commands to rank 0 have changed.
pub(super) fn share_state(
    group: &Group,
    training: &mut impl Training,
    restored: Option<OwnedTensors>,
    settings: &BTreeMap<String, f64>,
) -> Result<BTreeMap<String, f64>, TrainError> {
    let settings = settings.clone();
    if group.is_alone() {
        return Ok(settings);
    }
    let optimizer = training.optimized().2.progress();
    let progress = Progress { step: training.step(), optimizer, resumes: restored.is_some(), settings };
    let own = serde_json::to_string(&progress).expect("numbers and names are text");
    let shared = group.share_text(&own)?;
    let Progress { step, optimizer, resumes, settings } = serde_json::from_str(&shared)
        .map_err(|error| TrainError::Lost(format!("rank 0 sent invalid progress: {error}")))?;
    let mut saved = Vec::new();
    for (name, tensor) in training.tensors() {
        let own = match (is_divided(group, &name), resumes) {
            (true, false) => tensor.shallow_clone(),
            (true, true) => {
                let of_rank_0 = restored.iter().flatten().find(|(other, _)| *other == name);
                let mut whole =
                    of_rank_0.map_or_else(|| empty_whole(training, tensor), |(_, whole)| Ok(whole.shallow_clone()))?;
                group.share(&mut whole)?;
                // A copy, so that the whole is freed.
                own_part(group, &whole)?.f_detach_copy()?
            }
            (false, _) => {
                let mut copy = tensor.f_detach_copy()?;
                group.share(&mut copy)?;
                copy
            }
        };
        saved.push((name, own));
    }
    if !group.leads() {
        training.restore(step, &optimizer, &saved)?;
    }
    Ok(settings)
}

fn gathered(group: &Group, training: &impl Training, part: &Tensor) -> Result<Option<Tensor>, TrainError> {
    let shape = training.optimized().0.size();
    let whole = group.gather_to_first(&part.f_view([-1])?, shape.iter().product())?;
    Ok(whole.map(|whole| whole.f_view(&shape[..])).transpose()?)
}

/// Gathers the tensors of a checkpoint on rank 0; the other processes [send their parts](send_parts) meanwhile.
pub(super) fn whole_state(group: &Group, training: &impl Training) -> Result<OwnedTensors, TrainError> {
    let mut whole = Vec::new();
    for (name, tensor) in training.tensors() {
        let gathered = if is_divided(group, &name) { gathered(group, training, tensor)? } else { None };
        whole.push((name, gathered.unwrap_or_else(|| tensor.shallow_clone())));
    }
    Ok(whole)
}

pub(super) fn send_parts(group: &Group, training: &impl Training) -> Result<(), TrainError> {
    for (name, tensor) in training.tensors() {
        if is_divided(group, &name) {
            gathered(group, training, tensor)?;
        }
    }
    Ok(())
}
