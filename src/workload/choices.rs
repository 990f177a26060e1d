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
    /// The cache; else the folder that `VALLEYSCOPE_DATA` names; for MNIST else a download; and where nothing is found
    /// a stand-in that is made by the program.
    #[default]
    Automatic,
    /// A folder that holds the files.
    Folder(String),
    /// Digits or text that the program makes. They are not MNIST, and no real corpus.
    #[serde(rename = "StandIn")]
    Synthetic,
}

/// What the tokens of a language model stand for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TokenizerKind {
    /// Parts of words, by GPT-2's byte pair encoding.
    #[default]
    Gpt2,
    /// Single characters, those that the text has.
    Char,
}

impl TokenizerKind {
    pub const ALL: [TokenizerKind; 2] = [TokenizerKind::Gpt2, TokenizerKind::Char];

    /// As on the command line and in `meta.json`.
    pub fn name(self) -> &'static str {
        match self {
            TokenizerKind::Gpt2 => "gpt2",
            TokenizerKind::Char => "char",
        }
    }

    /// The tokenizer of this name.
    pub fn from_name(name: &str) -> Option<TokenizerKind> {
        TokenizerKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
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
