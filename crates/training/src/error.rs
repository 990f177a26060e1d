use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use tch::TchError;

/// Why a training failed.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    #[error("the device ran out of memory: {what}; {advice}")]
    OutOfMemory { what: String, advice: MemoryAdvice },
    #[error("libtorch: {0}")]
    Torch(String),
    #[error("{0}")]
    Device(String),
    #[error("{0}")]
    Refused(String),
    /// Another process of the training, or the connection to it, was lost.
    #[error("{0}; resume the run, which goes on from its last checkpoint")]
    Lost(String),
    /// A request to stop interrupted the work.
    #[error("stopped before it was done")]
    Interrupted,
}

/// The advice in the error for a run that lacks memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryAdvice {
    /// The use of the memory is unknown.
    #[default]
    General,
    /// A `batch_size` of at most this should fit, with
    /// [`WorkloadInfo::with_smaller_batches`](valleyscope_experiments::workload::WorkloadInfo).
    Batch { fits: u64, with: &'static str },
    /// The model with the states of this optimizer takes more memory than there is, with any `batch_size`.
    Model(&'static str),
}

impl fmt::Display for MemoryAdvice {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        const OTHERS: &str = "or free memory that other programs hold on it";
        match self {
            MemoryAdvice::General => write!(text, "take a smaller batch_size or a smaller model, {OTHERS}"),
            MemoryAdvice::Batch { fits, with } => {
                write!(text, "take a batch_size of at most {fits}{with}, which should fit, {OTHERS}")
            }
            MemoryAdvice::Model(rule) => write!(
                text,
                "no batch_size fits beside the model and the states of {rule}: take a smaller model or an optimizer with \
                 smaller states, {OTHERS}"
            ),
        }
    }
}

impl TrainError {
    /// Sets the advice if the error is a lack of memory.
    pub fn advise(&mut self, find: impl FnOnce() -> MemoryAdvice) {
        if let TrainError::OutOfMemory { advice, .. } = self {
            *advice = find();
        }
    }
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
            return TrainError::OutOfMemory { what: first, advice: MemoryAdvice::default() };
        }
        TrainError::Torch(first)
    }
}

/// Why a checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: {reason}", path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error("{} is of another run: it was trained {with} than this one ({found}, and not {expected})", path.display())]
    Foreign { path: PathBuf, with: &'static str, expected: String, found: String },
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
    fn advice_for_short_memory_names_the_batch_size_that_should_fit() {
        let short = "Internal torch error: [enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't \
                     allocate memory: you tried to allocate 8 bytes.\nframe #0: main";
        let mut error = TrainError::from(TchError::Torch(short.to_owned()));
        let begin = "the device ran out of memory: can't allocate memory: you tried to allocate 8 bytes.; take ";
        let end = ", or free memory that other programs hold on it";
        assert_eq!(error.to_string(), format!("{begin}a smaller batch_size or a smaller model{end}"));
        error.advise(|| MemoryAdvice::Batch { fits: 3, with: " with more of it" });
        let three = "a batch_size of at most 3 with more of it, which should fit";
        assert_eq!(error.to_string(), format!("{begin}{three}{end}"));
        error.advise(|| MemoryAdvice::Model("Shampoo"));
        let message = error.to_string();
        assert!(message.contains("no batch_size fits beside the model and the states of Shampoo"), "{message}");
        assert!(!message.contains("take a batch_size") && !message.contains("take a smaller batch_size"), "{message}");
        let cuda = TrainError::from(TchError::Torch("CUDA out of memory. Tried to allocate 2 GiB".to_owned()));
        assert!(matches!(cuda, TrainError::OutOfMemory { .. }), "{cuda}");
        let mut other = TrainError::Refused("no".to_owned());
        other.advise(|| panic!("nothing is asked"));
        assert_eq!(other.to_string(), "no");
    }
}
