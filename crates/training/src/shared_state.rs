//! The state of a training by several processes: given to all at the start, and put together for checkpoints.
//!
//! After a step each rank sends its part of the parameters to the others, in place, as Gloo's all-gather makes a copy
//! of the whole. Gradients are all-reduced all the same: each rank needs the norm of all, and Gloo's reduce-scatter
//! is an all-reduce of a copy. Checkpoints are whole, and gathered by rank 0 alone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tch::{Device, Tensor};
use valleyscope_runs::OptimizerProgress;

use super::checkpoint::{OPTIMIZER, TrainingState};
use super::error::TrainError;
use super::follower::key;
use super::group::Group;
use super::optimizer::narrow;
use super::training::Training;

/// Tensors with their names.
pub(super) type OwnedTensors = Vec<(String, Tensor)>;

/// Steps and optimizer of a training, as rank 0 tells them.
#[derive(Serialize, Deserialize)]
struct Progress {
    step: u64,
    steps: u64,
    powers: BTreeMap<String, f64>,
    /// Whether the optimizer's memory is that of a checkpoint.
    resumes: bool,
}

/// Whether each process has a part of this tensor only.
fn is_divided(group: &Group, name: &str) -> bool {
    group.divides_optimizer() && name.starts_with(OPTIMIZER)
}

/// This process's part of what is divided.
fn own_part(group: &Group, whole: &Tensor) -> Result<Tensor, TrainError> {
    Ok(narrow(whole, &group.optimized(whole.numel()))?)
}

/// A tensor for all parts of one that is divided, in the processor's memory. Its values are not set.
fn empty_whole(training: &impl Training, part: &Tensor) -> Result<Tensor, TrainError> {
    Ok(Tensor::f_empty(training.optimized().0.size(), (part.kind(), Device::Cpu))?)
}

/// The tensors of a checkpoint as this process keeps them.
pub(super) fn own_parts(group: &Group, whole: &[(String, Tensor)]) -> Result<OwnedTensors, TrainError> {
    let own = whole.iter().map(|(name, tensor)| {
        let own = if is_divided(group, name) { own_part(group, tensor)? } else { tensor.shallow_clone() };
        Ok((name.clone(), own))
    });
    own.collect()
}

/// Tensors of the types and shapes of a checkpoint's, whose values are not set where they are divided.
pub(super) fn like_whole(group: &Group, training: &impl Training) -> Result<OwnedTensors, TrainError> {
    let like = training.tensors().into_iter().map(|(name, tensor)| {
        let whole = is_divided(group, &name).then(|| empty_whole(training, tensor)).transpose()?;
        Ok((name, whole.unwrap_or_else(|| tensor.shallow_clone())))
    });
    like.collect()
}

/// What a checkpoint holds of a training, with these tensors.
pub(super) fn state_with<'a>(training: &impl Training, tensors: &'a OwnedTensors) -> TrainingState<'a> {
    let tensors = tensors.iter().map(|(name, tensor)| (name.clone(), tensor)).collect();
    TrainingState { tensors, progress: training.optimized().2.progress() }
}

/// Gives a training of each process the state of that of rank 0. The optimizer's memory is that of `restored`, the
/// tensors of a checkpoint from which rank 0 resumes; without one it is in all processes as at the beginning.
pub(super) fn share_state(
    group: &Group,
    training: &mut impl Training,
    restored: Option<OwnedTensors>,
) -> Result<(), TrainError> {
    if group.is_alone() {
        return Ok(());
    }
    let OptimizerProgress { steps, powers } = training.optimized().2.progress();
    let progress = Progress { step: training.step(), steps, powers, resumes: restored.is_some() };
    let own = serde_json::to_string(&progress).expect("numbers and names are text");
    let said = group.share_text(key::PROGRESS, &own)?;
    let Progress { step, steps, powers, resumes } = serde_json::from_str(&said)
        .map_err(|error| TrainError::Lost(format!("rank 0 said what is no progress: {error}")))?;
    let mut saved = Vec::new();
    for (name, tensor) in training.tensors() {
        let own = match (is_divided(group, &name), resumes) {
            (true, false) => tensor.shallow_clone(),
            (true, true) => {
                let of_rank_0 = restored.iter().flatten().find(|(other, _)| *other == name);
                let mut whole =
                    of_rank_0.map_or_else(|| empty_whole(training, tensor), |(_, whole)| Ok(whole.shallow_clone()))?;
                group.share(&mut whole)?;
                // The whole is not to be kept.
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
    if group.leads() {
        return Ok(());
    }
    training.restore(step, &OptimizerProgress { steps, powers }, &saved)
}

/// The whole of a tensor of which each process has a part, for rank 0.
fn gathered(group: &Group, training: &impl Training, part: &Tensor) -> Result<Option<Tensor>, TrainError> {
    let shape = training.optimized().0.size();
    let whole = group.gather_to_first(&part.f_view([-1])?, shape.iter().product())?;
    Ok(whole.map(|whole| whole.f_view(&shape[..])).transpose()?)
}

/// The tensors of a checkpoint for rank 0, with the parts of the other processes, which [give theirs](give_parts) meanwhile.
pub(super) fn whole_state(group: &Group, training: &impl Training) -> Result<OwnedTensors, TrainError> {
    let mut whole = Vec::new();
    for (name, tensor) in training.tensors() {
        let gathered = if is_divided(group, &name) { gathered(group, training, tensor)? } else { None };
        whole.push((name, gathered.unwrap_or_else(|| tensor.shallow_clone())));
    }
    Ok(whole)
}

/// Gives rank 0 this process's parts.
pub(super) fn give_parts(group: &Group, training: &impl Training) -> Result<(), TrainError> {
    for (name, tensor) in training.tensors() {
        if is_divided(group, &name) {
            gathered(group, training, tensor)?;
        }
    }
    Ok(())
}
