//! Formats of results: CSV, NPY and NPZ, and the writing of whole files.
//!
//! Nothing that is written depends on the time or on the machine: equal results are equal bytes.

mod atomic_file;
mod csv;
mod npy;
mod npz;
mod trajectory;

pub use atomic_file::{AtomicFile, Overwrite, write_file, write_plain_file};
pub use csv::{CsvCell, CsvWriter};
pub use npy::{Element, read_npy, write_npy};
pub use npz::{ArchiveError, NpzReader, NpzWriter};
pub use trajectory::{TrajectoryArrays, TrajectoryTable};
