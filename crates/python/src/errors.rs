//! The program's errors as Python's.

use std::error::Error;
use std::io;

use pyo3::PyErr;
use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyValueError};
use valleyscope_experiments::preset::PresetError;

/// A `ValueError` with the error's own text.
pub(crate) fn value_error(error: impl Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The error of a preset that was named: of a missing one a `FileNotFoundError`, of a wrong one a `ValueError`.
pub(crate) fn preset_error(error: PresetError) -> PyErr {
    match &error {
        PresetError::NotFound { .. } => PyFileNotFoundError::new_err(error.to_string()),
        PresetError::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            PyFileNotFoundError::new_err(error.to_string())
        }
        PresetError::Read { .. } | PresetError::ReadFolder { .. } => PyOSError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}
