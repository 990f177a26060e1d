use tch::TchError;

/// Why a training could not be done.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    #[error("the device ran out of memory: {what}; {}", advice(*fits))]
    OutOfMemory {
        what: String,
        /// The largest `batch_size` that should fit, where that is known.
        fits: Option<u64>,
    },
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

/// What to do where memory is short.
fn advice(fits: Option<u64>) -> String {
    let smaller = fits.map_or_else(
        || "a smaller batch_size".to_owned(),
        |fits| format!("a batch_size of at most {fits}, which should fit (of GPT-2 with more accumulation)"),
    );
    format!("take {smaller}, or free memory that other programs hold on it")
}

impl TrainError {
    /// Names the largest `batch_size` that should fit, where memory was short.
    pub fn advise(&mut self, largest: Option<u64>) {
        if let TrainError::OutOfMemory { fits, .. } = self {
            *fits = largest;
        }
    }
}

impl From<TchError> for TrainError {
    fn from(error: TchError) -> Self {
        // The trace of C++ functions that follows says nothing to a user.
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default().trim_start_matches("Internal torch error: ");
        // Before it stands the line of libtorch's source that found it.
        let first = first.rsplit("DefaultCPUAllocator: ").next().unwrap_or_default().to_owned();
        // A GPU's and the processor's.
        if ["out of memory", "can't allocate memory"].iter().any(|short| text.contains(short)) {
            return TrainError::OutOfMemory { what: first, fits: None };
        }
        TrainError::Torch(first)
    }
}
