use tch::TchError;

/// Why a training could not be done.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    #[error(
        "the device ran out of memory: {0}; take a smaller batch_size, or free memory that other programs hold on it"
    )]
    OutOfMemory(String),
    #[error("libtorch: {0}")]
    Torch(String),
    #[error("{0}")]
    Device(String),
    #[error("{0}")]
    Refused(String),
    /// By whom it was asked to stop.
    #[error("stopped before it was done")]
    Interrupted,
}

impl From<TchError> for TrainError {
    fn from(error: TchError) -> Self {
        // The trace of C++ functions that follows says nothing to a user.
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default().trim_start_matches("Internal torch error: ").to_owned();
        if text.contains("out of memory") { TrainError::OutOfMemory(first) } else { TrainError::Torch(first) }
    }
}
