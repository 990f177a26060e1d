//! Diagrams that are kept: in memory, and in a folder that survives the program.
//!
//! Each has a folder of its own, which is also that of a sweep's results: `phase.npz` or, while it is unfinished, a
//! checkpoint as `valleyscope sweep` writes it, and the races of adaptive sampling that are not over; `spec.ron`; a picture; and `kept.ron`, its name, pin and time. A
//! thread of its own reads and writes these files. `kept.ron` is written after the results, so that it never states more
//! than is there. `limits.ron`, beside the folders, holds the limits of their number and size.

mod diagram;
mod files;
mod keeper;
mod library;
mod limits;
mod record;
mod thumbnail;

pub(super) use diagram::{KeptDiagram, is_dear};
pub(super) use library::{Library, LibraryEvent};
pub(super) use limits::Limits;
