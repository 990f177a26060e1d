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

/// The source of the training data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DataChoice {
    /// The cache; else the folder that `VALLEYSCOPE_DATA` names; else, for MNIST, a download; else synthetic data.
    #[default]
    Automatic,
    /// A folder that holds the files.
    Folder(String),
    /// Synthetic digits or text. They are not MNIST, and not a real corpus.
    Synthetic,
}

/// The tokenizer of a language model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TokenizerKind {
    /// Parts of words, by GPT-2's byte pair encoding.
    #[default]
    Gpt2,
    /// Single characters, those that occur in the text.
    Char,
}

impl TokenizerKind {
    pub const ALL: [TokenizerKind; 2] = [TokenizerKind::Gpt2, TokenizerKind::Char];

    /// Returns the name on the command line and in `meta.json`.
    pub fn name(self) -> &'static str {
        match self {
            TokenizerKind::Gpt2 => "gpt2",
            TokenizerKind::Char => "char",
        }
    }

    /// Returns the tokenizer of this name.
    pub fn from_name(name: &str) -> Option<TokenizerKind> {
        TokenizerKind::ALL.into_iter().find(|kind| kind.name() == name)
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
