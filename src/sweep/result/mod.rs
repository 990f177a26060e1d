//! The results of a sweep as files: written, and opened again.
//!
//! A folder of results holds `spec.ron`, a preset that repeats the sweep; `phase.npz` with the whole diagram;
//! `phase.csv`, a table of its scores; and, if requested, the final metrics of all runs (see [`RawFormat`]). Nothing in
//! them depends on the time or the machine. Until the diagram is complete, the folder holds records of its pixels (see
//! [`SweepStore`]). The folder of a part holds only records, and that of a diagram in the window's library also a
//! description and a small picture.

mod arrays;
mod check;
mod raw;
mod store;
mod table;

pub use arrays::{ResultError, SweepResult};
pub use check::{LIBRARY_RECORD, check_sweep, is_sweep};
pub use raw::{RawFormat, RawRefused};
pub use store::{ReadRecords, StoreError, SweepHeader, SweepRecords, SweepStore};
pub use table::write_table;
