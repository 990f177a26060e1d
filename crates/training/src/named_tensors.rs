//! Tensors by name, as a checkpoint stores them.

use safetensors::tensor::Dtype;
use tch::{Kind, Tensor};
use valleyscope_engine::optimizer::{LONGEST_AXIS, MOST_STATES};
use valleyscope_runs::OptimizerProgress;

use super::error::TrainError;

/// The prefix of the names of the optimizer's tensors ([`Training::tensors`](super::Training::tensors)).
pub(super) const OPTIMIZER: &str = "optimizer.";

/// The tensors of a training by name.
pub(crate) type NamedTensors<'a> = Vec<(String, &'a Tensor)>;

/// Tensors with their names.
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

pub(super) fn dtype(tensor: &Tensor) -> Dtype {
    if tensor.kind() == Kind::Double { Dtype::F64 } else { Dtype::F32 }
}

pub(super) fn bytes_of_all(tensors: &NamedTensors<'_>) -> u64 {
    tensors.iter().map(|(_, tensor)| bytes_of(tensor) as u64).sum()
}

/// Returns an upper limit of the bytes of these tensors and of the states of any optimizer for them: flat states, or
/// two statistics per axis. The axes are at most twice as long together as the tensors have numbers.
pub(super) fn most_bytes(tensors: &NamedTensors<'_>) -> u64 {
    let numbers: u64 = tensors.iter().map(|(_, tensor)| tensor.numel() as u64).sum();
    let statistics = 4 * numbers.min(LONGEST_AXIS as u64);
    bytes_of_all(tensors).saturating_mul(1 + MOST_STATES as u64 + statistics)
}

pub(super) fn bytes_of(tensor: &Tensor) -> usize {
    tensor.numel() * tensor.kind().elt_size_in_bytes()
}
