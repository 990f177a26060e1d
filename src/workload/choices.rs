//! What is chosen the same way for every workload.

use serde::{Deserialize, Serialize};

/// Where the tensors live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeviceChoice {
    /// The first CUDA device if there is one that works, else the processor.
    #[default]
    Automatic,
    Cpu,
    /// The CUDA device of this number, counted from 0.
    Cuda(u32),
}

/// The type of the parameters and of everything computed with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FloatType {
    #[default]
    Float32,
    /// For checking.
    Float64,
}

impl FloatType {
    /// As in the events of a run.
    pub fn name(self) -> &'static str {
        match self {
            FloatType::Float32 => "float32",
            FloatType::Float64 => "float64",
        }
    }
}

/// Where the training data come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DataChoice {
    /// The cache; else a download; with no network a stand-in that is drawn by the program.
    #[default]
    Automatic,
    /// A folder that holds the files.
    Folder(String),
    /// Digits that the program draws. They are not MNIST.
    StandIn,
}

/// What a run does when its loss is not a finite number any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum NotFinite {
    /// It goes on, and the curve shows it.
    #[default]
    GoOn,
    /// It stops with a checkpoint.
    Stop,
}
