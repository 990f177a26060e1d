use std::io;
use std::path::{Path, PathBuf};

use tch::TchError;

#[derive(Clone, Debug, thiserror::Error)]
pub enum TrainError {
    #[error("the device ran out of memory: {what}; {advice}, or free memory that other programs hold on it")]
    OutOfMemory { what: String, advice: String },
    #[error("libtorch: {0}")]
    Torch(String),
    #[error("{0}")]
    Refused(String),
    /// Another process of the training, or the connection to it, was lost.
    #[error("{0}; resume the run, which goes on from its last checkpoint")]
    Lost(String),
    /// A request to stop interrupted the work.
    #[error("stopped before it was done")]
    Interrupted,
}

impl From<TchError> for TrainError {
    fn from(error: TchError) -> Self {
        // The C++ stack trace that follows is of no use to a user.
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default().trim_start_matches("Internal torch error: ");
        // The line of libtorch's source that raised it precedes the message.
        let first = first.rsplit("DefaultCPUAllocator: ").next().unwrap_or_default().to_owned();
        // Messages for a GPU and for the processor.
        if ["out of memory", "can't allocate memory"].iter().any(|short| text.contains(short)) {
            let advice = "take a smaller batch_size or a smaller model".to_owned();
            return TrainError::OutOfMemory { what: first, advice };
        }
        TrainError::Torch(first)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: {reason}", path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error(transparent)]
    Tensors(#[from] TrainError),
}

pub(super) fn damaged(path: &Path, reason: String) -> CheckpointError {
    CheckpointError::Damaged { path: path.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_memory_is_told_from_other_errors() {
        let short = "Internal torch error: [enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't \
                     allocate memory: you tried to allocate 8 bytes.\nframe #0: main";
        let error = TrainError::from(TchError::Torch(short.to_owned()));
        assert_eq!(
            error.to_string(),
            "the device ran out of memory: can't allocate memory: you tried to allocate 8 bytes.; take a smaller \
             batch_size or a smaller model, or free memory that other programs hold on it"
        );
        let cuda = TrainError::from(TchError::Torch("CUDA out of memory. Tried to allocate 2 GiB".to_owned()));
        assert!(matches!(cuda, TrainError::OutOfMemory { .. }), "{cuda}");
    }
}
