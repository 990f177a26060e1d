//! Choices that all workloads share.

use serde::{Deserialize, Serialize};
use valleyscope_engine::quantity::Processes;

/// The device of the tensors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeviceChoice {
    /// The first CUDA device if there is a working one, else the processor.
    #[default]
    Automatic,
    Cpu,
    /// The CUDA device of this number, counted from 0.
    Cuda(u32),
}

/// The processes of a training on one machine, which share each batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sharing {
    pub processes: Processes,
    /// Whether each process keeps the optimizer's memory for a part of the parameters only, and steps these.
    pub shard_optimizer: bool,
}

impl Sharing {
    /// Returns the settings of a single process.
    pub fn none() -> Sharing {
        Sharing { processes: Processes::of::<1>(), shard_optimizer: false }
    }
}

pub(super) fn is_one(processes: &Processes) -> bool {
    *processes == Processes::of::<1>()
}

/// Floating-point precision of the parameters and of everything computed with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FloatType {
    #[default]
    Float32,
    /// Double precision, for checks.
    Float64,
}

impl FloatType {
    /// Returns the name in the events of a run.
    pub fn name(self) -> &'static str {
        match self {
            FloatType::Float32 => "float32",
            FloatType::Float64 => "float64",
        }
    }
}

/// The action of a run when its loss is no longer finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum NotFinite {
    /// The run continues, and the curve shows the loss.
    #[default]
    GoOn,
    /// The run stops with a checkpoint.
    Stop,
}
