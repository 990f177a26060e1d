//! Writers of results: CSV, NPY and NPZ, and the writing of whole files.
//!
//! Nothing that is written depends on the time or on the machine: equal results are equal bytes.

mod aside;
mod csv;
mod npy;
mod trajectory;
mod zip;

pub use aside::{Aside, Overwrite, write_file};
pub use csv::{Cell, CsvWriter};
pub use npy::{Element, NpzWriter};
pub use trajectory::{TrajectoryArrays, TrajectoryTable};
