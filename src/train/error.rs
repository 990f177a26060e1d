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
    /// Another process of the training, or the connection to it.
    #[error("{0}; resume the run, which goes on from its last checkpoint")]
    Lost(String),
    /// It was asked to stop.
    #[error("stopped before it was done")]
    Interrupted,
}

/// Advice where memory is short.
fn advice(fits: Option<u64>) -> String {
    let smaller = fits.map_or_else(
        || "a smaller batch_size or a smaller model".to_owned(),
        |fits| format!("a batch_size of at most {fits}, which should fit (of GPT-2 with more accumulation)"),
    );
    format!("take {smaller}, or free memory that other programs hold on it")
}

impl TrainError {
    /// Names the largest `batch_size` that should fit, where memory was short.
    pub fn advise(&mut self, largest: impl FnOnce() -> Option<u64>) {
        if let TrainError::OutOfMemory { fits, .. } = self {
            *fits = largest();
        }
    }
}

impl From<TchError> for TrainError {
    fn from(error: TchError) -> Self {
        // The C++ stack trace that follows is of no use to a user.
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default().trim_start_matches("Internal torch error: ");
        // It is preceded by the line of libtorch's source that raised it.
        let first = first.rsplit("DefaultCPUAllocator: ").next().unwrap_or_default().to_owned();
        // The messages of a GPU and of the processor.
        if ["out of memory", "can't allocate memory"].iter().any(|short| text.contains(short)) {
            return TrainError::OutOfMemory { what: first, fits: None };
        }
        TrainError::Torch(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_do_where_memory_is_short_names_what_should_fit() {
        let short = "Internal torch error: [enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't \
                     allocate memory: you tried to allocate 8 bytes.\nframe #0: main";
        let mut error = TrainError::from(TchError::Torch(short.to_owned()));
        let begin = "the device ran out of memory: can't allocate memory: you tried to allocate 8 bytes.; take ";
        let end = ", or free memory that other programs hold on it";
        assert_eq!(error.to_string(), format!("{begin}a smaller batch_size or a smaller model{end}"));
        error.advise(|| Some(3));
        let three = "a batch_size of at most 3, which should fit (of GPT-2 with more accumulation)";
        assert_eq!(error.to_string(), format!("{begin}{three}{end}"));
        let cuda = TrainError::from(TchError::Torch("CUDA out of memory. Tried to allocate 2 GiB".to_owned()));
        assert!(matches!(cuda, TrainError::OutOfMemory { .. }), "{cuda}");
        let mut other = TrainError::Refused("no".to_owned());
        other.advise(|| panic!("nothing is asked"));
        assert_eq!(other.to_string(), "no");
    }
}
