//! Formats of results: CSV, NPY and NPZ, and the writing of whole files.
//!
//! Nothing that is written depends on the time or on the machine: equal results are equal bytes.

mod csv;
mod npy;
mod npz;
mod run_table;
mod trajectory;

pub use csv::{CsvCell, CsvWriter, without_apostrophe};
pub use npy::{Element, read_npy, write_npy};
pub use npz::{ArchiveError, NpzReader, NpzWriter};
pub use run_table::write_csv;
pub use trajectory::{TrajectoryArrays, TrajectoryTable};
